/*
 * inside.h - what the programs of an attack share: each group is one file and tries its numbered checks
 * of the hardening table from inside a container that berth made.
 *
 * A finding is one line on stdout, "NUMBER held WHAT", "NUMBER BROKE WHAT" or "NUMBER absent PROBE"; the
 * host collects them, and adds what it sees from its own side.
 */
#ifndef INSIDE_H
#define INSIDE_H

#include <stdbool.h>
#include <stddef.h>

/* The words of the command line behind the group's name. */
struct words {
	int n;
	char **word;
};
const char *word_or(const struct words *w, int i, const char *otherwise);

void report(int number, bool held, const char *what, ...) __attribute__((format(printf, 3, 4)));
/* The kernel or the machine does not have it: say which probe showed that. */
void absent(int number, const char *probe, ...) __attribute__((format(printf, 2, 3)));

/* A call that must fail, and with which errno values (0-terminated; NULL: any): held or BROKE. */
void refused(int number, const char *what, long result, const int *errnos);
extern const int eperm[], eperm_enosys[];

/* A small file as text; -1 with errno. */
int slurp(const char *path, char *buf, size_t cap);
double now(void);

void identity(const struct words *w);
void kernel(const struct words *w);
void syscalls(const struct words *w);
void files(const struct words *w);
void read_only(const struct words *w);
void flood(const struct words *w);
void swapper(const struct words *w);
void litter(const struct words *w);
void resources(const struct words *w);
void trees(const struct words *w);
void network(const struct words *w);
void guest(const struct words *w);
void lane(const struct words *w);
void watchers(const struct words *w);
void quota(const struct words *w);

#endif
