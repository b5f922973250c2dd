/*
 * audit_decisions.c - `berth audit export --decisions`: writes decisions of the policy, of people and of network rules
 * as JSON Lines.
 *
 * Refusals, rules and approvals are in the audit log and carry its number and hash, so they can be looked up in a bundle
 * that proves them.  Connections are what the ends of egress remember of agents that are up: no record proves them.
 */
#include "cli/audit_decisions.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/audit.h>
#include <berth/clock.h>
#include <berth/egress.h>
#include <berth/format.h>
#include <berth/hex.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/when.h>

#include "cli/run.h"

#define SESSIONS_MOST 256

struct seen_connection {
	char container[64];
	struct egress_event v;
};

struct deciding_log {
	FILE *out;
	int64_t since_ms, until_ms; /* 0: no bound */
	size_t lines;
	size_t n, cap, told; /* connections, by time; so many are written */
	uint64_t lost;       /* at most so many older ones, which ends do not keep */
	int64_t known_ms;    /* 0: those before it are not lost otherwise, either */
	struct seen_connection *seen;
};

static const char *find_param(const struct audit_record *r, const char *key)
{
	for (size_t i = 0; i < r->nparams; i++)
		if (strcmp(r->params[i].key, key) == 0)
			return r->params[i].value;
	return NULL;
}

static const char *text_or_null(const char *s)
{
	return s && *s ? s : NULL;
}

/* NULL: it decides on nothing. */
static const char *decision_kind(const struct audit_record *r, const char **ret_decision)
{
	if (r->phase == AUDIT_INTENT)
		return NULL;
	*ret_decision = "deny";
	if (r->result == AUDIT_REFUSED)
		return "policy";
	*ret_decision = "allow";
	switch (r->operation) {
	case OP_JOB_ALLOW: return "approval";
	case OP_NET_ALLOW: return "egress";
	case OP_NET_DENY: *ret_decision = "deny"; return "egress";
	case OP_NET_FORGET: *ret_decision = "forget"; return "egress";
	default: return NULL;
	}
}

static void end_decision(struct deciding_log *l, struct jsonw *j)
{
	jsonw_end(j);
	fwrite(j->out.s, 1, j->out.len, l->out);
	jsonw_release(j);
	l->lines++;
}

static void put_connection(struct deciding_log *l, const struct seen_connection *s)
{
	char target[EGRESS_HOST_MAX + 8] = "", at[FORMAT_MAX];
	const enum egress_verdict verdict = (enum egress_verdict)s->v.verdict;
	struct jsonw j;

	if (s->v.to.port)
		egress_write_target(&s->v.to, target);
	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "at", format_stamp(at, s->v.at_ms));
	jsonw_text(&j, "kind", "connection");
	jsonw_text(&j, "decision",
		verdict == EGRESS_ALLOWED || verdict == EGRESS_CLOSED ? "allow" : "deny");
	jsonw_text(&j, "by", "rules");
	jsonw_null(&j, "agent");
	jsonw_null(&j, "session");
	jsonw_text(&j, "act", "net.connect");
	jsonw_text(&j, "target", s->container);
	jsonw_text(&j, "about", text_or_null(target));
	jsonw_null(&j, "for");
	jsonw_text(&j, "outcome", egress_verdict_name(verdict));
	jsonw_null(&j, "reason");
	jsonw_null(&j, "seq");
	jsonw_null(&j, "hash");
	end_decision(l, &j);
}

static void put_connections_until(struct deciding_log *l, int64_t wall_ms)
{
	while (l->told < l->n && l->seen[l->told].v.at_ms <= wall_ms)
		put_connection(l, &l->seen[l->told++]);
}

static void on_decision(void *ctx, const struct audit_record *r, const char *line, size_t len)
{
	struct deciding_log *l = ctx;
	const char *decision, *kind = decision_kind(r, &decision), *about = find_param(r, "rules");
	char at[FORMAT_MAX], hex[AUDIT_HEX];
	struct jsonw j;

	(void)line;
	(void)len;
	if (!kind)
		return;
	put_connections_until(l, r->wall_ms);
	if (!about)
		about = find_param(r, r->operation == OP_JOB_ALLOW ? "about" : "command");
	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "at", format_stamp(at, r->wall_ms));
	jsonw_text(&j, "kind", kind);
	jsonw_text(&j, "decision", decision);
	/* Who a person is says the system; policy decides by itself. */
	jsonw_text(&j, "by", strcmp(kind, "policy") ? r->user : "policy");
	jsonw_text(&j, "agent", text_or_null(r->agent));
	jsonw_text(&j, "session", text_or_null(r->session));
	jsonw_text(&j, "act", operation_table[r->operation].name);
	jsonw_text(&j, "target", text_or_null(*r->name ? r->name : r->target));
	jsonw_text(&j, "about", text_or_null(about));
	jsonw_text(&j, "for", text_or_null(find_param(r, "for")));
	jsonw_text(&j, "outcome", audit_result_name(r->result));
	jsonw_text(&j, "reason", text_or_null(r->error));
	jsonw_uint(&j, "seq", r->seq);
	jsonw_text(&j, "hash", hex_text(hex, r->hash, AUDIT_HASH));
	end_decision(l, &j);
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen_connection *x = a, *y = b;

	if (x->v.at_ms != y->v.at_ms)
		return x->v.at_ms < y->v.at_ms ? -1 : 1;
	return x->v.id < y->v.id ? -1 : x->v.id > y->v.id;
}

