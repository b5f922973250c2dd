/*
 * ready.h - requirements that both agents and tools have before their container can run anything.
 *
 * Thread: any.
 */
#ifndef CONTAINER_READY_H
#define CONTAINER_READY_H

#include <sys/types.h>

#include <berth/arena.h>
#include <berth/err.h>
#include <berth/team.h>

#include "team/mounts.h"
#include "container/maker.h"
#include "container/secrets.h"
#include "container/spec.h"
#include "lane/lane.h"

/* Who runs inside: the workspace's owner; root's workspaces belong to 1000:1000, who must be able to
 * write there.  `who` is for messages. */
int ready_user(const char *who, const char *workspace, uid_t *uid, gid_t *gid, struct err *e);

/* Make a workspace that is not there, for the user that will run inside: one directory, where it may be
 * mounted.  1: made, 0: there already. */
int ready_make(const char *workspace, struct err *e);
/* The other folders that a definition names and that are not there: made for who runs inside where it may write. */
int ready_make_folders(const struct agent_def *a, struct err *e);

/* Every path of the team that some agent or tool may write: nothing may be mounted from below one.
 * The list lives in mem.  `*places` of them, its first, count for a workspace: all, but in MassGen's files, where a
 * context path that can be written is often the project with the workspaces in it.  What is mounted is compared with
 * what was opened, so a workspace that was swapped is found out. */
size_t ready_writable(
	const struct team *t, struct arena *mem, const char *const **out, size_t *places);

/* Mount the file of a tool that has one, which nobody inside may write and who runs it can read. */
int ready_script(const struct tool_def *d, struct mount_list *l, const char *const *writable,
	size_t nwritable, uid_t uid, gid_t gid, struct err *e);

/* Wait for the guest, compare the mounts, set what the engine could not, hand over secrets
 * (on record, with a guarded intent) and lane; closes the offer. */
int ready_lane(struct agents_host *h, struct lane_offer *offer, const struct lane_about *about,
	const struct spec *s, const struct secret_values *secrets, struct err *e);

#endif
