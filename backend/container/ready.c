/* ready.c - prepares the user, the writable paths and the lane of a container. */
#include "container/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>

#include "container/memory_fs.h"

#define LANE_WAIT_MS 10000
#define OF_ROOT 1000 /* who runs in workspaces of root's */

int ready_user(const char *who, const char *workspace, uid_t *uid, gid_t *gid, struct err *e)
{
	struct stat st;
	int errnum;

	/* Before any advice: what is never mounted is not to be given away either. */
	if (mounts_foresee(MOUNT_DECLARED, workspace, e))
		return -1;
	errnum = stat(workspace, &st) ? errno : 0;
	if (errnum == ENOENT)
		return err_set(e, ERR_CONFIG,
			"the workspace %s of %s does not exist; create it first (mkdir %s; berth up --create does).",
			workspace, who, workspace);
	if (errnum == ELOOP || errnum == ENOTDIR || errnum == ENAMETOOLONG)
		return err_set(e, ERR_CONFIG, "the workspace %s of %s cannot be reached: %s",
			workspace, who, strerrordesc_np(errnum));
	if (errnum)
		return err_sys(e, errnum, "cannot reach the workspace %s of %s", workspace, who);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, ERR_CONFIG,
			"the workspace %s of %s is not a directory; name one.", workspace, who);
	*uid = st.st_uid;
	*gid = st.st_gid;
	if (st.st_uid)
		return 0;
	*uid = *gid = OF_ROOT;
	if (!(st.st_mode & S_IWOTH) && !(st.st_gid == 1000 && st.st_mode & S_IWGRP))
		return err_set(e, ERR_REFUSED,
			"the workspace %s belongs to root, and %s runs as 1000:1000, which cannot write "
			"there; give it to that user: chown 1000:1000 %s",
			workspace, who, workspace);
	return 0;
}

/* 1: made, 0: there already. */
static int make_folder(const char *what, const char *path, bool hand_over, struct err *e)
{
	AUTO_CLOSE int fd = -1;

	if (mounts_foresee(MOUNT_DECLARED, path, e))
		return -1;
	if (mkdir(path, 0755)) {
		if (errno == EEXIST)
			return 0;
		err_sys(e, errno, "cannot create the %s %s", what, path);
		if (e->sys == ENOENT)
			err_set(e, ERR_CONFIG,
				"cannot create the %s %s, because its parent directory does not "
				"exist; create it: mkdir -p %s",
				what, path, path);
		return -1;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (hand_over && !geteuid() && fchown(fd, OF_ROOT, OF_ROOT)))
		return err_sys(e, errno, "cannot hand over the %s %s", what, path);
	return 1;
}

int ready_make(const char *workspace, struct err *e)
{
	return make_folder("workspace", workspace, true, e);
}

int ready_make_folders(const struct agent_def *a, struct err *e)
{
	for (size_t i = 0; i < a->npaths; i++) {
		const struct path_grant *g = &a->paths[i];

		if (g->source)
			continue;
		if (make_folder("context path", g->path, g->write, e) < 0)
			return -1;
		for (size_t k = 0; g->write && k < g->protected_paths.n; k++)
			if (make_folder("protected path", g->protected_paths.word[k], false, e) < 0)
				return -1;
	}
	if (a->temporary && make_folder("agent_temporary_workspace", a->temporary, true, e) < 0)
		return -1;
	return a->snapshots && make_folder("snapshot_storage", a->snapshots, true, e) < 0 ? -1 : 0;
}

