/* Instructions and their operands (ISA 4.3.2, 6.2 to 6.6): registers, constants, addresses, vectors,
 * call lists, texture operands, pairs of results. What an instruction accepts is check.c's. */
#include "ptx/parser.h"

enum { LONGEST_LIST = 255, DEEPEST = 8 };

static struct ptx_operand read_operand(struct parser *p, unsigned role);

static struct ptx_operand make_operand(enum ptx_operand_kind kind)
{
	return (struct ptx_operand){ .kind = (uint8_t)kind, .component = -1, .selector = -1 };
}

/* Takes what was pushed since `base` off the stack, as the parts of `operand`. */
static void take_parts(struct parser *p, struct ptx_operand *operand, size_t base)
{
	size_t count = p->operands.count - base;
	if (count > LONGEST_LIST)
		parser_fail(p, token_location(&p->token), "more than %d elements", LONGEST_LIST);
	operand->part_count = (uint8_t)count;
	if (count) {
		operand->parts = arena_array(&p->module->arena, struct ptx_operand, count);
		memcpy(operand->parts, p->operands.data + base, count * sizeof *operand->parts);
	}
	p->operands.count = base;
}

static struct ptx_operand read_list(struct parser *p, enum ptx_operand_kind kind, unsigned close,
				    const char *close_text)
{
	struct ptx_operand operand = make_operand(kind);
	size_t base = p->operands.count;
	parser_next(p);
	if (!parser_at(p, close))
		do {
			struct ptx_operand part = read_operand(p, ISA_ANY);
			parser_push(p, &p->operands, part);
		} while (parser_accept(p, ','));
	parser_expect(p, close, close_text);
	take_parts(p, &operand, base);
	return operand;
}

static struct ptx_operand read_constant(struct parser *p)
{
	struct constant c = expression_read(p);
	struct ptx_operand operand = make_operand(c.is_float ? PTX_OP_FLOAT : PTX_OP_IMMEDIATE);
	operand.bits = c.bits;
	operand.is_f32 = c.is_f32;
	operand.is_unsigned = c.is_unsigned;
	return operand;
}

/* `+4`, `-8`, `+-8` behind a base. */
static int64_t read_offset(struct parser *p)
{
	if (!parser_at(p, '+') && !parser_at(p, '-'))
		return 0;
	struct ptx_location location = token_location(&p->token);
	struct constant c = expression_read(p);
	if (c.is_float)
		parser_fail(p, location, "an offset must be an integer");
	return (int64_t)c.bits;
}

/* `.x` of a vector or %tid, `.b0` or `.h10` of a video operand. */
static void read_suffix(struct parser *p, struct ptx_operand *operand)
{
	static const char components[] = "xyzwrgba";
	const char *text = p->token.text + 1;
	uint32_t length = p->token.length - 1;
	const char *found = length == 1 ? strchr(components, *text) : NULL;
	if (found) {
		operand->component = (int8_t)((found - components) % 4);
		return;
	}
	unsigned highest = *text == 'b' ? 7 : *text == 'h' ? 3 : 0, digits = 0;
	for (uint32_t i = 1; i < length; i++) {
		unsigned digit = (unsigned)(text[i] - '0');
		if (digit > highest)
			digits = UINT32_MAX;
		else if (digits != UINT32_MAX)
			digits = digits << 4 | digit;
	}
	if (!highest || length < 2 || length > 5 || digits == UINT32_MAX)
		parser_fail(p, token_location(&p->token), "unknown component '.%.*s'", (int)length, text);
	if (length > 2) {
		operand->selector = *text == 'h' ? 6 : 7;
		operand->offset = digits;
	} else {
		operand->selector = (int8_t)(*text == 'h' ? digits + 4 : digits);
	}
}

static struct ptx_operand read_symbol(struct parser *p, struct ptx_symbol *symbol)
{
	struct ptx_operand operand = make_operand(PTX_OP_SYMBOL);
	operand.symbol = symbol;
	parser_next(p);
	if (symbol->kind != PTX_SYMBOL_VARIABLE)
		return operand;
	if (parser_at(p, '[')) { /* A[5]: the address of an element */
		const struct ptx_variable *variable = (const struct ptx_variable *)symbol;
		parser_next(p);
		uint64_t index = expression_read_unsigned(p, UINT32_MAX, "an index");
		parser_expect(p, ']', "']'");
		operand.offset = (int64_t)(index * (ptx_type_bits(variable->type) / 8) * variable->vector);
	}
	operand.offset += read_offset(p);
	return operand;
}

