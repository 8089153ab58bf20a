/* Operands against the instruction set: number, kind, type and size (ISA 6.1, 6.4, 9.2 to 9.4).
 *
 * Driven by struct isa_row; what an instruction asks of its operands beyond that (lengths of matrix
 * fragments) is in fragment.c. A program that passes here can be compiled or refused, but not
 * misunderstood: everything behind the parser may rely on kinds and sizes. */
#include <stdio.h>

#include "ptx/parser.h"

struct check {
	struct parser *p;
	const struct ptx_instruction *in;
	unsigned index; /* of the operand at hand, from 0 */
};

/* The place of an operand: found again in the text, as only errors need it. */
static struct ptx_location operand_location(const struct check *c)
{
	struct ptx_location at = c->in->location;
	const char *text = ptx_text_at(c->p->module, at), *line_start = text ? text - (at.column - 1) : NULL;
	if (!text)
		return at;
	unsigned commas = 0, depth = 0;
	text = lexer_spelling_end(text);
	for (; *text && *text != ';'; text++) {
		if (*text == '\n') {
			at.line++;
			line_start = text + 1;
		}
		if (commas == c->index && !lexer_is(*text, CHAR_BLANK) && *text != '\n')
			break;
		depth += (unsigned)(strchr("[{(", *text) != NULL) - (unsigned)(strchr("]})", *text) != NULL);
		commas += *text == ',' && !depth;
	}
	at.column = (uint32_t)(text - line_start) + 1;
	return at;
}

static _Noreturn void fail_operand(const struct check *c, const char *format, ...) PRINTF_LIKE(2, 3);
static _Noreturn void fail_operand(const struct check *c, const char *format, ...)
{
	char message[400];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	parser_fail(c->p, operand_location(c), "operand %u of '%s': %s", c->index + 1, c->in->form->text, message);
}

/* ---- types ---- */

enum type_class { CLASS_OTHER, CLASS_BITS, CLASS_INTEGER, CLASS_FLOAT, CLASS_PRED };

static enum type_class class_of(enum ptx_type type)
{
	switch (type) {
	case PTX_B8:
	case PTX_B16:
	case PTX_B32:
	case PTX_B64:
	case PTX_B128:
		return CLASS_BITS;
	case PTX_U8:
	case PTX_U16:
	case PTX_U32:
	case PTX_U64:
	case PTX_S8:
	case PTX_S16:
	case PTX_S32:
	case PTX_S64:
		return CLASS_INTEGER;
	case PTX_F32:
	case PTX_F64:
		return CLASS_FLOAT;
	case PTX_PRED:
		return CLASS_PRED;
	default: /* halves and packed types live in .b16 and .b32 registers, or in ones of their own */
		return CLASS_OTHER;
	}
}

/* Tables 26 to 28: sizes agree, or the register is wider where the instruction allows it;
 * signed and unsigned agree; untyped bits agree with everything. */
static bool type_fits(enum ptx_type reg, enum ptx_type type, bool wide)
{
	enum type_class have = class_of(reg), want = class_of(type);
	unsigned bits = ptx_type_bits(reg), need = ptx_type_bits(type);
	if ((have == CLASS_PRED) != (want == CLASS_PRED))
		return false;
	if (bits != need && !(wide && bits > need))
		return false;
	if (want == CLASS_INTEGER)
		return have == CLASS_INTEGER || have == CLASS_BITS;
	if (want == CLASS_FLOAT)
		return have == CLASS_FLOAT || have == CLASS_BITS || (have == CLASS_INTEGER && bits == need);
	return true;
}

static void check_register(const struct check *c, const struct ptx_operand *o, enum ptx_type type)
{
	const struct ptx_register *reg = o->reg;
	if (reg->vector > 1 && o->component < 0)
		fail_operand(c, "'%s' is a vector; one component expected", reg->name);
	if (o->component >= reg->vector && o->component >= 0)
		fail_operand(c, "'%s' has no such component", reg->name);
	if (type && !type_fits(reg->type, type, c->in->form->row->flags & ISA_WIDE))
		fail_operand(c, "'%s' is of type .%s; .%s expected", reg->name, ptx_type_name(reg->type),
			     ptx_type_name(type));
}

