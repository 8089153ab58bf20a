/* From a pc to a decoded instruction: LLVM's disassembler gives the text, which is taken apart here into the mnemonic
 * (encoding suffix dropped, other generations' spellings replaced), the operands and the modifiers, and bound to a row
 * of the tables. Whatever is left over (a modifier, operand or mnemonic that has no place) is an error.
 * Each pc is decoded once; the result is kept in the code object. */
#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Disassembler.h>
#include "machine.h"

/* ---- mnemonics ---- */

/* The same instruction under another generation's name. Sorted by nothing: looked through once a pc. */
static const char *const aliases[][2] = {
	{ "v_add_u32", "v_add_nc_u32" }, { "v_sub_u32", "v_sub_nc_u32" }, { "v_subrev_u32", "v_subrev_nc_u32" },
	{ "v_add_i32", "v_add_nc_i32" }, { "v_sub_i32", "v_sub_nc_i32" },
	{ "v_add_u16", "v_add_nc_u16" }, { "v_sub_u16", "v_sub_nc_u16" }, { "v_subrev_u16", "v_subrev_nc_u16" },
	{ "v_add_i16", "v_add_nc_i16" }, { "v_sub_i16", "v_sub_nc_i16" },
	{ "v_addc_co_u32", "v_add_co_ci_u32" }, { "v_subb_co_u32", "v_sub_co_ci_u32" }, { "v_subbrev_co_u32", "v_subrev_co_ci_u32" },
	{ "v_ffbh_u32", "v_clz_i32_u32" }, { "v_ffbh_i32", "v_cls_i32" }, { "v_ffbl_b32", "v_ctz_i32_b32" },
	{ "v_mad_co_u64_u32", "v_mad_u64_u32" }, { "v_mad_co_i64_i32", "v_mad_i64_i32" },
	{ "v_cvt_pkrtz_f16_f32", "v_cvt_pk_rtz_f16_f32" }, { "v_cvt_pk_i16_f32", "v_cvt_pk_i16_f32" },
	{ "v_cvt_pknorm_i16_f32", "v_cvt_pk_norm_i16_f32" }, { "v_cvt_pknorm_u16_f32", "v_cvt_pk_norm_u16_f32" },
	{ "v_cvt_flr_i32_f32", "v_cvt_floor_i32_f32" }, { "v_cvt_rpi_i32_f32", "v_cvt_nearest_i32_f32" },
	{ "v_max_num_f32", "v_max_f32" }, { "v_min_num_f32", "v_min_f32" }, { "v_max_num_f64", "v_max_f64" }, { "v_min_num_f64", "v_min_f64" },
	{ "v_max_num_f16", "v_max_f16" }, { "v_min_num_f16", "v_min_f16" },
	{ "v_max3_num_f32", "v_max3_f32" }, { "v_min3_num_f32", "v_min3_f32" }, { "v_med3_num_f32", "v_med3_f32" },
	{ "v_max3_num_f16", "v_max3_f16" }, { "v_min3_num_f16", "v_min3_f16" }, { "v_med3_num_f16", "v_med3_f16" },
	{ "v_maxmin_num_f32", "v_maxmin_f32" }, { "v_minmax_num_f32", "v_minmax_f32" },
	{ "v_maxmin_num_f16", "v_maxmin_f16" }, { "v_minmax_num_f16", "v_minmax_f16" },
	{ "v_pk_max_num_f16", "v_pk_max_f16" }, { "v_pk_min_num_f16", "v_pk_min_f16" },
	{ "v_mul_legacy_f32", "v_mul_dx9_zero_f32" }, { "v_fma_legacy_f32", "v_fma_dx9_zero_f32" }, { "v_fmac_legacy_f32", "v_fmac_dx9_zero_f32" },
	{ "v_mad_mix_f32", "v_fma_mix_f32" }, { "v_mad_mixlo_f16", "v_fma_mixlo_f16" }, { "v_mad_mixhi_f16", "v_fma_mixhi_f16" },
	{ "v_accvgpr_mov_b32", "v_mov_b32" }, { "v_accvgpr_read_b32", "v_mov_b32" }, { "v_accvgpr_write_b32", "v_mov_b32" },
	{ "v_accvgpr_read", "v_mov_b32" }, { "v_accvgpr_write", "v_mov_b32" },
	{ "s_add_co_u32", "s_add_u32" }, { "s_add_co_i32", "s_add_i32" }, { "s_sub_co_u32", "s_sub_u32" }, { "s_sub_co_i32", "s_sub_i32" },
	{ "s_add_co_ci_u32", "s_addc_u32" }, { "s_sub_co_ci_u32", "s_subb_u32" }, { "s_addk_co_i32", "s_addk_i32" },
	{ "s_andn2_b32", "s_and_not1_b32" }, { "s_andn2_b64", "s_and_not1_b64" }, { "s_orn2_b32", "s_or_not1_b32" }, { "s_orn2_b64", "s_or_not1_b64" },
	{ "s_andn2_saveexec_b32", "s_and_not1_saveexec_b32" }, { "s_andn2_saveexec_b64", "s_and_not1_saveexec_b64" },
	{ "s_orn2_saveexec_b32", "s_or_not1_saveexec_b32" }, { "s_orn2_saveexec_b64", "s_or_not1_saveexec_b64" },
	{ "s_andn1_saveexec_b32", "s_and_not0_saveexec_b32" }, { "s_andn1_saveexec_b64", "s_and_not0_saveexec_b64" },
	{ "s_orn1_saveexec_b32", "s_or_not0_saveexec_b32" }, { "s_orn1_saveexec_b64", "s_or_not0_saveexec_b64" },
	{ "s_andn1_wrexec_b32", "s_and_not0_wrexec_b32" }, { "s_andn1_wrexec_b64", "s_and_not0_wrexec_b64" },
	{ "s_andn2_wrexec_b32", "s_and_not1_wrexec_b32" }, { "s_andn2_wrexec_b64", "s_and_not1_wrexec_b64" },
	{ "s_ff1_i32_b32", "s_ctz_i32_b32" }, { "s_ff1_i32_b64", "s_ctz_i32_b64" },
	{ "s_flbit_i32_b32", "s_clz_i32_u32" }, { "s_flbit_i32_b64", "s_clz_i32_u64" },
	{ "s_flbit_i32", "s_cls_i32" }, { "s_flbit_i32_i64", "s_cls_i32_i64" },
};

