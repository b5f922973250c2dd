/* runtime.c - finds berth's directories and checks that no other user can write there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/users.h>

/* What was found good, in a thread that asked for it to be remembered. */
static _Thread_local struct {
	bool on;
	char runtime[PATH_MAX], state[PATH_MAX];
} held;

static int fill_path(char *buf, size_t cap, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static int fill_path(char *buf, size_t cap, struct err *e, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, cap, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= cap)
		return err_set(e, ERR_CONFIG,
			"The path %s... is too long: choose a shorter directory.", buf);
	while (n > 1 && buf[n - 1] == '/')
		buf[--n] = '\0';
	return 0;
}

void runtime_hold(void)
{
	held.on = true;
}

static int hold_dir(char at[PATH_MAX], const char *path)
{
	if (held.on)
		snprintf(at, PATH_MAX, "%s", path);
	return 0;
}

/* The value of a variable that holds an absolute path, or NULL. */
static const char *absolute_path_of(const char *variable)
{
	const char *v = getenv(variable);

	return v && v[0] == '/' ? v : NULL;
}

static bool owned_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* Make `path` when missing and check it: a directory of ours, none of the bits of `others`. */
static int make_own_dir(const char *path, mode_t others, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "Cannot make the directory %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return err_set(e, ERR_REFUSED,
			"%s is not a directory (berth follows no symbolic link there): remove it.",
			path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, errno, "Cannot open the directory %s", path);
	if (st.st_uid != geteuid())
		return err_set(e, ERR_REFUSED, "%s belongs to user %u, not to user %u: remove it.",
			path, (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & others)
		return err_set(e, ERR_REFUSED,
			"%s is accessible to other users (mode %04o): run chmod 700 %s.", path,
			(unsigned)(st.st_mode & 07777), path);
	return 0;
}

int runtime_subdir(char *buf, size_t cap, const char *dir, const char *name, struct err *e)
{
	if (fill_path(buf, cap, e, "%s/%s", dir, name) < 0)
		return -1;
	return make_own_dir(buf, 077, e);
}

int runtime_dir(char *buf, size_t cap, struct err *e)
{
	const char *xdg = absolute_path_of("XDG_RUNTIME_DIR"), *tmp = absolute_path_of("TMPDIR");
	unsigned uid = (unsigned)geteuid();
	char user[64];

	if (*held.runtime)
		return fill_path(buf, cap, e, "%s", held.runtime);
	snprintf(user, sizeof user, "/run/user/%u", uid);
	if (xdg && owned_dir(xdg)) {
		if (fill_path(buf, cap, e, "%s/berth", xdg) < 0)
			return -1;
	} else if (owned_dir(user)) {
		if (fill_path(buf, cap, e, "%s/berth", user) < 0)
			return -1;
	} else if (fill_path(buf, cap, e, "%s/berth-%u", tmp ? tmp : "/tmp", uid) < 0) {
		return -1;
	}
	return make_own_dir(buf, 077, e) < 0 ? -1 : hold_dir(held.runtime, buf);
}

/* `variable`/berth, else `below`/berth in the home directory. */
static int home_based(char *buf, size_t cap, const char *variable, const char *below, struct err *e)
{
	const char *dir = absolute_path_of(variable), *home = absolute_path_of("HOME");
	AUTO_FREE char *listed = NULL;

	if (dir)
		return fill_path(buf, cap, e, "%s/berth", dir);
	if (!home)
		home = listed = user_home(geteuid());
	if (!home)
		return err_set(e, ERR_CONFIG,
			"There is no home directory: set HOME or %s to an absolute path.",
			variable);
	return fill_path(buf, cap, e, "%s/%s/berth", home, below);
}

/* As mkdir -p for everything above the last component, with the mode the XDG specification asks. */
static int make_path_parents(char *path, struct err *e)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		int failed;

		*p = '\0';
		failed = mkdir(path, 0700) < 0 && errno != EEXIST;
		if (failed)
			err_sys(e, errno, "Cannot make the directory %s", path);
		*p = '/';
		if (failed)
			return -1;
	}
	return 0;
}

int state_dir(char *buf, size_t cap, struct err *e)
{
	if (*held.state)
		return fill_path(buf, cap, e, "%s", held.state);
	if (home_based(buf, cap, "XDG_STATE_HOME", ".local/state", e) < 0 ||
		make_path_parents(buf, e) < 0)
		return -1;
	return make_own_dir(buf, 022, e) < 0 ? -1 : hold_dir(held.state, buf);
}

