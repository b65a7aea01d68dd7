/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line for each instruction that computes: its name, and its result as an expression of the
 * sources a, b and c. Registers have 64 bits; the upper bits of narrower values are zeros.
 */
#include <math.h>
#include <string.h>

#include "ptx_program.h"

#define TO      t->r[i->to[0]]
#define FROM(n) t->r[i->from[n]]

/* ---- values ---------------------------------------------------------------------------------- */

static float f32_of(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;

    memcpy(&value, &low, sizeof(value));
    return value;
}

static uint64_t bits_of_f32(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double f64_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint64_t bits_of_f64(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Rounds to a type with `digits` bits of significand and smallest exponent `least`, whose values
 * from 2^over on are infinite; by the definition of rounding to nearest even, in double, which is
 * exact. */
static double rounded(double value, int digits, int least, int over)
{
    int exponent;
    double unit;

    if (value == 0 || !isfinite(value)) {
        return value;
    }
    frexp(value, &exponent); /* value is below 2^exponent */
    unit = ldexp(1, (exponent > least ? exponent : least) - digits);
    value = nearbyint(value / unit) * unit;
    return fabs(value) >= ldexp(1, over) ? copysign(INFINITY, value) : value;
}

/* The bits of a rounded value: `digits` of significand, an exponent of `width` bits. */
static uint32_t encoded(double value, int digits, int width)
{
    const int bias = (1 << (width - 1)) - 1;
    const uint32_t sign = (uint32_t)(signbit(value) != 0) << (width + digits - 1);
    const uint32_t infinity = ((1U << width) - 1) << (digits - 1);
    int exponent;
    double fraction;

    if (isnan(value)) {
        return 0x7FFF; /* the only NaN that conversions give */
    }
    value = fabs(value);
    if (isinf(value)) {
        return sign | infinity;
    }
    fraction = frexp(value, &exponent);
    if (value == 0 || exponent - 1 + bias <= 0) { /* subnormal */
        return sign | (uint32_t)ldexp(value, bias - 2 + digits);
    }
    return sign | (((uint32_t)(exponent - 1 + bias) << (digits - 1)) +
                   (uint32_t)ldexp(fraction * 2 - 1, digits - 1));
}

static uint32_t f16_of(float value)
{
    return encoded(rounded((double)value, 11, -13, 16), 11, 5);
}

static uint32_t bf16_of(float value)
{
    return encoded(rounded((double)value, 8, -125, 128), 8, 8);
}

static float f32_of_f16(uint32_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const double fraction = (double)(bits & 1023);
    double value = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);

    if (exponent == 31) {
        value = fraction == 0 ? INFINITY : NAN;
    }
    return (float)((bits & 0x8000) != 0 ? -value : value);
}

/* Rounds towards zero. */
static float truncated(double value)
{
    const float nearest = (float)value;

    return fabs((double)nearest) > fabs(value) ? nextafterf(nearest, 0) : nearest;
}

static float rounded_down(double value)
{
    const float nearest = (float)value;

    return (double)nearest > value ? nextafterf(nearest, -INFINITY) : nearest;
}

/* Conversions to integers saturate, and give 0 for a NaN. */
static uint32_t s32_of(float value)
{
    const double whole = trunc((double)value);

    if (isnan(value)) {
        return 0;
    }
    return (uint32_t)(whole < INT32_MIN   ? INT32_MIN
                      : whole > INT32_MAX ? INT32_MAX
                                          : (int32_t)whole);
}

static uint32_t u32_of(float value)
{
    const double whole = trunc((double)value);

    return !(whole > 0) ? 0 : whole > UINT32_MAX ? UINT32_MAX : (uint32_t)whole;
}

/* A NaN gives the other value; -0 is below +0. */
static float least_of(float a, float b)
{
    return a == b ? (signbit(a) ? a : b) : fminf(a, b);
}

static float greatest_of(float a, float b)
{
    return a == b ? (signbit(a) ? b : a) : fmaxf(a, b);
}

static uint32_t permuted(uint32_t a, uint32_t b, uint32_t selectors)
{
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t result = 0;

    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t selector = selectors >> 4 * k & 15;
        const uint32_t byte = (uint32_t)(both >> 8 * (selector & 7)) & 0xFF;
        const uint32_t sign = (byte & 0x80) != 0 ? 0xFF : 0;

        result |= ((selector & 8) != 0 ? sign : byte) << 8 * k;
    }
    return result;
}

