/*
 * commands.h - every command of berth: its words and options, what it needs, the program it lives in
 * and the function that runs it.  No other place lists commands.
 *
 * A new command is its function's name and its entry here, and the function in a file of cli/ (of
 * bench/: `berth bench`).  Parser, help, completions, man page and the programs take it from there.
 *
 * Each program includes this once with CLI_TABLE, and with IN_CORE(f) or whichever is its own as f: it
 * has the functions of its own commands and no others, for the rooms behind them are not in it.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/cli.h"

cli_run_fn cli_exec, cli_exec_engine, cli_completion, cli_complete, cli_names, cli_help_for;
cli_run_fn cli_start, cli_stop, cli_restart, cli_remove, cli_logs, cli_inspect, cli_top, cli_events,
	cli_stats;
cli_run_fn cli_console, cli_ps, cli_doctor, cli_up, cli_down, cli_clean, cli_config_check;
cli_run_fn cli_audit_list, cli_audit_verify, cli_audit_export, cli_audit_head;
cli_run_fn cli_tool_list, cli_tool_run;
cli_run_fn cli_engine_start, cli_engine_stop, cli_engine_status;
cli_run_fn cli_files_read, cli_files_write, cli_files_scan, cli_files_search, cli_files_transform,
	cli_files_copy, cli_files_move, cli_files_delete;
cli_run_fn cli_image_list, cli_image_build, cli_image_pull, cli_image_import, cli_image_remove;
cli_run_fn cli_workspace_create, cli_workspace_list, cli_workspace_show, cli_workspace_usage,
	cli_workspace_fork, cli_workspace_diff, cli_workspace_overlap, cli_workspace_take,
	cli_workspace_checkpoint, cli_workspace_checkpoints, cli_workspace_restore,
	cli_workspace_drop, cli_workspace_verify, cli_workspace_mark;
cli_run_fn cli_mcp;
cli_run_fn bench_list, bench_run_command, bench_compare, bench_report, bench_trend, bench_export,
	bench_import;

#ifdef CLI_TABLE

#ifndef IN_BERTH
#define IN_BERTH(f) NULL
#endif
#ifndef IN_CORE
#define IN_CORE(f) NULL
#endif
#ifndef IN_FILES
#define IN_FILES(f) NULL
#endif
#ifndef IN_IMAGE
#define IN_IMAGE(f) NULL
#endif
#ifndef IN_MCP
#define IN_MCP(f) NULL
#endif
#ifndef IN_BENCH
#define IN_BENCH(f) NULL
#endif
#ifndef IN_EITHER /* berth over the lane, or berth-core over the engine */
#define IN_EITHER(lane, engine) NULL
#endif
#define BERTH(f) "berth", IN_BERTH(f)
#define EITHER(lane, engine) "berth", IN_EITHER(lane, engine)
#define CORE(f) "berth-core", IN_CORE(f)
#define FILES(f) "berth-files", IN_FILES(f)
#define IMAGE(f) "berth-image", IN_IMAGE(f)
#define MCP(f) "berth-mcp", IN_MCP(f)
#define BENCH(f) "berth-bench", IN_BENCH(f)

static const struct cli_option globals[] = {
	{'c', "team", "FILE", "team file: agents, tools, networks, secrets"},
	{'H', "host", "HOST", "engine to talk to: unix://PATH, tcp://HOST:PORT"},
	{0, "context", "CONTEXT", "docker context to take the engine from"},
	{0, "theme", "THEME", "colours: a shipped theme or the path of a theme file"},
	{0, "read-only", NULL, "look at everything, change nothing"},
	{0, "ascii", NULL, "draw with ASCII only"},
	{0, "script", "FILE", "run the console by a script, without a terminal"},
	{0, "settings", "FILE", "read this instead of $XDG_CONFIG_HOME/berth/berth.yaml"},
	{'h', "help", NULL, "show help for a command"},
	{'V', "version", NULL, "print the version"},
	{0},
};

#define JSON                                               \
	{                                                  \
		0, "json", NULL, "print one JSON document" \
	}
#define JSON_LINES                                     \
	{                                              \
		0, "json", NULL, "one object per line" \
	}

