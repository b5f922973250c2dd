/* commands_bench.h - the verbs of `berth bench`: a part of commands.h, which alone includes it, of the table. */
#ifndef CLI_COMMANDS_BENCH_H
#define CLI_COMMANDS_BENCH_H

static const struct cli_option bench_list_options[] = {
	{0, "runs", NULL, "what was measured, and when"},
	JSON,
	{0},
};

#define THRESHOLD_OPTION                                                                           \
	{                                                                                          \
		0, "threshold", "SPEED", "speed below which a case is a regression (default 0.95)" \
	}
#define COMPARE_OPTION                                                                        \
	{                                                                                     \
		0, "compare-to", "RUN", "compare with a release, commit, day, #RUN or `last`" \
	}
#define ANY_MACHINE                                                                  \
	{                                                                            \
		0, "any-machine", NULL, "include runs from machines unlike this one" \
	}

static const struct cli_option bench_run_options[] = {
	{0, "samples", "N", "this many of each arm, whatever the case says"},
	{0, "smoke", NULL, "two or three samples, only to see whether it works"},
	{0, "seed", "N", "order of the arms and of the resampling"},
	COMPARE_OPTION,
	THRESHOLD_OPTION,
	{0, "release", "VERSION", "record the figures under this release"},
	{0, "commit", "ID", "commit that is measured (default: the current git tree's)"},
	{0, "no-history", NULL, "record nothing"},
	{0, "out", "DIR", "directory for reports"},
	{0, "format", "markdown|json|html|all",
		"markdown, json, html or all (default: all, or as the suite says)"},
	{0, "follow", "FILE", "report progress there, line by line (for the console)"},
	JSON,
	{0},
};

static const struct cli_option bench_check_options[] = {JSON, {0}};

static const struct cli_option bench_compare_options[] = {
	THRESHOLD_OPTION,
	ANY_MACHINE,
	JSON,
	{0},
};

static const struct cli_option bench_report_options[] = {
	COMPARE_OPTION,
	THRESHOLD_OPTION,
	ANY_MACHINE,
	{0, "format", "markdown|json|html", "markdown (default), json or html"},
	{0, "out", "FILE", "file to write to"},
	JSON,
	{0},
};

static const struct cli_option bench_trend_options[] = {
	ANY_MACHINE,
	JSON,
	{0},
};

#define RUN_WORDS                                                                                 \
	"A RUN is a release (v0.1.14), a commit (4 digits or more), a day (2026-11-20), `last`, " \
	"`previous` or #12 as `berth bench list --runs` shows it."

static const struct cli_command bench_verbs[] = {
	{"list", "", 0, 0, BENCH(bench_list),
		.help = "list suites, cases and tests; or the runs of the history",
		.options = bench_list_options,
		.schema = "berth.bench_list/1 or berth.bench_runs/1"},
	{"run", "[SUITE[/CASE]|FILE ...]", 0, -1, BENCH(bench_run_command),
		.help = "measure, compare, record, report",
		.about =
			"Without operands, runs every suite.  FILE is a suite file "
			"(configs/bench.yaml is one).  Arms of a case run interleaved, results are "
			"checked in every sample.  A case that looks slower than in the run it is "
			"compared with is measured once more before it is reported as slower.  "
			"Exits with 1 when a case failed its check, was slower, or raised an alert, "
			"or when nothing was measured; missed targets are only reported.  " RUN_WORDS,
		.options = bench_run_options, .schema = "berth.bench_run/1"},
	{"check", "FILE", 1, 1, BENCH(bench_check), .help = "check a suite file without running it",
		.options = bench_check_options, .schema = "berth.config_check/1"},
	{"compare", "BASELINE [RUN]", 1, 2, BENCH(bench_compare),
		.help = "compare a run (default: the newest) with another",
		.about = "Exits with 1 on a regression.  " RUN_WORDS,
		.options = bench_compare_options, .schema = "berth.bench_compare/1"},
	{"report", "[RUN]", 0, 1, BENCH(bench_report),
		.help = "print the report of a run (default: the newest)", .about = RUN_WORDS,
		.options = bench_report_options, .schema = "berth.bench_run/1"},
	{"trend", "[SUITE[/CASE] ...]", 0, -1, BENCH(bench_trend),
		.help = "draw figures over the versions", .options = bench_trend_options,
		.schema = "berth.bench_trend/1"},
	{"export", "[FILE]", 0, 1, BENCH(bench_export), .help = "write the history as JSON Lines"},
	{"import", "FILE", 1, 1, BENCH(bench_import),
		.help = "add runs that were exported, here or on another machine",
		.about = "Imports all of the file or nothing.  Runs that are already here are "
			 "left unchanged."},
	{0},
};

#endif
