/*
 * mcp.c - fuzz target: any bytes in pieces of any size, as the messages of one session; calls run beside each other, and
 * all end.
 *
 * The server is the real one, on a directory of its own, and lives for many inputs; every RENEW it begins anew.
 * Commands do not run: what stands for them here prints, waits, and ends when it is cancelled.
 */
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/mem.h>

#include "mcp/server.h"

#define RENEW 5000
#define ENDS_WITHIN 100 /* tenths of a second, once cancelled */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is lost is looked for at the end, not after each input: then the server's threads live, and LeakSanitizer does
 * not see what one of them holds whose number was that of a thread which has ended (32,768 processes later). */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char *words[256], off[] = "-detect_leaks=0";

	if (*argc + 2 > (int)COUNT(words))
		return 0;
	memcpy(words, *argv, (size_t)*argc * sizeof *words);
	words[(*argc)++] = off;
	*argv = words;
	return 0;
}

/* Instead of berth's own, which the linker does not come to: "echo" prints its words and ends, all else goes on for a
 * moment, or until it is cancelled. */
int agents_run_by(
	struct recorder *by, const struct run_request *r, struct run_result *ret, struct err *e)
{
	const char *first = r->argc > 2 ? r->argv[2] : r->argv[0];
	bool echo = !strncmp(first, "echo", 4);
	struct pollfd p = {r->cancel_fd, POLLIN, 0};

	(void)by;
	(void)e;
	*ret = (struct run_result){.ended = ENDED_EXIT};
	for (int i = 0; i < 4; i++) {
		r->output(r->ctx, 1 + i % 2, first, strlen(first));
		if (!echo && poll(&p, r->cancel_fd >= 0, 2) > 0) {
			ret->ended = ENDED_CANCELLED;
			ret->exit_code = 143;
			break;
		}
	}
	return 0;
}

static char top[64];                            /* in memory where that can be: the log syncs */
static char place[] = "/tmp/berth-fuzz-XXXXXX"; /* nothing of /dev is served */
static struct team team;
static struct policy policy;
static struct mcp_options options;
static struct server server;
static bool serves;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level ? remove(path) : 0;
}

static void make_place(void)
{
	AUTO_FREE char *ws = xasprintf("%s/ws", place), *file = xasprintf("%s/ws/a", place);
	int fd;

	nftw(top, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	nftw(place, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	mkdir(ws, 0755);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "one\ntwo\n", 8) != 8)
		abort();
	close(fd);
	if (geteuid() == 0 && (chown(ws, 1000, 1000) || chown(file, 1000, 1000)))
		abort();
}

static void remove_place(void)
{
	if (serves)
		server_end(&server);
	team_release(&team);
	nftw(top, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	nftw(place, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	rmdir(top);
	rmdir(place);
}

static void begin_once(void)
{
	static const char *const verbs[] = {"/bin/false"};
	AUTO_FREE char *text = NULL;
	struct err e = ERR_INIT;

	/* As berth mcp does: a command may be written to that has ended. */
	signal(SIGPIPE, SIG_IGN);
	strcpy(top, "/dev/shm/berth-fuzz-XXXXXX");
	if (!mkdtemp(top)) {
		strcpy(top, "/tmp/berth-fuzz-XXXXXX");
		if (!mkdtemp(top))
			abort();
	}
	if (chmod(top, 0755) || !mkdtemp(place) || chmod(place, 0755))
		abort();
	setenv("XDG_STATE_HOME", top, 1);
	setenv("XDG_RUNTIME_DIR", top, 1);
	setenv("XDG_DATA_HOME", top, 1);
	make_place();
	text = xasprintf("agents: {one: {image: i, workspace: %s/ws}}\n", place);
	if (team_parse("fuzz", text, strlen(text), top, &team, &e))
		abort();
	options = (struct mcp_options){.team = &team,
		.agent = &team.agents[0],
		.policy = &policy,
		.who = "one",
		.groups = MCP_FILES | MCP_COMMANDS | MCP_TOOLS,
		.in = open("/dev/null", O_RDONLY | O_CLOEXEC),
		.out = open("/dev/null", O_WRONLY | O_CLOEXEC),
		.stop = -1,
		.version = "0",
		.verbs = {1, verbs}};
}

static void begin_server(void)
{
	static unsigned n;
	struct err e = ERR_INIT;

	if (!n)
		begin_once();
	if (n++ % RENEW == 0) {
		if (serves) {
			server_end(&server);
			make_place();
		}
		if (server_begin(&server, &options, &e)) {
			fprintf(stderr, "%s\n", e.msg);
			abort();
		}
		/* After libcrypto's own, which is not to come before it. */
		if (!serves)
			atexit(remove_place);
		serves = true;
	}
	server.session = server.batches = false;
}

/* The bytes that are fed, from the next line on: what each message has to be. */
struct fed {
	const char *at, *end;
	size_t most;
};

static bool is_blank(const char *s, size_t n)
{
	while (n && strchr(" \t\r", *s) && *s) {
		s++;
		n--;
	}
	return !n;
}

static void take_line(void *ctx, const char *text, size_t n)
{
	struct fed *f = ctx;
	const char *line, *nl;
	size_t len;

	do {
		if (f->at >= f->end)
			abort();
		line = f->at;
		nl = memchr(line, '\n', (size_t)(f->end - line));
		len = (size_t)((nl ? nl : f->end) - line);
		f->at = line + len + 1;
	} while (len <= f->most && is_blank(line, len));
	if (text ? n != len || memcmp(text, line, n) != 0 || text[n] : len <= f->most)
		abort();
	if (text)
		session_message(&server, text, n);
	else
		message_fail(&server, NULL, -32600, "too long");
}

/* In pieces that the input's length and bytes choose; what is left is a tail of blanks. */
static void feed(const char *data, size_t size)
{
	struct fed fed = {data, data + size, size % 5 ? MCP_LINE_MAX : 16 + size % 64};
	struct client_lines lines = {
		.most = fed.most, .take = take_line, .ctx = &fed, .held = STR_INIT};
	size_t at = 0, n;

	for (unsigned mix = (unsigned)size; at < size; at += n) {
		mix = mix * 31 + (unsigned char)data[at];
		n = 1 + mix % (mix & 64 ? 7 : 300);
		n = n < size - at ? n : size - at;
		client_lines_split(&lines, data + at, n);
	}
	client_lines_end(&lines);
	client_lines_release(&lines);
	while (fed.at < fed.end) {
		const char *nl = memchr(fed.at, '\n', (size_t)(fed.end - fed.at));
		const char *stop = nl ? nl : fed.end;

		if (!is_blank(fed.at, (size_t)(stop - fed.at)))
			abort();
		fed.at = stop + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t ended;
	int tries = 0;

	begin_server();
	feed((const char *)data, size);
	/* None hangs: what does not end by itself does once it is cancelled. */
	while (!calls_idle(&server, &ended)) {
		calls_cancel(&server, NULL);
		if (++tries > ENDS_WITHIN)
			abort();
	}
	listen_cancel(server.listeners, NULL);
	return 0;
}