static const struct cli_option ps_options[] = {
	{'a', "all", NULL, "include stopped containers"},
	{'q', "quiet", NULL, "print ids only"},
	{'f', "filter", "KEY=VALUE",
		"only where it fits; id, name, agent, state, health, image, project; repeatable"},
	{0, "format", "FORMAT", "table, json, or text with fields such as {{.Name}}"},
	JSON,
	{0},
};

static const struct cli_option stats_options[] = {
	{0, "no-stream", NULL, "print them once"},
	{0},
};

#define FOREIGN                                                               \
	{                                                                     \
		0, "foreign", NULL, "also containers that berth did not make" \
	}

static const struct cli_option start_options[] = {
	FOREIGN,
	{0},
};

static const struct cli_option stop_options[] = {
	{'t', "time", "S", "grace period before it is killed (default: the container's own)"},
	FOREIGN,
	{0},
};

static const struct cli_option remove_options[] = {
	{'f', "force", NULL, "though it runs: it is killed"},
	{'v', "volumes", NULL, "its anonymous volumes, too"},
	{'y', "yes", NULL, "do not ask"},
	FOREIGN,
	{0},
};

static const struct cli_option logs_options[] = {
	{'f', "follow", NULL, "keep printing lines as they are written"},
	{'n', "tail", "N", "the last N lines of each (default: all)"},
	{'t', "timestamps", NULL, "begin each line with its time"},
	{0, "since", "WHEN", "not before 2026-11-20T21:45, or 10m, 2h, 3d ago"},
	{0, "until", "WHEN", "not after"},
	{0},
};

static const struct cli_option events_options[] = {
	{0, "json", NULL, "one object per line"},
	{0},
};

static const struct cli_option doctor_options[] = {
	JSON,
	{0, "fix", NULL, "as root: load berth's AppArmor profile first"},
	{0},
};

static const struct cli_option up_options[] = {
	{0, "create", NULL, "create workspaces that do not exist"},
	JSON,
	{0},
};

static const struct cli_option down_options[] = {
	{0, "all", NULL, "every agent of yours"},
	{0},
};

static const struct cli_option clean_options[] = {
	{0, "foreign", NULL,
		"include what berth did not make: exited containers, unused networks, "
		"dangling images and anonymous volumes"},
	{'n', "dry-run", NULL, "only show the plan"},
	{0, "plan", "FILE", "carry out a saved plan (-: standard input)"},
	{'y', "yes", NULL, "carry the plan out without asking"},
	{0, "timeout", "S", "give up after S seconds (default: 5 minutes, plus 5 s for each item)"},
	{0, "json", NULL, "print one JSON document: the plan, or its outcome"},
	{0},
};

static const struct cli_option exec_options[] = {
	{0, "timeout", "S", "kill it, and all that it started, after S seconds"},
	{'t', "tty", NULL, "give it a terminal"},
	{'i', "interactive", NULL, "pass standard input on, also when it is a terminal"},
	{'w', "workdir", "DIR", "start it in this directory of the container"},
	{'e', "env", "NAME=VALUE", "set a variable; NAME alone: to its value here; repeatable"},
	{'u', "user", "USER", "run it as this user; one of berth's containers has just its own"},
	JSON,
	{0},
};

static const struct cli_option tool_list_options[] = {
	JSON,
	{0},
};

static const struct cli_option tool_run_options[] = {
	{0, "timeout", "S",
		"kill it, and all that it started, after S seconds instead of the tool's own time"},
	{0, "workspace", "DIR", "workspace of a tool whose definition leaves it to the call"},
	JSON,
	{0},
};

static const struct cli_option status_options[] = {
	JSON,
	{0},
};

static const struct cli_option image_list_options[] = {
	JSON,
	{0},
};

static const struct cli_option image_build_options[] = {
	{'t', "tag", "NAME", "name of the image"},
	{'f', "file", "FILE", "name of the Dockerfile, below DIR (default Dockerfile)"},
	{0, "base", "IMAGE", "build a shipped image on this one"},
	{0, "build-arg", "NAME=VALUE", "value of an ARG in the Dockerfile; repeatable"},
	{0, "network", "default|none|host", "network of the steps: default, none or host"},
	{0, "no-cache", NULL, "repeat every step"},
	{0, "pull", NULL, "ask the registry for a newer base"},
	{0, "max-context", "BYTES", "largest context to send (default 1G)"},
	JSON,
	{0},
};

