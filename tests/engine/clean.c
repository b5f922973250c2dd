/*
 * clean.c - clean-up on a real engine: BERTH_TEST_ENGINE names it, with the image box:1.
 *
 * Orphans are real: made by a child that names itself as their owner and then dies of SIGKILL.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/backend.h>
#include <berth/clean.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/str.h>
#include <berth/text.h>

#include "container/container.h"
#include "engine/sync.h"
#include "lane/lane.h"

static char top[] = "/tmp/berth-clean-XXXXXX";
static struct endpoint endpoint;
static struct engine_sync *engine; /* the test's own, beside the clean-up's */
static char engine_id[128];
static struct clean_host *host;
static struct arena mem;
static struct clean_outcome outcome[4096];
static struct clean_sum sum;

static void use_state(const char *which)
{
	AUTO_FREE char *state = xasprintf("%s/%s", top, which);

	mkdir(state, 0700);
	setenv("XDG_STATE_HOME", state, 1);
	setenv("XDG_RUNTIME_DIR", state, 1);
}

static struct clean_host *open_host_with(const struct policy *policy)
{
	const struct clean_options o = {
		.host = getenv("BERTH_TEST_ENGINE"), .program = "clean", .policy = policy};
	struct err e = ERR_INIT;
	struct clean_host *h = clean_open(&o, &e);

	if (!h)
		fail_msg("%s", e.msg);
	return h;
}

static int setup(void **state)
{
	struct endpoint_options o = {.host = getenv("BERTH_TEST_ENGINE")};
	struct engine_info info;
	struct err e = ERR_INIT;

	(void)state;
	if (!o.host) {
		print_error("BERTH_TEST_ENGINE is not set: start an engine with tests/run\n");
		return -1;
	}
	assert_non_null(mkdtemp(top));
	use_state("one");
	arena_init(&mem, 65536);
	if (endpoint_choose(&o, &endpoint, &e))
		fail_msg("%s", e.msg);
	engine = sync_open(&endpoint, &e);
	if (!engine || sync_hello(engine, &info, &e))
		fail_msg("%s", e.msg);
	snprintf(engine_id, sizeof engine_id, "%s", info.id);
	host = open_host_with(NULL);
	return 0;
}

static int teardown(void **state)
{
	AUTO_FREE char *rm = xasprintf("rm -rf %s", top);

	(void)state;
	clean_close(host);
	sync_close(engine);
	endpoint_release(&endpoint);
	arena_release(&mem);
	return system(rm);
}

/* The engine, by hand. */

static int ask_clean_engine(
	const char *method, const char *target, const char *body, struct str *reply)
{
	return sync_ask(engine, "do %s", target, method, target, body, 60000, reply, NULL);
}

static bool exists_path(const char *path)
{
	return ask_clean_engine("GET", path, NULL, NULL) == 0;
}

static bool container_there(const char *name)
{
	AUTO_FREE char *path = xasprintf("/containers/%s/json", name);

	return exists_path(path);
}

static bool container_runs(const char *name)
{
	AUTO_FREE char *path = xasprintf("/containers/%s/json", name);
	AUTO_STR struct str reply = STR_INIT;
	AUTO_JSON cJSON *root = NULL;

	if (ask_clean_engine("GET", path, NULL, &reply))
		return false;
	root = ejson_parse(reply.s, reply.len, NULL);
	return ejson_bool(ejson_path(root, "State", NULL), "Running");
}

static void drop_container(const char *name)
{
	AUTO_FREE char *path = xasprintf("/containers/%s?force=1&v=1", name);

	ask_clean_engine("DELETE", path, NULL, NULL);
}

