/* model.c - the table of containers: lists, inspections, order, identity. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "base/snapshot.h"
#include "observe/observe.h"

static struct engine_summary make_summary(
	const char *id, const char *name, enum container_state state)
{
	return (struct engine_summary){
		.id = id, .name = name, .image = "box:1", .state = state, .created_wall_ms = 5};
}

static struct engine_container make_inspection(const char *id, const char *name, int pid)
{
	return (struct engine_container){.id = id,
		.name = name,
		.image = "box:1",
		.network_mode = "bridge",
		.state = pid ? CONTAINER_RUNNING : CONTAINER_EXITED,
		.pid = pid,
		.exit_code = 3,
		.started_wall_ms = 1000};
}

static void test_model_list(void **state)
{
	struct engine_summary one[] = {make_summary("id-b", "b", CONTAINER_RUNNING),
		make_summary("id-a", "a", CONTAINER_EXITED)};
	struct engine_summary two[] = {make_summary("id-c", "c", CONTAINER_CREATED),
		make_summary("id-b", "b", CONTAINER_RUNNING)};
	struct model m;

	(void)state;
	model_init(&m);
	model_clear(&m, "engine-1");
	assert_null(model_find(&m, "id-a"));
	model_take_list(&m, one, 2, 10);
	model_sort(&m);
	assert_int_equal(m.n, 2);
	assert_string_equal(m.row[0]->c.name, "a");
	assert_true(m.row[0]->dirty);
	assert_string_equal(m.row[0]->c.engine, "engine-1");
	assert_string_equal(m.row[0]->c.agent, "");
	model_take_list(&m, two, 2, 20);
	assert_int_equal(m.n, 2);
	assert_null(model_find(&m, "id-a"));
	assert_non_null(model_find(&m, "id-c"));
	assert_int_equal(model_find(&m, "id-b")->c.seen_ns, 20);
	model_take_list(&m, NULL, 0, 30);
	assert_int_equal(m.n, 0);
	model_release(&m);
}

/* What is published on every address needs no address, and is said once. */
static void test_ports_and_networks(void **state)
{
	static const struct key_value ports[] = {{"80/tcp", "0.0.0.0:8080", false},
		{"80/tcp", "[::]:8080", false}, {"22/tcp", "127.0.0.1:2222", false},
		{"443/tcp", "", false}};
	static const struct key_value networks[] = {
		{"bridge", "172.17.0.2", false}, {"shop_internal", "", false}};
	struct engine_container ec = make_inspection("id-a", "web", 42);
	struct model m = {0};
	struct row *r;

	(void)state;
	ec.ports = ports;
	ec.nports = 4;
	ec.networks = networks;
	ec.nnetworks = 2;
	model_init(&m);
	model_clear(&m, "engine-1");
	r = model_take_inspection(&m, &ec, 1);
	assert_string_equal(r->c.ports, "8080\u219280/tcp 127.0.0.1:2222\u219222/tcp 443/tcp");
	assert_string_equal(r->c.networks, "bridge shop_internal");
	model_release(&m);
}

static void test_binds(void **state)
{
	static const struct mount_info mounts[] = {{"bind", "/srv/a", "/srv/a", false},
		{"volume", "/var/lib/docker/volumes/x/_data", "/x", false},
		{"bind", "/srv/b\nc", "/b", true}, {"bind", "/srv/d", "/d", true}};
	struct engine_container ec = make_inspection("id-a", "web", 42);
	struct model m = {0};

	(void)state;
	ec.mounts = mounts;
	ec.nmounts = 4;
	model_init(&m);
	model_clear(&m, "engine-1");
	assert_string_equal(model_take_inspection(&m, &ec, 1)->c.binds, "/srv/a\n/srv/d");
	model_release(&m);
}

static void test_inspection(void **state)
{
	static const struct key_value labels[] = {
		{"berth.agent", "agent_a", false}, {"com.docker.compose.project", "web", false}};
	struct engine_summary list[] = {make_summary("id-a", "a", CONTAINER_RUNNING)};
	struct engine_container ec = make_inspection("id-a", "renamed", 42);
	struct model m;
	struct row *r;

	(void)state;
	model_init(&m);
	model_take_list(&m, list, 1, 10);
	r = model_find(&m, "id-a");
	assert_false(row_runs(r)); /* its pid is not known yet */
	r->dirty = false;
	r->c.pending = ACT_START;
	r->settling = true;
	ec.labels = labels;
	ec.nlabels = 2;
	assert_ptr_equal(model_take_inspection(&m, &ec, 20), r);
	assert_string_equal(r->c.name, "renamed");
	assert_string_equal(r->c.agent, "agent_a");
	assert_string_equal(r->c.compose_project, "web");
	assert_true(row_runs(r));
	assert_int_equal(r->c.pending, ACT_NONE);
	assert_false(r->no_net);
	/* the same list again tells nothing new, another state does */
	list[0].name = "renamed";
	model_take_list(&m, list, 1, 30);
	assert_false(r->dirty);
	list[0].state = CONTAINER_EXITED;
	model_take_list(&m, list, 1, 40);
	assert_true(r->dirty);
	assert_int_equal(r->c.state, CONTAINER_RUNNING); /* until it is inspected */
	/* stopped: no figures */
	r->c.stats.source = STATS_CGROUP;
	ec = make_inspection("id-a", "renamed", 0);
	model_take_inspection(&m, &ec, 50);
	assert_int_equal(r->c.stats.source, STATS_NONE);
	assert_int_equal(r->c.exit_code, 3);
	/* an inspection may be the first to tell of a container */
	ec = make_inspection("id-z", "z", 7);
	r = model_take_inspection(&m, &ec, 60);
	assert_ptr_equal(model_find(&m, "id-z"), r);
	assert_false(r->dirty);
	model_release(&m);
}

