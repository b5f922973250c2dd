/* spec.c - writes the hardening profile as JSON for the engine. */
#include "container/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <openssl/evp.h>

#include <berth/check.h>
#include <berth/config.h>
#include <berth/hex.h>
#include <berth/mem.h>

#include "lane/lane.h"

#define NS_PER_S ((uint64_t)1000000000)
#define SHM_BYTES ((uint64_t)64 << 20)
#define TEXT_OF(number) #number
#define NUMBER_TEXT(number) TEXT_OF(number)
#define PROXY_PORT NUMBER_TEXT(LANE_PROXY_PORT)

const char *spec_role_name(enum spec_role r)
{
	static const char *const names[] = {"agent", "tool", "pool", "helper"};

	return names[r];
}

/* What apt and dpkg need as root inside: owners, modes, dropping to the _apt user, and ending it.  The
 * guest needs the last one, too: it ends what sudo started. */
static const char *const sudo_caps[] = {
	"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"};

/* Packages installed without root end up on the home volume, and are found there. */
static const char *const base_env[] = {
	"HOME=" SPEC_HOME,
	"PATH=" SPEC_HOME "/.local/bin:" SPEC_HOME
	"/.npm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"PYTHONUSERBASE=" SPEC_HOME "/.local",
	"PIP_USER=1",
	"PIP_BREAK_SYSTEM_PACKAGES=1",
	"PIP_DISABLE_PIP_VERSION_CHECK=1",
	"NPM_CONFIG_PREFIX=" SPEC_HOME "/.npm",
	"NODE_PATH=" SPEC_HOME "/.npm/lib/node_modules:/usr/local/lib/node_modules",
	"XDG_CACHE_HOME=" SPEC_HOME "/.cache",
	"TMPDIR=/tmp",
	"LANG=C.UTF-8",
};

/* Both cases, for programs differ in which they read; and what else keeps programs from going their own way. */
#define PROXY "http://127.0.0.1:" PROXY_PORT
#define NOT_BY_PROXY "localhost,127.0.0.1,::1"
static const char *const proxy_env[] = {
	"HTTP_PROXY=" PROXY,
	"http_proxy=" PROXY,
	"HTTPS_PROXY=" PROXY,
	"https_proxy=" PROXY,
	"ALL_PROXY=" PROXY,
	"all_proxy=" PROXY,
	"NO_PROXY=" NOT_BY_PROXY,
	"no_proxy=" NOT_BY_PROXY,
	"NODE_USE_ENV_PROXY=1",
	"GIT_SSH_COMMAND=ssh -o ProxyCommand='" LANE_GUEST_PATH " " LANE_GUEST_CONNECT " %h %p'",
};

void spec_environment(const struct spec *s, struct arena *mem, const char *const **env, size_t *n)
{
	size_t count = 0, extra = s->env ? s->env->n : 0,
	       routes = s->route_env ? s->route_env->n : 0;
	const char **out =
		arena_array(mem, COUNT(base_env) + COUNT(proxy_env) + routes + extra, sizeof *out);

	for (size_t i = 0; i < COUNT(base_env); i++)
		out[count++] = base_env[i];
	for (size_t i = 0; s->proxy && i < COUNT(proxy_env); i++)
		out[count++] = proxy_env[i];
	for (size_t i = 0; i < routes; i++)
		out[count++] = s->route_env->word[i];
	for (size_t i = 0; i < extra; i++) {
		const char *word = s->env->word[i];
		size_t name = strcspn(word, "=") + 1, at = 0;

		/* The definition's own value takes the place of ours. */
		while (at < count && strncmp(out[at], word, name))
			at++;
		out[at] = word;
		count += at == count;
	}
	*env = out;
	*n = count;
}

static cJSON *make_string_array(const char *const *word, size_t n)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < n; i++)
		cJSON_AddItemToArray(array, cJSON_CreateString(word[i]));
	return array;
}

/* cJSON keeps doubles, exact up to 2^53; every limit here is far below. */
static void add_whole_number(cJSON *object, const char *name, uint64_t v)
{
	CHECK(v < (uint64_t)1 << 53);
	cJSON_AddNumberToObject(object, name, (double)v);
}

