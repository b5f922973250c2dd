/* viewers.c - sends those who are attached to a terminal what it shows. */
#include "terminals/viewers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "lane/wire_io.h"
#include "terminals/paint.h"

#define PIECE 16384

static void make_stale(struct viewer *v)
{
	str_release(&v->rest);
	v->stale = true;
}

void viewer_resize(struct viewer *v, const struct terminals_size *size)
{
	v->columns = terminal_within(1, size->columns, TERMINAL_COLUMNS_MAX);
	v->rows = terminal_within(1, size->rows, TERMINAL_ROWS_MAX);
	make_stale(v);
}

int viewers_add(struct viewers *all, int conn, const struct terminals_attach *a)
{
	struct viewer *v = &all->of[all->n];
	char who[TERMINAL_WHO_MAX];

	if (all->n == VIEWERS_MAX)
		return EUSERS;
	memcpy(who, a->who, sizeof who);
	who[sizeof who - 1] = '\0';
	*v = (struct viewer){.conn = conn, .watches = a->watches != 0, .rest = STR_INIT};
	text_clean(v->who, sizeof v->who, who);
	viewer_resize(v, &a->size);
	fcntl(conn, F_SETFL, O_NONBLOCK);
	all->n++;
	if (!v->watches && !viewers_typist(all))
		viewers_take(all, all->n - 1);
	return 0;
}

void viewers_remove(struct viewers *all, size_t i)
{
	struct viewer *v = &all->of[i];

	if (v->types)
		for (size_t k = 0; k < all->n; k++)
			all->of[k].told = false;
	close(v->conn);
	str_release(&v->rest);
	*v = all->of[--all->n];
}

void viewers_close(struct viewers *all)
{
	while (all->n)
		viewers_remove(all, all->n - 1);
}

struct viewer *viewers_typist(struct viewers *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->of[i].types)
			return &all->of[i];
	return NULL;
}

void viewers_redraw(struct viewers *all)
{
	for (size_t i = 0; i < all->n; i++)
		make_stale(&all->of[i]);
}

void viewers_take(struct viewers *all, size_t i)
{
	for (size_t k = 0; k < all->n; k++) {
		all->of[k].types = k == i;
		all->of[k].told = false;
	}
	viewers_redraw(all);
}

/* What the program prints has the same effect there. */
static bool is_alike(const struct viewer *v, const struct terminal_screen *s)
{
	return v->types && v->columns == s->columns && v->rows == s->rows;
}

void viewers_print(
	struct viewers *all, const struct terminal_screen *s, const char *bytes, size_t n)
{
	for (size_t i = 0; i < all->n; i++) {
		struct viewer *v = &all->of[i];

		if (!is_alike(v, s))
			v->stale = true;
		else if (v->rest.len + n > VIEWER_REST)
			make_stale(v);
		else if (!v->stale)
			str_add(&v->rest, bytes, n);
	}
}

static int wait_ms(const struct viewer *v)
{
	int64_t left = v->shown_ms + VIEWERS_PAINT_MS - clock_real_ms();

	/* One who does not read is sent nothing, whoever types. */
	return !v->stale || !v->told || v->rest.len ? -1 : left <= 0 ? 0 : (int)left;
}

bool viewers_due(const struct viewers *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (!wait_ms(&all->of[i]))
			return true;
	return false;
}

int viewers_wait_ms(const struct viewers *all)
{
	int wait = -1;

	for (size_t i = 0; i < all->n; i++) {
		int one = wait_ms(&all->of[i]);

		if (one >= 0 && (wait < 0 || one < wait))
			wait = one;
	}
	return wait;
}

static void paint_for(struct viewer *v, const struct viewed *what)
{
	const struct terminal_screen *s = what->screen;

	if (is_alike(v, s))
		paint_all(s, what->seen, &what->pen, what->saved, &v->rest);
	else
		paint_part(s, v->columns, v->rows - (v->types ? 0 : 1), &v->rest);
	v->stale = false;
	v->shown_ms = clock_real_ms();
}

/* false: it does not read now. */
static bool tell_role(struct viewers *all, struct viewer *v)
{
	const struct viewer *typist = viewers_typist(all);
	struct terminals_role role = {.types = v->types};

	if (v->told)
		return true;
	if (typist)
		memcpy(role.who, typist->who, sizeof role.who);
	v->told = !wire_send(v->conn, (enum lane_type)TERMINALS_ROLE, &role, sizeof role);
	return v->told;
}

static void send_rest(struct viewer *v)
{
	size_t done = 0;

	while (done < v->rest.len) {
		size_t n = v->rest.len - done < PIECE ? v->rest.len - done : PIECE;

		if (wire_send(v->conn, (enum lane_type)TERMINALS_PRINT, v->rest.s + done, n))
			break;
		done += n;
	}
	if (done == v->rest.len)
		str_release(&v->rest);
	else
		str_remove_front(&v->rest, done);
}

void viewers_send(struct viewers *all, const struct viewed *what, bool now)
{
	for (size_t i = 0; i < all->n; i++) {
		struct viewer *v = &all->of[i];

		if (!tell_role(all, v))
			continue;
		send_rest(v);
		if (!what || v->rest.len || !v->stale || (!now && wait_ms(v)))
			continue;
		paint_for(v, what);
		send_rest(v);
	}
}
