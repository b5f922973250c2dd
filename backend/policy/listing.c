/* listing.c - recognises commands that list a directory, such as find. */
#include "policy/harm.h"

#include <string.h>

#include <berth/arena.h>
#include <berth/mem.h>

bool listing_is_bare(const char *pattern)
{
	bool any = false;

	for (; *pattern; pattern++) {
		const char *end = *pattern == '[' && pattern[1] ? strchr(pattern + 2, ']') : NULL;

		/* [a-z]* and .[!.]* leave out next to nothing */
		if (end && (strchr("!^", pattern[1]) || pattern[2] == '-') &&
			!strchr("0123456789", pattern[1]))
			pattern = end;
		else if (!strchr("*?./", *pattern))
			return false;
		any |= strchr("*?]", *pattern) != NULL;
	}
	return any;
}

static bool one_of(const char *t, const char *a, const char *b)
{
	return !strcmp(t, a) || !strcmp(t, b);
}

/* The test at word i: is it one that picks some of the files?  How many words it takes. */
static size_t read_test(const struct shell_word *word, size_t n, size_t i, struct search *s)
{
	static const char *const neutral[] = {"-depth", "-d", "-xdev", "-mount", "-print",
		"-print0", "-follow", "-noleaf", "-a", "-and", "-o", "-or", "-not", "-readable",
		"-writable", "-ls", NULL};
	static const char *const valued[] = {
		"-mindepth", "-maxdepth", "-user", "-group", "-printf", NULL};
	static const char *const named[] = {"-name", "-iname", "-path", "-ipath", "-wholename",
		"-iwholename", "-regex", "-iregex", NULL};
	const char *t = word[i].text, *next = i + 1 < n ? word[i + 1].text : "";
	bool negated = one_of(word[i - 1].text, "!", "-not");

	if (!strcmp(t, "-type")) {
		s->type = strchr(next, 'f') ? 'f' : *next;
		return 2;
	}
	if (!strncmp(t, "-exec", 5) || !strncmp(t, "-ok", 3)) {
		size_t end = i;

		s->runs = true;
		while (end < n && strcmp(word[end].text, ";") && strcmp(word[end].text, "+"))
			end++;
		return end + 1 - i;
	}
	if (harm_one_of(t, valued))
		return 2;
	if (harm_one_of(t, named)) {
		/* all but what has this name is all */
		s->narrowed |= !negated && !listing_is_bare(next);
		return 2;
	}
	/* what is pruned goes on in the other branch as "all but" */
	if (!strcmp(t, "-prune") && one_of(next, "-o", "-or"))
		s->narrowed = false;
	else if (!strcmp(t, "-delete"))
		s->deletes = true;
	else if (t[0] == '-' && !harm_one_of(t, neutral))
		s->narrowed = true;
	return 1;
}

void search_read(const struct shell_word *word, size_t n, struct search *s)
{
	size_t i = 1;

	*s = (struct search){.from = 1};
	while (i < n && !(word[i].text[0] == '-' && word[i].text[1] > 'Z') &&
		!strchr("(!", word[i].text[0]))
		i++;
	s->to = i;
	while (i < n)
		i += read_test(word, n, i, s);
}

const char *search_all(const struct shell_word *word, size_t n, struct arena *mem)
{
	struct search s;
	const char *path = ".";

	search_read(word, n, &s);
	if (s.narrowed || (s.type && !strchr("fd", s.type)))
		return NULL;
	for (size_t i = s.to; i-- > s.from;)
		if (word[i].text[0] != '-')
			path = word[i].text;
	return arena_printf(mem, "%s/*", path);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Programs that list the directory they are in, with the words that change nothing of that. */
static const struct lister {
	const char *name, *verb, *words;
} listers[] = {
	{"git", "ls-files", " -z -c --cached . "},
	{"fd", NULL, " . -0 -H -I -u --hidden "},
	{"fdfind", NULL, " . -0 -H -I -u --hidden "},
	{"rg", "--files", " . --hidden -0 "},
	{"dir", NULL, " . "},
	{"tree", NULL, " -fi . "},
};

static bool lists_here(const struct lister *l, const struct shell_word *word, size_t n)
{
	size_t i = 1 + (l->verb != NULL);

	if (l->verb && (n < 2 || strcmp(word[1].text, l->verb)))
		return false;
	for (; i < n; i++) {
		const char *at = strstr(l->words, word[i].text);
		size_t len = strlen(word[i].text);

		if (!at || !len || at == l->words || at[-1] != ' ' || at[len] != ' ')
			return false;
	}
	return true;
}

const char *listing_of(const struct shell_word *word, size_t n, struct arena *mem)
{
	const char *name = n ? last_part(word[0].text) : "", *found = NULL;
	struct search s;

	if (!n || word[0].dynamic)
		return NULL;
	if (!strcmp(name, "find")) {
		search_read(word, n, &s);
		return s.runs || s.deletes ? NULL : search_all(word, n, mem);
	}
	if (one_of(name, "echo", "printf")) {
		for (size_t i = 1; i < n; i++)
			if (word[i].glob && listing_is_bare(last_part(word[i].text)))
				found = word[i].text;
		return found;
	}
	for (const struct lister *l = listers; l < listers + COUNT(listers); l++)
		if (!strcmp(name, l->name))
			return lists_here(l, word, n) ? "*" : NULL;
	if (strcmp(name, "ls") != 0)
		return NULL;
	for (size_t i = 1; i < n; i++)
		if (word[i].text[0] != '-' && !one_of(word[i].text, ".", "./") &&
			!(word[i].glob && listing_is_bare(word[i].text)))
			return NULL;
	return "*";
}