static void add_mount_objects(cJSON *host, const struct spec *s)
{
	cJSON *array = cJSON_AddArrayToObject(host, "Mounts");

	for (size_t i = 0; i < s->mounts.n; i++) {
		const struct mount *m = &s->mounts.mount[i];
		cJSON *one = cJSON_CreateObject(), *options;

		cJSON_AddStringToObject(one, "Type", "bind");
		cJSON_AddStringToObject(one, "Source", m->source);
		cJSON_AddStringToObject(one, "Target", m->target);
		cJSON_AddBoolToObject(one, "ReadOnly", m->read_only);
		cJSON_AddItemToArray(array, one);
		/* What is left out is chosen as it is written here. */
		if (s->product && s->product->mount_words && !m->read_only)
			continue;
		options = cJSON_AddObjectToObject(one, "BindOptions");
		cJSON_AddStringToObject(options, "Propagation", "rprivate");
		/* Read-only is a property of one mount: what else is mounted below it on the host would come
		 * along writable (before API 1.44 there is no asking for more).  So it does not come along. */
		cJSON_AddBoolToObject(options, "NonRecursive", m->read_only);
	}
	if (s->home) {
		cJSON *one = cJSON_CreateObject();

		cJSON_AddStringToObject(one, "Type", "volume");
		cJSON_AddStringToObject(one, "Source", s->home);
		cJSON_AddStringToObject(one, "Target", SPEC_HOME);
		cJSON_AddItemToArray(array, one);
	}
}

static bool is_mounted_over(const struct spec *s, const char *target)
{
	for (size_t i = 0; i < s->mounts.n; i++)
		if (!strcmp(s->mounts.mount[i].target, target))
			return true;
	return false;
}

static uint64_t at_most(uint64_t bytes, uint64_t most)
{
	return bytes < most ? bytes : most;
}

/*
 * Their bytes and their files (a KiB or so each, in the kernel) count as the container's memory and outlive the
 * command that made them: without a quota of both a flood ends with the OOM killer taking the only process left,
 * the init.  So all of them together fit into the container.
 */
size_t spec_memory(const struct spec *s, struct memory_fs out[SPEC_MEMORY_MAX])
{
	uint64_t memory = s->limits.memory_bytes,
		 tmp = at_most(s->limits.tmp_bytes, memory / (s->home ? 2 : 4));
	uint64_t files = memory / 16384;
	size_t n = 0;

	out[n++] = (struct memory_fs){"/tmp", tmp, files, true, false, 01777};
	/* In the place of the engine's own, which has no limit of files. */
	out[n++] = (struct memory_fs){
		"/dev/shm", at_most(SHM_BYTES, memory / 8), files / 4, false, false, 01777};
	out[n++] = (struct memory_fs){"/run", 1 << 20, 1024, false, true, 0755};
	if (!s->home)
		out[n++] = (struct memory_fs){SPEC_HOME, tmp, files, true, true, 0700};
	if (s->secrets)
		out[n++] = (struct memory_fs){LANE_SECRETS_DIR, 1 << 20, 256, false, true, 0700};
	return n;
}

/* What the product has no words for is set once it runs (memory_fs.h). */
static void add_tmpfs(cJSON *host, const struct spec *s)
{
	cJSON *tmpfs = cJSON_AddObjectToObject(host, "Tmpfs");
	bool plain = s->product && s->product->tmpfs_plain;
	struct memory_fs fs[SPEC_MEMORY_MAX];
	size_t n = spec_memory(s, fs);

	for (size_t i = 0; i < n; i++) {
		AUTO_STR struct str text = STR_INIT;

		str_addf(&text, "rw,nosuid,nodev,size=%" PRIu64, fs[i].bytes);
		if (plain)
			str_adds(&text, ",notmpcopyup");
		else
			str_addf(&text, ",nr_inodes=%" PRIu64, fs[i].files);
		str_addf(&text, ",%s,mode=%04o", fs[i].exec ? "exec" : "noexec", fs[i].mode);
		if (fs[i].owned && !plain)
			str_addf(&text, ",uid=%u,gid=%u", (unsigned)s->uid, (unsigned)s->gid);
		cJSON_AddStringToObject(tmpfs, fs[i].target, text.s);
	}
	if (s->product && s->product->tmp_writable && !s->sudo && !s->writable_root &&
		!is_mounted_over(s, "/var/tmp"))
		cJSON_AddStringToObject(tmpfs, "/var/tmp",
			"ro,nosuid,nodev,noexec,size=4096,notmpcopyup,mode=0555");
}

