/* armour.c - chooses a container's AppArmor profile, and loads berth's own. */
#include "container/armour.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/apparmor.h>
#include <berth/clock.h>
#include <berth/config.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#define LOAD_MS 60000 /* an emulated machine needs some seconds */
#define OUTPUT_MAX 512

const char *armour_choose(bool here, bool loaded, const char *product, bool optional)
{
	if (!here || optional)
		return NULL;
	if (loaded)
		return APPARMOR_OURS;
	return product_named(product)->apparmor;
}

const char *armour_of(const struct engine_info *engine, bool optional)
{
	bool here = apparmor_here();

	return armour_choose(here, here && apparmor_loaded(APPARMOR_POLICY, APPARMOR_OURS),
		engine->product, optional);
}

/* The first line that it says; 0: to its end, -1: its time is over. */
static int read_first_line(int fd, char out[OUTPUT_MAX])
{
	int64_t deadline = clock_mono_ns() + (int64_t)LOAD_MS * 1000000;
	struct pollfd p = {fd, POLLIN, 0};
	char rest[OUTPUT_MAX];
	size_t n = 0;
	int result = -1;

	for (;;) {
		int64_t left = (deadline - clock_mono_ns()) / 1000000;
		bool full = n == OUTPUT_MAX - 1;
		ssize_t r;

		if (left <= 0 || poll(&p, 1, (int)left) < 0)
			break;
		if (!p.revents)
			continue;
		r = read(fd, full ? rest : out + n, full ? sizeof rest : OUTPUT_MAX - 1 - n);
		result = r ? -1 : 0;
		if (r <= 0)
			break;
		n += full ? 0 : (size_t)r;
	}
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return result;
}

static int run_parser(const char *parser, int profile, char said[OUTPUT_MAX], int *status)
{
	const char *const argv[] = {parser, "--replace", "--skip-cache", "--quiet", NULL};
	char *const no_environment[] = {NULL};
	struct spawn program = {.path = parser, .argv = argv, .env = no_environment, .in = profile};
	AUTO_CLOSE int from = -1;
	int p[2], bad;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC))
		return errno;
	from = p[0];
	program.out = program.err = p[1];
	bad = spawn_start(&program, &pid);
	close(p[1]);
	if (bad)
		return bad;
	if (read_first_line(from, said))
		kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return 0;
}

int agents_load_apparmor(struct err *e)
{
	static const char *const places[] = {"/usr/sbin/apparmor_parser", "/sbin/apparmor_parser"};
	const char *parser = !access(places[0], X_OK) ? places[0] : places[1], *text;
	AUTO_CLOSE int fd = -1;
	char said[OUTPUT_MAX];
	int status = 0, bad;
	size_t len;

	if (!apparmor_here())
		return err_set(e, ERR_FAILED, "this machine's kernel has no AppArmor.");
	if (geteuid())
		return err_set(e, ERR_REFUSED,
			"only root can load an AppArmor profile: sudo berth doctor --fix");
	if (access(parser, X_OK))
		return err_set(e, ERR_NOT_FOUND,
			"apparmor_parser is not installed: apt-get install apparmor, and restart the engine.");
	text = embedded_file("configs/berth-agent.apparmor", &len);
	fd = memfd_create("berth-agent", MFD_CLOEXEC);
	if (!text || fd < 0 || file_write(fd, text, len) < 0 || lseek(fd, 0, SEEK_SET))
		return err_sys(e, errno, "cannot hand the profile %s to %s", APPARMOR_OURS, parser);
	bad = run_parser(parser, fd, said, &status);
	if (bad)
		return err_sys(e, bad, "cannot run %s", parser);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(e, ERR_FAILED, "%s did not load the profile %s: %s", parser,
			APPARMOR_OURS, *said ? said : "no reason given");
	return 0;
}

void agents_offer_apparmor(void)
{
	if (!geteuid() && apparmor_here() && !apparmor_loaded(APPARMOR_POLICY, APPARMOR_OURS))
		(void)agents_load_apparmor(NULL);
}
