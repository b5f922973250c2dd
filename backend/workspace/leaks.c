/* leaks.c - finds likely secrets in a file: by its name, known token formats, and values assigned to telling names. */
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <berth/workspace.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#define LINE_LOOKED 4096  /* bytes of a line in which NAME=VALUE is looked for */
#define KEY_LOOKED 96     /* in which PRIVATE KEY follows "-----BEGIN " */
#define VALUE_MIN 12      /* shorter values of telling names are mostly words */
#define NAME_SHOWN 80     /* characters of the name of a value */
#define VARIED_LOOKED 256 /* characters of a value that show whether it is random */

/* What is of a token behind its beginning. */
enum alphabet { UPPER, WORDS, DASHED, DOTTED };

static const struct token {
	const char *begin;
	enum alphabet of;
	unsigned min; /* characters behind the beginning */
	const char *what;
} tokens[] = {
	{"AKIA", UPPER, 16, "an access key of AWS"},
	{"ASIA", UPPER, 16, "an access key of AWS"},
	{"AIza", DASHED, 35, "an API key of Google"},
	{"ghp_", WORDS, 36, "a token of GitHub"},
	{"gho_", WORDS, 36, "a token of GitHub"},
	{"ghu_", WORDS, 36, "a token of GitHub"},
	{"ghs_", WORDS, 36, "a token of GitHub"},
	{"ghr_", WORDS, 36, "a token of GitHub"},
	{"github_pat_", WORDS, 22, "a token of GitHub"},
	{"glpat-", DASHED, 20, "a token of GitLab"},
	{"sk-", DASHED, 20, "an API key"},
	{"sk_live_", WORDS, 20, "an API key of Stripe"},
	{"rk_live_", WORDS, 20, "an API key of Stripe"},
	{"xoxa-", DASHED, 20, "a token of Slack"},
	{"xoxb-", DASHED, 20, "a token of Slack"},
	{"xoxp-", DASHED, 20, "a token of Slack"},
	{"xoxr-", DASHED, 20, "a token of Slack"},
	{"npm_", WORDS, 36, "a token of npm"},
	{"pypi-", DASHED, 40, "a token of PyPI"},
	{"hf_", WORDS, 30, "a token of Hugging Face"},
	{"eyJ", DOTTED, 30, "a web token"},
};

static const char *const names[] = {".env", "*.env", ".env.*", "*.key", "*.pem", "*.p12", "*.pfx",
	"*.secret", "*.jks", "*.kdbx", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc",
	".pgpass", ".npmrc", ".pypirc", ".git-credentials"};

/* Names of those that hold no values. */
static const char *const samples[] = {"*.example", "*.sample", "*.template", "*.dist", "*.pub"};

struct seeking {
	const char *bytes, *end, *path;
	size_t found;
	const char *told;    /* up to here nothing more is told: one of a line is enough */
	const char *counted; /* up to here `line` is counted */
	unsigned line;
	const char *
		value_end; /* of the value that was measured last: of many signs in one it is the same */
	const char *dotted_end; /* the same for parts with dots between them */
	const char *key_end;    /* of the private key that was found last */
	workspace_secret_fn *tell;
	void *ctx;
	char *mask; /* the same bytes, in which what is found is hidden; or NULL */
};

static const char *end_of_line(const struct seeking *s, const char *at)
{
	const char *nl = memchr(at, '\n', (size_t)(s->end - at));

	return nl ? nl : s->end;
}

static void tell_secret(struct seeking *s, const char *at, const char *what)
{
	if (at < s->told)
		return;
	for (const char *nl; (nl = memchr(s->counted, '\n', (size_t)(at - s->counted)));)
		s->line++, s->counted = nl + 1;
	s->told = end_of_line(s, at);
	s->found++;
	if (s->tell)
		s->tell(s->ctx, s->path, s->line, what);
}

/* Lines stay lines. */
static void hide_bytes(struct seeking *s, const char *from, const char *to)
{
	for (const char *at = from; s->mask && at < to; at++)
		if (*at != '\n' && *at != '\r')
			s->mask[at - s->bytes] = '*';
}

