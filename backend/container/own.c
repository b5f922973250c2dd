/* own.c - proves the ownership of containers: keyed hashes, session records and owner processes. */
#include "container/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/hash.h>
#include <berth/hex.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "container/checked.h"
#include "job/board.h"

#define KEY_LEN 32
#define SESSIONS_MAX 256
#define RECORD_MAX 8192 /* bytes of one's record */

static int read_own_key(const char *path, unsigned char key[KEY_LEN])
{
	AUTO_CLOSE int fd = file_open(AT_FDCWD, path, O_NOFOLLOW);

	return fd >= 0 && file_fill(fd, key, KEY_LEN) == KEY_LEN ? 0 : -1;
}

/* Two processes or threads may make it at once: link() lets one win, and all read the winner's. */
static int owner_key(unsigned char key[KEY_LEN], struct err *e)
{
	char dir[PATH_MAX], path[PATH_MAX + 16], tmp[PATH_MAX + 32];
	AUTO_CLOSE int fd = -1;

	if (state_dir(dir, sizeof dir, e))
		return -1;
	snprintf(path, sizeof path, "%s/owner.key", dir);
	if (!read_own_key(path, key))
		return 0;
	snprintf(tmp, sizeof tmp, "%s.%d", path, (int)gettid());
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || getrandom(key, KEY_LEN, 0) != KEY_LEN || write(fd, key, KEY_LEN) != KEY_LEN ||
		fsync(fd) || (link(tmp, path) && errno != EEXIST)) {
		unlink(tmp);
		return err_sys(e, errno, "cannot make the key %s", path);
	}
	unlink(tmp);
	return read_own_key(path, key) ? err_sys(e, errno, "cannot read the key %s", path) : 0;
}

int own_proof(const char *engine, const char *name, const char *session, char proof[PROOF_MAX],
	struct err *e)
{
	unsigned char key[KEY_LEN], mac[EVP_MAX_MD_SIZE];
	AUTO_STR struct str text = STR_INIT;
	unsigned len = 0;

	if (owner_key(key, e))
		return -1;
	/* The NULs keep ("a", "bc") and ("ab", "c") apart. */
	str_add(&text, engine, strlen(engine) + 1);
	str_add(&text, name, strlen(name) + 1);
	str_add(&text, session, strlen(session) + 1);
	if (!HMAC(EVP_sha256(), key, KEY_LEN, (const unsigned char *)text.s, text.len, mac, &len) ||
		len != 32)
		return err_set(e, ERR_FAILED, "the keyed hash could not be computed");
	OPENSSL_cleanse(key, sizeof key);
	hex_text(proof, mac, len);
	return 0;
}

bool own_proven(const char *engine, const char *name, const char *session, const char *proof)
{
	char want[PROOF_MAX];

	return strlen(proof) == PROOF_MAX - 1 && !own_proof(engine, name, session, want, NULL) &&
		!CRYPTO_memcmp(want, proof, PROOF_MAX - 1);
}

int session_new(struct session *s, struct err *e)
{
	unsigned char bytes[16];

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return err_sys(e, errno, "cannot generate a session id");
	hex_text(s->session, bytes, sizeof bytes);
	s->created_ms = clock_wall_ms();
	return 0;
}

static int session_path(const char *name, char path[PATH_MAX], struct err *e)
{
	char dir[PATH_MAX / 4], sub[PATH_MAX / 2];

	if (state_dir(dir, sizeof dir, e) || runtime_subdir(sub, sizeof sub, dir, "sessions", e))
		return -1;
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > 63)
		return err_set(e, ERR_USAGE, "`%.80s` is not a valid container name", name);
	snprintf(path, PATH_MAX, "%s/%s.session", sub, name);
	return 0;
}

static bool take_line(char **at, char *out, size_t cap)
{
	char *end = strchr(*at, '\n');

	if (!end || (size_t)(end - *at) >= cap)
		return false;
	memcpy(out, *at, (size_t)(end - *at));
	out[end - *at] = '\0';
	*at = end + 1;
	return true;
}

