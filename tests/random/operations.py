"""The instructions that random programs choose from, with the kinds of their operands, the result's first."""

# registers that statements assign and read, by the letter of their kind
POOLS = {'r': ('b32', 7), 'x': ('b64', 3), 'h': ('b16', 2), 'f': ('f32', 4), 'd': ('f64', 2), 'p': ('pred', 4)}

INTEGER_OPS = [
    # template, kinds: the result's first
    ('add.s32', 'rrr'), ('add.u32', 'rrr'), ('sub.s32', 'rrr'), ('mul.lo.s32', 'rrr'), ('mul.hi.u32', 'rrr'), ('mul.hi.s32', 'rrr'),
    ('mad.lo.s32', 'rrrr'), ('mad.lo.u32', 'rrrr'), ('min.s32', 'rrr'), ('max.u32', 'rrr'), ('min.u32', 'rrr'), ('max.s32', 'rrr'),
    ('and.b32', 'rrr'), ('or.b32', 'rrr'), ('xor.b32', 'rrr'), ('not.b32', 'rr'), ('cnot.b32', 'rr'), ('shl.b32', 'rrr'),
    ('shr.u32', 'rrr'), ('shr.s32', 'rrr'), ('neg.s32', 'rr'), ('abs.s32', 'rr'), ('sad.u32', 'rrrr'), ('sad.s32', 'rrrr'),
    ('add.sat.s32', 'rrr'), ('sub.sat.s32', 'rrr'), ('popc.b32', 'rr'), ('clz.b32', 'rr'), ('brev.b32', 'rr'),
    ('bfind.u32', 'rr'), ('bfind.s32', 'rr'), ('bfind.shiftamt.u32', 'rr'), ('bfe.u32', 'rrrr'), ('bfe.s32', 'rrrr'),
    ('bfi.b32', 'rrrrr'), ('shf.l.wrap.b32', 'rrrr'), ('shf.r.wrap.b32', 'rrrr'), ('shf.l.clamp.b32', 'rrrr'),
    ('shf.r.clamp.b32', 'rrrr'), ('prmt.b32', 'rrrr'), ('div.u32', 'rrr'), ('rem.u32', 'rrr'), ('div.s32', 'rrr'), ('rem.s32', 'rrr'),
    ('mul.wide.u32', 'xrr'), ('mul.wide.s32', 'xrr'), ('mad.wide.u32', 'xrrx'), ('mad.wide.s32', 'xrrx'), ('mul.wide.u16', 'rhh'),
    ('mul.wide.s16', 'rhh'), ('mad.wide.s16', 'rhhr'),
    ('add.s64', 'xxx'), ('sub.s64', 'xxx'), ('mul.lo.s64', 'xxx'), ('mul.hi.u64', 'xxx'), ('mul.hi.s64', 'xxx'), ('min.s64', 'xxx'),
    ('max.u64', 'xxx'), ('and.b64', 'xxx'), ('or.b64', 'xxx'), ('xor.b64', 'xxx'), ('not.b64', 'xx'), ('shl.b64', 'xxr'),
    ('shr.u64', 'xxr'), ('shr.s64', 'xxr'), ('neg.s64', 'xx'), ('abs.s64', 'xx'), ('popc.b64', 'rx'), ('clz.b64', 'rx'),
    ('brev.b64', 'xx'), ('bfind.u64', 'rx'), ('bfe.u64', 'xxrr'), ('bfe.s64', 'xxrr'), ('bfi.b64', 'xxxrr'), ('mad.lo.s64', 'xxxx'),
    ('add.s16', 'hhh'), ('sub.u16', 'hhh'), ('mul.lo.u16', 'hhh'), ('mul.hi.s16', 'hhh'), ('min.s16', 'hhh'), ('max.u16', 'hhh'),
    ('and.b16', 'hhh'), ('xor.b16', 'hhh'), ('not.b16', 'hh'), ('shl.b16', 'hhr'), ('shr.u16', 'hhr'), ('shr.s16', 'hhr'),
    ('neg.s16', 'hh'), ('mad.lo.s16', 'hhhh'), ('div.u16', 'hhh'), ('rem.s16', 'hhh'),
    ('selp.b32', 'rrrp'), ('selp.s32', 'rrrp'), ('selp.b64', 'xxxp'), ('selp.b16', 'hhhp'), ('slct.s32.s32', 'rrrr'),
    ('slct.b64.s32', 'xxxr'),
    ('mov.u32', 'rr'), ('mov.b64', 'xx'), ('mov.u16', 'hh'), ('mov.pred', 'pp'),
    ('cvt.u32.u16', 'rh'), ('cvt.s32.s16', 'rh'), ('cvt.u16.u32', 'hr'), ('cvt.s16.s32', 'hr'), ('cvt.u64.u32', 'xr'), ('cvt.s64.s32', 'xr'),
    ('cvt.u32.u64', 'rx'), ('cvt.s32.s8', 'rr'), ('cvt.u32.u8', 'rr'), ('cvt.sat.u8.s32', 'rr'), ('cvt.sat.s16.s32', 'hr'),
    ('cvt.sat.s32.s64', 'rx'), ('cvt.sat.u32.s32', 'rr'), ('cvt.s64.s8', 'xr'), ('cvt.sat.u16.s64', 'hx'), ('cvt.u64.u16', 'xh'),
    ('cvt.s16.s8', 'hh'), ('set.lt.u32.s32', 'rrr'), ('set.ge.s32.u32', 'rrr'), ('set.eq.and.u32.u32', 'rrrp'),
]
PREDICATE_OPS = [
    ('setp.%s.s32', 'prr', 'eq ne lt le gt ge'), ('setp.%s.u32', 'prr', 'eq ne lt le gt ge lo ls hi hs'),
    ('setp.%s.s64', 'pxx', 'eq ne lt le gt ge'), ('setp.%s.u64', 'pxx', 'lo hi ge'), ('setp.%s.s16', 'phh', 'lt ge'),
    ('setp.%s.u16', 'phh', 'eq ne le'), ('setp.%s.b32', 'prr', 'eq ne'),
    ('setp.%s.and.s32', 'prrp', 'lt ge eq'), ('setp.%s.or.u32', 'prrp', 'lt ne'), ('setp.%s.xor.s32', 'prrp', 'gt eq'),
    ('and.pred', 'ppp', ''), ('or.pred', 'ppp', ''), ('xor.pred', 'ppp', ''), ('not.pred', 'pp', ''),
]
FLOAT_OPS = [
    ('add{rnd}{ftz}.f32', 'fff'), ('sub{rnd}{ftz}.f32', 'fff'), ('mul{rnd}{ftz}.f32', 'fff'), ('fma{rn}{ftz}.f32', 'ffff'),
    ('add{ftz}.sat.f32', 'fff'), ('mul.sat.f32', 'fff'), ('fma{rn}.sat.f32', 'ffff'), ('mad{rn}.f32', 'ffff'),
    ('div{rn}{ftz}.f32', 'fff'), ('rcp{rn}{ftz}.f32', 'ff'), ('sqrt{rn}{ftz}.f32', 'ff'), ('min{ftz}.f32', 'fff'), ('max{ftz}.f32', 'fff'),
    ('neg{ftz}.f32', 'ff'), ('abs{ftz}.f32', 'ff'), ('mov.f32', 'ff'), ('mov.b32', 'fr'), ('mov.b32', 'rf'), ('selp.f32', 'fffp'),
    ('slct.f32.s32', 'fffr'), ('slct.s32.f32', 'rrrf'), ('set.lt.f32.f32', 'fff'), ('set.gtu.u32.f32', 'rff'),
    ('add{rnd}.f64', 'ddd'), ('sub{rnd}.f64', 'ddd'), ('mul{rnd}.f64', 'ddd'), ('fma{rn}.f64', 'dddd'), ('div{rn}.f64', 'ddd'),
    ('sqrt{rn}.f64', 'dd'), ('rcp{rn}.f64', 'dd'), ('min.f64', 'ddd'), ('max.f64', 'ddd'), ('neg.f64', 'dd'), ('abs.f64', 'dd'),
    ('mov.f64', 'dd'), ('selp.f64', 'dddp'),
    ('cvt{rn}.f32.s32', 'fr'), ('cvt{rn}.f32.u32', 'fr'), ('cvt{rn}.f32.s64', 'fx'), ('cvt{rn}.f32.u64', 'fx'), ('cvt.rn.f32.s16', 'fh'),
    ('cvt{rn}.f64.s32', 'dr'), ('cvt{rn}.f64.u64', 'dx'), ('cvt{rni}{ftz}.s32.f32', 'rf'), ('cvt{rni}.u32.f32', 'rf'),
    ('cvt{rni}.s64.f32', 'xf'), ('cvt{rni}.u64.f32', 'xf'), ('cvt{rni}.s32.f64', 'rd'), ('cvt{rni}.u32.f64', 'rd'),
    ('cvt{rni}.s64.f64', 'xd'), ('cvt{rni}.s16.f32', 'hf'),
]
FLOAT_PREDICATE_OPS = [
    ('setp.%s.f32', 'pff', 'eq ne lt le gt ge equ neu ltu leu gtu geu num nan'), ('setp.%s.ftz.f32', 'pff', 'lt ge eq'),
    ('setp.%s.f64', 'pdd', 'eq ne lt le gt ge equ neu ltu leu gtu geu num nan'), ('setp.%s.and.f32', 'pffp', 'lt geu'),
]
# what the interpreter does not know: compared with the scalar form alone
OTHER_OPS = [
    ('add.f16', 'hhh'), ('sub.f16', 'hhh'), ('mul.f16', 'hhh'), ('mul.sat.f16', 'hhh'), ('fma.rn.f16', 'hhhh'), ('fma.rn.relu.f16', 'hhhh'),
    ('min.f16', 'hhh'), ('max.NaN.f16', 'hhh'), ('neg.f16', 'hh'), ('abs.f16', 'hh'), ('add.f16x2', 'rrr'), ('mul.ftz.f16x2', 'rrr'),
    ('fma.rn.f16x2', 'rrrr'), ('min.f16x2', 'rrr'), ('max.NaN.f16x2', 'rrr'), ('fma.rn.bf16x2', 'rrrr'), ('fma.rn.relu.bf16', 'hhhh'),
    ('min.bf16x2', 'rrr'), ('neg.bf16', 'hh'), ('abs.bf16x2', 'rr'), ('cvt.rn.f16.f32', 'hf'), ('cvt.rz.f16.f32', 'hf'), ('cvt.f32.f16', 'fh'),
    ('cvt.rn.bf16.f32', 'hf'), ('cvt.f32.bf16', 'fh'), ('cvt.rn.f16x2.f32', 'rff'), ('cvt.rz.relu.bf16x2.f32', 'rff'), ('cvt{rni}.s32.f16', 'rh'),
    ('cvt{rni}.u64.f16', 'xh'), ('cvt.rn.f16.s32', 'hr'), ('cvt.f64.f16', 'dh'), ('cvt.rn.f16.u64', 'hx'), ('cvt.rna.tf32.f32', 'rf'),
    ('sin.approx{ftz}.f32', 'ff'), ('cos.approx.f32', 'ff'), ('ex2.approx{ftz}.f32', 'ff'), ('lg2.approx.f32', 'ff'), ('rsqrt.approx{ftz}.f32', 'ff'),
    ('rcp.approx.f32', 'ff'), ('sqrt.approx{ftz}.f32', 'ff'), ('div.full.f32', 'fff'), ('div.approx.f32', 'fff'), ('tanh.approx.f32', 'ff'),
    ('tanh.approx.f16', 'hh'), ('ex2.approx.f16x2', 'rr'), ('rsqrt.approx.f64', 'dd'), ('cvt{rni}.f32.f32', 'ff'), ('cvt.sat.f32.f32', 'ff'),
    ('cvt{rni}.f64.f64', 'dd'), ('copysign.f32', 'fff'), ('testp.normal.f32', 'pf'), ('testp.subnormal.f64', 'pd'),
    ('dp4a.u32.s32', 'rrrr'), ('dp4a.s32.s32', 'rrrr'), ('dp2a.lo.s32.u32', 'rrrr'), ('dp2a.hi.u32.u32', 'rrrr'), ('bmsk.clamp.b32', 'rrr'),
    ('szext.wrap.s32', 'rrr'), ('fns.b32', 'rrrr'), ('mul24.lo.s32', 'rrr'), ('mul24.hi.u32', 'rrr'), ('mad24.lo.u32', 'rrrr'),
    ('mad.hi.sat.s32', 'rrrr'), ('mad.lo.cc.u32', 'rrrr'), ('madc.hi.u32', 'rrrr'), ('prmt.b32.f4e', 'rrrr'), ('prmt.b32.ecr', 'rrrr'),
    ('setp.lt.f16', 'phh'), ('setp.neu.f16', 'phh'), ('setp.lt.f16x2', 'prr'), ('set.gt.f16x2.f16x2', 'rrr'), ('set.le.u32.f16x2', 'rrr'),
    ('cvt.pack.sat.s16.s32', 'rrr'), ('cvt.pack.sat.u8.s32.b32', 'rrrr'), ('vadd.s32.s32.u32', 'rrr'), ('vabsdiff4.u32.u32.u32.add', 'rrrr'),
    ('min.s16', 'hhh'),
]
