/* look.c - `berth inspect|top|events`: prints details of containers. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonr.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>
#include <berth/when.h>

#include "cli/look.h"

#define DEPTH_MAX 64   /* beyond it lines are not indented further */
#define DETAIL_MS 5000 /* then processes that nobody has told are not shown */

static int open_look(struct look *l, const struct cli *c, const struct settings *s, struct err *e)
{
	*l = (struct look){.c = c};
	arena_init(&l->mem, 1024);
	policy_from_settings(&l->policy, s, &l->mem);
	if (cli_flag(c, "read-only"))
		l->policy.read_only_by = "--read-only";
	l->chosen = xcalloc((size_t)c->argc + 1, sizeof *l->chosen);
	l->b = cli_backend(
		c, c->command->name, &l->policy, strcmp(c->command->name, "events") != 0, e);
	if (l->b)
		l->s = cli_wait_early(l->b, false, &l->early, e);
	return l->s ? cli_chosen(c, l->s, l->chosen, e) : -1;
}

static void close_look(struct look *l)
{
	snapshot_unref(l->s);
	if (l->b)
		backend_stop(l->b);
	for (size_t i = 0; i < l->early.n; i++)
		event_free(l->early.event[i]);
	free(l->early.event);
	free(l->chosen);
	arena_release(&l->mem);
}

/* What comes from outside goes to a terminal neutralised, line by line, anywhere else as it is. */
static void print_outside(FILE *to, const char *s, size_t n)
{
	AUTO_STR struct str shown = STR_INIT;

	if (!isatty(fileno(to))) {
		fwrite(s, 1, n, to);
		return;
	}
	for (const char *end = s + n, *line; s < end; s = line + 1) {
		line = memchr(s, '\n', (size_t)(end - s));
		line = line ? line : end;
		text_neutralise(&shown, s, (size_t)(line - s), false);
		if (line < end)
			str_addc(&shown, '\n');
	}
	fwrite(shown.s, 1, shown.len, to);
}

/* --- inspect --- */

static void break_line(struct str *out, int depth)
{
	str_addc(out, '\n');
	for (int i = 0; i < depth && i < DEPTH_MAX; i++)
		str_adds(out, "    ");
}

/* JSON as docker prints it: a line for each member, four blanks for each level; texts and numbers as they are. */
static void indent_json(struct str *out, const char *s, size_t n, int depth)
{
	bool text = false, closes, opened;

	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if (text) {
			str_addc(out, c);
			if (c == '\\' && i + 1 < n)
				str_addc(out, s[++i]);
			text = c != '"';
			continue;
		}
		if (strchr(" \t\r\n", c))
			continue;
		closes = c == '}' || c == ']';
		opened = out->len && strchr("{[", out->s[out->len - 1]);
		if (closes)
			depth--;
		/* An empty object or array stays on one line. */
		if (out->len && closes != opened)
			break_line(out, depth);
		str_addc(out, c);
		text = c == '"';
		if (c == '{' || c == '[')
			depth++;
		else if (c == ',')
			break_line(out, depth);
		else if (c == ':')
			str_addc(out, ' ');
	}
}

static int no_member(const struct json *o, const char *name, struct err *e)
{
	AUTO_STR struct str all = STR_INIT;
	char shown[64];

	for (const struct json *m = o->first; m && all.len < 200; m = m->next)
		if (m->key)
			str_addf(&all, "%s.%s", all.len ? ", " : "",
				text_clean(shown, sizeof shown, m->key));
	return form_no_field(name, all.len ? all.s : "what the engine reports", e);
}

/* What begins the path: a member, the one with the longest name, for those of labels have dots, or the number of an element. */
static const struct json *step_into(const struct json *o, const char **path)
{
	const struct json *best = NULL;
	size_t longest = 0, i = 0;

	for (const struct json *m = o->first; m; m = m->next, i++) {
		char number[24];
		const char *key = m->key ? m->key : number;
		size_t n;

		snprintf(number, sizeof number, "%zu", i);
		n = strlen(key);
		if (n > longest && !strncmp(*path, key, n) && (!(*path)[n] || (*path)[n] == '.')) {
			best = m;
			longest = n;
		}
	}
	*path += longest + ((*path)[longest] == '.');
	return best;
}