int ready_script(const struct tool_def *d, struct mount_list *l, const char *const *writable,
	size_t nwritable, uid_t uid, gid_t gid, struct err *e)
{
	const struct mount *m;

	for (size_t i = 0; i < nwritable; i++)
		if (mounts_within(d->script, writable[i]))
			return err_set(e, ERR_REFUSED,
				"the script %s of the tool %s is writable from inside (%s); move it elsewhere.",
				d->script, d->name, writable[i]);
	if (mounts_add(
		    l, MOUNT_DECLARED, d->script, d->script_target, true, writable, nwritable, e))
		return err_wrap(e, "the script of the tool %s", d->name);
	m = &l->mount[l->n - 1];
	if (!S_ISREG(m->mode))
		return err_set(e, ERR_CONFIG,
			"the script %s of the tool %s is a directory; name a file.", d->script,
			d->name);
	if (!(m->mode & S_IROTH) && m->uid != uid && !(m->gid == gid && m->mode & S_IRGRP))
		return err_set(e, ERR_REFUSED,
			"the tool %s runs as %u:%u, which cannot read its script: chmod o+r %s",
			d->name, (unsigned)uid, (unsigned)gid, d->script);
	return 0;
}

size_t ready_writable(
	const struct team *t, struct arena *mem, const char *const **out, size_t *places)
{
	size_t n = 0, cap = t->ntools;
	const char **list;

	for (size_t i = 0; i < t->nagents; i++)
		cap += 1 + t->agents[i].npaths;
	list = arena_array(mem, cap, sizeof *list);
	for (size_t i = 0; i < t->nagents; i++)
		list[n++] = t->agents[i].workspace;
	for (size_t i = 0; i < t->ntools; i++)
		if (t->tools[i].files == TOOL_WORKSPACE && t->tools[i].workspace)
			list[n++] = t->tools[i].workspace;
	*places = n;
	for (size_t i = 0; i < t->nagents; i++)
		for (size_t k = 0; k < t->agents[i].npaths; k++)
			if (t->agents[i].paths[k].write || t->agents[i].paths[k].final)
				list[n++] = t->agents[i].paths[k].path;
	if (t->kind != TEAM_MASSGEN)
		*places = n;
	*out = list;
	return n;
}

static int finish_container(void *ctx, pid_t guest, struct err *e)
{
	return memory_fs_set(ctx, guest, e);
}

struct readying {
	struct lane_offer *offer;
	const struct lane_about *about;
	const struct spec *spec;
	const struct secret_values *secrets;
};

static int do_ready_lane(void *ctx, struct audit_record *r, struct err *e)
{
	const struct readying *x = ctx;
	const struct mount_list *mounts = &x->spec->mounts;
	AUTO_FREE struct lane_mount *seen = xcalloc(mounts->n, sizeof *seen);
	size_t n = 0;

	(void)r;
	for (size_t i = 0; i < mounts->n; i++)
		if (!mounts->mount[i].private_ours)
			seen[n++] = (struct lane_mount){mounts->mount[i].target,
				mounts->mount[i].dev, mounts->mount[i].ino};
	x->offer->apparmor = x->spec->apparmor;
	x->offer->finish = memory_fs_needed(x->spec) ? finish_container : NULL;
	x->offer->ctx = (void *)(uintptr_t)x->spec;
	return lane_hand_over(
		x->offer, x->about, seen, n, x->secrets->secret, x->secrets->n, LANE_WAIT_MS, e);
}

int ready_lane(struct agents_host *h, struct lane_offer *offer, const struct lane_about *about,
	const struct spec *s, const struct secret_values *secrets, struct err *e)
{
	struct readying x = {offer, about, s, secrets};
	AUTO_STR struct str names = STR_INIT;
	struct key_value kv[1];
	struct audit_record r = {.operation = OP_SECRET_HAND,
		.target_type = "container",
		.target = about->id,
		.name = about->name,
		.agent = s->agent,
		.session = about->session,
		.params = kv,
		.nparams = COUNT(kv)};

	if (!secrets->n)
		return do_ready_lane(&x, NULL, e);
	for (size_t i = 0; i < secrets->n; i++)
		str_addf(&names, "%s%s", i ? ", " : "", secrets->secret[i].name);
	kv[0] = (struct key_value){"names", names.s, false};
	return record_act(&h->at.recorder, &r, NULL, do_ready_lane, &x, e);
}
