/* team.c - team files: both forms, defaults, and every way to get them wrong. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/team.h>
#include <berth/text.h>

static void parse_team(const char *text, struct team *t)
{
	struct err e = ERR_INIT;

	if (team_parse("team.yaml", text, strlen(text), "/base", t, &e))
		fail_msg("%s", e.msg);
}

static void refuse_team(const char *text, const char *sentence)
{
	struct team t;
	struct err e = ERR_INIT;

	assert_int_equal(team_parse("t", text, strlen(text), "/base", &t, &e), -1);
	assert_int_equal(e.kind, ERR_CONFIG);
	if (!strstr(e.msg, sentence))
		fail_msg("expected \"%s\" in \"%s\"", sentence, e.msg);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, 0644);
}

static void test_idle_rule(void **state)
{
	static const struct {
		const char *idle;
		int64_t seconds; /* 0: refused */
	} some[] = {{"{pause: 10m}", 600}, {"{pause: 1s}", 1}, {"{pause: 30d}", 2592000},
		{"{pause: 31d}", 0}, {"{pause: 0s}", 0}, {"{pause: soon}", 0}, {"{pause: [1m]}", 0},
		{"{}", 0}, {"10m", 0}, {"{stop: 10m}", 0}};
	struct team t;
	char text[160];

	(void)state;
	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		snprintf(text, sizeof text, "agents: {a: {workspace: './w', idle: %s}}\n",
			some[i].idle);
		if (!some[i].seconds) {
			refuse_team(text, i < 7 ? "a time from 1s to 30d" : "");
			continue;
		}
		parse_team(text, &t);
		assert_int_equal(team_agent(&t, "a")->idle_pause_s, some[i].seconds);
		team_release(&t);
	}
}

static void test_terminals(void **state)
{
	static const struct {
		const char *terminal, *why;
	} wrong[] = {
		{"{size: 120}", "t:1:49: expected COLUMNSxROWS such as 120x30: 2 to 512"},
		{"{size: 1x30}", "expected COLUMNSxROWS"},
		{"{size: 120x30x2}", "expected COLUMNSxROWS"},
		{"{size: 120x999}", "expected COLUMNSxROWS"},
		{"{size: [80, 24]}", "expected COLUMNSxROWS"},
		{"{restart: always}", "on-failure"},
		{"{restrat: no}", "did you mean \"restart\""},
		{"{name: ../x}", "a terminal's name has up to 32 letters"},
		{"{name: [a]}", "a terminal's name"},
		{"{command: ''}", "expected"},
		{"{command: []}", "expected a program"},
		{"{command: {a: b}}", "expected a list"},
		{"[{command: sh}, {name: b}]", "each of several terminals needs a name"},
		{"[{name: a}, {name: a}]", "the name a is that of the terminal in line 1, too"},
		{"sh", "expected keys with values"},
	};
	const struct terminal_def *d;
	struct team t;
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		snprintf(text, sizeof text, "agents: {a: {workspace: './w', terminal: %s}}\n",
			wrong[i].terminal);
		refuse_team(text, wrong[i].why);
	}
	parse_team(
		"agents:\n"
		"  a: {workspace: './w', terminal: {command: claude}}\n"
		"  b:\n"
		"    workspace: './w'\n"
		"    terminal:\n"
		"      - {name: x, command: [codex, --full-auto], size: 120x30, restart: on-failure}\n"
		"      - {name: y, command: 'cd /tmp && htop'}\n"
		"  c: {workspace: './w', terminal: {}}\n"
		"  d: {workspace: './w'}\n",
		&t);
	d = team_agent(&t, "a")->terminals;
	assert_int_equal(team_agent(&t, "a")->nterminals, 1);
	assert_string_equal(d->name, "main");
	assert_string_equal(d->command.word[0], "claude");
	assert_true(d->columns == 80 && d->rows == 24 && !d->on_failure);
	d = team_agent(&t, "b")->terminals;
	assert_int_equal(team_agent(&t, "b")->nterminals, 2);
	assert_string_equal(d->name, "x");
	assert_int_equal(d->command.n, 2);
	assert_true(d->columns == 120 && d->rows == 30 && d->on_failure);
	assert_int_equal(d[1].command.n, 3);
	assert_string_equal(d[1].command.word[2], "cd /tmp && htop");
	assert_int_equal(team_agent(&t, "c")->nterminals, 1);
	assert_int_equal(team_agent(&t, "c")->terminals->command.n, 0);
	assert_int_equal(team_agent(&t, "d")->nterminals, 0);
	team_release(&t);
}

static void test_checkpoints(void **state)
{
	static const struct {
		const char *every;
		int64_t seconds; /* 0: refused */
	} some[] = {{"1s", 1}, {"90s", 90}, {"10m", 600}, {"2h", 7200}, {"30d", 2592000},
		{"31d", 0}, {"0s", 0}, {"10", 0}, {"m", 0}, {"10 m", 0}, {"-1m", 0}, {"1m30s", 0},
		{"99999999999h", 0}, {"commands", 0}, {"[1m]", 0}, {"''", 0}};
	struct team t;
	char text[160];

	(void)state;
	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		snprintf(text, sizeof text,
			"agents: {a: {workspace: 'task:t', checkpoints: {every: %s}}}\n",
			some[i].every);
		if (!some[i].seconds) {
			refuse_team(text, "a time from 1s to 30d");
			continue;
		}
		parse_team(text, &t);
		assert_int_equal(team_agent(&t, "a")->checkpoints.every_s, some[i].seconds);
		assert_int_equal(team_agent(&t, "a")->checkpoints.keep, 20);
		assert_false(team_agent(&t, "a")->checkpoints.commands);
		team_release(&t);
	}
	parse_team("agents:\n"
		   "  a: {workspace: 'project:p', checkpoints: {keep: 3, every: command}}\n"
		   "  b: {workspace: 'task:t'}\n",
		&t);
	assert_true(team_agent(&t, "a")->checkpoints.commands);
	assert_int_equal(team_agent(&t, "a")->checkpoints.every_s, 0);
	assert_int_equal(team_agent(&t, "a")->checkpoints.keep, 3);
	assert_int_equal(team_agent(&t, "b")->checkpoints.keep, 0);
	team_release(&t);
}