/* A container that is proven ours; owner NULL: an agent's.  Its id in the arena. */
static const char *make_container(
	struct engine_sync *en, const char *name, const char *owner, const char *more, bool start)
{
	static const char session[] = "0123456789abcdef0123456789abcdef";
	AUTO_STR struct str body = STR_INIT, reply = STR_INIT;
	AUTO_FREE char *path = xasprintf("/containers/create?name=%s", name);
	AUTO_JSON cJSON *root = NULL;
	struct err e = ERR_INIT;
	char proof[PROOF_MAX];
	const char *id;

	assert_int_equal(own_proof(engine_id, name, session, proof, &e), 0);
	str_addf(&body,
		"{\"Image\":\"box:1\",\"Cmd\":[\"/demo/idle.sh\"],\"StopSignal\":\"SIGKILL\",%s\"Labels\":{"
		"\"berth.role\":\"%s\",\"berth.session\":\"%s\",\"berth.proof\":\"%s\"%s",
		more, owner ? "tool" : "agent", session, proof, owner ? ",\"berth.owner\":" : "");
	if (owner)
		str_add_json(&body, owner);
	str_adds(&body, "}}");
	if (sync_ask(en, "make %s", name, "POST", path, body.s, 60000, &reply, &e))
		fail_msg("%s", e.msg);
	root = ejson_parse(reply.s, reply.len, &e);
	id = arena_strdup(&mem, ejson_string(root, "Id"));
	if (start && sync_act(en, ACT_START, id, false, false, -1, &e))
		fail_msg("%s", e.msg);
	return id;
}

#define QUIET "\"HostConfig\":{\"NetworkMode\":\"none\"},"

/* In a child that then dies of SIGKILL: PREFIX-run runs, PREFIX-made was never started. */
static void make_orphans(const char *prefix)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		AUTO_STR struct str owner = STR_INIT;
		AUTO_FREE char *run = xasprintf("%s-run", prefix),
			       *made = xasprintf("%s-made", prefix);
		/* The parent's connections are the parent's. */
		struct engine_sync *en = sync_open(&endpoint, NULL);

		own_label(&owner);
		make_container(en, run, owner.s, QUIET, true);
		make_container(en, made, owner.s, QUIET, false);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static struct clean_plan *make_plan(bool foreign)
{
	struct err e = ERR_INIT;
	struct clean_plan *p = clean_plan_make(host, foreign, true, &mem, &e);

	if (!p)
		fail_msg("%s", e.msg);
	assert_true(p->n < COUNT(outcome));
	return p;
}

static struct clean_item *find_item(struct clean_plan *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->item[i].name, name) || !strcmp(p->item[i].id, name))
			return &p->item[i];
	return NULL;
}

static const struct clean_outcome *outcome_of(struct clean_plan *p, const char *name)
{
	struct clean_item *it = find_item(p, name);

	assert_non_null(it);
	return &outcome[it - p->item];
}

static int carry_plan_out(struct clean_plan *p, struct err *e)
{
	const struct clean_run how = {.grace_s = 1};

	return clean_carry_out(host, p, &how, outcome, &sum, e);
}

static void carry_out_well(struct clean_plan *p)
{
	struct err e = ERR_INIT;

	if (carry_plan_out(p, &e))
		fail_msg("%s", e.msg);
}

/* Unique names: tests may run beside each other. */
static char *unique_name(const char *what)
{
	return arena_printf(&mem, "c%d-%s", (int)getpid(), what);
}

