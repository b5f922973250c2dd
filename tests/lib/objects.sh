# objects.sh - the object files of this tree's sources, for checks that read what was compiled. Source it, with SRC and BUILD set.
#
#   objects FOLDER...    "OBJECT SOURCE" a line, OBJECT below BUILD and SOURCE below SRC, of each source in FOLDER; an object whose
#                        source is gone is left out, and of several of one source all but the newest: a tree is built more than once

objects() {
	local folders
	folders=$(IFS='|'; echo "$*")
	(cd "$BUILD" && find CMakeFiles -path '*.dir/*' -name '*.c.o' -printf '%T@ %p\n') | LC_ALL=C sort -rn |
		sed -nE "s,^[^ ]* (.*\.dir/(($folders)/.*)\.o)\$,\1 \2,p" | awk '!seen[$2]++' | LC_ALL=C sort -k 2,2 |
		while read -r object source; do
			[ ! -e "$SRC/$source" ] || echo "$object $source"
		done
}
