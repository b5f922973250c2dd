/* offer.c - creates a lane before its container starts, and keeps the registry of lanes. */
#include "lane/lane.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <berth/apparmor.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/str.h>

#include "lane/peer.h"
#include "lane/wire_io.h"

#define LIVES_MS 500

static int listen_at(const char *dir, const char *name, mode_t mode, struct err *e)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int n = snprintf(at.sun_path, sizeof at.sun_path, "%s%s", dir, name);

	if (n >= (int)sizeof at.sun_path)
		return err_set(e, ERR_CONFIG,
			"the path %s%s is too long for a socket (at most %zu bytes); set "
			"XDG_RUNTIME_DIR to a shorter one",
			dir, name, sizeof at.sun_path - 1);
	unlink(at.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || chmod(at.sun_path, mode) ||
		listen(fd, 16))
		return err_sys(e, errno, "cannot listen on %s", at.sun_path);
	return steal_fd(&fd);
}

static int listen_both(struct lane_offer *o, struct err *e)
{
	o->boot = listen_at(o->dir, "/" LANE_BOOT_SOCK, 0666, e);
	o->lane = o->boot < 0 ? -1 : listen_at(o->dir, LANE_SOCK, 0600, e);
	if (o->lane >= 0)
		return 0;
	lane_offer_release(o);
	return -1;
}

int lane_prepare_again(const char *name, struct lane_offer *ret, struct err *e)
{
	ret->boot = ret->lane = -1;
	ret->guest = 0;
	return lane_place(name, ret->dir, e) ? -1 : listen_both(ret, e);
}

/* The guest's program is mounted over it: an engine can make nothing in what is mounted read-only. */
static int make_place_of_guest(const char *dir, struct err *e)
{
	char path[LANE_PATH_MAX + 8];
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof path, "%s/" LANE_GUEST, dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
	return fd < 0 ? err_sys(e, errno, "cannot make %s", path) : 0;
}

int lane_prepare(const char *name, struct lane_offer *ret, struct err *e)
{
	char *slash;

	ret->boot = ret->lane = -1;
	ret->guest = 0;
	if (lane_place(name, ret->dir, e))
		return -1;
	slash = strrchr(ret->dir, '/');
	*slash = '\0';
	if (mkdir(ret->dir, 0700) && errno != EEXIST)
		return err_sys(e, errno, "cannot make %s", ret->dir);
	*slash = '/';
	lane_forget(name);
	/* Its parents are closed to others; inside the container the user of the container enters.
	 */
	if (mkdir(ret->dir, 0755) || chmod(ret->dir, 0755)) /* whatever the umask is */
		return err_sys(e, errno, "cannot make %s", ret->dir);
	if (!make_place_of_guest(ret->dir, e) && !listen_both(ret, e))
		return 0;
	lane_forget(name);
	return -1;
}

void lane_offer_release(struct lane_offer *o)
{
	char path[LANE_PATH_MAX + 8];

	snprintf(path, sizeof path, "%s/" LANE_BOOT_SOCK, o->dir);
	if (o->boot >= 0)
		unlink(path);
	cleanup_close(&o->boot);
	cleanup_close(&o->lane);
	o->boot = o->lane = -1;
}

/* The registry's file is written whole and renamed, so that a reader sees all or nothing. */
static int register_lane(const struct lane_offer *o, const struct lane_about *a, struct err *e)
{
	char path[LANE_PATH_MAX + 8], tmp[LANE_PATH_MAX + 8];
	FILE *f;

	snprintf(path, sizeof path, "%s.lane", o->dir);
	snprintf(tmp, sizeof tmp, "%s.new", o->dir);
	f = fopen(tmp, "we");
	if (!f)
		return err_sys(e, errno, "cannot write %s", tmp);
	fprintf(f, "%s\n%s\n%s\n%s\n%s\n", a->name, a->id, a->agent, a->engine, a->session);
	if (fclose(f) || rename(tmp, path))
		return err_sys(e, errno, "cannot write %s", path);
	return 0;
}

int lane_do_without(struct lane_offer *o, const struct lane_about *about, struct err *e)
{
	char path[LANE_PATH_MAX + 8];

	lane_offer_release(o);
	snprintf(path, sizeof path, "%s" LANE_SOCK, o->dir);
	unlink(path);
	return register_lane(o, about, e);
}

