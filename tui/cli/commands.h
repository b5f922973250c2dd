/*
 * commands.h - the table of all commands: words, options, requirements, the program and the function that runs them.
 * No other place lists commands.
 *
 * A new command is its function's name and its entry here, and the function in a file of cli/ (of
 * bench/: `berth bench`).  Parser, help, completions, man page and the programs take it from there.
 *
 * Each program includes this once with CLI_TABLE, and with IN_CORE(f) or whichever is its own as f: it
 * has the functions of its own commands and no others, for the modules behind them are not in it.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <berth/operation.h>
#include <berth/snapshot.h>

#include "cli/cli.h"

cli_run_fn cli_exec, cli_exec_engine, cli_completion, cli_complete, cli_names, cli_help_for;
cli_run_fn cli_act, cli_logs, cli_inspect, cli_top, cli_events, cli_stats;
cli_run_fn cli_console, cli_ps, cli_doctor, cli_check, cli_up, cli_down, cli_clean,
	cli_config_check;
cli_run_fn cli_audit_list, cli_audit_verify, cli_audit_export, cli_audit_head;
cli_run_fn cli_journal_list, cli_journal_cast, cli_report;
cli_run_fn cli_tool_list, cli_tool_run;
cli_run_fn cli_engine_start, cli_engine_stop, cli_engine_status;
cli_run_fn cli_files, cli_image, cli_workspace;
files_verb_fn cli_files_read, cli_files_write, cli_files_scan, cli_files_search,
	cli_files_transform, cli_files_copy, cli_files_move, cli_files_delete;
image_verb_fn cli_image_build, cli_image_pull, cli_image_import, cli_image_remove;
workspace_verb_fn cli_workspace_create, cli_workspace_list, cli_workspace_show, cli_workspace_debug,
	cli_workspace_usage, cli_workspace_fork, cli_workspace_diff, cli_workspace_overlap,
	cli_workspace_apply, cli_workspace_checkpoint, cli_workspace_checkpoints,
	cli_workspace_restore, cli_workspace_drop, cli_workspace_hand_over, cli_workspace_verify,
	cli_workspace_mark, cli_workspace_archive, cli_workspace_unarchive, cli_workspace_archives,
	cli_workspace_clean, cli_workspace_remove, cli_workspace_thaw, cli_workspace_limit,
	cli_workspace_keep;
workspace_verb_fn cli_workspace_share, cli_workspace_shared;
workspace_verb_fn cli_workspace_put_result, cli_workspace_results, cli_workspace_drop_result;
cli_run_fn cli_limit, cli_undo, cli_cp;
cli_run_fn cli_history;
cli_run_fn cli_mcp;
cli_run_fn cli_custom;
cli_run_fn cli_held_list, cli_held_remove, cli_held_prune;
cli_run_fn cli_net_list, cli_net_decide, cli_net_log, cli_net_usage, cli_net_ask, cli_net_test;
cli_run_fn cli_host_list, cli_host_forget;
cli_run_fn cli_agent_list;
cli_run_fn cli_port_open, cli_port_close, cli_port_list;
cli_run_fn cli_terminal_start, cli_terminal_list, cli_terminal_screen, cli_terminal_stop;
cli_run_fn cli_terminal_send, cli_terminal_attach;
#define USUAL_NAME "main" /* of a terminal */
cli_run_fn bench_list, bench_run_command, bench_compare, bench_report, bench_trend, bench_export,
	bench_import, bench_check;

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
#define ACT(act) CORE(cli_act), .what = act
#define FILES(f, operation) \
	"berth-files", IN_FILES(cli_files), .files = IN_FILES(f), .what = operation
#define IMAGE(f, slow) "berth-image", IN_IMAGE(cli_image), .image = IN_IMAGE(f), .what = slow
#define WORKSPACE(f) "berth-files", IN_FILES(cli_workspace), .workspace = IN_FILES(f)
#define ARCHIVE(f) "berth-image", IN_IMAGE(cli_workspace), .workspace = IN_IMAGE(f)
#define MCP(f) "berth-mcp", IN_MCP(f)
#define BENCH(f) "berth-bench", IN_BENCH(f)

#include "cli/command_options.h"

#define HELD_REMOVE                                                                                          \
	"Shows a plan of exact ids with sizes and owners.  On a terminal it asks you to type their number, " \
	"elsewhere it needs --yes.  Each is checked again right before it is removed; if one is protected "  \
	"or used by a container, even a stopped one, nothing is removed."