static void test_berth(void **state)
{
	struct team t;
	const struct agent_def *a;
	const struct tool_def *tool;

	(void)state;
	parse_team("agents:\n"
		   "  a:\n"
		   "    role: researcher\n"
		   "    workspace: ./ws/../a\n"
		   "    memory: 512m\n"
		   "    cpus: 1.5\n"
		   "    network: {internal: team}\n"
		   "    context_paths:\n"
		   "      - {path: docs, protected_paths: [secret]}\n"
		   "      - {path: /srv/x, permission: write}\n"
		   "    packages: {python: [click]}\n"
		   "    secrets: [key]\n"
		   "    env: {A: 1, B: \"two words\"}\n"
		   "  b: {workspace: /w/b, sudo: true, apparmor: optional,\n"
		   "      runtime: runsc}\n"
		   "custom_tools:\n"
		   "  fetch: {type: docker, image: py, script: \"echo $1\", timeout: 5,\n"
		   "          resources: {memory: 64m, cpu: 0.5, pids: 20},\n"
		   "          isolation: {network: none, filesystem: workspace,\n"
		   "                      runtime: io.containerd.runc.v2}, pool: {size: 2}}\n"
		   "networks: {team: {members: [a, b]}}\n"
		   "secrets: {key: {env: API_KEY}}\n",
		&t);
	assert_int_equal(t.kind, TEAM_BERTH);
	assert_int_equal(t.nagents, 2);
	a = team_agent(&t, "a");
	assert_string_equal(a->workspace, "/base/a");
	assert_string_equal(a->container, "berth-a");
	assert_int_equal(a->limits.memory_bytes, 512u << 20);
	assert_true(a->limits.cpus == 1.5);
	assert_int_equal(a->limits.pids, 256);
	assert_int_equal(a->network, NET_INTERNAL);
	assert_string_equal(a->paths[0].path, "/base/docs");
	assert_false(a->paths[0].write);
	assert_string_equal(a->paths[0].protected_paths.word[0], "/base/docs/secret");
	assert_true(a->paths[1].write);
	assert_string_equal(a->env.word[1], "B=two words");
	assert_true(team_agent(&t, "b")->sudo);
	assert_true(team_agent(&t, "b")->apparmor_optional);
	assert_false(a->apparmor_optional);
	assert_string_equal(team_agent(&t, "b")->runtime, "runsc");
	assert_null(a->runtime);
	assert_string_equal(team_tool(&t, "fetch")->runtime, "io.containerd.runc.v2");
	assert_null(team_agent(&t, "c"));
	tool = team_tool(&t, "fetch");
	assert_int_equal(tool->command.n, 4);
	assert_string_equal(tool->command.word[2], "echo $1");
	assert_int_equal(tool->files, TOOL_WORKSPACE);
	assert_int_equal(tool->limits.timeout_s, 5);
	assert_int_equal(tool->pool_size, 2);
	assert_int_equal(t.secrets[0].from, SECRET_ENV);
	team_release(&t);
}

static void test_bound(void **state)
{
	struct team t;

	(void)state;
	setenv("XDG_DATA_HOME", "/tmp/berth-team-data", 1);
	parse_team(
		"agents:\n"
		"  a: {workspace: task:fix-1}\n"
		"  b: {workspace: 'project:site'}\n"
		"  c: {workspace: ./task:fix-1}\n"
		"custom_tools:\n"
		"  x: {image: i, script: s, isolation: {filesystem: workspace, workspace: task:fix-1}}\n",
		&t);
	assert_string_equal(
		t.agents[0].workspace, "/tmp/berth-team-data/berth/workspaces/tasks/fix-1");
	assert_string_equal(t.agents[0].bound, "task:fix-1");
	assert_string_equal(
		t.agents[1].workspace, "/tmp/berth-team-data/berth/workspaces/projects/site");
	assert_string_equal(t.agents[1].bound, "project:site");
	assert_string_equal(t.agents[2].workspace, "/base/task:fix-1");
	assert_null(t.agents[2].bound);
	assert_string_equal(t.tools[0].workspace, t.agents[0].workspace);
	team_release(&t);
	rmdir("/tmp/berth-team-data/berth");
	rmdir("/tmp/berth-team-data");
	unsetenv("XDG_DATA_HOME");
}

static void test_massgen(void **state)
{
	struct team t;
	const struct agent_def *a;

	(void)state;
	parse_team("agents:\n"
		   "  - id: agent_a\n"
		   "    backend:\n"
		   "      type: openai\n"
		   "      model: gpt-5-nano\n"
		   "      cwd: workspace1\n"
		   "      enable_mcp_command_line: true\n"
		   "      command_line_execution_mode: docker\n"
		   "      command_line_docker_memory_limit: \"512m\"\n"
		   "      command_line_docker_cpu_limit: 2.0\n"
		   "      command_line_docker_network_mode: bridge\n"
		   "      command_line_srt_read_mode: strict\n"
		   "  - id: agent_b\n"
		   "    backend: {cwd: w2, command_line_docker_enable_sudo: true}\n"
		   "    system_message: be good\n"
		   "orchestrator:\n"
		   "  snapshot_storage: snapshots\n"
		   "  agent_temporary_workspace: temp\n"
		   "  context_paths: [{path: /srv/docs, permission: read}]\n"
		   "ui: {display_type: rich}\n",
		&t);
	assert_int_equal(t.kind, TEAM_MASSGEN);
	a = &t.agents[0];
	assert_string_equal(a->container, "massgen-agent_a");
	assert_string_equal(a->image, "massgen/mcp-runtime:latest");
	assert_string_equal(a->workspace, "/base/workspace1");
	assert_string_equal(a->temporary, "/base/temp");
	assert_string_equal(a->snapshots, "/base/snapshots");
	assert_int_equal(a->limits.memory_bytes, 512u << 20);
	assert_int_equal(a->network, NET_BRIDGE);
	assert_true(a->commands);
	assert_int_equal(a->npaths, 1);
	assert_string_equal(t.agents[1].image, "massgen/mcp-runtime-sudo:latest");
	assert_int_equal(t.agents[1].network, NET_NONE);
	assert_int_equal(t.nignored, 8);
	assert_string_equal(t.ignored[0].key, "ui");
	assert_string_equal(t.ignored[1].key, "agents[0].backend.type");
	assert_string_equal(t.ignored[3].key, "agents[0].backend.command_line_srt_read_mode");
	team_release(&t);
	parse_team("agent: {id: solo, backend: {cwd: /w}}\n", &t);
	assert_int_equal(t.nagents, 1);
	team_release(&t);
}

