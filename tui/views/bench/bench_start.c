/* bench_start.c - spawning, and what is left of it. */
#include "views/bench/bench_start.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/text.h>

#define FOLDER "bench"
#define SUFFIX ".live"

extern char **environ;

static int live_folder(char *buf, size_t cap, struct err *e)
{
	char dir[PATH_MAX];

	return runtime_dir(dir, sizeof dir, e) < 0 ? -1 : runtime_subdir(buf, cap, dir, FOLDER, e);
}

/* The program beside this one. */
static int bench_program(char *buf, size_t cap, struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", buf, cap - 16);
	char *slash;

	if (n < 0)
		return err_sys(e, errno, "cannot tell where berth is installed (/proc/self/exe)");
	buf[n] = '\0';
	slash = strrchr(buf, '/');
	snprintf(slash ? slash + 1 : buf, 16, "berth-bench");
	return access(buf, X_OK) == 0 ? 0 : err_sys(e, errno, "cannot run %s", buf);
}

/* Files of runs that ended; whoever still reads one has it open. */
static void remove_old_files(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *f;

	while (d && (f = readdir(d)))
		if (f->d_name[0] != '.')
			unlinkat(dirfd(d), f->d_name, 0);
	if (d)
		closedir(d);
}

/* Our environment and the engine; setenv would change what the backend's thread reads meanwhile.
 * The caller frees the array and, unless it is NULL, *ret_told. */
static char **environment_with(const char *engine, char **ret_told)
{
	size_t n = 0;
	char **env;

	while (environ[n])
		n++;
	env = xcalloc(n + 2, sizeof *env);
	memcpy(env, environ, n * sizeof *env);
	*ret_told = NULL;
	if (engine && !getenv("BERTH_BENCH_ENGINE"))
		env[n] = *ret_told = xasprintf("BERTH_BENCH_ENGINE=%s", engine);
	return env;
}

int bench_start(struct bench_process *p, const char *const *words, size_t n, const char *engine,
	struct err *e)
{
	const char *argv[BENCH_WORDS_MAX + 6] = {
		"berth-bench", "bench", "run", "--follow", p->live};
	char dir[PATH_MAX - 64], path[PATH_MAX];
	AUTO_FREE char *told = NULL;
	AUTO_FREE char **env = environment_with(engine, &told);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	if (live_folder(dir, sizeof dir, e) < 0 || bench_program(path, sizeof path, e) < 0)
		return -1;
	remove_old_files(dir);
	snprintf(p->live, sizeof p->live, "%s/%d-%lld" SUFFIX, dir, (int)getpid(),
		(long long)time(NULL));
	snprintf(p->says, sizeof p->says, "%s/%d.says", dir, (int)getpid());
	for (size_t i = 0; i < n && i < BENCH_WORDS_MAX; i++)
		argv[5 + i] = words[i];
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(
		&actions, 2, p->says, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
	posix_spawnattr_init(&attr);
	/* A group of its own: what the terminal sends to us is not for it. */
	posix_spawnattr_setflags(
		&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	rc = posix_spawn(&p->pid, path, &actions, &attr, (char *const *)argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (rc == 0)
		return 0;
	p->pid = 0;
	return err_sys(e, rc, "cannot start %s", path);
}

void bench_stop(struct bench_process *p)
{
	if (p->pid > 0)
		kill(p->pid, SIGTERM);
	p->pid = 0;
}

static void last_line(const char *path, char *buf, size_t cap)
{
	FILE *f = fopen(path, "re");
	char line[1024], kept[1024] = "";

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "berth: ", 7))
			snprintf(kept, sizeof kept, "%s", line + 7);
	if (f)
		fclose(f);
	kept[strcspn(kept, "\n")] = '\0';
	text_clean(buf, cap, kept);
}

bool bench_ended(struct bench_process *p, int *code, char *sentence, size_t cap)
{
	int status;

	if (p->pid <= 0 || waitpid(p->pid, &status, WNOHANG) != p->pid)
		return false;
	p->pid = 0;
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	last_line(p->says, sentence, cap);
	return true;
}

bool bench_newest(char *path, size_t cap)
{
	char dir[PATH_MAX - 64];
	time_t newest = 0;
	struct dirent *f;
	bool found = false;
	DIR *d;

	if (live_folder(dir, sizeof dir, NULL) < 0 || !(d = opendir(dir)))
		return false;
	while ((f = readdir(d))) {
		const char *dot = strrchr(f->d_name, '.');
		struct stat st;

		if (!dot || strcmp(dot, SUFFIX) != 0 ||
			fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode) || st.st_mtime < newest)
			continue;
		newest = st.st_mtime;
		snprintf(path, cap, "%s/%.200s", dir, f->d_name);
		found = true;
	}
	closedir(d);
	return found;
}