static const struct cli_command image_verbs[] = {
	{"ls", "", 0, 0, CORE(cli_held_list), .former = "list",
		.needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print the engine's images and which containers use them",
		.about =
			"Also shows how many of their bytes are in layers shared with other images.",
		.options = held_list_options, .schema = "berth.images/1"},
	{"build", "SHIPPED|DIR|NAME [DIR]", 1, 2, IMAGE(cli_image_build, true),
		.needs = NEEDS_ENGINE, .help = "build a shipped image, or a directory",
		.about =
			"SHIPPED is shell, python, node, runtime or runtime-sudo.  If mmdebstrap is "
			"installed, its base is created on this machine and the build needs no "
			"registry.  DIR contains a Dockerfile; files that match its .dockerignore "
			"(or Dockerfile.dockerignore, if that is next to the Dockerfile) are not "
			"sent.  C-c cancels the build.",
		.options = image_build_options, .schema = "berth.image/1"},
	{"pull", "IMAGE", 1, 1, IMAGE(cli_image_pull, true), .needs = NEEDS_ENGINE,
		.help = "fetch an image from its registry",
		.about = "Uses the logins that `docker login` saved in its configuration file.",
		.options = json_options, .schema = "berth.image/1"},
	{"import", "FILE IMAGE", 2, 2, IMAGE(cli_image_import, true), .needs = NEEDS_ENGINE,
		.help = "create an image from a tar file",
		.about = "FILE contains a root file system, as written by `docker export`.",
		.options = json_options, .schema = "berth.image/1"},
	{"untag", "IMAGE", 1, 1, IMAGE(cli_image_remove, false), .former = "remove",
		.needs = NEEDS_ENGINE, .help = "remove one name of an image",
		.about = "The image itself is removed with its last name.",
		.options = image_remove_options, .schema = "berth.image_remove/1"},
	{"rm", "IMAGE...", 1, 1000, CORE(cli_held_remove), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "remove images after confirming a plan", .about = HELD_REMOVE,
		.options = held_remove_options, .schema = "berth.clean_plan/1 or berth.clean/1"},
	{"prune", "", 0, 0, CORE(cli_held_prune), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "remove images without a name that no container uses",
		.about = "The images that `berth clean --foreign` would remove.",
		.options = held_remove_options, .schema = "berth.clean_plan/1 or berth.clean/1"},
	{0},
};

#include "cli/commands_workspace.h"

static const struct cli_option audit_list_options[] = {
	{0, "agent", "ID", "records of this agent"},
	{0, "act", "NAME", "container.remove, file.*, ..."},
	{0, "target", "NAME", "name or id of what was acted on"},
	{0, "outcome", "ok|failed|refused|cancelled|timeout|none",
		"ok, failed, refused, cancelled, timeout, none (intents); !ok: any other outcome"},
	{0, "since", "TIME", "2026-11-20T21:45, or 10m, 2h, 3d ago"},
	{0, "until", "TIME", "likewise"},
	{0, "text", "REGEX", "anywhere in the record"},
	{'n', "last", "N", "only the newest N"},
	{'f', "follow", NULL, "keep printing records as they are written"},
	{0, "json", NULL, "one object per line, and a last one with \"summary\""},
	{0},
};

static const struct cli_option audit_verify_options[] = {
	{0, "head", "HASH", "a head saved elsewhere must be a record of this log"},
	{0, "key", "KEY", "the log must begin with this public key"},
	JSON,
	{0},
};

static const struct cli_option audit_export_options[] = {
	{0, "decisions", NULL, "refusals, rules and approvals, one JSON object per line"},
	{0, "since", "TIME", "with --decisions: 2026-11-20T21:45, or 10m, 2h, 3d ago"},
	{0, "until", "TIME", "likewise"},
	{0},
};

static const struct cli_option net_log_options[] = {
	{'n', "last", "N", "only the newest N (default: 50, at most 512)"},
	JSON,
	{0},
};

#define NET_RULES                                                                                           \
	"RULE is NAME or *.NAME (its subdomains, not NAME itself), each with or without :PORT.  Without a " \
	"port it means port 443, and only TLS for that name.  On other ports any protocol is allowed, "     \
	"unless tls:// comes before the name.  It applies to new connections until `berth down`; a denial " \
	"takes precedence.  --save also adds it to the list in the team file."

static const struct cli_option net_decide_options[] = {
	{0, "save", NULL,
		"also add it to the team file (that of -c, or the one of the last `berth up`)"},
	{0},
};

static const struct cli_option net_ask_options[] = {
	{0, "answer", "WORD", "decide on TARGET and exit: once, session (until down) or deny"},
	{0, "json", NULL, "one JSON object per line: each queue that changed"},
	{0, "list", NULL, "print the waiting requests and exit"},
	{0},
};

static const struct cli_option port_open_options[] = {
	{0, "address", "ADDRESS", "address of this machine to listen on (default: 127.0.0.1)"},
	{0, "public", NULL,
		"allow an ADDRESS other than loopback, so that others can reach the server"},
	JSON,
	{0},
};

static const struct cli_option terminal_start_options[] = {
	{'w', "workdir", "DIR", "start it in this directory of the container"},
	{0, "size", "COLUMNSxROWS", "its size (default: 80x24)"},
	{0, "restart", NULL,
		"start one that is listed and has ended, as the keeper does after a failure"},
	{0},
};

static const struct cli_option terminal_send_options[] = {
	{0, "key", "KEY", "type this key, or several (\"Up Up Enter\"), after TEXT; repeatable"},
	{0},
};

static const struct cli_option terminal_attach_options[] = {
	{0, "read-only", NULL, "only watch: keys do not reach it"},
	{0},
};

