/* script.c - drives the console by a file of commands, on the canvas alone. */
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
#define WAIT_MS 60000 /* a lost engine comes back within it, also beside load */
#define KEY_MS 600    /* with a person looking on */
#define LETTER_MS 80

struct script {
	char *file;
	struct str text;
	char *rest; /* what is left of the text */
	int line;
	struct str picture;
	bool (*pace)(struct app *a, int ms); /* NULL: nobody looks on */
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
	s->rest = s->text.s;
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

/* Something may have happened.  -1: nothing will any more. */
static int pump_backend(struct app *a, int timeout_ms, struct err *e)
{
	struct pollfd p[1 + TASKS_MAX] = {{.events = POLLIN}};

	if (a->script->pace)
		return a->script->pace(a, timeout_ms < 100 ? timeout_ms : 100)
			? 0
			: err_set(e, ERR_CANCELLED, "The demo was left.");
	p->fd = backend_fd(a->o->backend);
	if (poll(p, 1 + tasks_poll(a, p + 1), timeout_ms) > 0)
		app_drain(a);
	tasks_pulse(a);
	return 0;
}

static int wait_for_text(
	struct script *s, struct app *a, const char *text, bool there, struct err *e)
{
	int64_t until = clock_real_ms() + WAIT_MS, now;

	app_drain(a);
	while ((strstr(draw_picture(s, a), text) != NULL) != there) {
		now = clock_real_ms();
		if (now >= until || pump_backend(a, (int)(until - now), e) < 0)
			return not_there(s, a, e,
				there ? "timed out waiting for"
				      : "timed out waiting for the end of",
				text);
	}
	return 0;
}

static int next_snapshot(struct script *s, struct app *a, struct err *e)
{
	int64_t until = clock_real_ms() + WAIT_MS, now;
	uint64_t seq = a->live->seq;

	while (a->live->seq == seq) {
		now = clock_real_ms();
		if (now >= until || pump_backend(a, (int)(until - now), e) < 0)
			return refuse_line(s, e, "no snapshot came after number", "");
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
		app_input(a, &(struct input){.key = k});
		app_drain(a);
		if (s->pace && !s->pace(a, KEY_MS))
			break;
	}
	return 0;
}

static void type_script_text(struct script *s, struct app *a, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n;) {
		struct key k = {0};

		i += utf8_next(text + i, n - i, &k.code);
		app_input(a, &(struct input){.key = k});
		if (s->pace && !s->pace(a, LETTER_MS))
			break;
	}
	app_drain(a);
}

static void put_script_text(struct app *a, const struct str *text)
{
	if (a->o->out)
		str_add(a->o->out, text->s, text->len);
	else
		fwrite(text->s, 1, text->len, stdout);
	fflush(stdout); /* who reads it may act by what it shows */
}

/* "" | styles | body | body styles | svg */
static int dump_screen(struct script *s, struct app *a, const char *what, struct err *e)
{
	bool body = strncmp(what, "body", 4) == 0;
	const char *how = body ? what + 4 + (what[4] == ' ') : what;
	bool styles = strcmp(how, "styles") == 0;
	struct str out = STR_INIT;
	int from = 0, to;

	if (*how && !styles && strcmp(what, "svg") != 0)
		return refuse_line(s, e, "dump [body] [styles] or dump svg, not", what);

	app_drain(a);
	frame_draw(a);
	to = a->canvas.rows;
	if (body) {
		from = a->body.y;
		to = from + a->body.h + a->spoke;
	}
	if (strcmp(what, "svg") == 0)
		canvas_svg(&a->canvas, &a->theme, &out);
	else
		canvas_dump_rows(&a->canvas, from, to, &out, styles);
	put_script_text(a, &out);
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
	app_input(a, &(struct input){.kind = INPUT_CLICK, .x = x, .y = y, .twice = twice});
	app_drain(a);
	return 0;
}

static int resize_to(struct script *s, struct app *a, const char *arg, struct err *e)
{
	int w, h;

	if (sscanf(arg, "%d %d", &w, &h) != 2)
		return refuse_line(s, e, "size W H, not", arg);
	app_input(a, &(struct input){.kind = INPUT_RESIZE, .x = w, .y = h});
	return 0;
}

/* The frozen clock is there at once, the real one when it is. */
static void advance_clock(struct app *a, int64_t ms)
{
	int64_t until = clock_mono_ns() + ms * 1000000, left;

	clock_advance(ms * 1000000);
	while ((left = until - clock_mono_ns()) > 0)
		if (pump_backend(a, (int)(left / 1000000) + 1, NULL) < 0)
			return;
}

static int obey_line(struct script *s, struct app *a, const char *word, char *arg, struct err *e)
{
	if (s->pace &&
		(strcmp(word, "size") == 0 || strcmp(word, "dump") == 0 ||
			strcmp(word, "click") == 0))
		return refuse_line(s, e, "on a terminal there is no", word);
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
		type_script_text(s, a, arg);
	else if (strcmp(word, "paste") == 0)
		app_input(a, &(struct input){.kind = INPUT_PASTE, .text = arg, .n = strlen(arg)});
	else if (strcmp(word, "wheel") == 0)
		app_input(a, &(struct input){.kind = INPUT_WHEEL, .lines = atoi(arg)});
	else if (strcmp(word, "say") == 0)
		app_say(a, ROLE_ACCENT, "%s", arg);
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

int script_next(struct script *s, struct app *a, struct err *e)
{
	while (*s->rest) {
		char *line = s->rest, *end = strchrnul(line, '\n'), *arg;

		s->rest = *end ? end + 1 : end;
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
		return obey_line(s, a, line, arg, e) < 0 ? -1 : 1;
	}
	return 0;
}

int script_run(struct script *s, struct app *a, struct err *e)
{
	int more = 1;

	while (more > 0 && !a->quit)
		more = script_next(s, a, e);
	return more < 0 ? -1 : 0;
}

void script_pace(struct script *s, bool (*pace)(struct app *a, int ms))
{
	s->pace = pace;
}
