/* mcp.c - speaks to an MCP server over pipes, as plainly as a client can. */
#include "peers/mcp.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "suites/files.h"

#define REFERENCE "@modelcontextprotocol/server-filesystem@2026.8.31"

static int send_line(struct mcp_peer *p, struct str *line, struct err *e)
{
	str_addc(line, '\n');
	return file_write(p->in, line->s, line->len) < 0
		? err_sys(e, errno, "the server does not take a message")
		: 0;
}

int mcp_peer_line(struct mcp_peer *p, struct str *line, struct err *e)
{
	size_t looked = 0;

	for (;;) {
		char *end = p->read.len > looked
			? memchr(p->read.s + looked, '\n', p->read.len - looked)
			: NULL;
		char buf[65536];
		ssize_t n;

		if (end) {
			size_t used = (size_t)(end - p->read.s);

			str_clear(line);
			str_add(line, p->read.s, used);
			str_remove_front(&p->read, used + 1);
			return 0;
		}
		looked = p->read.len;
		n = read(p->out, buf, sizeof buf);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(e, ERR_FAILED, "the server ended before it answered");
		str_add(&p->read, buf, (size_t)n);
	}
}

/* The quote that ends the string which begins at `at`. */
static const char *end_of_string(const char *at)
{
	const char *end = at + 1;

	while ((end = strchr(end, '"'))) {
		const char *back = end;

		while (back[-1] == '\\')
			back--;
		if ((end - back) % 2 == 0)
			return end;
		end++;
	}
	return NULL;
}

/* From string to string, not through them: what a client takes for that is not the server's time. */
const char *mcp_peer_member(const char *line, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = strchr(line, '"'), *end; at; at = strchr(end + 1, '"')) {
		end = end_of_string(at);
		if (!end)
			return NULL;
		if ((size_t)(end - at) == len + 1 && !memcmp(at + 1, name, len) &&
			end[1 + strspn(end + 1, " ")] == ':') {
			end += 1 + strspn(end + 1, " ") + 1;
			return end + strspn(end, " ");
		}
	}
	return NULL;
}

static bool answers(const char *line, unsigned id)
{
	const char *at = mcp_peer_member(line, "id");

	return at && strtoul(at, NULL, 10) == id && !mcp_peer_member(line, "method");
}

/* The answer to that request, whatever else comes before it. */
static int await(struct mcp_peer *p, unsigned id, struct str *answer, struct err *e)
{
	const char *error, *wrong;

	do {
		if (mcp_peer_line(p, answer, e))
			return -1;
	} while (!answers(answer->s, id));
	/* The protocol's is an object; what a tool says of a command may be a text, also none. */
	error = mcp_peer_member(answer->s, "error");
	wrong = mcp_peer_member(answer->s, "isError");
	if ((error && *error == '{') || (wrong && *wrong == 't'))
		return err_set(e, ERR_FAILED, "the server answered %.300s", answer->s);
	return 0;
}

int mcp_peer_start(struct mcp_peer *p, const char *const argv[], struct err *e)
{
	AUTO_STR struct str line = STR_INIT;
	int to[2], from[2], rc;

	*p = (struct mcp_peer){.in = -1, .out = -1, .read = STR_INIT};
	if (pipe2(to, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot make a pipe");
	if (pipe2(from, O_CLOEXEC) < 0) {
		close(to[0]);
		close(to[1]);
		return err_sys(e, errno, "cannot make a pipe");
	}
	rc = spawn_start(
		&(struct spawn){.path = argv[0], .argv = argv, .in = to[0], .out = from[1]},
		&p->pid);
	close(to[0]);
	close(from[1]);
	p->in = to[1];
	p->out = from[0];
	if (rc) {
		p->pid = 0;
		return err_sys(e, rc, "cannot start %s", argv[0]);
	}
	str_addf(&line,
		"{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
		"\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}",
		++p->last);
	if (send_line(p, &line, e) || await(p, p->last, &line, e))
		return -1;
	str_clear(&line);
	str_adds(&line, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	return send_line(p, &line, e);
}

void mcp_peer_end(struct mcp_peer *p)
{
	if (p->in >= 0)
		close(p->in);
	if (p->out >= 0)
		close(p->out);
	p->in = p->out = -1;
	if (p->pid > 0)
		waitpid(p->pid, NULL, 0);
	p->pid = 0;
	str_release(&p->read);
}

unsigned mcp_peer_ask(struct mcp_peer *p, const char *tool, const char *arguments, struct err *e)
{
	AUTO_STR struct str line = STR_INIT;

	str_addf(&line,
		"{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":%s}}",
		++p->last, tool, arguments);
	return send_line(p, &line, e) ? 0 : p->last;
}

int mcp_peer_call(struct mcp_peer *p, const char *tool, const char *arguments, struct str *answer,
	struct err *e)
{
	unsigned id = mcp_peer_ask(p, tool, arguments, e);

	return id ? await(p, id, answer, e) : -1;
}

const char *mcp_reference_server(const char *dir, struct err *e)
{
	static char program[PATH_MAX];
	const char *argv[] = {"npm", "install", "--prefix", dir, "--no-audit", "--no-fund",
		"--ignore-scripts", REFERENCE, NULL};

	if (!have_program("node") || !have_program("npm"))
		return err_null(err_set(e, ERR_NOT_FOUND, "install nodejs and npm"));
	snprintf(program, sizeof program,
		"%.2000s/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", dir);
	if (access(program, R_OK) == 0)
		return program;
	if (run_program(argv, NULL, e) != 0 || access(program, R_OK) < 0)
		return err_null(err_set(e, ERR_NOT_FOUND, "npm cannot install " REFERENCE));
	return program;
}
