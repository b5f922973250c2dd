/*
 * engine.h - the verbs of the Docker Engine API, as berth uses them.
 *
 * An engine is an object on one uv loop.  Every verb is asynchronous: it returns at once, and its
 * callback runs exactly once on the loop thread, never from inside the call.  `err` is NULL on
 * success; results are only valid during the callback (copy what is kept), unless said otherwise.
 * Replies are bounded (ENGINE_REPLY_MAX, nesting, counts); unknown fields are ignored, nulls and
 * wrong types are treated as absent where that is safe and as ERR_PROTOCOL where it is not.
 * engine_close cancels everything: callbacks then run with ERR_CANCELLED.
 *
 * Version: HEAD (then GET) /_ping before the first verb, min(server, ENGINE_API_OURS), floor 1.41.
 * Facts and traps: the Engine API reference v1.41 to v1.56 and moby's sources.
 */
#ifndef BERTH_ENGINE_H
#define BERTH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include <berth/err.h>
#include <berth/snapshot.h>
#include <berth/str.h>
#include <berth/stream.h>

#include "engine/endpoint.h"
#include "engine/product.h"

#define ENGINE_API_OURS 51 /* the minor of 1.51; lower when the server is older */
#define ENGINE_API_FLOOR 41
#define ENGINE_REPLY_MAX ((size_t)64 << 20)
#define ENGINE_RUNTIMES_MAX 64

struct engine;
struct engine_call; /* one request or stream in flight */

struct engine *engine_open(uv_loop_t *loop, const struct endpoint *ep, struct err *e);
/* Cancels all calls; `closed` runs when the last handle is gone and the memory is freed. */
void engine_close(struct engine *en, void (*closed)(void *ctx), void *ctx);
/* Cancel one call; its callback runs (later) with ERR_CANCELLED.  NULL is fine. */
void engine_cancel(struct engine_call *c);
/* Stop reading a stream until resumed: back-pressure reaches the engine. */
void engine_pause(struct engine_call *c, bool paused);

typedef void (*engine_done_fn)(void *ctx, const struct err *err);

/* _ping, version negotiation, /version and /info in one. */
/* id: the engine's ID and a hash of its data directory, for engines of one machine share the former. */
struct engine_info {
	const char *id, *name, *version, *api, *product, *os, *kernel, *arch, *root_dir, *storage,
		*cgroup; /* "1" or "2" */
	int cpus;
	uint64_t memory_bytes;
	int images;
	bool apparmor; /* it says that it puts profiles around containers */
	bool rootless;
	bool copies_mounts; /* of a running container also what was mounted at its start */
	bool sends_owners;  /* of a container's files, in their tar */
	const struct product *kind;
	uint64_t lacks; /* bits of enum lack, berth/product.h */
	const char *default_runtime;
	size_t nruntimes; /* at most ENGINE_RUNTIMES_MAX */
	const struct key_value
		*runtimes; /* name -> its program, or its kind; "" when it says neither */
};
typedef void (*engine_info_fn)(void *ctx, const struct engine_info *info, const struct err *err);
struct engine_call *engine_hello(struct engine *en, engine_info_fn fn, void *ctx);

/* GET /containers/json?all=1 */
struct engine_summary {
	const char *id, *name, *image, *image_id, *command, *status;
	enum container_state state;
	int64_t created_wall_ms;
	size_t nlabels;
	const struct key_value *labels;
};
typedef void (*engine_list_fn)(
	void *ctx, const struct engine_summary *rows, size_t n, const struct err *err);
struct engine_call *engine_list(struct engine *en, engine_list_fn fn, void *ctx);

/* GET /containers/ID/json, parsed; `json` is the reply itself. */
struct engine_container {
	const char *id, *name, *image, *image_id, *command, *user, *workdir, *hostname,
		*restart_policy, *network_mode, *runtime, *log_driver;
	enum container_state state;
	enum health health;     /* of a check of its image's or its maker's */
	enum health own_health; /* of the check that berth gives its containers */
	int exit_code, pid, restarts;
	int stop_timeout_s; /* how long it may take to stop by itself; -1: for ever */
	bool oom_killed, tty, privileged, read_only_root, no_new_privileges, init, host_pid,
		host_ipc;
	const char *error; /* State.Error: why it did not start; "" */
	int64_t created_wall_ms, started_wall_ms, finished_wall_ms;
	uint64_t memory_limit, memory_swap_limit; /* 0 none; swap UINT64_MAX: unlimited */
	uint64_t nano_cpus, cpu_quota, cpu_period;
	int64_t pids_limit;         /* 0 or -1: none */
	const char *seccomp;        /* "default", "unconfined", "custom" */
	const char *apparmor;       /* "" when none */
	size_t ncap_add, ncap_drop; /* "ALL" counts as one */
	const char *const *cap_add, *const *cap_drop;
	size_t nenv, nlabels, nmounts, nnetworks, nports, ndevices;
	const struct key_value *env, *labels; /* env values are NOT masked here */
	const struct mount_info *mounts;
	const struct key_value *networks; /* name -> address ("" when none) */
	const struct key_value *ports;    /* "80/tcp" -> "127.0.0.1:8080" */
};
typedef void (*engine_inspect_fn)(void *ctx, const struct engine_container *c, const char *json,
	size_t json_len, const struct err *err);
