/* Clusters of blocks: launches, sizes and their limits, the cluster's barrier, shared memory of other blocks. Expectations: CUDA C++
 * Programming Guide, "Thread Block Clusters" and "Distributed Shared Memory"; PTX ISA 9.7.9.22 (mapa), 9.7.13.4
 * (barrier.cluster), 9.7.9.25.5 (cp.async.bulk), 10 (special registers), 11.4. */
#define _GNU_SOURCE
#include <cuda.h>

#include "check.h"
#include "context.h"

enum { THREADS = 48, WORDS = 16 }; /* threads: not whole warps */

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

static const char ring_ptx[] = HEAD
	/* out[16 * block]: of its first thread what it sees of itself and of the next block of its cluster */
	".visible .entry ring(.param .u64 out) {\n"
	"  .shared .align 4 .b32 own[4]; .reg .b64 %o, %p, %q; .reg .b32 %x, %y, %z, %n, %r, %t, %v; .reg .pred %f, %a, %b, %c;\n"
	"  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; setp.eq.u32 %f, %t, 0;\n"
	"  mov.u32 %x, %ctaid.x; mov.u32 %y, %ctaid.y; mov.u32 %z, %nctaid.x; mad.lo.u32 %x, %y, %z, %x;\n"
	"  @%f st.shared.u32 [own+4], %x; mul.wide.u32 %p, %x, 64; add.u64 %o, %o, %p;\n"
	"  barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
	"  mov.u32 %r, %cluster_ctarank; mov.u32 %n, %cluster_nctarank; add.u32 %r, %r, 1; rem.u32 %r, %r, %n;\n"
	"  cvta.shared.u64 %p, own; mapa.u64 %p, %p, %r; ld.u32 %v, [%p+4]; @%f st.global.u32 [%o], %v;\n"
	"  mov.u32 %x, own; mapa.shared::cluster.u32 %x, %x, %r; ld.shared::cluster.u32 %v, [%x+4]; @%f st.global.u32 [%o+4], %v;\n"
	"  getctarank.u64 %v, %p; @%f st.global.u32 [%o+8], %v; getctarank.shared::cluster.u32 %v, %x; @%f st.global.u32 [%o+12], %v;\n"
	"  isspacep.shared::cluster %a, %p; isspacep.shared::cta %b, %p; isspacep.global %c, %p;\n"
	"  selp.u32 %v, 1, 0, %a; selp.u32 %y, 2, 0, %b; or.b32 %v, %v, %y; selp.u32 %y, 4, 0, %c; or.b32 %v, %v, %y; @%f st.global.u32 [%o+16], %v;\n"
	/* there and back: generic to shared to generic, also by way of 32 bits */
	"  cvta.to.shared::cluster.u64 %q, %p; cvt.u32.u64 %v, %q; cvt.u64.u32 %q, %v; cvta.shared::cluster.u64 %q, %q;\n"
	"  setp.eq.u64 %a, %p, %q; selp.u32 %v, 1, 0, %a; @%f st.global.u32 [%o+20], %v;\n"
	"  @%f st.global.u32 [%o+24], %n; mov.u32 %v, %cluster_ctaid.x; @%f st.global.u32 [%o+28], %v; mov.u32 %v, %cluster_ctaid.y; @%f st.global.u32 [%o+32], %v;\n"
	"  mov.u32 %v, %clusterid.x; @%f st.global.u32 [%o+36], %v; mov.u32 %v, %clusterid.y; @%f st.global.u32 [%o+40], %v;\n"
	"  mov.u32 %v, %nclusterid.x; @%f st.global.u32 [%o+44], %v; mov.u32 %v, %cluster_nctaid.y; @%f st.global.u32 [%o+48], %v;\n"
	"  mov.pred %a, %is_explicit_cluster; selp.u32 %v, 1, 0, %a; @%f st.global.u32 [%o+52], %v;\n"
	/* all blocks add to the first one's word: the last rank's thread tells */
	"  cvta.shared.u64 %p, own; mapa.u64 %p, %p, 0; mov.u32 %x, own; mapa.shared::cluster.u32 %x, %x, 0;\n"
	"  mov.u32 %v, 0; @%f st.shared.u32 [own+8], %v; barrier.cluster.arrive; barrier.cluster.wait;\n"
	"  atom.shared::cluster.add.u32 %v, [%x+8], 1; atom.add.u32 %v, [%p+8], 2; barrier.cluster.arrive; barrier.cluster.wait;\n"
	"  ld.shared::cluster.u32 %v, [%x+8]; @%f st.global.u32 [%o+56], %v; barrier.cluster.arrive; barrier.cluster.wait; ret; }\n";

