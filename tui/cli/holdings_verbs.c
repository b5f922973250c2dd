/* holdings_verbs.c - `berth image|volumes|networks ls|rm|prune`: lists them, and removes them by a plan. */
#include <stdio.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/holdings.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/run.h"

#define ID_MIN 4 /* digits of an id that are enough to be meant */

static enum holding_kind kind_of_command(const struct cli *c)
{
	enum holding_kind k = HOLDING_IMAGES;

	/* "image", but "volumes" */
	while (k + 1 < HOLDING_KINDS &&
		strncmp(c->group->name, holding_kind_one(k), strlen(holding_kind_one(k))) != 0)
		k++;
	return k;
}

/* ---- ls */

static const char *held_bytes(char buf[FORMAT_MAX], int64_t bytes)
{
	return bytes < 0 ? "-" : format_bytes(buf, (uint64_t)bytes);
}

static const char *first_user(char *buf, size_t cap, const struct holding *h)
{
	char name[96];

	if (!h->nusers)
		snprintf(buf, cap, "-");
	else if (h->nusers == 1)
		snprintf(buf, cap, "%s", text_clean(name, sizeof name, h->users[0].name));
	else
		snprintf(buf, cap, "%s +%zu", text_clean(name, sizeof name, h->users[0].name),
			h->nusers - 1);
	return buf;
}

static void print_held(enum holding_kind k, const struct holding *h, const char *name)
{
	AUTO_STR struct str line = STR_INIT;
	char shown[256], users[128], owner[96], size[FORMAT_MAX], shared[FORMAT_MAX],
		age[FORMAT_MAX] = "-", subnet[64] = "-", driver[64];
	int64_t now = clock_wall_ms();

	if (h->made_ms > 0 && now > h->made_ms)
		format_age(age, now - h->made_ms);
	if (h->nsubnets) {
		text_clean(subnet, sizeof subnet, h->subnets[0]);
		subnet[strcspn(subnet, " ")] = '\0';
	}
	text_clean(shown, sizeof shown, name);
	if (strlen(shown) == 64 && strspn(shown, "0123456789abcdef") == 64)
		shown[28] = '\0'; /* nobody gave it a name: as much as tells it apart */
	text_clean(owner, sizeof owner, h->owner);
	text_clean(driver, sizeof driver, h->driver);
	first_user(users, sizeof users, h);
	if (k == HOLDING_IMAGES)
		str_addf(&line, "%-36s %.12s %6s %6s  %-20s %6s  %s", shown,
			strncmp(h->id, "sha256:", 7) ? h->id : h->id + 7,
			held_bytes(size, h->bytes), held_bytes(shared, h->shared), users, age,
			owner);
	else if (k == HOLDING_VOLUMES)
		str_addf(&line, "%-36s %6s  %-20s %-8s %6s  %s", shown, held_bytes(size, h->bytes),
			users, driver, age, owner);
	else
		str_addf(&line, "%-24s %.12s %-18s %-8s  %-20s %-8s %6s  %s", shown, h->id, subnet,
			h->internal ? "yes" : "-", users, driver, age, owner);
	cli_clip(&line, cli_columns());
	puts(line.s);
}

static void print_holdings(const struct holdings *all)
{
	static const char *const heads[HOLDING_KINDS] = {
		"IMAGE                                ID             SIZE SHARED  USED BY                 "
		"AGE  MADE BY",
		"VOLUME                                 SIZE  USED BY              DRIVER      AGE  MADE "
		"BY",
		"NETWORK                  ID           SUBNET             INTERNAL  MEMBERS              "
		"DRIVER      AGE  MADE BY"};
	AUTO_STR struct str head = STR_INIT;

	str_adds(&head, heads[all->kind]);
	cli_clip(&head, cli_columns());
	puts(head.s);
	for (size_t i = 0; i < all->n; i++) {
		const struct holding *h = &all->item[i];

		for (size_t k = 0; k < h->nnames; k++)
			print_held(all->kind, h, h->names[k]);
		if (!h->nnames)
			print_held(all->kind, h, *h->name ? h->name : "(no name)");
	}
}

static void json_size(struct jsonw *j, const char *key, int64_t bytes)
{
	if (bytes < 0)
		jsonw_null(j, key);
	else
		jsonw_int(j, key, bytes);
}

