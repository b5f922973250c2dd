/* automaton.c - matches a pattern by a Glushkov automaton whose states are sets of positions. */
#include "files/match/automaton.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "files/match/sieve.h"

#define PLACES_MAX 62
#define STATES_MAX 256
#define COLUMNS_MAX 64
#define HIGH 1         /* the column of bytes that are not ASCII */
#define PARTS_MAX 4096 /* looks at a node */
#define FIRST_SHARE_MAX 0.1
#define COPIES_MANY 40 /* of what is repeated, as exactly as that; then once more with COPIES_FEW */
#define COPIES_FEW 3
#define BEGIN (UINT64_C(1) << 63) /* a match may begin with the next byte */

/* States are numbers of their first cell, so that a step is one addition and one load. */
struct automaton {
	uint8_t column[256];
	unsigned columns, begin;
	bool clips;
	uint16_t *next;     /* 0: a match; or dead, `columns`: nothing more in this line */
	struct sieve first; /* bytes that a match may begin with, where those are rare */
};

struct building {
	const struct shape *s;
	struct byte_set set[PLACES_MAX];
	uint64_t follow[PLACES_MAX];
	unsigned places, copies, parts;
	bool failed;

	uint64_t last, first, high, always;
	uint64_t on[COLUMNS_MAX]; /* places that a byte of the column may be at */
	uint64_t states[STATES_MAX];
	unsigned n;
	struct automaton *a;
};

struct part {
	uint64_t first, last;
	bool nullable;
};

static void link_places(struct building *b, uint64_t from, uint64_t to)
{
	for (; from; from &= from - 1)
		b->follow[__builtin_ctzll(from)] |= to;
}

static struct part then_part(struct building *b, struct part x, struct part y)
{
	link_places(b, x.last, y.first);
	return (struct part){
		.first = x.first | (x.nullable ? y.first : 0),
		.last = y.last | (y.nullable ? x.last : 0),
		.nullable = x.nullable && y.nullable,
	};
}

static struct part build_part(struct building *b, size_t i);

/* More copies than are made, and a few that may be or not, are any number from there on. */
static struct part repeat_part(struct building *b, const struct shape_node *node)
{
	unsigned min = node->min < b->copies ? node->min : b->copies,
		 maybe = node->max == SHAPE_MANY ? SHAPE_MANY : (unsigned)node->max - node->min;
	struct part all = {.nullable = true}, one = {0};
	bool endless = min < node->min || maybe > b->copies - min;

	b->a->clips |= endless && (min < node->min || maybe != SHAPE_MANY);

	for (unsigned k = 0; k < min; k++) {
		one = build_part(b, node->a);
		all = then_part(b, all, one);
	}
	if (endless && min == 0) {
		all = one = build_part(b, node->a);
		all.nullable = true;
	}
	if (endless) {
		link_places(b, one.last, one.first);
		return all;
	}
	for (unsigned k = 0; k < maybe; k++) {
		one = build_part(b, node->a);
		one.nullable = true;
		all = then_part(b, all, one);
	}
	return all;
}

static struct part build_part(struct building *b, size_t i)
{
	const struct shape_node *node = &b->s->nodes[i];
	struct part x, y;
	uint64_t bit;

	b->failed |= b->parts++ == PARTS_MAX;
	if (b->failed)
		return (struct part){0};
	switch (node->kind) {
	case SHAPE_SET:
		if (b->places == PLACES_MAX) {
			b->failed = true;
			break;
		}
		bit = UINT64_C(1) << b->places;
		b->set[b->places] = node->set;
		if (node->set.high)
			b->high |= bit;
		b->places++;
		return (struct part){.first = bit, .last = bit};
	case SHAPE_THEN:
		x = build_part(b, node->a);
		y = build_part(b, node->b);
		return then_part(b, x, y);
	case SHAPE_EITHER:
		x = build_part(b, node->a);
		y = build_part(b, node->b);
		return (struct part){x.first | y.first, x.last | y.last, x.nullable || y.nullable};
	case SHAPE_REPEAT: return repeat_part(b, node);
	case SHAPE_EMPTY: break;
	}
	return (struct part){.nullable = true};
}

/* Bytes that may be at the same places share a column; line feeds have the first one, and what is not ASCII
 * the second. */
static void make_columns(struct building *b)
{
	struct automaton *a = b->a;

	memset(a->column + 0x80, HIGH, 0x80);
	b->on[HIGH] = b->high;
	a->columns = HIGH + 1;
	for (unsigned c = 0; c < 0x80; c++) {
		uint64_t on = 0;
		unsigned column = HIGH + 1;

		if (c == '\n')
			continue;
		for (unsigned i = 0; i < b->places; i++)
			if (set_has(&b->set[i], (unsigned char)c))
				on |= UINT64_C(1) << i;
		while (column < a->columns && b->on[column] != on)
			column++;
		if (column == COLUMNS_MAX) {
			b->failed = true;
			return;
		}
		if (column == a->columns)
			b->on[a->columns++] = on;
		a->column[c] = (uint8_t)column;
	}
}

