/* audit_text.c - describes records and verdicts in words. */
#include "views/audit/audit_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/text.h>

#define ID_SHOWN 12

static void add_neutral(struct str *out, const char *s)
{
	text_neutralise(out, s, strlen(s), false);
}

void audit_text_who(struct str *out, const struct audit_record *r)
{
	size_t from = out->len;

	add_neutral(out, r->user);
	if (r->agent && *r->agent && strcmp(r->agent, r->user) != 0) {
		if (out->len > from)
			str_addc(out, '/');
		add_neutral(out, r->agent);
	}
}

void audit_text_target(struct str *out, const struct audit_record *r)
{
	if (*r->name)
		add_neutral(out, r->name);
	else if (*r->target)
		text_neutralise(out, r->target,
			strlen(r->target) > ID_SHOWN ? ID_SHOWN : strlen(r->target), false);
	else
		str_addc(out, '-');
}

void audit_text_detail(struct str *out, const struct audit_record *r)
{
	const char *between = "";

	if (r->items) {
		str_addf(out, "%" PRIu64 " items", r->items);
		between = "  ";
	}
	for (size_t i = 0; i < r->nparams; i++) {
		str_adds(out, between);
		between = "  ";
		/* A command speaks for itself. */
		if (strcmp(r->params[i].key, "command") != 0) {
			add_neutral(out, r->params[i].key);
			str_addc(out, '=');
		}
		add_neutral(out, r->params[i].value);
	}
	if (*r->error) {
		str_adds(out, between);
		add_neutral(out, r->error);
	}
}

void audit_text_outcome(struct str *out, const struct audit_record *r)
{
	str_adds(out,
		r->result == AUDIT_PENDING ? audit_phase_name(r->phase)
					   : audit_result_name(r->result));
	if (r->duration_us < 0)
		return;
	if (r->duration_us < 1000)
		str_addf(out, " %d us", (int)r->duration_us);
	else if (r->duration_us < 1000000)
		str_addf(out, " %d ms", (int)(r->duration_us / 1000));
	else
		str_addf(out, " %.1f s", (double)r->duration_us / 1e6);
}

void audit_text_verdict(struct str *out, const struct audit_verdict *v)
{
	char n[FORMAT_MAX], m[FORMAT_MAX];

	if (v->fault != AUDIT_CLEAN) {
		str_addf(out, "%s: ", audit_fault_name(v->fault));
		add_neutral(out, v->sentence);
		return;
	}
	str_addf(out, "clean: %s records", format_count(n, v->records));
	if (v->first_seq > 1)
		str_addf(out, " (older than %s were pruned)", format_count(m, v->first_seq));
	if (v->signed_seq)
		str_addf(out, ", signed up to record %s", format_count(m, v->signed_seq));
	/* Only a signature proves that a record is the one that was written. */
	if (v->last_seq > v->signed_seq)
		str_addf(out, "; the last %s %s not signed yet: a change there may go unnoticed",
			format_count(n, v->last_seq - v->signed_seq),
			v->last_seq - v->signed_seq == 1 ? "is" : "are");
	if (v->unacknowledged_bytes)
		str_addf(out, "; %s bytes at the end are not a complete record",
			format_count(n, v->unacknowledged_bytes));
	if (v->torn)
		str_addf(out,
			"; damaged ends set aside: %s (cut short by a crash, or changed before they were signed)",
			format_count(n, v->torn));
	str_addc(out, '.');
}
