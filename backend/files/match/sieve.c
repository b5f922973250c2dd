/*
 * sieve.c - finds the strings that every match must contain.
 *
 * Why not PCRE2: it begins anew at each byte that a match may start with, and in text that is nearly every
 * one.  Why not Hyperscan: a library of 5 MB for what two tables of 16 bytes do here.
 */
#include "files/match/sieve.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <berth/mem.h>

#define SETS_MAX 255
#define COPIES_MAX 8 /* of what is repeated */
#define EDGE 12      /* sets known of the start or the end of what is longer */

/* Strings of sets, by number.  n 0: not known. */
struct words {
	uint8_t n, len[SIEVE_WORDS], at[SIEVE_WORDS][SIEVE_WORD];
};

/* What is known of the matches of a node. */
struct known {
	struct words all;   /* each is one of these */
	struct words start; /* each starts with one of these */
	struct words end;
	struct words in; /* each contains one of these */
};

struct gathering {
	struct byte_set sets[SETS_MAX + 1];
	double share[SETS_MAX + 1];
	bool small[SETS_MAX + 1], capital[SETS_MAX + 1]; /* nothing but such letters */
	size_t n;
	struct known *nodes;
};

unsigned text_frequency(unsigned char c)
{
	/* From the space on: 'a' + twice the logarithm to base 2. */
	static const char level[] = "ucjkcejhoonhomnmonmllllklklmimjd"
				    "fmkmlnlkjmfillmlldmnmkihihfjijaq"
				    "drnqqtpoprhmqprrpirrspmlmnhihida";

	unsigned twice;

	if (c == '\n' || c == '\t')
		return 256;
	if (c < ' ' || c >= 0x80)
		return 1;
	twice = (unsigned)(level[c - ' '] - 'a');
	return twice & 1 ? 3u << twice / 2 >> 1 : 1u << twice / 2;
}

static double set_share(const struct byte_set *set)
{
	double share = set->high ? 0.01 : 0;

	for (unsigned c = 0; c < 0x80; c++)
		if (set_has(set, (unsigned char)c))
			share += text_frequency((unsigned char)c) / 10000.0;
	return share < 1 ? share : 1;
}

#define CAPITALS ((uint64_t)0x3ffffff << ('A' - 64))
#define SMALLS ((uint64_t)0x3ffffff << ('a' - 64))

static bool is_of_letters(const struct byte_set *set, uint64_t letters)
{
	return !set->high && !set->ascii[0] && set->ascii[1] && !(set->ascii[1] & ~letters);
}

static unsigned add_share_set(struct gathering *g, const struct byte_set *set)
{
	for (size_t i = 0; i < g->n; i++)
		if (memcmp(g->sets[i].ascii, set->ascii, sizeof set->ascii) == 0 &&
			g->sets[i].high == set->high)
			return (unsigned)i;
	/* The last one is every byte, for when there are too many. */
	if (g->n == SETS_MAX) {
		g->sets[SETS_MAX] = (struct byte_set){{UINT64_MAX, UINT64_MAX}, true};
		g->share[SETS_MAX] = 1;
		return SETS_MAX;
	}
	g->sets[g->n] = *set;
	g->share[g->n] = set_share(set);
	g->small[g->n] = is_of_letters(set, SMALLS);
	g->capital[g->n] = is_of_letters(set, CAPITALS);
	return (unsigned)g->n++;
}

static unsigned shortest_word(const struct words *w)
{
	unsigned len = SIEVE_WORD;

	for (unsigned i = 0; i < w->n; i++)
		if (w->len[i] < len)
			len = w->len[i];
	return w->n ? len : 0;
}

static unsigned sieve_width(const struct words *w)
{
	unsigned len = shortest_word(w);

	return len < SIEVE_WIDTH ? len : SIEVE_WIDTH;
}

/* Within a word letters do not come as they like: a capital behind a small letter is much rarer than a capital. */
#define CAMEL 0.1

/* Where in a word the `width` sets are that are rarest together, and how rare that is. */
static unsigned rarest_part(
	const struct gathering *g, const struct words *w, unsigned i, unsigned width, double *share)
{
	unsigned best = 0;

	*share = 2;
	for (unsigned from = 0; from + width <= w->len[i]; from++) {
		double p = 1;

		for (unsigned j = 0; j < width; j++) {
			unsigned set = w->at[i][from + j];

			p *= g->share[set];
			if (j && g->capital[set] && g->small[w->at[i][from + j - 1]])
				p *= CAMEL;
		}
		if (p < *share) {
			*share = p;
			best = from;
		}
	}
	return best;
}

