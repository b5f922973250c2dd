/* egress_rules.c - what a program asked for, which rule decides, and which addresses are nobody's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include <berth/egress.h>
#include <berth/mem.h>

static void expect_target(const char *text, const char *host, int port, int family)
{
	struct egress_target t;
	struct err e = ERR_INIT;

	if (egress_parse_target(text, strlen(text), 0, &t, &e))
		fail_msg("%s: %s", text, e.msg);
	assert_string_equal(t.host, host);
	assert_int_equal(t.port, port);
	assert_int_equal(t.literal.family, family);
}

static void parse_targets(void **state)
{
	(void)state;
	expect_target("pypi.org:443", "pypi.org", 443, 0);
	expect_target("PyPI.org.:443", "pypi.org", 443, 0);
	expect_target("a_b.example.org:22", "a_b.example.org", 22, 0);
	expect_target("xn--bcher-kva.example:1", "xn--bcher-kva.example", 1, 0);
	expect_target("3com.com:65535", "3com.com", 65535, 0);
	expect_target("127.0.0.1:80", "127.0.0.1", 80, AF_INET);
	expect_target("[::1]:80", "::1", 80, AF_INET6);
	expect_target("[0:0:0:0:0:FFFF:7f00:1]:80", "127.0.0.1", 80, AF_INET);
	expect_target("[64:ff9b::7f00:1]:80", "64:ff9b::7f00:1", 80, AF_INET6);
}

static void refused_targets(void **state)
{
	static const char *const bad[] = {"", ":", ":80", "host", "host:", "host:0", "host:65536",
		"host:080", "host:+80", "host:80x", "host:80:80", "a b:80", "a/b:80",
		"user@host:80", "user:pass@host:80", "-a.org:80", "a-.org:80", "a..org:80",
		".org:80", "a.org..:80", "2130706433:80", "0x7f000001:80", "0x7f.0.0.1:80",
		"0177.0.0.1:80", "127.1:80", "127.0.0.01:80", "127.0.0.256:80", "1.2.3:80",
		"a.0x1:80", "a.123:80", "::1:80", "[::1]", "[::1]80", "[::1:80",
		"[fe80::1%25eth0]:80", "[fe80::1%eth0]:80", "[127.0.0.1]:80", "[host]:80",
		"b\303\274cher.example:80", "a\r\nb:80", "a\tb:80", "*.pypi.org:443", "a%2eb:80",
		"a,b:80", "a?b:80", "a#b:80", "a\\b:80"};
	struct egress_target t;
	char name[300];

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!egress_parse_target(bad[i], strlen(bad[i]), 0, &t, NULL))
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(egress_parse_target("a.org\0:80", 9, 0, &t, NULL), -1);
	assert_int_equal(egress_parse_target("a.org:80\0", 9, 0, &t, NULL), -1);
	memset(name, 'a', sizeof name);
	assert_int_equal(egress_parse_target(name, 63, 443, &t, NULL), 0);
	assert_int_equal(egress_parse_target(name, 64, 443, &t, NULL), -1);
	for (size_t i = 49; i < sizeof name; i += 50)
		name[i] = '.';
	assert_int_equal(egress_parse_target(name, 253, 443, &t, NULL), 0);
	assert_int_equal(egress_parse_target(name, 254, 443, &t, NULL), -1);
}

struct verdict {
	const char *target;
	const char *by; /* the rule that decides; NULL: none */
};

static const char *const allowed[] = {"pypi.org", "*.github.com", "git.example.org:22",
	"10.0.0.5:5432", "[2001:db8::1]:80", "host.docker.internal:11434", "*.co.example:80"};
static const char *const denied[] = {"gist.github.com", "*.evil.github.com"};

static size_t make_rules(struct egress_rule *r)
{
	size_t n = 0;

	for (size_t i = 0; i < COUNT(allowed); i++)
		assert_int_equal(egress_parse_rule(allowed[i], true, &r[n++], NULL), 0);
	for (size_t i = 0; i < COUNT(denied); i++)
		assert_int_equal(egress_parse_rule(denied[i], false, &r[n++], NULL), 0);
	return n;
}