static const struct cli_option image_options[] = {
	JSON,
	{0},
};

static const struct cli_option image_remove_options[] = {
	{0, "force", NULL, "even with several names, or used by stopped containers"},
	JSON,
	{0},
};

static const struct cli_command image_verbs[] = {
	{"list", "", 0, 0, IMAGE(cli_image_list), .needs = NEEDS_ENGINE,
		.help = "print the images of the engine",
		.about =
			"Beside each the name by which `berth image build` knows it; a shipped image that is "
			"not there yet is listed without an id.",
		.options = image_list_options, .schema = "berth.image_list/1"},
	{"build", "SHIPPED|DIR", 1, 1, IMAGE(cli_image_build), .needs = NEEDS_ENGINE,
		.help = "build a shipped image, or a directory",
		.about =
			"SHIPPED is shell, python, node, runtime or runtime-sudo.  Where mmdebstrap is installed "
			"its base is made on this machine, and the build needs no registry.  DIR holds a "
			"Dockerfile; what its .dockerignore names is not sent.  C-c ends the build.",
		.options = image_build_options, .schema = "berth.image/1"},
	{"pull", "IMAGE", 1, 1, IMAGE(cli_image_pull), .needs = NEEDS_ENGINE,
		.help = "fetch an image from its registry",
		.about = "Logins are those that `docker login` wrote into its configuration file.",
		.options = image_options, .schema = "berth.image/1"},
	{"import", "FILE IMAGE", 2, 2, IMAGE(cli_image_import), .needs = NEEDS_ENGINE,
		.help = "make an image from a tar file",
		.about = "FILE holds a root file system, as `docker export` writes it.",
		.options = image_options, .schema = "berth.image/1"},
	{"remove", "IMAGE", 1, 1, IMAGE(cli_image_remove), .needs = NEEDS_ENGINE,
		.help = "remove an image", .options = image_remove_options,
		.schema = "berth.image_remove/1"},
	{0},
};

static const struct cli_option workspace_create_options[] = {
	{0, "prompt", "TEXT", "what the task is to do: its prompt.md"},
	{0},
};

static const struct cli_option workspace_options[] = {
	JSON,
	{0},
};

static const struct cli_option workspace_usage_options[] = {
	{0, "cached", NULL, "what was counted last, where something was"},
	JSON,
	{0},
};

static const struct cli_option workspace_take_options[] = {
	{0, "into", "DIR", "a directory, or the name of a project or task"},
	{0, "force", NULL, "also what changed there since the start, or differs"},
	{0, "dry-run", NULL, "only print what would pass"},
	JSON,
	{0},
};

static const struct cli_option workspace_diff_options[] = {
	{0, "stat", NULL, "only what differs, how much, and a sum"},
	JSON,
	{0},
};

