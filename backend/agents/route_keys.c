/* route_keys.c - reads the keys and prices of an agent's routes for its egress process, and wipes them afterwards. */
#include "agents/route_keys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/config.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/route.h>
#include <berth/runtime.h>

#define PRICES "configs/prices.yaml"
#define NANO_A_TOKEN 1000 /* nano-dollars a token, for a dollar a million */
#define TEXT_MAX 140000   /* one message to the end */

static int add_price(const struct config *c, const struct node *n, struct str *out, struct err *e)
{
	double in, written;

	if (n->kind != NODE_LIST || n->n != 2 || strpbrk(n->key, " \n") || strlen(n->key) > 63)
		return node_err(c, n, e, "expected MODEL: [dollars per million read, written].");
	if (node_double(c, n->child[0], 0, 1e5, &in, e) ||
		node_double(c, n->child[1], 0, 1e5, &written, e))
		return -1;
	str_addf(out, "price %s %" PRIu64 " %" PRIu64 "\n", n->key,
		(uint64_t)(in * NANO_A_TOKEN + 0.5), (uint64_t)(written * NANO_A_TOKEN + 0.5));
	return 0;
}

static int add_prices(const struct config *c, struct str *out, struct err *e)
{
	const struct node *models = node_get(c->root, "models");

	if (!models || models->kind != NODE_MAP || models->n > 256)
		return node_err(c, c->root, e, "expected models: with at most 256 of them.");
	for (size_t i = 0; i < models->n; i++)
		if (add_price(c, models->child[i], out, e))
			return -1;
	return 0;
}

/* The person's own, else those that berth was shipped with. */
static int read_prices(struct str *out, struct err *e)
{
	char dir[PATH_MAX] = "", path[PATH_MAX + 32];
	struct config c;
	const char *text;
	size_t len;
	int rc;

	if (config_dir(dir, sizeof dir, NULL))
		*dir = '\0';
	snprintf(path, sizeof path, "%s/prices.yaml", dir);
	text = embedded_file(PRICES, &len);
	if (*dir && !access(path, R_OK) ? config_read(path, &c, e)
					: config_parse(PRICES, text, len, &c, e))
		return -1;
	rc = add_prices(&c, out, e);
	config_release(&c);
	return rc;
}

static int add_trusted(const struct route_def *d, struct str *out, struct err *e)
{
	AUTO_STR struct str pem = STR_INIT;
	char *save = NULL;

	if (!d->ca)
		return 0;
	if (file_read(AT_FDCWD, d->ca, 0, ROUTE_CA_MAX, &pem, e))
		return err_wrap(e, "the route %s", d->name);
	for (char *line = strtok_r(pem.s, "\r\n", &save); line;
		line = strtok_r(NULL, "\r\n", &save))
		str_addf(out, "ca %s\n", line);
	return 0;
}

static void add_route_limits(const struct route_def *d, struct str *out)
{
	for (size_t i = 0; i < d->allow.n; i++)
		str_addf(out, "permit %s\n", d->allow.word[i]);
	if (d->requests)
		str_addf(out, "requests %" PRId64 "\n", d->requests);
	if (d->bytes)
		str_addf(out, "bytes %" PRIu64 "\n", d->bytes);
	if (d->tokens)
		str_addf(out, "tokens %" PRId64 "\n", d->tokens);
	if (d->usd > 0)
		str_addf(out, "nano %" PRIu64 "\n", (uint64_t)(d->usd * 1e9 + 0.5));
}

/* What is not to come inside. */
struct kept_outside {
	const char *secret; /* its name */
	char what[64];      /* "the route openai" */
	bool login;
};

static int check_kept_key(
	const struct kept_outside *k, const struct lane_secret *key, struct err *e)
{
	if (!route_key_fits(key->value, key->len))
		return err_set(e, ERR_CONFIG,
			"the secret %s of %s cannot be used as a key: it must be %d to %d printable characters without spaces.",
			k->secret, k->what, ROUTE_KEY_MIN, ROUTE_KEY_MAX);
	return k->login && !memchr(key->value, ':', key->len)
		? err_set(e, ERR_CONFIG, "the secret %s of %s must have the form USER:PASSWORD.",
			  k->secret, k->what)
		: 0;
}

