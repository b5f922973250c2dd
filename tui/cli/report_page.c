/*
 * report_page.c - prints the page of `berth report`. What it looks like stands in configs/report.html; here is what is
 * on it, and where the bars of the time line go.
 *
 * Most of what is shown was chosen by agents.  It reaches the page through slots of the template alone, which make
 * text of it, and each table is bounded.
 */
#include "cli/report.h"

#include <string.h>

#include <berth/build.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "views/audit/audit_text.h"

#define ROWS_SHOWN 500 /* of a table */
#define WIDE 1120      /* of the time line */
#define LEFT 150
#define RIGHT 40
#define LANE 26
#define LANES_MOST 24
#define BARS_MOST 4000
#define TICKS 6
#define LINES_SHOWN 60 /* of what a command printed */

typedef bool pick_row(const struct report_row *r);

static bool is_file_change(const struct report_row *r)
{
	switch (r->operation) {
	case OP_FILE_WRITE:
	case OP_FILE_TRANSFORM:
	case OP_FILE_COPY:
	case OP_FILE_MOVE:
	case OP_FILE_DELETE:
	case OP_WORKSPACE_TAKE:
	case OP_WORKSPACE_HAND_OVER:
	case OP_WORKSPACE_SHARE:
	case OP_WORKSPACE_RESTORE: return !r->told;
	default: return false;
	}
}

static bool is_run(const struct report_row *r)
{
	return !r->told && report_is_command(r);
}

static bool is_net_decision(const struct report_row *r)
{
	return !r->told && report_is_decision(r) && r->operation != OP_JOB_ALLOW;
}

static bool is_approval(const struct report_row *r)
{
	return !r->told && r->operation == OP_JOB_ALLOW;
}

static bool is_policy_refusal(const struct report_row *r)
{
	return !r->told && r->result == AUDIT_REFUSED && !report_is_command(r);
}

/* All else that changed something. */
static bool is_other_act(const struct report_row *r)
{
	return !r->told && operation_table[r->operation].flags & OP_CHANGES &&
		!report_is_command(r) && !is_file_change(r) && !report_is_decision(r) &&
		!is_policy_refusal(r);
}

static size_t count_picked(const struct report *r, pick_row *pick)
{
	size_t n = 0;

	for (size_t i = 0; i < r->nrows; i++)
		n += pick(&r->row[i]);
	return n;
}

static const char *row_class(const struct report_row *r)
{
	return r->result == AUDIT_OK         ? "good"
		: r->result == AUDIT_REFUSED ? "warn"
		: r->result == AUDIT_PENDING ? "dim"
					     : "bad";
}

/* An intent without an outcome: it goes on, or its end is not in the log. */
static char *row_how(const struct report_row *r, char *buf, size_t cap)
{
	const char *word =
		r->result == AUDIT_PENDING ? "no end recorded" : audit_result_name(r->result);

	if (*r->error)
		snprintf(buf, cap, "%s: %s", word, r->error);
	else
		snprintf(buf, cap, "%s", word);
	return buf;
}

static char *page_stamp(char buf[FORMAT_MAX], int64_t at_ms)
{
	format_stamp(buf, at_ms)[19] = '\0';
	buf[10] = ' ';
	return buf;
}

static void print_count_tile(FILE *out, const char *class, size_t n, const char *text)
{
	fill(out, "tile", SLOT_TEXT("class", n ? class : "dim"), SLOT_COUNT("n", n),
		SLOT_TEXT("text", text));
}

static void print_report_tiles(FILE *out, const struct report *r)
{
	size_t failed = 0, refused = 0;

	for (size_t i = 0; i < r->nrows; i++) {
		const struct report_row *row = &r->row[i];

		refused += !row->told && row->result == AUDIT_REFUSED;
		failed += !row->told && row->result != AUDIT_OK && row->result != AUDIT_REFUSED &&
			row->result != AUDIT_PENDING;
	}
	print_count_tile(out, "", r->nagents, "agents");
	print_count_tile(out, "", count_picked(r, is_run), "commands");
	print_count_tile(out, "bad", failed, "failed");
	print_count_tile(out, "warn", refused, "refused");
	print_count_tile(out, "", count_picked(r, is_file_change), "changes of files");
	print_count_tile(out, "", count_picked(r, is_net_decision), "decisions on network");
	print_count_tile(out, "", count_picked(r, is_approval), "approvals");
	plain(out, "tiles-end");
}