const char *unalias(const char *stem)
{
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (!strcmp(aliases[i][0], stem)) return aliases[i][1];
	return stem;
}

const struct opcode *opcode_find(const char *stem)
{
	static const struct opcode *const tables[] = { valu_opcodes, salu_opcodes, lane_opcodes, mfma_opcodes, control_opcodes };

	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (const struct opcode *op = tables[t]; op->stem; op++)
			if (!strcmp(op->stem, stem)) return op;
	return NULL;
}

static bool strip(char *text, const char *suffix)
{
	size_t length = strlen(text), end = strlen(suffix);

	if (length <= end || strcmp(text + length - end, suffix)) return false;
	text[length - end] = 0;
	return true;
}

/* ---- operands ---- */
static const struct { const char *name; uint8_t kind, count; uint16_t reg; } names[] = {
	{ "vcc", OPERAND_SCALAR, 2, SGPR_VCC }, { "vcc_lo", OPERAND_SCALAR, 1, SGPR_VCC }, { "vcc_hi", OPERAND_SCALAR, 1, SGPR_VCC + 1 },
	{ "exec", OPERAND_SCALAR, 2, SGPR_EXEC }, { "exec_lo", OPERAND_SCALAR, 1, SGPR_EXEC }, { "exec_hi", OPERAND_SCALAR, 1, SGPR_EXEC + 1 },
	{ "flat_scratch", OPERAND_SCALAR, 2, SGPR_FLAT_SCRATCH }, { "flat_scratch_lo", OPERAND_SCALAR, 1, SGPR_FLAT_SCRATCH },
	{ "flat_scratch_hi", OPERAND_SCALAR, 1, SGPR_FLAT_SCRATCH + 1 },
	{ "xnack_mask", OPERAND_SCALAR, 2, SGPR_XNACK }, { "xnack_mask_lo", OPERAND_SCALAR, 1, SGPR_XNACK },
	{ "xnack_mask_hi", OPERAND_SCALAR, 1, SGPR_XNACK + 1 },
	{ "m0", OPERAND_SCALAR, 1, SGPR_M0 }, { "null", OPERAND_SCALAR, 1, SGPR_NULL },
	{ "off", OPERAND_OFF, 1, 0 },
	{ "src_scc", OPERAND_SPECIAL, 1, SPECIAL_SCC }, { "src_vccz", OPERAND_SPECIAL, 1, SPECIAL_VCCZ },
	{ "src_execz", OPERAND_SPECIAL, 1, SPECIAL_EXECZ }, { "scc", OPERAND_SPECIAL, 1, SPECIAL_SCC },
	{ "src_shared_base", OPERAND_SPECIAL, 2, SPECIAL_SHARED_BASE }, { "src_shared_limit", OPERAND_SPECIAL, 2, SPECIAL_SHARED_LIMIT },
	{ "src_private_base", OPERAND_SPECIAL, 2, SPECIAL_PRIVATE_BASE }, { "src_private_limit", OPERAND_SPECIAL, 2, SPECIAL_PRIVATE_LIMIT },
};

