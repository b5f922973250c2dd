/* audit_put.c - records that only have to be in the file, written by whoever waits for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "audit_log.h"
#include "audit/sys.h"

static void *put_records(void *arg)
{
	struct audit_record r = log_record(OP_CONTAINER_EXEC, AUDIT_EVENT);
	uint64_t seq, last = 0;

	for (int i = 0; i < 200; i++) {
		assert_int_equal(audit_put(arg, &r, &seq, NULL), 0);
		assert_true(seq > last);
		last = seq;
	}
	return NULL;
}

/* Written by whoever waits or by the writer, as it comes, with signatures and new segments on the way. */
static void test_put_by_threads(void **state)
{
	char *dir = log_dir_new(), *second;
	struct audit *a = audit_open(&(struct audit_options){.dir = dir,
					     .program = "test",
					     .segment_bytes = 16384,
					     .reserve_bytes = 65536,
					     .checkpoint_records = 50,
					     .commit_ms = 1},
		NULL);
	pthread_t threads[8];
	struct audit_verdict v;

	(void)state;
	assert_non_null(a);
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_create(&threads[i], NULL, put_records, a);
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	audit_close(a);
	v = log_verify(dir, NULL);
	assert_int_equal(v.fault, AUDIT_CLEAN);
	assert_true(v.records > 1600 && v.checkpoints > 1);
	second = log_segment(dir, 1);
	assert_string_not_equal(second, "");
	free(second);
	log_dir_free(dir);
}

static struct {
	pthread_t asker;
	_Atomic unsigned by_asker, synced;
} writes;

static ssize_t note_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	writes.by_asker += pthread_equal(pthread_self(), writes.asker) != 0;
	return audit_sys_real.pwrite(fd, bytes, n, at);
}

static int note_fdatasync(int fd)
{
	writes.synced++;
	return audit_sys_real.fdatasync(fd);
}

/* While the writer has nothing to do nobody waits for it to be woken; the disk, the signature and the next segment are
 * still its work. */
static void test_put_without_writer(void **state)
{
	char *dir = log_dir_new(), *second = NULL;
	struct audit_record r = log_record(OP_CONTAINER_EXEC, AUDIT_EVENT);
	struct audit_sys sys = audit_sys_real;
	struct audit_verdict v;
	struct audit *a;
	unsigned synced;

	(void)state;
	sys.pwrite = note_pwrite;
	sys.fdatasync = note_fdatasync;
	writes.asker = pthread_self();
	a = audit_open(&(struct audit_options){.dir = dir,
			       .program = "test",
			       .segment_bytes = 8192,
			       .reserve_bytes = 65536,
			       .checkpoint_records = 20,
			       .commit_ms = 1,
			       .sys = &sys},
		NULL);
	assert_non_null(a);
	for (int i = 0; i < 20000 && !writes.by_asker; i++)
		assert_int_equal(audit_put(a, &r, NULL, NULL), 0);
	assert_true(writes.by_asker > 0);
	synced = writes.synced;
	assert_int_equal(audit_put(a, &r, NULL, NULL), 0);
	while (writes.synced == synced)
		sched_yield();
	while (!second || !*second) {
		free(second);
		assert_int_equal(audit_put(a, &r, NULL, NULL), 0);
		second = log_segment(dir, 1);
	}
	audit_close(a);
	v = log_verify(dir, NULL);
	assert_int_equal(v.fault, AUDIT_CLEAN);
	assert_true(v.checkpoints > 1);
	free(second);
	log_dir_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_by_threads),
		cmocka_unit_test(test_put_without_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
