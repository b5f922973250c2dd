/* tape.c - recordings: everything comes back as it went, what cannot be is refused, nothing is written over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/snapshot.h>
#include <berth/str.h>
#include <berth/tape.h>

#include "base/snapshot.h"
#include "tape/shape.h"

static char folder[] = "/tmp/berth-tape-XXXXXX";
static char file[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(file, sizeof file, "%s/session.rec", folder);
	return 0;
}

static int drop_folder(void **state)
{
	(void)state;
	unlink(file);
	return rmdir(folder);
}

/* ---- a struct in which everything is set, each member to something else */

static unsigned turn;

static void fill_shape(
	const struct shape *s, struct arena *mem, const struct container *rows, char *base);

static void fill_members(
	const struct field *f, struct arena *mem, const struct container *rows, char *base)
{
	size_t n = f->type == FIELD_FLOATS ? f->size / 4
		: f->type == FIELD_SHORTS  ? f->size / 2
					   : 3;
	char *at = base + f->offset, *list;

	memcpy(base + f->count, &n, f->count_size);
	for (size_t i = 0; i < n && f->type == FIELD_FLOATS; i++)
		memcpy(at + 4 * i, &(float){(float)++turn / 7}, 4);
	for (size_t i = 0; i < n && f->type == FIELD_SHORTS; i++)
		memcpy(at + 2 * i, &(uint16_t){(uint16_t)++turn}, 2);
	if (f->type != FIELD_LIST && f->type != FIELD_TEXTS)
		return;
	list = arena_array(mem, n, f->type == FIELD_TEXTS ? sizeof(char *) : f->of->size);
	for (size_t i = 0; i < n; i++) {
		if (f->type == FIELD_LIST)
			fill_shape(f->of, mem, rows ? rows : (void *)list, list + i * f->of->size);
		else
			((char **)(void *)list)[i] = arena_printf(mem, "text %u", ++turn);
	}
	memcpy(at, &list, sizeof list);
}

static void fill_field(
	const struct field *f, struct arena *mem, const struct container *rows, char *base)
{
	char *at = base + f->offset,
	     *text = arena_printf(mem, "%s %u \" \\ \n \033 \xe4\xb8\xad", f->name, ++turn);
	uint64_t bits = f->type == FIELD_BOOL ? 1
		: f->type == FIELD_ENUM       ? f->most
					      : 1 + turn % 100;
	size_t n = strlen(text);
	double real = turn / 3.0;
	const void *row = rows ? rows + 1 : NULL;

	switch (f->type) {
	case FIELD_BOOL:
	case FIELD_ENUM:
	case FIELD_UINT: memcpy(at, &bits, f->size); break;
	case FIELD_INT: memcpy(at, &(int64_t){-(int64_t)bits}, f->size); break;
	case FIELD_REAL: memcpy(at, &real, sizeof real); break;
	case FIELD_CHARS: snprintf(at, f->size, "%u", ++turn % 1000); break;
	case FIELD_BYTES: memcpy(base + f->count, &n, f->count_size); /* fall through */
	case FIELD_TEXT:
	case FIELD_MAYBE: memcpy(at, &text, sizeof text); break;
	case FIELD_PART: fill_shape(f->of, mem, rows, at); break;
	case FIELD_OWN: {
		char *own = arena_alloc(mem, f->of->size);

		fill_shape(f->of, mem, rows, own);
		memcpy(at, &own, sizeof own);
		break;
	}
	case FIELD_ROW: memcpy(at, &row, sizeof row); break;
	case FIELD_NONE: break;
	default: fill_members(f, mem, rows, base);
	}
}

static void fill_shape(
	const struct shape *s, struct arena *mem, const struct container *rows, char *base)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s == &shape_snapshot)
			rows = ((struct snapshot *)(void *)base)->containers;
		fill_field(&s->field[i], mem, rows, base);
	}
}

static void spell_shape(struct jsonw *j, const struct shape *s, const void *from)
{
	jsonw_init(j, true);
	jsonw_object(j, NULL);
	shape_write(j, "it", s, from);
	jsonw_end(j);
}

static void all_comes_back(void **state)
{
	static const struct shape *const top[] = {
		&shape_snapshot, &shape_event, &shape_input, &shape_head};

	(void)state;
	for (size_t i = 0; i < COUNT(top); i++) {
		struct err fault, e = ERR_INIT;
		struct jsonw first, again;
		const struct json *j;
		struct arena mem;
		char *from, *to;

		arena_init(&mem, 4096);
		from = arena_alloc(&mem, top[i]->size);
		to = arena_alloc(&mem, top[i]->size);
		fill_shape(top[i], &mem, NULL, from);
		spell_shape(&first, top[i], from);
		j = json_parse(&mem, first.out.s, first.out.len, &fault, &e);
		assert_non_null(j);
		if (shape_read(top[i], json_member(j, "it"), &mem, to, &e) < 0)
			fail_msg("%s", e.msg);
		spell_shape(&again, top[i], to);
		assert_string_equal(first.out.s, again.out.s);
		jsonw_release(&first);
		jsonw_release(&again);
		arena_release(&mem);
	}
}

