/* tools_read.c - implements the file tools that read: read, list, find, search. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <openssl/evp.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "mcp/tools_files.h"

#define TEXT_MOST ((uint64_t)8 << 20) /* bytes of a file that one answer holds */
#define MEDIA_MOST ((uint64_t)8 << 20)
#define LIST_MOST ((size_t)8 << 20)    /* of names and matches in one answer */
#define LISTED_MOST 50000              /* entries of one directory */
#define HITS_MOST 200000               /* matches; their text fills LIST_MOST before */
#define MANY_MOST ((uint64_t)16 << 20) /* of all files of one answer */

int call_place(
	struct call *c, const char *name, enum reach_use use, struct place_in *ret, struct err *e)
{
	return reach_find(call_reach(c), call_text(c, name), use, ret, e) ||
			(use == REACH_WRITE && place_has_room(c, ret, e))
		? -1
		: 0;
}

int place_has_room(struct call *c, const struct place_in *p, struct err *e)
{
	return c->full.kind && !strcmp(p->area->path, call_options(c)->agent->workspace)
		? err_copy(e, &c->full)
		: 0;
}

const char *place_start(const struct place_in *p)
{
	return strcmp(p->rel, ".") != 0 ? p->rel : "";
}

void put_place(struct str *out, const struct place_in *p, const char *rel)
{
	size_t len = p->area->leaf ? p->area->len - strlen(p->area->leaf) - 1 : p->area->len;

	str_add(out, p->area->path, len);
	if (*rel && strcmp(rel, ".") != 0)
		str_addf(out, "/%s", rel);
}

void put_quoted_name(struct str *out, const char *name)
{
	text_quote_name(out, name, strlen(name));
}

static int read_from_place(struct call *c, const struct place_in *p, const struct files_want *want,
	uint64_t most, struct files_reading **ret, struct err *e)
{
	const struct files_read_options o = {.max_file_bytes = most};

	*ret = NULL;
	if (files_read(call_files(c), p->root, want, 1, &o, ret, e))
		return -1;
	if ((*ret)->items[0].err)
		return err_copy(e, (*ret)->items[0].err);
	if (!(*ret)->items[0].clipped)
		reads_note(c->server->read, p->path);
	return 0;
}

int read_whole_place(struct call *c, const struct place_in *p, uint64_t most,
	struct files_reading **ret, struct err *e)
{
	const struct files_want want = {.path = p->rel};

	if (read_from_place(c, p, &want, most, ret, e))
		return -1;
	if ((*ret)->items[0].clipped)
		return err_set(e, ERR_REFUSED,
			"%.200s is larger than %" PRIu64
			" MiB, the most that this tool reads at once.",
			p->path, most >> 20);
	return 0;
}

int check_is_text(const struct files_got *g, const char *path, struct err *e)
{
	switch (files_judge(g->bytes, g->len)) {
	case FILES_TEXT: return 0;
	case FILES_UTF16:
		return err_set(e, ERR_REFUSED,
			"%.200s is UTF-16 text: use search_text and transform_files, or read_media_file to get it as base64.",
			path);
	case FILES_BINARY: break;
	}
	return err_set(e, ERR_REFUSED,
		"%.200s is not a text file (contains NUL bytes); use read_media_file to get it as base64.",
		path);
}

void put_left_out(struct call *c, uint64_t binary, uint64_t large, uint64_t unreadable,
	uint64_t gave_up, uint64_t ignored)
{
	jsonw_uint(&c->out, "not_text", binary);
	jsonw_uint(&c->out, "too_large", large);
	jsonw_uint(&c->out, "unreadable", unreadable);
	jsonw_uint(&c->out, "gave_up_lines", gave_up);
	jsonw_uint(&c->out, "ignored", ignored);
}

/* JSON has no other way to show them: who writes the text back changes these bytes. */
#define NOT_UTF8 \
	"Some bytes here are not UTF-8; each is shown as U+FFFD. read_media_file returns the file's bytes."

/* -- read ------------------------------------------------------------------------------------------ */