static void decide_targets(void **state)
{
	static const struct verdict v[] = {
		{"pypi.org:443", "pypi.org"},
		{"PYPI.ORG.:443", "pypi.org"},
		{"pypi.org:80", NULL},
		{"xpypi.org:443", NULL},
		{"pypi.org.evil.example:443", NULL},
		{"www.pypi.org:443", NULL},
		{"api.github.com:443", "*.github.com"},
		{"a.b.github.com:443", "*.github.com"},
		{"github.com:443", NULL},
		{"notgithub.com:443", NULL},
		{"gist.github.com:443", "gist.github.com"},
		{"x.evil.github.com:443", "*.evil.github.com"},
		{"evil.github.com:443", "*.github.com"},
		{"git.example.org:22", "git.example.org:22"},
		{"git.example.org:443", NULL},
		{"10.0.0.5:5432", "10.0.0.5:5432"},
		{"10.0.0.6:5432", NULL},
		{"[::ffff:10.0.0.5]:5432", "10.0.0.5:5432"},
		{"[::ffff:10.0.0.6]:5432", NULL},
		{"[2001:0db8:0:0::1]:80", "[2001:db8::1]:80"},
		{"host.docker.internal:11434", "host.docker.internal:11434"},
		{"host.docker.internal:22", NULL},
		{"x.co.example:80", "*.co.example:80"},
		{"x.co.example:443", NULL},
	};
	struct egress_rule rules[16];
	size_t n = make_rules(rules);
	char text[EGRESS_RULE_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT(v); i++) {
		const struct egress_rule *r;
		struct egress_target t;

		assert_int_equal(
			egress_parse_target(v[i].target, strlen(v[i].target), 0, &t, NULL), 0);
		r = egress_judge(rules, n, &t);
		if (!r != !v[i].by)
			fail_msg("%s: decided %d", v[i].target, r != NULL);
		if (!r)
			continue;
		egress_write_rule(r, text);
		assert_string_equal(text, v[i].by);
		assert_int_equal(r->allow, r < rules + COUNT(allowed));
	}
}

static void refused_rules(void **state)
{
	static const char *const bad[] = {"", "*", "*.", "*.com", "*.10.0.0.1", "a.*.org", "*a.org",
		"http://pypi.org", "pypi.org/simple", "pypi.org:*", "10.0.0.0/8"};
	struct egress_rule r;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!egress_parse_rule(bad[i], true, &r, NULL))
			fail_msg("taken: %s", bad[i]);
}

static void tell_special(void **state)
{
	static const char *const nobody[] = {"0.0.0.0", "0.255.255.255", "10.0.0.0",
		"10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1", "127.255.255.255",
		"169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.8", "192.0.2.1",
		"192.88.99.1", "192.168.0.1", "198.18.0.0", "198.19.255.255", "198.51.100.1",
		"203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.1.2.3",
		"::127.0.0.1", "::8.8.8.8", "::ffff:0:8.8.8.8", "100:0:0:1::1", "1fff::1",
		"4000::1", "168.63.129.16", "::ffff:168.63.129.16", "64:ff9b::a83f:8110",
		"64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "100::1", "2001::1",
		"2001:1ff::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "3fff::1",
		"5f00::1", "fc00::1", "fdff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1"},
				 *const world[] = {"1.1.1.1", "9.255.255.255", "11.0.0.0",
					 "100.63.255.255", "100.128.0.0", "126.255.255.255",
					 "128.0.0.0", "168.63.129.15", "168.63.129.17",
					 "169.253.255.255", "172.15.255.255", "172.32.0.0",
					 "192.0.1.1", "192.167.255.255", "198.17.255.255",
					 "198.20.0.0", "223.255.255.255", "2606:4700::1111",
					 "2001:200::1", "2003::1", "64:ff9b::101:101",
					 "::ffff:1.1.1.1", "2002:101:101::", "2a00::1"};
	struct egress_address a;

	(void)state;
	for (size_t i = 0; i < COUNT(nobody) + COUNT(world); i++) {
		const char *text = i < COUNT(nobody) ? nobody[i] : world[i - COUNT(nobody)];

		a.family = strchr(text, ':') ? AF_INET6 : AF_INET;
		assert_int_equal(inet_pton(a.family, text, &a.v4), 1);
		if (!egress_special(&a) != (i >= COUNT(nobody)))
			fail_msg("%s: %s", text,
				egress_special(&a) ? egress_special(&a) : "ordinary");
	}
}

