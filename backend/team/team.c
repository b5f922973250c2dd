/* team.c - reads a team file in berth's form, and what both forms share. */
#include <berth/team.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/egress.h>
#include <berth/mem.h>
#include <berth/text.h>
#include <berth/users.h>

#include "team/mounts.h"
#include "team/team_forms.h"

static const char *const net_words[] = {"none", "bridge", "host", "internal", NULL};

const char *net_mode_name(enum net_mode m)
{
	return net_words[m];
}

/* NAME, or {host: NAME, tls: true} */
static int read_host_rule(
	const struct reader *r, const struct node *n, const char **out, struct err *e)
{
	struct rule_reading {
		const char *host;
		bool tls;
	} x = {0};
	static const struct field word = {"", FIELD_TEXT, 0, 0, 0, NULL, NULL},
				  fields[] = {{"host", FIELD_TEXT, AT(rule_reading, host), 0, 0,
						      NULL, NULL},
					  {"tls", FIELD_BOOL, AT(rule_reading, tls), 0, 0, NULL,
						  NULL},
					  {0}};
	struct egress_rule parsed;

	if (n->kind != NODE_MAP)
		return field_one(r, &word, n, (void *)out, e);
	if (field_read(r, n, fields, &x, e))
		return -1;
	if (!x.host)
		return node_err(r->c, n, e, "expected a host, or host: with it and tls: true.");
	if (node_get(n, "tls") && !x.tls && !egress_parse_rule(x.host, true, &parsed, NULL) &&
		egress_wants_tls(&parsed, &parsed.at))
		return node_err(
			r->c, n, e, "port 443 of a name is always TLS; tls: is for other ports.");
	*out = x.tls ? arena_printf(r->mem, EGRESS_TLS "%s", x.host) : x.host;
	return 0;
}

static int read_host_rules(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	size_t count = n->kind == NODE_LIST ? n->n : 1;
	const char **word = arena_array(r->mem, count, sizeof *word);

	for (size_t i = 0; i < count; i++)
		if (read_host_rule(r, n->kind == NODE_LIST ? n->child[i] : n, &word[i], e))
			return -1;
	*(struct words *)at = (struct words){count, word};
	return 0;
}

static int check_egress_rules(const struct reader *r, const struct node *n, bool allow,
	struct egress_def *out, struct err *e)
{
	const struct words *rules = allow ? &out->allow : &out->deny;
	const struct node *at = node_get(n, allow ? "allow" : "deny");
	struct egress_rule parsed;
	struct err why = ERR_INIT;

	for (size_t i = 0; i < rules->n; i++) {
		if (!egress_parse_file_rule(rules->word[i], allow, &parsed, &why)) {
			if (!out->own_host && egress_reaches_host(&parsed))
				out->own_host = arena_printf(r->mem, "allow: %s", rules->word[i]);
			continue;
		}
		node_err(r->c, at, e, "%s.", why.msg);
		if (field_go_on(r, e))
			return -1;
	}
	return 0;
}

/* upstream: http://HOST:PORT, or {proxy: that, login: NAME of a secret, trusted: true} */
static int read_upstream(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct upstream_reading {
		const char *proxy, *login;
		bool trusted;
	} x = {0};
	static const struct field fields[] = {
		{"proxy", FIELD_TEXT, AT(upstream_reading, proxy), 0, 0, NULL, NULL},
		{"login", FIELD_TEXT, AT(upstream_reading, login), 0, 0, NULL, NULL},
		{"trusted", FIELD_BOOL, AT(upstream_reading, trusted), 0, 0, NULL, NULL},
		{0},
	};
	struct egress_def *out = at;
	struct egress_rule parsed;
	struct err why = ERR_INIT;

	if (n->kind == NODE_SCALAR)
		x.proxy = n->value;
	else if (field_read(r, n, fields, &x, e))
		return -1;
	if (!x.proxy || strchr(x.proxy, '@'))
		return node_err(r->c, n, e,
			"upstream: is http://HOST:PORT, or proxy: with that and login: with the name of a "
			"secret, whose value is USER:PASSWORD; the address must not contain a user.");
	out->upstream = arena_printf(
		r->mem, "%s%s%s", x.proxy, x.login ? ",login" : "", x.trusted ? ",trusted" : "");
	out->upstream_secret = x.login ? arena_strdup(r->mem, x.login) : NULL;
	if (strchr(x.proxy, ',') || egress_parse_upstream(out->upstream, &parsed, &why))
		return node_err(
			r->c, n, e, "%s.", *why.msg ? why.msg : "an upstream proxy needs a port");
	return 0;
}