bool lane_is_none(const char *name)
{
	char dir[LANE_PATH_MAX], path[LANE_PATH_MAX + 8];

	if (lane_place(name, dir, NULL))
		return false;
	snprintf(path, sizeof path, "%s" LANE_SOCK, dir);
	return access(path, F_OK) && errno == ENOENT;
}

static int read_lane_field(FILE *f, char *out, size_t cap)
{
	char line[256];
	size_t n;

	if (!fgets(line, sizeof line, f))
		return -1;
	n = strcspn(line, "\n");
	if (!line[n] || n >= cap)
		return -1;
	line[n] = '\0';
	memcpy(out, line, n + 1);
	return 0;
}

static int read_registered(const char *path, struct lane_about *a)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int bad;

	if (!f)
		return -1;
	bad = read_lane_field(f, a->name, sizeof a->name) ||
		read_lane_field(f, a->id, sizeof a->id) ||
		read_lane_field(f, a->agent, sizeof a->agent) ||
		read_lane_field(f, a->engine, sizeof a->engine) ||
		read_lane_field(f, a->session, sizeof a->session);
	fclose(f);
	return bad ? -1 : 0;
}

void lane_forget(const char *name)
{
	static const char *const files[] = {
		"/" LANE_BOOT_SOCK, "/" LANE_GUEST, "", LANE_SOCK, ".lane", LANE_IDLE};
	char dir[LANE_PATH_MAX], path[LANE_PATH_MAX + 8];

	if (lane_place(name, dir, NULL))
		return;
	for (size_t i = 0; i < COUNT(files); i++) {
		snprintf(path, sizeof path, "%s%s", dir, files[i]);
		if (*files[i] ? unlink(path) : rmdir(path))
			continue;
	}
}

/* What has no lane cannot be asked. */
static bool lane_lives(const struct lane_about *about)
{
	struct err why = ERR_INIT;

	return lane_is_none(about->name) || !lane_try(about, LIVES_MS, &why) ||
		why.kind != ERR_NOT_FOUND;
}

/* Of two of one agent, one may be what is left of a container that is gone: then *a is the other one. */
static bool both_live(struct lane_about *a, const struct lane_about *b)
{
	if (lane_lives(a))
		return lane_lives(b);
	*a = *b;
	return false;
}

int lane_find(const char *who, struct lane_about *ret, struct err *e)
{
	char dir[LANE_PATH_MAX], path[2 * LANE_PATH_MAX];
	struct lane_about one;
	struct dirent *entry;
	int n = 0;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (lane_place(who, dir, e))
		return -1;
	snprintf(path, sizeof path, "%s.lane", dir);
	if (!read_registered(path, ret) && !strcmp(ret->name, who))
		return 0;
	*strrchr(dir, '/') = '\0';
	d = opendir(dir);
	while (d && n < 2 && (entry = readdir(d))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".lane"))
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
		if (read_registered(path, &one) || strcmp(one.agent, who) != 0)
			continue;
		if (!n)
			*ret = one;
		n += !n || both_live(ret, &one);
	}
	if (n > 1)
		return err_set(
			e, ERR_USAGE, "%s is ambiguous: use %s or %s.", who, ret->name, one.name);
	return n ? 0 : err_set(e, ERR_NOT_FOUND, "berth has no running container named `%s`", who);
}

/* The engine resolved the sources again after us: is it what we checked? */
static int compare_mount(
	int conn, const struct lane_about *about, const struct lane_mount *m, struct err *e)
{
	char body[LANE_MSG_MAX];
	int fds[LANE_FDS_MAX], nfds;
	struct lane_stated got;
	struct lane_msg head;

	if (wire_send(conn, LANE_STAT, m->target, strlen(m->target) + 1) ||
		wire_recv(conn, &head, body, fds, &nfds) <= 0 || nfds || head.type != LANE_STATED ||
		head.len != sizeof got)
		return err_set(e, ERR_PROTOCOL,
			"the init of %s did not report what is mounted at %s", about->name,
			m->target);
	memcpy(&got, body, sizeof got);
	if (got.error || got.dev != m->dev || got.ino != m->ino)
		return err_set(e, ERR_REFUSED,
			"what is mounted at %s in %s is not what was checked: the path "
			"was changed while the container was being created, so the "
			"container was killed",
			m->target, about->name);
	return 0;
}

