/* reply_head.h - the head of a reply, fed in pieces of any size. */
#ifndef BERTH_REPLY_HEAD_H
#define BERTH_REPLY_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <berth/err.h>
#include <berth/str.h>

/* The head of an HTTP/1.1 reply on a connection that becomes a raw stream. */
#define REPLY_HEAD_MAX ((size_t)16 << 10)
struct reply_head {
	struct str text;
	bool complete;
	int status;
	int64_t length; /* Content-Length, -1 when none */
	bool chunked;
};
void reply_head_init(struct reply_head *h);
void reply_head_release(struct reply_head *h);
/* Returns how many bytes belonged to the head (what follows is the stream), or -1.  1xx replies
 * other than 101 are skipped. */
ssize_t reply_head_feed(struct reply_head *h, const char *bytes, size_t n, struct err *e);

#endif
