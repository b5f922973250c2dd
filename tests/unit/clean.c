/* clean.c - who is a candidate for clean-up, as a table; and plans read as from an enemy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/clean.h>
#include <berth/mem.h>

#include "clean/verdict.h"
#include "lane/lane.h"

#define ENGINE "ENGI:NE"

static char top[] = "/tmp/berth-clean-XXXXXX";
static struct arena mem;
static char alive[512], dead[512], id_of[8][65];

/* The owner label of a process that is gone. */
static void make_dead_label(void)
{
	int pipes[2];
	pid_t pid;
	ssize_t n;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		AUTO_STR struct str s = STR_INIT;

		own_label(&s);
		_exit(write(pipes[1], s.s, s.len) != (ssize_t)s.len);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	n = read(pipes[0], dead, sizeof dead - 1);
	assert_true(n > 0);
	dead[n] = '\0';
	close(pipes[0]);
	close(pipes[1]);
}

static int setup(void **state)
{
	AUTO_STR struct str s = STR_INIT;

	(void)state;
	assert_non_null(mkdtemp(top));
	setenv("XDG_STATE_HOME", top, 1);
	setenv("XDG_RUNTIME_DIR", top, 1);
	arena_init(&mem, 4096);
	own_label(&s);
	snprintf(alive, sizeof alive, "%s", s.s);
	make_dead_label();
	for (int i = 0; i < 8; i++)
		snprintf(id_of[i], sizeof id_of[i], "%064x", i + 1);
	return 0;
}

static int teardown(void **state)
{
	AUTO_FREE char *rm = xasprintf("rm -rf %s", top);

	(void)state;
	arena_release(&mem);
	return system(rm);
}

static const char *proof_of(const char *name, const char *session)
{
	char *proof = arena_alloc(&mem, PROOF_MAX);
	struct err e = ERR_INIT;

	if (own_proof(ENGINE, name, session, proof, &e))
		fail_msg("%s", e.msg);
	return proof;
}

enum proof { NO_LABELS, PROVEN, COPIED };

static const struct key_value *labels_of(
	const char *name, enum proof how, const char *role, const char *owner, size_t *n)
{
	struct key_value *kv = arena_array(&mem, 4, sizeof *kv);

	*n = how == NO_LABELS ? 0 : 4;
	kv[0] = (struct key_value){"berth.role", role, false};
	kv[1] = (struct key_value){"berth.session", "5e55", false};
	/* docker commit hands labels on: the proof is of another name. */
	kv[2] = (struct key_value){
		"berth.proof", proof_of(how == COPIED ? "other" : name, "5e55"), false};
	kv[3] = (struct key_value){"berth.owner", owner, false};
	return kv;
}

