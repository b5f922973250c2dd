/*
 * manual.c - berth-manual: prints the man pages at build time.
 *
 *   berth-manual FOLDER         berth(1), from the tables of the program; the folder holds the JSON schemas of --json
 *   berth-manual --page NAME    the page configs/pages/NAME.txt
 *
 * Commands, options, actions, keys and settings come from the tables they have in the program, the
 * defaults from the shipped berth.yaml, the fields of the documents from their schemas (JSON is
 * YAML, so the configuration's reader reads them).  Not installed.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <berth/build.h>
#include <berth/mem.h>
#include <berth/product.h>
#include <berth/settings.h>
#include <berth/text.h>
#include <berth/where.h>

#include "terminal/terminal.h"
#define CLI_TABLE
#include "cli/commands.h"

/* Text for roff: no hyphenation of dashes, no escapes, no requests. */
static void print_text(const char *s)
{
	for (const char *p = s; *p; p++) {
		if (*p == '\\')
			fputs("\\e", stdout);
		else if (*p == '-')
			fputs("\\-", stdout);
		else if ((*p == '.' || *p == '\'') && (p == s || p[-1] == '\n'))
			printf("\\&%c", *p);
		else
			putchar(*p);
	}
}

/* A line of running text. */
static void print_text_line(const char *s)
{
	print_text(s);
	putchar('\n');
}

static void print_bold(const char *s)
{
	fputs("\\fB", stdout);
	print_text(s);
	fputs("\\fR", stdout);
}

static void print_italic(const char *s)
{
	fputs("\\fI", stdout);
	print_text(s);
	fputs("\\fR", stdout);
}

static void print_section(const char *name)
{
	printf(".SH %s\n", name);
}

static void print_manual_options(const struct cli_command *k)
{
	for (const struct cli_option *o = k->options; o && o->name; o++) {
		char word[64], help[CLI_HELP_MAX];

		puts(".TP");
		if (o->letter) {
			snprintf(word, sizeof word, "-%c", o->letter);
			print_bold(word);
			fputs(", ", stdout);
		}
		snprintf(word, sizeof word, "--%s", o->name);
		print_bold(word);
		if (o->arg) {
			putchar(' ');
			print_italic(o->arg);
		}
		putchar('\n');
		print_text_line(cli_option_help(k, o, help));
	}
}

static void print_command_entries(const char *group, const struct cli_command *k)
{
	for (; k->name; k++) {
		char path[64];

		if (k->verbs) {
			print_command_entries(k->name, k->verbs);
			continue;
		}
		snprintf(path, sizeof path, "berth %s%s%s", group, *group ? " " : "", k->name);
		puts(".TP");
		print_bold(path);
		if (k->options)
			fputs(" [\\fIOPTION\\fR...]", stdout);
		if (*k->operands) {
			putchar(' ');
			print_italic(k->operands);
		}
		putchar('\n');
		print_text(k->help);
		puts(".");
		if (k->about)
			print_text_line(k->about);
		if (k->options) {
			puts(".RS");
			print_manual_options(k);
			puts(".RE");
		}
	}
}

static void print_contexts(uint32_t in)
{
	const char *before = " (";

	if (in == IN_ANY)
		return;
	for (; in; in &= in - 1) {
		fputs(before, stdout);
		print_text(context_name(in & -in));
		before = ", ";
	}
	putchar(')');
}

static void print_actions(void)
{
	for (int a = DO_NONE + 1; a < DO_COUNT; a++) {
		const struct action_info *info = &action_info[a];

		puts(".TP");
		if (*info->keys)
			print_bold(info->keys);
		else
			fputs("(no key)", stdout);
		fputs("  ", stdout);
		print_text(info->name);
		print_contexts(info->where);
		putchar('\n');
		print_text(info->help);
		if (info->flags & ACTION_DESTRUCTIVE)
			fputs("; cannot be undone, asks first", stdout);
		puts(".");
	}
}

/* The default of a setting, as the shipped file has it. */
static void default_value(const struct config *c, const char *name)
{
	const char *dot = strchr(name, '.');
	const struct node *n = c->root;
	char part[64];

	if (dot) {
		snprintf(part, sizeof part, "%.*s", (int)(dot - name), name);
		n = node_get(n, part);
		name = dot + 1;
	}
	n = node_get(n, name);
	if (!n || n->kind != NODE_SCALAR)
		return;
	fputs(" (", stdout);
	print_text(n->value);
	putchar(')');
}

