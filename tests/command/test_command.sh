#!/bin/sh
# The dragoman command: whole messages and exit statuses, for sound programs and for all that can be wrong with them.
#
#   test_command.sh DRAGOMAN MAKE_IMAGE CC...
#
# A copy of the command is put beside a lib/ with stand-ins, so that nothing here depends on the real libraries.
set -u
# An absolute path of a file given by a path that need not be.
absolute() {
	echo "$(cd "$(dirname "$1")" && pwd -P)/$(basename "$1")"
}
dragoman=$(absolute "$1") make_image=$(absolute "$2")
shift 2
cc=$*

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
work=$(cd "$work" && pwd -P)
mkdir "$work/lib" "$work/theirs" "$work/later"
cp "$dragoman" "$work/dragoman"
cd "$work" || exit 1
PATH=$work:$PATH
export LC_ALL=C
unset LD_LIBRARY_PATH LD_PRELOAD DRAGOMAN_DEVICE
ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
export ASAN_OPTIONS

count=0
# same WHAT GOT WANTED: part of the current test
same() {
	[ "$2" = "$3" ] && return
	good=
	printf '%s\n' "$1 was:" "$2" "wanted:" "$3" | sed 's/^/# /'
}

# check NAME STATUS STDOUT STDERR COMMAND...: @ in what is wanted stands for the test's folder
check() {
	name=$1 status=$2 out=$(printf '%s' "$3" | sed "s|@|$work|g") err=$(printf '%s' "$4" | sed "s|@|$work|g")
	shift 4
	"$@" >stdout 2>stderr </dev/null
	got=$?
	good=1 count=$((count + 1))
	same status "$got" "$status"
	same stdout "$(cat stdout)" "$out"
	same stderr "$(cat stderr)" "$err"
	echo "${good:+ok}${good:-not ok} $count - $name" | sed 's/^ok1/ok/'
}

build() {
	# shellcheck disable=SC2086
	$cc -w "$@" || { echo "Bail out! cannot build: $*"; exit 1; }
}

# library FILE SONAME VERSION WHOSE
library() {
	echo "const char *runtime_whose(void); const char *runtime_whose(void) { return \"$4\"; }" >library.c
	echo "$3 { global: runtime_whose; local: *; };" >library.map
	build -shared -fPIC -o "$1" library.c "-Wl,-soname,$2" -Wl,--version-script=library.map
}

"$make_image" . || exit 1
echo 'int cuInit(unsigned f) { return f; }' >driver.c
build -shared -fPIC -o lib/libcuda.so.1 driver.c -Wl,-soname,libcuda.so.1
library lib/libcudart.so.12 libcudart.so.12 libcudart.so.12 ours
library lib/libcudart.so.13 libcudart.so.13 libcudart.so.13 ours
library theirs/libcudart.so.13 libcudart.so.13 libcudart.so.13 theirs
library later/libcudart.so.13 libcudart.so.13 libcudart.so.13.9 later
library later/libcudart.so.11.0 libcudart.so.11.0 libcudart.so.11.0 former
library later/libcublas.so.99 libcublas.so.99 libcublas.so.99 nobody
library later/libother.so.1 libother.so.1 libother.so.1 nobody

cat >plain.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	const char *device = getenv("DRAGOMAN_DEVICE"), *preload = getenv("LD_PRELOAD");
	printf("%s %s %s\n", getenv("LD_LIBRARY_PATH"), device ? device : "-", preload ? preload : "-");
	for (int i = 1; i < argc; i++)
		printf("[%s]\n", argv[i]);
	return argc > 1 ? atoi(argv[1]) : 0;
}
C
build -o plain plain.c
cat >whose.c <<'C'
#include <stdio.h>
const char *runtime_whose(void);
int main(void) { puts(runtime_whose()); return 0; }
C
build -o shared whose.c -Ltheirs -l:libcudart.so.13
build -o with_rpath whose.c -Ltheirs -l:libcudart.so.13 "-Wl,--disable-new-dtags,-rpath,\$ORIGIN/theirs"
build -o with_runpath whose.c -Ltheirs -l:libcudart.so.13 "-Wl,--enable-new-dtags,-rpath,\$ORIGIN/theirs"
build -o too_new whose.c -Llater -l:libcudart.so.13
build -o too_old whose.c -Llater -l:libcudart.so.11.0
build -o wants_blas whose.c -Llater -l:libcublas.so.99
build -o wants_other whose.c -Llater -l:libother.so.1
for kind in good machine damaged; do
	printf '.section .nv_fatbin,"a"\n.balign 8\n.incbin "%s.fatbin"\n.section .note.GNU-stack,"",%%progbits\n' $kind >code.s
	build -o with_$kind plain.c code.s
