/*
 * commands.c - every command of berth, its options and the program it lives in.
 *
 * A new command is a line here and a run function in its program (core.c for berth-core).
 */
#include <stddef.h>

#include "cli/cli.h"

const struct cli_option cli_globals[] = {
	{'c', "team", "FILE", "team file: agents, tools, networks, secrets"},
	{'H', "host", "HOST", "engine to talk to: unix://PATH, tcp://HOST:PORT"},
	{0, "context", "NAME", "docker context to take the engine from"},
	{0, "theme", "NAME", "colours: a shipped theme or the path of a theme file"},
	{0, "read-only", NULL, "look at everything, change nothing"},
	{0, "ascii", NULL, "draw with ASCII only"},
	{0, "script", "FILE", "run the console by a script, without a terminal"},
	{0, "settings", "FILE", "read this instead of $XDG_CONFIG_HOME/berth/berth.yaml"},
	{'h', "help", NULL, "say what there is to say about a command"},
	{'V', "version", NULL, "print the version"},
	{0},
};

#define JSON(schema)                                                \
	{                                                           \
		0, "json", NULL, "print one JSON document, " schema \
	}

static const struct cli_option ps_options[] = {
	{'a', "all", NULL, "stopped containers too"},
	JSON("berth.ps/1"),
	{0},
};

static const struct cli_option doctor_options[] = {
	JSON("berth.doctor/1"),
	{0},
};

static const struct cli_option status_options[] = {
	JSON("berth.engine/1"),
	{0},
};

static const struct cli_command engine_verbs[] = {
	{"start", "", "berth-core", "start a private engine and wait until it answers",
		"For machines that have dockerd but run none.  Everything it keeps is in the state "
		"directory; beside another engine it gets a network namespace of its own.  "
		"Needs root.  berth finds it by itself when no other engine runs.",
		NULL, NULL, 0, 0, NULL},
	{"stop", "", "berth-core", "stop the private engine and its containers",
		"Images and containers stay on the disk.", NULL, NULL, 0, 0, NULL},
	{"status", "", "berth-core", "say whether the private engine runs",
		"Exits with 0 when it answers, else with 1.", status_options, NULL, 0, 0, NULL},
	{0},
};

static const struct cli_command config_verbs[] = {
	{"check", "FILE", "berth-core", "say what is wrong in a configuration file",
		"Settings (berth.yaml), themes and team files (of berth or MassGen, whose keys without "
		"a use here are listed) are told apart by what is in them.  The first error is printed "
		"with file, line and column, what was found, what was expected and the nearest known "
		"key.",
		NULL, NULL, 1, 1, NULL},
	{0},
};

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

const struct cli_command cli_commands[] = {
	{"ps", "", "berth-core", "print containers and their statistics once",
		"Takes two samples 250 ms apart, so that CPU and rates are real.  Without --all only "
		"running, paused and restarting containers are listed.  Unknown values are null in "
		"JSON and a dash in the table.",
		ps_options, NULL, 0, 0, NULL},
	{"doctor", "", "berth-core", "say what works here, what does not, and the remedy",
		"Exits with 1 when something that berth needs is missing.", doctor_options, NULL, 0,
		0, NULL},
	{"engine", "", NULL, "start and stop a private engine", NULL, NULL, engine_verbs, 0, 0,
		NULL},
	{"config", "", NULL, "check configuration files", NULL, NULL, config_verbs, 0, 0, NULL},
	{"completion", "bash|zsh|fish", NULL, "print the completions of a shell",
		"For example: source <(berth completion bash)", NULL, NULL, 1, 1, shells},
	{"help", "[COMMAND]", NULL, "say what there is to say about a command", NULL, NULL, NULL, 0,
		2, NULL},
	{0},
};