static void add_ulimit(cJSON *array, const char *name, uint64_t v)
{
	cJSON *one = cJSON_CreateObject();

	cJSON_AddStringToObject(one, "Name", name);
	add_whole_number(one, "Soft", v);
	add_whole_number(one, "Hard", v);
	cJSON_AddItemToArray(array, one);
}

double spec_cpus(double asked, int there)
{
	return there > 0 && asked > there ? there : asked;
}

static void add_limits(cJSON *host, const struct spec *s)
{
	cJSON *ulimits = cJSON_AddArrayToObject(host, "Ulimits");

	add_whole_number(host, "Memory", s->limits.memory_bytes);
	add_whole_number(host, "MemorySwap", s->limits.memory_bytes);
	add_whole_number(host, "NanoCpus", (uint64_t)(s->limits.cpus * 1e9 + 0.5));
	add_whole_number(host, "PidsLimit", (uint64_t)s->limits.pids);
	add_ulimit(ulimits, "core", 0);
	add_ulimit(ulimits, "nofile", (uint64_t)s->limits.open_files);
	add_ulimit(ulimits, "fsize", s->limits.file_bytes);
	if (s->user_processes)
		add_ulimit(ulimits, "nproc", s->user_processes);
}

void spec_seccomp(struct str *out)
{
	size_t len;
	const char *profile = embedded_file("configs/seccomp.json", &len);
	cJSON *parsed = profile ? cJSON_ParseWithLength(profile, len) : NULL;
	char *compact = parsed ? cJSON_PrintUnformatted(parsed) : NULL;

	CHECK(compact);
	str_adds(out, compact);
	cJSON_free(compact);
	cJSON_Delete(parsed);
}

static void add_security(cJSON *host, const struct spec *s)
{
	AUTO_STR struct str seccomp = STR_INIT;
	const char *const *caps;
	char apparmor[96];
	size_t ncaps;
	cJSON *options;

	str_adds(&seccomp, "seccomp=");
	if (s->seccomp_file)
		str_adds(&seccomp, s->seccomp_file);
	else
		spec_seccomp(&seccomp);
	options = cJSON_AddArrayToObject(host, "SecurityOpt");
	if (!s->sudo)
		cJSON_AddItemToArray(options, cJSON_CreateString("no-new-privileges:true"));
	cJSON_AddItemToArray(options, cJSON_CreateString(seccomp.s));
	if (s->apparmor && *s->apparmor) {
		snprintf(apparmor, sizeof apparmor, "apparmor=%s", s->apparmor);
		cJSON_AddItemToArray(options, cJSON_CreateString(apparmor));
	}
	cJSON_AddBoolToObject(host, "ReadonlyRootfs", !s->sudo && !s->writable_root);
	cJSON_AddItemToObject(host, "CapDrop", make_string_array((const char *const[]){"ALL"}, 1));
	ncaps = spec_caps(s, &caps);
	if (ncaps)
		cJSON_AddItemToObject(host, "CapAdd", make_string_array(caps, ncaps));
	if (s->runtime)
		cJSON_AddStringToObject(host, "Runtime", s->runtime);
	cJSON_AddBoolToObject(host, "Privileged", false);
	cJSON_AddBoolToObject(host, "Init", false);
	cJSON_AddStringToObject(host, "IpcMode", "private");
	cJSON_AddStringToObject(host, "CgroupnsMode", "private");
	/* Shared memory segments end with the last process that has them: else they outlive the command, as
	 * memory that nothing can be killed for. */
	cJSON_AddStringToObject(
		cJSON_AddObjectToObject(host, "Sysctls"), "kernel.shm_rmid_forced", "1");
}

static void add_log(cJSON *host)
{
	cJSON *log = cJSON_AddObjectToObject(host, "LogConfig"), *config;

	cJSON_AddStringToObject(log, "Type", "json-file");
	config = cJSON_AddObjectToObject(log, "Config");
	cJSON_AddStringToObject(config, "max-size", "8m");
	cJSON_AddStringToObject(config, "max-file", "2");
}

