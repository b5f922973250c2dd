/* routes.c - routes with keys: what a file may say, what an agent may ask, what it gets to see, and what it cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/route.h>

#include "egress/routes.h"

static void where_to(void **state)
{
	static const char *const bad[] = {"", "api.test", "ftp://api.test", "https://",
		"https://a@b.test", "https://a.test/v1", "https://a.test:0", "https://a.test?x",
		"http://api.test", "http://10.0.0.1", "http://127.1", "https://a b"};
	struct route_to to;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!route_parse_to(bad[i], &to, NULL))
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(route_parse_to("https://api.test", &to, NULL), 0);
	assert_true(to.tls && to.at.port == 443);
	assert_int_equal(route_parse_to("https://api.test:8443/", &to, NULL), 0);
	assert_int_equal(to.at.port, 8443);
	assert_int_equal(route_parse_to("http://127.0.0.1:8000", &to, NULL), 0);
	assert_false(to.tls);
	assert_int_equal(route_parse_to("http://[::1]:8000", &to, NULL), 0);
	assert_int_equal(route_parse_to("http://localhost", &to, NULL), 0);
}

static void headers_with_keys(void **state)
{
	static const char *const bad[] = {"", "Authorization", "Authorization: Bearer",
		"Authorization: ${secret:}", "Authorization: ${secret:A} ${secret:B}",
		"A b: ${secret:A}", "${secret:A}: x", "A: ${secret:A", "A: \r\nB: ${secret:A}",
		"A: ${env:A}"};
	struct route_header h;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!route_parse_header(bad[i], &h, NULL))
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(route_parse_header("Authorization: Bearer ${secret:OPENAI}", &h, NULL), 0);
	assert_string_equal(h.name, "Authorization");
	assert_string_equal(h.before, "Bearer ");
	assert_string_equal(h.secret, "OPENAI");
	assert_string_equal(h.after, "");
	assert_int_equal(route_parse_header("x-api-key:${secret:A}=", &h, NULL), 0);
	assert_string_equal(h.before, "");
	assert_string_equal(h.after, "=");
}

static bool allows_request(const char *permit, const char *method, const char *path)
{
	struct route_permit p;

	assert_int_equal(route_parse_permit(permit, &p, NULL), 0);
	return route_permits(&p, 1, method, strlen(method), path, strlen(path));
}

static void what_is_permitted(void **state)
{
	static const char *const bad[] = {"", "GET", "GET ", "GET v1", "/v1", "GET /v1/../x",
		"GET /v1/*/x", "G T /x", "GET /x y", "GET //", "GET /a%2fb"};
	struct route_permit p;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!route_parse_permit(bad[i], &p, NULL))
			fail_msg("taken: %s", bad[i]);
	assert_true(allows_request("POST /v1/chat/completions", "POST", "/v1/chat/completions"));
	assert_false(allows_request("POST /v1/chat/completions", "POST", "/v1/chat/completions/x"));
	assert_false(allows_request("POST /v1/chat/completions", "GET", "/v1/chat/completions"));
	assert_false(allows_request("POST /v1/chat/completions", "post", "/v1/chat/completions"));
	assert_true(allows_request("GET /v1/models/*", "GET", "/v1/models/gpt"));
	assert_true(allows_request("GET /v1/models/*", "GET", "/v1/models/"));
	assert_false(allows_request("GET /v1/models/*", "GET", "/v1/models"));
	assert_true(allows_request("GET /*", "GET", "/"));
}

static void plain_paths(void **state)
{
	static const char *const good[] = {"/", "/a", "/a/", "/a.b/c", "/...", "/.a/..b",
		"/v1beta/models/gemini-2.5-pro:generateContent", "/a%20b", "/%C3%BC", "/a(b)",
		"/~x"};
	static const char *const bad[] = {"", "a", "//", "/a//b", "/.", "/..", "/a/.", "/a/..",
		"/a/./b", "/a/../b", "/%2e", "/%2E%2e/x", "/%2f", "/%5C", "/%25", "/%00", "/%0a",
		"/%7f", "/%", "/%4", "/%zz", "/%41", "/a@b", "/a;b", "/a#b", "/a?b", "/a\\b",
		"/a b", "/a\tb", "/\303\274", "/%40", "/%3b"};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		if (!route_path_plain(good[i], strlen(good[i])))
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		if (route_path_plain(bad[i], strlen(bad[i])))
			fail_msg("taken: %s", bad[i]);
	assert_false(route_path_plain("/a\0b", 4));
}