/* The smallest that MassGen takes, and modes that it would run on the host. */
static void test_massgen_as_it_is(void **state)
{
	struct team t;

	(void)state;
	parse_team("agents:\n"
		   "  - backend: {cwd: a}\n"
		   "  - backend: {type: gemini}\n"
		   "  - backend: {cwd: c, enable_mcp_command_line: true, "
		   "command_line_execution_mode: local}\n"
		   "  - {id: d, backend: {cwd: d, enable_mcp_command_line: true, "
		   "command_line_execution_mode: docker, command_line_docker_credentials: "
		   "{env_file: .env, env_vars_from_file: [KEY]}}}\n",
		&t);
	assert_int_equal(t.nagents, 3);
	assert_string_equal(t.agents[0].id, "agent1");
	assert_false(t.agents[0].commands);
	assert_string_equal(t.agents[1].id, "agent3");
	assert_true(t.agents[1].commands);
	assert_string_equal(t.agents[2].credentials.from_file.word[0], "KEY");
	assert_int_equal(t.nignored, 7);
	assert_string_equal(t.ignored[0].key, "agents[0].backend.cwd");
	assert_string_equal(t.ignored[1].key, "agents[0].backend.enable_mcp_command_line");
	assert_string_equal(t.ignored[2].key, "agents[1].backend.type");
	assert_null(t.ignored[2].why);
	assert_string_equal(t.ignored[3].key, "agents[1]");
	assert_string_equal(t.ignored[4].key, "agents[2].backend.cwd");
	assert_string_equal(t.ignored[5].key, "agents[2].backend.command_line_execution_mode");
	assert_non_null(strstr(t.ignored[5].why, "on the host"));
	team_release(&t);
}

