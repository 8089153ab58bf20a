/* What the parser makes of PTX: constants, initialisers, names and scopes, parameters, forms, operands,
 * the printed text, linking, and how much memory all that takes. Expected values are from the PTX ISA
 * manual; those of constant expressions are what ptxas 13.0 computes. */
#include "ptx/isa_index.h"
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"

static struct ptx_module *parse(const char *text)
{
	struct ptx_diagnostic diagnostic = { 0 };
	struct ptx_module *module = ptx_parse(text, strlen(text), "test.ptx", &diagnostic);
	if (!module)
		fail_msg("%s", diagnostic.message);
	ptx_diagnostic_fini(&diagnostic);
	return module;
}

static const struct ptx_function *first_body(const struct ptx_module *module)
{
	for (size_t i = 0; i < module->functions.count; i++)
		if (!module->functions.data[i]->is_declaration)
			return module->functions.data[i];
	return NULL;
}

/* ---- constants ---- */

static void test_expressions(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {
		{ "1+2*3", 7 },
		{ "(1+2)*3", 9 },
		{ "3+4*2-1", 10 },
		{ "- -5", 5 },
		{ "+5", 5 },
		{ "-7/2", -3 },
		{ "-5/-2", 2 },
		{ "-7 % 3", 0 },
		{ "7 % -3", 7 },
		{ "7%3", 1 },
		{ "2*3 % 4", 2 },
		{ "7-8 % 3", 5 }, /* % is of .u64 */
		{ "(~0)/2", INT64_MAX },
		{ "(~1)>0", 1 },
		{ "(~7)>>1", INT64_MAX - 3 },
		{ "~5", -6 }, /* so is ~ */
		{ "(-1&-1)/2", 0 },
		{ "6&3", 2 },
		{ "6|3", 7 },
		{ "6^3", 5 },
		{ "1|2^3&5", 3 },
		{ "-1<1", 1 },
		{ "-1<1U", 0 },
		{ "-1>1U", 1 },
		{ "-1 == 0xFFFFFFFFFFFFFFFF", 1 },
		{ "5!=5", 0 },
		{ "3>=3", 1 },
		{ "3<=2", 0 },
		{ "!5", 0 },
		{ "!0", 1 },
		{ "0||0", 0 },
		{ "1&&2", 1 },
		{ "1?2?3:4:5", 3 },
		{ "0?1:2?3:4", 3 },
		{ "-(1U)/2", INT64_MAX },
		{ "(1U-2)/2", INT64_MAX },
		{ "(5?-1:1U)/2", 0 },
		{ "9223372036854775808/2", INT64_C(1) << 62 },
		{ "1<<40", INT64_C(1) << 40 },
		{ "-8>>1", -4 },
		{ "1<<63>>63", -1 },
		{ "1U<<63>>63", 1 },
		{ "(.s64)0xFFFFFFFFFFFFFFFF/2", 0 },
		{ "(.u64)-1/2", INT64_MAX },
		{ "0x7fffffffffffffff+1", INT64_MIN },
		{ "WARP_SZ-33", -1 },
		{ "017", 15 },
		{ "0b1011", 11 },
		{ "0xFFU", 255 },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct text text = { 0 };
		text_printf(&text, HEAD ".global .s64 x = %s;\n.global .s64 y = 77;\n", cases[i].text);
		struct ptx_module *module = parse(text.data);
		const struct ptx_variable *x = ptx_find_variable(module, "x");
		int64_t value = x->initial_count ? (int64_t)x->initial[0].bits : 0;
		if (value != cases[i].value)
			fail_msg("%s is %lld, not %lld", cases[i].text, (long long)value, (long long)cases[i].value);
		ptx_destroy(module);
		text_fini(&text);
	}
}

/* The bytes of a variable; addresses are 0xA0 where no mask is, else 0xB0 + which byte. */
static void flatten(const struct ptx_variable *v, uint8_t *out)
{
	memset(out, 0, v->size);
	for (uint32_t i = 0; i < v->initial_count; i++) {
		const struct ptx_initial *e = &v->initial[i];
		unsigned bytes = ptx_type_bits(e->type) / 8;
		assert_true(e->offset + bytes <= v->size);
		assert_true(i == 0 || e->offset > v->initial[i - 1].offset);
		if (e->symbol)
			memset(out + e->offset, e->mask_bytes ? 0xB0 + e->mask_shift / 8 : 0xA0, bytes);
		else
			memcpy(out + e->offset, &e->bits, bytes);
	}
}