/* ---- a member that a table forgets would be lost in silence */

static size_t evenness_of(const struct field *f)
{
	switch (f->type) {
	case FIELD_CHARS: return 1;
	case FIELD_FLOATS: return 4;
	case FIELD_SHORTS: return 2;
	case FIELD_PART: return 8;
	default: return f->size;
	}
}

/* `even`: for each byte at which a member begins, at a multiple of what; for the others that are of one 1. */
static void cover_members(const struct shape *s, unsigned char *even)
{
	for (size_t k = 0; k < s->n; k++) {
		const struct field *f = &s->field[k];

		memset(even + f->offset, 1, f->size);
		memset(even + f->count, 1, f->count_size);
		if (f->count_size)
			even[f->count] = (unsigned char)f->count_size;
	}
	for (size_t k = 0; k < s->n; k++)
		even[s->field[k].offset] =
			(unsigned char)(s->field[k].type == FIELD_NONE ? 8
								       : evenness_of(&s->field[k]));
	even[s->size] = 8;
}

/* Bytes that no member covers are fewer than what the next one's place is a multiple of. */
static void tables_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; all_shapes[i]; i++) {
		const struct shape *s = all_shapes[i];
		AUTO_FREE unsigned char *even = xcalloc(1, s->size + 1);
		size_t gap = 0;

		cover_members(s, even);
		for (size_t at = 0; at <= s->size; at++) {
			if (gap && even[at] && gap >= even[at])
				fail_msg(
					"shape %zu (%s) does not describe the %zu bytes before %zu",
					i, s->field[0].name, gap, at);
			gap = even[at] ? 0 : gap + 1;
		}
	}
}

/* ---- files */

static struct tape *record_some(struct err *e)
{
	const struct tape_head head = {"0.1", 80, 24, false, true, 3600, "hz: 2\n", ""};
	struct tape *t = tape_create(file, e);
	struct tape_moment m = {.mono_ns = 1000, .wall_ms = 2000, .sent = 3};
	struct arena *mem;
	struct snapshot *s;

	if (!t || tape_begin(t, &head, e) < 0)
		return NULL;
	s = snapshot_new(0, &mem);
	s->seq = 7;
	m.snapshot = s;
	tape_add(t, &m);
	snapshot_unref(s);
	m.snapshot = NULL;
	m.event = event_new(EV_NOTICE);
	m.event->notice = arena_strdup(&m.event->mem, "what was said");
	tape_add(t, &m);
	m.event = NULL;
	m.input = &(struct tape_input){.what = "paste", .text = "pasted", .n = 6};
	tape_add(t, &m);
	m.input = NULL;
	m.picture = 5;
	tape_add(t, &m);
	return t;
}

static void a_session_is_played(void **state)
{
	struct err e = ERR_INIT;
	struct tape_reader *r;
	struct tape_moment m;
	struct stat st;

	(void)state;
	assert_int_equal(tape_close(record_some(&e), &e), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	r = tape_open(file, &e);
	assert_non_null(r);
	assert_int_equal(tape_head_of(r)->columns, 80);
	assert_true(tape_head_of(r)->read_only);
	assert_string_equal(tape_head_of(r)->settings, "hz: 2\n");
	assert_int_equal(tape_next(r, &m, &e), 1);
	assert_int_equal(m.snapshot->seq, 7);
	assert_int_equal(m.snapshot->images, -1);
	assert_int_equal(m.mono_ns, 1000);
	assert_int_equal(m.sent, 3);
	snapshot_unref(m.snapshot);
	assert_int_equal(tape_next(r, &m, &e), 1);
	assert_string_equal(m.event->notice, "what was said");
	event_free(m.event);
	assert_int_equal(tape_next(r, &m, &e), 1);
	assert_memory_equal(m.input->text, "pasted", 6);
	assert_int_equal(tape_next(r, &m, &e), 1);
	assert_int_equal(m.picture, 5);
	assert_int_equal(tape_next(r, &m, &e), 0);
	assert_false(tape_is_cut(r));
	tape_release(r);
}

static void nothing_is_written_over(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_null(tape_create(file, &e)); /* of the test before */
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.msg, "already exists"));
	unlink(file);
	assert_int_equal(symlink("/nowhere/at/all", file), 0);
	assert_null(tape_create(file, &e));
	unlink(file);
	/* Of one that never began nothing is left. */
	assert_int_equal(tape_close(tape_create(file, &e), &e), 0);
	assert_int_equal(access(file, F_OK), -1);
}

static void full_disk_is_told(void **state)
{
	struct rlimit was, most = {64, 64};
	struct err e = ERR_INIT;
	struct tape *t;
	int rc;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	most.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_FSIZE, &most);
	t = record_some(&e);
	rc = tape_close(t, &e);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(e.msg, "cannot be written"));
	unlink(file);
}

