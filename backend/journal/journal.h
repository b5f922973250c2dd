/*
 * journal.h - writes the command logs of agents (include/berth/journal.h reads them).
 *
 * Errors are ignored: a command whose journal cannot be written runs anyway.
 * Thread: an entry belongs to one thread at a time.
 */
#ifndef JOURNAL_JOURNAL_H
#define JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <berth/agents.h>

struct journal_secret {
	const char *value;
	size_t len;
};

/* A new, empty journal for a container that comes up, in place of an older one.  commands 0: none. */
int journal_make(const char *name, size_t commands, uint64_t output_bytes,
	const struct journal_secret *secrets, size_t nsecrets, struct err *e);
/* Put stars over the values of this container's secrets: they are known by their fingerprints only, in the
 * container's journal; where there is none nothing is masked. */
void journal_mask(const char *name, char *text, size_t n);
/* The container is gone. */
void journal_forget(const char *name);

struct journal_entry;

/* `command` is the text to keep (masked by the caller).  NULL: there is no journal, or no room in it. */
struct journal_entry *journal_begin(
	const char *name, const char *program, const char *command, bool terminal);
void journal_add(struct journal_entry *j, int stream, const char *bytes, size_t n);
/* Look at what is in the pipe `from` without taking it out: returns how many bytes were seen (0: none are
 * there), which the caller then moves elsewhere and does not give to journal_add.  -1: not possible. */
ssize_t journal_peek(struct journal_entry *j, int stream, int from);
/* How long the caller may wait for something else before it calls journal_tick; -1: for ever. */
int journal_wait_ms(const struct journal_entry *j);
void journal_tick(struct journal_entry *j);
void journal_end(struct journal_entry *j, const struct run_result *r);

#endif
