#!/bin/sh
# dragoman ptx with the real compiler: every stage of a kernel, for one lane and for several.
#
#   test_compile.sh DRAGOMAN COMPILER_LIBRARY
set -u
# An absolute path of a file given by a path that need not be.
absolute() {
	echo "$(cd "$(dirname "$1")" && pwd -P)/$(basename "$1")"
}
dragoman=$(absolute "$1")
DRAGOMAN_COMPILER=$(absolute "$2")
export DRAGOMAN_COMPILER
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

cat >scale.ptx <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 p, .param .f32 factor)
{
	.reg .b32 %r<2>;
	.reg .f32 %f<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.f32 %f1, [factor];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.f32 %f2, [%rd3];
	mul.rn.f32 %f3, %f2, %f1;
	st.global.f32 [%rd3], %f3;
	ret;
}
.visible .entry other()
{
	ret;
}
PTX

count=0
# has NAME PATTERN COMMAND...: succeeds, and its output holds the pattern
has() {
	name=$1 pattern=$2
	shift 2
	count=$((count + 1))
	if "$@" >out 2>&1 && grep -qe "$pattern" out; then
		echo "ok $count - $name"
	else
		sed 's/^/# /' out
		echo "not ok $count - $name"
	fi
}

for lanes in 1 8; do
	[ $lanes = 1 ] && word='1 lane,' || word="$lanes lanes,"
	has "compile, $lanes" "^scale: [1-9][0-9]* bytes, $word 0 bytes shared" \
		"$dragoman" ptx --compile --lanes $lanes --block 64 scale.ptx
	has "ir, $lanes" 'mul.rn.f32' "$dragoman" ptx --dump ir --kernel scale --lanes $lanes scale.ptx
	has "llvm, $lanes" 'fmul' "$dragoman" ptx --dump llvm --kernel scale --lanes $lanes scale.ptx
	has "asm, $lanes" 'mul' "$dragoman" ptx --dump asm --kernel scale --lanes $lanes scale.ptx
done
if [ "$(uname -m)" = x86_64 ]; then
	v4=+avx,+avx2,+avx512bw,+avx512dq,+avx512f,+avx512vl,+bmi,+bmi2,+f16c,+fma,+evex512
	has 'AVX-512' 'zmm' env DRAGOMAN_CPU=x86-64-v4 DRAGOMAN_CPU_FEATURES=$v4 DRAGOMAN_VECTOR=16 "$dragoman" ptx --dump asm --kernel scale --lanes 32 --block 64 scale.ptx
fi
has 'all kernels' '^other: ' "$dragoman" ptx --compile scale.ptx
has 'object' '^scale: ' "$dragoman" ptx --compile --kernel scale -o scale.o scale.ptx
has 'object is ELF' ELF head -c 4 scale.o
echo "1..$count"
