/* moment.c - decides when numbers count as old. */
#include "views/moment.h"

#include "app/app.h"

struct moment moment_of(struct app *app, const struct snapshot *snap)
{
	double hz = snap->self.hz > 0 ? snap->self.hz : 1;
	int64_t patience = (int64_t)(3e9 / hz);
	struct moment m = {.now_ns = app_now_ns(app), .lost = snapshot_lost(snap)};

	m.wall_ms = snap->at_wall_ms + (m.now_ns - snap->at_ns) / 1000000;
	m.old_ns = m.now_ns - (patience > 3000000000 ? patience : 3000000000);
	return m;
}