/* path: lane | relay */
static int read_egress_path(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const char *const words[] = {"lane", "relay", NULL};
	int choice;

	if (node_choice(r->c, n, words, &choice, e))
		return -1;
	*(bool *)at = choice == 1;
	return 0;
}

/* {allow: [NAME, "*.NAME", "NAME:PORT", {host: "NAME:PORT", tls: true}], deny: [...]} */
static int read_egress(
	const struct reader *r, const struct node *n, struct egress_def *out, struct err *e)
{
	static const char *const others[] = {
		"host", "bridge", "internal", "macvlan", "ipvlan", "driver", "mode"};
	static const struct field fields[] = {
		{"allow", FIELD_NESTED, AT(egress_def, allow), 0, 0, NULL, read_host_rules},
		{"deny", FIELD_NESTED, AT(egress_def, deny), 0, 0, NULL, read_host_rules},
		{"ask", FIELD_BOOL, AT(egress_def, ask), 0, 0, NULL, NULL},
		{"path", FIELD_NESTED, AT(egress_def, relay), 0, 0, NULL, read_egress_path},
		{"upstream", FIELD_NESTED, 0, 0, 0, NULL, read_upstream},
		{"routes", FIELD_NESTED, 0, 0, 0, NULL, team_read_routes},
		{0},
	};

	/* With any of these the rules would confine nothing. */
	for (size_t i = 0; n->n > 1 && i < COUNT(others); i++)
		if (node_get(n, others[i]))
			return node_err(r->c, node_get(n, others[i]), e,
				"%s: with allow:, deny: or routes: would be a way past these rules; remove one of the two.",
				others[i]);
	out->on = true;
	if (field_read(r, n, fields, out, e) || team_expand_presets(r, n, &out->allow, e) ||
		team_expand_presets(r, n, &out->deny, e))
		return -1;
	if (out->allow.n + out->deny.n > EGRESS_RULES_MAX / 2)
		return node_err(r->c, n, e, "an agent's network: has at most %d rules.",
			EGRESS_RULES_MAX / 2);
	return check_egress_rules(r, n, true, out, e) || check_egress_rules(r, n, false, out, e)
		? -1
		: 0;
}

/* none | bridge | host | internal: NAME | {allow: [...], deny: [...]} */
int team_read_network(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct net_choice *out = at;
	int mode;

	if (n->kind == NODE_MAP && n->n == 1 && !strcmp(n->child[0]->key, "internal") &&
		n->child[0]->kind == NODE_SCALAR && *n->child[0]->value) {
		out->mode = NET_INTERNAL;
		out->name = arena_strdup(r->mem, n->child[0]->value);
		return 0;
	}
	if (n->kind == NODE_MAP && (n->n > 1 || !node_get(n, "internal")))
		return read_egress(r, n, &out->egress, e);
	if (n->kind != NODE_SCALAR || !strcmp(n->value, "internal"))
		return node_err(r->c, n, e,
			"expected none, bridge, host, internal: NAME with a name from networks:, or allow: "
			"with the hosts that can be reached.");
	if (!strcmp(n->value, "macvlan") || !strcmp(n->value, "ipvlan"))
		return node_err(r->c, n, e,
			"berth makes no %s networks, and rules would not hold there: allow: with the hosts that can be reached keeps the agent without a network.",
			n->value);
	if (node_choice(r->c, n, net_words, &mode, e))
		return -1;
	out->mode = (enum net_mode)mode;
	return 0;
}

