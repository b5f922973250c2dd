/*
 * judge.c - for the scripts of tests/oracle: what berth reads, many inputs at once.
 *
 *   oracle-judge times NOW_MS   moments: nanoseconds, or -1
 *   oracle-judge printed        milliseconds: as stamp, as time of day, as span
 *   oracle-judge yaml           YAML files: {"root": NODE} or {"error": TEXT}
 *   oracle-judge env            env files: {"env": [[NAME, VALUE]...], "odd": BOOL} or {"error": TEXT}
 *
 * An input is a line with its length and so many bytes; for each a line of JSON is printed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/config.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/when.h>

#include "container/container.h"

static int64_t now_ms;
static struct str out;

static void put_text(const char *key, const char *text)
{
	str_addf(&out, "\"%s\":", key);
	str_add_json(&out, text);
	str_addc(&out, ',');
}

/* Python takes no comma before the end. */
static void put_end(const char *end)
{
	if (out.len && out.s[out.len - 1] == ',')
		out.s[--out.len] = '\0';
	str_adds(&out, end);
}

static void judge_time(const char *text, size_t n)
{
	struct err e = ERR_INIT;

	str_addf(&out, "%" PRId64, strlen(text) == n ? when_ns(text, now_ms, &e) : -1);
}

static void judge_printed(const char *text, size_t n)
{
	int64_t ms = strtoll(text, NULL, 10);
	char buf[FORMAT_MAX];

	(void)n;
	str_addf(&out, "[\"%s\",", format_stamp(buf, ms));
	str_addf(&out, "\"%s\",", format_wall(buf, ms));
	str_addf(&out, "\"%s\"]", format_span(buf, ms / 1000));
}

static void put_scalar(const struct config *c, const struct node *n)
{
	int64_t whole;
	uint64_t bytes;
	double number;
	bool yes;

	put_text("text", n->value);
	str_addf(&out, "\"quoted\":%s,", n->quoted ? "true" : "false");
	if (!node_int(c, n, INT64_MIN, INT64_MAX, &whole, NULL))
		str_addf(&out, "\"int\":%" PRId64 ",", whole);
	if (!node_double(c, n, -1e300, 1e300, &number, NULL))
		str_addf(&out, "\"number\":%.17g,", number);
	if (!node_bool(c, n, &yes, NULL))
		str_addf(&out, "\"bool\":%s,", yes ? "true" : "false");
	if (!node_bytes(c, n, &bytes, NULL))
		str_addf(&out, "\"bytes\":%" PRIu64 ",", bytes);
}

static void put_node(const struct config *c, const struct node *n)
{
	str_addc(&out, '{');
	if (n->key)
		put_text("key", n->key);
	if (n->kind == NODE_SCALAR) {
		put_scalar(c, n);
	} else {
		str_addf(&out, "\"%s\":[", n->kind == NODE_MAP ? "map" : "list");
		for (size_t i = 0; i < n->n; i++)
			put_node(c, n->child[i]);
		put_end("]");
	}
	put_end("},");
}

static void judge_yaml(const char *text, size_t n)
{
	struct err e = ERR_INIT;
	struct config c;

	str_addc(&out, '{');
	if (config_parse("f", text, n, &c, &e)) {
		put_text("error", e.msg);
	} else {
		str_adds(&out, "\"root\":");
		put_node(&c, c.root);
		config_release(&c);
	}
	put_end("}");
}

static void judge_env(const char *text, size_t n)
{
	char file[] = "judged-XXXXXX", odd[512];
	struct agent_def a = {.id = "a", .credentials.env_file = file};
	struct secret_values v = {0};
	struct err e = ERR_INIT;
	int fd = mkstemp(file);

	if (fd < 0 || write(fd, text, n) != (ssize_t)n || close(fd)) {
		perror("oracle-judge");
		exit(2);
	}
	str_addc(&out, '{');
	if (secrets_gather(&(const struct team){0}, &a, &v, &e)) {
		put_text("error", e.msg);
	} else {
		str_adds(&out, "\"env\":[");
		for (size_t i = 0; i < v.n; i++) {
			str_addc(&out, '[');
			str_add_json(&out, v.secret[i].name + 1);
			str_addc(&out, ',');
			str_add_json(&out, v.secret[i].value);
			str_adds(&out, "],");
		}
		put_end("],");
		str_addf(&out, "\"odd\":%s",
			secrets_odd_lines(&a.credentials, odd, sizeof odd) ? "true" : "false");
	}
	put_end("}");
	secrets_release(&v);
	unlink(file);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*judge)(const char *text, size_t n);
	} kinds[] = {{"times", judge_time}, {"printed", judge_printed}, {"yaml", judge_yaml},
		{"env", judge_env}};
	size_t n;

	now_ms = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
	str_init(&out);
	while (scanf("%zu", &n) == 1 && getchar() == '\n') {
		AUTO_FREE char *text = xcalloc(1, n + 1);

		if (fread(text, 1, n, stdin) != n)
			return 2;
		for (size_t i = 0; i < COUNT(kinds); i++)
			if (argc > 1 && !strcmp(argv[1], kinds[i].name))
				kinds[i].judge(text, n);
		puts(out.s);
		str_clear(&out);
	}
	str_release(&out);
	return 0;
}