static bool is_word(const struct token *token, const char *word)
{
	return token->length == strlen(word) && !memcmp(token->text, word, token->length);
}

static struct ptx_operand read_special_register(struct parser *p)
{
	struct ptx_operand operand = make_operand(PTX_OP_SREG);
	int sreg = isa_find_sreg(p->token.text, p->token.length);
	if (sreg < 0)
		parser_fail(p, token_location(&p->token), "undeclared name '%.*s'", (int)p->token.length,
			    p->token.text);
	operand.sreg = (uint16_t)sreg;
	parser_next(p);
	if (p->token.kind == TOKEN_DOT) {
		read_suffix(p, &operand);
		parser_next(p);
	}
	return operand;
}

static struct ptx_operand read_register(struct parser *p, const struct ptx_register *reg)
{
	struct ptx_operand operand = make_operand(PTX_OP_REGISTER);
	operand.reg = reg;
	parser_next(p);
	if (p->token.kind == TOKEN_DOT) {
		read_suffix(p, &operand);
		parser_next(p);
	}
	return operand;
}

static struct ptx_operand read_label(struct parser *p)
{
	struct ptx_operand operand = make_operand(PTX_OP_LABEL);
	struct ptx_location location = token_location(&p->token);
	operand.symbol = &scope_refer_label(p, parser_take_name(p, "a label"), location)->symbol;
	return operand;
}

static struct ptx_operand read_name(struct parser *p)
{
	const struct ptx_register *reg;
	struct ptx_symbol *symbol;
	if (p->token.length == 1 && *p->token.text == '_') {
		parser_next(p);
		return make_operand(PTX_OP_SINK);
	}
	if (scope_find(p, p->token.text, p->token.length, &reg, &symbol))
		return reg ? read_register(p, reg) : read_symbol(p, symbol);
	if (is_word(&p->token, "WARP_SZ"))
		return read_constant(p);
	return read_special_register(p);
}

static struct ptx_operand read_base(struct parser *p)
{
	const struct ptx_register *reg;
	struct ptx_symbol *symbol;
	if (p->token.kind != TOKEN_NAME || is_word(&p->token, "WARP_SZ"))
		return read_constant(p);
	if (!scope_find(p, p->token.text, p->token.length, &reg, &symbol))
		parser_fail(p, token_location(&p->token), "undeclared name '%.*s'", (int)p->token.length,
			    p->token.text);
	return reg ? read_register(p, reg) : read_symbol(p, symbol);
}

/* [base + offset], [texture, {coordinates}], [texture, sampler, {coordinates}], [map, {…}, {…}] */
static struct ptx_operand read_address(struct parser *p)
{
	struct ptx_operand operand = make_operand(PTX_OP_ADDRESS);
	size_t stack = p->operands.count;
	parser_next(p);
	struct ptx_operand base = read_base(p);
	if (base.selector >= 0)
		parser_fail_expected(p, "an address");
	base.offset += read_offset(p);
	if (parser_at(p, ',')) {
		operand.kind = PTX_OP_TEXTURE;
	} else {
		operand.offset = base.offset;
		base.offset = 0;
	}
	parser_push(p, &p->operands, base);
	while (parser_accept(p, ',')) {
		struct ptx_operand part = read_operand(p, ISA_ANY);
		parser_push(p, &p->operands, part);
	}
	parser_expect(p, ']', "']'");
	parser_accept_dot(p, ".unified");
	take_parts(p, &operand, stack);
	return operand;
}

/* A sign before a register is part of the operand, before a number of the constant. */
static bool sign_of_register(const struct parser *p)
{
	const char *after = lexer_peek(&p->lexer, p->lexer.at);
	return lexer_is(*after, CHAR_START) && strncmp(after, "WARP_SZ", 7);
}

