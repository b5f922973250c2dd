/* pattern.c - parses a PCRE2 pattern as far as it is plain. */
#include "files/match/pattern.h"

#include <ctype.h>
#include <string.h>
#include <wctype.h>

#include <berth/mem.h>

#define GROUPS_MAX 32
#define COUNT_MAX 1000

struct reading {
	struct shape *s;
	const unsigned char *p, *end;
	bool ignore_case;
	unsigned depth;
	bool failed;
};

static int fail_shape(struct reading *r)
{
	r->failed = true;
	r->p = r->end;
	return 0;
}

static int add_shape_node(struct reading *r, struct shape_node node)
{
	if (r->s->n == SHAPE_NODES)
		return fail_shape(r);
	r->s->nodes[r->s->n] = node;
	return (int)r->s->n++;
}

static int next_byte(const struct reading *r, size_t ahead)
{
	return (size_t)(r->end - r->p) > ahead ? r->p[ahead] : -1;
}

static void set_add(struct byte_set *set, unsigned c)
{
	if (c < 0x80)
		set->ascii[c >> 6] |= UINT64_C(1) << (c & 63);
	else
		set->high = true;
}

static void set_invert(struct byte_set *set)
{
	set->ascii[0] = ~set->ascii[0];
	set->ascii[1] = ~set->ascii[1];
	set->high = true;
}

static void set_join(struct byte_set *set, const struct byte_set *more)
{
	set->ascii[0] |= more->ascii[0];
	set->ascii[1] |= more->ascii[1];
	set->high |= more->high;
}

/* The other case.  Two characters beyond ASCII are k and s in another case: the Kelvin sign and the long s. */
static void set_fold(struct byte_set *set)
{
	static const char both[] = "kKsS";
	bool high = set->high;

	for (unsigned c = 'a'; c <= 'z'; c++)
		if (set_has(set, (unsigned char)c) || set_has(set, (unsigned char)(c - 32))) {
			set_add(set, c);
			set_add(set, c - 32);
			set->high |= c == 'k' || c == 's';
		}
	for (size_t i = 0; high && both[i]; i++)
		set_add(set, (unsigned char)both[i]);
}

static int add_set(struct reading *r, struct byte_set set, bool fold)
{
	if (fold)
		set_fold(&set);
	/* Nothing that is matched reaches beyond a line. */
	set.ascii[0] &= ~(UINT64_C(1) << '\n');
	return add_shape_node(r, (struct shape_node){.kind = SHAPE_SET, .set = set});
}

static struct byte_set named_set(const char *name, size_t len)
{
	/* Any of them may have characters beyond ASCII, which is not looked into. */
	struct byte_set set = {.high = true};
	char text[8] = "";
	bool word = len == 4 && memcmp(name, "word", 4) == 0;
	wctype_t named;

	memcpy(text, name, len < sizeof text ? len : 0);
	named = wctype(word ? "alnum" : text);
	for (unsigned c = 0; c < 0x80; c++)
		if (iswctype(c, named) || (word && c == '_'))
			set_add(&set, c);
	return set;
}

/* One character from p on, which may have several bytes. */
static unsigned take_char(struct reading *r)
{
	unsigned c = *r->p++;

	if (c >= 0x80)
		while (r->p < r->end && (*r->p & 0xC0) == 0x80)
			r->p++;
	return c;
}

static int hex_digit(int c)
{
	return c >= 0 && isxdigit(c) ? (isdigit(c) ? c - '0' : tolower(c) - 'a' + 10) : -1;
}

/* Behind "\x": two digits, or any number of them in braces.  -1: neither. */
static int take_hex(struct reading *r)
{
	bool braces = next_byte(r, 0) == '{';
	unsigned value = 0, digits = 0;

	for (r->p += braces; hex_digit(next_byte(r, 0)) >= 0 && (braces || digits < 2); r->p++) {
		value = value < 0x80 ? value * 16 + (unsigned)hex_digit(*r->p) : 0x80;
		digits++;
	}
	if (braces ? digits == 0 || next_byte(r, 0) != '}' : digits != 2)
		return -1;
	r->p += braces;
	return (int)value;
}

/* Behind a backslash.  1: a set of its own, 0: one character, -1: not plain. */
static int take_pattern_escape(struct reading *r, struct byte_set *set, unsigned *ret_char)
{
	static const char from[] = "tnrfea", to[] = "\t\n\r\f\033\a";
	const char *at;
	int c = next_byte(r, 0), value;

	if (c < 0)
		return -1;
	if (!isalnum(c)) {
		*ret_char = take_char(r);
		return 0;
	}
	r->p++;
	at = strchr(from, c);
	if (at) {
		*ret_char = (unsigned char)to[at - from];
		return 0;
	}
	if (c == 'x') {
		value = take_hex(r);
		*ret_char = (unsigned)value;
		return value < 0 ? -1 : 0;
	}
	switch (tolower(c)) {
	case 'w': *set = named_set("word", 4); break;
	case 'd': *set = named_set("digit", 5); break;
	case 's': *set = named_set("space", 5); break;
	default: return -1;
	}
	if (isupper(c))
		set_invert(set);
	return 1;
}