/* {{.State.Status}}: row is the document. */
static int add_member(struct str *out, const char *name, bool json, const void *row, struct err *e)
{
	const struct json *at = row;

	for (const char *path = name; at && *path;) {
		const struct json *next = step_into(at, &path);

		if (!next && at->type == JSON_NULL)
			break;
		if (!next)
			return no_member(at, name, e);
		at = next;
	}
	if (!at)
		return 0;
	if (at->type == JSON_STRING && json)
		jsonw_quote(out, at->text, at->len);
	else if (at->type == JSON_NULL && !json)
		str_addc(out, '-');
	else
		str_add(out, at->text, at->len);
	return 0;
}

static struct event *inspect_one(struct look *l, int i, struct err *e)
{
	struct command *cmd = command_new(CMD_INSPECT);
	struct event *ev;

	cli_target_all(cmd, l->chosen + i, 1);
	ev = cli_answer(l->b, backend_send(l->b, cmd), e);
	if (ev && ev->err.kind) {
		err_copy(e, &ev->err);
		event_free(ev);
		return NULL;
	}
	return ev;
}

static int add_own_inspection(
	const struct form *form, const struct event *ev, struct str *out, struct err *e)
{
	struct err fault = ERR_INIT;
	const struct json *root;
	AUTO_ARENA struct arena mem = ARENA_INIT(1 << 16);

	root = json_parse(&mem, ev->bytes, ev->nbytes, &fault, e);
	return root ? form_line(form, root, out, e) : -1;
}

static int read_inspect_form(const struct cli *c, struct form *ret, struct err *e)
{
	*ret = (struct form){.words = {"json"}, .no_table = true, .cell = add_member};
	return form_read(ret, cli_value(c, "format"), e);
}

static int print_inspected(struct look *l, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	struct form form;

	if (read_inspect_form(l->c, &form, e))
		return -1;
	for (int i = 0; i < l->c->argc; i++) {
		struct event *ev = inspect_one(l, i, e);
		int rc = 0;

		if (!ev)
			return -1;
		if (form.text) {
			rc = add_own_inspection(&form, ev, &text, e);
		} else {
			str_clear(&text);
			str_adds(&text, "    ");
			indent_json(&text, ev->bytes, ev->nbytes, 1);
			fputs(i ? ",\n" : "[\n", stdout);
			print_outside(stdout, text.s, text.len);
		}
		event_free(ev);
		if (rc)
			return -1;
	}
	if (form.text)
		print_outside(stdout, text.s, text.len);
	else
		puts("\n]");
	return cli_finish();
}

/* --- top --- */

static void print_process_table(const struct detail *d)
{
	char memory[FORMAT_MAX], cpu[FORMAT_MAX], user[64], shown[512];

	printf("%7s  %-10s %6s %6s  %s\n", "PID", "USER", "CPU %", "MEM", "COMMAND");
	for (size_t i = 0; i < d->nprocesses; i++) {
		const struct process_info *p = &d->processes[i];

		printf("%7d  %-10s %6s %6s  %s\n", p->pid,
			p->user && *p->user ? text_clean(user, sizeof user, p->user) : "-",
			p->cpu_percent < 0 ? "-" : format_percent(cpu, p->cpu_percent),
			format_bytes(memory, p->memory_bytes),
			text_clean(shown, sizeof shown, p->command));
	}
}

static int add_process_field(
	struct str *out, const char *name, bool json, const void *row, struct err *e)
{
	static const char *const names[] = {
		"PID", "User", "State", "CPU", "Memory", "Time", "Command", NULL};
	const struct process_info *p = row;
	char text[FORM_CELL_MAX] = "";
	int i = form_field(names, name, e);

	if (i < 0 || !p)
		return i < 0 ? -1 : 0;
	if (i == 0)
		snprintf(text, sizeof text, "%d", p->pid);
	else if (i == 1 || i == 2)
		text_clean(text, sizeof text, i == 1 ? p->user : p->state);
	else if (i == 3 && p->cpu_percent >= 0)
		format_percent(text, p->cpu_percent);
	else if (i == 4)
		format_bytes(text, p->memory_bytes);
	else if (i == 5)
		format_span(text, p->cpu_ms / 1000);
	else if (i == 6)
		text_clean(text, sizeof text, p->command);
	return form_text(out, text, json);
}

static void print_own_processes(const struct form *form, const struct detail *d)
{
	AUTO_STR struct str lines = STR_INIT;

	for (size_t i = 0; i < d->nprocesses; i++)
		form_line(form, &d->processes[i], &lines, NULL);
	form_print(form, &lines);
}

