/* journal.c - what agents' commands printed: kept, bounded, masked, readable while it is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "journal/journal.h"

#define NAME "berth-a"

static char top[64];
static const struct run_result done = {.ended = ENDED_EXIT, .exit_code = 3, .duration_ms = 2.5};

static int setup(void **state)
{
	(void)state;
	snprintf(top, sizeof top, "/tmp/berth-unit-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	return setenv("XDG_RUNTIME_DIR", top, 1);
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof cmd, "rm -rf %s", top);
	return system(cmd);
}

static void make_of(size_t commands, uint64_t bytes, const char *secret)
{
	struct journal_secret s = {secret, secret ? strlen(secret) : 0};
	struct err e = ERR_INIT;

	if (journal_make(NAME, commands, bytes, &s, secret ? 1 : 0, &e))
		fail_msg("%s", e.msg);
}

static void make_small_journal(size_t commands, const char *secret)
{
	make_of(commands, 4096, secret);
}

/* The pieces of one stream, or of both (0), as one text. */
static char *read_stream_text(uint64_t seq, int stream, uint64_t *missed)
{
	struct journal_output o;
	struct str s = STR_INIT;
	struct err e = ERR_INIT;

	if (journal_read(NAME, seq, &o, &e))
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < o.npieces; i++)
		if (!stream || o.piece[i].stream == stream)
			str_add(&s, o.piece[i].bytes, o.piece[i].n);
	if (missed)
		*missed = o.missed;
	journal_output_release(&o);
	str_addc(&s, '\0');
	return str_detach(&s);
}

static void test_kept(void **state)
{
	struct journal_command list[4];
	struct journal_entry *j;
	AUTO_FREE char *out = NULL, *both = NULL;
	char path[128];
	struct stat st;

	(void)state;
	make_small_journal(8, NULL);
	snprintf(path, sizeof path, "%s/berth/journal/" NAME, top);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(journal_list(NAME, list, 4), 0);
	j = journal_begin(NAME, "exec", "sh -c 'echo hello'", false);
	assert_non_null(j);
	assert_int_equal(journal_running(NAME, list, 4), 1);
	assert_true(list[0].running);
	assert_string_equal(list[0].argv, "sh -c 'echo hello'");
	assert_int_equal(list[0].pid, getpid());
	journal_add(j, 1, "hello\n", 6);
	journal_add(j, 2, "oops\n", 5);
	journal_add(j, 1, "bye\n", 4);
	journal_end(j, &done);
	assert_int_equal(journal_running(NAME, list, 4), 0);
	assert_int_equal(journal_list(NAME, list, 4), 1);
	assert_false(list[0].running || list[0].lost);
	assert_int_equal(list[0].exit_code, 3);
	assert_true(list[0].duration_ms > 2.49 && list[0].duration_ms < 2.51);
	assert_string_equal(list[0].program, "exec");
	assert_int_equal(list[0].out_bytes, 10);
	assert_int_equal(list[0].error_bytes, 5);
	out = read_stream_text(list[0].seq, 1, NULL);
	assert_string_equal(out, "hello\nbye\n");
	both = read_stream_text(list[0].seq, 0, NULL);
	assert_string_equal(both, "hello\noops\nbye\n");
}

/* When each piece came, also where the oldest are gone. */
static void test_times_are_kept(void **state)
{
	struct journal_entry *j;
	struct journal_command list[1];
	struct journal_output o;
	struct err e = ERR_INIT;
	AUTO_FREE char *much = xcalloc(1, 3000);

	(void)state;
	memset(much, 'x', 3000);
	make_small_journal(4, NULL);
	clock_hold(1000000000, 1700000000000);
	j = journal_begin(NAME, "exec", "slow", false);
	journal_add(j, 1, "a", 1);
	journal_add(j, 2, "b", 1);
	clock_hold(2500000000, 1700000001500);
	journal_add(j, 1, "c", 1);
	journal_end(j, &done);
	assert_int_equal(journal_list(NAME, list, 1), 1);
	assert_int_equal(journal_read(NAME, list[0].seq, &o, &e), 0);
	assert_int_equal(o.npieces, 3);
	assert_int_equal(o.missed, 0);
	assert_int_equal(o.piece[0].at_ms, 0);
	assert_int_equal(o.piece[1].at_ms, 0);
	assert_int_equal(o.piece[1].stream, 2);
	assert_int_equal(o.piece[2].at_ms, 1500);
	journal_output_release(&o);
	/* What said when the first of these came has made room for the others. */
	clock_hold(3000000000, 1700000002000);
	j = journal_begin(NAME, "exec", "much", false);
	for (int i = 0; i < 3; i++) {
		clock_hold(3000000000 + i * 1000000000LL, 1700000002000 + i * 1000LL);
		journal_add(j, 1, much, 3000);
	}
	journal_end(j, &done);
	clock_let_go();
	assert_int_equal(journal_list(NAME, list, 1), 1);
	assert_int_equal(journal_read(NAME, list[0].seq, &o, &e), 0);
	assert_true(o.npieces > 2 && o.missed > 0);
	for (size_t i = 0; i < o.npieces; i++) {
		assert_true(o.piece[i].at_ms == 1000 || o.piece[i].at_ms == 2000);
		assert_true(!i || o.piece[i].at_ms >= o.piece[i - 1].at_ms);
	}
	assert_int_equal(o.piece[o.npieces - 1].at_ms, 2000);
	journal_output_release(&o);
}

