/*
 * deed.h - the table of all operations that berth can perform.
 *
 * The policy allows or refuses a deed, the audit log records it. An operation that is not in this table is refused
 * and not performed. To add a deed, add a line.
 *
 * Classes (how a deed is recorded in the audit log):
 *   GUARDED   destructive or security-relevant: the intent is on disk before the deed starts
 *   GROUPED   commands and reads: the intent is in the log before the deed starts (written: it outlives
 *             this process), and on disk within 50 ms
 *   BATCH     many files at once: as GROUPED, with the count and the hash of the manifest
 *   INTERNAL  records that the log writes about itself; nobody else may
 *
 * What cannot be recorded is not done, unless the settings say audit.unavailable: warn.
 *
 * Flags: CHANGES  alters something, so it is refused in read-only mode
 *        HARMS    takes something away or stops it, so it is refused on what is protected
 *        FREES    ends something or gives disk space back: may use the log's reserve on a full disk
 *
 * Thread: constants.
 */
#ifndef BERTH_DEED_H
#define BERTH_DEED_H

#include <stdbool.h>

#include "snapshot.h"

enum deed_class { DEED_GUARDED, DEED_GROUPED, DEED_BATCH, DEED_INTERNAL };

enum deed_flag { DEED_CHANGES = 1, DEED_HARMS = 2, DEED_FREES = 4 };

#define DEED_READS 0
#define DEED_DESTROYS (DEED_CHANGES | DEED_HARMS)
#define DEED_CLEANS (DEED_CHANGES | DEED_HARMS | DEED_FREES)