static void check_constant(const struct check *c, const struct ptx_operand *o, enum ptx_type type)
{
	enum type_class want = class_of(type);
	if (want == CLASS_PRED && o->kind == PTX_OP_FLOAT)
		fail_operand(c, "a predicate expected, not a floating-point constant");
	if (o->kind == PTX_OP_IMMEDIATE && want == CLASS_FLOAT)
		fail_operand(c, "an integer constant where .%s is expected", ptx_type_name(type));
	if (o->kind == PTX_OP_FLOAT && (want == CLASS_INTEGER || want == CLASS_BITS))
		fail_operand(c, "a floating-point constant where .%s is expected", ptx_type_name(type));
}

static const char *kind_name(const struct ptx_operand *o)
{
	static const char *const names[] = {
		[PTX_OP_REGISTER] = "a register",
		[PTX_OP_IMMEDIATE] = "a constant",
		[PTX_OP_FLOAT] = "a constant",
		[PTX_OP_SYMBOL] = "an address",
		[PTX_OP_SREG] = "a special register",
		[PTX_OP_ADDRESS] = "an address in brackets",
		[PTX_OP_VECTOR] = "a vector",
		[PTX_OP_LIST] = "a list",
		[PTX_OP_TEXTURE] = "a texture operand",
		[PTX_OP_LABEL] = "a label",
		[PTX_OP_SINK] = "'_'",
		[PTX_OP_PAIR] = "a pair",
	};
	return names[o->kind];
}

/* A single register, or a constant where one may stand. */
static void check_value(const struct check *c, const struct ptx_operand *o, enum ptx_type type, bool constants)
{
	if (o->kind == PTX_OP_REGISTER)
		check_register(c, o, type);
	else if (constants && (o->kind == PTX_OP_IMMEDIATE || o->kind == PTX_OP_FLOAT))
		check_constant(c, o, type);
	else if (o->kind == PTX_OP_SREG && c->in->form->row->opcode_id == OP_cvt)
		return; /* cvt.u32.u16 %r1, %tid.x: what compilers of PTX 1.x wrote; elsewhere only mov reads them */
	else
		fail_operand(c, "a register%s expected, not %s", constants ? " or a constant" : "", kind_name(o));
}

/* ---- roles ---- */

static bool may_discard(const struct isa_row *row, const struct isa_operand *role)
{
	return role->pair || row->flags & ISA_ATOMIC;
}

static void check_result(const struct check *c, const struct ptx_operand *o, const struct isa_operand *role,
			 enum ptx_type type)
{
	if (o->kind == PTX_OP_PAIR) {
		if (!role->pair)
			fail_operand(c, "a pair of results is not possible here");
		check_result(c, &o->parts[0], role, type);
		check_result(c, &o->parts[1], role, (enum ptx_type)role->pair_type);
		return;
	}
	if (o->kind == PTX_OP_SINK && may_discard(c->in->form->row, role))
		return;
	if (o->kind == PTX_OP_SINK)
		fail_operand(c, "the result cannot be discarded");
	check_value(c, o, type, false);
}

static const struct ptx_variable *variable_of(const struct ptx_operand *o)
{
	if (o->kind != PTX_OP_SYMBOL || o->symbol->kind != PTX_SYMBOL_VARIABLE)
		return NULL;
	return (const struct ptx_variable *)o->symbol;
}

/* The space that the one address of an instruction is in, where exactly one is named. */
static bool names_one_space(const struct ptx_form *form)
{
	unsigned spaces = 0;
	static const uint16_t mods[] = { MOD_const,  MOD_global,       MOD_local,
					 MOD_param,  MOD_param__entry, MOD_param__func,
					 MOD_shared, MOD_shared__cta,  MOD_shared__cluster };
	for (size_t i = 0; i < ARRAY_LENGTH(mods); i++)
		spaces += ptx_has(form, (enum ptx_mod)mods[i]);
	return spaces == 1;
}