/* One of several is the final agent, and only it may write to context paths. */
static void test_massgen_final(void **state)
{
	static const char *const text =
		"agents:\n"
		"  - {id: a, backend: {cwd: a, context_paths: [{path: /own, permission: write}]}}\n"
		"  - {id: b, backend: {cwd: b}}\n"
		"  - {id: c, backend: {type: openai}}\n"
		"orchestrator:\n"
		"  context_paths:\n"
		"    - {path: /docs}\n"
		"    - {path: /src, permission: write, protected_paths: [keep]}\n";
	struct team t;
	struct err e = ERR_INIT;

	(void)state;
	parse_team(text, &t);
	assert_int_equal(t.agents[0].npaths, 3);
	for (size_t i = 0; i < t.nagents; i++)
		for (size_t k = 0; k < t.agents[i].npaths; k++)
			assert_false(t.agents[i].paths[k].write);
	assert_string_equal(t.ignored[0].key, "orchestrator.context_paths");
	assert_int_equal(t.ignored[0].at.line, 8);
	assert_non_null(strstr(t.ignored[0].why, "/src"));
	assert_int_equal(team_final(&t, "c", &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_int_equal(team_final(&t, "a", &e), 0);
	assert_true(t.agents[0].paths[1].write);
	assert_true(t.agents[0].paths[2].write);
	assert_false(t.agents[0].paths[0].write);
	assert_string_equal(t.agents[0].paths[1].protected_paths.word[0], "/src/keep");
	for (size_t k = 0; k < t.agents[1].npaths; k++)
		assert_false(t.agents[1].paths[k].write);
	team_release(&t);
	/* As MassGen joins them: of a path that both have, the orchestrator's holds. */
	parse_team(
		"agents: [{backend: {cwd: a, context_paths: [{path: /src, permission: write}, {path: /own}]}}]\n"
		"orchestrator: {context_paths: [{path: /src/./}]}\n",
		&t);
	assert_int_equal(t.agents[0].npaths, 2);
	assert_false(t.agents[0].paths[0].write);
	assert_string_equal(t.agents[0].paths[1].path, "/own");
	team_release(&t);
	/* The only one is it, though there is a list; one that needs no container counts. */
	parse_team("agents: [{backend: {cwd: a}}]\n"
		   "orchestrator: {context_paths: [{path: /src, permission: write}]}\n",
		&t);
	assert_true(t.agents[0].paths[0].write);
	team_release(&t);
	parse_team("agents: [{backend: {cwd: a}}, {backend: {type: x}}]\n"
		   "orchestrator: {context_paths: [{path: /src, permission: write}]}\n",
		&t);
	assert_false(t.agents[0].paths[0].write);
	team_release(&t);
	parse_team("agents: {a: {workspace: w}}\n", &t);
	assert_int_equal(team_final(&t, "a", &e), -1);
	team_release(&t);
}

/* Tools of one agent, of all; and the time of the whole run. */
/* Who may call a tool: those that it names; else whoever has its workspace; else all. */
static void test_tool_agents(void **state)
{
	static const struct {
		const char *tool;
		bool a, b;
	} cases[] = {{"free", true, true}, {"lent", true, true}, {"bound", true, false},
		{"within", true, false}, {"far", false, false}, {"given", false, true},
		{"both", true, true}, {"none", false, false}};
	struct team t;

	(void)state;
	parse_team(
		"agents: {a: {workspace: a}, b: {workspace: b}}\n"
		"custom_tools:\n"
		"  free: {image: i, command: [x]}\n"
		"  lent: {image: i, command: [x], isolation: {filesystem: workspace}}\n"
		"  bound: {image: i, command: [x], isolation: {filesystem: workspace, workspace: a}}\n"
		"  within: {image: i, command: [x], isolation: {filesystem: workspace, workspace: a/deep}}\n"
		"  far: {image: i, command: [x], isolation: {filesystem: workspace, workspace: ab}}\n"
		"  given: {image: i, command: [x], isolation: {filesystem: workspace, workspace: a}, agents: [b]}\n"
		"  both: {image: i, command: [x], agents: [a, b]}\n"
		"  none: {image: i, command: [x], agents: []}\n",
		&t);
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct tool_def *d = team_tool(&t, cases[i].tool);

		assert_int_equal(team_may_call(&t.agents[0], d), cases[i].a);
		assert_int_equal(team_may_call(&t.agents[1], d), cases[i].b);
	}
	team_release(&t);
	refuse_team(
		"agents: {a: {workspace: a}}\ncustom_tools: {x: {image: i, command: [x], agents: [b]}}\n",
		"names b, which is not an agent");
}

static void test_massgen_tools(void **state)
{
	struct team t;

	(void)state;
	parse_team("agents:\n"
		   "  - id: a\n"
		   "    backend:\n"
		   "      cwd: a\n"
		   "      custom_tools: {own: {type: docker, image: i, command: [x], isolation: "
		   "{filesystem: workspace}}}\n"
		   "  - id: b\n"
		   "    backend: {cwd: b, custom_tools: [{name: [f], path: massgen/tool.py}]}\n"
		   "custom_tools: {all: {image: i, command: 'wc -l \"$@\"'}}\n"
		   "timeout_settings: {orchestrator_timeout_seconds: 300, initial_round: 5}\n",
		&t);
	assert_int_equal(t.ntools, 2);
	assert_null(team_tool(&t, "all")->agents.word);
	assert_string_equal(team_tool(&t, "all")->command.word[0], "/bin/sh");
	assert_string_equal(team_tool(&t, "own")->agents.word[0], "a");
	assert_int_equal(team_tool(&t, "own")->agents.n, 1);
	assert_string_equal(team_tool(&t, "own")->workspace, "/base/a");
	assert_int_equal(team_tool(&t, "own")->command.n, 1);
	assert_int_equal(t.agents[0].limits.timeout_s, 300);
	assert_string_equal(t.ignored[0].key, "timeout_settings.initial_round");
	assert_string_equal(t.ignored[3].key, "agents[1].backend.custom_tools");
	assert_non_null(strstr(t.ignored[3].why, "on the host"));
	team_release(&t);
	refuse_team("agents: [{backend: {cwd: a, custom_tools: {x: {image: i, command: [x]}}}}]\n"
		    "custom_tools: {x: {image: i, command: [x]}}\n",
		"the tool x is defined twice");
	refuse_team("agent: {backend: {cwd: a, custom_tools: {x: {image: i, comand: [x]}}}}\n",
		"did you mean \"command\"?");
	refuse_team(
		"agent: {backend: {cwd: a}}\ntimeout_settings: {orchestrator_timeout_seconds: 0}\n",
		"t:2:");
	refuse_team(
		"agent: {backend: {cwd: a}}\ntimeout_settings: {orchestrator_timeout_second: 5}\n",
		"did you mean orchestrator_timeout_seconds?");
}

/* A file beside the team file, and what runs it. */
static void test_scripts(void **state)
{
	static const struct {
		const char *script, *word[3];
	} table[] = {
		{"tools/a.py", {"python3", "/tool/a.py", NULL}},
		{"./tools/env", {"/usr/bin/env", "python3 -u", "/tool/env"}},
		{"./tools/dos", {"/bin/sh", "/tool/dos", NULL}},
		{"c.js", {"node", "/tool/c.js", NULL}}, /* not there: told when it is looked for */
		{"wc -l ./x", {"/bin/sh", "-c", "wc -l ./x"}},
		{"/bin/true", {"/bin/sh", "-c", "/bin/true"}},
		{"true", {"/bin/sh", "-c", "true"}},
	};
	char dir[] = "/tmp/berth-team-XXXXXX", text[256];
	struct team t;
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("tools", 0755), 0);
	write_text("tools/a.py", "print(1)\n");
	write_text("tools/env", "#! /usr/bin/env python3 -u \nprint(1)\n");
	write_text("tools/dos", "#!/bin/sh\r\n");
	write_text("tools/odd", "#!relative\n");
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		snprintf(text, sizeof text, "custom_tools: {t: {image: i, script: \"%s\"}}\n",
			table[i].script);
		if (team_parse("t", text, strlen(text), dir, &t, &e))
			fail_msg("%s", e.msg);
		for (size_t k = 0; k < 3 && table[i].word[k]; k++)
			assert_string_equal(t.tools[0].command.word[k], table[i].word[k]);
		team_release(&t);
	}
	snprintf(text, sizeof text, "custom_tools: {t: {image: i, script: ./tools/odd}}\n");
	assert_int_equal(team_parse("t", text, strlen(text), dir, &t, &e), -1);
	assert_non_null(strstr(e.msg, "has no #! line"));
	refuse_team(
		"custom_tools: {t: {image: i, script: a.py, command: [x]}}\n", "either script:");
	assert_int_equal(unlink("tools/a.py") | unlink("tools/env") | unlink("tools/dos") |
			unlink("tools/odd") | rmdir("tools") | chdir("/") | rmdir(dir),
		0);
}

static void test_massgen_misspelt(void **state)
{
	(void)state;
	refuse_team("agent:\n  id: a\n  backend:\n    cwd: w\n    enable_mcp_comand_line: true\n",
		"t:5:5: unknown key \"enable_mcp_comand_line\"; did you mean enable_mcp_command_line");
	refuse_team("agent:\n  id: a\n  backend: {cwd: w, command_line_docker_memroy_limit: 2g}\n",
		"did you mean command_line_docker_memory_limit");
	refuse_team("agent:\n  id: a\n  backend: {cwd: w, command_line_docker_gpu: all}\n",
		"unknown key \"command_line_docker_gpu\"");
	refuse_team("agent:\n  id: a\n  backend: {cwd: w, command_line_exec_mode: docker}\n",
		"did you mean command_line_execution_mode?");
	refuse_team("agents: [{backend: {cwd: w}}, {id: agent1, backend: {cwd: w}}]\n",
		"agent1 is used twice");
	refuse_team(
		"agent: {backend: {cwd: w, command_line_docker_credentials: {env_vars_from_file: [A]}}}\n",
		"name it under env_file:");
	refuse_team(
		"agents: [{id: a, backend: {cwd: w}}, {id: a, backend: {cwd: w}}]\n", "used twice");
	refuse_team("agents: [{id: ../x, backend: {cwd: w}}]\n", "is not a valid name");
	refuse_team(
		"agnets: [{id: a, backend: {cwd: w}}]\norchestrator: {}\n", "did you mean agents");
	refuse_team(
		"agent: {id: a, backend: {cwd: w, command_line_docker_credentials: {pass_all_env: true}}}\n",
		"would hand every secret");
}

