/* files_lib.c - provides scratch trees, cold caches and other programs for the suites of the file engine. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>
#include <berth/str.h>

#include "suites/files.h"

static char top[PATH_MAX]; /* of this process; its scratch trees lie in it until the end */
static pid_t top_owner;

static void remove_top(void)
{
	const char *argv[] = {"rm", "-rf", top, NULL};

	if (getpid() == top_owner && chdir("/") == 0)
		run_program(argv, NULL, NULL);
}

static int make_top(struct err *e)
{
	const char *base = getenv("BERTH_SCRATCH");
	AUTO_CLOSE int fd = -1;
	int flags = 0;

	/* /var/tmp: a disk, where /tmp may be memory. */
	snprintf(top, sizeof top, "%s/berth-bench.XXXXXX", base ? base : "/var/tmp");
	if (!mkdtemp(top))
		return err_sys(e, errno, "cannot make %s", top);
	top_owner = getpid();
	atexit(remove_top);
	/* ext4 then puts every tree into a part of the disk of its own, where no inodes were given
	 * up a moment ago: looking for one that may be used would be what is measured. */
	fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
		flags |= FS_TOPDIR_FL;
		(void)!ioctl(fd, FS_IOC_SETFLAGS, &flags);
	}
	return 0;
}

int scratch_init(struct scratch *s, struct err *e)
{
	if (top_owner != getpid() && make_top(e) < 0)
		return -1;
	if (snprintf(s->path, sizeof s->path, "%s/XXXXXX", top) >= (int)sizeof s->path ||
		!mkdtemp(s->path))
		return err_sys(e, errno, "cannot make a directory in %s", top);
	return 0;
}

void scratch_release(struct scratch *s)
{
	s->path[0] = '\0';
}

static int make_scratch_parents(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -1;
		*at = '/';
	}
	return 0;
}

int scratch_file(
	const struct scratch *s, const char *name, size_t size, uint64_t seed, struct err *e)
{
	static const char letters[] =
		"etaoin shrdlu cmfwyp vbgkjqxz ETAOIN 0123456789_();{}=->\n\n\n";
	AUTO_FREE char *path = xasprintf("%s/%s", s->path, name);
	AUTO_FREE char *text = xmalloc(size + 1);
	AUTO_CLOSE int fd = -1;

	for (size_t i = 0; i < size; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		text[i] = letters[(seed >> 33) % (sizeof letters - 1)];
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno == ENOENT && make_scratch_parents(path) == 0)
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		return err_sys(e, errno, "cannot write %s", path);
	return 0;
}

static struct scratch shared;

static int fill_shared(size_t n, struct err *e)
{
	for (size_t i = 0; i < n + 4; i++) {
		size_t size = i < n ? 600 + i * 7919 % 900 : 8u << 20;
		AUTO_FREE char *name =
			xasprintf("t%zu/s%zu/d%zu/file%zu.txt", i / 6400, i / 800, i / 80, i);

		if (scratch_file(&shared, name, size, i, e) < 0)
			return -1;
		if (i % 317 == 0) {
			AUTO_FREE char *path = xasprintf("%s/%s", shared.path, name);
			FILE *f = fopen(path, "a");

			if (!f)
				return err_sys(e, errno, "cannot write %s", path);
			fprintf(f, "\nneedle %s text%zu %zu\n", i % 2 ? "of" : "pg", i, i);
			fclose(f);
		}
	}
	return 0;
}

const char *shared_tree(size_t n, struct err *e)
{
	static size_t made;

	if (made == n)
		return shared.path;
	if (made)
		scratch_release(&shared);
	made = 0;
	if (scratch_init(&shared, e) < 0)
		return NULL;
	if (fill_shared(n, e) < 0)
		return NULL;
	made = n;
	return shared.path;
}

int drop_caches(struct err *e)
{
	AUTO_CLOSE int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);

	sync();
	if (fd < 0 || write(fd, "3", 1) != 1)
		return err_set(e, ERR_NOT_FOUND, "dropping caches takes root and a writable /proc");
	return 0;
}

static void collect_output(int fd, struct str *out)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(fd, buf, sizeof buf)) > 0)
		str_add(out, buf, (size_t)n);
}

