/* gate.c - the gate: what policy refuses or the log cannot take is not done, and all else is told with its end. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <cmocka.h>

#include "audit_log.h"

/* A loop of its own: an eventfd that the log's thread writes to. */
struct caller {
	struct gate gate;
	int fd;
	struct gate_ticket *ticket;
	size_t told;
	struct err err;
};

static void wake_caller(void *ctx)
{
	struct caller *c = ctx;

	assert_int_equal(eventfd_write(c->fd, 1), 0);
}

static void begin_caller(struct caller *c, const struct policy *policy, const char *dir)
{
	const struct audit_options log = {.dir = dir, .program = "test", .commit_ms = 1};

	*c = (struct caller){.fd = eventfd(0, EFD_CLOEXEC)};
	gate_init(&c->gate, &log, policy, wake_caller, c);
}

static void end_caller(struct caller *c)
{
	gate_release(&c->gate);
	close(c->fd);
}

static void on_intent(void *ctx, const struct err *err)
{
	struct caller *c = ctx;

	c->told++;
	c->err = err ? *err : (struct err)ERR_INIT;
}

static void wait_for_intents(struct caller *c)
{
	struct pollfd p = {c->fd, POLLIN, 0};
	eventfd_t n;

	while (c->gate.waiting) {
		assert_int_equal(poll(&p, 1, 10000), 1);
		eventfd_read(c->fd, &n);
		gate_drain(&c->gate);
	}
}

struct seen {
	size_t n;
	struct audit_record r[8];
	char target[8][80], param[8][16];
};

static void keep_seen(void *ctx, const struct audit_record *r, const char *line, size_t len)
{
	struct seen *s = ctx;

	(void)line;
	(void)len;
	if (operation_table[r->operation].class == OP_INTERNAL || s->n == 8)
		return;
	snprintf(s->target[s->n], sizeof s->target[0], "%s", r->target);
	snprintf(s->param[s->n], sizeof s->param[0], "%s", r->nparams ? r->params[0].value : "");
	s->r[s->n++] = *r;
}

static void read_log(const char *dir, struct seen *ret)
{
	struct audit_reader *reader = audit_reader_open(dir, NULL, NULL);

	*ret = (struct seen){0};
	assert_non_null(reader);
	assert_int_equal(audit_reader_forward(reader, 100, 0, keep_seen, ret, NULL), 0);
	audit_reader_close(reader);
}

static void told_once_with_its_end(void **state)
{
	char *dir = log_dir_new(), value[] = "yes", target[] = "abc";
	struct key_value param = {"force", value, false};
	struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct err failed = ERR_INIT;
	struct policy open = {0};
	struct caller c;
	struct seen s;

	(void)state;
	begin_caller(&c, &open, dir);
	r.target = target;
	r.params = &param;
	r.nparams = 1;
	c.ticket = gate_begin(&c.gate, &r, NULL, on_intent, &c, NULL);
	assert_non_null(c.ticket);
	/* Never from inside the call; and the texts are the gate's own by now. */
	assert_int_equal(c.told, 0);
	memset(value, 'x', 3);
	memset(target, 'x', 3);
	wait_for_intents(&c);
	assert_int_equal(c.told, 1);
	assert_int_equal(c.err.kind, ERR_NONE);
	read_log(dir, &s);
	assert_int_equal(s.n, 1);
	err_set(&failed, ERR_FAILED, "it did not work");
	gate_end(c.ticket, &failed);
	gate_note(&c.gate, &r, NULL);
	end_caller(&c);
	read_log(dir, &s);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.r[0].phase, AUDIT_INTENT);
	assert_string_equal(s.target[0], "abc");
	assert_int_equal(s.r[1].phase, AUDIT_OUTCOME);
	assert_int_equal(s.r[1].intent, s.r[0].seq);
	assert_int_equal(s.r[1].result, AUDIT_FAILED);
	assert_string_equal(s.target[1], "abc");
	assert_string_equal(s.param[1], "yes");
	assert_true(s.r[1].duration_us >= 0);
	assert_int_equal(s.r[2].phase, AUDIT_EVENT);
	log_dir_free(dir);
}

