/* route_answer.c - rewrites the head of a server's answer for the agent, without hop-by-hop fields. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <berth/mem.h>

#include "egress/head_lines.h"
#include "egress/routes.h"

static bool is_between_us(struct slice name)
{
	static const char *const words[] = {"connection", "keep-alive", "transfer-encoding",
		"trailer", "te", "upgrade", "content-length", "alt-svc"};

	for (size_t i = 0; i < COUNT(words); i++)
		if (slice_is(name, words[i]))
			return true;
	return name.n > 6 && !strncasecmp(name.at, "proxy-", 6);
}

static void read_status(struct route_answer *a, struct slice line)
{
	struct slice version = slice_take_until(&line, ' '), code = slice_take_until(&line, ' ');
	uint64_t status = 0;

	(void)version;
	str_clear(&a->lines);
	a->encoded = a->events = false;
	a->status =
		slice_read_number(code, &status) || status < 100 || status > 999 ? 0 : (int)status;
	snprintf(a->reason, sizeof a->reason, "%.*s",
		slice_is_printable(line, true) ? (int)line.n : 0, line.at);
}

void answer_line(struct route_answer *a, const char *bytes, size_t n)
{
	struct slice line = {bytes, n}, name, value;

	while (line.n && (line.at[line.n - 1] == '\n' || line.at[line.n - 1] == '\r'))
		line.n--;
	if (line.n > 5 && !memcmp(line.at, "HTTP/", 5)) {
		read_status(a, line);
		return;
	}
	value = line;
	name = slice_take_until(&value, ':');
	value = slice_trim(value);
	if (name.n == line.n || !slice_is_token(name) || !slice_is_printable(value, true) ||
		is_between_us(name))
		return;
	if (slice_is(name, "content-encoding") && !slice_is(value, "identity"))
		a->encoded = true;
	if (slice_is(name, "content-type") && value.n >= 17 &&
		!strncasecmp(value.at, "text/event-stream", 17))
		a->events = true;
	str_addf(&a->lines, "%.*s: %.*s\r\n", (int)name.n, name.at, (int)value.n, value.at);
}
