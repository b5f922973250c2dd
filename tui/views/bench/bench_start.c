/* bench_start.c - starts `berth bench run` on a worker, and reads its files. */
#include "views/bench/bench_start.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>
#include <berth/text.h>

#define FOLDER "bench"
#define SUFFIX ".live"
#define READ_AT_ONCE ((size_t)256 << 10)

extern char **environ;

static int live_folder(char *buf, size_t cap, struct err *e)
{
	char dir[PATH_MAX];

	return runtime_dir(dir, sizeof dir, e) < 0 ? -1 : runtime_subdir(buf, cap, dir, FOLDER, e);
}

/* Files of runs that ended; whoever still reads one has it open. */
static void remove_old_files(const char *dir)
{
	AUTO_CLOSEDIR DIR *d = opendir(dir);
	struct dirent *f;

	while (d && (f = readdir(d)))
		if (f->d_name[0] != '.')
			unlinkat(dirfd(d), f->d_name, 0);
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

static int spawn_bench(struct bench_process *p, const struct bench_wish *w, struct err *e)
{
	const char *argv[BENCH_WORDS_MAX + 6] = {
		"berth-bench", "bench", "run", "--follow", p->live};
	char dir[PATH_MAX - 64], path[PATH_MAX];
	AUTO_FREE char *told = NULL;
	AUTO_FREE char **env = environment_with(w->engine, &told);
	AUTO_CLOSE int says = -1;
	int rc;

	if (live_folder(dir, sizeof dir, e) < 0 || runtime_program("berth-bench", path, e) < 0)
		return -1;
	remove_old_files(dir);
	snprintf(p->live, sizeof p->live, "%s/%d-%lld" SUFFIX, dir, (int)getpid(),
		(long long)time(NULL));
	snprintf(p->says, sizeof p->says, "%s/%d.says", dir, (int)getpid());
	for (size_t i = 0; i < w->nwords; i++)
		argv[5 + i] = w->word[i];
	says = open(p->says, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (says < 0)
		return err_sys(e, errno, "cannot write %s", p->says);
	rc = spawn_start(
		&(struct spawn){
			.path = path, .argv = argv, .env = env, .err = says, .apart = SPAWN_GROUP},
		&p->pid);
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

bool bench_ended(struct bench_process *p, int *code)
{
	int status;

	if (p->pid <= 0 || waitpid(p->pid, &status, WNOHANG) != p->pid)
		return false;
	p->pid = 0;
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return true;
}

static bool find_newest(char *path, size_t cap)
{
	char dir[PATH_MAX - 64];
	time_t newest = 0;
	struct dirent *f;
	bool found = false;
	AUTO_CLOSEDIR DIR *d = NULL;

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
	return found;
}

/* Another file may be named, and "" is none. */
static bool find_live_file(char *path, size_t cap)
{
	const char *told = getenv("BERTH_BENCH_LIVE");

	if (!told)
		return find_newest(path, cap);
	snprintf(path, cap, "%s", told);
	return *told;
}

static void follow_file(struct bench_trip *t, const char *path)
{
	if (t->fd < 0)
		t->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static void read_file_on(struct bench_trip *t)
{
	ssize_t n = 1;

	if (t->fd < 0)
		return;
	t->bytes = xmalloc(READ_AT_ONCE);
	while (t->nbytes < READ_AT_ONCE &&
		(n = read(t->fd, t->bytes + t->nbytes, READ_AT_ONCE - t->nbytes)) > 0)
		t->nbytes += (size_t)n;
	t->full = n > 0;
}

static struct own_suite *add_found(struct bench_trip *t)
{
	t->suite = mem_grow(t->suite, &t->cap, t->nsuites + 1, sizeof *t->suite);
	return &t->suite[t->nsuites++];
}

static void look_for_suites(struct bench_trip *t)
{
	if (t->wish.suites) {
		t->suite = mem_grow(t->suite, &t->cap, OWN_SUITES_MAX, sizeof *t->suite);
		t->nsuites = t->nfolder = own_suites(t->suite, OWN_SUITES_MAX);
	}
	for (size_t i = 0; i < t->wish.nothers; i++)
		own_suite_at(add_found(t), t->wish.others[i]);
	if (!t->wish.file)
		return;
	if (access(t->wish.file, R_OK) < 0)
		err_sys(&t->file_err, errno, "cannot read %s", t->wish.file);
	else
		own_suite_at(add_found(t), t->wish.file);
}

static void start_run(struct bench_trip *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	t->started = spawn_bench(&t->process, &t->wish, &t->start_err) == 0;
}

static void go_on_trip(struct view_work *work)
{
	struct bench_trip *t = (struct bench_trip *)work;
	char path[PATH_MAX];

	if (t->wish.nwords)
		start_run(t);
	if (t->wish.find && find_live_file(path, sizeof path)) {
		follow_file(t, path);
		t->found = t->fd >= 0;
	}
	if (*t->process.live)
		follow_file(t, t->process.live);
	read_file_on(t);
	if (t->wish.says)
		last_line(t->process.says, t->sentence, sizeof t->sentence);
	look_for_suites(t);
}

void bench_wish_clear(struct bench_wish *w)
{
	for (size_t i = 0; i < w->nwords; i++)
		free(w->word[i]);
	for (size_t i = 0; i < w->nothers; i++)
		free(w->others[i]);
	free(w->engine);
	free(w->file);
	*w = (struct bench_wish){0};
}

void bench_trip_clear(struct bench_trip *t)
{
	bench_wish_clear(&t->wish);
	free(t->bytes);
	free(t->suite);
	t->bytes = NULL;
	t->suite = NULL;
	t->nbytes = t->nsuites = t->nfolder = t->cap = 0;
	t->started = t->found = t->full = false;
	t->start_err = t->file_err = (struct err)ERR_INIT;
	t->sentence[0] = '\0';
}

/* A run that nobody learned of would go on without anybody to stop it. */
static void drop_trip(struct view_work *work)
{
	struct bench_trip *t = (struct bench_trip *)work;

	if (t->started)
		bench_stop(&t->process);
	bench_trip_clear(t);
	if (t->fd >= 0)
		close(t->fd);
	free(t);
}

struct bench_trip *bench_trip_new(void)
{
	struct bench_trip *t = xcalloc(1, sizeof *t);

	t->work = (struct view_work){go_on_trip, drop_trip};
	t->fd = -1;
	return t;
}