int team_read_env(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct words *out = at;
	const char **word;

	if (field_expect_map(r, n, e))
		return -1;
	word = arena_array(r->mem, n->n, sizeof *word);
	for (size_t i = 0; n->kind == NODE_MAP && i < n->n; i++) {
		const struct node *v = n->child[i];

		if (v->kind != NODE_SCALAR)
			return node_err(
				r->c, v, e, "expected the value of the variable %s.", v->key);
		/* compose takes it from its own environment; here nothing of that is handed on unasked. */
		if (!*v->value && !v->quoted)
			return node_err(r->c, v, e,
				"the variable %s has no value: write \"\" for an empty one; env_vars: under "
				"credentials: passes on that of berth.",
				v->key);
		if (!*v->key || strchr(v->key, '='))
			return node_err(r->c, v, e, "\"%s\" is not a valid variable name.", v->key);
		word[i] = arena_printf(r->mem, "%s=%s", v->key, v->value);
	}
	*out = (struct words){n->kind == NODE_MAP ? n->n : 0, word};
	return 0;
}

#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

int team_check_id(const struct config *c, const struct node *n, const char *id, struct err *e)
{
	struct node at = *n;

	CHECK(id);
	if (n->key) { /* it is the key that is wrong, not what stands behind it */
		at.line = n->key_line;
		at.column = n->key_column;
	}
	if (!*id || strlen(id) > 48 || !strchr(LETTERS_AND_DIGITS, *id) ||
		strspn(id, LETTERS_AND_DIGITS "_.-") != strlen(id))
		return node_err(c, &at, e,
			"\"%.60s\" is not a valid name: use letters, digits, _ . and "
			"-, a letter or digit first, at most 48.",
			id);
	return 0;
}

/* It becomes part of a path of the engine's interface. */
int team_check_image(const struct config *c, const struct node *n, const char *image, struct err *e)
{
	if (image &&
		(strlen(image) > 255 || !strchr(LETTERS_AND_DIGITS, *image) || !*image ||
			strspn(image, LETTERS_AND_DIGITS "_.-/:@") != strlen(image) ||
			strstr(image, "..") || strstr(image, "//")))
		return node_err(c, n, e,
			"\"%.80s\" is not a valid image name: use "
			"[REGISTRY/]NAME[:TAG] or NAME@sha256:DIGEST.",
			image);
	return 0;
}

static int read_network_def(
	const struct reader *r, const struct node *n, struct network_def *out, struct err *e)
{
	static const struct field fields[] = {
		{"members", FIELD_WORDS, AT(network_def, members), 0, 0, NULL, NULL},
		{0},
	};

	if (team_check_id(r->c, n, n->key, e) || field_read(r, n, fields, out, e))
		return -1;
	out->name = arena_strdup(r->mem, n->key);
	out->at = (struct place){n->key_line, n->key_column};
	return 0;
}

static int read_secret(
	const struct reader *r, const struct node *n, struct secret_def *out, struct err *e)
{
	struct secret {
		const char *env, *file;
		struct words command;
	} s = {0};
	static const struct field fields[] = {
		{"env", FIELD_TEXT, AT(secret, env), 0, 0, NULL, NULL},
		{"file", FIELD_PATH, AT(secret, file), 0, 0, NULL, NULL},
		{"command", FIELD_WORDS, AT(secret, command), 0, 0, NULL, NULL},
		{0},
	};

	if (team_check_id(r->c, n, n->key, e) || field_read(r, n, fields, &s, e))
		return -1;
	if (!!s.env + !!s.file + !!s.command.n != 1)
		return node_err(r->c, n, e,
			"the secret %s needs one of env:, file: or command:; its value "
			"is never stored in a file of berth's.",
			n->key);
	out->name = arena_strdup(r->mem, n->key);
	out->from = s.env ? SECRET_ENV : s.file ? SECRET_FILE : SECRET_COMMAND;
	out->source = s.env ? s.env : s.file;
	out->command = s.command;
	out->at = (struct place){n->key_line, n->key_column};
	return 0;
}

