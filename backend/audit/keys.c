/* keys.c - reads, writes and replaces the signing key of the audit log. */
#include "audit/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>

struct slot {
	uint8_t seed[SEAL_SEED];
	uint8_t sum[SEAL_HASH]; /* of the seed: tells a key from zeros and from half a write */
};

static bool is_slot_filled(const struct slot *s)
{
	uint8_t sum[SEAL_HASH];

	seal_hash(s->seed, sizeof s->seed, sum);
	return memcmp(sum, s->sum, sizeof sum) == 0;
}

static bool read_slots(int fd, struct slot slots[KEYS_SLOTS])
{
	ssize_t n = file_fill_at(fd, slots, KEYS_SLOTS * sizeof *slots, 0);

	return n == KEYS_SLOTS * sizeof *slots;
}

static int write_slot(
	const struct audit_sys *sys, int fd, int i, const struct slot *s, struct err *e)
{
	if (audit_pwrite_all(sys, fd, s, sizeof *s, (off_t)(i * (int)sizeof *s)) < 0 ||
		sys->fdatasync(fd) < 0)
		return err_sys(e, errno, "Cannot write the audit log's signing key");
	return 0;
}

static void new_slot(struct slot *s)
{
	seal_random(s->seed, sizeof s->seed);
	seal_hash(s->seed, sizeof s->seed, s->sum);
}

int keys_open(const struct audit_sys *sys, int dir, struct err *e)
{
	AUTO_CLOSE int fd = sys->openat(dir, "key", O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "The audit log's signing key is missing.");
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, errno, "Cannot open the audit log's signing key");
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return err_set(e, ERR_FAILED,
			"The audit log's signing key is accessible to other users; it must be yours and have mode 0600.");
	return steal_fd(&fd);
}

static int make_keys(const struct audit_sys *sys, int dir, bool take_old,
	uint8_t ret_public[SEAL_KEY], struct err *e)
{
	AUTO_CLOSE int fd =
		sys->openat(dir, "key", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct slot slots[KEYS_SLOTS];
	int ret = 0;

	if (fd < 0)
		return err_sys(e, errno, "Cannot make the audit log's signing key");
	if (!read_slots(fd, slots))
		memset(slots, 0, sizeof slots);
	if (!take_old || !is_slot_filled(&slots[0])) {
		memset(slots, 0, sizeof slots);
		new_slot(&slots[0]);
		if (audit_pwrite_all(sys, fd, slots, sizeof slots, 0) < 0 || sys->fdatasync(fd) < 0)
			ret = err_sys(e, errno, "Cannot write the audit log's signing key");
	}
	if (ret == 0)
		seal_public(slots[0].seed, ret_public);
	seal_forget(slots, sizeof slots);
	return ret;
}

int keys_create(const struct audit_sys *sys, int dir, uint8_t ret_public[SEAL_KEY], struct err *e)
{
	return make_keys(sys, dir, true, ret_public, e);
}

int keys_replace(const struct audit_sys *sys, int dir, uint8_t ret_public[SEAL_KEY], struct err *e)
{
	return make_keys(sys, dir, false, ret_public, e);
}

/* The slot that holds the private half of `in_force`, or -1. */
static int find_key_slot(const struct slot slots[KEYS_SLOTS], const uint8_t in_force[SEAL_KEY])
{
	for (int i = 0; i < KEYS_SLOTS; i++) {
		uint8_t key[SEAL_KEY];

		if (!is_slot_filled(&slots[i]))
			continue;
		seal_public(slots[i].seed, key);
		if (memcmp(key, in_force, SEAL_KEY) == 0)
			return i;
	}
	return -1;
}

int keys_advance(const struct audit_sys *sys, int fd, const uint8_t in_force[SEAL_KEY],
	struct keys_step *step, struct err *e)
{
	struct slot slots[KEYS_SLOTS];
	int i = -1, ret = -1;

	if (!read_slots(fd, slots))
		err_set(e, ERR_NOT_FOUND, "The audit log's signing key is damaged.");
	else if ((i = find_key_slot(slots, in_force)) < 0)
		err_set(e, ERR_NOT_FOUND,
			"The audit log's signing key is not the one its last checkpoint names.");
	if (i >= 0) {
		new_slot(&slots[!i]);
		step->fd = fd;
		step->slot = i;
		memcpy(step->seed, slots[i].seed, SEAL_SEED);
		seal_public(slots[!i].seed, step->next_public);
		ret = write_slot(sys, fd, !i, &slots[!i], e);
		if (ret < 0)
			seal_forget(step->seed, sizeof step->seed);
	}
	seal_forget(slots, sizeof slots);
	return ret;
}

int keys_forget(const struct audit_sys *sys, struct keys_step *step, struct err *e)
{
	static const struct slot nothing;

	keys_keep(step);
	return write_slot(sys, step->fd, step->slot, &nothing, e);
}

void keys_keep(struct keys_step *step)
{
	seal_forget(step->seed, sizeof step->seed);
}

int keys_tidy(const struct audit_sys *sys, int fd, const uint8_t in_force[SEAL_KEY], struct err *e)
{
	static const struct slot nothing;
	struct slot slots[KEYS_SLOTS];
	int i, ret = 0;

	if (read_slots(fd, slots) && is_slot_filled(&slots[0]) && is_slot_filled(&slots[1]) &&
		(i = find_key_slot(slots, in_force)) >= 0)
		ret = write_slot(sys, fd, !i, &nothing, e);
	seal_forget(slots, sizeof slots);
	return ret;
}

static bool lock_slots(int fd, short type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

bool keys_wait(int fd, bool last)
{
	return lock_slots(fd, last ? F_WRLCK : F_RDLCK);
}

void keys_wait_end(int fd)
{
	lock_slots(fd, F_UNLCK);
}

size_t keys_held(int dir, uint8_t ret[KEYS_SLOTS][SEAL_KEY])
{
	AUTO_CLOSE int fd = openat(dir, "key", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct slot slots[KEYS_SLOTS];
	size_t n = 0;

	if (fd >= 0 && read_slots(fd, slots))
		for (int i = 0; i < KEYS_SLOTS; i++)
			if (is_slot_filled(&slots[i]))
				seal_public(slots[i].seed, ret[n++]);
	seal_forget(slots, sizeof slots);
	return n;
}
