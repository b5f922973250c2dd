/* peer.c - proves that a socket belongs to the init of one container. */
#include "lane/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>

int proc_file(pid_t pid, const char *name, char *buf, size_t cap)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	return file_text(path, buf, cap) < 0 ? -1 : 0;
}

/* "NSpid:\t4242\t1": the last number is the one in its own namespace, and there are at least two.
 */
static int is_process_one(pid_t pid)
{
	char text[8192], *line, *last;

	if (proc_file(pid, "status", text, sizeof text) || !(line = strstr(text, "\nNSpid:")))
		return 0;
	line += strlen("\nNSpid:");
	line[strcspn(line, "\n")] = '\0';
	last = strrchr(line, '\t');
	return last && last != line && !strcmp(last, "\t1");
}

int peer_is_init(int conn, const char *id, pid_t *pid, struct err *e)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	if (strlen(id) != LANE_ID_MAX - 1)
		return err_set(e, ERR_FAILED, "lane lost: its container is unknown");
	if (getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.pid <= 0 ||
		!is_process_one(peer.pid) || !proc_in_container(peer.pid, id))
		return err_set(e, ERR_FAILED,
			"lane lost: the listening process is not the init of container %.12s", id);
	*pid = peer.pid;
	return 0;
}

int lane_place(const char *name, char path[LANE_PATH_MAX], struct err *e)
{
	char base[LANE_PATH_MAX / 2];

	if (!*name || *name == '.' || strlen(name) >= LANE_NAME_MAX ||
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") !=
			strlen(name))
		return err_set(e, ERR_USAGE,
			"`%.80s` is not a valid container name: use letters, digits, _ "
			". and -, at most %d",
			name, LANE_NAME_MAX - 1);
	if (runtime_dir(base, sizeof base, e))
		return -1;
	snprintf(path, LANE_PATH_MAX, "%s/lanes/%s", base, name);
	return 0;
}