/* The two ways to ask for TLS on a port are one rule. */
static void test_rules_with_tls(void **state)
{
	static const char *const want[] = {"a.org", "tls://b.org:8443", "tls://*.c.org:8443",
		"d.org:22", "tls://e.org", "f.org:22"};
	struct team t;

	(void)state;
	parse_team(
		"agents:\n"
		"  a: {workspace: w, network: {deny: x.org, allow: [a.org, {host: \"b.org:8443\", tls: true},\n"
		"      \"tls://*.c.org:8443\", {host: \"d.org:22\"}, {tls: yes, host: e.org},\n"
		"      {host: \"f.org:22\", tls: false}]}}\n"
		"  b: {workspace: w, network_rate: 1m, network: {allow: {host: \"b.org:1\", tls: true}}}\n",
		&t);
	assert_int_equal(t.agents[0].egress.allow.n, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++)
		assert_string_equal(t.agents[0].egress.allow.word[i], want[i]);
	assert_int_equal(t.agents[0].egress.deny.n, 1);
	assert_string_equal(t.agents[1].egress.allow.word[0], "tls://b.org:1");
	assert_int_equal(t.agents[1].net_rate_bytes, 1 << 20);
	team_release(&t);
}

/* What of this machine an agent reaches is told as loosened, by a rule or by a route. */
static void test_own_host(void **state)
{
#define ROUTE "header: \"K: ${secret:S}\", allow: [GET /]"
	static const struct {
		const char *network, *own; /* NULL: nothing */
	} some[] = {
		{"{allow: [a.org]}", NULL},
		{"{allow: [a.org, \"host.docker.internal:1\"]}", "allow: host.docker.internal:1"},
		{"{routes: {r: {to: \"https://a.org\", " ROUTE "}}}", NULL},
		{"{routes: {r: {to: \"http://127.0.0.1:1\", " ROUTE "}}}", "routes: r"},
		{"{routes: {r: {to: \"https://localhost\", " ROUTE "}}}", "routes: r"},
		{"{routes: {r: {to: \"https://[::1]:1\", " ROUTE "}}}", "routes: r"},
	};
	char text[512];
	struct team t;

	(void)state;
	for (size_t i = 0; i < COUNT(some); i++) {
		snprintf(text, sizeof text,
			"agents: {a: {workspace: w, network: %s}}\nsecrets: {S: {env: S}}\n",
			some[i].network);
		parse_team(text, &t);
		if (some[i].own)
			assert_string_equal(t.agents[0].egress.own_host, some[i].own);
		else
			assert_null(t.agents[0].egress.own_host);
		team_release(&t);
	}
}

static void test_berth_wrong(void **state)
{
	(void)state;
	refuse_team("agents: {a: {workspace: w, memroy: 2g}}\n", "did you mean");
	refuse_team("agents: {a: {role: x}}\n", "needs workspace:");
	refuse_team("agents: {a: {workspace: 'task:'}}\n", "is not a valid workspace");
	refuse_team("agents: {a: {workspace: 'task:../x'}}\n", "is not a valid workspace");
	refuse_team("agents: {a: {workspace: 'project:.x'}}\n", "is not a valid workspace");
	refuse_team("agents: {a: {workspace: [x]}}\n", "task:ID");
	refuse_team("agents: {a: {workspace: w, memory: 1k}}\n", "expected an amount");
	refuse_team("agents: {a: {workspace: w, cpus: -1}}\n", "t:1:");
	refuse_team("agents: {a: {workspace: w, network: bridged}}\n", "t:1:");
	refuse_team("agents: {a: {workspace: w, network: {internal: n}}}\n",
		"not declared under networks:");
	refuse_team("agents: {a: {workspace: w, secrets: [s]}}\n", "not declared under secrets:");
	refuse_team("agents: {a: {workspace: w}}\nsecrets: {s: {value: x}}\n", "unknown key");
	refuse_team("agents: {a: {workspace: w}}\nsecrets: {s: {env: A, file: b}}\n",
		"needs one of env:");
	refuse_team("agents: {a: {workspace: w}}\nnetworks: {n: {members: [z]}}\n",
		"not an agent or tool of this file");
	refuse_team(
		"agents: {a: {workspace: w, network: {internal: n}}}\nnetworks: {n: {members: []}}\n",
		"not among the members");
	refuse_team("agents: {a: {workspace: w, network_rate: 1m}}\n", "has nothing to limit");
	refuse_team("agents: {a: {workspace: w, network: {allow: [{tls: true}]}}}\n",
		"t:1:46: expected a host");
	refuse_team("agents: {a: {workspace: w, network: {allow: [{host: a.org, tsl: true}]}}}\n",
		"did you mean \"tls\"");
	refuse_team("agents: {a: {workspace: w, network: {allow: [{host: a.org, tls: false}]}}}\n",
		"is always TLS");
	refuse_team(
		"agents: {a: {workspace: w, network: {allow: [{host: \"10.0.0.1:1\", tls: true}]}}}\n",
		"TLS does not name addresses");
	refuse_team(
		"agents: {a: {workspace: w, network: {deny: [{host: \"a.org:1\", tls: true}]}}}\n",
		"applies to every protocol");
	refuse_team("agents: {a: {workspace: w, network: {allow: [a.org, [b.org]]}}}\n",
		"expected a word");
	refuse_team("agents: {a: {workspace: w, checkpoints: {every: command}}}\n",
		"t:1:41: checkpoints: of the agent a");
	refuse_team("agents: {a: {workspace: 'task:t', checkpoints: {keep: 3}}}\n",
		"needs every: command");
	refuse_team(
		"agents: {a: {workspace: 'task:t', checkpoints: {every: 1h, keep: 0}}}\n", "t:1:");
	refuse_team(
		"agents: {a: {workspace: 'task:t', checkpoints: {every: 1h, kept: 4}}}\n", "keep");
	refuse_team("agents: {a: {workspace: 'task:t', checkpoints: 10m}}\n", "keys with values");
	refuse_team(
		"agents: {a: {workspace: w, network: host, network_rate: 1m}}\n", "the host's own");
	refuse_team("agents: {a: {workspace: w, ports: [3000, 80x]}}\n",
		"found \"80x\", expected the number of a port");
	refuse_team("agents: {a: {workspace: w, ports: [\"3000:80\"]}}\n", "number of a port");
	refuse_team("agents: {a: {workspace: w, ports: 0}}\n", "number of a port");
	refuse_team("agents: {a: {workspace: w, ports: {a: b}}}\n", "expected a list");
	refuse_team(
		"agents: {a: {workspace: w, ports: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}}\n",
		"at most 16");
	refuse_team("agents: {a: {workspace: w, network: host, ports: [80]}}\n", "already open");
	refuse_team("custom_tools: {t: {type: docker, script: x}}\n", "needs image:");
	refuse_team("custom_tools: {t: {type: docker, image: i}}\n",
		"needs either script: or command:");
	refuse_team("custom_tools: {t: {type: podman, image: i, script: x}}\n", "docker");
	refuse_team("agents: {\"a b\": {workspace: w}}\n", "is not a valid name");
	refuse_team("agents: {a: {workspace: w, packages: {python: [--index-url=x]}}}\n",
		"is an option");
	refuse_team(
		"agents: {a: {workspace: w, context_paths: [{path: /d, protected_paths: [../x]}]}}\n",
		"not below");
	refuse_team(
		"agents: {a: {workspace: w, env: {\"A=B\": c}}}\n", "not a valid variable name");
	refuse_team("agents: {a: {workspace: w, env: {A: null}}}\n",
		"the variable A has no value: write \"\" for an empty one");
	refuse_team("agents:\n  a:\n    workspace: w\n    env:\n      A:\n", "has no value");
	refuse_team("{}\n", "neither agents: nor custom_tools:");
	refuse_team("agents: 5\n", "expected keys with values");
}

