/* network.c - finds, creates and removes a team's private networks. */
#include "container/network.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <openssl/evp.h>

#include <berth/check.h>
#include <berth/container_id.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "container/own.h"

/* "berth-NAME-" and eight digits of a hash over where the team file is. */
static const char *full_name(const struct team *t, const char *name, struct arena *mem)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	const char *slash = strrchr(t->file, '/');
	AUTO_FREE char *file = xasprintf("%s/%s", t->base, slash ? slash + 1 : t->file);
	unsigned len = 0;

	CHECK(EVP_Digest(file, strlen(file), digest, &len, EVP_sha256(), NULL) && len >= 4);
	return arena_printf(
		mem, "berth-%s-%02x%02x%02x%02x", name, digest[0], digest[1], digest[2], digest[3]);
}

static const struct network_def *find_network_def(const struct team *t, const char *name)
{
	for (size_t i = 0; i < t->nnetworks; i++)
		if (!strcmp(t->networks[i].name, name))
			return &t->networks[i];
	return NULL;
}

/* A member's container, by the names that berth gives. */
static bool is_member(const struct team *t, const struct network_def *d, const char *container)
{
	for (size_t i = 0; d && i < d->members.n; i++) {
		const struct agent_def *a = team_agent(t, d->members.word[i]);
		char tool[64];

		if (a && !strcmp(a->container, container))
			return true;
		snprintf(tool, sizeof tool, "berth-tool-%.24s-", d->members.word[i]);
		if (!a && !strncmp(container, tool, strlen(tool)))
			return true;
	}
	return false;
}

static bool owns_network(const struct agents_host *h, const cJSON *root)
{
	const cJSON *labels = ejson_get(root, "Labels");

	return ejson_bool(root, "Internal") &&
		!strcmp(ejson_string(labels, "berth.role"), "network") &&
		own_proven(h->at.info.id, ejson_string(root, "Name"), OWN_NETWORK,
			ejson_string(labels, "berth.proof"));
}

static cJSON *inspect_network(struct agents_host *h, const char *name, struct err *e)
{
	return sync_inspect(h->at.engine, "look for the network %s", "networks", name, e);
}

int network_find(struct agents_host *h, const struct team *t, const char *name, struct arena *mem,
	const char **id, struct err *e)
{
	const char *full = full_name(t, name, mem);
	struct err asked = ERR_INIT;
	AUTO_JSON cJSON *root = inspect_network(h, full, &asked);
	const cJSON *one;

	if (!root)
		return asked.kind == ERR_NOT_FOUND ? 0 : err_copy(e, &asked);
	if (!owns_network(h, root))
		return err_set(e, ERR_CONFLICT,
			"a network named %s already exists and was not created by "
			"berth here; remove it yourself (docker network rm %s): berth "
			"does not touch it.",
			full, full);
	cJSON_ArrayForEach(one, ejson_get(root, "Containers"))
	{
		if (!is_member(t, find_network_def(t, name), ejson_string(one, "Name")))
			return err_set(e, ERR_CONFLICT,
				"the container %.80s is attached to the network %s but "
				"is not a member of it; disconnect it first (docker "
				"network disconnect %s %.80s).",
				ejson_string(one, "Name"), full, full, ejson_string(one, "Name"));
	}
	if (!id_is_whole(ejson_string(root, "Id")))
		return err_set(e, ERR_PROTOCOL,
			"the engine describes the network %s without its full id", full);
	*id = arena_strdup(mem, ejson_string(root, "Id"));
	return 1;
}

int network_subnets(
	struct agents_host *h, struct arena *mem, const char *const **ret, size_t *n, struct err *e)
{
	AUTO_JSON cJSON *root = sync_json(h->at.engine, "list the networks of %s", "the engine",
		"GET", "/networks", NULL, 0, e);
	const cJSON *network, *config;
	const char **word;
	size_t most = 0;

	if (!root)
		return -1;
	cJSON_ArrayForEach(network, root) most +=
		ejson_count(ejson_path(network, "IPAM", "Config", NULL));
	*ret = word = arena_array(mem, most + 1, sizeof *word);
	*n = 0;
	cJSON_ArrayForEach(network, root)
	{
		cJSON_ArrayForEach(config, ejson_path(network, "IPAM", "Config", NULL))
		{
			const char *subnet = ejson_string(config, "Subnet");

			if (*subnet)
				word[(*n)++] = arena_strdup(mem, subnet);
		}
	}
	return 0;
}

