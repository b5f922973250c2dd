/* audit.c - records, the chain, verification, reading, export and retention. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>

#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/hex.h>
#include <berth/text.h>

#include "audit_log.h"
#include "audit/keys.h"
#include "audit/record.h"

static struct audit *open_test_log(const char *dir, uint64_t segment, unsigned checkpoint)
{
	struct err e = ERR_INIT;
	struct audit *a = audit_open(&(struct audit_options){.dir = dir,
					     .program = "test",
					     .segment_bytes = segment,
					     .reserve_bytes = 65536,
					     .checkpoint_records = checkpoint,
					     .commit_ms = 1},
		&e);

	if (!a)
		fail_msg("%s", e.msg);
	return a;
}

static uint64_t write_one(struct audit *a, const struct audit_record *r)
{
	uint64_t seq = 0;

	assert_int_equal(audit_write(a, r, &seq, NULL), 0);
	return seq;
}

static void write_many(struct audit *a, int n, const char *agent)
{
	struct audit_record r = log_record(OP_CONTAINER_EXEC, AUDIT_EVENT);

	r.agent = agent;
	r.result = AUDIT_OK;
	for (int i = 0; i < n - 1; i++)
		assert_true(audit_submit(a, &r, 0, NULL, NULL, NULL));
	write_one(a, &r);
}

static void expect_clean_log(const char *dir, uint64_t records)
{
	struct audit_verdict v = log_verify(dir, NULL);

	if (v.fault != AUDIT_CLEAN)
		fail_msg("%s at %lu: %s", audit_fault_name(v.fault), (unsigned long)v.at_seq,
			v.sentence);
	if (records)
		assert_int_equal(v.records, records);
}

/* -- the canonical form --------------------------------------------------------------------------
 */

static const char hostile[] =
	"a\"b\\c\n\r\t\x01\x1b[31m\x7f \xc2\x9b \xe2\x80\xae rtl \xff\xfe \xc0\x80"
	"\xed\xa0\x80 \xf4\x8f\xb8\x80 \xef\xbf\xbd \xf0\x9f\x98\x80 end";

static void test_record_round_trip(void **state)
{
	struct key_value params[] = {{"cmd", hostile, false}, {"DB_PASSWORD", "hunter2", false},
		{"token", "t0k", true}, {"", "", false}};
	struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_OUTCOME), back;
	uint8_t prev[SEAL_HASH] = {1, 2, 3}, hash[SEAL_HASH];
	struct str body = STR_INIT, line = STR_INIT, again = STR_INIT;
	struct record_frame f;
	struct arena mem;

	(void)state;
	r.name = hostile;
	r.host = "h";
	r.boot = "b";
	r.pid = UINT32_MAX;
	r.program = "p";
	r.user = hostile;
	r.uid = 1000;
	r.wall_ms = 1763675100123;
	r.mono_us = (int64_t)1 << 60;
	r.agent = "a";
	r.session = "s";
	r.error = "failed: \"x\"";
	r.result = AUDIT_FAILED;
	r.duration_us = 0;
	r.items = 12;
	r.has_manifest = true;
	memset(r.manifest, 0xab, sizeof r.manifest);
	r.params = params;
	r.nparams = COUNT(params);
	record_body(&body, &r);
	record_line(&line, 42, 41, body.s, body.len, prev, hash);
	assert_int_equal(line.s[line.len - 1], '\n');
	assert_null(memchr(line.s, '\n', line.len - 1));
	assert_null(strstr(line.s, "hunter2"));
	assert_null(strstr(line.s, "t0k"));
	for (size_t i = 0; i + 1 < line.len;) {
		uint32_t cp;
		size_t used = utf8_next(line.s + i, line.len - i, &cp);

		assert_false(cp == TEXT_BAD && used == 1); /* valid UTF-8 ... */
		assert_true(
			cp == TEXT_BAD || text_cp_width(cp) >= 0); /* ... of visible characters */
		i += used;
	}
	arena_init(&mem, 4096);
	assert_true(record_parse(line.s, line.len - 1, &mem, &back));
	assert_int_equal(back.seq, 42);
	assert_int_equal(back.intent, 41);
	assert_int_equal(back.operation, OP_CONTAINER_REMOVE);
	assert_int_equal(back.phase, AUDIT_OUTCOME);
	assert_int_equal(back.result, AUDIT_FAILED);
	assert_int_equal(back.duration_us, 0);
	assert_int_equal(back.mono_us, (int64_t)1 << 60);
	assert_int_equal(back.pid, UINT32_MAX);
	assert_int_equal(back.items, 12);
	assert_string_equal(back.name, hostile);
	assert_string_equal(back.user, hostile);
	assert_string_equal(back.error, r.error);
	assert_int_equal(back.nparams, 4);
	assert_string_equal(record_param(&back, "cmd"), hostile);
	assert_string_equal(record_param(&back, "DB_PASSWORD"), "***");
	assert_memory_equal(back.manifest, r.manifest, SEAL_HASH);
	assert_memory_equal(back.prev, prev, SEAL_HASH);
	assert_memory_equal(back.hash, hash, SEAL_HASH);
	/* Writing what was read gives the same bytes. */
	str_clear(&body);
	record_body(&body, &back);
	record_line(&again, 42, 41, body.s, body.len, prev, hash);
	assert_string_equal(again.s, line.s);
	assert_true(record_frame(line.s, line.len - 1, &f));
	assert_int_equal(f.seq, 42);
	assert_false(f.internal);
	assert_true(record_frame_holds(&f));
	/* Any changed byte is noticed. */
	for (size_t i = 0; i + 1 < line.len; i++) {
		line.s[i] ^= 1;
		assert_false(record_frame(line.s, line.len - 1, &f) && record_frame_holds(&f));
		line.s[i] ^= 1;
	}
	arena_release(&mem);
	str_release(&body);
	str_release(&line);
	str_release(&again);
}

