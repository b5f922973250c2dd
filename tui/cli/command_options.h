/* command_options.h - the options of commands without verbs; included by commands.h, which has those of the groups. */
#ifndef CLI_COMMAND_OPTIONS_H
#define CLI_COMMAND_OPTIONS_H

#include "cli/cli.h"

static const struct cli_option globals[] = {
	{'c', "team", "FILE", "team file: agents, tools, networks, secrets"},
	{'H', "host", "HOST",
		"engine to talk to: unix://PATH, tcp://HOST:PORT, ssh://[USER@]HOST, or a name of hosts in berth.yaml"},
	{0, "context", "CONTEXT", "docker context to take the engine from"},
	{0, "all-contexts", NULL,
		"the engines of all docker contexts, in addition to those of berth.yaml"},
	{0, "theme", "THEME", "colours: a shipped theme or the path of a theme file"},
	{0, "read-only", NULL, "refuse everything that changes something"},
	{0, "ascii", NULL, "draw with ASCII only"},
	{0, "script", "FILE", "run the console from a script, without a terminal"},
	{0, "demo", "FILE", "play a script on this terminal, read-only and slowly enough to watch"},
	{0, "settings", "FILE", "settings to read instead of $XDG_CONFIG_HOME/berth/berth.yaml"},
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
static const struct cli_option json_options[] = {
	JSON,
	{0},
};

#define ALL_HOSTS                                                       \
	{                                                               \
		0, "all-hosts", NULL, "include all hosts in berth.yaml" \
	}

static const struct cli_option ps_options[] = {
	ALL_HOSTS,
	{'a', "all", NULL, "include stopped containers"},
	{'q', "quiet", NULL, "print ids only"},
	{'f', "filter", "KEY=VALUE",
		"only rows that match: id, name (a regex), agent, state, health, image, label, "
		"exited, project, host; repeatable"},
	{0, "format", "FORMAT",
		"table, json, or text with fields such as {{.Name}}; \"table TEXT\" aligns it"},
	JSON,
	{0},
};

static const struct cli_option stats_options[] = {
	ALL_HOSTS,
	{0, "no-stream", NULL, "print one sample and exit"},
	{0, "format", "FORMAT", "table, or text with fields such as {{.Name}} {{.CPU}}, as for ps"},
	{0},
};

static const struct cli_option inspect_options[] = {
	{'f', "format", "FORMAT", "json, or text with fields such as {{.State.Status}}"},
	{0},
};

static const struct cli_option top_options[] = {
	{0, "format", "FORMAT", "table, or text with fields such as {{.PID}} {{.Command}}"},
	{0},
};

#define FOREIGN                                                                 \
	{                                                                       \
		0, "foreign", NULL, "also containers that berth did not create" \
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

static const struct cli_option kill_options[] = {
	{'s', "signal", "SIGNAL", "TERM, INT, HUP, USR1, 15, RTMIN+3 ... (default: KILL)"},
	FOREIGN,
	{0},
};

static const struct cli_option limit_options[] = {
	{'m', "memory", "SIZE", "memory; also swap, if they share one limit"},
	{0, "cpus", "N", "number of CPUs, such as 1.5"},
	{0, "pids", "N", "processes and threads"},
	FOREIGN,
	JSON,
	{0},
};

static const struct cli_option cp_options[] = {
	{'a', "archive", NULL, "keep the owners, by number"},
	{'L', "follow-link", NULL, "follow the source if it is a symbolic link"},
	{'q', "quiet", NULL, "do not print what was copied"},
	{0},
};

static const struct cli_option remove_options[] = {
	{'f', "force", NULL, "kill it first if it is running"},
	{'v', "volumes", NULL, "also remove its anonymous volumes"},
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
	{'g', "grep", "RE", "only matching lines; of all containers if none is named"},
	{0, "filter", "KEY=VALUE", "only containers that match, as for ps; repeatable"},
	{'m', "max", "N", "with --grep: end after N lines (default: 10000)"},
	{0, "json", NULL, "one object per line"},
	{0},
};

static const struct cli_option history_options[] = {
	{0, "all", NULL, "of all containers of an engine together"},
	{0, "since", "WHEN", "not before 2026-11-20T21:45, or 10m, 2h, 3d ago (default: 1h)"},
	{0, "until", "WHEN", "not after (default: now)"},
	{0, "step", "S", "seconds per line (default: the finest that fits 60 lines)"},
	{0, "csv", NULL, "as comma-separated values, a line per recorded step"},
	JSON,
	{0},
};

static const struct cli_option events_options[] = {
	{'f', "filter", "KEY=VALUE", "only events that match: type, event, name, id; repeatable"},
	{0, "since", "WHEN", "from then on, as far as the engine remembers (default 10m)"},
	{0, "until", "WHEN", "up to this time; then it exits"},
	{0, "format", "FORMAT",
		"json, or text with fields such as {{.Type}} {{.Action}} {{.Name}}"},
	{0, "json", NULL, "one object per line"},
	{0},
};

static const struct cli_option doctor_options[] = {
	JSON,
	{0, "fix", NULL, "as root: load berth's AppArmor profile first"},
	{0},
};

static const struct cli_option check_options[] = {
	{0, "warning", "EXPR", "when to warn: disk>80%,drift>0 ..."},
	{0, "critical", "EXPR", "when it is critical: disk>90%,unhealthy>0 ..."},
	{0, "timeout", "S", "report what is not known after S seconds as UNKNOWN (default: 10)"},
	{0},
};

static const struct cli_option report_options[] = {
	{0, "session", "ID", "only what belongs to this session (`berth ps --json` names it)"},
	{0, "since", "TIME", "2026-11-20T21:45, or 10m, 2h, 3d ago"},
	{0, "until", "TIME", "likewise"},
	{'o', "out", "FILE", "file to write, readable only by you (default: standard output)"},
	{0},
};

static const struct cli_option up_options[] = {
	{0, "create", NULL, "create workspaces that do not exist"},
	{0, "final", "AGENT",
		"MassGen's final agent: the only one that may write to context paths"},
	{0, "workspace", "[AGENT=]DIR",
		"an agent's workspace of a MassGen run (default: the newest run); repeatable"},
	{0, "replace", NULL,
		"take over agents of these names that are up from another file, and end what they run"},
	JSON,
	{0},
};

static const struct cli_option down_options[] = {
	{0, "all", NULL, "all of your agents"},
	{'y', "yes", NULL, "with --all: do not ask"},
	{0},
};

static const struct cli_option clean_options[] = {
	ALL_HOSTS,
	{0, "foreign", NULL,
		"include things that berth did not create: exited containers, unused networks, "
		"dangling images and anonymous volumes"},
	{'n', "dry-run", NULL, "only show the plan"},
	{0, "plan", "FILE", "carry out a saved plan (-: standard input)"},
	{'y', "yes", NULL, "carry the plan out without asking"},
	{0, "timeout", "S", "give up after S seconds (default: 5 minutes, plus 5 s for each item)"},
	{0, "json", NULL, "print one JSON document: the plan, or its outcome"},
	{0},
};

static const struct cli_option exec_options[] = {
	{0, "timeout", "S", "kill it and all processes that it started after S seconds"},
	{'t', "tty", NULL, "give it a terminal"},
	{'i', "interactive", NULL, "pass standard input on, even if it is a terminal"},
	{'w', "workdir", "DIR", "start it in this directory of the container"},
	{'e', "env", "NAME=VALUE",
		"set a variable; with NAME alone, to its value here; repeatable"},
	{'u', "user", "USER", "run it as this user; containers of berth's allow only their own"},
	JSON,
	{0},
};

static const struct cli_option tool_run_options[] = {
	{0, "timeout", "S",
		"kill it and all processes that it started after S seconds; at most the tool's own limit"},
	{0, "workspace", "DIR", "workspace, for a tool whose definition names none"},
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

static const struct cli_option image_remove_options[] = {
	{0, "force", NULL, "even if it has several names, or stopped containers use it"},
	JSON,
	{0},
};

static const struct cli_option held_list_options[] = {
	{'q', "quiet", NULL, "print ids only; of volumes, their names"},
	{0, "fast", NULL, "leave out sizes, which the engine must measure"},
	JSON,
	{0},
};

static const struct cli_option held_remove_options[] = {
	{'n', "dry-run", NULL, "only show the plan"},
	{'y', "yes", NULL, "carry the plan out without asking"},
	{0, "timeout", "S", "give up after S seconds (default: 5 minutes, plus 5 s for each item)"},
	{0, "json", NULL, "print one JSON document: the plan, or its outcome"},
	{0},
};

#endif