static int load_session(const char *path, struct session *s)
{
	AUTO_STR struct str text = STR_INIT;
	char number[32], *at;

	if (file_read(AT_FDCWD, path, O_NOFOLLOW, RECORD_MAX, &text, NULL) < 0)
		return -1;
	at = text.s;
	if (!take_line(&at, s->name, sizeof s->name) || !take_line(&at, s->id, sizeof s->id) ||
		!take_line(&at, s->engine, sizeof s->engine) ||
		!take_line(&at, s->session, sizeof s->session) ||
		!take_line(&at, s->agent, sizeof s->agent) ||
		!take_line(&at, s->spec, sizeof s->spec) ||
		!take_line(&at, s->file, sizeof s->file) || !take_line(&at, number, sizeof number))
		return -1;
	s->created_ms = strtoll(number, NULL, 10);
	if (!take_line(&at, s->base, sizeof s->base))
		s->base[0] = '\0';
	if (!take_line(&at, s->endpoint, sizeof s->endpoint))
		s->endpoint[0] = '\0';
	return 0;
}

/* The record of the mounts goes with the container that the file `path` names, unless that is `id`. */
static void forget_checked(const char *path, const char *id)
{
	struct session known;

	if (!load_session(path, &known) && strcmp(known.id, id) != 0)
		checked_forget(known.id);
}

int session_save(const struct session *s, struct err *e)
{
	char path[PATH_MAX];
	AUTO_STR struct str text = STR_INIT;

	if (session_path(s->name, path, e))
		return -1;
	forget_checked(path, s->id);
	str_addf(&text, "%s\n%s\n%s\n%s\n%s\n%s\n%s\n%lld\n%s\n%s\n", s->name, s->id, s->engine,
		s->session, s->agent, s->spec, s->file, (long long)s->created_ms, s->base,
		s->endpoint);
	if (file_replace(path, text.s, text.len, true) < 0)
		return err_sys(e, errno, "cannot write the session record %s", path);
	return 0;
}

int session_load(const char *name, struct session *ret, struct err *e)
{
	char path[PATH_MAX];

	if (session_path(name, path, e))
		return -1;
	if (load_session(path, ret) || strcmp(ret->name, name))
		return err_set(e, ERR_NOT_FOUND, "no session of %s is known here", name);
	return 0;
}

bool own_made(const char *engine, const char *name, const char *id, const char *session,
	const char *proof)
{
	struct session s;

	return (!session_load(name, &s, NULL) && !strcmp(s.engine, engine) && !strcmp(s.id, id)) ||
		own_proven(engine, name, session, proof);
}

void session_forget(const char *name)
{
	char path[PATH_MAX];

	if (session_path(name, path, NULL))
		return;
	forget_checked(path, "");
	unlink(path);
}

int session_here(const char *name, const char *engine, struct err *e)
{
	char path[PATH_MAX];
	struct session s;

	if (session_load(name, &s, NULL) || !strcmp(s.engine, engine) ||
		session_path(name, path, NULL))
		return 0;
	return err_set(e, ERR_CONFLICT,
		"%s is up on another engine (%.80s): take it down there, or give this one another name; "
		"if that engine is gone for good, remove %s.",
		name, s.engine, path);
}

size_t session_all(struct session *out, size_t max)
{
	char path[PATH_MAX];
	struct dirent *entry;
	size_t n = 0;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (session_path("x", path, NULL))
		return 0;
	*strrchr(path, '/') = '\0';
	d = opendir(path);
	while (d && n < max && (entry = readdir(d))) {
		const char *dot = strrchr(entry->d_name, '.');
		char file[PATH_MAX + NAME_MAX + 2];

		if (!dot || strcmp(dot, ".session"))
			continue;
		snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
		n += !load_session(file, &out[n]);
	}
	return n;
}

bool session_at_other(const char *engine, const char *endpoint, char other[512])
{
	AUTO_FREE struct session *all = xcalloc(SESSIONS_MAX, sizeof *all);
	size_t n = session_all(all, SESSIONS_MAX);
	bool found = false;

	for (size_t i = 0; i < n; i++) {
		if (!*all[i].endpoint || strcmp(all[i].engine, engine) != 0)
			continue;
		if (!strcmp(all[i].endpoint, endpoint))
			return false;
		snprintf(other, sizeof all[i].endpoint, "%s", all[i].endpoint);
		found = true;
	}
	return found;
}

