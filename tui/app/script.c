/* script.c - the console driven by a file of commands, on the canvas alone. */
#include "app/script.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <berth/backend.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "app/app_state.h"

#define SCRIPT_MAX (1 << 20)
#define WAIT_MS 10000

struct script {
	char *file;
	struct str text;
	int line;
	struct str picture;
};

struct script *script_open(const char *file, struct err *e)
{
	struct script *s = xcalloc(1, sizeof *s);

	str_init(&s->text);
	str_init(&s->picture);
	s->file = xstrdup(file);
	if (file_read(AT_FDCWD, file, 0, SCRIPT_MAX, &s->text, e) < 0) {
		script_free(s);
		return NULL;
	}
	return s;
}

void script_free(struct script *s)
{
	if (!s)
		return;
	free(s->file);
	str_release(&s->text);
	str_release(&s->picture);
	free(s);
}

/* The real clock: the frozen one does not limit a wait. */
static int64_t real_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static const char *draw_picture(struct script *s, struct app *a)
{
	frame_draw(a);
	str_clear(&s->picture);
	canvas_dump(&a->canvas, &s->picture, false);
	return s->picture.s;
}

static int refuse_line(struct script *s, struct err *e, const char *what, const char *arg)
{
	return err_set(e, ERR_FAILED, "%s:%d: %s `%.200s`", s->file, s->line, what, arg);
}

/* With the picture, for somebody must see what was there instead. */
static int not_there(
	struct script *s, struct app *a, struct err *e, const char *what, const char *arg)
{
	fprintf(stderr, "%s", draw_picture(s, a));
	return refuse_line(s, e, what, arg);
}

static void pump_backend(struct app *a, int timeout_ms)
{
	struct pollfd p[1 + TASKS_MAX] = {{.fd = backend_fd(a->o->backend), .events = POLLIN}};

	if (poll(p, 1 + tasks_poll(a, p + 1), timeout_ms) > 0)
		app_drain(a);
	tasks_pulse(a);
}

static int wait_for_text(
	struct script *s, struct app *a, const char *text, bool there, struct err *e)
{
	int64_t until = real_ms() + WAIT_MS, now;

	app_drain(a);
	while ((strstr(draw_picture(s, a), text) != NULL) != there) {
		now = real_ms();
		if (now >= until)
			return not_there(s, a, e,
				there ? "timed out waiting for"
				      : "timed out waiting for the end of",
				text);
		pump_backend(a, (int)(until - now));
	}
	return 0;
}

static int next_snapshot(struct script *s, struct app *a, struct err *e)
{
	int64_t until = real_ms() + WAIT_MS, now;
	uint64_t seq = a->live->seq;

	while (a->live->seq == seq) {
		now = real_ms();
		if (now >= until)
			return refuse_line(s, e, "no snapshot came after number", "");
		pump_backend(a, (int)(until - now));
	}
	return 0;
}

static int press_script_keys(struct script *s, struct app *a, char *arg, struct err *e)
{
	char *rest = NULL;

	for (char *w = strtok_r(arg, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		struct err why = ERR_INIT;
		struct key k;

		if (key_parse(w, strlen(w), &k, &why) < 0)
			return err_set(e, ERR_USAGE, "%s:%d: %s", s->file, s->line, why.msg);
		app_key(a, k);
		app_drain(a);
	}
	return 0;
}

static void type_script_text(struct app *a, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n;) {
		struct key k = {0};

		i += utf8_next(text + i, n - i, &k.code);
		app_key(a, k);
	}
	app_drain(a);
}

/* "" | styles | body | body styles */
static int dump_screen(struct script *s, struct app *a, const char *what, struct err *e)
{
	bool body = strncmp(what, "body", 4) == 0;
	const char *how = body ? what + 4 + (what[4] == ' ') : what;
	bool styles = strcmp(how, "styles") == 0;
	struct str out = STR_INIT;
	int from = 0, to;

	if (*how && !styles)
		return refuse_line(s, e, "dump [body] [styles], not", what);

	app_drain(a);
	frame_draw(a);
	to = a->canvas.rows;
	if (body) {
		from = a->body.y;
		to = from + a->body.h + a->spoke;
	}
	canvas_dump_rows(&a->canvas, from, to, &out, styles);
	if (a->o->out)
		str_add(a->o->out, out.s, out.len);
	else
		fwrite(out.s, 1, out.len, stdout);
	str_release(&out);
	return 0;
}