static void test_known_line(void **state)
{
	/* Worked out with printf, xxd and sha256sum, as the header says. */
	static const char expected[] =
		"{\"seq\":1,\"act\":\"container.stop\",\"phase\":\"intent\",\"wall_ms\":1,\"mono_us\":2,"
		"\"host\":\"h\",\"boot\":\"b\",\"pid\":3,\"program\":\"p\",\"uid\":4,\"user\":\"u\","
		"\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\","
		"\"hash\":\"13fea6d5dd4083beb6039d15f477cb03d8223d19903db8230061047433b1ab93\"}\n";
	struct audit_record r = {.operation = OP_CONTAINER_STOP,
		.wall_ms = 1,
		.mono_us = 2,
		.host = "h",
		.boot = "b",
		.pid = 3,
		.program = "p",
		.uid = 4,
		.user = "u",
		.duration_us = -1};
	uint8_t prev[SEAL_HASH] = {0}, hash[SEAL_HASH];
	struct str body = STR_INIT, line = STR_INIT;

	(void)state;
	record_body(&body, &r);
	record_line(&line, 1, 0, body.s, body.len, prev, hash);
	assert_string_equal(line.s, expected);
	str_release(&body);
	str_release(&line);
}

/* Every byte at every place within what is looked at together. */
static void test_every_byte(void **state)
{
	struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_EVENT);
	struct str body = STR_INIT;

	(void)state;
	for (int at = 0; at < 19; at++) {
		for (int byte = 1; byte < 256; byte++) {
			char name[20] = "aaaaaaaaaaaaaaaaaaa", want[64] = ",\"name\":\"";
			size_t n = strlen(want);

			name[at] = (char)byte;
			memset(want + n, 'a', 19 + 8);
			n += (size_t)at;
			if (byte == '"' || byte == '\\')
				n += (size_t)sprintf(want + n, "\\%c", byte);
			else if (byte < 0x20 || byte == 0x7F)
				n += (size_t)sprintf(want + n, "\\u%04x", (unsigned)byte);
			else if (byte < 0x80)
				want[n++] = (char)byte;
			else
				n += utf8_put(RECORD_BYTE_PLANE + (unsigned)byte, want + n);
			memset(want + n, 'a', (size_t)(18 - at));
			n += (size_t)(18 - at);
			want[n] = '"';
			want[n + 1] = '\0';
			r.name = name;
			str_clear(&body);
			record_body(&body, &r);
			if (!strstr(body.s, want))
				fail_msg("%s is not in %s", want, body.s);
		}
	}
	str_release(&body);
}

static void test_long_texts(void **state)
{
	char *big = malloc(1 << 16);
	struct key_value params[AUDIT_PARAMS_MAX + 4];
	struct audit_record r = log_record(OP_CONTAINER_EXEC, AUDIT_EVENT), back;
	struct str body = STR_INIT, line = STR_INIT, second = STR_INIT;
	uint8_t prev[SEAL_HASH] = {0}, hash[SEAL_HASH];
	struct arena mem;

	(void)state;
	/* The worst: every byte takes four in the line. */
	for (int kind = 0; kind < 40; kind++) {
		memset(big, kind == 0 ? 'x' : kind == 1 ? 0xff : 1, (1 << 16) - 1);
		/* Runs and escapes, so that the cut falls at every place of both. */
		for (size_t i = 0; kind > 2 && i < (1 << 16) - 1; i++)
			big[i] = i % (size_t)kind < (size_t)kind / 2 ? 'x' : 1;
		big[(1 << 16) - 1] = '\0';
		for (size_t i = 0; i < COUNT(params); i++)
			params[i] = (struct key_value){big, big, false};
		r.host = r.boot = r.program = r.user = r.agent = r.session = r.target_type = big;
		r.engine = r.target = r.name = r.error = big;
		r.params = params;
		r.nparams = COUNT(params);
		str_clear(&body);
		str_clear(&line);
		str_clear(&second);
		record_body(&body, &r);
		record_line(&line, INT64_MAX, INT64_MAX, body.s, body.len, prev, hash);
		assert_true(line.len <= AUDIT_LINE_MAX);
		arena_init(&mem, 4096);
		assert_true(record_parse(line.s, line.len - 1, &mem, &back));
		assert_non_null(strstr(back.name, "... (65535 bytes)"));
		str_clear(&body);
		record_body(&body, &back);
		record_line(&second, INT64_MAX, INT64_MAX, body.s, body.len, prev, hash);
		assert_string_equal(second.s, line.s);
		arena_release(&mem);
	}
	free(big);
	str_release(&body);
	str_release(&line);
	str_release(&second);
}

static void test_audit_argv(void **state)
{
	const char *argv[] = {"deploy", "--password", "hunter2", "API_TOKEN=abc", "--api-key=xyz",
		"https://me:pw@example.org/x", "it's", "plain=1"};
	struct str s = STR_INIT;

	(void)state;
	audit_argv(&s, COUNT(argv), argv);
	assert_string_equal(s.s,
		"deploy --password *** API_TOKEN=*** --api-key=*** https://me:***@example.org/x "
		"'it'\\''s' plain=1");
	str_release(&s);
}

/* -- the log -------------------------------------------------------------------------------------
 */

