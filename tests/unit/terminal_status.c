/* terminal_status.c - what is said of a terminal, by what was seen of it; the patterns of known programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/terminal_status.h>
#include <berth/text.h>

#define NOW INT64_C(1000000)
#define S(seconds) (NOW - (seconds)*1000)

static const struct {
	struct terminal_screen screen;
	enum terminal_front front;
	const char *program;
	enum terminal_shows shows;
	const char *text;
	enum terminal_does does;
	int64_t since_ms;
	const char *reason;
} judged[] = {
	/* Its end is the end, whatever else was seen. */
	{{.status = TERMINAL_ENDED, .exit_code = 7, .changed_ms = S(3), .marked_ms = S(3)},
		TERMINAL_FRONT_READS, "sh", TERMINAL_SHOWS_QUESTION, "why?", TERMINAL_OVER, S(3),
		"exit code 7"},
	{{.status = TERMINAL_LOST, .changed_ms = S(3)}, 0, "", 0, "", TERMINAL_OVER, S(3),
		"the process that kept it was killed"},
	/* The process tree. */
	{{.changed_ms = S(40)}, TERMINAL_FRONT_READS, "sh", 0, "", TERMINAL_WAITING, S(40),
		"sh reads from the terminal"},
	{{.changed_ms = S(0)}, TERMINAL_FRONT_READS, "python3", TERMINAL_SHOWS_QUESTION, ">>>",
		TERMINAL_WAITING, S(0), "python3 asks: >>>"},
	{{.changed_ms = S(40)}, TERMINAL_FRONT_READS, "bash", TERMINAL_SHOWS_PROMPT, "$",
		TERMINAL_IDLE, S(40), "bash is at its prompt"},
	{{.changed_ms = S(40), .prompt = 2}, TERMINAL_FRONT_READS, "zsh", 0, "", TERMINAL_IDLE,
		S(40), "zsh is at its prompt"},
	/* The mark is of the shell that started it. */
	{{.changed_ms = S(40), .prompt = 1}, TERMINAL_FRONT_READS, "apt", 0, "", TERMINAL_WAITING,
		S(40), "apt reads from the terminal"},
	{{.changed_ms = S(40), .prompt = 2}, TERMINAL_FRONT_READS, "python3",
		TERMINAL_SHOWS_QUESTION, ">>>", TERMINAL_WAITING, S(40), "python3 asks: >>>"},
	{{.changed_ms = S(40), .prompt = 1}, TERMINAL_FRONT_SLEEPS, "sleep", 0, "", TERMINAL_QUIET,
		S(40), "quiet for 40s"},
	{{.changed_ms = S(40)}, TERMINAL_FRONT_READS, "sh", TERMINAL_SHOWS_WORK, "esc to interrupt",
		TERMINAL_WAITING, S(40), "sh reads from the terminal"},
	{{.changed_ms = S(40)}, TERMINAL_FRONT_RUNS, "cc1", 0, "", TERMINAL_WORKING, 0, "cc1 runs"},
	/* Marks: they hold until output goes on. */
	{{.changed_ms = S(30), .marked_ms = S(30)}, TERMINAL_FRONT_UNKNOWN, "", 0, "",
		TERMINAL_WAITING, S(30), "it rang the bell"},
	{{.changed_ms = S(30), .marked_ms = S(31), .marked_notice = true, .notice = "needs you"},
		TERMINAL_FRONT_SLEEPS, "claude", 0, "", TERMINAL_WAITING, S(31),
		"it sent a notice: needs you"},
	{{.changed_ms = S(30), .marked_ms = S(33)}, TERMINAL_FRONT_SLEEPS, "claude", 0, "",
		TERMINAL_QUIET, S(30), "quiet for 30s"},
	{{.changed_ms = S(30), .marked_ms = S(30), .answered_ms = S(20)}, TERMINAL_FRONT_SLEEPS,
		"claude", 0, "", TERMINAL_QUIET, S(30), "quiet for 30s"},
	{{.changed_ms = S(30), .marked_ms = S(30), .answered_ms = S(31)}, TERMINAL_FRONT_SLEEPS,
		"claude", 0, "", TERMINAL_WAITING, S(30), "it rang the bell"},
	{{.changed_ms = S(0), .marked_ms = S(0)}, TERMINAL_FRONT_SLEEPS, "make", 0, "",
		TERMINAL_WORKING, 0, "printed 0s ago"},
	{{.changed_ms = S(30), .marked_ms = S(30)}, TERMINAL_FRONT_RUNS, "make", 0, "",
		TERMINAL_WORKING, 0, "make runs"},
	{{.changed_ms = S(5), .prompt = 1}, TERMINAL_FRONT_UNKNOWN, "", 0, "", TERMINAL_IDLE, S(5),
		"its shell is at its prompt"},
	{{.changed_ms = S(5), .prompt = 3}, TERMINAL_FRONT_UNKNOWN, "", 0, "", TERMINAL_WORKING, 0,
		"printed 5s ago"},
	/* What it shows. */
	{{.changed_ms = S(2)}, TERMINAL_FRONT_SLEEPS, "claude", TERMINAL_SHOWS_QUESTION,
		"Do you want to proceed?", TERMINAL_WAITING, S(2),
		"claude asks: Do you want to proceed?"},
	{{.changed_ms = S(0)}, TERMINAL_FRONT_SLEEPS, "claude", TERMINAL_SHOWS_QUESTION, "Do",
		TERMINAL_WORKING, 0, "printed 0s ago"},
	{{.changed_ms = S(2)}, TERMINAL_FRONT_SLEEPS, "claude", TERMINAL_SHOWS_WORK,
		"esc to interrupt", TERMINAL_WORKING, 0, "claude shows: esc to interrupt"},
	{{.changed_ms = S(90)}, TERMINAL_FRONT_SLEEPS, "claude", TERMINAL_SHOWS_WORK,
		"esc to interrupt", TERMINAL_QUIET, S(90), "quiet for 1m30s"},
	{{.changed_ms = S(20)}, TERMINAL_FRONT_SLEEPS, "claude", TERMINAL_SHOWS_PROMPT, ">",
		TERMINAL_IDLE, S(20), "claude is at its prompt"},
	/* Silence alone says nothing of waiting. */
	{{.changed_ms = S(40)}, TERMINAL_FRONT_SLEEPS, "sleep", 0, "", TERMINAL_QUIET, S(40),
		"quiet for 40s"},
	{{.changed_ms = S(40)}, TERMINAL_FRONT_UNKNOWN, "", 0, "", TERMINAL_QUIET, S(40),
		"quiet for 40s"},
	{{.changed_ms = S(4)}, TERMINAL_FRONT_UNKNOWN, "", 0, "", TERMINAL_WORKING, 0,
		"printed 4s ago"},
	/* A clock that was set back. */
	{{.changed_ms = NOW + 5000}, TERMINAL_FRONT_UNKNOWN, "", 0, "", TERMINAL_WORKING, 0,
		"printed 0s ago"},
};

