/* trace.c - writes the debug log of BERTH_LOG, with secrets masked. */
#include <berth/trace.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#define KEY_MAX 64

unsigned trace_topics;
static int trace_fd = -1;
static const char *const topic_names[TRACE_TOPICS] = {"engine", "lane", "commands", "events"};

/* ---- opening */

static int read_topic_list(const char *list, unsigned *ret, struct err *e)
{
	*ret = 0;
	while (*list) {
		size_t n = strcspn(list, ","), i = 0;

		while (i < TRACE_TOPICS &&
			(strlen(topic_names[i]) != n || memcmp(topic_names[i], list, n)))
			i++;
		if (i == TRACE_TOPICS)
			return err_set(e, ERR_USAGE,
				"BERTH_LOG: unknown topic \"%.*s\"; the topics are engine, lane, commands and events.",
				(int)(n < 40 ? n : 40), list);
		*ret |= 1u << i;
		list += n + (list[n] == ',');
	}
	return 0;
}

int trace_open(const char *spec, struct err *e)
{
	const char *colon = spec ? strrchr(spec, ':') : NULL;
	unsigned topics = (1u << TRACE_TOPICS) - 1;
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int fd = -1;
	struct err why = ERR_INIT;
	struct stat st;

	if (!spec || !*spec)
		return 0;
	if (colon && (colon == spec || !colon[1] || strchr(colon, '/')))
		colon = NULL;
	if (colon && read_topic_list(colon + 1, &topics, e))
		return -1;
	path = colon ? xasprintf("%.*s", (int)(colon - spec), spec) : xstrdup(spec);
	fd = open(path,
		O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		0600);
	if (fd < 0) {
		err_sys(&why, errno, "BERTH_LOG: cannot write to %s", path);
		why.kind = ERR_USAGE;
		return err_copy(e, &why);
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 ||
		fchmod(fd, 0600))
		return err_set(e, ERR_USAGE,
			"BERTH_LOG: %s is not a regular file that only you can access: "
			"name another one.",
			path);
	cleanup_close(&trace_fd);
	trace_fd = steal_fd(&fd);
	trace_topics = topics;
	return 0;
}

/* ---- secrets */

struct masking {
	const char *at, *end;
	struct str *out;
	char key[KEY_MAX]; /* of the member that is being read */
	int depth, hidden; /* hidden: all strings from that depth on are masked; 0: none */
	bool env;          /* they are NAME=value */
	bool next;         /* the word before was --password */
};

static bool has_credentials(const char *s)
{
	const char *scheme = strstr(s, "://"), *at = scheme ? strchr(scheme, '@') : NULL;

	return (at && memchr(scheme + 3, ':', (size_t)(at - scheme - 3))) ||
		strcasestr(s, "bearer ") || strstr(s, "-----BEGIN");
}

bool trace_hides(const char *text)
{
	return has_credentials(text) || (strpbrk(text, " :") && text_looks_secret(text));
}

/* A string that is a value: what may be shown of it. */
static void mask_value(struct masking *m, const char *s, size_t n)
{
	const char *eq = memchr(s, '=', n);
	AUTO_STR struct str name = STR_INIT, all = STR_INIT;
	bool hide = m->hidden || text_looks_secret(m->key), script;

	str_add(&name, s, eq ? (size_t)(eq - s) : n);
	str_add(&all, s, n);
	/* Words of a shell, headers: by its name alone a secret in it is not found. */
	script = strcmp(m->key, "message") && strpbrk(all.s, " :") && text_looks_secret(all.s);
	if (eq && (m->env || (!hide && !script && text_looks_secret(name.s))))
		str_addf(m->out, "%s=***", name.s);
	else if (hide && m->env)
		str_adds(m->out, name.s);
	else if (hide || script || m->next || has_credentials(all.s))
		str_adds(m->out, "***");
	else
		str_add(m->out, s, n);
	m->next = !eq && *name.s == '-' && text_looks_secret(name.s);
}