/* Nothing behind the end is not an empty file: who pages through it would go on. */
static void note_end(struct call *c, const struct files_want *want, const struct files_got *g)
{
	if (!g->len && (want->first_line > 1 || want->offset))
		c->note = arena_printf(&c->mem, "The file ends before %s %" PRIu64 ".",
			want->offset ? "byte" : "line",
			want->offset ? want->offset : want->first_line);
}

int tool_read_text(struct call *c, struct err *e)
{
	int64_t head = call_number(c, "head", -1), tail = call_number(c, "tail", -1);
	struct files_want want = {.first_line = (uint64_t)call_number(c, "first_line", 0),
		.last_line = (uint64_t)call_number(c, "last_line", 0),
		.offset = (uint64_t)call_number(c, "offset", 0),
		.length = (uint64_t)call_number(c, "length", 0)};
	bool lines = want.first_line || want.last_line || head >= 0 || tail >= 0;
	const struct files_read_options o = {.max_file_bytes = TEXT_MOST};
	struct files_reading *got = NULL;
	struct place_in p;
	int rc = -1;

	if (lines && (want.offset || want.length))
		return err_set(e, ERR_USAGE,
			"Give lines, or \"offset\" and \"length\" (in bytes), not both.");
	if (want.last_line && want.first_line > want.last_line)
		return err_set(e, ERR_USAGE, "\"first_line\" is greater than \"last_line\".");
	if (head >= 0 && tail >= 0)
		return err_set(e, ERR_USAGE, "Only one of \"head\" and \"tail\" can be given.");
	if ((head >= 0 || tail >= 0) && (want.first_line || want.last_line))
		return err_set(e, ERR_USAGE,
			"\"%s\" cannot be given with \"first_line\" or \"last_line\".",
			head >= 0 ? "head" : "tail");
	if (call_place(c, "path", REACH_READ, &p, e))
		return -1;
	want.path = p.rel;
	if (head > 0)
		want.last_line = (uint64_t)head;
	if (tail > 0)
		want.tail_lines = (uint64_t)tail;
	if (files_read(call_files(c), p.root, &want, 1, &o, &got, e))
		return -1;
	if (got->items[0].err)
		err_copy(e, got->items[0].err);
	else if (got->items[0].clipped)
		err_set(e, ERR_REFUSED,
			"That is more than 8 MiB of %.200s (%" PRIu64
			" bytes); read less of it at once: by first_line and last_line, by tail, or by "
			"offset and length in bytes.",
			p.path, got->items[0].token.size);
	else
		rc = check_is_text(&got->items[0], p.path, e);
	if (!rc && head && tail) {
		str_add(&c->text, got->items[0].bytes, got->items[0].len);
		note_end(c, &want, &got->items[0]);
		if (!utf8_valid(got->items[0].bytes, got->items[0].len))
			c->note = NOT_UTF8;
		reads_note(c->server->read, p.path);
	}
	files_reading_free(got);
	return rc;
}

/* By the first bytes, for names lie: a model's API that gets what is not an image, or one of another kind, refuses each
 * message from then on.  Images that those do not take are resources. */
static const struct media {
	const char *type, *block;
	const char *end; /* of the name; NULL: any */
	const char *first, *ninth;
} media[] = {
	{"image/png", "image", NULL, "\x89PNG\r\n\x1a\n", ""},
	{"image/jpeg", "image", NULL, "\xff\xd8\xff", ""},
	{"image/gif", "image", NULL, "GIF87a", ""},
	{"image/gif", "image", NULL, "GIF89a", ""},
	{"image/webp", "image", NULL, "RIFF", "WEBP"},
	{"audio/wav", "audio", NULL, "RIFF", "WAVE"},
	{"audio/ogg", "audio", NULL, "OggS", ""},
	{"audio/flac", "audio", NULL, "fLaC", ""},
	{"audio/mpeg", "audio", NULL, "ID3", ""},
	{"audio/mpeg", "audio", ".mp3", "\xff", ""},
	{"image/bmp", "resource", ".bmp", "BM", ""},
	{"image/svg+xml", "resource", ".svg", "<", ""},
};
static const struct media other_media = {"application/octet-stream", "resource", NULL, "", ""};

