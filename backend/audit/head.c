/* head.c - reads, writes and locks the head file of the audit log. */
#include "audit/head.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <berth/clock.h>
#include <berth/hex.h>

#define SUM_DIGITS 16

void head_format(const struct head *h, char out[HEAD_SIZE])
{
	char hash[AUDIT_HEX] = "", key[AUDIT_HEX] = "", text[HEAD_SIZE];
	uint8_t sum[SEAL_HASH];
	int n;

	hex_digits(hash, h->hash, SEAL_HASH);
	hex_digits(key, h->next_key, SEAL_KEY);
	n = snprintf(text, sizeof text,
		"berth-audit-head 1 segment %" PRIu64 " offset %" PRIu64 " seq %" PRIu64
		" hash %s signed %" PRIu64 " checkpoints %" PRIu64 " next %s pruned %" PRIu64
		" wall_ms %" PRId64 " mono_us %" PRId64 " boot %s sum ",
		h->segment, h->offset, h->seq, hash, h->signed_seq, h->checkpoints, key,
		h->pruned_to, h->wall_ms, h->mono_us, h->boot[0] ? h->boot : "-");
	seal_hash(text, (size_t)n, sum);
	memset(out, ' ', HEAD_SIZE);
	memcpy(out, text, (size_t)n);
	hex_digits(out + n, sum, SUM_DIGITS / 2);
	out[HEAD_SIZE - 1] = '\n';
}

bool head_parse(const char in[HEAD_SIZE], struct head *ret)
{
	char text[HEAD_SIZE + 1], hash[AUDIT_HEX], key[AUDIT_HEX], digits[SUM_DIGITS];
	uint8_t sum[SEAL_HASH];
	char *mark;

	memcpy(text, in, HEAD_SIZE);
	text[HEAD_SIZE] = '\0';
	mark = strstr(text, " sum ");
	if (!mark || mark + 5 + SUM_DIGITS > text + HEAD_SIZE)
		return false;
	seal_hash(text, (size_t)(mark + 5 - text), sum);
	hex_digits(digits, sum, SUM_DIGITS / 2);
	if (memcmp(digits, mark + 5, SUM_DIGITS) != 0)
		return false;
	memset(ret, 0, sizeof *ret);
	if (sscanf(text,
		    "berth-audit-head 1 segment %" SCNu64 " offset %" SCNu64 " seq %" SCNu64
		    " hash %64[0-9a-f] signed %" SCNu64 " checkpoints %" SCNu64
		    " next %64[0-9a-f] pruned %" SCNu64 " wall_ms %" SCNd64 " mono_us %" SCNd64
		    " boot %39[-0-9a-f]",
		    &ret->segment, &ret->offset, &ret->seq, hash, &ret->signed_seq,
		    &ret->checkpoints, key, &ret->pruned_to, &ret->wall_ms, &ret->mono_us,
		    ret->boot) != 11)
		return false;
	return strlen(hash) == 2 * SEAL_HASH && strlen(key) == 2 * SEAL_KEY &&
		hex_parse(ret->hash, hash, SEAL_HASH) && hex_parse(ret->next_key, key, SEAL_KEY);
}

int head_lock(int fd, bool exclusive, int ms, struct err *e)
{
	struct flock lock = {.l_type = exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET};
	int64_t until = 0, pause_ns = 50000;

	/* Not the waiting form: a stopped process may hold the lock for as long as it is stopped.
	 */
	while (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		struct timespec now, nap = {0, pause_ns};
		int64_t t;

		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return err_sys(e, errno, "Cannot lock the audit log");
		clock_gettime(CLOCK_MONOTONIC, &now);
		t = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
		if (!until)
			until = t + ms;
		if (t >= until)
			return err_set(e, ERR_TIMEOUT,
				"The audit log has been locked by another berth process for %d s; "
				"look for one that is stopped.",
				ms / 1000);
		nanosleep(&nap, NULL);
		/* Whoever reads needs it for a moment and would starve among many that write: it asks more often. */
		if (exclusive && pause_ns < 1000000)
			pause_ns *= 2;
	}
	return 0;
}

void head_unlock(int fd)
{
	struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	fcntl(fd, F_OFD_SETLK, &lock);
}
