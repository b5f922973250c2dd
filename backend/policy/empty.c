/* empty.c - commands that take away all that is in a directory of the system or in the workspace. */
#include "policy/harm.h"

#include <string.h>

#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/text.h>

bool harm_option(const struct command *c, char letter, const char *word, size_t least)
{
	for (size_t i = 1; i < c->n; i++) {
		const char *t = c->word[i].text;
		size_t n = strlen(t);

		if (!strcmp(t, "--"))
			return false;
		if (t[0] == '-' && t[1] == '-') {
			if (word && n >= least + 2 && n <= strlen(word) + 2 &&
				!strncmp(t + 2, word, n - 2))
				return true;
		} else if (letter && t[0] == '-' && strchr(t + 1, letter)) {
			return true;
		}
	}
	return false;
}

/* rm itself leaves . and .. alone. */
static bool is_dots(const char *t)
{
	size_t n = strlen(t);

	while (n && t[n - 1] == '/')
		n--;
	return t[0] != '/' && n && t[n - 1] == '.' && strspn(t, "./") >= n;
}

int harm_rm(const struct harm_options *o, const struct command *c, struct err *e)
{
	bool recursive = harm_option(c, 'r', "recursive", 1) || harm_option(c, 'R', NULL, 0);

	if (harm_option(c, 0, "no-preserve-root", 3))
		return harm_refuse(c, e, "it deletes the root directory");
	for (size_t i = 1; i < c->n; i++) {
		struct place p = place_of(o, c, &c->word[i]);

		if (!p.kind || is_dots(c->word[i].text) || (!recursive && !p.all))
			continue;
		if (p.unless)
			return harm_refuse(c, e,
				"if the cd before it fails, it deletes everything there; write cd "
				"... && rm");
		if (p.kind == PLACE_SYSTEM)
			return harm_refuse(c, e,
				"it deletes a system directory, or a home, with its contents");
		return harm_refuse(c, e,
			"it empties the workspace, or a directory above it; name what to delete");
	}
	return 0;
}

/* Programs that delete or overwrite the files they are given, as they are called. */
static const struct remover {
	const char *name, *verb;
	char unless; /* an option with which it does not */
	bool trees;  /* directories with all that is in them; it knows wildcards itself */
} removers[] = {
	{"unlink", NULL, 0, false},
	{"cp", "/dev/null", 0, false},
	{"shred", NULL, 0, false},
	{"truncate", NULL, 0, false},
	{"tee", NULL, 'a', false},
	{"sponge", NULL, 'a', false},
	{"srm", NULL, 0, true},
	{"wipe", NULL, 0, true},
	{"rimraf", NULL, 0, true},
	{"del", NULL, 0, true},
	{"del-cli", NULL, 0, true},
	{"trash", NULL, 0, true},
	{"trash-put", NULL, 0, true},
	{"gio", "trash", 0, true},
};

static int check_remover(const struct remover *r, const struct harm_options *o,
	const struct command *c, struct err *e)
{
	if ((r->verb && (c->n < 2 || strcmp(c->word[1].text, r->verb))) ||
		(r->unless && harm_option(c, r->unless, NULL, 0)))
		return 0;
	for (size_t i = 1; i < c->n; i++) {
		struct shell_word w = c->word[i];
		struct place p;

		w.glob |= r->trees && strpbrk(w.text, "*?") != NULL;
		p = place_of(o, c, &w);
		if (p.kind && (p.all || r->trees))
			return harm_refuse(c, e,
				p.kind == PLACE_SYSTEM
					? "it removes or overwrites the contents of a system directory"
					: "it removes or overwrites everything in the workspace; name what to delete");
	}
	return 0;
}

int harm_remover(const struct harm_options *o, const struct command *c, struct err *e)
{
	const char *name = harm_name(c);

	for (size_t i = 0; i < COUNT(removers); i++)
		if (harm_same(name, removers[i].name) && check_remover(&removers[i], o, c, e))
			return -1;
	return 0;
}

/* Where mv puts what it moves, and which of the words that is. */
static struct shell_word find_target(const struct command *c, size_t *which)
{
	*which = c->n - 1;
	for (size_t i = 1; i + 1 < c->n; i++) {
		struct shell_word w = c->word[i];
		size_t n = strlen(w.text);

		if (!strncmp(w.text, "--target-directory=", 19)) {
			w.text += 19;
			*which = i;
			return w;
		}
		if (w.text[0] == '-' && w.text[1] != '-' && w.text[n - 1] == 't')
			*which = i + 1;
	}
	return c->word[*which];
}

