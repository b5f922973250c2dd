/* endpoint.c - which engine is chosen: every rule of the docker CLI, in homes made for the purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/hosts.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "engine/choose.h"
#include "engine/engine.h"

static char home[64];

static void put_in_home(const char *name, const char *text)
{
	AUTO_FREE char *path = xasprintf("%s/%s", home, name);
	FILE *f;

	for (char *p = path + strlen(home) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	static const char *const names[] = {"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG",
		"DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "XDG_RUNTIME_DIR",
		"BERTH_SSH_TIMEOUT"};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		unsetenv(names[i]);
	strcpy(home, "/tmp/endpoint.XXXXXX");
	assert_non_null(mkdtemp(home));
	setenv("HOME", home, 1);
	setenv("XDG_STATE_HOME", home, 1);
	return 0;
}

static int teardown(void **state)
{
	AUTO_FREE char *command = xasprintf("rm -rf %s", home);

	(void)state;
	return system(command);
}

/* "URL|SOURCE" of the choice, or "!SENTENCE". */
static void expect_endpoint(const char *host, const char *context, const char *want)
{
	struct endpoint_options o = {.host = host, .context = context};
	struct endpoint ep;
	struct err e = ERR_INIT;
	AUTO_FREE char *got = NULL;

	if (endpoint_choose(&o, &ep, &e)) {
		got = xasprintf("!%s", e.msg);
	} else {
		got = xasprintf("%s|%s%s", ep.url, ep.source,
			ep.transport != TRANSPORT_TLS ? ""
				: ep.tls_verify       ? "|verified"
						      : "|tls");
		endpoint_release(&ep);
	}
	if (want[0] == '!' ? got[0] != '!' || !strstr(got, want + 1) : strcmp(got, want) != 0)
		fail_msg("expected %s, got %s", want, got);
}

static void test_urls(void **state)
{
	AUTO_FREE char *longest = xasprintf("unix:///%0*d", 106, 0),
		       *over = xasprintf("%s0", longest);
	AUTO_FREE char *fits = xasprintf("%s|--host", longest);

	(void)state;
	expect_endpoint("unix:///a/b.sock", NULL, "unix:///a/b.sock|--host");
	expect_endpoint("  unix:///a \n", NULL, "unix:///a|--host");
	expect_endpoint("unix://", NULL, "unix:///var/run/docker.sock|--host");
	expect_endpoint(longest, NULL, fits);
	expect_endpoint(over, NULL, "!longer than");
	expect_endpoint("unix://a", NULL, "!must begin with /");
	expect_endpoint("tcp://h:1234", NULL, "tcp://h:1234|--host");
	expect_endpoint("tcp://h:1234/", NULL, "tcp://h:1234|--host");
	expect_endpoint("tcp://h", NULL, "tcp://h:2375|--host");
	expect_endpoint("tcp://", NULL, "tcp://localhost:2375|--host");
	expect_endpoint("h:99", NULL, "tcp://h:99|--host");
	expect_endpoint("tcp://[::1]:99", NULL, "tcp://[::1]:99|--host");
	expect_endpoint("tcp://[fe80::1%eth0]", NULL, "tcp://[fe80::1%eth0]:2375|--host");
	expect_endpoint("tcp://h:0", NULL, "!port");
	expect_endpoint("tcp://h:65536", NULL, "!port");
	expect_endpoint("tcp://h:x", NULL, "!port");
	expect_endpoint("tcp://h:-1", NULL, "!port");
	expect_endpoint("tcp://h:1/path", NULL, "!without a path");
	expect_endpoint("tcp://a b:1", NULL, "!character");
	expect_endpoint("tcp://a@b:1", NULL, "!character");
	expect_endpoint("tcp://[::1", NULL, "!missing its ]");
	expect_endpoint("npipe:////./pipe/docker_engine", NULL, "!Windows");
	expect_endpoint("fd://", NULL, "!engine itself");
	expect_endpoint("ftp://x", NULL, "!unix:///PATH, tcp://HOST:PORT or ssh://HOST");
	expect_endpoint("x\x1b[31m://y", NULL, "!^[[31m");
	expect_endpoint("", NULL, "!is empty");
	expect_endpoint("unix:///a", "b", "!cannot be combined");
}

