/* Spellings: `setp.lt.ftz.f32` to the row of spec/ptx.isa that it is, its slots filled in.
 *
 * A program has a few hundred spellings and up to a million instructions, so each spelling is
 * worked out once and found by its text afterwards. */
#include "ptx/isa_index.h"
#include "ptx/parser.h"

struct spelling {
	const char *text;
	size_t length;
	uint16_t mods[ISA_MAX_SLOTS];
	unsigned count;
};

static bool is_choice(const struct isa_slot *slot, uint16_t mod)
{
	const uint16_t *choices = isa_choices + slot->first_choice;
	for (unsigned i = 0; i < slot->first_choice_count; i++)
		if (choices[i] == mod)
			return true;
	return false;
}

/* In the written order; an optional slot may turn out to stand for a later modifier. */
static bool fits_in_order(const struct isa_row *row, unsigned slot, const struct spelling *s, unsigned at,
			  uint16_t *filled)
{
	if (slot == row->slot_count)
		return at == s->count;
	if (at < s->count && is_choice(&row->slots[slot], s->mods[at])) {
		filled[slot] = s->mods[at];
		if (fits_in_order(row, slot + 1, s, at + 1, filled))
			return true;
	}
	filled[slot] = MOD_NONE;
	return row->slots[slot].optional && fits_in_order(row, slot + 1, s, at, filled);
}

/* In any order, but several of one kind (the types of a cvt) keep theirs. */
static bool fits_unordered(const struct isa_row *row, const struct spelling *s, uint16_t *filled)
{
	bool used[ISA_MAX_SLOTS] = { false };
	unsigned taken = 0;
	for (unsigned slot = 0; slot < row->slot_count; slot++) {
		unsigned at = 0;
		while (at < s->count && (used[at] || !is_choice(&row->slots[slot], s->mods[at])))
			at++;
		filled[slot] = MOD_NONE;
		if (at < s->count) {
			used[at] = true;
			filled[slot] = s->mods[at];
			taken++;
		} else if (!row->slots[slot].optional) {
			return false;
		}
	}
	return taken == s->count;
}

/* The first row that fits and that module's version and target have; else the first that fits. */
static const struct isa_row *find_row(unsigned version, unsigned sm, const struct spelling *s, uint16_t first,
				      uint16_t end, uint16_t *filled)
{
	const struct isa_row *found = NULL;
	uint16_t slots[ISA_MAX_SLOTS] = { 0 };
	for (int unordered = 0; unordered < 2 && !found; unordered++)
		for (uint16_t i = first; i < end; i++) {
			const struct isa_row *row = &isa_rows[i];
			if (!(unordered ? fits_unordered(row, s, slots) : fits_in_order(row, 0, s, 0, slots)))
				continue;
			bool allowed = row->version <= version && row->sm <= sm;
			if (!found || allowed) {
				found = row;
				memcpy(filled, slots, sizeof slots);
			}
			if (allowed)
				return found;
		}
	return found;
}

static enum ptx_space space_of(uint16_t mod)
{
	switch (mod) {
	case MOD_const:
		return PTX_SPACE_CONST;
	case MOD_global:
		return PTX_SPACE_GLOBAL;
	case MOD_local:
		return PTX_SPACE_LOCAL;
	case MOD_param:
	case MOD_param__entry:
	case MOD_param__func:
		return PTX_SPACE_PARAM;
	case MOD_shared:
	case MOD_shared__cta:
		return PTX_SPACE_SHARED;
	case MOD_shared__cluster:
		return PTX_SPACE_SHARED_CLUSTER;
	default:
		return PTX_SPACE_GENERIC;
	}
}

static void describe(struct ptx_form *form)
{
	form->vector = 1;
	for (unsigned i = 0; i < form->mod_count; i++) {
		uint16_t mod = form->mods[i];
		if (!mod)
			continue;
		form->set[mod / 64] |= UINT64_C(1) << mod % 64;
		enum ptx_type type = ptx_type_of_mod((enum ptx_mod)mod);
		if (type && form->type_count < ARRAY_LENGTH(form->types))
			form->types[form->type_count++] = type;
		if (form->space == PTX_SPACE_GENERIC)
			form->space = space_of(mod);
		if (mod == MOD_v2 || mod == MOD_v4 || mod == MOD_v8)
			form->vector = mod == MOD_v2 ? 2 : mod == MOD_v4 ? 4 : 8;
	}
}

static void need(struct parser *p, unsigned version, unsigned sm, const char *suffix, const char *text,
		 struct ptx_location location)
{
	const struct ptx_module *module = p->module;
	if (version > module->version)
		parser_fail(p, location, "'%s' needs PTX ISA %u.%u; the module is of %u.%u", text, version / 10,
			    version % 10, module->version / 10U, module->version % 10U);
	if (sm > module->sm)
		parser_fail(p, location, "'%s' needs target sm_%u%s; the module is for %s", text, sm, suffix,
			    module->target);
}

