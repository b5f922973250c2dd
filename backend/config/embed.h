/* embed.h - the generated table of embedded files (see CMakeLists.txt). */
#ifndef BERTH_EMBED_H
#define BERTH_EMBED_H

struct embedded {
	const char *name; /* "themes/dark.yaml"; NULL ends the table */
	const char *start, *end;
};
extern const struct embedded embedded_files[];

#endif
