# sources.sh - the files of this tree, for checks that read all of them. Source it, with SRC set.
#
#   sources [PATTERN...]    their names below SRC, one a line, sorted; patterns as git's: what is tracked, and what is new and
#                           .gitignore does not name. Of a source archive: everything that .gitignore does not name
#   contents NAME           with its hash each file that a check of the C sources depends on; tests/lint/NAME.sh is one
#   passed NAME             remember that NAME found nothing wrong in the contents on standard input
#   changed NAME            of the files on standard input those that may fail NAME now: their content is not what passed last,
#                           or they include a header whose content is not; all where NAME itself or its settings differ

sources() {
	local git=(git -C "$SRC" -c safe.directory='*') # whoever owns the tree: nothing in it is run
	if [ ! -e "$SRC/.git" ] || ! "${git[@]}" rev-parse 2>/dev/null; then
		# Another repository may lie around an archive; an empty one knows how to read .gitignore.
		git+=(--git-dir="${TMPDIR:-/tmp}/sources.$$.git" --work-tree="$SRC")
		"${git[@]}" rev-parse 2>/dev/null || "${git[@]}" init -q || return
	fi
	"${git[@]}" ls-files -co --exclude-standard -- "$@" | LC_ALL=C sort | while read -r file; do
		[ ! -e "$SRC/$file" ] || echo "$file"
	done
}

contents() {
	sources '*.c' '*.h' .clang-tidy CMakeLists.txt CMakePresets.json configs/packages "tests/lint/$1.*" | (cd "$SRC" && xargs -d '\n' sha256sum) | LC_ALL=C sort
}

passed_list() {
	echo "${BERTH_TEST_CACHE:-$BUILD}/compiled/passed/$1"
}

passed() {
	local list
	list=$(passed_list "$1")
	mkdir -p "${list%/*}" && [ -w "${list%/*}" ] || return 0
	cat >"$list.$$" && mv "$list.$$" "$list"
}

changed() {
	local file list all
	list=$(passed_list "$1") all=$TMPDIR/changed.$1
	cat >"$all"
	contents "$1" | LC_ALL=C comm -23 - "$list" | cut -c 67- >"$all.new"
	if grep -qv '\.[ch]$' "$all.new"; then
		cat "$all"
		return
	fi
	while read -r file; do
		[[ $file != *.c ]] || echo "$file"
		[[ $file != *.h ]] || (cd "$SRC" && grep -rlE --include='*.c' "#include [\"<](.*/)?${file##*/}[\">]" backend tui bench)
	done <"$all.new" | LC_ALL=C sort -u | LC_ALL=C comm -12 - "$all"
}