static const struct cli_command workspace_verbs[] = {
	{"create", "task|project NAME", 2, 2, FILES(cli_workspace_create),
		.help = "create a workspace and print its path",
		.about = "A task has context.json, prompt.md, output, files/, logs/ and "
			 "an .env of its own; a project is a git repository with "
			 "README.md, src, tests, docs and tasks/.  It is created as a "
			 "whole or not at all.  Workspaces lie in "
			 "$XDG_DATA_HOME/berth/workspaces (usually "
			 "~/.local/share/berth/workspaces).",
		.options = workspace_create_options},
	{"list", "", 0, 0, FILES(cli_workspace_list), .help = "print the workspaces",
		.options = workspace_options, .schema = "berth.workspace_list/1"},
	{"mark", "TASK open|done|failed", 2, 2, FILES(cli_workspace_mark),
		.help = "say how a task ended, or that it goes on",
		.about =
			"`workspace list` shows it.  A new task is open; nothing in a task can change what was said."},
	{"show", "WORKSPACE", 1, 1, FILES(cli_workspace_show),
		.help = "print what is known of a workspace",
		.about =
			"Kind, owner, how much is in it, the newest change, what it was forked from, its "
			"checkpoints, and whether a restore was interrupted.",
		.options = workspace_options, .schema = "berth.workspace/1"},
	{"usage", "", 0, 0, FILES(cli_workspace_usage),
		.help = "print how much is in the workspaces",
		.about =
			"Counted now, each name of a file; what is mounted in a workspace is not.  With --cached "
			"what was counted last, and when: a thousand workspaces then cost a few milliseconds.",
		.options = workspace_usage_options, .schema = "berth.workspace_usage/1"},
	{"fork", "WORKSPACE N", 2, 2, FILES(cli_workspace_fork),
		.help = "make N tasks that begin with what a workspace holds now",
		.about =
			"They are called by its name and a number, have a copy of all that is in it, and each a "
			"context.json of its own.  A checkpoint of that moment stays with WORKSPACE; what each "
			"fork began with is known to diff, take and overlap also when it is dropped.",
		.options = workspace_options, .schema = "berth.workspace_fork/1"},
	{"checkpoint", "WORKSPACE [NAME]", 1, 2, FILES(cli_workspace_checkpoint),
		.help = "save what a workspace holds now",
		.about = "WORKSPACE is tasks/ID or projects/NAME, or the name alone "
			 "where only one has it.  Every file is saved, tracked by git "
			 "or not, with mode, owner, times, links and attributes; "
			 "without NAME it is named after the time.  The second "
			 "checkpoint costs only what changed.  Pause the agent to "
			 "capture a single moment: files that change while they are "
			 "read are counted.",
		.options = workspace_options, .schema = "berth.checkpoint/1"},
	{"checkpoints", "WORKSPACE", 1, 1, FILES(cli_workspace_checkpoints),
		.help = "print the checkpoints of a workspace, oldest first",
		.options = workspace_options, .schema = "berth.checkpoints/1"},
	{"diff", "A B [PATH...]", 2, 64, FILES(cli_workspace_diff),
		.help = "print what differs between two workspaces or checkpoints",
		.about =
			"A and B are each WORKSPACE, as it is now, or WORKSPACE@CHECKPOINT; with PATH only what is "
			"there or below.  A line for each entry that was added, removed or changed, became of "
			"another type or got another mode or owner, then the lines of text that differ.  Times "
			"are no difference.  Names are always printed without control characters, contents on a "
			"terminal.  Of files over 8 MiB no lines are shown.",
		.options = workspace_diff_options, .schema = "berth.workspace_diff/1"},
	{"overlap", "WORKSPACE WORKSPACE...", 2, 32, FILES(cli_workspace_overlap),
		.help = "print what several forks changed since their common start",
		.about =
			"They are forks of one `workspace fork`, or the workspace that was forked.  A line for each "
			"entry that two or more of them changed, with what each did, and whether the "
			"outcome is the same.",
		.options = workspace_options, .schema = "berth.workspace_overlap/1"},
	{"take", "FROM PATH...", 2, 256, FILES(cli_workspace_take),
		.help = "take files from an agent's workspace into a project",
		.about =
			"FROM is WORKSPACE or WORKSPACE@CHECKPOINT, PATH a file or a directory from its top, or . "
			"for all.  Of a fork only what changed since its start is taken.  A file that changed in "
			"the target, too, is in conflict, and then nothing is taken but with --force.  All is "
			"written or nothing.  Only regular files pass, with content and whether they are "
			"executable: links, devices, set-id bits, attributes, owners and anything called .git are "
			"dropped and listed, as are files that were removed.  No link of the target is followed.  "
			"Likely secrets are listed with file and line.",
		.options = workspace_take_options, .schema = "berth.workspace_take/1"},
	{"restore", "WORKSPACE CHECKPOINT", 2, 2, FILES(cli_workspace_restore),
		.help = "return a workspace to a checkpoint",
		.about = "A checkpoint of the present state is made first, so a restore "
			 "can be undone; all contents are checked before anything is "
			 "changed.  The directory itself stays, so containers that have "
			 "it mounted see the restored files.  Stop what runs in it "
			 "first.",
		.options = workspace_options, .schema = "berth.restore/1"},
	{"drop", "WORKSPACE CHECKPOINT", 2, 2, FILES(cli_workspace_drop),
		.help = "remove a checkpoint; this cannot be undone"},
	{"verify", "WORKSPACE [CHECKPOINT]", 1, 2, FILES(cli_workspace_verify),
		.help = "check all contents of the checkpoints",
		.about = "Exits with 1 where something differs from what was stored."},
	{0},
};

