/*
 * main.c - berth-bench: runs suites in a process of its own, so that the console's loop is not
 * what is disturbed or measured.
 *
 *   berth-bench list
 *   berth-bench run [--samples N] [--smoke] [--seed N] [--json FILE] [SUITE[/CASE] ...]
 *
 * Exit code: 0 all ran (targets met or not: figures are reported, not asserted), 1 a case failed
 * its result check, 2 wrong usage.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "list.h"
#include "report.h"
#include "runner.h"

#define SUITE(name) extern const struct bench_suite suite_##name;
SUITES(SUITE)
#undef SUITE

static const struct bench_suite *const suites[] = {
#define SUITE(name) &suite_##name,
	SUITES(SUITE)
#undef SUITE
};

static int list(void)
{
	for (size_t i = 0; i < COUNT(suites); i++) {
		printf("%s  %s\n", suites[i]->name, suites[i]->about);
		for (const struct bench_case *c = suites[i]->cases; c->name; c++)
			printf("  %s/%-24s %s\n", suites[i]->name, c->name, c->about);
	}
	return 0;
}

/* Does the selection "files" or "files/read-100" name this case? */
static bool chosen(const char *word, const struct bench_suite *s, const struct bench_case *c)
{
	size_t len = strlen(s->name);

	if (strncmp(word, s->name, len))
		return false;
	return !word[len] || (word[len] == '/' && !strcmp(word + len + 1, c->name));
}

static bool wanted(char **words, int n, const struct bench_suite *s, const struct bench_case *c)
{
	for (int i = 0; i < n; i++)
		if (chosen(words[i], s, c))
			return true;
	return n == 0;
}

static int check_words(char **words, int n)
{
	for (int k = 0; k < n; k++) {
		bool found = false;

		for (size_t i = 0; i < COUNT(suites); i++)
			for (const struct bench_case *c = suites[i]->cases; c->name; c++)
				found |= chosen(words[k], suites[i], c);
		if (!found) {
			fprintf(stderr,
				"berth: no benchmark is called `%s`; `berth-bench list` names them\n",
				words[k]);
			return -1;
		}
	}
	return 0;
}

static void progress(void *ctx, const struct bench_run *r, int done, int total)
{
	(void)ctx;
	fprintf(stderr, "\r%s/%s %d/%d ", r->suite->name, r->what->name, done, total);
	if (done == total)
		fputs("\r\033[K", stderr);
}

static int run(char **words, int n, struct run_options *o, const char *json)
{
	AUTO_FREE struct bench_run *runs = NULL;
	size_t nruns = 0, cap = 0;
	FILE *out = NULL;
	int failed = 0;

	if (check_words(words, n))
		return 2;
	if (json && !(out = fopen(json, "we"))) {
		fprintf(stderr, "berth: cannot write %s: %m\n", json);
		return 1;
	}
	if (isatty(STDERR_FILENO))
		o->progress = progress;
	report_machine(stdout);
	for (size_t i = 0; i < COUNT(suites); i++)
		for (const struct bench_case *c = suites[i]->cases; c->name; c++) {
			struct bench_run *r;

			if (!wanted(words, n, suites[i], c))
				continue;
			runs = mem_grow(runs, &cap, nruns + 1, sizeof *runs);
			r = &runs[nruns++];
			bench_case_run(suites[i], c, o, r);
			report_case(stdout, r);
			fflush(stdout);
			if (out)
				report_json(out, r);
			failed |= r->failed;
		}
	printf("\ntargets\n");
	for (size_t i = 0; i < nruns; i++) {
		report_targets(stdout, &runs[i]);
		bench_run_release(&runs[i]);
	}
	if (out)
		fclose(out);
	return failed ? 1 : 0;
}

static int usage(void)
{
	fputs("berth: usage: berth-bench list | run [--samples N] [--smoke] [--seed N] [--json FILE] "
	      "[SUITE[/CASE] ...]\n",
		stderr);
	return 2;
}

static int number(const char *text, unsigned long max, unsigned long *out)
{
	char *end;

	*out = strtoul(text, &end, 10);
	return *text < '0' || *text > '9' || *end || *out < 1 || *out > max ? -1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"samples", required_argument, NULL, 'n'},
		{"smoke", no_argument, NULL, 's'}, {"seed", required_argument, NULL, 'r'},
		{"json", required_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};
	struct run_options o = {.seed = (uint64_t)time(NULL)};
	const char *json = NULL;
	unsigned long v;
	int c;

	text_init();
	if (argc >= 2 && !strcmp(argv[1], "list"))
		return argc == 2 ? list() : usage();
	if (argc < 2 || strcmp(argv[1], "run"))
		return usage();
	optind = 2;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 'n':
			if (number(optarg, 1000000, &v)) {
				fprintf(stderr,
					"berth: --samples takes a number from 1 to 1000000, "
					"not `%s`\n",
					optarg);
				return 2;
			}
			o.samples = (int)v;
			break;
		case 's': o.smoke = true; break;
		case 'r':
			if (number(optarg, ~0ul, &v))
				return usage();
			o.seed = v;
			break;
		case 'j': json = optarg; break;
		default: return usage();
		}
	return run(argv + optind, argc - optind, &o, json);
}
