/* apply_runs.c - recognises files whose contents tools run automatically; they are listed before they are applied. */
#include "workspace/apply_plan.h"

#include <fnmatch.h>
#include <string.h>
#include <strings.h>

#include <berth/mem.h>

#define CI "the CI server runs it"
#define EDITOR "the editor runs tasks and programs that it names"
#define HOOKS "git runs its commands at a commit or a push, if these hooks are enabled"
#define NPM "npm runs its scripts, some of them at an install"
#define PIP "pip runs it, or what it names, to build or install the project"
#define PYTEST "pytest loads it, or takes options from it"
#define PYTHON "python runs it when it starts"
#define GRADLE "gradle runs it"
#define CMAKE "CMake runs it when it configures the project"
#define SHELL "a shell that enters the directory runs it, once allowed"
#define VIM "vim runs it if it reads per-directory configuration"
#define JS "a JavaScript tool loads it as its configuration"
#define DOCKER "docker builds or starts what it defines"
#define AGENT "a coding agent runs hooks and servers that it names"
#define STARTS "the interpreter runs it when it starts in the directory"
#define DEBUGGER "the debugger runs its commands, once allowed"
#define BUILDS "the build runs what it names"
#define PACKAGES "the package manager takes registries and programs from it"

/* The name is that of the file; with a slash in front, of a directory that it is in; with one inside, of both. */
static const struct runs {
	const char *name, *what;
	const char *word[3]; /* only with one of these in it, where that was read */
} table[] = {
	{".gitattributes", "git runs a filter, diff or merge driver that it names",
		{"filter", "diff", "merge"}},
	{".gitmodules", "git fetches what it names and puts it into the project", {0}},
	{".lfsconfig", "git-lfs talks to the server that it names", {0}},
	{".pre-commit-config.y*ml", HOOKS, {0}},
	{"lefthook.y*ml", HOOKS, {0}},
	{"/.husky", HOOKS, {0}},
	{"/.githooks", HOOKS, {0}},
	{".envrc", SHELL, {0}},
	{"mise.toml", SHELL, {0}},
	{".mise.toml", SHELL, {0}},
	{"/.vscode", EDITOR, {0}},
	{"*.code-workspace", EDITOR, {0}},
	{"/.idea", EDITOR, {0}},
	{"/.zed", EDITOR, {0}},
	{"*.sublime-project", EDITOR, {0}},
	{".dir-locals.el", "Emacs evaluates what it sets", {0}},
	{".gdbinit", DEBUGGER, {0}},
	{".lldbinit", DEBUGGER, {0}},
	{".rprofile", STARTS, {0}},
	{".renviron", STARTS, {0}},
	{".ghci", STARTS, {0}},
	{".ocamlinit", STARTS, {0}},
	{".irbrc", STARTS, {0}},
	{".pryrc", STARTS, {0}},
	{".exrc", VIM, {0}},
	{".vimrc", VIM, {0}},
	{".nvimrc", VIM, {0}},
	{".nvim.lua", VIM, {0}},
	{"/.claude", AGENT, {0}},
	{"/.cursor", AGENT, {0}},
	{"/.codex", AGENT, {0}},
	{"/.gemini", AGENT, {0}},
	{"/.opencode", AGENT, {0}},
	{"opencode.json*", AGENT, {0}},
	{".mcp.json", AGENT, {0}},
	{"package.json", NPM, {"\"scripts\"", "\"bin\"", "\"gypfile\""}},
	{"binding.gyp", NPM, {0}},
	{".npmrc", PACKAGES, {0}},
	{".yarnrc", PACKAGES, {0}},
	{".yarnrc.yml", PACKAGES, {0}},
	{".pnpmfile.*", PACKAGES, {0}},
	{"pip.conf", PACKAGES, {0}},
	{".cargo/config*", PACKAGES, {0}},
	{"*.config.js", JS, {0}},
	{"*.config.cjs", JS, {0}},
	{"*.config.mjs", JS, {0}},
	{"*.config.ts", JS, {0}},
	{".*rc.js", JS, {0}},
	{".*rc.cjs", JS, {0}},
	{"gruntfile.*", JS, {0}},
	{"gulpfile.*", JS, {0}},
	{".eslintrc*", JS, {0}},
	{".babelrc*", JS, {0}},
	{".mocharc*", JS, {0}},
	{".prettierrc*", JS, {0}},
	{"jest.config.*", JS, {0}},
	{"babel.config.*", JS, {0}},
	{"bunfig.toml", JS, {0}},
	{"deno.json*", "deno runs its tasks", {"\"tasks\""}},
	{"makefile*", "make runs its commands", {0}},
	{"gnumakefile", "make runs its commands", {0}},
	{"*.mk", "make runs its commands", {0}},
	{"justfile", "just runs its commands", {0}},
	{"taskfile.y*ml", "task runs its commands", {0}},
	{"rakefile", "rake runs it", {0}},
	{"gemfile", "bundler runs it", {0}},
	{"*.gemspec", "bundler runs it", {0}},
	{"cmakelists.txt", CMAKE, {0}},
	{"cmake*presets.json", CMAKE, {0}},
	{"*.cmake", CMAKE, {0}},
	{"meson.build", "meson runs the programs that it names", {0}},
	{"configure", "it is run to configure the project", {0}},
	{"build.rs", "cargo runs it when it builds", {0}},
	{"cargo.toml", "cargo runs the build script that it names", {"build"}},
	{"rust-toolchain*", "cargo runs the toolchain that it names", {0}},
	{"build.zig", BUILDS, {0}},
	{"build.xml", BUILDS, {0}},
	{"build.sbt", BUILDS, {0}},
	{"sconstruct", BUILDS, {0}},
	{"wscript", BUILDS, {0}},
	{"build.bazel", BUILDS, {0}},
	{"workspace.bazel", BUILDS, {0}},
	{"*.bzl", BUILDS, {0}},
	{"*.csproj", BUILDS, {0}},
	{"directory.build.*", BUILDS, {0}},
	{"mix.exs", BUILDS, {0}},
	{"composer.json", "composer runs its scripts", {"\"scripts\"", "\"plugins\""}},
	{"*.tf", "terraform runs the programs and providers that it names", {0}},
	{"vagrantfile", "vagrant runs it", {0}},
	{"ansible.cfg", "ansible takes plugins from it", {0}},
	{"flake.nix", "nix evaluates it", {0}},
	{"shell.nix", "nix evaluates it", {0}},
	{"*.gradle", GRADLE, {0}},
	{"*.gradle.kts", GRADLE, {0}},
	{"gradlew*", GRADLE, {0}},
	{"/.mvn", "maven takes options and extensions from it", {0}},
	{"pom.xml", "maven runs the plugins that it names", {0}},
	{"pyproject.toml", PIP, {0}},
	{"setup.py", PIP, {0}},
	{"setup.cfg", PIP, {0}},
	{"conftest.py", PYTEST, {0}},
	{"pytest.ini", PYTEST, {0}},
	{"tox.ini", PYTEST, {0}},
	{"noxfile.py", PYTEST, {0}},
	{"sitecustomize.py", PYTHON, {0}},
	{"usercustomize.py", PYTHON, {0}},
	{"*.pth", PYTHON, {0}},
	{".bazelrc", "bazel takes options and programs from it", {0}},
	{".github/workflows/*", CI, {0}},
	{".gitlab-ci.yml", CI, {0}},
	{"/.circleci", CI, {0}},
	{".travis.yml", CI, {0}},
	{"jenkinsfile", CI, {0}},
	{"azure-pipelines.yml", CI, {0}},
	{"dockerfile*", DOCKER, {0}},
	{"containerfile*", DOCKER, {0}},
	{"*compose*.y*ml", DOCKER, {0}},
	{"/.devcontainer", DOCKER, {0}},
};