static const struct cli_option audit_list_options[] = {
	{0, "agent", "ID", "records of this agent"},
	{0, "act", "NAME", "container.remove, file.*, ..."},
	{0, "target", "NAME", "name or id of what was acted on"},
	{0, "outcome", "ok|failed|refused|cancelled|timeout|none",
		"ok, failed, refused, cancelled, timeout, none; !ok: all others"},
	{0, "since", "TIME", "2026-11-20T21:45, or 10m, 2h, 3d ago"},
	{0, "until", "TIME", "likewise"},
	{0, "text", "TEXT", "anywhere in the record"},
	{'n', "last", "N", "only the newest N"},
	{'f', "follow", NULL, "keep printing records as they are written"},
	{0, "json", NULL, "one object per line, and a last one with \"summary\""},
	{0},
};

static const struct cli_option audit_verify_options[] = {
	{0, "head", "HASH", "a head kept elsewhere must be a record of this log"},
	{0, "key", "KEY", "the log must begin with this public key"},
	JSON,
	{0},
};

static const struct cli_option audit_head_options[] = {
	JSON,
	{0},
};

static const struct cli_command audit_verbs[] = {
	{"list", "", 0, 0, CORE(cli_audit_list), .help = "print what was done, oldest first",
		.about = "Values of parameters that look like secrets are never written.",
		.options = audit_list_options, .schema = "berth.audit/1"},
	{"verify", "[FILE]", 0, 1, CORE(cli_audit_verify),
		.help = "check that nothing was changed, removed or added",
		.about =
			"Without FILE this user's log, else a directory or a bundle.  Exits with 1 when "
			"something is wrong, and says what and where.  What this cannot see: whoever holds the "
			"account can rewrite what was recorded since the last checkpoint, and a whole log "
			"replaced by another is only noticed with --head or --key.  Where retention removed what "
			"these would be compared with, the answer is \"unproven\", not clean: of a pruned log keep "
			"a newer head, and give --key only with it.",
		.options = audit_verify_options, .schema = "berth.audit_verify/1"},
	{"export", "FILE", 1, 1, CORE(cli_audit_export),
		.help = "write a bundle that can be checked on another machine"},
	{"head", "", 0, 0, CORE(cli_audit_head),
		.help = "print the hash of the newest record, to keep elsewhere",
		.options = audit_head_options, .schema = "berth.audit_head/1"},
	{0},
};

static const struct cli_command tool_verbs[] = {
	{"list", "", 0, 0, CORE(cli_tool_list), .needs = TAKES_TEAM,
		.help = "print the tools of the team file", .options = tool_list_options,
		.schema = "berth.tool_list/1"},
	{"run", "TOOL [-- ARG...]", 1, 1, CORE(cli_tool_run), .needs = NEEDS_ENGINE | TAKES_TEAM,
		.takes_words = CLI_WORDS_TAKEN, .help = "run a tool in a container of its own",
		.about = "The container is created for this call and removed "
			 "afterwards, whatever happens.  Standard input, exit codes and "
			 "signals are as with `exec`.",
		.options = tool_run_options, .schema = "berth.tool_run/1"},
	{0},
};

static const struct cli_command engine_verbs[] = {
	{"start", "", 0, 0, CORE(cli_engine_start), .needs = NEEDS_ENGINE,
		.help = "start a private engine and wait until it answers",
		.about = "For machines where dockerd is installed but not running.  "
			 "Everything it keeps is in the state directory; beside another "
			 "engine it gets a network namespace of its own.  Needs root.  "
			 "berth finds it by itself when no other engine runs."},
	{"stop", "", 0, 0, CORE(cli_engine_stop), .needs = NEEDS_ENGINE,
		.help = "stop the private engine and its containers",
		.about = "Images and containers stay on the disk."},
	{"status", "", 0, 0, CORE(cli_engine_status), .needs = NEEDS_ENGINE,
		.help = "show whether the private engine is running",
		.about = "Exits with 0 when it answers, else with 1.", .options = status_options,
		.schema = "berth.engine/1"},
	{0},
};

static const struct cli_option config_check_options[] = {
	{0, "verbose", NULL, "list each key of MassGen's that has no use here"},
	JSON,
	{0},
};

