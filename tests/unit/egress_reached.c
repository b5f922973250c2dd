/* egress_reached.c - what an agent reached, summed by target: names that it makes up hide none, and a part is no answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/mem.h>

#include "egress/routes.h"
#include "lib/tree.h"

static struct egress_target target_of(const char *text)
{
	struct egress_target t;

	assert_int_equal(egress_parse_target(text, strlen(text), EGRESS_TLS_PORT, &t, NULL), 0);
	return t;
}

static void allow(struct end *end, const char *rule)
{
	assert_int_equal(egress_parse_rule(rule, true, &end->rules[end->nrules++], NULL), 0);
}

static struct egress_reached *reach(struct end *end, const char *text)
{
	const struct egress_target t = target_of(text);

	return reached_add(end, &t, false);
}

/* "" is the place of all others. */
static uint64_t count_of(const struct end *end, const char *host)
{
	for (size_t i = 0; i < end->nreached; i++)
		if (!strcmp(end->reached[i].to.host, host))
			return end->reached[i].connections;
	return *host ? 0 : end->reached[EGRESS_REACHED_MAX].connections;
}

static void made_up_names(void **state)
{
	struct end *end = xcalloc(1, sizeof *end);
	struct egress_reached *r;
	char name[64];

	(void)state;
	allow(end, "*.wild.test");
	allow(end, "late.test");
	allow(end, "api.wild.test");
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof name, "n%d.wild.test", i);
		reach(end, name);
	}
	r = reach(end, "n0.wild.test");
	assert_string_equal(r->to.host, "n0.wild.test");
	assert_int_equal(r->connections, 2);
	assert_int_equal(count_of(end, "n15.wild.test"), 1);
	assert_int_equal(count_of(end, "n16.wild.test"), 0);
	assert_int_equal(count_of(end, "*.wild.test"), 984);
	reach(end, "late.test");
	reach(end, "api.wild.test");
	assert_int_equal(count_of(end, "late.test"), 1);
	assert_int_equal(count_of(end, "api.wild.test"), 1);
	assert_int_equal(count_of(end, ""), 0);
	r = reached_add(end, &(struct egress_target){.host = "route.wild.test", .port = 443}, true);
	assert_string_equal(r->to.host, "route.wild.test");
	reached_count(r, 5, 7);
	assert_int_equal(r->up, 5);
	assert_int_equal(r->down, 7);
	free(end);
}

/* With as many rules for names below domains as there can be, what a rule names still has its place. */
static void many_domains(void **state)
{
	struct end *end = xcalloc(1, sizeof *end);
	char name[64];

	(void)state;
	for (int i = 0; i < EGRESS_RULES_MAX - 1; i++) {
		snprintf(name, sizeof name, "*.d%d.test", i);
		allow(end, name);
	}
	allow(end, "late.test");
	for (int i = 0; i < EGRESS_RULES_MAX - 1; i++)
		for (int k = 0; k < 18; k++) {
			snprintf(name, sizeof name, "n%d.d%d.test", k, i);
			reach(end, name);
		}
	reach(end, "late.test");
	assert_int_equal(count_of(end, "late.test"), 1);
	assert_int_equal(count_of(end, "*.d0.test"), 2);
	assert_int_equal(count_of(end, "*.d510.test"), 18);
	assert_int_equal(count_of(end, ""), 0);
	free(end);
}

static void all_others(void **state)
{
	struct end *end = xcalloc(1, sizeof *end);
	char name[64];

	(void)state;
	for (int i = 0; i < EGRESS_REACHED_MAX + 3; i++) { /* allowed once, each */
		snprintf(name, sizeof name, "n%d.test", i);
		reach(end, name);
	}
	reach(end, "n0.test");
	assert_int_equal(end->nreached, EGRESS_REACHED_MAX);
	assert_int_equal(count_of(end, "n0.test"), 2);
	assert_int_equal(count_of(end, "n1023.test"), 1);
	assert_int_equal(count_of(end, ""), 3);
	assert_true(end->reached[EGRESS_REACHED_MAX].first_ms > 0);
	free(end);
}

/* What egress_ask_reached says of an end that sends so many targets, and then the place of all others, or not. */
static int ask_end(size_t n, bool whole, uint64_t others, struct err *e)
{
	AUTO_FREE struct egress_reached *out = xcalloc(EGRESS_REACHED_MAX + 1, sizeof *out);
	AUTO_CLOSE int listener = egress_listen("x", EGRESS_SOCK, NULL);
	pid_t end = listener < 0 ? -1 : fork();
	int found;

	assert_true(end >= 0);
	if (!end) {
		struct egress_reached r = {.to = target_of("a.test"), .connections = 1};
		int conn = accept(listener, NULL, NULL);
		char question[64];

		recv(conn, question, sizeof question, 0);
		for (size_t i = 0; i < n; i++)
			send(conn, &r, sizeof r, MSG_NOSIGNAL);
		r = (struct egress_reached){.connections = others};
		if (whole)
			send(conn, &r, sizeof r, MSG_NOSIGNAL);
		_exit(0);
	}
	found = egress_ask_reached("x", out, e);
	assert_int_equal(waitpid(end, NULL, 0), end);
	if (found > 0 && others)
		assert_int_equal(out[found - 1].connections, others);
	return found;
}

static void whole_answers(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(ask_end(0, true, 0, &e), 0);
	assert_int_equal(ask_end(2, true, 0, &e), 2);
	assert_int_equal(ask_end(2, true, 9, &e), 3);
	assert_int_equal(ask_end(EGRESS_REACHED_MAX, true, 9, &e), EGRESS_REACHED_MAX + 1);
	assert_int_equal(ask_end(0, false, 0, &e), -1);
	assert_non_null(strstr(e.msg, "belongs to another berth"));
	e = (struct err)ERR_INIT;
	assert_int_equal(ask_end(2, false, 0, &e), -1);
	assert_non_null(strstr(e.msg, "only a part of its answer"));
}

static int setup(void **state)
{
	(void)state;
	tree_make("reached");
	return setenv("XDG_RUNTIME_DIR", tree_path(""), 1);
}

static int teardown(void **state)
{
	(void)state;
	tree_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_up_names),
		cmocka_unit_test(many_domains),
		cmocka_unit_test(all_others),
		cmocka_unit_test_setup_teardown(whole_answers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
