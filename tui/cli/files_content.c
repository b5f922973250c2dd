/* files_content.c - `berth files read`, `write`, `search` and `transform`. */
#include "cli/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/progress.h"

#define STDIN_MAX (1u << 30)
#define OUTPUT_BUFFER (64u << 10)

/* --- read --- */

/* Lines stay lines on a terminal; only what is in them is neutralised. */
static void print_lines(const struct files_cli *x, const char *s, size_t n)
{
	if (!x->terminal) {
		files_cli_text(x, s, n);
		return;
	}
	for (const char *at = s, *end = s + n; at < end;) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		files_cli_text(x, at, (size_t)((nl ? nl : end) - at));
		if (nl)
			putchar('\n');
		at = nl ? nl + 1 : end;
	}
}

static int line_range(const char *text, struct files_want *w, struct err *e)
{
	unsigned long long first = 0, last = 0;
	int used = 0;

	if (!text)
		return 0;
	if (sscanf(text, "%llu:%llu%n", &first, &last, &used) != 2 || text[used] || !first ||
		last < first)
		return err_set(e, ERR_USAGE,
			"--lines takes FIRST:LAST, as in 10:20, not \"%.40s\".", text);
	w->first_line = first;
	w->last_line = last;
	return 0;
}

static bool valid_text(const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t used = utf8_next(s + i, n - i, &cp);

		if (cp == TEXT_BAD && !(used == 3 && memcmp(s + i, "\xEF\xBF\xBD", 3) == 0))
			return false;
		i += used;
	}
	return true;
}

static void json_got(struct jsonw *j, const char *path, const struct files_got *g)
{
	char token[FILES_TOKEN_MAX];
	bool binary = !g->err && files_judge(g->bytes, g->len) == FILES_BINARY;

	jsonw_object(j, NULL);
	files_cli_json_err(j, path, g->err);
	if (!g->err) {
		jsonw_uint(j, "size_bytes", g->token.size);
		jsonw_bool(j, "binary", binary);
		jsonw_bool(j, "clipped", g->clipped);
		jsonw_bool(j, "unstable", g->unstable);
		jsonw_text(j, "token", files_token_print(token, &g->token));
		if (!binary && valid_text(g->bytes, g->len)) {
			jsonw_textn(j, "text", g->bytes, g->len);
		} else {
			AUTO_STR struct str text = STR_INIT;

			str_add_base64(&text, g->bytes, g->len);
			jsonw_text(j, "bytes_base64", text.s);
		}
	}
	jsonw_end(j);
}

/* What part of each file is wanted. */
static int read_part_options(const struct cli *c, struct files_want *w, struct err *e)
{
	if (cli_number(c, "offset", 0, &w->offset, e) < 0 ||
		cli_number(c, "length", 0, &w->length, e) < 0 ||
		cli_number(c, "tail", 0, &w->tail_lines, e) < 0 ||
		line_range(cli_value(c, "lines"), w, e) < 0)
		return -1;
	if ((cli_value(c, "length") && !w->length) || (cli_value(c, "tail") && !w->tail_lines))
		return err_set(e, ERR_USAGE, "--length and --tail take a number above 0.");
	if (((w->offset || w->length) + (w->first_line > 0) + (w->tail_lines > 0)) > 1)
		return err_set(
			e, ERR_USAGE, "Give one of --lines, --tail, and --offset with --length.");
	return 0;
}

struct printing {
	struct files_cli *x;
	char last;
};

static int print_block(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct printing *p = ctx;

	print_lines(p->x, bytes, n);
	p->last = bytes[n - 1];
	/* The end says why. */
	return ferror(stdout) ? err_set(e, ERR_FAILED, "cannot write to standard output") : 0;
}

/* One file's content.  What does not fit in memory is read once more while it is printed, unless the limit was asked for.
 * Returns the exit code. */
static int print_content(struct files_cli *x, const struct files_want *w, const struct files_got *g)
{
	bool limited = cli_value(x->c, "max-bytes");
	struct printing p = {x, '\n'};
	struct err e = ERR_INIT;
	int rc = 0;

	if (g->clipped && !limited) {
		if (files_read_part(x->files, x->root, w, print_block, &p, &e) < 0)
			rc = cli_fail(&e);
	} else if (g->len) {
		print_block(&p, g->bytes, g->len, &e);
	}
	if (x->terminal && p.last != '\n')
		putchar('\n');
	return rc;
}

