/*
 * route_request.c - parses a request to a route, whose target begins with '/'.
 *
 * Whatever could be read in two ways is refused: two lengths, a length and chunks, chunks with extensions or trailers, a
 * path that is another one after somebody has decoded it, a second method in a header or the query.  Of its headers those
 * are dropped that name who asks, or whom, or that would let an answer come in pieces or in an encoding in which a key is
 * not found.
 */
#include <stdio.h>
#include <string.h>

#include <berth/mem.h>

#include "egress/head_lines.h"
#include "egress/routes.h"

#define CHUNK_DIGITS 8

void route_ask_release(struct route_ask *a)
{
	str_release(&a->target);
	str_release(&a->headers);
}

bool route_asks(const char *bytes, size_t len)
{
	const char *blank = memchr(bytes, ' ', len < 32 ? len : 32);

	return blank && blank + 1 < bytes + len && blank[1] == '/';
}

/* Servers differ in whether '_' is '-'. */
bool route_same_header(const char *name, size_t n, const char *word)
{
	size_t i = 0;

	while (i < n && word[i] && ((name[i] == '_' ? '-' : name[i] | 0x20) == (word[i] | 0x20)))
		i++;
	return i == n && !word[i];
}

/* Also the names of other keys: with one of its own an agent would be somebody else there. */
bool route_drops_header(const char *name, size_t n)
{
	static const char *const words[] = {"host", "connection", "keep-alive", "te", "trailer",
		"upgrade", "expect", "transfer-encoding", "content-length", "accept-encoding",
		"range", "if-range", "cookie", "x-original-url", "x-rewrite-url", "http2-settings"};

	for (size_t i = 0; i < COUNT(words); i++)
		if (route_same_header(name, n, words[i]))
			return true;
	return route_names_key(name, n) || (n >= 6 && route_same_header(name, 6, "proxy-"));
}

static int read_framing(struct slice name, struct slice value, struct route_ask *a, struct err *e)
{
	if (slice_is(name, "content-length")) {
		if (a->has_body || slice_read_number(value, &a->body))
			return err_set(e, ERR_USAGE,
				"the request has a duplicate or invalid Content-Length");
		a->has_body = true;
	}
	if (slice_is(name, "transfer-encoding")) {
		if (a->has_body || !slice_is(value, "chunked"))
			return err_set(e, ERR_USAGE,
				"the request has a duplicate length, or a transfer encoding other than chunked");
		a->has_body = a->chunked = true;
	}
	if (slice_is(name, "expect"))
		a->expects = slice_is(value, "100-continue");
	return 0;
}

static int read_route_header(struct slice line, struct route_ask *a, struct err *e)
{
	struct slice value = line, name = slice_take_until(&value, ':');

	if (name.n == line.n || !slice_is_token(name) || !slice_is_printable(value, true))
		return err_set(e, ERR_USAGE, "a header line of the request is malformed");
	value = slice_trim(value);
	if (read_framing(name, value, a, e))
		return -1;
	if (route_overrides_method(name.at, name.n))
		return err_set(e, ERR_USAGE,
			"a route takes the method from the request line only; remove the header %.*s",
			(int)(name.n < 40 ? name.n : 40), name.at);
	/* libcurl sends a header without a value when it ends in ';'. */
	if (!route_drops_header(name.at, name.n) && value.n)
		str_addf(&a->headers, "%.*s: %.*s\n", (int)name.n, name.at, (int)value.n, value.at);
	return 0;
}

static bool is_plain_query(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.at[i] <= ' ' || s.at[i] >= 0x7f || strchr("#\\\"<>", s.at[i]))
			return false;
	return true;
}

/* "/NAME/path?query" */
static int read_route_target(struct slice target, struct route_ask *a, struct err *e)
{
	struct slice query = target, path = slice_take_until(&query, '?'), name = {path.at + 1, 0};
	bool asks = path.n < target.n;

	if (!route_path_plain(path.at, path.n) || !is_plain_query(query))
		return err_set(e, ERR_USAGE,
			"a route's path must not contain .., //, @, ; or unnecessary percent-encoding");
	while (name.n + 1 < path.n && name.at[name.n] != '/')
		name.n++;
	if (!name.n || name.n >= sizeof a->name)
		return err_set(
			e, ERR_USAGE, "the path of a request must begin with /NAME/ of a route");
	memcpy(a->name, name.at, name.n);
	path.at += 1 + name.n;
	path.n -= 1 + name.n;
	str_add(&a->target, path.n ? path.at : "/", path.n ? path.n : 1);
	a->path = a->target.len;
	return asks ? route_add_query(query.at, query.n, a->method, &a->target, e) : 0;
}