static void test_initialisers(void **state)
{
	(void)state;
	static const uint8_t grid[] = { 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 0, 0 },
			     bytes[] = { 1, 0, 3, 0, 0, 0, 0, 0, 0, 10, 255 };
	static const uint8_t vectors[] = { 0, 0, 0x80, 0x3F, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40 };
	static const uint8_t parts[] = { 0xB0, 0xB1, 0xB7, 9 }, cut[] = { 0x34, 0xFF };
	uint8_t got[64];
	struct ptx_module *module = parse(
		HEAD ".global .u16 grid[2][3] = { {1, 2, 3}, {4, 5} };\n"
		     ".global .b8 bytes[11] = { 1, 0, 3, 0, 0, 0, 0, 0, 0, 10, 0xFF };\n"
		     ".global .u16 open[][2] = { {1}, {2, 3}, {4} };\n"
		     ".global .v2 .f32 vectors[2] = { {1.0, 2.0}, {3.0, 0f40800000} };\n"
		     ".global .u8 parts[4] = { 0xFF(grid), 0xFF00(grid), 0xFF00000000000000(generic(grid)+1), 9 };\n"
		     ".global .b8 cut[2] = { 0x1234, -1 };\n"
		     ".const .f64 half = 0.5;\n"
		     ".global .u64 address = generic(bytes)+3;\n");
	flatten(ptx_find_variable(module, "grid"), got);
	assert_memory_equal(got, grid, sizeof grid);
	flatten(ptx_find_variable(module, "bytes"), got);
	assert_memory_equal(got, bytes, sizeof bytes);
	flatten(ptx_find_variable(module, "vectors"), got);
	assert_memory_equal(got, vectors, sizeof vectors);
	flatten(ptx_find_variable(module, "parts"), got);
	assert_memory_equal(got, parts, sizeof parts);
	flatten(ptx_find_variable(module, "cut"), got);
	assert_memory_equal(got, cut, sizeof cut);
	const struct ptx_variable *open = ptx_find_variable(module, "open"), *half = ptx_find_variable(module, "half");
	assert_int_equal(open->size, 12);
	assert_int_equal(open->dims.data[0], 3);
	assert_false(open->unsized);
	assert_int_equal(half->initial[0].bits, UINT64_C(0x3FE0000000000000));
	const struct ptx_variable *address = ptx_find_variable(module, "address");
	assert_ptr_equal(address->initial[0].symbol, &ptx_find_variable(module, "bytes")->symbol);
	assert_int_equal(address->initial[0].bits, 3);
	assert_true(address->initial[0].generic);
	ptx_destroy(module);
}

/* ---- declarations ---- */

static void test_parameters(void **state)
{
	(void)state;
	static const uint32_t offsets[] = { 0, 8, 12, 16, 32, 48 };
	struct ptx_module *module =
		parse(HEAD ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .u8 b, .param .f32 c,\n"
			   ".param .align 16 .b8 d[12], .param .align 16 .b8 e[16], .param .u16 f)\n"
			   ".maxntid 256 .minnctapersm 3 .pragma \"x\";\n{ ret; }\n");
	const struct ptx_function *k = ptx_find_entry(module, "k");
	assert_non_null(k);
	assert_int_equal(k->parameters.count, ARRAY_LENGTH(offsets));
	for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++)
		assert_int_equal(k->parameters.data[i]->offset, offsets[i]);
	assert_int_equal(k->parameter_bytes, 50);
	assert_true(k->parameters.data[0]->pointer);
	assert_int_equal(k->parameters.data[0]->pointer_space, PTX_SPACE_GLOBAL);
	assert_int_equal(k->parameters.data[0]->pointer_align, 16);
	assert_int_equal(k->maxntid[0], 256);
	assert_int_equal(k->maxntid[2], 1);
	assert_int_equal(k->minnctapersm, 3);
	assert_string_equal(k->pragmas.data[0].text, "x");
	assert_null(ptx_find_entry(module, "x"));
	ptx_destroy(module);
}