/* A map of name -> definition becomes an array of definitions. */
#define READ_ALL(name, type, one)                                                              \
	static int name(const struct reader *r, const struct node *n, void *at, struct err *e) \
	{                                                                                      \
		struct many *out = at;                                                         \
		struct type *def;                                                              \
                                                                                               \
		if (field_expect_map(r, n, e))                                                 \
			return -1;                                                             \
		def = arena_array(r->mem, n->n, sizeof *def);                                  \
		for (size_t i = 0; n->kind == NODE_MAP && i < n->n; i++)                       \
			if (one(r, n->child[i], &def[i], e) && field_go_on(r, e))              \
				return -1;                                                     \
		*out = (struct many){n->kind == NODE_MAP ? n->n : 0, def};                     \
		return 0;                                                                      \
	}

struct many {
	size_t n;
	void *def;
};
READ_ALL(read_agents, agent_def, team_read_agent)
READ_ALL(read_tools, tool_def, team_read_tool)
READ_ALL(read_networks, network_def, read_network_def)
READ_ALL(read_secrets, secret_def, read_secret)

struct team_reading {
	struct many agents, tools, networks, secrets;
	struct words protected_names, protected_labels, protected_images;
};

static int read_policy(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {
		{"protected_names", FIELD_WORDS, AT(team_reading, protected_names), 0, 0, NULL,
			NULL},
		{"protected_labels", FIELD_WORDS, AT(team_reading, protected_labels), 0, 0, NULL,
			NULL},
		{"protected_images", FIELD_WORDS, AT(team_reading, protected_images), 0, 0, NULL,
			NULL},
		{0},
	};

	return field_read(r, n, fields, at, e);
}

static const struct field team_fields[] = {
	{"agents", FIELD_NESTED, AT(team_reading, agents), 0, 0, NULL, read_agents},
	{"custom_tools", FIELD_NESTED, AT(team_reading, tools), 0, 0, NULL, read_tools},
	{"networks", FIELD_NESTED, AT(team_reading, networks), 0, 0, NULL, read_networks},
	{"secrets", FIELD_NESTED, AT(team_reading, secrets), 0, 0, NULL, read_secrets},
	{"policy", FIELD_NESTED, 0, 0, 0, NULL, read_policy},
	{0},
};

__attribute__((format(printf, 5, 6))) static int refuse_place(const struct team *t,
	const struct reader *r, struct place at, struct err *e, const char *fmt, ...)
{
	char sentence[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof sentence, fmt, ap);
	va_end(ap);
	err_set(e, ERR_CONFIG, "%s:%d:%d: %s", t->file, at.line, at.column, sentence);
	return field_go_on(r, e);
}

static const struct network_def *find_network(const struct team *t, const char *name)
{
	for (size_t k = 0; k < t->nnetworks; k++)
		if (!strcmp(t->networks[k].name, name))
			return &t->networks[k];
	return NULL;
}

static bool has_secret(const struct team *t, const char *name)
{
	for (size_t k = 0; k < t->nsecrets; k++)
		if (!strcmp(t->secrets[k].name, name))
			return true;
	return false;
}

static bool has_word(const struct words *w, const char *word)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->word[i], word))
			return true;
	return false;
}

