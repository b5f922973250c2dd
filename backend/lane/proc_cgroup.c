/* proc_cgroup.c - finds the cgroup files of a process's container. */
#include "lane/lane.h"

#include <stdio.h>
#include <string.h>

#include <berth/container_id.h>

/* The path after the second colon of the line whose controller list is `controller`, empty for v2. */
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

bool proc_in_container(pid_t pid, const char *id)
{
	char groups[8192];

	return pid > 0 && !proc_file(pid, "cgroup", groups, sizeof groups) &&
		id_in_cgroup(groups, id);
}

int cgroup_file(pid_t pid, const char *id, const char *controller, const char *file,
	char path[CGROUP_PATH_MAX])
{
	char groups[4096];
	const char *group;

	if (proc_file(pid, "cgroup", groups, sizeof groups))
		return -1;
	group = group_of(groups, controller);
	if (!group || !id_in_cgroup(group, id))
		return -1;
	snprintf(path, CGROUP_PATH_MAX, "/sys/fs/cgroup%s%s%s/%s", *controller ? "/" : "",
		controller, group, file);
	return 0;
}
