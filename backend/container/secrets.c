/* secrets.c - reads the values of secrets. */
#include "container/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "container/spec.h"

#define COMMAND_MS 30000

static void append_secret(struct secret_values *v, char *name, char *value, size_t len)
{
	v->secret = xreallocarray(v->secret, v->n + 1, sizeof *v->secret);
	v->secret[v->n++] = (struct lane_secret){name, value, len};
}

static int from_file(const char *name, const char *path, char **value, size_t *len, struct err *e)
{
	struct str text = STR_INIT;
	int failed = file_read(AT_FDCWD, path, 0, SECRET_MAX, &text, e);

	*len = text.len;
	*value = str_detach(&text);
	if (!failed)
		return 0;
	explicit_bzero(*value, *len);
	free(*value);
	return err_wrap(e, "cannot read the secret %s", name);
}

static int read_command_output(int fd, char *buf, size_t cap, size_t *len)
{
	int64_t deadline = clock_mono_ns() + (int64_t)COMMAND_MS * 1000000;

	for (*len = 0; *len < cap;) {
		struct pollfd p = {fd, POLLIN, 0};
		int64_t left = (deadline - clock_mono_ns()) / 1000000;
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			return -1;
		n = read(fd, buf + *len, cap - *len);
		if (n <= 0)
			return n < 0 ? -1 : 0;
		*len += (size_t)n;
	}
	return -1; /* too much */
}

/* The person's own command, from the person's own file: run directly, never through a shell. */
static int from_command(
	const char *name, const struct words *command, char **value, size_t *len, struct err *e)
{
	AUTO_FREE const char **argv = xcalloc(command->n + 1, sizeof *argv);
	int p[2], bad, status = 0;
	pid_t pid;

	for (size_t i = 0; i < command->n; i++)
		argv[i] = command->word[i];
	if (pipe2(p, O_CLOEXEC))
		return err_sys(e, errno, "cannot make a pipe");
	bad = spawn_start(
		&(struct spawn){.path = argv[0], .argv = argv, .out = p[1], .err = STDERR_FILENO},
		&pid);
	close(p[1]);
	if (bad) {
		close(p[0]);
		return err_sys(e, bad, "cannot run %s for the secret %s", argv[0], name);
	}
	*value = xcalloc(1, SECRET_MAX + 1);
	bad = read_command_output(p[0], *value, SECRET_MAX, len);
	close(p[0]);
	if (bad)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!bad && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	explicit_bzero(*value, SECRET_MAX);
	free(*value);
	return err_set(e, ERR_FAILED, "%s, which should print the secret %s, %s.", argv[0], name,
		bad ? "took too long or printed too much" : "failed");
}

int secrets_add(struct secret_values *v, const struct secret_def *d, struct err *e)
{
	char *value = NULL;
	size_t len = 0;

	if (d->from == SECRET_ENV) {
		const char *found = getenv(d->source);

		if (!found)
			return err_set(e, ERR_CONFIG,
				"the secret %s comes from the variable %s, which is not set: export %s=...",
				d->name, d->source, d->source);
		len = strlen(found);
		if (len > SECRET_MAX)
			return err_set(e, ERR_CONFIG, "the secret %s is longer than %d bytes.",
				d->name, SECRET_MAX);
		value = xstrndup(found, len);
	} else if (d->from == SECRET_FILE ? from_file(d->name, d->source, &value, &len, e)
					  : from_command(d->name, &d->command, &value, &len, e)) {
		return -1;
	}
	/* What editors and commands put at the end of a line is not part of the secret. */
	if (d->from != SECRET_ENV && len && value[len - 1] == '\n')
		len--;
	append_secret(v, xstrdup(d->name), value, len);
	return 0;
}