static bool has_bytes(const struct files_got *g, size_t at, const char *bytes)
{
	size_t n = strlen(bytes);

	return !n || (g->len >= at + n && !memcmp(g->bytes + at, bytes, n));
}

static const struct media *find_media(const char *path, const struct files_got *g)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; i < COUNT(media); i++)
		if ((!media[i].end || (dot && !strcasecmp(media[i].end, dot))) &&
			has_bytes(g, 0, media[i].first) && has_bytes(g, 8, media[i].ninth))
			return &media[i];
	return &other_media;
}

static void put_uri(struct jsonw *j, const char *path)
{
	AUTO_STR struct str uri = STR_INIT;

	str_adds(&uri, "file://");
	for (const char *p = path; *p; p++)
		if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			(*p >= '0' && *p <= '9') || strchr("/._-~", *p))
			str_addc(&uri, *p);
		else
			str_addf(&uri, "%%%02X", (unsigned char)*p);
	jsonw_text(j, "uri", uri.s);
}

/* All of it, or the part that is asked for. */
static int read_media(struct call *c, const struct place_in *p, bool *ret_part,
	struct files_reading **ret, struct err *e)
{
	const struct files_want want = {.path = p->rel,
		.offset = (uint64_t)call_number(c, "offset", 0),
		.length = (uint64_t)call_number(c, "length", 0)};

	*ret_part = want.offset || want.length;
	if (read_from_place(c, p, &want, MEDIA_MOST, ret, e))
		return -1;
	return (*ret)->items[0].clipped
		? err_set(e, ERR_REFUSED,
			  "That is more than 8 MiB of %.200s (%" PRIu64
			  " bytes); read less of it at once, by offset and length in bytes.",
			  p->path, (*ret)->items[0].token.size)
		: 0;
}

int tool_read_media(struct call *c, struct err *e)
{
	struct files_reading *got = NULL;
	struct place_in p;
	struct jsonw j;
	const struct media *m;
	bool part;
	int rc;

	if (call_place(c, "path", REACH_READ, &p, e))
		return -1;
	rc = read_media(c, &p, &part, &got, e);
	if (!rc) {
		const struct files_got *g = &got->items[0];
		AUTO_FREE char *data = xmalloc(4 * ((g->len + 2) / 3) + 1);

		EVP_EncodeBlock(
			(unsigned char *)data, (const unsigned char *)g->bytes, (int)g->len);
		m = part ? &other_media : find_media(p.path, g);
		jsonw_init(&j, true);
		jsonw_object(&j, NULL);
		jsonw_text(&j, "type", m->block);
		if (!strcmp(m->block, "resource")) {
			jsonw_object(&j, "resource");
			put_uri(&j, p.path);
			jsonw_text(&j, "mimeType", m->type);
			jsonw_text(&j, "blob", data);
			jsonw_end(&j);
		} else {
			jsonw_text(&j, "data", data);
			jsonw_text(&j, "mimeType", m->type);
		}
		jsonw_end(&j);
		str_add(&c->extra, j.out.s, j.out.len - 1);
		jsonw_release(&j);
	}
	files_reading_free(got);
	return rc;
}

struct asked {
	struct files_root *root;
	const char *rel, *path; /* as in place_in, in the call's memory */
	const char *refused;    /* why it is not read */
	const struct files_got *got;
	bool done;
};

/* All that lie below the root of the first that is not read yet, at once. */
static int read_group(
	struct call *c, struct asked *a, size_t n, struct files_reading **ret, struct err *e)
{
	const struct files_read_options o = {
		.max_file_bytes = TEXT_MOST, .max_total_bytes = MANY_MOST};
	struct files_want *want = xcalloc(n, sizeof *want);
	struct asked **whose = xcalloc(n, sizeof(struct asked *));
	struct files_root *root = NULL;
	size_t k = 0;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		if (!a[i].done && (!root || a[i].root == root)) {
			root = a[i].root;
			a[i].done = true;
			whose[k] = &a[i];
			want[k++].path = a[i].rel;
		}
	*ret = NULL;
	if (root)
		rc = files_read(call_files(c), root, want, k, &o, ret, e);
	for (size_t i = 0; *ret && i < k; i++)
		whose[i]->got = &(*ret)->items[i];
	free(whose);
	free(want);
	return rc < 0 ? -1 : root != NULL;
}

