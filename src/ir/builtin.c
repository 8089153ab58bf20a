/* Cooperative groups' grid groups as cudadevrt has them (cudaCG*; Numba, and nvcc before CUDA 11, call them), and the system calls
 * that it makes for them. What they do: CUDA C++ Programming Guide, "Grid Synchronization"; names and parameters are in NVIDIA's
 * cuda_device_runtime_api.h. A group's handle is the address of the grid's workspace (backend/cpu/cpu.h), zero in a launch that is
 * not cooperative. On one device a group of several grids is a group of one. */
#include "ir/builtin.h"

#include <pthread.h>
#include <string.h>

#include "base/base.h"

#define FUNCTION(result, name, parameters) ".func (.param .b" #result " r) " name "(" parameters ") {\n"
#define HANDLE "  mov.b32 %a, %envreg2; mov.b32 %b, %envreg1; mov.b64 %h, {%a, %b};\n"

/* Words 2 and 3 of the workspace count arrived blocks and rounds. The last block to come starts the count and the next round. */
#define SYNC                                                                                                           \
	"  .reg .b64 %h; .reg .b32 %f, %n, %m, %round, %now; .reg .pred %p, %alone;\n"                                 \
	"  ld.param.b64 %h, [h]; ld.param.b32 %f, [f]; and.b32 %f, %f, 1; setp.ne.u32 %alone, %f, 0;\n"                \
	"  @%alone bra COME;\n"                                                                                        \
	"  bar.sync 0;\n"                                                                                              \
	"  mov.u32 %n, %tid.x; mov.u32 %m, %tid.y; or.b32 %n, %n, %m; mov.u32 %m, %tid.z; or.b32 %n, %n, %m;\n"        \
	"  setp.ne.u32 %p, %n, 0; @%p bra TOGETHER;\n"                                                                 \
	"COME:\n"                                                                                                      \
	"  mov.u32 %n, %nctaid.x; mov.u32 %m, %nctaid.y; mul.lo.u32 %n, %n, %m; mov.u32 %m, %nctaid.z;\n"              \
	"  mul.lo.u32 %n, %n, %m; sub.u32 %n, %n, 1;\n"                                                                \
	"  ld.acquire.gpu.b32 %round, [%h+12];\n"                                                                      \
	"  atom.acq_rel.gpu.inc.u32 %m, [%h+8], %n;\n"                                                                 \
	"  setp.ne.u32 %p, %m, %n; @%p bra WAIT;\n"                                                                    \
	"  red.release.gpu.add.u32 [%h+12], 1;\n"                                                                      \
	"  bra COMPLETE;\n"                                                                                            \
	"WAIT:\n"                                                                                                      \
	"  ld.acquire.gpu.b32 %now, [%h+12]; setp.eq.u32 %p, %now, %round; @%p bra WAIT;\n"                            \
	"COMPLETE:\n"                                                                                                  \
	"  @%alone bra END;\n"                                                                                         \
	"TOGETHER:\n"                                                                                                  \
	"  bar.sync 0;\n"                                                                                              \
	"END:\n"

/* (where, other, handle): `value` of the grid goes to *where, the grid's number or count to *other; NULL: not wanted. */
#define GIVE(invalid, value, other)                                                                                    \
	"  .reg .b64 %where, %other, %h; .reg .b32 %n, %m, %k, %r; .reg .pred %p;\n"                                   \
	"  ld.param.b64 %where, [a]; ld.param.b64 %other, [b]; ld.param.b64 %h, [h];\n"                                \
	"  mov.u32 %r, 0; mov.u32 %n, 0; mov.u32 %k, 0;\n"                                                             \
	"  setp.eq.u64 %p, %h, 0; @%p mov.u32 %r, " invalid "; @%p bra STORE;\n" value "  mov.u32 %k, " other ";\n"    \
	"STORE:\n"                                                                                                     \
	"  setp.ne.u64 %p, %where, 0; @%p st.u32 [%where], %n;\n"                                                      \
	"  setp.ne.u64 %p, %other, 0; @%p st.u32 [%other], %k;\n"                                                      \
	"  st.param.b32 [r], %r; ret; }\n"

#define BLOCK_THREADS                                                                                                  \
	"  mov.u32 %m, %ntid.x; mul.lo.u32 %n, %n, %m; mov.u32 %m, %ntid.y; mul.lo.u32 %n, %n, %m;\n"                  \
	"  mov.u32 %m, %ntid.z; mul.lo.u32 %n, %n, %m;\n"
