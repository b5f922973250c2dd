/* workspace_debug.c - `berth workspace debug`: a snapshot of a workspace as text: structure, sizes, changes, logs. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/files.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/sum.h>
#include <berth/text.h>

#include "cli/workspace.h"

#define FOLDER_DEPTH 2
#define FOLDERS_MAX 100
#define TOP_MAX 20
#define LOGS_MAX 10
#define LOG_BYTES ((size_t)16 << 10) /* of each, the last */
#define LOG_LINES 20

/* The greatest of what came, in order. */
struct top {
	struct top_file {
		char *path;
		int64_t key;
	} file[TOP_MAX];
	size_t n;
};

static void offer_file(struct top *t, const char *path, int64_t key)
{
	size_t at = t->n;

	if (t->n == TOP_MAX && t->file[TOP_MAX - 1].key >= key)
		return;
	if (t->n == TOP_MAX)
		free(t->file[--at].path);
	else
		t->n++;
	for (; at && t->file[at - 1].key < key; at--)
		t->file[at] = t->file[at - 1];
	t->file[at] = (struct top_file){xstrdup(path), key};
}

/* A folder of the first levels, with all that is below it. */
struct folder {
	char *path;
	uint64_t files, bytes;
};

struct snapshot_of {
	struct folder *folder;
	size_t n, cap;
	struct top largest, newest, logs;
	uint64_t unread;
	bool more; /* folders than are listed */
};

/* Those of its folders that the path begins with get what it is. */
static void add_to_folders(struct snapshot_of *s, const struct files_entry *x)
{
	for (size_t i = 0; i < s->n; i++) {
		struct folder *f = &s->folder[i];
		size_t len = strlen(f->path);

		if (len && (strncmp(x->path, f->path, len) != 0 || x->path[len] != '/'))
			continue;
		f->files++;
		sum_add(&f->bytes, x->size);
	}
}

static void add_folder(struct snapshot_of *s, const char *path)
{
	if (s->n == FOLDERS_MAX) {
		s->more = true;
		return;
	}
	s->folder = mem_grow(s->folder, &s->cap, s->n + 1, sizeof *s->folder);
	s->folder[s->n++] = (struct folder){.path = xstrdup(path)};
}

static void add_to_snapshot(struct snapshot_of *s, const struct files_entry *x)
{
	if (x->type == FILES_DIR && x->depth <= FOLDER_DEPTH)
		add_folder(s, x->path);
	if (x->type != FILES_FILE)
		return;
	add_to_folders(s, x);
	offer_file(&s->largest, x->path, x->size > INT64_MAX ? INT64_MAX : (int64_t)x->size);
	offer_file(&s->newest, x->path, x->mtime_ns);
	if (!strncmp(x->path, "logs/", 5) || !strcmp(x->path, "output"))
		offer_file(&s->logs, x->path, x->mtime_ns);
}

static int take_snapshot(struct workspace_cli *x, struct snapshot_of *s, struct err *e)
{
	static const struct files_scan_options how = {
		.meta = true, .one_device = true, .sorted = true};
	struct files *f = files_open(&(struct files_options){.program = "workspace"});
	struct files_root *r = files_root_open_at(f, x->root, x->path, e);
	struct files_scan *scan = NULL;
	struct files_entry entry;
	int rc = r ? files_scan(f, r, "", &how, &scan, e) : -1;

	while (rc == 0 && files_scan_next(scan, &entry))
		add_to_snapshot(s, &entry);
	while (rc == 0 && files_scan_error(scan, s->unread))
		s->unread++;
	files_scan_free(scan);
	files_root_close(r);
	files_close(f);
	return rc;
}

static void print_name(const char *path)
{
	AUTO_STR struct str name = STR_INIT;

	workspace_cli_quote(&name, path, strlen(path));
	puts(name.s);
}

static void print_folders(const struct snapshot_of *s)
{
	char bytes[FORMAT_MAX], files[FORMAT_MAX], unread[FORMAT_COUNTED_MAX];

	puts("\nstructure");
	for (size_t i = 0; i < s->n; i++) {
		printf("  %8s  %9s files  ", format_bytes(bytes, s->folder[i].bytes),
			format_count(files, s->folder[i].files));
		print_name(*s->folder[i].path ? s->folder[i].path : ".");
	}
	if (s->more)
		printf("  only the first %d folders of %d levels are listed\n", FOLDERS_MAX,
			FOLDER_DEPTH);
	if (s->unread)
		printf("  %s could not be read\n",
			format_counted(unread, s->unread, "directory", "directories"));
}