static const struct cli_command config_verbs[] = {
	{"check", "FILE", 1, 1, CORE(cli_config_check),
		.help = "report what is wrong in a configuration file",
		.about = "Settings (berth.yaml), themes and team files (of berth or "
			 "MassGen, whose keys without a use here are counted) are told "
			 "apart by what is in them.  Every error that can be found is "
			 "printed with file, line and column, what was found, what was "
			 "expected and the closest known key.  Of a team file it says "
			 "what each definition becomes: image, user, mounts, limits, "
			 "network, isolation, and what is loosened and why.",
		.options = config_check_options, .schema = "berth.config_check/1"},
	{0},
};

#define ROOT                                                                                     \
	{                                                                                        \
		0, "root", "DIR",                                                                \
			"root: paths are relative to it, and nothing leads outside (default: .)" \
	}
#define FILTERS                                                                                 \
	{'g', "glob", "PATTERN", "only names that match (with a slash: paths); repeatable"},    \
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
	{0, "max-bytes", "BYTES", "largest file to read (default 64M)"},
	{0, "lines", "FIRST:LAST", "only these lines"},
	{0, "hash", NULL, "version tokens that include a hash of the content"},
	JSON,
	{0},
};

static const struct cli_option files_write_options[] = {
	ROOT,
	{0, "from", "DIR", "take the new contents from the files of these names below DIR"},
	PROMISE,
	{0, "create", NULL, "only create files that do not exist yet"},
	{0, "parents", NULL, "create missing directories"},
	{0, "partial", NULL, "go on when one cannot be written"},
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
	{'r', "recursive", NULL, "directories and all that is in them"},
	JSON,
	{0},
};

static const struct cli_command files_verbs[] = {
	{"read", "FILE...", 1, -1, FILES(cli_files_read), .help = "read many files",
		.about =
			"Contents are printed one after the other; with --json each with its version token.",
		.options = files_read_options, .schema = "berth.files_read/1"},
	{"write", "FILE...", 1, -1, FILES(cli_files_write), .help = "write files, as one batch",
		.about =
			"One file takes its content from standard input; many take theirs from --from DIR.  A file "
			"appears when it is complete and keeps its mode, owner and attributes.  The default promise "
			"is durable.",
		.options = files_write_options, .schema = "berth.files_write/1"},
	{"scan", "[DIR]", 0, 1, FILES(cli_files_scan), .help = "list a tree",
		.options = files_scan_options, .schema = "berth.files_scan/1"},
	{"search", "PATTERN [DIR|FILE]", 1, 2, FILES(cli_files_search),
		.help = "find text in a tree",
		.about = "Hidden, ignored and binary files are skipped.  Exits with 1 "
			 "when nothing was found.",
		.options = files_search_options, .schema = "berth.files_search/1"},
	{"transform", "PATTERN REPLACEMENT [DIR]", 2, 3, FILES(cli_files_transform),
		.help = "replace text in many files",
		.about =
			"Shows the changes as a unified diff; --apply makes them, as one batch (all or none).  With "
			"--regex the replacement may name groups: $1, ${name}; $$ is a dollar sign.",
		.options = files_transform_options, .schema = "berth.files_transform/1"},
	{"copy", "FROM TO", 2, 2, FILES(cli_files_copy), .help = "copy a file or a tree",
		.about = "Symbolic links are copied as links, holes and hard links kept.",
		.options = files_copy_options, .schema = "berth.files_copy/1"},
	{"move", "FROM TO", 2, 2, FILES(cli_files_move), .help = "move a file or a tree",
		.options = files_move_options, .schema = "berth.files_move/1"},
	{"delete", "PATH...", 1, -1, FILES(cli_files_delete), .help = "delete files and trees",
		.about = "Nothing that a symbolic link points to is touched.",
		.options = files_delete_options, .schema = "berth.files_delete/1"},
	{0},
};

static const struct cli_option bench_list_options[] = {
	{0, "runs", NULL, "what was measured, and when"},
	JSON,
	{0},
};