/* A ClientHello with these server names; returns its length, cut into records of `piece` bytes. */
static size_t make_hello(
	uint8_t *out, const char *const *names, size_t n, size_t padding, size_t piece)
{
	static uint8_t hello[EGRESS_HELLO_MAX + 4096];
	size_t at = 4 + 34, start, length, len = 0;

	memset(hello, 0, at);
	hello[at++] = 0;                                    /* session */
	memcpy(hello + at, "\0\2\x13\x01\1\0", 6), at += 6; /* cipher, compression */
	start = at, at += 2;
	if (padding) {
		hello[at++] = 0, hello[at++] = 21;
		hello[at++] = (uint8_t)(padding >> 8), hello[at++] = (uint8_t)padding;
		memset(hello + at, 0, padding), at += padding;
	}
	for (size_t i = 0; i < n; i++) {
		size_t host = strlen(names[i]);

		hello[at++] = 0, hello[at++] = 0;
		hello[at++] = (uint8_t)((host + 5) >> 8), hello[at++] = (uint8_t)(host + 5);
		hello[at++] = (uint8_t)((host + 3) >> 8), hello[at++] = (uint8_t)(host + 3);
		hello[at++] = 0;
		hello[at++] = (uint8_t)(host >> 8), hello[at++] = (uint8_t)host;
		memcpy(hello + at, names[i], host), at += host;
	}
	length = at - start - 2;
	hello[start] = (uint8_t)(length >> 8), hello[start + 1] = (uint8_t)length;
	length = at - 4;
	hello[0] = 1, hello[1] = (uint8_t)(length >> 16), hello[2] = (uint8_t)(length >> 8),
	hello[3] = (uint8_t)length;
	for (size_t from = 0; from < at; from += piece) {
		size_t here = at - from < piece ? at - from : piece;

		out[len++] = 22, out[len++] = 3, out[len++] = 1;
		out[len++] = (uint8_t)(here >> 8), out[len++] = (uint8_t)here;
		memcpy(out + len, hello + from, here), len += here;
	}
	return len;
}

static void hello_names(void **state)
{
	static uint8_t bytes[65536];
	const char *const one[] = {"PyPI.org"}, *const two[] = {"pypi.org", "evil.example"},
			  *const bad[] = {"10.0.0.1", "pypi.org:443", "pypi.org.", "a b", ""};
	char name[EGRESS_HOST_MAX];
	size_t len;

	(void)state;
	/* However it is cut, whatever has come so far is too little until all has. */
	for (size_t piece = 1; piece < 80; piece += 13) {
		len = make_hello(bytes, one, 1, 0, piece);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(egress_hello_name(bytes, i, name), 0);
		assert_int_equal(egress_hello_name(bytes, len, name), 1);
		assert_string_equal(name, "pypi.org");
	}
	/* What a client sends behind it, before an answer. */
	for (size_t i = 0; i < 2; i++) {
		static const uint8_t early[] = {20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 2, 'h', 'i'};

		len = make_hello(bytes, one, 1, 0, i ? 40 : 16384);
		memcpy(bytes + len, early, sizeof early);
		for (size_t more = 0; more <= sizeof early; more++)
			assert_int_equal(egress_hello_name(bytes, len + more, name), 1);
		assert_string_equal(name, "pypi.org");
		bytes[0] = 23; /* and before it nothing */
		assert_int_equal(egress_hello_name(bytes, len, name), -1);
	}
	len = make_hello(bytes, one, 1, 8000, 16384);
	assert_int_equal(egress_hello_name(bytes, len, name), 1);
	len = make_hello(bytes, one, 1, 17000, 16384);
	assert_int_equal(
		egress_hello_name(bytes, len < EGRESS_HELLO_MAX ? len : EGRESS_HELLO_MAX, name),
		-1);
	len = make_hello(bytes, two, 2, 0, 16384);
	assert_int_equal(egress_hello_name(bytes, len, name), -1);
	len = make_hello(bytes, one, 0, 0, 16384);
	assert_int_equal(egress_hello_name(bytes, len, name), -1);
	for (size_t i = 0; i < COUNT(bad); i++) {
		len = make_hello(bytes, &bad[i], 1, 0, 16384);
		assert_int_equal(egress_hello_name(bytes, len, name), -1);
	}
	assert_int_equal(egress_hello_name((const uint8_t *)"GET / HTTP/1.1\r\n", 16, name), -1);
	assert_int_equal(egress_hello_name((const uint8_t *)"SSH-2.0-x", 9, name), -1);
	/* Every length in it made wrong, one byte after the other: never found under another name, never beyond the end. */
	for (size_t i = 0, n = make_hello(bytes, one, 1, 0, 16384); i < n; i++)
		for (int change = 1; change < 256; change <<= 1) {
			uint8_t *exact = malloc(n);

			memcpy(exact, bytes, n);
			exact[i] ^= (uint8_t)change;
			egress_hello_name(exact, n, name);
			free(exact);
		}
}

