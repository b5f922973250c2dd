/*
 * app_state.h - what the app's files share.  From the bottom: stack.c (views, and what they ask),
 * acts.c and its kin (acts on containers, agents, jobs, plans), frame.c (the picture), actions.c (the
 * app's own actions), dispatch.c (keys), feed.c (the backend), shell.c, pager.c, demo.c, script.c, app.c
 * (the loop).
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
enum asking { ASK_NOTHING, ASK_ACT, ASK_QUIT, ASK_TASK, ASK_VIEW_TASK };

struct app {
	const struct app_options *o;
	const struct settings *settings;
	struct keymap keys;
	struct key custom_key[CUSTOM_COMMANDS_MAX]; /* of the settings' commands; code 0: none */
	struct theme theme;
	bool themed; /* it was chosen by a key, now or in the run before */
	struct canvas canvas;
	bool ring;             /* an alert, or a terminal that waits, asks for the bell */
	struct screen *screen; /* NULL: a script draws on the canvas alone */
	struct script *script;
	struct demo *demo; /* the script is played on the terminal now; NULL: it is not */
	uint64_t sent;     /* id of the last command */

	const struct snapshot *live, *shown; /* references; the same unless frozen */
	bool frozen;
	int64_t frozen_ns;
	struct policy policy; /* the options', read-only as it is now */
	int orphans;          /* as told last */
	int asks;             /* likewise */
	uint64_t question;    /* of a terminal that waits, which was told last */
	double asked_hz;      /* by + and -; 0: as the settings have it */

	struct slot *tab, pushed[PUSHED_MAX];
	size_t ntabs, at, npushed;
	size_t came_from[8], ndepth; /* tabs that `back` returns to */
	/* Two at once: the tab in the half that keys do not go to, and which half that is. */
	bool split, beside_is_upper;
	size_t beside;
	struct area beside_body; /* as drawn last; h 0: not drawn */

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

	uint64_t paths_id;           /* CMD_PATHS that is awaited */
	char paths_for[PROMPT_MAX];  /* the line that it was asked for */
	size_t paths_at, paths_from; /* in it: the cursor, and what is to be completed */
	char offers[160];            /* what it may be; "": nothing to choose from */

	struct task *task[TASKS_MAX]; /* NULL: no such */
	enum action asked_do;         /* PROMPT_TASK, ASK_TASK: which */
	char *asked_line;             /* ASK_TASK: its words */
	uint64_t delete_id;           /* CMD_WORK that looks at what `delete` named */
	struct asked_task {
		const struct view_ops *of; /* ASK_VIEW_TASK: who asked */
		char *title, **argv;
		bool page;
	} asked_task;

	char *shell_words;   /* of `:shell`, while the view looks where; NULL: the usual shell */
	struct shell *shell; /* has the terminal now; NULL: nobody */
	bool paging;         /* a pager is to have it next */
	bool mouse;

	bool dirty, urgent; /* paint; before the next 30 ms are over */
	bool painting;      /* a view is: nothing may be sent */
	int64_t painted_ns;
	int64_t quit_asked_ns; /* q was pressed where nothing is left to close; 0: another key since */
	bool quit;
	int exit_code;
	struct area body; /* of the view, as drawn last */
	bool spoke;       /* below it stood a message or a prompt */
};

/* stack.c */
void stack_open(struct app *a); /* all of the options' views; the snapshot is there */
void stack_close(struct app *a);
void stack_keep(struct app *a);              /* what was chosen in it, for the next run */
void stack_turn_to(struct app *a, size_t i); /* to that tab, nothing on top of it */
void stack_split(struct app *a, size_t i);   /* that one below; its own: two as one */
void stack_unsplit(struct app *a);
void stack_swap(struct app *a);     /* keys go to the other half */
void stack_snapshot(struct app *a); /* the view on screen has what is shown now */
void stack_pulse(struct app *a);
struct slot *app_top(struct app *a); /* the view on screen */
void app_show_tab(struct app *a, size_t i);
void app_resize(struct app *a, int columns, int rows);

/* dispatch.c */
void app_input(struct app *a, const struct input *in); /* one of those below; a resize to x, y */
void app_key(struct app *a, struct key k);
void app_paste(struct app *a, const char *text, size_t n);
void app_click(struct app *a, int x, int y, bool twice);
void app_wheel(struct app *a, int lines);
void app_do(struct app *a, enum action act);