static void put_asked(struct call *c, const char *path, const struct asked *a, bool first)
{
	struct err e = ERR_INIT;
	const char *why = a->refused ? a->refused : a->got->err ? a->got->err->msg : NULL;

	if (!first)
		str_adds(&c->text, "\n---\n");
	put_quoted_name(&c->text, path);
	if (why) {
		str_addf(&c->text, ": Error - %s", why);
		return;
	}
	if (check_is_text(a->got, path, &e)) {
		str_addf(&c->text, ": Error - %s", e.msg);
		return;
	}
	str_adds(&c->text, ":\n");
	str_add(&c->text, a->got->bytes, a->got->len);
	str_adds(&c->text,
		a->got->clipped
			? "\n(cut at 8 MiB: continue with read_text_file, offset and length)\n"
			: "\n");
	if (!utf8_valid(a->got->bytes,
		    a->got->clipped ? utf8_whole(a->got->bytes, a->got->len) : a->got->len))
		str_adds(&c->text, "(" NOT_UTF8 ")\n");
	if (!a->got->clipped)
		reads_note(c->server->read, a->path);
}

static void place_asked(struct call *c, const char *path, struct asked *a)
{
	struct err why = ERR_INIT;
	struct place_in p;

	if (reach_find(call_reach(c), path, REACH_READ, &p, &why)) {
		a->refused = arena_strdup(&c->mem, why.msg);
		a->done = true;
		return;
	}
	a->root = p.root;
	a->rel = arena_strdup(&c->mem, p.rel);
	a->path = arena_strdup(&c->mem, p.path);
}

int tool_read_many(struct call *c, struct err *e)
{
	size_t n, groups = 0, bytes = 0;
	const char *const *paths = call_texts(c, "paths", &n);
	struct files_reading **got;
	struct asked *a;
	int rc;

	a = xcalloc(n, sizeof *a);
	got = xcalloc(n + 1, sizeof(struct files_reading *));
	for (size_t i = 0; i < n; i++) {
		place_asked(c, paths[i], &a[i]);
		bytes += strlen(paths[i]) + 8;
	}
	while ((rc = read_group(c, a, n, &got[groups], e)) > 0)
		bytes += got[groups++]->bytes;
	/* Room for all of it at once: what grows bit by bit is copied again and again. */
	str_reserve(&c->text, bytes);
	for (size_t i = 0; !rc && i < n; i++)
		put_asked(c, paths[i], &a[i], i == 0);
	for (size_t i = 0; i <= groups && i <= n; i++)
		files_reading_free(got[i]);
	free(got);
	free(a);
	return rc;
}

/* -- list ------------------------------------------------------------------------------------------ */

struct listed {
	char *name;
	enum files_type type;
	uint64_t size;
};

static int compare_listed(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;

	return x->size < y->size ? 1 : x->size > y->size ? -1 : strcmp(x->name, y->name);
}

/* Only directories have something to list. */
static int scan_place(struct call *c, const struct place_in *p, const struct files_scan_options *o,
	struct files_scan **ret, struct err *e)
{
	struct files_entry what;

	if (files_look(p->root, p->rel, &what, e))
		return -1;
	if (what.type == FILES_FILE || what.type == FILES_OTHER)
		return err_set(e, ERR_REFUSED, "%.200s is not a directory.", p->path);
	return files_scan(call_files(c), p->root, place_start(p), o, ret, e);
}

/* All but the directory itself. */
static bool next_below(struct files_scan *s, const struct place_in *p, struct files_entry *it)
{
	while (files_scan_next(s, it))
		if (*it->path && strcmp(it->path, place_start(p)) != 0 &&
			strcmp(it->path, ".") != 0)
			return true;
	return false;
}