static bool is_in(enum alphabet of, char c)
{
	switch (of) {
	case UPPER: return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
	case WORDS: return isalnum((unsigned char)c) || c == '_';
	case DASHED: return isalnum((unsigned char)c) || c == '_' || c == '-';
	case DOTTED: return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
	}
	return false;
}

/* A random value has letters and digits, and is no row of the same character. */
static bool is_varied(const char *s, size_t n)
{
	bool letter = false, digit = false, seen[256] = {false};
	unsigned kinds = 0;

	n = n < VARIED_LOOKED ? n : VARIED_LOOKED;
	for (size_t i = 0; i < n; i++) {
		letter = letter || isalpha((unsigned char)s[i]);
		digit = digit || isdigit((unsigned char)s[i]);
		kinds += !seen[(unsigned char)s[i]];
		seen[(unsigned char)s[i]] = true;
	}
	return letter && digit && kinds >= 6;
}

static const char *end_of_token(const struct seeking *s, enum alphabet of, const char *at)
{
	while (at < s->end && is_in(of, *at))
		at++;
	return at;
}

static const char *end_of_dotted(struct seeking *s, const char *at)
{
	if (at >= s->dotted_end)
		s->dotted_end = end_of_token(s, DOTTED, at);
	return s->dotted_end;
}

static void match_token(struct seeking *s, const char *at)
{
	if (at > s->bytes && is_in(DASHED, at[-1]))
		return; /* in the middle of a word */
	for (size_t i = 0; i < COUNT(tokens); i++) {
		const struct token *t = &tokens[i];
		const char *rest, *end;
		size_t length;

		if (at[0] != t->begin[0] || at[1] != t->begin[1])
			continue;
		length = strlen(t->begin);
		rest = at + length;
		if ((size_t)(s->end - at) < length + t->min || memcmp(at, t->begin, length) != 0)
			continue;
		end = t->of == DOTTED ? end_of_dotted(s, rest) : end_of_token(s, t->of, rest);
		if ((size_t)(end - rest) < t->min || !is_varied(at, (size_t)(end - at)))
			continue;
		tell_secret(s, at, t->what);
		/* What is behind a dot may belong to it. */
		hide_bytes(s, rest, t->of == DASHED ? end_of_dotted(s, rest) : end);
		return;
	}
}

/* Up to its end, however long it is, or where that is missing to an empty line. */
static void hide_key(struct seeking *s, const char *from)
{
	size_t n = (size_t)(s->end - from);
	const char *end;

	if (!s->mask || from < s->key_end)
		return;
	end = memmem(from, n, "-----END", 8);
	end = end ? end : memmem(from, n, "\n\n", 2);
	s->key_end = end ? end : s->end;
	hide_bytes(s, from, s->key_end);
}

/* "-----BEGIN OPENSSH PRIVATE KEY-----" */
static void match_key(struct seeking *s, const char *at)
{
	static const char begin[] = "-----BEGIN ", kind[] = "PRIVATE KEY";
	size_t n = (size_t)(s->end - at);
	const char *nl, *found, *head;

	if (n <= sizeof begin || memcmp(at, begin, sizeof begin - 1) != 0)
		return;
	n = n < KEY_LOOKED ? n : KEY_LOOKED;
	nl = memchr(at, '\n', n);
	found = memmem(at, nl ? (size_t)(nl - at) : n, kind, sizeof kind - 1);
	if (!found)
		return;
	tell_secret(s, at, "a private key");
	found += sizeof kind - 1;
	head = memmem(found, n - (size_t)(found - at), "-----", 5); /* "KEY BLOCK-----" */
	hide_key(s, head ? head + 5 : found);
}

