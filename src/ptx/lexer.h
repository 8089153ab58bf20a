/* Tokens of PTX text (ISA 4.1 to 4.5). One token of look-ahead, made on demand; nothing is copied. */
#ifndef DRAGOMAN_PTX_LEXER_H
#define DRAGOMAN_PTX_LEXER_H

#include "ptx/ptx.h"

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,    /* identifier: %r1, $L__BB0_1, foo */
	TOKEN_DOT,     /* directive or modifier, with its dot: .reg, .shared::cta */
	TOKEN_INTEGER, /* bits, is_unsigned */
	TOKEN_FLOAT,   /* bits of a double, or of a float where is_f32 (0f…) */
	TOKEN_STRING,  /* text without the quotes, escapes as written */
	TOKEN_MARK     /* punctuation: mark; two characters as the MARK_ constants */
};

enum { MARK_SHL = 256, MARK_SHR, MARK_LE, MARK_GE, MARK_EQ, MARK_NE, MARK_ANDAND, MARK_OROR };

struct token {
	enum token_kind kind;
	uint16_t mark;
	bool is_f32, is_unsigned;
	uint32_t line, length;
	const char *text, *line_start;
	uint64_t bits;
};

struct lexer {
	const char *at, *end; /* the text ends with a NUL at `end` */
	const char *line_start;
	uint32_t line;
	const char *problem; /* of the token that could not be read; it is TOKEN_END then */
};

void lexer_init(struct lexer *lexer, const char *text, size_t length);
void lexer_next(struct lexer *lexer, struct token *token);
/* Past the text of a spelling such as `ld.global.v4.f32` that begins at `text`. */
const char *lexer_spelling_end(const char *text);
/* Skips to behind the `}` that closes a block whose `{` has been read. false at the end of the text. */
bool lexer_skip_block(struct lexer *lexer);
/* The end of white space and comments from `at` on. */
const char *lexer_peek(const struct lexer *lexer, const char *at);

enum { CHAR_NAME = 1, CHAR_DIGIT = 2, CHAR_START = 4, CHAR_BLANK = 8, CHAR_SPELLING = 16, CHAR_STOP = 32 /* to look at when a block is skipped */ };
extern const uint8_t lexer_classes[256];
static inline bool lexer_is(char c, unsigned classes)
{
	return lexer_classes[(uint8_t)c] & classes;
}

static inline struct ptx_location token_location(const struct token *token)
{
	return (struct ptx_location){ token->line, (uint32_t)(token->text - token->line_start) + 1 };
}

#endif
