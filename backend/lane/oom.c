/* oom.c - memory.oom_control (v1) or memory.events (v2). */
#include "lane/oom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lane/peer.h"

/* The path after the second colon of the line whose controller list has `memory`, or is empty (v2). */
static const char *group_of(char *groups, const char *controller)
{
	char *save = NULL;

	for (char *line = strtok_r(groups, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		if (!strcmp(list + 1, controller))
			return path;
	}
	return NULL;
}

uint64_t oom_kills(pid_t pid, const char *id)
{
	static const struct {
		const char *controller, *mount, *file;
	} places[] = {{"memory", "/sys/fs/cgroup/memory", "memory.oom_control"},
		{"", "/sys/fs/cgroup", "memory.events"}};
	char groups[4096], copy[4096], text[1024];

	if (proc_file(pid, "cgroup", groups, sizeof groups))
		return 0;
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		const char *group, *at;
		char file[4200];

		memcpy(copy, groups, sizeof copy);
		group = group_of(copy, places[i].controller);
		if (!group || !strstr(group, id))
			continue;
		snprintf(file, sizeof file, "%s%s/%s", places[i].mount, group, places[i].file);
		if (text_file(file, text, sizeof text))
			continue;
		at = strstr(text, "oom_kill ");
		if (at)
			return strtoull(at + 9, NULL, 10);
	}
	return 0;
}