/* "://NAME:PASSWORD@", where PASSWORD is no variable. */
static void match_url(struct seeking *s, const char *at)
{
	const char *colon = NULL, *begin = at;

	if (s->end - at < 3 || memcmp(at, "://", 3) != 0)
		return;
	for (at += 3; at < s->end && !strchr(" \t\n\"'/<>{}$", *at); at++) {
		if (*at == ':' && !colon)
			colon = at;
		if (*at == '@') {
			if (colon && at - colon > 4) {
				tell_secret(s, begin, "a password in an address");
				hide_bytes(s, colon + 1, at);
			}
			return;
		}
	}
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_value_char(char c)
{
	return is_name_char(c) || c == '+' || c == '/' || c == '=';
}

/* How long the value behind a sign is; 0: it is none, or too short. */
static size_t measure_value(struct seeking *s, const char *value)
{
	const char *end = value < s->value_end ? s->value_end : value;
	size_t n;

	while (end < s->end && is_value_char(*end))
		end++;
	s->value_end = end;
	n = (size_t)(end - value);
	if (n < VALUE_MIN)
		return 0;
	/* A call, a path, a variable follow with another character. */
	return value + n == s->end || strchr(" \"',;\r\n}", value[n]) ? n : 0;
}

/* TOKEN=abc123..., "api_key": "abc123...", password = '...': `mark` is the sign between. */
static void match_value(struct seeking *s, const char *mark)
{
	const char *to = mark, *from, *value = mark + 1;
	char name[80];
	size_t n;

	while (value < s->end && (*value == ' ' || *value == '"' || *value == '\''))
		value++;
	n = measure_value(s, value);
	if (n == 0)
		return;
	while (to > s->bytes && (to[-1] == ' ' || to[-1] == '"' || to[-1] == '\''))
		to--;
	for (from = to; from > s->bytes && is_name_char(from[-1]);)
		if ((size_t)(to - --from) >= sizeof name)
			return;
	memcpy(name, from, (size_t)(to - from));
	name[to - from] = '\0';
	if (from < to && text_looks_secret(name) && is_varied(value, n) &&
		(mark - s->bytes < LINE_LOOKED || memrchr(mark - LINE_LOOKED, '\n', LINE_LOOKED))) {
		tell_secret(s, mark, "a value whose name suggests a secret");
		hide_bytes(s, value, value + n);
	}
}

static void look_for_leak(struct seeking *s, const char *at)
{
	switch (*at) {
	case '-': match_key(s, at); break;
	case '=': /* fall through */
	case ':':
		match_value(s, at);
		match_url(s, at);
		break;
	default: match_token(s, at);
	}
}

/* --- where something may begin --- */

/* Two bytes that begin one: each row has a bit of its own, the last shares that of the first.  Most places of most
 * files begin none. */
static const struct beginning {
	const char *first, *second; /* second NULL: any */
} beginnings[] = {{"A", "KSI"}, {"=:", NULL}, {"-", "-"}, {"ep", "y"}, {"g", "hil"}, {"rs", "k"},
	{"h", "f"}, {"n", "p"}, {"x", "o"}};

/* The bits of a byte are low[its lower half] & top[its upper half]: a row for the first byte, one for the second. */
struct halves {
	unsigned char low[2][16], top[2][16];
};

static void add_to_halves(struct halves *h, int row, char c, unsigned char bit)
{
	h->low[row][c & 15] |= bit;
	h->top[row][(unsigned char)c >> 4] |= bit;
}

static void fill_halves(struct halves *h)
{
	*h = (struct halves){0};
	for (size_t i = 0; i < COUNT(beginnings); i++) {
		const struct beginning *b = &beginnings[i];
		unsigned char bit = (unsigned char)(1u << i % 8);

		for (const char *c = b->first; *c; c++)
			add_to_halves(h, 0, *c, bit);
		for (const char *c = b->second ? b->second : ""; *c; c++)
			add_to_halves(h, 1, *c, bit);
		for (int k = 0; !b->second && k < 16; k++) {
			h->low[1][k] |= bit;
			h->top[1][k] |= bit;
		}
	}
}

#define PLACES 32u /* looked at in one go: bits of a word */

static unsigned mark_beginnings(const struct halves *h, const char *at, size_t n)
{
	const unsigned char *b = (const unsigned char *)at;
	unsigned marks = 0;

	for (size_t i = 0; i < n; i++)
		if (h->low[0][b[i] & 15] & h->top[0][b[i] >> 4] & h->low[1][b[i + 1] & 15] &
			h->top[1][b[i + 1] >> 4])
			marks |= 1u << i;
	return marks;
}

#if defined(__x86_64__)
__attribute__((target("avx2"), always_inline)) static inline __m256i look_up_halves(
	const unsigned char *low, const unsigned char *top, const char *at)
{
	__m256i x = _mm256_loadu_si256((const __m256i *)(const void *)at);
	__m256i upper = _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15));
	__m256i lower = _mm256_and_si256(x, _mm256_set1_epi8(15));
	__m128i l = _mm_loadu_si128((const __m128i *)(const void *)low);
	__m128i t = _mm_loadu_si128((const __m128i *)(const void *)top);

	return _mm256_and_si256(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(l), lower),
		_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t), upper));
}