struct engine_call *engine_inspect(
	struct engine *en, const char *id, engine_inspect_fn fn, void *ctx);

/* start, stop, restart, pause, unpause, kill, remove.  304 (already so) is success.  `number`: of stop and restart the
 * seconds of grace, -1 the container's own; of kill the signal, -1 or 0 SIGKILL. */
struct engine_call *engine_act(struct engine *en, enum act act, const char *id, bool force,
	bool volumes, int number, engine_done_fn fn, void *ctx);
/* Of such a stop or restart without seconds: the container's own, which the engine's time is reckoned with. */
void engine_act_grace(struct engine_call *c, int seconds);

/* Raw counters of one container; what cgroup files and the engine's stats both give. */
struct counters {
	int64_t at_ns;         /* monotonic, when they were read */
	uint64_t cpu_ns;       /* total CPU time */
	uint64_t system_ns;    /* engine only: the host's CPU time over all cores; else 0 */
	uint32_t online_cpus;  /* engine only; else 0 */
	uint64_t memory_bytes; /* page cache already subtracted as docker does */
	uint64_t memory_limit; /* 0: none */
	bool net;
	uint64_t net_rx, net_tx, block_read, block_write;
	uint64_t pids, pids_limit;
	double cpu_limit_percent; /* 0: none, or not known */
	/* Of the periods of its CPU limit in which it ran those in which it was stopped by it; 0 and 0: no limit. */
	uint64_t periods, throttled;
	bool pressed; /* the kernel tells how much of ten seconds something in it waited for these, percent */
	double pressure_cpu, pressure_memory, pressure_io;
};
typedef void (*engine_stats_fn)(void *ctx, const struct counters *c, const struct err *err);
/* GET /containers/ID/stats?stream=false&one-shot=true (not every product: product.h) */
struct engine_call *engine_stats(struct engine *en, const char *id, engine_stats_fn fn, void *ctx);

/* GET /containers/ID/top: used where /proc is not ours. */
typedef void (*engine_top_fn)(
	void *ctx, const struct process_info *p, size_t n, const struct err *err);
struct engine_call *engine_top(struct engine *en, const char *id, engine_top_fn fn, void *ctx);

/* GET /events?since=&until= (0: open): `fn` for each event until the stream ends; `opened` when headers arrived;
 * `end` exactly once. */
typedef void (*engine_event_fn)(void *ctx, const struct engine_event *ev);
struct engine_call *engine_events(struct engine *en, int64_t since_wall_ns, int64_t until_wall_ns,
	void (*opened)(void *ctx), engine_event_fn fn, engine_done_fn end, void *ctx);

/* GET /containers/ID/logs with timestamps.  `tty` as in inspect: demultiplexing depends on it,
 * never on the Content-Type.  `fn` gets an empty batch when the engine has answered, then one per
 * read.  What the engine complains of in the stream, and a stream that ends within a frame, are failures. */
typedef void (*engine_log_fn)(void *ctx, const struct log_line *lines, size_t n);
struct engine_call *engine_logs(struct engine *en, const char *id, bool tty, bool follow,
	struct log_span span, engine_log_fn fn, engine_done_fn end, void *ctx);

/* exec over a hijacked connection. */
struct engine_tty;
struct engine_tty_events {
	void (*ready)(void *ctx);
	void (*output)(void *ctx, const char *bytes, size_t n);
	void (*end)(void *ctx, int exit_code, const struct err *err); /* exactly once */
};
/* Without a terminal `frame`, not `output`, gets the output,
 * there is input only when asked for, and the end of the stream may come long before the command's:
 * its exit code is asked for until it has one. */
struct engine_exec_ask {
	const char *const *argv, *const *env; /* env: "NAME=value", added to the container's */
	size_t argc, envc;
	const char *cwd, *user; /* NULL: the container's */
	bool tty, input;
	int columns, rows;
	void (*frame)(void *ctx, int stream, const char *bytes, size_t n); /* 1 or 2 */
	/* The engine has made it, for the container as it runs now (a stop unmakes it), and has not started it:
	 * the last moment to refuse, with -1.  Or NULL. */
	int (*made)(void *ctx, struct err *e);
};
struct engine_tty *engine_exec(struct engine *en, const char *id, const struct engine_exec_ask *ask,
	const struct engine_tty_events *ev, void *ctx);
