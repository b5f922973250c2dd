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

#define VIEWS(TAB, PAGE)               \
	TAB(CONTAINERS, containers, 2) \
	TAB(LOGS, logs, 3)             \
	TAB(JOBS, jobs, 4)             \
	TAB(EVENTS, events, 7)         \
	TAB(HOST, host, 8)             \
	PAGE(HELP, help)               \
	PAGE(INSPECT, inspect)         \
	TAB(AUDIT, audit, 6)           \
	TAB(AGENTS, agents, 1)         \
	PAGE(JOURNAL, journal)         \
	PAGE(OUTPUT, output)           \
	TAB(CLEAN, clean, 5)           \
	TAB(BENCH, bench, 9)

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
	IN_LISTS = IN_ROWS | IN_JOBS | IN_CLEAN | IN_BENCH,
};

enum {
	ACTION_CHANGES = 1,     /* does something to the world: refused when read-only */
	ACTION_DESTRUCTIVE = 2, /* cannot be undone: dialog, never on a bare lower-case letter */
	ACTION_HIDDEN = 4,      /* movement and the like: not in the footer */
};

#define ACTIONS(ACTION)                                                                            \
	ACTION(HELP, "help", "? F1", IN_ANY, 0, "help", "keys and actions of this view")           \
	ACTION(QUIT, "quit", "C-c", IN_ANY, ACTION_HIDDEN, "quit",                                 \
		"quit; asks if jobs started here still run")                                       \
	ACTION(BACK, "back", "q Esc", IN_ANY, ACTION_HIDDEN, "back",                               \
		"close, clear the filter, go back; at the root: quit")                             \
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
	ACTION(NEXT_PANE, "next-pane", "Tab", IN_ANY, ACTION_HIDDEN, "pane",                       \
		"next pane or detail tab")                                                         \
	ACTION(PREV_PANE, "prev-pane", "S-Tab", IN_ANY, ACTION_HIDDEN, "pane",                     \
		"previous pane or detail tab")                                                     \
	ACTION(ENTER, "enter", "Enter", IN_ANY, ACTION_HIDDEN, "detail", "detail; fold or unfold") \
	ACTION(LOGS, "logs", "l", IN_ROWS, 0, "logs", "logs of the row, or of all marked merged")  \
	ACTION(SHELL, "shell", "x", IN_ROWS | IN_LOGS, ACTION_CHANGES, "shell",                    \
		"a shell in the container")                                                        \
	ACTION(INSPECT, "inspect", "i", IN_ROWS | IN_LOGS, 0, "inspect",                           \
		"the engine's JSON, collapsible")                                                  \
	ACTION(RECORDS, "records", "a", IN_ROWS, ACTION_HIDDEN, "audit",                           \
		"what was done to the container")                                                  \
	ACTION(JOURNAL, "journal", "o", IN_AGENTS, 0, "commands",                                  \
		"what the agent ran, and what each command printed")                               \
	ACTION(AGENT_RUN, "run", "!", IN_AGENTS, ACTION_CHANGES | ACTION_HIDDEN, "run",            \
		"run a command in the agent, or in all marked")                                    \
	ACTION(AGENT_UP, "agent-up", "U", IN_AGENTS, ACTION_CHANGES, "up",                         \
		"bring the agent up as its team file says")                                        \
	ACTION(AGENT_DOWN, "agent-down", "D Del", IN_AGENTS, ACTION_CHANGES | ACTION_DESTRUCTIVE,  \
		"down", "remove its container; the workspace stays")                               \
	ACTION(AGENT_RENEW, "recreate", "R", IN_AGENTS, ACTION_CHANGES | ACTION_DESTRUCTIVE,       \
		"recreate", "take down, and bring up as its team file says now")                   \
	ACTION(START_STOP, "start-stop", "S", IN_CONTAINERS, ACTION_CHANGES, "start/stop",         \
		"start, or stop with its grace period")                                            \
	ACTION(REMOVE, "remove", "D Del", IN_CONTAINERS, ACTION_CHANGES | ACTION_DESTRUCTIVE,      \
		"remove", "remove, by a plan")                                                     \
	ACTION(CLEAN, "clean-up", "D Del", IN_CLEAN, ACTION_CHANGES | ACTION_DESTRUCTIVE,          \
		"clean up", "remove what is marked, exactly that")                                 \
	ACTION(FOREIGN, "foreign", "f", IN_CLEAN, 0, "foreign", "include what berth did not make") \
	ACTION(BENCH_RUN, "bench-run", "R", IN_BENCH, ACTION_CHANGES, "run",                       \
		"run what is marked, or the suite or case under the cursor")                       \
	ACTION(SUITE, "suite", "o", IN_BENCH, 0, "own file", "add a suite file of yours")          \
	ACTION(CANCEL_JOB, "cancel-job", "C", IN_JOBS | IN_CLEAN | IN_BENCH | IN_OUTPUT,           \
		ACTION_CHANGES, "cancel", "cancel the job")                                        \
	ACTION(CANCEL_ALL, "cancel-all", "A", IN_JOBS, ACTION_CHANGES, "cancel all",               \
		"cancel every running job")                                                        \
	ACTION(DISMISS, "dismiss", "d", IN_JOBS, 0, "dismiss",                                     \
		"take the job that ended, or all marked that did, off the list")                   \
	ACTION(FILTER, "filter", "/", IN_ANY, 0, "filter",                                         \
		"filter rows (regular expression, ! inverts); search text")                        \
	ACTION(RESTART, "restart", "R", IN_CONTAINERS, ACTION_CHANGES, "restart", "restart")       \
	ACTION(KILL, "kill", "K", IN_CONTAINERS, ACTION_CHANGES | ACTION_DESTRUCTIVE, "kill",      \
		"kill at once (SIGKILL)")                                                          \
	ACTION(PAUSE, "pause", "P", IN_CONTAINERS, ACTION_CHANGES, "pause", "pause or unpause")    \
	ACTION(MARK, "mark", "Space", IN_LISTS, 0, "mark", "mark or unmark the row")               \
	ACTION(MARK_RANGE, "mark-range", "V C-Space", IN_LISTS, ACTION_HIDDEN, "range",            \
		"mark from the last mark to here")                                                 \
	ACTION(MARK_ALL, "mark-all", "*", IN_LISTS, ACTION_HIDDEN, "all",                          \
		"mark all rows that the filter shows")                                             \
	ACTION(UNMARK, "unmark", "u", IN_LISTS, ACTION_HIDDEN, "unmark", "unmark all")             \
	ACTION(NEXT_HIT, "next-hit", "n", IN_TEXT | IN_JOURNAL | IN_OUTPUT, 0, "next",             \
		"next match")                                                                      \
	ACTION(PREV_HIT, "prev-hit", "N", IN_TEXT | IN_JOURNAL | IN_OUTPUT, ACTION_HIDDEN,         \
		"previous", "previous match")                                                      \
	ACTION(PALETTE, "palette", ":", IN_ANY, 0, "commands", "every action by name")             \
	ACTION(SORT_NEXT, "sort-next", ">", IN_LISTS, 0, "sort", "sort by the next column")        \
	ACTION(SORT_PREV, "sort-prev", "<", IN_LISTS, ACTION_HIDDEN, "sort",                       \
		"sort by the previous column")                                                     \
	ACTION(SORT_INVERT, "sort-invert", "I", IN_LISTS, ACTION_HIDDEN, "invert",                 \
		"invert the order")                                                                \
	ACTION(SORT_CPU, "sort-cpu", "C", IN_ROWS, ACTION_HIDDEN, "sort",                          \
		"sort by CPU; again: the other way round")                                         \
	ACTION(SORT_MEMORY, "sort-memory", "M", IN_ROWS, ACTION_HIDDEN, "sort",                    \
		"sort by memory; again: the other way round")                                      \
	ACTION(COLUMNS, "columns", "c", IN_LISTS, 0, "columns", "choose columns")                  \
	ACTION(GROUPS, "groups", "o", IN_CONTAINERS, ACTION_HIDDEN, "groups", "grouped or flat")   \
	ACTION(ALL, "all", "e", IN_CONTAINERS, ACTION_HIDDEN, "stopped",                           \
		"show or hide stopped containers")                                                 \
	ACTION(CHECKPOINTS, "checkpoints", "e", IN_AUDIT, 0, "checkpoints",                        \
		"show or hide the checkpoints that sign the log")                                  \
	ACTION(FILTER_LINES, "filter-lines", "&", IN_LOGS, 0, "filter",                            \
		"show only lines that match: expressions, ! inverts, a & b joins")                 \
	ACTION(CHECKS, "health-checks", "e", IN_EVENTS, 0, "checks",                               \
		"show or fold what runs in containers that have a health check")                   \
	ACTION(VERIFY_LOG, "verify-log", "v", IN_AUDIT, 0, "verify", "verify the log now")         \
	ACTION(FOLLOW, "follow", "f", IN_LOGS | IN_EVENTS | IN_AUDIT | IN_JOURNAL, 0, "follow",    \
		"follow the end")                                                                  \
	ACTION(WRAP, "wrap", "w", IN_LOGS, 0, "wrap", "wrap long lines")                           \
	ACTION(STAMPS, "timestamps", "t", IN_LOGS, 0, "time", "time stamps")                       \
	ACTION(ZOOM, "zoom", "z", IN_ROWS | IN_LOGS, ACTION_HIDDEN, "zoom", "one pane, or both")   \
	ACTION(IMPORT, "import", "", IN_ANY, ACTION_CHANGES | ACTION_HIDDEN, "import",             \
		"import FILE NAME: a tar file becomes an image, as a job")                         \
	ACTION(SEARCH, "search", "", IN_ANY, ACTION_HIDDEN, "search",                              \
		"search PATTERN [DIR]: text in a tree, as a job")                                  \
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
		"is the audit log what was written?")                                              \
	ACTION(COMPARE, "compare", "", IN_ANY, ACTION_HIDDEN, "compare",                           \
		"compare [VERSION]: the newest benchmarks with earlier ones")                      \
	ACTION(TREND, "trend", "", IN_ANY, ACTION_HIDDEN, "trend",                                 \
		"trend [CASE]: benchmark figures over the versions")                               \
	ACTION(COPY, "copy", "y", IN_ANY, 0, "copy", "copy name, id or line (OSC 52)")             \
	ACTION(SAVE, "save", "C-s", IN_ANY, ACTION_HIDDEN, "save", "save what is shown to a file") \
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
const char *context_name(uint32_t context);   /* of its lowest bit: "containers" */

#endif
