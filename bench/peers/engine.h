/*
 * engine.h - containers to measure with, on the engine of docker.h; and the tests' scripted engine, where a thousand
 * containers are wanted.
 */
#ifndef BENCH_PEER_ENGINE_H
#define BENCH_PEER_ENGINE_H

#include <stddef.h>
#include <sys/types.h>

#include <berth/err.h>

#define FLEET_MAX 64
#define FLEET_URL_MAX 128

struct fleet {
	char engine[FLEET_URL_MAX]; /* unix:///... */
	size_t n;
	char id[FLEET_MAX][65];
};

/* Start `n` idle containers of the image box:1 named PREFIX-01 ...  ERR_NOT_FOUND without an engine. */
int fleet_start(struct fleet *f, const char *prefix, size_t n, struct err *e);
void fleet_end(struct fleet *f);

/* The fake engine with this scenario (JSON); its socket's URL in `url`. */
struct fake {
	pid_t pid;
	char dir[64], url[96];
};
int fake_start(struct fake *f, const char *scenario, struct err *e);
int fake_restart(
	struct fake *f, struct err *e); /* killed and started again; waits for its first answer */
void fake_end(struct fake *f);

/* CPU time, in seconds, used so far by every process whose command line holds `word` (NULL: by `pid` and its
 * children that still live). */
double cpu_of_matching(const char *word);
double cpu_of_pid(pid_t pid);
double rss_of_pid(pid_t pid); /* MiB */

/* The program of the tree this benchmark was built in: "berth". */
const char *program_path(const char *name);

#endif