static int list_directory(struct call *c, bool sizes, struct err *e)
{
	const struct files_scan_options o = {.filter = {.max_depth = 1},
		.sorted = true,
		.meta = sizes,
		.max_entries = LISTED_MOST};
	uint64_t files = 0, dirs = 0, bytes = 0;
	struct listed *list = NULL;
	struct files_scan *s;
	struct files_entry it;
	struct place_in p;
	const char *by = call_text(c, "sortBy");
	size_t n = 0, cap = 0;
	bool clipped;

	if (call_place(c, "path", REACH_READ, &p, e) || scan_place(c, &p, &o, &s, e))
		return -1;
	while (next_below(s, &p, &it)) {
		list = mem_grow(list, &cap, n + 1, sizeof *list);
		list[n++] = (struct listed){xstrdup(it.name), it.type, it.size};
	}
	clipped = files_scan_totals(s)->clipped;
	files_scan_free(s);
	if (n && by && !strcmp(by, "size"))
		mem_sort(list, n, sizeof *list, compare_listed);
	for (size_t i = 0; i < n; i++) {
		bool dir = list[i].type == FILES_DIR;
		size_t at, len;

		str_addf(&c->text, "%s[%s] ", i ? "\n" : "", dir ? "DIR" : "FILE");
		at = c->text.len;
		put_quoted_name(&c->text, list[i].name);
		len = c->text.len - at;
		if (sizes && !dir)
			str_addf(&c->text, "%*s %10" PRIu64 " bytes", len < 30 ? 30 - (int)len : 0,
				"", list[i].size);
		dirs += dir;
		files += !dir;
		bytes += dir ? 0 : list[i].size;
		free(list[i].name);
	}
	free(list);
	if (sizes)
		str_addf(&c->text,
			"\n\nTotal: %" PRIu64 " files, %" PRIu64
			" directories\nCombined size: %" PRIu64 " bytes",
			files, dirs, bytes);
	if (clipped)
		str_adds(&c->text, "\n(and more: narrow the list with search_files)");
	return 0;
}

int tool_list(struct call *c, struct err *e)
{
	return list_directory(c, false, e);
}

int tool_list_sizes(struct call *c, struct err *e)
{
	return list_directory(c, true, e);
}

static void put_indent(struct str *out, unsigned depth)
{
	str_addc(out, '\n');
	for (unsigned i = 0; i < depth; i++)
		str_adds(out, "  ");
}

#define TREE_MOST 100000

int tool_tree(struct call *c, struct err *e)
{
	size_t n;
	const char *const *excludes = call_texts(c, "excludePatterns", &n);
	const struct files_scan_options o = {.filter = {.excludes = excludes, .nexcludes = n},
		.sorted = true,
		.max_entries = TREE_MOST};
	struct files_scan *s;
	struct files_entry it;
	struct place_in p;
	unsigned open = 0, base = 0; /* arrays that are open; depth of the top ones */
	bool first = true;

	if (call_place(c, "path", REACH_READ, &p, e) || scan_place(c, &p, &o, &s, e))
		return -1;
	str_adds(&c->text, "[");
	while (c->text.len < LIST_MOST && next_below(s, &p, &it)) {
		unsigned level;

		if (!base)
			base = it.depth;
		level = it.depth - base;
		for (; open > level; open--) {
			put_indent(&c->text, 2 * open);
			str_adds(&c->text, "]");
			put_indent(&c->text, 2 * open - 1);
			str_adds(&c->text, "}");
			first = false;
		}
		if (!first)
			str_adds(&c->text, ",");
		put_indent(&c->text, 2 * level + 1);
		str_adds(&c->text, "{");
		put_indent(&c->text, 2 * level + 2);
		str_adds(&c->text, "\"name\": ");
		jsonw_quote(&c->text, it.name, strlen(it.name));
		str_adds(&c->text, ",");
		put_indent(&c->text, 2 * level + 2);
		str_addf(&c->text, "\"type\": \"%s\"", it.type == FILES_DIR ? "directory" : "file");
		first = it.type == FILES_DIR;
		if (first) {
			str_adds(&c->text, ",");
			put_indent(&c->text, 2 * level + 2);
			str_adds(&c->text, "\"children\": [");
			open++;
		} else {
			put_indent(&c->text, 2 * level + 1);
			str_adds(&c->text, "}");
		}
	}
	for (; open; open--) {
		put_indent(&c->text, 2 * open);
		str_adds(&c->text, "]");
		put_indent(&c->text, 2 * open - 1);
		str_adds(&c->text, "}");
	}
	str_adds(&c->text, "\n]");
	n = files_scan_totals(s)->clipped || c->text.len >= LIST_MOST;
	files_scan_free(s);
	return n
		? err_set(e, ERR_REFUSED,
			  "%.200s has more than %d entries, or they exceed 8 MiB; use a subdirectory, or scan_directory with a limit.",
			  p.path, TREE_MOST)
		: 0;
}

