/* attrs.c - copies extended attributes, packed as NAME NUL LENGTH VALUE each. */
#include "files/common/attrs.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/xattr.h>

#include <berth/mem.h>

#define LIST_MOST ((size_t)XATTR_LIST_MAX)
#define VALUE_MOST ((size_t)XATTR_SIZE_MAX)
#define ACCESS_ACL "system.posix_acl_access"
#define DEFAULT_ACL "system.posix_acl_default"

const char *attrs_self(char buf[ATTRS_SELF_MAX], int fd)
{
	snprintf(buf, ATTRS_SELF_MAX, "/proc/self/fd/%d", fd);
	return buf;
}

static ssize_t list_attrs(struct attributed a, char *buf, size_t n)
{
	char self[ATTRS_SELF_MAX];

	return a.by_path ? listxattr(attrs_self(self, a.fd), buf, n) : flistxattr(a.fd, buf, n);
}

static ssize_t get_attr(struct attributed a, const char *name, char *buf, size_t n)
{
	char self[ATTRS_SELF_MAX];

	return a.by_path ? getxattr(attrs_self(self, a.fd), name, buf, n)
			 : fgetxattr(a.fd, name, buf, n);
}

static int set_attr(struct attributed a, const char *name, const char *value, size_t n)
{
	char self[ATTRS_SELF_MAX];

	return a.by_path ? setxattr(attrs_self(self, a.fd), name, value, n, 0)
			 : fsetxattr(a.fd, name, value, n, 0);
}

static int drop_attr(struct attributed a, const char *name)
{
	char self[ATTRS_SELF_MAX];

	return a.by_path ? removexattr(attrs_self(self, a.fd), name) : fremovexattr(a.fd, name);
}

/* Those that give rights go with the owner only. */
static bool is_copied(const char *name, bool rights)
{
	return strncmp(name, "user.", 5) == 0 || strcmp(name, ACCESS_ACL) == 0 ||
		strcmp(name, DEFAULT_ACL) == 0 ||
		(rights &&
			(strcmp(name, "security.capability") == 0 ||
				strncmp(name, "trusted.", 8) == 0));
}

static void add_attr(struct attributed a, const char *name, struct str *out)
{
	size_t at = out->len, head = strlen(name) + 1 + sizeof(uint32_t);
	uint32_t length = 0;
	ssize_t n;

	str_add(out, name, strlen(name) + 1);
	str_add(out, &length, sizeof length);
	for (size_t room = 256;; room = VALUE_MOST) {
		str_reserve(out, room);
		n = get_attr(a, name, out->s + at + head, room);
		if (n >= 0 || errno != ERANGE || room == VALUE_MOST)
			break;
	}
	out->len = n < 0 ? at : at + head + (size_t)n;
	out->s[out->len] = '\0';
	length = n < 0 ? 0 : (uint32_t)n;
	if (n >= 0)
		memcpy(out->s + at + head - sizeof length, &length, sizeof length);
}

void attrs_read(struct attributed a, bool rights, struct str *out)
{
	AUTO_FREE char *more = NULL;
	char some[4096], *names = some;
	ssize_t n = list_attrs(a, some, sizeof some);

	str_clear(out);
	if (n < 0 && errno == ERANGE) {
		names = more = xmalloc(LIST_MOST);
		n = list_attrs(a, names, LIST_MOST);
	}
	for (char *name = names; n > 0 && name < names + n; name += strlen(name) + 1)
		if (is_copied(name, rights))
			add_attr(a, name, out);
}

bool attrs_give(struct attributed a, const struct str *attrs)
{
	bool listed = true;

	for (const char *p = attrs->s; p < attrs->s + attrs->len;) {
		const char *name = p;
		uint32_t length;

		p += strlen(p) + 1;
		memcpy(&length, p, sizeof length);
		p += sizeof length;
		if (set_attr(a, name, p, length) < 0 && strcmp(name, ACCESS_ACL) == 0)
			listed = false;
		p += length;
	}
	return listed;
}

void attrs_drop_list(struct attributed a)
{
	drop_attr(a, ACCESS_ACL);
}

void attrs_drop_inherited(int dir)
{
	const struct attributed a = {.fd = dir};

	if (list_attrs(a, NULL, 0) <= 0)
		return;
	drop_attr(a, DEFAULT_ACL);
	drop_attr(a, ACCESS_ACL);
}

bool attrs_are_inherited(struct attributed dir)
{
	return get_attr(dir, DEFAULT_ACL, NULL, 0) > 0;
}