/* Members find each other by their ids.  The engine's resolver must not carry names of the outside
 * world there and back: it would ask the servers named here, in the container's own network. */
static void add_private_network(cJSON *root, cJSON *host, const struct spec *s)
{
	cJSON *ends = cJSON_AddObjectToObject(
		cJSON_AddObjectToObject(root, "NetworkingConfig"), "EndpointsConfig");
	cJSON *end = cJSON_AddObjectToObject(ends, s->net_id);

	if (s->agent && *s->agent)
		cJSON_AddItemToObject(end, "Aliases", make_string_array(&s->agent, 1));
	cJSON_AddItemToObject(
		host, "Dns", make_string_array((const char *const[]){"127.0.0.1"}, 1));
	cJSON_AddItemToObject(host, "DnsSearch", make_string_array((const char *const[]){"."}, 1));
}

static void append_string(cJSON *array, const char *word)
{
	cJSON_AddItemToArray(array, cJSON_CreateString(word));
}

static void add_number_word(cJSON *array, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, v);
	append_string(array, text);
}

static void add_mount_words(cJSON *array, bool read_only, const char *target)
{
	append_string(array, read_only ? "ro" : "rw");
	append_string(array, target);
}

/*
 * What `docker inspect` and `docker ps` show: the guest's own look around (guest/health.c), in the place of any
 * check of the image's.  Once an hour, for each costs an engine exec.  Engines from 25 on look for the first time
 * after ten seconds, older ones after the hour.
 */
static void add_health(cJSON *root, const struct spec *s)
{
	cJSON *health = cJSON_AddObjectToObject(root, "Healthcheck"),
	      *test = cJSON_AddArrayToObject(health, "Test");

	/* gVisor's kernel does not tell the limits that would be looked at. */
	if (s->entry || s->no_lane) {
		append_string(test, "NONE");
		return;
	}
	append_string(test, "CMD");
	append_string(test, LANE_GUEST_PATH);
	append_string(test, LANE_GUEST_HEALTH);
	add_number_word(test, (uint64_t)s->limits.open_files);
	add_number_word(test, s->limits.file_bytes);
	add_number_word(test, s->limits.memory_bytes);
	add_number_word(test, (uint64_t)s->limits.pids);
	add_mount_words(test, !s->sudo && !s->writable_root, "/");
	add_mount_words(test, false, "/tmp");
	if (s->home)
		add_mount_words(test, false, SPEC_HOME);
	for (size_t i = 0; i < s->mounts.n; i++)
		add_mount_words(test, s->mounts.mount[i].read_only, s->mounts.mount[i].target);
	add_whole_number(health, "Interval", 3600 * NS_PER_S);
	add_whole_number(health, "Timeout", 30 * NS_PER_S);
	add_whole_number(health, "StartPeriod", 60 * NS_PER_S);
	add_whole_number(health, "StartInterval", 10 * NS_PER_S);
	add_whole_number(health, "Retries", 1);
}

/* What is asked for, without the labels that name this one container. */
static cJSON *profile_of(const struct spec *s)
{
	char uid[16], gid[16];
	const char *const guest[] = {LANE_GUEST_PATH, "as", uid, gid},
			  *const alone[] = {LANE_GUEST_PATH, LANE_GUEST_ALONE};
	const char *const *entry = s->entry ? s->entry : s->no_lane ? alone : guest;
	size_t nentry = s->entry ? s->nentry : s->no_lane ? 2 : s->sudo ? 4 : 1, nenv;
	cJSON *root = cJSON_CreateObject(), *host;
	const char *const *env;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	char user[32];

	spec_environment(s, &mem, &env, &nenv);
	snprintf(uid, sizeof uid, "%u", (unsigned)s->uid);
	snprintf(gid, sizeof gid, "%u", (unsigned)s->gid);
	snprintf(user, sizeof user, "%u:%u", s->sudo ? 0 : (unsigned)s->uid,
		s->sudo ? 0 : (unsigned)s->gid);
	cJSON_AddStringToObject(root, "Image", s->image);
	cJSON_AddStringToObject(root, "User", user);
	/* Never the image's: /proc/self/fd/N there has led runtimes out to the host. */
	cJSON_AddStringToObject(root, "WorkingDir", s->workdir ? s->workdir : "/");
	cJSON_AddItemToObject(root, "Env", make_string_array(env, nenv));
	cJSON_AddItemToObject(root, "Entrypoint", make_string_array(entry, nentry));
	cJSON_AddItemToObject(root, "Cmd", cJSON_CreateArray());
	add_health(root, s);
	add_whole_number(root, "StopTimeout", 3);
	host = cJSON_AddObjectToObject(root, "HostConfig");
	add_security(host, s);
	add_limits(host, s);
	add_tmpfs(host, s);
	add_mount_objects(host, s);
	add_log(host);
	if (s->network == NET_INTERNAL)
		add_private_network(root, host, s);
	cJSON_AddStringToObject(host, "NetworkMode",
		s->network == NET_INTERNAL ? s->net_id : net_mode_name(s->network));
	return root;
}