#define THRESHOLD_OPTION                                                                     \
	{                                                                                    \
		0, "threshold", "SPEED", "below this a speed is a regression (default 0.95)" \
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
	{0, "commit", "ID", "what is measured (default: the current git tree's)"},
	{0, "no-history", NULL, "record nothing"},
	{0, "out", "DIR", "directory for reports"},
	{0, "format", "markdown|json|html|all",
		"markdown, json, html or all (default: all, or as the suite says)"},
	{0, "follow", "FILE", "report progress there, line by line (for the console)"},
	JSON,
	{0},
};

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
		.help = "name suites, cases and tests; or the runs of the history",
		.options = bench_list_options,
		.schema = "berth.bench_list/1 or berth.bench_runs/1"},
	{"run", "[SUITE[/CASE]|FILE ...]", 0, -1, BENCH(bench_run_command),
		.help = "measure, compare, record, report",
		.about = "Without operands every suite.  FILE is a suite file "
			 "(configs/bench.yaml is one).  Arms of a case run interleaved, "
			 "results are checked in every sample.  What looks slower than "
			 "the run it is compared with is measured once more before it "
			 "is called slower.  Exits with 1 when a case failed its check, "
			 "was slower, or raised an alert; missed targets are reported "
			 "only.  " RUN_WORDS,
		.options = bench_run_options, .schema = "berth.bench_run/1"},
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
		.about = "All of the file or nothing.  Runs that are already here are "
			 "left unchanged."},
	{0},
};

static const struct cli_option mcp_options[] = {
	{0, "agent", "ID", "whose server this is (default: the file's only agent)"},
	{0, "tools", "GROUP,...", "only these: files, commands, tools, workspace"},
	{0},
};

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static const char *const name_kinds[] = {
	"containers", "tools", "contexts", "themes", "suites", "images", "workspaces", NULL};

