# Completion of the dragoman command for bash.
_dragoman()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-}
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run doctor scan ptx cache selftest --help --version' -- "$word")
		return
	fi
	local words= files=
	case $command:$before in
	run:-d | run:--device) words='cpu amd auto' ;;
	ptx:--dump) words='ir llvm asm' ;;
	ptx:--target) words='cpu gfx1030 gfx1100 gfx1201 gfx90a gfx942' ;;
	ptx:--lanes) words='1 8 16 32' ;;
	ptx:--block | ptx:--kernel) return ;;
	run:*)
		# Behind the program's name its own completion is to be used.
		local i
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			-d | --device) ((i++)) ;;
			-*) ;;
			*)
				_command_offset "$i" 2>/dev/null || mapfile -t COMPREPLY < <(compgen -f -- "$word")
				return
				;;
			esac
		done
		if [[ $word == -* ]]; then
			words='--device --compare --verbose --help'
		else
			mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
			return
		fi
		;;
	scan:*) words='--summary --help' files=1 ;;
	ptx:*) words='--check --print --compile --dump --kernel --target --lanes --block --output --help' files=1 ;;
	cache:*) words='list size clear warm --help' files=1 ;;
	selftest:*) words='--quick --help' files=1 ;;
	*) words=--help ;;
	esac
	if [[ $files && $word != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	fi
}
complete -o filenames -F _dragoman dragoman
