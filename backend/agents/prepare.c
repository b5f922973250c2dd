/*
 * prepare.c - installs the packages of a definition into an image.
 *
 * The installers are the image's own, run over the lane like any command; their output is the job's log,
 * and its last lines the reason when one fails.
 */
#include "agents/prepare.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <openssl/evp.h>

#include <berth/check.h>
#include <berth/hex.h>
#include <berth/images.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "job/board.h"

#define INSTALL_MS (30 * 60 * 1000)
#define COMMIT_MS (20 * 60 * 1000)
#define WORDS_MAX 1024
#define LINE_MAX_ 1024
#define REASON_LINES 3

static const char *const caps[] = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETGID", "SETUID"};

/* More than an agent has by default: compilers run here. */
static const struct limits prepare_limits = {.memory_bytes = (uint64_t)4 << 30,
	.cpus = 2,
	.pids = 1024,
	.tmp_bytes = (uint64_t)2 << 30,
	.file_bytes = (uint64_t)4 << 30,
	.open_files = 4096};

/* In front of the packages.  For all users, so not into the home that the agent's own installs go to. */
static const struct installer {
	const char *name;
	size_t offset; /* of the list in struct agent_def */
	const char *argv[8];
} installers[] = {
	/* Alpine's images have apk. */
	{"system", offsetof(struct agent_def, system),
		{"/bin/sh", "-c",
			"if command -v apt-get >/dev/null; then apt-get update && "
			"DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \"$@\" && "
			"apt-get clean && rm -rf /var/lib/apt/lists/*; "
			"elif command -v apk >/dev/null; then apk add --no-cache \"$@\"; "
			"else echo 'this image has neither apt-get nor apk' >&2; exit 127; fi",
			"system", NULL}},
	{"python", offsetof(struct agent_def, python),
		{"python3", "-m", "pip", "install", "--no-cache-dir", "--no-input", NULL}},
	{"npm", offsetof(struct agent_def, npm),
		{"npm", "install", "--global", "--no-fund", "--no-audit", NULL}},
};

static const char *const install_env[] = {"PIP_USER=0", "PIP_ROOT_USER_ACTION=ignore",
	"NPM_CONFIG_PREFIX=/usr/local", "NPM_CONFIG_UPDATE_NOTIFIER=false"};

struct preparing {
	struct agents_host *h;
	const struct agent_def *def;
	const char *tag; /* berth/prepared:HASH */
	const cJSON *base;
	const char *base_id;
	struct spec spec;
	struct session session;
	struct lane_offer offer;
	struct str owner;
	char name[64], proof[PROOF_MAX], id[65];
	struct board *board;
	struct job *job;
	struct str line;
	bool over; /* a carriage return was the last byte */
	char last[REASON_LINES][LINE_MAX_ / 4];
	size_t nlines;
	pthread_t watcher;
	bool watched;
	atomic_bool done;
	int cancel_fd;
};

static const struct words *list_of(const struct agent_def *a, const struct installer *i)
{
	return (const struct words *)((const char *)a + i->offset);
}

bool prepare_needed(const struct agent_def *a)
{
	return a->python.n || a->npm.n || a->system.n;
}

/* ---- which image */

static void tag_of(const struct agent_def *a, const char *base_id, char tag[64])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	AUTO_STR struct str text = STR_INIT;
	unsigned len = 0;

	/* A new way of installing must not find the images of the old one. */
	str_addf(&text, "1\n%s\n", base_id);
	for (size_t i = 0; i < COUNT(installers); i++) {
		const struct words *w = list_of(a, &installers[i]);

		str_addf(&text, "%s %zu\n", installers[i].name, w->n);
		for (size_t k = 0; k < w->n; k++)
			str_addf(&text, "%s\n", w->word[k]);
	}
	CHECK(EVP_Digest(text.s, text.len, digest, &len, EVP_sha256(), NULL) && len >= 8);
	hex_text(stpcpy(tag, "berth/prepared:"), digest, 8);
}

static int refuse_missing_image(const struct agent_def *a, struct err *e)
{
	char remedy[ERR_MSG_MAX / 2];

	images_remedy(a->image, remedy, sizeof remedy);
	return err_set(e, ERR_NOT_FOUND, "the image %s of %s is not on this engine; %s.", a->image,
		a->id, remedy);
}

/* ---- what the installers say */