static void print_audit_state(FILE *out, const struct report *r)
{
	const struct audit_verdict *v = &r->verdict;
	AUTO_STR struct str sentence = STR_INIT;

	if (r->unverified.kind) {
		fill(out, "audit", SLOT_TEXT("class", "bad"), SLOT_TEXT("state", "not verified"),
			SLOT_TEXT("sentence", r->unverified.msg), SLOT_TEXT("head", "not known"));
		return;
	}
	audit_text_verdict(&sentence, v);
	fill(out, "audit", SLOT_TEXT("class", v->fault == AUDIT_CLEAN ? "good" : "bad"),
		SLOT_TEXT(
			"state", v->fault == AUDIT_CLEAN ? "verified" : audit_fault_name(v->fault)),
		SLOT_TEXT("sentence", v->fault == AUDIT_CLEAN ? sentence.s : v->sentence),
		SLOT_TEXT("head", v->head));
}

static void print_reported_agents(FILE *out, const struct report *r)
{
	char first[FORMAT_MAX], last[FORMAT_MAX];

	if (!r->nagents)
		return;
	plain(out, "agents");
	for (size_t i = 0; i < r->nagents; i++) {
		const struct report_agent *a = &r->agent[i];

		fill(out, "agent", SLOT_TEXT("first", page_stamp(first, a->first_ms)),
			SLOT_TEXT("agent", a->name), SLOT_TEXT("container", a->container),
			SLOT_TEXT("image", a->image), SLOT_TEXT("network", a->network),
			SLOT_COUNT("commands", a->commands), SLOT_COUNT("failed", a->failed),
			SLOT_COUNT("refused", a->refused),
			SLOT_TEXT("last", page_stamp(last, a->last_ms)));
	}
	plain(out, "table-end");
}

/* The time line. */

struct time_axis {
	int64_t from_ms, span_ms;
};

static double place_on_line(const struct time_axis *a, int64_t at_ms)
{
	double t = (double)(at_ms - a->from_ms) / (double)a->span_ms;

	t = t < 0 ? 0 : t > 1 ? 1 : t;
	return LEFT + t * (WIDE - LEFT - RIGHT);
}

static bool is_on_line(const struct report_row *r)
{
	return !r->told && (report_is_command(r) || report_is_decision(r));
}

static int64_t row_end(const struct report_row *r)
{
	return r->at_ms + (r->duration_us > 0 ? r->duration_us / 1000 : 0);
}

static bool make_time_axis(const struct report *r, struct time_axis *a)
{
	int64_t first = INT64_MAX, last = 0;

	for (size_t i = 0; i < r->nrows; i++)
		if (is_on_line(&r->row[i])) {
			first = r->row[i].at_ms < first ? r->row[i].at_ms : first;
			last = row_end(&r->row[i]) > last ? row_end(&r->row[i]) : last;
		}
	if (first == INT64_MAX)
		return false;
	*a = (struct time_axis){first, last > first ? last - first : 1};
	return true;
}

static int lane_of(const struct report *r, int lanes, const struct report_row *row)
{
	for (int i = 0; i < lanes; i++)
		if (!strcmp(r->agent[i].name, row->agent))
			return i;
	return -1;
}

static void print_mark(FILE *out, const struct time_axis *a, const struct report_row *row, int lane)
{
	static const char *const colors[] = {
		[AUDIT_PENDING] = "c0", "c1", "bad", "warn", "c0", "bad"};
	double x = place_on_line(a, row->at_ms), w = place_on_line(a, row_end(row)) - x;
	char title[TEMPLATE_TEXT_MAX], at[FORMAT_MAX];
	int y = 8 + lane * LANE;

	snprintf(title, sizeof title, "%s %s", page_stamp(at, row->at_ms) + 11, row->about);
	if (report_is_command(row))
		fill(out, "line-bar", SLOT_NUMBER("x", x, 1), SLOT_COUNT("y", y),
			SLOT_NUMBER("width", w > 1.5 ? w : 1.5, 1),
			SLOT_TEXT("color", colors[row->result]), SLOT_TEXT("title", title));
	else
		fill(out, "line-dot", SLOT_NUMBER("x", x, 1), SLOT_COUNT("y", y + 7),
			SLOT_TEXT("color",
				row->operation == OP_NET_DENY || row->result != AUDIT_OK ? "warn"
											 : "c2"),
			SLOT_TEXT("title", title));
}

static void print_line_ticks(FILE *out, const struct time_axis *a, int bottom)
{
	/* Hours and minutes in any case; the day, the tenth of a second where it takes that to tell ticks apart. */
	bool days = a->span_ms > 86400000, tenths = a->span_ms < 60000;

	for (int i = 0; i <= TICKS; i++) {
		int64_t at = a->from_ms + a->span_ms * i / TICKS;
		char stamp[FORMAT_MAX];

		format_stamp(stamp, at)[tenths ? 21 : days ? 16 : 19] = '\0';
		stamp[10] = ' ';
		fill(out, "line-tick", SLOT_NUMBER("x", place_on_line(a, at), 1),
			SLOT_COUNT("bottom", bottom), SLOT_COUNT("below", bottom + 15),
			SLOT_TEXT("at", days ? stamp + 5 : stamp + 11));
	}
}