static struct egress_target target_of(const char *text)
{
	struct egress_target t;

	assert_int_equal(egress_parse_target(text, strlen(text), EGRESS_TLS_PORT, &t, NULL), 0);
	return t;
}

static void owners_of_names(void **state)
{
	static const char *const names[][2] = {{"github.com", "github.com"},
		{"api.codeload.github.com", "github.com"}, {"www.example.co.uk", "example.co.uk"},
		{"example.co.uk", "example.co.uk"}, {"www.example.de", "example.de"},
		{"localhost", "localhost"}, {"10.1.2.3", "10.1.2.3"},
		{"[2001:db8::1]", "2001:db8::1"}};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct egress_target t = target_of(names[i][0]);

		assert_string_equal(t.host + egress_registrable(&t), names[i][1]);
	}
}

/* Asking is a rule that decides on nothing. */
static void rules_that_ask(void **state)
{
	struct egress_rule r[3];
	struct egress_target known = target_of("pypi.org"), near = target_of("files.pypi.org"),
			     far = target_of("example.org");

	(void)state;
	assert_int_equal(egress_parse_rule("pypi.org", true, &r[0], NULL), 0);
	r[1] = (struct egress_rule){.ask_s = 30};
	assert_int_equal(egress_parse_rule("*.example.org", false, &r[2], NULL), 0);
	assert_int_equal(egress_asks(r, 1), 0);
	assert_int_equal(egress_asks(r, 3), 30);
	assert_string_equal(egress_rule_verb(&r[1]), "ask");
	assert_ptr_equal(egress_judge(r, 3, &known), &r[0]);
	assert_null(egress_judge(r, 3, &near));
	assert_ptr_equal(egress_near(r, 3, &near), &r[0]);
	assert_ptr_equal(egress_near(r, 3, &far), &r[2]);
	assert_null(egress_near(r, 2, &far));
	assert_int_equal(egress_answer_of("session"), EGRESS_ANSWER_SESSION);
	assert_int_equal(egress_answer_of("always"), -1);
}

/* A person who is asked should know. */
static void targets_that_are_special(void **state)
{
	static const char *const ordinary[] = {"pypi.org", "1.1.1.1:80", "metadata.test:80",
		"[2606:4700::1111]", "x.host.docker.internal"};
	static const char *const special[][2] = {{"169.254.169.254:80", "credentials"},
		{"host.docker.internal:80", "this machine"},
		{"[::ffff:127.0.0.1]:1", "this machine"}, {"10.0.0.1", "private"},
		{"[fd00:ec2::254]:80", "private"}, {"168.63.129.16:80", "credentials"}};

	(void)state;
	for (size_t i = 0; i < COUNT(ordinary); i++) {
		struct egress_target t = target_of(ordinary[i]);

		assert_null(egress_leads_to(NULL, 0, &t));
	}
	for (size_t i = 0; i < COUNT(special); i++) {
		struct egress_target t = target_of(special[i][0]);

		assert_non_null(strstr(egress_leads_to(NULL, 0, &t), special[i][1]));
	}
}

/* So is a limit of what passes. */
static void rules_that_limit(void **state)
{
	struct egress_rule r[2] = {{.rate = 1048576}};
	struct egress_target t = target_of("pypi.org");
	char text[EGRESS_RULE_MAX];

	(void)state;
	assert_int_equal(egress_parse_rule("pypi.org", true, &r[1], NULL), 0);
	assert_ptr_equal(egress_judge(r, 2, &t), &r[1]);
	assert_null(egress_judge(r, 1, &t));
	assert_null(egress_near(r, 1, &t));
	assert_int_equal(egress_rate(r, 2), 1048576);
	assert_int_equal(egress_rate(r + 1, 1), 0);
	assert_string_equal(egress_rule_verb(&r[0]), "rate");
	egress_write_rule(&r[0], text);
	assert_string_equal(text, "1048576");
	assert_false(egress_reaches_host(&r[0]));
}

