/* terminals_type.c - types text and keys into a terminal, through the process that keeps it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "lane/wire_io.h"
#include "terminals/terminals.h"

#define AGAIN_MS 20

static int check_text(const char *s, size_t n, struct err *e)
{
	uint32_t cp;

	for (size_t i = 0; i < n;) {
		size_t used = utf8_next(s + i, n - i, &cp);

		if (cp == TEXT_BAD && used == 1)
			return err_set(e, ERR_USAGE, "the text is not UTF-8 at byte %zu", i + 1);
		if (cp < 0x20 || (cp >= 0x7F && cp < 0xA0))
			return err_set(e, ERR_USAGE,
				"the text has a control character (0x%02X) at byte %zu; --key types Enter, Tab, Esc, C-c and other keys",
				(unsigned)cp, i + 1);
		i += used;
	}
	return 0;
}

int terminals_check_typing(const struct terminal_typing *t, struct err *e)
{
	AUTO_STR struct str bytes = STR_INIT;
	size_t n = t->n;

	if (!t->n && !t->nkeys)
		return err_set(e, ERR_USAGE, "nothing to type: neither text nor --key is given");
	if (check_text(t->text, t->n, e))
		return -1;
	for (size_t i = 0; i < t->nkeys; i++) {
		if (terminal_key(t->keys[i], false, &bytes, e))
			return -1;
		n += strlen(t->keys[i]) + 1;
	}
	return n <= TERMINAL_SEND_MAX
		? 0
		: err_set(e, ERR_USAGE, "at most %d bytes are typed at a time, not %zu",
			  TERMINAL_SEND_MAX, n);
}

/* Its process did not say what became of what was sent. */
static int say_not_typed(const char *container, const char *name, struct err *e)
{
	struct terminal_screen s = {0};

	if (terminals_read(container, name, &s, e))
		return -1;
	terminal_screen_release(&s);
	switch (s.status) {
	case TERMINAL_ENDED:
		return err_set(e, ERR_USAGE,
			"the terminal `%s` of %s has ended with exit code %d; `berth terminal start` starts it again",
			name, container, s.exit_code);
	case TERMINAL_LOST:
		return err_set(e, ERR_USAGE,
			"the terminal `%s` of %s is lost: the process that kept it was killed, and its command with it",
			name, container);
	default:
		return err_set(e, ERR_TIMEOUT,
			"the terminal `%s` of %s does not answer, or takes no input; what was sent may still be typed",
			name, container);
	}
}

/* Once; EBUSY: another one is not done. */
static int send_once(const char *container, const struct str *message, struct terminals_sent *sent,
	struct err *e)
{
	AUTO_CLOSE int conn = terminals_dial(container, e);

	if (conn < 0)
		return -1;
	if (wire_send(conn, (enum lane_type)TERMINALS_SEND, message->s, message->len))
		return err_sys(e, errno, "cannot ask for the terminals of %s", container);
	if (recv(conn, sent, sizeof *sent, 0) != sizeof *sent)
		sent->error = EPIPE;
	return 0;
}

static int judge_sent(
	const char *container, const char *name, const struct terminals_sent *sent, struct err *e)
{
	char still[80] = "";

	switch (sent->error) {
	case 0: return 0;
	case ENOENT:
	case EPIPE: return say_not_typed(container, name, e);
	case EBUSY:
		return err_set(e, ERR_USAGE,
			"another `berth terminal send` to `%s` of %s has not finished; nothing was typed",
			name, container);
	case ETIMEDOUT:
		if (sent->waiting)
			snprintf(still, sizeof still, " (%u more wait in front of it)",
				sent->waiting);
		return err_set(e, ERR_USAGE,
			"the program in `%s` of %s does not read: %u of %u bytes taken in %d s%s; is the container paused?",
			name, container, sent->taken, sent->all, TERMINAL_SEND_MS / 1000, still);
	default: return err_sys(e, sent->error, "cannot type into `%s` of %s", name, container);
	}
}

int terminals_type(
	const char *container, const char *name, const struct terminal_typing *t, struct err *e)
{
	AUTO_STR struct str message = STR_INIT;
	struct terminals_send head = {.text = (uint32_t)t->n};
	struct terminals_sent sent = {.error = EBUSY};
	struct terminal_screen s = {0};
	int64_t until = clock_real_ms() + TERMINAL_SEND_MS;

	if (terminals_check_typing(t, e) || terminals_read(container, name, &s, e))
		return -1;
	terminal_screen_release(&s);
	if (s.status != TERMINAL_RUNS)
		return say_not_typed(container, name, e);
	snprintf(head.name, sizeof head.name, "%s", name);
	str_add(&message, &head, sizeof head);
	str_add(&message, t->text, t->n);
	for (size_t i = 0; i < t->nkeys; i++)
		str_add(&message, t->keys[i], strlen(t->keys[i]) + 1);
	while (sent.error == EBUSY && clock_real_ms() < until) {
		if (send_once(container, &message, &sent, e))
			return -1;
		if (sent.error == EBUSY)
			poll(NULL, 0, AGAIN_MS);
	}
	return judge_sent(container, name, &sent, e);
}