static void read_seen(struct deciding_log *l)
{
	AUTO_FREE struct agent_session *up = xcalloc(SESSIONS_MOST, sizeof *up);
	AUTO_FREE struct egress_event *v = xcalloc(EGRESS_EVENTS_MAX, sizeof *v);
	size_t n = agents_sessions(up, SESSIONS_MOST);

	for (size_t i = 0; i < n; i++) {
		int got = egress_ask_log(up[i].container, v, EGRESS_EVENTS_MAX, NULL);
		int64_t known_ms = egress_known_since(up[i].container);

		if (known_ms > l->since_ms && known_ms > l->known_ms)
			l->known_ms = known_ms;
		if (got > 0 && v[0].at_ms > l->since_ms)
			l->lost += v[0].id - 1;
		for (int k = 0; k < got; k++) {
			if ((l->since_ms && v[k].at_ms < l->since_ms) ||
				(l->until_ms && v[k].at_ms > l->until_ms) ||
				v[k].verdict == EGRESS_HELD)
				continue;
			l->seen = mem_grow(l->seen, &l->cap, l->n + 1, sizeof *l->seen);
			snprintf(l->seen[l->n].container, sizeof l->seen->container, "%.63s",
				up[i].container);
			l->seen[l->n++].v = v[k];
		}
	}
	mem_sort(l->seen, l->n, sizeof *l->seen, compare_seen);
}

static int write_decisions(struct deciding_log *l, struct err *e)
{
	const struct audit_filter filter = {.since_ms = l->since_ms, .until_ms = l->until_ms};
	struct audit_reader *log = audit_reader_open(NULL, &filter, e);
	char at[FORMAT_MAX];
	struct jsonw j;
	int more = 1;

	if (!log)
		return -1;
	read_seen(l);
	while (more > 0 && !ferror(l->out))
		more = audit_reader_forward(log, 4096, 0, on_decision, l, e);
	audit_reader_close(log);
	put_connections_until(l, INT64_MAX);
	free(l->seen);
	if (more < 0)
		return -1;
	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_object(&j, "summary");
	jsonw_text(&j, "schema", "berth.decision/1");
	jsonw_uint(&j, "decisions", l->lines);
	jsonw_uint(&j, "connections_lost", l->lost);
	jsonw_bool(&j, "complete", !l->lost && !l->known_ms);
	jsonw_text(&j, "known_since", l->known_ms ? format_stamp(at, l->known_ms) : NULL);
	jsonw_end(&j);
	jsonw_end(&j);
	fwrite(j.out.s, 1, j.out.len, l->out);
	jsonw_release(&j);
	return 0;
}

/* Made anew, whole or not at all. */
static int write_decision_file(struct deciding_log *l, const char *to, struct err *e)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), rc;

	l->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!l->out)
		return err_sys(e, errno, "Cannot make %s", to);
	rc = write_decisions(l, e);
	if (fclose(l->out) && !rc)
		rc = err_sys(e, errno, "Cannot write %s", to);
	if (rc)
		unlink(to);
	return rc;
}

int audit_decisions(const struct cli *c, struct err *e)
{
	const char *since = cli_value(c, "since"), *until = cli_value(c, "until");
	struct deciding_log l = {.out = stdout};
	char at[FORMAT_MAX];
	int64_t now = clock_wall_ms();

	if ((since && (l.since_ms = when_ms(since, now, e)) < 0) ||
		(until && (l.until_ms = when_ms(until, now, e)) < 0))
		return -1;
	if (!c->argc)
		return write_decisions(&l, e) ? -1 : cli_finish();
	if (write_decision_file(&l, c->argv[0], e))
		return -1;
	printf("%zu %s\n", l.lines, l.lines == 1 ? "decision" : "decisions");
	if (l.lost)
		printf("up to %" PRIu64
		       " older connections are missing: the last %d of an agent are kept\n",
			l.lost, EGRESS_EVENTS_MAX);
	if (l.known_ms)
		printf("connections before %s are not all known: the proxy of an agent was started again, or does not answer\n",
			format_stamp(at, l.known_ms));
	return cli_finish();
}