static void check_space(const struct check *c, const struct ptx_variable *v)
{
	const struct ptx_form *form = c->in->form;
	enum ptx_space space = form->space == PTX_SPACE_SHARED_CLUSTER ? PTX_SPACE_SHARED : form->space;
	unsigned addresses = 0;
	for (unsigned i = 0; i < form->row->operand_count; i++)
		addresses += form->row->operands[i].role == ISA_ADDRESS;
	if (addresses == 1 && names_one_space(form) && v->space != space)
		fail_operand(c, "'%s' is in another state space", v->symbol.name);
}

static bool is_address_type(enum ptx_type type)
{
	return (class_of(type) == CLASS_INTEGER || class_of(type) == CLASS_BITS) &&
	       (ptx_type_bits(type) == 32 || ptx_type_bits(type) == 64);
}

static void check_base(const struct check *c, const struct ptx_operand *base)
{
	const struct ptx_variable *v = variable_of(base);
	if (base->kind == PTX_OP_REGISTER) {
		if (!is_address_type(base->reg->type) || (base->reg->vector > 1 && base->component < 0))
			fail_operand(c, "'%s' of type .%s cannot hold an address", base->reg->name,
				     ptx_type_name(base->reg->type));
	} else if (base->kind == PTX_OP_SYMBOL && !v) {
		fail_operand(c, "'%s' is not a variable", base->symbol->name);
	} else if (base->kind != PTX_OP_IMMEDIATE && base->kind != PTX_OP_SYMBOL) {
		fail_operand(c, "%s cannot be an address", kind_name(base));
	}
	if (v)
		check_space(c, v);
}

static void check_address(const struct check *c, const struct ptx_operand *o)
{
	if (o->kind != PTX_OP_ADDRESS)
		fail_operand(c, "an address in brackets expected, not %s", kind_name(o));
	check_base(c, &o->parts[0]);
}

/* .v2, .v4, .v8: a list of so many, or a register of a vector type */
static void check_vector(const struct check *c, const struct ptx_operand *o, const struct isa_operand *role,
			 enum ptx_type type)
{
	unsigned count = c->in->form->vector;
	if (o->kind == PTX_OP_REGISTER && o->reg->vector > 1 && o->component < 0) {
		if (o->reg->vector != count || !type_fits(o->reg->type, type, false))
			fail_operand(c, "'%s' is of type .v%u .%s", o->reg->name, o->reg->vector,
				     ptx_type_name(o->reg->type));
		return;
	}
	if (o->kind != PTX_OP_VECTOR && count == 1) {
		if (role->is_result)
			check_result(c, o, role, type);
		else
			check_value(c, o, type, true);
		return;
	}
	if (o->kind != PTX_OP_VECTOR || o->part_count != count)
		fail_operand(c, "a vector of %u element%s expected", count, count > 1 ? "s" : "");
	for (unsigned i = 0; i < count; i++)
		if (o->parts[i].kind != PTX_OP_SINK)
			check_value(c, &o->parts[i], type, !role->is_result);
}

static void check_length(const struct check *c, unsigned count, const struct fragment *want)
{
	if (!want->least || (count >= want->least && count <= want->most))
		return;
	if (want->least == want->most)
		fail_operand(c, "%u register%s expected, not %u", want->least, want->least > 1 ? "s" : "", count);
	fail_operand(c, "%u to %u registers expected, not %u", want->least, want->most, count);
}