static void assert_tame(const char *from, const char *want)
{
	/* Whole, and byte by byte. */
	for (size_t step = strlen(from) + 1; step; step = step > 1 ? 1 : 0) {
		AUTO_STR struct str out = STR_INIT;
		struct journal_tamer t = {0};
		size_t n = strlen(from);

		for (size_t at = 0; at < n; at += step)
			journal_tame(&t, from + at, n - at < step ? n - at : step, &out);
		assert_string_equal(out.s, want);
	}
}

static void assert_unchanged(const char *text)
{
	assert_tame(text, text);
}

static void test_only_colours_and_motion_pass(void **state)
{
	AUTO_STR struct str endless = STR_INIT, out = STR_INIT;
	struct journal_tamer t = {0};

	(void)state;
	assert_unchanged("plain \tt\xc3\xa4xt\r\n\b");
	assert_unchanged("\033[1;31mred\033[m \033[38:2::1:2:3mX");
	assert_unchanged("\033[2A\033[10G\033[K\033[2J\033[3;4H\033[5d");
	/* What the terminal showed before is not the program's. */
	assert_tame("a\033[3Jb\033[0;3Jc", "abc");
	/* Titles, links, clipboard, notifications; by BEL, by ST. */
	assert_tame("a\033]0;title\ab\033]52;c;eA==\033\\c\033]8;;http://x\033\\d", "abcd");
	assert_tame("a\033Pq#0~\033\\b\033X x\033\\c\033^x\033\\d\033_x\033\\e", "abcde");
	/* Modes, reports, scrolling regions, resets, printing, repetition, character sets, keypads. */
	assert_tame("a\033[?1049h\033[?25l\033[6n\033[c\033[>c\033[21t\033[r\033[!pb", "ab");
	assert_tame("a\033[5i\033[9999999b\033[4l\033[ q\033[?2J\033[>4mb", "ab");
	assert_tame("a\033cb\033(0c\033)Bd\033=e\033>f\033#8g", "abcdefg");
	assert_tame("a\a\016\017\005\177b", "ab");
	/* One that another one ends, and one that is too long. */
	assert_tame("a\033[3\033[1mb\033]0;x\033[1mc", "a\033[1mb\033[1mc");
	assert_tame("a\033[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1mb", "ab");
	/* C1 in both forms, bidi, what is no UTF-8. */
	assert_tame("a\302\23331mb", "a31mb");
	assert_tame("b\342\200\256c", "b\357\277\275c");
	assert_tame("c\377\342\202d\233", "c\357\277\275\357\277\275d\357\277\275");
	/* What never ends hides no more than that. */
	str_adds(&endless, "\033]0;");
	for (int i = 0; i < 5000; i++)
		str_addc(&endless, 'x');
	str_adds(&endless, "seen");
	journal_tame(&t, endless.s, endless.len, &out);
	assert_non_null(strstr(out.s, "seen"));
	assert_true(out.len < 1000);
}

static void run_two_beside_each_other(void)
{
	static const struct run_result good = {.ended = ENDED_EXIT, .duration_ms = 2000},
				       bad = {.ended = ENDED_EXIT,
					       .exit_code = 3,
					       .duration_ms = 700};
	struct journal_entry *a, *b;

	clock_hold(1000000000, 1700000000000);
	a = journal_begin(NAME, "exec", "make \033]0;x\a", false);
	clock_hold(1500000000, 1700000000500);
	b = journal_begin(NAME, "exec", "false", false);
	journal_add(a, 1, "\033[32mone\033]0;x\a\n", 15);
	clock_hold(2000000000, 1700000001000);
	journal_add(b, 2, "bad", 3);
	clock_hold(3000000000, 1700000002000);
	journal_add(a, 1, "two\r\n", 5);
	journal_end(a, &good);
	journal_end(b, &bad);
	clock_let_go();
}