static void test_ssh_urls(void **state)
{
	static const char *const refused[] = {"ssh://", "ssh://-oProxyCommand=x", "ssh://-x@h",
		"ssh://u:p@h", "ssh://h:0", "ssh://h:65536", "ssh://h:-1", "ssh://h:22x",
		"ssh://h/a:b", "ssh://h/a b", "ssh://h/a?b", "ssh://h/a%2fb", "ssh://h;x",
		"ssh://[::1", "ssh://a b", "ssh://u@@h", "ssh://h$x", "ssh://h/${SECRET}",
		"ssh://h/run/$SECRET", "ssh://${SECRET}", "ssh://${SECRET}@h", "ssh://h:${SECRET}",
		"ssh://h/%u", "ssh://%u@h", "ssh://%h", "ssh://[fe80::1%eth0]", "ssh://~/x",
		"ssh://h/~/x", "ssh://~@h", "ssh://h/`id`", "ssh://h/$(id)", "ssh://-u@h",
		"ssh://h/a\\b", "ssh://h/a'b", "ssh://h/a\"b", "ssh://h/a;b", "ssh://h/a#b",
		"ssh://h/{a}", "ssh://h/\xc3\xa9", "ssh://h:22 ${SECRET}"};

	(void)state;
	setenv("XDG_RUNTIME_DIR", home, 1); /* where our end of it will be */
	expect_endpoint("ssh://h", NULL, "ssh://h|--host");
	expect_endpoint("ssh://h/", NULL, "ssh://h|--host");
	expect_endpoint("ssh://me@h.example.org:2222", NULL, "ssh://me@h.example.org:2222|--host");
	expect_endpoint("ssh://h/run/user/1000/docker.sock", NULL,
		"ssh://h/run/user/1000/docker.sock|--host");
	expect_endpoint("ssh://h/var/run/docker.sock", NULL, "ssh://h|--host");
	expect_endpoint("ssh://me@[::1]:22", NULL, "ssh://me@[::1]:22|--host");
	for (size_t i = 0; i < COUNT(refused); i++) {
		expect_endpoint(refused[i], NULL, "!ssh://[USER@]HOST[:PORT][/SOCKET] is expected");
		setenv("DOCKER_HOST", refused[i], 1);
		expect_endpoint(NULL, NULL, "!ssh://[USER@]HOST[:PORT][/SOCKET] is expected");
		unsetenv("DOCKER_HOST");
		assert_non_null(host_endpoint_fault(refused[i]));
	}
	/* Our end of it is an argument of ssh as well. */
	{
		AUTO_FREE char *meant = xasprintf("%s/${SECRET}", home);

		assert_int_equal(mkdir(meant, 0700), 0);
		setenv("XDG_RUNTIME_DIR", meant, 1);
	}
	expect_endpoint("ssh://h", NULL, "!which ssh would expand");
	setenv("XDG_RUNTIME_DIR", home, 1);
	expect_endpoint("ssh://h\x1b[1m", NULL, "!must not contain control characters");
	expect_endpoint("unix:///tmp/a\nb", NULL, "!must not contain control characters");
}

static void make_context(const char *folder, const char *name, const char *host, const char *more)
{
	AUTO_FREE char *file = xasprintf(".docker/contexts/meta/%s/meta.json", folder);
	AUTO_FREE char *text =
		xasprintf("{\"Name\":\"%s\",\"Metadata\":{},\"Endpoints\":{\"docker\":"
			  "{\"Host\":\"%s\"%s}}}",
			name, host, more);

	put_in_home(file, text);
}

static void test_endpoint_order(void **state)
{
	(void)state;
	make_context("aa", "one", "unix:///one", "");
	make_context("bb", "two", "unix:///two", "");
	put_in_home(".docker/config.json", "{\"auths\":{},\"currentContext\":\"two\"}");
	expect_endpoint(NULL, NULL, "unix:///two|context two (config.json)");
	setenv("DOCKER_CONTEXT", "one", 1);
	expect_endpoint(NULL, NULL, "unix:///one|context one (DOCKER_CONTEXT)");
	setenv("DOCKER_HOST", "unix:///host", 1);
	expect_endpoint(NULL, NULL, "unix:///host|DOCKER_HOST");
	expect_endpoint(NULL, "one", "unix:///one|--context one");
	expect_endpoint(NULL, "default", "unix:///host|DOCKER_HOST");
	expect_endpoint("unix:///flag", NULL, "unix:///flag|--host");
	setenv("DOCKER_HOST", "", 1);
	setenv("DOCKER_CONTEXT", "", 1);
	expect_endpoint(NULL, NULL, "unix:///two|context two (config.json)");
	setenv("DOCKER_HOST", "npipe://h", 1);
	expect_endpoint(NULL, NULL, "!DOCKER_HOST names npipe://h");
	expect_endpoint(NULL, "three", "!context three (from --context three)");
}