static void test_owner(void **state)
{
	char dir[] = "/tmp/berth-team-XXXXXX", file[64], below[64];
	struct team t;
	struct err e = ERR_INIT;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof file, "%s/team.yaml", dir);
	f = fopen(file, "w");
	fputs("agents: {a: {workspace: w}}\n", f);
	fclose(f);
	chmod(file, 0644);
	assert_int_equal(team_read(file, "/elsewhere", &t, &e), 0);
	assert_string_equal(t.agents[0].workspace + strlen(t.base), "/w");
	assert_string_not_equal(t.base, "/elsewhere");
	team_release(&t);
	chmod(file, 0666);
	assert_int_equal(team_read(file, "/", &t, &e), -1);
	assert_non_null(strstr(e.msg, "can be written by others"));
	chmod(file, 0644);
	chmod(dir, 0777);
	assert_int_equal(team_read(file, "/", &t, &e), -1);
	assert_non_null(strstr(e.msg, "Any user of this machine"));
	chmod(dir, 01777);
	assert_int_equal(team_read(file, "/", &t, &e), 0);
	team_release(&t);
	/* That of a user's own group is nobody else's. */
	chmod(dir, 0770);
	if (getegid() == geteuid()) {
		assert_int_equal(team_read(file, "/", &t, &e), 0);
		team_release(&t);
	}
	if (geteuid() == 0) {
		assert_int_equal(chown(dir, 0, 12345), 0);
		chmod(dir, 0770);
		assert_int_equal(team_read(file, "/", &t, &e), -1);
		assert_non_null(strstr(e.msg, "The members of group 12345"));
	}
	chmod(dir, 0700);
	unlink(file);
	assert_int_equal(team_read(file, "/", &t, &e), -1);
	/* Nor one that lies deeper in such a directory. */
	snprintf(below, sizeof below, "%s/below", dir);
	snprintf(file, sizeof file, "%s/below/team.yaml", dir);
	assert_int_equal(mkdir(below, 0700), 0);
	f = fopen(file, "w");
	fputs("agents: {a: {workspace: w}}\n", f);
	fclose(f);
	chmod(file, 0644);
	chmod(dir, 0777);
	assert_int_equal(team_read(file, "/", &t, &e), -1);
	assert_non_null(strstr(e.msg, "above it has mode 0777"));
	chmod(dir, 01777);
	assert_int_equal(team_read(file, "/", &t, &e), 0);
	team_release(&t);
	unlink(file);
	rmdir(below);
	rmdir(dir);
}

/* ".." behind a link leads where the kernel goes, not where the text does. */
static void test_climbing(void **state)
{
	char dir[] = "/tmp/berth-team-XXXXXX", text[256], want[64], path[64];
	struct team t;
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(
		mkdir("far", 0755) | mkdir("far/deep", 0755) | mkdir("far/deep/er", 0755), 0);
	assert_int_equal(symlink("far/deep", "near"), 0);
	snprintf(text, sizeof text,
		"agents: {a: {workspace: near/../w}, b: {workspace: near/er/../../w},"
		" c: {workspace: x/../w}, d: {workspace: ../../../..}}\n");
	assert_int_equal(team_parse("t", text, strlen(text), dir, &t, &e), 0);
	snprintf(want, sizeof want, "%s/far/w", dir);
	assert_string_equal(t.agents[0].workspace, want);
	assert_string_equal(t.agents[1].workspace, want);
	snprintf(want, sizeof want, "%s/w", dir);
	assert_string_equal(t.agents[2].workspace, want);
	assert_string_equal(t.agents[3].workspace, "/");
	team_release(&t);
	unlink("near");
	snprintf(path, sizeof path, "%s/far/deep/er", dir);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(rmdir(path), 0);
		*strrchr(path, '/') = '\0';
	}
	assert_int_equal(chdir("/"), 0);
}