static const struct cli_command terminal_verbs[] = {
	{"start", "AGENT [NAME] [-- CMD ARG...]", 1, 2, CORE(cli_terminal_start),
		.takes_words = CLI_WORDS_TAKEN,
		.help = "start a command in a terminal that outlives this one",
		.about =
			"The command (default: the one under terminal: in the team file for NAME, "
			"else bash or sh) runs in the agent's container and continues when berth "
			"exits or the connection to this machine is lost.  It ends with `berth "
			"terminal stop`, `berth down` or its container.  The command rules and "
			"limits of `berth exec` apply when it starts; they do not check what is "
			"typed into it.  NAME defaults to main; an agent has at most 32 terminals.  "
			"A container without a lane cannot have terminals.",
		.options = terminal_start_options},
	{"list", "[AGENT]", 0, 1, CORE(cli_terminal_list), .help = "print the terminals of agents",
		.about =
			"STATUS is waiting (for a person), working, idle (at its prompt), quiet "
			"(nothing shows what it does) or ended; REASON is the observation behind "
			"it.  berth checks, in this order: whether the foreground processes wait in "
			"a read of the terminal, bells and notices, the screens of known programs "
			"(~/.config/berth/terminals.yaml adds to them), and silence.  SINCE is the "
			"time since its last output, since the bell or notice with which it waits, "
			"or since its end.  A terminal that ended is listed until it is stopped or "
			"started again.  In --json, a terminal is lost if the process that kept it "
			"was killed; its command has then been ended, too.",
		.options = json_options, .schema = "berth.terminals/1"},
	{"screen", "AGENT [NAME]", 1, 2, CORE(cli_terminal_screen),
		.help = "print what a terminal shows now",
		.about =
			"The text of its screen; with --json also its cursor, title and size.  For "
			"a terminal that has ended, its last screen.",
		.options = json_options, .schema = "berth.terminal_screen/1"},
	{"send", "AGENT [NAME] [--] [TEXT...]", 1, -1, CORE(cli_terminal_send),
		.takes_words = CLI_WORDS_TAKEN, .help = "type text or keys into a terminal",
		.about =
			"TEXT is typed as it is, its words separated by a space and without Enter, "
			"and as a paste if the program has enabled bracketed paste.  Control "
			"characters are refused; --key types keys: Enter, Tab, BTab, Esc, Space, "
			"BSpace, Up, Down, Left, Right, Home, End, Insert, Delete, PageUp, "
			"PageDown, F1 to F12, C-c, M-x.  Without NAME, or with --key and TEXT, put "
			"-- before TEXT of several words.  If the program does not read for 5 "
			"seconds, the rest is dropped and the number of bytes taken is reported.  "
			"The first 512 bytes of what is typed are recorded in the audit log.",
		.options = terminal_send_options},
	{"attach", "AGENT [NAME]", 1, 2, CORE(cli_terminal_attach), .needs = NEEDS_SETTINGS,
		.help = "use a terminal in full screen",
		.about =
			"C-] detaches (terminals.detach in berth.yaml); the terminal continues.  "
			"Its program's output is passed on, except for sequences that would read or "
			"change this terminal beyond its screen: queries, the clipboard, window "
			"operations, colours, links other than http.  One person types at a time "
			"and sets the size; others watch, and C-t takes over.  The audit log "
			"records the number of keys, not the keys; those that the program never "
			"read are counted, too.  When the command ends, its exit code is printed "
			"and returned.",
		.options = terminal_attach_options},
	{"stop", "AGENT [NAME]", 1, 2, CORE(cli_terminal_stop),
		.help = "end a terminal's command and remove it from the list",
		.about = "All processes that the command started are killed."},
	{0},
};

static const struct cli_command agent_verbs[] = {
	{"list", "", 0, 0, CORE(cli_agent_list), .needs = NEEDS_ENGINE | TAKES_TEAM,
		.help = "print the agents and why they need attention",
		.about =
			"The agents of this user on the engine, and with -c FILE those of the file "
			"that are down.  ATTENTION is the most serious reason to look at an agent, "
			"worded as in the Agents view, and SINCE the age of that reason.",
		.options = json_options, .schema = "berth.agents/1"},
	{0},
};

static const struct cli_command host_verbs[] = {
	{"list", "", 0, 0, CORE(cli_host_list), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print the hosts with their state and response time",
		.about =
			"The hosts in berth.yaml, with --all-contexts those of docker's contexts, and the "
			"default engine.  All are queried at the same time; one that does not answer is "
			"listed with the reason.",
		.options = json_options, .schema = "berth.hosts/1"},
	{"forget", "NAME", 1, 1, CORE(cli_host_forget), .needs = NEEDS_SETTINGS,
		.help = "close the connection to a host and remove its saved data",
		.about =
			"The entry in berth.yaml stays: the next command that uses it connects again."},
	{0},
};

static const struct cli_command port_verbs[] = {
	{"open", "AGENT PORT[:HOSTPORT]", 2, 2, CORE(cli_port_open),
		.help = "reach a server in an agent's container from this machine",
		.about = "The server listens on its container's loopback, which needs no network, "
			 "and is reached at 127.0.0.1:HOSTPORT here (default: PORT; 0: any free "
			 "port) until `berth port close` or the end of the container.  A container "
			 "has at most 16 ports and 256 connections open.",
		.options = port_open_options, .schema = "berth.port/1"},
	{"close", "AGENT PORT", 2, 2, CORE(cli_port_close),
		.help = "close a port and its connections"},
	{"list", "[AGENT]", 0, 1, CORE(cli_port_list), .help = "print the ports that are open",
		.about = "A port is lost if the process that serves it was killed or the engine "
			 "restarted its container: open it again or close it.",
		.options = json_options, .schema = "berth.ports/1"},
	{0},
};

