/*
 * inside.c - measures work in containers: commands, system calls under seccomp, the network, starting programs.
 *
 * The same busybox runs on the host and in the container, so that only the way to it differs.
 */
#include "suites/containers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/config.h>
#include <berth/mem.h>

#include "suites/files.h"

#define NO_NETWORK "\"NetworkMode\":\"none\","

#define TRIVIAL "echo ok"
#define COMPUTE "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; echo $i"
#define DATA "seq 1 60000 | sort -rn | sha256sum"

/* --- a command: directly, by docker exec, by the engine's API --- */

static void *setup_exec(struct bench_run *r, struct err *e)
{
	struct yard *y;

	(void)r;
	if (!have_program("busybox"))
		return err_null(err_set(e, ERR_NOT_FOUND, "there is no busybox on this machine"));
	if (!have_program("docker"))
		return err_null(err_set(e, ERR_NOT_FOUND, "there is no docker command here"));
	y = yard_open(BOX, e);
	if (y && !yard_keep(y, BOX, NO_NETWORK, e)) {
		yard_close(y);
		return NULL;
	}
	return y;
}

static int check_output(
	struct sample *s, double begun, int code, const struct str *out, struct err *e)
{
	s->seconds = now_s() - begun;
	s->digest = digest_bytes(0, out->s, out->len);
	return code == 0 && out->len
		? 0
		: err_set(e, ERR_FAILED, "the command exited with %d and printed %zu bytes", code,
			  out->len);
}

static int run_directly(const char *script, struct sample *s, struct err *e)
{
	const char *argv[] = {"busybox", "sh", "-c", script, NULL};
	AUTO_STR struct str out = STR_INIT;
	double begun = now_s();
	int code = run_program(argv, &out, e);

	return code < 0 ? -1 : check_output(s, begun, code, &out, e);
}

static int docker_exec(struct yard *y, const char *script, struct sample *s, struct err *e)
{
	char url[128];
	const char *argv[] = {"docker", "-H", mini_url(&y->mini, url, sizeof url), "exec", y->id[0],
		"sh", "-c", script, NULL};
	AUTO_STR struct str out = STR_INIT;
	double begun = now_s();
	int code = run_program(argv, &out, e);

	return code < 0 ? -1 : check_output(s, begun, code, &out, e);
}

static int api_exec(struct yard *y, const char *script, struct sample *s, struct err *e)
{
	AUTO_STR struct str out = STR_INIT, argv = STR_INIT;
	double begun = now_s();
	int code;

	/* The scripts above hold no quote and no backslash. */
	str_addf(&argv, "[\"sh\",\"-c\",\"%s\"]", script);
	if (mini_exec(&y->mini, y->id[0], argv.s, &out, &code, e) < 0)
		return -1;
	return check_output(s, begun, code, &out, e);
}

#define ARMS_OF(name, script)                                                \
	static int name##_direct(void *ctx, struct sample *s, struct err *e) \
	{                                                                    \
		(void)ctx;                                                   \
		return run_directly(script, s, e);                           \
	}                                                                    \
	static int name##_docker(void *ctx, struct sample *s, struct err *e) \
	{                                                                    \
		return docker_exec(ctx, script, s, e);                       \
	}                                                                    \
	static int name##_api(void *ctx, struct sample *s, struct err *e)    \
	{                                                                    \
		return api_exec(ctx, script, s, e);                          \
	}
ARMS_OF(trivial, TRIVIAL)
ARMS_OF(compute, COMPUTE)
ARMS_OF(data, DATA)

/* What the first figures of such containers promised; it is the engine that is measured here, and
 * lane/compute is how berth does it. */
#define SEEDS "less than 5 % over the host"

