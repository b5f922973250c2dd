/* owner.c - who owns what is copied into a container: its user, whose name only the container knows. */
#include "inside/inside.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

static bool read_number(const char *text, size_t n, uint32_t *ret)
{
	uint64_t number = 0;

	if (!n || n > 10)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(text[i] - '0');
	}
	if (number > INT32_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

/* The line whose name or number is `word`: the third and the fourth field of passwd(5), the third of group(5). */
static bool find_line(const char *text, const char *word, uint32_t *third, uint32_t *fourth)
{
	size_t len = strlen(word), n[4];
	const char *field[4];

	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		for (int i = 0; i < 4; i++) {
			field[i] = at;
			n[i] = strcspn(at, ":\n");
			at += n[i];
			at += *at == ':';
		}
		if ((n[0] != len || memcmp(field[0], word, len) != 0) &&
			(n[2] != len || memcmp(field[2], word, len) != 0))
			continue;
		if (!read_number(field[2], n[2], third))
			continue;
		if (!read_number(field[3], n[3], fourth))
			*fourth = 0;
		return true;
	}
	return false;
}

static int refuse_unknown(const char *name, const char *file, struct err *e)
{
	char shown[128];

	return err_set(e, ERR_FAILED,
		"%s of the container has no %s, who would own the files: -a keeps their present owners.",
		file, text_clean(shown, sizeof shown, name));
}

static int find_group(
	const char *name, inside_read_fn *read_file, void *ctx, uint32_t *gid, struct err *e)
{
	static const char file[] = "/etc/group";
	AUTO_STR struct str text = STR_INIT;
	uint32_t unused;

	if (read_number(name, strlen(name), gid))
		return 0;
	if (read_file(ctx, file, &text, e))
		return -1;
	return find_line(text.s, name, gid, &unused) ? 0 : refuse_unknown(name, file, e);
}

int inside_owner(const char *user, inside_read_fn *read_file, void *ctx, uid_t *uid, gid_t *gid,
	struct err *e)
{
	static const char file[] = "/etc/passwd";
	size_t n = strcspn(user, ":");
	const char *group = user[n] ? user + n + 1 : "";
	AUTO_FREE char *name = xstrndup(user, n);
	AUTO_STR struct str text = STR_INIT;
	uint32_t id = 0, own_group = 0;
	bool number = read_number(name, n, &id);
	struct err why = ERR_INIT;

	if (*name && !(number && *group)) {
		if (read_file(ctx, file, &text, &why)) {
			if (!number || why.kind != ERR_NOT_FOUND)
				return err_copy(e, &why);
		} else if (!find_line(text.s, name, &id, &own_group) && !number) {
			return refuse_unknown(name, file, e);
		}
	}
	if (*group && find_group(group, read_file, ctx, &own_group, e))
		return -1;
	*uid = id;
	*gid = own_group;
	return 0;
}