static int create_network(
	struct agents_host *h, const char *full, struct arena *mem, const char **id, struct err *e)
{
	AUTO_STR struct str body = STR_INIT;
	AUTO_JSON cJSON *root = NULL;
	char proof[PROOF_MAX];

	if (own_proof(h->at.info.id, full, OWN_NETWORK, proof, e))
		return -1;
	str_addf(&body,
		"{\"Name\":\"%s\",\"Driver\":\"bridge\",\"Internal\":true,\"CheckDuplicate\":true,"
		"\"Options\":{\"com.docker.network.bridge.inhibit_ipv4\":\"true\"},"
		"\"Labels\":{\"berth.role\":\"network\",\"berth.proof\":\"%s\"}}",
		full, proof);
	root = sync_json(h->at.engine, "make the network %s", full, "POST", "/networks/create",
		body.s, 0, e);
	if (!root)
		return -1;
	if (!id_is_whole(ejson_string(root, "Id")))
		return err_set(e, ERR_PROTOCOL,
			"the engine made the network %s without returning its id", full);
	*id = arena_strdup(mem, ejson_string(root, "Id"));
	return 0;
}

/* The engine lets two requests make two networks of one name, so those of this user wait for each
 * other: agents of a team come up at once, and in several processes. */
static int lock_networks(struct err *e)
{
	char dir[PATH_MAX - 16], path[PATH_MAX];
	int fd;

	if (state_dir(dir, sizeof dir, e))
		return -1;
	snprintf(path, sizeof path, "%s/networks.lock", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, errno, "cannot open %s", path);
	while (flock(fd, LOCK_EX))
		if (errno != EINTR) {
			err_sys(e, errno, "cannot lock %s", path);
			close(fd);
			return -1;
		}
	return fd;
}

struct network_making {
	struct agents_host *h;
	const char *full;
	struct arena *mem;
	const char **id;
};

static int do_create_network(void *ctx, struct audit_record *r, struct err *e)
{
	struct network_making *m = ctx;

	if (create_network(m->h, m->full, m->mem, m->id, e))
		return -1;
	r->target = *m->id;
	return 0;
}

int network_make(struct agents_host *h, const struct team *t, const char *name, struct arena *mem,
	const char **id, struct err *e)
{
	const char *full = full_name(t, name, mem);
	const struct audit_record r = {
		.operation = OP_NETWORK_CREATE, .target_type = "network", .name = full};
	AUTO_CLOSE int locked = lock_networks(e);
	struct network_making making = {h, full, mem, id};
	int found = locked < 0 ? -1 : network_find(h, t, name, mem, id, e);

	if (found)
		return found < 0 ? -1 : 0;
	return record_act(&h->at.recorder, &r, NULL, do_create_network, &making, e);
}

static int do_remove_network(void *ctx, struct audit_record *r, struct err *e)
{
	struct agents_host *h = ctx;
	AUTO_STR struct str target = STR_INIT;

	str_addf(&target, "/networks/%s", r->target);
	/* Somebody may have joined it meanwhile: then the engine says no, and that is right. */
	return sync_ask(h->at.engine, "remove the network %s", r->name, "DELETE", target.s, NULL, 0,
		NULL, e);
}

void network_tidy(struct agents_host *h, const char *id)
{
	AUTO_CLOSE int locked = -1;
	AUTO_JSON cJSON *root = NULL;
	struct audit_record r = {.operation = OP_NETWORK_REMOVE, .target_type = "network"};

	if (!*id || !strcmp(id, "none") || !strcmp(id, "bridge") || !strcmp(id, "host") ||
		!strcmp(id, "default") || (locked = lock_networks(NULL)) < 0 ||
		!(root = inspect_network(h, id, NULL)) || !owns_network(h, root) ||
		!id_is_whole(ejson_string(root, "Id")) ||
		ejson_count(ejson_get(root, "Containers")))
		return;
	r.name = ejson_string(root, "Name");
	r.target = ejson_string(root, "Id");
	record_act(&h->at.recorder, &r, NULL, do_remove_network, h, NULL);
}