done
build -c -o object.o plain.c
printf '#!/bin/sh\nexec ./plain "$@"\n' >script
printf '#!/no/such/interpreter\n' >orphan
printf 'hello\n' >words
: >empty
chmod +x script orphan words empty riscv good.fatbin object.o
cp plain forbidden
chmod -x forbidden

# ---- the command itself -----------------------------------------------------------------------------------

commands="  run      start a CUDA program
  doctor   tell what is here, what is missing and what to install
  scan     tell what is inside programs, libraries and device code
  ptx      check, print, compile or dump PTX
  cache    list, measure, clear or fill compiled kernels
  selftest try a device with kernels whose results are known, and write a report"
overview="usage: dragoman COMMAND ...

Runs programs that were written for CUDA on machines without an NVIDIA GPU.

$commands

dragoman COMMAND --help tells more; dragoman --version says which version this is."
check 'no command' 2 '' "$overview" dragoman
check 'help' 0 "$overview" '' dragoman --help
check 'unknown command' 2 '' "dragoman: no command 'walk'; see dragoman --help" dragoman walk
check 'unknown option' 2 '' "dragoman: no option '--walk'; see dragoman --help" dragoman --walk
if [ -e /dev/full ]; then
	check 'full disk' 1 '' 'dragoman: cannot write: No space left on device' sh -c 'dragoman --help >/dev/full'
fi
run_usage='usage: dragoman run [-v] [--device cpu|amd|auto] [--compare] [--] PROGRAM [ARGUMENT...]'

# ---- run: programs that start ---------------------------------------------------------------------------------

check 'run: exit status and arguments' 7 '@/lib - -
[7]
[-v]
[--device]
[a b]' '' dragoman run ./plain 7 -v --device 'a b'
check 'run: device' 0 '@/lib auto -' '' dragoman run --device auto ./plain
check 'run: --' 0 '@/lib cpu -' '' dragoman run -dcpu -- ./plain
check 'run: PATH' 0 '@/lib - -' '' dragoman run plain
check 'run: keeps LD_LIBRARY_PATH' 0 '@/lib:/a:/b - -' '' env LD_LIBRARY_PATH=/a:/b dragoman run plain
check 'run: keeps DRAGOMAN_DEVICE' 0 '@/lib amd -' '' env DRAGOMAN_DEVICE=amd dragoman run plain
check 'run: script' 3 '@/lib - -
[3]' '' dragoman run ./script 3
check 'run: verbose' 0 '@/lib cpu -' "dragoman: libraries from @/lib
dragoman: device: cpu
dragoman: starting ./plain" dragoman run -v --device cpu ./plain
check 'run: shared runtime' 0 'ours' '' dragoman run ./shared
check 'run: DT_RUNPATH' 0 'ours' '' dragoman run ./with_runpath
check 'without run: DT_RPATH has another runtime' 0 'theirs' '' ./with_rpath
check 'run: DT_RPATH' 0 'ours' '' dragoman run ./with_rpath
# shellcheck disable=SC2016 # the inner shell expands it
check 'run: DT_RPATH, seen from another folder' 0 'ours' '' sh -c 'cd / && dragoman run "$0"' "$work/with_rpath"
check 'run: verbose tells of DT_RPATH' 0 'ours' "dragoman: libraries from @/lib
dragoman: loaded ahead of the program's own search path: @/lib/libcudart.so.13
dragoman: device: cpu
dragoman: starting ./with_rpath" dragoman run -v ./with_rpath
check 'run: fat binary with PTX' 0 '@/lib - -' '' dragoman run ./with_good

# ---- run: what fails --------------------------------------------------------------------------------------------