/* Cut in two at each place, and byte by byte. */
static void masked_wherever_cut(void **state)
{
	static const char key[] = "sk-sk-sksk-x";
	static const char text[] = "sk-sk-sk-sksk-xsk-sk-sksk-sk-sk-sksk-x sk-sk-sksk-";
	static const char want[] = "sk-************sk-sk-sksk-sk-sk-sksk-x sk-sk-sksk-";
	uint16_t *back = mask_table(key, strlen(key));
	struct mask m = {key, back, strlen(key), 0};

	(void)state;
	for (size_t cut = 0; cut <= strlen(text); cut++) {
		AUTO_STR struct str out = STR_INIT, single = STR_INIT;

		mask_add(&m, text, cut, &out);
		mask_add(&m, text + cut, strlen(text) - cut, &out);
		mask_end(&m, &out);
		assert_int_equal(out.len, strlen(text));
		assert_null(strstr(out.s, key));
		assert_memory_equal(out.s, want, 15);
		for (size_t i = 0; i < strlen(text); i++)
			mask_add(&m, text + i, 1, &single);
		mask_end(&m, &single);
		assert_string_equal(single.s, out.s);
	}
	free(back);
}

static struct token_scan scan_text(const char *text, bool events)
{
	struct token_scan s = {.events = events};

	for (size_t i = 0; i < strlen(text); i++)
		token_scan_add(&s, text + i, 1);
	return s;
}

static void expect_tokens(
	const char *text, bool events, uint64_t in, uint64_t out, const char *model)
{
	struct token_scan s = scan_text(text, events);

	assert_int_equal(token_scan_in(&s), in);
	assert_int_equal(token_scan_out(&s), out);
	assert_string_equal(s.model, model);
}

static void tokens_of_answers(void **state)
{
	(void)state;
	expect_tokens(
		"{\"model\":\"gpt-4o\",\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3,\"total_tokens\":15}}",
		false, 12, 3, "gpt-4o");
	expect_tokens(
		"{\"response\": {\"model\": \"o3\", \"usage\": {\"input_tokens\": 5, \"output_tokens\": 6}}}",
		false, 5, 6, "o3");
	expect_tokens(
		"{\"model\":\"claude-x\",\"usage\":{\"input_tokens\":1,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":300,"
		"\"output_tokens\":4}}",
		false, 321, 4, "claude-x");
	expect_tokens(
		"data: {\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":1}}\n\n"
		"data: {\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":9,\"thoughtsTokenCount\":2}}\n\n",
		true, 7, 11, "");
	/* What a model was made to write is no figure, and what stands elsewhere is none either. */
	expect_tokens(
		"{\"text\":\"\\\"usage\\\":{\\\"prompt_tokens\\\":99}\",\"prompt_tokens\":98,\"usage\":{\"x\":{\"prompt_tokens\":97}}}",
		false, 0, 0, "");
	expect_tokens(
		"{\"usage\":{\"prompt_tokens\":-5,\"completion_tokens\":1e9,\"input_tokens\":99999999999999999999999}}",
		false, 0, 0, "");
	/* An event that was cut does not spoil the next. */
	expect_tokens(
		"data: {\"a\":\"unfinished\ndata: {\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}\n",
		true, 4, 2, "");
}

static struct routes *read_routes(const char *text)
{
	struct routes *r = xcalloc(1, sizeof *r);
	struct err e = ERR_INIT;

	str_init(&r->told);
	r->figures = xcalloc(ROUTES_MAX, sizeof *r->figures);
	if (routes_read(r, text, strlen(text), &e))
		fail_msg("%s", e.msg);
	return r;
}

