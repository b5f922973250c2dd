/* commands_files.h - the verbs of `berth files`: a part of commands.h, which includes it. */
#ifndef CLI_COMMANDS_FILES_H
#define CLI_COMMANDS_FILES_H

#include "cli/cli.h"

#define ROOT                                                                                 \
	{                                                                                    \
		0, "root", "DIR", "paths are relative to this directory and cannot leave it" \
	}
#define FILTERS                                                                                 \
	{'g', "glob", "PATTERN",                                                                \
		"only names that match (with a slash: paths; ! excludes); repeatable"},         \
		{0, "exclude", "PATTERN", "leave out, as a .gitignore line would; repeatable"}, \
		{0, "depth", "N", "at most this many levels"},                                  \
		{0, "min-size", "BYTES", "files of at least this size (K, M, G)"},              \
		{0, "max-size", "BYTES", "files of at most this size"},                         \
		{0, "newer", "SECONDS", "changed within this time"},                            \
	{                                                                                       \
		0, "older", "SECONDS", "not changed within this time"                           \
	}
#define PATTERNS                                                                                \
	{'E', "regex", NULL, "the pattern is a regular expression (Perl's), not literal text"}, \
		{'i', "ignore-case", NULL, "ignore case"},                                      \
		{'w', "word", NULL, "match whole words only"},                                  \
	{                                                                                       \
		0, "all", NULL, "include hidden and ignored files"                              \
	}
#define PROMISE                                                                          \
	{                                                                                \
		0, "promise", "visible|durable|all",                                     \
			"visible, durable, or all (all files or none, whatever happens)" \
	}

static const struct cli_option files_read_options[] = {
	ROOT,
	{0, "max-bytes", "BYTES", "at most this much of each; with --json 64M by default"},
	{0, "lines", "FIRST:LAST", "only these lines"},
	{0, "tail", "N", "only the last N lines"},
	{0, "offset", "BYTES", "from this byte on"},
	{0, "length", "BYTES", "only this many bytes"},
	{0, "hash", NULL, "version tokens that include a hash of the content"},
	JSON,
	{0},
};

static const struct cli_option files_write_options[] = {
	ROOT,
	{0, "from", "DIR", "take the contents from the files of the same names below DIR"},
	PROMISE,
	{0, "create", NULL, "only create files that do not exist yet"},
	{0, "parents", NULL, "create missing directories"},
	{0, "partial", NULL, "continue if a file cannot be written"},
	{0, "expect", "TOKEN", "only if the file is unchanged since it was read"},
	{0, "mode", "OCTAL", "mode of new files"},
	JSON,
	{0},
};

static const struct cli_option files_scan_options[] = {
	ROOT,
	{'l', "meta", NULL, "include sizes and times"},
	{0, "sort", NULL, "sort by name"},
	{0, "totals", NULL, "only counts and sizes"},
	{'0', "null", NULL, "end paths with a NUL byte"},
	{0, "type", "fdlo", "files, directories, links, others"},
	{0, "ignore", NULL, "honour .gitignore and .ignore"},
	{0, "no-hidden", NULL, "leave out names that begin with a dot"},
	{0, "max", "N", "at most this many entries"},
	FILTERS,
	JSON_LINES,
	{0},
};

static const struct cli_option files_search_options[] = {
	ROOT,
	PATTERNS,
	{'A', "after", "N", "lines after a match"},
	{'B', "before", "N", "lines before a match"},
	{'C', "context", "N", "lines before and after"},
	{0, "files", NULL, "only the names of files with a match"},
	{0, "sort", NULL, "sort by path"},
	{0, "binary", NULL, "include files that are not text"},
	{0, "max-hits", "N", "stop after this many"},
	{0, "max-per-file", "N", "at most this many per file"},
	FILTERS,
	JSON_LINES,
	{0},
};

static const struct cli_option files_transform_options[] = {
	ROOT,
	PATTERNS,
	{0, "apply", NULL, "apply the changes; without it they are only shown"},
	{0, "diff", NULL, "show the changes when applying them, too"},
	PROMISE,
	FILTERS,
	JSON,
	{0},
};