static void test_scopes(void **state)
{
	(void)state;
	struct ptx_module *module =
		parse(HEAD ".global .u32 x;\n.visible .entry k()\n{\n"
			   ".reg .b32 %r<4>, a;\n"
			   "mov.b32 a, %r3;\n" /* 0 */
			   "{ .reg .b64 a; .reg .b32 %r3, %r<2>;\n"
			   "cvt.u64.u32 a, %r3;\n" /* 1: the block's own both */
			   "mov.b32 %r1, %r2;\n"   /* 2: %r1 the block's, %r2 the function's */
			   "bra L;\n"              /* 3: the block's L, defined below */
			   "L: bra out; }\n"       /* 4 */
			   "mov.b32 a, x;\n"       /* 5 */
			   "{ .local .u32 x; .reg .b64 y; mov.u64 y, x; bra L; }\n" /* 6, 7: the function's L */
			   "L: mov.b32 a, %r1;\n"                                   /* 8 */
			   "out: ret;\n}\n");
	const struct ptx_function *k = first_body(module);
	const struct ptx_instruction *in = k->instructions;
	assert_int_equal(k->instruction_count, 10);
	const struct ptx_register *a = in[0].operands[0].reg, *r3 = in[0].operands[1].reg;
	assert_int_equal(r3->index, 3);
	assert_ptr_not_equal(in[1].operands[0].reg, a);
	assert_int_equal(in[1].operands[0].reg->type, PTX_B64);
	assert_ptr_not_equal(in[1].operands[1].reg, r3);
	assert_int_equal(in[2].operands[1].reg->index, 2);
	assert_true(in[2].operands[0].reg->index > 4);
	assert_int_equal(((const struct ptx_label *)in[3].operands[0].symbol)->at, 4);
	assert_int_equal(((const struct ptx_label *)in[4].operands[0].symbol)->at, 9);
	assert_ptr_equal(in[5].operands[1].symbol, &ptx_find_variable(module, "x")->symbol);
	assert_ptr_equal(((const struct ptx_variable *)in[6].operands[1].symbol)->function, k);
	assert_int_equal(((const struct ptx_label *)in[7].operands[0].symbol)->at, 8);
	assert_int_equal(in[8].operands[1].reg->index, 1);
	for (size_t i = 0; i < k->registers.count; i++)
		assert_int_equal(k->registers.data[i]->index, i);
	ptx_destroy(module);
}

/* ---- instructions ---- */

static const struct ptx_form *form_of(struct ptx_module **module, const char *declarations, const char *statement)
{
	struct text text = { 0 };
	text_printf(
		&text,
		HEAD
		"%s\n.visible .entry k()\n{ .reg .pred %%p<4>; .reg .b16 %%rs<4>; .reg .b32 %%r<9>; .reg .b64 %%rd<4>;"
		" .reg .f32 %%f<4>; %s ret; }\n",
		declarations, statement);
	*module = parse(text.data);
	text_fini(&text);
	return first_body(*module)->instructions[0].form;
}

static void test_forms(void **state)
{
	(void)state;
	struct ptx_module *module;
	const struct ptx_form *f = form_of(&module, "", "ld.global.nc.L2::128B.v4.u8 {%r0, %r1, %r2, %r3}, [%rd1];");
	assert_int_equal(f->types[0], PTX_U8);
	assert_int_equal(f->type_count, 1);
	assert_int_equal(f->space, PTX_SPACE_GLOBAL);
	assert_int_equal(f->vector, 4);
	assert_true(ptx_has(f, MOD_nc) && ptx_has(f, MOD_L2__128B) && !ptx_has(f, MOD_volatile));
	assert_true(f->row->flags & ISA_READS);
	ptx_destroy(module);
	f = form_of(&module, "", "cvt.rzi.ftz.s32.f32 %r1, %f1;");
	assert_int_equal(f->type_count, 2);
	assert_int_equal(f->types[0], PTX_S32);
	assert_int_equal(f->types[1], PTX_F32);
	ptx_destroy(module);
	/* Orders that compilers have used over the years. */
	static const char *const pairs[][2] = {
		{ "atom.add.release.gpu.u32 %r1, [%rd1], 1;", "atom.release.gpu.add.u32 %r1, [%rd1], 1;" },
		{ "atom.global.sys.cas.b32 %r1, [%rd1], 1, 2;", "atom.sys.global.cas.b32 %r1, [%rd1], 1, 2;" },
		{ "ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%r1, %r2, %r3, %r4}, [%rd1];",
		  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%rd1];" },
		{ "vote.ballot.sync.b32 %r1, %p1, -1;", "vote.sync.ballot.b32 %r1, %p1, -1;" },
		{ "ld.global.relaxed.gpu.u32 %r1, [%rd1];", "ld.relaxed.gpu.global.u32 %r1, [%rd1];" },
		{ "ld .global\n.u32 %r1, [%rd1];", "ld.global.u32 %r1, [%rd1];" },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
		struct ptx_module *other;
		const struct ptx_form *a = form_of(&module, "", pairs[i][0]), *b = form_of(&other, "", pairs[i][1]);
		assert_int_equal(a->row->index, b->row->index);
		assert_memory_equal(a->mods, b->mods, sizeof a->mods);
		ptx_destroy(module);
		ptx_destroy(other);
	}
}