static void end_line(struct preparing *p)
{
	char clean[LINE_MAX_];

	text_clean(clean, sizeof clean, p->line.s);
	str_clear(&p->line);
	if (!clean[strspn(clean, " ")])
		return;
	snprintf(p->last[p->nlines++ % REASON_LINES], sizeof p->last[0], "%s", clean);
	job_current(p->job, clean);
	if (p->h->say)
		p->h->say(p->h->say_ctx, p->def->id, clean);
}

static void on_installer_output(void *ctx, int stream, const char *bytes, size_t n)
{
	struct preparing *p = ctx;

	(void)stream;
	for (size_t i = 0; i < n; i++) {
		/* What is written over was progress. */
		if (p->over && bytes[i] != '\n')
			str_clear(&p->line);
		p->over = bytes[i] == '\r';
		if (bytes[i] == '\n')
			end_line(p);
		else if (p->line.len < LINE_MAX_ && !p->over)
			str_addc(&p->line, bytes[i] ? bytes[i] : ' ');
	}
}

static int installer_failed(
	struct preparing *p, const struct installer *i, const struct run_result *r, struct err *e)
{
	AUTO_STR struct str why = STR_INIT;
	size_t n = p->nlines < REASON_LINES ? p->nlines : REASON_LINES;

	for (size_t k = 0; k < n; k++)
		str_addf(&why, "%s %.130s", k ? " |" : "",
			p->last[(p->nlines - n + k) % REASON_LINES]);
	if (r->err.kind && !n)
		str_addf(&why, " %s", r->err.msg);
	return err_set(e, r->ended == ENDED_TIMEOUT ? ERR_TIMEOUT : ERR_FAILED,
		"the %s packages of %s could not be installed (%s %d):%s", i->name, p->def->id,
		run_ended_name(r->ended), r->exit_code, why.s);
}

/* ---- cancelling */

static bool is_preparing_stopped(const struct preparing *p)
{
	return job_cancelled(p->job) || (p->h->stop && p->h->stop(p->h->stop_ctx));
}

/* Another process's wish is a word on the board; a running command hears of it by a descriptor. */
static void *watch_cancel(void *ctx)
{
	struct preparing *p = ctx;

	while (!atomic_load(&p->done)) {
		if (is_preparing_stopped(p)) {
			eventfd_write(p->cancel_fd, 1);
			break;
		}
		poll(NULL, 0, 100);
	}
	return NULL;
}

/* ---- the container */

static int describe_helper(struct preparing *p, struct err *e)
{
	if (session_new(&p->session, e))
		return -1;
	snprintf(p->name, sizeof p->name, "berth-prepare-%.16s-%.8s", strchr(p->tag, ':') + 1,
		p->session.session);
	own_label(&p->owner);
	p->spec = (struct spec){.role = SPEC_HELPER,
		.product = p->h->at.info.kind,
		.name = p->name,
		.session = p->session.session,
		.engine = p->h->at.info.id,
		.proof = p->proof,
		.owner = p->owner.s,
		.image = p->base_id,
		.limits = prepare_limits,
		.network = NET_BRIDGE,
		.writable_root = true,
		.apparmor = armour_of(&p->h->at.info, p->def->apparmor_optional),
		.caps = caps,
		.ncaps = COUNT(caps)};
	p->spec.limits.cpus = spec_cpus(prepare_limits.cpus, p->h->at.info.cpus);
	return own_proof(p->h->at.info.id, p->name, p->session.session, p->proof, e);
}

static int start_helper(struct preparing *p, struct err *e)
{
	struct mount_list *l = &p->spec.mounts;
	struct secret_values none = {0};
	struct lane_about about = {0};

	if (describe_helper(p, e) || lane_prepare(p->name, &p->offer, e) ||
		mounts_add(l, MOUNT_OURS, p->h->guest, LANE_GUEST_PATH, true, NULL, 0, e) ||
		mounts_add(l, MOUNT_OURS, p->offer.dir, LANE_DIR, true, NULL, 0, e) ||
		host_create(p->h, &p->spec, p->id, e) ||
		sync_act(p->h->at.engine, ACT_START, p->id, false, false, -1, e))
		return -1;
	snprintf(about.name, sizeof about.name, "%s", p->name);
	snprintf(about.id, sizeof about.id, "%s", p->id);
	snprintf(about.engine, sizeof about.engine, "%s", p->h->at.info.id);
	snprintf(about.session, sizeof about.session, "%s", p->session.session);
	return ready_lane(p->h, &p->offer, &about, &p->spec, &none, e);
}

