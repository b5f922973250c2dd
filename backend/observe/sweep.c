/* sweep.c - reads the cgroups of all rows, within the number of file descriptors available. */
#include "observe/observe.h"

#include <sys/resource.h>

/* For sockets to the engine, logs, the terminal, libraries. */
#define FDS_FOR_OTHERS 200

size_t sweep_raise_fds(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return 0;
	if (rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &rl) < 0)
			getrlimit(RLIMIT_NOFILE, &rl);
	}
	return rl.rlim_cur > FDS_FOR_OTHERS ? (size_t)rl.rlim_cur - FDS_FOR_OTHERS : 0;
}

static void let_go(struct model *m, struct row *r)
{
	cgroup_reader_close(&r->cgroup);
	m->fds -= CGROUP_FDS;
	r->brief = true;
}

/* Room for one more reader; for a row on screen one that is not gives up its own. */
static bool make_fd_room(const struct sweep *s, struct model *m, const struct row *r)
{
	if (m->fds + CGROUP_FDS <= s->fd_budget)
		return true;
	if (!r->visible)
		return false;
	for (size_t i = 0; i < m->n; i++) {
		if (m->row[i]->cgroup.open && !m->row[i]->visible) {
			let_go(m, m->row[i]);
			return true;
		}
	}
	return false;
}

static bool open_row(struct sweep *s, struct row *r)
{
	return cgroup_reader_open(&r->cgroup, &s->mounts, r->c.id, r->c.pid, !r->no_net, NULL) == 0;
}

void sweep_attach(struct sweep *s, struct model *m, struct row *r)
{
	if (!row_runs(r) || r->cgroup.open || r->cgroup_failed || (r->brief && !r->visible))
		return;
	if (s->elsewhere) {
		r->cgroup_failed = true;
		return;
	}
	if (!make_fd_room(s, m, r)) {
		r->brief = true;
		return;
	}
	if (!open_row(s, r)) {
		r->cgroup_failed = true;
		return;
	}
	r->brief = false;
	m->fds += CGROUP_FDS;
	s->local = true;
}

void sweep_row(struct sweep *s, struct model *m, struct row *r)
{
	bool once = r->brief && !r->cgroup.open, first = !r->rates.any;
	struct counters now;

	if (once && !open_row(s, r)) {
		r->cgroup_failed = true;
		r->brief = false;
		return;
	}
	if (cgroup_read(&r->cgroup, &now) < 0) {
		if (once)
			cgroup_reader_close(&r->cgroup);
		row_stop_stats(m, r);
		r->dirty = true;
		return;
	}
	rates_sample(&r->rates, &now, STATS_CGROUP, s->host_memory, s->stolen, &r->c.stats);
	r->first_ns = first ? now.at_ns : r->c.stats.rates ? 0 : r->first_ns;
	if (once) {
		s->local = true;
		cgroup_reader_close(&r->cgroup);
	}
}

static bool is_readable(const struct row *r)
{
	return (r->cgroup.open || r->brief) && row_runs(r);
}

size_t sweep_all(struct sweep *s, struct model *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		struct row *r = m->row[i];

		sweep_attach(s, m, r);
		if (!is_readable(r))
			continue;
		sweep_row(s, m, r);
		n++;
	}
	return n;
}

size_t sweep_young(struct sweep *s, struct model *m, int64_t older_than_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		struct row *r = m->row[i];

		if (!is_readable(r) || !r->first_ns || r->first_ns > older_than_ns)
			continue;
		sweep_row(s, m, r);
		n++;
	}
	return n;
}