/* A port other than 443 is raw unless a rule asks for more; the stricter of two rules counts. */
static void rules_that_ask_for_tls(void **state)
{
	static const char *const good[][2] = {{"tls://git.test:8443", "tls://git.test:8443"},
		{"tls://*.git.test:8443", "tls://*.git.test:8443"}, {"tls://git.test", "git.test"},
		{"tls://git.test:443", "git.test"},
		{"preset:x tls://GIT.test.:1", "tls://git.test:1"}};
	static const char *const bad[] = {"tls://10.0.0.1:8443", "tls://[::1]:8443", "tls://",
		"tls://git.test:8443/", "TLS://git.test:8443", "tls://tls://git.test:1",
		"*.tls://git.test:1", "tls:git.test:1"};
	struct egress_target t = target_of("git.test:8443"), web = target_of("git.test"),
			     address = target_of("10.0.0.1:8443");
	char text[EGRESS_RULE_MAX], name[EGRESS_HOST_MAX], longest[EGRESS_RULE_MAX];
	struct egress_rule r[3];

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(egress_parse_file_rule(good[i][0], true, &r[0], NULL), 0);
		egress_write_rule(&r[0], text);
		assert_string_equal(text, good[i][1]);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!egress_parse_rule(bad[i], true, &r[0], NULL))
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(egress_parse_rule("tls://git.test:8443", false, &r[0], NULL), -1);
	assert_int_equal(egress_parse_rule("git.test:8443", true, &r[0], NULL), 0);
	assert_int_equal(egress_parse_rule("tls://git.test:8443", true, &r[1], NULL), 0);
	assert_int_equal(egress_parse_rule("git.test:8443", false, &r[2], NULL), 0);
	assert_ptr_equal(egress_judge(r, 1, &t), &r[0]);
	assert_ptr_equal(egress_judge(r, 2, &t), &r[1]);
	assert_ptr_equal(egress_judge(r, 3, &t), &r[2]);
	assert_false(egress_wants_tls(&r[0], &t));
	assert_true(egress_wants_tls(&r[1], &t));
	assert_false(egress_wants_tls(NULL, &t));
	assert_true(egress_wants_tls(NULL, &web));
	assert_false(egress_wants_tls(&r[0], &address));
	/* The longest fits in the text. */
	for (size_t i = 0; i < sizeof name; i++)
		name[i] = i % 50 == 49 ? '.' : 'a';
	name[EGRESS_HOST_MAX - 1] = '\0';
	snprintf(longest, sizeof longest, "tls://*.%s:65535", name);
	assert_int_equal(egress_parse_rule(longest, true, &r[0], NULL), 0);
	egress_write_rule(&r[0], text);
	assert_string_equal(text, longest);
}

/* By its name, by what covers that, and by an address of it in any spelling. */
static void rules_for_this_machine(void **state)
{
	static const char *const own[] = {"host.docker.internal:11434", "HOST.docker.internal.",
		"*.docker.internal:80", "tls://host.docker.internal:8443", "127.0.0.1:80",
		"127.9.9.9", "0.0.0.0:80", "[::1]:80", "[::]:80", "[::ffff:127.0.0.1]:80"};
	static const char *const others[] = {"pypi.org", "docker.internal:80",
		"*.host.docker.internal:80", "xhost.docker.internal:80", "localhost:80",
		"10.0.0.1:80", "[2001:db8::1]:80", "*.internal.test:80"};
	struct egress_rule r = {.ask_s = 30};

	(void)state;
	assert_false(egress_reaches_host(&r));
	for (size_t i = 0; i < COUNT(own); i++) {
		assert_int_equal(egress_parse_rule(own[i], true, &r, NULL), 0);
		if (!egress_reaches_host(&r))
			fail_msg("%s is this machine", own[i]);
		r.allow = false;
		assert_false(egress_reaches_host(&r));
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		assert_int_equal(egress_parse_rule(others[i], true, &r, NULL), 0);
		if (egress_reaches_host(&r))
			fail_msg("%s is another", others[i]);
	}
}

