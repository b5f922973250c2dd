/*
 * route_tell.c - sends the routes with their keys to an egress process over the control socket, never through a file.
 *
 * Lines of a word and the rest: "route NAME" begins one, and then to, header, key, permit, ca (a line of PEM each), requests,
 * bytes, tokens, nano (dollars); "price MODEL IN OUT" belongs to all.  "upstream", before any route, begins the upstream
 * proxy, whose key is its login.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "egress/head_lines.h"
#include "egress/routes.h"

static void wipe_route(struct route *r)
{
	if (r->key)
		explicit_bzero(r->key, r->nkey);
	free(r->key);
	free(r->back);
	free(r->permit);
	str_release(&r->ca);
	*r = (struct route){0};
}

void routes_release(struct routes *r)
{
	for (size_t i = 0; i < r->n; i++)
		wipe_route(&r->route[i]);
	r->n = r->nprices = 0;
	if (r->told.len)
		explicit_bzero(r->told.s, r->told.len);
	if (r->login.len)
		explicit_bzero(r->login.s, r->login.len);
	str_release(&r->told);
	str_release(&r->login);
}

struct route *routes_find(struct routes *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->route[i].name, name))
			return &r->route[i];
	return NULL;
}

static int begin_route(struct routes *r, const char *name, struct err *e)
{
	struct route *one = &r->route[r->n];

	if (r->n == ROUTES_MAX || !*name || strlen(name) >= sizeof one->name)
		return err_set(e, ERR_CONFIG, "there are more routes than %d", ROUTES_MAX);
	r->n++;
	snprintf(one->name, sizeof one->name, "%s", name);
	str_init(&one->ca);
	return 0;
}

static int take_login(struct routes *r, const char *word, const char *login, struct err *e)
{
	size_t len = strlen(login);

	if (r->login.len || strcmp(word, "key") != 0 || len > ROUTE_KEY_MAX ||
		!strchr(login, ':') || !slice_is_printable((struct slice){login, len}, false))
		return err_set(
			e, ERR_CONFIG, "the login of the upstream proxy is not USER:PASSWORD");
	str_reserve(&r->login, len + 1);
	str_add(&r->login, login, len);
	return 0;
}

static int take_key(struct route *r, const char *key, struct err *e)
{
	size_t len = strlen(key);

	if (r->key || len < ROUTE_KEY_MIN || len > ROUTE_KEY_MAX ||
		!slice_is_printable((struct slice){key, len}, false))
		return err_set(e, ERR_CONFIG,
			"the key of the route %s contains spaces or is shorter than %d bytes",
			r->name, ROUTE_KEY_MIN);
	r->key = xstrdup(key);
	r->nkey = len;
	r->back = mask_table(key, len);
	return 0;
}

static int take_permit(struct route *r, const char *text, struct err *e)
{
	if (r->npermits == ROUTE_PERMITS_MAX)
		return err_set(
			e, ERR_CONFIG, "the route %s allows too many kinds of requests", r->name);
	r->permit = xreallocarray(r->permit, r->npermits + 1, sizeof *r->permit);
	return route_parse_permit(text, &r->permit[r->npermits++], e);
}

static int take_price(struct routes *r, const char *text, struct err *e)
{
	struct price *p = &r->price[r->nprices];

	if (r->nprices == PRICES_MAX ||
		sscanf(text, "%63s %" SCNu64 " %" SCNu64, p->model, &p->in, &p->out) != 3)
		return err_set(e, ERR_CONFIG, "a price is not valid");
	r->nprices++;
	return 0;
}

static int take_route_number(struct route *r, const char *word, const char *rest, struct err *e)
{
	const struct {
		const char *word;
		uint64_t *to;
	} numbers[] = {{"requests", &r->requests_most}, {"bytes", &r->bytes_most},
		{"tokens", &r->tokens_most}, {"nano", &r->nano_most}};

	for (size_t i = 0; i < COUNT(numbers); i++)
		if (!strcmp(numbers[i].word, word))
			return slice_read_number((struct slice){rest, strlen(rest)}, numbers[i].to)
				? err_set(e, ERR_CONFIG, "a limit of the route %s is not a number",
					  r->name)
				: 0;
	return err_set(e, ERR_CONFIG, "\"%.20s\" is not a key of a route", word);
}

static int take_route_line(struct routes *r, const char *word, const char *rest, struct err *e)
{
	struct route *one = r->n ? &r->route[r->n - 1] : NULL;

	if (!strcmp(word, "price"))
		return take_price(r, rest, e);
	if (!strcmp(word, "route"))
		return begin_route(r, rest, e);
	if (!one && !strcmp(word, "upstream"))
		return 0;
	if (!one)
		return take_login(r, word, rest, e);
	if (!strcmp(word, "to"))
		return route_parse_to(rest, &one->to, e);
	if (!strcmp(word, "header"))
		return route_parse_header(rest, &one->header, e);
	if (!strcmp(word, "key"))
		return take_key(one, rest, e);
	if (!strcmp(word, "permit"))
		return take_permit(one, rest, e);
	if (!strcmp(word, "ca")) {
		str_adds(&one->ca, rest);
		str_addc(&one->ca, '\n');
		return one->ca.len > ROUTE_CA_MAX
			? err_set(e, ERR_CONFIG, "the ca: file of the route %s is too long",
				  one->name)
			: 0;
	}
	return take_route_number(one, word, rest, e);
}

static int read_route_lines(struct routes *r, char *text, struct err *e)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *blank = strchr(line, ' ');

		if (blank)
			*blank = '\0';
		if (take_route_line(r, line, blank ? blank + 1 : "", e))
			return -1;
	}
	return 0;
}

/* Those that were there keep their figures; what is no route any more loses them. */
static void join_figures(struct routes *r)
{
	struct route_figures old[ROUTES_MAX];

	memcpy(old, r->figures, sizeof old);
	memset(r->figures, 0, sizeof old);
	for (size_t i = 0; i < r->n; i++) {
		struct route_figures *f = &r->figures[i];

		for (size_t k = 0; k < ROUTES_MAX; k++)
			if (!strncmp(old[k].name, r->route[i].name, sizeof f->name))
				*f = old[k];
		snprintf(f->name, sizeof f->name, "%s", r->route[i].name);
		f->state = r->route[i].key ? ROUTE_READY : ROUTE_KEY_MISSING;
		r->route[i].figures = f;
	}
}