void spec_hash(const struct spec *s, char hash[17])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	struct spec plain = *s;
	unsigned len = 0;
	cJSON *root;
	char *text;

	plain.seccomp_file = NULL; /* the filter itself counts, wherever it is */
	plain.user_processes = 0;
	root = profile_of(&plain);

	/* Asked for, though not of the engine. */
	if (s->relay)
		cJSON_AddBoolToObject(root, "berth.relay", true);
	if (s->net_rate)
		add_whole_number(root, "berth.rate", s->net_rate);
	for (size_t i = 0; i < COUNT(s->handed); i++)
		for (size_t k = 0; s->handed[i] && k < s->handed[i]->n; k++)
			cJSON_AddStringToObject(root, "berth.handed", s->handed[i]->word[k]);
	text = cJSON_PrintUnformatted(root);
	CHECK(EVP_Digest(text, strlen(text), digest, &len, EVP_sha256(), NULL) && len >= 8);
	hex_text(hash, digest, 8);
	cJSON_free(text);
	cJSON_Delete(root);
}

void spec_body(const struct spec *s, struct str *out)
{
	cJSON *root = profile_of(s), *labels = cJSON_AddObjectToObject(root, "Labels");
	char hash[17], *text;

	spec_hash(s, hash);
	cJSON_AddStringToObject(labels, "berth.role", spec_role_name(s->role));
	cJSON_AddStringToObject(labels, "berth.spec", hash);
	cJSON_AddStringToObject(labels, "berth.session", s->session);
	cJSON_AddStringToObject(labels, "berth.proof", s->proof);
	if (s->agent && *s->agent)
		cJSON_AddStringToObject(labels, "berth.agent", s->agent);
	if (s->owner)
		cJSON_AddStringToObject(labels, "berth.owner", s->owner);
	text = cJSON_PrintUnformatted(root);
	str_adds(out, text);
	cJSON_free(text);
	cJSON_Delete(root);
}

int spec_refuses(const struct spec *s, struct err *e)
{
	for (size_t i = 0; s->product && s->product->mount_words && i < s->mounts.n; i++) {
		const struct mount *m = &s->mounts.mount[i];
		const char *bad = strpbrk(m->source, ",\"\n\r") ? m->source : m->target;

		if (strpbrk(bad, ",\"\n\r"))
			return err_set(e, ERR_REFUSED,
				"%s cannot mount %s: commas, quotation marks and line breaks in paths are not supported; use a path without them.",
				s->product->name, bad);
	}
	return 0;
}

size_t spec_caps(const struct spec *s, const char *const **out)
{
	*out = s->sudo ? sudo_caps : s->caps;
	return s->sudo ? COUNT(sudo_caps) : s->ncaps;
}

size_t spec_loosened(const struct spec *s, const char *out[8])
{
	size_t n = 0;

	if (s->sudo) {
		out[n++] = "root inside the container, by sudo";
		out[n++] = "a writable root file system";
		out[n++] =
			"the capabilities that apt needs (chown, dac_override, fowner, fsetid, kill, "
			"setgid, setuid)";
		out[n++] = "new privileges (sudo)";
	}
	if (s->apparmor_optional)
		out[n++] = "no AppArmor profile where the engine gives none";
	if (s->network == NET_HOST)
		out[n++] = "the host's network, with everything that listens on it";
	else if (s->network == NET_BRIDGE)
		out[n++] = "a network with outside access";
	else if (s->own_host)
		out[n++] =
			"services on the host's loopback, at the ports that its rules and routes name";
	return n;
}