static void print_time_line(FILE *out, const struct report *r)
{
	int lanes = r->nagents < LANES_MOST ? (int)r->nagents : LANES_MOST, bottom;
	struct time_axis a;
	size_t bars = 0;

	if (!lanes || !make_time_axis(r, &a))
		return;
	bottom = 8 + lanes * LANE;
	fill(out, "line", SLOT_COUNT("width", WIDE), SLOT_COUNT("height", bottom + 24));
	print_line_ticks(out, &a, bottom);
	for (int i = 0; i < lanes; i++) {
		char name[24];

		text_clean(name, sizeof name, r->agent[i].name);
		fill(out, "line-lane", SLOT_COUNT("left", LEFT - 10),
			SLOT_COUNT("y", 8 + i * LANE + 11), SLOT_TEXT("agent", name),
			SLOT_COUNT("from", LEFT), SLOT_COUNT("to", WIDE - RIGHT),
			SLOT_COUNT("under", 8 + i * LANE + 20));
	}
	for (size_t i = r->nrows; i-- && bars < BARS_MOST;) {
		int lane = is_on_line(&r->row[i]) ? lane_of(r, lanes, &r->row[i]) : -1;

		if (lane >= 0) {
			print_mark(out, &a, &r->row[i], lane);
			bars++;
		}
	}
	plain(out, "line-end");
}

/* Tables of records, the newest first. */

static void print_command_row(FILE *out, const struct report_row *row)
{
	char at[FORMAT_MAX], how[300], took[FORMAT_MAX] = "";

	if (row->duration_us >= 0)
		format_age(took, row->duration_us / 1000);
	fill(out, "command", SLOT_TEXT("at", page_stamp(at, row->at_ms)),
		SLOT_TEXT("agent", row->who),
		SLOT_TEXT("command",
			*row->about ? row->about : operation_table[row->operation].words),
		SLOT_TEXT("class", row_class(row)), SLOT_TEXT("how", row_how(row, how, sizeof how)),
		SLOT_TEXT("took", took));
}

static void print_act_row(FILE *out, const struct report_row *row)
{
	char at[FORMAT_MAX], how[300];

	fill(out, "act", SLOT_TEXT("at", page_stamp(at, row->at_ms)), SLOT_TEXT("who", row->who),
		SLOT_TEXT("what", operation_table[row->operation].name), SLOT_TEXT("on", row->name),
		SLOT_TEXT("about", row->about), SLOT_TEXT("class", row_class(row)),
		SLOT_TEXT("how", row_how(row, how, sizeof how)));
}

static void print_picked(FILE *out, const struct report *r, pick_row *pick,
	void (*print)(FILE *out, const struct report_row *row))
{
	size_t n = 0, all = count_picked(r, pick);

	for (size_t i = r->nrows; i-- && n < ROWS_SHOWN;)
		if (pick(&r->row[i])) {
			print(out, &r->row[i]);
			n++;
		}
	if (all > n)
		fill(out, "table-cut", SLOT_COUNT("n", all - n));
	plain(out, "table-end");
}

static void print_acts(FILE *out, const struct report *r, pick_row *pick, const char *title)
{
	if (!count_picked(r, pick))
		return;
	fill(out, "acts", SLOT_TEXT("title", title));
	print_picked(out, r, pick, print_act_row);
}

static void print_connections(FILE *out, const struct report *r)
{
	char known[FORMAT_MAX];

	if (!r->nconnections && !r->connections_known_ms)
		return;
	plain(out, "egress");
	if (r->connections_lost)
		fill(out, "egress-lost", SLOT_COUNT("n", r->connections_lost),
			SLOT_COUNT("kept", EGRESS_EVENTS_MAX));
	if (r->connections_known_ms)
		fill(out, "egress-unknown",
			SLOT_TEXT("at", page_stamp(known, r->connections_known_ms)));
	plain(out, "egress-table");
	for (size_t i = 0; i < r->nconnections && i < ROWS_SHOWN; i++) {
		const struct report_connection *k = &r->connection[i];
		char target[EGRESS_HOST_MAX + 8] = "-", at[FORMAT_MAX], up[FORMAT_MAX],
					      down[FORMAT_MAX];

		if (k->to.port)
			egress_write_target(&k->to, target);
		fill(out, "connection", SLOT_TEXT("at", page_stamp(at, k->last_ms)),
			SLOT_TEXT("agent", k->agent), SLOT_TEXT("target", target),
			SLOT_TEXT("class", k->verdict == EGRESS_ALLOWED ? "good" : "warn"),
			SLOT_TEXT("verdict", egress_verdict_name((enum egress_verdict)k->verdict)),
			SLOT_COUNT("n", k->n), SLOT_TEXT("up", format_bytes(up, k->up)),
			SLOT_TEXT("down", format_bytes(down, k->down)));
	}
	if (r->nconnections > ROWS_SHOWN)
		fill(out, "connection-cut", SLOT_COUNT("n", r->nconnections - ROWS_SHOWN));
	plain(out, "table-end");
}

