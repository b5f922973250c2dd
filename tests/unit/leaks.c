/* leaks.c - likely secrets in files: what is told, with which line, and what is left in peace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <berth/leak_blocks.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/workspace.h>

static void note_secret(void *ctx, const char *path, unsigned line, const char *what)
{
	str_addf(ctx, "%s:%u %s\n", path, line, what);
}

static void assert_told(const char *path, const char *text, const char *want)
{
	AUTO_STR struct str told = STR_INIT;
	size_t n = workspace_find_secrets(path, text, strlen(text), note_secret, &told), lines = 0;

	for (const char *at = want; (at = strchr(at, '\n')); at++)
		lines++;
	assert_string_equal(told.s, want);
	assert_int_equal(n, lines);
}

/* Put together here, so that no such thing stands in the source. */
static void test_secret_tokens(void **state)
{
	static const char *const tokens[][3] = {
		{"AK", "IAIOSFODNN7EXAMPLE", "an access key of AWS"},
		{"gh", "p_16C7e42F292c6912E7710c838347Ae178B4a", "a token of GitHub"},
		{"github", "_pat_11ABCDEFG0aBcDeFgHiJkL", "a token of GitHub"},
		{"glp", "at-AbC123dEf456GhI789jK", "a token of GitLab"},
		{"s", "k-ant-api03-abcDEF0123456789", "an API key"},
		{"xox", "b-123456789012-AbCdEfGhIj", "a token of Slack"},
		{"AI", "zaSyD4567890abcdefghijklmnopqrstuvwxyz", "an API key of Google"},
		{"ey", "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "a web token"},
	};
	char text[200], want[200];

	(void)state;
	for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
		snprintf(text, sizeof text, "first\nsee (%s%s) here\n", tokens[i][0], tokens[i][1]);
		snprintf(want, sizeof want, "a.c:2 %s\n", tokens[i][2]);
		assert_told("a.c", text, want);
	}
}

static void test_private_keys(void **state)
{
	(void)state;
	assert_told("notes/a",
		"\n\n-----BEGIN OPENSSH PRIVATE"
		" KEY-----\nb3BlbnNzaC1rZXktdjE\n",
		"notes/a:3 a private key\n");
	assert_told("cert", "-----BEGIN CERTIFICATE-----\n", "");
}

static void test_secret_values(void **state)
{
	static const char what[] = "c:1 a value whose name suggests a secret\n";

	(void)state;
	assert_told("c", "API_KEY=a8f5f167f44f4964e6c998dee827110c", what);
	assert_told("c", "  \"db_password\": \"hunter2hunter3x\",", what);
	assert_told("c", "token = 'abc/def+0123456=='", what);
	assert_told("c", "url: postgres://app:s3cretpw@db/app", "c:1 a password in an address\n");
}

static void assert_masked(const char *path, const char *text, const char *want, bool any)
{
	AUTO_STR struct str s = STR_INIT;

	str_adds(&s, text);
	assert_int_equal(workspace_mask_secrets(path, s.s, s.len) > 0, any);
	assert_string_equal(s.s, want);
	/* The first line of a key, and the form of an address, stay. */
	if (!strstr(s.s, "PRIVATE KEY") && !strstr(s.s, "://"))
		assert_int_equal(workspace_find_secrets("", s.s, s.len, NULL, NULL), 0);
}

static void add_many(struct str *s, const char *text, int times)
{
	while (times-- > 0)
		str_adds(s, text);
}

