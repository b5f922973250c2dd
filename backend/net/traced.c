/* traced.c - requests and answers for BERTH_LOG. */
#include "net/curl.h"

#include <stdio.h>
#include <string.h>

#include <berth/str.h>
#include <berth/trace.h>

void trace_request(const char *method, const char *target, const char *header, const char *body)
{
	AUTO_STR struct str what = STR_INIT;

	if (!trace_wants(TRACE_ENGINE))
		return;
	str_addf(&what, "> %s", method);
	/* Of one of ours only the name: it is there for credentials. */
	if (header)
		str_addf(&what, " (%.*s: ***)", (int)strcspn(header, ":"), header);
	trace_http(what.s, target, body, body ? strlen(body) : 0);
}

void trace_answer(
	const char *method, const char *target, const struct http_reply *r, const struct err *err)
{
	AUTO_STR struct str what = STR_INIT;

	if (!trace_wants(TRACE_ENGINE))
		return;
	if (r->status)
		str_addf(&what, "< %d %s", r->status, method);
	else
		str_addf(&what, "< none %s", method);
	if (err)
		str_addf(&what, " (%s)", err->msg);
	trace_http(what.s, target, r->body, r->len);
}
