/*
 * view_work.h - work of a view that may wait for a disk: done by a worker thread of the backend.
 *
 * A view fills in one and gives it to CMD_WORK; the view must not touch it in the meantime.  It comes back with EV_WORKED
 * of that command's id, and belongs to the view that takes it.  What nobody takes is dropped.
 *
 * Embedded as first member of what the view and its work know.  Thread: one owner at a time.
 */
#ifndef BERTH_VIEW_WORK_H
#define BERTH_VIEW_WORK_H

struct view_work {
	void (*work)(struct view_work *l); /* on a worker: one bounded step */
	void (*drop)(struct view_work *l); /* on any thread */
};

/* What a message holds, if anybody left it there; NULL: nothing. */
struct view_work *view_work_take(struct view_work **held);

#endif
