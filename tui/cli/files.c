/* files.c - `berth files`: dispatches its verbs; common options, cancelling, progress. */
#include "cli/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/path.h>
#include <berth/record.h>
#include <berth/settings.h>
#include <berth/text.h>
#include <berth/users.h>

#include "cli/gate.h"
#include "cli/progress.h"

static struct files *running; /* for the signal handler and the progress thread */

static int parse_types(const char *text, unsigned *ret, struct err *e)
{
	static const struct {
		char letter;
		enum files_type type;
	} known[] = {{'f', FILES_FILE}, {'d', FILES_DIR}, {'l', FILES_LINK}, {'o', FILES_OTHER}};

	for (; text && *text; text++) {
		size_t i = 0;

		while (i < COUNT(known) && known[i].letter != *text)
			i++;
		if (i == COUNT(known))
			return err_set(e, ERR_USAGE,
				"--type takes letters of f (file), d (directory), l (link), o (other).");
		*ret |= known[i].type;
	}
	return 0;
}

int files_cli_filter(const struct cli *c, struct files_cli_filter *f, struct err *e)
{
	bool all = cli_flag(c, "all") || !strcmp(c->command->name, "scan");
	uint64_t depth, newer, older;

	*f = (struct files_cli_filter){.filter = {
					       .globs = f->globs,
					       .excludes = f->excludes,
					       .ignore_files = !all || cli_flag(c, "ignore"),
					       .skip_hidden = !all || cli_flag(c, "no-hidden"),
				       }};
	for (size_t i = 0; i < c->ngiven; i++) {
		if (!strcmp(c->given[i].option->name, "glob"))
			f->globs[f->filter.nglobs++] = c->given[i].value;
		else if (!strcmp(c->given[i].option->name, "exclude"))
			f->excludes[f->filter.nexcludes++] = c->given[i].value;
	}
	if (cli_number(c, "depth", 0, &depth, e) < 0 ||
		cli_number(c, "min-size", 0, &f->filter.min_size, e) < 0 ||
		cli_number(c, "max-size", 0, &f->filter.max_size, e) < 0 ||
		cli_number(c, "newer", 0, &newer, e) < 0 ||
		cli_number(c, "older", 0, &older, e) < 0 ||
		parse_types(cli_value(c, "type"), &f->filter.types, e) < 0)
		return -1;
	f->filter.max_depth = depth > UINT32_MAX ? UINT32_MAX : (unsigned)depth;
	if (newer)
		f->filter.newer_ns = ((int64_t)time(NULL) - (int64_t)newer) * 1000000000;
	if (older)
		f->filter.older_ns = ((int64_t)time(NULL) - (int64_t)older) * 1000000000;
	return 0;
}

int files_cli_promise(const struct cli *c, enum files_promise *ret, struct err *e)
{
	static const char *const names[] = {"visible", "durable", "all"};
	const char *text = cli_value(c, "promise");

	*ret = FILES_DURABLE;
	for (int i = 0; text; i++) {
		if (i == (int)COUNT(names))
			return err_set(e, ERR_USAGE,
				"--promise is visible, durable or all (all or nothing).");
		if (!strcmp(names[i], text)) {
			*ret = (enum files_promise)i;
			break;
		}
	}
	return 0;
}

/* What is left of `path` below `dir`; NULL: it is not below it. */
static const char *below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	if (!dir[1])
		return *path == '/' && path[1] ? path + 1 : NULL;
	return !strncmp(dir, path, n) && path[n] == '/' && path[n + 1] ? path + n + 1 : NULL;
}

/* Whether what is `rest` below here was named so, without a link on the way. */
static bool is_in_sight(const char *rest, const char *path)
{
	while (!strncmp(path, "./", 2))
		path += 2 + strspn(path + 2, "/");
	return rest && !strcmp(rest, path);
}

/* Names alone, with one slash between two: no start at the top, no "." and no "..". */
static bool is_plain(const char *path)
{
	for (const char *end;; path = end + 1) {
		size_t n;

		end = strchrnul(path, '/');
		n = (size_t)(end - path);
		if (!n || (n <= 2 && !strncmp(path, "..", n)))
			return false;
		if (!*end)
			return true;
	}
}

/* The same, found by one system call where it is there; `through`: also its end is not a link. */
static bool is_in_plain_sight(const char *path, bool through)
{
	AUTO_CLOSE int fd = is_plain(path)
		? beneath_try(
			  AT_FDCWD, path, O_PATH | (through ? 0 : O_NOFOLLOW), RESOLVE_NO_SYMLINKS)
		: -1;

	return fd >= 0;
}

/* The directory above. */
static void go_up(char *dir)
{
	char *slash = strrchr(dir, '/');

	slash[slash == dir] = '\0';
}