/* Names that must exist elsewhere in the file. */
static int check_references(const struct team *t, const struct reader *r, struct err *e)
{
	for (size_t i = 0; i < t->nagents + t->ntools; i++) {
		const struct agent_def *a = i < t->nagents ? &t->agents[i] : NULL;
		const struct tool_def *tool = a ? NULL : &t->tools[i - t->nagents];
		const struct words *secrets = a ? &a->secrets : &tool->secrets;
		const char *net = a ? a->net_name : tool->net_name, *id = a ? a->id : tool->name;
		struct place at = a ? a->at : tool->at;
		const struct network_def *found = net ? find_network(t, net) : NULL;
		char clash[240];

		if (net && !found &&
			refuse_place(t, r, at, e,
				"the network %.64s is not declared under networks:.", net))
			return -1;
		if (found && !has_word(&found->members, id) &&
			refuse_place(t, r, at, e,
				"%.64s is not among the members: of the network %.64s.", id, net))
			return -1;
		for (size_t k = 0; k < secrets->n; k++)
			if (!has_secret(t, secrets->word[k]) &&
				refuse_place(t, r, at, e,
					"the secret %.64s is not declared under secrets:.",
					secrets->word[k]))
				return -1;
		for (size_t k = 0; tool && k < tool->agents.n; k++)
			if (!team_agent(t, tool->agents.word[k]) &&
				refuse_place(t, r, at, e,
					"agents: of the tool %.64s names %.64s, which is not an agent of this file.",
					id, tool->agents.word[k]))
				return -1;
		if (a && team_routes_clash(t, a, clash, sizeof clash) &&
			refuse_place(t, r, at, e, "%s", clash))
			return -1;
	}
	for (size_t i = 0; i < t->nnetworks; i++)
		for (size_t k = 0; k < t->networks[i].members.n; k++)
			if (!team_agent(t, t->networks[i].members.word[k]) &&
				!team_tool(t, t->networks[i].members.word[k]) &&
				refuse_place(t, r, t->networks[i].at, e,
					"the member %.64s of the network is not an agent or tool of this file.",
					t->networks[i].members.word[k]))
				return -1;
	return 0;
}

static int check_reach(const struct team *t, const struct reader *r, const char *folder,
	const char *path, struct place at, struct err *e)
{
	if (!mounts_within(t->path, path) && !mounts_within(folder, path))
		return 0;
	return refuse_place(t, r, at, e,
		"%.100s can be written from inside and holds this file, which names "
		"host paths and commands; move the file elsewhere, or use a subfolder.",
		path);
}

/* MassGen's own examples let the agent write the project that holds the file: there the file is one more protected
 * path, if it can be reached by no other name. */
static bool protect_file(struct team *t, const struct reader *r, struct path_grant *g)
{
	const struct words *old = &g->protected_paths;
	const char **word = arena_array(r->mem, old->n + 1, sizeof *word);
	struct stat st;

	if (!mounts_within(t->path, g->path) || strcmp(field_path(r, t->file), t->path) != 0 ||
		stat(t->path, &st) || st.st_nlink != 1 || !strcmp(g->path, t->path))
		return false;
	if (old->n)
		memcpy(word, old->word, old->n * sizeof *word);
	word[old->n] = t->path;
	g->protected_paths = (struct words){old->n + 1, word};
	return true;
}

/* Who can write the file, or the link that leads to it, could take whatever such a file can give. */
static int check_outside(struct team *t, const struct reader *r, struct err *e)
{
	AUTO_FREE char *copy = xstrdup(t->file), *real = realpath(dirname(copy), NULL);
	const char *folder = real ? real : t->path;

	for (size_t i = 0; i < t->nagents; i++) {
		const struct agent_def *a = &t->agents[i];

		if (check_reach(t, r, folder, a->workspace, a->at, e))
			return -1;
		for (size_t k = 0; k < a->npaths; k++) {
			struct path_grant *g = (struct path_grant *)(uintptr_t)&a->paths[k];

			if ((!g->write && !g->final) ||
				(t->kind == TEAM_MASSGEN && protect_file(t, r, g)))
				continue;
			if (check_reach(t, r, folder, g->path, g->at, e))
				return -1;
		}
	}
	for (size_t i = 0; i < t->ntools; i++) {
		const struct tool_def *d = &t->tools[i];

		if (d->files == TOOL_WORKSPACE && d->workspace &&
			check_reach(t, r, folder, d->workspace, d->at, e))
			return -1;
	}
	return 0;
}

