/* embed.c - finds files that were embedded at build time. */
#include <string.h>

#include <berth/config.h>

#include "config/embed.h"

const char *embedded_file(const char *name, size_t *len)
{
	for (const struct embedded *f = embedded_files; f->name; f++) {
		if (strcmp(f->name, name) != 0)
			continue;
		if (len)
			*len = (size_t)(f->end - f->start);
		return f->start;
	}
	return NULL;
}

const char *embedded_name(const char *prefix, size_t i)
{
	size_t n = strlen(prefix);

	for (const struct embedded *f = embedded_files; f->name; f++)
		if (!strncmp(f->name, prefix, n) && i-- == 0)
			return f->name;
	return NULL;
}