static void free_routes(struct routes *r)
{
	routes_release(r);
	free(r->figures);
	free(r);
}

#define ROUTE "route a\nto https://a.test\nheader X: ${secret:A}\npermit GET /\n"

static void told_routes(void **state)
{
	static const char *const bad[] = {"to https://a.test\n", "route a\n", ROUTE "key short\n",
		ROUTE "key with a blank in it\n", ROUTE "requests x\n", ROUTE "huh 1\n",
		"route a\nto http://a.test\n", ROUTE "price x\n",
		"route 0123456789012345678901234567890123456789\n"};
	struct routes *r = read_routes(ROUTE
		"key 0123456789\ntokens 10\nroute b\nto https://b.test\nheader Y: ${secret:B}\n");

	(void)state;
	assert_int_equal(r->n, 2);
	assert_string_equal(routes_find(r, "a")->key, "0123456789");
	assert_null(routes_find(r, "b")->key);
	assert_int_equal(r->figures[1].state, ROUTE_KEY_MISSING);
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!routes_read(r, bad[i], strlen(bad[i]), NULL))
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(r->n, 2);
	free_routes(r);
}

static void told_logins(void **state)
{
	static const char *const bad[] = {"upstream\nkey nocolon\n", "upstream\nkey a:b\nkey a:b\n",
		"upstream\nkey a: b\n", "upstream\nto x\n", "upstream\n" ROUTE "key short\n"};
	struct routes *r = read_routes("upstream\nkey me:pass\n" ROUTE "key 0123456789\n");

	(void)state;
	assert_string_equal(r->login.s, "me:pass");
	assert_int_equal(r->n, 1);
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!routes_read(r, bad[i], strlen(bad[i]), NULL))
			fail_msg("taken: %s", bad[i]);
	assert_string_equal(r->login.s, "me:pass");
	assert_int_equal(routes_read(r, "upstream\n", 9, NULL), 0);
	assert_int_equal(r->login.len, 0);
	free_routes(r);
}

static void budgets_and_limits(void **state)
{
	struct routes *r = read_routes(
		ROUTE "key 0123456789\nnano 5000\nrequests 2\nprice m 100 1000\nprice m-x 1 1\n");
	struct route *a = routes_find(r, "a");
	struct token_scan s = scan_text(
		"{\"model\":\"m-1\",\"usage\":{\"input_tokens\":10,\"output_tokens\":2}}", false);
	AUTO_STR struct str why = STR_INIT;

	(void)state;
	assert_int_equal(routes_refuse(a, 1000000, &why), 0);
	a->requests = 2;
	assert_int_equal(routes_refuse(a, 1000001, &why), 429);
	assert_int_equal(routes_refuse(a, 1060000, &why), 0);
	routes_charge(r, a, &s, 0, 0, true);
	assert_int_equal(a->figures->nano_dollars, 3000);
	assert_int_equal(routes_refuse(a, 1060000, &why), 0);
	s = (struct token_scan){0};
	routes_charge(r, a, &s, 40, 4, true); /* by its bytes, at the dearest price */
	assert_int_equal(a->figures->nano_dollars, 5000);
	assert_int_equal(a->figures->estimated, 1);
	assert_int_equal(routes_refuse(a, 1060000, &why), 402);
	assert_int_equal(a->figures->state, ROUTE_SPENT);
	free_routes(r);
}

/* Its figures are at the end of a stream, and an agent may not wait for that. */
static void answers_that_are_cut_off(void **state)
{
	struct routes *r = read_routes(ROUTE "key 0123456789\ntokens 2000\n");
	struct route *a = routes_find(r, "a");
	struct token_scan s = scan_text(
		"data: {\"message\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n",
		true);
	AUTO_STR struct str why = STR_INIT;

	(void)state;
	routes_charge(r, a, &s, 40, 400, true);
	assert_int_equal(a->figures->tokens_out, 1);
	routes_charge(r, a, &s, 40, 4000, false);
	assert_int_equal(a->figures->tokens_in, 20);
	assert_int_equal(a->figures->tokens_out, 1001);
	assert_int_equal(a->figures->estimated, 1);
	routes_charge(r, a, &s, 40, 4000, false);
	assert_int_equal(routes_refuse(a, 1, &why), 402);
	a->tokens_most = 0; /* without a budget nothing is guessed */
	routes_charge(r, a, &s, 40, 4000, false);
	assert_int_equal(a->figures->tokens_out, 2002);
	free_routes(r);
}