static void print_setting(const struct setting *t, const struct config *defaults)
{
	puts(".TP");
	print_bold(t->name);
	if (defaults)
		default_value(defaults, t->name);
	putchar('\n');
	print_text(t->help);
	if (t->type == SETTING_INT || t->type == SETTING_NUMBER)
		printf(" From %g to %.0f.", t->min, t->max);
	putchar('\n');
	if (t->type != SETTING_HOSTS && t->type != SETTING_ALERTS && t->type != SETTING_COMMANDS)
		return;
	puts(".RS");
	for (t = t->type == SETTING_HOSTS           ? setting_host_table
			: t->type == SETTING_ALERTS ? setting_alert_table
						    : setting_command_table;
		t->name; t++)
		print_setting(t, NULL);
	puts(".RE");
}

/* What the filter and alerts can ask for. */
static void print_columns(void)
{
	for (const struct where_column *k = where_columns; k->name; k++) {
		puts(".TP");
		print_bold(k->name);
		putchar('\n');
		print_text(k->help);
		putchar('\n');
	}
}

static int print_settings(struct err *e)
{
	struct config c;
	size_t len;
	const char *shipped = embedded_file(SETTINGS_DEFAULTS, &len);

	if (config_parse(SETTINGS_DEFAULTS, shipped, len, &c, e) < 0)
		return -1;
	for (const struct setting *t = setting_table; t->name; t++)
		print_setting(t, &c);
	config_release(&c);
	return 0;
}

static void print_fields(const struct node *schema, int depth)
{
	const struct node *properties = node_get(schema, "properties");

	for (size_t i = 0; properties && i < properties->n; i++) {
		const struct node *p = properties->child[i], *type = node_get(p, "type");
		const struct node *about = node_get(p, "description");

		puts(".TP");
		print_bold(p->key);
		if (type && type->kind == NODE_LIST && type->n == 2)
			printf(" \\fI%s\\fR or null\n", type->child[0]->value);
		else
			printf(" \\fI%s\\fR\n", type ? type->value : "");
		print_text_line(about ? about->value : "");
		puts(".RS");
		print_fields(p, depth + 1);
		print_fields(node_get(p, "items"), depth + 1);
		puts(".RE");
	}
}

static int print_document(const char *folder, const char *schema, size_t len, struct err *e)
{
	struct config c;
	const struct node *about;
	char file[PATH_MAX];

	snprintf(file, sizeof file, "%s/%.*s.json", folder, (int)strcspn(schema, "/") - 6,
		schema + 6);
	if (config_read(file, &c, e) < 0)
		return -1;
	about = node_get(c.root, "description");
	printf(".SS %.*s\n", (int)len, schema);
	print_text_line(about ? about->value : "");
	print_fields(c.root, 0);
	config_release(&c);
	return 0;
}

/* Whether the command is the first of the table's that prints it. */
static bool is_new_document(const struct cli_command *k, const struct cli_command *group)
{
	for (const struct cli_command *v = group->verbs; v < k; v++)
		if (v->schema && !strcmp(v->schema, k->schema))
			return false;
	return true;
}

static int print_documents(const char *folder, const struct cli_command *group, struct err *e)
{
	for (const struct cli_command *k = group->verbs; k->name; k++) {
		const char *schema = k->schema && is_new_document(k, group) ? k->schema : NULL;

		if (k->verbs && print_documents(folder, k, e) < 0)
			return -1;
		while (schema) {
			const char *other = strstr(schema, " or ");
			size_t len = other ? (size_t)(other - schema) : strlen(schema);

			if (print_document(folder, schema, len, e) < 0)
				return -1;
			schema = other ? other + 4 : NULL;
		}
	}
	return 0;
}