static const struct cli_command commands[] = {
	{"ps", "", 0, 0, CORE(cli_ps), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print containers and their statistics once",
		.about =
			"Takes two samples 250 ms apart, so that CPU and rates are real.  Without --all only "
			"running, paused and restarting containers are listed.  Unknown values are null in "
			"JSON and a dash in the table.",
		.options = ps_options, .schema = "berth.ps/1"},
	{"stats", "[CONTAINER...]", 0, -1, CORE(cli_stats), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print the statistics of running containers, every second",
		.options = stats_options},
	{"logs", "CONTAINER...", 1, -1, CORE(cli_logs), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print the logs of containers, merged",
		.about =
			"CONTAINER is a name, an id or its beginning, or an agent.  What was written to "
			"stderr goes there; to a terminal nothing but text.",
		.options = logs_options},
	{"inspect", "CONTAINER...", 1, -1, CORE(cli_inspect),
		.needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print what the engine knows of containers, as JSON"},
	{"top", "CONTAINER", 1, 1, CORE(cli_top), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print the processes of a container"},
	{"events", "[CONTAINER...]", 0, -1, CORE(cli_events),
		.needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print what happens on the engine, or to these containers, until C-c",
		.options = events_options, .schema = "berth.event/1"},
	{"start", "CONTAINER...", 1, -1, CORE(cli_start), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "start containers", .options = start_options},
	{"stop", "CONTAINER...", 1, -1, CORE(cli_stop), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "stop containers",
		.about = "What berth did not make is only touched with --foreign.",
		.options = stop_options},
	{"restart", "CONTAINER...", 1, -1, CORE(cli_restart),
		.needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "stop containers and start them again", .options = stop_options},
	{"rm", "CONTAINER...", 1, -1, CORE(cli_remove), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "remove containers; this cannot be undone",
		.about =
			"On a terminal it asks for their number, elsewhere it wants --yes.  An agent with "
			"its session is taken down by `berth down`.",
		.options = remove_options},
	{"doctor", "", 0, 0, CORE(cli_doctor), .needs = NEEDS_ENGINE,
		.help = "check what works here, what does not, and how to fix it",
		.about = "Exits with 1 when something that berth needs is missing.",
		.options = doctor_options, .schema = "berth.doctor/1"},
	{"audit", "", .help = "list and check the record of what was done", .verbs = audit_verbs},
	{"up", "FILE", 1, 1, CORE(cli_up), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "create and start the agents of a team file",
		.about = "Several at once; an agent that is up as declared is left "
			 "unchanged, a stale container of berth's is recreated, any "
			 "other is never touched.  What a definition loosens is "
			 "reported, and so is every limit that is not enforced.",
		.options = up_options, .schema = "berth.up/1"},
	{"down", "[FILE]", 0, 1, CORE(cli_down), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "stop and remove the agents of a team file",
		.about = "Workspaces and home volumes stay.", .options = down_options},
	{"clean", "", 0, 0, CORE(cli_clean), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "remove what dead processes and ended sessions left behind",
		.about = "Shows a plan of exact ids: containers, networks, volumes, "
			 "images and files of berth's, each with its size, owner and "
			 "reason, and what is protected and why.  On a terminal it asks "
			 "for their number, elsewhere it prints the plan and exits with "
			 "2.  Each item is checked again right before it is removed; "
			 "what has changed is left alone.  What runs is stopped first.  "
			 "An interrupted plan can be carried out again.  Homes of ended "
			 "sessions are part of it; what is in use, and what another "
			 "berth made, never is.",
		.options = clean_options, .schema = "berth.clean_plan/1 or berth.clean/1"},
	{"exec", "AGENT -- CMD ARG...", 1, 1, EITHER(cli_exec, cli_exec_engine),
		.needs = NEEDS_ENGINE | TAKES_TEAM, .takes_words = CLI_WORDS_NEEDED,
		.help = "run a command in a running agent or any other container",
		.about = "Standard input is passed on unless it is a terminal.  Exits "
			 "as the command does (128+n for a signal), with 124 when it "
			 "timed out, 125 when berth itself failed, 126 when it cannot "
			 "be executed, 127 when it is not found.  When it ends, so does "
			 "everything it started.  Its rules are those the agent was "
			 "brought up with, or with -c FILE that file's.  A container "
			 "that has no lane (one that berth did not make, or on another "
			 "machine, by its name or id) is reached through the engine: "
			 "--json says which way it went.  An agent's container that was "
			 "restarted by something other than berth (docker restart, a "
			 "restart policy) runs nothing until its mounts have been "
			 "compared with the checked ones, which takes root on the "
			 "engine's machine, or `berth up` has checked it: 125.  Over "
			 "the engine, all that a command started is known for certain "
			 "(\"tree\": \"whole\") where berth is root on the engine's "
			 "machine and the container has a shell; elsewhere what hides "
			 "from its parents and its environment may be missed (\"best "
			 "effort\").",
		.options = exec_options, .schema = "berth.exec/1"},
	{"tool", "", .help = "list and run the tools of a team file (berth -c FILE tool ...)",
		.verbs = tool_verbs},
	{"image", "", .help = "list, build, pull, import and remove images", .verbs = image_verbs},
	{"engine", "", .help = "start and stop a private engine", .verbs = engine_verbs},
	{"config", "", .help = "check configuration files", .verbs = config_verbs},
	{"files", "", .help = "read, write, search and copy many files at once",
		.verbs = files_verbs},
	{"workspace", "", .help = "make workspaces, keep checkpoints of them and go back",
		.verbs = workspace_verbs},
	{"mcp", "", 0, 0, MCP(cli_mcp), .needs = NEEDS_SETTINGS | TAKES_TEAM,
		.help = "serve an agent's tools to a client of the Model Context Protocol",
		.about =
			"JSON-RPC on standard input and output, for the agent that --agent names in the file "
			"of -c.  It works on the files that the agent's container has, at the same paths and as "
			"its user, runs commands in that container, and runs custom tools.  Permissions, "
			"command rules, limits and the audit log are those of every other way in.  The client "
			"starts it, and ends it by closing its standard input.",
		.options = mcp_options},
	{"bench", "", .help = "measure, compare with earlier versions, report",
		.verbs = bench_verbs},
	{"completion", "bash|zsh|fish", 1, 1, BERTH(cli_completion),
		.help = "print the completions of a shell",
		.about = "For example: source <(berth completion bash)", .words = shells},
	{"complete", "[-- WORD...]", 0, 0, BERTH(cli_complete), .takes_words = CLI_WORDS_TAKEN,
		.help = "print what the last of these words could be, for shells"},
	{"names", "containers|tools|contexts|themes|suites|images|workspaces", 1, 1,
		CORE(cli_names), .needs = TAKES_TEAM, .help = "print names that this machine knows",
		.words = name_kinds},
	{"help", "[COMMAND]", 0, 2, BERTH(cli_help_for), .help = "show help for a command"},
	{0},
};

/* What berth is without a word: the console, its options, and the commands. */
static const struct cli_command cli_root = {"", "", 0, 0, CORE(cli_console),
	.needs = NEEDS_SETTINGS | TAKES_TEAM, .options = globals, .verbs = commands};

#endif
#endif
