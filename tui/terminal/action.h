/*
 * action.h - the views there are and everything a key can do in them, once.
 *
 * The list of views: a new one is a line here and its file.  TAB(id, name, number): with a key of that
 * number as far as there are keys, else by name and mouse; PAGE(id, name): pushed on top of another.
 * Each is the const struct view_ops NAME_view and the context IN_ID.
 *
 * The list of actions feeds the key map, help, footer, palette, configuration file, man page and the
 * policy greying.  The footer shows as many as fit, in this order: what a view is for comes first.
 * ACTION(id, name, default keys, where, flags, footer word, help):
 *   default keys  as in keymap.h ("D", "C-s", "F1", "Enter"), several separated by a space
 *   where         the contexts (views) in which it exists
 */
#ifndef TERMINAL_ACTION_H
#define TERMINAL_ACTION_H

#include <stdint.h>

#define VIEWS(TAB, PAGE)                \
	TAB(CONTAINERS, containers, 2)  \
	TAB(LOGS, logs, 3)              \
	TAB(JOBS, jobs, 4)              \
	TAB(EVENTS, events, 7)          \
	TAB(HOST, host, 8)              \
	PAGE(HELP, help)                \
	PAGE(INSPECT, inspect)          \
	TAB(AUDIT, audit, 6)            \
	TAB(AGENTS, agents, 1)          \
	PAGE(JOURNAL, journal)          \
	PAGE(OUTPUT, output)            \
	TAB(CLEAN, clean, 5)            \
	TAB(BENCH, bench, 9)            \
	TAB(WORKSPACES, workspaces, 10) \
	PAGE(WORKSPACE, workspace)      \
	PAGE(CALLS, calls)              \
	PAGE(NETWORK, network)          \
	PAGE(HUNKS, hunks)              \
	PAGE(IMAGES, images)            \
	PAGE(VOLUMES, volumes)          \
	PAGE(NETWORKS, networks)        \
	PAGE(HISTORY, history)          \
	PAGE(PREVIEW, preview)

enum view_number {
#define VIEW(id, ...) VIEW_##id,
	VIEWS(VIEW, VIEW)
#undef VIEW
		VIEW_COUNT
};
_Static_assert(VIEW_COUNT < 31, "a context is a bit of an int");

enum {
#define VIEW(id, ...) IN_##id = 1 << VIEW_##id,
	VIEWS(VIEW, VIEW)
#undef VIEW
		IN_ANY = (1 << VIEW_COUNT) - 1,
	IN_TEXT = IN_LOGS | IN_INSPECT,
	IN_ROWS = IN_CONTAINERS | IN_AGENTS,
	IN_KEPT = IN_WORKSPACES | IN_WORKSPACE,
	IN_HELD = IN_IMAGES | IN_VOLUMES | IN_NETWORKS,
	IN_LISTS = IN_ROWS | IN_JOBS | IN_CLEAN | IN_BENCH | IN_KEPT | IN_CALLS | IN_HELD,
};

enum {
	ACTION_CHANGES = 1,     /* does something to the world: refused when read-only */
	ACTION_DESTRUCTIVE = 2, /* cannot be undone: dialog, never on a bare lower-case letter */
	ACTION_HIDDEN = 4,      /* movement and the like: not in the footer */
};

