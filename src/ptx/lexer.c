/* Tokens of PTX text (ISA 4.1 to 4.5): white space, comments, identifiers, constants, punctuation. */
#define _GNU_SOURCE
#include "ptx/lexer.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>

#define LETTER (CHAR_NAME | CHAR_START | CHAR_SPELLING)
#define DIGIT  (CHAR_NAME | CHAR_DIGIT | CHAR_SPELLING)
const uint8_t lexer_classes[256] = {
	['a'] = LETTER,      ['b'] = LETTER,        ['c'] = LETTER,      ['d'] = LETTER,
	['e'] = LETTER,      ['f'] = LETTER,        ['g'] = LETTER,      ['h'] = LETTER,
	['i'] = LETTER,      ['j'] = LETTER,        ['k'] = LETTER,      ['l'] = LETTER,
	['m'] = LETTER,      ['n'] = LETTER,        ['o'] = LETTER,      ['p'] = LETTER,
	['q'] = LETTER,      ['r'] = LETTER,        ['s'] = LETTER,      ['t'] = LETTER,
	['u'] = LETTER,      ['v'] = LETTER,        ['w'] = LETTER,      ['x'] = LETTER,
	['y'] = LETTER,      ['z'] = LETTER,        ['A'] = LETTER,      ['B'] = LETTER,
	['C'] = LETTER,      ['D'] = LETTER,        ['E'] = LETTER,      ['F'] = LETTER,
	['G'] = LETTER,      ['H'] = LETTER,        ['I'] = LETTER,      ['J'] = LETTER,
	['K'] = LETTER,      ['L'] = LETTER,        ['M'] = LETTER,      ['N'] = LETTER,
	['O'] = LETTER,      ['P'] = LETTER,        ['Q'] = LETTER,      ['R'] = LETTER,
	['S'] = LETTER,      ['T'] = LETTER,        ['U'] = LETTER,      ['V'] = LETTER,
	['W'] = LETTER,      ['X'] = LETTER,        ['Y'] = LETTER,      ['Z'] = LETTER,
	['0'] = DIGIT,       ['1'] = DIGIT,         ['2'] = DIGIT,       ['3'] = DIGIT,
	['4'] = DIGIT,       ['5'] = DIGIT,         ['6'] = DIGIT,       ['7'] = DIGIT,
	['8'] = DIGIT,       ['9'] = DIGIT,         ['_'] = LETTER,      ['$'] = CHAR_NAME | CHAR_START,
	['%'] = CHAR_START,  ['.'] = CHAR_SPELLING, [' '] = CHAR_BLANK,  ['\t'] = CHAR_BLANK,
	['\r'] = CHAR_BLANK, ['\f'] = CHAR_BLANK,   ['\v'] = CHAR_BLANK,  ['\n'] = CHAR_STOP,  ['\0'] = CHAR_STOP,
	['"'] = CHAR_STOP,   ['/'] = CHAR_STOP,     ['{'] = CHAR_STOP,    ['}'] = CHAR_STOP,
};

void lexer_init(struct lexer *lexer, const char *text, size_t length)
{
	*lexer = (struct lexer){ .at = text, .end = text + length, .line_start = text, .line = 1 };
}

static const char *skip_comment(struct lexer *lexer, const char *at)
{
	if (at[1] == '/') {
		const char *newline = memchr(at, '\n', (size_t)(lexer->end - at));
		return newline ? newline : lexer->end;
	}
	const char *begin = at, *line_start = lexer->line_start;
	uint32_t line = lexer->line;
	for (at += 2; at < lexer->end; at++) {
		if (*at == '\n') {
			lexer->line++;
			lexer->line_start = at + 1;
		} else if (at[0] == '*' && at[1] == '/') {
			return at + 2;
		}
	}
	lexer->problem = "comment without an end";
	lexer->line = line;
	lexer->line_start = line_start;
	return begin;
}