static const struct cli_command net_verbs[] = {
	{"list", "AGENT", 1, 1, CORE(cli_net_list), .help = "print the network rules of an agent",
		.about = "Shows the origin and the age of each rule.", .options = json_options,
		.schema = "berth.net_rules/1"},
	{"allow", "AGENT RULE...", 2, 64, CORE(cli_net_decide), .needs = TAKES_TEAM,
		.help = "let an agent reach a host", .about = NET_RULES,
		.options = net_decide_options},
	{"deny", "AGENT RULE...", 2, 64, CORE(cli_net_decide), .needs = TAKES_TEAM,
		.help = "deny an agent access to a host",
		.about = "Open connections to it are closed.  " NET_RULES,
		.options = net_decide_options},
	{"forget", "AGENT RULE...", 2, 64, CORE(cli_net_decide),
		.help = "remove rules that were added by hand",
		.about = "Open connections that are no longer allowed are closed."},
	{"ask", "[AGENT [TARGET]]", 0, 2, CORE(cli_net_ask), .help = "decide what agents may reach",
		.about =
			"For agents that have ask: true under network:.  While this command or a "
			"console runs, connections that no rule decides wait for an answer.  An "
			"answer is a line of input: `a`, `s` or `x` and a number from the list, or "
			"`once`, `session` or `deny` with AGENT and TARGET.  The first answer "
			"counts.",
		.options = net_ask_options, .schema = "berth.net_ask/1"},
	{"test", "AGENT TARGET", 2, 2, CORE(cli_net_test),
		.help = "show which rule decides on HOST[:PORT]",
		.about = "No name is resolved and no connection is made.", .options = json_options,
		.schema = "berth.net_test/1"},
	{"log", "AGENT", 1, 1, CORE(cli_net_log), .help = "print the connections of an agent",
		.about = "Refused connections are included; the newest is last.",
		.options = net_log_options, .schema = "berth.net_log/1"},
	{"usage", "AGENT", 1, 1, CORE(cli_net_usage),
		.help = "print the connections and bytes of an agent, for each host and port",
		.options = json_options, .schema = "berth.net_usage/1"},
	{0},
};

static const struct cli_command volumes_verbs[] = {
	{"ls", "", 0, 0, CORE(cli_held_list), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print the engine's volumes and which containers use them",
		.options = held_list_options, .schema = "berth.volumes/1"},
	{"rm", "VOLUME...", 1, 1000, CORE(cli_held_remove), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "remove volumes and their files after confirming a plan",
		.about = HELD_REMOVE, .options = held_remove_options,
		.schema = "berth.clean_plan/1 or berth.clean/1"},
	{"prune", "", 0, 0, CORE(cli_held_prune), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "remove anonymous volumes that no container uses",
		.about = "The volumes that `berth clean --foreign` would remove.",
		.options = held_remove_options, .schema = "berth.clean_plan/1 or berth.clean/1"},
	{0},
};

static const struct cli_command networks_verbs[] = {
	{"ls", "", 0, 0, CORE(cli_held_list), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print the networks of the engine, their addresses and members",
		.options = held_list_options, .schema = "berth.networks/1"},
	{"rm", "NETWORK...", 1, 1000, CORE(cli_held_remove), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "remove networks after confirming a plan", .about = HELD_REMOVE,
		.options = held_remove_options, .schema = "berth.clean_plan/1 or berth.clean/1"},
	{"prune", "", 0, 0, CORE(cli_held_prune), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "remove networks that no container is in",
		.about = "The networks that `berth clean --foreign` would remove.",
		.options = held_remove_options, .schema = "berth.clean_plan/1 or berth.clean/1"},
	{0},
};

static const struct cli_option journal_cast_options[] = {
	{'o', "out", "FILE", "file to write to (default: standard output)"},
	{0, "raw", NULL,
		"include all control sequences; an agent's output can then control your terminal"},
	{0},
};

static const struct cli_command journal_verbs[] = {
	{"list", "AGENT", 1, 1, CORE(cli_journal_list),
		.help = "print the commands of an agent, oldest first",
		.about =
			"The last commands, as many as the setting journal.commands keeps, until `berth down`.  "
			"AGENT may be its container.  `berth journal AGENT` is the same.",
		.options = json_options, .schema = "berth.journal/1"},
	{"cast", "AGENT [COMMAND]", 1, 2, CORE(cli_journal_cast),
		.help = "write the commands of an agent as an asciicast recording",
		.about =
			"COMMAND is a number from `berth journal list`; without it, all saved commands "
			"are written, at the times when they ran.  asciicast v2: `asciinema play FILE` "
			"plays it, and pauses "
			"longer than 2 s are shortened.  Colours, cursor motion and erasing are kept; "
			"titles, modes, strings and reports are removed.  The size of the original "
			"terminal is not known: the recording has 80 columns and 24 lines.",
		.options = journal_cast_options},
	{0},
};

static const struct cli_command audit_verbs[] = {
	{"list", "", 0, 0, CORE(cli_audit_list),
		.help = "print the recorded operations, oldest first",
		.about = "Parameter values that look like secrets are never recorded.",
		.options = audit_list_options, .schema = "berth.audit/1"},
	{"verify", "[FILE]", 0, 1, CORE(cli_audit_verify),
		.help = "check that nothing was changed, removed or added",
		.about =
			"Checks this user's log, or FILE: a directory or a bundle.  On damage it "
			"reports what and where, and exits with 1.  Not detectable: the account's "
			"owner can rewrite records newer than the last checkpoint (their number is "
			"printed), and a log that was replaced as a whole is detected only with "
			"--head or --key.  If retention removed the records to compare with, the "
			"answer is \"unproven\", not clean: for a pruned log, save a newer head, "
			"and use --key only together with it.",
		.options = audit_verify_options, .schema = "berth.audit_verify/1"},
	{"export", "[FILE]", 0, 1, CORE(cli_audit_export),
		.help = "write a bundle that can be checked on another machine, or the decisions in it",
		.about =
			"With --decisions, one JSON object per line: refusals, network rules set by a "
			"person, approvals (each with the number and hash of its record), and the last "
			"connections of agents that are up; to FILE, which must not exist, or standard "
			"output.",
		.options = audit_export_options, .schema = "berth.decision/1"},
	{"head", "", 0, 0, CORE(cli_audit_head),
		.help = "print the hash of the newest record, to be saved elsewhere",
		.options = json_options, .schema = "berth.audit_head/1"},
	{0},
};