static uint32_t field(uint32_t value, uint32_t position, uint32_t length)
{
    position &= 255;
    length &= 255;
    value = position > 31 ? 0 : value >> position;
    return length > 31 ? value : value & ((1U << length) - 1);
}

static uint64_t high_product(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a;
    const uint64_t a1 = a >> 32;
    const uint64_t b0 = (uint32_t)b;
    const uint64_t b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);

    return a1 * b1 + (middle >> 32) + (((uint32_t)middle + a0 * b1) >> 32);
}

static uint32_t one_bits(uint32_t value)
{
    uint32_t count = 0;

    for (; value != 0; value &= value - 1) {
        count++;
    }
    return count;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* clang-format off: takes products for pointers */

/* X(name, identifier, type of the sources, type of the result, result) */
#define INTEGERS(X)                                                                                \
    X("add.s16", add_s16, uint16_t, uint16_t, a + b)                                               \
    X("add.s32", add_s32, uint32_t, uint32_t, a + b)                                               \
    X("add.s64", add_s64, uint64_t, uint64_t, a + b)                                               \
    X("sub.s32", sub_s32, uint32_t, uint32_t, a - b)                                               \
    X("sub.s64", sub_s64, uint64_t, uint64_t, a - b)                                               \
    X("mul.lo.s32", mul_s32, uint32_t, uint32_t, a *b)                                             \
    X("mul.lo.s64", mul_s64, uint64_t, uint64_t, a *b)                                             \
    X("mul.wide.u32", mul_wide, uint32_t, uint64_t, (uint64_t)a *b)                                \
    X("mul.hi.u32", mul_hi_u32, uint32_t, uint32_t, (uint64_t)a *b >> 32)                          \
    X("mul.hi.u64", mul_hi_u64, uint64_t, uint64_t, high_product(a, b))                            \
    X("mad.lo.s32", mad_s32, uint32_t, uint32_t, a *b + c)                                         \
    X("mad.lo.s64", mad_s64, uint64_t, uint64_t, a *b + c)                                         \
    X("div.u32", div_u32, uint32_t, uint32_t, b == 0 ? UINT32_MAX : a / b)                         \
    X("div.u64", div_u64, uint64_t, uint64_t, b == 0 ? UINT64_MAX : a / b)                         \
    X("rem.u32", rem_u32, uint32_t, uint32_t, b == 0 ? a : a % b)                                  \
    X("rem.u64", rem_u64, uint64_t, uint64_t, b == 0 ? a : a % b)                                  \
    X("neg.s32", neg_s32, uint32_t, uint32_t, 0 - a)                                               \
    X("min.u32", min_u32, uint32_t, uint32_t, a < b ? a : b)                                       \
    X("max.u32", max_u32, uint32_t, uint32_t, a > b ? a : b)                                       \
    X("and.pred", and_pred, uint64_t, uint64_t, a &b)                                              \
    X("and.b16", and_b16, uint16_t, uint16_t, a &b)                                                \
    X("and.b32", and_b32, uint32_t, uint32_t, a &b)                                                \
    X("and.b64", and_b64, uint64_t, uint64_t, a &b)                                                \
    X("or.pred", or_pred, uint64_t, uint64_t, a | b)                                               \
    X("or.b16", or_b16, uint16_t, uint16_t, a | b)                                                 \
    X("or.b32", or_b32, uint32_t, uint32_t, a | b)                                                 \
    X("or.b64", or_b64, uint64_t, uint64_t, a | b)                                                 \
    X("xor.pred", xor_pred, uint64_t, uint64_t, a ^ b)                                             \
    X("xor.b16", xor_b16, uint16_t, uint16_t, a ^ b)                                               \
    X("xor.b32", xor_b32, uint32_t, uint32_t, a ^ b)                                               \
    X("xor.b64", xor_b64, uint64_t, uint64_t, a ^ b)                                               \
    X("not.pred", not_pred, uint64_t, uint64_t, a == 0)                                            \
    X("not.b16", not_b16, uint16_t, uint16_t, ~(unsigned)a)                                        \
    X("not.b32", not_b32, uint32_t, uint32_t, ~a)                                                  \
    X("not.b64", not_b64, uint64_t, uint64_t, ~a)                                                  \
    X("shl.b32", shl_b32, uint64_t, uint32_t, (uint32_t)b > 31 ? 0 : a << (uint32_t)b)             \
    X("shl.b64", shl_b64, uint64_t, uint64_t, (uint32_t)b > 63 ? 0 : a << (uint32_t)b)             \
    X("shr.u16", shr_u16, uint32_t, uint16_t, b > 15 ? 0 : (uint16_t)a >> b)                       \
    X("shr.u32", shr_u32, uint32_t, uint32_t, b > 31 ? 0 : a >> b)                                 \
    X("shr.u64", shr_u64, uint64_t, uint64_t, (uint32_t)b > 63 ? 0 : a >> (uint32_t)b)             \
    X("shf.r.wrap.b32", shf_r, uint64_t, uint32_t, ((b << 32) | (uint32_t)a) >> (c & 31))          \
    X("prmt.b32", prmt, uint32_t, uint32_t, permuted(a, b, c))                                     \
    X("bfe.u32", bfe, uint32_t, uint32_t, field(a, b, c))                                          \
    X("popc.b32", popc, uint32_t, uint32_t, one_bits(a))                                           \
    X("selp.u16", selp_u16, uint64_t, uint16_t, c != 0 ? a : b)                                    \
    X("selp.b16", selp_b16, uint64_t, uint16_t, c != 0 ? a : b)                                    \
    X("selp.b32", selp_b32, uint64_t, uint32_t, c != 0 ? a : b)                                    \
    X("selp.s32", selp_s32, uint64_t, uint32_t, c != 0 ? a : b)                                    \
    X("selp.u32", selp_u32, uint64_t, uint32_t, c != 0 ? a : b)                                    \
    X("selp.f32", selp_f32, uint64_t, uint32_t, c != 0 ? a : b)                                    \
    X("selp.b64", selp_b64, uint64_t, uint64_t, c != 0 ? a : b)                                    \
    X("mov.pred", mov_pred, uint64_t, uint64_t, a != 0)                                            \
    X("mov.b16", mov_b16, uint64_t, uint16_t, a)                                                   \
    X("mov.u16", mov_u16, uint64_t, uint16_t, a)                                                   \
    X("mov.b32", mov_b32, uint64_t, uint32_t, a)                                                   \
    X("mov.u32", mov_u32, uint64_t, uint32_t, a)                                                   \
    X("mov.f32", mov_f32, uint64_t, uint32_t, a)                                                   \
    X("mov.b64", mov_b64, uint64_t, uint64_t, a)                                                   \
    X("mov.u64", mov_u64, uint64_t, uint64_t, a)                                                   \
    X("mov.f64", mov_f64, uint64_t, uint64_t, a)                                                   \
    X("cvta.to.global.u64", cvta_to, uint64_t, uint64_t, a)                                        \
    X("cvt.u16.u32", cvt_u16, uint64_t, uint16_t, a)                                               \
    X("cvt.u32.u16", cvt_u32_u16, uint16_t, uint32_t, a)                                           \
    X("cvt.u32.u64", cvt_u32_u64, uint64_t, uint32_t, a)                                           \
    X("cvt.u64.u32", cvt_u64_u32, uint32_t, uint64_t, a)                                           \
    X("cvt.rzi.s32.f32", cvt_s32_f32, uint64_t, uint32_t, s32_of(f32_of(a)))                       \
    X("cvt.rzi.u32.f32", cvt_u32_f32, uint64_t, uint32_t, u32_of(f32_of(a)))                       \
    X("cvt.rn.f16.f32", cvt_f16, uint64_t, uint16_t, f16_of(f32_of(a)))                            \
    X("cvt.rn.f16x2.f32", cvt_f16x2, uint64_t, uint32_t,                                           \
      f16_of(f32_of(a)) << 16 | f16_of(f32_of(b)))                                                 \
    X("cvt.rn.bf16x2.f32", cvt_bf16x2, uint64_t, uint32_t,                                         \
      bf16_of(f32_of(a)) << 16 | bf16_of(f32_of(b)))

/* X(name, identifier, result as a float); sources a, b, c are floats */
#define SINGLES(X)                                                                                 \
    X("add.rn.f32", add_f32, a + b)                                                                \
    X("add.rz.f32", add_rz_f32, truncated((double)a + (double)b))                                  \
    X("add.rm.f32", add_rm_f32, rounded_down((double)a + (double)b))                               \
    X("sub.rn.f32", sub_f32, a - b)                                                                \
    X("mul.rn.f32", mul_f32, a *b)                                                                 \
    X("div.rn.f32", div_f32, a / b)                                                                \
    X("fma.rn.f32", fma_f32, fmaf(a, b, c))                                                        \
    X("min.f32", min_f32, least_of(a, b))                                                          \
    X("max.f32", max_f32, greatest_of(a, b))                                                       \
    X("abs.f32", abs_f32, fabsf(a))                                                                \
    X("neg.f32", neg_f32, -a)

/* X(name, identifier, type of the source, result as a float) */
#define TO_SINGLES(X)                                                                              \
    X("cvt.rn.f32.s32", cvt_f32_s32, uint32_t, (float)(int32_t)a)                                  \
    X("cvt.rn.f32.u32", cvt_f32_u32, uint32_t, (float)a)                                           \
    X("cvt.rn.f32.u16", cvt_f32_u16, uint16_t, (float)a)                                           \
    X("cvt.rn.f32.f64", cvt_f32_f64, uint64_t, (float)f64_of(a))                                   \
    X("cvt.f32.f16", cvt_f32_f16, uint16_t, f32_of_f16(a))

/* X(name, identifier, result as a double); sources a, b are the registers */
#define DOUBLES(X)                                                                                 \
    X("add.rn.f64", add_f64, f64_of(a) + f64_of(b))                                                \
    X("sub.rn.f64", sub_f64, f64_of(a) - f64_of(b))                                                \
    X("mul.rn.f64", mul_f64, f64_of(a) * f64_of(b))                                                \
    X("cvt.rn.f64.u32", cvt_f64_u32, (double)(uint32_t)a)                                          \
    X("cvt.f64.f32", cvt_f64_f32, (double)f32_of(a))

/* X(name, identifier, type, condition) */
#define COMPARISONS(X)                                                                             \
    X("setp.eq.b16", eq_b16, uint16_t, a == b)                                                     \
    X("setp.eq.s16", eq_s16, uint16_t, a == b)                                                     \
    X("setp.ne.s16", ne_s16, uint16_t, a != b)                                                     \
    X("setp.eq.b32", eq_b32, uint32_t, a == b)                                                     \
    X("setp.eq.s32", eq_s32, uint32_t, a == b)                                                     \
    X("setp.ne.s32", ne_s32, uint32_t, a != b)                                                     \
    X("setp.lt.s32", lt_s32, uint32_t, (int32_t)a < (int32_t)b)                                    \
    X("setp.gt.s32", gt_s32, uint32_t, (int32_t)a > (int32_t)b)                                    \
    X("setp.lt.u32", lt_u32, uint32_t, a < b)                                                      \
    X("setp.le.u32", le_u32, uint32_t, a <= b)                                                     \
    X("setp.gt.u32", gt_u32, uint32_t, a > b)                                                      \
    X("setp.ge.u32", ge_u32, uint32_t, a >= b)                                                     \
    X("setp.eq.s64", eq_s64, uint64_t, a == b)                                                     \
    X("setp.ne.s64", ne_s64, uint64_t, a != b)                                                     \
    X("setp.lt.s64", lt_s64, uint64_t, (int64_t)a < (int64_t)b)                                    \
    X("setp.gt.s64", gt_s64, uint64_t, (int64_t)a > (int64_t)b)                                    \
    X("setp.lt.u64", lt_u64, uint64_t, a < b)                                                      \
    X("setp.le.u64", le_u64, uint64_t, a <= b)                                                     \
    X("setp.gt.u64", gt_u64, uint64_t, a > b)                                                      \
    X("setp.ge.u64", ge_u64, uint64_t, a >= b)                                                     \
    X("setp.eq.f32", eq_f32, uint64_t, f32_of(a) == f32_of(b))                                     \
    X("setp.lt.f32", lt_f32, uint64_t, f32_of(a) < f32_of(b))                                      \
    X("setp.le.f32", le_f32, uint64_t, f32_of(a) <= f32_of(b))                                     \
    X("setp.gt.f32", gt_f32, uint64_t, f32_of(a) > f32_of(b))                                      \
    X("setp.ge.f32", ge_f32, uint64_t, f32_of(a) >= f32_of(b))                                     \
    X("setp.neu.f32", neu_f32, uint64_t, f32_of(a) != f32_of(b))                                   \
    X("setp.equ.f32", equ_f32, uint64_t, !(f32_of(a) < f32_of(b) || f32_of(a) > f32_of(b)))        \
    X("setp.ne.f32", ne_f32, uint64_t, f32_of(a) < f32_of(b) || f32_of(a) > f32_of(b))             \
    X("setp.ltu.f32", ltu_f32, uint64_t, !(f32_of(a) >= f32_of(b)))                                \
    X("setp.leu.f32", leu_f32, uint64_t, !(f32_of(a) > f32_of(b)))                                 \
    X("setp.gtu.f32", gtu_f32, uint64_t, !(f32_of(a) <= f32_of(b)))                                \
    X("setp.geu.f32", geu_f32, uint64_t, !(f32_of(a) < f32_of(b)))                                 \
    X("setp.num.f32", num_f32, uint64_t, !isnan(f32_of(a)) && !isnan(f32_of(b)))                   \
    X("setp.nan.f32", nan_f32, uint64_t, isnan(f32_of(a)) || isnan(f32_of(b)))                     \
    X("setp.neu.f64", neu_f64, uint64_t, f64_of(a) != f64_of(b))

/* clang-format on */

#define SOURCES(read, type)                                                                        \
    const type a = (type)read(FROM(0));                                                            \
    const type b = (type)read(FROM(1));                                                            \
    const type c = (type)read(FROM(2));                                                            \
    (void)a;                                                                                       \
    (void)b;                                                                                       \
    (void)c

#define INTEGER_FUNCTION(name, id, type, result, expression)                                       \
    static void do_##id(ptx_thread *t, const ptx_insn *i)                                          \
    {                                                                                              \
        SOURCES(, type);                                                                           \
        TO = (result)(expression);                                                                 \
    }
#define SINGLE_FUNCTION(name, id, expression)                                                      \
    static void do_##id(ptx_thread *t, const ptx_insn *i)                                          \
    {                                                                                              \
        SOURCES(f32_of, float);                                                                    \
        TO = bits_of_f32(expression);                                                              \
    }
#define TO_SINGLE_FUNCTION(name, id, type, expression)                                             \
    static void do_##id(ptx_thread *t, const ptx_insn *i)                                          \
    {                                                                                              \
        const type a = (type)FROM(0);                                                              \
        TO = bits_of_f32(expression);                                                              \
    }
#define DOUBLE_FUNCTION(name, id, expression)                                                      \
    static void do_##id(ptx_thread *t, const ptx_insn *i)                                          \
    {                                                                                              \
        SOURCES(, uint64_t);                                                                       \
        TO = bits_of_f64(expression);                                                              \
    }
#define COMPARISON_FUNCTION(name, id, type, condition)                                             \
    static void do_##id(ptx_thread *t, const ptx_insn *i)                                          \
    {                                                                                              \
        SOURCES(, type);                                                                           \
        TO = (condition) ? 1 : 0;                                                                  \
    }

INTEGERS(INTEGER_FUNCTION)
SINGLES(SINGLE_FUNCTION)
TO_SINGLES(TO_SINGLE_FUNCTION)
DOUBLES(DOUBLE_FUNCTION)
COMPARISONS(COMPARISON_FUNCTION)

/* ---- control --------------------------------------------------------------------------------- */

static void do_branch(ptx_thread *t, const ptx_insn *i)
{
    t->pc = i->target;
}

static void do_return(ptx_thread *t, const ptx_insn *i)
{
    (void)i;
    t->state = PTX_ENDED;
}

static void do_barrier(ptx_thread *t, const ptx_insn *i)
{
    (void)i;
    t->state = PTX_AT_BARRIER;
}

/* Threads of a warp run one after another here, and order their accesses at bar.sync. */
static void do_warp_barrier(ptx_thread *t, const ptx_insn *i)
{
    (void)t;
    (void)i;
}

static void do_shuffle(ptx_thread *t, const ptx_insn *i)
{
    t->shuffle = i;
    t->state = PTX_AT_SHUFFLE;
}

static void do_sleep(ptx_thread *t, const ptx_insn *i)
{
    t->launch->host->pause((uint32_t)FROM(0));
}

static void do_clock(ptx_thread *t, const ptx_insn *i)
{
    TO = t->launch->host->now_ns();
}

static void do_call(ptx_thread *t, const ptx_insn *i)
{
    t->launch->host->set_conditional(FROM(0), (uint32_t)FROM(1));
}

/* `offset` is the number of bits of a half. */
void ptx_pack(ptx_thread *t, const ptx_insn *i)
{
    const uint64_t half = (UINT64_C(1) << i->offset) - 1;

    TO = (FROM(0) & half) | (FROM(1) & half) << i->offset;
}

void ptx_unpack(ptx_thread *t, const ptx_insn *i)
{
    const uint64_t value = FROM(0);

    t->r[i->to[0]] = value & ((UINT64_C(1) << i->offset) - 1);
    t->r[i->to[1]] = value >> i->offset;
}

typedef struct operation {
    const char *name;
    ptx_function *run;
} operation;

/* clang-format off */
#define ENTRY(name, id, ...) {name, do_##id},
static const operation operations[] = {
    INTEGERS(ENTRY)
    SINGLES(ENTRY)
    TO_SINGLES(ENTRY)
    DOUBLES(ENTRY)
    COMPARISONS(ENTRY)
    {"bra", do_branch},
    {"bra.uni", do_branch},
    {"ret", do_return},
    {"bar.sync", do_barrier},
    {"bar.warp.sync", do_warp_barrier},
    {"shfl.sync.down.b32", do_shuffle},
    {"nanosleep.u32", do_sleep},
    {"mov.u64 %globaltimer", do_clock},
    {"call.uni cudaGraphSetConditional", do_call},
};
/* clang-format on */

ptx_function *ptx_operation(const char *mnemonic)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (strcmp(operations[i].name, mnemonic) == 0) {
            return operations[i].run;
        }
    }
    return NULL;
}