static char *trim_blanks(char *s)
{
	char *end = s + strlen(s);

	while (end > s && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return s + strspn(s, " \t");
}

enum env_line { ENV_NOTHING, ENV_SETS, ENV_ODD };

/* `export NAME="value"`, as MassGen reads it: blanks around name and value, and one pair of quotes around
 * the value, are not part of them.  Nothing is expanded. */
static enum env_line split_env_line(char *line, char **name, char **value)
{
	char *eq;
	size_t n;

	line = trim_blanks(line);
	if (!*line || *line == '#')
		return ENV_NOTHING;
	eq = strchr(line, '=');
	if (!eq)
		return ENV_ODD;
	*eq = '\0';
	*name = trim_blanks(line);
	if (!strncmp(*name, "export", 6) && (*name)[6 + strspn(*name + 6, " \t")] &&
		strchr(" \t", (*name)[6]))
		*name = trim_blanks(*name + 6);
	*value = trim_blanks(eq + 1);
	n = strlen(*value);
	if (n >= 2 && strchr("\"'", **value) && (*value)[n - 1] == **value) {
		(*value)[n - 1] = '\0';
		++*value;
	}
	return **name && !strpbrk(*name, " \t\r\v\f") ? ENV_SETS : ENV_ODD;
}

/* Cut the next line off, without the mark that editors put before the first. */
static char *next_env_line(char *text, char **at)
{
	char *line = *at;

	if (!*line)
		return NULL;
	*at += strcspn(line, "\n");
	if (**at)
		*(*at)++ = '\0';
	return line == text && !strncmp(line, "\xEF\xBB\xBF", 3) ? line + 3 : line;
}

bool secrets_odd_lines(const struct credentials *c, char *buf, size_t cap)
{
	char *text, *at, *name, *value;
	size_t len, odd = 0;
	int number = 0, first = 0;

	*buf = '\0';
	if (!c->env_file || from_file("environment", c->env_file, &text, &len, NULL))
		return false;
	at = text;
	/* What they hold may be a secret, so it is never shown. */
	for (char *line; (line = next_env_line(text, &at));) {
		number++;
		if (split_env_line(line, &name, &value) == ENV_ODD && !odd++)
			first = number;
	}
	explicit_bzero(text, len);
	free(text);
	if (odd == 1)
		snprintf(buf, cap, "%s:%d: this line is not NAME=value, so it sets nothing.",
			c->env_file, first);
	else if (odd)
		snprintf(buf, cap,
			"%s:%d: this line and %zu others are not NAME=value, so they set nothing.",
			c->env_file, first, odd - 1);
	return odd > 0;
}

static bool names_variable(const struct words *w, const char *word)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->word[i], word))
			return true;
	return false;
}

static bool is_absent(const char *source)
{
	return access(source, F_OK) < 0 && errno == ENOENT;
}

/* Whose path a team file gives has to be there, unless it is MassGen's; a place that everybody has by the same name need not. */
static bool is_file_absent(const struct credentials *c, const char *source)
{
	return c->lenient && is_absent(source);
}

static bool is_env_file_absent(const struct credentials *c)
{
	return c->env_file && is_file_absent(c, c->env_file);
}

static int add_env_file(struct secret_values *v, const struct credentials *c, struct err *e)
{
	char *text, *at, *name, *value;
	size_t len, first = v->n;
	int rc = 0;

	if (from_file("environment", c->env_file, &text, &len, e))
		return -1;
	at = text;
	if (memchr(text, '\0', len))
		rc = err_set(e, ERR_CONFIG,
			"%s holds NUL bytes, which no variable can hold: save it as UTF-8 text.",
			c->env_file);
	for (char *line; !rc && (line = next_env_line(text, &at));)
		if (split_env_line(line, &name, &value) == ENV_SETS &&
			(!c->from_file.n || names_variable(&c->from_file, name)))
			append_secret(v, xasprintf("$%s", name), xstrdup(value), strlen(value));
	explicit_bzero(text, len);
	free(text);
	for (size_t i = 0; i < c->from_file.n && !rc; i++) {
		size_t k = first;

		while (k < v->n && strcmp(v->secret[k].name + 1, c->from_file.word[i]) != 0)
			k++;
		if (k == v->n && !c->lenient)
			rc = err_set(e, ERR_CONFIG,
				"env_vars_from_file asks for the variable %s, which %s does not set.",
				c->from_file.word[i], c->env_file);
	}
	return rc;
}

int secrets_foresee(const struct credentials *c, struct err *e)
{
	struct secret_values v = {0};
	int rc = c->env_file && !is_env_file_absent(c) ? add_env_file(&v, c, e) : 0;

	secrets_release(&v);
	return rc;
}

int secrets_gather(
	const struct team *t, const struct agent_def *a, struct secret_values *ret, struct err *e)
{
	for (size_t i = 0; i < a->secrets.n; i++)
		for (size_t k = 0; k < t->nsecrets; k++)
			if (!strcmp(t->secrets[k].name, a->secrets.word[i]) &&
				secrets_add(ret, &t->secrets[k], e))
				return -1;
	for (size_t i = 0; i < a->credentials.env.n; i++) {
		const char *name = a->credentials.env.word[i], *value = getenv(name);

		if (!value && a->credentials.lenient)
			continue;
		if (!value)
			return err_set(e, ERR_CONFIG,
				"%s asks for the variable %s, which is not set here: export %s=...",
				a->id, name, name);
		append_secret(ret, xasprintf("$%s", name), xstrdup(value), strlen(value));
	}
	return a->credentials.env_file && !is_env_file_absent(&a->credentials)
		? add_env_file(ret, &a->credentials, e)
		: 0;
}