check 'run: no program' 125 '' "dragoman run: which program?
$run_usage" dragoman run
check 'run: unknown option' 125 '' "dragoman run: no option --fast
$run_usage" dragoman run --fast ./plain
check 'run: unknown letter' 125 '' "dragoman run: no option -x
$run_usage" dragoman run -x ./plain
check 'run: no value' 125 '' "dragoman run: option --device needs a value
$run_usage" dragoman run --device
check 'run: needless value' 125 '' "dragoman run: option --verbose takes no value
$run_usage" dragoman run --verbose=1 ./plain
check 'run: unknown device' 125 '' "dragoman run: no device 'gpu'; there are cpu, amd and auto
$run_usage" dragoman run --device gpu ./plain
check 'run: no such file' 127 '' 'dragoman: cannot run ./nothing: No such file or directory' dragoman run ./nothing
check 'run: not in PATH' 127 '' 'dragoman: cannot run no-such-program: not found in PATH' dragoman run no-such-program
check 'run: empty name' 127 '' 'dragoman: cannot run : not found in PATH' dragoman run ''
check 'run: no permission' 126 '' 'dragoman: cannot run ./forbidden: it has no permission to be executed (chmod +x)' \
	dragoman run ./forbidden
check 'run: folder' 126 '' 'dragoman: cannot run ./lib: Is a directory' dragoman run ./lib
check 'run: empty file' 126 '' 'dragoman: cannot run ./empty: it is neither an ELF program nor a script that begins with #!' \
	dragoman run ./empty
check 'run: text' 126 '' 'dragoman: cannot run ./words: it is neither an ELF program nor a script that begins with #!' \
	dragoman run ./words
check 'run: missing interpreter' 126 '' \
	'dragoman: cannot run ./orphan: /no/such/interpreter, which it names as its interpreter, does not exist' \
	dragoman run ./orphan
check 'run: device code' 126 '' 'dragoman: cannot run ./good.fatbin: it is device code, not a program; see dragoman scan' \
	dragoman run ./good.fatbin
check 'run: object file' 126 '' 'dragoman: cannot run ./object.o: it is an object file, not a linked program' \
	dragoman run ./object.o
case $(uname -m) in
x86_64) host=x86-64 ;;
aarch64) host=AArch64 ;;
esac
check 'run: other architecture' 126 '' "dragoman: cannot run ./riscv: it is for RISC-V, this machine is $host" \
	dragoman run ./riscv
head -c 3000 "$(command -v sh)" >cut
chmod +x cut
check 'run: cut off' 126 '' "dragoman: cannot run ./cut: it is cut off: a part of it lies behind the file's end" dragoman run ./cut
check 'scan: cut off' 1 "cut: program for $host
  damaged: it is cut off: a part of it lies behind the file's end" '' dragoman scan cut
check 'run: library not provided' 127 '' \
	'dragoman: ./wants_blas needs libcublas.so.99, which Dragoman does not provide and nobody else has here' \
	dragoman run ./wants_blas
check 'run: that library found elsewhere' 0 'nobody' '' env LD_LIBRARY_PATH=later dragoman run ./wants_blas
check 'run: other library' 127 '' 'dragoman: ./wants_other needs libother.so.1, which is not installed' \
	dragoman run ./wants_other
check 'run: version of the library' 127 '' \
	'dragoman: ./too_old needs libcudart.so.11.0; Dragoman has libcudart.so.12, libcudart.so.13: rebuild it with that version of CUDA' \
	dragoman run ./too_old
check 'run: version of the symbols' 127 '' \
	'dragoman: ./too_new needs version libcudart.so.13.9 of libcudart.so.13, which it does not have' dragoman run ./too_new
check 'run: no PTX' 0 '@/lib - -' \
	'dragoman: warning: kernels of ./with_machine will not run: only machine code for sm_80, sm_90 here; rebuild with -gencode arch=compute_80,code=compute_80' \
	dragoman run ./with_machine
check 'run: damaged fat binary' 0 '@/lib - -' \
	'dragoman: warning: ./with_damaged: fat binary damaged: it says it has 16 + 1160 bytes, only 1076 are there' \
	dragoman run ./with_damaged
mv lib gone
check 'run: without libraries' 125 '' \
	"dragoman: cannot find the folder with Dragoman's libcuda.so.1; see dragoman doctor" dragoman run ./plain
mv gone lib

