/* list.c - lists the tabs, in the order of their numbers, and the pages that are opened by name. */
#include "views/list.h"

#define NO_TAB(...)
#define TAB(id, name, number) [(number)-1] = &name##_view,
const struct view_ops *const all_tabs[VIEW_COUNT + 1] = {VIEWS(TAB, NO_TAB)};

const struct view_ops *const all_pages[] = {
	&images_view, &volumes_view, &networks_view, &history_view, NULL};
