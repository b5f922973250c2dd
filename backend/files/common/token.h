/* token.h - a token identifies the state of a file at the time it was read, to detect later changes. */
#ifndef BERTH_FILES_TOKEN_H
#define BERTH_FILES_TOKEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <berth/files.h>

int64_t token_now(void); /* what to give as read_ns: never later than the reading */
/* Fill in everything of a token but the hash. */
void token_fill(struct files_token *t, const struct stat *st, int64_t read_ns);
void token_hash(struct files_token *t, const void *bytes, size_t n);
/* The same of what comes in pieces. */
struct token_hasher;
struct token_hasher *token_hasher_new(void);
void token_hasher_add(struct token_hasher *h, const void *bytes, size_t n);
void token_hasher_end(
	struct token_hasher *h, struct files_token *t); /* and frees it; t NULL: only that */
bool token_racy(const struct files_token *t); /* time stamps cannot vouch for the content */
/* Whether the file open as fd (with *st) is still what the token says; reads it when it must. */
bool token_holds(const struct files_token *t, const struct stat *st, int fd);
/* Nanoseconds since 1970: of a time before 1677 or after 2262 the first or the last that there is. */
int64_t time_ns(int64_t seconds, int64_t ns);
int64_t stat_mtime_ns(const struct stat *st);
int64_t stat_ctime_ns(const struct stat *st);

#endif