static double words_share(const struct gathering *g, const struct words *w)
{
	unsigned width = sieve_width(w);
	double all = 0, share;

	if (width == 0)
		return 1;
	for (unsigned i = 0; i < w->n; i++) {
		rarest_part(g, w, i, width, &share);
		all += share;
	}
	return all;
}

static void take_rarer(const struct gathering *g, struct words *best, const struct words *w)
{
	if (words_share(g, w) < words_share(g, best))
		*best = *w;
}

/* One word that stands for all: at each place what any has there, as long as the shortest. */
static void words_melt(struct gathering *g, struct words *w, bool from_end)
{
	unsigned len = shortest_word(w);
	struct words one = {.n = 1, .len = {(uint8_t)len}};

	for (unsigned j = 0; j < len; j++) {
		struct byte_set set = {0};

		for (unsigned i = 0; i < w->n; i++) {
			const struct byte_set *more =
				&g->sets[w->at[i][from_end ? w->len[i] - len + j : j]];

			set.ascii[0] |= more->ascii[0];
			set.ascii[1] |= more->ascii[1];
			set.high |= more->high;
		}
		one.at[0][j] = (uint8_t)add_share_set(g, &set);
	}
	*w = one;
}

/* The first or the last EDGE of each. */
static void words_clip(struct words *w, bool from_end)
{
	for (unsigned i = 0; i < w->n; i++) {
		if (w->len[i] <= EDGE)
			continue;
		if (from_end)
			memmove(w->at[i], w->at[i] + w->len[i] - EDGE, EDGE);
		w->len[i] = EDGE;
	}
}

/* Each of a and then each of b; none where that is too much. */
static struct words words_then(const struct words *a, const struct words *b)
{
	struct words out = {0};

	if (a->n * b->n > SIEVE_WORDS)
		return out;
	for (unsigned i = 0; i < a->n; i++)
		for (unsigned j = 0; j < b->n; j++) {
			unsigned len = a->len[i] + b->len[j];
			uint8_t *at = out.at[out.n];

			if (len > SIEVE_WORD)
				return (struct words){0};
			memcpy(at, a->at[i], a->len[i]);
			memcpy(at + a->len[i], b->at[j], b->len[j]);
			out.len[out.n++] = (uint8_t)len;
		}
	return out;
}

/* The same at an edge, where less may be known but something always is. */
static struct words words_join(struct gathering *g, struct words a, struct words b, bool from_end)
{
	words_clip(&a, true);
	words_clip(&b, false);
	if (a.n * b.n > SIEVE_WORDS && from_end)
		words_melt(g, &a, true);
	if (a.n * b.n > SIEVE_WORDS)
		words_melt(g, &b, false);
	if (a.n * b.n > SIEVE_WORDS)
		words_melt(g, &a, true);
	return words_then(&a, &b);
}

/* Those of a and those of b; none where that is too many. */
static struct words words_both(const struct words *a, const struct words *b)
{
	struct words out = *a;

	if (!a->n || !b->n || a->n + b->n > SIEVE_WORDS)
		return (struct words){0};
	memcpy(out.at[a->n], b->at, b->n * sizeof b->at[0]);
	memcpy(out.len + a->n, b->len, b->n);
	out.n = (uint8_t)(a->n + b->n);
	return out;
}

static struct words words_either(struct gathering *g, struct words a, struct words b, bool from_end)
{
	if (a.n + b.n > SIEVE_WORDS && a.n > 1)
		words_melt(g, &a, from_end);
	if (a.n + b.n > SIEVE_WORDS)
		words_melt(g, &b, from_end);
	return words_both(&a, &b);
}

static struct known known_empty(void)
{
	struct words empty = {.n = 1};

	return (struct known){.all = empty, .start = empty, .end = empty};
}

static struct known known_then(struct gathering *g, const struct known *a, const struct known *b)
{
	struct known k = {.all = words_then(&a->all, &b->all), .in = a->in};
	struct words seam;

