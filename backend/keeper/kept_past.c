/* kept_past.c - samples the containers of agents for the history file. */
#include "keeper/kept_past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "container/container.h"
#include "lane/lane.h"
#include "observe/observe.h"
#include "past/past.h"

#define BOXES_MAX 256
#define EVERY_NS INT64_C(10000000000)
#define SOON_NS INT64_C(1000000000) /* a rate needs two samples */
#define NS_PER_MS 1000000

struct kept_box {
	char id[LANE_ID_MAX];
	struct lane_about about;
	pid_t init;
	bool here;
	struct rates rates;
	struct container_stats stats;
};

void kept_past_open(struct kept_past *k)
{
	*k = (struct kept_past){.writer = past_start_yielding(NULL)};
	k->box = xcalloc(BOXES_MAX, sizeof *k->box);
}

void kept_past_close(struct kept_past *k)
{
	past_stop(k->writer);
	if (k->mounts)
		cgroup_mounts_release(k->mounts);
	free(k->mounts);
	for (size_t i = 0; i < k->n; i++)
		rates_clear(&k->box[i].rates);
	free(k->box);
	*k = (struct kept_past){0};
}

/* Tools come and go, and are not kept; who an agent's container belongs to the registry knows. */
static bool meet_box(void *ctx, const char *id, const char *name, pid_t init)
{
	struct kept_past *k = ctx;
	struct kept_box b = {.init = init, .here = true};
	size_t i = 0;

	while (i < k->n && strcmp(k->box[i].id, id) != 0)
		i++;
	if (i < k->n) {
		if (k->box[i].init != init)
			rates_restart(&k->box[i].rates);
		k->box[i].init = init;
		k->box[i].here = true;
		return true;
	}
	if (k->n == BOXES_MAX || lane_find(name, &b.about, NULL) || strcmp(b.about.id, id) != 0 ||
		!*b.about.agent)
		return true;
	snprintf(b.id, sizeof b.id, "%s", id);
	k->box[k->n++] = b;
	return true;
}

static void find_boxes(struct kept_past *k)
{
	size_t left = 0;

	for (size_t i = 0; i < k->n; i++)
		k->box[i].here = false;
	checked_holders(NULL, meet_box, k);
	for (size_t i = 0; i < k->n; i++) {
		if (k->box[i].here)
			k->box[left++] = k->box[i];
		else
			rates_clear(&k->box[i].rates);
	}
	k->n = left;
}

/* Opened and closed each time: the descriptors are the limits' and the ends'. */
static void sample_box(struct kept_past *k, struct kept_box *b)
{
	struct cgroup_reader r;
	struct counters now;
	int64_t wall_ms = clock_wall_ms();

	cgroup_reader_init(&r);
	if (cgroup_reader_open(&r, k->mounts, b->id, b->init, true, NULL))
		return;
	if (!cgroup_read(&r, &now))
		rates_sample(&b->rates, &now, STATS_CGROUP, 0, 0, &b->stats);
	cgroup_reader_close(&r);
	if (b->stats.rates)
		past_add(k->writer,
			past_row_of(k->writer, b->about.engine, b->about.name, b->about.agent, true,
				wall_ms),
			wall_ms, &b->stats);
}

static void forget_boxes(struct kept_past *k)
{
	for (size_t i = 0; i < k->n; i++)
		rates_clear(&k->box[i].rates);
	k->n = 0;
}

/* Where the hierarchies are does not change, and the table of mounts may be long. */
static bool has_mounts(struct kept_past *k)
{
	if (k->mounts)
		return true;
	k->mounts = xcalloc(1, sizeof *k->mounts);
	if (!cgroup_mounts_read(k->mounts, "", NULL))
		return true;
	free(STEAL(k->mounts));
	return false;
}

void kept_past_go_on(struct kept_past *k)
{
	bool young = false;

	if (clock_mono_ns() < k->next_ns)
		return;
	k->next_ns = clock_mono_ns() + EVERY_NS;
	if (!past_writes(k->writer) || !has_mounts(k)) {
		forget_boxes(k);
		return;
	}
	find_boxes(k);
	for (size_t i = 0; i < k->n; i++) {
		sample_box(k, &k->box[i]);
		young |= !k->box[i].stats.rates;
	}
	past_round(k->writer, clock_wall_ms());
	if (young)
		k->next_ns = clock_mono_ns() + SOON_NS;
}

int kept_past_wait_ms(const struct kept_past *k)
{
	int64_t left = (k->next_ns - clock_mono_ns()) / NS_PER_MS + 1;

	return left < 0 ? 0 : (int)left;
}
