/* team.c - team files: both forms, defaults, and every way to get them wrong. */
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
		   "  b: {workspace: /w/b, sudo: true, apparmor: optional}\n"
		   "custom_tools:\n"
		   "  fetch: {type: docker, image: py, script: \"echo $1\", timeout: 5,\n"
		   "          resources: {memory: 64m, cpu: 0.5, pids: 20},\n"
		   "          isolation: {network: none, filesystem: workspace}, pool: {size: 2}}\n"
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
	assert_int_equal(t.nignored, 6);
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
	assert_int_equal(t.nignored, 4);
	assert_string_equal(t.ignored[0].key, "agents[0].backend.enable_mcp_command_line");
	assert_string_equal(t.ignored[1].key, "agents[1].backend.type");
	assert_null(t.ignored[1].why);
	assert_string_equal(t.ignored[2].key, "agents[1]");
	assert_string_equal(t.ignored[3].key, "agents[2].backend.command_line_execution_mode");
	assert_non_null(strstr(t.ignored[3].why, "on the host"));
	team_release(&t);
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
	refuse_team("agents: [{id: a}]\n", "no agent has backend.cwd:");
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

static void test_berth_wrong(void **state)
{
	(void)state;
	refuse_team("agents: {a: {workspace: w, memroy: 2g}}\n", "did you mean");
	refuse_team("agents: {a: {role: x}}\n", "needs workspace:");
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
		"no agent or tool of this file");
	refuse_team(
		"agents: {a: {workspace: w, network: {internal: n}}}\nnetworks: {n: {members: []}}\n",
		"not among the members");
	refuse_team("agents: {a: {workspace: w, network_rate: 1m}}\n", "has nothing to limit");
	refuse_team(
		"agents: {a: {workspace: w, network: host, network_rate: 1m}}\n", "the host's own");
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
	refuse_team("{}\n", "neither agents: nor custom_tools:");
	refuse_team("agents: 5\n", "expected keys with values");
}

static void test_owner(void **state)
{
	char dir[] = "/tmp/berth-team-XXXXXX", file[64];
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
	unlink(file);
	assert_int_equal(team_read(file, "/", &t, &e), -1);
	rmdir(dir);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, 0644);
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
		cmocka_unit_test(test_berth),
		cmocka_unit_test(test_massgen),
		cmocka_unit_test(test_massgen_as_it_is),
		cmocka_unit_test(test_massgen_misspelt),
		cmocka_unit_test(test_berth_wrong),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_examples),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