/* Where the first of it begins. */
static int find_on_picture(const char *picture, const char *text, int *x, int *y)
{
	const char *at = strstr(picture, text), *line = picture, *end;

	if (!at)
		return -1;
	for (*y = 0; (end = strchr(line, '\n')) && end < at; line = end + 1)
		++*y;
	*x = text_width(line, (size_t)(at - line));
	return 0;
}

static int click_at(struct script *s, struct app *a, const char *arg, struct err *e)
{
	bool twice = strncmp(arg, "twice ", 6) == 0;
	int x, y;

	if (strncmp(arg, "on ", 3) == 0) {
		if (find_on_picture(draw_picture(s, a), arg + 3, &x, &y) < 0)
			return not_there(s, a, e, "there is no", arg + 3);
	} else if (sscanf(arg + (twice ? 6 : 0), "%d %d", &x, &y) != 2) {
		return refuse_line(s, e, "click X Y, not", arg);
	}
	frame_draw(a);
	app_click(a, x, y, twice);
	app_drain(a);
	return 0;
}

static int resize_to(struct script *s, struct app *a, const char *arg, struct err *e)
{
	int w, h;

	if (sscanf(arg, "%d %d", &w, &h) != 2)
		return refuse_line(s, e, "size W H, not", arg);
	app_resize(a, w, h);
	return 0;
}

/* The frozen clock is there at once, the real one when it is. */
static void advance_clock(struct app *a, int64_t ms)
{
	int64_t until = clock_mono_ns() + ms * 1000000, left;

	clock_advance(ms * 1000000);
	while ((left = until - clock_mono_ns()) > 0)
		pump_backend(a, (int)(left / 1000000) + 1);
}

static int obey_line(struct script *s, struct app *a, const char *word, char *arg, struct err *e)
{
	if (strcmp(word, "size") == 0)
		return resize_to(s, a, arg, e);
	if (strcmp(word, "key") == 0)
		return press_script_keys(s, a, arg, e);
	if (strcmp(word, "click") == 0)
		return click_at(s, a, arg, e);
	if (strcmp(word, "wait") == 0 || strcmp(word, "gone") == 0)
		return wait_for_text(s, a, arg, word[0] == 'w', e);
	if (strcmp(word, "snapshot") == 0)
		return next_snapshot(s, a, e);
	if (strcmp(word, "dump") == 0)
		return dump_screen(s, a, arg, e);
	app_drain(a);
	if (strcmp(word, "type") == 0)
		type_script_text(a, arg);
	else if (strcmp(word, "paste") == 0)
		app_paste(a, arg, strlen(arg));
	else if (strcmp(word, "wheel") == 0)
		app_wheel(a, atoi(arg));
	else if (strcmp(word, "advance") == 0)
		advance_clock(a, strtoll(arg, NULL, 10));
	else if (strcmp(word, "expect") == 0 && !strstr(draw_picture(s, a), arg))
		return not_there(s, a, e, "there is no", arg);
	else if (strcmp(word, "refuse") == 0 && strstr(draw_picture(s, a), arg))
		return not_there(s, a, e, "there is", arg);
	else if (strcmp(word, "expect") != 0 && strcmp(word, "refuse") != 0)
		return refuse_line(s, e, "no command is called", word);
	return 0;
}

int script_run(struct script *s, struct app *a, struct err *e)
{
	char *rest = s->text.s;

	while (rest && *rest && !a->quit) {
		char *line = rest, *end = strchrnul(line, '\n'), *arg;

		rest = *end ? end + 1 : end;
		*end = '\0';
		s->line++;
		line += strspn(line, " \t");
		if (!line[0] || line[0] == '#')
			continue;
		arg = line + strcspn(line, " ");
		if (*arg)
			*arg++ = '\0';
		/* A view may place the cursor by what it drew last. */
		frame_draw(a);
		if (obey_line(s, a, line, arg, e) < 0)
			return -1;
	}
	return 0;
}