static void print_head(void)
{
	printf(".\\\" Generated at build time from the tables of the program.\n"
	       ".TH BERTH 1 \"\" \"berth %s\" \"User commands\"\n",
		berth_build.version);
	print_section("NAME");
	print_text_line("berth - an operations console for the containers in which AI agents run");
	print_section("SYNOPSIS");
	puts(".B berth\n[\\fIOPTION\\fR...]\n.br\n"
	     ".B berth\n[\\fIOPTION\\fR...] \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]");
	print_section("DESCRIPTION");
	print_text_line(
		"Without a command berth is a console: agents and what they run, every container "
		"with its state and statistics, live; logs, events, jobs, the host, the audit log, "
		"clean-up, benchmarks; a shell; start, stop and remove, with dialogs that show what "
		"will happen.  Commands print once and exit, for scripts.");
	puts(".PP");
	print_text_line(
		"The engine is chosen as docker(1) does it: --context, --host, DOCKER_HOST, DOCKER_CONTEXT, "
		"the current context of ~/.docker/config.json, then the usual sockets of docker, rootless "
		"docker and podman, and last the private engine of `berth engine start`.");
}

/* One thing, one word: what berth's screens, messages and documents mean by it. */
static const struct {
	const char *word, *meaning;
} glossary[] = {
	{"action",
		"something that changes a container, a file or a setting: it passes the policy first and is "
		"recorded in the audit log"},
	{"agent",
		"a definition under agents: in a team file, and the container that berth makes of it"},
	{"arm", "one way of doing the work that a benchmark case compares"},
	{"audit log", "the signed record of every operation that berth performed or refused"},
	{"case, suite", "one measurement, and a group of them"},
	{"checkpoint",
		"the saved state of a workspace; in the audit log, a signature over the records before it"},
	{"clean-up plan", "a list of exact ids that a clean-up removes, and nothing else"},
	{"commands",
		"what an agent ran, and the end of what each printed; kept in its journal while it is up"},
	{"drift",
		"a difference between what a team file declares and what a container actually is"},
	{"engine",
		"what runs the containers: docker, rootless docker, podman, or berth's private engine"},
	{"foreign",
		"made by something other than this user's berth: never touched unless asked for"},
	{"fork", "a new task that starts with the contents of another workspace"},
	{"freeze",
		"to pause the containers that have a workspace mounted, while it is saved or is over its limit"},
	{"hand-over", "files of one task that another may read, in shared/inter_task"},
	{"init",
		"process 1 of berth's containers, berth-guest: it runs commands and ends what they start"},
	{"job", "a longer action with progress that can be cancelled, seen by every berth process"},
	{"lane",
		"berth's own socket into a container: a command starts over it in about a millisecond; "
		"without it commands go through the engine's exec, which is slower"},
	{"loosened", "less isolated than by default because the definition asks for it"},
	{"policy", "what may be done where: read-only mode, rules of hosts, what is protected"},
	{"protected", "never removed, by a rule in berth.yaml"},
	{"relay",
		"a program in a container that carries connections to its egress where no descriptor crosses: gVisor"},
	{"rule",
		"of a command: what an agent may run; of the network: a host and port that an agent may reach"},
	{"session",
		"the time from `berth up` to `berth down` of one agent; its record proves who owns the "
		"container"},
	{"team file",
		"the definition of agents, tools, networks and secrets, in berth's or MassGen's form"},
	{"tool", "a definition under custom_tools:, run in a container of its own for one call"},
	{"warm container", "a tool's container that is started ahead and waits for its one call"},
	{"workspace",
		"a directory for one task or project; of an agent, the directory that it can write to"},
};

static void print_glossary(void)
{
	print_section("GLOSSARY");
	for (size_t i = 0; i < sizeof glossary / sizeof glossary[0]; i++) {
		puts(".TP");
		print_text_line(glossary[i].word);
		print_text_line(glossary[i].meaning);
	}
}

static void print_engines(void)
{
	static const struct lack_row rows[] = {LACKS(LACK_ROW)};

	print_section("PODMAN");
	print_text_line(
		"podman's service (podman system service; tested with 4.3.1 of Debian 12) works "
		"like docker's, for agents and tools on the same machine.  These are the "
		"differences; `berth doctor` shows which of them apply to the engine that it finds:");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_FREE char *line = xasprintf("It %s: %s.", rows[i].what, rows[i].follows);

		puts(".IP \\(bu 2");
		print_text_line(line);
	}
}

/* Names, and what they are. */
static void print_pairs(const char *const pairs[][2], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		puts(".TP");
		print_text_line(pairs[i][0]);
		print_text_line(pairs[i][1]);
	}
}

