/* rules_file.c - reads and writes an agent's network rules, with the decisions of people. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <berth/egress.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/str.h>

#include "egress/egress.h"

static int compare_places(const void *a, const void *b)
{
	return strcmp(a, b);
}

int egress_place(const char *name, const char *suffix, char path[EGRESS_PATH_MAX], struct err *e)
{
	char base[EGRESS_PATH_MAX], dir[EGRESS_PATH_MAX];

	if (!*name || *name == '.' || strchr(name, '/'))
		return err_set(e, ERR_USAGE, "`%.80s` is not a container's name", name);
	if (runtime_dir(base, sizeof base, e) || runtime_subdir(dir, sizeof dir, base, "egress", e))
		return -1;
	if (snprintf(path, EGRESS_PATH_MAX, "%.200s/%.64s%s", dir, name, suffix) >= EGRESS_PATH_MAX)
		return err_set(e, ERR_CONFIG, "the path %s/%s%s is too long", dir, name, suffix);
	return 0;
}

size_t egress_places(const char *suffix, char (*names)[64], size_t most)
{
	char path[EGRESS_PATH_MAX];
	const struct dirent *x;
	size_t n = 0, end = strlen(suffix);
	AUTO_CLOSEDIR DIR *d = NULL;

	if (egress_place("x", "", path, NULL))
		return 0;
	*strrchr(path, '/') = '\0';
	d = opendir(path);
	while (d && n < most && (x = readdir(d))) {
		size_t len = strlen(x->d_name);

		if (len <= end || len - end >= 64 || strcmp(x->d_name + len - end, suffix) != 0)
			continue;
		snprintf(names[n++], 64, "%.*s", (int)(len - end), x->d_name);
	}
	mem_sort(names, n, 64, compare_places);
	return n;
}

size_t egress_names(char (*names)[64], size_t most)
{
	return egress_places(".rules", names, most);
}

int egress_lock(const char *name, struct err *e)
{
	char path[EGRESS_PATH_MAX];
	int fd;

	if (egress_place(name, ".lock", path, e))
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && !flock(fd, LOCK_EX))
		return fd;
	err_sys(e, errno, "cannot lock %s", path);
	if (fd >= 0)
		close(fd);
	return -1;
}

static int read_rule_line(char *line, struct egress_rule *r, struct err *e)
{
	char *save = NULL, *verb = strtok_r(line, " ", &save), *origin = strtok_r(NULL, " ", &save),
	     *since = strtok_r(NULL, " ", &save), *rule = strtok_r(NULL, " ", &save);

	if (!rule || strtok_r(NULL, " ", &save) ||
		(strcmp(verb, "allow") != 0 && strcmp(verb, "deny") != 0 &&
			strcmp(verb, "ask") != 0 && strcmp(verb, "upstream") != 0 &&
			strcmp(verb, "rate") != 0 && strcmp(verb, "engine") != 0))
		return err_set(e, ERR_CONFIG, "a line of the rules is malformed");
	if (!strcmp(verb, "ask")) {
		long s = strtol(rule, NULL, 10);

		*r = (struct egress_rule){
			.ask_s = s > 0 && s <= EGRESS_ASK_S_MAX ? (uint16_t)s : 1};
	} else if (*verb == 'r') {
		*r = (struct egress_rule){.rate = strtoull(rule, NULL, 10)};
		r->rate += !r->rate; /* what is no number is no way around it */
	} else if (*verb == 'e') {
		if (egress_parse_network(rule, r, e))
			return -1;
	} else if (*verb == 'u' ? egress_parse_upstream(rule, r, e)
				: egress_parse_rule(rule, verb[1] == 'l', r, e)) {
		return -1;
	}
	r->origin = !strcmp(origin, "file") ? EGRESS_FILE : EGRESS_SESSION;
	if (!strncmp(origin, EGRESS_PRESET, sizeof EGRESS_PRESET - 1)) {
		r->origin = EGRESS_FILE;
		snprintf(r->preset, sizeof r->preset, "%s", origin + sizeof EGRESS_PRESET - 1);
	}
	r->since_s = strtoll(since, NULL, 10);
	return 0;
}

int egress_read_rules(
	const char *text, size_t len, struct egress_rule *out, size_t *n, struct err *e)
{
	AUTO_FREE char *copy = xstrndup(text, len);
	char *save = NULL;

	*n = 0;
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (*n == EGRESS_RULES_MAX)
			return err_set(
				e, ERR_CONFIG, "there are more than %d rules", EGRESS_RULES_MAX);
		if (read_rule_line(line, &out[(*n)++], e))
			return -1;
	}
	return 0;
}

static void write_rules(const struct egress_rule *rules, size_t n, struct str *out)
{
	char text[EGRESS_RULE_MAX];

	for (size_t i = 0; i < n; i++) {
		egress_write_rule(&rules[i], text);
		str_addf(out, "%s %s%s %" PRId64 " %s\n", egress_rule_verb(&rules[i]),
			*rules[i].preset ? EGRESS_PRESET : "",
			*rules[i].preset ? rules[i].preset : egress_origin_name(rules[i].origin),
			rules[i].since_s, text);
	}
}