static bool read_registers(const char *text, struct operand *o)
{
	char kind = *text;
	int first, last;
	char *end;

	if (*text == '[') return false;
	text++;
	if (!strncmp(text - 1, "acc", 3)) text += 2, kind = 'a';
	if (!strncmp(text - 1, "ttmp", 4)) text += 3, kind = 't';
	if (*text == '[') {
		first = (int)strtol(text + 1, &end, 10);
		last = first;
		if (*end == ':') last = (int)strtol(end + 1, &end, 10);
		if (*end++ != ']') return false;
	} else {
		if (!isdigit((unsigned char)*text)) return false;
		first = last = (int)strtol(text, &end, 10);
	}
	if (!strcmp(end, ".l")) o->low = true;
	else if (!strcmp(end, ".h")) o->high = true;
	else if (*end) return false;
	if (last < first || last > 255) return false;
	o->kind = kind == 'v' || kind == 'a' ? OPERAND_VECTOR : OPERAND_SCALAR;
	o->reg = (uint16_t)(first + (kind == 'a' ? ACCUMULATION : kind == 't' ? SGPR_TTMP : 0));
	o->count = (uint8_t)(last - first + 1);
	return true;
}

static bool read_hwreg(const char *text, struct operand *o)
{
	char name[48];
	unsigned offset = 0, width = 32;
	int fields = sscanf(text, "hwreg(%47[A-Z0-9_a-z], %u, %u)", name, &offset, &width);

	if (fields < 1 || fields == 2 || offset + width > 32) return false;
	for (unsigned i = 0; hwreg_name(i); i++) {
		if (strcmp(hwreg_name(i), name)) continue;
		o->kind = OPERAND_HWREG;
		o->reg = (uint16_t)i;
		o->hwreg_offset = (uint8_t)offset;
		o->hwreg_width = (uint8_t)width;
		return true;
	}
	return false;
}

static char *trim(char *text)
{
	size_t length;

	while (*text == ' ' || *text == '\t') text++;
	length = strlen(text);
	while (length && (text[length - 1] == ' ' || text[length - 1] == '\t')) text[--length] = 0;
	return text;
}

/* Takes PREFIX…SUFFIX off. */
static bool unwrap(char **text, const char *prefix, const char *suffix)
{
	size_t p = strlen(prefix), length = strlen(*text), s = strlen(suffix);

	if (strncmp(*text, prefix, p) || length < p + s || strcmp(*text + length - s, suffix)) return false;
	(*text)[length - s] = 0;
	*text += p;
	return true;
}