#define SIZE                                                                                                           \
	"  mov.u32 %n, %nctaid.x; mov.u32 %m, %nctaid.y; mul.lo.u32 %n, %n, %m; mov.u32 %m, %nctaid.z;\n"              \
	"  mul.lo.u32 %n, %n, %m;\n" BLOCK_THREADS
#define RANK                                                                                                           \
	"  mov.u32 %n, %ctaid.z; mov.u32 %m, %nctaid.y; mov.u32 %k, %ctaid.y; mad.lo.u32 %n, %n, %m, %k;\n"            \
	"  mov.u32 %m, %nctaid.x; mov.u32 %k, %ctaid.x; mad.lo.u32 %n, %n, %m, %k;\n" BLOCK_THREADS                    \
	"  .reg .b32 %t; mov.u32 %t, %tid.z; mov.u32 %m, %ntid.y; mov.u32 %k, %tid.y; mad.lo.u32 %t, %t, %m, %k;\n"    \
	"  mov.u32 %m, %ntid.x; mov.u32 %k, %tid.x; mad.lo.u32 %t, %t, %m, %k; add.u32 %n, %n, %t;\n"

#define WORDS(name, invalid, value, other)                                                                             \
	FUNCTION(32, name, ".param .b64 a, .param .b64 b, .param .b64 h") GIVE(invalid, value, other)

/* cudaErrorUnknown is 999; a grid's scope is 1, several grids' 2. */
static const char *const functions[] = {
	FUNCTION(64, "__cuda_syscall_CGS_get_intrinsic_handle", ".param .b32 scope")
	"  .reg .b64 %h; .reg .b32 %a, %b;\n" HANDLE "  st.param.b64 [r], %h; ret; }\n",
	FUNCTION(64, "cudaCGGetIntrinsicHandle", ".param .b32 scope")
	"  .reg .b64 %h; .reg .b32 %a, %b; .reg .pred %p;\n" HANDLE
	"  ld.param.b32 %a, [scope]; sub.u32 %a, %a, 1; setp.hi.u32 %p, %a, 1; @%p mov.u64 %h, 0; st.param.b64 [r], %h; ret; }\n",
	FUNCTION(32, "__cuda_syscall_CGS_sync", ".param .b64 h, .param .b32 f") SYNC "  st.param.b32 [r], 0; ret; }\n",
	FUNCTION(32, "cudaCGSynchronize", ".param .b64 h, .param .b32 f")
	"  .reg .pred %none; .reg .b64 %handle; ld.param.b64 %handle, [h]; setp.ne.u64 %none, %handle, 0; @%none bra KNOWN;\n"
	"  st.param.b32 [r], 999; ret;\nKNOWN:\n" SYNC "  st.param.b32 [r], 0; ret; }\n",
	FUNCTION(32, "cudaCGSynchronizeGrid", ".param .b64 h, .param .b32 f")
	"  .reg .pred %none; .reg .b64 %handle; ld.param.b64 %handle, [h]; setp.ne.u64 %none, %handle, 0; @%none bra KNOWN;\n"
	"  st.param.b32 [r], 999; ret;\nKNOWN:\n" SYNC "  st.param.b32 [r], 0; ret; }\n",
	WORDS("__cuda_syscall_CGS_get_size", "1", SIZE, "1"),
	WORDS("__cuda_syscall_CGS_get_rank", "1", RANK, "0"),
	WORDS("cudaCGGetSize", "999", SIZE, "1"),
	WORDS("cudaCGGetRank", "999", RANK, "0"),
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct ptx_module *module;

static void parse(void)
{
	struct ptx_diagnostic diagnostic = { 0 };
	struct text text = { 0 };
	text_printf(&text, ".version 8.0\n.target sm_70\n.address_size 64\n");
	for (size_t i = 0; i < ARRAY_LENGTH(functions); i++)
		text_add(&text, functions[i], strlen(functions[i]));
	module = ptx_parse(text.data, text.count, "built-in functions", &diagnostic);
	if (!module)
		log_error("internal error, please report it: %s", diagnostic.message ? diagnostic.message : "built-in functions");
	ptx_diagnostic_fini(&diagnostic);
	text_fini(&text);
}

const struct ptx_function *ir_builtin(const char *name)
{
	if (strncmp(name, "__cuda_syscall_CGS", 18) && strncmp(name, "cudaCG", 6))
		return NULL;
	pthread_once(&once, parse);
	const struct ptx_symbol *symbol = module ? map_get(&module->symbols, name) : NULL;
	return symbol && symbol->kind == PTX_SYMBOL_FUNCTION ? (const struct ptx_function *)symbol : NULL;
}