/* Of what is opened by `chmod -R` or restored from a backup each verb would meet another part. */
static int refuse_state(const char *dir, const char *what, const struct stat *st, struct err *e)
{
	if (st->st_uid != geteuid())
		return err_set(e, ERR_REFUSED,
			"%s%s belongs to user %u, not to user %u: run find %s -maxdepth 2 -exec chown -h %u {} +",
			dir, what, (unsigned)st->st_uid, (unsigned)geteuid(), dir,
			(unsigned)geteuid());
	return err_set(e, ERR_REFUSED,
		"%s%s is accessible to other users (mode %04o): run find %s -maxdepth 2 ! -type l -exec chmod go= {} +",
		dir, what, (unsigned)(st->st_mode & 07777), dir);
}

int state_check(struct err *e)
{
	char dir[PATH_MAX / 2], what[NAME_MAX + 2];
	const struct dirent *d;
	struct stat st;
	AUTO_CLOSEDIR DIR *all = NULL;
	int rc = 0;

	if (home_based(dir, sizeof dir, "XDG_STATE_HOME", ".local/state", NULL) < 0)
		return 0;
	all = opendir(dir);
	if (!all || fstat(dirfd(all), &st) < 0)
		st = (struct stat){.st_uid = geteuid()}; /* who needs it says what is wrong */
	if (st.st_uid != geteuid() || st.st_mode & 022)
		rc = refuse_state(dir, "", &st, e);
	while (!rc && all && (d = readdir(all))) {
		snprintf(what, sizeof what, "/%s", d->d_name);
		if (*d->d_name != '.' &&
			!fstatat(dirfd(all), d->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
			S_ISDIR(st.st_mode) && (st.st_uid != geteuid() || st.st_mode & 077))
			rc = refuse_state(dir, what, &st, e);
	}
	if (!rc && all && !fstatat(dirfd(all), "audit/key", &st, AT_SYMLINK_NOFOLLOW) &&
		(st.st_uid != geteuid() || st.st_mode & 077))
		rc = refuse_state(dir, "/audit/key", &st, e);
	return rc;
}

int data_dir_path(char *buf, size_t cap, struct err *e)
{
	return home_based(buf, cap, "XDG_DATA_HOME", ".local/share", e);
}

bool data_dir_shows(const char *below)
{
	static const char *const shown[] = {"/workspaces/tasks/", "/workspaces/projects/",
		"/workspaces/shared/", "/workspaces/.kept/", "/workspaces/.versions/"};

	for (size_t i = 0; i < COUNT(shown); i++)
		if (!strncmp(below, shown[i], strlen(shown[i])) && below[strlen(shown[i])])
			return true;
	return false;
}

int data_dir(char *buf, size_t cap, struct err *e)
{
	if (data_dir_path(buf, cap, e) < 0 || make_path_parents(buf, e) < 0)
		return -1;
	return make_own_dir(buf, 022, e);
}

int config_dir(char *buf, size_t cap, struct err *e)
{
	return home_based(buf, cap, "XDG_CONFIG_HOME", ".config", e);
}

int workspaces_dir(char *buf, size_t cap, struct err *e)
{
	char data[PATH_MAX];

	return data_dir(data, sizeof data, e) < 0 ? -1
						  : fill_path(buf, cap, e, "%s/workspaces", data);
}

static void (*say_wait)(const char *whom);

int runtime_program(const char *name, char *path, struct err *e)
{
	static const char *const places[] = {"", "/libexec/berth", "/bin"}; /* a level up each */
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return err_sys(e, errno, "cannot tell where berth is installed (/proc/self/exe)");
	self[n] = '\0';
	for (size_t i = 0; i < COUNT(places); i++) {
		if ((slash = strrchr(self, '/')))
			*slash = '\0';
		n = snprintf(path, PATH_MAX, "%s%s/%s", self, places[i], name);
		if (n < PATH_MAX && access(path, X_OK) == 0)
			return 0;
	}
	return err_set(e, ERR_FAILED,
		"%s is missing from the directory of berth's other programs: reinstall berth.",
		name);
}

void runtime_on_wait(void (*fn)(const char *whom))
{
	say_wait = fn;
}

void runtime_waits(const char *whom)
{
	if (say_wait)
		say_wait(whom);
}

bool runtime_may_ask(void)
{
	return say_wait && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}