static bool read_operand(char *text, struct operand *o)
{
	char *end;

	memset(o, 0, sizeof *o);
	o->count = 1;
	text = trim(text);
	if (unwrap(&text, "neg(", ")")) o->negate = true;
	else if (*text == '-' && !isdigit((unsigned char)text[1])) text++, o->negate = true;
	if (unwrap(&text, "abs(", ")") || unwrap(&text, "|", "|")) o->absolute = true;
	if (unwrap(&text, "sext(", ")")) o->sign_extend = true;
	if (!strncmp(text, "hwreg(", 6)) return read_hwreg(text, o);
	if (!strncmp(text, "sendmsg(", 8) || !strncmp(text, "gpr_idx(", 8)) {
		o->kind = OPERAND_TEXT;	/* its user looks at the encoding */
		return true;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(names[i].name, text)) continue;
		o->kind = names[i].kind;
		o->count = names[i].count;
		o->reg = names[i].reg;
		return true;
	}
	if ((*text == 'v' || *text == 's' || *text == 'a' || *text == 't') && read_registers(text, o)) return true;
	if (isdigit((unsigned char)*text) || *text == '-') {
		o->kind = OPERAND_CONSTANT;
		o->hex = !strncmp(text, "0x", 2) || !strncmp(text, "-0x", 3);
		o->floating = !o->hex && strpbrk(text, ".e") != NULL;
		if (o->floating) o->number = strtod(text, &end);
		else o->integer = (int64_t)strtoull(text, &end, 0);
		return !*end;
	}
	return false;
}

static bool wide_type(char type) { return type == 'q' || type == 'l' || type == 'd'; }

uint64_t constant_bits(const struct operand *o, char type)
{
	uint64_t wide;
	uint32_t narrow;
	float single = (float)o->number;

	if (!o->floating) {
		/* 32-bit literals: the high half of a double, zero-extended for unsigned and bits, sign-extended for signed */
		if (type == 'd' && o->hex) return (uint64_t)o->integer << 32;
		if (type == 'q' && o->hex) return (uint64_t)o->integer;
		if (type == 'l' && o->hex) return (uint64_t)(int64_t)(int32_t)o->integer;
		return (uint64_t)o->integer;
	}
	if (wide_type(type)) {
		memcpy(&wide, &o->number, 8);
		return wide;
	}
	if (type == 's' || type == 't' || type == 'h' || type == 'H') return half_from_double(o->number, 0);
	memcpy(&narrow, &single, 4);
	return type == 'b' ? narrow >> 16 : narrow;
}

/* ---- modifiers ---- */
static unsigned read_bits(const char *text)
{
	unsigned bits = 0, at = 0;

	for (; *text && *text != ']'; text++)
		if (*text == '0' || *text == '1') bits |= (unsigned)(*text - '0') << at++;
	return bits;
}

static int read_select(const char *text)
{
	static const char *const selects[] = { "DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1" };

	for (int i = 0; i < 7; i++)
		if (!strcmp(selects[i], text)) return i;
	return -1;
}

