/*
 * moment.h - the moment that all rows of a picture are shown against.
 *
 * Thread: main.
 */
#ifndef TUI_VIEWS_MOMENT_H
#define TUI_VIEWS_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <berth/snapshot.h>

struct app;

struct moment {
	int64_t now_ns, wall_ms;
	int64_t old_ns; /* statistics from before this are old */
	bool lost;      /* the engine is, of several each: everything is old */
};

struct moment moment_of(struct app *app, const struct snapshot *snap);

#endif
