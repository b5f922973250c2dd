/* local.c - reads this machine's session records and the leftovers of lanes. */
#include "clean/world.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "lane/lane.h"

#define SESSIONS_MAX 4096
#define FILES_MAX 4096
#define YOUNG_MS 60000 /* a lane is prepared before its container is there */

static struct seen_files *files_named(struct world *w, const char *name, struct arena *mem)
{
	struct seen_files *f;

	for (size_t i = 0; i < w->nfiles; i++)
		if (!strcmp(w->files[i].name, name))
			return &w->files[i];
	if (w->nfiles == FILES_MAX)
		return NULL;
	f = &w->files[w->nfiles++];
	*f = (struct seen_files){.name = arena_strdup(mem, name), .engine = "", .id = ""};
	return f;
}

/* The length of NAME in NAME, NAME.lane, NAME.rules or NAME.sock. */
static size_t lane_name_length(const char *entry)
{
	static const char *const ends[] = {".lane", ".rules", LANE_SOCK};
	const char *dot = strrchr(entry, '.');

	for (size_t i = 0; dot && i < COUNT(ends); i++)
		if (!strcmp(dot, ends[i]))
			return (size_t)(dot - entry);
	return strlen(entry);
}

static void take_lane_files(struct world *w, const char *dir, const char *entry, struct arena *mem)
{
	char name[LANE_NAME_MAX], path[PATH_MAX], place[LANE_PATH_MAX];
	size_t n = lane_name_length(entry);
	struct lane_about about;
	struct seen_files *f;
	struct stat st;

	if (*entry == '.' || n >= sizeof name)
		return;
	snprintf(name, sizeof name, "%.*s", (int)n, entry);
	snprintf(path, sizeof path, "%s/%s", dir, entry);
	if (lane_place(name, place, NULL) || lstat(path, &st))
		return;
	f = files_named(w, name, mem);
	if (!f)
		return;
	f->lane = true;
	if (st.st_mtim.tv_sec * 1000 > f->made_ms)
		f->made_ms = st.st_mtim.tv_sec * 1000;
	f->young |= clock_wall_ms() - st.st_mtim.tv_sec * 1000 < YOUNG_MS;
	if (!*f->id && !lane_find(name, &about, NULL) && !strcmp(about.name, name)) {
		f->engine = arena_strdup(mem, about.engine);
		f->id = arena_strdup(mem, about.id);
	}
}

int world_sessions(struct world *w, struct arena *mem, struct err *e)
{
	struct session *all = NULL, *kept;
	size_t cap = 0;

	w->making = sessions_making();
	/* There are few, as a rule: what is allocated for all that there could be, stays with the process. */
	do {
		cap = cap ? cap * 4 : 64;
		free(all);
		all = xcalloc(cap, sizeof *all);
		w->nsessions = session_all(all, cap);
	} while (w->nsessions == cap && cap < SESSIONS_MAX);
	kept = arena_array(mem, w->nsessions + 1, sizeof *kept);
	memcpy(kept, all, w->nsessions * sizeof *kept);
	free(all);
	w->session = kept;
	return w->nsessions < SESSIONS_MAX
		? 0
		: err_set(e, ERR_REFUSED,
			  "There are %d session records or more: it cannot be determined which sessions "
			  "are still running, so nothing is cleaned up. `berth down --all` takes agents "
			  "down.",
			  SESSIONS_MAX);
}

void world_files(struct world *w, struct arena *mem)
{
	char dir[LANE_PATH_MAX];
	struct dirent *entry;
	AUTO_CLOSEDIR DIR *d = NULL;

	w->files = arena_array(mem, FILES_MAX, sizeof *w->files);
	for (size_t i = 0; i < w->nsessions; i++) {
		struct seen_files *f = files_named(w, w->session[i].name, mem);

		if (!f)
			break;
		f->record = true;
		f->engine = w->session[i].engine;
		f->id = w->session[i].id;
		f->made_ms = w->session[i].created_ms;
	}
	if (lane_place("x", dir, NULL))
		return;
	*strrchr(dir, '/') = '\0';
	d = opendir(dir);
	while (d && (entry = readdir(d)))
		take_lane_files(w, dir, entry->d_name, mem);
}
