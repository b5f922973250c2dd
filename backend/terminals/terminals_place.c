/* terminals_place.c - where the files of terminals are, the socket of their process, and who removes them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/text.h>

#include "terminals/screen_file.h"
#include "terminals/terminals.h"

#define ANSWER_S 10
#define SOCK "sock"

static int place_folder(const char *container, char path[TERMINALS_PATH_MAX], struct err *e)
{
	char base[TERMINALS_PATH_MAX], all[TERMINALS_PATH_MAX];

	if (!*container || *container == '.' || strchr(container, '/'))
		return err_set(e, ERR_USAGE, "`%.80s` is not a container's name", container);
	return runtime_dir(base, sizeof base, e) ||
			runtime_subdir(all, sizeof all, base, "terminals", e) ||
			runtime_subdir(path, TERMINALS_PATH_MAX, all, container, e)
		? -1
		: 0;
}

int terminals_place(
	const char *container, const char *name, char path[TERMINALS_PATH_MAX], struct err *e)
{
	char dir[TERMINALS_PATH_MAX];

	if (place_folder(container, dir, e))
		return -1;
	if (snprintf(path, TERMINALS_PATH_MAX, "%s/%s", dir, name) >= TERMINALS_PATH_MAX)
		return err_set(e, ERR_CONFIG, "the path %s/%s is too long", dir, name);
	return 0;
}

int terminals_file(const char *container, const char *name, const char *ending,
	char path[TERMINALS_PATH_MAX], struct err *e)
{
	char file[TERMINAL_NAME_MAX + 16];

	if (terminal_check_name(name, e))
		return -1;
	snprintf(file, sizeof file, "%s%s", name, ending);
	return terminals_place(container, file, path, e);
}

static int place_socket(const char *container, struct sockaddr_un *at, struct err *e)
{
	char path[TERMINALS_PATH_MAX];

	*at = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (terminals_place(container, SOCK, path, e))
		return -1;
	if (strlen(path) >= sizeof at->sun_path)
		return err_set(e, ERR_CONFIG,
			"the path %s is too long for a socket; set XDG_RUNTIME_DIR to a shorter one",
			path);
	strcpy(at->sun_path, path);
	return 0;
}

int terminals_listen(const char *container, struct err *e)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;

	if (place_socket(container, &at, e))
		return -1;
	unlink(at.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || chmod(at.sun_path, 0600) ||
		listen(fd, 16))
		return err_sys(e, errno, "cannot listen on %s", at.sun_path);
	return steal_fd(&fd);
}

int terminals_dial(const char *container, struct err *e)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const struct timeval soon = {ANSWER_S, 0};
	struct sockaddr_un at;

	if (place_socket(container, &at, e))
		return -1;
	if (fd < 0)
		return err_sys(e, errno, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
	if (!connect(fd, (struct sockaddr *)&at, sizeof at))
		return steal_fd(&fd);
	if (errno == ENOENT || errno == ECONNREFUSED)
		return err_set(e, ERR_NOT_FOUND, "no terminal of %s runs", container);
	return err_sys(e, errno, "cannot ask for the terminals of %s", container);
}

int terminals_hear(int conn, const char *container, struct err *e)
{
	int32_t error;
	ssize_t n = recv(conn, &error, sizeof error, 0);

	if (n < 0 && errno == EAGAIN)
		return err_set(e, ERR_TIMEOUT, "the terminals of %s do not answer", container);
	if (n != sizeof error)
		return err_set(e, ERR_NOT_FOUND, "the process of the terminals of %s has ended",
			container);
	return error ? err_sys(e, error, "the terminals of %s", container) : 0;
}

void terminals_forget(const char *container)
{
	char dir[TERMINALS_PATH_MAX];
	const struct dirent *x;
	DIR *d;

	if (place_folder(container, dir, NULL))
		return;
	d = opendir(dir);
	while (d && (x = readdir(d)))
		unlinkat(dirfd(d), x->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

/* "main.screen": the length of "main"; 0: not one. */
static size_t screen_name(const char *file)
{
	size_t n = strlen(file), end = sizeof TERMINALS_SCREEN - 1;

	return n > end && n - end < TERMINAL_NAME_MAX && !strcmp(file + n - end, TERMINALS_SCREEN)
		? n - end
		: 0;
}

static int compare_terminals(const void *a, const void *b)
{
	const struct terminal_row *x = a, *y = b;
	int r = strcmp(x->container, y->container);

	return r ? r : text_natural(x->name, y->name);
}

static size_t list_container(const char *container, struct terminal_row *out, size_t most)
{
	char dir[TERMINALS_PATH_MAX], path[TERMINALS_PATH_MAX];
	struct lane_about about;
	const struct dirent *x;
	size_t n = 0;
	DIR *d;

	if (place_folder(container, dir, NULL))
		return 0;
	if (lane_find(container, &about, NULL))
		*about.agent = *about.id = '\0';
	d = opendir(dir);
	while (d && n < most && (x = readdir(d))) {
		size_t len = screen_name(x->d_name);
		struct terminal_row *r = &out[n];

		if (!len)
			continue;
		*r = (struct terminal_row){0};
		snprintf(r->container, sizeof r->container, "%s", container);
		snprintf(r->agent, sizeof r->agent, "%s", about.agent);
		snprintf(r->id, sizeof r->id, "%s", about.id);
		snprintf(r->name, sizeof r->name, "%.*s", (int)len, x->d_name);
		if (!terminals_place(container, x->d_name, path, NULL) &&
			!screen_file_head(path, &r->screen, NULL))
			n++;
	}
	if (d)
		closedir(d);
	return n;
}

size_t terminals_list(const char *container, struct terminal_row *out, size_t most)
{
	char base[TERMINALS_PATH_MAX], all[TERMINALS_PATH_MAX];
	const struct dirent *x;
	size_t n = 0;
	DIR *d;

	if (container) {
		n = list_container(container, out, most);
	} else if (!runtime_dir(base, sizeof base, NULL) &&
		!runtime_subdir(all, sizeof all, base, "terminals", NULL)) {
		d = opendir(all);
		while (d && n < most && (x = readdir(d)))
			if (*x->d_name != '.')
				n += list_container(x->d_name, out + n, most - n);
		if (d)
			closedir(d);
	}
	mem_sort(out, n, sizeof *out, compare_terminals);
	return n;
}

int terminal_check_name(const char *name, struct err *e)
{
	char shown[64];

	if (text_is_plain_name(name, TERMINAL_NAME_MAX - 1))
		return 0;
	return err_set(e, ERR_USAGE,
		"`%s` cannot be the name of a terminal: up to %d letters, digits, dots, hyphens and underscores",
		text_clean(shown, sizeof shown, name), TERMINAL_NAME_MAX - 1);
}