/* Exactly one's own orphans: not the living, not the foreign, not another berth's. */
static void test_orphans(void **state)
{
	AUTO_STR struct str me = STR_INIT;
	AUTO_FREE char *body = NULL;
	AUTO_FREE char *path = xasprintf("/containers/create?name=%s", unique_name("foreign"));
	struct clean_plan *p;
	const struct clean_item *it;

	(void)state;
	own_label(&me);
	make_container(engine, unique_name("alive"), me.s, QUIET, true);
	/* Foreign, with our labels but without the proof: what `docker commit` hands on. */
	body = xasprintf(
		"{\"Image\":\"box:1\",\"Cmd\":[\"true\"],\"Labels\":{\"berth.role\":\"tool\","
		"\"berth.session\":\"x\",\"berth.proof\":\"%064d\"}}",
		0);
	assert_int_equal(ask_clean_engine("POST", path, body, NULL), 0);
	make_orphans(unique_name("a"));
	use_state("two");
	make_orphans(unique_name("b"));
	p = make_plan(false);
	assert_non_null(find_item(p, unique_name("b-run")));
	assert_null(find_item(p, unique_name("a-run")));
	use_state("one");
	assert_int_equal(clean_orphans(host), 2);
	p = make_plan(false);
	it = find_item(p, unique_name("a-run"));
	assert_non_null(it);
	assert_int_equal(it->reason, CLEAN_OWNER_DEAD);
	assert_true(it->running && it->marked && !it->foreign);
	assert_non_null(find_item(p, unique_name("a-made")));
	assert_null(find_item(p, unique_name("alive")));
	assert_null(find_item(p, unique_name("foreign")));
	assert_null(find_item(p, unique_name("b-run")));
	carry_out_well(p);
	assert_int_equal(sum.done, 2);
	assert_int_equal(outcome_of(p, unique_name("a-run"))->state, CLEAN_REMOVED);
	assert_false(container_there(unique_name("a-run")));
	assert_false(container_there(unique_name("a-made")));
	assert_true(container_runs(unique_name("alive")));
	assert_true(container_there(unique_name("foreign")));
	assert_true(container_runs(unique_name("b-run")));
	/* The same plan again: what is gone is gone. */
	carry_out_well(p);
	assert_int_equal(outcome_of(p, unique_name("a-run"))->state, CLEAN_GONE);
	assert_int_equal(sum.done, 0);
	assert_int_equal(sum.gone, 2);
	use_state("two");
	p = make_plan(false);
	carry_out_well(p);
	assert_int_equal(sum.done, 2);
	use_state("one");
	assert_true(container_runs(unique_name("alive")));
	drop_container(unique_name("alive"));
	drop_container(unique_name("foreign"));
}

