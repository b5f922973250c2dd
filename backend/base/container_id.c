/* container_id.c - recognises full container ids, and the cgroups that are named after them. */
#include <berth/container_id.h>

#include <stddef.h>
#include <string.h>

bool id_is_whole(const char *id)
{
	return strspn(id, "0123456789abcdef") == CONTAINER_ID_DIGITS && !id[CONTAINER_ID_DIGITS];
}

bool id_is_image(const char *id)
{
	return id_is_whole(id + (strncmp(id, "sha256:", 7) ? 0 : 7));
}

/* What podman and cri-o start for a container on the host has the same id in its name. */
static bool is_monitor(const char *name, const char *id)
{
	static const char word[] = "conmon-";
	size_t n = sizeof word - 1;

	return (size_t)(id - name) >= n && !memcmp(id - n, word, n);
}

const char *id_in_cgroup(const char *groups, const char *id)
{
	static const char scope[] = ".scope";
	const char *hit = id_is_whole(id) ? strstr(groups, id) : NULL;

	for (; hit; hit = strstr(hit + 1, id)) {
		const char *name = hit, *end = hit + CONTAINER_ID_DIGITS;

		while (name > groups && !strchr("/:\n", name[-1]))
			name--;
		if (!strncmp(end, scope, sizeof scope - 1))
			end += sizeof scope - 1;
		if ((name == hit || hit[-1] == '-') && strchr("/\n", *end) &&
			!is_monitor(name, hit))
			return end;
	}
	return NULL;
}