/* Long ones are found, and masked to their end. */
static void test_long_secrets(void **state)
{
	static const int times[] = {20, 40, 1000};
	AUTO_STR struct str key = STR_INIT, masked = STR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(times); i++) {
		AUTO_STR struct str text = STR_INIT, want = STR_INIT;

		str_adds(&text, "x\n\"api_key\": \"");
		str_adds(&want, "x\n\"api_key\": \"");
		add_many(&text, "a1B2/c3D4+e5F6gh", times[i]);
		add_many(&want, "****************", times[i]);
		str_adds(&text,
			"\", gh"
			"p_");
		str_adds(&want,
			"\", gh"
			"p_");
		add_many(&text, "a1B2c3D4", times[i]);
		add_many(&want, "********", times[i]);
		assert_told("a", text.s, "a:2 a value whose name suggests a secret\n");
		assert_masked("a", text.s, want.s, true);
	}
	/* Longer than what is read at once, too. */
	str_adds(&key,
		"-----BEGIN RSA PRIVATE"
		" KEY-----\n");
	str_adds(&masked, key.s);
	add_many(&key, "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0\n", 3000);
	add_many(&masked, "********************************************\n", 3000);
	str_adds(&key,
		"-----END RSA PRIVATE"
		" KEY-----\nnext\n");
	str_adds(&masked,
		"-----END RSA PRIVATE"
		" KEY-----\nnext\n");
	assert_masked("a", key.s, masked.s, true);
	/* A web token with a short first part. */
	assert_told("a",
		"see ey"
		"JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxw1 here",
		"a:1 a web token\n");
}

/* The last line of a key looks like a name without a value. */
static void test_keys_in_named_files(void **state)
{
	(void)state;
	assert_masked("x/server.key",
		"-----BEGIN PRIVATE"
		" KEY-----\nMIIEow\nAQEA0Z3VS5==\r\nAQEA0Z3VS5=\n",
		"***************************\n******\n************\r\n***********\n", true);
	assert_masked("x/.env", "export A=b\nB=\"-----BEGIN\nMIIE+w/x=c\nC==\n",
		"export A=*\nB=***********\n**********\n***\n", true);
}

static void test_masked_names(void **state)
{
	AUTO_STR struct str s = STR_INIT;

	(void)state;
	str_adds(&s, "to ");
	assert_true(workspace_add_masked(&s, "https://me:hunter2hunter@host/x", 31));
	assert_false(workspace_add_masked(&s, ", .env", 6));
	assert_string_equal(s.s, "to https://me:*************@host/x, .env");
}

/* All that is told, and all of it, however long; lines stay lines. */
static void test_masked(void **state)
{
	static const char ends[] = "-----\nb3BlbnNzaC1rZXktdjE\nAAAA\n-----END OPENSSH PRIVATE"
				   " KEY-----\nmore\n",
			  hidden[] = "*****\n*******************\n****\n-----END OPENSSH PRIVATE"
				     " KEY-----\nmore\n";
	AUTO_STR struct str key = STR_INIT, masked = STR_INIT, long_token = STR_INIT,
			    long_masked = STR_INIT;

	(void)state;
	assert_masked("a",
		"see gh"
		"p_16C7e42F292c6912E7710c838347Ae178B4a here\n",
		"see ghp_************************************ here\n", true);
	assert_masked("a", "API_KEY=a8f5f167f44f4964\r\nx=1\n", "API_KEY=****************\r\nx=1\n",
		true);
	assert_masked("a",
		"two: gh"
		"p_16C7e42F292c6912E7710c838347Ae178B4a gh"
		"p_26C7e42F292c6912E7710c838347Ae178B4a\n",
		"two: ghp_************************************ ghp_************************************\n",
		true);
	assert_masked("a", "\"password\": \"hunter2hunter3x\", \"b\": 2",
		"\"password\": \"***************\", \"b\": 2", true);
	assert_masked(
		"a", "postgres://app:s3cretpw@db/app", "postgres://app:********@db/app", true);
	assert_masked("a",
		"ey"
		"JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJz.SflKxw;",
		"eyJ*********************************************;", true);
	str_adds(&long_token, "token=");
	str_adds(&long_masked, "token=");
	for (int i = 0; i < 30; i++) {
		str_adds(&long_token, "a1B2c3D4");
		str_adds(&long_masked, "********");
	}
	assert_masked("a", long_token.s, long_masked.s, true);
	str_addf(&key,
		"-----BEGIN OPENSSH PRIVATE"
		" KEY%s",
		ends);
	str_addf(&masked,
		"-----BEGIN OPENSSH PRIVATE"
		" KEY-----%s",
		hidden + 5);
	assert_masked("a", key.s, masked.s, true);
	assert_masked("a",
		"{\"key\": \"-----BEGIN PRIVATE"
		" KEY-----\\nMIIE\"}\n\nnext\n",
		"{\"key\": \"-----BEGIN PRIVATE"
		" KEY-----********\n\nnext\n",
		true);
	/* Named for it: the names of its values stay. */
	assert_masked("x/.env", "# old\nA=b\nPORT=80\n\nlast", "*****\nA=*\nPORT=**\n\n****", true);
	assert_masked("x/.env.example", "A=b\n", "A=b\n", false);
	assert_masked("x/.env", "", "", false);
	assert_masked("c", "API_KEY=${API_KEY}\nPASSWORD=changeme\n",
		"API_KEY=${API_KEY}\nPASSWORD=changeme\n", false);
}

