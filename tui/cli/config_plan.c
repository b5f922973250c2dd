/* config_plan.c - prints the containers that a team file describes, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/plan.h>
#include <berth/text.h>
#include <berth/jsonw.h>

#include "cli/cli.h"
#include "cli/config_check.h"
#include "cli/run.h"

#define TEXT_MAX 4096

/* "  key        value", the value neutralised. */
static void print_fact(const char *key, const char *value)
{
	char shown[TEXT_MAX];

	printf("  %-10s %s\n", key, text_clean(shown, sizeof shown, value));
}

static void print_user(const struct plan *p)
{
	char text[128];

	if (p->user_known)
		snprintf(text, sizeof text, "%u:%u%s", p->uid, p->gid,
			p->new_privileges ? " (root inside)" : "");
	else
		snprintf(text, sizeof text, "the owner of its workspace, once that exists");
	print_fact("user", text);
}

static void print_limits(const struct limits *l)
{
	char text[512], a[FORMAT_MAX], b[FORMAT_MAX], c[FORMAT_MAX], d[FORMAT_MAX];

	snprintf(text, sizeof text,
		"memory %s with swap, %.2f CPUs, %" PRId64
		" processes, /tmp %s, files to %s, %" PRId64 " open files",
		format_bytes(a, l->memory_bytes), l->cpus, l->pids, format_bytes(b, l->tmp_bytes),
		format_bytes(c, l->file_bytes), l->open_files);
	print_fact("limits", text);
	if (l->timeout_s)
		snprintf(text, sizeof text, "end after %" PRId64 " s; %s of output kept each",
			l->timeout_s, format_bytes(d, l->output_bytes));
	else
		snprintf(text, sizeof text, "no time limit; %s of output kept each",
			format_bytes(d, l->output_bytes));
	print_fact("commands", text);
}

static void print_mounts(const struct plan *p)
{
	char text[TEXT_MAX];

	for (size_t i = 0; i < p->nmounts; i++) {
		const struct plan_mount *m = &p->mounts[i];

		if (!strcmp(m->source, m->target))
			snprintf(text, sizeof text, "%s  %s  (%s)", m->read_only ? "ro" : "rw",
				m->source, m->what);
		else
			snprintf(text, sizeof text, "%s  %s at %s  (%s)",
				m->read_only ? "ro" : "rw", m->source, m->target, m->what);
		print_fact(i ? "" : "mounts", text);
	}
}

static void print_isolation(const struct plan *p)
{
	char text[512];
	size_t used = 0;

	for (size_t i = 0; i < p->ncaps && used < sizeof text; i++)
		used += (size_t)snprintf(
			text + used, sizeof text - used, "%s%s", i ? " " : "", p->caps[i]);
	print_fact("caps", p->ncaps ? text : "none");
	print_fact("seccomp", p->seccomp);
	print_fact("AppArmor", p->apparmor);
	if (p->runtime) {
		snprintf(text, sizeof text, "%s (`berth up` asks the engine whether it has it)",
			p->runtime);
		print_fact("runtime", text);
	}
	snprintf(text, sizeof text, "%s root, %s", p->read_only_root ? "read-only" : "writable",
		p->new_privileges ? "new privileges allowed" : "no new privileges");
	print_fact("isolation", text);
}

static void print_config_plan(const struct plan *p)
{
	char text[TEXT_MAX];

	snprintf(text, sizeof text, "%s %s", p->tool ? "tool" : "agent", p->id);
	printf("%s\n", text);
	print_fact("image", p->image);
	print_fact("container", p->container);
	print_user(p);
	print_mounts(p);
	print_limits(p->limits);
	print_fact("network", p->network);
	print_isolation(p);
	for (size_t i = 0; i < p->nloose; i++) {
		snprintf(text, sizeof text, "%s (%s)", p->loose[i].what, p->loose[i].because);
		print_fact("loosened", text);
	}
	if (!p->nloose)
		print_fact("loosened", "nothing");
	for (size_t i = 0; i < p->nnotes; i++)
		if (!p->notes[i].never)
			print_fact("note", p->notes[i].text);
	putchar('\n');
}

/* "FILE:LINE:COLUMN: KEY: why", or "...: ignored: KEY" where it is nobody's business. */
static void print_ignored(const struct team *t, const struct ignored_key *k, FILE *to)
{
	char file[256], key[256], why[TEXT_MAX];

	fprintf(to, "%s:%d:%d: %s%s%s%s\n", text_clean(file, sizeof file, t->file), k->at.line,
		k->at.column, k->why ? "" : "ignored: ", text_clean(key, sizeof key, k->key),
		k->why ? ": " : "", text_clean(why, sizeof why, k->why ? k->why : ""));
}

void team_notes_print(const struct team *t, FILE *to)
{
	for (size_t i = 0; i < t->nignored; i++)
		if (t->ignored[i].why)
			print_ignored(t, &t->ignored[i], to);
}