static void a_status_never_says_more_than_was_seen(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(judged); i++) {
		struct terminal_evidence o = {.now_ms = NOW,
			.screen = &judged[i].screen,
			.front = judged[i].front,
			.program = judged[i].program,
			.shell = !strcmp(judged[i].program, "zsh"),
			.shows = judged[i].shows,
			.text = judged[i].text};
		struct terminal_judged r;

		terminal_judge(&o, &r);
		if (r.does != judged[i].does || r.since_ms != judged[i].since_ms ||
			strcmp(r.reason, judged[i].reason) != 0)
			fail_msg("case %zu: %s since %ld: %s", i, terminal_does_name(r.does),
				(long)r.since_ms, r.reason);
	}
}

/* A notice that is longer than the reason may be. */
static void a_reason_ends_with_a_whole_character(void **state)
{
	struct terminal_screen s = {.changed_ms = S(30), .marked_ms = S(30), .marked_notice = true};
	const struct terminal_evidence o = {.now_ms = NOW, .screen = &s, .program = "", .text = ""};
	struct terminal_judged r;

	(void)state;
	for (size_t start = 0; start < 3; start++) {
		memset(s.notice, 'x', sizeof s.notice);
		for (size_t i = start; i + 3 < sizeof s.notice; i += 3)
			memcpy(s.notice + i, "\xE4\xB8\xAD", 4);
		terminal_judge(&o, &r);
		assert_true(strlen(r.reason) > TERMINAL_REASON_MAX - 4);
		assert_true(utf8_valid(r.reason, strlen(r.reason)));
	}
}