void set_or_unset(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

int run_program(const char *const argv[], struct str *out, struct err *e)
{
	int ends[2] = {-1, -1}, status, rc;
	pid_t pid;

	if (out && pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot make a pipe");
	rc = spawn_start(
		&(struct spawn){.path = argv[0], .argv = argv, .out = out ? ends[1] : 0}, &pid);
	if (out)
		close(ends[1]);
	if (rc == 0 && out)
		collect_output(ends[0], out);
	if (out)
		close(ends[0]);
	if (rc != 0)
		return err_sys(e, rc, "cannot run %s", argv[0]);
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return err_set(e, ERR_FAILED, "%s did not exit", argv[0]);
	return WEXITSTATUS(status);
}

bool have_program(const char *name)
{
	AUTO_FREE char *command = xasprintf("command -v %s >/dev/null 2>&1", name);

	return system(command) == 0;
}

const char *berth_program(void)
{
	static char path[PATH_MAX];

	return runtime_program("berth", path, NULL) == 0 ? path : NULL;
}

const char *kernel_tree(bool smoke, struct err *e)
{
	static struct scratch unpacked;
	AUTO_FREE char *command = NULL;
	glob_t found;
	bool there = glob("/usr/src/linux-source-*.tar.xz", 0, NULL, &found) == 0;
	const char *argv[] = {"sh", "-c", NULL, NULL};

	if (unpacked.path[0]) {
		globfree(&found);
		return unpacked.path;
	}
	if (!there || smoke) {
		globfree(&found);
		return err_null(err_set(e, ERR_NOT_FOUND,
			smoke ? "the kernel's source is not unpacked for a smoke run"
			      : "install linux-source"));
	}
	if (scratch_init(&unpacked, e) == 0) {
		command = xasprintf("tar -C '%s' -xf '%s'", unpacked.path, found.gl_pathv[0]);
		argv[2] = command;
		if (run_program(argv, NULL, e) != 0) {
			unpacked.path[0] = '\0';
			err_set(e, ERR_FAILED, "%s cannot be unpacked", found.gl_pathv[0]);
		}
	}
	globfree(&found);
	return unpacked.path[0] ? unpacked.path : NULL;
}

const char *fastapi_tree(struct err *e)
{
	static const char path[] = "/usr/lib/python3/dist-packages/fastapi";

	return access(path, R_OK) == 0
		? path
		: err_null(err_set(e, ERR_NOT_FOUND, "install python3-fastapi"));
}

/* Reads a second at one depth. */
static double run_fio(const char *depth)
{
	AUTO_FREE char *file = xasprintf("--filename=%s/fio", top);
	AUTO_FREE char *iodepth = xasprintf("--iodepth=%s", depth);
	const char *argv[] = {"fio", "--name=overlap", file, iodepth, "--size=64M", "--rw=randread",
		"--bs=8k", "--direct=1", "--ioengine=libaio", "--runtime=1", "--time_based",
		"--minimal", NULL};
	AUTO_STR struct str out = STR_INIT;
	const char *at;

	if (run_program(argv, &out, NULL) != 0)
		return 0;
	/* Terse output, version 3: the eighth field is the rate of reads. */
	at = out.s;
	for (int i = 0; i < 7 && at; i++) {
		at = strchr(at, ';');
		at = at ? at + 1 : NULL;
	}
	return at ? strtod(at, NULL) : 0;
}

double note_overlap(struct bench_run *r, size_t files)
{
	static double one, many;
	double q, least;

	if (bench_smoke(r) || !have_program("fio"))
		return 0;
	if (one <= 0 && (top_owner == getpid() || make_top(NULL) == 0)) {
		one = run_fio("1");
		many = run_fio("64");
	}
	if (one <= 0)
		return 0;
	q = many / one;
	least = 0.8 * (q < (double)files ? q : (double)files);
	bench_note(r,
		"fio: %.0f reads/s one at a time, %.0f with 64 at once: the disk overlaps %.1f; "
		"0.8 x min(files, that) is %.1f",
		one, many, q, least);
	return q;
}

struct files *bench_files(unsigned cpu_width, unsigned avoid)
{
	const char *depth = getenv("BERTH_IO_DEPTH"); /* to find the best one for a device */

	return files_open(&(struct files_options){
		.program = "bench",
		.cpu_width = cpu_width,
		.io_depth = depth ? (unsigned)atoi(depth) : 0,
		.avoid = avoid | FILES_AVOID_BOARD,
	});
}