/* Every row is the first that fits some spelling: none lies hidden behind another. */
static void test_rows_reachable(void **state)
{
	(void)state;
	for (size_t r = 0; r < isa_row_count; r++) {
		const struct isa_row *row = &isa_rows[r];
		bool reached = false;
		/* All slots at their first choice, optional ones left out or not, then one slot at each other choice. */
		for (int filled = 0; filled < 2 && !reached; filled++)
			for (unsigned slot = 0; slot <= row->slot_count && !reached; slot++)
				for (unsigned choice = 0;
				     choice < (slot < row->slot_count ? row->slots[slot].first_choice_count : 1U) &&
				     !reached;
				     choice++) {
					struct text text = { 0 };
					uint16_t mods[ISA_MAX_SLOTS];
					text_printf(&text, "%s", row->opcode);
					for (unsigned i = 0; i < row->slot_count; i++)
						if (i == slot || filled || !row->slots[i].optional)
							text_printf(
								&text, ".%s",
								isa_mod_name(
									(enum ptx_mod)
										isa_choices[row->slots[i].first_choice +
											    (i == slot ? choice : 0)]));
					reached = isa_find_row(text.data, text.count, mods) == row;
					text_fini(&text);
				}
		if (!reached)
			fail_msg("no spelling finds the row %s", row->text);
	}
}

static void test_operands(void **state)
{
	(void)state;
	struct ptx_module *module = parse(HEAD ".global .texref t;\n.global .b8 table[64];\n.extern .func (.param .b32 "
					       "r) f(.param .b32 a);\n.visible .entry k()\n{\n"
					       ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<9>; "
					       ".reg .v4 .f32 %v; .param .b32 a; .param .b32 r;\n"
					       "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%f4, %f5}];\n"
					       "setp.lt.and.s32 %p0|_, %r1, -3, !%p1;\n"
					       "st.global.u32 [table+-4], 0x80000000;\n"
					       "mov.u64 %rd0, table[5];\n"
					       "mov.u32 %r0, %ctaid.z;\n"
					       "@!%p2 call (r), f, (a);\n"
					       "fma.rn.f32 %f0, 0f3F800000, 1.5, -0.5;\n"
					       "vadd.u32.u32.u32 %r0.b3, %r1.h1, -%r2.b0, %r3;\n"
					       "mov.f32 %f0, %v.w;\n"
					       "ret;\n}\n");
	const struct ptx_instruction *in = first_body(module)->instructions;
	const struct ptx_operand *o = &in[0].operands[1];
	assert_int_equal(o->kind, PTX_OP_TEXTURE);
	assert_int_equal(o->part_count, 2);
	assert_int_equal(o->parts[0].kind, PTX_OP_SYMBOL);
	assert_int_equal(o->parts[1].kind, PTX_OP_VECTOR);
	o = in[1].operands;
	assert_int_equal(o[0].kind, PTX_OP_PAIR);
	assert_int_equal(o[0].parts[1].kind, PTX_OP_SINK);
	assert_int_equal((int64_t)o[2].bits, -3);
	assert_true(o[3].negated);
	o = in[2].operands;
	assert_int_equal(o[0].kind, PTX_OP_ADDRESS);
	assert_int_equal(o[0].offset, -4);
	assert_int_equal(o[1].bits, UINT64_C(0x80000000));
	assert_int_equal(in[3].operands[1].offset, 5);
	assert_int_equal(in[4].operands[1].kind, PTX_OP_SREG);
	assert_int_equal(in[4].operands[1].sreg, SREG_ctaid);
	assert_int_equal(in[4].operands[1].component, 2);
	assert_true(in[5].guard && in[5].guard_negated);
	assert_int_equal(in[5].operands[0].kind, PTX_OP_LIST);
	assert_int_equal(in[5].operands[1].symbol->kind, PTX_SYMBOL_FUNCTION);
	o = in[6].operands;
	assert_true(o[1].is_f32 && o[1].bits == 0x3F800000);
	assert_true(!o[2].is_f32 && o[2].bits == UINT64_C(0x3FF8000000000000));
	assert_int_equal(o[3].bits, UINT64_C(0xBFE0000000000000));
	o = in[7].operands;
	assert_int_equal(o[0].selector, 3);
	assert_int_equal(o[1].selector, 5);
	assert_true(o[2].negated && o[2].selector == 0);
	assert_int_equal(in[8].operands[1].component, 3);
	ptx_destroy(module);
}

