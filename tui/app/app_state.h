/*
 * app_state.h - what the app's files share.  From the bottom: stack.c (views, and what they ask),
 * acts.c and its kin (acts on containers, agents, jobs, plans), frame.c (the picture), deeds.c (the
 * app's own actions), dispatch.c (keys), feed.c (the backend), shell.c, script.c, app.c (the loop).
 * Views see app.h only.
 */
#ifndef APP_STATE_H
#define APP_STATE_H

#include <poll.h>

#include <berth/settings.h>

#include "app/app.h"
#include "terminal/terminal.h"
#include "app/script.h"
#include "widgets/widgets.h"

#define PUSHED_MAX 8

/* A view and what the app keeps about it. */
struct slot {
	struct view view;
	char *filter;                /* text of its filter or search; NULL: none */
	const struct snapshot *seen; /* a reference: the one that the view has had last */
	struct area box;             /* a tab's, as drawn last: for clicks; w 0: not drawn */
};

enum prompting {
	PROMPT_OFF,
	PROMPT_FILTER,
	PROMPT_SAVE,
	PROMPT_IMPORT,
	PROMPT_RUN,
	PROMPT_FILE,
	PROMPT_TASK,
	PROMPT_VIEW
};
enum asking { ASK_NOTHING, ASK_ACT, ASK_QUIT, ASK_TASK };

struct app {
	const struct app_options *o;
	const struct settings *settings;
	struct keymap keys;
	struct theme theme;
	struct canvas canvas;
	struct screen *screen; /* NULL: a script draws on the canvas alone */
	struct script *script;

	const struct snapshot *live, *shown; /* references; the same unless frozen */
	bool frozen;
	int64_t frozen_ns;
	struct policy policy; /* the options', read-only as it is now */
	int orphans;          /* as told last */
	double asked_hz;      /* by + and -; 0: as the settings have it */

	struct slot *tab, pushed[PUSHED_MAX];
	size_t ntabs, at, npushed;
	size_t came_from[8], ndepth; /* tabs that `back` returns to */

	enum role said_role;
	char said[ERR_MSG_MAX];
	enum prompting prompting;
	struct prompt prompt;
	char prompt_problem[ERR_MSG_MAX];
	struct history filters, files, commands, runs;
	struct command *prompted;    /* sent when the prompt is done: PROMPT_RUN */
	const char *prompt_hint;     /* PROMPT_VIEW */
	char prompt_was[PROMPT_MAX]; /* PROMPT_VIEW: the text it began with */
	char prompt_label[96];       /* PROMPT_RUN, PROMPT_FILE */
	struct dialog dialog;
	enum asking asking;
	struct command *asked; /* sent when the dialog is confirmed */
	struct palette palette;
	uint64_t save_id;
	char save_path[PROMPT_MAX];

	struct task *task[TASKS_MAX]; /* NULL: no such */
	enum action asked_do;         /* PROMPT_TASK, ASK_TASK: which */
	char *asked_line;             /* ASK_TASK: its words */

	struct shell *shell; /* has the terminal now; NULL: nobody */
	bool mouse;

	bool dirty, urgent; /* paint; before the next 30 ms are over */
	bool painting;      /* a view is: nothing may be sent */
	int64_t painted_ns;
	bool quit;
	int exit_code;
	struct area body; /* of the view, as drawn last */
	bool spoke;       /* below it stood a message or a prompt */
};

/* stack.c */
void stack_open(struct app *a); /* all of the options' views; the snapshot is there */
void stack_close(struct app *a);
void stack_turn_to(struct app *a, size_t i); /* to that tab, nothing on top of it */
void stack_snapshot(struct app *a);          /* the view on screen has what is shown now */
void stack_pulse(struct app *a);
struct slot *app_top(struct app *a); /* the view on screen */
void app_show_tab(struct app *a, size_t i);
void app_resize(struct app *a, int columns, int rows);

/* dispatch.c */
void app_key(struct app *a, struct key k);
void app_paste(struct app *a, const char *text, size_t n);
void app_click(struct app *a, int x, int y, bool twice);
void app_wheel(struct app *a, int lines);
void app_do(struct app *a, enum action act);

/* feed.c */
void app_drain(struct app *a); /* events and snapshots there are */

/* frame.c */
void frame_draw(struct app *a);

/* deeds.c */
bool deed(struct app *a, enum action act); /* the app's own actions; false: not one of them */
void deed_dialog(struct app *a, enum dialog_end end);
void deed_prompt(struct app *a, enum prompt_end end);
void deed_palette(struct app *a, enum prompt_end end, const struct palette_item *chosen);
int deed_theme(struct app *a, const char *name, struct err *e);
void deed_filter_off(struct app *a);
bool app_read_only_stays(const struct app *a); /* asked for at the start: not to be switched off */

/* acts.c */
bool app_greyed(struct app *a, enum action act);        /* it would be refused */
void acts_result(struct app *a, const struct event *e); /* EV_RESULT */
/* For a dialog's first line: so many are marked but not on the list, and stay as they are.  "": none. */
const char *acts_hidden(struct arena *mem, size_t n);

/* clean_acts.c */
void app_tell_orphans(struct app *a, int n); /* on the message line */

/* agent_acts.c */
void agents_run_prompt(struct app *a, enum prompt_end end);
void agents_result(struct app *a, const struct event *e); /* EV_RESULT */

/* task_acts.c */
bool tasks_are(enum action act);
void tasks_ask(struct app *a, enum action act);
void tasks_run(struct app *a, enum action act, const char *line);
void tasks_prompt(struct app *a, enum prompt_end end);
void tasks_confirmed(struct app *a);
void tasks_pulse(struct app *a); /* what they printed, and which ended */
size_t tasks_poll(struct app *a, struct pollfd fds[TASKS_MAX]); /* those that may print more */
void tasks_release(struct app *a);

/* shell.c */
void shell_event(struct app *a, const struct event *e);
void shell_relay(struct app *a); /* until it ends; the app's loop stands still meanwhile */
void shell_free(struct app *a);

#endif
