/*
 * verbs.c - runs a berth command for a tool and returns its JSON document or its error.
 *
 * It ends when this server does, however that ends.
 */
#include "mcp/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#define DOCUMENT_MOST ((size_t)16 << 20)
#define DOCUMENT_STEP ((size_t)1 << 20)
#define DOCUMENT_BYTES 7 /* that one takes until it is answered */
#define TICK_MS 100
#define SENTENCE_MOST ((size_t)65536)

void verb_word(struct verb_words *w, const char *word)
{
	CHECK(w->n < VERB_WORDS_MOST);
	w->v[w->n++] = word;
}

struct verb_process {
	pid_t pid;
	int out[2], error[2];
	struct str document, sentence;
	size_t room; /* of the document, that there is memory for */
	int status;
	int64_t until; /* it is not waited for longer, by the monotonic clock; 0: it is */
	struct err full;
};

/* Between fork and exec: nothing but system calls. */
static void become_verb(const struct verb_process *v, pid_t server, int null, char *const argv[])
{
	/* It is told when the thread ends that waits for it, and that may have happened already. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == server && dup2(null, 0) == 0 && dup2(v->out[1], 1) == 1 &&
		dup2(v->error[1], 2) == 2)
		execv(argv[0], argv);
	_exit(127);
}

static int spawn_verb(struct verb_process *v, const struct verb_words *w, struct err *e)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t server = getpid();

	if (null < 0 || pipe2(v->out, O_CLOEXEC) < 0 || pipe2(v->error, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot make a pipe");
	v->pid = spawn_fork();
	if (v->pid == 0)
		become_verb(v, server, null, (char *const *)w->v);
	if (v->pid < 0)
		err_sys(e, errno, "cannot start %s", w->v[0]);
	close(steal_fd(&v->out[1]));
	close(steal_fd(&v->error[1]));
	return v->pid < 0 ? -1 : 0;
}

/* false: it has ended. */
static bool read_part(int *fd, struct str *to, size_t most)
{
	char buf[16384];
	ssize_t n = read(*fd, buf, sizeof buf);

	if (n > 0)
		str_add(to, buf, to->len + (size_t)n <= most ? (size_t)n : 0);
	else if (n == 0 || errno != EINTR)
		close(steal_fd(fd));
	return *fd >= 0;
}

/* Before the document grows beyond what there is memory for: it ends, or so does its process. */
static void hold_document(struct call *c, struct verb_process *v)
{
	if (v->full.kind || v->document.len + 16384 <= v->room)
		return;
	if (!budget_more(c, DOCUMENT_BYTES * DOCUMENT_STEP, &v->full))
		v->room += DOCUMENT_STEP;
	else
		kill(v->pid, SIGTERM);
}

/* It was asked to end, and is not waited for longer than this server is (server.h). */
static bool is_verb_left(struct call *c, struct verb_process *v)
{
	int64_t now = clock_mono_ns();

	if (!v->until && atomic_load(&c->server->leaving)) {
		v->until = now + LEAVE_MS * 1000000ll;
		kill(v->pid, SIGTERM);
	}
	return v->until && now >= v->until;
}

static void read_verb(struct call *c, struct verb_process *v)
{
	int cancel = call_cancel_fd(c);

	while ((v->out[0] >= 0 || v->error[0] >= 0) && !is_verb_left(c, v)) {
		struct pollfd p[3] = {
			{v->out[0], POLLIN, 0}, {v->error[0], POLLIN, 0}, {cancel, POLLIN, 0}};

		if (poll(p, 3, TICK_MS) < 0)
			continue;
		if (p[0].revents) {
			hold_document(c, v);
			read_part(&v->out[0], &v->document, v->full.kind ? 0 : DOCUMENT_MOST);
		}
		if (p[1].revents)
			read_part(&v->error[0], &v->sentence, SENTENCE_MOST);
		if (p[2].revents) {
			kill(v->pid, SIGTERM);
			cancel = -1;
		}
	}
}

/* Its last line, without "berth: ". */
static const char *last_sentence(struct str *s)
{
	char *p;

	while (s->len && s->s[s->len - 1] == '\n')
		s->s[--s->len] = '\0';
	p = strrchr(s->s, '\n');
	p = p ? p + 1 : s->s;
	return strncmp(p, "berth: ", 7) ? p : p + 7;
}

static void put_value(struct jsonw *j, const char *key, const struct json *v, int depth)
{
	struct str word = STR_INIT;

	switch (v->type) {
	case JSON_STRING: jsonw_textn(j, key, v->text, v->len); return;
	case JSON_ARRAY: jsonw_array(j, key); break;
	case JSON_OBJECT: jsonw_object(j, key); break;
	case JSON_NULL:
	case JSON_FALSE:
	case JSON_TRUE:
	case JSON_NUMBER:
	default:
		str_add(&word, v->text, v->len);
		jsonw_raw(j, key, word.s);
		str_release(&word);
		return;
	}
	for (const struct json *m = depth < JSON_DEPTH_MAX - 4 ? v->first : NULL; m; m = m->next)
		put_value(j, v->type == JSON_OBJECT ? m->key : NULL, m, depth + 1);
	jsonw_end(j);
}

static const struct json *parse_document(
	struct call *c, const struct verb_process *v, struct err *e)
{
	struct err fault;
	const struct json *d = json_parse(&c->mem,
		arena_strndup(&c->mem, v->document.s, v->document.len), v->document.len, &fault, e);

	if (d && !json_is(d, JSON_OBJECT))
		return err_null(err_set(e, ERR_PROTOCOL, "berth printed no document."));
	return d;
}

static void release_verb(struct verb_process *v)
{
	for (int i = 0; i < 2; i++) {
		cleanup_close(&v->out[i]);
		cleanup_close(&v->error[i]);
	}
	str_release(&v->document);
	str_release(&v->sentence);
}

static int finish_verb(
	struct call *c, struct verb_process *v, const struct verb_words *w, struct err *e)
{
	bool refused;

	/* A call of several operations that was cancelled during one starts no other. */
	if (call_cancelled(c))
		return err_set(e, ERR_CANCELLED, "cancelled");
	if (spawn_verb(v, w, e))
		return -1;
	read_verb(c, v);
	/* It ends by itself: it was told to, and is again when this thread ends. */
	if (v->out[0] >= 0 || v->error[0] >= 0)
		return err_set(e, ERR_CANCELLED, "cancelled");
	while (waitpid(v->pid, &v->status, 0) < 0 && errno == EINTR)
		;
	if (v->full.kind)
		return err_copy(e, &v->full);
	if (v->document.len || (WIFEXITED(v->status) && !WEXITSTATUS(v->status)))
		return 0;
	refused = WIFEXITED(v->status) && WEXITSTATUS(v->status) == 4;
	c->recorded |= refused;
	return err_set(
		e, refused ? ERR_REFUSED : ERR_FAILED, "%.480s", last_sentence(&v->sentence));
}

#define VERB_PROCESS                                                                            \
	{                                                                                       \
		.out = {-1, -1}, .error = {-1, -1}, .document = STR_INIT, .sentence = STR_INIT, \
		.room = DOCUMENT_STEP                                                           \
	}

const struct json *verb_ask(struct call *c, const struct verb_words *w, struct err *e)
{
	struct verb_process v = VERB_PROCESS;
	const struct json *d = finish_verb(c, &v, w, e) ? NULL : parse_document(c, &v, e);

	release_verb(&v);
	return d;
}

int verb_print(struct call *c, const struct verb_words *w, struct str *out, struct err *e)
{
	struct verb_process v = VERB_PROCESS;
	int rc = finish_verb(c, &v, w, e);

	if (!rc)
		str_add(out, v.document.s, v.document.len);
	release_verb(&v);
	return rc;
}

void verb_put(struct jsonw *j, const char *key, const struct json *v)
{
	put_value(j, key, v, 0);
}

int verb_run(struct call *c, const struct verb_words *w, struct err *e)
{
	const struct json *d = verb_ask(c, w, e);

	for (const struct json *m = d ? d->first : NULL; m; m = m->next)
		put_value(&c->out, m->key, m, 0);
	return d ? 0 : -1;
}

void verb_begin(struct call *c, struct verb_words *w)
{
	*w = (struct verb_words){.n = 0};
	for (size_t i = 0; i < call_options(c)->verbs.n; i++)
		verb_word(w, call_options(c)->verbs.word[i]);
	/* As it was when this server was started, whatever the settings have become. */
	if (call_options(c)->policy->read_only)
		verb_word(w, "--read-only");
}