/* X(symbol, name in records and filters, class, flags, words for a sentence) */
#define DEEDS(X)                                                                                   \
	X(CONTAINER_CREATE, "container.create", GUARDED, DEED_CHANGES, "create container")         \
	X(CONTAINER_START, "container.start", GROUPED, DEED_CHANGES, "start container")            \
	X(CONTAINER_UNPAUSE, "container.unpause", GROUPED, DEED_CHANGES, "unpause container")      \
	X(CONTAINER_PAUSE, "container.pause", GUARDED, DEED_DESTROYS, "pause container")           \
	X(CONTAINER_STOP, "container.stop", GUARDED, DEED_CLEANS, "stop container")                \
	X(CONTAINER_RESTART, "container.restart", GUARDED, DEED_DESTROYS, "restart container")     \
	X(CONTAINER_KILL, "container.kill", GUARDED, DEED_CLEANS, "kill container")                \
	X(CONTAINER_REMOVE, "container.remove", GUARDED, DEED_CLEANS, "remove container")          \
	X(CONTAINER_LIMIT, "container.limit", GUARDED, DEED_DESTROYS, "set limits of container")   \
	X(CONTAINER_EXEC, "container.exec", GROUPED, DEED_CHANGES, "run a command in container")   \
	X(CONTAINER_SHELL, "container.shell", GUARDED, DEED_CHANGES, "open a shell in container")  \
	X(CONTAINER_INSPECT, "container.inspect", GROUPED, DEED_READS, "inspect container")        \
	X(CONTAINER_LOGS, "container.logs", GROUPED, DEED_READS, "read the logs of container")     \
	X(CONTAINER_MOUNT, "container.mount", GUARDED, DEED_CHANGES, "mount into container")       \
	X(AGENT_UP, "agent.up", GUARDED, DEED_CHANGES, "bring up agent")                           \
	X(AGENT_DOWN, "agent.down", GUARDED, DEED_CLEANS, "bring down agent")                      \
	X(SESSION_FORGET, "session.forget", GUARDED, DEED_CLEANS, "remove the session of")         \
	X(COMMAND_RUN, "command.run", GUARDED, DEED_CHANGES, "run a command of berth.yaml for")    \
	X(TOOL_RUN, "tool.run", GROUPED, DEED_CHANGES, "run tool")                                 \
	X(POOL_FILL, "pool.fill", GROUPED, DEED_CHANGES, "make warm container of tool")            \
	X(POOL_DRAIN, "pool.drain", GUARDED, DEED_CLEANS, "remove warm container of tool")         \
	X(IMAGE_PULL, "image.pull", GROUPED, DEED_CHANGES, "pull image")                           \
	X(IMAGE_BUILD, "image.build", GROUPED, DEED_CHANGES, "build image")                        \
	X(IMAGE_IMPORT, "image.import", GROUPED, DEED_CHANGES, "import image")                     \
	X(IMAGE_REMOVE, "image.remove", GUARDED, DEED_CLEANS, "remove image")                      \
	X(NETWORK_CREATE, "network.create", GUARDED, DEED_CHANGES, "create network")               \
	X(NETWORK_REMOVE, "network.remove", GUARDED, DEED_CLEANS, "remove network")                \
	X(VOLUME_CREATE, "volume.create", GROUPED, DEED_CHANGES, "create volume")                  \
	X(VOLUME_REMOVE, "volume.remove", GUARDED, DEED_CLEANS, "remove volume")                   \
	X(CLEAN, "clean", GUARDED, DEED_CLEANS, "carry out clean-up plan")                         \
	X(FILE_READ, "file.read", GROUPED, DEED_READS, "read files of")                            \
	X(FILE_SCAN, "file.scan", GROUPED, DEED_READS, "scan files of")                            \
	X(FILE_SEARCH, "file.search", GROUPED, DEED_READS, "search files of")                      \
	X(FILE_WRITE, "file.write", BATCH, DEED_CHANGES, "write files of")                         \
	X(FILE_TRANSFORM, "file.transform", BATCH, DEED_CHANGES, "change files of")                \
	X(FILE_COPY, "file.copy", BATCH, DEED_CHANGES, "copy files of")                            \
	X(FILE_MOVE, "file.move", BATCH, DEED_DESTROYS, "move files of")                           \
	X(FILE_DELETE, "file.delete", GUARDED, DEED_CLEANS, "delete files of")                     \
	X(WORKSPACE_CREATE, "workspace.create", GROUPED, DEED_CHANGES, "create workspace")         \
	X(WORKSPACE_END, "workspace.end", GROUPED, DEED_CHANGES, "end workspace")                  \
	X(WORKSPACE_FORK, "workspace.fork", GROUPED, DEED_CHANGES, "fork workspace")               \
	X(WORKSPACE_TAKE, "workspace.take", BATCH, DEED_CHANGES, "take files of workspace")        \
	X(WORKSPACE_HAND_OVER, "workspace.hand_over", BATCH, DEED_CHANGES,                         \
		"hand over files of workspace")                                                    \
	X(WORKSPACE_SHARE, "workspace.share", BATCH, DEED_CHANGES, "change what tasks share")      \
	X(WORKSPACE_RESULT, "workspace.result", GROUPED, DEED_CHANGES, "save a result of")         \
	X(WORKSPACE_FORGET, "workspace.forget", GUARDED, DEED_CLEANS, "drop a result of")          \
	X(WORKSPACE_SNAPSHOT, "workspace.snapshot", GROUPED, DEED_CHANGES, "snapshot workspace")   \
	X(WORKSPACE_RESTORE, "workspace.restore", GUARDED, DEED_DESTROYS, "restore workspace")     \
	X(WORKSPACE_DROP, "workspace.drop", GUARDED, DEED_CLEANS, "drop a checkpoint of")          \
	X(WORKSPACE_LIMIT, "workspace.limit", GUARDED, DEED_CHANGES, "set limits of workspace")    \
	X(WORKSPACE_THAW, "workspace.thaw", GROUPED, DEED_CHANGES, "thaw containers of workspace") \
	X(WORKSPACE_ARCHIVE, "workspace.archive", GUARDED, DEED_CLEANS, "archive workspace")       \
	X(WORKSPACE_UNARCHIVE, "workspace.unarchive", GUARDED, DEED_CHANGES,                       \
		"unarchive workspace")                                                             \
	X(WORKSPACE_REMOVE, "workspace.remove", GUARDED, DEED_CLEANS, "remove workspace")          \
	X(WORKSPACE_BREACH, "workspace.breach", GROUPED, DEED_READS,                               \
		"limit breached by workspace")                                                     \
	X(NET_ALLOW, "net.allow", GUARDED, DEED_CHANGES, "allow network access of")                \
	X(NET_DENY, "net.deny", GUARDED, DEED_CHANGES, "deny network access of")                   \
	X(NET_FORGET, "net.forget", GUARDED, DEED_CHANGES, "remove a network rule of")             \
	X(PORT_OPEN, "port.open", GUARDED, DEED_CHANGES, "open a port of")                         \
	X(PORT_CLOSE, "port.close", GROUPED, DEED_CHANGES, "close a port of")                      \
	X(NET_RESTART, "net.restart", GROUPED, DEED_READS, "restart the egress of")                \
	X(SECRET_READ, "secret.read", GUARDED, DEED_READS, "read secret")                          \
	X(SECRET_HAND, "secret.hand", GUARDED, DEED_CHANGES, "pass secret")                        \
	X(ALERT, "alert", GROUPED, DEED_READS, "report")                                           \
	X(ALERT_COMMAND, "alert.command", GROUPED, DEED_CHANGES, "run an alert's command on")      \
	X(ALERT_POST, "alert.post", GROUPED, DEED_READS, "post an alert on")                       \
	X(CONFIG_LOAD, "config.load", GROUPED, DEED_READS, "load configuration")                   \
	X(CONFIG_CHANGE, "config.change", GUARDED, DEED_CHANGES, "change configuration")           \
	X(POLICY_CHANGE, "policy.change", GUARDED, DEED_READS, "change the policy")                \
	X(ENGINE_START, "engine.start", GUARDED, DEED_CHANGES, "start engine")                     \
	X(ENGINE_STOP, "engine.stop", GUARDED, DEED_CLEANS, "stop engine")                         \
	X(JOB_CANCEL, "job.cancel", GROUPED, DEED_READS, "cancel job")                             \
	X(JOB_ALLOW, "job.allow", GUARDED, DEED_CHANGES, "allow")                                  \
	X(BENCH_RUN, "bench.run", GROUPED, DEED_CHANGES, "run benchmark")                          \
	X(LOG_PRUNE, "log.prune", GUARDED, DEED_CLEANS, "prune the audit log")                     \
	X(LOG_EXPORT, "log.export", GROUPED, DEED_READS, "export the audit log")                   \
	X(LOG_START, "log.start", INTERNAL, DEED_READS, "start the audit log")                     \
	X(LOG_CHECKPOINT, "log.checkpoint", INTERNAL, DEED_READS, "sign the audit log")            \
	X(LOG_PRUNED, "log.pruned", INTERNAL, DEED_READS, "pruned the audit log")                  \
	X(LOG_TORN, "log.torn", INTERNAL, DEED_READS, "set a torn line aside")                     \
	X(LOG_DAMAGE, "log.damage", INTERNAL, DEED_READS, "found the audit log damaged")           \
	X(LOG_CLOCK, "log.clock", INTERNAL, DEED_READS, "noticed a step of the wall clock")        \
	X(LOG_GAP, "log.gap", INTERNAL, DEED_READS, "could not record what was done")

enum deed {
	DEED_NONE,
#define X(symbol, name, class, flags, words) DEED_##symbol,
	DEEDS(X)
#undef X
		DEED_COUNT
};

struct deed_info {
	const char *name, *words;
	enum deed_class class;
	unsigned flags;
};

/* Entry 0 is DEED_NONE, with empty texts. */
extern const struct deed_info deed_table[DEED_COUNT];

/* The deed of this name, or DEED_NONE. */
enum deed deed_named(const char *name);

enum deed deed_of_act(enum act a); /* ACT_NONE: DEED_NONE */

#endif