static int tell_clipped(const struct files_cli *x, const char *path, const struct files_got *g)
{
	struct err e = ERR_INIT;

	err_set(&e, ERR_FAILED,
		"%.200s: only %zu bytes of it are here%s; --offset and --length, --lines and --tail reach the "
		"rest",
		path, g->len, cli_value(x->c, "max-bytes") ? " (--max-bytes)" : "");
	return cli_fail(&e);
}

int cli_files_read(struct files_cli *x, struct err *e)
{
	size_t n = (size_t)x->c->argc;
	AUTO_FREE struct files_want *want = xcalloc(n, sizeof *want);
	AUTO_FREE const char **path = xcalloc(n, sizeof *path);
	struct files_read_options o = {.hash = cli_flag(x->c, "hash")};
	struct files_reading *r;
	struct jsonw j;
	int rc, worst = 0;

	if (cli_number(x->c, "max-bytes", 0, &o.max_file_bytes, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		path[i] = want[i].named = x->c->argv[i];
		if (read_part_options(x->c, &want[i], e) < 0)
			return -1;
	}
	x->root = files_cli_near(x, path, n, true, NULL, e);
	if (!x->root)
		return -1;
	for (size_t i = 0; i < n; i++)
		want[i].path = path[i];
	files_cli_progress(x);
	if (files_read(x->files, x->root, want, n, &o, &r, e) < 0)
		return -1;
	files_cli_quiet();
	jsonw_document(&j, "berth.files_read/1");
	jsonw_array(&j, "files");
	for (size_t i = 0; i < n; i++) {
		rc = r->items[i].err ? err_exit_code(r->items[i].err) : 0;
		worst = rc > worst ? rc : worst;
		if (x->json)
			json_got(&j, x->c->argv[i], &r->items[i]);
		else if (r->items[i].err)
			cli_fail(r->items[i].err);
		else
			rc = print_content(x, &want[i], &r->items[i]);
		if (r->items[i].clipped && (x->json || cli_value(x->c, "max-bytes")))
			rc = tell_clipped(x, x->c->argv[i], &r->items[i]);
		worst = rc > worst ? rc : worst;
	}
	jsonw_end(&j);
	jsonw_uint(&j, "failed", r->failed);
	jsonw_uint(&j, "read_bytes", r->bytes);
	jsonw_text(&j, "backend", r->backend);
	jsonw_end(&j);
	files_reading_free(r);
	if (!x->json)
		jsonw_release(&j);
	else if (jsonw_print(&j))
		worst = worst ? worst : 1;
	return worst;
}

/* --- write --- */

/* The new contents: standard input for one file, else the files of the same names below --from. */
static int read_new_contents(struct files_cli *x, struct files_put *puts, size_t n,
	struct str *text, struct files_reading **r, struct err *e)
{
	const char *from = cli_value(x->c, "from");
	AUTO_FREE struct files_want *want = xcalloc(n, sizeof *want);
	struct files_root *dir;
	int rc;

	if (!from) {
		if (n != 1)
			return err_set(e, ERR_USAGE,
				"standard input is one file's content: to write many, give --from DIR.");
		if (file_rest(0, "Standard input", STDIN_MAX, text, e) < 0)
			return -1;
		puts[0].bytes = text->s;
		puts[0].len = text->len;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		want[i].path = x->c->argv[i];
	dir = files_root_open(x->files, from, e);
	if (!dir)
		return -1;
	rc = files_read(x->files, dir, want, n, &(struct files_read_options){0}, r, e);
	files_root_close(dir);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct files_got *g = &(*r)->items[i];

		if (g->err)
			return err_copy(e, g->err);
		if (g->clipped)
			return err_set(e, ERR_REFUSED,
				"%.200s is larger than can be written in a batch.", puts[i].path);
		puts[i].bytes = g->bytes;
		puts[i].len = g->len;
	}
	return rc;
}

static void json_written(const struct files_cli *x, const struct files_writing *w)
{
	char token[FILES_TOKEN_MAX];
	struct jsonw j;

	jsonw_document(&j, "berth.files_write/1");
	jsonw_array(&j, "files");
	for (size_t i = 0; i < w->n; i++) {
		jsonw_object(&j, NULL);
		files_cli_json_err(&j, x->c->argv[i], w->items[i].err);
		jsonw_text(&j, "token",
			w->items[i].err ? NULL : files_token_print(token, &w->items[i].token));
		jsonw_end(&j);
	}
	jsonw_end(&j);
	jsonw_uint(&j, "failed", w->failed);
	jsonw_uint(&j, "written_bytes", w->bytes);
	jsonw_print(&j);
}

int cli_files_write(struct files_cli *x, struct err *e)
{
	size_t n = (size_t)x->c->argc;
	AUTO_FREE struct files_put *puts = xcalloc(n, sizeof *puts);
	AUTO_FREE const char **path = xcalloc(n, sizeof *path);
	const char *near;
	struct files_write_options o = {
		.parents = cli_flag(x->c, "parents"), .partial = cli_flag(x->c, "partial")};
	const char *mode = cli_value(x->c, "mode"), *expect = cli_value(x->c, "expect");
	AUTO_STR struct str text = STR_INIT;
	struct files_reading *r = NULL;
	struct files_writing *w = NULL;
	struct files_token token;
	char *end;
	int rc;

	if (files_cli_promise(x->c, &o.promise, e) < 0 ||
		(expect && files_token_parse(expect, &token, e) < 0))
		return -1;
	if (expect && n != 1)
		return err_set(e, ERR_USAGE, "--expect goes with one file.");
	for (size_t i = 0; i < n; i++) {
		path[i] = x->c->argv[i];
		if (!cli_value(x->c, "root") && files_cli_check_target(NULL, path[i], e))
			return -1;
		puts[i].create_only = cli_flag(x->c, "create");
		puts[i].expect = expect ? &token : NULL;
		puts[i].mode = mode ? (int)strtol(mode, &end, 8) : 0;
		if (mode && (*end || puts[i].mode <= 0 || puts[i].mode > 0777))
			return err_set(e, ERR_USAGE,
				"--mode takes an octal mode up to 777, not \"%.20s\".", mode);
	}
	x->root = files_cli_near(x, path, n, false, &near, e);
	if (!x->root)
		return -1;
	for (size_t i = 0; i < n; i++)
		puts[i].path = path[i];
	rc = read_new_contents(x, puts, n, &text, &r, e);
	if (rc == 0) {
		files_cli_progress(x);
		rc = files_write(x->files, x->root, puts, n, &o, &w, e);
		if (rc < 0 && near)
			err_wrap(e, "in %.200s", near);
		files_cli_quiet();
		if (x->json)
			json_written(x, w);
	}
	files_writing_free(w);
	files_reading_free(r);
	return rc;
}

/* --- search --- */

struct printer {
	struct files_cli *x;
	struct jsonw j;
	char last[4096];
	uint64_t last_line;
	bool context;
};

static void json_hit(struct printer *p, const char *path, const struct files_hit *h)
{
	jsonw_object(&p->j, NULL);
	jsonw_text(&p->j, "path", path);
	if (h->line) {
		jsonw_uint(&p->j, "line", h->line);
		if (h->column) {
			jsonw_uint(&p->j, "column", h->column);
			jsonw_uint(&p->j, "offset_bytes", h->offset);
			jsonw_uint(&p->j, "match_bytes", h->match_len);
		}
		jsonw_bool(&p->j, "context", h->column == 0);
		jsonw_textn(&p->j, "text", h->text, h->len);
		jsonw_bool(&p->j, "clipped", h->clipped || h->cut_before);
	}
	if (h->binary)
		jsonw_bool(&p->j, "binary", true);
	jsonw_end(&p->j);
}

/* ":12:"; printf is most of the work where hits are many. */
static void print_line_number(uint64_t line, char mark)
{
	char text[24], *at = text + sizeof text;

	*--at = mark;
	for (; line; line /= 10)
		*--at = (char)('0' + line % 10);
	*--at = mark;
	fwrite_unlocked(at, 1, (size_t)(text + sizeof text - at), stdout);
}

static bool print_hits(void *ctx, const char *path, const struct files_hit *hits, size_t n)
{
	struct printer *p = ctx;
	struct files_cli *x = p->x;

	if (x->terminal)
		cli_progress_clear();
	for (size_t i = 0; i < n; i++) {
		const struct files_hit *h = &hits[i];

		if (x->json) {
			json_hit(p, path, h);
			continue;
		}
		if (p->context && h->line &&
			(i == 0 ? p->last_line != 0 : h->line != p->last_line + 1))
			puts("--");
		p->last_line = h->line;
		files_cli_path(x, path, strlen(path));
		if (h->line) {
			print_line_number(h->line, h->column ? ':' : '-');
			if (h->cut_before)
				fputs("[...] ", stdout);
			files_cli_text(x, h->text, h->len);
			if (h->clipped)
				fputs(" [...]", stdout);
		}
		if (h->binary)
			printf(": binary file matches (a NUL byte at offset %" PRIu64 ")",
				h->offset);
		putchar('\n');
	}
	if (x->json && p->j.out.len > 32768) {
		fwrite(p->j.out.s, 1, p->j.out.len, stdout);
		str_clear(&p->j.out);
	}
	if (x->terminal)
		fflush(stdout);
	return !ferror(stdout);
}

static int context_lines(const struct cli *c, struct files_search_options *o, struct err *e)
{
	uint64_t both, before, after;

	if (cli_number(c, "context", 0, &both, e) < 0 ||
		cli_number(c, "before", both, &before, e) < 0 ||
		cli_number(c, "after", both, &after, e) < 0 ||
		cli_number(c, "max-hits", 0, &o->max_hits, e) < 0 ||
		cli_number(c, "max-per-file", 0, &o->max_file_hits, e) < 0)
		return -1;
	o->before = before > 1000 ? 1000 : (unsigned)before;
	o->after = after > 1000 ? 1000 : (unsigned)after;
	return 0;
}

static struct files_pattern make_pattern(const struct cli *c, const char *text)
{
	return (struct files_pattern){
		.text = text,
		.len = strlen(text),
		.regex = cli_flag(c, "regex"),
		.ignore_case = cli_flag(c, "ignore-case"),
		.word = cli_flag(c, "word"),
	};
}

static void json_search_summary(struct jsonw *j, const struct files_search_totals *t)
{
	jsonw_object(j, NULL);
	jsonw_object(j, "summary");
	jsonw_text(j, "schema", "berth.files_search/1");
	jsonw_uint(j, "files", t->files);
	jsonw_uint(j, "matched_files", t->matched_files);
	jsonw_uint(j, "hits", t->hits);
	jsonw_uint(j, "searched_bytes", t->bytes);
	jsonw_uint(j, "skipped_binary", t->skipped_binary);
	jsonw_uint(j, "skipped_large", t->skipped_large);
	jsonw_uint(j, "errors", t->errors);
	jsonw_uint(j, "gave_up", t->gave_up);
	jsonw_uint(j, "ignored", t->ignored);
	jsonw_bool(j, "clipped", t->clipped);
	jsonw_text(j, "engine", t->engine);
	jsonw_end(j);
	jsonw_end(j);
}

/* What is missing from the result; true: something is. */
static bool report_left_out(uint64_t gave_up, uint64_t large, uint64_t errors, int why)
{
	char files[FORMAT_MAX], lines[FORMAT_COUNTED_MAX];

	if (gave_up)
		fprintf(stderr, "berth: skipped %s: the pattern exceeds its match limit there.\n",
			format_counted(lines, gave_up, "line", "lines"));
	if (large)
		fprintf(stderr, "berth: %s files are too large and were skipped.\n",
			format_count(files, large));
	if (errors)
		fprintf(stderr, "berth: %s files or directories could not be read%s%s.\n",
			format_count(files, errors), why ? ": " : "",
			why ? strerrordesc_np(why) : "");
	return gave_up || large || errors;
}

static void report_binary(uint64_t n, const char *what)
{
	char files[FORMAT_COUNTED_MAX];

	if (n)
		fprintf(stderr, "berth: %s %s not text (NUL bytes) and not %s.\n",
			format_counted(files, n, "file", "files"), n == 1 ? "is" : "are", what);
}

/* Said where nothing was found: it may be there. */
static void report_ignored(uint64_t n, const char *what)
{
	char entries[FORMAT_COUNTED_MAX];

	if (n)
		fprintf(stderr, "berth: %s hidden or ignored and not %s: --all includes them.\n",
			format_counted(entries, n, "entry is", "entries are"), what);
}

/* Exit code: 0 something found, 1 nothing, or not all could be searched, 2 nothing could. */
int cli_files_search(struct files_cli *x, struct err *e)
{
	struct files_cli_filter f;
	struct files_search_options o = {
		.pattern = make_pattern(x->c, x->c->argv[0]),
		.names_only = cli_flag(x->c, "files"),
		.sorted = cli_flag(x->c, "sort"),
		.binary = cli_flag(x->c, "binary"),
	};
	struct files_search_totals t;
	struct printer p = {.x = x};

	if (files_cli_filter(x->c, &f, e) < 0 || context_lines(x->c, &o, e) < 0 ||
		files_cli_root(x, x->c->argc > 1 ? x->c->argv[1] : NULL, e) < 0)
		return -1;
	o.filter = f.filter;
	p.context = o.before || o.after;
	if (!x->terminal)
		setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);
	jsonw_init(&p.j, true);
	files_cli_progress(x);
	if (files_search(x->files, x->root, x->start, &o, print_hits, &p, &t, e) < 0) {
		jsonw_release(&p.j);
		return -1;
	}
	files_cli_quiet();
	if (x->json) {
		json_search_summary(&p.j, &t);
		if (jsonw_print(&p.j))
			return 1;
	} else {
		jsonw_release(&p.j);
	}
	report_binary(t.skipped_binary, "searched: --binary searches such files, too");
	if (!t.hits)
		report_ignored(t.ignored, "searched");
	if (!report_left_out(t.gave_up, t.skipped_large, t.errors, t.error))
		return t.hits ? 0 : 1;
	return t.files ? 1 : 2;
}