#define ACTIONS(ACTION)                                                                            \
	ACTION(HELP, "help", "? F1", IN_ANY, 0, "help", "keys and actions of this view")           \
	ACTION(QUIT, "quit", "Q C-c", IN_ANY, ACTION_HIDDEN, "quit",                               \
		"quit; asks if its jobs still run")                                                \
	ACTION(BACK, "back", "q Esc", IN_ANY, ACTION_HIDDEN, "back",                               \
		"close, clear the filter, go back; q twice: quit")                                 \
	ACTION(UP, "up", "Up k", IN_ANY, ACTION_HIDDEN, "up", "one row up")                        \
	ACTION(DOWN, "down", "Down j", IN_ANY, ACTION_HIDDEN, "down", "one row down")              \
	ACTION(LEFT, "left", "Left h", IN_ANY, ACTION_HIDDEN, "left",                              \
		"scroll or fold to the left")                                                      \
	ACTION(RIGHT, "right", "Right", IN_ANY, ACTION_HIDDEN, "right",                            \
		"scroll or unfold to the right")                                                   \
	ACTION(PAGE_UP, "page-up", "PgUp", IN_ANY, ACTION_HIDDEN, "page up", "one page up")        \
	ACTION(PAGE_DOWN, "page-down", "PgDn", IN_ANY, ACTION_HIDDEN, "page down",                 \
		"one page down")                                                                   \
	ACTION(HALF_UP, "half-up", "C-u", IN_ANY, ACTION_HIDDEN, "half up", "half a page up")      \
	ACTION(HALF_DOWN, "half-down", "C-d", IN_ANY, ACTION_HIDDEN, "half down",                  \
		"half a page down")                                                                \
	ACTION(TOP, "top", "Home g", IN_ANY, ACTION_HIDDEN, "top", "first row")                    \
	ACTION(BOTTOM, "bottom", "End G", IN_ANY, ACTION_HIDDEN, "bottom", "last row")             \
	ACTION(VIEW_1, "view-1", "1", IN_ANY, ACTION_HIDDEN, "view 1", "first view")               \
	ACTION(VIEW_2, "view-2", "2", IN_ANY, ACTION_HIDDEN, "view 2", "second view")              \
	ACTION(VIEW_3, "view-3", "3", IN_ANY, ACTION_HIDDEN, "view 3", "third view")               \
	ACTION(VIEW_4, "view-4", "4", IN_ANY, ACTION_HIDDEN, "view 4", "fourth view")              \
	ACTION(VIEW_5, "view-5", "5", IN_ANY, ACTION_HIDDEN, "view 5", "fifth view")               \
	ACTION(VIEW_6, "view-6", "6", IN_ANY, ACTION_HIDDEN, "view 6", "sixth view")               \
	ACTION(VIEW_7, "view-7", "7", IN_ANY, ACTION_HIDDEN, "view 7", "seventh view")             \
	ACTION(VIEW_8, "view-8", "8", IN_ANY, ACTION_HIDDEN, "view 8", "eighth view")              \
	ACTION(VIEW_9, "view-9", "9", IN_ANY, ACTION_HIDDEN, "view 9", "ninth view")               \
	ACTION(VIEW_10, "view-10", "0", IN_ANY, ACTION_HIDDEN, "view 10", "tenth view")            \
	ACTION(NEXT_PANE, "next-pane", "Tab", IN_ANY, ACTION_HIDDEN, "pane",                       \
		"next pane or detail tab")                                                         \
	ACTION(PREV_PANE, "prev-pane", "S-Tab", IN_ANY, ACTION_HIDDEN, "pane",                     \
		"previous pane or detail tab")                                                     \
	ACTION(ENTER, "enter", "Enter", IN_ANY, ACTION_HIDDEN, "detail", "detail; fold or unfold") \
	ACTION(LOGS, "logs", "l", IN_ROWS, 0, "logs",                                              \
		"logs of the row, or of all marked rows merged")                                   \
	ACTION(DIFF, "diff", "d", IN_KEPT, 0, "diff",                                              \
		"diff: of two marked ones, else since the newest checkpoint")                      \
	ACTION(CHECKPOINT, "checkpoint", "S", IN_KEPT, ACTION_CHANGES, "checkpoint",               \
		"save the contents of the workspace")                                              \
	ACTION(RESTORE, "restore", "R", IN_KEPT, ACTION_CHANGES | ACTION_DESTRUCTIVE, "restore",   \
		"restore a checkpoint; shows first what that changes")                             \
	ACTION(FORK, "fork", "Y", IN_WORKSPACES, ACTION_CHANGES, "fork",                           \
		"fork: new tasks with the same contents")                                          \
	ACTION(ENDED, "ended", "E", IN_WORKSPACES, ACTION_CHANGES, "done/failed",                  \
		"mark the task, or all marked ones, done, failed or open")                         \
	ACTION(NEW_WORKSPACE, "new-workspace", "N", IN_WORKSPACES, ACTION_CHANGES, "new",          \
		"create a workspace: task NAME or project NAME")                                   \
	ACTION(DROP, "drop", "D Del", IN_WORKSPACE, ACTION_CHANGES | ACTION_DESTRUCTIVE, "drop",   \
		"remove the checkpoint")                                                           \
	ACTION(BROWSE, "browse", "o", IN_WORKSPACES, 0, "files", "everything in the workspace")    \
	ACTION(ARCHIVE, "archive", "Z", IN_WORKSPACES, ACTION_CHANGES | ACTION_DESTRUCTIVE,        \
		"archive", "compress the workspace into archives/ and remove it")                  \
	ACTION(UNARCHIVE, "unarchive", "U", IN_WORKSPACES, ACTION_CHANGES, "unarchive",            \
		"turn the archive back into a workspace")                                          \
	ACTION(REMOVE_WORKSPACE, "remove-workspace", "D Del", IN_WORKSPACES,                       \
		ACTION_CHANGES | ACTION_DESTRUCTIVE, "remove",                                     \
		"remove the workspaces after a checkpoint, or the archives")                       \
	ACTION(CHOOSE, "choose", "t", IN_WORKSPACES, 0, "apply",                                   \
		"choose changes to apply to a project, hunk by hunk; or of two marked")            \
	ACTION(TAKE, "take", "A", IN_HUNKS, ACTION_CHANGES, "apply",                               \
		"apply the marked hunks to the project")                                           \
	ACTION(ON_BRANCH, "on-branch", "b", IN_HUNKS, 0, "branch",                                 \
		"apply as a new branch of the project's git instead")                              \
	ACTION(OVERLAP, "overlap", "O", IN_WORKSPACES, ACTION_HIDDEN, "overlap",                   \
		"what several of the marked forks changed")                                        \
	ACTION(HAND_OVER, "hand-over", "P", IN_WORKSPACES, ACTION_CHANGES | ACTION_HIDDEN,         \
		"hand over", "copy files of the task to another task, read-only")                  \
	ACTION(VERIFY_KEPT, "verify", "v", IN_KEPT, ACTION_HIDDEN, "verify",                       \
		"check its checkpoints; on another row those of all, and all archives")            \
	ACTION(LIMIT, "limit", "L", IN_WORKSPACES, ACTION_CHANGES, "limit",                        \
		"set the workspace's limits")                                                      \
	ACTION(THAW, "thaw", "W", IN_WORKSPACES, ACTION_CHANGES, "thaw",                           \
		"thaw the containers that berth froze for the workspace")                          \
	ACTION(SHELL, "shell", "x", IN_ROWS | IN_LOGS | IN_WORKSPACES, ACTION_CHANGES, "shell",    \
		"a shell in the container")                                                        \
	ACTION(INSPECT, "inspect", "i", IN_ROWS | IN_LOGS, 0, "inspect",                           \
		"the engine's JSON, collapsible")                                                  \
	ACTION(RECORDS, "records", "a", IN_ROWS, ACTION_HIDDEN, "audit",                           \
		"what was done to the container")                                                  \
	ACTION(JOURNAL, "commands", "o", IN_AGENTS, 0, "commands",                                 \
		"what the agent ran, and what each command printed")                               \
	ACTION(CALLS, "calls", "t", IN_AGENTS, 0, "calls",                                         \
		"tool calls of the agent through `berth mcp`, live")                               \
	ACTION(PREVIEW, "preview", "v", IN_AGENTS | IN_PREVIEW, ACTION_HIDDEN, "terminals",        \
		"what the agent's terminals show, live")                                           \
	ACTION(PORTS, "ports", "p", IN_AGENTS, ACTION_HIDDEN, "ports",                             \
		"ports of the agent that are open on this machine")                                \
	ACTION(OPEN_PORT, "open-port", "P", IN_AGENTS, ACTION_CHANGES | ACTION_HIDDEN,             \
		"open port",                                                                       \
		"reach a server in the agent's container from this machine's loopback")            \
	ACTION(CLOSE_PORT, "close-port", "X", IN_AGENTS, ACTION_CHANGES | ACTION_HIDDEN,           \
		"close port", "close a port of the agent, and what is open through it")            \
	ACTION(ALLOW_ONCE, "allow-once", "A", IN_NETWORK, ACTION_CHANGES, "allow once",            \
		"allow waiting connections to this target once; no rule is added")                 \
	ACTION(ALLOW_SESSION, "allow-session", "S", IN_NETWORK, ACTION_CHANGES, "for the session", \
		"allow the target until the agent is taken down")                                  \
	ACTION(ALLOW_FILE, "allow-file", "W", IN_NETWORK, ACTION_CHANGES, "in the file",           \
		"allow the target and add it to the agent's team file")                            \
	ACTION(DENY_TARGET, "deny", "X", IN_NETWORK, ACTION_CHANGES, "deny",                       \
		"deny the target until the agent is taken down")                                   \
	ACTION(AGENT_RUN, "run", "!", IN_AGENTS, ACTION_CHANGES | ACTION_HIDDEN, "run",            \
		"run a command in the agent, or in all marked ones")                               \
	ACTION(AGENT_UP, "agent-up", "U", IN_AGENTS, ACTION_CHANGES, "up",                         \
		"bring the agent up from its team file")                                           \
	ACTION(AGENT_DOWN, "agent-down", "D Del", IN_AGENTS, ACTION_CHANGES | ACTION_DESTRUCTIVE,  \
		"down", "remove its container; the workspace stays")                               \
	ACTION(AGENT_RENEW, "recreate", "R", IN_AGENTS, ACTION_CHANGES | ACTION_DESTRUCTIVE,       \
		"recreate", "recreate it from its team file")                                      \
	ACTION(START_STOP, "start-stop", "S", IN_CONTAINERS, ACTION_CHANGES, "start/stop",         \
		"start, or stop with its grace period")                                            \
	ACTION(REMOVE, "remove", "D Del", IN_CONTAINERS, ACTION_CHANGES | ACTION_DESTRUCTIVE,      \
		"remove", "remove, with a plan")                                                   \
	ACTION(LIMITS, "limits", "L", IN_ROWS, ACTION_CHANGES | ACTION_HIDDEN, "limits",           \
		"change its memory, CPU and process limits")                                       \
	ACTION(CLEAN, "clean-up", "D Del", IN_CLEAN, ACTION_CHANGES | ACTION_DESTRUCTIVE,          \
		"clean up", "remove the marked items")                                             \
	ACTION(REMOVE_HELD, "remove-held", "D Del", IN_HELD, ACTION_CHANGES | ACTION_DESTRUCTIVE,  \
		"remove", "remove, with a plan")                                                   \
	ACTION(PRUNE, "prune", "X", IN_HELD, ACTION_CHANGES | ACTION_DESTRUCTIVE, "prune",         \
		"remove unused ones, with a plan as in Clean-up")                                  \
	ACTION(PULL_IMAGE, "pull-image", "P", IN_IMAGES, ACTION_CHANGES, "pull",                   \
		"pull an image from its registry, as a job")                                       \
	ACTION(BUILD_IMAGE, "build-image", "B", IN_IMAGES, ACTION_CHANGES, "build",                \
		"build an image, as a job")                                                        \
	ACTION(FOREIGN, "foreign", "f", IN_CLEAN, 0, "foreign", "include what others created")     \
	ACTION(BENCH_RUN, "bench-run", "R", IN_BENCH, ACTION_CHANGES, "run",                       \
		"run what is marked, or the suite or case under the cursor")                       \
	ACTION(SUITE, "suite", "o", IN_BENCH, 0, "own file", "add your own suite file")            \
	ACTION(CANCEL_JOB, "cancel-job", "C",                                                      \
		IN_JOBS | IN_CLEAN | IN_BENCH | IN_OUTPUT | IN_NETWORK, ACTION_CHANGES, "cancel",  \
		"cancel the job")                                                                  \
	ACTION(CANCEL_ALL, "cancel-all", "A", IN_JOBS, ACTION_CHANGES, "cancel all",               \
		"cancel every running job")                                                        \
	ACTION(ALLOW, "allow", "Y", IN_JOBS | IN_NETWORK, ACTION_CHANGES, "allow",                 \
		"allow the request; C refuses it")                                                 \
	ACTION(DISMISS, "dismiss", "d", IN_JOBS, 0, "dismiss",                                     \
		"dismiss the finished job, or all marked finished ones")                           \
	ACTION(FILTER, "filter", "/", IN_ANY, 0, "filter",                                         \
		"filter rows (regular expression, ! inverts); search text")                        \
	ACTION(RESTART, "restart", "R", IN_CONTAINERS, ACTION_CHANGES, "restart", "restart")       \
	ACTION(KILL, "kill", "K", IN_CONTAINERS, ACTION_CHANGES | ACTION_DESTRUCTIVE, "kill",      \
		"kill (SIGKILL)")                                                                  \
	ACTION(SIGNAL, "signal", "N", IN_ROWS, ACTION_CHANGES | ACTION_HIDDEN, "signal",           \
		"send a signal by its name")                                                       \
	ACTION(PAUSE, "pause", "P", IN_CONTAINERS, ACTION_CHANGES, "pause", "pause or unpause")    \
	ACTION(MARK, "mark", "Space", IN_LISTS | IN_HUNKS, 0, "mark", "mark or unmark the row")    \
	ACTION(MARK_RANGE, "mark-range", "V C-Space", IN_LISTS, ACTION_HIDDEN, "range",            \
		"mark from the last mark to here")                                                 \
	ACTION(MARK_ALL, "mark-all", "*", IN_LISTS | IN_HUNKS, ACTION_HIDDEN, "all",               \
		"mark all rows that the filter shows")                                             \
	ACTION(UNMARK, "unmark", "u", IN_LISTS | IN_HUNKS, ACTION_HIDDEN, "unmark", "unmark all")  \
	ACTION(NEXT_HIT, "next-hit", "n", IN_TEXT | IN_JOURNAL | IN_OUTPUT | IN_HUNKS, 0, "next",  \
		"next match, or hunk")                                                             \
	ACTION(PREV_HIT, "prev-hit", "N", IN_TEXT | IN_JOURNAL | IN_OUTPUT | IN_HUNKS,             \
		ACTION_HIDDEN, "previous", "previous match, or hunk")                              \
	ACTION(PALETTE, "palette", ":", IN_ANY, 0, "actions", "every action by name")              \
	ACTION(SORT_NEXT, "sort-next", ">", IN_LISTS, 0, "sort", "sort by the next column")        \
	ACTION(SORT_PREV, "sort-prev", "<", IN_LISTS, ACTION_HIDDEN, "sort",                       \
		"sort by the previous column")                                                     \
	ACTION(SORT, "sort", "", IN_LISTS, ACTION_HIDDEN, "sort",                                  \
		"sort COLUMN: by its name; - before it inverts")                                   \
	ACTION(SORT_INVERT, "sort-invert", "I", IN_LISTS, ACTION_HIDDEN, "invert",                 \
		"invert the order")                                                                \
	ACTION(SORT_CPU, "sort-cpu", "C", IN_ROWS, ACTION_HIDDEN, "sort",                          \
		"sort by CPU; again: reversed")                                                    \
	ACTION(SORT_MEMORY, "sort-memory", "M", IN_ROWS, ACTION_HIDDEN, "sort",                    \
		"sort by memory; again: reversed")                                                 \
	ACTION(COLUMNS, "columns", "c", IN_LISTS, 0, "columns", "choose columns")                  \
	ACTION(GROUPS, "groups", "o", IN_CONTAINERS, ACTION_HIDDEN, "groups", "grouped or flat")   \
	ACTION(ALL, "all", "e", IN_CONTAINERS, ACTION_HIDDEN, "stopped",                           \
		"show or hide stopped containers")                                                 \
	ACTION(CHECKPOINTS, "checkpoints", "e", IN_AUDIT, 0, "checkpoints",                        \
		"show or hide the checkpoints that sign the log")                                  \
	ACTION(FILTER_LINES, "filter-lines", "&", IN_LOGS, 0, "filter",                            \
		"show only lines that match: expressions, ! inverts, a & b joins")                 \
	ACTION(PERIOD, "period", "p", IN_LOGS, 0, "period",                                        \
		"what to read: since=1h until=10m tail=500")                                       \
	ACTION(CHECKS, "health-checks", "e", IN_EVENTS, 0, "checks",                               \
		"show or fold the commands of health checks")                                      \
	ACTION(VERIFY_LOG, "verify-log", "v", IN_AUDIT, 0, "verify", "verify the log now")         \
	ACTION(FOLLOW, "follow", "f", IN_LOGS | IN_EVENTS | IN_AUDIT | IN_JOURNAL, 0, "follow",    \
		"follow the end")                                                                  \
	ACTION(WRAP, "wrap", "w", IN_LOGS, 0, "wrap", "wrap long lines")                           \
	ACTION(PLAY, "play", "p Space", IN_JOURNAL, 0, "play",                                     \
		"play the output with its timing; again: pause.  + and - change the speed")        \
	ACTION(FIELDS, "fields", "c", IN_LOGS, ACTION_HIDDEN, "columns",                           \
		"JSON lines as columns: level, time, message, then the rest")                      \
	ACTION(STAMPS, "timestamps", "t", IN_LOGS, 0, "time", "time stamps")                       \
	ACTION(ZOOM, "zoom", "z", IN_ROWS | IN_LOGS, ACTION_HIDDEN, "zoom", "one pane, or both")   \
	ACTION(IMPORT, "import", "", IN_ANY, ACTION_CHANGES | ACTION_HIDDEN, "import",             \
		"import FILE NAME: a tar file becomes an image, as a job")                         \
	ACTION(SEARCH, "search", "", IN_ANY, ACTION_HIDDEN, "search",                              \
		"search PATTERN [DIR]: text in a tree, as a job")                                  \
	ACTION(GREP, "grep", "", IN_ANY, ACTION_HIDDEN, "grep",                                    \
		"grep PATTERN [CONTAINER...]: in the logs of all or these")                        \
	ACTION(SCAN, "scan", "", IN_ANY, ACTION_HIDDEN, "scan",                                    \
		"scan [DIR]: list a tree, as a job")                                               \
	ACTION(TRANSFORM, "transform", "", IN_ANY, ACTION_CHANGES | ACTION_HIDDEN, "transform",    \
		"transform PATTERN REPLACEMENT [DIR]: shows its diff first")                       \
	ACTION(COPY_FILES, "copy-files", "", IN_ANY, ACTION_CHANGES | ACTION_HIDDEN, "copy",       \
		"copy-files FROM TO: a file or a tree, as a job")                                  \
	ACTION(DELETE, "delete", "", IN_ANY, ACTION_CHANGES | ACTION_HIDDEN, "delete",             \
		"delete [-r] PATH: files and trees, as a job")                                     \
	ACTION(PULL, "pull", "", IN_ANY, ACTION_CHANGES | ACTION_HIDDEN, "pull",                   \
		"pull IMAGE: from its registry, as a job")                                         \
	ACTION(BUILD, "build", "", IN_ANY, ACTION_CHANGES | ACTION_HIDDEN, "build",                \
		"build NAME [DIR]: an image, as a job")                                            \
	ACTION(VERIFY, "verify", "", IN_ANY, ACTION_HIDDEN, "verify",                              \
		"verify that the audit log is unchanged")                                          \
	ACTION(COMPARE, "compare", "", IN_ANY, ACTION_HIDDEN, "compare",                           \
		"compare [VERSION]: the newest benchmarks with earlier ones")                      \
	ACTION(TREND, "trend", "", IN_ANY, ACTION_HIDDEN, "trend",                                 \
		"trend [CASE]: benchmark figures over the versions")                               \
	ACTION(ATTENTION, "attention", ".", IN_ANY, ACTION_HIDDEN, "attention",                    \
		"go to the next agent that needs a person")                                        \
	ACTION(NETWORK, "network", "@", IN_ANY, ACTION_HIDDEN, "network",                          \
		"all that waits for a person; connections of agents without a network")            \
	ACTION(CONTEXT, "context", "", IN_ANY, ACTION_HIDDEN, "context",                           \
		"context [NAME]: the docker contexts; the console of another one")                 \
	ACTION(IMAGES, "images", "F2", IN_ANY, ACTION_HIDDEN, "images",                            \
		"images of the engine: who uses them, layers, sizes")                              \
	ACTION(VOLUMES, "volumes", "F3", IN_ANY, ACTION_HIDDEN, "volumes",                         \
		"volumes of the engine: who uses them, sizes")                                     \
	ACTION(NETWORKS, "networks", "F4", IN_ANY, ACTION_HIDDEN, "networks",                      \
		"networks of the engine: their members and addresses")                             \
	ACTION(HISTORY, "history", "H", IN_ANY, ACTION_HIDDEN, "history",                          \
		"usage and events of the container over hours and days")                           \
	ACTION(ZOOM_IN, "zoom-in", "z", IN_HISTORY, 0, "closer", "less time, more of it: also Up") \
	ACTION(ZOOM_OUT, "zoom-out", "Z", IN_HISTORY, 0, "wider", "more time: also Down")          \
	ACTION(NEXT_EVENT, "next-event", "n", IN_HISTORY, 0, "next event", "go to the next event") \
	ACTION(PREV_EVENT, "previous-event", "N", IN_HISTORY, ACTION_HIDDEN, "previous event",     \
		"go to the previous event")                                                        \
	ACTION(SORT_ATTENTION, "sort-attention", "A", IN_AGENTS, ACTION_HIDDEN, "sort",            \
		"sort by who needs a person; again: reversed")                                     \
	ACTION(COPY, "copy", "y", IN_ANY, 0, "copy", "copy name, id or line (OSC 52)")             \
	ACTION(SAVE, "save", "C-s", IN_ANY, ACTION_HIDDEN, "save", "save the view to a file")      \
	ACTION(UNDO, "undo", "", IN_ANY, ACTION_CHANGES | ACTION_HIDDEN, "undo",                   \
		"undo [CONTAINER]: recreate a removed one, within 10 minutes")                     \
	ACTION(SPLIT, "split", "", IN_ANY, ACTION_HIDDEN, "split",                                 \
		"split VIEW: two views at once; again: one")                                       \
	ACTION(OTHER_HALF, "other-half", "C-w", IN_ANY, ACTION_HIDDEN, "other half",               \
		"switch to the other view of a split")                                             \
	ACTION(PAGER, "pager", "|", IN_ANY, ACTION_HIDDEN, "pager", "open the view in $PAGER")     \
	ACTION(FASTER, "faster", "+", IN_ANY, ACTION_HIDDEN, "faster",                             \
		"sample faster, up to 10 Hz")                                                      \
	ACTION(SLOWER, "slower", "-", IN_ANY, ACTION_HIDDEN, "slower", "sample slower")            \
	ACTION(FREEZE, "freeze", "F", IN_ANY, ACTION_HIDDEN, "freeze", "freeze the display")       \
	ACTION(MOUSE, "mouse", "m", IN_ANY, ACTION_HIDDEN, "mouse",                                \
		"mouse on or off (off: select text)")                                              \
	ACTION(THEME, "theme", "T", IN_ANY, ACTION_HIDDEN, "theme", "next theme")                  \
	ACTION(READ_ONLY, "ro", "", IN_ANY, ACTION_HIDDEN, "read-only", "read-only on or off")     \
	ACTION(REFRESH, "refresh", "r", IN_ANY, ACTION_HIDDEN, "refresh", "ask the engine again")  \
	ACTION(REDRAW, "redraw", "C-l", IN_ANY, ACTION_HIDDEN, "redraw", "redraw everything")      \
	ACTION(SUSPEND, "suspend", "C-z", IN_ANY, ACTION_HIDDEN, "suspend",                        \
		"back to the shell; fg returns")

enum action {
	DO_NONE,
#define ACTION(id, ...) DO_##id,
	ACTIONS(ACTION)
#undef ACTION
		DO_COUNT
};

struct action_info {
	const char *name, *keys;
	uint32_t where;
	uint8_t flags;
	const char *word, *help;
};
extern const struct action_info action_info[DO_COUNT]; /* [DO_NONE] is empty */

enum action action_by_name(const char *name); /* DO_NONE when there is no such action */
/* By how many rows an action moves what shows so many of them: a row, half a page, a page, all (more than there can be).
 * 0: it is no movement. */
int action_rows(enum action a, int shown);
const char *context_name(uint32_t context); /* of its lowest bit: "containers" */

#endif