int tool_find(struct call *c, struct err *e)
{
	size_t n;
	const char *pattern = call_text(c, "pattern");
	const char *const *excludes = call_texts(c, "excludePatterns", &n);
	const struct files_scan_options o = {
		.filter = {.globs = &pattern, .nglobs = 1, .excludes = excludes, .nexcludes = n},
		.sorted = true};
	struct files_scan *s;
	struct files_entry it;
	struct place_in p;

	if (call_place(c, "path", REACH_READ, &p, e) || scan_place(c, &p, &o, &s, e))
		return -1;
	while (c->text.len < LIST_MOST && next_below(s, &p, &it)) {
		AUTO_STR struct str path = STR_INIT;

		if (c->text.len)
			str_addc(&c->text, '\n');
		put_place(&path, &p, it.path);
		put_quoted_name(&c->text, path.s);
	}
	if (next_below(s, &p, &it))
		str_adds(&c->text, "\n(and more: narrow the pattern)");
	files_scan_free(s);
	if (!c->text.len)
		str_adds(&c->text, "No matches found");
	return 0;
}

static void put_time(struct str *out, const char *name, int64_t ns)
{
	time_t t = (time_t)(ns / 1000000000);
	struct tm tm;
	char text[40];

	gmtime_r(&t, &tm);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	str_addf(out, "\n%s: %s", name, text);
}

int tool_info(struct call *c, struct err *e)
{
	struct files_entry it;
	struct place_in p;

	if (call_place(c, "path", REACH_READ, &p, e) || files_look(p.root, p.rel, &it, e))
		return -1;
	str_addf(&c->text, "size: %" PRIu64, it.size);
	put_time(&c->text, "modified", it.mtime_ns);
	str_addf(&c->text, "\nisDirectory: %s\nisFile: %s\nisSymbolicLink: %s\npermissions: %03o",
		it.type == FILES_DIR ? "true" : "false", it.type == FILES_FILE ? "true" : "false",
		it.type == FILES_LINK ? "true" : "false", it.mode & 07777);
	str_addf(&c->text, "\nowner: %u:%u\nwritable: %s", it.uid, it.gid,
		p.area->write ? "true" : "false");
	return 0;
}

int tool_allowed(struct call *c, struct err *e)
{
	const struct reach *r = call_reach(c);

	(void)e;
	str_adds(&c->text, "Allowed directories:");
	for (size_t i = 0; i < r->n; i++) {
		str_addc(&c->text, '\n');
		put_quoted_name(&c->text, r->areas[i].path);
		str_adds(&c->text, r->areas[i].write ? "" : " (read-only)");
	}
	return 0;
}

/* -- scan, search ---------------------------------------------------------------------------------- */

static void fill_filter(struct call *c, struct files_filter *f)
{
	f->globs = call_texts(c, "glob", &f->nglobs);
	f->excludes = call_texts(c, "exclude", &f->nexcludes);
	f->max_depth = (unsigned)call_number(c, "max_depth", 0);
	f->ignore_files = !call_flag(c, "all");
	f->skip_hidden = !call_flag(c, "all");
}

static const char *type_word(enum files_type t)
{
	return t == FILES_DIR     ? "directory"
		: t == FILES_LINK ? "link"
		: t == FILES_FILE ? "file"
				  : "other";
}

