/* team_presets.c - expands preset:NAME in an agent's rules to hosts (configs/presets.yaml). */
#include <string.h>

#include <berth/egress.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "team/team_forms.h"

#define PRESETS_FILE "configs/presets.yaml"

static const struct node *find_preset(const struct node *all, const char *rule)
{
	bool preset = !strncmp(rule, EGRESS_PRESET, sizeof EGRESS_PRESET - 1);

	return preset ? node_get(all, rule + sizeof EGRESS_PRESET - 1) : NULL;
}

static int name_presets(const struct reader *r, const struct node *at, const char *rule,
	const struct node *all, struct err *e)
{
	AUTO_STR struct str names = STR_INIT;

	for (size_t i = 0; i < all->n; i++)
		str_addf(&names, "%s%s", i ? ", " : "", all->child[i]->key);
	return node_err(
		r->c, at, e, "\"%.40s\" is not a preset; known presets: %s.", rule, names.s);
}

static int expand_rules(const struct reader *r, const struct node *at, const struct node *all,
	struct words *rules, struct err *e)
{
	const char **word;
	size_t n = 0;

	for (size_t i = 0; i < rules->n; i++) {
		const struct node *p = find_preset(all, rules->word[i]);

		if (!p && !strncmp(rules->word[i], EGRESS_PRESET, sizeof EGRESS_PRESET - 1))
			return name_presets(r, at, rules->word[i], all, e);
		n += p ? p->n : 1;
	}
	word = arena_array(r->mem, n, sizeof *word);
	n = 0;
	for (size_t i = 0; i < rules->n; i++) {
		const struct node *p = find_preset(all, rules->word[i]);

		for (size_t k = 0; p && k < p->n; k++)
			word[n++] =
				arena_printf(r->mem, "%s %s", rules->word[i], p->child[k]->value);
		if (!p)
			word[n++] = rules->word[i];
	}
	*rules = (struct words){n, word};
	return 0;
}

int team_expand_presets(
	const struct reader *r, const struct node *at, struct words *rules, struct err *e)
{
	struct config presets;
	size_t len;
	const char *text = embedded_file(PRESETS_FILE, &len);
	int rc;

	if (!rules->n)
		return 0;
	if (config_parse(PRESETS_FILE, text, len, &presets, e))
		return -1;
	rc = expand_rules(r, at, node_get(presets.root, "presets"), rules, e);
	config_release(&presets);
	return rc;
}