static void print_top(const struct top *t, const char *title, bool ages)
{
	int64_t now_ms = clock_wall_ms();
	char text[FORMAT_MAX];

	printf("\n%s\n", title);
	for (size_t i = 0; i < t->n; i++) {
		int64_t ms = now_ms - t->file[i].key / 1000000;

		if (ages)
			printf("  %8s ago  ", format_age(text, ms > 0 ? ms : 0));
		else
			printf("  %8s  ", format_bytes(text, (uint64_t)t->file[i].key));
		print_name(t->file[i].path);
	}
}

/* ---- logs */

struct log_text {
	unsigned *masked; /* lines with likely secrets, in order */
	size_t n, cap;
};

static void mask_line(void *ctx, const char *path, unsigned line, const char *what)
{
	struct log_text *l = ctx;

	(void)path;
	(void)what;
	if (!line)
		return;
	l->masked = mem_grow(l->masked, &l->cap, l->n + 1, sizeof *l->masked);
	l->masked[l->n++] = line;
}

static bool is_masked(const struct log_text *l, unsigned line)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->masked[i] == line)
			return true;
	return false;
}

static bool has(const char *bytes, size_t n, const char *word)
{
	return memmem(bytes, n, word, strlen(word)) != NULL;
}

#define KEY_MARK "PRIVATE KEY-----"

/* What is read begins in the middle of one: its end comes first. */
static bool begins_in_key(const char *bytes, size_t n)
{
	const char *mark = memmem(bytes, n, KEY_MARK, strlen(KEY_MARK)), *line = mark;

	while (mark && line > bytes && line[-1] != '\n')
		line--;
	return mark && has(line, (size_t)(mark - line), "-----END");
}

static void print_log_lines(const char *path, const char *bytes, size_t n)
{
	struct log_text l = {0};
	unsigned lines = 1, line = 0;
	const char *at = bytes, *end = bytes + n;
	bool key = begins_in_key(bytes, n); /* in the middle of a private one */

	workspace_find_secrets(path, bytes, n, mask_line, &l);
	for (size_t i = 0; i + 1 < n; i++)
		lines += bytes[i] == '\n';
	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at)), *to = nl ? nl : end;
		AUTO_STR struct str clean = STR_INIT;

		line++;
		key |= has(at, (size_t)(to - at), KEY_MARK);
		text_neutralise(&clean, at, (size_t)(to - at), false);
		if (line + LOG_LINES > lines)
			printf("  | %s\n",
				key || is_masked(&l, line) ? "[a likely secret]"
					: clean.s          ? clean.s
							   : "");
		key &= !has(at, (size_t)(to - at), "-----END");
		at = to + 1;
	}
	free(l.masked);
}

static void print_log(struct workspace_cli *x, const char *path)
{
	AUTO_CLOSE int fd = beneath_open(
		x->root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, RESOLVE_NO_SYMLINKS);
	AUTO_FREE char *bytes = xmalloc(LOG_BYTES);
	const char *newline;
	struct stat st;
	ssize_t n;
	off_t at;

	printf("\n");
	print_name(path);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		puts("  cannot be read");
		return;
	}
	at = st.st_size > (off_t)LOG_BYTES ? st.st_size - (off_t)LOG_BYTES : 0;
	n = file_fill_at(fd, bytes, LOG_BYTES, at);
	if (n < 0) {
		puts("  cannot be read");
		return;
	}
	/* Half a line may be half a secret, which nobody recognises. */
	newline = at ? memchr(bytes, '\n', (size_t)n) : NULL;
	if (at && !newline)
		puts("  ends in a line of more than 16 KiB");
	else if (at)
		print_log_lines(path, newline + 1, (size_t)(bytes + n - newline - 1));
	else
		print_log_lines(path, bytes, (size_t)n);
}

static void release_top(struct top *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->file[i].path);
}

int cli_workspace_debug(struct workspace_cli *x, struct err *e)
{
	struct snapshot_of s = {0};
	int rc = cli_workspace_show(x, e);

	if (rc == 0 && x->root >= 0) { /* an archive has none */
		add_folder(&s, "");
		rc = take_snapshot(x, &s, e);
		if (rc == 0) {
			print_folders(&s);
			print_top(&s.largest, "largest files", false);
			print_top(&s.newest, "last changed", true);
			for (size_t i = 0; i < s.logs.n && i < LOGS_MAX; i++)
				print_log(x, s.logs.file[i].path);
		}
	}
	for (size_t i = 0; i < s.n; i++)
		free(s.folder[i].path);
	free(s.folder);
	release_top(&s.largest);
	release_top(&s.newest);
	release_top(&s.logs);
	return rc;
}