static const char function_ptx[] = HEAD
	/* A function that calls itself, and so stays one: it reads another block's words from the address it is given, and knows its own block. */
	".func (.param .b32 r) sum(.param .b64 p, .param .b32 n) {\n"
	"  .reg .b64 %p; .reg .b32 %n, %v, %w; .reg .pred %z; ld.param.b64 %p, [p]; ld.param.b32 %n, [n]; setp.eq.u32 %z, %n, 0; @%z bra LAST;\n"
	"  ld.u32 %v, [%p]; add.u64 %p, %p, 4; sub.u32 %n, %n, 1;\n"
	"  { .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %p; st.param.b32 [b], %n; call.uni (c), sum, (a, b); ld.param.b32 %w, [c]; }\n"
	"  add.u32 %v, %v, %w; st.param.b32 [r], %v; ret;\n"
	"LAST: mov.u32 %v, %ctaid.x; mov.u32 %w, %cluster_ctarank; mad.lo.u32 %v, %w, 1000, %v; st.param.b32 [r], %v; ret; }\n"
	/* Warps that meet at a barrier with a number and a count, and that function. */
	".visible .entry deep(.param .u64 out) {\n"
	"  .shared .align 4 .b32 words[64]; .reg .b64 %o, %p; .reg .b32 %t, %r, %n, %v, %a; .reg .pred %f;\n"
	"  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %v, %ctaid.x; mov.u32 %a, words; mad.lo.u32 %a, %t, 4, %a; add.u32 %v, %v, %t; st.shared.u32 [%a], %v;\n"
	"  barrier.sync 3, 64; mov.u32 %r, %cluster_ctarank; mov.u32 %n, %cluster_nctarank; add.u32 %r, %r, 1; rem.u32 %r, %r, %n;\n"
	"  barrier.cluster.arrive; barrier.cluster.wait; cvta.shared.u64 %p, words; mapa.u64 %p, %p, %r;\n"
	"  { .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %p; st.param.b32 [b], 8; call.uni (c), sum, (a, b); ld.param.b32 %v, [c]; }\n"
	"  barrier.cluster.arrive; barrier.cluster.wait; setp.eq.u32 %f, %t, 63; mov.u32 %t, %ctaid.x; mul.wide.u32 %p, %t, 4; add.u64 %o, %o, %p; @%f st.global.u32 [%o], %v; ret; }\n"
	/* More and larger blocks than a GPU has room for: each thread gives the next rank's same thread its number. */
	".visible .entry crowd(.param .u64 out) {\n"
	"  .shared .align 4 .b32 slots[1024]; .reg .b64 %o, %p; .reg .b32 %t, %r, %n, %v, %a, %w;\n"
	"  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %v, %ctaid.x; mad.lo.u32 %v, %v, 1024, %t; mov.u32 %r, %cluster_ctarank; mov.u32 %n, %cluster_nctarank;\n"
	"  add.u32 %r, %r, 1; rem.u32 %r, %r, %n; mov.u32 %a, slots; mad.lo.u32 %a, %t, 4, %a; mapa.shared::cluster.u32 %w, %a, %r;\n"
	"  st.shared.u32 [%a], 0xffffffff; barrier.cluster.arrive; barrier.cluster.wait; st.shared::cluster.u32 [%w], %v;\n"
	"  barrier.cluster.arrive; barrier.cluster.wait; ld.shared.u32 %w, [%a]; mul.wide.u32 %p, %v, 4; add.u64 %p, %p, %o; st.global.u32 [%p], %w; ret; }\n";

