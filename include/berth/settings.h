/*
 * settings.h - the settings of berth.yaml.
 *
 * One table says name, type, range and help of every setting; reading, `berth config check` and the
 * man page use it.  The defaults are the shipped configs/berth.yaml, read by the same code first;
 * then $XDG_CONFIG_HOME/berth/berth.yaml (need not exist) or the file given with --settings (must).
 * Anything unknown, doubled or out of range is ERR_CONFIG with file:line:column.
 *
 * Thread: call before threads start; the result is plain data of its owner.
 */
#ifndef BERTH_SETTINGS_H
#define BERTH_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "config.h"
#include "err.h"

struct text_list {
	size_t n;
	const char *const *item;
};

/* One of `hosts`: an engine by name, or what holds on engines whose endpoint or name matches; the other is NULL. */
struct host_rule {
	const char *name,
		*endpoint; /* written as berth shows it: policy compares it as it stands */
	const char *host;  /* pattern as in policy.h */
	bool read_only;
	bool secrets; /* of one by name: secrets may be handed over there */
	struct text_list protected_names, protected_labels, protected_images;
};

/* Minutes since midnight, in local time; from > to: over midnight. */
struct day_span {
	int from, to;
};

enum alert_notify { ALERT_NO, ALERT_OSC_9, ALERT_OSC_777 };

#define ALERTS_MAX 64

/* One of `alerts`: what is done when a condition (where.h) begins to hold for a container or an agent. */
struct alert_rule {
	const char *name; /* that of the file, or `when` */
	const char *when;
	bool bell;
	int notify; /* enum alert_notify: the notification sent to the terminal */
	const char *command, *webhook; /* NULL: none */
	int64_t again_s; /* report again after this time while it still holds; 0: once */
	struct text_list quiet_words; /* "22:00-07:00" */
	size_t nquiet;                /* the same, read */
	const struct day_span *quiet;
};

/* One of `commands`: a person's own, for the container of a row.  Either `run`, a line for the shell on this machine,
 * which finds the row's fields in its environment, or `exec`, one for the shell in the container; the other is NULL. */
enum custom_confirm { CUSTOM_ASKS, CUSTOM_ASKS_NOT, CUSTOM_WANTS_NAME };
struct custom_command {
	const char *name, *key, *help, *run, *exec; /* key, help: or NULL */
	int confirm;                                /* enum custom_confirm */
};
#define CUSTOM_COMMANDS_MAX 64

/* What is done where it cannot be recorded. */
enum audit_unavailable { AUDIT_REFUSE, AUDIT_WARN };

enum ascii_setting { ASCII_AUTO, ASCII_YES, ASCII_NO };

enum chart_setting { CHARTS_AUTO, CHARTS_BRAILLE, CHARTS_BLOCKS };