static void print_files(void)
{
	static const char *const files[][2] = {
		{"~/.config/berth/berth.yaml", "settings ($XDG_CONFIG_HOME)"},
		{"~/.config/berth/terminals.yaml",
			"programs that are recognised in agents' terminals"},
		{"~/.local/share/berth/workspaces/{tasks,projects,shared,archives}/",
			"workspaces ($XDG_DATA_HOME)"},
		{"~/.local/share/berth/checkpoints/{tasks,projects}/",
			"their checkpoints; they stay when a workspace is removed"},
		{"~/.local/state/berth/audit/",
			"the audit log and its key ($XDG_STATE_HOME), see berth-audit(7)"},
		{"~/.local/state/berth/sessions/", "which agents are up, and from which team file"},
		{"~/.local/state/berth/undo/", "what berth undo brings back"},
		{"~/.local/state/berth/console.json",
			"what was set by keys in the console: the theme, sorting, columns, groups; "
			"changing these in berth.yaml takes precedence"},
		{"~/.local/state/berth/history.ring", "what containers used (see history)"},
		{"~/.local/state/berth/engine/", "the private engine, its images and containers"},
		{"$XDG_RUNTIME_DIR/berth/",
			"lanes, journals of agents' commands, and job boards, by which the berth "
			"processes of a user know of each other; gone after a reboot"},
	};

	print_section("FILES");
	print_pairs(files, sizeof files / sizeof files[0]);
}

static void print_environment(void)
{
	static const char *const variables[][2] = {
		{"DOCKER_HOST, DOCKER_CONTEXT, DOCKER_CONFIG, DOCKER_CERT_PATH, DOCKER_TLS_VERIFY",
			"as for docker(1)"},
		{"BERTH_LOG=FILE[:TOPIC,...]",
			"append to FILE (mode 0600) what is sent to the engine and to agents' "
			"lanes, and the console's commands and events, one line each; secrets "
			"are masked, output is counted. Topics: engine, lane, commands, "
			"events; default: all. For bug reports; read it before you pass it on"},
		{"BERTH_SSH_TIMEOUT=SECONDS",
			"how long connecting to an engine behind ssh may take where ssh asks nothing, "
			"1 to 300; default: 45"},
		{"BERTH_FOR_AGENT=ID",
			"set by berth mcp for the commands that it starts: the audit log records them as that agent's"},
		{"NO_COLOR", "when not empty: no colour"},
		{"TERM, COLORTERM, LANG", "what the terminal can show"},
	};

	print_section("ENVIRONMENT");
	print_pairs(variables, sizeof variables / sizeof variables[0]);
}

static void print_examples(void)
{
	static const char *const examples[][2] = {
		{"berth", "the console; q goes back, ? lists the keys"},
		{"berth up team.yaml && berth exec researcher -- pytest -q",
			"start the agents of a file, run a command in one"},
		{"berth ps --filter state=exited --format '{{.Name}} {{.ExitCode}}'",
			"what has ended, and how"},
		{"berth logs -f --since 10m researcher writer",
			"the logs of two containers, by time"},
		{"berth files search -E 'error|warning' src", "search a tree with all processors"},
		{"berth workspace checkpoint fix-parser before && berth workspace restore fix-parser before",
			"save a workspace, and go back to it"},
		{"berth audit list --agent researcher --since 2h",
			"what berth did for an agent, or refused"},
		{"berth clean", "what dead sessions left: a plan, carried out when you confirm it"},
		{"berth check --critical 'disk > 90%'",
			"one line and an exit code for a monitoring system"},
	};

	print_section("EXAMPLES");
	print_pairs(examples, sizeof examples / sizeof examples[0]);
}

static void print_tail(void)
{
	print_glossary();
	print_engines();
	print_section("REGULAR EXPRESSIONS");
	print_text_line(
		"Filters and searches in the console, `files search -E`, and the allow and block "
		"lists of a definition all use Perl's dialect, as in pcre2pattern(3).  The number "
		"of steps of a match is limited.  Where the limit is reached, logs and the audit "
		"log show the line, a condition of an alert holds, `files search` reports that the "
		"line was not searched, other filters leave the row out, and a list refuses the "
		"command.");
	print_files();
	print_environment();
	print_section("EXIT STATUS");
	puts(".TP");
	puts("0\ndone\n.TP\n1\nfailed\n.TP\n2\nwrong usage or configuration\n.TP\n3\nno engine could be "
	     "reached\n.TP\n4\nrefused by policy\n.TP\n124 to 127\n"
	     "of exec and tool run, which otherwise return the exit code of the command: timed out, failed or "
	     "refused in berth itself, cannot be executed, not found\n.TP\n0 to 3\n"
	     "of check: OK, WARNING, CRITICAL, UNKNOWN");
	print_examples();
	print_section("SEE ALSO");
	print_text_line(
		"berth-console(7), berth.yaml(5), berth-team(5), berth-workspace(7), berth-network(7), "
		"berth-mcp(1), berth-audit(7), berth-bench(1), docker(1), podman(1), cgroups(7)");
}