/* A matrix fragment, a texture's result or its coordinates: a list of registers, or one alone. */
static void check_registers(const struct check *c, const struct ptx_operand *o, const struct fragment *want,
			    bool is_result)
{
	const struct ptx_operand *parts = o->kind == PTX_OP_VECTOR ? o->parts : o;
	unsigned count = o->kind == PTX_OP_VECTOR ? o->part_count : 1;
	if (o->kind == PTX_OP_REGISTER && o->reg->vector > 1 && o->component < 0) {
		if (want->bits && ptx_type_bits(o->reg->type) != want->bits)
			fail_operand(c, "'%s' is of type .%s; %u bits expected", o->reg->name,
				     ptx_type_name(o->reg->type), want->bits);
		check_length(c, o->reg->vector, want);
		return;
	}
	check_length(c, count, want);
	for (unsigned i = 0; i < count; i++) {
		const struct ptx_operand *part = &parts[i];
		bool constant = part->kind == PTX_OP_IMMEDIATE || part->kind == PTX_OP_FLOAT;
		if (part->kind == PTX_OP_SINK && is_result)
			continue;
		if (part->kind != PTX_OP_REGISTER && !(constant && !is_result))
			fail_operand(c, "registers expected, not %s", kind_name(part));
		if (part->kind != PTX_OP_REGISTER)
			continue;
		check_register(c, part, PTX_TYPE_NONE);
		if (part->reg->type == PTX_PRED || (want->bits && ptx_type_bits(part->reg->type) != want->bits))
			fail_operand(c, "'%s' is of type .%s; %u bits expected", part->reg->name,
				     ptx_type_name(part->reg->type), want->bits ? want->bits : 32);
	}
}

static void check_fragment(const struct check *c, const struct ptx_operand *o, const struct isa_operand *role)
{
	struct fragment want = fragment_of(c->in->form, c->index);
	if (o->kind != PTX_OP_PAIR) {
		check_registers(c, o, &want, role->is_result);
		return;
	}
	if (!role->pair)
		fail_operand(c, "a pair of results is not possible here");
	check_registers(c, &o->parts[0], &want, true);
	check_result(c, &o->parts[1], role, (enum ptx_type)role->pair_type);
}

static void check_texture(const struct check *c, const struct ptx_operand *o)
{
	if (o->kind != PTX_OP_TEXTURE)
		fail_operand(c, "a texture, surface or tensor with its coordinates expected, not %s", kind_name(o));
	struct fragment want = fragment_coordinates(c->in->form);
	check_base(c, &o->parts[0]);
	for (unsigned i = 1; i < o->part_count; i++) {
		const struct ptx_operand *part = &o->parts[i];
		if (i + 1U == o->part_count || part->kind == PTX_OP_VECTOR)
			check_registers(c, part, &want, false);
		else if (part->kind != PTX_OP_SYMBOL && part->kind != PTX_OP_REGISTER)
			fail_operand(c, "a sampler expected, not %s", kind_name(part));
	}
}

static void check_symbol(const struct check *c, const struct ptx_operand *o)
{
	if (o->kind != PTX_OP_SYMBOL || o->symbol->kind != PTX_SYMBOL_TARGETS)
		fail_operand(c, "the name of a .branchtargets list expected, not %s", kind_name(o));
	const struct ptx_targets *targets = (const struct ptx_targets *)o->symbol;
	if (!targets->count || targets->targets[0]->kind != PTX_SYMBOL_LABEL)
		fail_operand(c, "'%s' is not a list of labels", o->symbol->name);
}

/* ---- mov: packs and unpacks, reads special registers, takes addresses (9.7.9.3, 9.7.9.4) ---- */

static unsigned operand_bits(const struct check *c, const struct ptx_operand *o)
{
	unsigned bits = 0;
	switch (o->kind) {
	case PTX_OP_REGISTER:
		return ptx_type_bits(o->reg->type) * (o->component < 0 ? o->reg->vector : 1);
	case PTX_OP_SREG:
		return ptx_type_bits((enum ptx_type)isa_sregs[o->sreg].type);
	case PTX_OP_VECTOR:
		for (unsigned i = 0; i < o->part_count; i++)
			if (o->parts[i].kind == PTX_OP_REGISTER)
				bits = operand_bits(c, &o->parts[i]);
		return bits * o->part_count;
	default:
		return 0;
	}
}