bool session_elsewhere(const char *name, const char *agent, const char *id, const char *engine)
{
	AUTO_FREE struct session *all = xcalloc(SESSIONS_MAX, sizeof *all);
	size_t n = session_all(all, SESSIONS_MAX);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].engine, engine) && *all[i].id && strcmp(all[i].id, id) != 0 &&
			(!strcmp(all[i].name, name) || !strcmp(all[i].agent, agent) ||
				!strcmp(all[i].name, agent)))
			return true;
	return false;
}

/* An OFD lock goes with its holder, however that ends. */
static int lock_records(const char *file, int cmd, struct flock *lock, struct err *e)
{
	char path[PATH_MAX];
	AUTO_CLOSE int fd = -1;

	if (session_path(file, path, e))
		return -1;
	path[strlen(path) - strlen(".session")] = '\0';
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, errno, "cannot open the lock %s", path);
	while (fcntl(fd, cmd, lock) < 0)
		if (errno != EINTR)
			return err_sys(e, errno, "cannot lock %s", path);
	return steal_fd(&fd);
}

static int making_lock(int cmd, short type, struct flock *ret, struct err *e)
{
	*ret = (struct flock){.l_type = type, .l_whence = SEEK_SET};
	return lock_records("making", cmd, ret, e);
}

int session_hold(const char *name, struct err *e)
{
	/* That two names meet costs them only time. */
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = hash_short(name), .l_len = 1};
	struct err why = ERR_INIT;
	int fd = lock_records("names", F_OFD_SETLK, &lock, &why);

	if (fd < 0 && why.kind == ERR_SYS && why.sys == EAGAIN)
		return err_set(e, ERR_CONFLICT,
			"another berth is bringing %s up or taking it down right now", name);
	return fd >= 0 ? fd : err_copy(e, &why);
}

int sessions_enter(struct err *e)
{
	struct flock lock;

	return making_lock(F_OFD_SETLKW, F_RDLCK, &lock, e);
}

bool sessions_making(void)
{
	struct flock lock;
	AUTO_CLOSE int fd = making_lock(F_OFD_GETLK, F_WRLCK, &lock, NULL);

	return fd >= 0 && lock.l_type == F_RDLCK;
}

int sessions_exclude(void)
{
	struct flock lock;

	return making_lock(F_OFD_SETLK, F_WRLCK, &lock, NULL);
}

static void first_line(const char *path, char *out, size_t cap)
{
	file_text(path, out, cap);
	out[strcspn(out, "\n")] = '\0';
}

struct owner {
	char machine[64], boot[64], ns[64];
	long pid;
	unsigned long long started;
};

static void describe_self(struct owner *o)
{
	ssize_t n = readlink("/proc/self/ns/pid", o->ns, sizeof o->ns - 1);

	o->ns[n > 0 ? n : 0] = '\0';
	first_line("/etc/machine-id", o->machine, sizeof o->machine);
	first_line("/proc/sys/kernel/random/boot_id", o->boot, sizeof o->boot);
	o->pid = (long)getpid();
	o->started = process_started((int32_t)o->pid);
}

void own_label(struct str *out)
{
	struct owner o;

	describe_self(&o);
	str_addf(out,
		"{\"machine\":\"%s\",\"boot\":\"%s\",\"pid_ns\":\"%s\",\"pid\":%ld,\"started\":%llu}",
		o.machine, o.boot, o.ns, o.pid, o.started);
}

/* Our own label, read back by its exact form: anything else is no owner. */
bool own_alive(const char *label)
{
	struct owner o = {0}, now;

	describe_self(&now);
	if (sscanf(label,
		    "{\"machine\":\"%63[0-9a-f]\",\"boot\":\"%63[0-9a-f-]\",\"pid_ns\":\"%63[^\"]\","
		    "\"pid\":%ld,\"started\":%llu}",
		    o.machine, o.boot, o.ns, &o.pid, &o.started) != 5 &&
		sscanf(label,
			"{\"machine\":\"\",\"boot\":\"%63[0-9a-f-]\",\"pid_ns\":\"%63[^\"]\",\"pid\":%ld,"
			"\"started\":%llu}",
			o.boot, o.ns, &o.pid, &o.started) != 4)
		return false;
	if (*now.machine && strcmp(o.machine, now.machine))
		return true;
	if (strcmp(o.boot, now.boot))
		return false;
	/* In another PID namespace of this boot we cannot look it up by number. */
	if (strcmp(o.ns, now.ns))
		return true;
	return o.started && process_started((int32_t)o.pid) == o.started;
}