int routes_read(struct routes *r, const char *text, size_t len, struct err *e)
{
	AUTO_FREE struct routes *fresh = xcalloc(1, sizeof *fresh);
	char *copy;
	int rc;

	if (memchr(text, '\0', len))
		return err_set(e, ERR_CONFIG, "the routes contain a NUL byte");
	str_init(&fresh->told);
	str_init(&fresh->login);
	copy = xstrndup(text, len);
	rc = read_route_lines(fresh, copy, e);
	explicit_bzero(copy, len);
	free(copy);
	for (size_t i = 0; !rc && i < fresh->n; i++)
		if (!fresh->route[i].to.at.port || !*fresh->route[i].header.name)
			rc = err_set(
				e, ERR_CONFIG, "the route %s is incomplete", fresh->route[i].name);
	if (rc) {
		routes_release(fresh);
		return -1;
	}
	routes_release(r);
	memcpy(r->route, fresh->route, sizeof r->route);
	memcpy(r->price, fresh->price, sizeof r->price);
	r->n = fresh->n;
	r->nprices = fresh->nprices;
	r->login = fresh->login;
	str_add(&r->told, text, len);
	join_figures(r);
	return 0;
}

static const struct price *find_price(const struct routes *r, const char *model)
{
	const struct price *best = NULL;

	for (size_t i = 0; i < r->nprices; i++) {
		const struct price *p = &r->price[i];

		if (!strncmp(model, p->model, strlen(p->model)) &&
			(!best || strlen(p->model) > strlen(best->model)))
			best = p;
	}
	return best;
}

/* A model without a price costs what the dearest does: a budget that nobody counts would be none. */
static struct price dearest_price(const struct routes *r)
{
	struct price p = {0};

	for (size_t i = 0; i < r->nprices; i++) {
		p.in = p.in > r->price[i].in ? p.in : r->price[i].in;
		p.out = p.out > r->price[i].out ? p.out : r->price[i].out;
	}
	return p;
}

#define BYTES_A_TOKEN 4

void routes_charge(struct routes *r, struct route *route, const struct token_scan *s, uint64_t up,
	uint64_t down, bool whole)
{
	const struct price *known = find_price(r, s->model);
	struct price price = known ? *known : dearest_price(r);
	uint64_t in = token_scan_in(s), out = token_scan_out(s);
	bool budget = route->tokens_most || route->nano_most;

	if (!s->found && !budget)
		return;
	/* Of an answer that was cut off what came counts: an agent could leave before the figures that end it. */
	if (budget && (!s->found || !whole)) {
		in = s->found ? in : up / BYTES_A_TOKEN;
		out = out > down / BYTES_A_TOKEN ? out : down / BYTES_A_TOKEN;
		route->figures->estimated++;
	}
	route->figures->tokens_in += in;
	route->figures->tokens_out += out;
	route->figures->unpriced += !known;
	if (known || budget)
		route->figures->nano_dollars += in * price.in + out * price.out;
}

static int refuse_by_budget(struct route *r, struct str *why)
{
	const struct route_figures *f = r->figures;
	bool tokens = r->tokens_most && f->tokens_in + f->tokens_out >= r->tokens_most,
	     money = r->nano_most && f->nano_dollars >= r->nano_most;

	if (!tokens && !money)
		return 0;
	r->figures->state = ROUTE_SPENT;
	if (tokens)
		str_addf(why,
			"the budget of the route %s is spent (%" PRIu64 " of %" PRIu64
			" tokens); the operator can raise budget: in the team file, do not try again",
			r->name, f->tokens_in + f->tokens_out, r->tokens_most);
	else
		str_addf(why,
			"the budget of the route %s is spent ($%.4f of $%.4f); the operator can raise budget: in the team file, "
			"do not try again",
			r->name, (double)f->nano_dollars / 1e9, (double)r->nano_most / 1e9);
	return 402;
}

#define MINUTE_MS 60000

int routes_refuse(struct route *r, int64_t now_ms, struct str *why)
{
	int refused = refuse_by_budget(r, why);

	if (refused)
		return refused;
	r->figures->state = r->key ? ROUTE_READY : ROUTE_KEY_MISSING;
	if (!r->key) {
		str_addf(why, "the key of the route %s is missing; the operator must run berth up",
			r->name);
		return 503;
	}
	if (now_ms - r->minute_ms >= MINUTE_MS) {
		r->minute_ms = now_ms;
		r->requests = r->bytes = 0;
	}
	if ((!r->requests_most || r->requests < r->requests_most) &&
		(!r->bytes_most || r->bytes < r->bytes_most))
		return 0;
	str_addf(why,
		"the route %s has passed its limit for this minute; the next begins in %" PRId64
		" s",
		r->name, (MINUTE_MS - (now_ms - r->minute_ms)) / 1000 + 1);
	return 429;
}