struct settings {
	struct config source; /* the file that was read; .root NULL: there is none */
	const char *theme;    /* "auto", a shipped theme's name, or the path of a theme file */
	int ascii;            /* enum ascii_setting */
	int charts;           /* enum chart_setting */
	bool mouse;
	bool read_only;
	double hz;                 /* samples per second, 0.1 .. 10 */
	bool groups;               /* containers grouped by agent and compose project */
	bool stopped;              /* stopped containers are listed */
	const char *sort;          /* a column's name; '-' before it inverts */
	struct text_list columns;  /* of the container table; empty: the usual ones */
	uint64_t log_buffer_bytes; /* kept per logs view */
	int64_t log_tail;          /* lines of history read when logs open */
	int64_t confirm_threshold; /* from this many items on the number must be typed */
	/* The map `keys` of source, for the key map (tui), which knows actions and keys and says
	 * what is wrong there: a bad line costs only itself.  NULL: none. */
	const struct node *keys;
	/* Never harmed, whatever a plan says: patterns as in policy.h. */
	struct text_list protected_names, protected_labels, protected_images;
	size_t nhosts;
	const struct host_rule *hosts; /* on top of what holds everywhere */
	size_t nalerts;
	const struct alert_rule *alerts;
	size_t ncommands;
	const struct custom_command *commands;
	/* Of the audit log; 0: kept for ever.  Whole closed segments go, and a signed record says so. */
	int audit_unavailable; /* enum audit_unavailable */
	int64_t audit_keep_days;
	uint64_t audit_keep_bytes;
	int64_t clean_home_days; /* after its last use, before a home may go unasked */
	int64_t files_io_depth;  /* 0: 64 */
	int files_io_uring;      /* enum ascii_setting: auto, yes, no */
	uint64_t mcp_memory;
	/* Of each agent's journal (journal.h): commands, and bytes of each one's output. */
	int64_t journal_commands;
	uint64_t journal_bytes;
	const char *terminal_detach; /* a key's name: leaves an attached terminal */
	int64_t egress_ask_s; /* that a person is asked about a target that no rule decides */
	/* How long a workspace is kept once its end has come, days; less than 0: for ever. */
	int64_t workspaces_done_days, workspaces_failed_days, workspaces_idle_days;
	/* How often an open console sees to that, and checks what is stored; 0: never. */
	int64_t workspaces_clean_hours, workspaces_verify_days;
	int64_t workspaces_level, workspaces_threads; /* of zstd, for archives */
	/* What each workspace of berth's may hold while an agent has it; 0: anything. */
	uint64_t workspace_bytes;
	int64_t workspace_files;
	int workspace_breach; /* enum workspace_breach */
	/* What the checkpoints of each may take before agents, and berth automatically, add none; 0: no limit. */
	uint64_t checkpoint_bytes;
	int64_t checkpoint_count;
	int64_t workspaces_active;
	uint64_t workspaces_bytes; /* of all tasks together */
	struct arena mem;
	const struct settings_found *found; /* of settings_check, while it reads; else NULL */
};

/* Each error that is found, not only the first. */
struct settings_found {
	void (*fn)(void *ctx, const struct err *e);
	void *ctx;
	size_t *n; /* how many there were */
};

enum setting_type {
	SETTING_TEXT,   /* const char * */
	SETTING_BOOL,   /* bool */
	SETTING_INT,    /* int64_t */
	SETTING_NUMBER, /* double */
	SETTING_BYTES,  /* uint64_t */
	SETTING_CHOICE, /* int: index into words */
	SETTING_LIST,   /* struct text_list */
	SETTING_KEYS,   /* const struct node * */
	SETTING_HOSTS,  /* size_t and const struct host_rule *; each a map of setting_host_table */
	SETTING_ALERTS, /* size_t and const struct alert_rule *; each a map of setting_alert_table */
	SETTING_COMMANDS, /* likewise, of setting_command_table */
};

struct setting {
	const char *name; /* "hz", "protected.names" */
	enum setting_type type;
	size_t offset;            /* in struct settings, or in struct host_rule */
	double min, max;          /* SETTING_INT, SETTING_NUMBER, SETTING_BYTES */
	const char *const *words; /* SETTING_CHOICE; ends in NULL */
	const char *help;
};
extern const struct setting setting_table[];         /* ends in a NULL name */
extern const struct setting setting_host_table[];    /* of one rule of `hosts` */
extern const struct setting setting_alert_table[];   /* of one of `alerts` */
extern const struct setting setting_command_table[]; /* of one of `commands` */

#define SETTINGS_LOG_LEAST \
	(256 << 10) /* least audit_keep_bytes but 0: the smallest part of the log */
#define SETTINGS_DEFAULTS "configs/berth.yaml" /* embedded */

/* `file` NULL: the default place.  0, or -1 and nothing to release. */
int settings_load(const char *file, struct settings *ret, struct err *e);
/* Only what the file says, all else 0 or empty: enough for who needs the policy, which by default protects
 * nothing, and starts a command a moment later. */
int settings_load_bare(const char *file, struct settings *ret, struct err *e);
/* A file already read, over the defaults (NULL: these alone).  Takes *c on success, and only then.
 */
int settings_from(struct config *c, struct settings *ret, struct err *e);
/* The same, and every error goes to `found`; what is in error keeps its default.  Always takes *c. */
void settings_check(struct config *c, struct settings *ret,
	void (*fn)(void *ctx, const struct err *e), void *ctx);
void settings_release(struct settings *s);
/* Where settings_load(NULL) looks; PATH_MAX bytes. */
int settings_path(char *buf, size_t cap, struct err *e);

#endif