#define EXEC(which, words)                                                                        \
	{                                                                                         \
		.name = "exec-" #which, .about = (words), .samples = 20, .warmup = 1,             \
		.smoke_samples = 1, .setup = setup_exec, .teardown = yard_close,                  \
		.arms = {{"on the host", which##_direct}, {"docker exec", which##_docker},        \
			{"engine API, minimal client", which##_api}},                             \
		.targets = {{"docker exec: " SEEDS, "docker exec", ON_FLOOR, 0, 1.05},            \
			{"engine API: " SEEDS, "engine API, minimal client", ON_FLOOR, 0, 1.05}}, \
	}

/* --- seccomp: 40,000 system calls with no profile, the engine's, and berth's --- */

#define CALLS 20000

static void *setup_seccomp(struct bench_run *r, struct err *e)
{
	AUTO_STR struct str strict = STR_INIT;
	size_t len;
	const char *profile = embedded_file("configs/seccomp.json", &len);
	struct yard *y = yard_open(BOX, e);

	(void)r;
	if (!y)
		return NULL;
	str_adds(&strict, NO_NETWORK "\"SecurityOpt\":[\"seccomp=");
	for (size_t i = 0; profile && i < len; i++)
		if (profile[i] == '"' || profile[i] == '\\')
			str_addf(&strict, "\\%c", profile[i]);
		else if (profile[i] != '\n' && profile[i] != '\t')
			str_addc(&strict, profile[i]);
	str_adds(&strict, "\"],");
	if (profile &&
		yard_keep(y, BOX, NO_NETWORK "\"SecurityOpt\":[\"seccomp=unconfined\"],", e) &&
		yard_keep(y, BOX, NO_NETWORK, e) && yard_keep(y, BOX, strict.s, e))
		return y;
	if (!profile)
		err_set(e, ERR_FAILED, "this build has no seccomp profile");
	yard_close(y);
	return NULL;
}

static int time_calls(void *ctx, struct sample *s, struct err *e)
{
	struct yard *y = ctx;
	AUTO_STR struct str out = STR_INIT;
	double begun = now_s();
	char argv[160];
	int code;

	snprintf(argv, sizeof argv,
		"[\"sh\",\"-c\",\"dd if=/dev/zero bs=1 count=%d 2>/dev/null | wc -c\"]", CALLS);
	if (mini_exec(&y->mini, y->id[s->arm], argv, &out, &code, e) < 0)
		return -1;
	return check_output(s, begun, code, &out, e);
}

/* --- network: loopback in a container without one, and from one to another over the bridge --- */

static void *setup_network(struct bench_run *r, struct err *e)
{
	struct yard *y = yard_open(BOX, e);
	struct err why = ERR_INIT;

	(void)r;
	if (!y)
		return NULL;
	if (!yard_keep(y, BOX, NO_NETWORK, e))
		goto fail;
	if (!yard_keep(y, BOX, "\"NetworkMode\":\"bridge\",", &why) ||
		!yard_keep(y, BOX, "\"NetworkMode\":\"bridge\",", &why)) {
		err_set(e, ERR_NOT_FOUND, "no bridge network on this engine: %.200s", why.msg);
		goto fail;
	}
	return y;
fail:
	yard_close(y);
	return NULL;
}

static int find_address(struct yard *y, const char *id, char *buf, size_t cap, struct err *e)
{
	AUTO_STR struct str target = STR_INIT, reply = STR_INIT;

	str_addf(&target, "/containers/%s/json", id);
	if (mini_must(&y->mini, 200, "GET", target.s, NULL, &reply, e) < 0)
		return -1;
	return mini_text(reply.s, "IPAddress", buf, cap) && *buf
		? 0
		: err_set(e, ERR_NOT_FOUND, "the container has no address on the bridge");
}

static int run_in_yard(
	struct yard *y, const char *id, const char *text, struct str *out, struct err *e)
{
	AUTO_STR struct str argv = STR_INIT;
	int code;

	str_addf(&argv, "[\"sh\",\"-c\",\"%s\"]", text);
	str_clear(out);
	if (mini_exec(&y->mini, id, argv.s, out, &code, e) < 0)
		return -1;
	return code == 0
		? 0
		: err_set(e, ERR_FAILED, "`%s` exited with %d: %.200s", text, code, out->s);
}

/* "round-trip min/avg/max = 0.031/0.040/0.063 ms" */
static int ping_yard(struct yard *y, const char *from, const char *to, double *us, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	char text[160];
	const char *at;

	snprintf(text, sizeof text, "ping -q -c 10 -i 0.02 %s", to);
	if (run_in_yard(y, from, text, &out, e) < 0)
		return -1;
	at = strstr(out.s, "min/avg/max = ");
	at = at ? strchr(at + 14, '/') : NULL;
	if (!at)
		return err_set(e, ERR_FAILED, "ping said nothing of round trips: %.200s", out.s);
	*us = strtod(at + 1, NULL) * 1000;
	return 0;
}

static int measure_latency(struct bench_run *r, void *ctx, struct err *e)
{
	struct yard *y = ctx;
	char peer[64];

	if (find_address(y, y->id[2], peer, sizeof peer, e) < 0)
		return -1;
	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		double none, bridge;

		if (ping_yard(y, y->id[0], "127.0.0.1", &none, e) < 0 ||
			ping_yard(y, y->id[1], peer, &bridge, e) < 0)
			return -1;
		bench_value(r, "network none: loopback", none);
		bench_value(r, "network bridge: to another container", bridge);
	}
	return 0;
}

#define STREAM_MIB 256

/* The receiver counts, so what did not arrive is not in the figure. */
static int receive_stream(
	struct yard *y, const char *receiver, const char *from, double *mb_s, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	char text[128], want[32];
	double begun = now_s();

	snprintf(text, sizeof text, "wget -q -O - http://%s:8080/stream | wc -c", from);
	if (run_in_yard(y, receiver, text, &out, e) < 0)
		return -1;
	*mb_s = STREAM_MIB * 1.048576 / (now_s() - begun);
	snprintf(want, sizeof want, "%d\n", STREAM_MIB << 20);
	return !strcmp(out.s, want)
		? 0
		: err_set(e, ERR_FAILED, "%.20s bytes arrived, not %s", out.s, want);
}

/* A web server in each, with a file that is in memory after it was written. */
static int serve_stream(struct yard *y, const char *id, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	char text[160];

	snprintf(text, sizeof text,
		"dd if=/dev/zero of=/tmp/stream bs=1048576 count=%d 2>/dev/null && httpd -h /tmp -p 8080",
		STREAM_MIB);
	return run_in_yard(y, id, text, &out, e);
}

static int measure_throughput(struct bench_run *r, void *ctx, struct err *e)
{
	struct yard *y = ctx;
	char peer[64];

	if (find_address(y, y->id[2], peer, sizeof peer, e) < 0 ||
		serve_stream(y, y->id[0], e) < 0 || serve_stream(y, y->id[2], e) < 0)
		return -1;
	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		double none, bridge;

		if (receive_stream(y, y->id[0], "127.0.0.1", &none, e) < 0 ||
			receive_stream(y, y->id[1], peer, &bridge, e) < 0)
			return -1;
		bench_value(r, "network none: loopback", none);
		bench_value(r, "network bridge: to another container", bridge);
	}
	return 0;
}

/* --- loading what a program needs, per image --- */

struct load_of {
	const char *image, *nothing, *something; /* argv as JSON */
};

static void *setup_import(struct bench_run *r, struct err *e)
{
	const struct load_of *what = bench_what(r)->data;
	struct yard *y = yard_open(what->image, e);

	if (y && !yard_keep(y, what->image, NO_NETWORK, e)) {
		yard_close(y);
		return NULL;
	}
	return y;
}

static int load_once(struct yard *y, const char *argv, double *took, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	double begun = now_s();
	int code;

	if (mini_exec(&y->mini, y->id[0], argv, &out, &code, e) < 0)
		return -1;
	*took = now_s() - begun;
	return code == 0 ? 0
			 : err_set(e, ERR_FAILED, "%s exited with %d: %.200s", argv, code, out.s);
}

static int measure_import(struct bench_run *r, void *ctx, struct err *e)
{
	const struct load_of *what = bench_what(r)->data;

	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		double bare, loaded;

		if (load_once(ctx, what->nothing, &bare, e) < 0 ||
			load_once(ctx, what->something, &loaded, e) < 0)
			return -1;
		bench_value(r, "interpreter alone", bare);
		bench_value(r, "with dependencies", loaded);
		bench_value(r, "dependencies", loaded - bare);
	}
	return 0;
}

