/* team_routes.c - reads network: routes: of a team file (berth/route.h). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/route.h>

#include "team/team_forms.h"

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* How the programs of these call their address and key; others: NAME_BASE_URL and NAME_API_KEY. */
static const struct {
	const char *name, *address, *key;
} known_routes[] = {
	{"openai", "OPENAI_BASE_URL=/v1", "OPENAI_API_KEY"},
	{"anthropic", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"},
	{"gemini", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"},
};

static const char *variable_of(const struct reader *r, const char *name, bool key)
{
	char *own = arena_printf(r->mem, "%s_%s", name, key ? "API_KEY" : "BASE_URL");

	for (size_t i = 0; i < COUNT(known_routes); i++)
		if (!strcmp(known_routes[i].name, name))
			return key ? known_routes[i].key : known_routes[i].address;
	for (char *s = own; *s; s++)
		*s = isalnum((unsigned char)*s) ? (char)toupper((unsigned char)*s) : '_';
	return own;
}

static void choose_variable(const struct reader *r, const char *name, bool key, struct words *words)
{
	const char **word;

	if (words->n)
		return;
	word = arena_array(r->mem, 1, sizeof *word);
	*word = variable_of(r, name, key);
	*words = (struct words){1, word};
}

static int check_variables(
	const struct reader *r, const struct node *n, const struct words *words, struct err *e)
{
	for (size_t i = 0; i < words->n; i++) {
		const char *path = strchr(words->word[i], '=');
		size_t name = strcspn(words->word[i], "=");

		if (!name || name > 64 ||
			strspn(words->word[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != name ||
			(path && !route_path_plain(path + 1, strlen(path + 1))))
			return node_err(r->c, n, e,
				"\"%.60s\" is not a variable of a route: NAME, or NAME=/path for an address that "
				"ends so.",
				words->word[i]);
	}
	return 0;
}

static int check_route(
	const struct reader *r, const struct node *n, struct route_def *d, struct err *e)
{
	struct route_header header;
	struct route_permit permit;
	struct err why = ERR_INIT;
	struct route_to to;

	if (!d->to || !d->header || !d->allow.n)
		return node_err(r->c, n, e,
			"the route %.32s needs to:, header: and allow: with the requests that may be made.",
			d->name);
	if (route_parse_to(d->to, &to, &why) || route_parse_header(d->header, &header, &why))
		return node_err(r->c, n, e, "the route %.32s: %s.", d->name, why.msg);
	d->secret = arena_strdup(r->mem, header.secret);
	if (d->allow.n > ROUTE_PERMITS_MAX)
		return node_err(r->c, n, e, "a route allows at most %d kinds of requests.",
			ROUTE_PERMITS_MAX);
	for (size_t i = 0; i < d->allow.n; i++)
		if (route_parse_permit(d->allow.word[i], &permit, &why))
			return node_err(r->c, n, e, "the route %.32s: %s.", d->name, why.msg);
	return check_variables(r, n, &d->env, e) || check_variables(r, n, &d->key_env, e) ? -1 : 0;
}

static int read_budget(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {
		{"usd", FIELD_NUMBER, AT(route_def, usd), 0.0001, 1e6, NULL, NULL},
		{"tokens", FIELD_INT, AT(route_def, tokens), 1, 1e12, NULL, NULL},
		{0},
	};

	return field_read(r, n, fields, at, e);
}

static int read_route(
	const struct reader *r, const struct node *n, struct route_def *out, struct err *e)
{
	static const struct field fields[] = {
		{"to", FIELD_TEXT, AT(route_def, to), 0, 0, NULL, NULL},
		{"header", FIELD_TEXT, AT(route_def, header), 0, 0, NULL, NULL},
		{"allow", FIELD_WORDS, AT(route_def, allow), 0, 0, NULL, NULL},
		{"ca", FIELD_PATH, AT(route_def, ca), 0, 0, NULL, NULL},
		{"env", FIELD_WORDS, AT(route_def, env), 0, 0, NULL, NULL},
		{"key_env", FIELD_WORDS, AT(route_def, key_env), 0, 0, NULL, NULL},
		{"requests_per_minute", FIELD_INT, AT(route_def, requests), 1, 1e6, NULL, NULL},
		{"bytes_per_minute", FIELD_BYTES, AT(route_def, bytes), 1024, 1024 * GIB, NULL,
			NULL},
		{"budget", FIELD_NESTED, 0, 0, 0, NULL, read_budget},
		{0},
	};

	if (!*n->key || strlen(n->key) >= ROUTE_NAME_MAX ||
		strspn(n->key, NAME_BYTES) != strlen(n->key))
		return node_err(r->c, n, e,
			"a route's name must consist of letters, digits, _ and -, at most %d.",
			ROUTE_NAME_MAX - 1);
	if (field_read(r, n, fields, out, e))
		return -1;
	out->name = arena_strdup(r->mem, n->key);
	out->at = (struct place){n->key_line, n->key_column};
	choose_variable(r, out->name, false, &out->env);
	choose_variable(r, out->name, true, &out->key_env);
	return check_route(r, n, out, e);
}

/* What commands find in their environment. */
static void make_variables(const struct reader *r, struct egress_def *out)
{
	const char **word;
	size_t n = 0;

	for (size_t i = 0; i < out->nroutes; i++)
		n += out->routes[i].env.n + out->routes[i].key_env.n;
	word = arena_array(r->mem, n, sizeof *word);
	n = 0;
	for (size_t i = 0; i < out->nroutes; i++) {
		const struct route_def *d = &out->routes[i];

		for (size_t k = 0; k < d->env.n; k++) {
			const char *path = strchr(d->env.word[k], '=');

			word[n++] = arena_printf(r->mem, "%.*s=" ROUTE_BASE "%s%s",
				(int)strcspn(d->env.word[k], "="), d->env.word[k], d->name,
				path ? path + 1 : "");
		}
		for (size_t k = 0; k < d->key_env.n; k++)
			word[n++] = arena_printf(r->mem, "%.*s=" ROUTE_PLACEHOLDER,
				(int)strcspn(d->key_env.word[k], "="), d->key_env.word[k]);
	}
	out->env = (struct words){n, word};
}

/* What an agent is given of this machine is loosened, by a route as by a rule. */
static void note_own_host(const struct reader *r, const struct route_def *d, struct egress_def *out)
{
	struct err why = ERR_INIT;
	struct route_to to;

	if (!out->own_host && !route_parse_to(d->to, &to, &why) && route_reaches_host(&to.at))
		out->own_host = arena_printf(r->mem, "routes: %s", d->name);
}

int team_read_routes(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct egress_def *out = at;
	struct route_def *def;

	if (field_expect_map(r, n, e))
		return -1;
	if (n->kind == NODE_MAP && n->n > ROUTES_MAX)
		return node_err(r->c, n, e, "an agent has at most %d routes.", ROUTES_MAX);
	def = arena_array(r->mem, n->n, sizeof *def);
	for (size_t i = 0; n->kind == NODE_MAP && i < n->n; i++) {
		if (!read_route(r, n->child[i], &def[i], e))
			note_own_host(r, &def[i], out);
		else if (field_go_on(r, e))
			return -1;
	}
	out->nroutes = n->kind == NODE_MAP ? n->n : 0;
	out->routes = def;
	make_variables(r, out);
	return 0;
}

static const struct secret_def *find_secret(const struct team *t, const char *name)
{
	for (size_t i = 0; i < t->nsecrets; i++)
		if (!strcmp(t->secrets[i].name, name))
			return &t->secrets[i];
	return NULL;
}

/* Would it come in by another name? */
static bool is_handed_over(
	const struct team *t, const struct agent_def *a, const struct secret_def *key)
{
	for (size_t i = 0; i < a->secrets.n; i++) {
		const struct secret_def *s = find_secret(t, a->secrets.word[i]);

		if (s == key ||
			(s && s->from == key->from && s->source && !strcmp(s->source, key->source)))
			return true;
	}
	for (size_t i = 0; key->from == SECRET_ENV && i < a->credentials.env.n; i++)
		if (!strcmp(a->credentials.env.word[i], key->source))
			return true;
	return false;
}

/* `what` is named in the sentence. */
static bool secret_clashes(const struct team *t, const struct agent_def *a, const char *secret,
	const char *what, char *buf, size_t cap)
{
	const struct secret_def *key = find_secret(t, secret);

	if (!key)
		snprintf(buf, cap, "the secret %.64s of %s is not declared under secrets:.", secret,
			what);
	else if (is_handed_over(t, a, key))
		snprintf(buf, cap,
			"the secret %.64s of %s is also passed to %.48s; it must stay outside: remove it from the agent.",
			secret, what, a->id);
	else
		return false;
	return true;
}

bool team_routes_clash(const struct team *t, const struct agent_def *a, char *buf, size_t cap)
{
	for (size_t i = 0; i < a->egress.nroutes; i++) {
		const struct route_def *d = &a->egress.routes[i];
		char what[64];

		snprintf(what, sizeof what, "the route %.32s", d->name);
		/* Without one it is told already. */
		if (d->secret && secret_clashes(t, a, d->secret, what, buf, cap))
			return true;
	}
	return a->egress.upstream_secret &&
		secret_clashes(t, a, a->egress.upstream_secret, "the upstream proxy", buf, cap);
}
