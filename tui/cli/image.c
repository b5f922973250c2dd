/* image.c - `berth image`: its verbs, their output, and C-c. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/images.h>
#include <berth/mem.h>
#include <berth/text.h>
#include <berth/users.h>
#include <berth/jsonw.h>

#include "cli/commands.h"
#include "cli/gate.h"
#include "cli/progress.h"

static struct images *running; /* for the signal handler */

struct image_cli {
	const struct cli *c;
	struct images *im;
	bool json;
};

static void on_image_signal(int sig)
{
	(void)sig;
	images_cancel(running);
}

static bool read_image_progress(void *ctx, struct job_info *out)
{
	return images_progress(ctx, out);
}

static void on_image_line(void *ctx, const char *text)
{
	(void)ctx;
	cli_progress_print(text);
}

/* ---- build, pull, import */

/* Its last lines are the reason of many a failure. */
static void json_made(
	struct image_cli *x, const char *verb, const struct image_made *m, const struct err *err)
{
	const char *const *lines;
	size_t n = images_last_lines(x->im, &lines);
	struct jsonw j;

	jsonw_document(&j, "berth.image/1");
	jsonw_text(&j, "verb", verb);
	jsonw_bool(&j, "ok", !err);
	jsonw_text(&j, "error", err ? err->msg : NULL);
	jsonw_text(&j, "image", err ? NULL : m->reference);
	jsonw_text(&j, "id", err ? NULL : m->id);
	jsonw_uint(&j, "size_bytes", m->size_bytes);
	jsonw_uint(&j, "layers", m->layers);
	jsonw_uint(&j, "transferred_bytes", m->transferred_bytes);
	jsonw_int(&j, "duration_ms", m->duration_ms);
	jsonw_array(&j, "output");
	for (size_t i = 0; i < n; i++)
		jsonw_text(&j, NULL, lines[i]);
	jsonw_print(&j);
}

static void print_made(const struct image_made *m)
{
	char size[FORMAT_MAX];
	const char *hex = strncmp(m->id, "sha256:", 7) ? m->id : m->id + 7;

	printf("%s is ready: %.12s, %s in %" PRIu64 " layer%s, %.1f s\n", m->reference, hex,
		format_bytes(size, m->size_bytes), m->layers, m->layers == 1 ? "" : "s",
		(double)m->duration_ms / 1e3);
}

/* Wrong usage and refusals begin nothing: there is no document about them. */
static int print_result(
	struct image_cli *x, const char *verb, const struct image_made *m, int rc, struct err *e)
{
	bool begun = e->kind != ERR_USAGE && e->kind != ERR_REFUSED;

	cli_progress_stop();
	if (x->json && (!rc || begun))
		json_made(x, verb, m, rc ? e : NULL);
	else if (!rc)
		print_made(m);
	return rc;
}

/* What is neither shipped nor a directory is a name for what is here. */
static bool is_name_for_here(const struct cli *c, const char *what)
{
	const char *file = cli_value(c, "file");

	return !images_shipped_named(what) && access(what, F_OK) && *what != '/' && *what != '.' &&
		!cli_value(c, "tag") && !access(file ? file : "Dockerfile", F_OK);
}

