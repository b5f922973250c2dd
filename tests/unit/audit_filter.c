/* audit_filter.c - which records a filter of the audit log lets through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "audit_log.h"

static struct audit *open_log(const char *dir)
{
	struct audit *a = audit_open(
		&(struct audit_options){.dir = dir, .program = "test", .commit_ms = 1}, NULL);

	assert_non_null(a);
	return a;
}

static void count_record(void *ctx, const struct audit_record *r, const char *line, size_t len)
{
	(void)r;
	(void)line;
	(void)len;
	++*(size_t *)ctx;
}

/* The records that `f` lets through, forwards and backwards. */
static size_t count_found(const char *dir, const struct audit_filter *f)
{
	size_t back = 0, on = 0;
	struct audit_reader *r = audit_reader_open(dir, f, NULL);

	assert_non_null(r);
	assert_int_equal(audit_reader_older(r, 100, 0, count_record, &back, NULL), 0);
	audit_reader_close(r);
	r = audit_reader_open(dir, f, NULL);
	assert_int_equal(audit_reader_forward(r, 100, 0, count_record, &on, NULL), 0);
	audit_reader_close(r);
	assert_int_equal(back, on);
	return on;
}

static void test_filter_text(void **state)
{
	static const struct {
		const char *text;
		size_t found;
	} rows[] = {{"red-one", 1}, {"red-one|blue-two", 2}, {"RED-ONE", 0}, {"red-.*e", 2},
		{"blue\\-two", 1}, {"deEp", 1}, {"deep", 1}, {"!red-one|blue-two|deep|log\\.", 0},
		{"!red-one", 4}, {"", 5}};
	static const char *const names[] = {"red-one", "blue-two", "red-deEp"};
	char *dir = log_dir_new();
	struct audit *a = open_log(dir);
	struct audit_record r = log_record(OP_FILE_DELETE, AUDIT_EVENT);
	struct audit_filter bad = {.text = "one(|two"};
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		r.name = names[i];
		assert_int_equal(audit_write(a, &r, NULL, NULL), 0);
	}
	audit_close(a);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct audit_filter f = {.text = rows[i].text};

		assert_int_equal(audit_filter_check(&f, NULL), 0);
		assert_int_equal(count_found(dir, &f), rows[i].found);
	}
	assert_null(audit_reader_open(dir, &bad, &e));
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.msg, "not a regular expression"));
	assert_int_equal(audit_filter_check(&bad, NULL), -1);
	log_dir_free(dir);
}

/* A record that is made to be hard for an expression does not hide from it. */
static void test_filter_hard(void **state)
{
	static const char *const texts[] = {"curl.*evil", "!curl.*evil"};
	char *dir = log_dir_new(), hard[4001] = "curl evil ";
	struct audit *a = open_log(dir);
	struct audit_record r = log_record(OP_FILE_DELETE, AUDIT_EVENT);
	const struct key_value kv[] = {{"command", hard, false}};

	(void)state;
	memset(hard + 10, 'e', sizeof hard - 11);
	r.name = "plain";
	assert_int_equal(audit_write(a, &r, NULL, NULL), 0);
	r.params = kv;
	r.nparams = 1;
	assert_int_equal(audit_write(a, &r, NULL, NULL), 0);
	audit_close(a);
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct audit_filter f = {
			.text = texts[i], .operation = operation_table[OP_FILE_DELETE].name};

		assert_int_equal(count_found(dir, &f), 1 + i);
	}
	log_dir_free(dir);
}

/* What began is no other outcome of what ended. */
static void test_filter_other_outcomes(void **state)
{
	char *dir = log_dir_new();
	struct audit *a = open_log(dir);
	struct audit_record r = log_record(OP_CONTAINER_STOP, AUDIT_INTENT);
	struct audit_filter f = {.operation = "container.stop",
		.by_result = true,
		.not_result = true,
		.result = AUDIT_OK};
	uint64_t ticket = audit_submit(a, &r, 0, NULL, NULL, NULL);

	(void)state;
	r.phase = AUDIT_OUTCOME;
	r.result = AUDIT_OK;
	assert_true(audit_submit(a, &r, ticket, NULL, NULL, NULL));
	audit_close(a);
	assert_int_equal(count_found(dir, &f), 0);
	f.result = AUDIT_FAILED;
	assert_int_equal(count_found(dir, &f), 1);
	f = (struct audit_filter){.operation = "container.stop", .by_result = true};
	assert_int_equal(count_found(dir, &f), 1);
	log_dir_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_filter_text),
		cmocka_unit_test(test_filter_hard), cmocka_unit_test(test_filter_other_outcomes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
