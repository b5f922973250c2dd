/* undo.c - `berth undo`: lists recently removed containers, and recreates one. */
#include <stdio.h>
#include <string.h>

#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>
#include <berth/undo.h>

#include "cli/gate.h"
#include "cli/run.h"

static int print_undoable_json(const struct undo_item *all, size_t n)
{
	char at[FORMAT_MAX];
	struct jsonw j;

	jsonw_document(&j, "berth.undo/1");
	jsonw_array(&j, "removed");
	for (size_t i = 0; i < n; i++) {
		jsonw_object(&j, NULL);
		jsonw_text(&j, "id", all[i].id);
		jsonw_text(&j, "name", all[i].name);
		jsonw_text(&j, "image", all[i].image);
		jsonw_text(&j, "engine", all[i].engine);
		jsonw_text(&j, "at", format_stamp(at, all[i].removed_ms));
		jsonw_bool(&j, "ran", all[i].ran);
		jsonw_bool(&j, "can_be_undone", !all[i].ours);
		jsonw_end(&j);
	}
	return jsonw_print(&j);
}

static int list_undoable(const struct cli *c, const struct undo_item *all, size_t n)
{
	if (cli_flag(c, "json"))
		return print_undoable_json(all, n);
	for (size_t i = 0; i < n; i++) {
		AUTO_STR struct str line = STR_INIT;
		char age[FORMAT_MAX];

		str_addf(&line, "%.12s  %7s ago  ", all[i].id,
			format_age(age, clock_wall_ms() - all[i].removed_ms));
		text_neutralise(&line, all[i].name, strlen(all[i].name), false);
		str_adds(&line, "  ");
		text_neutralise(&line, all[i].image, strlen(all[i].image), false);
		if (all[i].ours)
			str_adds(&line, "  (berth up recreates it)");
		cli_clip(&line, cli_columns());
		printf("%s\n", line.s);
	}
	return cli_finish();
}

/* By its name, the newest of that; or by its id or its beginning. */
static const struct undo_item *find_undoable(
	const struct undo_item *all, size_t n, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].name, word) || (len >= 12 && !strncmp(all[i].id, word, len)))
			return &all[i];
	return NULL;
}

int cli_undo(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE struct undo_item *all = xcalloc(UNDO_MOST, sizeof *all);
	size_t n = undo_list(all, UNDO_MOST);
	struct undo_request q = {.host = cli_value(c, "host"), .context = cli_value(c, "context")};
	char id[65], name[128];
	struct policy policy;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	int rc;

	(void)s;
	if (!c->argc)
		return list_undoable(c, all, n);
	q.item = find_undoable(all, n, c->argv[0]);
	if (!q.item)
		return err_set(e, ERR_NOT_FOUND,
			"No container %.100s was removed by berth in the last 10 minutes.",
			c->argv[0]);
	q.policy = &policy;
	rc = cli_policy(c, &policy, &mem, e) || undo_make(&q, id, e) ? -1 : 0;
	if (rc)
		return -1;
	printf("%.12s  %s was recreated%s; what was written in its own file system is lost.\n", id,
		text_clean(name, sizeof name, q.item->name), q.item->ran ? " and runs" : "");
	return cli_recorded(cli_finish(), 1);
}