/* Before it gets anything: a profile that the engine did not apply is a wall that is not there. */
static int check_guest_profile(
	const struct lane_offer *o, const struct lane_about *about, struct err *e)
{
	char label[APPARMOR_LABEL_MAX];

	if (!o->apparmor)
		return 0;
	apparmor_label(o->guest, label);
	if (apparmor_holds(label, o->apparmor))
		return 0;
	return err_set(e, ERR_REFUSED,
		"%s is not confined by the requested AppArmor profile %s but by %s, so "
		"it was killed; `berth doctor` shows more, and `apparmor: optional` in "
		"the definition is for engines that cannot do better.",
		about->name, *o->apparmor ? o->apparmor : "of its engine",
		*label ? label : "one that cannot be read");
}

static int greet_guest(int conn, const struct lane_about *about, const struct lane_mount *mounts,
	size_t nmounts, const struct lane_secret *secrets, size_t n, struct lane_offer *o,
	struct err *e)
{
	char body[LANE_MSG_MAX];
	int fds[LANE_FDS_MAX], nfds;
	struct lane_msg head;

	if (peer_is_init(conn, about->id, &o->guest, e) || check_guest_profile(o, about, e) ||
		(o->finish && o->finish(o->ctx, o->guest, e)))
		return -1;
	if (wire_recv(conn, &head, body, fds, &nfds) <= 0 || head.type != LANE_HELLO || nfds) {
		wire_close_all(fds, nfds);
		return err_set(
			e, ERR_PROTOCOL, "the init of %s did not send its greeting", about->name);
	}
	for (size_t i = 0; i < nmounts; i++)
		if (compare_mount(conn, about, &mounts[i], e))
			return -1;
	for (size_t i = 0; i < n; i++) {
		AUTO_STR struct str s = STR_INIT;

		str_add(&s, secrets[i].name, strlen(secrets[i].name) + 1);
		str_add(&s, secrets[i].value, secrets[i].len);
		if (wire_send(conn, LANE_SECRET, s.s, s.len))
			return err_sys(e, errno, "cannot hand the secret %s to %s", secrets[i].name,
				about->name);
		explicit_bzero(s.s, s.len);
	}
	if (o->proxy && wire_send(conn, LANE_PROXY, NULL, 0))
		return err_sys(e, errno, "cannot ask the init of %s for a proxy", about->name);
	if (wire_send_fds(conn, LANE_LISTEN, NULL, 0, &o->lane, 1) ||
		wire_recv(conn, &head, body, fds, &nfds) <= 0 || head.type != LANE_READY || nfds) {
		wire_close_all(fds, nfds);
		return err_set(
			e, ERR_PROTOCOL, "the init of %s did not accept its lane", about->name);
	}
	return 0;
}

int lane_hand_over(struct lane_offer *o, const struct lane_about *about,
	const struct lane_mount *mounts, size_t nmounts, const struct lane_secret *secrets,
	size_t nsecrets, int timeout_ms, struct err *e)
{
	int64_t deadline = clock_mono_ns() + (int64_t)timeout_ms * 1000000;
	struct timeval soon = {2, 0};
	struct err why = ERR_INIT;
	int result = -1;

	err_set(&why, ERR_TIMEOUT, "the init of %s did not open its lane within %d ms", about->name,
		timeout_ms);
	while (result) {
		struct pollfd p = {o->boot, POLLIN, 0};
		int64_t left = (deadline - clock_mono_ns()) / 1000000;
		AUTO_CLOSE int conn = -1;

		if (left <= 0)
			break;
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		conn = accept4(o->boot, NULL, NULL, SOCK_CLOEXEC);
		if (conn < 0)
			continue;
		/* Others in the container may knock too; they are not its init. */
		setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
		result = greet_guest(conn, about, mounts, nmounts, secrets, nsecrets, o, &why);
		if (result && why.kind == ERR_REFUSED)
			break;
	}
	if (!result)
		result = register_lane(o, about, e);
	else
		err_copy(e, &why);
	lane_offer_release(o);
	return result;
}