/* What DPP controls do: the lane that each lane reads, 255 for none. */
static bool read_dpp(struct instruction *in, const char *name, const char *value, unsigned lanes)
{
	struct dpp *dpp = in->dpp;
	unsigned n = (unsigned)strtoul(value, NULL, 0), list[8] = { 0 };
	bool quad = !strcmp(name, "quad_perm"), eight = !strcmp(name, "dpp8");

	if (!dpp) {
		dpp = in->dpp = calloc(1, sizeof *dpp);
		if (!dpp) return false;
		dpp->write = ~0ull;
		for (unsigned i = 0; i < MAX_LANES; i++) dpp->source[i] = (uint8_t)i;
	}
	if (!strcmp(name, "row_mask") || !strcmp(name, "bank_mask")) {
		for (unsigned i = 0; i < MAX_LANES; i++)
			if (!(n >> (*name == 'r' ? i / 16 : i / 4 % 4) & 1)) dpp->write &= ~(1ull << i);
		return true;
	}
	if (!strcmp(name, "bound_ctrl")) return dpp->zero_outside = true;
	if (!strcmp(name, "fi")) {
		dpp->fetch_inactive = n;
		return true;
	}
	if (quad && sscanf(value, "[%u,%u,%u,%u]", list, list + 1, list + 2, list + 3) != 4) return false;
	if (eight && sscanf(value, "[%u,%u,%u,%u,%u,%u,%u,%u]", list, list + 1, list + 2, list + 3, list + 4, list + 5, list + 6, list + 7) != 8)
		return false;
	for (unsigned i = 0; i < MAX_LANES; i++) {
		unsigned row = i & ~15u, at = i & 15, from = 255;

		if (quad) from = (i & ~3u) + list[i & 3];
		else if (eight) from = (i & ~7u) + list[i & 7];
		else if (!strcmp(name, "row_shl")) from = at + n < 16 ? i + n : 255;
		else if (!strcmp(name, "row_shr")) from = at >= n ? i - n : 255;
		else if (!strcmp(name, "row_ror")) from = row + ((at - n) & 15);
		else if (!strcmp(name, "row_mirror")) from = row + 15 - at;
		else if (!strcmp(name, "row_half_mirror")) from = (i & ~7u) + 7 - (i & 7);
		else if (!strcmp(name, "row_share") || !strcmp(name, "row_newbcast")) from = row + n;
		else if (!strcmp(name, "row_xmask")) from = row + (at ^ n);
		else if (!strcmp(name, "wave_shl")) from = i + 1 < lanes ? i + 1 : 255;
		else if (!strcmp(name, "wave_shr")) from = i ? i - 1 : 255;
		else if (!strcmp(name, "wave_rol")) from = (i + 1) % lanes;
		else if (!strcmp(name, "wave_ror")) from = (i + lanes - 1) % lanes;
		else if (!strcmp(name, "row_bcast") && n == 15) from = row ? row - 1 : 255;
		else if (!strcmp(name, "row_bcast") && n == 31) from = i >= 32 ? 31 : 255;
		else return false;
		dpp->source[i] = (uint8_t)from;
	}
	return true;
}

