/*
 * operation.h - the table of all operations that berth can perform.
 *
 * The policy allows or refuses an operation, the audit log records it. An operation that is not in this table is refused
 * and not performed. To add an operation, add a line.
 *
 * Classes (how an operation is recorded in the audit log):
 *   GUARDED   destructive or security-relevant: the intent is on disk before the operation starts
 *   GROUPED   commands and reads: the intent is in the log before the operation starts (written: it outlives
 *             this process), and on disk within 50 ms
 *   BATCH     many files at once: as GROUPED, with the count and the hash of the manifest
 *   INTERNAL  records that only the log itself may write
 *
 * What cannot be recorded is not done, unless the settings say audit.unavailable: warn.
 *
 * Flags: CHANGES  alters something, so it is refused in read-only mode
 *        HARMS    takes something away or stops it, so it is refused on what is protected
 *        FREES    ends something or gives disk space back: may use the log's reserve on a full disk
 *
 * Thread: constants.
 */
#ifndef BERTH_OPERATION_H
#define BERTH_OPERATION_H

#include <stdbool.h>

#include "snapshot.h"

enum operation_class { OP_GUARDED, OP_GROUPED, OP_BATCH, OP_INTERNAL };

enum operation_flag { OP_CHANGES = 1, OP_HARMS = 2, OP_FREES = 4 };

#define OP_READS 0
#define OP_DESTROYS (OP_CHANGES | OP_HARMS)
#define OP_CLEANS (OP_CHANGES | OP_HARMS | OP_FREES)