static const struct cli_option files_copy_options[] = {
	ROOT,
	{0, "to-root", "DIR", "directory that TO is relative to"},
	{0, "resume", NULL, "continue an interrupted copy"},
	{0, "overwrite", NULL, "replace existing files"},
	{0, "durable", NULL, "return once it is on disk"},
	{0, "keep-owner", NULL, "copy owner, group and set-id bits as well"},
	JSON,
	{0},
};

static const struct cli_option files_move_options[] = {
	ROOT,
	{0, "overwrite", NULL, "replace an existing file"},
	JSON,
	{0},
};

static const struct cli_option files_delete_options[] = {
	ROOT,
	{'r', "recursive", NULL, "directories with their contents"},
	JSON,
	{0},
};

static const struct cli_command files_verbs[] = {
	{"read", "FILE...", 1, -1, FILES(cli_files_read, OP_FILE_READ), .help = "read many files",
		.about =
			"Contents are printed one after the other; with --json each with its version "
			"token.  Files over --max-bytes are listed on stderr, and the exit code is 1.",
		.options = files_read_options, .schema = "berth.files_read/1"},
	{"write", "FILE...", 1, -1, FILES(cli_files_write, OP_FILE_WRITE),
		.help = "write files, as one batch",
		.about =
			"One file takes its content from standard input; many take theirs from --from DIR.  A file "
			"appears when it is complete and keeps its mode, owner and attributes; its other names (hard "
			"links) keep the old content.  The default promise is durable.",
		.options = files_write_options, .schema = "berth.files_write/1"},
	{"scan", "[DIR]", 0, 1, FILES(cli_files_scan, OP_FILE_SCAN), .help = "list a tree",
		.about = "A --glob without a slash matches names, one with a slash matches paths "
			 "relative to DIR; {a,b} matches either, and !PATTERN excludes.  A pattern "
			 "that can match nothing is an error.  Ignore files are read as git reads "
			 "them, except for user-specific ones (core.excludesFile), so the list "
			 "depends on the tree alone.",
		.options = files_scan_options, .schema = "berth.files_scan/1"},
	{"search", "PATTERN [DIR|FILE]", 1, 2, FILES(cli_files_search, OP_FILE_SEARCH),
		.help = "find text in a tree",
		.about = "Hidden and ignored files are skipped.  Binary files (a NUL byte in the "
			 "first 8 KiB) are skipped, too, and counted.  For a file with a NUL byte "
			 "further on, and for a binary file given by name, only the fact that it "
			 "matches is printed.  For a long line, the part around the match is "
			 "printed, with [...] for the rest.  Exits with 1 if nothing was found.",
		.options = files_search_options, .schema = "berth.files_search/1"},
	{"transform", "PATTERN REPLACEMENT [DIR|FILE]", 2, 3,
		FILES(cli_files_transform, OP_FILE_TRANSFORM), .help = "replace text in many files",
		.about =
			"Shows the changes as a unified diff; --apply makes them, as one batch (all "
			"or none).  With --regex the replacement may name groups: $1, ${name}; $$ "
			"is a dollar sign.  Lines that end with CR LF still do, unless the pattern "
			"names the CR.  Text in UTF-16 is changed, too; files that are not text (a "
			"NUL byte anywhere) are skipped and counted, and files above 64M are an "
			"error.",
		.options = files_transform_options, .schema = "berth.files_transform/1"},
	{"copy", "FROM TO", 2, 2, FILES(cli_files_copy, OP_FILE_COPY),
		.help = "copy a file or a tree",
		.about =
			"Symbolic links are copied as links, pipes as pipes; holes and hard links are kept.  Sockets and "
			"devices are left out and counted.",
		.options = files_copy_options, .schema = "berth.files_copy/1"},
	{"move", "FROM TO", 2, 2, FILES(cli_files_move, OP_FILE_MOVE),
		.help = "move a file or a tree",
		.about =
			"To another file system the files are copied, then deleted at the source unless "
			"they changed in the meantime.  Files that stay (these, sockets and devices) are "
			"reported, and the exit code is 1.",
		.options = files_move_options, .schema = "berth.files_move/1"},
	{"delete", "PATH...", 1, -1, FILES(cli_files_delete, OP_FILE_DELETE),
		.help = "delete files and trees",
		.about = "The targets of symbolic links are not touched.",
		.options = files_delete_options, .schema = "berth.files_delete/1"},
	{0},
};

#endif