static int run_installer(struct preparing *p, const struct installer *i, struct err *e)
{
	const struct words *w = list_of(p->def, i);
	size_t n = 0, nenv = 0;
	const char *argv[WORDS_MAX + 8], *env[WORDS_MAX + COUNT(install_env)];
	struct run_request r = {.agent = p->name,
		.argv = argv,
		.env = env,
		.cwd = "/",
		.timeout_ms = INSTALL_MS,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = on_installer_output,
		.ctx = p,
		.cancel_fd = p->cancel_fd,
		.resize_fd = -1};
	struct run_result out;

	if (!w->n)
		return 0;
	if (w->n > WORDS_MAX || p->def->env.n > WORDS_MAX)
		return err_set(e, ERR_CONFIG, "%s names more than %d packages or variables.",
			p->def->id, WORDS_MAX);
	while (i->argv[n]) {
		argv[n] = i->argv[n];
		n++;
	}
	for (size_t k = 0; k < w->n; k++)
		argv[n++] = w->word[k];
	r.argc = n;
	/* The definition's own say where packages come from: PIP_INDEX_URL, http_proxy ... */
	for (size_t k = 0; k < p->def->env.n; k++)
		env[nenv++] = p->def->env.word[k];
	for (size_t k = 0; k < COUNT(install_env); k++)
		env[nenv++] = install_env[k];
	r.envc = nenv;
	p->nlines = 0;
	if (agents_run(&r, &out, e))
		return -1;
	end_line(p);
	if (out.ended == ENDED_CANCELLED || is_preparing_stopped(p))
		return err_set(e, ERR_CANCELLED, "cancelled");
	if (out.ended != ENDED_EXIT || out.exit_code)
		return installer_failed(p, i, &out, e);
	job_add(p->job, 1, 0, 0);
	return 0;
}

/* The base's own configuration again, and none of the container's labels. */
static void commit_config(const struct preparing *p, const cJSON *base, struct str *out)
{
	static const char *const ours[] = {"berth.role", "berth.spec", "berth.session",
		"berth.proof", "berth.agent", "berth.owner", "berth.image", "berth.base"};
	const cJSON *config = ejson_get(base, "Config");
	cJSON *c = config ? cJSON_Duplicate(config, true) : cJSON_CreateObject();
	cJSON *labels = cJSON_GetObjectItemCaseSensitive(c, "Labels");
	char *text, proof[PROOF_MAX];

	if (!cJSON_IsObject(labels)) {
		cJSON_DeleteItemFromObjectCaseSensitive(c, "Labels");
		labels = cJSON_AddObjectToObject(c, "Labels");
	}
	for (size_t i = 0; i < COUNT(ours); i++) {
		cJSON_DeleteItemFromObjectCaseSensitive(labels, ours[i]);
		cJSON_AddStringToObject(labels, ours[i], "");
	}
	cJSON_AddStringToObject(labels, "berth.prepared", p->tag);
	/* By which the clean-up knows it for ours. */
	if (!own_proof(p->h->at.info.id, p->tag, OWN_IMAGE, proof, NULL))
		cJSON_AddStringToObject(labels, "berth.prepared_proof", proof);
	/* null would be filled in from the container: our guest. */
	if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(c, "Entrypoint"))) {
		cJSON_DeleteItemFromObjectCaseSensitive(c, "Entrypoint");
		cJSON_AddArrayToObject(c, "Entrypoint");
	}
	text = cJSON_PrintUnformatted(c);
	str_adds(out, text);
	cJSON_free(text);
	cJSON_Delete(c);
}

static int commit_image(struct preparing *p, const cJSON *base, struct err *e)
{
	AUTO_STR struct str target = STR_INIT, body = STR_INIT;
	const char *colon = strchr(p->tag, ':');

	job_current(p->job, "keeping it as an image");
	commit_config(p, base, &body);
	str_addf(&target, "/commit?container=%s&repo=%.*s&tag=%s", p->id, (int)(colon - p->tag),
		p->tag, colon + 1);
	if (sync_ask(p->h->at.engine, "keep what was prepared as %s", p->tag, "POST", target.s,
		    body.s, COMMIT_MS, NULL, e))
		return -1;
	job_add(p->job, 1, 0, 0);
	return 0;
}

static int install_all(struct preparing *p, const cJSON *base, struct err *e)
{
	if (start_helper(p, e))
		return -1;
	for (size_t i = 0; i < COUNT(installers); i++)
		if (run_installer(p, &installers[i], e))
			return -1;
	return commit_image(p, base, e);
}