static void json_users(struct jsonw *j, enum holding_kind k, const struct holding *h)
{
	jsonw_array(j, k == HOLDING_NETWORKS ? "members" : "used_by");
	for (size_t i = 0; i < h->nusers; i++) {
		jsonw_object(j, NULL);
		jsonw_text(j, "id", h->users[i].id);
		jsonw_text(j, "name", h->users[i].name);
		jsonw_bool(j, "running", h->users[i].running);
		if (k == HOLDING_NETWORKS)
			jsonw_text(j, "address", *h->users[i].address ? h->users[i].address : NULL);
		jsonw_end(j);
	}
	jsonw_end(j);
}

static void json_words(struct jsonw *j, const char *key, const char *const *word, size_t n)
{
	jsonw_array(j, key);
	for (size_t i = 0; i < n; i++)
		jsonw_text(j, NULL, word[i]);
	jsonw_end(j);
}

static void json_held(struct jsonw *j, enum holding_kind k, const struct holding *h)
{
	jsonw_object(j, NULL);
	if (k != HOLDING_VOLUMES)
		jsonw_text(j, "id", h->id);
	if (k == HOLDING_IMAGES)
		json_words(j, "names", h->names, h->nnames);
	else
		jsonw_text(j, "name", h->name);
	if (k != HOLDING_IMAGES) {
		jsonw_text(j, "driver", h->driver);
		jsonw_text(j, k == HOLDING_VOLUMES ? "mountpoint" : "scope", h->place);
	}
	if (k == HOLDING_NETWORKS) {
		jsonw_bool(j, "internal", h->internal);
		json_words(j, "subnets", h->subnets, h->nsubnets);
	} else {
		json_size(j, "size_bytes", h->bytes);
	}
	if (k == HOLDING_IMAGES)
		json_size(j, "shared_bytes", h->shared);
	json_size(j, "created_ms", h->made_ms > 0 ? h->made_ms : -1);
	jsonw_text(j, "owner", h->owner);
	jsonw_bool(j, "ours", h->ours);
	json_users(j, k, h);
	jsonw_end(j);
}

static int json_holdings(const struct holdings *all)
{
	char schema[40];
	struct jsonw j;

	snprintf(schema, sizeof schema, "berth.%s/1", holding_kind_name(all->kind));
	jsonw_document(&j, schema);
	jsonw_bool(&j, "measured", all->measured);
	jsonw_array(&j, holding_kind_name(all->kind));
	for (size_t i = 0; i < all->n; i++)
		json_held(&j, all->kind, &all->item[i]);
	return jsonw_print(&j);
}

static int list_held(const struct cli *c, struct clean_host *h, struct arena *mem, struct err *e)
{
	bool quiet = cli_flag(c, "quiet");
	const struct holdings *all =
		holdings_look(h, kind_of_command(c), NULL, !quiet && !cli_flag(c, "fast"), mem, e);
	char id[256];

	if (!all)
		return -1;
	if (cli_flag(c, "json"))
		return json_holdings(all);
	if (!quiet)
		print_holdings(all);
	for (size_t i = 0; quiet && i < all->n; i++)
		puts(text_clean(id, sizeof id, all->item[i].id));
	return cli_finish();
}

int cli_held_list(const struct cli *c, const struct settings *s, struct err *e)
{
	if (cli_flag(c, "quiet") && cli_flag(c, "json"))
		return err_set(
			e, ERR_USAGE, "%s ls takes one of --quiet and --json.", c->group->name);
	return cli_with_clean_host(c, s, list_held, e);
}

/* ---- rm */

static bool is_named(const char *name, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(name, word, n) && (!name[n] || !strcmp(name + n, ":latest"));
}

static bool has_held_name(const struct holding *h, const char *word)
{
	if (!strcmp(h->name, word) || !strcmp(h->id, word))
		return true;
	for (size_t i = 0; i < h->nnames; i++)
		if (is_named(h->names[i], word))
			return true;
	return false;
}

static bool begins_held_id(const struct holdings *all, const struct holding *h, const char *word)
{
	const char *id = strncmp(h->id, "sha256:", 7) ? h->id : h->id + 7;

	return all->kind != HOLDING_VOLUMES && strlen(word) >= ID_MIN &&
		!strncmp(id, word, strlen(word));
}

