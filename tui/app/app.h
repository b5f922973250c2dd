/*
 * app.h - the UI loop and the view stack: poll(tty, backend, timer), at most one paint per wake-up.
 *
 * What views may ask of the app.  Thread: main.
 */
#ifndef APP_APP_H
#define APP_APP_H

#include <berth/backend.h>
#include <berth/policy.h>
#include <berth/settings.h>

#include "app/task.h"
#include "app/view.h"

struct keymap;
struct node;    /* config.h */
struct command; /* message.h */
struct screen;

/* What was chosen in the run before. */
struct app_kept {
	const char *theme; /* NULL: none */
	size_t n;
	struct {
		const char *view;
		const struct node *of; /* a map, for its `recall` */
	} view[VIEW_COUNT];
};

#define CONTEXT_NAME_MAX 128

struct app_options {
	struct backend *backend;             /* stays the caller's, who stops it afterwards */
	const struct settings *settings;     /* stays the caller's */
	const struct policy *policy;         /* stays the caller's; NULL: nothing is protected */
	const struct view_ops *const *views; /* the tabs in order, NULL at the end */
	const struct view_ops *help;         /* explains another; seed: its ops */
	const struct view_ops *network; /* what agents ask to reach; NULL: there is no such view */
	const struct view_ops *const
		*pages;                /* opened by their names, NULL at the end; NULL: none */
	const struct view_ops *output; /* what a command prints; seed: its struct task */
	const char *theme;             /* NULL: by settings and terminal */
	const char *script;            /* file: run this instead of a terminal; NULL: interactive */
	const char *demo; /* file: the same, on the terminal and for a person; NULL: none */
	/* `:context NAME`: is there such a one, and where its name goes when the console ends for it, CONTEXT_NAME_MAX bytes;
	 * NULL: not here. */
	int (*check_context)(const char *name, struct err *e);
	char *ret_context;
	struct str *out;             /* what a script dumps; NULL: standard output */
	const struct app_kept *kept; /* NULL: nothing */
	struct str *ret_kept;        /* the same of this run, as JSON; NULL: not wanted */
	bool ascii, read_only;
};

/* Runs until the person quits.  Returns the exit code; -1 with *e when it could not run (no
 * terminal, no such theme), or when a script's expectation failed. */
int app_run(const struct app_options *o, struct err *e);

const struct snapshot *app_snapshot(struct app *a); /* the one being shown (frozen or live) */
int64_t app_now_ns(struct app *a);                  /* the time to measure ages against */
uint64_t app_send(struct app *a, struct command *c);
bool app_read_only(struct app *a);
const struct settings *app_settings(struct app *a);
const struct keymap *app_keys(struct app *a);
/* The key of that command of the settings as text, KEY_TEXT_MAX bytes; "": none, or it is taken. */
char *app_custom_key(struct app *a, size_t i, char *buf);
void app_dirty(struct app *a);                                    /* paint again */
void app_say(struct app *a, enum role role, const char *fmt, ...) /* the message line */
	__attribute__((format(printf, 3, 4)));
void app_switch(struct app *a, const char *view);       /* to the tab of that name */
struct view *app_view(struct app *a, const char *name); /* to hand it something; NULL: none */
/* A view has filtered itself by `text`: Esc clears that, and the prompt begins with it. */
void app_filtered(struct app *a, const struct view *v, const char *text);
void app_push(struct app *a, const struct view_ops *ops, void *seed); /* on top; Esc pops */
void app_pop(struct app *a);
/* Hand the terminal to a shell in a container until it ends. */
void app_shell(struct app *a, const struct target *t);
/* Would policy let it happen?  0, or -1 with its sentence.  What is not known of the container passes:
 * the backend asks again. */
int app_may(struct app *a, enum operation operation, const struct container *c, struct err *e);
int app_may_agent(struct app *a, enum agent_act act, const struct agent *agent, struct err *e);
bool app_guarded(struct app *a); /* is there any rule that app_may could refuse by? */
/* Ask before acting: REQUIREMENTS 1.10.  Sends CMD_ACT for exactly these targets if
 * confirmed, but for those that policy keeps: they are shown. */
void app_confirm_act(
	struct app *a, enum act act, const struct target *targets, size_t n, size_t hidden);
/* The same for a clean-up plan: CMD_CLEAN_RUN with a copy of it. */
struct clean_plan;
void app_confirm_clean(struct app *a, const struct clean_plan *p);
/* Ask for a line, beginning with `text`, which is selected: `typed` is told of it as it grows.  Cancelled:
 * it is as before. */
void app_ask(struct app *a, const char *label, const char *text, const char *hint);
/* That file, the line in sight. */
void app_open_text(struct app *a, const char *path, size_t line);
/* A command of berth as a process of its own: argv[0] is the program, NULL ends it.  `page`: what it prints is shown
 * from its first line on; else the last one is said once it ended.  False: it did not start, and that is said. */
struct app_task {
	const char *title;
	const char *const *argv;
	bool page;
};
bool app_run_task(struct view *v, const struct app_task *t);
/* The same, once that is confirmed. */
struct dialog_ask;
void app_confirm_task(struct view *v, const struct dialog_ask *ask, const struct app_task *t);
/* Ask for a command to run in these agents. */
void app_prompt_run(struct app *a, const struct agent *const *agents, size_t n);
/* A path is asked for; the answer goes to the view's `file`.  `what`: "suite file". */
void app_ask_file(struct app *a, const char *what);
/* Ask before stopping jobs, of whichever berth process: exactly those that are listed. */
void app_confirm_allow(struct app *a, const struct job_info *job); /* what it asks */
void app_dismiss_jobs(struct app *a, const struct job_info *const *jobs, size_t n);
void app_confirm_cancel(struct app *a, const struct job_info *const *jobs, size_t n);
void app_cancel_job(struct app *a, const struct job_id *job); /* without asking */
void app_confirm_agents(struct app *a, enum agent_act act, const struct agent *const *agents,
	size_t n, size_t hidden);

#endif
