/* spawn.c - starts programs, detached children and threads. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/spawn.h>

extern char **environ;

static const short apart_flags[] = {
	[SPAWN_TOGETHER] = 0,
	[SPAWN_GROUP] = POSIX_SPAWN_SETPGROUP,
	[SPAWN_SESSION] = POSIX_SPAWN_SETSID,
};

static void direct_stream(posix_spawn_file_actions_t *actions, int fd, int to)
{
	if (fd)
		posix_spawn_file_actions_adddup2(actions, fd, to);
	else
		posix_spawn_file_actions_addopen(
			actions, to, "/dev/null", to ? O_WRONLY : O_RDONLY, 0);
}

int spawn_start(const struct spawn *p, pid_t *ret_pid)
{
	char *const *argv = (char *const *)(uintptr_t)p->argv,
		    *const *env = p->env ? p->env : environ;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int bad;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	direct_stream(&actions, p->in, 0);
	direct_stream(&actions, p->out, 1);
	direct_stream(&actions, p->err, 2);
	if (p->dir)
		posix_spawn_file_actions_addfchdir_np(&actions, p->dir);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr,
		(short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | apart_flags[p->apart]));
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	bad = posix_spawnp(ret_pid, p->path, &actions, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return bad;
}

/* As execve does it, but before any of them can arrive. */
static void reset_signals(void)
{
	struct sigaction now;
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		if (!sigaction(sig, NULL, &now) && now.sa_handler != SIG_IGN)
			signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

pid_t spawn_fork(void)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
	pid = fork();
	if (pid == 0)
		reset_signals();
	else
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

int spawn_orphan(void)
{
	pid_t pid = spawn_fork();
	int status = 0;

	if (pid < 0)
		return -1;
	if (pid == 0) {
		setsid();
		pid = fork();
		if (pid == 0)
			return 0;
		_exit(pid < 0 ? errno : 0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
	return errno ? -1 : 1;
}

int spawn_thread(pthread_t *ret, void *(*run)(void *), void *ctx)
{
	sigset_t all, before;
	int bad;

	sigfillset(&all);
	CHECK(pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
	bad = pthread_create(ret, NULL, run, ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return bad;
}
