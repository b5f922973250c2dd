/* text.c - decodes, measures and neutralises text from outside. */
#include <berth/text.h>

#include <locale.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

static locale_t utf8_locale; /* written once by text_init, read-only afterwards */

void text_init(void)
{
	if (!utf8_locale)
		utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

size_t utf8_next(const char *s, size_t n, uint32_t *cp)
{
	const unsigned char *u = (const unsigned char *)s;
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len;
	uint32_t c;

	if (u[0] < 0x80) {
		*cp = u[0];
		return 1;
	}
	if ((u[0] & 0xE0) == 0xC0) {
		len = 2;
		c = u[0] & 0x1Fu;
	} else if ((u[0] & 0xF0) == 0xE0) {
		len = 3;
		c = u[0] & 0x0Fu;
	} else if ((u[0] & 0xF8) == 0xF0) {
		len = 4;
		c = u[0] & 0x07u;
	} else {
		*cp = TEXT_BAD;
		return 1;
	}
	for (size_t i = 1; i < len; i++) {
		if (i >= n || (u[i] & 0xC0) != 0x80) {
			*cp = TEXT_BAD;
			return 1;
		}
		c = c << 6 | (u[i] & 0x3Fu);
	}
	if (c < least[len] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) {
		*cp = TEXT_BAD;
		return 1;
	}
	*cp = c;
	return len;
}

/* Eight bytes at a time. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define TOPS EACH(0x80)

static uint64_t load_eight(const char *s)
{
	uint64_t w;

	memcpy(&w, s, sizeof w);
	return w;
}

/* Not 0: at least one is less than `byte`, which is at most 0x80. */
static uint64_t any_below(uint64_t w, unsigned byte)
{
	return (w - EACH(byte)) & ~w & TOPS;
}

size_t text_plain_span(const char *s, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t w = load_eight(s + i);

		if ((w & TOPS) | any_below(w, ' ') | any_below(w ^ EACH('"'), 1) |
			any_below(w ^ EACH('\\'), 1) | any_below(w ^ EACH(0x7F), 1))
			break;
	}
	while (i < n && s[i] >= ' ' && s[i] < 0x7F && s[i] != '"' && s[i] != '\\')
		i++;
	return i;
}

bool utf8_valid(const char *s, size_t n)
{
	uint32_t cp;

	for (size_t i = 0, used; i < n; i += used) {
		used = 8;
		if (i + 8 <= n && !(load_eight(s + i) & TOPS))
			continue;
		used = utf8_next(s + i, n - i, &cp);
		if (cp == TEXT_BAD && used == 1)
			return false;
	}
	return true;
}

size_t utf8_whole(const char *s, size_t n)
{
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		unsigned char c = (unsigned char)s[n - back];
		size_t len = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;

		if ((c & 0xC0) != 0x80)
			return c >= 0xC2 && c <= 0xF4 && len > back ? n - back : n;
	}
	return n;
}

