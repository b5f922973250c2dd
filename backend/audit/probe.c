/* probe.c - tests whether the audit log can be written, for `berth doctor`. */
#include "audit/chain.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>

static int write_and_read(const struct chain *c, struct err *e)
{
	char out[CHAIN_PROBE], in[CHAIN_PROBE];
	AUTO_CLOSE int fd = -1;
	int ret = -1;

	memset(out, '#', sizeof out);
	unlinkat(c->dir, "probe", 0);
	fd = openat(c->dir, "probe", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(
			e, errno, "Cannot create a file in the audit log's directory %s", c->path);
	if (audit_pwrite_all(c->sys, fd, out, sizeof out, 0) < 0 || fdatasync(fd) < 0)
		err_sys(e, errno, "Cannot write a file in the audit log's directory %s", c->path);
	else if (file_fill_at(fd, in, sizeof in, 0) != sizeof in || memcmp(in, out, sizeof in))
		err_set(e, ERR_FAILED, "A file written in %s does not read back as written.",
			c->path);
	else
		ret = 0;
	unlinkat(c->dir, "probe", 0);
	return ret;
}

/* The head of the log, written with what it says already. */
static int write_head(struct chain *c, struct err *e)
{
	char raw[HEAD_SIZE];

	if (chain_begin(c, CHAIN_PROBE, e) < 0)
		return -1;
	c->dirty = true;
	if (chain_sync(c, e) == 0) {
		if (c->low)
			chain_full(c, e);
		else if (c->dirty || file_fill_at(c->headfd, raw, sizeof raw, 0) != HEAD_SIZE ||
			memcmp(raw, c->raw, sizeof raw))
			err_set(e, ERR_FAILED, "The head of the audit log in %s cannot be written.",
				c->path);
	}
	chain_end(c);
	return e->kind ? -1 : 0;
}

int audit_works(const char *dir, struct err *e)
{
	struct err why = ERR_INIT;
	struct chain c;
	int ret;

	chain_init(&c, &(struct audit_options){.dir = dir, .program = "doctor", .brief = true});
	ret = chain_open(&c, &why) || write_head(&c, &why) || write_and_read(&c, &why) ? -1 : 0;
	chain_release(&c);
	return ret ? err_copy(e, &why) : 0;
}