static const char more_ptx[] = HEAD
	".visible .entry ring_of_four(.param .u64 out) .explicitcluster .reqnctapercluster 2, 2, 1 {\n"
	"  .reg .pred %q; .reg .b64 %o; .reg .b32 %v, %x; ld.param.u64 %o, [out]; mov.u32 %v, %cluster_nctarank; mov.u32 %x, %cluster_ctaid.y; shl.b32 %x, %x, 8;\n"
	"  or.b32 %v, %v, %x; mov.u32 %x, %ctaid.x; setp.ne.u32 %q, %x, 1; @%q ret; mov.u32 %x, %ctaid.y; setp.ne.u32 %q, %x, 1; @%q ret;\n"
	"  st.global.u32 [%o], %v; ret; }\n"
	".visible .entry unsized(.param .u64 out) .explicitcluster { ret; }\n"
	".visible .entry at_most_four(.param .u64 out) .maxclusterrank 4 { ret; }\n"
	".visible .entry counted_in_clusters(.param .u64 out) .reqntid 32, 1, 1 .reqnctapercluster 4, 1, 1 .blocksareclusters {\n"
	"  .reg .b64 %o; .reg .b32 %v; ld.param.u64 %o, [out]; red.global.add.u32 [%o], 1; mov.u32 %v, %nctaid.x; st.global.u32 [%o+4], %v; ret; }\n"
	/* Thread 0 of rank 0 arrives, then waits for what a thread of rank 1 does behind its own wait. Threads from 40 on leave early. */
	".visible .entry parted(.param .u64 out) {\n"
	"  .shared .align 4 .b32 flag; .reg .b64 %o, %p; .reg .b32 %t, %r, %v; .reg .pred %f, %g, %l;\n"
	"  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %r, %cluster_ctarank; setp.eq.u32 %f, %t, 0; setp.eq.and.u32 %g, %r, 0, %f;\n"
	"  @%f st.shared.u32 [flag], 0; barrier.cluster.arrive; barrier.cluster.wait;\n"
	"  setp.ge.u32 %l, %t, 40; @%l ret;\n"
	"  barrier.cluster.arrive; @!%g bra ON;\n"
	"SPIN: ld.volatile.shared.u32 %v, [flag]; setp.eq.u32 %l, %v, 0; @%l bra SPIN;\n"
	"  add.u32 %v, %v, 35; st.global.u32 [%o], %v;\n"
	"ON: barrier.cluster.wait; setp.eq.u32 %l, %r, 1; setp.eq.and.u32 %l, %t, 39, %l;\n"
	"  mov.u32 %v, flag; mapa.shared::cluster.u32 %v, %v, 0; @%l st.shared::cluster.u32 [%v], 7;\n"
	"  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret; }\n"
	/* Rank 0 copies 64 bytes of `in` to ranks 1 and 3; each block counts what it finds. */
	".visible .entry multicast(.param .u64 out, .param .u64 in) {\n"
	"  .shared .align 16 .b8 room[64]; .shared .align 8 .b64 done; .reg .b64 %o, %i, %p, %s; .reg .b32 %t, %r, %v, %b; .reg .b16 %m; .reg .pred %f, %g, %w;\n"
	"  ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x; mov.u32 %r, %cluster_ctarank; setp.eq.u32 %f, %t, 0;\n"
	"  shl.b32 %b, %t, 2; mov.u32 %v, room; add.u32 %b, %b, %v; st.shared.u32 [%b], 0; mov.u32 %v, done;\n"
	"  @%f mbarrier.init.shared::cta.b64 [%v], 1; @%f mbarrier.arrive.expect_tx.shared::cta.b64 %s, [%v], 64;\n"
	"  fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;\n"
	"  setp.eq.and.u32 %g, %r, 0, %f; mov.u16 %m, 10; mov.u32 %b, room;\n"
	"  @%g cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%b], [%i], 64, [%v], %m;\n"
	"  and.b32 %b, %r, 1; setp.eq.u32 %g, %b, 0; @%g bra NONE;\n"
	"WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %w, [%v], 0; @!%w bra WAIT;\n"
	"NONE: barrier.cluster.arrive; barrier.cluster.wait; shl.b32 %b, %t, 2; mov.u32 %v, room; add.u32 %b, %b, %v; ld.shared.u32 %v, [%b];\n"
	"  mad.lo.u32 %t, %r, 16, %t; mul.wide.u32 %p, %t, 4; add.u64 %o, %o, %p; st.global.u32 [%o], %v; ret; }\n"
	/* Rank 1's threads wait for threads that it does not have: nobody can go on. */
	".visible .entry hopeless() {\n"
	"  .reg .b32 %r; .reg .pred %f; mov.u32 %r, %cluster_ctarank; setp.eq.u32 %f, %r, 1; @!%f bra ON; barrier.sync 1, 128;\n"
	"ON: barrier.cluster.arrive; barrier.cluster.wait; ret; }\n";

