/* tools_files.h - shared by the file tools. */
#ifndef MCP_TOOLS_FILES_H
#define MCP_TOOLS_FILES_H

#include "mcp/server.h"

#define CONTEXT_MOST 100 /* lines around a match */

tool_fn tool_read_text, tool_read_media, tool_read_many, tool_list, tool_list_sizes, tool_tree,
	tool_find, tool_info, tool_allowed, tool_scan, tool_search;
tool_fn tool_write, tool_write_many, tool_edit, tool_make_directory, tool_move, tool_copy,
	tool_delete, tool_transform, tool_compare_files, tool_compare_directories;

/* The place of the path that argument `name` gives. */
int call_place(
	struct call *c, const char *name, enum reach_use use, struct place_in *ret, struct err *e);
/* ERR_REFUSED: it lies in the workspace, which holds more than it may.  Who asks to write a file is told by itself. */
int place_has_room(struct call *c, const struct place_in *p, struct err *e);
/* "." is "" to who walks a tree. */
const char *place_start(const struct place_in *p);
/* The name that a person sees of `rel` below the root that `p` lies in. */
void put_place(struct str *out, const struct place_in *p, const char *rel);
/* A name in a text for the model: quoted where it would not stay in its line (text_quote_name). */
void put_quoted_name(struct str *out, const char *name);

/* One whole file, at most `most` bytes.  Free *ret in any case; its item 0 is the file. */
int read_whole_place(struct call *c, const struct place_in *p, uint64_t most,
	struct files_reading **ret, struct err *e);
/* ERR_REFUSED: what was read is not text, or not in UTF-8. */
int check_is_text(const struct files_got *g, const char *path, struct err *e);
/* What a search or a change did not look at, as members of the answer. */
void put_left_out(struct call *c, uint64_t binary, uint64_t large, uint64_t unreadable,
	uint64_t gave_up, uint64_t ignored);

/* The memory that is kept about each of its lines while it is edited or compared, where they are shorter than most. */
int lines_fit(struct call *c, const struct files_got *g, struct err *e);

#endif
