/* Constant expressions (ISA 4.5): 64-bit integers, signed or unsigned, with C's operators, and
 * floating-point literals, which only a sign and the choice `?:` may go with. */
#include "ptx/parser.h"

enum { DEEPEST = 200 };

static struct constant read_choice(struct parser *p);
static struct constant read_unary(struct parser *p);

static struct constant integer(uint64_t bits, bool is_unsigned)
{
	return (struct constant){ .bits = bits, .is_unsigned = is_unsigned };
}

static struct constant negate(struct constant c)
{
	if (c.is_float)
		c.bits ^= c.is_f32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
	else
		c.bits = -c.bits;
	return c;
}

static bool is_true(struct constant c)
{
	return c.is_float ? (c.bits & (c.is_f32 ? UINT64_C(0x7FFFFFFF) : UINT64_C(0x7FFFFFFFFFFFFFFF))) != 0
			  : c.bits != 0;
}

static struct constant need_integer(struct parser *p, struct constant c)
{
	if (c.is_float)
		parser_fail(p, token_location(&p->token), "this operator takes integers only");
	return c;
}

/* The casts (.s64) and (.u64), or anything in parentheses. */
static struct constant read_parenthesis(struct parser *p)
{
	bool to_signed = parser_at_dot(p, ".s64");
	if (to_signed || parser_at_dot(p, ".u64")) {
		parser_next(p);
		parser_expect(p, ')', "')'");
		return integer(need_integer(p, read_unary(p)).bits, !to_signed);
	}
	struct constant c = read_choice(p);
	parser_expect(p, ')', "')'");
	return c;
}

static struct constant read_primary(struct parser *p)
{
	struct constant c = { .bits = p->token.bits, .is_unsigned = p->token.is_unsigned };
	if (p->token.kind == TOKEN_INTEGER) {
		parser_next(p);
		return c;
	}
	if (p->token.kind == TOKEN_FLOAT) {
		c = (struct constant){ .bits = p->token.bits, .is_float = true, .is_f32 = p->token.is_f32 };
		parser_next(p);
		return c;
	}
	if (p->token.kind == TOKEN_NAME && p->token.length == 7 && !memcmp(p->token.text, "WARP_SZ", 7)) {
		parser_next(p);
		return integer(32, false);
	}
	if (parser_accept(p, '('))
		return read_parenthesis(p);
	parser_fail_expected(p, "a constant");
}

static struct constant read_unary(struct parser *p)
{
	if (++p->nesting > DEEPEST)
		parser_fail(p, token_location(&p->token), "expression is nested too deeply");
	struct constant c;
	if (parser_accept(p, '+'))
		c = read_unary(p);
	else if (parser_accept(p, '-'))
		c = negate(read_unary(p));
	else if (parser_accept(p, '!'))
		c = integer(!is_true(read_unary(p)), false);
	else if (parser_accept(p, '~'))
		c = integer(~need_integer(p, read_unary(p)).bits, true);
	else
		c = read_primary(p);
	p->nesting--;
	return c;
}

static int precedence(const struct parser *p)
{
	if (p->token.kind != TOKEN_MARK)
		return 0;
	switch (p->token.mark) {
	case '*':
	case '/':
	case '%':
		return 10;
	case '+':
	case '-':
		return 9;
	case MARK_SHL:
	case MARK_SHR:
		return 8;
	case '<':
	case '>':
	case MARK_LE:
	case MARK_GE:
		return 7;
	case MARK_EQ:
	case MARK_NE:
		return 6;
	case '&':
		return 5;
	case '^':
		return 4;
	case '|':
		return 3;
	case MARK_ANDAND:
		return 2;
	case MARK_OROR:
		return 1;
	default:
		return 0;
	}
}

static uint64_t divide(struct parser *p, uint64_t a, uint64_t b, bool is_unsigned, bool remainder)
{
	if (!b)
		parser_fail(p, token_location(&p->token), "division by zero in a constant");
	if (remainder)
		return a % b;
	if (is_unsigned)
		return a / b;
	if (b == UINT64_MAX) /* -1: the one quotient that does not fit wraps */
		return -a;
	return (uint64_t)((int64_t)a / (int64_t)b);
}

/* 4.5.6: unsigned if one operand is; comparisons and logic give a .s64, shifts the left operand's type, and
 * `%` and `~` are of .u64 whatever their operands. ptxas takes a shift's count modulo 64. */