static void mask_string(struct masking *m)
{
	const char *begin = ++m->at, *after;
	size_t n;

	while (m->at < m->end && *m->at != '"')
		m->at += *m->at == '\\' && m->at + 1 < m->end ? 2 : 1;
	n = (size_t)(m->at - begin);
	m->at += m->at < m->end;
	after = m->at;
	while (after < m->end && (*after == ' ' || *after == '\n'))
		after++;
	str_addc(m->out, '"');
	if (after < m->end && *after == ':') {
		snprintf(m->key, sizeof m->key, "%.*s", n < KEY_MAX ? (int)n : KEY_MAX, begin);
		m->next = false;
		str_add(m->out, begin, n);
	} else {
		mask_value(m, begin, n);
	}
	str_addc(m->out, '"');
}

static void enter_value(struct masking *m)
{
	m->depth++;
	m->next = false;
	if (m->hidden)
		return;
	m->env = strcmp(m->key, "Env") == 0;
	if (m->env || text_looks_secret(m->key))
		m->hidden = m->depth;
}

static void leave_value(struct masking *m)
{
	if (m->hidden == m->depth)
		m->hidden = m->env = 0;
	m->depth--;
	*m->key = '\0';
}

void trace_mask_json(struct str *out, const char *s, size_t n)
{
	struct masking m = {.at = s, .end = s + n, .out = out};

	while (m.at < m.end) {
		char c = *m.at;

		if (c == '"') {
			mask_string(&m);
			continue;
		}
		if (c == '{' || c == '[')
			enter_value(&m);
		else if (c == '}' || c == ']')
			leave_value(&m);
		str_addc(out, c);
		m.at++;
	}
}

/* Of a target the parameters that hold build arguments, environments or secrets. */
static void mask_target(struct str *out, const char *target)
{
	size_t n = strcspn(target, "?");

	str_add(out, target, n);
	for (target += n; *target; target += n) {
		AUTO_STR struct str name = STR_INIT;
		size_t length = strcspn(target + 1, "&=");

		n = 1 + strcspn(target + 1, "&");
		str_add(&name, target + 1, length);
		if (text_looks_secret(name.s) || !strcmp(name.s, "buildargs") ||
			!strcmp(name.s, "changes"))
			str_addf(out, "%c%s=***", *target, name.s);
		else
			str_add(out, target, n);
	}
}

/* ---- writing */

static void write_trace(enum trace_topic topic, const struct str *text)
{
	AUTO_STR struct str line = STR_INIT;
	struct timespec now;
	struct tm tm;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	str_addf(&line, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ %d %s ", tm.tm_year + 1900,
		tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, now.tv_nsec / 1000,
		(int)getpid(), topic_names[topic]);
	text_neutralise(&line, text->s, text->len, true);
	if (line.len > TRACE_LINE_MAX - 1) {
		line.len = TRACE_LINE_MAX - 4;
		str_adds(&line, "...");
	}
	str_addc(&line, '\n');
	/* One write, so that lines of several threads and processes stay whole; on a full disk it is not there. */
	if (write(trace_fd, line.s, line.len) < 0)
		return;
}

void trace_line(enum trace_topic topic, const char *fmt, ...)
{
	AUTO_STR struct str text = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_addv(&text, fmt, ap);
	va_end(ap);
	write_trace(topic, &text);
}

void trace_http(const char *what, const char *target, const char *body, size_t n)
{
	AUTO_STR struct str text = STR_INIT;

	str_adds(&text, what);
	if (target) {
		str_addc(&text, ' ');
		mask_target(&text, target);
	}
	if (n)
		str_addf(&text, " %zu bytes", n);
	if (n && (*body == '{' || *body == '[')) {
		str_addc(&text, ' ');
		trace_mask_json(&text, body, n < TRACE_LINE_MAX ? n : TRACE_LINE_MAX);
	}
	write_trace(TRACE_ENGINE, &text);
}
