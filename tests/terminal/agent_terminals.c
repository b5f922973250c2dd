/*
 * agent_terminals.c - people at an agent's terminal: `berth terminal attach` in terminals that libvterm reads, `send`, and
 * the process that keeps the terminal.  The init of the container is played here, by a process for each command.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "lane/lane.h"
#include "lane/wire_io.h"
#include "lib/paths.h"
#include "terminal/term.h"
#include "terminals/screen_file.h"
#include "terminals/terminals.h"

#define BOX "box"
#define PATIENCE_MS 60000
#define DETACH "\x1d"
#define TAKE "\x14"

static char dir[64];

/* --- the container's side --- */

struct inside {
	int lane, in, out, program;
	pid_t pid;
};

static void hear_lane(const struct inside *i)
{
	char body[LANE_MSG_MAX];
	struct lane_msg head;
	int fds[LANE_FDS_MAX], n;
	uint16_t size[2];
	struct winsize w = {0};

	if (wire_recv(i->lane, &head, body, fds, &n) <= 0 || head.type == LANE_CANCEL)
		kill(i->pid, SIGKILL);
	if (head.type != LANE_RESIZE)
		return;
	memcpy(size, body, sizeof size);
	w.ws_col = size[0];
	w.ws_row = size[1];
	ioctl(i->program, TIOCSWINSZ, &w);
}

static void write_all(int fd, const char *bytes, size_t n)
{
	for (ssize_t done; n; bytes += done, n -= (size_t)done) {
		done = write(fd, bytes, n);
		if (done <= 0)
			return;
	}
}

/* Between the program and the descriptors of the lane, until it ends. */
static void relay(const struct inside *i)
{
	char bytes[65536], typed[1024];
	ssize_t n, left = 0; /* of what is typed, that the program has not taken */

	for (;;) {
		struct pollfd p[] = {{i->lane, POLLIN, 0}, {left ? -1 : i->in, POLLIN, 0},
			{i->program, (short)(left ? POLLIN | POLLOUT : POLLIN), 0}};

		poll(p, 3, -1);
		if (p[0].revents)
			hear_lane(i);
		if (p[1].revents) {
			n = read(i->in, typed, sizeof typed);
			left = n > 0 ? n : 0;
		}
		n = left ? write(i->program, typed, (size_t)left) : 0;
		if (n > 0) {
			left -= n;
			memmove(typed, typed + n, (size_t)left);
		}
		if (p[2].revents & ~POLLOUT) {
			n = read(i->program, bytes, sizeof bytes);
			if (n <= 0)
				return;
			write_all(i->out, bytes, (size_t)n);
		}
	}
}

static void play_init(struct inside i, const char *const *argv, int columns, int rows)
{
	struct winsize w = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};
	struct lane_ended end = {.how = LANE_EXIT};
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	i.pid = forkpty(&i.program, NULL, NULL, &w);
	if (!i.pid) {
		setenv("TERM", "xterm-256color", 1);
		setenv("LC_ALL", "C.UTF-8", 1);
		setenv("PS1", "prompt> ", 1);
		setenv("HOME", "/", 1);
		unsetenv("TMUX");
		unsetenv("LESS");
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	fcntl(i.program, F_SETFL, O_NONBLOCK);
	relay(&i);
	waitpid(i.pid, &status, 0);
	end.code = (uint32_t)(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	wire_send(i.lane, LANE_ENDED, &end, sizeof end);
	_exit(0);
}

static void start_terminal(const char *name, const char *const *argv)
{
	struct terminals_keep keep = {.columns = 80, .rows = 24};
	struct lane_command c = {.error = -1};
	struct screen_file f;
	struct err e = ERR_INIT;
	char path[TERMINALS_PATH_MAX], file[64];
	int lane[2], in[2], out[2];
	pid_t init;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lane), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	init = fork();
	if (!init) {
		close(lane[0]);
		close(in[1]);
		close(out[0]);
		play_init(
			(struct inside){.lane = lane[1], .in = in[0], .out = out[1]}, argv, 80, 24);
	}
	assert_true(init > 0);
	close(lane[1]);
	close(in[0]);
	close(out[1]);
	c.conn = lane[0];
	c.in = in[1];
	c.out = out[0];
	snprintf(keep.name, sizeof keep.name, "%s", name);
	snprintf(keep.command, sizeof keep.command, "%s", argv[0]);
	snprintf(file, sizeof file, "%s" TERMINALS_SCREEN, name);
	assert_int_equal(terminals_place(BOX, file, path, &e), 0);
	assert_int_equal(screen_file_open(&f, path, &e), 0);
	if (terminals_hand_over(BOX, &keep, f.fd, &c, &e))
		fail_msg("%s", e.msg);
	screen_file_close(&f);
	lane_command_release(&c);
}