static void check_packed(const struct check *c, const struct ptx_operand *o, enum ptx_type type, bool is_result)
{
	unsigned bits = 0;
	for (unsigned i = 0; i < o->part_count; i++) {
		const struct ptx_operand *part = &o->parts[i];
		bool skip = part->kind == PTX_OP_SINK && is_result;
		skip |= (part->kind == PTX_OP_IMMEDIATE || part->kind == PTX_OP_FLOAT) && !is_result;
		if (!skip)
			check_value(c, part, PTX_TYPE_NONE, false);
		if (!skip && bits && operand_bits(c, part) != bits)
			fail_operand(c, "the elements are of different sizes");
		if (!skip)
			bits = operand_bits(c, part);
	}
	if (class_of(type) != CLASS_BITS || operand_bits(c, o) != ptx_type_bits(type))
		fail_operand(c, "%u elements of %u bits do not make .%s", o->part_count, bits, ptx_type_name(type));
}

static void check_sreg(const struct check *c, const struct ptx_operand *o, enum ptx_type type)
{
	const struct isa_sreg *sreg = &isa_sregs[o->sreg];
	bool whole = sreg->components > 1 && o->component < 0;
	if (o->component >= sreg->components && o->component >= 0)
		fail_operand(c, "'%s' has no components", sreg->name);
	if (whole)
		fail_operand(c, "'%s' has components: %s.x to .z", sreg->name, sreg->name);
	/* %tid and its like were 16 bits wide in PTX 1.x and may still be read so; %gridid was 32. */
	bool narrow =
		(sreg->components > 1 && type == PTX_U16) || (o->sreg == SREG_gridid && ptx_type_bits(type) == 32);
	if (!narrow && !type_fits((enum ptx_type)sreg->type, type, false))
		fail_operand(c, "'%s' is of type .%s", sreg->name, ptx_type_name((enum ptx_type)sreg->type));
	if (sreg->version > c->p->module->version || sreg->sm > c->p->module->sm)
		fail_operand(c, "'%s' needs PTX ISA %u.%u and target sm_%u", sreg->name, sreg->version / 10U,
			     sreg->version % 10U, sreg->sm);
}

/* Without a type to go by: what it consists of is sound. */
static void check_any_part(const struct check *c, const struct ptx_operand *o, const struct isa_operand *role)
{
	if (o->kind == PTX_OP_VECTOR)
		check_registers(c, o, &(struct fragment){ 0 }, role->is_result);
	else if (o->kind == PTX_OP_REGISTER && (o->reg->vector == 1 || o->component >= 0))
		check_register(c, o, PTX_TYPE_NONE);
	else if (o->kind == PTX_OP_ADDRESS)
		check_base(c, &o->parts[0]);
	else if (o->kind == PTX_OP_SYMBOL && !variable_of(o))
		fail_operand(c, "'%s' is not a variable", o->symbol->name);
	else if (o->kind == PTX_OP_TEXTURE || o->kind == PTX_OP_LIST || o->kind == PTX_OP_SREG)
		fail_operand(c, "%s is not possible here", kind_name(o));
}

static void check_mov(const struct check *c, const struct ptx_operand *o, bool is_result)
{
	enum ptx_type type = c->in->form->types[0];
	switch (o->kind) {
	case PTX_OP_VECTOR:
		check_packed(c, o, type, is_result);
		break;
	case PTX_OP_REGISTER:
		if (o->reg->vector == 1 || o->component >= 0)
			check_value(c, o, type, false);
		else if (class_of(type) != CLASS_BITS || operand_bits(c, o) != ptx_type_bits(type))
			fail_operand(c, "'%s' is of type .v%u .%s", o->reg->name, o->reg->vector,
				     ptx_type_name(o->reg->type));
		break;
	case PTX_OP_SREG:
		check_sreg(c, o, type);
		break;
	case PTX_OP_SYMBOL:
		if (!is_address_type(type))
			fail_operand(c, "an address does not fit in .%s", ptx_type_name(type));
		break;
	case PTX_OP_IMMEDIATE: /* of any type: the bits */
	case PTX_OP_FLOAT:
		break;
	default:
		fail_operand(c, "%s is not possible here", kind_name(o));
	}
}