/* A console that was killed leaves what it had flushed, which ends in the middle of something. */
static void a_cut_one_is_read_to_there(void **state)
{
	struct err e = ERR_INIT;
	struct tape_reader *r;
	struct tape_moment m;
	struct stat st;
	int got;

	(void)state;
	assert_int_equal(tape_close(record_some(&e), &e), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(truncate(file, st.st_size - 12), 0);
	r = tape_open(file, &e);
	assert_non_null(r);
	while ((got = tape_next(r, &m, &e)) == 1) {
		snapshot_unref(m.snapshot);
		event_free(m.event);
	}
	assert_int_equal(got, 0);
	assert_true(tape_is_cut(r));
	tape_release(r);
	unlink(file);
}

/* A console that always has something to tell, a figure now and a frame then, is written all the same. */
static void a_busy_one_is_flushed(void **state)
{
	struct err e = ERR_INIT;
	struct tape *t = record_some(&e);
	struct tape_moment m = {.mono_ns = 1000, .wall_ms = 2000, .picture = 5};
	int64_t until = clock_real_ms() + 60000;
	struct stat st = {0};

	(void)state;
	assert_non_null(t);
	while (st.st_size < 20 && clock_real_ms() < until) {
		tape_add(t, &m);
		usleep(20000);
		assert_int_equal(stat(file, &st), 0);
	}
	assert_true(st.st_size >= 20); /* more than the header of gzip */
	assert_int_equal(tape_close(t, &e), 0);
	unlink(file);
}

#define HEAD "{\"schema\": \"berth.recording/1\", \"head\": {\"columns\": 80, \"rows\": 24}}\n"

static void lies_are_refused(void **state)
{
	static const char *const lies[] = {
		"",
		"not a recording\n",
		"{\"schema\": \"berth.ps/1\"}\n",
		"{\"schema\": \"berth.recording/2\"}\n",
		"{\"schema\": \"berth.recording/1\", \"head\": {}}\n",
		"{\"schema\": \"berth.recording/1\", \"head\": {\"columns\": 99999999, \"rows\": 24}}\n",
		HEAD "{\"at\": -1, \"wall\": 1, \"picture\": 1}\n",
		HEAD "{\"at\": 1, \"wall\": 99999999999999999999, \"picture\": 1}\n",
		HEAD "{\"at\": 1, \"wall\": 1}\n",
		HEAD "[1]\n",
		HEAD "{\"at\": 1, \"wall\": 1, \"event\": {\"kind\": \"none\"}}\n",
		HEAD "{\"at\": 1, \"wall\": 1, \"event\": {\"kind\": \"clean-item\"}}\n",
		HEAD "{\"at\": 1, \"wall\": 1, \"event\": {\"bytes\": 4}}\n",
		HEAD "{\"at\": 1, \"wall\": 1, \"snapshot\": {\"at_ns\": 9223372036854775807}}\n",
		HEAD "{\"at\": 1, \"wall\": 1, \"snapshot\": {\"containers\": [4]}}\n",
		HEAD "{\"at\": 1, \"wall\": 1, \"snapshot\": {\"agents\": [{\"container\": 1}]}}\n",
		HEAD "{\"at\": 1, \"wall\": 1, \"snapshot\": {\"host\": {\"load1\": 1e300}}}\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lies); i++) {
		struct err e = ERR_INIT;
		struct tape_reader *r;
		struct tape_moment m;
		FILE *f = fopen(file, "we");

		fputs(lies[i], f); /* gzip's reader takes what is not compressed as it is */
		fclose(f);
		r = tape_open(file, &e);
		if (r && tape_next(r, &m, &e) != -1)
			fail_msg("taken: %s", lies[i]);
		assert_int_equal(e.kind, ERR_USAGE);
		tape_release(r);
		unlink(file);
	}
}

/* A file of a few kilobytes that is a line of gigabytes. */
static void a_bomb_is_refused(void **state)
{
	AUTO_FREE char *blank = xmalloc(1 << 20);
	struct err e = ERR_INIT;
	gzFile f = gzopen(file, "wb");

	(void)state;
	memset(blank, ' ', 1 << 20);
	for (int i = 0; i < 64; i++)
		gzwrite(f, blank, 1 << 20);
	gzclose(f);
	assert_null(tape_open(file, &e));
	assert_non_null(strstr(e.msg, "longer than"));
	unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_comes_back),
		cmocka_unit_test(tables_are_whole),
		cmocka_unit_test(a_session_is_played),
		cmocka_unit_test(nothing_is_written_over),
		cmocka_unit_test(full_disk_is_told),
		cmocka_unit_test(a_cut_one_is_read_to_there),
		cmocka_unit_test(a_busy_one_is_flushed),
		cmocka_unit_test(lies_are_refused),
		cmocka_unit_test(a_bomb_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