static void test_many_rows(void **state)
{
	struct engine_summary list[700];
	char ids[700][16], names[700][16];
	struct model m;

	(void)state;
	for (int i = 0; i < 700; i++) {
		snprintf(ids[i], sizeof ids[i], "id-%d", i);
		snprintf(names[i], sizeof names[i], "n%03d", (i * 3) % 700);
		list[i] = make_summary(ids[i], names[i], CONTAINER_RUNNING);
	}
	model_init(&m);
	model_take_list(&m, list, 700, 1);
	model_sort(&m);
	for (int i = 0; i < 700; i++) {
		assert_non_null(model_find(&m, ids[i]));
		if (i)
			assert_true(strcmp(m.row[i - 1]->c.name, m.row[i]->c.name) < 0);
	}
	for (int i = 0; i < 700; i += 2)
		model_remove(&m, model_find(&m, ids[i]));
	for (int i = 0; i < 700; i++)
		assert_int_equal(model_find(&m, ids[i]) != NULL, i % 2);
	model_clear(&m, "another");
	assert_int_equal(m.n, 0);
	assert_null(model_find(&m, ids[1]));
	model_release(&m);
}

static void test_problem(void **state)
{
	struct engine_summary list[] = {make_summary("id-a", "a", CONTAINER_RUNNING)};
	struct model m;
	struct row *r;

	(void)state;
	model_init(&m);
	model_take_list(&m, list, 1, 1);
	r = model_find(&m, "id-a");
	row_set_problem(r, "It did not work.");
	assert_string_equal(r->c.problem, "It did not work.");
	row_set_problem(r, NULL);
	assert_null(r->c.problem);
	model_release(&m);
}

/* A copy shares nothing with the model. */
static void test_model_copy(void **state)
{
	struct engine_summary list[] = {make_summary("id-b", "b", CONTAINER_RUNNING),
		make_summary("id-a", "a", CONTAINER_RUNNING)};
	struct engine_container ec = make_inspection("id-a", "a", 42);
	struct snapshot *s;
	struct arena *a;
	struct model m, *const one = &m;
	struct row *r;

	(void)state;
	model_init(&m);
	model_clear(&m, "engine-1");
	model_take_list(&m, list, 2, 1);
	s = snapshot_new(0, &a);
	assert_false(copy_rows(&one, 1, s, a)); /* nothing inspected yet */
	snapshot_unref(s);
	r = model_take_inspection(&m, &ec, 2);
	row_set_problem(r, "no");
	ec = make_inspection("id-b", "b", 0);
	model_take_inspection(&m, &ec, 2);
	s = snapshot_new(0, &a);
	assert_false(copy_rows(&one, 1, s, a)); /* one runs and has no rates */
	snapshot_unref(s);
	r->c.stats.rates = true;
	s = snapshot_new(0, &a);
	assert_true(copy_rows(&one, 1, s, a));
	model_release(&m);
	assert_int_equal(s->ncontainers, 2);
	assert_string_equal(s->containers[0].name, "a");
	assert_string_equal(s->containers[0].problem, "no");
	assert_string_equal(s->containers[1].engine, "engine-1");
	assert_ptr_equal(snapshot_find(s, "engine-1", "id-b"), &s->containers[1]);
	assert_null(snapshot_find(s, "engine-2", "id-b"));
	snapshot_unref(s);
}

/* Of two engines: by name, one's id is not the other's, and what is lost is said of each row. */
static void test_rows_of_two(void **state)
{
	struct engine_summary near[] = {make_summary("id-1", "b", CONTAINER_RUNNING),
		make_summary("id-2", "d", CONTAINER_RUNNING)};
	struct engine_summary far[] = {make_summary("id-1", "b", CONTAINER_EXITED),
		make_summary("id-3", "a", CONTAINER_EXITED),
		make_summary("id-4", "e", CONTAINER_EXITED)};
	static const char *const order[] = {"a far", "b near", "b far", "d near", "e far"};
	struct model one, two, *const both[] = {&one, &two};
	struct snapshot *s;
	struct arena *a;

	(void)state;
	model_init(&one);
	model_init(&two);
	model_clear(&one, "one");
	model_clear(&two, "@two/one");
	one.host = "near";
	two.host = "far";
	two.lost = true;
	model_take_list(&one, near, COUNT(near), 1);
	model_take_list(&two, far, COUNT(far), 1);
	s = snapshot_new(0, &a);
	copy_rows(both, 2, s, a);
	model_release(&one);
	model_release(&two);
	assert_int_equal(s->ncontainers, COUNT(order));
	for (size_t i = 0; i < s->ncontainers; i++) {
		const struct container *c = &s->containers[i];
		char said[32];

		snprintf(said, sizeof said, "%s %s", c->name, c->host);
		assert_string_equal(said, order[i]);
		assert_int_equal(c->lost, !strcmp(c->host, "far"));
	}
	assert_ptr_equal(snapshot_find(s, "@two/one", "id-1"), &s->containers[2]);
	assert_ptr_equal(snapshot_find(s, "one", "id-1"), &s->containers[1]);
	snapshot_unref(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ports_and_networks),
		cmocka_unit_test(test_binds),
		cmocka_unit_test(test_rows_of_two),
		cmocka_unit_test(test_model_list),
		cmocka_unit_test(test_inspection),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_problem),
		cmocka_unit_test(test_model_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
