/* mountinfo.c - parses /proc/PID/mountinfo, proc(5). */
#include "container/mountinfo.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "lane/lane.h"

#define TABLE_MAX ((size_t)256 << 10)

/* id parent major:minor root target options ... */
static bool parse_line(char *text, struct mountinfo_line *ret)
{
	char *save = NULL, *field[6] = {strtok_r(text, " ", &save)};

	for (int i = 1; i < 6 && field[i - 1]; i++)
		field[i] = strtok_r(NULL, " ", &save);
	if (!field[5])
		return false;
	text_undo_octal(field[4]);
	*ret = (struct mountinfo_line){field[2], field[3], field[4], field[5]};
	return true;
}

static int parse_table(struct mountinfo *m)
{
	struct mountinfo_line line;
	char *save = NULL;

	for (char *l = strtok_r(m->text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		if (!parse_line(l, &line)) {
			mountinfo_release(m);
			return -1;
		}
		m->line = mem_grow(m->line, &m->cap, m->n + 1, sizeof *m->line);
		m->line[m->n++] = line;
	}
	return 0;
}

int mountinfo_parse(const char *text, struct mountinfo *ret)
{
	*ret = (struct mountinfo){.text = xstrdup(text)};
	return parse_table(ret);
}

int mountinfo_read(pid_t pid, struct mountinfo *ret)
{
	*ret = (struct mountinfo){.text = xmalloc(TABLE_MAX)};
	if (!proc_file(pid, "mountinfo", ret->text, TABLE_MAX) && *ret->text &&
		strlen(ret->text) < TABLE_MAX - 1)
		return parse_table(ret);
	mountinfo_release(ret);
	return -1;
}

void mountinfo_release(struct mountinfo *m)
{
	free(m->text);
	free(m->line);
	*m = (struct mountinfo){0};
}

const struct mountinfo_line *mountinfo_at(const struct mountinfo *m, const char *target)
{
	for (size_t i = m->n; i-- > 0;)
		if (!strcmp(m->line[i].target, target))
			return &m->line[i];
	return NULL;
}

int mountinfo_open(int root, const char *target)
{
	/* A link on the way is the container's: what it leads to is not the mount's place. */
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, root, target, &how, sizeof how);
}

bool mountinfo_read_only(const struct mountinfo_line *l)
{
	return !strncmp(l->options, "ro", 2) && (!l->options[2] || l->options[2] == ',');
}
