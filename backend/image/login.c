/*
 * login.c - reads registry logins from ~/.docker/config.json.
 *
 * Only what stands in the file itself; credential helpers are programs, and are not run.  What is read
 * goes into one header of one request, and nowhere else.
 */
#include "image/image.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <berth/file.h>
#include <berth/mem.h>

#define CONFIG_MAX (1 << 20)
#define AUTH_MAX 16384

static cJSON *docker_config(void)
{
	const char *dir = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
	AUTO_FREE char *path = NULL;
	AUTO_STR struct str text = STR_INIT;
	cJSON *root = NULL;

	if ((!dir || !*dir) && (!home || !*home))
		return NULL;
	path = dir && *dir ? xasprintf("%s/config.json", dir)
			   : xasprintf("%s/.docker/config.json", home);
	if (!file_read(AT_FDCWD, path, 0, CONFIG_MAX, &text, NULL))
		root = ejson_parse(text.s, text.len, NULL);
	OPENSSL_cleanse(text.s, text.len);
	return root;
}

/* Base 64 for URLs, padded, as the engine reads it. */
static char *header_of(const char *name, const struct str *json)
{
	char *out = xmalloc(json->len * 2 + 64), *at;
	int n = sprintf(out, "%s: ", name);

	at = out + n;
	EVP_EncodeBlock((unsigned char *)at, (const unsigned char *)json->s, (int)json->len);
	for (; *at; at++)
		*at = *at == '+' ? '-' : *at == '/' ? '_' : *at;
	return out;
}

/* "auth": base 64 of user:password; or an identity token. */
static bool add_login(struct str *json, const char *server, const cJSON *entry)
{
	const char *auth = ejson_string(entry, "auth");
	const char *token = ejson_string(entry, "identitytoken");
	unsigned char plain[AUTH_MAX];
	char *colon;
	int n;

	if (strlen(auth) > sizeof plain - 4 || strlen(token) > AUTH_MAX)
		return false;
	n = EVP_DecodeBlock(plain, (const unsigned char *)auth, (int)strlen(auth));
	if (n < 0 || (!n && !*token))
		return false;
	plain[n < 0 ? 0 : n] = '\0'; /* padding decodes to NULs, which end the text too */
	colon = strchr((char *)plain, ':');
	if (!colon && !*token)
		return false;
	if (colon)
		*colon = '\0';
	str_adds(json, "{\"username\":");
	str_add_json(json, colon ? (char *)plain : "");
	str_adds(json, ",\"password\":");
	str_add_json(json, colon && !*token ? colon + 1 : "");
	str_adds(json, ",\"identitytoken\":");
	str_add_json(json, token);
	str_adds(json, ",\"serveraddress\":");
	str_add_json(json, server);
	str_addc(json, '}');
	OPENSSL_cleanse(plain, sizeof plain);
	return true;
}

/* The registry of "host:port/name" or "host.name/name"; Docker's own, which the file calls by its first
 * address, for "name", "team/name" and where it is named. */
static void registry_of(const char *reference, char *buf, size_t cap)
{
	size_t n = strcspn(reference, "/");

	snprintf(buf, cap, "%.*s", (int)n, reference);
	if (!reference[n] || (!strpbrk(buf, ".:") && strcmp(buf, "localhost")) ||
		!strcmp(buf, "docker.io") || !strcmp(buf, "index.docker.io"))
		snprintf(buf, cap, "https://index.docker.io/v1/");
}

char *login_header(const char *reference)
{
	AUTO_JSON cJSON *root = docker_config();
	AUTO_STR struct str json = STR_INIT;
	char server[IMAGE_REFERENCE_MAX];
	char *header = NULL;

	registry_of(reference, server, sizeof server);
	if (add_login(&json, server, ejson_path(root, "auths", server, NULL)))
		header = header_of("X-Registry-Auth", &json);
	OPENSSL_cleanse(json.s, json.len);
	return header;
}

char *login_all_header(void)
{
	AUTO_JSON cJSON *root = docker_config();
	AUTO_STR struct str json = STR_INIT;
	const cJSON *one;
	char *header = NULL;
	size_t n = 0;

	str_addc(&json, '{');
	cJSON_ArrayForEach(one, ejson_get(root, "auths"))
	{
		AUTO_STR struct str login = STR_INIT;

		if (n >= 64 || !one->string || strlen(one->string) > 255 ||
			!add_login(&login, one->string, one))
			continue;
		if (n++)
			str_addc(&json, ',');
		str_add_json(&json, one->string);
		str_addc(&json, ':');
		str_add(&json, login.s, login.len);
		OPENSSL_cleanse(login.s, login.len);
	}
	str_addc(&json, '}');
	if (n)
		header = header_of("X-Registry-Config", &json);
	OPENSSL_cleanse(json.s, json.len);
	return header;
}
