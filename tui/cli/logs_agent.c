/* logs_agent.c - prints the output of agents' commands as log lines, each line once. */
#include "cli/logs_agent.h"

#include <stdlib.h>
#include <string.h>

#include <berth/arena.h>
#include <berth/journal.h>
#include <berth/mem.h>

/* How far a command was read.  Positions are of all that it printed, both streams together. */
struct mark {
	size_t source;
	uint64_t seq, printed, upto[2];
	bool over;
};

struct ordered {
	struct log_line line;
	size_t order;
};

struct agent_logs {
	const char *const *name;
	size_t n, nmarks, marks_cap, nlines, cap, lines_cap;
	struct mark *mark;
	struct ordered *found;
	struct log_line *line;
	struct journal_command *commands;
	struct arena mem; /* of the texts */
};

struct agent_logs *agent_logs_open(const char *const *name, size_t n)
{
	struct agent_logs *a = xcalloc(1, sizeof *a);

	a->name = name;
	a->n = n;
	a->commands = xcalloc(JOURNAL_COMMANDS_MAX, sizeof *a->commands);
	arena_init(&a->mem, 65536);
	return a;
}

void agent_logs_close(struct agent_logs *a)
{
	arena_release(&a->mem);
	free(a->commands);
	free(a->line);
	free(a->found);
	free(a->mark);
	free(a);
}

static struct mark *find_mark(struct agent_logs *a, size_t source, uint64_t seq)
{
	for (size_t i = a->nmarks; i-- > 0;)
		if (a->mark[i].seq == seq && a->mark[i].source == source)
			return &a->mark[i];
	a->mark = mem_grow(a->mark, &a->marks_cap, a->nmarks + 1, sizeof *a->mark);
	a->mark[a->nmarks] = (struct mark){.source = source, .seq = seq};
	return &a->mark[a->nmarks++];
}

static void add_line(struct agent_logs *a, const struct mark *m, int stream, int64_t wall_ns,
	const struct str *text, bool unended)
{
	bool cr = !unended && text->len && text->s[text->len - 1] == '\r';
	size_t n = text->len - cr;
	char *copy = arena_alloc(&a->mem, n + 1);

	memcpy(copy, text->s, n);
	a->found = mem_grow(a->found, &a->cap, a->nlines + 1, sizeof *a->found);
	a->found[a->nlines] = (struct ordered){.order = a->nlines,
		.line = {.source = (uint16_t)m->source,
			.stream = (uint8_t)stream,
			.unended = unended,
			.cr = cr,
			.wall_ns = wall_ns,
			.len = (uint32_t)n,
			.text = copy}};
	a->nlines++;
}

/* The lines of one command that end behind its mark. */
static void read_command(struct agent_logs *a, struct mark *m, bool all)
{
	struct journal_output o;
	struct str text[2] = {STR_INIT, STR_INIT};
	int64_t at[2] = {0, 0};
	uint64_t pos;

	if (journal_read(a->name[m->source], m->seq, &o, NULL) < 0)
		return;
	pos = o.missed;
	for (size_t i = 0; i < o.npieces; i++) {
		const struct journal_piece *p = &o.piece[i];
		int k = p->stream == 2;
		int64_t ms = o.command.started_wall_ms + (p->at_ms > 0 ? p->at_ms : 0);

		for (size_t b = 0; b < p->n; b++) {
			pos++;
			if (!text[k].len)
				at[k] = ms * 1000000;
			if (p->bytes[b] != '\n') {
				str_addc(&text[k], p->bytes[b]);
				continue;
			}
			if (pos > m->upto[k]) {
				add_line(a, m, k + 1, at[k], &text[k], false);
				m->upto[k] = pos;
			}
			str_clear(&text[k]);
		}
	}
	m->over = !o.command.running;
	for (int k = 0; k < 2; k++) {
		if (text[k].len && pos > m->upto[k] && (all || m->over)) {
			add_line(a, m, k + 1, at[k], &text[k], true);
			m->upto[k] = pos;
		}
		str_release(&text[k]);
	}
	m->printed = o.command.out_bytes + o.command.error_bytes;
	journal_output_release(&o);
}

static int compare_lines(const void *pa, const void *pb)
{
	const struct ordered *a = pa, *b = pb;

	if (a->line.wall_ns != b->line.wall_ns)
		return a->line.wall_ns < b->line.wall_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

size_t agent_logs_next(struct agent_logs *a, bool all, const struct log_line **ret)
{
	a->nlines = 0;
	arena_reset(&a->mem);
	for (size_t i = 0; i < a->n; i++) {
		size_t n = a->name[i] ? journal_list(a->name[i], a->commands, JOURNAL_COMMANDS_MAX)
				      : 0;

		while (n--) {
			const struct journal_command *k = &a->commands[n];
			struct mark *m = find_mark(a, i, k->seq);

			if (!m->over || m->printed != k->out_bytes + k->error_bytes)
				read_command(a, m, all);
		}
	}
	mem_sort(a->found, a->nlines, sizeof *a->found, compare_lines);
	a->line = mem_grow(a->line, &a->lines_cap, a->nlines + 1, sizeof *a->line);
	for (size_t i = 0; i < a->nlines; i++)
		a->line[i] = a->found[i].line;
	*ret = a->line;
	return a->nlines;
}
