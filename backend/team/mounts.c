/* mounts.c - checks and opens the sources of mounts. */
#include "team/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/path.h>
#include <berth/runtime.h>
#include <berth/users.h>

bool mounts_within(const char *real, const char *dir)
{
	AUTO_FREE char *where = path_place(dir, true);

	return strcmp(where, "/") ? path_is_in(real, where) : !strcmp(real, where);
}

/* Never, nor anything below them. */
static const char *const never_below[] = {"/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64",
	"/proc", "/run", "/sys", "/usr", "/bin", "/sbin", "/var/run", "/var/lib/docker",
	"/var/lib/containerd", "/var/lib/containers", "/var/lib/kubelet"};
/* Not themselves; something below them may be. */
static const char *const never_itself[] = {"/", "/home", "/root", "/var", "/var/lib", "/opt",
	"/srv", "/mnt", "/media", "/tmp", "/var/tmp"};
static const char *const credential_places[] = {".ssh", ".aws", ".gnupg", ".docker", ".kube",
	".netrc", ".npmrc", ".pypirc", ".git-credentials", ".azure", ".config/gcloud", ".config/gh",
	".vault-token", ".password-store", ".local/share/keyrings", ".mozilla",
	".config/google-chrome", ".config/chromium"};

static int judge_home(enum mount_kind kind, const char *real, const char *path, struct err *e)
{
	AUTO_FREE char *home = path_place(path, true);
	char place[PATH_MAX];

	if (path[0] != '/' || !path[1])
		return 0;
	if (!strcmp(real, home))
		return err_set(e, ERR_REFUSED,
			"%s is a home directory and is not mounted as a whole; name the parts that the agent needs.",
			real);
	for (size_t i = 0; kind != MOUNT_CREDENTIAL && i < COUNT(credential_places); i++) {
		snprintf(place, sizeof place, "%s/%s", home, credential_places[i]);
		if (mounts_within(real, place))
			return err_set(e, ERR_REFUSED,
				"%s holds credentials; pass them under credentials: instead.",
				real);
	}
	return 0;
}

static int judge_homes(enum mount_kind kind, const char *real, struct err *e)
{
	const char *home = getenv("HOME");
	struct err why = ERR_INIT;
	struct users all;
	struct user u;
	int result = 0;

	if ((home && judge_home(kind, real, home, e)) || users_open(&all, USERS_FILE, e))
		return -1;
	while (!result && users_next(&all, &u, &why))
		/* System accounts live in places such as / or /var/www, judged elsewhere. */
		if (u.uid == 0 || u.uid >= 1000)
			result = judge_home(kind, real, u.home, e);
	users_release(&all);
	return why.kind ? err_copy(e, &why) : result;
}

/* Workspaces are there to be mounted; stores of checkpoints, images of disks and notes beside them are not. */
static bool is_own_data(const char *real)
{
	AUTO_FREE char *dir = NULL;
	char own[PATH_MAX];

	if (data_dir_path(own, sizeof own, NULL))
		return false;
	dir = path_place(own, true);
	return path_is_in(real, dir) && !data_dir_shows(real + strlen(dir));
}

static bool holds(const char *dir, const char *path)
{
	return path_is_in(path, dir);
}

/* The other way round: a parent of what must not be seen must not be seen either. */
static int judge_parents(const char *real, struct err *e)
{
	char own[PATH_MAX];
	int (*const dirs[])(char *, size_t, struct err *) = {
		state_dir, config_dir, runtime_dir, data_dir_path};

	for (size_t i = 0; i < COUNT(dirs); i++)
		if (!dirs[i](own, sizeof own, NULL) && path_place_fits(own, real, holds))
			return err_set(e, ERR_REFUSED,
				"%s contains %s, which belongs to berth itself and is never mounted.",
				real, own);
	return 0;
}