void team_notes_json(const struct team *t, struct jsonw *j)
{
	jsonw_array(j, "notes");
	for (size_t i = 0; i < t->nignored; i++) {
		if (!t->ignored[i].why)
			continue;
		jsonw_object(j, NULL);
		jsonw_text(j, "key", t->ignored[i].key);
		jsonw_text(j, "why", t->ignored[i].why);
		jsonw_int(j, "line", t->ignored[i].at.line);
		jsonw_end(j);
	}
	jsonw_end(j);
}

#define TIGHTER_MAX 10

/* What MassGen's own containers have more of, each once: a file of it cannot say these, or does not. */
static size_t list_tighter(const struct findings *f, char out[TIGHTER_MAX][96])
{
	bool root = false, caps = false, gain = false;
	const struct limits *l = NULL, *memory = NULL, *cpus = NULL;
	char a[FORMAT_MAX];
	size_t n = 0;

	for (size_t i = 0; f->has_team && f->team.kind == TEAM_MASSGEN && i < f->team.nagents;
		i++) {
		const struct agent_def *d = &f->team.agents[i];

		l = &d->limits;
		memory = d->default_memory ? l : memory;
		cpus = d->default_cpus ? l : cpus;
		root |= f->plan[i].read_only_root;
		caps |= !f->plan[i].ncaps;
		gain |= !f->plan[i].new_privileges;
	}
	if (!l)
		return 0;
	if (memory)
		snprintf(out[n++], sizeof *out,
			"memory %s without command_line_docker_memory_limit",
			format_bytes(a, memory->memory_bytes));
	if (cpus)
		snprintf(out[n++], sizeof *out, "%.2f CPUs without command_line_docker_cpu_limit",
			cpus->cpus);
	snprintf(out[n++], sizeof *out, "%" PRId64 " processes", l->pids);
	snprintf(out[n++], sizeof *out, "%" PRId64 " open files", l->open_files);
	snprintf(out[n++], sizeof *out, "/tmp %s", format_bytes(a, l->tmp_bytes));
	snprintf(out[n++], sizeof *out, "files to %s", format_bytes(a, l->file_bytes));
	if (root)
		snprintf(out[n++], sizeof *out, "read-only root");
	if (caps)
		snprintf(out[n++], sizeof *out, "no capabilities");
	if (gain)
		snprintf(out[n++], sizeof *out, "no new privileges");
	snprintf(out[n++], sizeof *out, "berth's own seccomp profile");
	return n;
}

static void print_tighter(const struct findings *f)
{
	char item[TIGHTER_MAX][96];
	size_t n = list_tighter(f, item);

	for (size_t i = 0; i < n; i++)
		printf("%s%s%s", i ? ", " : "tighter than MassGen: ", item[i],
			i + 1 < n ? "" : "\n");
}

void findings_print(const struct findings *f, bool verbose)
{
	size_t others = 0;

	for (size_t i = 0; i < f->nplans; i++)
		print_config_plan(&f->plan[i]);
	print_tighter(f);
	team_notes_print(&f->team, stdout);
	for (size_t i = 0; i < f->team.nignored; i++) {
		others += !f->team.ignored[i].why;
		if (verbose && !f->team.ignored[i].why)
			print_ignored(&f->team, &f->team.ignored[i], stdout);
	}
	if (others && !verbose)
		printf("%zu key%s of MassGen's %s ignored; --verbose lists them\n", others,
			others == 1 ? "" : "s", others == 1 ? "is" : "are");
}

/* "FILE:LINE:COLUMN: sentence" taken apart; false: it has no place. */
static bool parse_place(const char *msg, const char *file, int *l, int *c, const char **sentence)
{
	size_t n = strlen(file);
	int used = 0;

	*sentence = msg;
	if (strncmp(msg, file, n) || sscanf(msg + n, ":%d:%d: %n", l, c, &used) != 2 || !used)
		return false;
	*sentence = msg + n + used;
	return true;
}

static void json_problems(struct jsonw *j, const struct findings *f, const char *file)
{
	jsonw_array(j, "problems");
	for (size_t i = 0; i < f->n; i++) {
		const char *sentence;
		int l, c;

		jsonw_object(j, NULL);
		if (parse_place(f->problem[i].msg, file, &l, &c, &sentence)) {
			jsonw_int(j, "line", l);
			jsonw_int(j, "column", c);
		}
		jsonw_text(j, "problem", sentence);
		jsonw_end(j);
	}
	jsonw_end(j);
}

static void json_limits(struct jsonw *j, const struct limits *l)
{
	jsonw_object(j, "limits");
	jsonw_uint(j, "memory_bytes", l->memory_bytes);
	jsonw_number(j, "cpus", l->cpus, 2);
	jsonw_int(j, "pids", l->pids);
	jsonw_uint(j, "tmp_bytes", l->tmp_bytes);
	jsonw_uint(j, "file_bytes", l->file_bytes);
	jsonw_int(j, "open_files", l->open_files);
	jsonw_int(j, "timeout_s", l->timeout_s);
	jsonw_uint(j, "output_bytes", l->output_bytes);
	jsonw_end(j);
}