void secrets_release(struct secret_values *v)
{
	for (size_t i = 0; i < v->n; i++) {
		explicit_bzero((char *)v->secret[i].value, v->secret[i].len);
		free((char *)v->secret[i].value);
		free((char *)v->secret[i].name);
	}
	free(v->secret);
	*v = (struct secret_values){0};
}

static const struct {
	const char *word, *below_home;
} known[] = {{"ssh_keys", ".ssh"}, {"git_config", ".gitconfig"}, {"gh_config", ".config/gh"},
	{"npm_config", ".npmrc"}, {"pypi_config", ".pypirc"}};

static void add_absent(char *buf, size_t cap, const char *what, const char *name)
{
	size_t used = strlen(buf);

	snprintf(buf + used, cap - used, "%s%s%.100s", used ? ", " : "", what, name);
}

/* Of the env_file: those that are asked for and not set; what it holds is not kept. */
static void find_absent_lines(const struct credentials *c, char *buf, size_t cap)
{
	struct secret_values v = {0};

	if (!c->env_file || add_env_file(&v, c, NULL))
		return;
	for (size_t i = 0; i < c->from_file.n; i++) {
		size_t k = 0;

		while (k < v.n && strcmp(v.secret[k].name + 1, c->from_file.word[i]) != 0)
			k++;
		if (k == v.n)
			add_absent(buf, cap, "$", c->from_file.word[i]);
	}
	secrets_release(&v);
}

bool secrets_absent(const struct credentials *c, char *buf, size_t cap)
{
	const char *home = getenv("HOME");
	char found[320] = "";

	*buf = '\0';
	for (size_t i = 0; c->lenient && i < c->env.n; i++)
		if (!getenv(c->env.word[i]))
			add_absent(found, sizeof found, "$", c->env.word[i]);
	if (is_env_file_absent(c))
		add_absent(found, sizeof found, "", c->env_file);
	else if (c->lenient)
		find_absent_lines(c, found, sizeof found);
	for (size_t i = 0; home && i < c->mount.n; i++)
		for (size_t k = 0; k < COUNT(known); k++) {
			AUTO_FREE char *source = xasprintf("%s/%s", home, known[k].below_home);

			if (!strcmp(c->mount.word[i], known[k].word) && is_absent(source))
				add_absent(found, sizeof found, "~/", known[k].below_home);
		}
	for (size_t i = 0; i < c->nfiles; i++)
		if (is_file_absent(c, c->files[i].source))
			add_absent(found, sizeof found, "", c->files[i].source);
	if (*found)
		snprintf(buf, cap, "not found, so the container starts without: %s.", found);
	return *found;
}

void secrets_warning(const struct credentials *c, char *buf, size_t cap)
{
	size_t used;

	secrets_odd_lines(c, buf, cap);
	used = strlen(buf);
	if (used && used + 1 < cap)
		buf[used++] = ' ';
	if (!secrets_absent(c, buf + used, cap - used) && used)
		buf[used - 1] = '\0';
}

int secrets_mounts(const struct credentials *c, struct mount_list *l, struct err *e)
{
	const char *home = getenv("HOME");

	for (size_t i = 0; i < c->mount.n; i++)
		for (size_t k = 0; k < COUNT(known); k++) {
			AUTO_FREE char *source = NULL, *target = NULL;

			if (strcmp(c->mount.word[i], known[k].word))
				continue;
			if (!home)
				return err_set(e, ERR_CONFIG,
					"HOME is not set, so %s cannot be found.", known[k].word);
			source = xasprintf("%s/%s", home, known[k].below_home);
			target = xasprintf(SPEC_HOME "/%s", known[k].below_home);
			if (is_absent(source))
				continue;
			if (mounts_add(l, MOUNT_CREDENTIAL, source, target, true, NULL, 0, e))
				return err_wrap(e, "credentials %s", known[k].word);
		}
	for (size_t i = 0; i < c->nfiles; i++)
		if (!is_file_absent(c, c->files[i].source) &&
			mounts_add(l, MOUNT_CREDENTIAL, c->files[i].source, c->files[i].target,
				true, NULL, 0, e))
			return -1;
	return 0;
}