size_t utf8_put(uint32_t cp, char out[4])
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xC0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3F));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xE0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
		out[2] = (char)(0x80 | (cp & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
	out[3] = (char)(0x80 | (cp & 0x3F));
	return 4;
}

/* Characters that change what follows them or hide: bidi marks, embeddings, isolates, line and
 * paragraph separators, interlinear annotation, BOM, tags. */
static bool is_forbidden(uint32_t cp)
{
	return cp == 0x061C || cp == 0x200E || cp == 0x200F || (cp >= 0x2028 && cp <= 0x202E) ||
		(cp >= 0x2060 && cp <= 0x206F) || cp == 0xFEFF || (cp >= 0xFFF0 && cp <= 0xFFFB) ||
		(cp >= 0xE0000 && cp <= 0xE0FFF) || (cp >= 0xFDD0 && cp <= 0xFDEF) ||
		(cp & 0xFFFE) == 0xFFFE;
}

int text_cp_width(uint32_t cp)
{
	locale_t old;
	int w;

	if (cp >= 0x20 && cp < 0x7F)
		return 1;
	if (cp < 0xA0 || is_forbidden(cp))
		return -1;
	if (cp < 0x300)
		return cp == 0xAD ? -1 : 1;
	if (!utf8_locale)
		return 1;
	old = uselocale(utf8_locale);
	w = wcwidth((wchar_t)cp);
	uselocale(old);
	/* Unassigned and private characters: terminals draw one box. */
	return w < 0 ? 1 : w;
}

/* What one code point is shown as; returns bytes written to out (at most 4). */
static size_t show_code_point(uint32_t cp, bool ascii, char out[4])
{
	if (cp == '\t') {
		out[0] = ' ';
		return 1;
	}
	if (cp < 0x20 || cp == 0x7F) {
		out[0] = '^';
		out[1] = (char)(cp ^ 0x40);
		return 2;
	}
	if (cp >= 0x80 && ascii) {
		out[0] = '?';
		return 1;
	}
	if (cp >= 0x80 && text_cp_width(cp) < 0)
		cp = TEXT_BAD;
	return utf8_put(cp, out);
}

int text_width(const char *s, size_t n)
{
	int width = 0;

	for (size_t i = 0; i < n;) {
		uint32_t cp;
		int w;

		if (s[i] >= 0x20 && s[i] < 0x7F) {
			width++;
			i++;
			continue;
		}
		i += utf8_next(s + i, n - i, &cp);
		if (cp == '\t')
			w = 1;
		else if (cp < 0x20 || cp == 0x7F)
			w = 2;
		else
			w = text_cp_width(cp);
		width += w < 0 ? 1 : w;
	}
	return width;
}

static size_t count_digits(const char *s)
{
	return strspn(s, "0123456789");
}

int text_natural(const char *a, const char *b)
{
	const char *x = a, *y = b;

	while (*x && *y) {
		size_t n, m;
		int order;

		if (!count_digits(x) || !count_digits(y)) {
			if (*x != *y)
				break;
			x++, y++;
			continue;
		}
		x += strspn(x, "0");
		y += strspn(y, "0");
		n = count_digits(x);
		m = count_digits(y);
		order = n != m ? (n < m ? -1 : 1) : strncmp(x, y, n);
		if (order)
			return order;
		x += n;
		y += n;
	}
	if (*x != *y)
		return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
	return strcmp(a, b); /* "01" and "1" are of one number, and not the same */
}

void text_neutralise(struct str *out, const char *s, size_t n, bool ascii)
{
	for (size_t i = 0; i < n;) {
		size_t plain = i;
		char put[4];
		uint32_t cp;

		/* Most text is printable ASCII: copy such runs in one piece. */
		while (plain < n && s[plain] >= 0x20 && s[plain] < 0x7F)
			plain++;
		if (plain > i) {
			str_add(out, s + i, plain - i);
			i = plain;
			continue;
		}
		i += utf8_next(s + i, n - i, &cp);
		str_add(out, put, show_code_point(cp, ascii, put));
	}
}

/* What of s[i..n) a listing shows as it is: 0, or the bytes of one character. */
static size_t count_plain(const char *s, size_t n, size_t i)
{
	uint32_t cp;
	size_t used = utf8_next(s + i, n - i, &cp);

	if (cp == TEXT_BAD)
		return used == 3 && memcmp(s + i, "\xEF\xBF\xBD", 3) == 0 ? used : 0;
	return text_cp_width(cp) < 0 || cp == '"' || cp == '\\' ? 0 : used;
}

static void escape_byte(struct str *out, unsigned char c)
{
	static const char escaped[] = "\a\b\t\n\v\f\r\"\\", letters[] = "abtnvfr\"\\";
	const char *at = c ? strchr(escaped, c) : NULL;

	if (at)
		str_addf(out, "\\%c", letters[at - escaped]);
	else
		str_addf(out, "\\%03o", c);
}

void text_quote_name(struct str *out, const char *s, size_t n)
{
	size_t i = 0, used;

	while (i < n && (used = count_plain(s, n, i)) > 0)
		i += used;
	if (i == n) {
		str_add(out, s, n);
		return;
	}
	str_addc(out, '"');
	for (i = 0; i < n; i += used) {
		used = count_plain(s, n, i);
		if (used) {
			str_add(out, s + i, used);
			continue;
		}
		/* A character that may not be shown goes byte by byte: those behind the first are no characters. */
		escape_byte(out, (unsigned char)s[i]);
		used = 1;
	}
	str_addc(out, '"');
}

char *text_clean(char *buf, size_t cap, const char *s)
{
	size_t n = strlen(s), used = 0;

	for (size_t i = 0; i < n;) {
		char put[4];
		uint32_t cp;
		size_t len;

		i += utf8_next(s + i, n - i, &cp);
		len = show_code_point(cp, false, put);
		if (used + len >= cap)
			break;
		memcpy(buf + used, put, len);
		used += len;
	}
	buf[used] = '\0';
	return buf;
}

bool text_is_plain_name(const char *s, size_t max)
{
	size_t n = strlen(s);

	return n > 0 && n <= max && s[0] != '.' &&
		strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

bool text_looks_secret(const char *env_name)
{
	static const char *const words[] = {"PASS", "SECRET", "TOKEN", "KEY", "CRED", "AUTH",
		"PRIVATE", "COOKIE", "SESSION", "DSN", "DATABASE_URL", "CONNECTION_STRING"};

#define LETTER(c) (1u << ((c)&31))
	const uint32_t firsts = LETTER('P') | LETTER('S') | LETTER('T') | LETTER('K') |
		LETTER('C') | LETTER('A') | LETTER('D');

	/* Every name of every parameter comes by here: look at the first letter before the words. */
	for (const char *s = env_name; *s; s++) {
		if (!(LETTER(*s) & firsts))
			continue;
		for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
			if (words[i][0] == (*s & ~0x20) &&
				strncasecmp(s, words[i], strlen(words[i])) == 0)
				return true;
	}
#undef LETTER
	return false;
}

void text_undo_octal(char *s)
{
	char *to = s;

	for (; *s; s++)
		if (*s == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
			s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + s[3] - '0');
			s += 3;
		} else {
			*to++ = *s;
		}
	*to = '\0';
}
