/* list.c - the tabs, in the order of their keys. */
#include "views/list.h"

const struct view_ops *const all_tabs[] = {&agents_view, &containers_view, &logs_view, &jobs_view,
	&clean_view, &audit_view, &events_view, &host_view, &bench_view, NULL};