/* What an agent or a tool may write must not hold the file that says what they may do. */
static void test_outside(void **state)
{
	static const struct {
		const char *text, *at; /* NULL: it is fine */
	} table[] = {
		{"agents: {a: {workspace: ./w}}\n", NULL},
		{"agents: {a: {workspace: ./team}}\n", NULL},
		{"agents: {a: {workspace: ./w, context_paths: [{path: .}]}}\n", NULL},
		{"custom_tools: {x: {image: i, script: s, isolation: {workspace: .}}}\n", NULL},
		{"agents:\n  a: {workspace: .}\n", ":2:3: "},
		{"agents:\n  a: {workspace: ..}\n", ":2:3: "},
		{"agents:\n  a: {workspace: ./w/back}\n", ":2:3: "},
		{"agents:\n  a: {workspace: ./w, context_paths: [{path: ., permission: write}]}\n",
			":2:"},
		{"agents:\n  a: {workspace: ./w, context_paths: [{path: ./team.yaml, permission: write}]}\n",
			":2:"},
		{"custom_tools:\n  x: {image: i, script: s, isolation: {filesystem: workspace, workspace: .}}\n",
			":2:3: "},
		{"agent:\n  id: a\n  backend: {cwd: .}\n", "holds this file"},
		{"agents: [{backend: {cwd: .}}, {backend: {cwd: w}}]\n", "holds this file"},
	};
	char dir[] = "/tmp/berth-team-XXXXXX", file[64], sub[64], link[64];
	struct team t;
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof file, "%s/team.yaml", dir);
	snprintf(sub, sizeof sub, "%s/w", dir);
	snprintf(link, sizeof link, "%s/w/back", dir);
	assert_int_equal(mkdir(sub, 0755), 0);
	assert_int_equal(symlink("..", link), 0);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		write_text(file, table[i].text);
		if (!table[i].at) {
			if (team_read(file, dir, &t, &e))
				fail_msg("%s", e.msg);
			team_release(&t);
			continue;
		}
		if (!team_read(file, dir, &t, &e))
			fail_msg("taken: %s", table[i].text);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_non_null(strstr(e.msg, table[i].at));
		assert_non_null(strstr(e.msg, "holds this file"));
	}
	/* A link that an agent can turn elsewhere is as good as the file. */
	unlink(link);
	write_text(file, "agents: {a: {workspace: ./w}}\n");
	assert_int_equal(symlink("../team.yaml", link), 0);
	assert_int_equal(team_read(link, dir, &t, &e), -1);
	assert_non_null(strstr(e.msg, "holds this file"));
	unlink(link);
	unlink(file);
	rmdir(sub);
	rmdir(dir);
}

/* MassGen's agents may write the project that holds the file: the file itself is protected, unless it has another
 * name, by which it could be changed. */
static void test_protected_in_place(void **state)
{
	static const char *const text =
		"agents: [{backend: {cwd: w}}, {backend: {cwd: v}}]\n"
		"orchestrator: {context_paths: [{path: ., permission: write, protected_paths: [keep]}]}\n";
	char dir[] = "/tmp/berth-team-XXXXXX", sub[64], file[80], other[64];
	struct team t;
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(sub, sizeof sub, "%s/deep", dir);
	snprintf(file, sizeof file, "%s/deep/team.yaml", dir);
	snprintf(other, sizeof other, "%s/other.yaml", dir);
	assert_int_equal(mkdir(sub, 0755), 0);
	write_text(file, text);
	if (team_read(file, dir, &t, &e))
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < 2; i++) {
		const struct path_grant *g = t.agents[i].paths;

		assert_true(g->final);
		assert_int_equal(g->protected_paths.n, 2);
		assert_string_equal(g->protected_paths.word[1], file);
	}
	team_release(&t);
	assert_int_equal(symlink(file, other), 0);
	assert_int_equal(team_read(other, dir, &t, &e), -1);
	assert_non_null(strstr(e.msg, "holds this file"));
	assert_int_equal(unlink(other) | symlink("deep", other), 0);
	snprintf(other, sizeof other, "%s/other.yaml/team.yaml", dir);
	assert_int_equal(team_read(other, dir, &t, &e), -1);
	snprintf(other, sizeof other, "%s/other.yaml", dir);
	assert_int_equal(unlink(other) | link(file, other), 0);
	assert_int_equal(team_read(file, dir, &t, &e), -1);
	assert_non_null(strstr(e.msg, "holds this file"));
	assert_int_equal(unlink(other) | unlink(file) | rmdir(sub) | rmdir(dir), 0);
}

/* An agent without cwd needs no container, and what else it has is said to be used or not. */
static void test_massgen_without_files(void **state)
{
	struct team t;

	(void)state;
	parse_team("agents:\n"
		   "  - id: a\n"
		   "    backend:\n"
		   "      mcp_servers: [{name: x, command: npx}]\n"
		   "      custom_tools: {own: {image: i, command: [x]}}\n"
		   "  - {id: b, backend: {mcp_servers: {m: {command: /usr/bin/berth}}}}\n"
		   "  - {id: c, backend: {mcp_servers: [{command: berth}, {command: berth2}]}}\n"
		   "  - {id: d}\n",
		&t);
	assert_int_equal(t.nagents + t.ntools, 0);
	assert_int_equal(t.nignored, 7);
	assert_string_equal(t.ignored[0].key, "agents[0].backend.mcp_servers");
	assert_non_null(strstr(t.ignored[0].why, "does not use them"));
	assert_string_equal(t.ignored[1].key, "agents[0].backend.custom_tools");
	assert_non_null(strstr(t.ignored[1].why, "not used"));
	assert_string_equal(t.ignored[2].key, "agents[0]");
	assert_string_equal(t.ignored[3].key, "agents[1]");
	assert_string_equal(t.ignored[4].key, "agents[2].backend.mcp_servers");
	assert_non_null(strstr(t.ignored[4].why, "none of the others"));
	team_release(&t);
	refuse_team("custom_tools: {}\n", "defines anything to run");
}

/* A directory, younger than the one before. */
static void make_younger(const char *path)
{
	static struct statx_timestamp last;
	struct statx st;

	for (;;) {
		assert_int_equal(mkdir(path, 0755), 0);
		assert_int_equal(statx(AT_FDCWD, path, 0, STATX_BTIME | STATX_MTIME, &st), 0);
		if (!(st.stx_mask & STATX_BTIME))
			st.stx_btime = st.stx_mtime;
		if (st.stx_btime.tv_sec != last.tv_sec || st.stx_btime.tv_nsec != last.tv_nsec)
			break;
		assert_int_equal(rmdir(path), 0);
	}
	last = st.stx_btime;
}