/* An operand that may be many things: `mov`'s source, `cvta`'s variable, a cache policy or a mask. */
static void check_any(const struct check *c, const struct ptx_operand *o, const struct isa_operand *role)
{
	if (o->kind == PTX_OP_PAIR || o->kind == PTX_OP_LABEL || (o->kind == PTX_OP_SINK && role->is_result))
		fail_operand(c, "%s is not possible here", kind_name(o));
	if (role->is_result && o->kind != PTX_OP_REGISTER && o->kind != PTX_OP_VECTOR)
		fail_operand(c, "a register expected, not %s", kind_name(o));
	if (c->in->form->row->opcode_id == OP_mov)
		check_mov(c, o, role->is_result);
	else
		check_any_part(c, o, role);
}

/* Only predicates are negated, except in video instructions, which also select parts of registers. */
static void check_plain(const struct check *c, const struct ptx_operand *o)
{
	if (o->selector >= 0)
		fail_operand(c, "parts of registers are for video instructions");
	if (o->negated && (o->kind != PTX_OP_REGISTER || o->reg->type != PTX_PRED))
		fail_operand(c, "cannot be negated");
	for (unsigned i = 0; i < o->part_count; i++)
		check_plain(c, &o->parts[i]);
}

static void check_operand(const struct check *c, const struct ptx_operand *o, const struct isa_operand *role)
{
	if (!(c->in->form->row->flags & ISA_SELECT))
		check_plain(c, o);
	const struct ptx_form *form = c->in->form;
	enum ptx_type type = role->type ? (enum ptx_type)role->type : form->types[role->type_slot];
	switch (role->role) {
	case ISA_VALUE:
		check_value(c, o, type, true);
		break;
	case ISA_REGISTER:
		if (role->is_result)
			check_result(c, o, role, type);
		else
			check_value(c, o, type, false);
		break;
	case ISA_ADDRESS:
		check_address(c, o);
		break;
	case ISA_VECTOR:
		check_vector(c, o, role, type);
		break;
	case ISA_FRAGMENT:
		check_fragment(c, o, role);
		break;
	case ISA_TEXTURE:
		check_texture(c, o);
		break;
	case ISA_SYMBOL:
		check_symbol(c, o);
		break;
	case ISA_IMMEDIATE:
		if (o->kind != PTX_OP_IMMEDIATE)
			fail_operand(c, "an integer constant expected, not %s", kind_name(o));
		break;
	case ISA_ANY:
		check_any(c, o, role);
		break;
	default: /* ISA_LABEL: the parser makes nothing else of it */
		break;
	}
}

/* ---- call (9.7.12.5) ---- */

static bool is_function(const struct ptx_operand *o)
{
	return o->kind == PTX_OP_SYMBOL && o->symbol->kind == PTX_SYMBOL_FUNCTION;
}

static void check_arguments(const struct check *c, const struct ptx_operand *list, const struct ptx_function *callee,
			    bool results)
{
	struct ptx_variable *const *formal = results ? callee->results.data : callee->parameters.data;
	size_t count = results ? callee->results.count : callee->parameters.count, given = list ? list->part_count : 0;
	if (given != count)
		fail_operand(c, "'%s' has %zu %s%s, not %zu", callee->symbol.name, count,
			     results ? "result" : "parameter", count == 1 ? "" : "s", given);
	for (size_t i = 0; i < count; i++) {
		const struct ptx_variable *v = variable_of(&list->parts[i]);
		if (v ? v->size != formal[i]->size && !formal[i]->unsized && !v->unsized
		      : list->parts[i].kind == PTX_OP_REGISTER &&
				    ptx_type_bits(list->parts[i].reg->type) != formal[i]->size * 8 &&
				    formal[i]->type != PTX_PRED)
			fail_operand(c, "%s %zu of '%s' is of %llu bytes", results ? "result" : "parameter", i + 1,
				     callee->symbol.name, (unsigned long long)formal[i]->size);
	}
}