static void test_cast(void **state)
{
	AUTO_STR struct str cast = STR_INIT, raw = STR_INIT, one = STR_INIT;
	struct err e = ERR_INIT;
	uint64_t second = 1, none = 77;
	size_t n;

	(void)state;
	make_small_journal(4, NULL);
	assert_int_equal(journal_cast(NAME, NULL, false, &cast, &n, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	run_two_beside_each_other();
	assert_int_equal(journal_cast(NAME, NULL, false, &cast, &n, &e), 0);
	assert_int_equal(n, 2);
	assert_string_equal(cast.s,
		"{\"version\": 2, \"width\": 80, \"height\": 24, \"timestamp\": 1700000000, "
		"\"idle_time_limit\": 2, \"title\": \"berth-a\"}\n"
		"[0, \"o\", \"\\u001b[0m\\u001b[1m$ make ^[]0;x^G\\u001b[0m\\u000d\\n\"]\n"
		"[0.5, \"o\", \"\\u001b[32mone\\u000d\\n\"]\n"
		"[0.5, \"o\", \"\\u001b[0m\\u001b[1m$ false\\u001b[0m\\u000d\\n\"]\n"
		"[1, \"o\", \"bad\"]\n"
		"[1.2, \"o\", \"\\u000d\\n\\u001b[0m\\u001b[2m[exit 3 after 0.7 s]\\u001b[0m\\u000d\\n\"]\n"
		"[2, \"o\", \"two\\u000d\\n\"]\n");
	/* As it was printed only for who asks for that; a command by its number. */
	assert_int_equal(journal_cast(NAME, NULL, true, &raw, NULL, &e), 0);
	assert_non_null(strstr(raw.s, "one\\u001b]0;x\\u0007"));
	assert_null(strstr(cast.s, "u0007"));
	assert_int_equal(journal_cast(NAME, &second, false, &one, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_null(strstr(one.s, "make"));
	assert_int_equal(journal_cast(NAME, &none, false, &one, &n, &e), -1);
}

static void test_flood_keeps_the_end(void **state)
{
	struct journal_entry *j;
	char line[64];
	uint64_t missed, printed = 0;
	AUTO_FREE char *out = NULL;
	struct journal_command list[1];

	(void)state;
	make_small_journal(2, NULL);
	j = journal_begin(NAME, "exec", "yes", false);
	for (int i = 0; i < 100000; i++) {
		int n = snprintf(line, sizeof line, "line %d\n", i);

		journal_add(j, 1 + i % 2, line, (size_t)n);
		printed += (uint64_t)n;
	}
	journal_end(j, &done);
	assert_int_equal(journal_list(NAME, list, 1), 1);
	out = read_stream_text(list[0].seq, 0, &missed);
	assert_true(strlen(out) > 2000 && strlen(out) <= 4096);
	assert_int_equal(missed + strlen(out), printed);
	assert_non_null(strstr(out, "line 99998\nline 99999\n"));
	/* One piece larger than everything: its end. */
	free(STEAL(out));
	j = journal_begin(NAME, "exec", "big", false);
	out = xcalloc(1, 100001);
	memset(out, 'x', 99999);
	out[99999] = 'y';
	journal_add(j, 1, out, 100000);
	journal_end(j, &done);
	free(STEAL(out));
	assert_int_equal(journal_list(NAME, list, 1), 1);
	out = read_stream_text(list[0].seq, 1, &missed);
	assert_true(strlen(out) > 2000);
	assert_int_equal(missed + strlen(out), 100000);
	assert_string_equal(out + strlen(out) - 2, "xy");
}

/* What the kernel moves is seen all the same, and is not changed by that. */
static void test_peek(void **state)
{
	struct journal_entry *j;
	struct journal_command list[1];
	char path[128], line[64];
	AUTO_FREE char *out = NULL, *file = NULL;
	uint64_t missed, printed = 0;
	int p[2], fd;
	FILE *f;

	(void)state;
	make_small_journal(2, NULL);
	snprintf(path, sizeof path, "%s/out", top);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	j = journal_begin(NAME, "exec", "many lines", false);
	for (int i = 0; i < 30000; i++) {
		int n = snprintf(line, sizeof line, "line %d\n", i);
		ssize_t seen;

		assert_int_equal(write(p[1], line, (size_t)n), n);
		printed += (uint64_t)n;
		if (i % (1 + i % 9) && i < 29999)
			continue;
		while ((seen = journal_peek(j, 1, p[0])) > 0)
			assert_int_equal(splice(p[0], NULL, fd, NULL, (size_t)seen, 0), seen);
		assert_int_equal(seen, 0);
	}
	journal_add(j, 2, "the end\n", 8);
	journal_end(j, &done);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), printed);
	assert_int_equal(journal_list(NAME, list, 1), 1);
	assert_int_equal(list[0].out_bytes, printed);
	out = read_stream_text(list[0].seq, 0, &missed);
	assert_int_equal(missed + strlen(out), printed + 8);
	assert_true(strlen(out) > 1000);
	/* It is the end of what is in the file. */
	f = fdopen(fd, "r");
	fseek(f, (long)missed, SEEK_SET);
	file = xcalloc(1, 8192);
	assert_int_equal(fread(file, 1, 8191, f), printed - missed);
	fclose(f);
	strcat(file, "the end\n");
	assert_string_equal(out, file);
	close(p[0]);
	close(p[1]);
}

static void test_oldest_goes(void **state)
{
	struct journal_command list[16];
	struct journal_entry *keep;
	struct journal_output o;
	struct err e = ERR_INIT;

	(void)state;
	make_small_journal(4, NULL);
	keep = journal_begin(NAME, "exec", "long", false);
	for (int i = 0; i < 10; i++) {
		char name[16];
		struct journal_entry *j;

		snprintf(name, sizeof name, "c%d", i);
		j = journal_begin(NAME, "exec", name, false);
		assert_non_null(j);
		journal_end(j, &done);
	}
	/* What still runs has kept its slot; three others have the rest. */
	assert_int_equal(journal_list(NAME, list, 16), 4);
	assert_string_equal(list[0].argv, "c9");
	assert_string_equal(list[2].argv, "c7");
	assert_string_equal(list[3].argv, "long");
	assert_true(list[3].running);
	assert_int_equal(journal_read(NAME, 1, &o, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	journal_end(keep, &done);
	assert_int_equal(journal_list("nobody", list, 16), 0);
}

static void test_secret_is_masked(void **state)
{
	struct journal_entry *j;
	struct journal_command list[1];
	AUTO_FREE char *out = NULL;

	(void)state;
	make_small_journal(4, "hunter2-hunter2");
	j = journal_begin(NAME, "exec", "echo hunter2-hunter2", false);
	journal_add(j, 1, "a hunter2-hunter2hunter2-hunter2 b hunt", 39);
	journal_add(j, 2, "between", 7);
	journal_add(j, 1, "er2-hunter2 c hunter2-hunter", 28);
	journal_end(j, &done);
	assert_int_equal(journal_list(NAME, list, 1), 1);
	assert_string_equal(list[0].argv, "echo ***************");
	out = read_stream_text(list[0].seq, 1, NULL);
	assert_string_equal(
		out, "a ****************************** b *************** c hunter2-hunter");
}

#define TOKEN "k7Qz-0fWm2RtY9xLb4HsNc6VdGp8JuEa1Ti3Xo5Z"
#define STARS "****************************************"

static char *repeat_text(const char *what, size_t n)
{
	struct str s = STR_INIT;

	for (size_t i = 0; i < n; i++)
		str_addf(&s, "%zu %s\n", i, what);
	str_addc(&s, '\0');
	return str_detach(&s);
}

/* What is kept is the end of `all`, and not little. */
static void assert_end_of(const char *all, int stream, size_t least)
{
	struct journal_command list[1];
	AUTO_FREE char *out = NULL;
	size_t n;

	assert_int_equal(journal_list(NAME, list, 1), 1);
	out = read_stream_text(list[0].seq, stream, NULL);
	n = strlen(out);
	assert_true(n >= least && n <= strlen(all));
	assert_string_equal(out, all + strlen(all) - n);
}

static void flood_journal(const char *secret, const char *plain, const char *masked, size_t step)
{
	size_t all = strlen(plain);

	for (int streams = 1; streams <= 2; streams++) {
		struct journal_entry *j;

		make_small_journal(2, secret);
		j = journal_begin(NAME, "exec", "yes", false);
		for (size_t at = 0, n; at < all; at += n) {
			n = all - at < step ? all - at : step;
			for (int s = 1; s <= streams; s++)
				journal_add(j, s, plain + at, n);
		}
		journal_end(j, &done);
		assert_end_of(masked, streams, 1000);
		if (streams == 2 && step <= 1000)
			assert_end_of(masked, 1, 1000);
	}
}

/* Wherever the oldest that is kept begins, it begins with no second half of a secret. */
static void test_secret_is_masked_where_the_ring_begins(void **state)
{
	static const size_t step[] = {400000, 100000, 5000, 4097, 1000, 129, 37, 7};
	AUTO_FREE char *plain = repeat_text(TOKEN, 1200), *masked = repeat_text(STARS, 1200);
	char key[1500], stars[sizeof key];
	AUTO_FREE char *keys = NULL, *hidden = NULL;

	(void)state;
	/* Longer than a frame. */
	for (size_t i = 0; i < sizeof key; i++)
		key[i] = (char)('A' + (i * i / 7 + i) % 23);
	memset(stars, '*', sizeof stars);
	key[sizeof key - 1] = stars[sizeof stars - 1] = '\0';
	keys = repeat_text(key, 150);
	hidden = repeat_text(stars, 150);
	for (size_t i = 0; i < COUNT(step); i++) {
		flood_journal(TOKEN, plain, masked, step[i]);
		flood_journal(key, keys, hidden, step[i]);
	}
}

/* Where a command or a message is cut, no first half is left. */
static void test_secret_is_masked_where_text_is_cut(void **state)
{
	struct run_result failed = {.ended = ENDED_FAILED, .err.kind = ERR_CONFIG};
	struct journal_command list[1];
	char command[JOURNAL_ARGV_MAX + 100];
	const size_t cut = JOURNAL_ARGV_MAX - 1;

	(void)state;
	for (size_t back = 0; back <= 40; back++) {
		struct journal_entry *j;

		make_small_journal(2, TOKEN);
		memset(command, 'x', sizeof command);
		snprintf(command + cut - back, 100, TOKEN " and more");
		snprintf(failed.err.msg, sizeof failed.err.msg, "%s", command + cut - 95);
		j = journal_begin(NAME, "exec", command, false);
		assert_non_null(j);
		journal_end(j, &failed);
		assert_int_equal(journal_list(NAME, list, 1), 1);
		assert_int_equal(strspn(list[0].argv, "x"), cut - back);
		assert_int_equal(strspn(list[0].argv + cut - back, "*"), back < 40 ? back : 40);
		assert_int_equal(strlen(list[0].argv), cut);
		assert_int_equal(strspn(list[0].ended_note, "x*"), 95);
	}
}

/* Its first half was written, and pushed out before the second was looked at. */
static void test_secret_is_masked_across_writes(void **state)
{
	AUTO_FREE char *rest = xcalloc(1, 3585);
	struct journal_entry *j;
	struct journal_command list[1];
	AUTO_FREE char *out = NULL;

	(void)state;
	make_small_journal(2, TOKEN);
	j = journal_begin(NAME, "exec", "halves", false);
	memset(rest, 'x', 512);
	memcpy(rest + 492, TOKEN, 20);
	journal_add(j, 1, rest, 512);
	poll(NULL, 0, journal_wait_ms(j));
	while (journal_wait_ms(j) >= 0)
		journal_tick(j);
	memset(rest, 'y', 3584);
	memcpy(rest, &TOKEN[20], 20);
	journal_add(j, 1, rest, 3584);
	journal_end(j, &done);
	assert_int_equal(journal_list(NAME, list, 1), 1);
	out = read_stream_text(list[0].seq, 1, NULL);
	assert_int_equal(strlen(out), 3584);
	assert_memory_equal(out, "********************yyyy", 24);
}

/* What the kernel moves is not even read when there is too much of it. */
static void test_secret_is_masked_after_a_loss(void **state)
{
	AUTO_FREE char *plain = repeat_text(TOKEN, 5000), *masked = repeat_text(STARS, 5000);
	size_t all = strlen(plain);

	(void)state;
	for (size_t step = 900; step < 1000; step += 5) {
		struct journal_entry *j;
		int p[2], null = open("/dev/null", O_WRONLY);

		make_of(2, 65536, TOKEN);
		assert_int_equal(pipe2(p, O_NONBLOCK), 0);
		j = journal_begin(NAME, "exec", "yes", false);
		journal_add(j, 2, TOKEN, 20);
		for (size_t at = 0, n; at < all; at += n) {
			n = all - at < step ? all - at : step;
			assert_int_equal(write(p[1], plain + at, n), n);
			assert_int_equal(journal_peek(j, 1, p[0]), n);
			assert_int_equal(splice(p[0], NULL, null, NULL, n, 0), n);
		}
		journal_add(j, 2, &TOKEN[20], 20);
		journal_end(j, &done);
		assert_end_of(masked, 1, 8000);
		assert_end_of(STARS, 2, 20);
		close(p[0]);
		close(p[1]);
		close(null);
	}
}

/* A process of ours that dies lets go of its entry; nobody waits for it. */
static void test_lost(void **state)
{
	struct journal_command list[1];
	int p[2];
	pid_t pid;
	char byte;

	(void)state;
	make_small_journal(4, NULL);
	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (pid == 0) {
		struct journal_entry *j = journal_begin(NAME, "exec", "sleep 100", false);

		if (!j || write(p[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(p[0], &byte, 1), 1);
	assert_int_equal(journal_running(NAME, list, 1), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(journal_running(NAME, list, 1), 0);
	assert_int_equal(journal_list(NAME, list, 1), 1);
	assert_true(list[0].lost);
	close(p[0]);
	close(p[1]);
}

static void fill_for_ever(const char *fill)
{
	for (;;) {
		struct journal_entry *j = journal_begin(NAME, "exec", fill, false);

		for (int i = 0; j && i < 200; i++)
			journal_add(j, 1, fill, strlen(fill));
		if (j)
			journal_end(j, &done);
	}
}

/* Writers in other processes, each with one letter; what a reader gets is never mixed. */
static void test_read_while_written(void **state)
{
	static const char *const fill[] = {
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbb", "cccc"};
	pid_t pid[COUNT(fill)];
	unsigned seen = 0;

	(void)state;
	make_small_journal(6, NULL);
	for (size_t i = 0; i < COUNT(fill); i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			fill_for_ever(fill[i]);
	}
	while (seen < 2000) {
		struct journal_command list[6];
		size_t n = journal_list(NAME, list, 6);

		for (size_t i = 0; i < n; i++) {
			struct journal_output o;

			if (journal_read(NAME, list[i].seq, &o, NULL))
				continue;
			for (size_t k = 0; k < o.npieces; k++)
				for (size_t b = 0; b < o.piece[k].n; b++)
					assert_int_equal(o.piece[k].bytes[b], list[i].argv[0]);
			seen += o.npieces > 0;
			journal_output_release(&o);
		}
	}
	for (size_t i = 0; i < COUNT(fill); i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
}

/* Nothing that stands in the file is believed. */
static void test_hostile_file(void **state)
{
	struct journal_command list[4];
	struct journal_output o;
	char path[128];
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct journal_entry *j;
		int fd;

		make_small_journal(2, "secret");
		for (int i = 0; i < 2; i++) {
			j = journal_begin(NAME, "exec", "x", false);
			journal_add(j, 1, "some output\n", 12);
			journal_end(j, &done);
		}
		snprintf(path, sizeof path, "%s/berth/journal/" NAME, top);
		fd = open(path, O_RDWR);
		for (int i = 0; i < 4; i++) {
			/* heads mostly: of the file, of the slots, of the frames */
			off_t at = rand_r(&seed) % 3 ? rand_r(&seed) % 64
						     : 4096 + rand_r(&seed) % 2200;
			uint64_t word = rand_r(&seed) % 2 ? UINT64_MAX : (uint64_t)rand_r(&seed);

			assert_int_equal(pwrite(fd, &word, sizeof word, at), sizeof word);
		}
		if (round % 7 == 0)
			assert_int_equal(ftruncate(fd, rand_r(&seed) % 8192), 0);
		close(fd);
		for (size_t i = 0, n = journal_list(NAME, list, 4); i < n; i++)
			if (!journal_read(NAME, list[i].seq, &o, NULL))
				journal_output_release(&o);
		j = journal_begin(NAME, "exec", "y", false);
		journal_add(j, 1, "more\n", 5);
		if (j)
			journal_end(j, &done);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_times_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_only_colours_and_motion_pass, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cast, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood_keeps_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peek, setup, teardown),
		cmocka_unit_test_setup_teardown(test_oldest_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_secret_is_masked, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_secret_is_masked_where_the_ring_begins, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_secret_is_masked_where_text_is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_secret_is_masked_across_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_secret_is_masked_after_a_loss, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_read_while_written, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_file, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
