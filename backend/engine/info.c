/* info.c - parses /version and /info. */
#include <limits.h>
#include <string.h>

#include <berth/hash.h>

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
 * data directory makes two of them two. */
const char *identify_engine(struct arena *a, const char *id, const char *dir)
{
	return *id ? arena_printf(a, "%.100s/%08x", id, hash_short(dir)) : "";
}

/* "name=apparmor" among "name=seccomp,profile=default" and others. */
static bool has_security(const cJSON *options, const char *name)
{
	const cJSON *option;
	size_t n = strlen(name);

	cJSON_ArrayForEach(option, options)
	{
		const char *s = ejson_text(option);

		if (!strncmp(s, "name=", 5) && !strncmp(s + 5, name, n) &&
			(!s[5 + n] || s[5 + n] == ','))
			return true;
	}
	return false;
}

/* "Runtimes": {"runsc": {"path": "/usr/bin/runsc", "runtimeArgs": [...]}, "x": {"runtimeType": "io.containerd.runsc.v1"}} */
static void parse_runtimes(const cJSON *root, struct arena *a, struct engine_info *info)
{
	const cJSON *all = ejson_get(root, "Runtimes"), *one;
	struct key_value *kv = arena_array(a, ENGINE_RUNTIMES_MAX, sizeof *kv);

	info->default_runtime = ejson_keep(a, root, "DefaultRuntime");
	info->runtimes = kv;
	info->nruntimes = 0;
	cJSON_ArrayForEach(one, all)
	{
		const char *path = ejson_string(one, "path");

		if (!one->string || info->nruntimes == ENGINE_RUNTIMES_MAX)
			return;
		kv[info->nruntimes++] = (struct key_value){arena_strdup(a, one->string),
			arena_strdup(a, *path ? path : ejson_string(one, "runtimeType")), false};
	}
}

void parse_info(const cJSON *root, struct arena *a, struct engine_info *info)
{
	const char *os = ejson_string(root, "OperatingSystem");

	info->id =
		identify_engine(a, ejson_string(root, "ID"), ejson_string(root, "DockerRootDir"));
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
	parse_runtimes(root, a, info);
	info->apparmor = has_security(ejson_get(root, "SecurityOptions"), "apparmor");
	/* Docker says it there, podman 4.3 in a member of its own. */
	info->rootless = has_security(ejson_get(root, "SecurityOptions"), "rootless") ||
		ejson_bool(root, "Rootless");
	info->images = ejson_int(root, "Images", 0);
}