static bool read_modifier(struct instruction *in, char *text, unsigned lanes)
{
	static const char *const hints[] = { "glc", "slc", "dlc", "sc1", "nt", "scc" };	/* caching: no effect here, but "glc", below */
	char *value = strchr(text, ':');
	int select;

	if (!value) {
		if (!strcmp(text, "clamp")) return in->clamp = true;
		if (!strcmp(text, "glc") || !strcmp(text, "sc0")) return in->returns = true;
		if (!strcmp(text, "offen")) return in->offen = true;
		if (!strcmp(text, "idxen")) return in->idxen = true;
		if (!strcmp(text, "lds")) return in->to_lds = true;
		if (!strcmp(text, "row_mirror") || !strcmp(text, "row_half_mirror") || !strcmp(text, "wave_shl") || !strcmp(text, "wave_shr")
			|| !strcmp(text, "wave_rol") || !strcmp(text, "wave_ror"))
			return read_dpp(in, text, "1", lanes);
		for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
			if (!strcmp(hints[i], text)) return true;
		return false;
	}
	*value++ = 0;
	if (!strcmp(text, "offset")) {
		in->offset = (int32_t)strtol(value, NULL, 0);
		if (!strncmp(value, "swizzle(", 8)) in->offset = (int32_t)(in->words[0] & 0xffff);
		return true;
	}
	if (!strcmp(text, "offset0")) return in->offset0 = (int32_t)strtol(value, NULL, 0), true;
	if (!strcmp(text, "offset1")) return in->offset1 = (int32_t)strtol(value, NULL, 0), true;
	if (!strcmp(text, "mul")) return in->omod = value[0] == '2' ? 1 : 2, true;
	if (!strcmp(text, "div")) return in->omod = 3, true;
	if (!strcmp(text, "op_sel")) return in->op_sel = (uint8_t)read_bits(value), true;
	if (!strcmp(text, "op_sel_hi")) return in->op_sel_hi = (uint8_t)read_bits(value), in->has_op_sel_hi = true;
	if (!strcmp(text, "neg_lo")) return in->neg_lo = (uint8_t)read_bits(value), true;
	if (!strcmp(text, "neg_hi")) return in->neg_hi = (uint8_t)read_bits(value), true;
	if (!strcmp(text, "neg")) return in->neg_lo = (uint8_t)read_bits(value), true;	/* of MFMA with f64 */
	if (!strcmp(text, "cbsz")) return in->cbsz = (uint8_t)atoi(value), true;
	if (!strcmp(text, "abid")) return in->abid = (uint8_t)atoi(value), true;
	if (!strcmp(text, "blgp")) return in->blgp = (uint8_t)atoi(value), true;
	if (!strcmp(text, "scope")) return true;
	if (!strcmp(text, "th")) {
		if (strstr(value, "ATOMIC") && strstr(value, "RETURN")) in->returns = true;
		return true;
	}
	if (!strcmp(text, "byte_sel")) return in->abid = (uint8_t)atoi(value), true;
	if ((select = read_select(value)) >= 0) {
		in->sdwa = true;
		if (!strcmp(text, "dst_sel")) return in->dst_sel = (uint8_t)select, true;
		if (!strcmp(text, "src0_sel")) return in->o[MAX_OPERANDS - 2].select = (uint8_t)select, true;
		if (!strcmp(text, "src1_sel")) return in->o[MAX_OPERANDS - 1].select = (uint8_t)select, true;
		return false;
	}
	if (!strcmp(text, "dst_unused")) {
		in->dst_unused = !strcmp(value, "UNUSED_PAD") ? 0 : !strcmp(value, "UNUSED_SEXT") ? 1 : 2;
		return in->sdwa = true;
	}
	return read_dpp(in, text, value, lanes);
}

/* ---- an instruction's text ---- */

/* The end of the piece that starts at `text`: the next `stop` outside of brackets and bars. */
static char *piece_end(char *text, char stop)
{
	int depth = 0;
	bool bar = false;

	for (; *text; text++) {
		if (*text == '[' || *text == '(') depth++;
		if (*text == ']' || *text == ')') depth--;
		if (*text == '|') bar = !bar;
		if (*text == stop && !depth && !bar) break;
	}
	return text;
}

static bool read_modifiers(struct instruction *in, char *text, unsigned lanes, char *error, size_t size)
{
	while (*(text = trim(text))) {
		char *end = piece_end(text, ' ');
		bool last = !*end;

		*end = 0;
		if (!read_modifier(in, text, lanes)) {
			snprintf(error, size, "modifier \"%s\" is not modelled", text);
			return false;
		}
		if (last) break;
		text = end + 1;
	}
	return true;
}

static bool looks_like_modifier(const char *text)
{
	const char *colon = strchr(text, ':');
	static const char *const words[] = { "offen", "idxen", "lds", "glc", "slc", "dlc", "sc0", "sc1", "nt", "clamp", "gds", "tfe" };

	if (colon && !memchr(text, '[', (size_t)(colon - text)) && !memchr(text, '(', (size_t)(colon - text))) return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i], text)) return true;
	return false;
}

/* Operands are separated by commas; the modifiers follow the last one, each after a space. */
static bool read_operands(struct instruction *in, char *text, unsigned lanes, char *error, size_t size)
{
	while (*(text = trim(text))) {
		char *end = piece_end(text, ','), *space;
		bool last = !*end;

		*end = 0;
		space = piece_end(text, ' ');
		if (*space) {
			*space++ = 0;
			if (!looks_like_modifier(text)) goto operand;
			space[-1] = ' ';
			space = text;
			text = "";
		} else if (looks_like_modifier(text)) {
			space = text;
			text = "";
		}
operand:
		if (*text) {
			if (in->operand_count == MAX_OPERANDS || !read_operand(text, &in->o[in->operand_count])) {
				snprintf(error, size, "operand \"%s\" is not modelled", text);
				return false;
			}
			in->operand_count++;
		}
		if (*space && !read_modifiers(in, space, lanes, error, size)) return false;
		if (last) break;
		text = end + 1;
	}
	return true;
}

