/* kept.c - saves and loads the choices made in the console. */
#include "cli/kept.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <berth/file.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#define KEPT_MAX 65536

static int kept_path(char *buf, size_t cap)
{
	char dir[PATH_MAX];
	struct err e = ERR_INIT;

	if (state_dir(dir, sizeof dir, &e) < 0 ||
		snprintf(buf, cap, "%s/console.json", dir) >= (int)cap)
		return -1;
	return 0;
}

/* What berth.yaml says of all that can be kept: when that is changed, it holds again. */
static void describe_settings(const struct settings *s, struct str *out)
{
	str_addf(out, "%s %s %d %d", s->theme, s->sort, s->groups, s->stopped);
	for (size_t i = 0; i < s->columns.n; i++)
		str_addf(out, " %s", s->columns.item[i]);
}

static bool holds_for(const struct config *c, const struct settings *s)
{
	const struct node *over = node_get(c->root, "over");
	AUTO_STR struct str now = STR_INIT;

	describe_settings(s, &now);
	return over && over->kind == NODE_SCALAR && strcmp(over->value, now.s) == 0;
}

static void list_kept(const struct config *c, struct app_kept *ret)
{
	const struct node *theme = node_get(c->root, "theme"), *views = node_get(c->root, "views");

	*ret = (struct app_kept){0};
	if (theme && theme->kind == NODE_SCALAR)
		ret->theme = theme->value;
	for (size_t i = 0; views && views->kind == NODE_MAP && i < views->n; i++) {
		const struct node *of = views->child[i];

		if (of->kind != NODE_MAP || ret->n == COUNT(ret->view))
			continue;
		ret->view[ret->n].view = of->key;
		ret->view[ret->n++].of = of;
	}
}

bool kept_read(const struct settings *s, struct config *mem, struct app_kept *ret)
{
	AUTO_STR struct str text = STR_INIT;
	struct err e = ERR_INIT;
	char path[PATH_MAX];

	if (kept_path(path, sizeof path) < 0 ||
		file_read(AT_FDCWD, path, O_NOFOLLOW, KEPT_MAX, &text, &e) < 0 ||
		config_parse(path, text.s, text.len, mem, &e) < 0)
		return false;
	if (holds_for(mem, s)) {
		list_kept(mem, ret);
		return true;
	}
	config_release(mem);
	return false;
}

void kept_write(const struct settings *s, const struct str *kept)
{
	AUTO_STR struct str over = STR_INIT, all = STR_INIT;
	char path[PATH_MAX];

	if (kept->len < 2 || kept_path(path, sizeof path) < 0)
		return;
	describe_settings(s, &over);
	str_adds(&all, "{\n  \"over\": ");
	jsonw_quote(&all, over.s, over.len);
	str_addf(&all, ",%s", kept->s + 1);
	/* A disk that takes nothing more costs no more than what was chosen. */
	if (all.len <= KEPT_MAX)
		(void)!file_replace(path, all.s, all.len, false);
}