static struct ptx_operand read_single(struct parser *p, unsigned role)
{
	if (p->token.kind == TOKEN_NAME)
		return role == ISA_LABEL ? read_label(p) : read_name(p);
	if (p->token.kind != TOKEN_MARK)
		return read_constant(p);
	switch (p->token.mark) {
	case '[':
		return read_address(p);
	case '{':
		return read_list(p, PTX_OP_VECTOR, '}', "'}'");
	case '(':
		return role == ISA_LIST ? read_list(p, PTX_OP_LIST, ')', "')'") : read_constant(p);
	case '!':
	case '-':
		if (sign_of_register(p)) {
			parser_next(p);
			struct ptx_location location = token_location(&p->token);
			struct ptx_operand operand = read_name(p);
			if (operand.kind != PTX_OP_REGISTER)
				parser_fail(p, location, "only a register can be negated");
			operand.negated = true;
			return operand;
		}
		return read_constant(p);
	default:
		return read_constant(p);
	}
}

static struct ptx_operand read_operand(struct parser *p, unsigned role)
{
	if (++p->nesting > DEEPEST)
		parser_fail(p, token_location(&p->token), "operand is nested too deeply");
	struct ptx_operand operand = read_single(p, role);
	if (parser_at(p, '|')) {
		struct ptx_operand pair = make_operand(PTX_OP_PAIR);
		size_t base = p->operands.count;
		parser_next(p);
		struct ptx_operand second = read_single(p, ISA_ANY);
		parser_push(p, &p->operands, operand);
		parser_push(p, &p->operands, second);
		take_parts(p, &pair, base);
		operand = pair;
	}
	p->nesting--;
	return operand;
}

/* The spelling, whose parts may have blanks between them. */
static const struct ptx_form *read_form(struct parser *p, struct ptx_location location)
{
	const char *text = p->token.text, *end = lexer_spelling_end(text);
	if (end > p->lexer.at)
		p->lexer.at = end;
	else
		end = p->lexer.at;
	parser_next(p);
	if (p->token.kind != TOKEN_DOT)
		return form_find(p, text, (size_t)(end - text), location);
	p->joined.count = 0;
	text_add(&p->joined, text, (size_t)(end - text));
	for (; p->token.kind == TOKEN_DOT; parser_next(p))
		text_add(&p->joined, p->token.text, p->token.length);
	if (!p->joined.count)
		parser_fail_memory(p);
	return form_find(p, p->joined.data, p->joined.count, location);
}

/* A register of a vector type stands for the list of its components: what follows the parser sees only lists. */
static void spread_vector(struct parser *p, struct ptx_operand *o)
{
	if (o->kind == PTX_OP_REGISTER && o->reg->vector > 1 && o->component < 0) {
		struct ptx_operand list = make_operand(PTX_OP_VECTOR);
		size_t base = p->operands.count;
		for (uint8_t i = 0; i < o->reg->vector; i++) {
			struct ptx_operand part = *o;
			part.component = (int8_t)i;
			parser_push(p, &p->operands, part);
		}
		take_parts(p, &list, base);
		*o = list;
		return;
	}
	for (unsigned i = 0; i < o->part_count; i++)
		spread_vector(p, &o->parts[i]);
}

void operand_read_instruction(struct parser *p, struct ptx_instruction *in)
{
	in->location = token_location(&p->token);
	in->form = read_form(p, in->location);
	const struct isa_row *row = in->form->row;
	struct ptx_operand list = { 0 };
	p->operands.count = 0;
	p->nesting = 0;
	p->module->traps |= row->opcode_id == OP_trap;
	if (!parser_at(p, ';'))
		do {
			size_t at = p->operands.count;
			unsigned role = row->flags & ISA_CALL     ? ISA_LIST
					: at < row->operand_count ? row->operands[at].role
								  : ISA_ANY;
			struct ptx_operand operand = read_operand(p, role);
			parser_push(p, &p->operands, operand);
		} while (parser_accept(p, ','));
	if (!parser_at(p, ';'))
		parser_fail_expected(p, "',' or ';'");
	take_parts(p, &list, 0);
	in->operands = list.parts;
	in->operand_count = list.part_count;
	check_instruction(p, in);
	for (unsigned i = 0; i < in->operand_count && !(row->flags & ISA_CALL); i++)
		spread_vector(p, &in->operands[i]);
	parser_next(p);
}
