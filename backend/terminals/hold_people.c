/* hold_people.c - what people do with a terminal that is kept: they type into it, and are attached to it. */
#include "terminals/hold.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "lane/wire_io.h"

#define TYPED_MAX ((size_t)64 << 10)
#define SENDING_LOOK_MS 3

static void note_answer(struct held *h)
{
	h->screen.answered_ms = clock_wall_ms();
	h->changed = true;
}

/* What is on its way to the container and was not taken there. */
static size_t count_waiting(const struct held *h)
{
	int n = 0;

	return h->c.in >= 0 && !ioctl(h->c.in, FIONREAD, &n) && n > 0 ? (size_t)n : 0;
}

static void answer_sending(struct held *h, int error)
{
	size_t left = h->sending.to - h->sending.from, written = h->sending.all - left,
	       waiting = error ? count_waiting(h) : 0;
	struct terminals_sent sent = {.error = error, .all = (uint32_t)h->sending.all};

	if (waiting > written)
		waiting = written;
	sent.taken = (uint32_t)(written - waiting);
	sent.waiting = (uint32_t)waiting;
	send(h->sending.conn, &sent, sizeof sent, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(h->sending.conn);
	h->sending.conn = -1;
}

/* The rest of what is sent is not typed later, when nobody expects it. */
static void drop_sending(struct held *h)
{
	char *s = h->input.s;
	size_t from = h->sending.from, to = h->sending.to;

	memmove(s + from, s + to, h->input.len - to);
	h->input.len -= to - from;
	s[h->input.len] = '\0';
}

static void turn_sending(struct held *h)
{
	if (h->sending.conn < 0)
		return;
	if (h->c.in < 0) {
		answer_sending(h, EPIPE);
	} else if (!h->sending.to && !count_waiting(h)) {
		answer_sending(h, 0);
	} else if (clock_real_ms() >= h->sending.due_ms) {
		size_t before = h->sending.to - h->sending.from;

		answer_sending(h, ETIMEDOUT);
		if (before)
			drop_sending(h);
	}
}

/* `n` bytes of names with a NUL behind each. */
static int add_keys(struct held *h, const char *names, size_t n, struct str *out)
{
	if (n && names[n - 1])
		return EPROTO;
	for (size_t i = 0; i < n; i += strlen(names + i) + 1)
		if (terminal_key(names + i, h->seen.modes & SEEN_BIT(CURSOR_KEYS), out, NULL))
			return EINVAL;
	return 0;
}

int held_send(struct held *h, int conn, const char *body, size_t n)
{
	AUTO_STR struct str bytes = STR_INIT;
	struct terminals_send head;
	int error;

	if (h->sending.conn >= 0)
		return EBUSY;
	if (h->c.in < 0)
		return EPIPE;
	memcpy(&head, body, sizeof head);
	body += sizeof head;
	n -= sizeof head;
	if (head.text > n)
		return EPROTO;
	if (head.text && h->seen.modes & SEEN_BIT(PASTE))
		str_adds(&bytes, "\x1b[200~");
	str_add(&bytes, body, head.text);
	if (head.text && h->seen.modes & SEEN_BIT(PASTE))
		str_adds(&bytes, "\x1b[201~");
	error = add_keys(h, body + head.text, n - head.text, &bytes);
	if (error)
		return error;
	h->sending.conn = conn;
	h->sending.from = h->input.len;
	h->sending.all = bytes.len;
	h->sending.to = h->input.len + bytes.len;
	h->sending.due_ms = clock_real_ms() + TERMINAL_SEND_MS;
	str_add(&h->input, bytes.s, bytes.len);
	note_answer(h);
	held_write(h);
	return 0;
}

void held_send_size(struct held *h)
{
	if (h->size_due &&
		(!lane_resize(&h->c, h->screen.columns, h->screen.rows) || errno != EAGAIN))
		h->size_due = false;
}

static void resize(struct held *h, int columns, int rows)
{
	columns = terminal_within(TERMINAL_COLUMNS_MIN, columns, TERMINAL_COLUMNS_MAX);
	if (h->screen.columns == columns && h->screen.rows == rows)
		return;
	emulator_resize(h->em, columns, rows);
	seen_resized(&h->seen);
	emulator_show(h->em, &h->screen);
	h->changed = h->size_due = true;
	held_send_size(h);
	viewers_redraw(&h->viewers);
}

/* Sizes follow the one who types. */
static void follow_typist(struct held *h)
{
	const struct viewer *v = viewers_typist(&h->viewers);

	if (v)
		resize(h, v->columns, v->rows);
}

int held_attach(struct held *h, int conn, const struct terminals_attach *a)
{
	int error = viewers_add(&h->viewers, conn, a);

	if (!error)
		follow_typist(h);
	return error;
}

bool held_takes_keys(const struct held *h)
{
	return h->c.in < 0 || h->input.len + TERMINALS_TYPE_MAX <= TYPED_MAX;
}

/* What does not fit, though he was to wait, is left out. */
static void type_bytes(struct held *h, struct typed *typed, const char *bytes, size_t n)
{
	uint64_t keys = typed_keys(typed);

	if (h->c.in >= 0 && h->input.len + n <= TYPED_MAX)
		str_add(&h->input, bytes, n);
	typed_take(typed, bytes, n);
	if (typed_keys(typed) > keys)
		note_answer(h);
	held_write(h);
}

static void take_size(struct held *h, struct viewer *v, const char *body)
{
	struct terminals_size size;

	memcpy(&size, body, sizeof size);
	viewer_resize(v, &size);
	follow_typist(h);
}

void held_hear_viewer(struct held *h, size_t i)
{
	char body[LANE_MSG_MAX];
	struct viewer *v = &h->viewers.of[i];
	struct lane_msg head;
	int fds[LANE_FDS_MAX], n = 0, r = wire_recv(v->conn, &head, body, fds, &n);

	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	wire_close_all(fds, n);
	if (r <= 0)
		viewers_remove(&h->viewers, i);
	else if (head.type == TERMINALS_TYPE && v->types)
		type_bytes(h, &v->typed, body, head.len);
	else if (head.type == TERMINALS_SIZE && head.len == sizeof(struct terminals_size))
		take_size(h, v, body);
	else if (head.type == TERMINALS_TAKE && !v->watches && !v->types) {
		viewers_take(&h->viewers, i);
		follow_typist(h);
	}
}

void held_turn(struct held *h)
{
	struct viewed what = {.screen = &h->screen, .seen = &h->seen};
	struct emulator_cursor saved;
	bool due;

	turn_sending(h);
	if (!h->viewers.n)
		return;
	due = viewers_due(&h->viewers) || h->ended;
	if (due) {
		held_take_screen(h);
		what.pen = emulator_pen(h->em);
		what.saved = emulator_saved(h->em, &saved) ? &saved : NULL;
	}
	viewers_send(&h->viewers, due ? &what : NULL, h->ended);
}

int held_turn_ms(const struct held *h)
{
	int wait = viewers_wait_ms(&h->viewers);

	if (h->sending.conn >= 0 && (wait < 0 || wait > SENDING_LOOK_MS))
		wait = SENDING_LOOK_MS;
	return wait;
}