/* By whatever name: an agent that is given the key needs no route. */
static int find_inside(const struct agent_def *a, const struct secret_values *handed,
	const struct kept_outside *k, const struct lane_secret *key, struct err *e)
{
	bool found = false;

	for (size_t i = 0; i < handed->n; i++)
		found |= memmem(handed->secret[i].value, handed->secret[i].len, key->value,
				 key->len) != NULL;
	for (size_t i = 0; i < a->env.n; i++)
		found |= memmem(a->env.word[i], strlen(a->env.word[i]), key->value, key->len) !=
			NULL;
	return found
		? err_set(e, ERR_CONFIG,
			  "the key of %s is also passed to %s as a secret, a variable or in its env_file; it must stay outside the container.",
			  k->what, a->id)
		: 0;
}

/* Where the key came from, for another start of the end (keeper/kept_routes.c). */
static void add_reference(const struct secret_def *s, struct str *kept)
{
	bool whole = !s->source || !strpbrk(s->source, "\r\n");

	for (size_t i = 0; i < s->command.n; i++)
		whole &= !strchr(s->command.word[i], '\n');
	if (s->from == SECRET_ENV || !whole) {
		str_adds(kept, "secret env\n");
	} else if (s->from == SECRET_FILE) {
		str_addf(kept, "secret file %s\n", s->source);
	} else {
		str_adds(kept, "secret command\n");
		for (size_t i = 0; i < s->command.n; i++)
			str_addf(kept, "word %s\n", s->command.word[i]);
	}
}

static const struct secret_def *find_route_secret(const struct team *t, const char *name)
{
	for (size_t i = 0; i < t->nsecrets; i++)
		if (!strcmp(t->secrets[i].name, name))
			return &t->secrets[i];
	return NULL;
}

static int add_route_key(const struct team *t, const struct agent_def *a,
	const struct secret_values *handed, const struct kept_outside *k, struct route_text *ret,
	struct err *e)
{
	const struct secret_def *s = find_route_secret(t, k->secret);
	struct secret_values v = {0};
	int rc;

	if (!s)
		return err_set(
			e, ERR_CONFIG, "the secret %s of %s is not declared.", k->secret, k->what);
	if (secrets_add(&v, s, e))
		return -1;
	rc = check_kept_key(k, v.secret, e) || find_inside(a, handed, k, v.secret, e) ? -1 : 0;
	if (!rc)
		str_addf(&ret->told, "key %.*s\n", (int)v.secret->len, v.secret->value);
	add_reference(s, &ret->kept);
	secrets_release(&v);
	return rc;
}

static int add_upstream_login(const struct team *t, const struct agent_def *a,
	const struct secret_values *handed, struct route_text *ret, struct err *e)
{
	const struct kept_outside k = {a->egress.upstream_secret, "the upstream proxy", true};

	if (!k.secret)
		return 0;
	str_adds(&ret->told, "upstream\n");
	str_adds(&ret->kept, "upstream\n");
	return add_route_key(t, a, handed, &k, ret, e);
}

int routes_gather(const struct team *t, const struct agent_def *a,
	const struct secret_values *handed, struct route_text *ret, struct err *e)
{
	AUTO_STR struct str plain = STR_INIT;

	if (!a->egress.nroutes && !a->egress.upstream_secret)
		return 0;
	str_reserve(&ret->told,
		TEXT_MAX); /* so that no part of it is left where it was before it grew */
	if (add_upstream_login(t, a, handed, ret, e))
		return -1;
	for (size_t i = 0; i < a->egress.nroutes; i++) {
		const struct route_def *d = &a->egress.routes[i];
		struct kept_outside k = {.secret = d->secret};

		str_clear(&plain);
		str_addf(&plain, "route %s\nto %s\nheader %s\n", d->name, d->to, d->header);
		add_route_limits(d, &plain);
		if (add_trusted(d, &plain, e))
			return -1;
		str_add(&ret->told, plain.s, plain.len);
		str_add(&ret->kept, plain.s, plain.len);
		snprintf(k.what, sizeof k.what, "the route %s", d->name);
		if (add_route_key(t, a, handed, &k, ret, e))
			return -1;
	}
	str_clear(&plain);
	if (a->egress.nroutes && read_prices(&plain, e))
		return -1;
	str_add(&ret->told, plain.s, plain.len);
	str_add(&ret->kept, plain.s, plain.len);
	return ret->told.len > TEXT_MAX
		? err_set(e, ERR_CONFIG,
			  "the routes of %s are too large: use fewer routes or shorter ca: files",
			  a->id)
		: 0;
}

void routes_wipe(struct route_text *text)
{
	if (text->told.s)
		explicit_bzero(text->told.s, text->told.len);
	str_release(&text->told);
	str_release(&text->kept);
}
