# sources.sh - the files of this tree, for checks that read all of them. Source it, with SRC set.
#
#   sources [PATTERN...]    their names below SRC, one a line, sorted; patterns as git's: what is tracked, and what is new and
#                           .gitignore does not name. Of a source archive: everything that .gitignore does not name

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