static void test_containers(void **state)
{
	enum { NO_RECORD, RECORD, OTHER_RECORD };
	static const struct {
		const char *what;
		enum proof proof;
		const char *role;
		int owner; /* 1 alive, -1 dead, 0 none */
		int record;
		enum container_state state;
		bool making, foreign;
		enum clean_reason want;
	} rows[] = {
		/* Ours, made by a process for itself. */
		{"tool of a living process", PROVEN, "tool", 1, NO_RECORD, CONTAINER_RUNNING, false,
			true, CLEAN_NOTHING},
		{"tool that ended, process lives", PROVEN, "tool", 1, NO_RECORD, CONTAINER_EXITED,
			false, true, CLEAN_NOTHING},
		{"tool of a dead process", PROVEN, "tool", -1, NO_RECORD, CONTAINER_RUNNING, false,
			false, CLEAN_OWNER_DEAD},
		{"pool container of a dead process", PROVEN, "pool", -1, NO_RECORD,
			CONTAINER_CREATED, true, false, CLEAN_OWNER_DEAD},
		{"helper without an owner", PROVEN, "helper", 0, NO_RECORD, CONTAINER_EXITED, false,
			false, CLEAN_OWNER_DEAD},
		{"being removed already", PROVEN, "tool", -1, NO_RECORD, CONTAINER_REMOVING, false,
			true, CLEAN_NOTHING},
		/* Agents: the session decides. */
		{"agent of a living session", PROVEN, "agent", 0, RECORD, CONTAINER_RUNNING, false,
			true, CLEAN_NOTHING},
		{"paused agent of a living session", PROVEN, "agent", 0, RECORD, CONTAINER_PAUSED,
			false, true, CLEAN_NOTHING},
		{"by its record alone", NO_LABELS, "", 0, RECORD, CONTAINER_RUNNING, false, true,
			CLEAN_NOTHING},
		{"exited agent of a living session", PROVEN, "agent", 0, RECORD, CONTAINER_EXITED,
			false, false, CLEAN_EXITED},
		{"never started", PROVEN, "agent", 0, RECORD, CONTAINER_CREATED, false, false,
			CLEAN_UNFINISHED},
		{"being started", PROVEN, "agent", 0, RECORD, CONTAINER_CREATED, true, true,
			CLEAN_NOTHING},
		{"session ended", PROVEN, "agent", 0, NO_RECORD, CONTAINER_RUNNING, false, false,
			CLEAN_SESSION_ENDED},
		{"session has another container", PROVEN, "agent", 0, OTHER_RECORD,
			CONTAINER_RUNNING, false, false, CLEAN_SESSION_ENDED},
		{"not recorded yet", PROVEN, "agent", 0, NO_RECORD, CONTAINER_RUNNING, true, true,
			CLEAN_NOTHING},
		/* Not ours, whatever it says. */
		{"labels copied, runs", COPIED, "tool", -1, NO_RECORD, CONTAINER_RUNNING, false,
			true, CLEAN_NOTHING},
		{"labels copied, exited", COPIED, "tool", -1, NO_RECORD, CONTAINER_EXITED, false,
			false, CLEAN_NOTHING},
		{"foreign, runs", NO_LABELS, "", 0, NO_RECORD, CONTAINER_RUNNING, false, true,
			CLEAN_NOTHING},
		{"foreign, paused", NO_LABELS, "", 0, NO_RECORD, CONTAINER_PAUSED, false, true,
			CLEAN_NOTHING},
		{"foreign, never started", NO_LABELS, "", 0, NO_RECORD, CONTAINER_CREATED, false,
			true, CLEAN_NOTHING},
		{"foreign, exited", NO_LABELS, "", 0, NO_RECORD, CONTAINER_EXITED, false, true,
			CLEAN_EXITED},
		{"foreign, dead", NO_LABELS, "", 0, NO_RECORD, CONTAINER_DEAD, false, true,
			CLEAN_DEAD},
		{"foreign, exited, not asked for", NO_LABELS, "", 0, NO_RECORD, CONTAINER_EXITED,
			false, false, CLEAN_NOTHING},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct session record = {.name = "box", .engine = ENGINE, .session = "5e55"};
		struct world w = {.engine = ENGINE,
			.making = rows[i].making,
			.session = &record,
			.nsessions = rows[i].record != NO_RECORD};
		struct seen_container c = {
			.id = id_of[0], .name = "box", .state = rows[i].state, .bytes = -1};
		enum clean_reason got;
		bool ours;

		strcpy(record.id, id_of[rows[i].record == OTHER_RECORD]);
		c.labels = labels_of("box", rows[i].proof, rows[i].role,
			rows[i].owner > 0       ? alive
				: rows[i].owner ? dead
						: "",
			&c.nlabels);
		got = rule_container(&w, &c, rows[i].foreign, &ours);
		if (got != rows[i].want)
			fail_msg("%s: %s, wanted %s", rows[i].what, clean_reason_name(got),
				clean_reason_name(rows[i].want));
		/* On another engine the same labels and the same record prove nothing. */
		w.engine = "OTHER";
		assert_int_equal(rule_container(&w, &c, false, &ours), CLEAN_NOTHING);
	}
}

static struct clean_plan plan_of(const struct world *w, bool foreign, const struct policy *policy)
{
	struct clean_plan p = {.name = "0123abcd",
		.engine = w->engine,
		.engine_name = "devbox",
		.endpoint = "unix:///x",
		.made_ms = 1,
		.foreign = foreign};

	rules_plan(w, policy, &p, &mem);
	return p;
}

static struct key_value proven[1];

static const struct key_value *proven_as(const char *name, const char *kind)
{
	const char *key = strcmp(kind, OWN_IMAGE) ? "berth.proof" : "berth.prepared_proof";

	proven[0] = (struct key_value){key, proof_of(name, kind), false};
	return memcpy(arena_alloc(&mem, sizeof proven), proven, sizeof proven);
}