static int read_top_form(const struct cli *c, struct form *ret, struct err *e)
{
	*ret = (struct form){.words = {"table"}, .cell = add_process_field};
	return form_read(ret, cli_value(c, "format"), e);
}

static int print_processes(struct look *l, struct err *e)
{
	int64_t late = clock_mono_ns() + DETAIL_MS * INT64_C(1000000);
	struct form form;
	struct command *cmd;
	char shown[128];

	if (read_top_form(l->c, &form, e))
		return -1;
	if (!container_is_up(l->chosen[0]->state))
		return err_set(e, ERR_FAILED, "%s has no process: it is not running.",
			text_clean(shown, sizeof shown, l->chosen[0]->name));
	cmd = command_new(CMD_FOCUS);
	cli_target_all(cmd, l->chosen, 1);
	backend_send(l->b, cmd);
	while (clock_mono_ns() < late) {
		struct pollfd p = {.fd = backend_fd(l->b), .events = POLLIN};
		const struct snapshot *s;
		struct event *ev;

		while ((ev = backend_next(l->b)))
			event_free(ev);
		s = backend_snapshot(l->b);
		if (s->detail && !strcmp(s->detail->id, l->chosen[0]->id) &&
			s->detail->nprocesses) {
			if (form.text)
				print_own_processes(&form, s->detail);
			else
				print_process_table(s->detail);
			snapshot_unref(s);
			return cli_finish();
		}
		snapshot_unref(s);
		poll(&p, 1, 100);
	}
	return err_set(e, ERR_FAILED,
		"%s has no process: it is not running, or the engine did not report it.",
		text_clean(shown, sizeof shown, l->chosen[0]->name));
}

/* --- events --- */

static int add_event_field(
	struct str *out, const char *name, bool json, const void *row, struct err *e)
{
	static const char *const names[] = {
		"At", "Time", "TimeNano", "Type", "Action", "ID", "Name", "More", NULL};
	const struct engine_event *v = row;
	char stamp[FORMAT_MAX], text[FORM_CELL_MAX] = "";
	int i = form_field(names, name, e);

	if (i < 0 || !v)
		return i < 0 ? -1 : 0;
	if (i == 0)
		snprintf(text, sizeof text, "%s", format_stamp(stamp, v->wall_ns / 1000000));
	else if (i == 1 || i == 2)
		snprintf(text, sizeof text, "%lld",
			(long long)(i == 1 ? v->wall_ns / 1000000000 : v->wall_ns));
	else
		text_clean(text, sizeof text,
			i == 3           ? v->type
				: i == 4 ? v->action
				: i == 5 ? v->id
				: i == 6 ? v->name
					 : v->more);
	return form_text(out, text, json);
}

static int read_events_form(const struct cli *c, struct form *ret, struct err *e)
{
	*ret = (struct form){.words = {"json"}, .no_table = true, .cell = add_event_field};
	return form_read(ret, cli_value(c, "format"), e);
}

static void print_engine_event(const struct look *l, const struct engine_event *v)
{
	char stamp[FORMAT_MAX], type[32], action[64], name[128], more[256];
	const char *format = cli_value(l->c, "format");
	AUTO_STR struct str line = STR_INIT;
	struct jsonw j;

	if (l->form.text) {
		form_line(&l->form, v, &line, NULL);
		fwrite(line.s, 1, line.len, stdout);
		return;
	}
	if (!cli_flag(l->c, "json") && !(format && !strcmp(format, "json"))) {
		printf("%s  %-9s %-14s %s  %s\n", format_stamp(stamp, v->wall_ns / 1000000),
			text_clean(type, sizeof type, v->type),
			text_clean(action, sizeof action, v->action),
			text_clean(name, sizeof name, v->name),
			text_clean(more, sizeof more, v->more));
		return;
	}
	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "at", format_stamp(stamp, v->wall_ns / 1000000));
	jsonw_text(&j, "type", v->type);
	jsonw_text(&j, "action", v->action);
	jsonw_text(&j, "id", v->id);
	jsonw_text(&j, "name", v->name);
	jsonw_text(&j, "more", v->more);
	jsonw_print(&j);
}

static const char *event_type(const void *row)
{
	return ((const struct engine_event *)row)->type;
}

/* The engine says "health_status: healthy": either is meant by its word, or by all of it. */
static bool event_is(const void *row, const char *value)
{
	const struct engine_event *v = row;
	size_t n = strlen(v->action);

	return !strncmp(v->action, value, n) &&
		(!value[n] ||
			(value[n] == ':' &&
				!strcmp(value + n + 1 + (value[n + 1] == ' '), v->more)));
}