static CUmodule ring_module, function_module, module;
static CUdeviceptr out;

static CUfunction function_of(const char *name)
{
	CUfunction function = NULL;
	CUmodule found = !strcmp(name, "ring") ? ring_module : !strcmp(name, "deep") || !strcmp(name, "crowd") ? function_module : module;

	CHECK_OK(cuModuleGetFunction(&function, found, name));
	return function;
}

static CUresult launch(CUfunction function, unsigned x, unsigned y, unsigned threads, unsigned cx, unsigned cy, CUdeviceptr second)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
	CUlaunchConfig config = {.gridDimX = x, .gridDimY = y, .gridDimZ = 1, .blockDimX = threads, .blockDimY = 1, .blockDimZ = 1};
	void *parameters[] = {&out, &second};
	CUresult status;

	attribute.value.clusterDim.x = cx;
	attribute.value.clusterDim.y = cy;
	attribute.value.clusterDim.z = 1;
	if (cx) {
		config.attrs = &attribute;
		config.numAttrs = 1;
	}
	status = cuLaunchKernelEx(&config, function, parameters, NULL);
	return status ? status : cuCtxSynchronize();
}

static void read_words(unsigned *words, size_t count)
{
	CHECK_OK(cuMemcpyDtoH(words, out, 4 * count));
}

/* The number, among the grid's, of the block with that rank in the cluster of block (x, y). */
static unsigned block_of_rank(unsigned x, unsigned y, unsigned width, unsigned cx, unsigned cy, unsigned rank)
{
	return (y / cy * cy + rank / cx) * width + x / cx * cx + rank % cx;
}

static void check_ring(unsigned width, unsigned height, unsigned cx, unsigned cy)
{
	static unsigned words[64 * WORDS];
	unsigned blocks = cx * cy;

	CHECK_OK(cuMemsetD32(out, 0xdead, sizeof words / 4));
	CHECK_OK(launch(function_of("ring"), width, height, THREADS, cx, cy, 0));
	read_words(words, sizeof words / 4);
	for (unsigned y = 0; y < height; y++) {
		for (unsigned x = 0; x < width; x++) {
			const unsigned *w = words + WORDS * (y * width + x);
			unsigned rank = y % cy * cx + x % cx, next = (rank + 1) % blocks;

			CHECK_INT(w[0], block_of_rank(x, y, width, cx, cy, next));
			CHECK_INT(w[1], w[0]);
			CHECK_INT(w[2], next);
			CHECK_INT(w[3], next);
			CHECK_INT(w[4], next == rank ? 3 : 1); /* of the cluster, its own too where it is alone; never global */
			CHECK_INT(w[5], 1);
			CHECK_INT(w[6], blocks);
			CHECK_INT(w[7], x % cx);
			CHECK_INT(w[8], y % cy);
			CHECK_INT(w[9], x / cx);
			CHECK_INT(w[10], y / cy);
			CHECK_INT(w[11], width / cx);
			CHECK_INT(w[12], cy);
			CHECK_INT(w[13], blocks > 1);
			CHECK_INT(w[14], 3 * THREADS * blocks);
		}
	}
}

