/* home.c - creates the home volume and gives it to the container's user. */
#include "container/home.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>

#include "container/own.h"
#include "lane/lane.h"

/*
 * Whose it was made, noted when that is done: between making a volume and handing it over berth can be killed,
 * and a workspace can get another owner.
 */
static int note_path(const char *volume, char path[PATH_MAX], struct err *e)
{
	char dir[PATH_MAX / 4], sub[PATH_MAX / 2];

	if (state_dir(dir, sizeof dir, e) || runtime_subdir(sub, sizeof sub, dir, "homes", e))
		return -1;
	snprintf(path, PATH_MAX, "%s/%s", sub, volume);
	return 0;
}

static int note_read(const struct spec *s, bool *handed_over, struct err *e)
{
	char path[PATH_MAX], text[64] = "", want[64];
	AUTO_CLOSE int fd = -1;

	if (note_path(s->home, path, e))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	snprintf(want, sizeof want, "%u:%u\n", (unsigned)s->uid, (unsigned)s->gid);
	*handed_over = fd >= 0 && read(fd, text, sizeof text - 1) > 0 && !strcmp(text, want);
	return 0;
}

static int note_write(const struct spec *s, struct err *e)
{
	char path[PATH_MAX];
	AUTO_CLOSE int fd = -1;

	if (note_path(s->home, path, e))
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || dprintf(fd, "%u:%u\n", (unsigned)s->uid, (unsigned)s->gid) < 0)
		return err_sys(e, errno, "cannot write %s", path);
	return 0;
}

static void note_forget(const char *volume)
{
	char path[PATH_MAX];

	if (!note_path(volume, path, NULL))
		unlink(path);
}

void home_note_use(const char *volume)
{
	char path[PATH_MAX];

	if (!note_path(volume, path, NULL))
		utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

int64_t home_used_ms(const char *volume)
{
	char path[PATH_MAX];
	struct stat st;

	if (strchr(volume, '/') || note_path(volume, path, NULL) || lstat(path, &st))
		return 0;
	return (int64_t)st.st_mtim.tv_sec * 1000;
}

/* A new volume belongs to root; a helper without network hands it to the container's user. */
static int hand_over_home(
	struct agents_host *h, const struct spec *s, const char *session, struct err *e)
{
	static const char *const caps[] = {"CHOWN", "DAC_OVERRIDE", "FOWNER"};
	AUTO_STR struct str owner = STR_INIT;
	char uid[16], gid[16], name[64], proof[PROOF_MAX], id[65];
	const char *entry[] = {LANE_GUEST_PATH, "chown", uid, gid, SPEC_HOME};
	struct spec helper = {.role = SPEC_HELPER,
		.product = s->product,
		.name = name,
		.image = s->image,
		.entry = entry,
		.nentry = 5,
		.limits = tool_limits_small,
		.caps = caps,
		.ncaps = 3,
		.home = s->home,
		.apparmor = s->apparmor,
		.session = session,
		.engine = h->at.info.id,
		.proof = proof};
	int result;

	snprintf(uid, sizeof uid, "%u", (unsigned)s->uid);
	snprintf(gid, sizeof gid, "%u", (unsigned)s->gid);
	snprintf(name, sizeof name, "berth-helper-%.16s", session);
	own_label(&owner);
	helper.owner = owner.s;
	if (own_proof(h->at.info.id, name, session, proof, e))
		return -1;
	if (mounts_add(&helper.mounts, MOUNT_OURS, h->guest, LANE_GUEST_PATH, true, NULL, 0, e) ||
		host_create(h, &helper, id, e)) {
		mounts_release(&helper.mounts);
		return -1;
	}
	result = host_start_and_wait(h, name, id, e);
	sync_take_back(h->at.engine, true);
	host_remove(h, id, NULL);
	sync_take_back(h->at.engine, false);
	mounts_release(&helper.mounts);
	return result;
}

/* 1 there and ours, 0 not there. */
static int look_for_volume(struct agents_host *h, const struct spec *s, struct err *e)
{
	struct err asked = ERR_INIT;
	AUTO_JSON cJSON *root =
		sync_inspect(h->at.engine, "look for the volume %s", "volumes", s->home, &asked);

	if (!root)
		return asked.kind == ERR_NOT_FOUND ? 0 : err_copy(e, &asked);
	/* What an agent of somebody else left there is not for this one to read. */
	if (!own_proven(h->at.info.id, s->home, OWN_HOME,
		    ejson_string(ejson_get(root, "Labels"), "berth.proof")))
		return err_set(e, ERR_CONFLICT,
			"a volume named %s already exists and was not created by berth "
			"here, so it is not used; if it is not needed, remove it (docker volume rm %s), or give the agent another id.",
			s->home, s->home);
	return 1;
}

struct home_making {
	struct agents_host *h;
	const struct spec *s;
	const char *agent, *session;
	bool found, made;
};

static int create_volume(struct home_making *m, struct err *e)
{
	AUTO_STR struct str body = STR_INIT;
	char proof[PROOF_MAX];

	note_forget(m->s->home); /* of one that somebody removed */
	if (own_proof(m->h->at.info.id, m->s->home, OWN_HOME, proof, e))
		return -1;
	str_addf(&body,
		"{\"Name\":\"%s\",\"Labels\":{\"berth.role\":\"home\",\"berth.agent\":\"%s\","
		"\"berth.proof\":\"%s\"}}",
		m->s->home, m->agent, proof);
	return sync_ask(m->h->at.engine, "make the volume %s", m->s->home, "POST",
		"/volumes/create", body.s, 0, NULL, e);
}

static int do_make_home(void *ctx, struct audit_record *r, struct err *e)
{
	struct home_making *m = ctx;

	(void)r;
	if (!m->found && create_volume(m, e))
		return -1;
	m->made = !m->found;
	return hand_over_home(m->h, m->s, m->session, e) ? -1 : note_write(m->s, e);
}

static int do_unmake_home(void *ctx, struct audit_record *r, struct err *e)
{
	struct agents_host *h = ctx;
	AUTO_STR struct str target = STR_INIT;

	str_addf(&target, "/volumes/%s", r->name);
	return sync_ask(h->at.engine, "remove the volume %s", r->name, "DELETE", target.s, NULL, 0,
		NULL, e);
}

void home_unmake(struct agents_host *h, const char *volume, const char *agent)
{
	const struct audit_record r = {.operation = OP_VOLUME_REMOVE,
		.target_type = "volume",
		.name = volume,
		.agent = agent};

	record_act(&h->at.recorder, &r, NULL, do_unmake_home, h, NULL);
	note_forget(volume);
}

int home_make(struct agents_host *h, const struct spec *s, const char *agent, const char *session,
	bool *made, struct err *e)
{
	struct home_making m = {h, s, agent, session, false, false};
	char owner[32];
	const struct key_value kv[] = {{"owner", owner, false}};
	const struct audit_record r = {.operation = OP_VOLUME_CREATE,
		.target_type = "volume",
		.name = s->home,
		.agent = agent,
		.session = session,
		.params = kv,
		.nparams = COUNT(kv)};
	bool handed_over = false;
	int found, failed;

	*made = false;
	snprintf(owner, sizeof owner, "%u:%u", (unsigned)s->uid, (unsigned)s->gid);
	found = look_for_volume(h, s, e);
	if (found < 0 || note_read(s, &handed_over, e))
		return -1;
	if (found && handed_over)
		return 0;
	m.found = found > 0;
	failed = record_act(&h->at.recorder, &r, NULL, do_make_home, &m, e);
	*made = m.made;
	return failed;
}