/* Between plan and run: started, removed, protected. */
static void test_changed(void **state)
{
	static const char *pattern;
	const char *patterns[1];
	struct policy policy = {.keep.names = {1, patterns}};
	AUTO_FREE char *start = xasprintf("/containers/%s/start", unique_name("c-made"));
	struct clean_plan *p;
	struct err e = ERR_INIT;

	(void)state;
	make_orphans(unique_name("c"));
	make_orphans(unique_name("d"));
	make_orphans(unique_name("p"));
	p = make_plan(false);
	assert_int_equal(ask_clean_engine("POST", start, NULL, NULL), 0);
	drop_container(unique_name("d-run"));
	pattern = unique_name("p-*");
	patterns[0] = pattern;
	clean_close(host);
	host = open_host_with(&policy);
	assert_int_equal(carry_plan_out(p, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(outcome_of(p, unique_name("c-made"))->state, CLEAN_SKIPPED);
	assert_non_null(strstr(outcome_of(p, unique_name("c-made"))->said, "started"));
	assert_true(container_runs(unique_name("c-made")));
	assert_int_equal(outcome_of(p, unique_name("c-run"))->state, CLEAN_REMOVED);
	assert_int_equal(outcome_of(p, unique_name("d-run"))->state, CLEAN_GONE);
	assert_int_equal(outcome_of(p, unique_name("p-run"))->state, CLEAN_REFUSED);
	assert_true(container_runs(unique_name("p-run")));
	/* In a new plan it is shown, and says why it stays. */
	p = make_plan(false);
	assert_non_null(find_item(p, unique_name("p-run"))->keep);
	assert_false(find_item(p, unique_name("p-run"))->marked);
	/* Another engine's plan is none for this one. */
	p->engine = "another";
	e = (struct err)ERR_INIT;
	assert_int_equal(carry_plan_out(p, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_true(container_runs(unique_name("c-made")));
	clean_close(host);
	/* Nothing at all is done read-only. */
	policy = (struct policy){.read_only = true};
	host = open_host_with(&policy);
	e = (struct err)ERR_INIT;
	assert_int_equal(carry_plan_out(make_plan(false), &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_true(container_runs(unique_name("c-made")));
	clean_close(host);
	host = open_host_with(NULL);
	carry_out_well(make_plan(false));
	assert_false(container_there(unique_name("c-made")));
	assert_false(container_there(unique_name("p-run")));
}

/* What was stopped can be had back until it is removed. */
static bool once_stopped(void *ctx)
{
	return atomic_load((atomic_bool *)ctx);
}

static void see_stopped(void *ctx, size_t i, const struct clean_outcome *o)
{
	(void)i;
	if (o->state == CLEAN_STOPPED)
		atomic_store((atomic_bool *)ctx, true);
}

static void test_clean_cancel(void **state)
{
	atomic_bool seen = false;
	const struct clean_run how = {.grace_s = 1,
		.undo_ms = 60000,
		.cancelled = once_stopped,
		.changed = see_stopped,
		.ctx = &seen};
	struct clean_plan *p;
	struct err e = ERR_INIT;

	(void)state;
	make_orphans(unique_name("u"));
	p = make_plan(false);
	assert_int_equal(clean_carry_out(host, p, &how, outcome, &sum, &e), -1);
	assert_int_equal(e.kind, ERR_CANCELLED);
	assert_int_equal(outcome_of(p, unique_name("u-run"))->state, CLEAN_KEPT);
	assert_true(container_runs(unique_name("u-run")));
	carry_out_well(make_plan(false));
	assert_false(container_there(unique_name("u-run")));
	assert_false(container_there(unique_name("u-made")));
}

/* Only what is marked; what is used or has a name stays. */
static void test_foreign(void **state)
{
	AUTO_FREE char *net = xasprintf("{\"Name\":\"%s\"}", unique_name("net")),
		       *vol = xasprintf("{\"Name\":\"%s\"}", unique_name("vol")),
		       *used = xasprintf(
			       "{\"Image\":\"box:1\",\"Cmd\":[\"true\"],\"Volumes\":{\"/v\":{}},"
			       "\"HostConfig\":{\"NetworkMode\":\"none\"}}"),
		       *path = xasprintf("/containers/create?name=%s", unique_name("ended")),
		       *start = xasprintf("/containers/%s/start", unique_name("ended")),
		       *wait = xasprintf("/containers/%s/wait", unique_name("ended")),
		       *commit = xasprintf("/commit?container=%s", unique_name("ended")),
		       *image = NULL, *whole = NULL;
	AUTO_STR struct str reply = STR_INIT, seen = STR_INIT;
	AUTO_JSON cJSON *root = NULL, *look = NULL;
	AUTO_FREE char *inspect = xasprintf("/containers/%s/json", unique_name("ended"));
	const char *anonymous, *made;
	struct clean_plan *p;

	(void)state;
	assert_int_equal(ask_clean_engine("POST", "/networks/create", net, NULL), 0);
	assert_int_equal(ask_clean_engine("POST", "/volumes/create", vol, NULL), 0);
	assert_int_equal(ask_clean_engine("POST", path, used, NULL), 0);
	assert_int_equal(ask_clean_engine("POST", start, NULL, NULL), 0);
	assert_int_equal(ask_clean_engine("POST", wait, NULL, NULL), 0);
	assert_int_equal(ask_clean_engine("POST", commit, "{}", &reply), 0);
	root = ejson_parse(reply.s, reply.len, NULL);
	/* podman says it without the name of the hash */
	made = ejson_string(root, "Id");
	whole = xasprintf("sha256:%s", made + (strncmp(made, "sha256:", 7) ? 0 : 7));
	image = xasprintf("/images/%s/json", whole);
	assert_int_equal(ask_clean_engine("GET", inspect, NULL, &seen), 0);
	look = ejson_parse(seen.s, seen.len, NULL);
	anonymous = ejson_string(
		cJSON_GetArrayItem((cJSON *)(uintptr_t)ejson_get(look, "Mounts"), 0), "Name");
	p = make_plan(false);
	assert_null(find_item(p, unique_name("net")));
	assert_null(find_item(p, unique_name("ended")));
	p = make_plan(true);
	/* Others work on this engine too: theirs stays. */
	for (size_t i = 0; i < p->n; i++)
		p->item[i].marked = false;
	assert_int_equal(find_item(p, unique_name("ended"))->reason, CLEAN_EXITED);
	assert_true(find_item(p, unique_name("ended"))->foreign);
	assert_non_null(find_item(p, unique_name("vol"))->keep);
	assert_int_equal(find_item(p, anonymous)->type, CLEAN_VOLUME);
	assert_int_equal(find_item(p, whole)->reason, CLEAN_DANGLING);
	assert_null(find_item(p, "box:1"));
	assert_null(find_item(p, "bridge"));
	find_item(p, unique_name("ended"))->marked = find_item(p, unique_name("net"))->marked =
		true;
	find_item(p, anonymous)->marked = find_item(p, whole)->marked = true;
	carry_out_well(p);
	assert_int_equal(sum.done, 4);
	assert_false(container_there(unique_name("ended")));
	assert_false(exists_path(image));
	snprintf(outcome[0].said, sizeof outcome[0].said, "/networks/%s", unique_name("net"));
	assert_false(exists_path(outcome[0].said));
	snprintf(outcome[0].said, sizeof outcome[0].said, "/volumes/%s", anonymous);
	assert_false(exists_path(outcome[0].said));
	snprintf(outcome[0].said, sizeof outcome[0].said, "/volumes/%s", unique_name("vol"));
	assert_true(exists_path(outcome[0].said));
	ask_clean_engine("DELETE", outcome[0].said, NULL, NULL);
}

/* A network that got a member, a volume that got a user. */
static void test_used_again(void **state)
{
	AUTO_FREE char *net = xasprintf("{\"Name\":\"%s\"}", unique_name("net2")),
		       *body = xasprintf("{\"Image\":\"box:1\",\"Cmd\":[\"true\"],"
					 "\"HostConfig\":{\"NetworkMode\":\"%s\"}}",
			       unique_name("net2")),
		       *path = xasprintf("/containers/create?name=%s", unique_name("member")),
		       *remove = xasprintf("/networks/%s", unique_name("net2"));
	struct clean_plan *p;

	(void)state;
	assert_int_equal(ask_clean_engine("POST", "/networks/create", net, NULL), 0);
	p = make_plan(true);
	for (size_t i = 0; i < p->n; i++)
		p->item[i].marked = !strcmp(p->item[i].name, unique_name("net2"));
	/* Not even a container that was never started loses its network. */
	assert_int_equal(ask_clean_engine("POST", path, body, NULL), 0);
	carry_out_well(p);
	assert_int_equal(sum.skipped, 1);
	assert_true(exists_path(remove));
	drop_container(unique_name("member"));
	assert_int_equal(ask_clean_engine("DELETE", remove, NULL, NULL), 0);
}

/* An ended session: its home, its files, and its container when that has an owner ("": an agent's, that
 * never ran). */
static void make_session(const char *name, const char *owner)
{
	AUTO_FREE char *home = xasprintf("berth-home-%s", name), *mount = NULL, *body = NULL;
	char proof[PROOF_MAX], place[LANE_PATH_MAX];

	assert_int_equal(own_proof(engine_id, home, OWN_HOME, proof, NULL), 0);
	body = xasprintf(
		"{\"Name\":\"%s\",\"Labels\":{\"berth.role\":\"home\",\"berth.proof\":\"%s\"}}",
		home, proof);
	assert_int_equal(ask_clean_engine("POST", "/volumes/create", body, NULL), 0);
	mount = xasprintf(
		"\"HostConfig\":{\"NetworkMode\":\"none\",\"Mounts\":[{\"Type\":\"volume\","
		"\"Source\":\"%s\",\"Target\":\"/home/agent\"}]},",
		home);
	if (owner)
		make_container(engine, name, *owner ? owner : NULL, mount, *owner != '\0');
	assert_int_equal(lane_place(name, place, NULL), 0);
	*strrchr(place, '/') = '\0';
	mkdir(place, 0700);
	place[strlen(place)] = '/';
	mkdir(place, 0755);
}

static bool anything_left(const char *name)
{
	AUTO_FREE char *home = xasprintf("/volumes/berth-home-%s", name);
	char place[LANE_PATH_MAX];

	return container_there(name) || exists_path(home) ||
		(!lane_place(name, place, NULL) && !access(place, F_OK));
}

static int die_at;

static void die_at_step(void *ctx, size_t i, const struct clean_outcome *o)
{
	(void)ctx;
	(void)i;
	(void)o;
	if (--die_at == 0)
		raise(SIGKILL);
}

/* A clean-up that dies at this step, as a program of its own: it starts threads, which is not for a child of one
 * that has some. */
static pid_t run_until_step(int step)
{
	AUTO_FREE char *number = xasprintf("%d", step);
	pid_t pid = fork();

	if (!pid) {
		execl("/proc/self/exe", "engine_clean", number, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static int clean_until_step(const char *step)
{
	const struct clean_run how = {.width = 1, .grace_s = 1, .changed = die_at_step};
	struct clean_host *h = open_host_with(NULL);
	struct clean_plan *p;

	die_at = atoi(step);
	arena_init(&mem, 65536);
	p = clean_plan_make(h, false, false, &mem, NULL);
	if (!p || clean_carry_out(h, p, &how, outcome, &sum, NULL))
		return 1;
	clean_close(h);
	arena_release(&mem);
	return 0;
}

/* Killed at each step of a clean-up: the next one finishes exactly. */
static void test_killed_clean(void **state)
{
	char *name = unique_name("agent");
	AUTO_STR struct str me = STR_INIT;
	bool ended = false;
	int steps = 0;

	(void)state;
	own_label(&me);
	make_container(engine, unique_name("stays"), me.s, QUIET, true);
	while (!ended) {
		int status;
		pid_t pid;

		make_session(name, "nobody");
		pid = run_until_step(++steps);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		ended = WIFEXITED(status);
		assert_true(!ended || WEXITSTATUS(status) == 0);
		if (!ended)
			carry_out_well(make_plan(false));
		assert_false(anything_left(name));
		assert_int_equal(make_plan(false)->n, 0);
		assert_true(container_runs(unique_name("stays")));
		assert_true(steps < 40);
	}
	/* check, stop, stopped, remove, removed; check, remove, removed */
	assert_true(steps > 8);
	drop_container(unique_name("stays"));
}

/* What is being made is left alone, and waited for by nobody. */
static void test_making(void **state)
{
	char *name = unique_name("young");
	struct clean_plan *p;
	int lock;

	(void)state;
	make_session(name, "");
	p = make_plan(false);
	assert_int_equal(p->n, 2);
	lock = sessions_enter(NULL);
	assert_true(lock >= 0);
	assert_int_equal(make_plan(false)->n, 0);
	carry_out_well(p);
	assert_int_equal(sum.skipped, 2);
	assert_true(container_there(name));
	close(lock);
	carry_out_well(p);
	assert_int_equal(sum.done, 2);
	assert_false(anything_left(name));
}

/* The console's way: commands down, events up, orphans in the snapshot. */

static struct event *wait_clean_event(
	struct backend *b, enum event_kind kind, enum clean_state state)
{
	int64_t until = clock_mono_ns() + 60000000000;

	while (clock_mono_ns() < until) {
		struct pollfd p = {backend_fd(b), POLLIN, 0};
		struct event *e;

		while ((e = backend_next(b))) {
			if (e->kind == kind &&
				(kind != EV_CLEAN_ITEM || e->outcome->state == state))
				return e;
			event_free(e);
		}
		poll(&p, 1, 1000);
	}
	fail_msg("the backend never said it");
	return NULL;
}

static void wait_orphans(struct backend *b, int n)
{
	int64_t until = clock_mono_ns() + 60000000000;

	for (;;) {
		const struct snapshot *s = backend_snapshot(b);
		bool up = s->engine.phase == ENGINE_UP && s->listed && s->orphans == n;
		struct pollfd p = {backend_fd(b), POLLIN, 0};
		struct event *e;

		snapshot_unref(s);
		if (up)
			return;
		if (clock_mono_ns() > until)
			fail_msg("never %d orphans", n);
		poll(&p, 1, 1000);
		while ((e = backend_next(b)))
			event_free(e);
	}
}

static struct backend *start_backend(void)
{
	const struct backend_options o = {
		.host = getenv("BERTH_TEST_ENGINE"), .program = "console"};
	struct err e = ERR_INIT;
	struct backend *b = backend_start(&o, &e);

	if (!b)
		fail_msg("%s", e.msg);
	return b;
}

static struct clean_plan *ask_backend_plan(struct backend *b)
{
	struct event *e;
	struct clean_plan *p;

	backend_send(b, command_new(CMD_CLEAN_PLAN));
	e = wait_clean_event(b, EV_CLEAN_PLAN, 0);
	if (!e->plan)
		fail_msg("%s", e->err.msg);
	p = clean_plan_copy(e->plan, &mem);
	event_free(e);
	return p;
}

static void send_run(struct backend *b, const struct clean_plan *p)
{
	struct command *c = command_new(CMD_CLEAN_RUN);

	c->plan = clean_plan_copy(p, &c->mem);
	backend_send(b, c);
}

static void test_console(void **state)
{
	AUTO_FREE char *kill = xasprintf("/containers/%s/kill", unique_name("k-run"));
	struct backend *b;
	struct clean_plan *p;
	struct event *e;

	(void)state;
	make_orphans(unique_name("k"));
	b = start_backend();
	wait_orphans(b, 2);
	p = ask_backend_plan(b);
	assert_int_equal(p->n, 2);
	send_run(b, p);
	event_free(wait_clean_event(b, EV_CLEAN_ITEM, CLEAN_STOPPED));
	assert_false(container_runs(unique_name("k-run")));
	/* Leaving the console in the time for undo gives it back. */
	backend_stop(b);
	assert_true(container_runs(unique_name("k-run")));
	assert_false(container_there(unique_name("k-made")));
	/* What does not run needs no time for undo. */
	assert_int_equal(ask_clean_engine("POST", kill, NULL, NULL), 0);
	b = start_backend();
	wait_orphans(b, 1);
	send_run(b, ask_backend_plan(b));
	e = wait_clean_event(b, EV_CLEAN_END, 0);
	assert_int_equal(e->err.kind, ERR_NONE);
	assert_int_equal(e->done, 1);
	event_free(e);
	wait_orphans(b, 0);
	backend_stop(b);
	assert_false(container_there(unique_name("k-run")));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orphans),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_clean_cancel),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_used_again),
		cmocka_unit_test(test_killed_clean),
		cmocka_unit_test(test_making),
		cmocka_unit_test(test_console),
	};

	text_init();
	if (argc > 1)
		return clean_until_step(argv[1]);
	return cmocka_run_group_tests_name("clean", tests, setup, teardown);
}