int cli_image_build(struct image_cli *x, struct err *e)
{
	const char *args[CLI_GIVEN_MAX], *what = x->c->argv[0];
	const struct image_shipped *shipped = x->c->argc > 1 ? NULL : images_shipped_named(what);
	const char *tag = cli_value(x->c, "tag");
	bool named = x->c->argc > 1 || is_name_for_here(x->c, what);
	struct image_build b = {.dir = x->c->argc > 1 ? x->c->argv[1]
			: named                       ? "."
						      : what,
		.file = cli_value(x->c, "file"),
		.tag = named ? what : tag,
		.network = cli_value(x->c, "network"),
		.args = args,
		.no_cache = cli_flag(x->c, "no-cache"),
		.pull = cli_flag(x->c, "pull")};
	struct image_made made = {0};
	const char *base = cli_value(x->c, "base");
	int rc;

	for (size_t i = 0; i < x->c->ngiven; i++)
		if (!strcmp(x->c->given[i].option->name, "build-arg"))
			args[b.nargs++] = x->c->given[i].value;
	if (cli_number(x->c, "max-context", 0, &b.context_max, e))
		return -1;
	if (cli_value(x->c, "max-context") && !b.context_max)
		return err_set(e, ERR_USAGE, "--max-context takes a number, not \"%.40s\".",
			cli_value(x->c, "max-context"));
	if (b.network && strcmp(b.network, "default") && strcmp(b.network, "none") &&
		strcmp(b.network, "host"))
		return err_set(e, ERR_USAGE, "--network is default, none or host.");
	if (x->c->argc > 1 && tag)
		return err_set(e, ERR_USAGE, "The image has a name: %s, or --tag %s.", what, tag);
	if (shipped && (b.nargs || b.file || b.context_max))
		return err_set(e, ERR_USAGE,
			"%s is a shipped image: --file, --build-arg and --max-context are for directories "
			"(./%s is one).",
			what, what);
	if (!shipped && base)
		return err_set(e, ERR_USAGE, "--base is for shipped images; %s is not one.", what);
	if (!shipped && !named && !strchr(what, '/') && access(what, F_OK))
		return err_set(e, ERR_USAGE,
			"there is no shipped image and no directory \"%s\", and no %s here to build it "
			"from; shipped are shell, python, node, runtime and runtime-sudo.",
			what, b.file ? b.file : "Dockerfile");
	rc = shipped ? images_build_shipped(x->im, shipped, &b, base, &made, e)
		     : images_build(x->im, &b, &made, e);
	return print_result(x, "build", &made, rc, e);
}

int cli_image_pull(struct image_cli *x, struct err *e)
{
	struct image_made made = {0};

	return print_result(x, "pull", &made, images_pull(x->im, x->c->argv[0], &made, e), e);
}

int cli_image_import(struct image_cli *x, struct err *e)
{
	struct image_made made = {0};
	int rc = images_import(x->im, x->c->argv[0], x->c->argv[1], &made, e);

	return print_result(x, "import", &made, rc, e);
}

int cli_image_remove(struct image_cli *x, struct err *e)
{
	struct image_removed gone;
	struct jsonw j;

	if (images_remove(x->im, x->c->argv[0], cli_flag(x->c, "force"), &gone, e))
		return -1;
	if (!x->json) {
		printf("%s: %zu name%s removed, %zu layer%s removed\n", x->c->argv[0],
			gone.untagged, gone.untagged == 1 ? "" : "s", gone.deleted,
			gone.deleted == 1 ? "" : "s");
		return 0;
	}
	jsonw_document(&j, "berth.image_remove/1");
	jsonw_text(&j, "image", x->c->argv[0]);
	jsonw_uint(&j, "untagged", gone.untagged);
	jsonw_uint(&j, "deleted", gone.deleted);
	jsonw_print(&j);
	return 0;
}

static int with_signals(struct image_cli *x, struct err *e)
{
	struct sigaction act = {.sa_handler = on_image_signal};
	int rc;

	running = x->im;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	if (x->c->command->what && !x->json) /* it takes long */
		cli_progress_start(read_image_progress, x->im);
	rc = x->c->command->image(x, e);
	cli_progress_stop();
	return rc;
}

int cli_image(const struct cli *c, const struct settings *unused, struct err *e)
{
	struct image_cli x = {.c = c, .json = cli_flag(c, "json")};
	char user[USER_NAME_MAX];
	struct policy policy;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	char program[32];
	int rc = -1;

	(void)unused;
	snprintf(program, sizeof program, "image %s", c->command->name);
	if (!cli_policy(c, &policy, &mem, e)) {
		x.im = images_open(&(struct images_options){.host = cli_value(c, "host"),
					   .context = cli_value(c, "context"),
					   .program = program,
					   .owner = user_name(geteuid(), user),
					   .policy = &policy,
					   .line = x.json ? NULL : on_image_line},
			e);
		if (x.im)
			rc = with_signals(&x, e);
		signal(SIGINT, SIG_IGN); /* what is done is recorded to the end */
		signal(SIGTERM, SIG_IGN);
		images_close(x.im);
	}
	return rc < 0 ? -1 : cli_finish() ? 1 : rc;
}