static int read_route_head(struct slice head, struct route_ask *a, struct err *e)
{
	struct slice line = slice_take_line(&head), method, target;

	if (!line.at)
		return err_set(e, ERR_USAGE, "the lines of a request must end with CR LF");
	method = slice_take_until(&line, ' ');
	target = slice_take_until(&line, ' ');
	if (!slice_is_token(method) || method.n >= sizeof a->method || !slice_is(line, "HTTP/1.1"))
		return err_set(e, ERR_USAGE, "this is not an HTTP/1.1 request");
	memcpy(a->method, method.at, method.n);
	if (read_route_target(target, a, e))
		return -1;
	while (head.n > 2) {
		line = slice_take_line(&head);
		if (!line.at)
			return err_set(e, ERR_USAGE, "the lines of a request must end with CR LF");
		if (read_route_header(line, a, e))
			return -1;
	}
	return 0;
}

int route_read_request(const char *bytes, size_t len, struct route_ask *ret, struct err *e)
{
	struct slice head;
	int found = slice_find_head(bytes, len, FRONT_HEAD_MAX, &head, e);

	if (found <= 0)
		return found;
	ret->used = head.n;
	return read_route_head(head, ret, e) ? -1 : 1;
}

void route_body_init(struct route_body *b, const struct route_ask *a)
{
	*b = (struct route_body){.chunked = a->chunked, .left = a->body, .state = BODY_DATA};
	if (a->chunked)
		b->state = BODY_SIZE;
	else if (!a->body)
		b->state = BODY_DONE;
}

static int read_hex(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static int take_chunk_size(struct route_body *b, char c)
{
	int digit = read_hex(c);

	if (digit >= 0 && b->digits < CHUNK_DIGITS) {
		b->left = 16 * b->left + (uint64_t)digit;
		b->digits++;
		return 0;
	}
	if (c != '\r' || !b->digits)
		return -1;
	b->state = BODY_SIZE_END;
	return 0;
}

/* A byte between the data of two chunks. */
static int take_chunk_mark(struct route_body *b, char c)
{
	static const struct {
		char expected;
		enum body_state next;
	} marks[] = {
		[BODY_SIZE_END] = {'\n', BODY_DATA},
		[BODY_DATA_CR] = {'\r', BODY_DATA_LF},
		[BODY_DATA_LF] = {'\n', BODY_SIZE},
		[BODY_LAST_CR] = {'\r', BODY_LAST_LF},
		[BODY_LAST_LF] = {'\n', BODY_DONE},
	};
	bool last = b->state == BODY_SIZE_END && !b->left;

	if (c != marks[b->state].expected)
		return -1;
	b->state = last ? BODY_LAST_CR : marks[b->state].next;
	b->digits = 0;
	return 0;
}

ssize_t route_body_take(
	struct route_body *b, const char *bytes, size_t n, char *out, size_t cap, size_t *used)
{
	size_t taken = 0;

	*used = 0;
	while (*used < n && b->state != BODY_DONE) {
		size_t some = n - *used;

		if (b->state != BODY_DATA) {
			char c = bytes[(*used)++];

			if (b->state == BODY_SIZE ? take_chunk_size(b, c) : take_chunk_mark(b, c))
				return -1;
			continue;
		}
		some = some < cap - taken ? some : cap - taken;
		some = some < b->left ? some : (size_t)b->left;
		if (!some)
			break;
		memcpy(out + taken, bytes + *used, some);
		*used += some;
		taken += some;
		b->left -= some;
		if (!b->left)
			b->state = b->chunked ? BODY_DATA_CR : BODY_DONE;
	}
	return (ssize_t)taken;
}
