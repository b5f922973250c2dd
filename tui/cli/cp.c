/* cp.c - `berth cp`: copies files between a container and this machine. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/format.h>
#include <berth/inside.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/look.h"

/* An operand as docker reads it: without a colon, or beginning with / or a dot, it is a path of this machine. */
struct side {
	char *container; /* NULL: this machine */
	const char *path;
};

struct cp {
	struct cli c; /* with the container as its only operand */
	const struct cli *given;
	struct side from, to;
};

static volatile sig_atomic_t stopped;

static void on_cp_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

/* Not one that was ignored from the start: nohup. */
static void take_signal(int sig)
{
	const struct sigaction act = {.sa_handler = on_cp_signal};
	struct sigaction was;

	if (!sigaction(sig, NULL, &was) && was.sa_handler != SIG_IGN)
		sigaction(sig, &act, NULL);
}

static bool is_stopped(void *ctx)
{
	(void)ctx;
	return stopped;
}

static struct side read_side(const char *operand)
{
	const char *colon = strchr(operand, ':');

	if (!colon || *operand == '/' || *operand == '.' || colon == operand)
		return (struct side){.path = operand};
	return (struct side){xstrndup(operand, (size_t)(colon - operand)), colon + 1};
}

static int check_sides(const struct cp *x, struct err *e)
{
	if (x->from.container && x->to.container)
		return err_set(e, ERR_USAGE,
			"one of the two must be a path of this machine: both are in a container.");
	if (!x->from.container && !x->to.container)
		return err_set(e, ERR_USAGE,
			"one of the two must be CONTAINER:PATH, such as web:/etc/hosts.");
	if (!*x->from.path || !*x->to.path)
		return err_set(e, ERR_USAGE, "the path is missing in \"%.200s\".",
			x->given->argv[*x->from.path ? 1 : 0]);
	if (x->to.container && !strcmp(x->from.path, "-") &&
		(cli_flag(x->given, "archive") || cli_flag(x->given, "follow-link")))
		return err_set(e, ERR_USAGE,
			"-a and -L do not apply to -, a tar that has its owners and links.");
	if (x->from.container && !strcmp(x->to.path, "-") && isatty(STDOUT_FILENO))
		return err_set(e, ERR_USAGE,
			"- writes a tar to standard output, which is a terminal: redirect it.");
	if (x->to.container && !strcmp(x->from.path, "-") && isatty(STDIN_FILENO))
		return err_set(e, ERR_USAGE,
			"- reads a tar from standard input, which is a terminal: redirect it.");
	return 0;
}

static const char *ending(uint64_t n, const char *one, const char *more)
{
	return n == 1 ? one : more;
}

static void print_counts(FILE *to, const struct inside_copied *r)
{
	char bytes[FORMAT_MAX];

	fprintf(to, "%llu file%s (%s%s), %llu director%s and %llu link%s",
		(unsigned long long)r->files, ending(r->files, "", "s"),
		format_bytes(bytes, r->bytes), r->bytes < 1000 ? "B" : "",
		(unsigned long long)r->dirs, ending(r->dirs, "y", "ies"),
		(unsigned long long)r->links, ending(r->links, "", "s"));
}

static void print_notes(const struct cp *x, const struct inside_copied *r)
{
	if (r->left_out)
		fprintf(stderr, "berth: left out: %llu %s, the first: %s\n",
			(unsigned long long)r->left_out,
			ending(r->left_out, "pipe, socket or device", "pipes, sockets or devices"),
			r->first_left_out);
	if (r->cleared)
		fprintf(stderr, "berth: %llu %s lost a set-user-ID or set-group-ID bit\n",
			(unsigned long long)r->cleared,
			ending(r->cleared, "file or directory", "files or directories"));
	if (r->outward)
		fprintf(stderr,
			"berth: %llu symbolic link%s out of what was copied, the first: %s\n",
			(unsigned long long)r->outward, ending(r->outward, " leads", "s lead"),
			r->first_outward);
	if (r->unseen)
		fprintf(stderr,
			"berth: %s: what is in %llu tmpfs of the container, the first: %s\n",
			!x->to.container ? "not copied"
				: strcmp(x->from.path, "-")
				? "copied, but hidden in the container"
				: "hidden in the container, if the tar has any of it",
			(unsigned long long)r->unseen, r->first_unseen);
}

static void print_partial(const struct cp *x, const struct inside_copied *r)
{
	char name[128];

	if (!r->partial)
		return;
	if (x->to.container) {
		fprintf(stderr, "berth: not finished: part of it may be in %s:%s\n",
			text_clean(name, sizeof name, x->to.container), r->to);
		return;
	}
	fputs("berth: not finished: copied until then: ", stderr);
	print_counts(stderr, r);
	fprintf(stderr, " to %s\n", r->to);
}

static void print_copied(const struct cp *x, const struct inside_copied *r)
{
	char bytes[FORMAT_MAX], name[128] = "";

	if (x->to.container)
		text_clean(name, sizeof name, x->to.container);
	fputs("copied ", stdout);
	if (!strcmp(x->from.path, "-"))
		printf("a tar of %s", format_bytes(bytes, r->bytes));
	else
		print_counts(stdout, r);
	printf(" to %s%s%s\n", name, *name ? ":" : "", r->to);
}

static int copy_chosen(struct look *l, struct err *e)
{
	const struct cp *x = (const struct cp *)l->c;
	bool into = x->to.container != NULL;
	const struct inside_copy how = {.host = cli_value(x->given, "host"),
		.context = cli_value(x->given, "context"),
		.policy = &l->policy,
		.container = l->chosen[0],
		.inside = into ? x->to.path : x->from.path,
		.outside = into ? x->from.path : x->to.path,
		.into = into,
		.follow = cli_flag(x->given, "follow-link"),
		.keep_owner = cli_flag(x->given, "archive"),
		.stop = is_stopped};
	struct inside_copied r;
	int rc;

	take_signal(SIGINT);
	take_signal(SIGTERM);
	take_signal(SIGHUP);
	signal(SIGPIPE, SIG_IGN); /* how it ended is recorded */
	rc = inside_copy(&how, &r, e);
	if (!rc || r.partial)
		print_notes(x, &r);
	if (rc) {
		print_partial(x, &r);
		return -1;
	}
	if (!cli_flag(x->given, "quiet") && strcmp(x->to.path, "-") != 0)
		print_copied(x, &r);
	return cli_finish();
}

int cli_cp(const struct cli *c, const struct settings *s, struct err *e)
{
	struct cp x = {
		.c = *c, .given = c, .from = read_side(c->argv[0]), .to = read_side(c->argv[1])};
	AUTO_FREE char *from = x.from.container, *to = x.to.container;
	char *operand[] = {from ? from : to, NULL};

	if (check_sides(&x, e))
		return -1;
	x.c.argc = 1;
	x.c.argv = operand;
	return cli_look(&x.c, s, copy_chosen, e);
}