/* X(symbol, name in records and filters, class, flags, words for a sentence) */
#define OPERATIONS(X)                                                                             \
	X(CONTAINER_CREATE, "container.create", GUARDED, OP_CHANGES, "create container")          \
	X(CONTAINER_START, "container.start", GROUPED, OP_CHANGES, "start container")             \
	X(CONTAINER_UNPAUSE, "container.unpause", GROUPED, OP_CHANGES, "unpause container")       \
	X(CONTAINER_PAUSE, "container.pause", GUARDED, OP_DESTROYS, "pause container")            \
	X(CONTAINER_STOP, "container.stop", GUARDED, OP_CLEANS, "stop container")                 \
	X(CONTAINER_RESTART, "container.restart", GUARDED, OP_DESTROYS, "restart container")      \
	X(CONTAINER_KILL, "container.kill", GUARDED, OP_CLEANS, "kill container")                 \
	X(CONTAINER_REMOVE, "container.remove", GUARDED, OP_CLEANS, "remove container")           \
	X(CONTAINER_LIMIT, "container.limit", GUARDED, OP_DESTROYS, "set limits of container")    \
	X(CONTAINER_EXEC, "container.exec", GROUPED, OP_CHANGES, "run a command in container")    \
	X(CONTAINER_SHELL, "container.shell", GUARDED, OP_CHANGES, "open a shell in container")   \
	X(TERMINAL_START, "terminal.start", GUARDED, OP_CHANGES, "start a terminal of")           \
	X(TERMINAL_SEND, "terminal.send", GROUPED, OP_CHANGES, "type into a terminal of")         \
	X(TERMINAL_ATTACH, "terminal.attach", GUARDED, OP_CHANGES, "attach to a terminal of")     \
	X(TERMINAL_WATCH, "terminal.watch", GROUPED, OP_READS, "watch a terminal of")             \
	X(TERMINAL_STOP, "terminal.stop", GUARDED, OP_CHANGES, "stop a terminal of")              \
	X(CONTAINER_COPY_IN, "container.copy_in", GUARDED, OP_CHANGES, "copy into container")     \
	X(CONTAINER_COPY_OUT, "container.copy_out", GROUPED, OP_READS, "copy out of container")   \
	X(CONTAINER_INSPECT, "container.inspect", GROUPED, OP_READS, "inspect container")         \
	X(CONTAINER_LOGS, "container.logs", GROUPED, OP_READS, "read the logs of container")      \
	X(CONTAINER_MOUNT, "container.mount", GUARDED, OP_CHANGES, "mount into container")        \
	X(AGENT_UP, "agent.up", GUARDED, OP_CHANGES, "bring up agent")                            \
	X(AGENT_DOWN, "agent.down", GUARDED, OP_CLEANS, "bring down agent")                       \
	X(SESSION_FORGET, "session.forget", GUARDED, OP_CLEANS, "remove the session of")          \
	X(COMMAND_RUN, "command.run", GUARDED, OP_CHANGES, "run a command of berth.yaml for")     \
	X(TOOL_RUN, "tool.run", GROUPED, OP_CHANGES, "run tool")                                  \
	X(POOL_FILL, "pool.fill", GROUPED, OP_CHANGES, "start warm container of tool")            \
	X(POOL_DRAIN, "pool.drain", GUARDED, OP_CLEANS, "remove warm container of tool")          \
	X(IMAGE_PULL, "image.pull", GROUPED, OP_CHANGES, "pull image")                            \
	X(IMAGE_BUILD, "image.build", GROUPED, OP_CHANGES, "build image")                         \
	X(IMAGE_IMPORT, "image.import", GROUPED, OP_CHANGES, "import image")                      \
	X(IMAGE_REMOVE, "image.remove", GUARDED, OP_CLEANS, "remove image")                       \
	X(NETWORK_CREATE, "network.create", GUARDED, OP_CHANGES, "create network")                \
	X(NETWORK_REMOVE, "network.remove", GUARDED, OP_CLEANS, "remove network")                 \
	X(VOLUME_CREATE, "volume.create", GROUPED, OP_CHANGES, "create volume")                   \
	X(VOLUME_REMOVE, "volume.remove", GUARDED, OP_CLEANS, "remove volume")                    \
	X(CLEAN, "clean", GUARDED, OP_CLEANS, "carry out clean-up plan")                          \
	X(FILE_READ, "file.read", GROUPED, OP_READS, "read files of")                             \
	X(FILE_SCAN, "file.scan", GROUPED, OP_READS, "scan files of")                             \
	X(FILE_SEARCH, "file.search", GROUPED, OP_READS, "search files of")                       \
	X(FILE_WRITE, "file.write", BATCH, OP_CHANGES, "write files of")                          \
	X(FILE_TRANSFORM, "file.transform", BATCH, OP_CHANGES, "change files of")                 \
	X(FILE_COPY, "file.copy", BATCH, OP_CHANGES, "copy files of")                             \
	X(FILE_MOVE, "file.move", BATCH, OP_DESTROYS, "move files of")                            \
	X(FILE_DELETE, "file.delete", GUARDED, OP_CLEANS, "delete files of")                      \
	X(WORKSPACE_CREATE, "workspace.create", GROUPED, OP_CHANGES, "create workspace")          \
	X(WORKSPACE_END, "workspace.end", GROUPED, OP_CHANGES, "set the status of workspace")     \
	X(WORKSPACE_FORK, "workspace.fork", GROUPED, OP_CHANGES, "fork workspace")                \
	X(WORKSPACE_TAKE, "workspace.take", BATCH, OP_CHANGES, "apply files of workspace")        \
	X(WORKSPACE_HAND_OVER, "workspace.hand_over", BATCH, OP_CHANGES,                          \
		"hand over files of workspace")                                                   \
	X(WORKSPACE_SHARE, "workspace.share", BATCH, OP_CHANGES, "change what tasks share")       \
	X(WORKSPACE_RESULT, "workspace.result", GROUPED, OP_CHANGES, "save a result of")          \
	X(WORKSPACE_FORGET, "workspace.forget", GUARDED, OP_CLEANS, "remove a result of")         \
	X(WORKSPACE_SNAPSHOT, "workspace.snapshot", GROUPED, OP_CHANGES,                          \
		"create a checkpoint of workspace")                                               \
	X(WORKSPACE_RESTORE, "workspace.restore", GUARDED, OP_DESTROYS, "restore workspace")      \
	X(WORKSPACE_DROP, "workspace.drop", GUARDED, OP_CLEANS, "remove a checkpoint of")         \
	X(WORKSPACE_LIMIT, "workspace.limit", GUARDED, OP_CHANGES, "set limits of workspace")     \
	X(WORKSPACE_THAW, "workspace.thaw", GROUPED, OP_CHANGES, "thaw containers of workspace")  \
	X(WORKSPACE_ARCHIVE, "workspace.archive", GUARDED, OP_CLEANS, "archive workspace")        \
	X(WORKSPACE_UNARCHIVE, "workspace.unarchive", GUARDED, OP_CHANGES, "unarchive workspace") \
	X(WORKSPACE_REMOVE, "workspace.remove", GUARDED, OP_CLEANS, "remove workspace")           \
	X(WORKSPACE_BREACH, "workspace.breach", GROUPED, OP_READS, "limit breached by workspace") \
	X(NET_ALLOW, "net.allow", GUARDED, OP_CHANGES, "allow network access of")                 \
	X(NET_DENY, "net.deny", GUARDED, OP_CHANGES, "deny network access of")                    \
	X(NET_FORGET, "net.forget", GUARDED, OP_CHANGES, "remove a network rule of")              \
	X(PORT_OPEN, "port.open", GUARDED, OP_CHANGES, "open a port of")                          \
	X(PORT_CLOSE, "port.close", GROUPED, OP_CHANGES, "close a port of")                       \
	X(NET_RESTART, "net.restart", GROUPED, OP_READS, "restart the egress of")                 \
	X(SECRET_HAND, "secret.hand", GUARDED, OP_CHANGES, "pass secret")                         \
	X(ALERT, "alert", GROUPED, OP_READS, "report")                                            \
	X(ALERT_COMMAND, "alert.command", GROUPED, OP_CHANGES, "run an alert's command on")       \
	X(ALERT_POST, "alert.post", GROUPED, OP_READS, "post an alert on")                        \
	X(POLICY_CHANGE, "policy.change", GUARDED, OP_READS, "change the policy")                 \
	X(ENGINE_START, "engine.start", GUARDED, OP_CHANGES, "start engine")                      \
	X(ENGINE_STOP, "engine.stop", GUARDED, OP_CLEANS, "stop engine")                          \
	X(JOB_CANCEL, "job.cancel", GROUPED, OP_READS, "cancel job")                              \
	X(JOB_ALLOW, "job.allow", GUARDED, OP_CHANGES, "allow")                                   \
	X(BENCH_RUN, "bench.run", GROUPED, OP_CHANGES, "run benchmark")                           \
	X(LOG_EXPORT, "log.export", GROUPED, OP_READS, "export the audit log")                    \
	X(LOG_START, "log.start", INTERNAL, OP_READS, "start the audit log")                      \
	X(LOG_CHECKPOINT, "log.checkpoint", INTERNAL, OP_READS, "sign the audit log")             \
	X(LOG_PRUNED, "log.pruned", INTERNAL, OP_READS, "pruned the audit log")                   \
	X(LOG_TORN, "log.torn", INTERNAL, OP_READS, "set a torn line aside")                      \
	X(LOG_DAMAGE, "log.damage", INTERNAL, OP_READS, "found the audit log damaged")            \
	X(LOG_CLOCK, "log.clock", INTERNAL, OP_READS, "noticed a step of the wall clock")         \
	X(LOG_GAP, "log.gap", INTERNAL, OP_READS, "could not record what was done")

enum operation {
	OP_NONE,
#define X(symbol, name, class, flags, words) OP_##symbol,
	OPERATIONS(X)
#undef X
		OP_COUNT
};

struct operation_info {
	const char *name, *words;
	enum operation_class class;
	unsigned flags;
};

/* Entry 0 is OP_NONE, with empty texts. */
extern const struct operation_info operation_table[OP_COUNT];

/* The operation of this name, or OP_NONE. */
enum operation operation_named(const char *name);

enum operation operation_of_act(enum act a); /* ACT_NONE: OP_NONE */

#endif
