/*
 * health.c - `berth-guest health`: the health check of a container, run inside it.
 *
 * The engine runs it as one more process in the container, once an hour.  Its words were fixed when the
 * container was made:
 *
 *   health FILES BYTES MEMORY PIDS (ro|rw TARGET)...
 *
 * It looks whether process 1 is the init with its lane (who else could, cannot give it that name) and goes
 * round its loop (a signal sent to it is taken, not left pending), whether its limits and the container's are
 * those, as far as the cgroup files are shown in here, and whether each target is a mount of that kind.  One
 * line, exit 0 or 1.  It allocates nothing, reads at most what its buffers hold, and ends within 6 seconds.
 * Whoever runs beside it as the same user can kill it, and so make a container look worse than it is, never
 * better.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define LOOP_LIMIT_MS 5000
#define LOOP_LOOK_MS 5
#define PAGE 4096   /* the kernel rounds down to whole ones */
#define PING SIGURG /* the init reads it like every signal, and does nothing */

static char text[65536]; /* of one file; untouched pages cost nothing */

static int report_unhealthy(const char *what, const char *which)
{
	printf("unhealthy: %s%s%s\n", what, *which ? " " : "", which);
	return 1;
}

/* A whole file of the kernel's into `text`; -1: not there, or longer. */
static int read_kernel_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t r = -1;

	while (fd >= 0 && n < sizeof text - 1 && (r = read(fd, text + n, sizeof text - 1 - n)) > 0)
		n += (size_t)r;
	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	return r == 0 ? 0 : -1;
}

static bool is_pending(int sig)
{
	const char *at;

	if (read_kernel_file("/proc/1/status") || !(at = strstr(text, "\nShdPnd:\t")))
		return true;
	return strtoull(at + 9, NULL, 16) >> (sig - 1) & 1;
}

static bool goes_round(void)
{
	if (kill(1, PING))
		return false;
	for (int waited = 0; waited < LOOP_LIMIT_MS; waited += LOOP_LOOK_MS) {
		if (!is_pending(PING))
			return true;
		poll(NULL, 0, LOOP_LOOK_MS);
	}
	return false;
}

/* "Max open files            1024                 1024": the hard one, in /proc/1/limits as read. */
static bool has_limit(const char *name, const char *want)
{
	const char *at = strstr(text, name);
	char soft[32], hard[32];

	return at && sscanf(at + strlen(name), " %31s %31s", soft, hard) == 2 &&
		!strcmp(hard, want);
}

/* A file of version 2, else of version 1; one that is not shown in here says nothing. */
static bool has_group_limit(
	const char *v2, const char *v1, const char *want, unsigned long long rounded)
{
	if (read_kernel_file(v2) && read_kernel_file(v1))
		return true;
	text[strcspn(text, "\n")] = '\0';
	return *text >= '0' && *text <= '9' &&
		strtoull(text, NULL, 10) / rounded == strtoull(want, NULL, 10) / rounded;
}

/* The last mount at `target` is the one that is seen.  "36 35 98:0 /root /target rw,noatime ...", with blanks
 * of names as \040. */
static bool is_mounted(const char *target, const char *mode)
{
	bool found = false;

	for (const char *line = text; line && *line;
		line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *at = line;
		size_t n = 0;

		for (int blanks = 0; *at && blanks < 4 && *at != '\n'; at++)
			blanks += *at == ' ';
		while (target[n] && at[0] && at[0] != ' ') {
			if (at[0] == '\\' && at[1] && at[2] && at[3]) {
				if ((char)((at[1] - '0') << 6 | (at[2] - '0') << 3 |
					    (at[3] - '0')) != target[n])
					break;
				at += 4;
			} else if (*at++ != target[n]) {
				break;
			}
			n++;
		}
		if (!target[n] && *at == ' ')
			found = !strncmp(at + 1, mode, 2) && (at[3] == ',' || at[3] == ' ');
	}
	return found;
}

int guest_health(int argc, char **argv)
{
	if (argc < 6 || argc % 2)
		return report_unhealthy("asked wrongly", "");
	if (read_kernel_file("/proc/1/comm") || strcmp(text, GUEST_NAME "\n"))
		return report_unhealthy(
			"process 1 is not the init with its lane but", text[0] ? text : "gone");
	if (!goes_round())
		return report_unhealthy("the init does not respond", "");
	if (read_kernel_file("/proc/1/limits") || !has_limit("Max open files", argv[2]))
		return report_unhealthy("the limit of open files is not", argv[2]);
	if (!has_limit("Max file size", argv[3]))
		return report_unhealthy("the limit of file sizes is not", argv[3]);
	if (!has_group_limit("/sys/fs/cgroup/memory.max",
		    "/sys/fs/cgroup/memory/memory.limit_in_bytes", argv[4], PAGE))
		return report_unhealthy("the limit of memory is not", argv[4]);
	if (!has_group_limit("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max", argv[5], 1))
		return report_unhealthy("the limit of processes is not", argv[5]);
	if (read_kernel_file("/proc/self/mountinfo"))
		return report_unhealthy("more mounts than can be read", "");
	for (int i = 6; i < argc; i += 2)
		if (!is_mounted(argv[i + 1], argv[i]))
			return report_unhealthy("not mounted as asked:", argv[i + 1]);
	printf("healthy: the init with its lane, %d mounts, limits as asked\n", (argc - 6) / 2);
	return 0;
}