static const char *skip_blank(struct lexer *lexer)
{
	const char *at = lexer->at;
	for (;;) {
		while (lexer_is(*at, CHAR_BLANK))
			at++;
		if (*at == '\n') {
			lexer->line++;
			lexer->line_start = ++at;
		} else if (at[0] == '/' && (at[1] == '/' || at[1] == '*') && !lexer->problem) {
			at = skip_comment(lexer, at);
		} else {
			return at;
		}
	}
}

const char *lexer_peek(const struct lexer *lexer, const char *at)
{
	struct lexer probe = { .at = at, .end = lexer->end };
	return skip_blank(&probe);
}

/* `::` belongs to a spelling only between letters: `L:` is a label, `.shared::cta` a modifier. */
const char *lexer_spelling_end(const char *at)
{
	for (;;) {
		if (lexer_is(*at, CHAR_SPELLING))
			at++;
		else if (at[0] == ':' && at[1] == ':' && lexer_is(at[2], CHAR_NAME))
			at += 2;
		else
			return at;
	}
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

static const char *read_digits(const char *at, unsigned base, uint64_t *value, bool *overflow)
{
	uint64_t result = 0;
	for (; digit_value(*at) < (int)base; at++) {
		uint64_t more;
		*overflow |= __builtin_mul_overflow(result, (uint64_t)base, &more);
		*overflow |= __builtin_add_overflow(more, (uint64_t)digit_value(*at), &result);
	}
	*value = result;
	return at;
}

/* The C library's strtod() follows the program's locale; PTX does not. */
static double read_decimal(const char *text, char **end)
{
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (!plain)
		return strtod(text, end);
	double value = strtod_l(text, end, plain);
	freelocale(plain);
	return value;
}

static bool is_decimal_float(const char *at)
{
	while (lexer_is(*at, CHAR_DIGIT))
		at++;
	if (*at == '.')
		return lexer_is(at[1], CHAR_DIGIT) || !lexer_is(at[1], CHAR_NAME);
	return (*at == 'e' || *at == 'E') &&
	       (lexer_is(at[1], CHAR_DIGIT) || ((at[1] == '-' || at[1] == '+') && lexer_is(at[2], CHAR_DIGIT)));
}

static const char *read_number(struct lexer *lexer, struct token *token, const char *at)
{
	const char *begin = at;
	bool overflow = false;
	char mark = at[0] == '0' ? (char)(at[1] | 0x20) : 0;
	token->kind = TOKEN_INTEGER;
	if (mark == 'f' || mark == 'd') {
		unsigned digits = mark == 'f' ? 8 : 16;
		at = read_digits(begin + 2, 16, &token->bits, &overflow);
		token->kind = TOKEN_FLOAT;
		token->is_f32 = mark == 'f';
		if (at - begin != (ptrdiff_t)digits + 2)
			lexer->problem =
				mark == 'f' ? "0f needs 8 hexadecimal digits" : "0d needs 16 hexadecimal digits";
		return at;
	}
	if (mark == 'x') {
		at = read_digits(begin + 2, 16, &token->bits, &overflow);
	} else if (mark == 'b') {
		at = read_digits(begin + 2, 2, &token->bits, &overflow);
	} else if (is_decimal_float(begin)) {
		char *end;
		double value = read_decimal(begin, &end);
		memcpy(&token->bits, &value, sizeof value);
		token->kind = TOKEN_FLOAT;
		return end;
	} else {
		at = read_digits(begin, *begin == '0' ? 8 : 10, &token->bits, &overflow);
	}
	if (at == begin + 2 && (mark == 'x' || mark == 'b'))
		lexer->problem = "a number without digits";
	if (overflow)
		lexer->problem = "a number that does not fit in 64 bits";
	if (*at == 'U') {
		token->is_unsigned = true;
		at++;
	}
	/* 4.5.1: a literal that needs the 64th bit is unsigned. */
	token->is_unsigned |= token->bits >> 63;
	return at;
}

static const char *read_mark(struct token *token, const char *at)
{
	static const struct {
		char text[2];
		uint16_t mark;
	} pairs[] = {
		{ { '<', '<' }, MARK_SHL },    { { '>', '>' }, MARK_SHR },  { { '<', '=' }, MARK_LE },
		{ { '>', '=' }, MARK_GE },     { { '=', '=' }, MARK_EQ },   { { '!', '=' }, MARK_NE },
		{ { '&', '&' }, MARK_ANDAND }, { { '|', '|' }, MARK_OROR },
	};
	token->kind = TOKEN_MARK;
	token->mark = (uint8_t)*at;
	if (!strchr("<>=!&|", *at))
		return at + 1;
	for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++)
		if (at[0] == pairs[i].text[0] && at[1] == pairs[i].text[1]) {
			token->mark = pairs[i].mark;
			return at + 2;
		}
	return at + 1;
}