static void remove_helper(struct preparing *p)
{
	struct existing x;

	sync_take_back(p->h->at.engine, true);
	/* A create whose answer was lost is found by its name. */
	if (!*p->id && *p->name && host_look(p->h, p->name, &x, NULL) > 0 && x.ours)
		memcpy(p->id, x.id, sizeof p->id);
	if (*p->id)
		host_remove(p->h, p->id, NULL);
	sync_take_back(p->h->at.engine, false);
	if (*p->name)
		lane_forget(p->name);
	lane_offer_release(&p->offer);
	mounts_release(&p->spec.mounts);
	str_release(&p->owner);
	str_release(&p->line);
}

static void begin_prepare_job(struct preparing *p)
{
	char name[JOB_TEXT_MAX];
	size_t steps = 1;

	for (size_t i = 0; i < COUNT(installers); i++)
		steps += list_of(p->def, &installers[i])->n > 0;
	if (p->h->own_board)
		p->board = board_open(p->h->at.recorder.program, NULL);
	snprintf(name, sizeof name, "prepare the image of %.60s", p->def->id);
	p->job = job_new(p->board, name, p->def->id, "steps", true);
	job_total(p->job, steps, 0);
	p->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->watched = p->cancel_fd >= 0 && !pthread_create(&p->watcher, NULL, watch_cancel, p);
}

static void end_job(struct preparing *p, const struct err *err)
{
	atomic_store(&p->done, true);
	if (p->watched)
		pthread_join(p->watcher, NULL);
	cleanup_close(&p->cancel_fd);
	job_end(p->job,
		!err->kind                           ? JOB_DONE
			: err->kind == ERR_CANCELLED ? JOB_CANCELLED
						     : JOB_FAILED,
		err->kind ? err->msg : p->tag);
	board_close(p->board);
}

static const char *join_words(struct arena *mem, const struct words *w)
{
	AUTO_STR struct str out = STR_INIT;

	for (size_t i = 0; i < w->n && out.len < 2048; i++)
		str_addf(&out, "%s%s", i ? " " : "", w->word[i]);
	return arena_strdup(mem, out.s);
}

static int do_prepare(void *ctx, struct audit_record *r, struct err *e)
{
	struct preparing *p = ctx;
	struct err why = ERR_INIT;

	(void)r;
	begin_prepare_job(p);
	if (install_all(p, p->base, &why) && why.kind == ERR_CANCELLED)
		err_set(&why, ERR_CANCELLED,
			"preparing the image of %s was cancelled; nothing was saved.", p->def->id);
	remove_helper(p);
	end_job(p, &why);
	return why.kind ? err_copy(e, &why) : 0;
}

static int prepare_one(struct agents_host *h, const struct agent_def *a, const cJSON *base,
	const char *tag, struct arena *mem, struct err *e)
{
	struct preparing p = {.h = h,
		.def = a,
		.tag = tag,
		.base = base,
		.base_id = ejson_string(base, "Id"),
		.offer = {.boot = -1, .lane = -1},
		.owner = STR_INIT,
		.line = STR_INIT,
		.cancel_fd = -1};
	const struct key_value kv[] = {{"base", a->image, false},
		{"python", join_words(mem, &a->python), false},
		{"npm", join_words(mem, &a->npm), false},
		{"system", join_words(mem, &a->system), false}};
	const struct audit_record r = {.operation = OP_IMAGE_BUILD,
		.target_type = "image",
		.engine = h->at.info.id,
		.name = tag,
		.agent = a->id,
		.params = kv,
		.nparams = COUNT(kv)};

	return record_act(&h->at.recorder, &r, NULL, do_prepare, &p, e);
}

int prepare_image(struct agents_host *h, const struct agent_def *a, bool make, struct arena *mem,
	const char **image, struct err *e)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	AUTO_JSON cJSON *base = NULL, *there = NULL;
	char tag[64];
	int found = sync_image(h->at.engine, a->image, 0, &base, e);

	*image = a->image;
	if (found < 0)
		return -1;
	if (!found)
		return refuse_missing_image(a, e);
	if (!prepare_needed(a))
		return 0;
	tag_of(a, ejson_string(base, "Id"), tag);
	*image = arena_strdup(mem, tag);
	if (!make)
		return 0;
	/* Agents with the same lists come up at the same time: the second finds what the first made. */
	pthread_mutex_lock(&one_at_a_time);
	found = sync_image(h->at.engine, tag, 0, &there, e);
	if (!found)
		found = prepare_one(h, a, base, tag, mem, e) ? -1 : 1;
	pthread_mutex_unlock(&one_at_a_time);
	return found < 0 ? -1 : 0;
}