static void test_contexts(void **state)
{
	AUTO_FREE char *other = xasprintf("%s/other", home);

	(void)state;
	put_in_home(".docker/config.json", "{\"currentContext\":\"gone\"}");
	expect_endpoint(NULL, NULL, "!context gone");
	put_in_home(".docker/config.json", "{\"currentContext\": 7}");
	make_context("cc", "empty", "", "");
	expect_endpoint(NULL, "empty", "!names no Docker endpoint");
	make_context("dd", "far", "ssh://h", "");
	setenv("XDG_RUNTIME_DIR", home, 1);
	expect_endpoint(NULL, "far", "ssh://h|--context far");
	make_context("dv", "leak", "ssh://h/run/${SECRET}", "");
	expect_endpoint(NULL, "leak", "!the socket's path contains characters");
	make_context("ee", "plain", "tcp://h:1", "");
	expect_endpoint(NULL, "plain", "tcp://h:1|--context plain");
	make_context("ff", "loose", "tcp://h:1", ",\"SkipTLSVerify\":true");
	expect_endpoint(NULL, "loose", "tcp://h:1|--context loose|tls");
	make_context("gg", "tls", "tcp://h", "");
	put_in_home(".docker/contexts/tls/gg/docker/ca.pem", "x");
	expect_endpoint(NULL, "tls", "tcp://h:2376|--context tls|verified");
	put_in_home(".docker/contexts/meta/hh/meta.json", "{\"Name\":");
	put_in_home(".docker/contexts/meta/ii/other", "x");
	expect_endpoint(NULL, "plain",
		"tcp://h:1|--context plain"); /* a broken neighbour does not matter */
	put_in_home(".docker/config.json", "{\"currentContext\"");
	expect_endpoint(NULL, NULL, "!config.json: this is not JSON");
	expect_endpoint(NULL, "plain", "tcp://h:1|--context plain"); /* not asked, not read */
	put_in_home("other/contexts/meta/x/meta.json",
		"{\"Name\":\"plain\",\"Endpoints\":{\"docker\":{\"Host\":\"unix:///o\"}}}");
	setenv("DOCKER_CONFIG", other, 1);
	expect_endpoint(NULL, "plain", "unix:///o|--context plain");
}

static void test_tls(void **state)
{
	AUTO_FREE char *certs = xasprintf("%s/certs", home);

	(void)state;
	setenv("DOCKER_TLS_VERIFY", "1", 1);
	expect_endpoint("tcp://h", NULL, "!no ");
	expect_endpoint("unix:///a", NULL, "unix:///a|--host");
	put_in_home(".docker/ca.pem", "x");
	expect_endpoint("tcp://h", NULL, "tcp://h:2376|--host|verified");
	setenv("DOCKER_CERT_PATH", certs, 1);
	expect_endpoint("tcp://h", NULL, "!set DOCKER_CERT_PATH");
	put_in_home("certs/ca.pem", "x");
	put_in_home("certs/cert.pem", "x");
	expect_endpoint("tcp://h", NULL, "!is missing in");
	put_in_home("certs/key.pem", "x");
	expect_endpoint("tcp://h:5", NULL, "tcp://h:5|--host|verified");
	unsetenv("DOCKER_TLS_VERIFY");
	expect_endpoint("tcp://h:5", NULL, "tcp://h:5|--host");
	setenv("DOCKER_TLS", "1", 1);
	expect_endpoint("tcp://h:5", NULL, "tcp://h:5|--host|tls");
}

static void test_sockets(void **state)
{
	AUTO_FREE char *dead = xasprintf("%s/dead", home), *alive = xasprintf("%s/alive", home);
	const char *paths[] = {"/no/such", "", dead, alive};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_string_equal(choose_socket(paths, COUNT(paths)), "/no/such");
	put_in_home("dead", "");
	assert_string_equal(choose_socket(paths, COUNT(paths)), dead);
	strcpy(address.sun_path, alive);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_string_equal(choose_socket(paths, COUNT(paths)), dead);
	assert_int_equal(listen(fd, 1), 0);
	assert_string_equal(choose_socket(paths, COUNT(paths)), alive);
	close(fd);
}

static void test_endpoint_copy(void **state)
{
	struct endpoint a, b;

	(void)state;
	assert_int_equal(
		endpoint_choose(&(struct endpoint_options){.host = "tcp://h:1"}, &a, NULL), 0);
	endpoint_copy(&a, &b);
	endpoint_release(&a);
	assert_string_equal(b.host, "h");
	assert_null(a.url);
	endpoint_release(&b);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {CASE(test_urls), CASE(test_endpoint_order),
		CASE(test_ssh_urls), CASE(test_contexts), CASE(test_tls), CASE(test_sockets),
		CASE(test_endpoint_copy)};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
