/* main.c - `inside GROUP ARG...`: the program that an attack runs in a container. */
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const int eperm[] = {EPERM, 0};
const int eperm_enosys[] = {EPERM, ENOSYS, 0};

const char *word_or(const struct words *w, int i, const char *otherwise)
{
	return i < w->n ? w->word[i] : otherwise;
}

static void print_check(int number, const char *verdict, const char *what, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof text, what, args);
	printf("%d %s %s\n", number, verdict, text);
	fflush(stdout);
}

void report(int number, bool held, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	print_check(number, held ? "held" : "BROKE", what, args);
	va_end(args);
}

void absent(int number, const char *probe, ...)
{
	va_list args;

	va_start(args, probe);
	print_check(number, "absent", probe, args);
	va_end(args);
}

void refused(int number, const char *what, long result, const int *errnos)
{
	int error = errno;
	bool known = !errnos;

	if (result != -1) {
		report(number, false, "%s: it worked (%ld)", what, result);
		return;
	}
	for (const int *e = errnos; e && *e; e++)
		known |= error == *e;
	report(number, known, "%s: %s", what, strerrorname_np(error));
}

int slurp(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0;
	ssize_t r = 0;

	buf[0] = '\0';
	if (fd < 0)
		return -1;
	while (n < cap - 1 && (r = read(fd, buf + n, cap - 1 - n)) > 0)
		n += (size_t)r;
	buf[n] = '\0';
	close(fd);
	return r < 0 ? -1 : (int)n;
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const struct words *w);
	} groups[] = {
		{"identity", identity},
		{"kernel", kernel},
		{"syscalls", syscalls},
		{"files", files},
		{"read-only", read_only},
		{"flood", flood},
		{"swapper", swapper},
		{"litter", litter},
		{"resources", resources},
		{"trees", trees},
		{"network", network},
		{"guest", guest},
		{"lane", lane},
		{"watchers", watchers},
		{"quota", quota},
	};
	struct words w = {argc - 2, argv + 2};

	/* The setuid-root copy of this program says what it became. */
	if (argc == 2 && !strcmp(argv[1], "euid")) {
		printf("%d\n", (int)geteuid());
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < sizeof groups / sizeof *groups; i++)
		if (!strcmp(argv[1], groups[i].name)) {
			groups[i].run(&w);
			return 0;
		}
	fputs("inside: which group?\n", stderr);
	return 2;
}