static const struct cli_command tool_verbs[] = {
	{"list", "", 0, 0, CORE(cli_tool_list), .needs = TAKES_TEAM,
		.help = "print the tools of the team file", .options = json_options,
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
		.about =
			"For machines where dockerd is installed but not running.  "
			"All its data is in the state directory; next to another engine it gets its own "
			"network namespace.  Needs root.  berth finds it automatically when no other "
			"engine runs."},
	{"stop", "", 0, 0, CORE(cli_engine_stop), .needs = NEEDS_ENGINE,
		.help = "stop the private engine and its containers",
		.about = "Images and containers are not deleted."},
	{"status", "", 0, 0, CORE(cli_engine_status), .needs = NEEDS_ENGINE,
		.help = "show whether the private engine is running",
		.about = "Exits with 0 when it answers, else with 1.", .options = json_options,
		.schema = "berth.engine/1"},
	{0},
};

static const struct cli_option config_check_options[] = {
	{0, "verbose", NULL, "list each of MassGen's keys that is ignored"},
	JSON,
	{0},
};

static const struct cli_command config_verbs[] = {
	{"check", "FILE", 1, 1, CORE(cli_config_check), .needs = ANY_STATE,
		.help = "check a configuration file",
		.about =
			"The file can be settings (berth.yaml), a theme, a benchmark suite, or a team file of berth "
			"or MassGen; its keys determine which.  Every error is printed with file, line and column, what "
			"was found, what was expected and the closest known key.  For a team file, shows what each "
			"definition becomes: image, user, mounts, limits, network, isolation, and what is loosened "
			"and why.",
		.options = config_check_options, .schema = "berth.config_check/1"},
	{0},
};

#include "cli/commands_files.h"

#include "cli/commands_bench.h"

static const struct cli_option mcp_options[] = {
	{0, "agent", "ID", "agent to serve (default: the only agent of the file)"},
	{0, "operator", NULL,
		"for your own assistant: hosts, agents, logs, the audit log; read-only"},
	{0, "allow-changes", NULL,
		"with --operator: it may request changes, each confirmed in a console"},
	{0, "tools", "GROUP,...", "only these groups: files, commands, tools, workspace"},
	{0, "workspace", "DIR", "the workspace of a MassGen run (default: the newest run)"},
	{0},
};

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static const char *const name_kinds[] = {"containers", "tools", "contexts", "themes", "suites",
	"images", "workspaces", "tags", "volumes", "networks", "checkpoints", "filters", "sides",
	NULL};