static void print_conditions(void)
{
	print_section("CONDITIONS");
	print_text_line(
		"The filter in Agents and Containers, alerts and `berth check` take conditions: "
		"tests joined by and, or, not and parentheses; in alerts also \"for\" with a "
		"duration at the end (for 30s).  A test is a column, one of = != < <= > >= and a "
		"number, a word or a quoted text, or ~ or !~ and a regular expression, which "
		"ignores case if it has no capitals.  Numbers take k m g t for bytes, s m h d for "
		"seconds, and %.  A test of an unknown value is false, except in check, which has "
		"figures of its own.");
	print_columns();
}

static int print_configuration(struct err *e)
{
	print_section("SETTINGS");
	print_text_line(
		"With their defaults.  A name with a dot is a key inside another: logs.tail is the "
		"key tail of the map logs.");
	if (print_settings(e) < 0)
		return -1;
	print_conditions();
	return 0;
}

/* One line of a page: "# SECTION", an indented line that stays as it is, or running text. */
static void print_page_line(const char *line, bool *literal)
{
	bool indented = strncmp(line, "    ", 4) == 0;

	if (*line && indented != *literal) {
		puts(indented ? ".PP\n.RS 4\n.nf" : ".fi\n.RE");
		*literal = indented;
	}
	if (!*line)
		puts(*literal ? "" : ".PP");
	else if (strncmp(line, "# ", 2) == 0)
		print_section(line + 2);
	else
		print_text_line(line + (indented ? 4 : 0));
}

/* A page begins with "NAME(SECTION) - what it is about". */
static int print_page(const char *name, struct err *e)
{
	AUTO_FREE char *file = xasprintf("configs/pages/%s.txt", name);
	size_t len;
	const char *text = embedded_file(file, &len);
	AUTO_FREE char *copy = NULL;
	bool literal = false;
	char *line, *rest;
	int title;

	if (!text)
		return err_set(e, ERR_NOT_FOUND, "there is no page %s", file);
	copy = xstrdup(text);
	rest = copy;
	line = strsep(&rest, "\n");
	title = (int)strcspn(line, "(");
	printf(".\\\" Generated at build time from %s.\n.TH %.*s %c \"\" \"berth %s\"\n", file,
		title, line, line[title] ? line[title + 1] : '7', berth_build.version);
	print_section("NAME");
	printf("%.*s ", title, line);
	print_text_line(strchr(line, ' ') ? strchr(line, ' ') + 1 : "");
	while ((line = strsep(&rest, "\n")))
		print_page_line(line, &literal);
	if (literal)
		puts(".fi\n.RE");
	return strcmp(name, "berth.yaml.5") ? 0 : print_configuration(e);
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;

	text_init();
	if (argc == 3 && !strcmp(argv[1], "--page"))
		return print_page(argv[2], &e) < 0 ? cli_fail(&e) : cli_finish();
	print_head();
	print_section("OPTIONS");
	print_text_line("Of all commands:");
	print_manual_options(&cli_root);
	print_section("COMMANDS");
	print_text_line("Options may come anywhere before \"--\".");
	print_command_entries("", cli_root.verbs);
	print_section("KEYS");
	print_text_line(
		"Keys of the console, each with the name of its action, for which berth.yaml can "
		"set other keys, and the views in which it exists (none named: all).  C- is Ctrl, "
		"S- is Shift.");
	print_actions();
	print_section("JSON");
	print_text_line("What --json prints.  Names end in their units; unknown values are "
			"null.  Fields may be added; a change of meaning changes the number at "
			"the end of the schema's name.");
	if (print_documents(argc > 1 ? argv[1] : ".", &cli_root, &e) < 0)
		return cli_fail(&e);
	print_tail();
	return cli_finish();
}