int tool_scan(struct call *c, struct err *e)
{
	int64_t most = call_number(c, "limit", 1000);
	struct files_scan_options o = {.sorted = true, .meta = true};
	const struct files_scan_totals *t;
	struct files_scan *s;
	struct files_entry it;
	struct place_in p;
	int64_t n = 0;

	fill_filter(c, &o.filter);
	if (call_place(c, "path", REACH_READ, &p, e) || scan_place(c, &p, &o, &s, e))
		return -1;
	jsonw_array(&c->out, "entries");
	for (; n < most && c->out.out.len < LIST_MOST && next_below(s, &p, &it); n++) {
		AUTO_STR struct str path = STR_INIT;

		put_place(&path, &p, it.path);
		jsonw_object(&c->out, NULL);
		jsonw_text(&c->out, "path", path.s);
		jsonw_text(&c->out, "type", type_word(it.type));
		jsonw_uint(&c->out, "bytes", it.size);
		jsonw_int(&c->out, "modified", it.mtime_ns / 1000000000);
		jsonw_end(&c->out);
	}
	jsonw_end(&c->out);
	t = files_scan_totals(s);
	jsonw_uint(&c->out, "files", t->files);
	jsonw_uint(&c->out, "directories", t->dirs);
	jsonw_uint(&c->out, "bytes", t->bytes);
	jsonw_uint(&c->out, "unreadable", t->errors);
	jsonw_bool(&c->out, "truncated", next_below(s, &p, &it) || t->clipped);
	files_scan_free(s);
	return 0;
}

struct hits_of {
	struct call *c;
	const struct place_in *place;
	bool full;
};

static bool put_hits(void *ctx, const char *path, const struct files_hit *hits, size_t n)
{
	struct hits_of *h = ctx;
	AUTO_STR struct str shown = STR_INIT;

	put_place(&shown, h->place, path);
	for (size_t i = 0; i < n; i++) {
		struct jsonw *j = &h->c->out;

		jsonw_object(j, NULL);
		jsonw_text(j, "path", shown.s);
		if (hits[i].binary)
			jsonw_text(j, "text", "(binary file matches)");
		if (hits[i].line) {
			AUTO_STR struct str text = STR_INIT;

			str_adds(&text, hits[i].cut_before ? "[...] " : "");
			str_add(&text, hits[i].text, hits[i].len);
			str_adds(&text, hits[i].clipped ? " [...]" : "");
			jsonw_uint(j, "line", hits[i].line);
			jsonw_uint(j, "column", hits[i].column);
			jsonw_textn(j, "text", text.s, text.len);
		}
		jsonw_end(j);
	}
	h->full = h->c->out.out.len > LIST_MOST;
	return !h->full && !call_cancelled(h->c);
}

int tool_search(struct call *c, struct err *e)
{
	const struct json *pattern = json_member(c->args, "pattern");
	int64_t lines = call_number(c, "context", 0);
	int64_t most = call_number(c, "limit", 200);
	unsigned context = lines < CONTEXT_MOST ? (unsigned)lines : CONTEXT_MOST;
	struct files_search_options o = {.pattern = {.text = pattern->text,
						 .len = pattern->len,
						 .regex = call_flag(c, "regex"),
						 .ignore_case = call_flag(c, "ignore_case"),
						 .word = call_flag(c, "word")},
		.before = context,
		.after = context,
		.max_hits = most && most < HITS_MOST ? (uint64_t)most : HITS_MOST,
		.max_line = 1024,
		.names_only = call_flag(c, "names_only"),
		.sorted = true};
	struct files_search_totals t = {0};
	struct place_in p;
	struct hits_of h = {c, &p, false};

	fill_filter(c, &o.filter);
	if (call_place(c, "path", REACH_READ, &p, e))
		return -1;
	jsonw_array(&c->out, "matches");
	if (files_search(call_files(c), p.root, place_start(&p), &o, put_hits, &h, &t, e))
		return -1;
	jsonw_end(&c->out);
	jsonw_uint(&c->out, "hits", t.hits);
	jsonw_uint(&c->out, "matched_files", t.matched_files);
	jsonw_uint(&c->out, "files", t.files);
	jsonw_bool(&c->out, "truncated", t.clipped || h.full);
	put_left_out(c, t.skipped_binary, t.skipped_large, t.errors, t.gave_up, t.ignored);
	return 0;
}