/* Looks at one terminal, one after the other, at these seconds. */
static void since_is_not_before_it_was_seen_otherwise(void **state)
{
	static const struct {
		int at, since, answered; /* since: as it was judged, 0: not known */
		enum terminal_does does;
		int64_t started_ms;
		int expect_since;
		uint64_t expect_question;
	} looks[] = {
		/* Nobody saw when it began. */
		{100, 40, 0, TERMINAL_WAITING, 1, 40, 1},
		{101, 101, 0, TERMINAL_WAITING, 1, 40, 1},
		/* A key: it waits since then, and what is typed is no question. */
		{102, 102, 102, TERMINAL_WAITING, 1, 102, 1},
		{103, 0, 102, TERMINAL_WORKING, 1, 103, 1},
		{104, 104, 103, TERMINAL_WAITING, 1, 103, 1},
		/* Answered: what it asks next is another one. */
		{105, 0, 104, TERMINAL_WORKING, 1, 105, 1},
		{108, 108, 104, TERMINAL_WAITING, 1, 108, 2},
		/* Drawn again, and nobody has answered. */
		{109, 0, 104, TERMINAL_WORKING, 1, 109, 2},
		{110, 110, 104, TERMINAL_WAITING, 1, 108, 2},
		/* It computed without output, and asks now. */
		{111, 0, 104, TERMINAL_WORKING, 1, 111, 2},
		{700, 0, 104, TERMINAL_WORKING, 1, 111, 2},
		{701, 111, 104, TERMINAL_WAITING, 1, 700, 3},
		/* Another command in its place. */
		{702, 702, 0, TERMINAL_WAITING, 2, 702, 4},
		{703, 703, 0, TERMINAL_OVER, 2, 703, 4},
	};
	struct terminal_followed was, now = {0};
	uint64_t questions = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(looks); i++) {
		const struct terminal_screen s = {
			.started_ms = looks[i].started_ms, .answered_ms = looks[i].answered * 1000};

		was = now;
		now = (struct terminal_followed){
			.judged = {.does = looks[i].does, .since_ms = looks[i].since * 1000}};
		terminal_follow(i ? &was : NULL, &s, looks[i].at * 1000, &questions, &now);
		if (now.judged.since_ms != looks[i].expect_since * 1000 ||
			now.question != looks[i].expect_question)
			fail_msg("look %zu: since %ld, question %lu", i, (long)now.judged.since_ms,
				(unsigned long)now.question);
	}
}

/* The rows of a screen; the cursor is behind the last character of the last one, and of a blank that ends it. */
static struct terminal_screen make_screen(const char *text, struct terminal_cell cells[10 * 60])
{
	struct terminal_screen s = {.columns = 60, .rows = 10, .cells = cells};
	int x = 0, y = 0;

	memset(cells, 0, 10 * 60 * sizeof *cells);
	for (int i = 0; i < 600; i++)
		cells[i].width = 1;
	for (const char *p = text, *end = text + strlen(text); p < end;) {
		uint32_t cp;
		size_t n = utf8_next(p, (size_t)(end - p), &cp);

		p += n;
		if (cp == '\n') {
			x = 0;
			y++;
			continue;
		}
		if (cp != ' ')
			cells[y * 60 + x].ch[0] = cp;
		x++;
	}
	s.cursor_x = x;
	s.cursor_y = y;
	return s;
}

/* Made by hand after what these programs draw; the prompts of python, bash and less are those of Debian 12. */
static const struct {
	const char *name, *screen;
	enum terminal_shows shows;
	const char *text;
} shown[] = {
	{"python3", "Python 3.11.2 (main) on linux\n>>> ", TERMINAL_SHOWS_QUESTION, ">>>"},
	{"python3", ">>> 1\n1\nTraceback", TERMINAL_SHOWS_NOTHING, ""},
	{"bash", "$ ls\na b\nagent@box:/work$ ", TERMINAL_SHOWS_PROMPT, "agent@box:/work$"},
	{"bash", "$ ls\nYour name? ", TERMINAL_SHOWS_NOTHING, ""},
	{"bash", "$ ./ask\nname> ", TERMINAL_SHOWS_NOTHING, ""},
	{"fish", "agent@box ~/work> ", TERMINAL_SHOWS_PROMPT, "agent@box ~/work>"},
	{"less", "text\n:", TERMINAL_SHOWS_QUESTION, ":"},
	{"claude",
		"\n  Bash command\n  rm -r build\n  Do you want to proceed?\n  ❯ 1. Yes\n    2. No",
		TERMINAL_SHOWS_QUESTION, "Do you want to proceed?"},
	{"claude", "✻ Thinking… (12s · esc to interrupt)\n\n> ", TERMINAL_SHOWS_WORK,
		"✻ Thinking… (12s · esc to interrupt)"},
	{"claude", "Done.\n\n│ > try something\n", TERMINAL_SHOWS_PROMPT, "│ > try something"},
	{"codex", "Would you like to run the following command?\n› 1. Yes", TERMINAL_SHOWS_QUESTION,
		"Would you like to run the following command?"},
	{"codex", "• Working (3s • esc to interrupt)\n\n› ", TERMINAL_SHOWS_WORK,
		"• Working (3s • esc to interrupt)"},
	{"gemini", "Apply this change?\n● 1. Yes, allow once", TERMINAL_SHOWS_QUESTION,
		"Apply this change?"},
	{"gemini", "⠏ Reading (esc to cancel, 4s)", TERMINAL_SHOWS_WORK,
		"⠏ Reading (esc to cancel, 4s)"},
	{"opencode", "Permission required\nAllow once   Reject", TERMINAL_SHOWS_QUESTION,
		"Permission required"},
	{"unheard-of", "Do you want to proceed?", TERMINAL_SHOWS_NOTHING, ""},
};