int mounts_judge(enum mount_kind kind, const char *real, struct err *e)
{
	char own[PATH_MAX];

	if (kind == MOUNT_OURS)
		return 0;
	for (size_t i = 0; i < COUNT(never_itself); i++) {
		AUTO_FREE char *where = path_place(never_itself[i], true);

		if (!strcmp(real, where))
			return err_set(e, ERR_REFUSED,
				"%s is not mounted into a container as a whole.", real);
	}
	if ((!state_dir(own, sizeof own, NULL) && mounts_within(real, own)) ||
		(!config_dir(own, sizeof own, NULL) && mounts_within(real, own)) ||
		(!runtime_dir(own, sizeof own, NULL) && mounts_within(real, own)))
		return err_set(e, ERR_REFUSED,
			"%s belongs to berth itself (its log, keys or configuration) and is never "
			"mounted.",
			real);
	if (is_own_data(real))
		return err_set(e, ERR_REFUSED,
			"%s belongs to berth itself (its workspaces and checkpoints): only what is in a workspace, "
			"or shared by workspaces, is mounted.",
			real);
	if (judge_homes(kind, real, e))
		return -1;
	for (size_t i = 0; i < COUNT(never_below); i++)
		if (mounts_within(real, never_below[i]))
			return err_set(e, ERR_REFUSED,
				"%s belongs to the system (%s) and is never mounted into a container.",
				real, never_below[i]);
	return kind == MOUNT_DECLARED ? judge_parents(real, e) : 0;
}

int mounts_foresee(enum mount_kind kind, const char *path, struct err *e)
{
	AUTO_FREE char *where = path_place(path, true);

	return mounts_judge(kind, where, e);
}

int mounts_add(struct mount_list *l, enum mount_kind kind, const char *source, const char *target,
	bool read_only, const char *const *writable, size_t nwritable, struct err *e)
{
	AUTO_CLOSE int fd = open(source, O_PATH | O_CLOEXEC);
	char link[64], real[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		return err_sys(e, errno, "cannot mount %s", source);
	/* The descriptor's own path is where it really is; the text may have gone through symlinks.
	 */
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof real - 1);
	if (n <= 0)
		return err_sys(e, errno, "cannot resolve %s", source);
	real[n] = '\0';
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) && kind != MOUNT_OURS)
		return err_set(e, ERR_REFUSED,
			"%s is neither a directory nor a regular file; sockets and devices are never "
			"mounted.",
			source);
	if (mounts_judge(kind, real, e))
		return -1;
	if (kind != MOUNT_OURS && strcmp(real, source))
		return err_set(e, ERR_REFUSED,
			"%s leads through a symbolic link to %s; use that path instead.", source,
			real);
	for (size_t i = 0; kind != MOUNT_OURS && i < nwritable; i++)
		if (path_is_in(real, writable[i]) && strcmp(real, writable[i]))
			return err_set(e, ERR_REFUSED,
				"%s lies below %s, which an agent can write; it could be swapped for "
				"something else.",
				real, writable[i]);
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->mount[i].target, target)) {
			/* Declared twice: the stricter wins only if it is the same file. */
			if (l->mount[i].dev != st.st_dev || l->mount[i].ino != st.st_ino)
				return err_set(e, ERR_CONFIG, "two mounts have the same target %s.",
					target);
			l->mount[i].read_only &= read_only;
			return 0;
		}
	l->mount = mem_grow(l->mount, &l->cap, l->n + 1, sizeof *l->mount);
	l->mount[l->n++] = (struct mount){xstrdup(real), xstrdup(target), read_only,
		kind == MOUNT_OURS, st.st_dev, st.st_ino, st.st_uid, st.st_gid, st.st_mode};
	return 0;
}

static const struct mount *find_target(const struct mount_list *l, const char *target)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->mount[i].target, target))
			return &l->mount[i];
	return NULL;
}

int mounts_pin(struct mount_list *l, const char *grant, const char *path, struct err *e)
{
	size_t top = strlen(grant);

	if (!path_is_in(path, grant) || !path[top])
		return 0;
	for (const char *end = strchr(path + top + 1, '/'); end; end = strchr(end + 1, '/')) {
		AUTO_FREE char *dir = xstrndup(path, (size_t)(end - path));
		const struct mount *there = find_target(l, dir);

		if (there && there->read_only)
			return 0;
		if (!there && mounts_add(l, MOUNT_DECLARED, dir, dir, false, NULL, 0, e))
			return -1;
	}
	return 0;
}

void mounts_release(struct mount_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->mount[i].source);
		free(l->mount[i].target);
	}
	free(l->mount);
	*l = (struct mount_list){0};
}
