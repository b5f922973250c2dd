/* path.c - where paths lead, and what is in which directory. */
#include <berth/path.h>

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/str.h>

bool path_is_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (n == 1 && *dir == '/')
		return true;
	return !strncmp(path, dir, n) && (!path[n] || path[n] == '/');
}

char *path_place(const char *path, bool through)
{
	AUTO_FREE char *copy = xstrdup(path);
	size_t cut = strlen(copy);

	while (cut > 1 && copy[cut - 1] == '/')
		copy[--cut] = '\0';
	while (!through && cut && copy[cut - 1] != '/')
		cut--;
	for (;;) {
		AUTO_FREE char *above = cut ? xstrndup(copy, cut) : xstrdup(".");
		AUTO_FREE char *real = realpath(above, NULL);
		const char *rest = copy + cut + strspn(copy + cut, "/");

		if (real && !*rest)
			return STEAL(real);
		if (real)
			return xasprintf("%s/%s", real[1] ? real : "", rest);
		if (!cut)
			return xstrdup(path);
		while (cut && copy[cut - 1] == '/')
			cut--;
		while (cut && copy[cut - 1] != '/')
			cut--;
	}
}

static void cut_last_name(struct str *path)
{
	char *slash = strrchr(path->s, '/');

	if (!slash)
		return;
	*slash = '\0';
	path->len = (size_t)(slash - path->s);
}

/* Follows the first link on the way of `path`.  *place: the path, plain as far as that link; *next: what it becomes.
 * false: there is no link. */
static bool follow_first(const char *path, struct str *place, struct str *next)
{
	char target[PATH_MAX];

	str_clear(place);
	for (const char *at = path + strspn(path, "/"); *at; at += strspn(at, "/")) {
		size_t n = strcspn(at, "/"), above = place->len;
		ssize_t len;

		at += n;
		if (n == 1 && at[-1] == '.')
			continue;
		if (n == 2 && at[-1] == '.' && at[-2] == '.') {
			cut_last_name(place);
			continue;
		}
		str_addf(place, "/%.*s", (int)n, at - n);
		len = readlink(place->s, target, sizeof target - 1);
		if (len <= 0)
			continue;
		target[len] = '\0';
		str_clear(next);
		if (*target != '/')
			str_add(next, place->s, above);
		str_addf(next, "/%s%s", target, at);
		str_adds(place, at);
		return true;
	}
	if (!place->len)
		str_addc(place, '/');
	return false;
}

size_t path_places(struct arena *mem, const char *path, const char *ret[PATH_PLACES])
{
	AUTO_STR struct str now = STR_INIT, place = STR_INIT, next = STR_INIT;
	size_t n = 0;
	bool more;

	str_adds(&now, path);
	do {
		more = follow_first(now.s, &place, &next);
		ret[n++] = arena_strdup(mem, place.s);
		str_clear(&now);
		str_add(&now, next.s, next.len);
	} while (more && n < PATH_PLACES);
	return n;
}

bool path_place_fits(
	const char *path, const char *other, bool (*fits)(const char *other, const char *place))
{
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	const char *place[PATH_PLACES];
	bool found = false;

	for (size_t n = path_places(&mem, path, place); n && !found;)
		found = fits(other, place[--n]);
	return found;
}