/* What commands printed: as text, colours and all else taken out. */

static size_t line_begin(const struct str *text, size_t lines)
{
	size_t at = text->len;

	while (at > 0 && (text->s[at - 1] != '\n' || at == text->len || --lines))
		at--;
	return at;
}

static void print_last_lines(FILE *out, const struct str *text)
{
	size_t at = line_begin(text, LINES_SHOWN);

	while (at < text->len) {
		const char *line = text->s + at, *end = memchr(line, '\n', text->len - at);
		size_t n = end ? (size_t)(end - line) : text->len - at;
		char part[TEMPLATE_TEXT_MAX];

		snprintf(part, sizeof part, "%.*s", (int)(n < sizeof part ? n : sizeof part - 1),
			line);
		fill(out, "output-line", SLOT_TEXT("text", part));
		at += n + 1;
	}
}

static void print_one_output(FILE *out, const struct report_output *o)
{
	const struct journal_command *k = &o->kept.command;
	AUTO_STR struct str tame = STR_INIT, text = STR_INIT;
	struct journal_tamer tamer[2] = {{0}};
	char at[FORMAT_MAX], how[64];

	if (k->running || k->lost)
		snprintf(how, sizeof how, "%s", k->running ? "running" : "lost");
	else
		snprintf(how, sizeof how, "%s %d", run_ended_name(k->ended), k->exit_code);
	for (size_t i = 0; i < o->kept.npieces; i++) {
		const struct journal_piece *p = &o->kept.piece[i];

		journal_tame(&tamer[p->stream - 1], p->bytes, p->n, &tame);
	}
	for (size_t i = 0; i < tame.len; i++) {
		/* Of what is left only colours and motion begin so, and a letter ends them. */
		if (tame.s[i] == '\x1b')
			i += strcspn(tame.s + i, "ABCDEFGHdfmJK");
		else if (tame.s[i] != '\r' && tame.s[i] != '\b')
			str_addc(&text, tame.s[i]);
	}
	fill(out, "output", SLOT_TEXT("agent", o->agent), SLOT_TEXT("command", k->argv),
		SLOT_TEXT("at", page_stamp(at, k->started_wall_ms)), SLOT_TEXT("how", how));
	print_last_lines(out, &text);
	plain(out, "output-end");
}

static void print_outputs(FILE *out, const struct report *r)
{
	if (!r->noutputs)
		return;
	plain(out, "printed");
	for (size_t i = 0; i < r->noutputs; i++)
		print_one_output(out, &r->output[i]);
	plain(out, "printed-end");
}

void report_print(FILE *out, const struct report *r)
{
	char from[FORMAT_MAX], to[FORMAT_MAX], made[FORMAT_MAX];

	fill(out, "page", SLOT_TEXT("what", r->what), SLOT_TEXT("host", r->host));
	template_fill(out, "configs/page-style.html", "style", NULL);
	fill(out, "page-body", SLOT_TEXT("what", r->what), SLOT_TEXT("host", r->host),
		SLOT_TEXT("from", page_stamp(from, r->since_ms)),
		SLOT_TEXT("to", page_stamp(to, r->until_ms)),
		SLOT_TEXT("made", page_stamp(made, clock_wall_ms())),
		SLOT_TEXT("version", berth_build.version));
	print_report_tiles(out, r);
	print_audit_state(out, r);
	if (r->older)
		fill(out, "cut", SLOT_COUNT("n", r->older), SLOT_COUNT("kept", r->nrows));
	if (!r->nrows)
		plain(out, "nothing");
	print_reported_agents(out, r);
	print_time_line(out, r);
	report_print_curves(out, r);
	if (count_picked(r, is_run)) {
		plain(out, "commands");
		print_picked(out, r, is_run, print_command_row);
	}
	if (count_picked(r, is_file_change)) {
		plain(out, "files");
		print_picked(out, r, is_file_change, print_act_row);
	}
	print_acts(out, r, is_net_decision, "Decisions on network");
	print_connections(out, r);
	print_acts(out, r, is_approval, "Approvals");
	print_acts(out, r, is_policy_refusal, "Refused by policy");
	print_acts(out, r, is_other_act, "Other acts");
	print_outputs(out, r);
	plain(out, "page-end");
}