/* The one that a word means: by name, else by the beginning of its id. */
static const struct holding *find_meant(const struct holdings *all, const char *word, struct err *e)
{
	const struct holding *found = NULL;
	size_t n = 0;

	for (int by_id = 0; by_id < 2 && !n; by_id++)
		for (size_t i = 0; i < all->n; i++)
			if (by_id ? begins_held_id(all, &all->item[i], word)
				  : has_held_name(&all->item[i], word)) {
				found = &all->item[i];
				n++;
			}
	if (n == 1)
		return found;
	if (n)
		err_set(e, ERR_USAGE, "%.80s is ambiguous (%zu %s); use an id.", word, n,
			holding_kind_name(all->kind));
	else
		err_set(e, ERR_NOT_FOUND, "There is no %s %.80s.", holding_kind_one(all->kind),
			word);
	return NULL;
}

/* What may not go is said before anything goes. */
static int check_all_may_go(const struct cli *c, struct clean_host *h, const struct clean_plan *p,
	const struct holdings *all, struct err *e)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct clean_item *it = &p->item[i];
		bool used = false;

		for (size_t k = 0; k < all->n; k++)
			used |= !strcmp(all->item[k].id, it->id) && all->item[k].nusers;
		if (it->keep) {
			struct err why = ERR_INIT;

			err_set(&why, used ? ERR_CONFLICT : ERR_REFUSED,
				"Nothing was removed, because %.80s stays: %s.", it->name,
				it->keep);
			if (!used && !cli_flag(c, "dry-run"))
				clean_refused(h, p, it, &why);
			return err_copy(e, &why);
		}
	}
	return 0;
}

/* Nobody means another name of an image by one: all of them are given, or the id. */
static int check_all_names(
	const struct cli *c, const struct holding *h, const char *word, struct err *e)
{
	char shown[128];

	if (h->nnames < 2 || !has_held_name(h, word) || !strcmp(h->id, word))
		return 0;
	for (size_t i = 0; i < h->nnames; i++) {
		int k = 0;

		while (k < c->argc && !is_named(h->names[i], c->argv[k]))
			k++;
		if (k == c->argc)
			return err_set(e, ERR_USAGE,
				"%.80s is an image that is also named %s; give all its names or its id to "
				"remove it, or remove one name with `berth image untag`.",
				word, text_clean(shown, sizeof shown, h->names[i]));
	}
	return 0;
}

static int remove_held(const struct cli *c, struct clean_host *h, struct arena *mem, struct err *e)
{
	const struct holdings *all = holdings_look(h, kind_of_command(c), NULL, false, mem, e);
	const char **id = arena_array(mem, (size_t)c->argc + 1, sizeof *id);
	const struct clean_plan *p;
	size_t n = 0;

	for (int i = 0; all && i < c->argc; i++) {
		const struct holding *one = find_meant(all, c->argv[i], e);
		size_t k = 0;

		if (!one || check_all_names(c, one, c->argv[i], e))
			return -1;
		while (k < n && strcmp(id[k], one->id) != 0)
			k++;
		if (k == n)
			id[n++] = one->id;
	}
	if (!all)
		return -1;
	p = clean_plan_choose(h, holding_clean_type(all->kind), id, n, true, mem, e);
	if (!p || check_all_may_go(c, h, p, all, e))
		return -1;
	return cli_carry_out(c, h, p, "give --yes", e);
}

int cli_held_remove(const struct cli *c, const struct settings *s, struct err *e)
{
	if (cli_flag(c, "dry-run") && cli_flag(c, "yes"))
		return err_set(
			e, ERR_USAGE, "%s rm takes one of --dry-run and --yes.", c->group->name);
	return cli_with_clean_host(c, s, remove_held, e);
}

/* ---- prune */

static int prune_held(const struct cli *c, struct clean_host *h, struct arena *mem, struct err *e)
{
	struct clean_plan *p = clean_plan_make(h, true, true, mem, e);

	if (!p)
		return -1;
	clean_plan_only(p, holding_clean_type(kind_of_command(c)));
	return cli_carry_out(c, h, p, "give --yes", e);
}

int cli_held_prune(const struct cli *c, const struct settings *s, struct err *e)
{
	if (cli_flag(c, "dry-run") && cli_flag(c, "yes"))
		return err_set(
			e, ERR_USAGE, "%s prune takes one of --dry-run and --yes.", c->group->name);
	return cli_with_clean_host(c, s, prune_held, e);
}