/* Networks, volumes, images and files: used by what stays, or not. */
static void test_others(void **state)
{
	static const char *const nets[] = {"n1", "n2"}, *const vols[] = {"berth-home-box", "v1"};
	char *anonymous = arena_printf(&mem, "%064x", 0xabc);
	struct seen_container c = {.id = id_of[0],
		.name = "box",
		.image_id = "sha256:used",
		.state = CONTAINER_RUNNING,
		.status = "Up 3 hours",
		.bytes = 5,
		.networks = nets,
		.nnetworks = 1,
		.volumes = vols,
		.nvolumes = 1};
	struct seen_network network[] = {{.id = "n1", .name = "berth-lab", .driver = "bridge"},
		{.id = "n2", .name = "compose_default", .driver = "bridge"},
		{.id = "n3", .name = "bridge", .driver = "bridge"}};
	struct seen_volume volume[] = {{.name = "berth-home-box", .driver = "local", .bytes = 7},
		{.name = "db-data", .driver = "local", .bytes = 9},
		{.name = anonymous, .driver = "local", .bytes = 11}};
	struct seen_image image[] = {{.id = "sha256:used", .tag = "", .bytes = 1},
		{.id = "sha256:free", .tag = "", .bytes = 13},
		{.id = "sha256:free", .tag = "", .bytes = 13},
		{.id = "sha256:ours", .tag = "berth/prepared:1", .bytes = 17},
		{.id = "sha256:fake", .tag = "berth/prepared:2", .bytes = 19}};
	struct seen_files files[] = {
		{.name = "box", .lane = true, .engine = ENGINE, .id = id_of[0]},
		{.name = "gone", .lane = true, .record = true, .engine = ENGINE, .id = id_of[1]},
		{.name = "elsewhere", .record = true, .engine = "OTHER", .id = id_of[1]},
		{.name = "young", .lane = true, .young = true, .engine = "", .id = ""}};
	struct world w = {.engine = ENGINE,
		.ncontainers = 1,
		.nnetworks = 3,
		.nvolumes = 3,
		.nimages = 5,
		.nfiles = 4,
		.container = &c,
		.network = network,
		.volume = volume,
		.image = image,
		.files = files};
	struct clean_plan p;
	struct clean_totals t;

	(void)state;
	c.labels = labels_of("box", PROVEN, "tool", alive, &c.nlabels);
	network[0].labels = proven_as("berth-lab", OWN_NETWORK);
	network[0].nlabels = 1;
	volume[0].labels = proven_as("berth-home-box", OWN_HOME);
	volume[0].nlabels = 1;
	/* What proves one image proves no other. */
	image[3].labels = image[4].labels = proven_as("berth/prepared:1", OWN_IMAGE);
	image[3].nlabels = image[4].nlabels = 1;
	c.image_id = "sha256:ours";
	/* In use by what lives: only the files of a container that is gone. */
	p = plan_of(&w, false, NULL);
	assert_int_equal(p.n, 1);
	assert_string_equal(p.item[0].id, "gone");
	/* Its only user goes too: so do they. */
	c.labels = labels_of("box", PROVEN, "tool", dead, &c.nlabels);
	p = plan_of(&w, false, NULL);
	assert_int_equal(p.n, 5);
	assert_non_null(plan_find(&p, CLEAN_IMAGE, "sha256:ours"));
	assert_null(plan_find(&p, CLEAN_IMAGE, "sha256:fake"));
	c.image_id = "sha256:used";
	assert_int_equal(p.item[0].type, CLEAN_CONTAINER);
	assert_true(p.item[0].running && p.item[0].marked && !p.item[0].foreign);
	assert_non_null(strstr(p.item[0].why, "up 3 hours"));
	assert_non_null(plan_find(&p, CLEAN_NETWORK, "n1"));
	assert_non_null(plan_find(&p, CLEAN_VOLUME, "berth-home-box"));
	assert_null(plan_find(&p, CLEAN_IMAGE, "sha256:free"));
	/* While an agent is brought up, nothing that it may just have made. */
	w.making = true;
	p = plan_of(&w, false, NULL);
	assert_int_equal(p.n, 1);
	w.making = false;
	/* Foreign: never the engine's own networks, never a volume with a name. */
	p = plan_of(&w, true, NULL);
	assert_non_null(plan_find(&p, CLEAN_NETWORK, "n2"));
	assert_null(plan_find(&p, CLEAN_NETWORK, "n3"));
	assert_true(plan_find(&p, CLEAN_VOLUME, anonymous)->marked);
	assert_non_null(plan_find(&p, CLEAN_VOLUME, "db-data")->keep);
	assert_false(plan_find(&p, CLEAN_VOLUME, "db-data")->marked);
	assert_non_null(plan_find(&p, CLEAN_IMAGE, "sha256:free"));
	assert_non_null(plan_find(&p, CLEAN_IMAGE, "sha256:used")); /* its container goes */
	assert_null(plan_find(&p, CLEAN_LEFTOVER, "elsewhere"));
	t = clean_totals(&p);
	assert_int_equal(t.kept, 1);
	assert_int_equal(t.orphans, 1);
	assert_int_equal(t.bytes, 5 + 7 + 11 + 13 + 1 + 17);
}