static struct files_root *open_named_root(struct files_cli *x, const char *root, struct err *e)
{
	struct err why = ERR_INIT;
	struct files_root *r = files_root_open(x->files, root, &why);

	/* A command line that names no directory is wrong; that a search found nothing is another answer. */
	if (why.kind == ERR_NOT_FOUND)
		why.kind = ERR_USAGE;
	if (!r)
		err_copy(e, &why);
	return r;
}

static bool ends_with_slash(const char *path)
{
	size_t n = strlen(path);

	return n > 1 && path[n - 1] == '/';
}

int files_cli_check_target(const char *from, const char *to, struct err *e)
{
	struct stat st;

	if (!ends_with_slash(to) || (stat(to, &st) == 0 && S_ISDIR(st.st_mode)) ||
		(from && lstat(from, &st) == 0 && S_ISDIR(st.st_mode)))
		return 0;
	return err_set(e, ERR_USAGE,
		"%.200s is not a directory, though it ends with a slash: leave out the slash to create a file of that name.",
		to);
}

/* As everywhere, a name that ends with a slash is one of a directory. */
static int check_slash(const char *path, struct err *e)
{
	struct stat st;

	return ends_with_slash(path) && stat(path, &st) < 0 && errno == ENOTDIR
		? err_set(e, ERR_USAGE, "%.200s is not a directory.", path)
		: 0;
}

struct files_root *files_cli_near(struct files_cli *x, const char **path, size_t n, bool through,
	const char **ret_near, struct err *e)
{
	const char *root = cli_value(x->c, "root"), **place;
	AUTO_FREE char *here = NULL;
	bool inside = true, named = true;
	char *dir;

	if (ret_near)
		*ret_near = NULL;
	for (size_t i = 0; !root && i < n; i++)
		if (check_slash(path[i], e))
			return NULL;
	for (size_t i = 0; !root && i < n && inside; i++)
		inside = is_in_plain_sight(path[i], through);
	here = root || inside ? NULL : getcwd(NULL, 0);
	if (!here)
		return open_named_root(x, root ? root : ".", e);
	inside = true;
	place = arena_array(&x->mem, n, sizeof *place);
	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *at = path_place(path[i], through);

		place[i] = arena_strdup(&x->mem, at);
		named = named && *path[i] && *at == '/';
		inside = inside && is_in_sight(below(here, at), path[i]);
	}
	/* An empty one is for the library to refuse. */
	if (inside || !named)
		return open_named_root(x, ".", e);
	dir = arena_strdup(&x->mem, place[0]);
	go_up(dir);
	for (size_t i = 0; i < n; i++)
		while (dir[1] && (!below(dir, place[i]) || access(dir, F_OK) < 0))
			go_up(dir);
	for (size_t i = 0; i < n; i++) {
		const char *rest = below(dir, place[i]);

		path[i] = rest ? rest : ".";
	}
	if (ret_near)
		*ret_near = dir;
	return open_named_root(x, dir, e);
}

/* A start that the working directory does not hold is its own root; of a file that is its directory. */
static void choose_start(struct files_cli *x, const char **root)
{
	AUTO_FREE char *here = getcwd(NULL, 0), *real = realpath(x->start, NULL);
	char *dir, *slash;
	struct stat st;

	if (!real || !here || (*x->start != '/' && (!strcmp(real, here) || below(here, real))))
		return;
	*root = x->prefix = x->start;
	if (stat(real, &st) == 0 && S_ISDIR(st.st_mode)) {
		x->start = "";
		return;
	}
	dir = arena_strdup(&x->mem, x->start);
	slash = strrchr(dir, '/');
	x->start = slash ? x->start + (slash - dir) + 1 : x->start;
	if (slash)
		slash[slash == dir] = '\0';
	*root = x->prefix = slash ? dir : ".";
}

int files_cli_root(struct files_cli *x, const char *start, struct err *e)
{
	const char *root = cli_value(x->c, "root");

	x->prefix = "";
	x->start = start ? start : "";
	if (!root && *x->start)
		choose_start(x, &root);
	/* It is not there: that is said of the path as it was given. */
	if (!root && *x->start == '/') {
		root = x->start;
		x->prefix = x->start;
		x->start = "";
	}
	x->root = open_named_root(x, root ? root : ".", e);
	return x->root ? 0 : -1;
}

static void print_neutral(const char *s, size_t n)
{
	AUTO_STR struct str shown = STR_INIT;

	text_neutralise(&shown, s, n, false);
	fwrite_unlocked(shown.s, 1, shown.len, stdout);
}

void files_cli_text(const struct files_cli *x, const char *s, size_t n)
{
	if (x->terminal)
		print_neutral(s, n);
	else
		fwrite_unlocked(s, 1, n, stdout);
}

