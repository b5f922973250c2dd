/* agents_ports.c - opens, closes and lists an agent's ports on this machine's loopback, from its row. */
#include <stdio.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/port.h>
#include <berth/text.h>

#include "views/agents/agents.h"
#include "app/app.h"

static void list_agent_ports(struct view *v, const struct agent *a)
{
	AUTO_FREE char *title = xasprintf("ports of %s", a->id);

	app_run_task(v,
		&(struct app_task){title,
			(const char *const[]){"berth-core", "port", "list", "--", a->name, NULL},
			true});
}

static void ask_for_port_of(
	struct view *v, struct agent_ports *p, const struct agent *a, bool closing)
{
	char shown[48];
	AUTO_FREE char *label = NULL;

	p->closing = closing;
	snprintf(p->container, sizeof p->container, "%s", a->name);
	text_clean(p->id, sizeof p->id, a->id);
	text_clean(shown, sizeof shown, a->id);
	label = xasprintf("%s port of %s", closing ? "close" : "open", shown);
	app_ask(v->app, label, "",
		closing ? "its number inside"
			: "3000, or 3000:8080: that of this machine; 3000:0: any");
}

bool agents_port_act(
	struct view *v, struct agent_ports *p, enum action action, const struct agent *a)
{
	if (action != DO_PORTS && action != DO_OPEN_PORT && action != DO_CLOSE_PORT)
		return false;
	if (!a)
		app_say(v->app, ROLE_WARN, "There is no agent on this row.");
	else if (action == DO_PORTS)
		list_agent_ports(v, a);
	else if (a->state != AGENT_UP)
		app_say(v->app, ROLE_WARN, "%s is not up: it has no ports.", a->id);
	else
		ask_for_port_of(v, p, a, action == DO_CLOSE_PORT);
	return true;
}

static void confirm_open(struct view *v, const struct agent_ports *p, const struct port_spec *s)
{
	AUTO_FREE char *title = xasprintf("Open port %u of %s", s->port, p->id),
		       *at = xasprintf("at 127.0.0.1:%u of this machine", s->host_port),
		       *spec = xasprintf("%u:%u", s->port, s->host_port);

	app_confirm_task(v,
		&(struct dialog_ask){.title = title,
			.where = s->host_port ? at
					      : "at 127.0.0.1 of this machine, a port that is free",
			.effect =
				"Whoever is on this machine reaches what listens there in its container,\n"
				"until it is closed or the container ends.",
			.verb = "Open"},
		&(struct app_task){title,
			(const char *const[]){
				"berth-core", "port", "open", "--", p->container, spec, NULL},
			false});
}

void agents_port_typed(struct view *v, const struct agent_ports *p, const char *text)
{
	struct err e = ERR_INIT;
	struct port_spec s;
	AUTO_FREE char *title = NULL;

	if (!*text)
		return;
	if (port_parse(text, &s, &e)) {
		app_say(v->app, ROLE_WARN, "%s", e.msg);
		return;
	}
	if (!p->closing) {
		confirm_open(v, p, &s);
		return;
	}
	title = xasprintf("close port %s of %s", text, p->id);
	app_run_task(v,
		&(struct app_task){title,
			(const char *const[]){
				"berth-core", "port", "close", "--", p->container, text, NULL},
			false});
}