# ---- scan -----------------------------------------------------------------------------------------------------------

check 'scan: fat binary' 0 'good.fatbin: device code
  device code 1: machine code sm_80 (208 bytes), PTX compute_80 (124 bytes, zstd), machine code sm_80 (712 bytes, LZ4), machine code sm_90 (712 bytes)
    kernel scale
    kernel add' '' dragoman scan good.fatbin
check 'scan: program' 0 "with_good: program for $host
  device code 1: PTX compute_80 (124 bytes, zstd), machine code sm_80 (712 bytes, LZ4), machine code sm_90 (712 bytes)
    2 kernels" '' dragoman scan --summary with_good
check 'scan: no PTX' 1 "with_machine: program for $host
  device code 1: machine code sm_80 (712 bytes, LZ4), machine code sm_90 (712 bytes): cannot run
    kernel scale
    kernel add
  cannot run: only machine code for sm_80, sm_90 here; rebuild with -gencode arch=compute_80,code=compute_80" '' \
	dragoman scan with_machine
check 'scan: cubin' 1 'scale.cubin: device code
  device code 1: machine code sm_80 (712 bytes): cannot run
    2 kernels
  cannot run: only machine code for sm_80 here; rebuild with -gencode arch=compute_80,code=compute_80' '' \
	dragoman scan -s scale.cubin
check 'scan: several files' 1 "good.ptx: device code
  device code 1: PTX compute_80 (123 bytes)
    2 kernels
shared: program for $host
  needs libcudart.so.13: Dragoman has it
  no device code
wants_blas: program for $host
  needs libcublas.so.99: not in Dragoman
  no device code
script: script for /bin/sh
words: neither a program nor device code
  neither PTX (it begins with .version) nor a cubin nor a fat binary" \
	'dragoman: cannot read nothing: No such file or directory' \
	dragoman scan -s good.ptx shared wants_blas script words nothing
check 'scan: damaged' 1 'damaged.fatbin: device code
  damaged: fat binary damaged: it says it has 16 + 1160 bytes, only 1076 are there' '' dragoman scan damaged.fatbin
check 'scan: no file' 2 '' 'dragoman scan: which file?
usage: dragoman scan [--summary] FILE...' dragoman scan

# ---- ptx --------------------------------------------------------------------------------------------------------------

ptx_usage='usage: dragoman ptx [--check | --print | --compile | --dump ir|llvm|asm] [OPTION...] FILE'
printf '.version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\tfrobnicate.u32 1;\n}\n' >bad.ptx
check 'ptx: check' 0 'good.ptx: PTX 8.0 for sm_80, 2 kernels, 2 instructions, no error' '' dragoman ptx good.ptx
check 'ptx: inside a program' 0 'with_good: PTX 8.0 for sm_80, 2 kernels, 2 instructions, no error' '' \
	dragoman ptx --check with_good
dragoman ptx --print good.ptx >printed.ptx
check 'ptx: what was printed is sound' 0 'printed.ptx: PTX 8.0 for sm_80, 2 kernels, 2 instructions, no error' '' \
	dragoman ptx printed.ptx
check 'ptx: print what was printed' 0 "$(cat printed.ptx)" '' dragoman ptx --print printed.ptx
check 'ptx: error' 1 '' "bad.ptx:6:2: error: unknown instruction 'frobnicate.u32' (in kernel 'k')
    frobnicate.u32 1;
    ^" dragoman ptx bad.ptx
check 'ptx: machine code' 1 '' \
	'dragoman: scale.cubin: only machine code for sm_80 here; rebuild with -gencode arch=compute_80,code=compute_80' \
	dragoman ptx scale.cubin
check 'ptx: damaged' 1 '' \
	'dragoman: damaged.fatbin: fat binary damaged: it says it has 16 + 1160 bytes, only 1076 are there' \
	dragoman ptx damaged.fatbin
check 'ptx: no device code' 1 '' 'dragoman: plain: no device code in it' dragoman ptx plain
check 'ptx: empty file' 1 '' 'dragoman: empty: no device code in it' dragoman ptx empty
check 'ptx: no such file' 1 '' 'dragoman: cannot read nothing: No such file or directory' dragoman ptx nothing
check 'ptx: no compiler' 1 '' \
	'dragoman: @/none: cannot open shared object file: No such file or directory (it needs LLVM 19: apt-get install libllvm19)' \
	env DRAGOMAN_COMPILER="$work/none" dragoman ptx --compile good.ptx