/* Registers, constants and .param variables; a result is no constant. */
static void check_list(const struct check *c, const struct ptx_operand *list, bool results)
{
	for (unsigned i = 0; list && i < list->part_count; i++) {
		const struct ptx_operand *part = &list->parts[i];
		const struct ptx_variable *v = variable_of(part);
		bool constant = part->kind == PTX_OP_IMMEDIATE || part->kind == PTX_OP_FLOAT;
		if (part->kind == PTX_OP_SINK && results)
			continue;
		if (part->kind == PTX_OP_REGISTER)
			check_register(c, part, PTX_TYPE_NONE);
		else if (!(v && v->space == PTX_SPACE_PARAM && !part->offset) && !(constant && !results))
			fail_operand(c, "%s %u is neither a register nor a .param variable",
				     results ? "result" : "parameter", i + 1);
	}
}

/* (results), callee, (parameters), targets; messages point at the callee. */
static void check_call(struct check *c)
{
	const struct ptx_instruction *in = c->in;
	unsigned at = in->operand_count && in->operands[0].kind == PTX_OP_LIST;
	const struct ptx_operand *results = at ? &in->operands[0] : NULL, *parameters = NULL, *targets = NULL;
	const struct ptx_operand *callee = at < in->operand_count ? &in->operands[at] : NULL;
	c->index = at++;
	if (!callee || (!is_function(callee) && callee->kind != PTX_OP_REGISTER))
		fail_operand(c, "a function or a register with its address expected");
	if (callee->kind == PTX_OP_REGISTER && !is_address_type(callee->reg->type))
		fail_operand(c, "'%s' of type .%s cannot hold an address", callee->reg->name,
			     ptx_type_name(callee->reg->type));
	if (at < in->operand_count && in->operands[at].kind == PTX_OP_LIST)
		parameters = &in->operands[at++];
	if (at < in->operand_count && in->operands[at].kind == PTX_OP_SYMBOL)
		targets = &in->operands[at++];
	check_list(c, results, true);
	check_list(c, parameters, false);
	if (is_function(callee)) {
		const struct ptx_function *f = (const struct ptx_function *)callee->symbol;
		if (f->is_entry)
			fail_operand(c, "'%s' is a kernel", f->symbol.name);
		check_arguments(c, results, f, true);
		check_arguments(c, parameters, f, false);
	} else if (!targets) {
		fail_operand(c, "a call through a register names its targets or a .callprototype");
	}
	if (at < in->operand_count)
		fail_operand(c, "too many operands behind it");
}

void check_instruction(struct parser *p, const struct ptx_instruction *in)
{
	const struct isa_row *row = in->form->row;
	struct check c = { .p = p, .in = in };
	if (row->flags & ISA_CALL) {
		for (; c.index < in->operand_count; c.index++)
			check_plain(&c, &in->operands[c.index]);
		check_call(&c);
		return;
	}
	unsigned least = 0;
	while (least < row->operand_count && !row->operands[least].optional)
		least++;
	if (in->operand_count < least || in->operand_count > row->operand_count)
		parser_fail(p, in->location, "'%s' takes %u%s operand%s, not %u", in->form->text, least,
			    least < row->operand_count ? " or more" : "",
			    least == 1 && least == row->operand_count ? "" : "s", in->operand_count);
	for (; c.index < in->operand_count; c.index++)
		check_operand(&c, &in->operands[c.index], &row->operands[c.index]);
}

void check_function(struct parser *p, const struct ptx_function *f)
{
	uint32_t threads[3];
	for (int i = 0; i < 3; i++)
		threads[i] = f->reqntid[i] ? f->reqntid[i] : f->maxntid[i];
	if ((uint64_t)threads[0] * threads[1] * threads[2] > 1024)
		parser_fail(p, f->symbol.location, "%u x %u x %u threads in a block are more than 1024", threads[0],
			    threads[1], threads[2]);
}
