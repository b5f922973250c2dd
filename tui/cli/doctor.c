/* doctor.c - `berth doctor`: checks what works on this machine, and suggests fixes. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/apparmor.h>
#include <berth/build.h>
#include <berth/mem.h>
#include <berth/text.h>
#include <berth/jsonw.h>

#include "cli/doctor.h"
#include "cli/run.h"

static const char *const verdict_name[] = {"ok", "note", "missing"};

void answer(struct answer *a, enum verdict v, const char *remedy, const char *found, ...)
{
	va_list ap;

	a->verdict = v;
	snprintf(a->remedy, sizeof a->remedy, "%s", remedy ? remedy : "");
	va_start(ap, found);
	vsnprintf(a->found, sizeof a->found, found, ap);
	va_end(ap);
}

bool in_path(const char *name, char *where, size_t cap)
{
	const char *path = getenv("PATH");
	AUTO_FREE char *all = xasprintf("%s:/usr/local/sbin:/usr/sbin:/sbin", path ? path : "");
	char *save = NULL;

	for (char *dir = strtok_r(all, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		snprintf(where, cap, "%s/%s", dir, name);
		if (dir[0] == '/' && access(where, X_OK) == 0)
			return true;
	}
	return false;
}

struct report {
	struct jsonw json;
	bool as_json;
	size_t count[3];
};

static void add_lacks(struct report *r, uint64_t lacks)
{
	static const struct lack_row rows[] = {LACKS(LACK_ROW)};
	static const char *const ends[] = {"mended", "told", "refused"};

	if (r->as_json)
		jsonw_array(&r->json, "lacks");
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (!(lacks >> i & 1))
			continue;
		if (!r->as_json) {
			printf("%-25s it %s: %s\n", "", rows[i].what, rows[i].follows);
			continue;
		}
		jsonw_object(&r->json, NULL);
		jsonw_text(&r->json, "what", rows[i].what);
		jsonw_text(&r->json, "follows", rows[i].follows);
		jsonw_text(&r->json, "end", ends[rows[i].end]);
		jsonw_end(&r->json);
	}
	if (r->as_json)
		jsonw_end(&r->json);
}

static void add_answer(struct report *r, const char *name, const struct answer *a)
{
	char found[sizeof a->found * 3], remedy[sizeof a->remedy * 3];

	r->count[a->verdict]++;
	if (!r->as_json) {
		printf("%-8s %-16s %s\n", verdict_name[a->verdict], name,
			text_clean(found, sizeof found, a->found));
		if (a->remedy[0])
			printf("%-25s -> %s\n", "", text_clean(remedy, sizeof remedy, a->remedy));
		add_lacks(r, a->lacks);
		return;
	}
	jsonw_object(&r->json, NULL);
	jsonw_text(&r->json, "name", name);
	jsonw_text(&r->json, "state", verdict_name[a->verdict]);
	jsonw_text(&r->json, "found", a->found);
	jsonw_text(&r->json, "remedy", a->remedy[0] ? a->remedy : NULL);
	if (a->lacks)
		add_lacks(r, a->lacks);
	jsonw_end(&r->json);
}

static void ask_all(struct report *r, const struct question *q, const struct patient *p)
{
	for (; q->name; q++) {
		struct answer a = {.verdict = MISSING};

		q->ask(p, &a);
		add_answer(r, q->name, &a);
	}
}

int cli_doctor(const struct cli *c, const struct settings *unused, struct err *e)
{
	struct report r = {.as_json = cli_flag(c, "json")};
	struct patient p = {.cli = c, .engine_err = ERR_INIT};
	struct backend *b = cli_backend(c, "doctor", NULL, true, &p.engine_err);

	(void)unused;
	if (cli_flag(c, "fix") && apparmor_here() && agents_load_apparmor(e)) {
		backend_stop(b);
		return -1;
	}
	if (b)
		p.snapshot = cli_wait(b, true, &p.engine_err);
	if (r.as_json) {
		jsonw_document(&r.json, "berth.doctor/1");
		jsonw_text(&r.json, "version", berth_build.version);
		jsonw_array(&r.json, "checks");
	}
	ask_all(&r, doctor_engine, &p);
	ask_all(&r, doctor_machine, &p);
	ask_all(&r, doctor_person, &p);
	snapshot_unref(p.snapshot);
	backend_stop(b);
	if (r.as_json) {
		jsonw_end(&r.json);
		jsonw_bool(&r.json, "ok", r.count[MISSING] == 0);
		jsonw_end(&r.json);
		if (jsonw_print(&r.json) != 0)
			return 1;
	} else {
		printf("\n%zu fine, %zu noted, %zu missing\n", r.count[FINE], r.count[NOTED],
			r.count[MISSING]);
		if (cli_finish() != 0)
			return 1;
	}
	return r.count[MISSING] ? 1 : 0;
}