static const struct cli_command commands[] = {
	{"ps", "", 0, 0, CORE(cli_ps), .needs = NEEDS_SETTINGS | NEEDS_ENGINE | PRINTS_USE,
		.help = "print containers and their statistics once",
		.about =
			"Takes two samples 250 ms apart to compute CPU and rates.  Without --all "
			"only running, paused and restarting containers are listed, or those in the "
			"states that --filter state= names.  If --filter is given several times, a "
			"row must match one value of each key, as with docker: name= is a regular "
			"expression that any part of the name may match, id= the beginning of an "
			"id, image= a part of an image's name, state= (or status=) one of created, "
			"running, paused, restarting, removing, exited and dead, health= one of "
			"starting, healthy, unhealthy and none, label= KEY or KEY=VALUE (a row must "
			"have all that are given), exited= an exit code, of containers that ended.  "
			"Unknown values are null in JSON and a dash in the table.",
		.options = ps_options, .schema = "berth.ps/1"},
	{"stats", "[CONTAINER...]", 0, -1, CORE(cli_stats),
		.needs = NEEDS_SETTINGS | NEEDS_ENGINE | PRINTS_USE,
		.help = "print the statistics of running containers, every second",
		.about =
			"CONTAINER is an id, a name, the beginning of an id, or an agent, tried in this "
			"order; an ambiguous name is an error.  Named containers are also shown while "
			"they are stopped (their state, and dashes), until the last one is removed.",
		.options = stats_options},
	{"logs", "[CONTAINER...]", 0, -1, CORE(cli_logs), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print the logs of containers, merged, or search them",
		.about =
			"CONTAINER is a name, an id or its beginning, or an agent; for an agent the "
			"output of its commands is printed, as far as it is kept (`berth journal`).  "
			"WHEN, like every time on berth's command line, is a date with or without a "
			"time of day (local, or with Z or +02:00), seconds since 1970, or an age "
			"such as 1h30m or 2d.  A container's stderr goes to stderr, in the original "
			"order; on a terminal control characters are made visible.  Several logs "
			"are merged by time; with -f lines are printed as they arrive.  -f ends "
			"when the containers have exited or are removed; one that is restarted "
			"within two seconds, or by its restart policy, is still followed.  With "
			"several containers, --grep or --json, lines over 1 MiB are truncated with "
			"a warning, and the exit code is 1.  A line that a run left without its "
			"newline ends where the next run begins if -t is given; with a terminal, "
			"the engine's time of the next is printed within it.  With --grep RE, a "
			"Perl regular expression (small letters match capitals, too; a leading ! "
			"inverts), matching lines are printed as they are found, sixteen containers "
			"at a time; without a match the exit code is 1.",
		.options = logs_options, .schema = "berth.log_line/1"},
	{"inspect", "CONTAINER...", 1, -1, CORE(cli_inspect),
		.needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print what the engine knows about containers, as JSON",
		.about = "--format takes the path of a member.  Names in it may contain dots "
			 "({{.Config.Labels.com.example.team}}), and an element of a list is given "
			 "by its number ({{.Mounts.0.Source}}); {{json .Mounts}} prints a value as "
			 "JSON.  A missing member is an error.",
		.options = inspect_options},
	{"top", "CONTAINER", 1, 1, CORE(cli_top),
		.needs = NEEDS_SETTINGS | NEEDS_ENGINE | PRINTS_USE,
		.help = "print the processes of a container", .options = top_options},
	{"events", "[CONTAINER...]", 0, -1, CORE(cli_events),
		.needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "print events of the engine, or of these containers, until C-c or --until",
		.options = events_options, .schema = "berth.event/1"},
	{"history", "[CONTAINER]", 0, 1, CORE(cli_history),
		.help = "print the usage and the events of a container over time",
		.about =
			"CONTAINER is a name, or an agent; without one, the recorded containers are "
			"listed.  While a console runs, it records up to 192 containers in a file "
			"of 62 MB in the state directory: one value per second for ten minutes, one "
			"per ten seconds for six hours and one per five minutes for thirty days.  "
			"Otherwise the keeper (`berth workspace keep`) records one value per ten "
			"seconds for each agent.  Times without a recorder are gaps.  A container "
			"with fewer than ten samples is not recorded.",
		.options = history_options, .schema = "berth.history/1 or berth.history_list/1"},
	{"start", "CONTAINER...", 1, -1, ACT(ACT_START), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "start containers", .options = start_options},
	{"stop", "CONTAINER...", 1, -1, ACT(ACT_STOP), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "stop containers",
		.about = "Containers that berth did not create need --foreign.",
		.options = stop_options},
	{"restart", "CONTAINER...", 1, -1, ACT(ACT_RESTART), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "stop containers and start them again", .options = stop_options},
	{"kill", "CONTAINER...", 1, -1, ACT(ACT_KILL), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "send a signal to containers (default: KILL)",
		.about =
			"CONTAINER is a name, an id or its beginning, or an agent.  Its first process "
			"gets the signal, which is recorded in the audit log.  The init process of an "
			"agent ends the container on TERM, INT and QUIT, and forwards HUP, USR1, USR2 and "
			"WINCH to all processes in it.",
		.options = kill_options},
	{"pause", "CONTAINER...", 1, -1, ACT(ACT_PAUSE), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "pause containers", .options = start_options},
	{"unpause", "CONTAINER...", 1, -1, ACT(ACT_UNPAUSE), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "resume paused containers", .options = start_options},
	{"limit", "CONTAINER", 1, 1, CORE(cli_limit), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "change limits of a running container and verify them",
		.about =
			"They last until the container is recreated; until then an agent differs from its "
			"team file.  A memory limit below current use makes the kernel reclaim memory or "
			"kill processes.  Exits with 1 if the kernel does not enforce the requested limit.",
		.options = limit_options, .schema = "berth.limit/1"},
	{"cp", "CONTAINER:PATH|PATH|- CONTAINER:PATH|PATH|-", 2, 2, "berth-image", IN_IMAGE(cli_cp),
		.needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "copy files between a container and this machine",
		.about =
			"Works like `docker cp`: if the destination is a directory, the source is "
			"copied into it; PATH/. is the content of PATH; - is a tar archive on "
			"standard input or output.  Write a path that contains a colon as ./PATH.  "
			"Existing files are replaced, each in one step on this machine.  Files "
			"copied out belong to you, files copied in to the container's user; -a "
			"keeps the owners; copying out with -a needs root and docker, because podman "
			"does not send the owners.  Directories that exist keep their owner and mode.  "
			"Symbolic links are copied as links.  On this machine no link inside what is "
			"copied is followed, and links from a container that lead out of it are "
			"counted; a destination that is a link to a directory is followed, any other "
			"link is replaced.  Pipes, sockets, devices, extended attributes, set-user-ID "
			"and set-group-ID bits are left out; a directory that is copied in keeps its "
			"set-group-ID bit.  With --read-only, files are copied out to - only.  The "
			"container need not be running.  The engine cannot access a container's tmpfs "
			"mounts, /dev, /proc and /sys: use tar with `berth exec` for these.  Data in "
			"transit is stored in $TMPDIR, or /var/tmp.",
		.options = cp_options},
	{"rm", "CONTAINER...", 1, -1, ACT(ACT_REMOVE), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "remove containers",
		.about =
			"On a terminal it asks you to type their number, elsewhere it needs --yes.  `berth down` "
			"removes an agent together with its session.",
		.options = remove_options},
	{"undo", "[CONTAINER]", 0, 1, CORE(cli_undo), .needs = NEEDS_SETTINGS,
		.help = "list containers removed in the last 10 minutes, or recreate one",
		.about =
			"The new container gets the name, image, command, environment, limits, "
			"networks and volumes that the old one had when berth removed it (rm, the "
			"console, clean), and is started if the old one was running.  Changes in "
			"the old one's own file system and its removed anonymous volumes are lost.  "
			"Agents are recreated by `berth up`.",
		.options = json_options, .schema = "berth.undo/1"},
	{"doctor", "", 0, 0, CORE(cli_doctor),
		.needs = NEEDS_ENGINE | ANY_STATE | PRINTS_USE | TAKES_TEAM,
		.help = "check the system and show how to fix problems",
		.about =
			"Exits with 1 if a requirement of berth is missing.  It also starts the MCP "
			"server as configured for clients in this directory, or with -c FILE for "
			"the first agent of that file, and waits for its first answer.",
		.options = doctor_options, .schema = "berth.doctor/1"},
	{"check", "", 0, 0, CORE(cli_check), .needs = TAKES_TEAM | IS_PLUGIN,
		.help = "print one line and exit as a monitoring plug-in does",
		.about =
			"For cron, Nagios, Icinga and systemd timers: exits with 0 (OK), 1 "
			"(WARNING), 2 (CRITICAL) or 3 (UNKNOWN); performance data follow the text.  "
			"It is CRITICAL if the engine does not answer, or if the audit log is "
			"damaged or cannot be written.  EXPR is a comma-separated list of "
			"conditions, such as disk>90%,unhealthy>0 (see CONDITIONS in berth(1)), on "
			"these figures: agents; up; down (not running); unhealthy; restarting (now, "
			"or restarted in the last ten minutes); oom (ended, or the last command "
			"killed, for lack of memory); limits (memory or processes at 95 % of the "
			"limit, or a budget spent); blocked (held, changed mounts, secrets lost, no "
			"answer from init or egress); drift (differs from its team file, or is in "
			"none); disk (the engine's, as df counts).  The agents are those that "
			"`berth up` started, until `berth down`; with -c FILE all agents of that "
			"file.  Defaults: --warning disk>80%,limits>0,drift>0 and --critical "
			"down>0,unhealthy>0,restarting>0,oom>0,blocked>0,disk>90%; a condition "
			"replaces the default for its figure at that level.  What is not known is "
			"UNKNOWN, never OK; CRITICAL takes precedence over UNKNOWN, and UNKNOWN "
			"over WARNING.  Run it as the user who runs the agents.",
		.options = check_options},
	{"net", "", .help = "network rules and connections of agents without a network",
		.verbs = net_verbs},
	{"agent", "", .help = "list the agents", .verbs = agent_verbs},
	{"host", "", .help = "list the named engines", .verbs = host_verbs},
	{"port", "", .help = "reach a server inside a container from this machine",
		.verbs = port_verbs},
	{"terminal", "", .help = "terminals of agents that outlive the console",
		.verbs = terminal_verbs},
	{"audit", "", .help = "list, check and export the audit log", .verbs = audit_verbs},
	{"journal", "", .help = "commands of an agent, as a list or a recording",
		.verbs = journal_verbs, .usual = "list"},
	{"report", "", 0, 0, CORE(cli_report), .help = "write a report as one HTML page",
		.about =
			"Agents, a time line of their commands, changes, decisions, approvals and "
			"refusals, and the state of the audit log; for agents that are up also the output "
			"of their last commands and their connections.  Without --since or --session: the "
			"last 24 hours.  The page is self-contained and has no scripts.",
		.options = report_options},
	{"up", "FILE", 1, 1, CORE(cli_up), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "create and start the agents of a team file",
		.about = "Agents are started in parallel.  An agent that is up as declared is left "
			 "unchanged; a stale container of berth's is recreated.  Other containers "
			 "are never touched, nor are agents that are up from another file (unless "
			 "--replace is given).  What a definition loosens is "
			 "reported, and so is every limit that is not enforced.",
		.options = up_options, .schema = "berth.up/1"},
	{"down", "[FILE]", 0, 1, CORE(cli_down), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "stop and remove the agents of a team file",
		.about =
			"Workspaces and home volumes stay.  With FILE, takes down everything that "
			"was brought up from it, even if it has changed since, and the agents that "
			"it defines now.  --all asks on a terminal; elsewhere it needs --yes.",
		.options = down_options},
	{"clean", "", 0, 0, CORE(cli_clean), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "remove leftovers of dead processes and ended sessions",
		.about =
			"Shows a plan of exact ids: containers, networks, volumes, images and files "
			"of berth's, each with its size, owner and reason, and what is protected "
			"and why.  On a terminal it asks you to type their number, elsewhere it "
			"prints the plan and exits with 2.  Each item is checked again right before "
			"it is removed; changed items are left alone.  Running containers are "
			"stopped first.  An interrupted plan can be carried out again.  Homes of "
			"ended sessions are included; items in use or made by another berth never "
			"are.  With --all-hosts each host has a plan of its own; berth's own files "
			"are only in the plan of the engine that is used without --all-hosts.  A "
			"host that cannot be reached, or has the same engine id as another one, is "
			"named, and the exit code is not 0.",
		.options = clean_options,
		.schema =
			"berth.clean_plan/1 or berth.clean/1 or berth.clean_plans/1 or berth.clean_hosts/1"},
	{"exec", "AGENT -- CMD ARG...", 1, 1, EITHER(cli_exec, cli_exec_engine),
		.needs = NEEDS_ENGINE | TAKES_TEAM, .takes_words = CLI_WORDS_NEEDED,
		.help = "run a command in a running agent or any other container",
		.about =
			"AGENT is an agent, or the id, the name or the beginning of the id of a "
			"container; an ambiguous name is an error, but an agent with a lane on this "
			"machine takes precedence, because no engine is queried then.  Standard "
			"input is passed on unless it is a terminal; it is neither checked by "
			"command rules nor recorded.  Exits with the code of the command (128+n for "
			"a signal), with 124 when it timed out, 125 when berth itself failed, 126 "
			"when it cannot be executed, 127 when it is not found.  When it exits, all "
			"processes that it started are killed.  The command rules are those of the "
			"last `berth up`, or with -c FILE those of the file.  A container without a "
			"lane (one that berth did not create, or one on another machine, given by "
			"its name or id) is reached through the engine; --json reports which way "
			"was used.  An agent's container that was restarted by something other than "
			"berth (docker restart, a restart policy) runs no command (exit code 125) "
			"until its mounts have been compared with the checked ones, which requires "
			"root on the engine's machine, or until `berth up`.  Over the engine, all "
			"processes of a command are known for certain (\"tree\": \"whole\") where "
			"berth is root on the engine's machine and the container has a shell; "
			"elsewhere a process that hides from its parents and its environment may be "
			"missed (\"best effort\").",
		.options = exec_options, .schema = "berth.exec/1"},
	{"custom", "NAME CONTAINER", 2, 2, CORE(cli_custom), .needs = NEEDS_SETTINGS | NEEDS_ENGINE,
		.help = "run a command of your own, from berth.yaml, for a container",
		.about =
			"run: is a line for sh on this machine, with the container's fields in its "
			"environment: BERTH_NAME, BERTH_ID, BERTH_IMAGE, BERTH_STATE, BERTH_AGENT, "
			"BERTH_SESSION, BERTH_ROLE, BERTH_PROJECT, BERTH_SERVICE, BERTH_PID, "
			"BERTH_PORTS, BERTH_NETWORKS, and DOCKER_HOST for this engine.  exec: is a "
			"line for sh in the container, run as by `berth exec`.  Exits with the code "
			"of the command."},
	{"tool", "", .help = "list and run the tools of a team file (berth -c FILE tool ...)",
		.verbs = tool_verbs},
	{"image", "", .former = "images", .help = "list, build, pull, import and remove images",
		.verbs = image_verbs},
	{"volumes", "", .help = "list and remove volumes of the engine", .verbs = volumes_verbs},
	{"networks", "", .help = "list and remove networks of the engine", .verbs = networks_verbs},
	{"engine", "", .help = "start and stop a private engine", .verbs = engine_verbs},
	{"config", "", .help = "check configuration files", .verbs = config_verbs},
	{"files", "", .help = "read, write, search and copy many files at once",
		.verbs = files_verbs},
	{"workspace", "", .help = "create workspaces, save and restore checkpoints of them",
		.verbs = workspace_verbs},
	{"mcp", "", 0, 0, MCP(cli_mcp), .needs = NEEDS_SETTINGS | TAKES_TEAM,
		.help = "serve an agent's tools to a client of the Model Context Protocol",
		.about =
			"JSON-RPC on standard input and output, for the agent that --agent names in "
			"the file of -c.  It works on the files that the agent's container has, at "
			"the same paths and as its user, runs commands in that container, and runs "
			"custom tools.  Permissions, command rules, limits and the audit log apply "
			"as everywhere else.  The client starts it, and ends it by closing its "
			"standard input.  With --operator it belongs to no agent: it reads what a "
			"console shows, for your own assistant.  The memory of its calls and "
			"answers is bounded (mcp.memory in berth.yaml); calls beyond that wait or "
			"are refused.  An agent sees and runs the custom tools whose agents: names "
			"it; of tools without agents:, those that work in its workspace or name no "
			"workspace.  If a call passes standard input to a command, its size and "
			"SHA-256 are recorded; command rules do not check it.",
		.options = mcp_options},
	{"bench", "", .help = "measure, compare with earlier versions, report",
		.verbs = bench_verbs},
	{"completion", "bash|zsh|fish", 1, 1, BERTH(cli_completion),
		.help = "print the completions of a shell",
		.about = "For example: source <(berth completion bash)", .words = shells},
	{"complete", "[-- WORD...]", 0, 0, BERTH(cli_complete), .takes_words = CLI_WORDS_TAKEN,
		.help = "print completions of the last word, for shells"},
	{"names",
		"containers|tools|contexts|themes|suites|images|workspaces|tags|volumes|networks|checkpoints|filters|sides "
		"[OF]",
		1, 2, CORE(cli_names), .needs = TAKES_TEAM | ANY_STATE,
		.help = "print the names known on this machine",
		.about =
			"OF is the workspace of the checkpoints, or the command (ps, events) of the filters.  "
			"Sides are containers as `berth cp` takes them, with a colon.",
		.words = name_kinds},
	{"help", "[COMMAND|PAGE]", 0, 2, BERTH(cli_help_for),
		.help = "show help for a command, or a page of the manual"},
	{0},
};

/* What berth is without a word: the console, its options, and the commands. */
static const struct cli_command cli_root = {"", "", 0, 0, CORE(cli_console),
	.needs = NEEDS_SETTINGS | TAKES_TEAM, .options = globals, .verbs = commands};

#endif
#endif