static void test_special_registers(void **state)
{
	(void)state;
	assert_int_equal(isa_find_sreg("%tid", 4), SREG_tid);
	assert_int_equal(isa_find_sreg("%envreg31", 9), SREG_envreg0 + 31);
	assert_int_equal(isa_find_sreg("%pm7_64", 7), SREG_pm0_64 + 7);
	assert_int_equal(isa_find_sreg("%envreg32", 9), -1);
	assert_int_equal(isa_find_sreg("%ti", 3), -1);
	assert_int_equal(isa_sregs[SREG_clock64].type, PTX_U64);
}

/* ---- printing ---- */

static void test_print(void **state)
{
	(void)state;
	/* What only a name told apart: registers, variables and labels of blocks that hide others. */
	struct ptx_module *module = parse(HEAD ".global .u32 x;\n.func f(.reg .b32 a)\n{ .reg .b32 %r<3>, x$1;\n"
					       "{ .reg .b32 %r<3>, x, x$1; mov.b32 %r1, x; L: bra L; }\n"
					       "{ .reg .b32 x; mov.b32 x, %r1; L: bra L; }\n"
					       "mov.b32 x$1, a; ret; }\n");
	struct text printed = { 0 }, why = { 0 };
	ptx_print(module, &printed);
	struct ptx_module *again = parse(printed.data);
	if (!ptx_equal(module, again, &why))
		fail_msg("%s\n%s", why.data, printed.data);
	struct ptx_module *other =
		parse(HEAD ".global .u32 x;\n.func f(.reg .b32 a)\n{ .reg .b32 %r<3>, x$1; mov.b32 x$1, %r0; ret; }\n");
	assert_false(ptx_equal(module, other, NULL));
	struct text line = { 0 };
	ptx_print_instruction(&first_body(other)->instructions[0], &line);
	assert_string_equal(line.data, "mov.b32 x$1, %r0;");
	text_fini(&line);
	ptx_destroy(other);
	ptx_destroy(again);
	ptx_destroy(module);
	text_fini(&printed);
	text_fini(&why);
}

/* ---- linking ---- */

static struct ptx_module *link_two(const char *a, const char *b, struct ptx_diagnostic *diagnostic)
{
	struct ptx_module *modules[2] = { parse(a), parse(b) };
	struct ptx_module *linked = ptx_link((const struct ptx_module *const *)modules, 2, diagnostic);
	ptx_destroy(modules[0]);
	ptx_destroy(modules[1]);
	return linked;
}

