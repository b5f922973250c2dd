/*
 * execs.c - `attack-execs AGENT COUNT`: many commands from one process, as the console and the agents' server run
 * them.  Descriptors, threads and memory of this process must be afterwards what they were.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/agents.h>

static int count_dir_entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static long resident_kib(void)
{
	long pages = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * 4;
}

static void count_output(void *ctx, int stream, const char *bytes, size_t n)
{
	(void)stream;
	(void)bytes;
	*(size_t *)ctx += n;
}

static int run_echo(const char *agent, int i)
{
	char text[32];
	const char *argv[] = {"sh", "-c", "echo $1; exit $(($1 % 7))", "x", text};
	size_t seen = 0;
	struct run_request r = {.agent = agent,
		.argv = argv,
		.argc = 5,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = count_output,
		.ctx = &seen,
		.cancel_fd = -1,
		.resize_fd = -1};
	struct run_result out;
	struct err e = ERR_INIT;

	snprintf(text, sizeof text, "%d", i);
	if (agents_run(&r, &out, &e)) {
		printf("command %d: %s\n", i, e.msg);
		return -1;
	}
	if (out.ended != ENDED_EXIT || out.exit_code != i % 7 || seen != strlen(text) + 1) {
		printf("command %d: %s %d, %zu bytes\n", i, run_ended_name(out.ended),
			out.exit_code, seen);
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 1000, fds, threads, bad = 0;
	long before;

	if (argc < 2)
		return 2;
	for (int i = 0; i < 20; i++)
		bad |= run_echo(argv[1], i);
	fds = count_dir_entries("/proc/self/fd");
	threads = count_dir_entries("/proc/self/task");
	before = resident_kib();
	for (int i = 0; i < n && !bad; i++)
		bad |= run_echo(argv[1], i);
	printf("descriptors %d to %d, threads %d to %d, memory %ld to %ld KiB\n", fds,
		count_dir_entries("/proc/self/fd"), threads, count_dir_entries("/proc/self/task"),
		before, resident_kib());
	/* A sanitizer keeps freed memory back for a while: room for that, not for a leak of each command. */
	return bad || count_dir_entries("/proc/self/fd") != fds ||
		count_dir_entries("/proc/self/task") != threads || resident_kib() > before + 32768;
}
