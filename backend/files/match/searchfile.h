/* searchfile.h - searches one file line by line; shared by search and transform. */
#ifndef BERTH_FILES_SEARCHFILE_H
#define BERTH_FILES_SEARCHFILE_H

#include "files/match/matcher.h"
#include "files/walk/walk.h"

#define SEARCH_JOB (4 << 20) /* bytes from which a file is a job by itself */

/* The hits of one file while they are found.  Text lies in `text`, by offset. */
struct found {
	struct files_hit *hits;
	size_t n, cap;
	struct str text;
	uint64_t matches; /* hits that are not context */
};

/* Text in UTF-16, as a byte order mark at its start says, is searched as UTF-8: columns and offsets
 * count in that, and the mark is no part of it. */
struct utf16 {
	bool on, big;
	unsigned char *raw;
	size_t n;      /* bytes left in raw, less than a character */
	uint64_t read; /* of the file */
};

struct searcher {
	struct matcher_local local;
	char *buf;
	size_t cap;
	struct utf16 utf16;
	/* Where set: takes over the hits found so far, when they are many. */
	void (*flush)(void *ctx, struct searcher *s);
	void *flush_ctx;
	struct found found;
	bool named;  /* somebody asked for this file: it is searched whatever it holds */
	bool binary; /* it holds a NUL byte, the first at nul_at */
	uint64_t nul_at;
	uint64_t told; /* bytes of the file that its job knows of already */
	struct files_search_totals totals;
};

void searcher_init(struct searcher *s, const struct matcher *m);
void searcher_release(struct searcher *s);

/* Bytes that begin the text with this mark, 0: there is none.  Makes *u ready. */
size_t utf16_mark(struct utf16 *u, const char *s, size_t n);
/* The bytes of the mark that may begin a text, of UTF-8 or UTF-16; *wide: the latter, *big: its order. */
size_t text_mark(const char *s, size_t n, bool *wide, bool *big);
/* As read(2), but what comes is UTF-8: `room` of at least 8 bytes.  What is no character becomes
 * U+FFFD. */
ssize_t utf16_read(struct utf16 *u, int fd, char *to, size_t room);
/* The same of `n` bytes that were read already (at most UTF16_RAW). */
#define UTF16_RAW (64u << 10)
void utf16_push(struct utf16 *u, const char *s, size_t n);
/* All of a text in UTF-16 behind its mark, as UTF-8, and back. */
void utf16_decode(bool big, const char *s, size_t n, struct str *out);
void utf16_encode(bool big, const char *s, size_t n, struct str *out);

enum searched { SEARCHED, SEARCH_BINARY, SEARCH_LARGE, SEARCH_FAILED };
/* fd is open on a regular file.  Fills s->found (cleared first). */
enum searched search_fd(struct searcher *s, int fd, const struct stat *st,
	const struct files_search_options *o, const struct op *op);

/* Open `name` in dirfd when it is still a regular file; -1 otherwise. */
int search_open(int dirfd, const char *name, struct stat *st);

#endif