static const struct load_of python = {"berth/python:local", "[\"python3\",\"-c\",\"pass\"]",
	"[\"python3\",\"-c\",\"import json, ssl, http.client, sqlite3, asyncio, email, xml.etree.ElementTree\"]"};
static const struct load_of node = {"berth/node:local", "[\"node\",\"-e\",\"0\"]",
	"[\"node\",\"-e\",\"for (const m of ['http', 'https', 'crypto', 'zlib', 'worker_threads']) require(m)\"]"};
static const struct load_of runtime = {"berth/runtime:local", "[\"python3\",\"-c\",\"pass\"]",
	"[\"python3\",\"-c\",\"import numpy\"]"};
static const struct load_of shell = {"berth/shell:local", "[\"true\"]",
	"[\"sh\",\"-c\",\"git --version; curl --version; jq --version\"]"};

#define IMPORT(which)                                                                          \
	{                                                                                      \
		.name = "import-" #which, .about = "load time of dependencies, berth/" #which, \
		.samples = 15, .setup = setup_import, .teardown = yard_close,                  \
		.measure = measure_import, .data = &(which),                                   \
	}

static const struct bench_case cases[] = {
	EXEC(trivial, "a command that does nothing"),
	EXEC(compute, "a command that computes"),
	EXEC(data, "a command that moves data"),
	{.name = "seccomp",
		.about = "40,000 system calls with and without a seccomp profile",
		.samples = 15,
		.smoke_samples = 1,
		.warmup = 1,
		.setup = setup_seccomp,
		.teardown = yard_close,
		.arms = {{"unconfined", time_calls}, {"the engine's profile", time_calls},
			{"berth's profile", time_calls}}},
	{.name = "network-latency",
		.about = "round trip, mean of ten pings",
		.unit = "us",
		.samples = 15,
		.smoke_samples = 1,
		.setup = setup_network,
		.teardown = yard_close,
		.measure = measure_latency},
	{.name = "network-throughput",
		.about = "256 MiB over one connection, the exec that asks for it included",
		.unit = "MB/s",
		.higher = true,
		.samples = 7,
		.smoke_samples = 1,
		.setup = setup_network,
		.teardown = yard_close,
		.measure = measure_throughput},
	IMPORT(shell),
	IMPORT(python),
	IMPORT(node),
	IMPORT(runtime),
	{.name = NULL},
};

const struct bench_suite suite_inside = {"inside", cases};