static void test_no_secrets(void **state)
{
	(void)state;
	assert_told("c", "API_KEY=${API_KEY}\nTOKEN=\nPASSWORD=changeme\nSECRET=<put yours here>\n",
		"");
	assert_told("c", "token = read_token(path, 0123456789)\n", "");
	assert_told("c", "width=a8f5f167f44f4964e6c998dee827110c\n", "");
	assert_told(
		"c", "risk-assessment-of-the-whole-thing-2025\nsk-xxxxxxxxxxxxxxxxxxxxxxxx\n", "");
	assert_told("c", "https://example.org:8080/a@b\nhttp://user:${PW}@host/\n", "");
}

static void test_telling_names(void **state)
{
	(void)state;
	assert_told("deep/.env", "A=1\n", "deep/.env:0 a file whose name suggests secrets\n");
	assert_told("deep/.env", "", "");
	assert_told(".env.example", "A=\n", "");
	assert_told("x/ID_RSA.pub", "ssh-rsa AAAA\n", "");
	assert_told("server.KEY", "x", "server.KEY:0 a file whose name suggests secrets\n");
}

/* Any bytes: zeros, no newline at the end, a token cut off by the end. */
static void test_secrets_in_any_bytes(void **state)
{
	static const char bytes[] = "\0\0gh\0p_\n=\0:\0-----BEGIN \0AKIA";

	(void)state;
	for (size_t n = 0; n < sizeof bytes; n++)
		assert_int_equal(workspace_find_secrets("b", bytes, n, NULL, NULL), 0);
}

static void assert_told_in_blocks(const struct str *text, size_t block, const char *want)
{
	AUTO_STR struct str told = STR_INIT;
	struct leak_search s;

	leak_search_init(&s, "d/x.env", note_secret, &told);
	for (size_t at = 0; at < text->len; at += block)
		leak_search_add(&s, text->s + at, block < text->len - at ? block : text->len - at);
	leak_search_end(&s);
	leak_search_release(&s);
	assert_string_equal(told.s, want);
}

/* Wherever blocks and windows end: at a line, in a secret, in a line that is longer than a window. */
static void test_secrets_in_blocks(void **state)
{
	static const size_t blocks[] = {1009, 65536, 256 << 10, (1 << 20) - 1};
	AUTO_STR struct str text = STR_INIT, want = STR_INIT;
	const char *key = "-----BEGIN "
			  "RSA PRIVATE KEY-----\n";
	unsigned line = 0;

	(void)state;
	str_adds(&want, "d/x.env:0 a file whose name suggests secrets\n");
	for (int i = 0; i < 5; i++) {
		for (int k = 0; k < 40000 + i; k++, line++)
			str_adds(&text, "an ordinary line of text\n");
		str_adds(&text, key);
		str_addf(&want, "d/x.env:%u a private key\n", ++line);
	}
	for (size_t i = 0; i < (1 << 20) - 20; i++)
		str_adds(&text, ".");
	str_addf(&text, " gh%s ", "p_16C7e42F292c6912E7710c838347Ae178B4a");
	for (size_t i = 0; i < 2 << 20; i++)
		str_adds(&text, ".");
	str_addf(&text, "\n%s", key);
	str_addf(&want, "d/x.env:%u a token of GitHub\n", ++line);
	str_addf(&want, "d/x.env:%u a private key\n", ++line);
	for (size_t i = 0; i < COUNT(blocks); i++)
		assert_told_in_blocks(&text, blocks[i], want.s);
}

