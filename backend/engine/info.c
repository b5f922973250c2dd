/* info.c - what /version and /info tell about the engine. */
#include <limits.h>
#include <string.h>

#include "engine/parse.h"

void parse_version(const cJSON *root, struct arena *a, struct engine_info *info)
{
	const cJSON *part;

	info->version = json_keep(a, root, "Version");
	info->os = json_keep(a, root, "Os");
	info->kernel = json_keep(a, root, "KernelVersion");
	info->arch = json_keep(a, root, "Arch");
	info->product = "docker";
	cJSON_ArrayForEach(part, json_get(root, "Components"))
	{
		if (strcasestr(json_string(part, "Name"), "podman"))
			info->product = "podman";
	}
}

void parse_info(const cJSON *root, struct arena *a, struct engine_info *info)
{
	const char *os = json_string(root, "OperatingSystem");

	info->id = json_keep(a, root, "ID");
	info->name = json_keep(a, root, "Name");
	info->root_dir = json_keep(a, root, "DockerRootDir");
	info->storage = json_keep(a, root, "Driver");
	info->cgroup = json_keep(a, root, "CgroupVersion");
	if (*os)
		info->os = arena_strdup(a, os);
	if (!info->kernel || !*info->kernel)
		info->kernel = json_keep(a, root, "KernelVersion");
	info->cpus = json_int(root, "NCPU", 0);
	info->memory_bytes = json_u64(root, "MemTotal");
	info->images = json_int(root, "Images", 0);
}
