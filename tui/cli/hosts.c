/* hosts.c - engines by name: `berth host list` and `forget`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/arena.h>
#include <berth/format.h>
#include <berth/hosts.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/run.h"

/* ---- which there are */

struct known {
	struct arena *mem;
	struct host_spec *host;
	size_t n, cap;
};

static void add_known(struct known *k, const struct host_spec *h)
{
	if (k->n == k->cap)
		return;
	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->host[i].name, h->name))
			return;
	k->host[k->n++] = *h;
}

/* A name that docker would not give is nothing to show. */
static bool add_context(void *ctx, const char *name)
{
	struct known *k = ctx;
	const char *copy = arena_strdup(k->mem, name);

	if (!host_name_fault(name))
		add_known(k, &(struct host_spec){.name = copy, .context = copy});
	return k->n < k->cap;
}

static int compare_hosts(const void *a, const void *b)
{
	return strcmp(((const struct host_spec *)a)->name, ((const struct host_spec *)b)->name);
}

size_t cli_hosts(const struct cli *c, const struct settings *s, struct arena *mem,
	const struct host_spec **ret)
{
	struct known k = {.mem = mem, .cap = HOSTS_MAX - 1};
	size_t own;

	k.host = arena_array(mem, k.cap, sizeof *k.host);
	for (size_t i = 0; i < s->nhosts; i++)
		if (s->hosts[i].name)
			add_known(&k,
				&(struct host_spec){.name = arena_strdup(mem, s->hosts[i].name),
					.endpoint = arena_strdup(mem, s->hosts[i].endpoint),
					.read_only = s->hosts[i].read_only});
	own = k.n;
	if (cli_flag(c, "all-contexts"))
		docker_contexts(add_context, &k);
	mem_sort(k.host + own, k.n - own, sizeof *k.host, compare_hosts);
	*ret = k.host;
	return k.n;
}

/* ---- list */

static const char *state_of_host(const struct engine_host *h)
{
	static const char *const words[] = {"connecting", "up", "lost"};

	return h->ended && h->engine.phase != ENGINE_UP ? "unreachable" : words[h->engine.phase];
}

static void print_host(const struct engine_host *h, int name_w)
{
	char where[200], why[ERR_MSG_MAX], version[80], shown[240], span[FORMAT_MAX] = "-";

	if (h->latency_us >= 0)
		snprintf(span, sizeof span, "%.1f ms", (double)h->latency_us / 1000);
	snprintf(version, sizeof version, "%.30s %.40s", h->engine.product, h->engine.version);
	printf("%-*s  %-11s  %-16s  %9s  %5u/%-5u  %-9s  %s\n", name_w, h->name, state_of_host(h),
		*h->engine.version ? text_clean(shown, sizeof shown, version) : "-", span,
		h->running, h->containers, h->engine.read_only ? "read-only" : "-",
		text_clean(where, sizeof where, h->engine.endpoint));
	if (h->engine.problem)
		printf("%*s  %s\n", name_w, "", text_clean(why, sizeof why, h->engine.problem));
}

static int print_hosts(const struct snapshot *s)
{
	int w = 4;

	for (size_t i = 0; i < s->nhosts; i++) {
		int n = (int)strlen(s->hosts[i].name);

		w = n > w ? n : w;
	}
	printf("%-*s  %-11s  %-16s  %9s  %11s  %-9s  %s\n", w, "HOST", "STATE", "ENGINE", "LATENCY",
		"RUNNING/ALL", "MODE", "ENDPOINT");
	for (size_t i = 0; i < s->nhosts; i++)
		print_host(&s->hosts[i], w);
	return cli_finish();
}

static void json_word(struct jsonw *j, const char *key, const char *s)
{
	jsonw_text(j, key, s && *s ? s : NULL);
}

static void json_host(struct jsonw *j, const struct engine_host *h, int64_t now_ns)
{
	jsonw_object(j, NULL);
	jsonw_text(j, "name", h->name);
	jsonw_text(j, "endpoint", h->engine.endpoint);
	json_word(j, "source", h->engine.source);
	jsonw_text(j, "state", state_of_host(h));
	json_word(j, "problem", h->engine.problem);
	json_word(j, "id",
		*h->engine.version ? h->engine.id : ""); /* its own word, when it has said it */
	json_word(j, "engine_name", h->engine.name);
	json_word(j, "product", h->engine.product);
	json_word(j, "version", h->engine.version);
	json_word(j, "api", h->engine.api);
	jsonw_bool(j, "read_only", h->engine.read_only);
	if (h->heard_ns)
		jsonw_int(j, "age_ms", (now_ns - h->heard_ns) / 1000000);
	else
		jsonw_null(j, "age_ms");
	if (h->latency_us >= 0)
		jsonw_number(j, "latency_ms", (double)h->latency_us / 1000, 3);
	else
		jsonw_null(j, "latency_ms");
	if (h->listed)
		jsonw_uint(j, "containers", h->containers);
	else
		jsonw_null(j, "containers");
	if (h->listed)
		jsonw_uint(j, "running", h->running);
	else
		jsonw_null(j, "running");
	jsonw_end(j);
}

static int print_hosts_json(const struct snapshot *s)
{
	struct jsonw j;

	jsonw_document(&j, "berth.hosts/1");
	jsonw_array(&j, "hosts");
	for (size_t i = 0; i < s->nhosts; i++)
		json_host(&j, &s->hosts[i], s->at_ns);
	return jsonw_print(&j);
}

/* That one does not answer is what is asked for, and no failure. */
int cli_host_list(const struct cli *c, const struct settings *s, struct err *e)
{
	struct backend *b = cli_backend_hosts(c, s, "host list", true, e);
	const struct snapshot *shot = b ? cli_wait(b, false, e) : NULL;
	int rc = -1;

	if (shot)
		rc = cli_flag(c, "json") ? print_hosts_json(shot) : print_hosts(shot);
	snapshot_unref(shot);
	backend_stop(b);
	return rc;
}

size_t cli_tell_silent(const struct snapshot *s)
{
	size_t n = 0;
	char why[ERR_MSG_MAX];

	fflush(stdout);
	for (size_t i = 0; i < s->nhosts; i++) {
		const struct engine_host *h = &s->hosts[i];

		if (h->listed)
			continue;
		n++;
		fprintf(stderr, "berth: %s: %s\n", h->name,
			text_clean(why, sizeof why,
				h->engine.problem ? h->engine.problem
						  : "it did not answer in time"));
	}
	return n;
}

/* ---- forget */

int cli_host_forget(const struct cli *c, const struct settings *s, struct err *e)
{
	const struct host_spec *hosts;
	char shown[80];
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	size_t n, i = 0;

	n = cli_hosts(c, s, &mem, &hosts);
	while (i < n && strcmp(hosts[i].name, c->argv[0]) != 0)
		i++;
	return i < n ? host_forget(hosts[i].endpoint, hosts[i].context, e)
		     : err_set(e, ERR_NOT_FOUND, "unknown host %s: see `berth host list`.",
			       text_clean(shown, sizeof shown, c->argv[0]));
}