const char *engine_tty_exec_id(const struct engine_tty *t); /* "" before ready */
/* Does this answer to GET /exec/ID/json tell of one that has ended?  Its ExitCode is true then. */
struct cJSON;
bool engine_exec_ended(const struct engine *en, const struct cJSON *root);
void engine_tty_finish(struct engine_tty *t); /* no more input */
/* False when 256 KiB wait already because the command does not read: nothing was taken. */
bool engine_tty_input(struct engine_tty *t, const char *bytes, size_t n);
void engine_tty_pause(struct engine_tty *t, bool paused); /* no output until resumed */
void engine_tty_resize(struct engine_tty *t, int columns, int rows);
/* Hang up: `end` runs with ERR_CANCELLED.  The engine leaves the command running. */
void engine_tty_close(struct engine_tty *t);

/*
 * Pull, build, import: a POST whose answer is a stream of objects.  A failure that the stream tells
 * of after HTTP 200 is the call's failure; the rest of the stream is not read then.
 */
struct engine_said {            /* texts: from outside, during the call only, "" when absent */
	const char *id;         /* a layer, or a tag */
	const char *status;     /* "Downloading" */
	const char *stream;     /* what a build prints: any bytes but NUL */
	const char *image;      /* aux.ID: what a build made */
	int64_t current, total; /* bytes; -1 when absent */
};
struct engine_transfer {    /* texts are copied */
	const char *what;   /* for messages: "pull %s", with the subject */
	const char *method; /* NULL: POST */
	const char *target; /* "/build?t=x", escaped */
	const char *header; /* one more header line, or NULL */
	const char *path;   /* the tar file that goes up, or what to call it; NULL: nothing does */
	int fd; /* with path: read this instead, from its start; -1: open path.  Stays the caller's */
	void (*said)(void *ctx, const struct engine_said *said);    /* or NULL */
	void (*progress)(void *ctx, uint64_t sent, uint64_t total); /* as bytes leave; or NULL */
};
struct engine_call *engine_transfer(struct engine *en, const char *subject,
	const struct engine_transfer *t, engine_done_fn fn, void *ctx);
/* An import's target; a reference without a tag gets :latest. */
void engine_import_target(struct str *target, const char *reference);

/* POST /images/create?fromSrc=-: send a tar file.  `progress` as bytes leave. */
struct engine_call *engine_import(struct engine *en, const char *path, const char *reference,
	void (*progress)(void *ctx, uint64_t sent, uint64_t total), engine_done_fn fn, void *ctx);

/* Docker keeps a container locked while its files are copied: for so long other questions about it may wait. */
#define ENGINE_LOCKED_MS 3600000

/* HEAD /containers/ID/archive: what a path in a container is; a link at its end is not followed.  The text is valid until
 * the callback ends.  The engine does not see what is on a tmpfs in the container. */
struct engine_path {
	bool exists;        /* false also of a container that has gone */
	const char *target; /* of a link: the path in the container where it leads; else "" */
	uint64_t size;
	uint32_t mode; /* as of stat(2); without a type: not a file, directory or link */
};
typedef void (*engine_path_fn)(void *ctx, const struct engine_path *found, const struct err *err);
struct engine_call *engine_path(
	struct engine *en, const char *id, const char *path, engine_path_fn fn, void *ctx);
/* GET of the same: `take` gets the tar, piece by piece, and may make the loop wait.  -1 with *e ends the call with that. */
typedef int (*engine_take_fn)(void *ctx, const char *bytes, size_t n, struct err *e);
struct engine_call *engine_fetch(struct engine *en, const char *id, const char *path,
	engine_take_fn take, engine_done_fn fn, void *ctx);

/* GET /images/json, /networks, /volumes: counts only. */
typedef void (*engine_counts_fn)(
	void *ctx, int images, int networks, int volumes, const struct err *err);
struct engine_call *engine_counts(struct engine *en, engine_counts_fn fn, void *ctx);

/* Append s with everything but unreserved characters escaped (RFC 3986). */
void url_escape(struct str *out, const char *s);
/* "/images/REFERENCE" and `after`.  Slashes of the reference stay: 20.10 does not find an escaped name. */
void url_image(struct str *out, const char *reference, const char *after);

/* Any other request; `what` is for messages ("create the container %s" with `subject`).  The body of
 * the reply is NUL-terminated and only valid in the callback. */
typedef void (*engine_ask_fn)(void *ctx, const char *body, size_t len, const struct err *err);
struct engine_call *engine_ask(struct engine *en, const char *what, const char *subject,
	const char *method, const char *target, const char *body, int timeout_ms, engine_ask_fn fn,
	void *ctx);

#endif
