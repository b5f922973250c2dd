/*
 * containers_state.c - formats the state of a container as a sign and as words, and tells whether its numbers are
 * current.
 */
#include "views/containers/containers.h"

#include <stdio.h>

bool container_has_stats(const struct container *c)
{
	return c->stats.source != STATS_NONE &&
		(c->state == CONTAINER_RUNNING || c->state == CONTAINER_PAUSED);
}

bool container_stats_old(const struct container *c, const struct moment *m)
{
	return m->lost || c->lost || c->stats.at_ns < m->old_ns;
}

enum glyph container_glyph(const struct container *c, struct style *st)
{
	static const struct {
		enum glyph glyph;
		enum role role;
	} of[] = {
		[CONTAINER_CREATED] = {GLYPH_RING, ROLE_DIM},
		[CONTAINER_RUNNING] = {GLYPH_DOT, ROLE_GOOD},
		[CONTAINER_PAUSED] = {GLYPH_PAUSE, ROLE_WARN},
		[CONTAINER_RESTARTING] = {GLYPH_RING, ROLE_BUSY},
		[CONTAINER_REMOVING] = {GLYPH_RING, ROLE_BUSY},
		[CONTAINER_EXITED] = {GLYPH_TICK, ROLE_DIM},
		[CONTAINER_DEAD] = {GLYPH_CROSS, ROLE_BAD},
		[CONTAINER_UNKNOWN] = {GLYPH_BANG, ROLE_WARN},
	};
	bool failed = c->state == CONTAINER_EXITED && (c->exit_code || c->oom_killed);

	st->role = (uint8_t)of[c->state].role;
	if (failed ||
		(c->state == CONTAINER_RUNNING &&
			(c->health == HEALTH_UNHEALTHY || c->own_health == HEALTH_UNHEALTHY)))
		st->role = ROLE_BAD;
	if (c->pending)
		st->role = ROLE_BUSY;
	if (c->problem) {
		st->role = ROLE_BAD;
		return GLYPH_BANG;
	}
	if (c->mounts == MOUNTS_CHANGED || c->mounts == MOUNTS_UNKNOWN) {
		st->role = c->mounts == MOUNTS_CHANGED ? ROLE_BAD : ROLE_WARN;
		return GLYPH_BANG;
	}
	return failed ? GLYPH_CROSS : of[c->state].glyph;
}

void container_state_text(const struct container *c, char *buf, size_t cap, struct style *st)
{
	container_glyph(c, st);
	if (c->pending) {
		snprintf(buf, cap, "%s…", act_doing(c->pending));
	} else if (c->mounts == MOUNTS_CHANGED || c->mounts == MOUNTS_UNKNOWN) {
		snprintf(buf, cap, "mounts %s", mounts_state_name(c->mounts));
	} else if (c->state == CONTAINER_EXITED && c->oom_killed) {
		snprintf(buf, cap, "OOM %d", c->exit_code);
	} else if (c->state == CONTAINER_EXITED) {
		snprintf(buf, cap, "exited %d", c->exit_code);
	} else if (c->state == CONTAINER_RESTARTING && c->restarts > 0) {
		snprintf(buf, cap, "restart %d", c->restarts);
	} else if (c->state == CONTAINER_RUNNING && c->own_health == HEALTH_UNHEALTHY) {
		snprintf(buf, cap, "init unhealthy");
	} else if (c->state == CONTAINER_RUNNING && c->health != HEALTH_NONE) {
		snprintf(buf, cap, "%s", health_name(c->health));
		if (c->health == HEALTH_STARTING)
			st->role = ROLE_BUSY;
	} else {
		snprintf(buf, cap, "%s", container_state_name(c->state));
		/* The usual case needs no colour: the sign has it. */
		if (c->state == CONTAINER_RUNNING)
			st->role = ROLE_TEXT;
	}
}
