/* place.c - locates, creates and opens command logs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/hash.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "journal/journal.h"
#include "journal/layout.h"
#include "lane/lane.h"

#define SECRET_MIN 6 /* shorter values would mask half of every text */
#define CAP_MIN 4096
#define CAP_MAX (64u << 20)

int journal_place(const char *name, char path[JOURNAL_PATH_MAX], struct err *e)
{
	char lane[LANE_PATH_MAX], *end;

	if (lane_place(name, lane, e))
		return -1;
	end = strrchr(lane, '/');
	*end = '\0';
	end = strrchr(lane, '/'); /* "lanes" */
	*end = '\0';
	snprintf(path, JOURNAL_PATH_MAX, "%s/journal/%s", lane, name);
	return 0;
}

/* Everything that is not the ring of a slot is really there from the start. */
static int fill_journal(int fd, const struct journal_file *head, size_t bytes)
{
	int64_t end = journal_slot_at(head, head->slots);

	return write(fd, head, bytes) == (ssize_t)bytes && !ftruncate(fd, end) ? 0 : -1;
}

int journal_make(const char *name, size_t commands, uint64_t output_bytes,
	const struct journal_secret *secrets, size_t nsecrets, struct err *e)
{
	char path[JOURNAL_PATH_MAX], fresh[JOURNAL_PATH_MAX + 8], base[LANE_PATH_MAX],
		dir[LANE_PATH_MAX];
	AUTO_FREE struct journal_file *f = NULL;
	AUTO_CLOSE int fd = -1;
	size_t bytes;

	if (journal_place(name, path, e))
		return -1;
	if (!commands || !output_bytes) {
		unlink(path);
		return 0;
	}
	if (runtime_dir(base, sizeof base, e) ||
		runtime_subdir(dir, sizeof dir, base, "journal", e))
		return -1;
	bytes = (sizeof *f + nsecrets * sizeof *f->mask + JOURNAL_PAGE - 1) &
		~(size_t)(JOURNAL_PAGE - 1);
	if (nsecrets > JOURNAL_MASKS_MAX)
		return err_set(
			e, ERR_CONFIG, "%s has more than %d secrets.", name, JOURNAL_MASKS_MAX);
	f = xcalloc(1, bytes);
	f->magic = JOURNAL_MAGIC;
	f->slots = (uint32_t)(commands < JOURNAL_COMMANDS_MAX ? commands : JOURNAL_COMMANDS_MAX);
	f->cap = output_bytes < CAP_MIN  ? CAP_MIN
		: output_bytes > CAP_MAX ? CAP_MAX
					 : (uint32_t)output_bytes & ~(CAP_MIN - 1u);
	f->data_at = (uint32_t)bytes;
	if (getrandom(&f->base, sizeof f->base, 0) != sizeof f->base)
		return err_sys(e, errno, "cannot get random bytes");
	f->base >>= 4;
	for (size_t i = 0; i < nsecrets; i++)
		if (secrets[i].len >= SECRET_MIN)
			f->mask[f->nmasks++] = (struct journal_mask){
				mask_fingerprint(f->base, secrets[i].value, secrets[i].len),
				(uint32_t)secrets[i].len, 0};
	snprintf(fresh, sizeof fresh, "%s/.new-%d", dir, (int)gettid());
	unlink(fresh);
	fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && !fill_journal(fd, f, bytes) && !rename(fresh, path))
		return 0;
	err_sys(e, errno, "cannot make the journal %s", path);
	unlink(fresh);
	return -1;
}

void journal_forget(const char *name)
{
	char path[JOURNAL_PATH_MAX];

	if (!journal_place(name, path, NULL))
		unlink(path);
}

int journal_open(const char *name, int flags, struct journal_file *ret)
{
	char path[JOURNAL_PATH_MAX];
	struct stat st;
	int fd;

	if (journal_place(name, path, NULL))
		return -1;
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		pread(fd, ret, sizeof *ret, 0) == (ssize_t)sizeof *ret &&
		ret->magic == JOURNAL_MAGIC && ret->slots && ret->slots <= JOURNAL_COMMANDS_MAX &&
		ret->cap >= CAP_MIN && ret->cap <= CAP_MAX && ret->nmasks <= JOURNAL_MASKS_MAX &&
		ret->data_at >= sizeof *ret + ret->nmasks * sizeof *ret->mask &&
		ret->data_at <= 64 * JOURNAL_PAGE && st.st_size >= journal_slot_at(ret, ret->slots))
		return fd;
	close(fd);
	return -1;
}

uint64_t journal_check(const struct journal_slot *s)
{
	size_t n = offsetof(struct journal_slot, argv) +
		(s->argv_len < sizeof s->argv ? s->argv_len : sizeof s->argv);

	return hash_more(HASH_START, (const char *)s + sizeof s->check, n - sizeof s->check);
}