/* --- transform --- */

/* Exit code 1: some lines or files are as they were because they could not be looked at. */
int cli_files_transform(struct files_cli *x, struct err *e)
{
	struct files_cli_filter f;
	struct files_transform_options o = {
		.pattern = make_pattern(x->c, x->c->argv[0]),
		.replacement = x->c->argv[1],
		.replacement_len = strlen(x->c->argv[1]),
		.preview = !cli_flag(x->c, "apply"),
		.diff = cli_flag(x->c, "diff"),
	};
	struct files_transform_result r;
	struct jsonw j;
	int rc = 0;

	if (files_cli_filter(x->c, &f, e) < 0 || files_cli_promise(x->c, &o.promise, e) < 0)
		return -1;
	if (!cli_value(x->c, "promise"))
		o.promise = FILES_ALL_OR_NOTHING;
	o.filter = f.filter;
	if (files_cli_root(x, x->c->argc > 2 ? x->c->argv[2] : NULL, e) < 0)
		return -1;
	files_cli_progress(x);
	if (files_transform(x->files, x->root, x->start, &o, &r, e) < 0) {
		str_release(&r.diff);
		return -1;
	}
	files_cli_quiet();
	if (x->json) {
		jsonw_document(&j, "berth.files_transform/1");
		jsonw_bool(&j, "applied", !o.preview);
		jsonw_uint(&j, "files", r.files);
		jsonw_uint(&j, "changed", r.changed);
		jsonw_uint(&j, "replacements", r.replacements);
		jsonw_uint(&j, "skipped_binary", r.skipped_binary);
		jsonw_uint(&j, "skipped_large", r.skipped_large);
		jsonw_uint(&j, "errors", r.errors);
		jsonw_uint(&j, "gave_up", r.gave_up);
		jsonw_uint(&j, "ignored", r.ignored);
		jsonw_textn(&j, "diff", r.diff.s, r.diff.len);
		rc = jsonw_print(&j);
	} else {
		print_lines(x, r.diff.s, r.diff.len);
		fprintf(stderr, "berth: %" PRIu64 " replacements in %" PRIu64 " files%s.\n",
			r.replacements, r.changed,
			o.preview ? ", not applied yet: give --apply" : "");
	}
	str_release(&r.diff);
	report_binary(r.skipped_binary, "changed");
	if (!r.replacements)
		report_ignored(r.ignored, "changed");
	return report_left_out(r.gave_up, r.skipped_large, r.errors, r.error) ? 1 : rc;
}