/* "[:alpha:]" within a class. */
static bool take_named(struct reading *r, struct byte_set *set)
{
	bool inverted = next_byte(r, 2) == '^';
	const unsigned char *name = r->p + 2 + inverted, *at = name;

	if (next_byte(r, 1) != ':')
		return false;
	while (at < r->end && isalpha(*at))
		at++;
	if (r->end - at < 2 || at[0] != ':' || at[1] != ']')
		return false;
	*set = named_set((const char *)name, (size_t)(at - name));
	/* Every name has characters: this is one that is not known here. */
	if (!set->ascii[0] && !set->ascii[1])
		return false;
	if (inverted)
		set_invert(set);
	r->p = at + 2;
	return true;
}

static void add_range(struct byte_set *set, unsigned from, unsigned to)
{
	for (unsigned c = from; c < 0x80 && c <= to; c++)
		set_add(set, c);
	if (to >= 0x80)
		set->high = true;
}

/* One member of a class: 1 a set, 0 a character, -1 not plain. */
static int take_member(struct reading *r, struct byte_set *set, unsigned *ret_char)
{
	int next = next_byte(r, 1);

	if (*r->p == '\\') {
		r->p++;
		if (next == 'b') {
			r->p++;
			*ret_char = '\b';
			return 0;
		}
		return take_pattern_escape(r, set, ret_char);
	}
	if (*r->p == '[' && next > 0 && strchr(":.=", next))
		return take_named(r, set) ? 1 : -1;
	*ret_char = take_char(r);
	return 0;
}

static int read_class(struct reading *r)
{
	struct byte_set set = {0}, one;
	bool inverted = next_byte(r, 1) == '^', first = true;
	unsigned from, to;

	for (r->p += 1 + inverted; r->p < r->end && (*r->p != ']' || first); first = false) {
		int kind = take_member(r, &one, &from);

		if (kind < 0)
			return fail_shape(r);
		if (kind == 1)
			set_join(&set, &one);
		if (next_byte(r, 0) != '-' || next_byte(r, 1) == ']') {
			if (kind == 0)
				set_add(&set, from);
			continue;
		}
		/* A range; what a minus means elsewhere is not looked into. */
		r->p++;
		if (kind == 1 || r->p == r->end || take_member(r, &one, &to) != 0)
			return fail_shape(r);
		add_range(&set, from, to);
		if (next_byte(r, 0) == '-' && next_byte(r, 1) != ']')
			return fail_shape(r);
	}
	if (r->p == r->end)
		return fail_shape(r);
	r->p++;
	/* What is not in it, in either case, is more than what is not in it. */
	if (inverted)
		set_invert(&set);
	return add_set(r, set, r->ignore_case && !inverted);
}

static int read_pattern_escape(struct reading *r)
{
	struct byte_set set = {0};
	const unsigned char *close;
	unsigned c;
	int kind;

	r->p++;
	switch (next_byte(r, 0)) {
	case 'b':
	case 'B': r->p++; return add_shape_node(r, (struct shape_node){.kind = SHAPE_EMPTY});
	case 'p':
	case 'P':
		/* A property, \p{Lu}: any character may have it. */
		close = next_byte(r, 1) == '{' ? memchr(r->p, '}', (size_t)(r->end - r->p)) : NULL;
		if (!close)
			return fail_shape(r);
		r->p = close + 1;
		set_invert(&set);
		return add_set(r, set, false);
	default: break;
	}
	kind = take_pattern_escape(r, &set, &c);
	if (kind < 0)
		return fail_shape(r);
	if (kind == 0)
		set_add(&set, c);
	return add_set(r, set, r->ignore_case && kind == 0);
}

/* "?i:", "?:", "?<name>" and so on behind a parenthesis.  1: a group follows, 0: that was all, -1: not plain. */
static int take_options(struct reading *r)
{
	bool off = false;

	if (next_byte(r, 0) == '*')
		return -1;
	if (next_byte(r, 0) != '?')
		return 1;
	r->p++;
	if (next_byte(r, 0) == 'P')
		r->p++;
	if (next_byte(r, 0) == '<') {
		for (r->p++; isalnum(next_byte(r, 0)) || next_byte(r, 0) == '_';)
			r->p++;
		return next_byte(r, 0) == '>' ? (r->p++, 1) : -1;
	}
	for (;; r->p++) {
		switch (next_byte(r, 0)) {
		case 'i': r->ignore_case = !off; break;
		case 's':
		case 'm': break;
		case '-':
			if (off)
				return -1;
			off = true;
			break;
		case ':': r->p++; return 1;
		case ')': return 0;
		default: return -1;
		}
	}
}

static int read_either(struct reading *r);

