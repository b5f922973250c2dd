/* info.c - what /version and /info tell about the engine. */
#include <limits.h>
#include <string.h>

#include "engine/parse.h"

void parse_version(const cJSON *root, struct arena *a, struct engine_info *info)
{
	const cJSON *part;

	info->version = ejson_keep(a, root, "Version");
	if (!info->os || !*info->os)
		info->os = ejson_keep(a, root, "Os");
	if (!info->kernel || !*info->kernel)
		info->kernel = ejson_keep(a, root, "KernelVersion");
	if (!info->arch || !*info->arch)
		info->arch = ejson_keep(a, root, "Arch");
	info->product = "docker";
	cJSON_ArrayForEach(part, ejson_get(root, "Components"))
	{
		if (strcasestr(ejson_string(part, "Name"), "podman"))
			info->product = "podman";
	}
}

/* Engines of one machine share an ID: dockerd takes it from the machine's key, wherever its data is.  The
 * data directory (FNV-1a, which is enough to tell a few apart) makes two of them two. */
static const char *identify_engine(const cJSON *root, struct arena *a)
{
	const char *id = ejson_string(root, "ID"), *dir = ejson_string(root, "DockerRootDir");
	uint32_t hash = 2166136261;

	if (!*id)
		return "";
	for (; *dir; dir++)
		hash = (hash ^ (unsigned char)*dir) * 16777619;
	return arena_printf(a, "%.100s/%08x", id, hash);
}

/* "name=apparmor" among "name=seccomp,profile=default" and others. */
static bool has_apparmor(const cJSON *options)
{
	const cJSON *option;

	cJSON_ArrayForEach(option, options)
	{
		const char *s = ejson_text(option);

		if (!strncmp(s, "name=apparmor", 13) && (!s[13] || s[13] == ','))
			return true;
	}
	return false;
}

void parse_info(const cJSON *root, struct arena *a, struct engine_info *info)
{
	const char *os = ejson_string(root, "OperatingSystem");

	info->id = identify_engine(root, a);
	if (!info->version || !*info->version)
		info->version = ejson_keep(a, root, "ServerVersion");
	if (!info->arch || !*info->arch)
		info->arch = ejson_keep(a, root, "Architecture");
	if (!info->product)
		info->product = "docker";
	info->name = ejson_keep(a, root, "Name");
	info->root_dir = ejson_keep(a, root, "DockerRootDir");
	info->storage = ejson_keep(a, root, "Driver");
	info->cgroup = ejson_keep(a, root, "CgroupVersion");
	if (*os)
		info->os = arena_strdup(a, os);
	if (!info->kernel || !*info->kernel)
		info->kernel = ejson_keep(a, root, "KernelVersion");
	info->cpus = ejson_int(root, "NCPU", 0);
	info->memory_bytes = ejson_u64(root, "MemTotal");
	info->apparmor = has_apparmor(ejson_get(root, "SecurityOptions"));
	info->images = ejson_int(root, "Images", 0);
}