static void test_link(void **state)
{
	(void)state;
	struct ptx_diagnostic diagnostic = { 0 };
	struct ptx_module *m = link_two(
		".version 7.0\n.target sm_70\n.address_size 64\n"
		".extern .global .u32 shared_counter;\n.global .u32 own = 1;\n.common .global .b8 pool[4];\n.weak "
		".global .u32 w = 1;\n"
		".extern .func (.param .b32 r) twice(.param .b32 a);\n.func helper() { ret; }\n"
		".visible .entry a() { .reg .b64 %rd; .param .b32 r; .param .b32 p; mov.u64 %rd, own; mov.u64 %rd, "
		"shared_counter;\n"
		"call (r), twice, (p); call helper; ret; }\n",
		HEAD
		".visible .global .u32 shared_counter = 7;\n.global .u32 own = 2;\n.common .global .b8 "
		"pool[16];\n.visible .global .u32 w = 2;\n"
		".func helper() { trap; }\n.visible .func (.param .b32 r) twice(.param .b32 a) { call helper; ret; }\n"
		".visible .entry b() { .reg .b64 %rd; mov.u64 %rd, own; ret; }\n",
		&diagnostic);
	if (!m)
		fail_msg("%s", diagnostic.message);
	assert_int_equal(m->version, 90);
	assert_string_equal(m->target, "sm_90a");
	assert_int_equal(ptx_find_variable(m, "shared_counter")->initial[0].bits, 7);
	assert_int_equal(ptx_find_variable(m, "pool")->size, 16);
	assert_int_equal(ptx_find_variable(m, "w")->initial[0].bits, 2);
	assert_int_equal(m->variables.count, 5);
	const struct ptx_function *a = ptx_find_entry(m, "a"), *b = ptx_find_entry(m, "b");
	const struct ptx_variable *own_a = (const struct ptx_variable *)a->instructions[0].operands[1].symbol;
	const struct ptx_variable *own_b = (const struct ptx_variable *)b->instructions[0].operands[1].symbol;
	assert_int_equal(own_a->initial[0].bits, 1);
	assert_int_equal(own_b->initial[0].bits, 2);
	const struct ptx_function *twice = (const struct ptx_function *)a->instructions[2].operands[1].symbol;
	const struct ptx_function *helper_a = (const struct ptx_function *)a->instructions[3].operands[0].symbol;
	const struct ptx_function *helper_b = (const struct ptx_function *)twice->instructions[0].operands[0].symbol;
	assert_false(twice->is_declaration);
	assert_string_equal(helper_a->instructions[0].form->text, "ret");
	assert_string_equal(helper_b->instructions[0].form->text, "trap");
	ptx_destroy(m);
}

static void test_link_errors(void **state)
{
	(void)state;
	struct ptx_diagnostic diagnostic = { 0 };
	assert_null(
		link_two(HEAD ".visible .global .u32 x = 1;\n", HEAD ".visible .global .u32 x = 2;\n", &diagnostic));
	assert_string_equal(diagnostic.message,
			    "test.ptx:4:23: error: 'x' is defined a second time; the first is in test.ptx\n"
			    "    .visible .global .u32 x = 2;\n                          ^\n");
	ptx_diagnostic_fini(&diagnostic);
	assert_null(link_two(HEAD ".extern .func f(.param .b32 a);\n",
			     HEAD ".visible .func f(.param .b64 a) { ret; }\n", &diagnostic));
	assert_non_null(strstr(diagnostic.message, "'f' is declared differently in test.ptx"));
	ptx_diagnostic_fini(&diagnostic);
}

/* ---- memory ---- */

static void test_memory(void **state)
{
	(void)state;
	struct text text = { 0 };
	text_printf(&text, HEAD);
	for (int k = 0; k < 8; k++) {
		text_printf(&text,
			    ".visible .entry kernel_%d(\n\t.param .u64 kernel_%d_param_0\n)\n{\n\t.reg .pred "
			    "\t%%p<2>;\n\t.reg .f32 \t%%f<4003>;\n"
			    "\t.reg .b32 \t%%r<4003>;\n\t.reg .b64 \t%%rd<4003>;\n\n\tld.param.u64 \t%%rd1, "
			    "[kernel_%d_param_0];\n",
			    k, k, k);
		for (int i = 1; i < 4000; i++)
			text_printf(&text,
				    "\tadd.s32 \t%%r%d, %%r%d, 4;\n\tmul.wide.s32 \t%%rd%d, %%r%d, 4;\n\tld.global.f32 "
				    "\t%%f%d, [%%rd%d+16];\n"
				    "\tfma.rn.f32 \t%%f%d, %%f%d, 0f3F800000, %%f%d;\n",
				    i + 1, i, i + 1, i, i, i, i + 1, i, i);
		text_printf(&text, "\tret;\n}\n");
	}
	text_printf(&text, ".global .align 1 .b8 table[200000] = {0");
	for (int i = 1; i < 200000; i++)
		text_printf(&text, ", %d", i % 256);
	text_printf(&text, "};\n");
	struct ptx_module *module = parse(text.data);
	if (module->arena.bytes > 12 * text.count)
		fail_msg("%zu bytes for %zu of text", module->arena.bytes, text.count);
	ptx_destroy(module);
	text_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expressions), cmocka_unit_test(test_initialisers),
		cmocka_unit_test(test_parameters),  cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_forms),       cmocka_unit_test(test_rows_reachable),
		cmocka_unit_test(test_operands),    cmocka_unit_test(test_special_registers),
		cmocka_unit_test(test_print),       cmocka_unit_test(test_link),
		cmocka_unit_test(test_link_errors), cmocka_unit_test(test_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
