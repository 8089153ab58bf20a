#!/bin/sh
# Every command and option that --help tells of stands in the manual page and in the completions of all shells.
#
#   test_help.sh DRAGOMAN SOURCE_ROOT
set -u
# An absolute path of a file given by a path that need not be.
absolute() {
	echo "$(cd "$(dirname "$1")" && pwd -P)/$(basename "$1")"
}
dragoman=$(absolute "$1")
cd "$2" || exit 1
status=0

# has FILE WORD
has() {
	grep -qe "$2" "$1" || {
		echo "$1 lacks $2"
		status=1
	}
}

commands=$("$dragoman" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[ "$commands" ] || exit 1
for command in $commands; do
	has docs/dragoman.1 "^\.It Cm $command"
	has cmd/completion/dragoman.bash "\b$command\b"
	has cmd/completion/_dragoman "'$command:"
	has cmd/completion/dragoman.fish "-a $command "
	help=$("$dragoman" "$command" --help) || status=1
	for option in $(echo "$help" | grep -oe '--[a-z][a-z]*' | sort -u); do
		has docs/dragoman.1 "Fl -${option#--}\b"
		has cmd/completion/dragoman.bash "$option\b"
		has cmd/completion/_dragoman "$option\b"
		has cmd/completion/dragoman.fish "-l ${option#--}\b"
	done
done
exit $status