static void start_script(const char *name, const char *script)
{
	const char *argv[] = {"sh", "-c", script, NULL};

	start_terminal(name, argv);
}

/* --- people --- */

static struct term *attach_as(const char *name, const char *option, int columns, int rows)
{
	const char *argv[] = {test_program, "terminal", "attach", "agent", name, option, NULL};
	static const char *const env[] = {"TERM=xterm-256color", "LC_ALL=C.UTF-8", NULL};

	return term_start(argv, env, columns, rows);
}

static struct term *attach(const char *name)
{
	return attach_as(name, NULL, 80, 24);
}

static void detach(struct term *t)
{
	term_send(t, DETACH);
	assert_int_equal(term_expect_end(t), 0);
	term_expect_restored(t);
	term_free(t);
}

static void expect_code(struct term *t, int code, const char *sentence)
{
	int status = term_expect_end(t);

	assert_true(WIFEXITED(status));
	term_expect(t, sentence);
	assert_int_equal(WEXITSTATUS(status), code);
	term_expect_restored(t);
	term_free(t);
}

/* "berth terminal ARGS", without a terminal: its exit code and what it prints. */
static int run(const char *args, struct str *out)
{
	AUTO_FREE char *line = xasprintf("%s terminal %s 2>&1 </dev/null", test_program, args);
	FILE *p = popen(line, "r");
	char bytes[4096];
	size_t n;
	int status;

	str_clear(out);
	while ((n = fread(bytes, 1, sizeof bytes, p)) > 0)
		str_add(out, bytes, n);
	status = pclose(p);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_run(const char *args, int code, const char *text)
{
	AUTO_STR struct str out = STR_INIT;
	int got = run(args, &out);

	if (got != code || !strstr(out.s, text))
		fail_msg("%s: %d, %s", args, got, out.s);
}

static struct terminal_screen read_screen(const char *name)
{
	struct terminal_screen s = {0};
	struct err e = ERR_INIT;

	if (terminals_read(BOX, name, &s, &e))
		fail_msg("%s", e.msg);
	return s;
}

static bool has_text(const struct terminal_screen *s, const char *text)
{
	bool there = false;

	for (int y = 0; y < s->rows && !there; y++) {
		AUTO_STR struct str row = STR_INIT;

		terminal_row_text(s, y, false, &row);
		there = strstr(row.s, text) != NULL;
	}
	return there;
}

/* What is kept shows it, within a minute. */
static void expect_kept(const char *name, const char *text)
{
	for (int waited = 0;; waited += 5) {
		struct terminal_screen s = read_screen(name);
		bool there = has_text(&s, text);

		terminal_screen_release(&s);
		if (there)
			return;
		if (waited >= PATIENCE_MS)
			fail_msg("no \"%s\"", text);
		poll(NULL, 0, 5);
	}
}

/* --- a person's screen, cell by cell --- */

struct picture {
	struct term_cell cell[24][80];
	int row, column;
};

static void take_picture(struct term *t, struct picture *p)
{
	for (int y = 0; y < 24; y++)
		for (int x = 0; x < 80; x++) {
			p->cell[y][x] = term_cell(t, y, x);
			if (p->cell[y][x].ch == ' ')
				p->cell[y][x].ch = 0;
		}
	term_cursor(t, &p->row, &p->column);
}

static bool same_cell(const struct term_cell *a, const struct term_cell *b)
{
	return a->ch == b->ch && a->fg_default == b->fg_default && a->bg_default == b->bg_default &&
		!memcmp(a->fg, b->fg, 3) && !memcmp(a->bg, b->bg, 3) && a->bold == b->bold &&
		a->underline == b->underline && a->reverse == b->reverse;
}

static bool is_picture(struct term *t, void *ctx)
{
	const struct picture *want = ctx;
	AUTO_FREE struct picture *now = xmalloc(sizeof *now);

	take_picture(t, now);
	for (int y = 0; y < 24; y++)
		for (int x = 0; x < 80; x++)
			if (!same_cell(&want->cell[y][x], &now->cell[y][x]))
				return false;
	return want->row == now->row && want->column == now->column;
}

static void expect_picture(struct term *t, struct picture *want)
{
	if (term_wait(t, is_picture, want, PATIENCE_MS))
		return;
	term_dump(t);
	fail_msg("another screen");
}

static void keys_pass_and_size_follows(void **state)
{
	static const char *const shell[] = {"bash", "--norc", NULL};
	struct term *t;

	(void)state;
	start_terminal("keys", shell);
	t = attach_as("keys", NULL, 100, 30);
	term_expect(t, "prompt>");
	term_send(t, "echo hel''lo; stty size\r");
	term_expect(t, "hello");
	term_expect(t, "30 100");
	term_resize(t, 60, 20);
	term_send(t, "stty size\r");
	term_expect(t, "20 60");
	term_send(t, "\x1b[A\x1b[A\x1b[D\x1b[D");
	term_expect(t, "echo hel''lo; stty size");
	detach(t);
	expect_run("screen agent keys", 0, "hello");
	expect_run("stop agent keys", 0, "stopped");
}

static void expect_same_again(const char *name, struct term *t)
{
	AUTO_FREE struct picture *p = xmalloc(sizeof *p);

	take_picture(t, p);
	detach(t);
	t = attach(name);
	expect_picture(t, p);
	/* Its terminal is given back by nobody; that of the agent is as it was. */
	term_signal(t, SIGKILL);
	term_expect_end(t);
	term_free(t);
	t = attach(name);
	expect_picture(t, p);
	detach(t);
}

/* What the program prints after another attach has the effect that it had before. */
static void the_same_screen_again(void **state)
{
	struct term *t;

	(void)state;
	start_script("modes",
		"stty -echo; printf '\\033[?1049h\\033[2J\\033[12;30H\\0337\\033[5;10r\\033[?6h\\033[2;3H\\033(0\\033[1;33;44m"
		"\\033[?25l\\033[?1000;1006h\\033[?2004h\\033[?1h\\033=lqk'; read x; printf 'x\\n\\n\\n\\n\\n\\n\\nqq'; read x; "
		"printf '\\033[r\\033[?6l\\033(B\\033[m\\0338saved'; read x; printf '\\033[?1049lthe first screen\\n'; sleep 1000");
	t = attach("modes");
	term_expect(t, "\xE2\x94\x8C\xE2\x94\x80\xE2\x94\x90");
	assert_true(term_mode(t, 2004));
	assert_true(term_mouse(t));
	assert_false(term_mode(t, 25));
	expect_same_again("modes", t);
	t = attach("modes");
	term_expect(t, "\xE2\x94\x8C");
	assert_true(term_mode(t, 2004));
	assert_true(term_mode(t, 1));
	term_send(t, "\r");
	term_expect(t, "\xE2\x94\x80\xE2\x94\x80");
	expect_same_again("modes", t);
	t = attach("modes");
	term_send(t, "\r");
	term_expect(t, "saved");
	expect_same_again("modes", t);
	t = attach("modes");
	term_send(t, "\r");
	term_expect(t, "the first screen");
	expect_same_again("modes", t);
	expect_run("stop agent modes", 0, "stopped");
}

static void programs_look_as_directly(void **state)
{
	static const char *const less[] = {"less", "-R", "/etc/passwd", NULL};
	static const char *const vim[] = {"vim", "-u", "NONE", "-n", "/etc/passwd", NULL};
	static const char *const *const programs[] = {less, vim};
	static const char *const env[] = {
		"TERM=xterm-256color", "LC_ALL=C.UTF-8", "HOME=/", "LESS", NULL};
	AUTO_FREE struct picture *p = xmalloc(sizeof *p);

	(void)state;
	for (size_t i = 0; i < COUNT(programs); i++) {
		char line[64];
		struct term *t, *there;

		snprintf(line, sizeof line, "command -v %s >/dev/null", programs[i][0]);
		if (system(line)) {
			print_message("not compared, for it is not here: %s\n", programs[i][0]);
			continue;
		}
		t = term_start(programs[i], env, 80, 24);
		term_expect(t, "root:");
		term_send(t, "/daemon\r\x0c");
		start_terminal(programs[i][0], programs[i]);
		there = attach(programs[i][0]);
		term_expect(there, "root:");
		term_send(there, "/daemon\r\x0c");
		/* Both until they are done. */
		for (int tries = 0; tries < 600; tries++) {
			term_wait(t, is_picture, p, 20);
			take_picture(t, p);
			if (term_find(t, "usr/sbin/nologin", NULL, NULL) &&
				term_wait(there, is_picture, p, 80))
				break;
		}
		expect_picture(there, p);
		expect_same_again(programs[i][0], there);
		term_free(t);
		snprintf(line, sizeof line, "stop agent %s", programs[i][0]);
		expect_run(line, 0, "stopped");
	}
}

static void one_types_and_others_watch(void **state)
{
	static const char *const shell[] = {"bash", "--norc", NULL};
	struct term *a, *b, *c;

	(void)state;
	start_terminal("two", shell);
	a = attach("two");
	term_expect(a, "prompt>");
	b = attach_as("two", NULL, 100, 40);
	term_expect(b, "prompt>");
	term_expect(b, "C-t: type here  C-]: detach | two of agent |");
	c = attach_as("two", "--read-only", 50, 10);
	term_expect(c, "read-only  C-]: detach");
	term_send(b, "echo no''body\r");
	term_send(c, "echo no''body\r" TAKE);
	term_send(a, "echo some''body; stty size\r");
	term_expect(a, "24 80");
	term_expect(b, "24 80");
	term_expect(c, "24 80");
	assert_false(term_find(a, "nobody", NULL, NULL));
	term_send(b, TAKE);
	term_expect(a, "C-t: type here");
	term_expect_gone(b, "C-t: type here");
	term_send(b, "stty size\r");
	term_expect(b, "40 100");
	term_expect(a, "40 100");
	/* One who leaves is not followed by another unasked. */
	detach(b);
	term_expect(a, "no one types");
	term_send(a, TAKE);
	term_expect_gone(a, "no one types");
	term_send(a, "stty size\r");
	term_expect(a, "24 80");
	/* Of one who watches modes are plain, and so they are afterwards. */
	detach(c);
	detach(a);
	expect_run("stop agent two", 0, "stopped");
}

static bool printed(struct term *t, const char *bytes)
{
	size_t n;
	const char *all = term_output(t, &n);

	return memmem(all, n, bytes, strlen(bytes)) != NULL;
}

static int count_printed(struct term *t, const char *bytes)
{
	size_t n, len = strlen(bytes);
	const char *at = term_output(t, &n), *end = at + n;
	int found = 0;

	while ((at = memmem(at, (size_t)(end - at), bytes, len))) {
		found++;
		at += len;
	}
	return found;
}

static void expect_never_printed(struct term *t, const char *when)
{
	static const char *const never[] = {"\x1b]52", "\x1b[c", "\x1b[>c", "\x1b[6n", "\x1bP",
		"\x1b_", "\x1b^", "\x1b[21t", "\x1b[8;10;10t", "\x1b]11", "\x1b]4;", "\x1b]9;",
		"\x1b[>1u", "\x1b[3J",
		"\x1b"
		"c",
		"\x1b[5i", "file://", "\x05"};

	for (size_t i = 0; i < COUNT(never); i++)
		if (printed(t, never[i])) {
			term_dump(t);
			fail_msg("%s: number %zu is printed", when, i);
		}
}

static void nothing_passes_but_by_the_table(void **state)
{
	static const char hostile[] =
		"stty -echo; printf before; read x; printf '\\033]52;c;cm0=\\a\\033[c\\033[>c\\033[6n\\033Pq#0\\033\\\\\\033_Ga=T\\033\\\\\\033^x\\033\\\\"
		"\\033[21t\\033[8;10;10t\\033]11;?\\a\\033]4;1;#000\\a\\033]9;hello\\a\\033[>1u\\033[3J\\033[5i"
		"\\033]8;;file:///etc/passwd\\alink\\033]8;;\\a\\005shown'; read x; printf '\\033cagain'; read y; exit 3";
	struct term *t;

	(void)state;
	start_script("hostile", hostile);
	t = attach("hostile");
	term_expect(t, "before");
	term_send(t, "\r");
	term_expect(t, "linkshown");
	expect_never_printed(t, "all of them");
	term_send(t, "\r");
	term_expect(t, "again");
	term_expect_gone(t, "link");
	expect_never_printed(t, "a cleared screen");
	detach(t);
	expect_run("stop agent hostile", 0, "stopped");
	/* The same while it is looked at. */
	start_script("live",
		"stty -echo; echo ready; read x; printf '\\033]52;c;cm0=\\a\\033[6n\\033[5n\\033[3Jhalf\\033]5'; "
		"read x; printf '2;c;cm0=\\adone'; sleep 1000");
	t = attach("live");
	term_expect(t, "ready");
	term_send(t, "\r");
	term_expect(t, "half");
	term_send(t, "\r");
	term_expect(t, "done");
	expect_never_printed(t, "in two pieces");
	detach(t);
	expect_run("stop agent live", 0, "stopped");
}

static void ends_are_said(void **state)
{
	struct term *t;
	struct terminal_screen s;

	(void)state;
	start_script("ends",
		"printf '\\033[?1049h\\033[?1003;1006;2004h\\033[?25lready'; read x; exit 7");
	t = attach("ends");
	term_expect(t, "ready");
	term_send(t, "\r");
	expect_code(t, 7, "terminal ends of agent has ended: exit code 7");
	t = attach("ends");
	expect_code(t, 2, "has ended");
	start_script(
		"killed", "printf '\\033[?1049h\\033[?1003;1006;2004h\\033[?25lready'; sleep 1000");
	t = attach("killed");
	term_expect(t, "ready");
	s = read_screen("killed");
	kill(s.keeper, SIGKILL);
	terminal_screen_release(&s);
	expect_code(t, 1, "was killed");
	start_script("signalled",
		"printf '\\033[?1049h\\033[?1003;1006;2004h\\033[?25lready'; sleep 1000");
	t = attach("signalled");
	term_expect(t, "ready");
	term_signal(t, SIGTERM);
	expect_code(t, 143, "");
	expect_run("attach agent signalled", 2, "attach needs a terminal");
	expect_run("attach agent nothing", 2, "attach needs a terminal");
	expect_run("stop agent signalled", 0, "stopped");
}

static void send_types(void **state)
{
	static const char *const shell[] = {"bash", "--norc", NULL};
	struct terminal_screen s;

	(void)state;
	start_terminal("main", shell);
	expect_kept("main", "prompt>");
	expect_run("send agent 'echo one; bind \"set enable-bracketed-paste off\"'", 0,
		"typed into terminal main of agent");
	expect_run("send agent main --key Enter", 0, "typed");
	expect_kept("main", "one");
	s = read_screen("main");
	assert_true(s.answered_ms >= s.started_ms);
	terminal_screen_release(&s);
	expect_run("send agent --key 'Enter' -- echo \"two\" words", 0, "typed");
	expect_kept("main", "two words");
	expect_run("send agent --key 'Up C-a C-k Enter' --key C-l", 0, "typed");
	expect_run("send agent main --key NoKey", 2, "is not a key");
	expect_run("send agent --key 'Up NoKey'", 2, "is not a key");
	expect_run("send agent \"a$(printf '\\033')b\"", 2, "0x1B) at byte 2");
	expect_run("send agent \"$(printf 'a\\nb')\"", 2, "0x0A) at byte 2");
	expect_run("send agent \"$(printf '\\302\\233')\"", 2, "0x9B) at byte 1");
	expect_run("send agent \"$(printf '\\377')\"", 2, "not UTF-8 at byte 1");
	expect_run("send agent", 2, "nothing to type");
	expect_run("send agent main other -- text", 2, "only AGENT and NAME");
	expect_run("send agent nothing text", 1, "no terminal named");
	expect_run("send nobody text", 1, "no running container");
	expect_run("send agent main exit --key Enter", 0, "typed");
	for (int waited = 0; waited < PATIENCE_MS; waited += 5) {
		s = read_screen("main");
		terminal_screen_release(&s);
		if (s.status == TERMINAL_ENDED)
			break;
		poll(NULL, 0, 5);
	}
	expect_run("send agent text", 2, "has ended with exit code 0");
	expect_run("stop agent", 0, "stopped");
	/* As a paste, if the program asks for that. */
	start_script("paste",
		"stty raw -echo; printf '\\033[?2004hready'; dd bs=1 count=14 2>/dev/null | od -An -c; sleep 1000");
	expect_kept("paste", "ready");
	expect_run("send agent paste ab", 0, "typed");
	expect_kept("paste", "2   0   0   ~   a   b 033   [   2   0");
	expect_run("stop agent paste", 0, "stopped");
}

static void what_is_not_read_is_said(void **state)
{
	AUTO_FREE char *line = xmalloc(31000);
	AUTO_STR struct str out = STR_INIT;
	struct terminal_screen s;
	int n = snprintf(line, 100, "send agent stuck "), code = 0;

	(void)state;
	start_script("stuck", "stty raw -echo; printf ready; exec sleep 1000");
	expect_kept("stuck", "ready");
	memset(line + n, 'x', 30000);
	line[n + 30000] = '\0';
	for (int i = 0; i < 10 && !code; i++)
		code = run(line, &out);
	assert_int_equal(code, 2);
	assert_non_null(strstr(out.s, "does not read: "));
	assert_non_null(strstr(out.s, " of 30000 bytes taken in 5 s"));
	expect_run("stop agent stuck", 0, "stopped");
	/* Its process is there and does not answer: nothing else is claimed of it. */
	start_script("silent", "stty -echo; echo ready; cat");
	expect_kept("silent", "ready");
	s = read_screen("silent");
	kill(s.keeper, SIGSTOP);
	expect_run("send agent silent text", 1, "does not answer, or takes no input");
	kill(s.keeper, SIGCONT);
	terminal_screen_release(&s);
	expect_run("stop agent silent", 0, "stopped");
}

/* Sanitizers keep what was freed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEPS_FREED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KEEPS_FREED true
#endif
#endif
#ifndef KEEPS_FREED
#define KEEPS_FREED false
#endif

static long memory_kib(pid_t pid)
{
	char path[64], line[256];
	long kib = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		sscanf(line, "VmRSS: %ld", &kib);
	fclose(f);
	return kib;
}

/* One who never reads, and one who is stopped: the program and the others go on. */
static void who_does_not_read_holds_nobody_up(void **state)
{
	const struct terminal_view_wish wish = {.who = "a stone", .columns = 80, .rows = 24};
	struct terminal_view *stone;
	struct terminal_screen s;
	struct term *a, *b;
	long before;

	(void)state;
	start_script("flood",
		"stty -echo; echo ready; read x; yes 'a line of text that is repeated' | head -c 40000000; "
		"printf '\\033[2J\\033[Hthe end'; sleep 1000");
	stone = terminal_view_open(BOX, "flood", &wish, NULL);
	assert_non_null(stone);
	a = attach("flood");
	term_expect(a, "C-t: type here");
	b = attach("flood");
	term_expect(b, "C-t: type here");
	term_send(a, TAKE);
	term_expect_gone(a, "C-t: type here");
	term_signal(b, SIGSTOP);
	s = read_screen("flood");
	before = memory_kib(s.keeper);
	term_send(a, "\r");
	term_expect(a, "the end");
	if (!KEEPS_FREED)
		assert_in_range(memory_kib(s.keeper) - before + 65536, 0, 65536 + 16384);
	term_signal(b, SIGCONT);
	term_expect(b, "the end");
	/* The title was kept once. */
	assert_int_equal(count_printed(b, "\x1b[22;0t"), 1);
	terminal_screen_release(&s);
	terminal_view_close(stone);
	detach(b);
	detach(a);
	expect_run("stop agent flood", 0, "stopped");
}

static void nobody_else_types(void **state)
{
	const struct terminal_view_wish wish = {
		.who = "\x1b]52;c;x\a evil", .columns = -5, .rows = 100000};
	struct terminal_view *v[10] = {0};
	struct err e = ERR_INIT;
	struct term *t;

	(void)state;
	start_script("full", "stty -echo; echo ready; cat");
	t = attach("full");
	term_expect(t, "ready");
	for (int i = 0; i < 7; i++) {
		v[i] = terminal_view_open(BOX, "full", &wish, NULL);
		assert_non_null(v[i]);
		/* It watches, so this is not typed. */
		terminal_view_type(v[i], "unasked\r", 8);
	}
	assert_null(terminal_view_open(BOX, "full", &wish, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	terminal_view_take(v[0]);
	term_expect(t, "evil types");
	assert_false(printed(t, "\x1b]52"));
	terminal_view_resize(v[0], 1 << 30, 0);
	terminal_view_resize(v[0], 80, 24);
	terminal_view_type(v[0], "typed\r", 6);
	term_expect(t, "typed");
	assert_false(term_find(t, "unasked", NULL, NULL));
	for (int i = 0; i < 7; i++)
		terminal_view_close(v[i]);
	detach(t);
	expect_run("stop agent full", 0, "stopped");
}

static int make_places(void **state)
{
	static const struct lane_about about = {.name = BOX, .agent = "agent", .session = "s"};
	struct lane_offer offer;
	struct err e = ERR_INIT;

	(void)state;
	text_init();
	snprintf(dir, sizeof dir, "/tmp/berth-att-XXXXXX");
	if (!mkdtemp(dir) || setenv("XDG_RUNTIME_DIR", dir, 1) ||
		setenv("XDG_STATE_HOME", dir, 1) || setenv("XDG_CONFIG_HOME", dir, 1))
		return -1;
	if (lane_prepare(BOX, &offer, &e) || lane_do_without(&offer, &about, &e)) {
		print_error("%s\n", e.msg);
		return -1;
	}
	return 0;
}

static int remove_places(void **state)
{
	AUTO_FREE char *line = xasprintf("rm -rf %s", dir);

	(void)state;
	return system(line);
}

static int end_failed(void **state)
{
	struct terminal_row row[TERMINALS_MAX];

	(void)state;
	term_free_last();
	for (size_t n = terminals_list(BOX, row, TERMINALS_MAX); n--;)
		terminals_stop(BOX, row[n].name, NULL);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, end_failed)
	const struct CMUnitTest tests[] = {
		TEST(keys_pass_and_size_follows),
		TEST(the_same_screen_again),
		TEST(programs_look_as_directly),
		TEST(one_types_and_others_watch),
		TEST(nothing_passes_but_by_the_table),
		TEST(ends_are_said),
		TEST(send_types),
		TEST(what_is_not_read_is_said),
		TEST(who_does_not_read_holds_nobody_up),
		TEST(nobody_else_types),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, make_places, remove_places);
}