static const char *event_name(const void *row)
{
	return ((const struct engine_event *)row)->name;
}

static const char *event_id(const void *row)
{
	return ((const struct engine_event *)row)->id;
}

static const char *const event_types[] = {"builder", "config", "container", "daemon", "image",
	"machine", "network", "node", "plugin", "pod", "secret", "service", "system", "volume",
	NULL};
/* docker's and podman's, as parse_event names them. */
static const char *const event_actions[] = {"archive-path", "attach", "auto-update", "build",
	"checkpoint", "commit", "connect", "copy", "create", "delete", "destroy", "detach", "die",
	"disable", "disconnect", "enable", "exec", "exec_create", "exec_detach", "exec_die",
	"exec_died", "exec_start", "exited", "export", "extract-to-dir", "health_status", "history",
	"import", "init", "install", "kill", "load", "loadFromArchive", "mount", "oom", "pause",
	"prune", "pull", "pull-error", "push", "refresh", "reload", "remove", "rename", "renumber",
	"resize", "restart", "restore", "rotate", "save", "start", "stop", "sync", "tag", "top",
	"unmount", "unpause", "untag", "update", NULL};
const struct cli_filter cli_event_filters[] = {{"type", FIT_WHOLE, event_types, event_type, NULL},
	{"event", FIT_ACTION, event_actions, NULL, event_is},
	{"name", FIT_REGEX, NULL, event_name, NULL}, {"id", FIT_PREFIX, NULL, event_id, NULL}, {0}};

/* Of the containers named, or all.  false: standard output is closed. */
static bool print_if_meant(const struct look *l, const struct engine_event *v)
{
	bool meant = !l->c->argc;

	if (!*v->action)
		return true;
	for (int i = 0; i < l->c->argc; i++)
		meant |= !strcmp(l->chosen[i]->id, v->id);
	if (!meant || !cli_fits_filters(l->c, cli_event_filters, v))
		return true;
	print_engine_event(l, v);
	return !fflush(stdout) && !ferror(stdout);
}

static int print_events(struct look *l, struct err *e)
{
	struct event *ev;
	bool open = true, ended = false;

	if (read_events_form(l->c, &l->form, e))
		return -1;
	cli_catch_interrupts(); /* who reads the first line may stop us at once, also where it came early */
	for (size_t i = 0; i < l->early.n && open; i++) {
		ended = !*l->early.event[i]->engine_event.action;
		open = print_if_meant(l, &l->early.event[i]->engine_event);
	}
	while (open && !ended && (ev = cli_answer(l->b, 0, e))) {
		ended = !*ev->engine_event.action;
		open = print_if_meant(l, &ev->engine_event);
		event_free(ev);
	}
	return !open || ended ? cli_finish() : e->kind == ERR_CANCELLED ? 0 : -1;
}

int cli_look(const struct cli *c, const struct settings *s,
	int (*verb)(struct look *l, struct err *e), struct err *e)
{
	struct look l;
	int rc = open_look(&l, c, s, e) ? -1 : verb(&l, e);

	close_look(&l);
	return rc;
}

int cli_inspect(const struct cli *c, const struct settings *s, struct err *e)
{
	struct form form;

	return read_inspect_form(c, &form, e) ? -1 : cli_look(c, s, print_inspected, e);
}

int cli_top(const struct cli *c, const struct settings *s, struct err *e)
{
	struct form form;

	return read_top_form(c, &form, e) ? -1 : cli_look(c, s, print_processes, e);
}

static int check_span(const struct cli *c, struct err *e)
{
	const char *since = cli_value(c, "since"), *until = cli_value(c, "until");
	int64_t now = clock_wall_ms(), from = since ? when_ns(since, now, e) : 0;
	int64_t to = until && from >= 0 ? when_ns(until, now, e) : 0;

	if (from < 0 || to < 0)
		return -1;
	return until && from > to ? err_set(e, ERR_USAGE, "--since is after --until.") : 0;
}

int cli_events(const struct cli *c, const struct settings *s, struct err *e)
{
	struct form form;

	if (cli_check_filters(c, cli_event_filters, e) || check_span(c, e) ||
		read_events_form(c, &form, e))
		return -1;
	return cli_look(c, s, print_events, e);
}