static const char *read_string(struct lexer *lexer, struct token *token, const char *at)
{
	token->kind = TOKEN_STRING;
	token->text = ++at;
	while (*at != '"' && *at != '\n' && at < lexer->end)
		at += at[0] == '\\' && at + 1 < lexer->end && at[1] != '\n' ? 2 : 1;
	token->length = (uint32_t)(at - token->text);
	if (*at != '"') {
		lexer->problem = "string without an end";
		return at;
	}
	return at + 1;
}

/* `.x`, `.5` (a number without its zero is no PTX) or a lone dot. */
static const char *read_dot(struct lexer *lexer, struct token *token, const char *at)
{
	const char *begin = at++;
	while (lexer_is(*at, CHAR_NAME) || (at[0] == ':' && at[1] == ':' && lexer_is(at[2], CHAR_NAME)))
		at += *at == ':' ? 2 : 1;
	token->kind = TOKEN_DOT;
	if (at == begin + 1)
		lexer->problem = "a dot without a name";
	return at;
}

void lexer_next(struct lexer *lexer, struct token *token)
{
	const char *at = skip_blank(lexer);
	token->text = at;
	token->line = lexer->line;
	token->line_start = lexer->line_start;
	token->is_f32 = token->is_unsigned = false;
	token->mark = 0;
	const char *end = at;
	if (lexer_is(*at, CHAR_START)) {
		token->kind = TOKEN_NAME;
		do
			end++;
		while (lexer_is(*end, CHAR_NAME));
		if (*at == '%' && end == at + 1)
			end = read_mark(token, at);
	} else if (lexer_is(*at, CHAR_DIGIT)) {
		end = read_number(lexer, token, at);
	} else if (*at == '.') {
		end = read_dot(lexer, token, at);
	} else if (*at == '"') {
		lexer->at = read_string(lexer, token, at);
		return;
	} else if (*at && strchr(",;:{}[]()<>|&^!~+-*/=@?", *at)) {
		end = read_mark(token, at);
	} else {
		token->kind = TOKEN_END;
		if (at < lexer->end && !lexer->problem)
			lexer->problem = "a character that PTX does not use";
	}
	token->length = (uint32_t)(end - at);
	lexer->at = end;
}

bool lexer_skip_block(struct lexer *lexer)
{
	const char *at = lexer->at;
	for (unsigned depth = 1; depth;) {
		while (!lexer_is(*at, CHAR_STOP))
			at++;
		struct token string;
		if (at >= lexer->end)
			return false;
		if (*at == '/' && (at[1] == '/' || at[1] == '*') && !lexer->problem) {
			at = skip_comment(lexer, at);
			continue;
		}
		if (*at == '"') {
			at = read_string(lexer, &string, at);
			lexer->problem = NULL;
			continue;
		}
		depth += (unsigned)(*at == '{') - (unsigned)(*at == '}');
		if (*at++ == '\n') {
			lexer->line++;
			lexer->line_start = at;
		}
	}
	lexer->at = at;
	return true;
}
