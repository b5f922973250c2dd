/*
 * shipped.c - builds the images of configs/images and their bases.
 *
 * An image is a Dockerfile and a list of Debian packages, both built into the program.  Where mmdebstrap
 * is, its base is made on this machine with all its packages, so that the build itself needs neither
 * registry nor network; the base stays, with a hash of the list and of how it is made as its label, until either
 * changes.
 */
#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/evp.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/config.h>
#include <berth/file.h>
#include <berth/hex.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#define REGISTRY_BASE "debian:bookworm-slim"
#define PACKAGES_MAX 256
#define GRACE_MS 10000

struct packages {
	size_t n;
	char *name[PACKAGES_MAX];
	struct str list; /* one a line */
	char hash[17];
};

static void packages_release(struct packages *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->name[i]);
	str_release(&p->list);
}

static const char *read_embedded(const char *image, const char *file, size_t *len)
{
	AUTO_FREE char *path = xasprintf("configs/images/%s%s%s", image, *image ? "/" : "", file);
	const char *text = embedded_file(path, len);

	CHECK(text);
	return text;
}

/* One a line, # begins a comment. */
static void packages_read(const struct image_shipped *what, struct packages *p)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	AUTO_STR struct str all = STR_INIT;
	size_t script_len;
	const char *script = read_embedded("", "make-base", &script_len);
	unsigned n = 0;

	str_init(&p->list);
	for (size_t i = 0; what->sets[i]; i++) {
		size_t len;
		const char *text = read_embedded(what->sets[i], "packages", &len),
			   *end = text + len;

		while (text < end) {
			size_t line = strcspn(text, "\n"), word = strcspn(text, " \t#\n");

			if (word) {
				CHECK(p->n < PACKAGES_MAX);
				p->name[p->n++] = xstrndup(text, word);
				str_addf(&p->list, "%s\n", p->name[p->n - 1]);
			}
			text += line + 1;
		}
	}
	str_add(&all, p->list.s, p->list.len);
	str_add(&all, script, script_len);
	CHECK(EVP_Digest(all.s, all.len, digest, &n, EVP_sha256(), NULL) && n >= 8);
	hex_text(p->hash, digest, 8);
}

static bool is_in_path(const char *name)
{
	const char *path = getenv("PATH");

	for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
		size_t n = strcspn(at, ":");
		AUTO_FREE char *file = xasprintf("%.*s/%s", (int)n, at, name);

		if (n && !access(file, X_OK))
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}

/* ---- a base made here */

static pid_t start_script(char **argv, int out, int said)
{
	pid_t pid = spawn_fork();

	if (pid)
		return pid;
	setpgid(0, 0);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	dup2(open("/dev/null", O_RDONLY), 0);
	dup2(out, 1);
	dup2(said, 2);
	setenv("LC_ALL", "C.UTF-8", 1);
	execvp(argv[0], argv);
	_exit(127);
}

/* What it says are our lines; a request to stop goes to all that it started. */
static int attend_program(struct images *im, pid_t pid, int said)
{
	int64_t asked_ns = 0;
	int status = -1;
	bool open = true;
	char buf[4096];

	while (open || waitpid(pid, &status, WNOHANG) == 0) {
		struct pollfd p = {open ? said : -1, POLLIN, 0};
		ssize_t n;

		poll(&p, 1, 100);
		if (p.revents) {
			n = read(said, buf, sizeof buf);
			if (n > 0) {
				image_print(im, buf, (size_t)n);
				if (im->nkept)
					image_current(
						im, im->kept[(im->nkept - 1) % IMAGE_LINES_KEPT]);
			} else if (n == 0 || errno != EINTR) {
				open = false;
			}
		}
		if (image_stop(im) && !asked_ns) {
			asked_ns = clock_mono_ns();
			kill(-pid, SIGTERM);
		} else if (asked_ns && clock_mono_ns() - asked_ns > GRACE_MS * 1000000LL) {
			kill(-pid, SIGKILL);
		}
	}
	image_flush(im);
	return status;
}

static int run_script(
	struct images *im, const struct packages *p, bool busybox, int out, struct err *e)
{
	size_t len;
	const char *text = read_embedded("", "make-base", &len);
	AUTO_FREE char *script = xstrndup(text, len);
	char *argv[PACKAGES_MAX + 6] = {(char *)"bash", (char *)"-c"};
	int ends[2], status;
	size_t n = 2;
	pid_t pid;