	/* What is exact may be cut at its far end, never where the other joins it. */
	k.start = a->start;
	if (a->all.n && shortest_word(&a->all) <= EDGE) {
		struct words w = words_then(&a->all, &b->start);

		if (w.n)
			k.start = w;
	}
	words_clip(&k.start, false);
	k.end = b->end;
	if (b->all.n) {
		struct words w = words_then(&a->end, &b->all);

		if (w.n)
			k.end = w;
	}
	words_clip(&k.end, true);
	seam = words_join(g, a->end, b->start, false);
	take_rarer(g, &k.in, &b->in);
	take_rarer(g, &k.in, &seam);
	take_rarer(g, &k.in, &k.all);
	return k;
}

static struct known known_either(struct gathering *g, const struct known *a, const struct known *b)
{
	struct known k = {
		.all = words_both(&a->all, &b->all),
		.start = words_either(g, a->start, b->start, false),
		.end = words_either(g, a->end, b->end, true),
	};

	if (a->in.n && b->in.n)
		k.in = words_either(g, a->in, b->in, false);
	return k;
}

static struct known known_repeat(struct gathering *g, const struct shape_node *node)
{
	struct known one = g->nodes[node->a], k = one, none = known_empty();
	unsigned copies = node->min < COPIES_MAX ? node->min : COPIES_MAX;

	if (node->min == 0) {
		if (node->max == 1)
			return known_either(g, &one, &none);
		none.all.n = 0;
		return none;
	}
	for (unsigned i = 1; i < copies; i++)
		k = known_then(g, &k, &one);
	if (copies != node->max)
		k.all.n = 0;
	return k;
}

static void know_set(struct gathering *g, const struct byte_set *set, struct known *ret)
{
	struct words one = {.n = 1, .len = {1}};

	one.at[0][0] = (uint8_t)add_share_set(g, set);
	*ret = (struct known){one, one, one, one};
}

static void gather_node(struct gathering *g, const struct shape *s, size_t i)
{
	const struct shape_node *node = &s->nodes[i];
	struct known *k = &g->nodes[i];

	switch (node->kind) {
	case SHAPE_EMPTY: *k = known_empty(); break;
	case SHAPE_SET: know_set(g, &node->set, k); break;
	case SHAPE_THEN: *k = known_then(g, &g->nodes[node->a], &g->nodes[node->b]); break;
	case SHAPE_EITHER: *k = known_either(g, &g->nodes[node->a], &g->nodes[node->b]); break;
	case SHAPE_REPEAT: *k = known_repeat(g, node); break;
	}
}

/* Whether the set is one byte: that. */
static int only_byte(const struct byte_set *set)
{
	if (set->high ||
		__builtin_popcountll(set->ascii[0]) + __builtin_popcountll(set->ascii[1]) != 1)
		return -1;
	return set->ascii[0] ? __builtin_ctzll(set->ascii[0]) : 64 + __builtin_ctzll(set->ascii[1]);
}

static void keep_sieve_text(struct sieve *v, const struct gathering *g, const struct words *w)
{
	if (w->n != 1 || w->len[0] < 2)
		return;
	for (unsigned j = 0; j < w->len[0]; j++) {
		int c = only_byte(&g->sets[w->at[0][j]]);

		/* The last line may be without its end. */
		if (c < 0 || c == '\n')
			return;
		v->text[j] = (char)c;
	}
	v->len = w->len[0];
}

static void add_place(struct sieve *v, unsigned j, unsigned word, const struct byte_set *set)
{
	for (unsigned c = 0; c < 0x80; c++)
		if (set_has(set, (unsigned char)c)) {
			v->low[j][c & 15] |= (unsigned char)(1u << word);
			v->top[j][c >> 4] |= (unsigned char)(1u << word);
		}
	v->high |= set->high;
}

void sieve_init(struct sieve *v, const struct shape *s)
{
	struct gathering *g = xcalloc(1, sizeof *g);
	struct known all;
	const struct words *w = &all.in;

	*v = (struct sieve){0};
	g->nodes = xcalloc(s->n, sizeof *g->nodes);
	for (size_t i = 0; i < s->n; i++)
		gather_node(g, s, i);
	all = g->nodes[s->n - 1];
	/* (In an empty line there is nothing to look for: PCRE2 finds what is empty in text of more lines.) */
	if (s->ends && all.in.n) {
		struct known end;

		know_set(g, &(struct byte_set){.ascii = {UINT64_C(1) << '\n'}}, &end);
		all = known_then(g, &all, &end);
	}
	v->width = sieve_width(w);
	v->share = words_share(g, w);
	for (unsigned i = 0; i < w->n && v->width; i++) {
		double share;
		unsigned from = rarest_part(g, w, i, v->width, &share);

		for (unsigned j = 0; j < v->width; j++)
			add_place(v, j, i, &g->sets[w->at[i][from + j]]);
	}
	keep_sieve_text(v, g, w);
	free(g->nodes);
	free(g);
}

