# Completion of the dragoman command for fish.
complete -c dragoman -f
complete -c dragoman -n __fish_use_subcommand -a run -d 'start a CUDA program'
complete -c dragoman -n __fish_use_subcommand -a doctor -d 'tell what is here, what is missing and what to install'
complete -c dragoman -n __fish_use_subcommand -a scan -d 'tell what is inside programs, libraries and device code'
complete -c dragoman -n __fish_use_subcommand -a ptx -d 'check, print, compile or dump PTX'
complete -c dragoman -n __fish_use_subcommand -a cache -d 'list, measure or clear compiled kernels'
complete -c dragoman -n __fish_use_subcommand -l version -d 'say which version this is'
complete -c dragoman -l help -d explain
complete -c dragoman -n '__fish_seen_subcommand_from run' -s d -l device -x -a 'cpu amd auto' -d 'where kernels run'
complete -c dragoman -n '__fish_seen_subcommand_from run' -s v -l verbose -d 'tell what was chosen'
complete -c dragoman -n '__fish_seen_subcommand_from run' -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c dragoman -n '__fish_seen_subcommand_from scan' -F -s s -l summary -d 'count kernels'
complete -c dragoman -n '__fish_seen_subcommand_from ptx' -F
complete -c dragoman -n '__fish_seen_subcommand_from ptx' -l check -d 'say what is wrong'
complete -c dragoman -n '__fish_seen_subcommand_from ptx' -l print -d 'print it back'
complete -c dragoman -n '__fish_seen_subcommand_from ptx' -l compile -d 'compile kernels'
complete -c dragoman -n '__fish_seen_subcommand_from ptx' -l dump -x -a 'ir llvm asm' -d 'print a stage'
complete -c dragoman -n '__fish_seen_subcommand_from ptx' -l kernel -x -d 'only this kernel'
complete -c dragoman -n '__fish_seen_subcommand_from ptx' -l target -x -a 'cpu gfx1030 gfx1100 gfx1201 gfx90a gfx942' -d 'compile for'
complete -c dragoman -n '__fish_seen_subcommand_from ptx' -l lanes -x -a '1 8 16 32' -d 'threads that run together'
complete -c dragoman -n '__fish_seen_subcommand_from ptx' -l block -x -d 'block shape X,Y,Z'
complete -c dragoman -n '__fish_seen_subcommand_from ptx' -s o -l output -r -d 'where to put the object'
complete -c dragoman -n '__fish_seen_subcommand_from cache' -a 'list size clear'