static int read_berth(const struct reader *r, struct team *t, struct err *e)
{
	struct team_reading all = {0};

	if (field_read(r, r->c->root, team_fields, &all, e))
		return -1;
	t->kind = TEAM_BERTH;
	t->nagents = all.agents.n;
	t->agents = all.agents.def;
	t->ntools = all.tools.n;
	t->tools = all.tools.def;
	t->nnetworks = all.networks.n;
	t->networks = all.networks.def;
	t->nsecrets = all.secrets.n;
	t->secrets = all.secrets.def;
	t->protected_names = all.protected_names;
	t->protected_labels = all.protected_labels;
	t->protected_images = all.protected_images;
	return 0;
}

/* MassGen has `agent:`, or `agents:` as a list. */
static bool is_massgen(const struct config *c)
{
	const struct node *agents = node_get(c->root, "agents");

	return node_get(c->root, "agent") || node_get(c->root, "orchestrator") ||
		(agents && agents->kind == NODE_LIST);
}

/* real: where the file is; NULL: the text comes from memory. */
static int from_tree(const struct config *c, const char *real, const char *base, const char *cwd,
	struct team *t, const struct team_found *found, struct err *e)
{
	bool massgen = is_massgen(c);
	struct reader r = {.c = c, .mem = &t->mem, .found = found};

	t->file = arena_strdup(&t->mem, c->file);
	t->path = real ? arena_strdup(&t->mem, real) : t->file;
	t->base = r.base = arena_strdup(&t->mem, massgen ? cwd : base);
	if (massgen ? massgen_read(&r, t, e) : read_berth(&r, t, e))
		return -1;
	if (!t->nagents && !t->ntools && !massgen && (!found || !found->n))
		return err_set(e, ERR_CONFIG,
			"%s: neither agents: nor custom_tools: defines anything to run.", t->file);
	/* With definitions missing, everything would refer to nothing. */
	if (found && found->n)
		return 0;
	if (check_references(t, &r, e) || (real && check_outside(t, &r, e)))
		return -1;
	team_note_shared(t);
	return 0;
}

int team_parse(const char *name, const char *text, size_t n, const char *base, struct team *ret,
	struct err *e)
{
	struct config c;
	int result;

	memset(ret, 0, sizeof *ret);
	arena_init(&ret->mem, 4096);
	if (config_parse(name, text, n, &c, e))
		return -1;
	result = from_tree(&c, NULL, base, base, ret, NULL, e);
	config_release(&c);
	if (result)
		team_release(ret);
	return result;
}

/* Whose only member is its user, by the custom of most systems. */
static bool is_private_group(gid_t gid)
{
	char name[USER_NAME_MAX], buf[4096];
	struct group group, *found = NULL;

	if (gid != getegid())
		return false;
	return gid == geteuid() ||
		(getgrgid_r(gid, &group, buf, sizeof buf, &found) == 0 && found &&
			!strcmp(found->gr_name, user_name(geteuid(), name)));
}

/* Who can write the directory can put another file there; where it is sticky, none that is ours. */
static int check_directory_of(const char *file, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *dir =
		slash ? xstrndup(path, slash > path ? (size_t)(slash - path) : 1) : xstrdup(".");
	bool group, others;
	struct stat st;

	if (stat(dir, &st) || st.st_mode & S_ISVTX)
		return 0;
	others = st.st_mode & 0002;
	group = st.st_mode & 0020 && !is_private_group(st.st_gid);
	if (others)
		return err_set(e, ERR_CONFIG,
			"Any user of this machine could replace %s: its directory "
			"%s has mode %04o; correct that with `chmod o-w %s`.",
			file, dir, (unsigned)st.st_mode & 07777, dir);
	return group
		? err_set(e, ERR_CONFIG,
			  "The members of group %u could replace %s: its directory %s has mode %04o; correct that with `chmod g-w %s`.",
			  (unsigned)st.st_gid, file, dir, (unsigned)st.st_mode & 07777, dir)
		: 0;
}