void files_cli_path(const struct files_cli *x, const char *path, size_t n)
{
	AUTO_STR struct str shown = STR_INIT, full = STR_INIT;

	if (*x->prefix) {
		str_addf(&full, "%s/", x->prefix);
		str_add(&full, path, n);
		path = full.s;
		n = full.len;
	}
	text_quote_name(&shown, path, n);
	fwrite_unlocked(shown.s, 1, shown.len, stdout);
}

void files_cli_json_err(struct jsonw *j, const char *path, const struct err *e)
{
	jsonw_text(j, "path", path);
	jsonw_text(j, "error", e ? e->msg : NULL);
}

/* --- progress --- */

static bool read_files_progress(void *ctx, struct job_info *out)
{
	(void)ctx;
	return files_progress(running, out);
}

static bool wanted; /* once there is a job to tell of */

void files_cli_progress(struct files_cli *x)
{
	(void)x;
	wanted = true;
}

/* Starting a thread takes longer than a small operation. */
static void start_progress(void)
{
	if (wanted)
		cli_progress_start(read_files_progress, NULL);
	wanted = false;
}

void files_cli_quiet(void)
{
	cli_progress_stop();
}

/* --- the command --- */

static void on_files_signal(int sig)
{
	(void)sig;
	files_cancel(running);
}

/* What the log says of one call: the root, the operands, and for a batch the hash over them. */
static void describe_files_call(const struct cli *c, enum operation operation, char *cwd,
	struct key_value *kv, struct str *operands, struct audit_record *r)
{
	const char *root = cli_value(c, "root");

	for (int i = 0; i < c->argc && operands->len < 4096; i++)
		str_addf(operands, "%s%s", i ? " " : "", c->argv[i]);
	kv[0] = (struct key_value){"operands", operands->s, false};
	*r = (struct audit_record){.operation = operation,
		.target_type = "file",
		.name = root ? root : cwd,
		.params = kv,
		.nparams = 1,
		.duration_us = -1};
	/* Of every class: the text above is clipped. */
	if (c->argc > 1 || (c->argc && operation_table[operation].flags & OP_CHANGES))
		record_manifest(r, (size_t)c->argc, (const char *const *)c->argv);
}

static int run_verb(struct files_cli *x, const char *program, struct err *e)
{
	struct sigaction act = {.sa_handler = on_files_signal};
	char user[USER_NAME_MAX];
	struct files_options o = {
		.program = program, .owner = user_name(geteuid(), user), .shown = start_progress};
	struct settings s;
	int rc;

	if (settings_load(cli_value(x->c, "settings"), &s, e))
		return -1;
	o.io_depth = (unsigned)s.files_io_depth;
	o.io_uring = s.files_io_uring == ASCII_YES ? 1 : s.files_io_uring == ASCII_NO ? -1 : 0;
	settings_release(&s);
	x->files = running = files_open(&o);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	rc = x->c->command->files(x, e);
	/* What is done is recorded to the end; nothing runs any more that a signal could end. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	files_cli_quiet();
	files_root_close(x->root);
	files_close(x->files);
	return rc;
}

int cli_files(const struct cli *c, const struct settings *unused, struct err *e)
{
	enum operation operation = (enum operation)c->command->what;
	struct files_cli x = {.c = c, .json = cli_flag(c, "json"), .terminal = isatty(1)};
	struct policy policy;
	struct recorder by = {.policy = &policy, .direct = true};
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	AUTO_STR struct str operands = STR_INIT;
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	struct key_value kv[1];
	struct audit_record r;
	struct recording rec;
	struct err why = ERR_INIT;
	char program[32];
	int rc;

	(void)unused;
	snprintf(program, sizeof program, "files %s", c->command->name);
	by.program = program;
	describe_files_call(c, operation, cwd, kv, &operands, &r);
	arena_init(&x.mem, 1024);
	if (cli_policy(c, &policy, &mem, e) || record_begin(&rec, &by, &r, e)) {
		rc = -1;
	} else {
		rc = run_verb(&x, program, &why);
		/* Where to look is an argument; 1 says that nothing was found there. */
		if (rc < 0 && why.kind == ERR_NOT_FOUND &&
			(operation == OP_FILE_SCAN || operation == OP_FILE_SEARCH ||
				operation == OP_FILE_TRANSFORM))
			why.kind = ERR_USAGE;
		/* Of a search it says that nothing was found. */
		if (rc > 0 && operation != OP_FILE_SEARCH)
			err_set(&why, ERR_FAILED, "not all of it was done");
		record_end(&rec, &why);
		if (rc < 0)
			err_copy(e, &why);
	}
	recorder_settle(&by);
	arena_release(&x.mem);
	return rc < 0 ? -1 : cli_finish() ? 1 : rc;
}