static void test_secrets_without_end(void **state)
{
	const char *key = "-----BEGIN "
			  "RSA PRIVATE KEY-----\n";
	AUTO_STR struct str told = STR_INIT;
	struct leak_search s;
	size_t n = 0, lines = 0;

	(void)state;
	leak_search_init(&s, "x", note_secret, &told);
	while (leak_search_add(&s, key, strlen(key)))
		n++;
	leak_search_end(&s);
	leak_search_release(&s);
	assert_true(n < 200000); /* of which a window is full */
	for (const char *at = told.s; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, LEAKS_TOLD);
}

/* Bytes are looked at many at a time: what begins at any place, or at the very end, is told like any other. */
static void test_secrets_at_any_place(void **state)
{
	char text[400], want[200];

	(void)state;
	for (int n = 0; n < 70; n++) {
		snprintf(text, sizeof text, "%*s\n%*sgh%s\n%*sKEY = a8f5f167f44f4964", n, "", n, "",
			"p_16C7e42F292c6912E7710c838347Ae178B4a", n, "");
		snprintf(want, sizeof want,
			"a:2 a token of GitHub\na:3 a value whose name suggests a secret\n");
		assert_told("a", text, want);
	}
}

/* Beginnings without an end in one line of 4 MiB: looking each up to the end of the line would take minutes. */
static void test_secrets_begun_often(void **state)
{
	static const char *const often[] = {"-----BEGIN ", "sk-", "A_TOKEN=", "TOKEN: \"",
		"a://b:c", "--", "=", "eyJ", "KEY   =   ", "gh", "A_KEY=a8f5f167f44f4964 ",
		"KEY=", "eyJ.", "sk-aaaaaaaaaaaaaaaaaaaa1.", "-----BEGIN PRIVATE KEY-----"};

	(void)state;
	for (size_t i = 0; i < COUNT(often); i++) {
		AUTO_STR struct str text = STR_INIT;

		while (text.len < 4 << 20)
			str_adds(&text, often[i]);
		assert_in_range(workspace_find_secrets("a", text.s, text.len, NULL, NULL), 0, 1);
		workspace_mask_secrets("a", text.s, text.len);
	}
}

/* One of a line is told, and NAME=VALUE far behind its beginning is none. */
static void test_secrets_of_a_line(void **state)
{
	static const char value[] = "API_KEY=a8f5f167f44f4964\n";
	AUTO_STR struct str text = STR_INIT;

	(void)state;
	assert_told("a", "A_KEY=a8f5f167f44f4964 B_KEY=b8f5f167f44f4964\nC_KEY=c8f5f167f44f4964\n",
		"a:1 a value whose name suggests a secret\na:2 a value whose name suggests a secret\n");
	while (text.len < 4096 - strlen("API_KEY"))
		str_addc(&text, ' ');
	str_adds(&text, value);
	assert_told("a", text.s, "");
	assert_told("a", text.s + 1, "a:1 a value whose name suggests a secret\n");
	str_adds(&text, value);
	assert_told("a", text.s, "a:2 a value whose name suggests a secret\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secret_tokens),
		cmocka_unit_test(test_private_keys),
		cmocka_unit_test(test_secret_values),
		cmocka_unit_test(test_masked),
		cmocka_unit_test(test_long_secrets),
		cmocka_unit_test(test_keys_in_named_files),
		cmocka_unit_test(test_masked_names),
		cmocka_unit_test(test_no_secrets),
		cmocka_unit_test(test_telling_names),
		cmocka_unit_test(test_secrets_in_any_bytes),
		cmocka_unit_test(test_secrets_in_blocks),
		cmocka_unit_test(test_secrets_without_end),
		cmocka_unit_test(test_secrets_at_any_place),
		cmocka_unit_test(test_secrets_begun_often),
		cmocka_unit_test(test_secrets_of_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
