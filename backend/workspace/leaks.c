/* leaks.c - likely secrets in a file: its name, tokens of known forms, values given to telling names. */
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include <berth/workspace.h>
#include <berth/mem.h>
#include <berth/text.h>

#define LINE_LOOKED 4096 /* bytes of a line in which NAME=VALUE is looked for */
#define VALUE_MIN 12     /* shorter values of telling names are mostly words */

/* What is of a token behind its beginning. */
enum alphabet { UPPER, WORDS, DASHED };

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
	{"eyJ", DASHED, 30, "a web token"},
};

static const char *const names[] = {".env", "*.env", ".env.*", "*.key", "*.pem", "*.p12", "*.pfx",
	"*.secret", "*.jks", "*.kdbx", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc",
	".pgpass", ".npmrc", ".pypirc", ".git-credentials"};

/* Names of those that hold no values. */
static const char *const samples[] = {"*.example", "*.sample", "*.template", "*.dist", "*.pub"};

struct seeking {
	const char *bytes, *path;
	size_t found;
	unsigned line;
	bool told; /* one of this line is enough */
	workspace_secret_fn *tell;
	void *ctx;
};

static void tell_secret(struct seeking *s, const char *what)
{
	if (s->told)
		return;
	s->told = true;
	s->found++;
	if (s->tell)
		s->tell(s->ctx, s->path, s->line, what);
}

static bool is_in(enum alphabet of, char c)
{
	switch (of) {
	case UPPER: return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
	case WORDS: return isalnum((unsigned char)c) || c == '_';
	case DASHED: return isalnum((unsigned char)c) || c == '_' || c == '-';
	}
	return false;
}

/* A random value has letters and digits, and is no row of the same character. */
static bool is_varied(const char *s, size_t n)
{
	bool letter = false, digit = false, seen[256] = {false};
	unsigned kinds = 0;

	for (size_t i = 0; i < n; i++) {
		letter = letter || isalpha((unsigned char)s[i]);
		digit = digit || isdigit((unsigned char)s[i]);
		kinds += !seen[(unsigned char)s[i]];
		seen[(unsigned char)s[i]] = true;
	}
	return letter && digit && kinds >= 6;
}

static void match_token(struct seeking *s, const char *at, const char *end)
{
	if (at > s->bytes && is_in(DASHED, at[-1]))
		return; /* in the middle of a word */
	for (size_t i = 0; i < COUNT(tokens); i++) {
		const struct token *t = &tokens[i];
		size_t length = strlen(t->begin), n = 0;
		const char *rest = at + length;

		if (*at != *t->begin || (size_t)(end - at) < length + t->min ||
			memcmp(at, t->begin, length) != 0)
			continue;
		while (rest + n < end && n < 256 && is_in(t->of, rest[n]))
			n++;
		if (n >= t->min && is_varied(at, length + n))
			tell_secret(s, t->what);
	}
}

/* "-----BEGIN OPENSSH PRIVATE KEY-----" */
static void match_key(struct seeking *s, const char *at, const char *end)
{
	static const char begin[] = "-----BEGIN ", kind[] = "PRIVATE KEY";

	if ((size_t)(end - at) > sizeof begin && !memcmp(at, begin, sizeof begin - 1) &&
		memmem(at, (size_t)(end - at), kind, sizeof kind - 1))
		tell_secret(s, "a private key");
}

/* "://NAME:PASSWORD@", where PASSWORD is no variable. */
static void match_url(struct seeking *s, const char *at, const char *end)
{
	const char *colon = NULL;

	if (end - at < 3 || memcmp(at, "://", 3) != 0)
		return;
	for (at += 3; at < end && !strchr(" \t\"'/<>{}$", *at) && *at; at++) {
		if (*at == ':' && !colon)
			colon = at;
		if (*at == '@') {
			if (colon && at - colon > 4)
				tell_secret(s, "a password in an address");
			return;
		}
	}
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* TOKEN=abc123..., "api_key": "abc123...", password = '...': `mark` is the sign between. */
static void match_value(struct seeking *s, const char *line, const char *mark, const char *end)
{
	const char *to = mark, *from, *value = mark + 1;
	char name[80];
	size_t n = 0;

	while (to > line && (to[-1] == ' ' || to[-1] == '"' || to[-1] == '\''))
		to--;
	for (from = to; from > line && is_name_char(from[-1]);)
		from--;
	if (from == to || (size_t)(to - from) >= sizeof name)
		return;
	memcpy(name, from, (size_t)(to - from));
	name[to - from] = '\0';
	if (!text_looks_secret(name))
		return;
	while (value < end && (*value == ' ' || *value == '"' || *value == '\''))
		value++;
	while (value + n < end && n < 256 && (is_name_char(value[n]) || strchr("+/=", value[n])) &&
		value[n])
		n++;
	/* A call, a path, a variable follow with another character. */
	if (value + n < end && !strchr(" \"',;\r}", value[n]))
		return;
	if (n >= VALUE_MIN && is_varied(value, n))
		tell_secret(s, "a value whose name tells a secret");
}

static void look_at_line(struct seeking *s, const char *line, const char *end)
{
	for (const char *at = line; at < end; at++)
		switch (*at) {
		case '-': match_key(s, at, end); break;
		case '=': /* fall through */
		case ':':
			if (at - line < LINE_LOOKED)
				match_value(s, line, at, end);
			match_url(s, at, end);
			break;
		case 'A':
		case 'g':
		case 's':
		case 'r':
		case 'x':
		case 'n':
		case 'p':
		case 'h':
		case 'e': match_token(s, at, end); break;
		default: break;
		}
}

static bool matches_name_in(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(list[i], name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

size_t workspace_find_secrets(
	const char *path, const char *bytes, size_t n, workspace_secret_fn *tell, void *ctx)
{
	struct seeking s = {.bytes = bytes, .path = path, .tell = tell, .ctx = ctx};
	const char *end = bytes + n, *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	if (n && matches_name_in(name, names, COUNT(names)) &&
		!matches_name_in(name, samples, COUNT(samples)))
		tell_secret(&s, "a file that holds secrets by its name");
	for (const char *line = bytes; line < end;) {
		const char *nl = memchr(line, '\n', (size_t)(end - line));

		s.line++;
		s.told = false;
		look_at_line(&s, line, nl ? nl : end);
		line = nl ? nl + 1 : end;
	}
	return s.found;
}
