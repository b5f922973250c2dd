/* workspace.c - checks 34 to 44: what an agent puts into its workspace for the host's side to trip over. */
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * swapper SECRET SECONDS, in the workspace: exchanges the directory `tree` with a link to SECRET's directory and the
 * file `file` with a link to SECRET, as fast as it can, until there is a file `enough`, at most that long.  The host
 * reads, copies and deletes meanwhile.
 */
void swapper(const struct words *w)
{
	const char *secret = word_or(w, 0, "/etc/passwd");
	double until = now() + atof(word_or(w, 1, "2"));
	char dir[PATH_MAX];
	long n = 0;

	snprintf(dir, sizeof dir, "%s", secret);
	*strrchr(dir, '/') = '\0';
	unlink("link-file");
	unlink("link-tree");
	if (symlink(secret, "link-file") || symlink(dir, "link-tree"))
		report(36, false, "no links to swap: %s", strerrorname_np(errno));
	while (now() < until && access("enough", F_OK)) {
		renameat2(AT_FDCWD, "file", AT_FDCWD, "link-file", RENAME_EXCHANGE);
		renameat2(AT_FDCWD, "tree", AT_FDCWD, "link-tree", RENAME_EXCHANGE);
		n++;
	}
	report(36, n > 100, "%ld swaps", n);
}

static void make_deep_tree(int levels)
{
	int made = 0;

	if (mkdir("deep", 0755) || chdir("deep"))
		return;
	for (made = 1; made < levels && !mkdir("d", 0755) && !chdir("d"); made++)
		;
	report(40, made == levels, "a tree %d deep", made);
}

static void make_wide_dir(int entries)
{
	char name[32];
	int n;

	if (mkdir("wide", 0755))
		return;
	for (n = 0; n < entries; n++) {
		snprintf(name, sizeof name, "wide/%d", n);
		if (mknod(name, S_IFREG | 0644, 0))
			break;
	}
	report(40, n == entries, "%d entries in one directory", n);
}

static void make_odd_names(void)
{
	static const char *const odd[] = {"new\nline", "tab\there", "\xff\xfe invalid",
		"\xe2\x80\xae rtl", "\xf0\x9f\x92\xa3 emoji", "\x1b[31mred", "\x1b]0;title\x07",
		"\x9b"
		"31m",
		"-rf", "--", "*", "$(id)", "`id`", "a;b", "a\"b", "a'b", "a\\b", " lead", "trail ",
		"...", "\x01\x02\x7f", "caf\xc3\xa9", "cafe\xcc\x81"};
	char longest[256];
	int fd, n = 0;

	mkdir("names", 0755);
	memset(longest, 'n', 255);
	longest[255] = '\0';
	if (chdir("names"))
		return;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		fd = open(odd[i], O_WRONLY | O_CREAT, 0644);
		n += fd >= 0 && write(fd, "named\n", 6) == 6;
		close(fd);
	}
	fd = open(longest, O_WRONLY | O_CREAT, 0644);
	n += fd >= 0;
	close(fd);
	report(39, n == sizeof odd / sizeof *odd + 1, "%d odd names", n);
	if (chdir(".."))
		return;
}

static void make_special_files(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "special/socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	mkdir("special", 0755);
	report(38, !mkfifo("special/fifo", 0666), "a FIFO");
	report(38, !bind(fd, (struct sockaddr *)&at, sizeof at), "a socket");
	refused(38, "a device", mknod("special/zero", S_IFCHR | 0666, 0x105),
		(const int[]){EPERM, 0});
	fd = open("special/plain", O_WRONLY | O_CREAT, 0644);
	report(38, write(fd, "plain needle\n", 13) == 13, "a file beside them");
	close(fd);
}

static void make_closed_dir(void)
{
	mkdir("closed", 0755);
	mkdir("closed/in", 0755);
	close(open("closed/in/file", O_WRONLY | O_CREAT, 0));
	chmod("closed/in", 0);
	chmod("closed", 0);
}

/* What would run on the host if anything there took it for its own. */
static void set_traps(const char *marker)
{
	static const char *const hooks[] = {"pre-commit", "post-checkout", "post-merge",
		"fsmonitor", "reference-transaction", "pre-auto-gc", "post-index-change"};
	char path[PATH_MAX], script[PATH_MAX];
	FILE *f;

	mkdir(".git", 0755);
	mkdir(".git/hooks", 0755);
	mkdir(".berth", 0755);
	snprintf(script, sizeof script, "#!/bin/sh\ntouch %s\n", marker);
	for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
		snprintf(path, sizeof path, ".git/hooks/%s", hooks[i]);
		f = fopen(path, "w");
		if (f) {
			fputs(script, f);
			fclose(f);
		}
		chmod(path, 0755);
	}
	f = fopen(".git/config", "w");
	if (f) {
		fprintf(f,
			"[core]\n\tfsmonitor = touch %s\n\tpager = touch %s\n\tsshCommand = touch %s\n"
			"[alias]\n\tstatus = !touch %s\n",
			marker, marker, marker, marker);
		fclose(f);
	}
	f = fopen(".git/HEAD", "w");
	if (f) {
		fputs("ref: refs/heads/main\n", f);
		fclose(f);
	}
	mkdir(".git/objects", 0755);
	mkdir(".git/refs", 0755);
	f = fopen("berth.yaml", "w");
	if (f) {
		fprintf(f, "secrets: {x: {command: [touch, %s]}}\nread_only: true\n", marker);
		fclose(f);
	}
	report(43, f != NULL, "hooks, git configuration and a berth.yaml that would leave %s",
		marker);
}

/* litter SECRET RO_FILE MARKER ENTRIES, in the workspace. */
void litter(const struct words *w)
{
	const char *secret = word_or(w, 0, "/etc/passwd"), *ro = word_or(w, 1, "/x"),
		   *marker = word_or(w, 2, "/tmp/x");
	char dir[PATH_MAX], top[PATH_MAX];

	if (!getcwd(top, sizeof top))
		return;
	snprintf(dir, sizeof dir, "%s", secret);
	*strrchr(dir, '/') = '\0';
	report(34, !symlink(secret, "absolute") && !symlink(dir, "absolute-dir"), "links to %s",
		secret);
	mkdir("nest", 0755);
	mkdir("nest/inner", 0755);
	report(35,
		!symlink(secret, "nest/inner/link") && !symlink(dir, "nest/inner/dir") &&
			!symlink("../../..", "nest/inner/up"),
		"links in a tree");
	close(open("nest/inner/file", O_WRONLY | O_CREAT, 0644));
	refused(37, "a hard link to a read-only file", link(ro, "hard"),
		(const int[]){EXDEV, EROFS, EPERM, 0});
	make_special_files();
	make_odd_names();
	make_wide_dir(atoi(word_or(w, 3, "100000")));
	report(40,
		!symlink("loop-b", "loop-a") && !symlink("loop-a", "loop-b") &&
			!symlink(".", "self"),
		"links in a circle");
	set_traps(marker);
	make_closed_dir();
	make_deep_tree(1000);
	if (chdir(top))
		return;
}