/* Constants of VALU sources become rows, so that they cost nothing when they are read. */
static bool make_constant_rows(struct instruction *in)
{
	const struct opcode *op = in->op;

	for (unsigned i = 0; i < in->operand_count; i++) {
		struct operand *o = &in->o[i];
		char type = op && op->types[0] && i >= 1 && i <= op->sources ? op->types[i] : 'u';

		if (o->kind != OPERAND_CONSTANT) continue;
		o->wide = constant_bits(o, wide_type(type) ? type : 'q');
		o->bits = (uint32_t)constant_bits(o, wide_type(type) ? 'u' : type);
		if (!op || !op->lanes) continue;
		o->row = malloc(sizeof *o->row);
		if (!o->row) return false;
		for (unsigned lane = 0; lane < MAX_LANES; lane++) {
			if (wide_type(type)) o->row->q[lane] = o->wide;
			else o->row->u[lane] = o->bits;
		}
	}
	return true;
}

static bool bind(struct instruction *in, char *stem, struct code_object *object)
{
	const struct gpu_model *gpu = code_object_gpu(object);
	static const struct { const char *prefix; char space; } spaces[] = {
		{ "global_", 'g' }, { "flat_", 'f' }, { "scratch_", 's' }, { "buffer_", 'b' }, { "ds_", 'd' } };
	char saturating[64];

	in->op = opcode_find(unalias(stem));
	if (in->op && in->clamp && in->op->types[0] && !strchr("fdhH", in->op->types[0])) {
		snprintf(saturating, sizeof saturating, "%s.clamp", in->op->stem);
		in->op = opcode_find(saturating);
		if (!in->op) return false;
	}
	if (in->op) {
		in->execute = in->op->execute;
		in->detail = (uint32_t)in->op->detail;
		return make_constant_rows(in);
	}
	if (compare_bind(in, stem)) return make_constant_rows(in);
	if (scalar_memory_bind(in, stem)) return make_constant_rows(in);
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		size_t length = strlen(spaces[i].prefix);

		if (strncmp(stem, spaces[i].prefix, length)) continue;
		in->space = spaces[i].space;
		return (in->space == 'd' ? lds_bind(in, stem + length) : memory_bind(in, stem + length, gpu)) && make_constant_rows(in);
	}
	return false;
}

/* Instructions whose operands say nothing that the emulator needs. */
static bool is_hint(const char *stem)
{
	static const char *const hints[] = { "s_waitcnt", "s_delay_alu", "s_clause", "s_wait_", "s_nop", "s_inst_prefetch", "s_set_inst_prefetch",
		"s_sendmsg", "s_prefetch", "s_code_end", "s_setprio", "s_icache_inv", "s_dcache_", "s_gl1_inv", "s_waitcnt_depctr", "s_version",
		"s_branch", "s_cbranch", "s_ttracedata", "s_sleep" };

	for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
		if (!strncmp(stem, hints[i], strlen(hints[i]))) return strncmp(stem, "s_sendmsg_rtn", 13) && strcmp(stem, "s_sleep_var");
	return false;
}

/* SDWA's selections were put aside until it was known which operands are the sources. */
static bool place_selections(struct instruction *in, char *error, size_t size)
{
	unsigned first = in->op && in->op->first ? (unsigned)in->op->first : 1;

	if (!in->op || !in->op->types[0] || in->execute == valu_packed || first + 1 >= MAX_OPERANDS - 2) {
		snprintf(error, size, "SDWA of this form is not modelled");
		return false;
	}
	in->o[first].select = in->o[MAX_OPERANDS - 2].select;
	in->o[first + 1].select = in->o[MAX_OPERANDS - 1].select;
	return true;
}