int egress_load_rules(const char *name, struct egress_rule *out, size_t *n, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	char path[EGRESS_PATH_MAX];

	if (egress_place(name, ".rules", path, e))
		return -1;
	if (access(path, F_OK) && errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND,
			"%s has no egress: its definition needs network: {allow: [...]}, then berth up",
			name);
	if (file_read(AT_FDCWD, path, O_NOFOLLOW, EGRESS_RULES_BYTES, &text, e))
		return -1;
	return egress_read_rules(text.s, text.len, out, n, e);
}

int egress_save_rules(const char *name, const struct egress_rule *rules, size_t n, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	char path[EGRESS_PATH_MAX];
	struct err why = ERR_INIT;

	if (n > EGRESS_RULES_MAX)
		return err_set(e, ERR_REFUSED, "an agent has at most %d rules", EGRESS_RULES_MAX);
	write_rules(rules, n, &text);
	if (egress_place(name, ".rules", path, e))
		return -1;
	if (file_replace(path, text.s, text.len, false))
		return err_sys(e, errno, "cannot write %s", path);
	/* An end that is away reads them when it comes back. */
	if (egress_tell_rules(name, text.s, text.len, &why) && why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	return 0;
}

int egress_tell_saved(const char *name, const struct egress_rule *rules, size_t n, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;

	write_rules(rules, n, &text);
	return egress_tell_rules(name, text.s, text.len, e);
}

static int add_file_rules(const char *const *words, size_t nwords, bool allow,
	struct egress_rule *rules, size_t *n, struct err *e)
{
	for (size_t i = 0; i < nwords; i++) {
		if (*n == EGRESS_RULES_MAX)
			return err_set(
				e, ERR_REFUSED, "an agent has at most %d rules", EGRESS_RULES_MAX);
		if (egress_parse_file_rule(words[i], allow, &rules[(*n)++], e))
			return -1;
	}
	return 0;
}

/* What is private is nobody's to dial anyway. */
static bool is_public_network(const struct egress_rule *r)
{
	struct egress_address last = r->at.literal;

	for (unsigned i = r->net_bits; i < (last.family == AF_INET ? 32 : 128); i++)
		last.v6.s6_addr[i / 8] |= (uint8_t)(0x80 >> i % 8);
	return !egress_special(&r->at.literal) || !egress_special(&last);
}

static int add_networks(const char *const *words, size_t nwords, struct egress_rule *rules,
	size_t *n, struct err *e)
{
	struct egress_rule r;

	for (size_t i = 0; i < nwords; i++) {
		if (egress_parse_network(words[i], &r, e))
			return -1;
		if (!is_public_network(&r))
			continue;
		if (*n == EGRESS_RULES_MAX)
			return err_set(e, ERR_REFUSED,
				"the engine has too many networks with public addresses");
		rules[(*n)++] = r;
	}
	return 0;
}

int egress_put_file_rules(const char *name, const struct egress_file_rules *f, struct err *e)
{
	AUTO_FREE struct egress_rule *old = xcalloc(EGRESS_RULES_MAX, sizeof *old),
				     *rules = xcalloc(EGRESS_RULES_MAX, sizeof *rules);
	AUTO_CLOSE int lock = egress_lock(name, e);
	struct err why = ERR_INIT;
	size_t nold = 0, n = 0;

	if (lock < 0)
		return -1;
	if (egress_load_rules(name, old, &nold, &why) && why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	if (add_file_rules(f->allow, f->nallow, true, rules, &n, e) ||
		add_file_rules(f->deny, f->ndeny, false, rules, &n, e) ||
		add_networks(f->networks, f->nnetworks, rules, &n, e))
		return -1;
	if (f->upstream && n < EGRESS_RULES_MAX &&
		egress_parse_upstream(f->upstream, &rules[n++], e))
		return -1;
	if (f->rate && n < EGRESS_RULES_MAX)
		rules[n++] = (struct egress_rule){.rate = f->rate};
	if (f->ask_s && n < EGRESS_RULES_MAX)
		rules[n++] = (struct egress_rule){.ask_s = f->ask_s};
	for (size_t i = 0; i < nold && n < EGRESS_RULES_MAX; i++)
		if (old[i].origin != EGRESS_FILE)
			rules[n++] = old[i];
	return egress_save_rules(name, rules, n, e);
}

int egress_keep_routes(const char *name, const char *text, size_t len, struct err *e)
{
	char path[EGRESS_PATH_MAX];

	if (egress_place(name, EGRESS_ROUTES, path, e))
		return -1;
	if (!len)
		return unlink(path) && errno != ENOENT ? err_sys(e, errno, "cannot remove %s", path)
						       : 0;
	return file_replace(path, text, len, false) ? err_sys(e, errno, "cannot write %s", path)
						    : 0;
}

int egress_kept_routes(const char *name, struct str *ret, struct err *e)
{
	char path[EGRESS_PATH_MAX];

	if (egress_place(name, EGRESS_ROUTES, path, e))
		return -1;
	if (access(path, F_OK) && errno == ENOENT)
		return 0;
	return file_read(AT_FDCWD, path, O_NOFOLLOW, EGRESS_MESSAGE_MAX, ret, e);
}

void egress_forget(const char *name)
{
	static const char *const files[] = {".rules", ".lock", EGRESS_SOCK, EGRESS_FIGURES,
		EGRESS_ROUTES, EGRESS_RELAY, EGRESS_PORTS, EGRESS_PORTS_SOCK};
	char path[EGRESS_PATH_MAX];

	for (size_t i = 0; i < COUNT(files); i++)
		if (!egress_place(name, files[i], path, NULL))
			unlink(path);
}
