/* engine.c - creates fleets of containers, runs the fake engine, and measures processes. */
#include "peers/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "engine/sync.h"
#include "peers/docker.h"

static struct engine_sync *open_bench_engine(char url[FLEET_URL_MAX], struct err *e)
{
	struct engine_sync *s = NULL;
	struct endpoint ep;
	struct mini look;

	if (mini_open(&look, e) < 0)
		return NULL;
	mini_url(&look, url, FLEET_URL_MAX);
	if (!mini_image(&look, BOX, e) && !bench_endpoint(&ep, e)) {
		s = sync_open(&ep, e);
		endpoint_release(&ep);
	}
	mini_close(&look);
	return s;
}

int fleet_start(struct fleet *f, const char *prefix, size_t n, struct err *e)
{
	struct engine_sync *s = open_bench_engine(f->engine, e);
	int result = s ? 0 : -1;

	f->n = 0;
	for (size_t i = 0; !result && i < n && i < FLEET_MAX; i++) {
		AUTO_STR struct str target = STR_INIT, reply = STR_INIT;
		const char *id;

		str_addf(&target, "/containers/create?name=%s-%02zu", prefix, i + 1);
		result = sync_ask(s, "create %s", prefix, "POST", target.s,
			"{\"Image\":\"" BOX
			"\",\"Cmd\":[\"sleep\",\"100000\"],\"StopSignal\":\"SIGKILL\","
			"\"HostConfig\":{\"NetworkMode\":\"none\"}}",
			0, &reply, e);
		if (result)
			break;
		id = strstr(reply.s, "\"Id\":\"");
		if (!id) {
			result = err_set(e, ERR_FAILED, "the engine did not say the id");
			break;
		}
		snprintf(f->id[f->n], sizeof f->id[0], "%.64s", id + 6);
		result = sync_act(s, ACT_START, f->id[f->n++], false, false, -1, e);
	}
	sync_close(s);
	if (result)
		fleet_end(f);
	return result;
}

void fleet_end(struct fleet *f)
{
	struct engine_sync *s = f->n ? open_bench_engine(f->engine, NULL) : NULL;

	for (size_t i = 0; s && i < f->n; i++)
		sync_act(s, ACT_REMOVE, f->id[i], true, true, -1, NULL);
	sync_close(s);
	f->n = 0;
}

static bool answers_ping(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte;

	snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
	return fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof to) &&
		write(fd, "GET /_ping HTTP/1.1\r\nHost: x\r\n\r\n", 32) == 32 &&
		read(fd, &byte, 1) == 1;
}

static size_t read_process_file(const char *path, char *buf, size_t cap)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, cap - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

/* The scripted engine is a test's: in the source tree, and only the build tree knows where that is. */
static int find_script(char path[PATH_MAX], struct err *e)
{
	char tree[PATH_MAX - 64];

	if (!read_process_file(program_path("source-tree"), tree, sizeof tree))
		return err_set(e, ERR_NOT_FOUND,
			"the scripted engine is only in berth's source tree: measure with bench/run there");
	snprintf(path, PATH_MAX, "%s/tests/scenario/fake_engine.py", tree);
	return access(path, R_OK)
		? err_set(e, ERR_NOT_FOUND, "the scripted engine %s is not there", path)
		: 0;
}

static int launch_fake(struct fake *f, struct err *e)
{
	char file[128], sock[96], script[PATH_MAX];

	if (find_script(script, e) < 0)
		return -1;
	snprintf(file, sizeof file, "%s/scenario.json", f->dir);
	snprintf(sock, sizeof sock, "%s/s", f->dir);
	f->pid = fork();
	if (f->pid == 0) {
		execlp("python3", "python3", script, sock, file, (char *)NULL);
		_exit(127);
	}
	for (int64_t until = clock_mono_ns() + 10000000000; clock_mono_ns() < until;) {
		if (answers_ping(sock))
			return 0;
		if (waitpid(f->pid, NULL, WNOHANG) == f->pid)
			break;
		usleep(1000);
	}
	return err_set(e, ERR_FAILED, "the scripted engine did not start (python3 is needed)");
}

int fake_start(struct fake *f, const char *scenario, struct err *e)
{
	char file[128], script[PATH_MAX];
	FILE *out;

	memset(f, 0, sizeof *f);
	snprintf(f->dir, sizeof f->dir, "/tmp/berth-bench-XXXXXX");
	if (find_script(script, e) < 0)
		return -1;
	if (!mkdtemp(f->dir))
		return err_sys(e, errno, "cannot make %s", f->dir);
	snprintf(file, sizeof file, "%s/scenario.json", f->dir);
	snprintf(f->url, sizeof f->url, "unix://%s/s", f->dir);
	out = fopen(file, "we");
	if (!out || fputs(scenario, out) < 0 || fclose(out))
		return err_sys(e, errno, "cannot write %s", file);
	return launch_fake(f, e);
}

int fake_restart(struct fake *f, struct err *e)
{
	char sock[96];

	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	snprintf(sock, sizeof sock, "%s/s", f->dir);
	unlink(sock);
	return launch_fake(f, e);
}

void fake_end(struct fake *f)
{
	char path[128];

	if (f->pid > 0) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
	}
	snprintf(path, sizeof path, "%s/s", f->dir);
	unlink(path);
	snprintf(path, sizeof path, "%s/scenario.json", f->dir);
	unlink(path);
	rmdir(f->dir);
}

double cpu_of_pid(pid_t pid)
{
	char path[64], text[1024], *at;
	unsigned long user, system;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (!read_process_file(path, text, sizeof text) || !(at = strrchr(text, ')')) ||
		sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			&system) != 2)
		return 0;
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double cpu_of_matching(const char *word)
{
	struct dirent *entry;
	double sum = 0;
	AUTO_CLOSEDIR DIR *d = opendir("/proc");

	while (d && (entry = readdir(d))) {
		char path[300], line[4096];
		size_t n;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
		n = read_process_file(path, line, sizeof line);
		if (n && memmem(line, n, word, strlen(word)))
			sum += cpu_of_pid((pid_t)atoi(entry->d_name));
	}
	return sum;
}

double rss_of_pid(pid_t pid)
{
	char path[64], text[256];
	unsigned long pages = 0;

	snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	if (!read_process_file(path, text, sizeof text) || sscanf(text, "%*u %lu", &pages) != 1)
		return 0;
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

const char *program_path(const char *name)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, sizeof path - (size_t)(slash ? slash + 1 - path : 0),
		"%s", name);
	return path;
}