/* Agents a, b, ... of these workspaces; what is said of each comes first. */
static void expect_runs(
	const char *text, const char *dir, const char *const *workspace, const char *why)
{
	struct team t;
	struct err e = ERR_INIT;

	if (team_parse("t", text, strlen(text), dir, &t, &e))
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < t.nagents; i++) {
		const char *is = t.agents[i].workspace;

		if (strncmp(is, dir, strlen(dir)) || strcmp(is + strlen(dir) + 1, workspace[i]))
			fail_msg("%s, expected %s", is, workspace[i]);
	}
	assert_string_equal(t.ignored[0].key, "agents[0].backend.cwd");
	if (!strstr(t.ignored[0].why, why))
		fail_msg("expected \"%s\" in \"%s\"", why, t.ignored[0].why);
	team_release(&t);
}
#define RUNS(text, why, ...) expect_runs(text, dir, (const char *const[]){__VA_ARGS__}, why)

static void test_massgen_runs(void **state)
{
	static const char two
		[] = "agents: [{id: a, backend: {cwd: workspace1, enable_mcp_command_line: true}}, "
		     "{id: b, backend: {cwd: workspace2}}]\n"
		     "orchestrator: {agent_temporary_workspace: temp}\n",
	     other[] = "agents: [{id: a, backend: {cwd: .massgen/ws/, custom_tools: {x: {image: i, "
		       "command: [x], isolation: {filesystem: workspace}}}}}]\n";
	static const char *const odd[] = {"workspace1_0000000", "workspace1_000000001",
		"workspace1_0000000G", "workspace1", "workspace1_0000000A"};
	char dir[] = "/tmp/berth-team-XXXXXX", path[128];
	struct team t;
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir) | mkdir(".massgen", 0755) | mkdir(".massgen/workspaces", 0755) |
			mkdir(".massgen/temp", 0755) | chdir(".massgen/workspaces"),
		0);
	for (size_t i = 0; i < COUNT(odd); i++)
		assert_int_equal(mkdir(odd[i], 0755), 0);
	write_text("workspace1_00000001", "");
	assert_int_equal(symlink("workspace1", "workspace1_00000002"), 0);
	RUNS(two, "until MassGen has run", "workspace1", "workspace2");
	/* As far as 0.1.12: one id for all. */
	make_younger("workspace2_ffffffff");
	make_younger("workspace1_ffffffff");
	make_younger("workspace1_0a1b2c3d");
	make_younger("workspace2_0a1b2c3d");
	RUNS(two, "of MassGen's newest run", ".massgen/workspaces/workspace1_0a1b2c3d",
		".massgen/workspaces/workspace2_0a1b2c3d");
	assert_int_equal(team_parse("t", two, strlen(two), dir, &t, &e), 0);
	snprintf(path, sizeof path, "%s/.massgen/temp", dir);
	assert_string_equal(t.agents[0].temporary, path);
	/* Another run than the newest. */
	assert_int_equal(team_workspace(&t, "a", "workspace1_ffffffff", &e), 0);
	assert_non_null(strstr(t.agents[0].workspace, "/workspace1_ffffffff"));
	for (size_t i = 0; i < COUNT(odd); i++)
		assert_int_equal(team_workspace(&t, "a", odd[i], &e), -1);
	assert_int_equal(team_workspace(&t, "a", "workspace2_ffffffff", &e), -1);
	assert_int_equal(team_workspace(&t, "a", "workspace1_00000002", &e), -1);
	assert_int_equal(team_workspace(&t, "a", "..", &e), -1);
	assert_int_equal(team_workspace(&t, "c", "workspace1_ffffffff", &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	team_release(&t);
	/* Later: an id for each, no number, in the order of the file. */
	make_younger("workspace_bbbbbbbb");
	RUNS(two, "in one of", "workspace1", "workspace2");
	make_younger("workspace_aaaaaaaa");
	RUNS(two, "only the order in which", ".massgen/workspaces/workspace_bbbbbbbb",
		".massgen/workspaces/workspace_aaaaaaaa");
	/* What is below .massgen/ already only gets the id; tools of the agent follow. */
	assert_int_equal(mkdir("../ws_zz", 0755), 0);
	make_younger("../ws_12345678");
	RUNS(other, "of MassGen's newest run", ".massgen/ws_12345678");
	assert_int_equal(team_parse("t", other, strlen(other), dir, &t, &e), 0);
	assert_string_equal(t.tools[0].workspace, t.agents[0].workspace);
	make_younger("../ws_87654321");
	assert_int_equal(team_workspace(&t, "a", "../ws_87654321", &e), 0);
	assert_string_equal(t.tools[0].workspace, t.agents[0].workspace);
	team_release(&t);
	snprintf(path, sizeof path, "rm -rf %s", dir);
	assert_int_equal(chdir("/") | system(path), 0);
}

/* The shipped examples are right. */
static void test_examples(void **state)
{
	static const struct {
		const char *name;
		enum team_kind kind;
		size_t nagents;
	} files[] = {{"team.yaml", TEAM_BERTH, 2}, {"massgen.yaml", TEAM_MASSGEN, 2}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char path[512];
		struct team t;
		struct err e = ERR_INIT;
		size_t len;
		const char *text;

		snprintf(path, sizeof path, "configs/%s", files[i].name);
		text = embedded_file(path, &len);
		assert_non_null(text);
		if (team_parse(files[i].name, text, len, "/base", &t, &e))
			fail_msg("%s", e.msg);
		assert_int_equal(t.kind, files[i].kind);
		assert_int_equal(t.nagents, files[i].nagents);
		team_release(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checkpoints),
		cmocka_unit_test(test_idle_rule),
		cmocka_unit_test(test_terminals),
		cmocka_unit_test(test_berth),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_massgen),
		cmocka_unit_test(test_massgen_as_it_is),
		cmocka_unit_test(test_massgen_final),
		cmocka_unit_test(test_tool_agents),
		cmocka_unit_test(test_massgen_tools),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_massgen_misspelt),
		cmocka_unit_test(test_rules_with_tls),
		cmocka_unit_test(test_own_host),
		cmocka_unit_test(test_berth_wrong),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_climbing),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_protected_in_place),
		cmocka_unit_test(test_massgen_without_files),
		cmocka_unit_test(test_massgen_runs),
		cmocka_unit_test(test_examples),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