/* A proxy is no rule that decides, and is read as it is written. */
static void upstream_proxies(void **state)
{
	static const char *const good[] = {"http://proxy.test:3128", "http://10.0.0.1:80,login",
		"http://[fd00::1]:3128,trusted", "http://proxy.test:3128,login,trusted"};
	static const char *const bad[] = {"proxy.test:3128", "https://proxy.test:3128",
		"http://proxy.test", "http://u@proxy.test:1", "http://proxy.test:1/", "http://:1",
		"http://proxy.test:1,trusted,login", "http://proxy.test:1,x", "http://0x7f.1:1",
		"http://host.docker.internal:1", ""};
	struct egress_rule r[2];
	struct egress_target t = target_of("proxy.test:3128");
	char text[EGRESS_RULE_MAX], name[EGRESS_HOST_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(egress_parse_upstream(good[i], &r[0], NULL), 0);
		egress_write_rule(&r[0], text);
		assert_string_equal(text, good[i]);
		assert_string_equal(egress_rule_verb(&r[0]), "upstream");
	}
	assert_int_equal(
		r[0].upstream, EGRESS_UPSTREAM | EGRESS_UPSTREAM_LOGIN | EGRESS_UPSTREAM_TRUSTED);
	assert_null(egress_judge(r, 1, &t));
	assert_null(egress_near(r, 1, &t));
	assert_int_equal(egress_parse_rule("proxy.test:3128", true, &r[1], NULL), 0);
	assert_ptr_equal(egress_judge(r, 2, &t), &r[1]);
	assert_ptr_equal(egress_upstream(r, 2), &r[0]);
	assert_null(egress_upstream(r + 1, 1));
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!egress_parse_upstream(bad[i], &r[0], NULL))
			fail_msg("taken: %s", bad[i]);
	/* The longest host fits in the text, with all that can stand behind it. */
	for (size_t i = 0; i < EGRESS_UPSTREAM_HOST_MAX; i++)
		name[i] = i % 50 == 49 ? '.' : 'a';
	memcpy(name + EGRESS_UPSTREAM_HOST_MAX - 1, "a", 2);
	snprintf(text, sizeof text, "http://%s:65535,login,trusted", name);
	assert_int_equal(egress_parse_upstream(text, &r[0], NULL), 0);
	egress_write_rule(&r[0], text);
	assert_int_equal(egress_parse_upstream(text, &r[1], NULL), 0);
	assert_string_equal(r[1].at.host, name);
}

static struct egress_address address_of(const char *text)
{
	return target_of(text).literal;
}

/* Neither is a network of the engine's; what is in it is known in each way to write it. */
static void networks_of_the_engine(void **state)
{
	static const char *const bad[] = {"", "172.30.0.0", "172.30.0.0/", "172.30.0.0/0",
		"172.30.0.0/33", "172.30.0.0/x", "172.30.0.0/16x", "172.30.0.0/-1", "name.test/16",
		"172.30/16", "2a0a::/129", "2a0a::", "/16", "[2a0a::]/48"};
	static const char *const inside[] = {"93.184.216.0", "93.184.219.255",
		"[::ffff:93.184.217.7]", "[64:ff9b::5db8:d907]", "[2002:5db8:d907::1]",
		"[2a0a:1:2::1]", "[2a0a:1:2:ffff::1]"};
	static const char *const outside[] = {
		"93.184.215.255", "93.184.220.0", "[2a0a:1:3::1]", "[2a0a:1:1:ffff::]"};
	struct egress_rule r[2];
	struct egress_target t = target_of("93.184.216.7");
	char text[EGRESS_RULE_MAX];

	(void)state;
	assert_int_equal(egress_parse_network("93.184.216.0/22", &r[0], NULL), 0);
	assert_int_equal(egress_parse_network("2a0a:1:2::/48", &r[1], NULL), 0);
	assert_string_equal(egress_rule_verb(&r[1]), "engine");
	egress_write_rule(&r[1], text);
	assert_string_equal(text, "2a0a:1:2::/48");
	assert_null(egress_judge(r, 2, &t));
	assert_null(egress_near(r, 2, &t));
	assert_false(egress_reaches_host(&r[0]));
	assert_string_equal(egress_leads_to(r, 2, &t), "a network of the engine");
	for (size_t i = 0; i < COUNT(inside); i++) {
		const struct egress_address a = address_of(inside[i]);

		if (!egress_of_engine(r, 2, &a))
			fail_msg("not known: %s", inside[i]);
	}
	for (size_t i = 0; i < COUNT(outside); i++) {
		const struct egress_address a = address_of(outside[i]);

		if (egress_of_engine(r, 2, &a))
			fail_msg("another one: %s", outside[i]);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!egress_parse_network(bad[i], &r[0], NULL))
			fail_msg("taken: %s", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(networks_of_the_engine),
		cmocka_unit_test(parse_targets),
		cmocka_unit_test(refused_targets),
		cmocka_unit_test(decide_targets),
		cmocka_unit_test(refused_rules),
		cmocka_unit_test(tell_special),
		cmocka_unit_test(hello_names),
		cmocka_unit_test(owners_of_names),
		cmocka_unit_test(rules_that_ask),
		cmocka_unit_test(targets_that_are_special),
		cmocka_unit_test(rules_that_limit),
		cmocka_unit_test(rules_that_ask_for_tls),
		cmocka_unit_test(rules_for_this_machine),
		cmocka_unit_test(upstream_proxies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
