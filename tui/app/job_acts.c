/* job_acts.c - cancels jobs, with a dialog or immediately. */
#include <stdio.h>

#include <berth/mem.h>
#include <berth/message.h>

#include "app/app_state.h"

void app_cancel_job(struct app *a, const struct job_id *job)
{
	struct command *c = command_new(CMD_JOB_CANCEL);

	c->jobs.id = arena_array(&c->mem, 1, sizeof *c->jobs.id);
	c->jobs.id[c->jobs.n++] = *job;
	app_send(a, c);
}

void app_dismiss_jobs(struct app *a, const struct job_info *const *jobs, size_t n)
{
	struct command *c = command_new(CMD_JOB_DISMISS);

	c->jobs.id = arena_array(&c->mem, n, sizeof *c->jobs.id);
	for (size_t i = 0; i < n; i++)
		c->jobs.id[c->jobs.n++] = jobs[i]->id;
	app_send(a, c);
}

void app_confirm_cancel(struct app *a, const struct job_info *const *jobs, size_t n)
{
	struct command *c = command_new(CMD_JOB_CANCEL);
	const char **item = arena_array(&c->mem, n, sizeof *item);
	struct dialog_ask ask = {.verb = "Stop", .nitems = n, .items = item};
	size_t others = 0;

	c->jobs.id = arena_array(&c->mem, n, sizeof *c->jobs.id);
	for (size_t i = 0; i < n; i++) {
		const struct job_info *j = jobs[i];
		char done[16] = "";

		if (j->fraction >= 0)
			snprintf(done, sizeof done, "  %.0f %%", 100 * j->fraction);
		c->jobs.id[c->jobs.n++] = j->id;
		others += !j->ours;
		item[i] = arena_printf(&c->mem, "%.80s  %.40s%s", j->name, j->owner, done);
	}
	ask.title = n == 1 ? arena_printf(&c->mem, "Stop the job %.80s", jobs[0]->name)
			   : arena_printf(&c->mem, "Stop %zu jobs", n);
	ask.where = others == 0 ? "of this console"
		: others == n
		? "of other berth processes"
		: arena_printf(&c->mem, "%zu of them of other berth processes", others);
	ask.effect = "Completed work is kept; no file is left half written.";
	if (n >= (size_t)a->settings->confirm_threshold)
		ask.word = arena_printf(&c->mem, "%zu", n);
	acts_ask(a, c, &ask);
}

void app_confirm_allow(struct app *a, const struct job_info *job)
{
	struct command *c = command_new(CMD_JOB_ALLOW);
	const char **item = arena_array(&c->mem, 1, sizeof *item);
	struct dialog_ask ask = {.verb = "Allow", .nitems = 1, .items = item};

	c->jobs.id = arena_array(&c->mem, 1, sizeof *c->jobs.id);
	c->jobs.id[c->jobs.n++] = job->id;
	item[0] = arena_strdup(&c->mem, job->current);
	ask.title = arena_printf(&c->mem, "Allow: %.100s", job->name);
	ask.where =
		arena_printf(&c->mem, "asked by %.60s, process %d", job->owner, (int)job->id.pid);
	ask.effect = "It is done once, now.  To refuse, cancel the job (C).";
	acts_ask(a, c, &ask);
}

/* The newest question in a terminal, if it is news: the bell rings once for it. */
static void tell_waiting(struct app *a, const struct snapshot *s)
{
	const struct agent_terminal *newest = NULL;
	const struct agent *of = NULL;

	for (size_t i = 0; i < s->nagents; i++)
		for (size_t k = 0; k < s->agents[i].nwaiting; k++)
			if (!newest || s->agents[i].terminals[k].question > newest->question) {
				newest = &s->agents[i].terminals[k];
				of = &s->agents[i];
			}
	if (!newest || newest->question <= a->question)
		return;
	a->question = newest->question;
	a->ring |= a->screen != NULL;
	app_say(a, ROLE_WARN, "%.40s waits in its terminal %s: %.100s", of->id, newest->name,
		newest->reason);
}

void app_tell_asks(struct app *a, const struct snapshot *s)
{
	const struct job_info *first = NULL;
	int n = 0;

	for (size_t i = 0; i < s->njobs; i++)
		if (s->jobs[i].asks) {
			first = first ? first : &s->jobs[i];
			n++;
		}
	tell_waiting(a, s);
	if (n > a->asks && first)
		app_say(a, ROLE_WARN, "%.40s asks: %.100s.  See Network (@); Y allows.",
			first->owner, first->name);
	a->asks = n;
}