/* feed.c */
struct event;
void app_show_live(struct app *a);
void app_drain(struct app *a);                        /* events and snapshots there are */
void app_take_event(struct app *a, struct event *ev); /* takes it */
void app_take_snapshot(struct app *a, const struct snapshot *s); /* takes the reference */

/* frame.c */
void frame_draw(struct app *a);

/* actions.c */
bool action_run(struct app *a, enum action act); /* the app's own actions; false: not one of them */
void action_quit(struct app *a, bool again);     /* not again: only says how */
void action_dialog(struct app *a, enum dialog_end end);
void action_prompt(struct app *a, enum prompt_end end);
void action_palette(struct app *a, enum prompt_end end, const struct palette_item *chosen);
int action_theme(struct app *a, const char *name, struct err *e);
void action_filter_off(struct app *a);
bool app_read_only_stays(const struct app *a); /* asked for at the start: not to be switched off */

/* acts.c */
bool app_greyed(struct app *a, enum action act);        /* it would be refused */
void acts_result(struct app *a, const struct event *e); /* EV_RESULT */
/* What an act is called and does. */
struct act_words {
	const char *verb, *done, *effect;
	bool danger;
};
/* A dialog's list: those of the command, then the sentences about those that are kept. */
struct listed {
	const char **item;
	size_t n, kept, running; /* running: commands that would end */
};
/* true: all n are kept, which was said, and c is gone. */
bool acts_all_kept(struct app *a, struct command *c, const struct listed *l, size_t n);
/* Ask about those of the list, where title, place and effect are said; `name`: to be typed for a single one. */
void acts_ask_listed(struct app *a, struct command *c, const struct listed *l,
	const struct act_words *w, struct dialog_ask *ask, const char *name);
/* Ask about c, which is sent or freed by the answer. */
void acts_ask(struct app *a, struct command *c, const struct dialog_ask *ask);
const char *acts_where(struct arena *mem, const struct engine_state *eng, const char *host);
/* For a dialog's first line: so many are marked but not on the list, and stay as they are.  "": none. */
const char *acts_hidden(struct arena *mem, size_t n);

/* custom_acts.c */
void custom_open(struct app *a);              /* says which keys are taken already */
bool custom_key(struct app *a, struct key k); /* true: it is one's, and it was run or refused */
void custom_run(struct app *a, size_t i);
void custom_offer(struct app *a); /* to the palette */

/* clean_acts.c */
void app_tell_orphans(struct app *a, int n);                 /* on the message line */
void app_tell_asks(struct app *a, const struct snapshot *s); /* likewise, what is new */

/* agent_acts.c */
void agents_run_prompt(struct app *a, enum prompt_end end);
void agents_result(struct app *a, const struct event *e); /* EV_RESULT */

/* task_acts.c */
bool tasks_are(enum action act);
void tasks_ask(struct app *a, enum action act);
void tasks_run(struct app *a, enum action act, const char *line);
void tasks_prompt(struct app *a, enum prompt_end end);
void tasks_ask_about(
	struct app *a, enum action act, const char *line, const struct dialog_ask *ask);
void tasks_confirmed(struct app *a);
void tasks_view_asked(struct app *a, bool confirmed); /* ASK_VIEW_TASK was answered */
void tasks_pulse(struct app *a);                      /* what they printed, and which ended */
size_t tasks_poll(
	struct app *a, struct pollfd fds[TASKS_MAX]); /* what they print, and that they end */
void tasks_release(struct app *a);

/* delete_acts.c */
void delete_ask(struct app *a, const char *line);
void delete_event(struct app *a, const struct event *e); /* EV_WORKED */

/* tab_paths.c */
bool complete_key(struct app *a, struct key k);            /* true: it was for this */
void complete_event(struct app *a, const struct event *e); /* EV_PATHS */
char *complete_path(
	const char *typed); /* counted from the working directory and the home directory */

/* shell.c */
void shell_event(struct app *a, const struct event *e);
void shell_relay(struct app *a); /* until it ends; the app's loop stands still meanwhile */
void shell_free(struct app *a);

/* demo.c */
int demo_run(struct app *a, struct err *e); /* then the loop goes on */

/* pager.c */
void pager_run(struct
	app *a); /* what the view would save, until the pager ends; the app's loop stands still meanwhile */

#endif
