/* known.c - knows the shipped images by name, and the command that provides an image. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <berth/images.h>

const struct image_shipped images_shipped[] = {
	{"shell", "berth/shell:local", "bash, the usual small tools, curl, jq", {"shell", NULL}},
	{"python", "berth/python:local", "Python 3 with pip and venv", {"python", NULL}},
	{"node", "berth/node:local", "Node.js with npm", {"node", NULL}},
	{"runtime", "berth/runtime:local",
		"what agents work with: git, curl, build tools, Python with numpy and pandas, Node.js",
		{"runtime", NULL}},
	{"runtime-sudo", "berth/runtime-sudo:local", "the same with sudo, for enable_sudo",
		{"runtime", "runtime-sudo", NULL}},
	{0},
};

const struct image_shipped *images_shipped_named(const char *name)
{
	for (const struct image_shipped *s = images_shipped; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

static bool has_tag(const char *reference, const char *tag)
{
	const char *colon = strrchr(reference, ':');

	return colon && !strcmp(colon + 1, tag);
}

void images_remedy(const char *reference, char *buf, size_t cap)
{
	for (const struct image_shipped *s = images_shipped; s->name; s++)
		if (!strcmp(s->tag, reference)) {
			snprintf(buf, cap, "`berth image build %s` makes it", s->name);
			return;
		}
	/* MassGen's own are in a registry; what they hold is what ours hold. */
	if (strstr(reference, "massgen/mcp-runtime"))
		snprintf(buf, cap,
			"`berth image pull %s` fetches it, and `berth image build --tag %s %s` makes one like "
			"it here",
			reference, reference,
			strstr(reference, "runtime-sudo") ? "runtime-sudo" : "runtime");
	else if (!strncmp(reference, "localhost/", 10) || has_tag(reference, "local"))
		snprintf(buf, cap,
			"no registry has it: `berth image build --tag %s DIR` makes it from the Dockerfile in DIR",
			reference);
	else
		snprintf(buf, cap,
			"`berth image pull %s` fetches it if a registry has it, else `berth image build --tag %s "
			"DIR` makes it",
			reference, reference);
}