static void refused_by_policy(void **state)
{
	char *dir = log_dir_new();
	struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	const char *kept[] = {"secret=yes"};
	const struct key_value label = {"secret", "yes", false};
	const struct record_target of = {.labels = &label, .nlabels = 1};
	struct policy policy = {.keep.labels = {1, kept}};
	struct err e = ERR_INIT;
	struct caller c;
	struct seen s;

	(void)state;
	begin_caller(&c, &policy, dir);
	assert_null(gate_begin(&c.gate, &r, &of, on_intent, &c, &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(c.gate.waiting, 0);
	end_caller(&c);
	assert_int_equal(c.told, 0);
	read_log(dir, &s);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.r[0].phase, AUDIT_EVENT);
	assert_int_equal(s.r[0].result, AUDIT_REFUSED);
	log_dir_free(dir);
}

/* There is no log and can be none: nothing is begun, and ending what was not begun records nothing. */
static void not_done_without_record(void **state)
{
	struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct policy open = {0};
	struct err e = ERR_INIT;
	struct caller c;

	(void)state;
	begin_caller(&c, &open, "/proc/self/berth");
	c.ticket = gate_begin(&c.gate, &r, NULL, on_intent, &c, &e);
	if (c.ticket) {
		wait_for_intents(&c);
		assert_int_equal(c.told, 1);
		e = c.err;
	}
	assert_int_not_equal(e.kind, ERR_NONE);
	assert_non_null(strstr(e.msg, "could not be recorded"));
	gate_end(c.ticket, &e);
	end_caller(&c);
}

struct operation_done {
	size_t n;
	bool fails;
};

static int do_operation(void *ctx, struct audit_record *r, struct err *e)
{
	struct operation_done *d = ctx;

	d->n++;
	r->target = "learned";
	return d->fails ? err_set(e, ERR_FAILED, "it did not work") : 7;
}

static void one_call(void **state)
{
	char *top = log_dir_new(), *dir = xasprintf("%s/berth/audit", top);
	const struct audit_record r = {
		.operation = OP_CONTAINER_STOP, .target_type = "container", .name = "one"};
	struct policy open = {0}, shut = {.read_only = true};
	struct recorder by = {.program = "test", .policy = &open};
	struct operation_done d = {0};
	struct err e = ERR_INIT;
	struct seen s;

	(void)state;
	setenv("XDG_STATE_HOME", top, 1);
	assert_int_equal(record_act(&by, &r, NULL, do_operation, &d, &e), 7);
	assert_int_equal(e.kind, ERR_NONE);
	d.fails = true;
	assert_int_equal(record_act(&by, &r, NULL, do_operation, &d, &e), -1);
	assert_int_equal(e.kind, ERR_FAILED);
	by.policy = &shut;
	e = (struct err)ERR_INIT;
	assert_int_equal(record_act(&by, &r, NULL, do_operation, &d, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(d.n, 2);
	recorder_close(&by);
	read_log(dir, &s);
	assert_int_equal(s.n, 5);
	assert_int_equal(s.r[1].result, AUDIT_OK);
	assert_int_equal(s.r[1].intent, s.r[0].seq);
	assert_string_equal(s.target[1], "learned");
	assert_int_equal(s.r[3].result, AUDIT_FAILED);
	assert_int_equal(s.r[4].result, AUDIT_REFUSED);
	/* The log is below: not a plain directory of files. */
	log_dir_clear(dir);
	rmdir(dir);
	free(dir);
	dir = xasprintf("%s/berth", top);
	log_dir_free(dir);
	log_dir_free(top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_once_with_its_end),
		cmocka_unit_test(refused_by_policy),
		cmocka_unit_test(not_done_without_record),
		cmocka_unit_test(one_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