static int read_pattern_group(struct reading *r)
{
	bool ignore_case = r->ignore_case;
	int node, kind;

	r->p++;
	kind = take_options(r);
	if (kind < 0 || ++r->depth > GROUPS_MAX)
		return fail_shape(r);
	/* "(?i)" holds to the end of the group that it stands in. */
	if (kind == 0) {
		ignore_case = r->ignore_case;
		node = add_shape_node(r, (struct shape_node){.kind = SHAPE_EMPTY});
	} else {
		node = read_either(r);
	}
	if (next_byte(r, 0) != ')')
		return fail_shape(r);
	r->p++;
	r->depth--;
	r->ignore_case = ignore_case;
	return node;
}

static int read_pattern_item(struct reading *r)
{
	struct byte_set set = {0};

	switch (*r->p) {
	case '(': return read_pattern_group(r);
	case '[': return read_class(r);
	case '\\': return read_pattern_escape(r);
	case '^':
	case '$': r->p++; return add_shape_node(r, (struct shape_node){.kind = SHAPE_EMPTY});
	case '.':
		r->p++;
		set_invert(&set);
		return add_set(r, set, false);
	case '*':
	case '+':
	case '?': return fail_shape(r);
	default: set_add(&set, take_char(r)); return add_set(r, set, r->ignore_case);
	}
}

static unsigned take_count(struct reading *r)
{
	unsigned value = 0;

	for (; isdigit(next_byte(r, 0)); r->p++)
		value = value < COUNT_MAX ? value * 10 + (unsigned)(*r->p - '0') : value;
	return value < COUNT_MAX ? value : COUNT_MAX;
}

/* {2}, {2,} or {2,3}; versions of PCRE2 differ in what else counts things.  A brace that does not is a
 * character. */
static bool take_braces(struct reading *r, unsigned *min, unsigned *max)
{
	int c = next_byte(r, 1);

	if (c < 0 || !strchr("0123456789, \t", c))
		return false;
	r->p++;
	if (!isdigit(c)) {
		fail_shape(r);
		return false;
	}
	*min = *max = take_count(r);
	if (next_byte(r, 0) == ',') {
		r->p++;
		*max = isdigit(next_byte(r, 0)) ? take_count(r) : SHAPE_MANY;
	}
	if (next_byte(r, 0) != '}') {
		fail_shape(r);
		return false;
	}
	r->p++;
	/* As many as there may be are no fewer than were said. */
	if (*max >= COUNT_MAX)
		*max = SHAPE_MANY;
	return true;
}

static int read_repeated(struct reading *r)
{
	int node = read_pattern_item(r), c = next_byte(r, 0);
	unsigned min = c == '+', max = c == '?' ? 1 : SHAPE_MANY;

	if (c == '{') {
		if (!take_braces(r, &min, &max))
			return node;
	} else if (c == '*' || c == '+' || c == '?') {
		r->p++;
	} else {
		return node;
	}
	if (next_byte(r, 0) == '?')
		r->p++;
	/* What never gives back, and what is repeated twice. */
	c = next_byte(r, 0);
	if (c == '*' || c == '+' || c == '?' || c == '{')
		return fail_shape(r);
	return add_shape_node(r,
		(struct shape_node){.kind = SHAPE_REPEAT,
			.a = (uint16_t)node,
			.min = (uint16_t)min,
			.max = (uint16_t)max});
}

static int read_sequence(struct reading *r)
{
	int all = -1;

	while (r->p < r->end && *r->p != '|' && *r->p != ')') {
		int node = read_repeated(r);

		all = all < 0 ? node
			      : add_shape_node(r,
					(struct shape_node){.kind = SHAPE_THEN,
						.a = (uint16_t)all,
						.b = (uint16_t)node});
	}
	return all < 0 ? add_shape_node(r, (struct shape_node){.kind = SHAPE_EMPTY}) : all;
}

static int read_either(struct reading *r)
{
	int all = read_sequence(r);

	while (next_byte(r, 0) == '|') {
		int node;

		r->p++;
		node = read_sequence(r);
		all = add_shape_node(r,
			(struct shape_node){
				.kind = SHAPE_EITHER, .a = (uint16_t)all, .b = (uint16_t)node});
		/* Which of them an anchor belongs to is not looked into. */
		if (r->depth == 0)
			r->s->begins = r->s->ends = false;
	}
	return all;
}

bool pattern_shape(struct shape *s, const char *p, size_t n, bool ignore_case)
{
	struct reading r = {
		.s = s,
		.p = (const unsigned char *)p,
		.end = (const unsigned char *)p + n,
		.ignore_case = ignore_case,
	};

	s->n = 0;
	s->begins = n > 1 && *p == '^' && !strchr("*+?{", p[1]);
	/* A dollar sign that a backslash makes one, or two of them do not: that is not looked into either. */
	s->ends = n > 1 && p[n - 1] == '$' && p[n - 2] != '\\';
	read_either(&r);
	return !r.failed && r.p == r.end;
}
