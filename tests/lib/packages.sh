# packages.sh - installs what configs/packages lists and the machine lacks.  Shared with quickstart.

# install_packages build|test
install_packages() {
	local list missing
	list=$(sed 's/#.*//' "$SRC/configs/packages" | awk -v all="$1" 'NF == 1 || (NF && all == "test") {print $1}')
	if ! command -v dpkg-query >/dev/null; then
		echo "This is no Debian system: please see to it that these are there:" $list >&2
		return 0
	fi
	# shellcheck disable=SC2086 # a list of words
	missing=$(comm -13 <(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $list 2>/dev/null |
		awk '$1 == "ii" {print $2}' | sort -u) <(tr ' ' '\n' <<<"$list" | sort -u))
	[ -z "$missing" ] && return 0
	echo "Installing:" $missing >&2
	if [ "$(id -u)" != 0 ]; then
		echo "Only root can install packages: sudo apt-get install" $missing >&2
		return 1
	fi
	# shellcheck disable=SC2086
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >/dev/null ||
		{ apt-get update >/dev/null &&
			DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >/dev/null; }
}