/* A row with an `a` or `f` target is for that line of chips: the module must name such a target. */
static void check_allowed(struct parser *p, const struct ptx_form *form, struct ptx_location location)
{
	const struct isa_row *row = form->row;
	need(p, row->version, row->sm, row->arch_specific ? "a" : "", form->text, location);
	for (unsigned i = 0; i < form->mod_count; i++)
		need(p, isa_mod_needs[form->mods[i]].version, isa_mod_needs[form->mods[i]].sm, "", form->text,
		     location);
	char last = p->module->target[strlen(p->module->target) - 1];
	if (row->arch_specific && last != 'a' && last != 'f')
		parser_fail(p, location,
			    "'%s' is there on architecture-specific targets only (sm_%ua); the module is for %s",
			    form->text, row->sm, p->module->target);
}

/* Splits the spelling behind its opcode; on a modifier that PTX does not have, or one too many, returns where it stands. */
static const char *read_mods(struct spelling *s, const char *at)
{
	const char *end = s->text + s->length;
	while (at < end) {
		const char *begin = at++; /* the dot */
		while (at < end && *at != '.')
			at++;
		uint16_t mod = (uint16_t)isa_find_mod(begin + 1, (size_t)(at - begin - 1));
		if (mod == MOD_NONE || s->count == ARRAY_LENGTH(s->mods))
			return begin;
		s->mods[s->count++] = mod;
	}
	return NULL;
}

static size_t opcode_length(const char *text, size_t length)
{
	const char *dot = memchr(text, '.', length);
	return dot ? (size_t)(dot - text) : length;
}

const struct isa_row *isa_find_row(const char *spelling, size_t length, uint16_t filled[ISA_MAX_SLOTS])
{
	struct spelling s = { .text = spelling, .length = length };
	size_t opcode = opcode_length(spelling, length);
	uint16_t first, end;
	if (!isa_find_opcode(spelling, opcode, &first, &end) || read_mods(&s, spelling + opcode))
		return NULL;
	return find_row(UINT16_MAX, UINT16_MAX, &s, first, end, filled);
}

/* How many of the modifiers a row knows, less those it asks for and does not get. */
static int likeness(const struct isa_row *row, const struct spelling *s)
{
	int score = 0;
	for (unsigned slot = 0; slot < row->slot_count; slot++) {
		bool given = false;
		for (unsigned at = 0; at < s->count && !given; at++)
			given = is_choice(&row->slots[slot], s->mods[at]);
		score += given ? 2 : row->slots[slot].optional ? 0 : -1;
	}
	return score;
}

static _Noreturn void fail_no_row(struct parser *p, const struct spelling *s, uint16_t first, uint16_t end,
				  struct ptx_location location)
{
	const struct isa_row *nearest = &isa_rows[first];
	for (uint16_t i = first; i < end; i++)
		if (likeness(&isa_rows[i], s) > likeness(nearest, s))
			nearest = &isa_rows[i];
	parser_fail(p, location, "PTX has no '%.*s'; what comes nearest is %.*s", (int)s->length, s->text,
		    (int)strcspn(nearest->text, " "), nearest->text);
}

static struct ptx_form *form_make(struct parser *p, const char *text, size_t length, struct ptx_location location)
{
	struct spelling s = { .text = text, .length = length };
	size_t opcode = opcode_length(text, length);
	uint16_t first, end;
	if (!isa_find_opcode(text, opcode, &first, &end))
		parser_fail(p, location, "unknown instruction '%.*s'", (int)length, text);
	const char *bad = read_mods(&s, text + opcode);
	if (bad) {
		size_t bad_length = opcode_length(bad + 1, (size_t)(text + length - bad - 1));
		struct ptx_location where = { location.line, location.column + (uint32_t)(bad - text) };
		parser_fail(p, where, "%s modifier '.%.*s' in '%.*s'",
			    s.count == ARRAY_LENGTH(s.mods) ? "one too many" : "unknown", (int)bad_length, bad + 1,
			    (int)length, text);
	}
	struct ptx_form *form = arena_new(&p->module->arena, struct ptx_form);
	form->row = find_row(p->module->version, p->module->sm, &s, first, end, form->mods);
	if (!form->row)
		fail_no_row(p, &s, first, end, location);
	form->text = arena_strndup(&p->module->arena, text, length);
	form->mod_count = form->row->slot_count;
	check_allowed(p, form, location);
	describe(form);
	return form;
}

const struct ptx_form *form_find(struct parser *p, const char *text, size_t length, struct ptx_location location)
{
	struct ptx_form *form = map_get_n(&p->forms, text, length);
	if (form)
		return form;
	form = form_make(p, text, length, location);
	map_put_n(&p->forms, form->text, length, form);
	return form;
}