static void headers_that_name_somebody(void **state)
{
	static const char *const keys[] = {"Authorization", "X-Api-Key", "x_api_key", "api-key",
		"X-Goog-Api-Key", "X-Auth-Token", "Private-Token", "Cookie", "Proxy-Authorization",
		"Ocp-Apim-Subscription-Key", "JOB-TOKEN", "subscription-key", "access-token",
		"oauth-token", "private.token", "apikey", "token", "X-Amz-Security-Token"};
	static const char *const others[] = {
		"anthropic-version", "X-Api-Version", "Content-Type", "User-Agent", "X-Key"};

	(void)state;
	for (size_t i = 0; i < COUNT(keys); i++)
		if (!route_drops_header(keys[i], strlen(keys[i])))
			fail_msg("passed on: %s", keys[i]);
	for (size_t i = 0; i < COUNT(others); i++)
		if (route_drops_header(others[i], strlen(others[i])))
			fail_msg("dropped: %s", others[i]);
}

/* The target of "METHOD /a/x<query>" as it is passed on; a word of the reason where it is refused. */
static void expect_asked(
	const char *method, const char *query, const char *header, const char *want)
{
	AUTO_FREE char *text = xasprintf("%s /a/x%s HTTP/1.1\r\n%s\r\n", method, query, header);
	struct route_ask ask = {0};
	struct err why = ERR_INIT;

	str_init(&ask.target);
	str_init(&ask.headers);
	if (route_read_request(text, strlen(text), &ask, &why) < 0)
		assert_non_null(strstr(why.msg, want));
	else
		assert_string_equal(ask.target.s, want);
	route_ask_release(&ask);
}

static void expect_query(const char *query, const char *header, const char *want)
{
	expect_asked("GET", query, header, want);
}

/* Its own key is dropped, as from the headers. */
static void keys_in_queries(void **state)
{
	static const char *const keys[] = {"key", "KEY", "$key", "%24key", "k%65y", "%6B%65%79",
		"%256bey", "%25256bey", "%%36bey", "key[]", "key%5B0%5D", "%20key", "+key",
		"api_key", "api-key", "apiKey", "api%5fkey", "api.key", "access_token",
		"access%5Ftoken", "$access_token", "Access-Token", "oauth_token", "private_token",
		"token", "subscription-key", "X-Goog-Api-Key", "X-Amz-Security-Token", "api[key",
		"access%5Btoken", "api[key]", "api_token", "auth_key", "authkey", "appid",
		"app_key", "client_secret", "x-goog-credential", "X-Goog-Signature",
		"AWSAccessKeyId", "Signature", "sig"};
	static const char *const others[] = {"keys", "keyword", "monkey", "alt", "pageToken",
		"model", "method", "api-version", "q", "filter[key]", "x[sig", "100%", "%C3%BCber"};

	(void)state;
	for (size_t i = 0; i < COUNT(keys); i++) {
		const struct {
			const char *form, *want;
		} forms[] = {{"?%s=mine", "/x"}, {"?%s", "/x"}, {"?a=1&%s=mine", "/x?a=1"},
			{"?%s=mine&a=1", "/x?a=1"}, {"?a=1&%s=mine&%s=mine;b=2", "/x?a=1;b=2"},
			{"?a=1;%s=mine", "/x?a=1"}, {"?&%s=mine", "/x?"}};

		for (size_t k = 0; k < COUNT(forms); k++) {
			AUTO_STR struct str query = STR_INIT;

			for (const char *at = forms[k].form; *at; at++) {
				if (at[0] == '%' && at[1] == 's')
					str_adds(&query, keys[i]), at++;
				else
					str_addc(&query, *at);
			}
			expect_query(query.s, "", forms[k].want);
		}
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		AUTO_FREE char *query = xasprintf("?%s=1&&b", others[i]),
			       *want = xasprintf("/x%s", query);

		expect_query(query, "", want);
	}
	expect_query("", "", "/x");
	expect_query("?", "", "/x?");
	expect_query("?a=key=1&b=%26key%3D1", "", "/x?a=key=1&b=%26key%3D1");
}