static unsigned number_state(struct building *b, uint64_t state)
{
	if (state & b->last && !b->s->ends)
		return 0;
	for (unsigned i = 1; i < b->n; i++)
		if (b->states[i] == state)
			return i;
	if (b->n == STATES_MAX || (b->n + 1) * b->a->columns > UINT16_MAX) {
		b->failed = true;
		return 0;
	}
	b->states[b->n] = state;
	return b->n++;
}

static uint64_t next_state(const struct building *b, uint64_t state, unsigned column)
{
	uint64_t next = state & BEGIN ? b->first : 0;

	for (uint64_t left = state & ~BEGIN; left; left &= left - 1)
		next |= b->follow[__builtin_ctzll(left)];
	next &= b->on[column];
	if (column == HIGH)
		next |= state & b->high; /* the rest of a character */
	return next | b->always;
}

static void fill_states(struct building *b)
{
	struct automaton *a = b->a;

	a->next = xcalloc((size_t)STATES_MAX * a->columns, sizeof *a->next);
	b->n = 1; /* 0 is a match, and stays one */
	number_state(b, 0);
	a->begin = number_state(b, BEGIN) * a->columns;
	for (unsigned i = 1; i < b->n && !b->failed; i++) {
		/* Where a match is at the end of a line, only that makes it one. */
		a->next[i * a->columns] = b->states[i] & b->last ? 0 : (uint16_t)a->begin;
		for (unsigned column = 1; column < a->columns; column++)
			a->next[i * a->columns + column] =
				(uint16_t)(number_state(b, next_state(b, b->states[i], column)) *
					a->columns);
	}
}

static void find_first(struct building *b)
{
	struct byte_set first = {0};

	for (uint64_t left = b->first; left; left &= left - 1) {
		const struct byte_set *set = &b->set[__builtin_ctzll(left)];

		first.ascii[0] |= set->ascii[0];
		first.ascii[1] |= set->ascii[1];
		first.high |= set->high;
	}
	sieve_init_set(&b->a->first, &first);
	if (!sieve_works() || b->a->first.share > FIRST_SHARE_MAX || b->s->begins)
		b->a->first.width = 0;
}

static struct automaton *build_automaton(const struct shape *s, unsigned copies, bool *ret_empty)
{
	struct building *b = xcalloc(1, sizeof *b);
	struct automaton *a = b->a = xcalloc(1, sizeof *a);
	struct part all;

	b->s = s;
	b->copies = copies;
	all = build_part(b, s->n - 1);
	b->first = all.first;
	b->last = all.last;
	b->always = s->begins ? 0 : BEGIN;
	*ret_empty = all.nullable && !b->failed;
	if (!b->failed && !all.nullable)
		make_columns(b);
	if (!b->failed && !all.nullable)
		fill_states(b);
	if (!b->failed && !all.nullable)
		find_first(b);
	if (b->failed || all.nullable) {
		automaton_free(a);
		a = NULL;
	}
	free(b);
	return a;
}

struct automaton *automaton_new(const struct shape *s)
{
	bool empty;
	struct automaton *a = build_automaton(s, COPIES_MANY, &empty);

	return a || empty ? a : build_automaton(s, COPIES_FEW, &empty);
}

void automaton_free(struct automaton *a)
{
	if (!a)
		return;
	free(a->next);
	free(a);
}

bool automaton_clips(const struct automaton *a)
{
	return a->clips;
}

bool automaton_skips(const struct automaton *a)
{
	return a->first.width > 0;
}

/* The end of the text is one of a line. */
static const char *end_text(const struct automaton *a, unsigned state, const char *s, size_t n)
{
	return n > 0 && a->next[state] == 0 ? s + n - 1 : NULL;
}

/* From one byte that a match may begin with to the next. */
static const char *find_skipping(const struct automaton *a, const char *s, size_t n)
{
	const char *at = s, *end = s + n;
	unsigned state = a->begin;

	for (; at < end; at++) {
		if (state == a->begin) {
			at = sieve_find(&a->first, at, (size_t)(end - at));
			if (!at)
				return NULL;
		}
		state = a->next[state + a->column[(unsigned char)*at]];
		if (state == 0)
			return at;
	}
	return end_text(a, state, s, n);
}

const char *automaton_find(const struct automaton *a, const char *s, size_t n)
{
	const unsigned char *at = (const unsigned char *)s, *end = at + n;
	const uint16_t *next = a->next;
	const uint8_t *column = a->column;
	unsigned state = a->begin;

	if (a->first.width)
		return find_skipping(a, s, n);
	while (end - at >= 8) {
		unsigned before = state;

		for (unsigned i = 0; i < 8; i++)
			state = next[state + column[at[i]]];
		/* Once a match, always one: which of these bytes ended it is looked for below. */
		if (state == 0) {
			state = before;
			break;
		}
		at += 8;
		if (state == a->columns)
			at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			return NULL;
	}
	for (; at < end; at++) {
		state = next[state + column[*at]];
		if (state == 0)
			return (const char *)at;
	}
	return end_text(a, state, s, n);
}
