/* egress.c - fuzz target: any bytes as what an agent says to its proxy: nothing is read beyond them, and what is passed on names one host. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/egress.h>
#include <berth/mem.h>

#include "egress/routes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Written as a rule, a target is read as the same. */
static void check_target(const struct egress_target *t)
{
	char text[EGRESS_HOST_MAX + 8];
	struct egress_target again;

	egress_write_target(t, text);
	if (egress_parse_target(text, strlen(text), EGRESS_TLS_PORT, &again, NULL) ||
		strcmp(again.host, t->host) != 0 || again.port != t->port)
		abort();
}

/* One head with one Host:, and nothing behind it. */
static void check_forwarded(const struct str *head)
{
	const char *host = strcasestr(head->s, "\r\nhost:");

	if (strlen(head->s) != head->len || !host || strcasestr(host + 1, "\r\nhost:") ||
		strstr(head->s, "\r\n\r\n") != head->s + head->len - 4)
		abort();
}

/* In its query: a path may hold & and = as well. */
static bool has_parameter(const struct route_ask *a, const char *name)
{
	for (const char *at = a->target.s + a->path; at && *at; at = strpbrk(at + 1, "&;"))
		if (!strncasecmp(at + 1, name, strlen(name)))
			return true;
	return false;
}

/* One path below one route, and no header that another could be made of. */
static void check_route_asked(const struct route_ask *a, size_t size)
{
	if (a->used > size || !*a->name || !route_path_plain(a->target.s, a->path) ||
		strlen(a->target.s) != a->target.len || strpbrk(a->target.s, " \r\n#\\") ||
		has_parameter(a, "key=") || has_parameter(a, "httpmethod=") ||
		(a->headers.s &&
			(strlen(a->headers.s) != a->headers.len || strchr(a->headers.s, '\r') ||
				strcasestr(a->headers.s, "\nauthorization:"))))
		abort();
}

/* All that comes as chunks, in pieces of any size, is the same body. */
static void check_body(const uint8_t *data, size_t size)
{
	const struct route_ask ask = {.chunked = true};
	size_t cap = size + !size, step = size ? 1 + data[0] % 7 : 1, used, n = 0, m = 0;
	AUTO_FREE char *whole = xmalloc(cap), *pieces = xmalloc(cap);
	struct route_body a, b;
	ssize_t got = 0, more = 0;

	route_body_init(&a, &ask);
	route_body_init(&b, &ask);
	got = route_body_take(&a, (const char *)data, size, whole, cap, &used);
	for (size_t at = 0; at < size && more >= 0 && b.state != BODY_DONE; at += used) {
		size_t some = size - at < step ? size - at : step;

		more = route_body_take(
			&b, (const char *)data + at, some, pieces + m, cap - m, &used);
		m += more > 0 ? (size_t)more : 0;
	}
	n = got > 0 ? (size_t)got : 0;
	if ((got < 0) != (more < 0) ||
		(got >= 0 && (n != m || memcmp(whole, pieces, n) != 0 || a.state != b.state)))
		abort();
}

static void check_mask(const uint8_t *data, size_t size)
{
	static const char key[] = "aabaabaaa";
	AUTO_FREE uint16_t *back = mask_table(key, sizeof key - 1);
	struct mask m = {key, back, sizeof key - 1, 0};
	struct token_scan scan = {.events = size & 1};
	AUTO_STR struct str out = STR_INIT;

	for (size_t i = 0; i < size; i++)
		mask_add(&m, (const char *)data + i, 1, &out);
	mask_end(&m, &out);
	if (out.len != size || memmem(out.s ? out.s : "", out.len, key, sizeof key - 1))
		abort();
	token_scan_add(&scan, (const char *)data, size);
}

static void check_routes(const uint8_t *data, size_t size)
{
	struct route_ask ask = {0};
	struct route_answer answer = {0};

	str_init(&ask.target);
	str_init(&ask.headers);
	str_init(&answer.lines);
	if (route_asks((const char *)data, size) &&
		route_read_request((const char *)data, size, &ask, NULL) > 0)
		check_route_asked(&ask, size);
	answer_line(&answer, (const char *)data, size);
	if (answer.lines.s && strstr(answer.lines.s, "\r\n\r\n"))
		abort();
	check_body(data, size);
	check_mask(data, size);
	str_release(&answer.lines);
	route_ask_release(&ask);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact = xmalloc(size + !size);
	struct front_ask ask = {0};
	char name[EGRESS_HOST_MAX];
	struct egress_target t;
	uint8_t reply;
	size_t used;

	memcpy(exact, data, size);
	str_init(&ask.head);
	if (front_read_http((const char *)exact, size, &ask, NULL) > 0) {
		check_target(&ask.to);
		if (ask.kind == FRONT_FORWARD)
			check_forwarded(&ask.head);
		if (ask.used > size)
			abort();
	}
	str_release(&ask.head);
	str_init(&ask.head);
	if (front_read_socks(exact, size, &ask, &reply, NULL) > 0)
		check_target(&ask.to);
	if (front_read_greeting(exact, size, &used) > 0 && used > size)
		abort();
	egress_hello_name(exact, size, name);
	if (!egress_parse_target((const char *)exact, size, 1, &t, NULL))
		check_target(&t);
	check_routes(exact, size);
	str_release(&ask.head);
	free(exact);
	return 0;
}