/* Any of its directories. */
static bool is_in_dir(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	for (const char *at = path, *slash; (slash = strchr(at, '/')); at = slash + 1)
		if ((size_t)(slash - at) == n && !strncasecmp(at, dir, n))
			return true;
	return false;
}

/* The last components of the path, as many as the pattern has. */
static const char *tail_of(const char *path, const char *pattern)
{
	const char *at = path + strlen(path);
	size_t left = 1;

	for (const char *p = pattern; *p; p++)
		left += *p == '/';
	while (at > path && (at[-1] != '/' || --left))
		at--;
	return at;
}

static bool match_path(const struct runs *r, const char *path)
{
	if (*r->name == '/')
		return is_in_dir(path, r->name + 1);
	return fnmatch(r->name, tail_of(path, r->name), FNM_CASEFOLD) == 0;
}

static bool says_so(const struct runs *r, const struct str *content)
{
	bool asked = false;

	for (size_t i = 0; i < COUNT(r->word) && r->word[i]; i++) {
		asked = true;
		if (memmem(content->s, content->len, r->word[i], strlen(r->word[i])))
			return true;
	}
	return !asked;
}

const char *apply_what_runs(const char *path, const struct str *content)
{
	for (size_t i = 0; i < COUNT(table); i++)
		if (match_path(&table[i], path) && (!content || says_so(&table[i], content)))
			return table[i].what;
	return NULL;
}