int harm_mv(const struct harm_options *o, const struct command *c, struct err *e)
{
	size_t which;
	struct shell_word to = find_target(c, &which);
	bool away = place_is_outside(o, c, &to);

	for (size_t i = 1; i < c->n; i++) {
		struct place p = {0};

		if (i != which)
			p = place_of(o, c, &c->word[i]);
		if (p.kind == PLACE_SYSTEM)
			return harm_refuse(c, e, "it moves a system directory away");
		if (p.kind && !p.all && !is_dots(c->word[i].text))
			return harm_refuse(c, e, "it moves the workspace away");
		if (p.kind && p.all && away)
			return harm_refuse(c, e, "it moves everything in the workspace out of it");
	}
	if (c->n > 2 && !strcmp(c->word[c->n - 1].text, "/dev/null"))
		return harm_refuse(c, e, "it moves files into nothing");
	return 0;
}

int harm_find(const struct harm_options *o, const struct command *c, struct err *e)
{
	static const struct shell_word here = {.text = "."};
	struct search s;
	struct place p = {0};
	bool paths = false;

	search_read(c->word, c->n, &s);
	if (!s.deletes || s.narrowed)
		return 0;
	for (size_t i = s.from; i < s.to; i++) {
		if (c->word[i].text[0] == '-')
			continue;
		paths = true;
		if (p.kind != PLACE_SYSTEM)
			p = place_of(o, c, &c->word[i]);
		if (p.kind == PLACE_WORKSPACE)
			break;
	}
	if (!paths)
		p = place_of(o, c, &here);
	if (p.kind == PLACE_SYSTEM)
		return harm_refuse(c, e, "it deletes everything below a system directory");
	if (p.kind && (!s.type || s.type == 'f'))
		return harm_refuse(c, e,
			"it deletes everything in the workspace; narrow it, for example by -name");
	return 0;
}

int harm_rsync(const struct harm_options *o, const struct command *c, struct err *e)
{
	const struct shell_word *to = &c->word[c->n - 1];
	bool deletes = harm_option(c, 0, "delete", 3) || harm_option(c, 0, "delete-before", 7) ||
		harm_option(c, 0, "delete-after", 7) || harm_option(c, 0, "delete-delay", 7) ||
		harm_option(c, 0, "delete-during", 7) || harm_option(c, 0, "delete-excluded", 7);
	struct place p = place_of(o, c, to);

	if (harm_option(c, 'n', "dry-run", 2))
		return 0;
	if (deletes && p.kind == PLACE_SYSTEM)
		return harm_refuse(c, e, "it deletes what is in a system directory");
	if (deletes && p.kind)
		return harm_refuse(c, e,
			"it deletes everything in the workspace and not in the other directory; "
			"give it a directory of its own");
	for (size_t i = 1; i + 1 < c->n && harm_option(c, 0, "remove-source-files", 8); i++)
		if (place_of(o, c, &c->word[i]).kind)
			return harm_refuse(
				c, e, "it deletes what it copies, which is the workspace");
	return 0;
}

/* What is packed and then deleted. */
int harm_archive(const struct harm_options *o, const struct command *c, struct err *e)
{
	bool removes = false, elsewhere = false;

	for (size_t i = 1; i < c->n; i++) {
		const char *t = c->word[i].text;

		removes |= !strcmp(t, "--remove-files") || !strcmp(t, "-sdel");
		elsewhere |= t[0] == '-' && (strchr(t, 'C') || !strncmp(t, "--directory", 11));
	}
	if (harm_is(c, "zip"))
		removes = harm_option(c, 'm', "move", 2);
	for (size_t i = 1; i < c->n && removes; i++)
		if (place_of(o, c, &c->word[i]).kind && (!elsewhere || c->word[i].text[0] == '/'))
			return harm_refuse(
				c, e, "it deletes what it packs, which is the whole workspace");
	return 0;
}

/* git clean -ffd: repositories that lie in the workspace go, with all that was never pushed */
int harm_git(const struct harm_options *o, const struct command *c, struct err *e)
{
	static const struct shell_word here = {.text = "."};
	const struct shell_word *where = &here;
	bool clean = false, directories = false;
	size_t forced = 0;

	for (size_t i = 1; i < c->n; i++) {
		const char *t = c->word[i].text;

		if (!clean && !strcmp(t, "-C") && i + 1 < c->n)
			where = &c->word[++i];
		else if (!clean && t[0] != '-' && strcmp(t, "clean") != 0)
			return 0;
		else if (t[0] != '-' && clean)
			where = &c->word[i];
		clean |= !strcmp(t, "clean");
		forced += !strcmp(t, "--force");
		if (t[0] != '-' || t[1] == '-')
			continue;
		if (strpbrk(t, "ni"))
			return 0;
		directories |= strchr(t, 'd') != NULL;
		for (; *t; t++)
			forced += *t == 'f';
	}
	if (forced < 2 || !directories || !place_of(o, c, where).kind)
		return 0;
	return harm_refuse(c, e,
		"by -ff it deletes repositories in the workspace, too, with what was never pushed; one -f "
		"leaves them");
}