static bool decode_text(struct instruction *in, char *text, struct code_object *object, char *error, size_t size)
{
	char stem[64];
	char *end = (text = trim(text), piece_end(text, ' '));
	bool dpp = false, sdwa = false, dual;
	unsigned lanes = code_object_gpu(object)->generation >= 10 ? 32 : 64;

	snprintf(stem, sizeof stem, "%.*s", (int)(end - text), text);
	dual = !strncmp(stem, "v_dual_", 7);
	if (dual) memmove(stem + 2, stem + 7, strlen(stem + 7) + 1);
	while (strip(stem, "_e32") || strip(stem, "_e64") || (dpp = strip(stem, "_dpp")) || (dpp = strip(stem, "_dpp8")) || (sdwa = strip(stem, "_sdwa")))
		;
	if (!is_hint(stem) && !read_operands(in, end, lanes, error, size)) return false;
	if (!bind(in, stem, object)) {
		snprintf(error, size, in->clamp ? "the instruction or its clamp is not modelled" : "the instruction is not modelled");
		return false;
	}
	if (!in->sdwa) return true;
	return place_selections(in, error, size);
}

void instruction_destroy(struct instruction *in)
{
	if (!in) return;
	for (unsigned i = 0; i < MAX_OPERANDS; i++) free(in->o[i].row);
	instruction_destroy(in->dual);
	free(in->dpp);
	free(in->text);
	free(in);
}

static struct instruction *make(struct code_object *object, uint64_t pc, char *error, size_t error_size)
{
	struct code *code = code_object_code(object);
	struct instruction *in = calloc(1, sizeof *in);
	char text[256], reason[160] = "";
	char *second;
	size_t size;

	if (!in) return NULL;
	size = LLVMDisasmInstruction(code->disassembler, (uint8_t *)(uintptr_t)pc, code->end - pc, pc, text, sizeof text);
	if (!size) {
		snprintf(error, error_size, "pc 0x%llx: %08x is no instruction", (unsigned long long)(pc - code->start), *(uint32_t *)(uintptr_t)pc);
		free(in);
		return NULL;
	}
	in->size = (uint8_t)size;
	in->pc = pc;
	memcpy(in->words, (void *)(uintptr_t)pc, size < 8 ? size : 8);
	in->text = strdup(trim(text));
	for (char *c = in->text; c && *c; c++)
		if (*c == '\t') *c = ' ';
	second = strstr(text, " :: ");
	if (second) {
		*second = 0;
		in->dual = calloc(1, sizeof *in->dual);
	}
	if (!in->text || (second && !in->dual) || !decode_text(in, text, object, reason, sizeof reason)
		|| (second && !decode_text(in->dual, second + 4, object, reason, sizeof reason))) {
		snprintf(error, error_size, "%s: %s (pc 0x%llx)", in->text ? in->text : text, reason, (unsigned long long)(pc - code->start));
		instruction_destroy(in);
		return NULL;
	}
	if (second) in->execute = valu_dual;
	return in;
}

const struct instruction *decode(struct code_object *object, uint64_t pc, char *error, size_t error_size)
{
	struct code *code = code_object_code(object);
	struct instruction *in;
	uint64_t at = (pc - code->start) / 4;

	if (pc < code->start || pc >= code->end || pc & 3) {
		snprintf(error, error_size, "pc 0x%llx is outside of the code", (unsigned long long)pc);
		return NULL;
	}
	in = atomic_load_explicit(&code->cache[at], memory_order_acquire);
	if (in) return in;
	pthread_mutex_lock(code->lock);
	in = code->cache[at];
	if (!in && (in = make(object, pc, error, error_size))) atomic_store_explicit(&code->cache[at], in, memory_order_release);
	pthread_mutex_unlock(code->lock);
	return in;
}
