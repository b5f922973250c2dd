/* signals.c - turns a signal's name into `berth kill`. */
#include "views/signals.h"

#include <stdio.h>

#include <berth/mem.h>
#include <berth/signals.h>
#include <berth/text.h>

#include "widgets/widgets.h"

void signal_ask_for(struct view *v, struct signal_ask *s, const struct container *c)
{
	AUTO_FREE char *label = NULL;
	struct err e = ERR_INIT;

	if (!c || c->state != CONTAINER_RUNNING) {
		app_say(v->app, ROLE_WARN, "Only a running container can be sent a signal.");
		return;
	}
	if (app_may(v->app, OP_CONTAINER_KILL, c, &e) < 0) {
		app_say(v->app, ROLE_WARN, "%s", e.msg);
		return;
	}
	snprintf(s->id, sizeof s->id, "%s", c->id);
	snprintf(s->engine, sizeof s->engine, "%s",
		snapshot_engine(app_snapshot(v->app), c->engine)->endpoint);
	text_clean(s->name, sizeof s->name, c->name);
	label = xasprintf("signal to %s", s->name);
	app_ask(v->app, label, "", "its name: TERM, INT, HUP, USR1, KILL, RTMIN+3 ...");
}

void signal_typed(struct view *v, const struct signal_ask *s, const char *text)
{
	char name[SIGNAL_NAME_MAX];
	const char *argv[] = {"berth-core", "-H", s->engine, "kill", "--signal", name, "--foreign",
		"--", s->id, NULL};
	AUTO_FREE char *title = NULL;
	struct err e = ERR_INIT;
	int number;

	if (!*text) {
		app_say(v->app, ROLE_DIM, "No signal was sent.");
		return;
	}
	number = signal_number(text, &e);
	if (number < 0) {
		app_say(v->app, ROLE_WARN, "%s", e.msg);
		return;
	}
	signal_name(number, name);
	title = xasprintf("Send %s to %s", name, s->name);
	app_confirm_task(v,
		&(struct dialog_ask){.title = title,
			.where = s->engine,
			.effect =
				"Its first process gets it, as by `docker kill`. The init of an agent\n"
				"ends the container on TERM, INT and QUIT, and passes HUP, USR1,\n"
				"USR2 and WINCH on to all that runs in it.",
			.verb = "Send"},
		&(struct app_task){title, argv, false});
}