/* Those of a person's file as well; NULL: there is none. */
static struct terminal_programs *open_programs(const char *own, struct err *e)
{
	static char dir[300];
	char path[340];

	if (!*dir) {
		snprintf(dir, sizeof dir, "%s/pXXXXXX",
			getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
		assert_non_null(mkdtemp(dir));
		assert_int_equal(setenv("XDG_CONFIG_HOME", dir, 1), 0);
		snprintf(path, sizeof path, "%s/berth", dir);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof path, "%s/berth/terminals.yaml", dir);
	unlink(path);
	if (own)
		assert_int_equal(file_replace(path, own, strlen(own), false), 0);
	return terminal_programs_open(e);
}

static void known_programs_are_read_from_their_screens(void **state)
{
	struct err e = ERR_INIT;
	struct terminal_programs *p = open_programs(NULL, &e);

	(void)state;
	if (!p)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < COUNT(shown); i++) {
		const char *names[] = {"MainThread", shown[i].name};
		struct terminal_cell cells[600];
		struct terminal_screen s = make_screen(shown[i].screen, cells);
		char text[80];
		enum terminal_shows shows =
			terminal_programs_look(p, names, COUNT(names), &s, text, sizeof text);

		if (shows != shown[i].shows || strcmp(text, shown[i].text) != 0)
			fail_msg("case %zu: %d \"%s\"", i, shows, text);
	}
	terminal_programs_free(p);
}

static void an_empty_screen_shows_nothing(void **state)
{
	struct terminal_programs *p =
		open_programs("programs:\n  a:\n    names: [a]\n    question: ['^$', 'x']\n", NULL);
	const char *name = "a";
	struct terminal_cell cells[600];
	struct terminal_screen s = make_screen("", cells);
	char why[80];

	(void)state;
	assert_non_null(p);
	assert_int_equal(
		terminal_programs_look(p, &name, 1, &s, why, sizeof why), TERMINAL_SHOWS_NOTHING);
	s.cells = NULL;
	assert_int_equal(
		terminal_programs_look(p, &name, 1, &s, why, sizeof why), TERMINAL_SHOWS_NOTHING);
	terminal_programs_free(p);
}

static void a_wrong_file_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"programs:\n  a:\n    names: [a]\n    question: ['(']\n",
			"terminals.yaml:4:16: `(` is not a regular"},
		{"programs:\n  a:\n    names: [a]\n    questoin: ['x']\n",
			"did you mean \"question\""},
		{"programs:\n  a:\n    question: ['x']\n", "names: of the program"},
		{"programs:\n  a:\n    names: a\n", "terminals.yaml:3:"},
		{"programs:\n  a:\n    names: [[]]\n", "expected a word"},
		{"programs: 5\n", "expected programs:"},
		{"programms: {}\n", "did you mean \"programs\""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct err e = ERR_INIT;

		assert_null(open_programs(wrong[i].text, &e));
		assert_int_equal(e.kind, ERR_CONFIG);
		if (!strstr(e.msg, wrong[i].why))
			fail_msg("case %zu: %s", i, e.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_never_says_more_than_was_seen),
		cmocka_unit_test(since_is_not_before_it_was_seen_otherwise),
		cmocka_unit_test(a_reason_ends_with_a_whole_character),
		cmocka_unit_test(known_programs_are_read_from_their_screens),
		cmocka_unit_test(an_empty_screen_shows_nothing),
		cmocka_unit_test(a_wrong_file_is_refused_with_its_place),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