static void json_plan(struct jsonw *j, const struct plan *p)
{
	jsonw_object(j, NULL);
	jsonw_text(j, "kind", p->tool ? "tool" : "agent");
	jsonw_text(j, "id", p->id);
	jsonw_int(j, "line", p->at.line);
	jsonw_text(j, "image", p->image);
	jsonw_text(j, "container", p->tool ? NULL : p->container);
	if (p->user_known) {
		jsonw_uint(j, "uid", p->uid);
		jsonw_uint(j, "gid", p->gid);
	} else {
		jsonw_null(j, "uid");
		jsonw_null(j, "gid");
	}
	json_limits(j, p->limits);
	jsonw_text(j, "network", p->network);
	jsonw_text(j, "seccomp", p->seccomp);
	jsonw_text(j, "apparmor", p->apparmor);
	jsonw_text(j, "runtime", p->runtime);
	jsonw_bool(j, "read_only_root", p->read_only_root);
	jsonw_bool(j, "new_privileges", p->new_privileges);
	jsonw_array(j, "capabilities");
	for (size_t i = 0; i < p->ncaps; i++)
		jsonw_text(j, NULL, p->caps[i]);
	jsonw_end(j);
	jsonw_array(j, "mounts");
	for (size_t i = 0; i < p->nmounts; i++) {
		jsonw_object(j, NULL);
		jsonw_text(j, "source", p->mounts[i].source);
		jsonw_text(j, "target", p->mounts[i].target);
		jsonw_bool(j, "read_only", p->mounts[i].read_only);
		jsonw_text(j, "what", p->mounts[i].what);
		jsonw_end(j);
	}
	jsonw_end(j);
	jsonw_array(j, "loosened");
	for (size_t i = 0; i < p->nloose; i++) {
		jsonw_object(j, NULL);
		jsonw_text(j, "what", p->loose[i].what);
		jsonw_text(j, "because", p->loose[i].because);
		jsonw_end(j);
	}
	jsonw_end(j);
	jsonw_array(j, "notes");
	for (size_t i = 0; i < p->nnotes; i++)
		jsonw_text(j, NULL, p->notes[i].text);
	jsonw_end(j);
	jsonw_end(j);
}

int findings_json(const struct findings *f, const char *file)
{
	char tighter[TIGHTER_MAX][96];
	size_t ntighter = list_tighter(f, tighter);
	struct jsonw j;

	jsonw_document(&j, "berth.config_check/1");
	jsonw_text(&j, "file", file);
	jsonw_text(&j, "kind", f->kind);
	jsonw_bool(&j, "ok", f->n == 0);
	json_problems(&j, f, file);
	jsonw_array(&j, "definitions");
	for (size_t i = 0; i < f->nplans; i++)
		json_plan(&j, &f->plan[i]);
	jsonw_end(&j);
	jsonw_array(&j, "tighter");
	for (size_t i = 0; i < ntighter; i++)
		jsonw_text(&j, NULL, tighter[i]);
	jsonw_end(&j);
	jsonw_array(&j, "ignored");
	for (size_t i = 0; f->has_team && i < f->team.nignored; i++) {
		jsonw_object(&j, NULL);
		jsonw_text(&j, "key", f->team.ignored[i].key);
		jsonw_text(&j, "why", f->team.ignored[i].why);
		jsonw_int(&j, "line", f->team.ignored[i].at.line);
		jsonw_int(&j, "column", f->team.ignored[i].at.column);
		jsonw_end(&j);
	}
	return jsonw_print(&j);
}

void findings_add(void *findings, const struct err *e)
{
	struct findings *f = findings;

	f->problem = mem_grow(f->problem, &f->cap, f->n + 1, sizeof *f->problem);
	f->problem[f->n++] = *e;
}

int cli_conclude_check(
	const struct cli *c, const char *kind, const struct err *found, size_t n, const char *file)
{
	struct findings f = {.kind = kind};
	int rc;

	for (size_t i = 0; i < n; i++)
		findings_add(&f, &found[i]);
	rc = findings_conclude(c, &f, file);
	free(f.problem);
	return rc;
}

int findings_conclude(const struct cli *cli, const struct findings *f, const char *file)
{
	char shown[256];
	int worst = f->n ? 2 : 0, printed;

	if (cli_flag(cli, "json")) {
		printed = findings_json(f, file);
		return worst ? worst : printed;
	}
	for (size_t i = 0; i < f->n; i++)
		cli_fail(&f->problem[i]);
	if (f->has_team)
		findings_print(f, cli_flag(cli, "verbose"));
	if (!worst)
		printf("%s: %s, nothing wrong%s\n", text_clean(shown, sizeof shown, file), f->kind,
			f->has_team && !f->nplans ? "; no containers needed" : "");
	return worst ? worst : cli_finish();
}