static struct constant apply(struct parser *p, unsigned mark, struct constant a, struct constant b)
{
	if (mark == MARK_ANDAND)
		return integer(is_true(a) && is_true(b), false);
	if (mark == MARK_OROR)
		return integer(is_true(a) || is_true(b), false);
	need_integer(p, a);
	need_integer(p, b);
	bool u = a.is_unsigned || b.is_unsigned;
	bool less = u ? a.bits < b.bits : (int64_t)a.bits < (int64_t)b.bits;
	switch (mark) {
	case '*':
		return integer(a.bits * b.bits, u);
	case '/':
		return integer(divide(p, a.bits, b.bits, u, false), u);
	case '%':
		return integer(divide(p, a.bits, b.bits, u, true), true);
	case '+':
		return integer(a.bits + b.bits, u);
	case '-':
		return integer(a.bits - b.bits, u);
	case MARK_SHL:
		return integer(a.bits << (b.bits & 63), a.is_unsigned);
	case MARK_SHR:
		if (a.is_unsigned)
			return integer(a.bits >> (b.bits & 63), true);
		return integer((uint64_t)((int64_t)a.bits >> (b.bits & 63)), false);
	case '<':
		return integer(less, false);
	case '>':
		return integer(!less && a.bits != b.bits, false);
	case MARK_LE:
		return integer(less || a.bits == b.bits, false);
	case MARK_GE:
		return integer(!less, false);
	case MARK_EQ:
		return integer(a.bits == b.bits, false);
	case MARK_NE:
		return integer(a.bits != b.bits, false);
	case '&':
		return integer(a.bits & b.bits, u);
	case '^':
		return integer(a.bits ^ b.bits, u);
	default:
		return integer(a.bits | b.bits, u);
	}
}

/* `7%2` is read as the name `%2` after 7; here it can only be the operator. */
static void split_percent(struct parser *p)
{
	if (p->token.kind != TOKEN_NAME || *p->token.text != '%')
		return;
	p->lexer.at = p->token.text + 1;
	p->token.kind = TOKEN_MARK;
	p->token.mark = '%';
	p->token.length = 1;
}

static struct constant read_binary(struct parser *p, int least)
{
	struct constant left = read_unary(p);
	for (;;) {
		split_percent(p);
		int rank = precedence(p);
		if (!rank || rank < least)
			return left;
		unsigned mark = p->token.mark;
		parser_next(p);
		struct constant right = read_binary(p, rank + 1);
		left = apply(p, mark, left, right);
	}
}

static struct constant read_choice(struct parser *p)
{
	if (++p->nesting > DEEPEST)
		parser_fail(p, token_location(&p->token), "expression is nested too deeply");
	struct constant c = read_binary(p, 1);
	if (parser_accept(p, '?')) {
		struct constant yes = read_choice(p);
		parser_expect(p, ':', "':'");
		struct constant no = read_choice(p);
		c = is_true(c) ? yes : no;
	}
	p->nesting--;
	return c;
}

struct constant expression_read(struct parser *p)
{
	return read_choice(p);
}

static uint64_t need_unsigned(struct parser *p, struct constant c, struct ptx_location location, uint64_t limit,
			      const char *what)
{
	if (c.is_float || (!c.is_unsigned && (int64_t)c.bits < 0))
		parser_fail(p, location, "%s must be an integer that is not negative", what);
	if (c.bits > limit)
		parser_fail(p, location, "%s %llu is larger than %llu", what, (unsigned long long)c.bits,
			    (unsigned long long)limit);
	return c.bits;
}

uint64_t expression_read_unsigned(struct parser *p, uint64_t limit, const char *what)
{
	struct ptx_location location = token_location(&p->token);
	return need_unsigned(p, read_choice(p), location, limit, what);
}

uint64_t expression_read_before_angle(struct parser *p, uint64_t limit, const char *what)
{
	struct ptx_location location = token_location(&p->token);
	return need_unsigned(p, read_binary(p, 8), location, limit, what);
}

static bool is_floating(enum ptx_type type)
{
	return type == PTX_F32 || type == PTX_F64;
}

static double to_double(struct constant c)
{
	double value;
	if (!c.is_float)
		return c.is_unsigned ? (double)c.bits : (double)(int64_t)c.bits;
	if (c.is_f32) {
		float single;
		uint32_t bits = (uint32_t)c.bits;
		memcpy(&single, &bits, sizeof single);
		return (double)single;
	}
	memcpy(&value, &c.bits, sizeof value);
	return value;
}

uint64_t constant_bits(struct constant c, enum ptx_type type)
{
	if (type == PTX_F32 && !(c.is_float && c.is_f32)) {
		float single = (float)to_double(c);
		uint32_t bits;
		memcpy(&bits, &single, sizeof bits);
		return bits;
	}
	if (type == PTX_F64 && (!c.is_float || c.is_f32)) {
		double value = to_double(c);
		memcpy(&c.bits, &value, sizeof value);
		return c.bits;
	}
	unsigned bits = ptx_type_bits(type);
	if (is_floating(type) || bits >= 64 || !bits)
		return c.bits;
	return c.bits & ((UINT64_C(1) << bits) - 1);
}
