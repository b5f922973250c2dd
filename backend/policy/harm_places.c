/* harm_places.c - decides which files matter: of the system, of a home, of the workspace. */
#include "policy/harm.h"

#include <fnmatch.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

/* "//usr/./../etc/" becomes "/etc"; only for absolute paths. */
static void normalise_path(const char *path, struct str *out)
{
	AUTO_FREE char *copy = xstrdup(path);
	char *save = NULL;

	str_clear(out);
	for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		if (!strcmp(part, "."))
			continue;
		if (!strcmp(part, "..")) {
			char *slash = strrchr(out->s, '/');

			if (slash) {
				*slash = '\0';
				out->len = (size_t)(slash - out->s);
			}
			continue;
		}
		str_addf(out, "/%s", part);
	}
	if (!out->len)
		str_addc(out, '/');
}

static const char *const system_dirs[] = {"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib",
	"/lib32", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr",
	"/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/usr/share", "/var", "/var/lib", NULL};

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (path[n] == '/' || (n && dir[n - 1] == '/'));
}

static struct place judge_place(const struct harm_options *o, const char *text, bool glob)
{
	AUTO_STR struct str path = STR_INIT;
	struct place found = {0};
	char *last;

	normalise_path(text, &path);
	/* Everything in it is as good as itself: /etc/ followed by a bare wildcard */
	last = strrchr(path.s, '/');
	if (last[1] && glob && listing_is_bare(last + 1)) {
		found.all = true;
		last[last == path.s] = '\0';
		path.len = strlen(path.s);
	}
	if (harm_one_of(path.s, system_dirs) || !strcmp(path.s, o->home))
		found.kind = PLACE_SYSTEM;
	for (size_t i = 0; i < o->nwritable; i++) {
		if (is_below(path.s, o->writable[i]))
			return (struct place){0};
		if (!strcmp(path.s, o->writable[i]) ||
			(!found.kind && is_below(o->writable[i], path.s)))
			found.kind = PLACE_WORKSPACE;
		if (!strcmp(path.s, o->writable[i]))
			return found;
	}
	/* A glob such as /[a-z]* or /e?c may stand for one of them. */
	for (const char *const *d = system_dirs; glob && !found.kind && *d; d++)
		if (!fnmatch(path.s, *d, FNM_PATHNAME))
			found.kind = PLACE_SYSTEM;
	return found;
}

static struct place judge_below(
	const struct harm_options *o, const char *cwd, const struct shell_word *w)
{
	AUTO_STR struct str path = STR_INIT;

	if (!cwd)
		return (struct place){0};
	str_addf(&path, "%s/%s", cwd, w->text);
	return judge_place(o, path.s, w->glob);
}

struct place place_of(
	const struct harm_options *o, const struct command *c, const struct shell_word *w)
{
	struct place found;

	if (w->text[0] == '/')
		return judge_place(o, w->text, w->glob);
	if (w->dynamic || !w->text[0])
		return (struct place){0};
	found = judge_below(o, c->cwd, w);
	if (!found.kind) {
		found = judge_below(o, c->or_cwd, w);
		found.unless = found.kind != PLACE_OTHER;
	}
	return found;
}

bool place_is_outside(
	const struct harm_options *o, const struct command *c, const struct shell_word *w)
{
	AUTO_STR struct str path = STR_INIT, real = STR_INIT;

	if (w->dynamic || w->glob || (w->text[0] != '/' && !c->cwd))
		return false;
	str_addf(&path, "%s/%s", w->text[0] == '/' ? "" : c->cwd, w->text);
	normalise_path(path.s, &real);
	for (size_t i = 0; i < o->nwritable; i++)
		if (!strcmp(real.s, o->writable[i]) || is_below(real.s, o->writable[i]))
			return false;
	return o->nwritable > 0;
}

bool place_is_device(const char *path)
{
	static const char *const harmless[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/stdin",
		"/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/random", "/dev/urandom", NULL};
	/* below tcp and udp are connections that the shell makes */
	static const char *const harmless_dirs[] = {
		"/dev/fd", "/dev/shm", "/dev/pts", "/dev/tcp", "/dev/udp"};
	AUTO_STR struct str p = STR_INIT;

	if (path[0] != '/')
		return false;
	normalise_path(path, &p);
	for (size_t i = 0; i < COUNT(harmless_dirs); i++)
		if (is_below(p.s, harmless_dirs[i]))
			return false;
	return is_below(p.s, "/dev") && !harm_one_of(p.s, harmless);
}
