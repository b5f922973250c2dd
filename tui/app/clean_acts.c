/* clean_acts.c - opens the dialog before a clean-up plan is executed. */
#include <string.h>

#include <berth/clean.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>

#include "app/app_state.h"

static const char *item_line(struct arena *mem, const struct clean_item *it)
{
	char bytes[FORMAT_MAX];

	bool named = !strcmp(it->id, it->name);

	return arena_printf(mem, "%-9s  %.60s  %.12s%s%s%s", clean_type_name(it->type), it->name,
		named ? "" : it->id + (strncmp(it->id, "sha256:", 7) ? 0 : 7), named ? "" : "  ",
		it->bytes > 0 ? format_bytes(bytes, (uint64_t)it->bytes) : "",
		it->running ? "  runs" : "");
}

static const char *effect_of_clean(struct arena *mem, const struct clean_totals *t, size_t homes)
{
	AUTO_STR struct str s = STR_INIT;
	char bytes[FORMAT_MAX];

	if (t->running)
		str_addf(&s, "%zu still running: stopped first; C starts %s again within 10 s.\n",
			t->running, t->running == 1 ? "it" : "them");
	if (homes)
		str_addf(&s, "%zu volume%s: the files in %s are lost.\n", homes,
			homes == 1 ? "" : "s", homes == 1 ? "it" : "them");
	str_addf(&s, "This cannot be undone%s%s%s.\n", t->bytes ? "; frees " : "",
		t->bytes && t->bytes_unknown ? "at least " : "",
		t->bytes ? format_bytes(bytes, t->bytes) : "");
	str_adds(&s, "Skipped: anything that changes before it is reached");
	if (t->kept)
		str_addf(&s, ", and %zu protected", t->kept);
	str_adds(&s, ".");
	return arena_strdup(mem, s.s);
}

void app_confirm_clean(struct app *a, const struct clean_plan *p)
{
	struct command *c = command_new(CMD_CLEAN_RUN);
	struct clean_totals t = clean_totals(p);
	const char **items = arena_array(&c->mem, t.marked + 1, sizeof *items);
	struct dialog_ask ask = {.verb = "Remove", .danger = true, .items = items};
	size_t volumes = 0;

	c->plan = clean_plan_copy(p, &c->mem);
	for (size_t i = 0; i < p->n; i++) {
		if (!p->item[i].marked)
			continue;
		items[ask.nitems++] = item_line(&c->mem, &p->item[i]);
		volumes += p->item[i].type == CLEAN_VOLUME;
	}
	ask.title = arena_printf(&c->mem, "Remove %zu item%s", t.marked, t.marked == 1 ? "" : "s");
	ask.where = acts_where(&c->mem, &a->live->engine, "");
	ask.effect = effect_of_clean(&c->mem, &t, volumes);
	ask.word = arena_printf(&c->mem, "%zu", t.marked);
	acts_ask(a, c, &ask);
}

void app_tell_orphans(struct app *a, int n)
{
	for (size_t i = 0; i < a->ntabs; i++)
		if (!strcmp(a->tab[i].view.ops->name, "clean"))
			app_say(a, ROLE_WARN,
				"%d orphan%s of dead processes and ended sessions: press %zu to clean up.",
				n, n == 1 ? "" : "s", i + 1);
}