void sieve_init_set(struct sieve *v, const struct byte_set *set)
{
	*v = (struct sieve){.width = 1, .share = set_share(set)};
	add_place(v, 0, 0, set);
}

#if defined(__x86_64__)

bool sieve_works(void)
{
	return __builtin_cpu_supports("avx2");
}

__attribute__((target("avx2"))) static inline __m256i load_halves(const unsigned char *table)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
}

/* Which words may have byte j at each of 32 places.  A byte that is not ASCII chooses nothing from `low`. */
__attribute__((target("avx2"), always_inline)) static inline __m256i probe_bytes(
	__m256i low, __m256i top, const char *at)
{
	__m256i x = _mm256_loadu_si256((const __m256i *)(const void *)at);

	return _mm256_and_si256(_mm256_shuffle_epi8(low, x),
		_mm256_shuffle_epi8(
			top, _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15))));
}

/* Which of 32 places may be one: width - 1 bytes behind the last are read.  Written out, so that the tables stay
 * in registers. */
__attribute__((target("avx2"), always_inline)) static inline unsigned probe_places(
	const __m256i *low, const __m256i *top, unsigned width, bool high, const char *at)
{
	__m256i all = probe_bytes(low[0], top[0], at);
	unsigned mask;

	if (width > 1)
		all = _mm256_and_si256(all, probe_bytes(low[1], top[1], at + 1));
	if (width > 2)
		all = _mm256_and_si256(all, probe_bytes(low[2], top[2], at + 2));
	if (width > 3)
		all = _mm256_and_si256(all, probe_bytes(low[3], top[3], at + 3));
	mask = ~(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(all, _mm256_setzero_si256()));
	if (high)
		mask |= (unsigned)_mm256_movemask_epi8(
			_mm256_loadu_si256((const __m256i *)(const void *)at));
	return mask;
}

__attribute__((target("avx2"), always_inline)) static inline const char *scan_places(
	const struct sieve *v, unsigned width, bool high, const char *s, size_t n)
{
	const __m256i low[SIEVE_WIDTH] = {load_halves(v->low[0]), load_halves(v->low[1]),
		load_halves(v->low[2]), load_halves(v->low[3])};
	const __m256i top[SIEVE_WIDTH] = {load_halves(v->top[0]), load_halves(v->top[1]),
		load_halves(v->top[2]), load_halves(v->top[3])};
	char rest[64 + SIEVE_WIDTH];
	size_t at = 0;

	for (; at + 32 + SIEVE_WIDTH <= n; at += 32) {
		unsigned mask = probe_places(low, top, width, high, s + at);

		if (mask)
			return s + at + __builtin_ctz(mask);
	}
	/* The end of the text is one of a line, too. */
	memset(rest, '\n', sizeof rest);
	memcpy(rest, s + at, n - at);
	for (size_t i = 0; at + i < n; i += 32) {
		unsigned mask = probe_places(low, top, width, high, rest + i);
		size_t place = at + i + (mask ? (size_t)__builtin_ctz(mask) : n);

		if (place < n)
			return s + place;
	}
	return NULL;
}

__attribute__((target("avx2"))) const char *sieve_find(
	const struct sieve *v, const char *s, size_t n)
{
	if (v->high)
		switch (v->width) {
		case 1: return scan_places(v, 1, true, s, n);
		case 2: return scan_places(v, 2, true, s, n);
		case 3: return scan_places(v, 3, true, s, n);
		default: return scan_places(v, 4, true, s, n);
		}
	switch (v->width) {
	case 1: return scan_places(v, 1, false, s, n);
	case 2: return scan_places(v, 2, false, s, n);
	case 3: return scan_places(v, 3, false, s, n);
	default: return scan_places(v, 4, false, s, n);
	}
}
#else
bool sieve_works(void)
{
	return false;
}

const char *sieve_find(const struct sieve *v, const char *s, size_t n)
{
	(void)v;
	return n ? s : NULL;
}
#endif
