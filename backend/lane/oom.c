/* oom.c - watches for out-of-memory kills: memory.oom_control (v1) or memory.events (v2). */
#include "lane/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/file.h>

uint64_t oom_kills(pid_t pid, const char *id)
{
	static const char *const files[] = {"memory.oom_control", "memory.events"};
	char file[CGROUP_PATH_MAX], text[1024];

	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		const char *at;

		if (cgroup_file(pid, id, i ? "" : "memory", files[i], file) ||
			file_text(file, text, sizeof text) < 0)
			continue;
		at = strstr(text, "oom_kill ");
		if (at)
			return strtoull(at + 9, NULL, 10);
	}
	return 0;
}