/* The home of a session that ended a moment ago is shown, and not marked before its days are over. */
static void test_young_home(void **state)
{
	static const int64_t day = 86400000, now = 1000 * (int64_t)86400000;
	const struct {
		int64_t made, used, days;
		bool marked;
	} rows[] = {{1, now - 1000, 7, false}, {now - 1000, 0, 7, false},
		{1, now - 7 * day, 7, true}, {1, now - 7 * day + 1, 7, false},
		{1, now + day, 7, false}, {0, 0, 7, true}, {1, now - 1000, 0, true}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct policy policy = {.home_days = rows[i].days};
		struct seen_volume v = {.name = "berth-home-box",
			.driver = "local",
			.bytes = 7,
			.made_ms = rows[i].made,
			.used_ms = rows[i].used};
		struct world w = {.engine = ENGINE, .now_ms = now, .nvolumes = 1, .volume = &v};
		struct clean_plan p;

		v.labels = proven_as(v.name, OWN_HOME);
		v.nlabels = 1;
		p = plan_of(&w, false, &policy);
		assert_int_equal(p.n, 1);
		assert_int_equal(p.item[0].marked, rows[i].marked);
		assert_null(p.item[0].keep);
		assert_int_equal(clean_totals(&p).bytes, rows[i].marked ? 7 : 0);
		assert_int_equal(
			strstr(p.item[0].why, "last used") != NULL, rows[i].used || rows[i].made);
		assert_int_equal(strstr(p.item[0].why, "clean.home_days") != NULL, !rows[i].marked);
	}
}

