/* team_script.c - determines how a custom tool's script is run: by its #! line or its extension. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>

#include "team/team_forms.h"

#define FIRST_LINE_MAX 256

static const struct {
	const char *ending, *interpreter;
} endings[] = {{".py", "python3"}, {".sh", "/bin/sh"}, {".bash", "bash"}, {".js", "node"},
	{".mjs", "node"}, {".cjs", "node"}, {".rb", "ruby"}, {".pl", "perl"}};

static const char *interpreter_of(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < COUNT(endings); i++)
		if (!strcmp(dot, endings[i].ending))
			return endings[i].interpreter;
	return NULL;
}

bool team_is_script_file(const char *script)
{
	return !strpbrk(script, " \t\n;|&<>()$`\"'*?{}") &&
		(interpreter_of(script) || (*script != '/' && strchr(script, '/')));
}

/* As the kernel reads it: the interpreter, and the rest of the line as one argument.  How many words. */
static size_t read_shebang(const struct reader *r, const char *path, const char *word[2])
{
	char line[FIRST_LINE_MAX], *end, *rest;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

	if (n < 2 || memcmp(line, "#!", 2) != 0)
		return 0;
	line[n] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	rest = line + 2 + strspn(line + 2, " \t");
	if (*rest != '/')
		return 0;
	word[0] = rest;
	end = rest + strcspn(rest, " \t");
	rest = end + strspn(end, " \t");
	*end = '\0';
	word[0] = arena_strdup(r->mem, word[0]);
	for (end = rest + strlen(rest); end > rest && strchr(" \t", end[-1]);)
		*--end = '\0';
	word[1] = *rest ? arena_strdup(r->mem, rest) : NULL;
	return word[1] ? 2 : 1;
}

int team_read_script(const struct reader *r, const struct node *n, const char *script,
	struct tool_def *out, struct err *e)
{
	const char *slash, **argv = arena_array(r->mem, 3, sizeof *argv);
	size_t words;

	out->script = field_path(r, script);
	slash = strrchr(out->script, '/');
	words = read_shebang(r, out->script, argv);
	if (!words && interpreter_of(slash))
		argv[words++] = interpreter_of(slash);
	/* Of one that is not there yet nobody can say; then it is that what is told. */
	if (!words && !access(out->script, F_OK))
		return node_err(r->c, n, e,
			"%s has no #! line and no known file extension (.py .sh .js ...).",
			out->script);
	out->script_target = arena_printf(r->mem, "/tool%s", slash);
	argv[words++] = out->script_target;
	out->command = (struct words){words, argv};
	return 0;
}