	argv[n++] = script;
	argv[n++] = (char *)"make-base";
	if (busybox)
		argv[n++] = (char *)"--busybox";
	for (size_t i = 0; i < p->n && !busybox; i++)
		argv[n++] = p->name[i];
	if (pipe2(ends, O_CLOEXEC))
		return err_sys(e, errno, "cannot make a pipe");
	pid = start_script(argv, out, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return err_sys(e, errno, "cannot start bash");
	}
	status = attend_program(im, pid, ends[0]);
	close(ends[0]);
	if (image_stop(im))
		return err_set(e, ERR_CANCELLED, "cancelled");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(e, ERR_FAILED,
			"the base could not be built here, its last output is above; "
			"--base IMAGE builds on another one.");
	return 0;
}

static int make_base(struct images *im, const struct packages *p, bool busybox,
	const char *reference, struct err *e)
{
	AUTO_CLOSE int fd = file_temporary(e);
	AUTO_FREE char *change = xasprintf("LABEL berth.base=%s", p->hash);

	if (fd < 0)
		return -1;
	image_current(im, busybox ? "a base of busybox" : "a base of Debian packages");
	if (run_script(im, p, busybox, fd, e))
		return -1;
	if (lseek(fd, 0, SEEK_SET))
		return err_sys(e, errno, "cannot read the base that was made");
	return image_send(im, fd, "the base", reference, change, e);
}

/* *base is what to build on: given, there already, made now, or the registry's. */
static int choose_base(struct images *im, const struct image_shipped *what,
	const struct packages *p, char base[IMAGE_REFERENCE_MAX], struct err *e)
{
	bool debian = is_in_path("mmdebstrap");
	bool busybox = !debian && !strcmp(what->name, "shell") && is_in_path("busybox");
	char label[32];
	int there;

	snprintf(base, IMAGE_REFERENCE_MAX, "berth/base:%s", what->name);
	there = image_look(im, base, NULL, "berth.base", label, sizeof label, e);
	if (there < 0)
		return -1;
	if (there && !strcmp(label, p->hash))
		return 0;
	if (debian || busybox)
		return make_base(im, p, busybox, base, e);
	snprintf(base, IMAGE_REFERENCE_MAX, REGISTRY_BASE);
	return 0;
}

static int build_shipped(struct images *im, const struct image_shipped *what,
	const struct image_build *given, const char *base, struct err *e)
{
	struct image_build b = *given;
	struct packages p = {0};
	char chosen[IMAGE_REFERENCE_MAX], label[64];
	const char *args[1];
	AUTO_FREE char *arg = NULL;
	AUTO_CLOSE int fd = -1;
	struct image_file file[2] = {{.name = "Dockerfile"}, {.name = "packages"}};
	int rc = 0;

	packages_read(what, &p);
	if (base)
		snprintf(chosen, sizeof chosen, "%s", base);
	else
		rc = choose_base(im, what, &p, chosen, e);
	arg = xasprintf("BASE=%s", chosen);
	args[0] = arg;
	b.args = args;
	b.nargs = 1;
	file[0].bytes = read_embedded(what->name, "Dockerfile", &file[0].len);
	file[1].bytes = p.list.s;
	file[1].len = p.list.len;
	snprintf(label, sizeof label, "{\"berth.image\":\"%s\"}", what->name);
	if (!rc)
		rc = context_of_files(file, 2, &fd, e);
	if (!rc)
		rc = image_build_fd(im, fd, "Dockerfile", &b, label, e);
	packages_release(&p);
	return rc;
}

int images_build_shipped(struct images *im, const struct image_shipped *what,
	const struct image_build *given, const char *base, struct image_made *ret, struct err *e)
{
	struct image_build b = *given;
	struct image_operation d = {.made = ret};
	struct err err = ERR_INIT;
	char tag[IMAGE_REFERENCE_MAX], on[IMAGE_REFERENCE_MAX];

	memset(ret, 0, sizeof *ret);
	if (image_reference(b.tag ? b.tag : what->tag, tag, e) ||
		(base && image_reference(base, on, e)))
		return -1;
	b.tag = tag;
	if (image_begin(im, &d, OP_IMAGE_BUILD, tag, "image", what->name, "steps", e))
		return -1;
	build_shipped(im, what, &b, base ? on : NULL, &err);
	return image_end(im, &d, tag, &err, e);
}