/* 64 hexadecimal digits are no proof that nobody named it. */
static void test_volumes_in_doubt(void **state)
{
	static const struct key_value said[] = {{"com.docker.volume.anonymous", "", false}},
				      given[] = {{"team", "data", false}},
				      both[] = {{"com.docker.volume.anonymous", "", false},
					      {"team", "data", false}};
	const struct {
		const char *what, *driver;
		const struct key_value *labels;
		size_t nlabels;
		bool labelling, goes;
	} cases[] = {
		{"an old engine's", "local", NULL, 0, false, true},
		{"a new engine's", "local", said, 1, true, true},
		{"a person's, by a new engine", "local", NULL, 0, true, false},
		{"a person's labels", "local", given, 1, true, false},
		{"a person's labels, old engine", "local", given, 1, false, false},
		{"a person's labels, no name", "local", both, 2, true, false},
		{"another driver's", "nfs", said, 1, true, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct seen_volume v = {.name = arena_printf(&mem, "%064x", 0xabc),
			.driver = cases[i].driver,
			.labels = cases[i].labels,
			.nlabels = cases[i].nlabels};
		struct world w = {.engine = ENGINE,
			.nvolumes = 1,
			.volume = &v,
			.labels_anonymous = cases[i].labelling};
		struct clean_plan p = plan_of(&w, true, NULL);

		assert_int_equal(p.n, 1);
		if (p.item[0].marked != cases[i].goes || !p.item[0].keep != cases[i].goes)
			fail_msg("%s", cases[i].what);
	}
}

static const char *kept_when_chosen(
	const struct world *w, const struct policy *policy, enum clean_type t, const char *id)
{
	struct clean_plan p = {.engine = ENGINE, .engine_name = "devbox", .endpoint = "unix:///x"};

	rules_choose(w, policy, &p, t, &id, 1, &mem);
	if (!p.n)
		return "absent";
	assert_int_equal(p.n, 1);
	assert_int_equal(p.item[0].reason, CLEAN_CHOSEN);
	assert_true(p.item[0].marked == !p.item[0].keep);
	assert_true(!p.item[0].foreign || p.foreign);
	return p.item[0].keep ? p.item[0].keep : "";
}

/* What a person chose goes whatever the rules say of it, but for what is used, lived in, another's or protected. */
static void test_chosen_by_name(void **state)
{
	static const char *const nets[] = {"n1", "lab"}, *const vols[] = {"v1"};
	static const char *const names[] = {"keep*"};
	static const struct key_value other[] = {{"berth.session", "5e55", false}};
	const struct policy policy = {.read_only = true, .keep.names = {1, names}};
	struct session record = {.name = "box", .engine = ENGINE, .session = "5e55"};
	struct seen_container c = {.id = id_of[0],
		.name = "box",
		.image_id = "sha256:used",
		.state = CONTAINER_EXITED,
		.networks = nets,
		.nnetworks = 2,
		.volumes = vols,
		.nvolumes = 1};
	struct seen_network network[] = {{.id = "n1", .name = "lab", .driver = "bridge"},
		{.id = "n2", .name = "free", .driver = "bridge"},
		{.id = "n3", .name = "bridge", .driver = "bridge"}};
	struct seen_volume volume[] = {{.name = "v1", .driver = "local", .bytes = -1},
		{.name = "db-data", .driver = "local", .bytes = 9},
		{.name = "berth-home-box", .driver = "local", .bytes = 9},
		{.name = "keep-me", .driver = "local", .bytes = 9},
		{.name = "theirs", .driver = "local", .labels = other, .nlabels = 1}};
	struct seen_image image[] = {
		{.id = "sha256:used", .tag = "a:1"}, {.id = "sha256:free", .tag = "b:1"}};
	struct world w = {.engine = ENGINE,
		.ncontainers = 1,
		.nnetworks = 3,
		.nvolumes = 5,
		.nimages = 2,
		.container = &c,
		.network = network,
		.volume = volume,
		.image = image,
		.session = &record,
		.nsessions = 1};

	(void)state;
	volume[2].labels = proven_as("berth-home-box", OWN_HOME);
	volume[2].nlabels = 1;
#define KEPT(type, id) kept_when_chosen(&w, &policy, type, id)
	assert_non_null(strstr(KEPT(CLEAN_IMAGE, "sha256:used"), "box, which is stopped, has it"));
	assert_string_equal(KEPT(CLEAN_IMAGE, "sha256:free"), "");
	assert_string_equal(KEPT(CLEAN_IMAGE, "sha256:none"), "absent");
	assert_non_null(strstr(KEPT(CLEAN_NETWORK, "n1"), "box"));
	assert_string_equal(KEPT(CLEAN_NETWORK, "n2"), "");
	assert_string_equal(KEPT(CLEAN_NETWORK, "n3"), "it is the engine's own");
	assert_non_null(strstr(KEPT(CLEAN_VOLUME, "v1"), "box"));
	assert_string_equal(KEPT(CLEAN_VOLUME, "db-data"), "");
	assert_non_null(strstr(KEPT(CLEAN_VOLUME, "berth-home-box"), "session that lasts"));
	assert_non_null(strstr(KEPT(CLEAN_VOLUME, "keep-me"), "protected"));
	assert_non_null(strstr(KEPT(CLEAN_VOLUME, "theirs"), "another berth"));
	c.state = CONTAINER_RUNNING;
	assert_string_equal(KEPT(CLEAN_VOLUME, "v1"), "the container box has it");
	/* Its session has ended: its home may go, but not while somebody brings an agent up. */
	w.nsessions = 0;
	assert_string_equal(KEPT(CLEAN_VOLUME, "berth-home-box"), "");
	w.making = true;
	assert_non_null(strstr(KEPT(CLEAN_VOLUME, "berth-home-box"), "being brought up"));
	assert_string_equal(KEPT(CLEAN_VOLUME, "db-data"), "");
#undef KEPT
}

static void test_protection(void **state)
{
	static const char *const names[] = {"box*"};
	const struct policy policy = {.read_only = true, .keep.names = {1, names}};
	struct seen_container c[] = {{.id = id_of[0],
					     .name = "box-1",
					     .image = "",
					     .image_id = "",
					     .status = "",
					     .state = CONTAINER_EXITED},
		{.id = id_of[1],
			.name = "other",
			.image = "",
			.image_id = "",
			.status = "",
			.state = CONTAINER_EXITED},
		{.id = id_of[2],
			.name = "third",
			.image = "",
			.image_id = "",
			.status = "",
			.state = CONTAINER_EXITED}};
	struct world w = {.engine = ENGINE, .ncontainers = 3, .container = c};
	struct clean_plan p;

	(void)state;
	/* Of another berth: its labels, but not our proof. */
	c[2].labels = labels_of("third", COPIED, "tool", dead, &c[2].nlabels);
	p = plan_of(&w, true, &policy);
	assert_int_equal(p.n, 3);
	assert_non_null(strstr(p.item[0].keep, "box"));
	assert_false(p.item[0].marked);
	assert_null(p.item[1].keep); /* read-only is asked about when something is done */
	assert_non_null(strstr(p.item[2].keep, "another berth"));
}

/* It may hold packages that somebody installed: offered, but never by itself. */
static void test_ended_agent_of_a_session(void **state)
{
	struct session record = {.name = "box", .engine = ENGINE, .session = "5e55"};
	struct seen_container c = {.id = id_of[0],
		.name = "box",
		.image = "",
		.image_id = "",
		.status = "Exited (0)",
		.state = CONTAINER_EXITED};
	struct world w = {.engine = ENGINE,
		.session = &record,
		.nsessions = 1,
		.container = &c,
		.ncontainers = 1};
	struct clean_plan p;

	(void)state;
	strcpy(record.id, id_of[0]);
	c.labels = labels_of("box", PROVEN, "agent", "", &c.nlabels);
	p = plan_of(&w, false, NULL);
	assert_int_equal(p.n, 1);
	assert_null(p.item[0].keep);
	assert_false(p.item[0].marked);
	assert_non_null(strstr(p.item[0].why, "its session lasts"));
	/* After `down` it is what is left of it. */
	w.nsessions = 0;
	p = plan_of(&w, false, NULL);
	assert_true(p.n == 1 && p.item[0].marked);
	/* One that runs is not taken because its record was lost. */
	c.state = CONTAINER_RUNNING;
	p = plan_of(&w, false, NULL);
	assert_true(p.n == 1 && p.item[0].running && !p.item[0].marked && !p.item[0].keep);
}

/* A record is of one engine; on another its name says nothing, and its files are not touched. */
static void test_two_engines(void **state)
{
	struct session record = {.name = "box", .session = "5e55", .engine = ENGINE};
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(session_here("box", ENGINE, &e), 0);
	assert_int_equal(session_save(&record, &e), 0);
	assert_int_equal(session_here("box", ENGINE, &e), 0);
	assert_int_equal(session_here("box", "OTHER", &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_non_null(strstr(e.msg, ENGINE));
	session_forget("box");
}

/* More records than are read: no plan at all, rather than one in which living sessions have ended. */
static void test_many_records(void **state)
{
	enum { MANY = 4096 };
	struct session record = {.name = "box", .session = "5e55", .engine = ENGINE};
	AUTO_FREE char *one = xasprintf("%s/berth/sessions/box.session", top);
	struct world w = {.engine = ENGINE};
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(session_save(&record, &e), 0);
	for (int i = 1; i < MANY; i++) {
		AUTO_FREE char *name = xasprintf("%s/berth/sessions/%d.session", top, i);

		assert_int_equal(link(one, name), 0);
	}
	assert_int_equal(world_sessions(&w, &mem, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(unlink(one), 0);
	assert_int_equal(world_sessions(&w, &mem, &e), 0);
	assert_int_equal(w.nsessions, MANY - 1);
	for (int i = 1; i < MANY; i++) {
		AUTO_FREE char *name = xasprintf("%s/berth/sessions/%d.session", top, i);

		assert_int_equal(unlink(name), 0);
	}
}

static void test_lock(void **state)
{
	int a, b;

	(void)state;
	assert_false(sessions_making());
	a = sessions_enter(NULL);
	b = sessions_enter(NULL);
	assert_true(a >= 0 && b >= 0);
	assert_true(sessions_making());
	assert_int_equal(sessions_exclude(), -1);
	close(a);
	close(b);
	assert_false(sessions_making());
	a = sessions_exclude();
	assert_true(a >= 0);
	assert_false(sessions_making());
	close(a);
}

/* Plans as JSON. */

static struct clean_plan sample_plan(void)
{
	struct clean_item *item = arena_array(&mem, 2, sizeof *item);

	item[0] = (struct clean_item){.type = CLEAN_CONTAINER,
		.reason = CLEAN_OWNER_DEAD,
		.id = id_of[0],
		.name = "evil\"\n\033[2J",
		.owner = "process 4211",
		.why = "exited (137) 2 days ago",
		.bytes = -1,
		.made_ms = 1795211102000,
		.running = true,
		.marked = true};
	item[1] = (struct clean_item){.type = CLEAN_VOLUME,
		.reason = CLEAN_UNUSED,
		.id = "db-data",
		.name = "db-data",
		.owner = "not berth",
		.why = "no container uses it",
		.keep = "it has a name",
		.bytes = 82,
		.foreign = true};
	return (struct clean_plan){.name = "0123abcd",
		.engine = ENGINE,
		.engine_name = "devbox",
		.endpoint = "unix:///x",
		.made_ms = 17,
		.foreign = true,
		.n = 2,
		.item = item};
}

static void test_plan_round_trip(void **state)
{
	struct clean_plan p = sample_plan(), *got;
	AUTO_STR struct str json = STR_INIT, again = STR_INIT;
	struct err e = ERR_INIT;

	(void)state;
	clean_plan_json(&p, &json);
	got = clean_plan_parse(json.s, json.len, &mem, &e);
	if (!got)
		fail_msg("%s", e.msg);
	clean_plan_json(clean_plan_copy(got, &mem), &again);
	assert_string_equal(json.s, again.s);
	assert_string_equal(got->item[0].name, p.item[0].name);
}

/* One wrong thing at a time: a sentence, nothing else. */
static void test_hostile_plan(void **state)
{
	static const struct {
		const char *from, *to, *say;
	} rows[] = {
		{"berth.clean_plan/1", "berth.ps/1", "schema"},
		{"\"engine\": \"ENGI:NE\"", "\"engine\": \"\"", "engine"},
		{"\"engine\": \"ENGI:NE\"", "\"engine\": 5", "engine"},
		{"\"plan\"", "\"plam\"", "plam"},
		{"\"plan\": \"0123abcd\"", "\"plan\": \"\\u001b]52;c;eA==\\u0007\"", "8 hex"},
		{"\"plan\": \"0123abcd\"", "\"plan\": \"0123abcde\"", "8 hex"},
		{"\"type\": \"container\"", "\"type\": \"host\"", "type"},
		{"\"reason\": \"owner_dead\"", "\"reason\": \"because\"", "reason"},
		{"\"reason\": \"owner_dead\"", "\"reason\": \"nothing\"", "reason"},
		{"\"reason\": \"owner_dead\"", "\"reason\": \"chosen\"", "chosen by name"},
		{"\"id\": \"0000", "\"id\": \"000", "full id"},
		{"\"id\": \"0000", "\"id\": \"../0", "full id"},
		{"\"id\": \"db-data\"", "\"id\": \"../../etc\"", "full id"},
		{"\"id\": \"db-data\"", "\"id\": \"..\"", "full id"},
		{"\"id\": \"db-data\"", "\"id\": \"a?force=1\"", "full id"},
		{"\"id\": \"db-data\"", "\"id\": \"\"", "full id"},
		{"\"type\": \"volume\"", "\"type\": \"network\"", "full id"},
		{"\"running\": true", "\"running\": 1", "running"},
		{"\"marked\": false, \"protected\": \"it", "\"marked\": true, \"protected\": \"it",
			"protected and marked"},
		{"\"foreign\": true,\n", "\"foreign\": false,\n", "foreign"},
		{"\"items\": [", "\"items\": [5, ", "object"},
		{"\"items\": [", "\"items\": {}, \"x\": [", "x"},
		{"\"made_ms\": 17", "\"made_ms\": 17, \"made_ms\": 18", "twice"},
		{"]\n}\n", "]\n}, 5", "plan"},
	};
	struct clean_plan p = sample_plan();
	AUTO_STR struct str json = STR_INIT;
	struct err e = ERR_INIT;

	(void)state;
	clean_plan_json(&p, &json);
	for (size_t i = 0; i < COUNT(rows); i++) {
		AUTO_STR struct str bad = STR_INIT;
		const char *at = strstr(json.s, rows[i].from);

		if (!at)
			fail_msg("%s is not in the plan", rows[i].from);
		str_add(&bad, json.s, (size_t)(at - json.s));
		str_adds(&bad, rows[i].to);
		str_adds(&bad, at + strlen(rows[i].from));
		e = (struct err)ERR_INIT;
		if (clean_plan_parse(bad.s, bad.len, &mem, &e))
			fail_msg("%s was taken", rows[i].to);
		assert_int_equal(e.kind, ERR_USAGE);
		if (!strstr(e.msg, rows[i].say))
			fail_msg("%s: %s", rows[i].to, e.msg);
	}
	/* Cut anywhere: never taken, never a crash. */
	for (size_t n = 0; n + 2 < json.len; n++) {
		e = (struct err)ERR_INIT;
		assert_null(clean_plan_parse(json.s, n, &mem, &e));
		assert_int_equal(e.kind, ERR_USAGE);
	}
}

static void test_twice(void **state)
{
	struct clean_plan p = sample_plan();
	AUTO_STR struct str json = STR_INIT;
	struct err e = ERR_INIT;

	(void)state;
	p.item[1] = p.item[0];
	clean_plan_json(&p, &json);
	assert_null(clean_plan_parse(json.s, json.len, &mem, &e));
	assert_non_null(strstr(e.msg, "item 2: it appears twice"));
}

/* All files of a lane are one thing, its socket too: that of an agent that is up is not left over. */
static void test_lane_files(void **state)
{
	static const char *const ends[] = {".lane", ".rules", LANE_SOCK};
	char dir[LANE_PATH_MAX], file[LANE_PATH_MAX + 8];
	struct world w = {.engine = ENGINE};

	(void)state;
	assert_int_equal(lane_place("berth-up", dir, NULL), 0);
	*strrchr(dir, '/') = '\0';
	assert_true(mkdir(dir, 0700) == 0 || errno == EEXIST);
	dir[strlen(dir)] = '/';
	assert_int_equal(mkdir(dir, 0755), 0);
	for (size_t i = 0; i < COUNT(ends); i++) {
		snprintf(file, sizeof file, "%s%s", dir, ends[i]);
		close(open(file, O_WRONLY | O_CREAT, 0600));
	}
	world_files(&w, &mem);
	assert_int_equal(w.nfiles, 1);
	assert_string_equal(w.files[0].name, "berth-up");
	assert_true(w.files[0].lane);
	lane_forget("berth-up");
	snprintf(file, sizeof file, "%s.rules", dir);
	unlink(file);
}

/* What was asked for once is in the plan once, however often the engine lists it. */
static void test_listed_many_times(void **state)
{
	enum { MANY = 5000 };
	static const char *const name[] = {"v"}, *const id[] = {"i"}, *const twice[] = {"v", "v"};
	struct seen_volume *volume = arena_array(&mem, MANY, sizeof *volume);
	struct seen_network *network = arena_array(&mem, MANY, sizeof *network);
	struct seen_image *image = arena_array(&mem, MANY, sizeof *image);
	struct world w = {.engine = ENGINE,
		.nvolumes = MANY,
		.nnetworks = MANY,
		.nimages = MANY,
		.volume = volume,
		.network = network,
		.image = image};
	static const enum clean_type types[] = {CLEAN_VOLUME, CLEAN_NETWORK, CLEAN_IMAGE};

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		volume[i] = (struct seen_volume){.name = "v", .driver = "local", .bytes = -1};
		network[i] = (struct seen_network){.id = "i", .name = "n", .driver = "bridge"};
		image[i] = (struct seen_image){.id = "i", .tag = "t:1"};
	}
	for (size_t t = 0; t < COUNT(types); t++) {
		struct clean_plan p = {.engine = ENGINE, .engine_name = "e", .endpoint = "x"};

		rules_choose(&w, NULL, &p, types[t], types[t] == CLEAN_VOLUME ? name : id, 1, &mem);
		assert_int_equal(p.n, 1);
		assert_int_equal(p.item[0].type, types[t]);
	}
	{
		struct clean_plan p = {.engine = ENGINE, .engine_name = "e", .endpoint = "x"};

		rules_choose(&w, NULL, &p, CLEAN_VOLUME, twice, 2, &mem);
		assert_int_equal(p.n, 2);
		rules_choose(&w, NULL, &p, CLEAN_VOLUME, name, 0, &mem);
		assert_int_equal(p.n, 0);
		p.foreign = true;
		rules_plan(&w, NULL, &p, &mem);
		assert_true(p.n <= CLEAN_ITEMS_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_young_home),
		cmocka_unit_test(test_volumes_in_doubt),
		cmocka_unit_test(test_chosen_by_name),
		cmocka_unit_test(test_protection),
		cmocka_unit_test(test_ended_agent_of_a_session),
		cmocka_unit_test(test_two_engines),
		cmocka_unit_test(test_many_records),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_plan_round_trip),
		cmocka_unit_test(test_hostile_plan),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_lane_files),
		cmocka_unit_test(test_listed_many_times),
	};

	return cmocka_run_group_tests_name("clean", tests, setup, teardown);
}