/* Whoever can write a directory above it can put another one in the place of what leads to it. */
static int check_directories_above(const char *file, const char *real, struct err *e)
{
	AUTO_FREE char *dir = xstrdup(real);
	struct stat st;

	for (char *slash; (slash = strrchr(dir, '/')) && slash > dir;) {
		*slash = '\0';
		if (stat(dir, &st) == 0 && !(st.st_mode & S_ISVTX) && st.st_mode & 0002)
			return err_set(e, ERR_CONFIG,
				"Any user of this machine could replace %s: the directory %s above it has mode %04o; "
				"correct that with `chmod o-w %s`.",
				file, dir, (unsigned)st.st_mode & 07777, dir);
	}
	return 0;
}

int team_check_owner(const char *file, struct err *e)
{
	AUTO_FREE char *real = NULL;
	struct stat st;

	if (stat(file, &st))
		return err_set(
			e, ERR_CONFIG, "%s cannot be read: %s.", file, strerrordesc_np(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(e, ERR_CONFIG,
			"%s belongs to another user (%u); a team file names host paths and commands, "
			"so it must be yours or root's.",
			file, (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return err_set(e, ERR_CONFIG,
			"%s can be written by others (mode %04o); correct that with "
			"`chmod go-w %s`.",
			file, (unsigned)st.st_mode & 07777, file);
	real = realpath(file, NULL);
	return check_directory_of(file, file, e) ||
			(real &&
				(check_directory_of(file, real, e) ||
					check_directories_above(file, real, e)))
		? -1
		: 0;
}

static int read_team_file(const char *file, const char *cwd, struct team *ret,
	const struct team_found *found, struct err *e)
{
	AUTO_FREE char *real = NULL, *base = NULL;
	struct config c;
	char *slash;
	int result;

	if (team_check_owner(file, e) || config_read(file, &c, e))
		return -1;
	real = realpath(file, NULL);
	if (!real) {
		err_set(e, ERR_CONFIG, "%s cannot be read: %s.", file, strerrordesc_np(errno));
		config_release(&c);
		return -1;
	}
	base = xstrdup(real);
	slash = strrchr(base, '/');
	slash[slash == base] = '\0';
	memset(ret, 0, sizeof *ret);
	arena_init(&ret->mem, 4096);
	result = from_tree(&c, real, base, cwd, ret, found, e);
	config_release(&c);
	if (result)
		team_release(ret);
	return result;
}

int team_read(const char *file, const char *cwd, struct team *ret, struct err *e)
{
	return read_team_file(file, cwd, ret, NULL, e);
}

size_t team_check(const char *file, const char *cwd, struct team *ret, struct team_found *found)
{
	struct err e = ERR_INIT;

	found->n = 0;
	if (read_team_file(file, cwd, ret, found, &e)) {
		found->tell(found->ctx, &e);
		return ++found->n;
	}
	if (found->n)
		team_release(ret);
	return found->n;
}

void team_release(struct team *t)
{
	arena_release(&t->mem);
	memset(t, 0, sizeof *t);
}

const struct agent_def *team_agent(const struct team *t, const char *id)
{
	for (size_t i = 0; t->agents && i < t->nagents; i++)
		if (!strcmp(t->agents[i].id, id))
			return &t->agents[i];
	return NULL;
}

const struct tool_def *team_tool(const struct team *t, const char *name)
{
	for (size_t i = 0; i < t->ntools; i++)
		if (!strcmp(t->tools[i].name, name))
			return &t->tools[i];
	return NULL;
}

bool team_may_call(const struct agent_def *a, const struct tool_def *d)
{
	if (d->agents.word)
		return has_word(&d->agents, a->id);
	return !d->workspace || mounts_within(d->workspace, a->workspace);
}
