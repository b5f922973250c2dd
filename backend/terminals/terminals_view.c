/*
 * terminals_view.c - a terminal as one who is attached sees it.
 *
 * The process that keeps it reads what an agent prints.  So what it sends is passed through the table here, in the process
 * of the person, whatever that one left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "lane/wire_io.h"
#include "terminals/pass.h"
#include "terminals/terminals.h"
#include "terminals/typed.h"

struct terminal_view {
	int conn;
	bool types;
	char typist[TERMINAL_WHO_MAX];
	struct pass pass;
	struct typed typed;
};

void terminal_view_close(struct terminal_view *v)
{
	if (v)
		close(v->conn);
	free(v);
}

int terminal_view_fd(const struct terminal_view *v)
{
	return v->conn;
}

static void take_role(struct terminal_view *v, const char *body)
{
	struct terminals_role role;

	memcpy(&role, body, sizeof role);
	role.who[sizeof role.who - 1] = '\0';
	v->types = role.types != 0;
	text_clean(v->typist, sizeof v->typist, v->types ? "" : role.who);
}

int terminal_view_read(struct terminal_view *v, struct str *out)
{
	char body[LANE_MSG_MAX];
	struct lane_msg head;
	int fds[LANE_FDS_MAX], n = 0, r = wire_recv(v->conn, &head, body, fds, &n);

	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	wire_close_all(fds, n);
	if (r <= 0)
		return -1;
	if (head.type == TERMINALS_PRINT)
		pass_through(&v->pass, body, head.len, out);
	else if (head.type == TERMINALS_ROLE && head.len == sizeof(struct terminals_role))
		take_role(v, body);
	return 1;
}

/* Who types is said first. */
static int hear_role(
	struct terminal_view *v, const char *container, const char *name, struct err *e)
{
	AUTO_STR struct str none = STR_INIT;
	int r = terminal_view_read(v, &none);

	if (r > 0)
		return 0;
	return r ? err_set(e, ERR_USAGE, "the terminal `%s` of %s has ended", name, container)
		 : err_set(e, ERR_TIMEOUT, "the terminals of %s do not answer", container);
}

struct terminal_view *terminal_view_open(
	const char *container, const char *name, const struct terminal_view_wish *w, struct err *e)
{
	struct terminals_attach a = {.size = {w->columns, w->rows}, .watches = w->watches};
	AUTO_CLOSE int conn = terminals_dial(container, e);
	struct terminal_view *v;
	struct err why = ERR_INIT;

	if (conn < 0)
		return NULL;
	snprintf(a.name, sizeof a.name, "%s", name);
	snprintf(a.who, sizeof a.who, "%s", w->who);
	if (wire_send(conn, (enum lane_type)TERMINALS_ATTACH, &a, sizeof a))
		return err_sys(e, errno, "cannot ask for the terminals of %s", container), NULL;
	if (terminals_hear(conn, container, &why)) {
		if (why.sys == EUSERS)
			err_set(e, ERR_REFUSED, "too many are attached to `%s` of %s already", name,
				container);
		else if (why.sys == ENOENT)
			err_set(e, ERR_USAGE, "the terminal `%s` of %s has ended", name, container);
		else
			err_copy(e, &why);
		return NULL;
	}
	v = xcalloc(1, sizeof *v);
	v->conn = steal_fd(&conn);
	if (!hear_role(v, container, name, e)) {
		fcntl(v->conn, F_SETFL, O_NONBLOCK);
		return v;
	}
	terminal_view_close(v);
	return NULL;
}

bool terminal_view_types(const struct terminal_view *v)
{
	return v->types;
}

const char *terminal_view_typist(const struct terminal_view *v)
{
	return v->typist;
}

size_t terminal_view_type(struct terminal_view *v, const char *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t piece = n - done < TERMINALS_TYPE_MAX ? n - done : TERMINALS_TYPE_MAX;

		if (wire_send(v->conn, (enum lane_type)TERMINALS_TYPE, bytes + done, piece))
			break;
		typed_take(&v->typed, bytes + done, piece);
		done += piece;
	}
	return done;
}

uint64_t terminal_view_keys(const struct terminal_view *v)
{
	return typed_keys(&v->typed);
}

void terminal_view_resize(struct terminal_view *v, int columns, int rows)
{
	const struct terminals_size size = {columns, rows};

	wire_send(v->conn, (enum lane_type)TERMINALS_SIZE, &size, sizeof size);
}

void terminal_view_take(struct terminal_view *v)
{
	wire_send(v->conn, (enum lane_type)TERMINALS_TAKE, NULL, 0);
}