/* PLACES of them; a byte more is read. */
__attribute__((target("avx2"))) static unsigned mark_beginnings_avx2(
	const struct halves *h, const char *at)
{
	__m256i both = _mm256_and_si256(look_up_halves(h->low[0], h->top[0], at),
		look_up_halves(h->low[1], h->top[1], at + 1));

	return ~(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(both, _mm256_setzero_si256()));
}

static unsigned mark_many(const struct halves *h, const char *at)
{
	return __builtin_cpu_supports("avx2") ? mark_beginnings_avx2(h, at)
					      : mark_beginnings(h, at, PLACES);
}
#else
static unsigned mark_many(const struct halves *h, const char *at)
{
	return mark_beginnings(h, at, PLACES);
}
#endif

static void look_at_bytes(struct seeking *s)
{
	struct halves h;

	fill_halves(&h);
	for (const char *at = s->bytes; s->end - at > 1; at += PLACES) {
		size_t left = (size_t)(s->end - at) - 1; /* the last byte begins nothing */
		unsigned marks = left >= PLACES ? mark_many(&h, at) : mark_beginnings(&h, at, left);

		for (; marks; marks &= marks - 1)
			look_for_leak(s, at + __builtin_ctz(marks));
		if (left < PLACES)
			break;
	}
}

static bool matches_name_in(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(list[i], name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

static bool holds_secrets(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return matches_name_in(name, names, COUNT(names)) &&
		!matches_name_in(name, samples, COUNT(samples));
}

static struct seeking seek_in(const char *path, const char *bytes, size_t n)
{
	return (struct seeking){.bytes = bytes,
		.end = bytes + n,
		.path = path,
		.told = bytes,
		.counted = bytes,
		.value_end = bytes,
		.dotted_end = bytes,
		.key_end = bytes};
}

size_t workspace_find_secrets(
	const char *path, const char *bytes, size_t n, workspace_secret_fn *tell, void *ctx)
{
	struct seeking s = seek_in(path, bytes, n);

	s.tell = tell;
	s.ctx = ctx;
	if (n && holds_secrets(path))
		tell_secret(&s, bytes, "a file whose name suggests secrets");
	s.told = bytes;
	s.line = 1;
	look_at_bytes(&s);
	return s.found;
}

/* Where the value of a line "NAME=VALUE" begins; NULL: it is not one.  The last line of a key ends with '=', too. */
static const char *find_value(const char *at, const char *to)
{
	const char *sign = memchr(at, '=', (size_t)(to - at));

	if (!sign || to - sign < 2 || sign[1] == '=' || sign[1] == '\r' || sign - at > NAME_SHOWN)
		return NULL;
	for (; at < sign; at++)
		if (!is_name_char(*at) && *at != ' ')
			return NULL;
	return sign + 1;
}

/* Of a file that is one secret: all but the names of its values. */
static void hide_lines(struct seeking *s)
{
	for (const char *at = s->bytes, *to; at < s->end; at = to < s->end ? to + 1 : to) {
		const char *value;

		to = end_of_line(s, at);
		value = find_value(at, to);
		hide_bytes(s, value ? value : at, to);
	}
}

size_t workspace_mask_secrets(const char *path, char *bytes, size_t n)
{
	struct seeking s = seek_in(path, bytes, n);

	s.mask = bytes;
	if (n && holds_secrets(path)) {
		hide_lines(&s);
		return 1;
	}
	look_at_bytes(&s);
	return s.found;
}

bool workspace_add_masked(struct str *out, const char *text, size_t n)
{
	size_t before = out->len;

	str_add(out, text, n);
	return n && workspace_mask_secrets("", out->s + before, n) > 0;
}