static void test_sizes(void)
{
	CUfunction ring = function_of("ring");
	int width = 0;

	check_ring(3, 2, 1, 1);
	check_ring(8, 1, 2, 1);
	check_ring(6, 4, 3, 2);
	check_ring(2, 8, 1, 8);
	CHECK_INT(launch(ring, 6, 1, THREADS, 4, 1, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	CHECK_INT(launch(ring, 16, 1, THREADS, 16, 1, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE); /* more than 8 must be asked for */
	CHECK_OK(cuFuncSetAttribute(ring, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	check_ring(16, 2, 16, 1);
	CHECK_INT(launch(ring, 32, 1, THREADS, 32, 1, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	CHECK_INT(launch(function_of("at_most_four"), 8, 1, 32, 8, 1, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	CHECK_OK(launch(function_of("at_most_four"), 8, 1, 32, 4, 1, 0));
	CHECK_OK(cuFuncSetAttribute(ring, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
	CHECK_INT(launch(ring, 8, 1, THREADS, 4, 1, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	CHECK_OK(launch(ring, 8, 1, THREADS, 0, 0, 0));
	CHECK_OK(cuFuncGetAttribute(&width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, ring));
	CHECK_INT(width, 2);
	CHECK_OK(cuFuncSetAttribute(ring, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 0));
}

static void test_directives(void)
{
	CUfunction four = function_of("ring_of_four");
	unsigned words[2] = {0};
	int value = 0;

	CHECK_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, four));
	CHECK_INT(value, 2);
	CHECK_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, four));
	CHECK_INT(value, 1);
	CHECK_INT(cuFuncSetAttribute(four, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4), CUDA_ERROR_NOT_PERMITTED);
	CHECK_OK(launch(four, 4, 4, 32, 0, 0, 0)); /* as <<<>>> does */
	read_words(words, 1);
	CHECK_INT(words[0], 1 << 8 | 4);
	CHECK_OK(launch(four, 4, 4, 32, 2, 2, 0));
	CHECK_INT(launch(four, 4, 4, 32, 4, 1, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	CHECK_INT(launch(four, 3, 4, 32, 0, 0, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	CHECK_INT(launch(function_of("unsized"), 4, 1, 32, 0, 0, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	CHECK_OK(launch(function_of("unsized"), 4, 1, 32, 2, 1, 0));
	CHECK_OK(cuMemsetD32(out, 0, 2));
	CHECK_OK(launch(function_of("counted_in_clusters"), 3, 1, 32, 0, 0, 0));
	read_words(words, 2);
	CHECK_INT(words[0], 3 * 4 * 32);
	CHECK_INT(words[1], 12);
}

static void test_occupancy(void)
{
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
	CUlaunchConfig config = {.gridDimX = 8, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1, .blockDimZ = 1,
				 .attrs = &attribute, .numAttrs = 1};
	int size = 0, clusters = 0;

	attribute.value.clusterDim.x = 4;
	attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
	CHECK_OK(cuOccupancyMaxPotentialClusterSize(&size, function_of("multicast"), &config));
	CHECK_INT(size, 8);
	CHECK_OK(cuOccupancyMaxPotentialClusterSize(&size, function_of("at_most_four"), &config));
	CHECK_INT(size, 4);
	CHECK_OK(cuOccupancyMaxActiveClusters(&clusters, function_of("multicast"), &config));
	CHECK(clusters > 0);
	attribute.value.clusterDim.x = 16;
	CHECK_INT(cuOccupancyMaxActiveClusters(&clusters, function_of("multicast"), &config), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

static void test_graph(void)
{
	CUDA_KERNEL_NODE_PARAMS node = {.func = function_of("ring"), .gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS,
					.blockDimY = 1, .blockDimZ = 1};
	CUkernelNodeAttrValue value = {0};
	void *parameters[] = {&out};
	unsigned words[4 * WORDS];
	CUgraphExec exec = NULL;
	CUgraph graph = NULL;
	CUgraphNode added;

	node.kernelParams = parameters;
	CHECK_OK(cuMemsetD32(out, 0, sizeof words / 4));
	CHECK_OK(cuGraphCreate(&graph, 0));
	CHECK_OK(cuGraphAddKernelNode(&added, graph, NULL, 0, &node));
	value.clusterDim.x = 4;
	value.clusterDim.y = value.clusterDim.z = 1;
	CHECK_OK(cuGraphKernelNodeSetAttribute(added, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value));
	CHECK_OK(cuGraphInstantiate(&exec, graph, 0));
	CHECK_OK(cuGraphLaunch(exec, NULL));
	CHECK_OK(cuCtxSynchronize());
	read_words(words, sizeof words / 4);
	CHECK_INT(words[3 * WORDS + 6], 4);
	CHECK_INT(words[3 * WORDS + 0], 0);
	CHECK_OK(cuGraphExecDestroy(exec));
	CHECK_OK(cuGraphDestroy(graph));
}

static void test_waiting(void)
{
	unsigned words[64], data[16], wrong = 0;
	CUdeviceptr in;

	for (int i = 0; i < 20; i++) {
		CHECK_OK(cuMemsetD32(out, 0, 1));
		CHECK_OK(launch(function_of("parted"), 8, 1, THREADS, 2 + 2 * (i % 2), 1, 0));
		read_words(words, 1);
		CHECK_INT(words[0], 42);
	}
	for (unsigned i = 0; i < 16; i++)
		data[i] = 100 + i;
	CHECK_OK(cuMemAlloc(&in, sizeof data));
	CHECK_OK(cuMemcpyHtoD(in, data, sizeof data));
	CHECK_OK(launch(function_of("multicast"), 4, 1, 16, 4, 1, in));
	read_words(words, 64);
	for (unsigned i = 0; i < 64; i++)
		wrong += words[i] != (i / 16 % 2 ? 100 + i % 16 : 0);
	CHECK_INT(wrong, 0);
	CHECK_OK(cuMemFree(in));
}

static void test_functions(void)
{
	enum { BLOCKS = 6 };
	unsigned words[BLOCKS];

	CHECK_OK(launch(function_of("deep"), BLOCKS, 1, 64, 3, 1, 0));
	read_words(words, BLOCKS);
	for (unsigned i = 0; i < BLOCKS; i++)
		CHECK_INT(words[i], 8 * (i / 3 * 3 + (i + 1) % 3) + 7 * 8 / 2 + i % 3 * 1000 + i);
}

static void test_crowd(void)
{
	enum { SIZE = 16, BLOCKS = 10 * SIZE, ALL = BLOCKS * 1024 };
	static unsigned words[ALL];
	CUfunction crowd = function_of("crowd");
	CUdeviceptr kept = out;
	unsigned wrong = 0;

	CHECK_OK(cuFuncSetAttribute(crowd, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
	CHECK_OK(cuMemAlloc(&out, sizeof words));
	CHECK_OK(launch(crowd, BLOCKS, 1, 1024, SIZE, 1, 0));
	read_words(words, ALL);
	for (unsigned i = 0; i < ALL; i++) {
		unsigned block = i / 1024, before = block / SIZE * SIZE + (block + SIZE - 1) % SIZE;

		wrong += words[i] != before * 1024 + i % 1024;
	}
	CHECK_INT(wrong, 0);
	CHECK_OK(cuMemFree(out));
	out = kept;
}

/* Last: the error stays. A GPU just hangs. */
static void test_hopeless(void)
{
	const char *device = getenv("DRAGOMAN_DEVICE");

	if (device && !strcmp(device, "amd"))
		return;
	CHECK_INT(launch(function_of("hopeless"), 4, 1, 32, 2, 1, 0), CUDA_ERROR_LAUNCH_FAILED);
}

int main(void)
{
	context_begin();
	CHECK_OK(cuModuleLoadData(&ring_module, ring_ptx));
	CHECK_OK(cuModuleLoadData(&function_module, function_ptx));
	CHECK_OK(cuModuleLoadData(&module, more_ptx));
	CHECK_OK(cuMemAlloc(&out, 64 * 1024));
	if (!ring_module || !function_module || !module || !out)
		return check_end();
	test_sizes();
	test_directives();
	test_occupancy();
	test_graph();
	test_waiting();
	test_functions();
	test_crowd();
	test_hopeless();
	return check_end();
}