check 'ptx: which file' 2 '' "dragoman ptx: which file?
$ptx_usage" dragoman ptx --print
check 'ptx: two files' 2 '' "dragoman ptx: one file only, not also 'bad.ptx'
$ptx_usage" dragoman ptx good.ptx bad.ptx
check 'ptx: unknown stage' 2 '' "dragoman ptx: cannot dump 'sass'; there are ir, llvm and asm
$ptx_usage" dragoman ptx --dump sass good.ptx
for lanes in 0 2 64 -1 8x ''; do
	check "ptx: lanes '$lanes'" 2 '' "dragoman ptx: no lanes '$lanes'; there are 1, 8, 16 and 32
$ptx_usage" dragoman ptx --compile "--lanes=$lanes" good.ptx
done
for block in 0 1025 33,32 1,1,65 1,2,3,4 8,8,32 x '4,' ''; do
	check "ptx: block '$block'" 2 '' \
		"dragoman ptx: no block shape '$block'; X[,Y[,Z]] with at most 1024 threads was expected
$ptx_usage" dragoman ptx --compile "--block=$block" good.ptx
done
check 'ptx: output of what' 2 '' "dragoman ptx: --output needs --compile and --kernel
$ptx_usage" dragoman ptx --compile -o x good.ptx

# ---- cache ------------------------------------------------------------------------------------------------------------

DRAGOMAN_CACHE_DIR=$work/cache DRAGOMAN_CACHE_SIZE=1M TZ=UTC
export DRAGOMAN_CACHE_DIR DRAGOMAN_CACHE_SIZE TZ
entry=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
cache_usage='usage: dragoman cache list | size | clear | warm PROGRAM'
check 'cache: made when asked for' 0 '@/cache: 0 kernels, 0 bytes of at most 1048576' '' dragoman cache size
check 'cache: it is private' 0 '700' '' stat -c %a cache
printf 'nonsense' >"cache/$entry"
touch -d '2026-01-02 03:04:05' "cache/$entry"
check 'cache: damaged entry' 0 "2026-01-02 03:04         8  damaged: $entry" '' dragoman cache list
check 'cache: size of that' 0 '@/cache: 1 kernel, 8 bytes of at most 1048576' '' dragoman cache size
check 'cache: clear' 0 '@/cache: 1 kernel removed' '' dragoman cache clear
check 'cache: nothing left' 0 '' '' ls cache
check 'cache: switched off' 1 '' 'dragoman: no cache: switched off' env DRAGOMAN_CACHE=off dragoman cache size
chmod 777 cache
check 'cache: open to others' 1 '' \
	'dragoman: compiled kernels are not kept: @/cache: others can write to the folder
dragoman: no cache: others can write to the folder' dragoman cache list
check 'cache: what?' 2 '' "dragoman cache: list, size, clear or warm?
$cache_usage" dragoman cache
check 'cache: unknown' 2 '' "dragoman cache: no 'eat' here; there are list, size, clear and warm
$cache_usage" dragoman cache eat
check 'cache: too much' 2 '' "dragoman cache: no argument 'now'
$cache_usage" dragoman cache clear now

# ---- doctor ------------------------------------------------------------------------------------------------------------

# Lines depend on the machine; their shape and the verdict on a driver without devices do not.
dragoman doctor >stdout 2>stderr
got=$?
good=1 count=$((count + 1))
same 'status of a doctor without devices' "$got" 1
same 'lines of another shape' "$(grep -Evc '^(ok|warn|missing) +[a-z]+ +[^ ]' stdout)" 0
same 'driver' "$(grep ' driver ' stdout)" \
	"missing  driver     $work/lib/libcuda.so.1 lacks cuInit, cuDeviceGetCount, cuDeviceGet or cuDeviceGetName"
echo "${good:+ok}${good:-not ok} $count - doctor: driver without devices" | sed 's/^ok1/ok/'
check 'doctor: argument' 2 '' "dragoman doctor: no argument 'please'
usage: dragoman doctor" dragoman doctor please

echo "1..$count"