static void test_first_use(void **state)
{
	char *dir = log_dir_new(), *key = log_path(dir, "key");
	struct audit *a = open_test_log(dir, 0, 0);
	struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct audit_head head;
	struct stat st;
	uint64_t seq;

	(void)state;
	seq = write_one(a, &r);
	assert_int_equal(seq, 2); /* after log.start */
	r.phase = AUDIT_OUTCOME;
	r.result = AUDIT_OK;
	r.intent = seq;
	assert_int_equal(write_one(a, &r), 3);
	audit_close(a);
	expect_clean_log(dir, 4); /* and the checkpoint at exit */
	assert_int_equal(audit_head_read(dir, &head, NULL), 0);
	assert_int_equal(head.seq, 4);
	assert_int_equal(head.signed_seq, 4);
	assert_int_equal(stat(key, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* Again: goes on, and signs nothing when nothing was written. */
	a = open_test_log(dir, 0, 0);
	audit_close(a);
	expect_clean_log(dir, 4);
	free(key);
	log_dir_free(dir);
}

/* A command's log: closes, and leaves the signature to who closes last. */
static void one_command(const char *dir)
{
	struct err e = ERR_INIT;
	struct audit *a = audit_open(
		&(struct audit_options){.dir = dir, .program = "exec", .linger_ms = 1}, &e);
	struct audit_record r = log_record(OP_CONTAINER_EXEC, AUDIT_EVENT);

	assert_non_null(a);
	write_one(a, &r);
	audit_close(a);
}

static void test_last_one_out_signs(void **state)
{
	char *dir = log_dir_new(), *key = log_path(dir, "key");
	struct audit_head head;
	int other;

	(void)state;
	one_command(dir); /* alone: signs */
	assert_int_equal(audit_head_read(dir, &head, NULL), 0);
	assert_int_equal(head.signed_seq, head.seq);
	/* Another waits to sign: it will. */
	other = open(key, O_RDWR);
	assert_true(keys_wait(other, false));
	for (int i = 0; i < 3; i++)
		one_command(dir);
	assert_int_equal(audit_head_read(dir, &head, NULL), 0);
	assert_int_equal(head.seq - head.signed_seq, 3);
	/* Not for ever. */
	for (int i = 3; i < AUDIT_LINGER; i++)
		one_command(dir);
	assert_int_equal(audit_head_read(dir, &head, NULL), 0);
	assert_int_equal(head.signed_seq, head.seq);
	one_command(dir);
	/* And when it was killed, the next one does. */
	close(other);
	one_command(dir);
	assert_int_equal(audit_head_read(dir, &head, NULL), 0);
	assert_int_equal(head.signed_seq, head.seq);
	expect_clean_log(dir, head.seq);
	free(key);
	log_dir_free(dir);
}

struct seen {
	sem_t done;
	uint64_t seq;
	int failed;
};

static void on_audit_done(void *ctx, uint64_t seq, const struct err *err)
{
	struct seen *s = ctx;

	s->seq = seq;
	s->failed = err != NULL;
	sem_post(&s->done);
}

struct collected {
	struct audit_record last;
	size_t n;
	uint64_t seqs[4096];
	char text[512], step_ms[32];
};

static void collect_seqs(void *ctx, const struct audit_record *r, const char *line, size_t len)
{
	struct collected *c = ctx;

	(void)line, (void)len;
	if (c->n < COUNT(c->seqs))
		c->seqs[c->n] = r->seq;
	c->n++;
	c->last = *r; /* the numbers; texts are gone after this */
	if (record_param(r, "step_ms"))
		snprintf(c->step_ms, sizeof c->step_ms, "%s", record_param(r, "step_ms"));
	snprintf(c->text, sizeof c->text, "%s|%s|%s", r->agent, operation_table[r->operation].name,
		r->name);
}

static void test_record_links(void **state)
{
	char *dir = log_dir_new();
	struct audit *a = open_test_log(dir, 0, 0);
	struct audit_record r = log_record(OP_CONTAINER_EXEC, AUDIT_INTENT);
	struct audit_filter filter = {.by_result = true, .result = AUDIT_FAILED};
	struct collected got = {0};
	struct audit_reader *reader;
	struct seen seen;
	uint64_t ticket;

	(void)state;
	sem_init(&seen.done, 0, 0);
	ticket = audit_submit(a, &r, 0, NULL, NULL, NULL);
	r.phase = AUDIT_OUTCOME;
	r.result = AUDIT_FAILED;
	r.error = "no";
	assert_true(audit_submit(a, &r, ticket, on_audit_done, &seen, NULL));
	sem_wait(&seen.done);
	assert_false(seen.failed);
	assert_int_equal(seen.seq, 3);
	audit_close(a);
	reader = audit_reader_open(dir, &filter, NULL);
	assert_int_equal(audit_reader_older(reader, 10, 0, collect_seqs, &got, NULL), 0);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.last.intent, 2);
	audit_reader_close(reader);
	sem_destroy(&seen.done);
	log_dir_free(dir);
}

static void test_rotation(void **state)
{
	char *dir = log_dir_new(), *second;
	struct audit *a = open_test_log(dir, 8192, 7);
	struct audit_verdict v;

	(void)state;
	for (int i = 0; i < 40; i++)
		write_many(a, 10, "agent_a");
	audit_close(a);
	second = log_segment(dir, 5);
	assert_string_not_equal(second, "");
	v = log_verify(dir, NULL);
	assert_int_equal(v.fault, AUDIT_CLEAN);
	assert_int_equal(v.last_seq, v.records);
	assert_int_equal(v.signed_seq, v.records);
	assert_true(v.checkpoints >= 40);
	free(second);
	log_dir_free(dir);
}

static void *write_records(void *arg)
{
	struct audit_record r = log_record(OP_CONTAINER_STOP, AUDIT_INTENT);

	for (int i = 0; i < 200; i++)
		write_one(arg, &r);
	return NULL;
}

static void test_audit_threads(void **state)
{
	char *dir = log_dir_new();
	struct audit *a = open_test_log(dir, 16384, 50);
	pthread_t threads[8];

	(void)state;
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_create(&threads[i], NULL, write_records, a);
	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_join(threads[i], NULL);
	audit_close(a);
	assert_true(log_verify(dir, NULL).records > 1600);
	expect_clean_log(dir, 0);
	log_dir_free(dir);
}

/* -- reading -------------------------------------------------------------------------------------
 */

static void test_reader(void **state)
{
	char *dir = log_dir_new(), *index, *segment;
	struct audit *a = open_test_log(dir, 65536, 100);
	struct audit_filter filter = {.agent = "agent_b"};
	struct audit_record r = log_record(OP_FILE_DELETE, AUDIT_EVENT);
	struct collected *got = calloc(1, sizeof *got);
	struct audit_reader *all, *some;
	uint64_t rare[2], last;

	(void)state;
	write_many(a, 500, "agent_a");
	r.agent = "agent_b";
	r.name = "/w/x";
	rare[0] = write_one(a, &r);
	write_many(a, 500, "agent_a");
	r.result = AUDIT_REFUSED;
	rare[1] = write_one(a, &r);
	write_many(a, 300, "agent_a");
	some = audit_reader_open(dir, &filter, NULL);
	assert_int_equal(audit_reader_older(some, 10, 0, collect_seqs, got, NULL), 0);
	assert_int_equal(got->n, 2);
	assert_int_equal(got->seqs[0], rare[1]);
	assert_int_equal(got->seqs[1], rare[0]);
	assert_string_equal(got->text, "agent_b|file.delete|/w/x");
	/* The index was kept; a damaged one is made again. */
	segment = log_segment(dir, 0);
	index = xasprintf("%.*s.idx", (int)strlen(segment) - 6, segment);
	assert_int_equal(access(index, F_OK), 0);
	file_write(index, "garbage", 7);
	audit_reader_close(some);
	for (int pass = 0; pass < 2; pass++) {
		struct audit_filter both = {.operation = "file.*",
			.by_result = true,
			.result = AUDIT_REFUSED,
			.not_result = pass == 1};

		got->n = 0;
		some = audit_reader_open(dir, &both, NULL);
		assert_int_equal(audit_reader_older(some, 10, 0, collect_seqs, got, NULL), 0);
		assert_int_equal(got->n, 1);
		assert_int_equal(got->seqs[0], rare[!pass]);
		audit_reader_close(some);
	}
	/* Everything, in small steps, in both directions. */
	got->n = 0;
	all = audit_reader_open(dir, NULL, NULL);
	while (audit_reader_older(all, 7, 0, collect_seqs, got, NULL) > 0)
		;
	last = got->seqs[0];
	assert_int_equal(got->n, last);
	for (size_t i = 0; i < got->n; i++)
		assert_int_equal(got->seqs[i], last - i);
	got->n = 0;
	while (audit_reader_forward(all, 13, 0, collect_seqs, got, NULL) > 0)
		;
	/* A checkpoint that was due may have come meanwhile. */
	assert_true(got->n >= last);
	last = got->n;
	for (size_t i = 0; i < got->n; i++)
		assert_int_equal(got->seqs[i], i + 1);
	/* Following across rotation. */
	got->n = 0;
	write_many(a, 400, "agent_c");
	while (audit_reader_newer(all, 50, 0, collect_seqs, got, NULL) > 0)
		;
	assert_true(got->n >= 400);
	for (size_t i = 0; i < got->n; i++)
		assert_int_equal(got->seqs[i], last + 1 + i);
	audit_reader_close(all);
	audit_close(a);
	free(index);
	free(segment);
	free(got);
	log_dir_free(dir);
}

/* -- tampering -----------------------------------------------------------------------------------
 */

/* A log of three and more segments, all signed. */
static char *make_log(void)
{
	char *dir = log_dir_new();
	struct audit *a = open_test_log(dir, 8192, 7);

	for (int i = 0; i < 8; i++)
		write_many(a, 10, "agent_a");
	write_many(a, 4, "agent_a"); /* so that the last segment is not empty */
	audit_close(a);
	expect_clean_log(dir, 0);
	return dir;
}

static char *line_start(char *text, int n)
{
	while (n--)
		text = strchr(text, '\n') + 1;
	return text;
}

static void expect_fault(const char *dir, enum audit_fault fault, uint64_t at)
{
	struct audit_verdict v = log_verify(dir, NULL);

	if (v.fault != fault || (at && v.at_seq != at))
		fail_msg("got %s at %lu (%s), not %s at %lu", audit_fault_name(v.fault),
			(unsigned long)v.at_seq, v.sentence, audit_fault_name(fault),
			(unsigned long)at);
	assert_true(v.sentence[0]);
}

static void test_edited(void **state)
{
	char *dir = make_log(), *path = log_segment(dir, 1), *text, *at;
	size_t len;

	(void)state;
	text = file_read(path, &len);
	at = strstr(line_start(text, 3), "agent_a");
	at[6] = 'b';
	file_write(path, text, len);
	expect_fault(dir, AUDIT_CHANGED, strtoull(line_start(text, 3) + 7, NULL, 10));
	at[6] = 'a';
	file_write(path, text, len);
	expect_clean_log(dir, 0);
	free(text);
	free(path);
	log_dir_free(dir);
}

static void test_lines_removed_moved_inserted(void **state)
{
	char *dir = make_log(), *path = log_segment(dir, 1), *text;
	struct str s = STR_INIT;
	uint64_t seq;
	size_t len;
	char *l3, *l4, *l5;

	(void)state;
	text = file_read(path, &len);
	l3 = line_start(text, 3);
	l4 = line_start(text, 4);
	l5 = line_start(text, 5);
	seq = strtoull(l3 + 7, NULL, 10);
	/* removed */
	str_add(&s, text, (size_t)(l3 - text));
	str_adds(&s, l4);
	file_write(path, s.s, s.len);
	expect_fault(dir, AUDIT_REMOVED, seq);
	/* swapped with its neighbour */
	str_clear(&s);
	str_add(&s, text, (size_t)(l3 - text));
	str_add(&s, l4, (size_t)(l5 - l4));
	str_add(&s, l3, (size_t)(l4 - l3));
	str_adds(&s, l5);
	file_write(path, s.s, s.len);
	expect_fault(dir, AUDIT_MOVED, seq);
	/* moved to the end */
	str_clear(&s);
	str_add(&s, text, (size_t)(l3 - text));
	str_adds(&s, l4);
	str_add(&s, l3, (size_t)(l4 - l3));
	file_write(path, s.s, s.len);
	expect_fault(dir, AUDIT_MOVED, seq);
	/* copied */
	str_clear(&s);
	str_add(&s, text, (size_t)(l4 - text));
	str_adds(&s, l3);
	file_write(path, s.s, s.len);
	expect_fault(dir, AUDIT_INSERTED, seq);
	/* garbage */
	str_clear(&s);
	str_add(&s, text, (size_t)(l4 - text));
	str_adds(&s, "{}\n");
	str_adds(&s, l4);
	file_write(path, s.s, s.len);
	expect_fault(dir, AUDIT_CHANGED, seq + 1);
	str_release(&s);
	free(text);
	free(path);
	log_dir_free(dir);
}

static void test_segments_deleted_swapped(void **state)
{
	char *dir = make_log(), *first = log_segment(dir, 0), *second = log_segment(dir, 1),
	     *third = log_segment(dir, 2), *aside = log_path(dir, "aside");
	uint64_t seq;

	(void)state;
	seq = strtoull(strrchr(second, '/') + 1, NULL, 10);
	rename(second, aside);
	expect_fault(dir, AUDIT_REMOVED, seq);
	rename(third, second);
	rename(aside, third);
	expect_fault(dir, AUDIT_MOVED, seq);
	rename(third, aside);
	rename(second, third);
	rename(aside, second);
	expect_clean_log(dir, 0);
	rename(first, aside);
	expect_fault(dir, AUDIT_REMOVED, 1);
	rename(aside, first);
	free(aside);
	aside = log_segment(dir, -1);
	assert_int_equal(truncate(aside, 0), 0);
	expect_fault(dir, AUDIT_TRUNCATED, 0);
	free(first);
	free(second);
	free(third);
	free(aside);
	log_dir_free(dir);
}

/* Somebody without the key makes the chain fit again after changing a record. */
static void rehash_lines(char **text, size_t *len, int from)
{
	struct str out = STR_INIT;
	uint8_t prev[SEAL_HASH];
	struct record_frame f;
	char *line = line_start(*text, from);

	str_add(&out, *text, (size_t)(line - *text));
	assert_true(record_frame(line, (size_t)(strchr(line, '\n') - line), &f));
	memcpy(prev, f.prev, SEAL_HASH);
	while (*line) {
		char *end = strchr(line, '\n'), *rest = strstr(line, ",\"act\"");
		uint8_t hash[SEAL_HASH];

		assert_true(record_frame(line, (size_t)(end - line), &f));
		record_line(&out, f.seq, 0, rest, (size_t)(line + f.hashed - rest), prev, hash);
		memcpy(prev, hash, SEAL_HASH);
		line = end + 1;
	}
	free(*text);
	*len = out.len;
	*text = str_detach(&out);
}

static void test_rehashed(void **state)
{
	char *dir = log_dir_new(), *path, *text;
	struct audit *a = open_test_log(dir, 0, 1000);
	struct audit_verdict v;
	size_t len;

	(void)state;
	write_many(a, 30, "agent_a");
	audit_close(a);
	a = open_test_log(dir, 0, 1000);
	write_many(a, 30, "agent_a");
	audit_close(a);
	path = log_segment(dir, 0);
	text = file_read(path, &len);
	strstr(line_start(text, 5), "agent_a")[6] = 'b';
	rehash_lines(&text, &len, 5);
	file_write(path, text, len);
	v = log_verify(dir, NULL);
	assert_int_equal(v.fault, AUDIT_REWRITTEN);
	assert_int_equal(v.at_seq, 32); /* the checkpoint that gives it away */
	free(text);
	free(path);
	log_dir_free(dir);
}

static void copy_log_file(const char *from_dir, const char *to_dir, const char *name)
{
	char *from = log_path(from_dir, name), *to = log_path(to_dir, name), *text;
	size_t len;

	text = file_read(from, &len);
	file_write(to, text, len);
	free(text);
	free(from);
	free(to);
}

static void test_truncated_to_older_state(void **state)
{
	char *dir = log_dir_new(), *old = log_dir_new(), *path, *bundle;
	struct audit *a = open_test_log(dir, 0, 1000);
	struct audit_head kept;
	struct audit_verdict v;
	char segment[] = "00000000000000000001.jsonl";
	struct stat st;

	(void)state;
	write_many(a, 20, "agent_a");
	audit_close(a);
	copy_log_file(dir, old, segment);
	copy_log_file(dir, old, "head");
	a = open_test_log(dir, 0, 1000);
	write_many(a, 20, "agent_a");
	audit_close(a);
	assert_int_equal(audit_head_read(dir, &kept, NULL), 0);
	v = log_verify(dir, kept.hash);
	assert_int_equal(v.fault, AUDIT_CLEAN);
	assert_true(v.head_found);
	/* The older state on the same machine: its key is destroyed. */
	copy_log_file(old, dir, segment);
	copy_log_file(old, dir, "head");
	expect_fault(dir, AUDIT_NO_KEY, 0);
	/* As a bundle it is a valid log; only the head kept elsewhere tells. */
	bundle = log_path(old, "bundle");
	assert_int_equal(audit_export(old, bundle, NULL, NULL), 0);
	assert_int_equal(log_verify(bundle, NULL).fault, AUDIT_CLEAN);
	v = log_verify(bundle, kept.hash);
	assert_int_equal(v.fault, AUDIT_TRUNCATED);
	/* A bundle cut short says so itself. */
	stat(bundle, &st);
	assert_int_equal(truncate(bundle, st.st_size - 400), 0);
	assert_int_equal(log_verify(bundle, NULL).fault, AUDIT_TRUNCATED);
	/* Only the acknowledged end cut off, head file left alone. */
	path = log_segment(old, 0);
	stat(path, &st);
	assert_int_equal(truncate(path, st.st_size - 2000), 0);
	expect_fault(old, AUDIT_TRUNCATED, 0);
	free(path);
	free(bundle);
	log_dir_free(dir);
	log_dir_free(old);
}

static void test_merged(void **state)
{
	char *one = make_log(), *two = make_log(), *path = log_segment(one, -1),
	     *other = log_segment(two, -1);
	char *text, *more;
	struct str s = STR_INIT;

	(void)state;
	text = file_read(path, NULL);
	more = file_read(other, NULL);
	str_adds(&s, text);
	str_adds(&s, more);
	file_write(path, s.s, s.len);
	assert_true(log_verify(one, NULL).fault != AUDIT_CLEAN);
	/* Interleaved. */
	str_clear(&s);
	str_add(&s, text, (size_t)(line_start(text, 1) - text));
	str_adds(&s, more);
	str_adds(&s, line_start(text, 1));
	file_write(path, s.s, s.len);
	assert_true(log_verify(one, NULL).fault != AUDIT_CLEAN);
	/* One whole log in the other's directory. */
	file_write(path, more, strlen(more));
	assert_true(log_verify(one, NULL).fault != AUDIT_CLEAN);
	str_release(&s);
	free(text);
	free(more);
	free(path);
	free(other);
	log_dir_free(one);
	log_dir_free(two);
}

static void test_removed_behind_the_writer(void **state)
{
	char *dir = make_log(), *path = log_segment(dir, -1);
	struct audit *a;
	struct stat st;

	(void)state;
	stat(path, &st);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
	/* Going on does not heal it. */
	a = open_test_log(dir, 8192, 7);
	write_many(a, 20, "agent_a");
	audit_close(a);
	expect_fault(dir, AUDIT_TRUNCATED, 0);
	free(path);
	log_dir_free(dir);

	dir = make_log();
	path = log_segment(dir, -1);
	a = open_test_log(dir, 8192, 7);
	write_many(a, 2, "agent_a");
	free(path);
	path = log_segment(dir, -1);
	unlink(path); /* while it is open */
	write_many(a, 2, "agent_a");
	audit_close(a);
	assert_true(log_verify(dir, NULL).fault != AUDIT_CLEAN);
	free(path);
	log_dir_free(dir);
}

static void test_key_lost(void **state)
{
	char *dir = make_log(), *key = log_path(dir, "key");
	struct audit *a;

	(void)state;
	unlink(key);
	expect_fault(dir, AUDIT_NO_KEY, 0);
	a = open_test_log(dir, 8192, 7);
	write_many(a, 20, "agent_a");
	audit_close(a);
	expect_fault(dir, AUDIT_NO_KEY, 0);
	free(key);
	log_dir_free(dir);
}

static void test_torn_log(void **state)
{
	char *dir = make_log(), *path = log_segment(dir, -1);
	struct audit_verdict v;
	struct audit *a;
	int fd = open(path, O_WRONLY | O_APPEND);

	(void)state;
	/* A crash within a write: part of a line after the acknowledged end. */
	assert_int_equal(write(fd, "{\"seq\":999,\"act\":\"cont", 22), 22);
	close(fd);
	v = log_verify(dir, NULL);
	assert_int_equal(v.fault, AUDIT_CLEAN);
	assert_int_equal(v.unacknowledged_bytes, 22);
	a = open_test_log(dir, 8192, 7);
	write_many(a, 2, "agent_a");
	audit_close(a);
	v = log_verify(dir, NULL);
	assert_int_equal(v.fault, AUDIT_CLEAN);
	assert_int_equal(v.torn, 1);
	free(path);
	log_dir_free(dir);
}

static void test_clock_set_back(void **state)
{
	char *dir = log_dir_new();
	struct audit *a;
	struct audit_filter filter = {.operation = "log.clock"};
	struct collected got = {0};
	struct audit_reader *reader;

	(void)state;
	clock_freeze(0, 1763675100000);
	a = open_test_log(dir, 0, 0);
	write_many(a, 3, "agent_a");
	clock_freeze(0, 1763675100000 - 3600000);
	write_many(a, 3, "agent_a");
	audit_close(a);
	expect_clean_log(dir, 0);
	reader = audit_reader_open(dir, &filter, NULL);
	audit_reader_older(reader, 10, 0, collect_seqs, &got, NULL);
	assert_int_equal(got.n, 1);
	assert_in_range(-atoll(got.step_ms), 3595000, 3601000);
	audit_reader_close(reader);
	log_dir_free(dir);
}

/* -- retention and export ------------------------------------------------------------------------
 */

static void test_prune(void **state)
{
	char *dir = make_log(), *bundle = log_path(dir, "bundle"), *first, *text;
	struct audit *a = open_test_log(dir, 8192, 7);
	uint64_t removed = 0;
	struct audit_verdict v;
	size_t len;

	(void)state;
	assert_int_equal(log_prune(dir, NULL, 20000, &removed), 0);
	assert_true(removed > 10);
	write_many(a, 5, "agent_a");
	audit_close(a);
	v = log_verify(dir, NULL);
	if (v.fault != AUDIT_CLEAN)
		fail_msg("%s", v.sentence);
	assert_int_equal(v.first_seq, removed + 1);
	assert_int_equal(audit_export(dir, bundle, NULL, NULL), 0);
	assert_int_equal(log_verify(bundle, NULL).fault, AUDIT_CLEAN);
	assert_int_equal(audit_export(dir, bundle, NULL, NULL), -1); /* never overwritten */
	/* Removing one more segment than was signed away is noticed. */
	first = log_segment(dir, 0);
	text = file_read(first, &len);
	unlink(first);
	expect_fault(dir, AUDIT_REMOVED, 1);
	file_write(first, text, len);
	expect_clean_log(dir, 0);
	/* Pruned twice. */
	a = open_test_log(dir, 8192, 7);
	for (int i = 0; i < 4; i++)
		write_many(a, 20, "agent_a");
	assert_int_equal(log_prune(dir, NULL, 20000, &removed), 0);
	assert_true(removed > 0);
	audit_close(a);
	expect_clean_log(dir, 0);
	free(first);
	free(text);
	free(bundle);
	log_dir_free(dir);
}

static void expect_given(const char *dir, const char *head, const char *key, enum audit_fault fault)
{
	struct audit_verify what = {.path = dir, .head = head, .key = key};
	struct audit_verdict v;

	assert_int_equal(audit_verify(&what, &v, NULL), 0);
	if (v.fault != fault)
		fail_msg("got %s (%s), not %s", audit_fault_name(v.fault), v.sentence,
			audit_fault_name(fault));
}

/* A bound below the usual size of a segment holds, too. */
static void test_small_bound(void **state)
{
	char *dir = log_dir_new(), *text, *path;
	struct err e = ERR_INIT;
	struct audit *a = audit_open(
		&(struct audit_options){.dir = dir, .program = "test", .keep_bytes = 1 << 20}, &e);
	struct audit_verdict v;
	size_t total = 0, len;

	(void)state;
	assert_non_null(a);
	for (int i = 0; i < 20; i++)
		write_many(a, 400, "agent_a");
	audit_close(a);
	v = log_verify(dir, NULL);
	if (v.fault != AUDIT_CLEAN)
		fail_msg("%s", v.sentence);
	assert_true(v.first_seq > 1);
	for (int i = 0; *(path = log_segment(dir, i)); i++) {
		text = file_read(path, &len);
		total += len;
		free(text);
		free(path);
	}
	free(path);
	assert_in_range(total, 256 << 10, (1 << 20) + (512 << 10));
	log_dir_free(dir);
}

static bool sign_more(void *ctx, uint64_t done, uint64_t total)
{
	(void)(done + total);
	write_many(ctx, 50, "agent_b");
	return false;
}

/* Others write and sign while it is verified: what has been there when it began is what counts, keys included. */
static void test_verify_beside_signing(void **state)
{
	char *dir = log_dir_new();
	struct audit *a = open_test_log(dir, 0, 25);
	struct audit_verify what = {.path = dir, .progress = sign_more, .ctx = a};
	struct audit_verdict v;

	(void)state;
	for (int i = 0; i < 110; i++)
		write_many(a, 500, "agent_a");
	assert_int_equal(audit_verify(&what, &v, NULL), 0);
	assert_true(v.bytes > 17 << 20 && v.fault == AUDIT_CLEAN); /* it was asked */
	audit_close(a);
	log_dir_free(dir);
}

/* What was kept before retention is refused no more, and still not taken on the log's word alone. */
static void test_prune_and_what_was_kept(void **state)
{
	char *dir = make_log(), *bundle = log_path(dir, "bundle"), *path, *text, other[AUDIT_HEX];
	struct audit_verdict before = log_verify(dir, NULL), v;
	struct audit *a;

	(void)state;
	memset(other, 'a', AUDIT_HEX - 1);
	other[AUDIT_HEX - 1] = '\0';
	expect_given(dir, before.head, before.first_key, AUDIT_CLEAN);
	expect_given(dir, NULL, other, AUDIT_REWRITTEN);
	expect_given(dir, other, NULL, AUDIT_TRUNCATED);
	for (int i = 0; i < 2; i++) {
		uint64_t removed = 0;

		a = open_test_log(dir, 8192, 7);
		for (int j = 0; j < 4; j++)
			write_many(a, 20, "agent_a");
		assert_int_equal(log_prune(dir, NULL, 20000, &removed), 0);
		assert_true(removed > 0);
		audit_close(a);
		v = log_verify(dir, NULL);
		assert_int_equal(v.fault, AUDIT_CLEAN);
		assert_string_equal(v.first_key, before.first_key);
		expect_given(dir, v.head, before.first_key, AUDIT_CLEAN);
		expect_given(dir, NULL, before.first_key, AUDIT_UNPROVEN);
		expect_given(dir, before.head, NULL, AUDIT_UNPROVEN);
		expect_given(dir, v.head, other, AUDIT_REWRITTEN);
		expect_given(dir, NULL, other, AUDIT_REWRITTEN);
	}
	/* A head from before the first signature that is left would say nothing about who signed later. */
	path = log_segment(dir, 0);
	text = file_read(path, NULL);
	memcpy(other, strstr(text, "\"hash\":\"") + 8, AUDIT_HEX - 1);
	expect_given(dir, other, NULL, AUDIT_CLEAN);
	expect_given(dir, other, before.first_key, AUDIT_UNPROVEN);
	assert_int_equal(audit_export(dir, bundle, NULL, NULL), 0);
	expect_given(bundle, v.head, before.first_key, AUDIT_CLEAN);
	free(text);
	free(path);
	free(bundle);
	log_dir_free(dir);
}

/* As berth once did it, without a word on what the log began with. */
static void prune_first_segment(const char *dir)
{
	char *path = log_segment(dir, 0), *text = file_read(path, NULL), *line,
	     hash[AUDIT_HEX] = "";
	const struct audit_options o = {.dir = dir, .program = "test"};
	struct audit_record last;
	struct arena mem;
	struct chain c;
	char seq[32];

	arena_init(&mem, 4096);
	text[strlen(text) - 1] = '\0';
	line = strrchr(text, '\n') + 1;
	assert_true(record_parse(line, strlen(line), &mem, &last));
	assert_int_equal(last.operation, OP_LOG_CHECKPOINT);
	snprintf(seq, sizeof seq, "%lu", (unsigned long)last.seq);
	hex_digits(hash, last.hash, SEAL_HASH);
	chain_init(&c, &o);
	assert_int_equal(chain_open(&c, NULL), 0);
	assert_int_equal(chain_begin(&c, 0, NULL), 0);
	assert_int_equal(
		chain_note(&c, OP_LOG_PRUNED,
			(struct key_value[]){{"to_seq", seq, false}, {"to_hash", hash, false},
				{"key", record_param(&last, "next"), false},
				{"segments", "1", false}},
			4, NULL),
		0);
	assert_int_equal(chain_sync(&c, NULL), 0);
	c.prune_to = last.seq;
	assert_int_equal(chain_checkpoint(&c, NULL), 0);
	chain_finish_prune(&c);
	chain_end(&c);
	chain_release(&c);
	arena_release(&mem);
	free(text);
	free(path);
}

static void test_pruned_long_ago(void **state)
{
	char *dir = make_log();
	struct audit_verdict before = log_verify(dir, NULL), v;
	struct audit *a;

	(void)state;
	prune_first_segment(dir);
	for (int i = 0; i < 2; i++) {
		v = log_verify(dir, NULL);
		assert_int_equal(v.fault, AUDIT_CLEAN);
		assert_true(v.first_seq > 1);
		expect_given(dir, v.head, v.first_key, AUDIT_CLEAN);
		expect_given(dir, NULL, v.first_key, AUDIT_CLEAN);
		expect_given(dir, v.head, before.first_key, AUDIT_UNPROVEN);
		/* Later pruning makes nothing up. */
		a = open_test_log(dir, 8192, 7);
		for (int j = 0; j < 4; j++)
			write_many(a, 20, "agent_a");
		assert_int_equal(log_prune(dir, NULL, 20000, NULL), 0);
		audit_close(a);
	}
	log_dir_free(dir);
}

static void test_check_on_a_thread(void **state)
{
	char *dir = make_log();
	struct audit_check *c = audit_check_start(dir);
	struct audit_check_state s;

	(void)state;
	while (audit_check_poll(c, &s), !s.done)
		;
	assert_int_equal(s.verdict.fault, AUDIT_CLEAN);
	audit_check_free(c);
	audit_check_free(audit_check_start(dir)); /* stopped at once */
	log_dir_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record_round_trip),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_known_line),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_audit_argv),
		cmocka_unit_test(test_first_use),
		cmocka_unit_test(test_last_one_out_signs),
		cmocka_unit_test(test_record_links),
		cmocka_unit_test(test_rotation),
		cmocka_unit_test(test_audit_threads),
		cmocka_unit_test(test_reader),
		cmocka_unit_test(test_edited),
		cmocka_unit_test(test_lines_removed_moved_inserted),
		cmocka_unit_test(test_segments_deleted_swapped),
		cmocka_unit_test(test_rehashed),
		cmocka_unit_test(test_truncated_to_older_state),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_removed_behind_the_writer),
		cmocka_unit_test(test_key_lost),
		cmocka_unit_test(test_torn_log),
		cmocka_unit_test(test_clock_set_back),
		cmocka_unit_test(test_prune),
		cmocka_unit_test(test_small_bound),
		cmocka_unit_test(test_verify_beside_signing),
		cmocka_unit_test(test_prune_and_what_was_kept),
		cmocka_unit_test(test_pruned_long_ago),
		cmocka_unit_test(test_check_on_a_thread),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