/* Servers read them in more than one way. */
static void ambiguous_names(void **state)
{
	static const char *const names[] = {"key%00", "key%00x", "%u006bey", "k%U0065y",
		"%25u006bey", "%%75006bey", "key%3Dmine", "key%253Dmine", "a%26key", "a%3bkey",
		"%0Akey", "key%7f"};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		AUTO_FREE char *query = xasprintf("?a=1&%s=mine", names[i]);

		expect_query(query, "", "the name of the query parameter");
	}
	expect_query("?a=%u006b%00%3D", "", "/x?a=%u006b%00%3D");
}

/* Without its key a request may be another one. */
static void keys_that_are_not_dropped(void **state)
{
	(void)state;
	expect_asked("DELETE", "?key=abc", "", "send the request without it");
	expect_asked("PUT", "?a=1&api_key", "", "send the request without it");
	expect_asked("DELETE", "?a=1", "", "/x?a=1");
	expect_asked("DELETE", "?a=1&key=" ROUTE_PLACEHOLDER, "", "/x?a=1");
	expect_asked("DELETE", "?key=" ROUTE_PLACEHOLDER "x", "", "send the request without it");
	expect_asked("POST", "?key=abc", "", "/x");
	expect_asked("HEAD", "?key=abc", "", "/x");
}

/* The method that was judged is the one that counts. */
static void other_methods(void **state)
{
	static const char *const params[] = {"$httpMethod", "%24httpMethod", "%2524httpMethod",
		"$HTTPMETHOD", "httpMethod", "http_method", "$http%4dethod", "$.httpMethod",
		"$httpHeaders", "x-http-method-override", "X-HTTP-Method-Override",
		"x%2dhttp%2Dmethod%2doverride", "X_HTTP_METHOD", "_method", "%5fmethod",
		"%255Fmethod", "$method", "_method[]", "x[http_method_override", "_[method",
		"x-http-verb"};
	static const char *const headers[] = {"x-http-method-override", "X-HTTP-Method-Override",
		"X_HTTP_Method_Override", "X-HTTP-Method", "X-Method-Override", "X-HTTP-Verb"};

	(void)state;
	for (size_t i = 0; i < COUNT(params); i++) {
		AUTO_FREE char *first = xasprintf("?%s=DELETE", params[i]),
			       *last = xasprintf("?key=x;a&%s=DELETE", params[i]);

		expect_query(first, "", "method");
		expect_query(last, "", "method");
	}
	for (size_t i = 0; i < COUNT(headers); i++) {
		AUTO_FREE char *line = xasprintf("%s: DELETE\r\n", headers[i]);

		expect_query("", line, "method");
	}
	expect_query("?method=x", "X-Method: y\r\n", "/x?method=x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_in_queries),
		cmocka_unit_test(ambiguous_names),
		cmocka_unit_test(keys_that_are_not_dropped),
		cmocka_unit_test(other_methods),
		cmocka_unit_test(answers_that_are_cut_off),
		cmocka_unit_test(headers_that_name_somebody),
		cmocka_unit_test(where_to),
		cmocka_unit_test(headers_with_keys),
		cmocka_unit_test(what_is_permitted),
		cmocka_unit_test(plain_paths),
		cmocka_unit_test(masked_wherever_cut),
		cmocka_unit_test(tokens_of_answers),
		cmocka_unit_test(told_routes),
		cmocka_unit_test(told_logins),
		cmocka_unit_test(budgets_and_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
