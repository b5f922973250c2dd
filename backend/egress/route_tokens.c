/*
 * route_tokens.c - extracts token counts from an answer while it passes.
 *
 * Only numbers in an object that is called usage or usageMetadata count, and the largest of each: events repeat them as they
 * grow, and what an agent makes a model write can only add.  Strings are passed over as JSON ends them.
 */
#include <string.h>

#include <berth/mem.h>

#include "egress/routes.h"

#define DEPTH_MAX 64
#define COUNT_MAX 1000000000000u
#define MODEL_DEPTH 2 /* of the answer, or of the message in it */

static const struct {
	const char *key;
	enum token_kind kind;
} token_keys[] = {
	{"prompt_tokens", TOKENS_IN},
	{"input_tokens", TOKENS_IN},
	{"promptTokenCount", TOKENS_IN},
	{"completion_tokens", TOKENS_OUT},
	{"output_tokens", TOKENS_OUT},
	{"candidatesTokenCount", TOKENS_OUT},
	{"cache_creation_input_tokens", TOKENS_CACHE_MADE},
	{"cache_read_input_tokens", TOKENS_CACHE_READ},
	{"thoughtsTokenCount", TOKENS_THOUGHT},
};

static bool is_usage_here(const struct token_scan *s)
{
	return s->depth < DEPTH_MAX && s->usage >> s->depth & 1;
}

static void finish_count(struct token_scan *s)
{
	bool counts = s->number && !s->odd_number && is_usage_here(s);

	for (size_t i = 0; counts && i < COUNT(token_keys); i++) {
		uint64_t *count = &s->count[token_keys[i].kind];

		if (strcmp(s->key, token_keys[i].key) != 0)
			continue;
		s->found = true;
		*count = *count > s->value ? *count : s->value;
	}
	s->number = s->odd_number = false;
	s->value = 0;
}

static void open_scanned(struct token_scan *s, bool object)
{
	bool usage = object && (!strcmp(s->key, "usage") || !strcmp(s->key, "usageMetadata"));

	s->depth++;
	if (s->depth < DEPTH_MAX)
		s->usage = (s->usage & ~((uint64_t)1 << s->depth)) | (uint64_t)usage << s->depth;
	*s->key = '\0';
}

static void close_scanned(struct token_scan *s)
{
	finish_count(s);
	s->depth -= s->depth > 0;
	*s->key = '\0';
}

static void end_string(struct token_scan *s)
{
	s->in_string = false;
	s->word[s->nword < sizeof s->word ? s->nword : 0] = '\0';
	if (s->depth <= MODEL_DEPTH && !*s->model &&
		(!strcmp(s->key, "model") || !strcmp(s->key, "modelVersion")))
		memcpy(s->model, s->word, sizeof s->word);
}

static void scan_string(struct token_scan *s, char c)
{
	if (!s->escaped && c == '"') {
		end_string(s);
		return;
	}
	if (s->nword < sizeof s->word)
		s->word[s->nword++] = c;
	s->escaped = !s->escaped && c == '\\';
}

static void scan_digit(struct token_scan *s, char c)
{
	s->number = true;
	s->value = 10 * s->value + (uint64_t)(c - '0');
	s->odd_number |= s->value > COUNT_MAX;
	s->value = s->odd_number ? 0 : s->value;
}

static void scan_mark(struct token_scan *s, char c)
{
	switch (c) {
	case '"':
		s->in_string = true;
		s->escaped = false;
		s->nword = 0;
		break;
	case '{':
	case '[': open_scanned(s, c == '{'); break;
	case '}':
	case ']': close_scanned(s); break;
	case ':': memcpy(s->key, s->word, sizeof s->key); break;
	case ',':
		finish_count(s);
		*s->key = '\0';
		break;
	case '.':
	case '-':
	case 'e':
	case 'E': s->odd_number = true; break;
	default:
		if (c >= '0' && c <= '9')
			scan_digit(s, c);
	}
}

static void begin_event(struct token_scan *s)
{
	s->in_string = s->escaped = s->number = s->odd_number = false;
	s->depth = 0;
	s->usage = s->value = s->nword = 0;
	*s->key = *s->word = '\0';
}

void token_scan_add(struct token_scan *s, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s->events && (bytes[i] == '\n' || bytes[i] == '\r'))
			begin_event(s);
		else if (s->in_string)
			scan_string(s, bytes[i]);
		else
			scan_mark(s, bytes[i]);
	}
}

uint64_t token_scan_in(const struct token_scan *s)
{
	return s->count[TOKENS_IN] + s->count[TOKENS_CACHE_MADE] + s->count[TOKENS_CACHE_READ];
}

uint64_t token_scan_out(const struct token_scan *s)
{
	return s->count[TOKENS_OUT] + s->count[TOKENS_THOUGHT];
}
