/* SPDX-License-Identifier: Apache-2.0 */
/* The 16-bit floats against double arithmetic, and against the processor's own instructions. */
#include <math.h>

#include "cpu_int.h"
#include "float16_int.h"
#include "testing.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* An odd stride through all 2^32 patterns: every exponent, about three million values. */
enum { STRIDE = 1399 };

/* The format: bits of mantissa, least exponent of a normal number. */
typedef struct float_format {
    int mantissa_bits;
    int min_exponent;
} float_format;

static const float_format binary16 = {10, -14};
static const float_format bfloat16 = {7, -126};

/* What value is in the format, NaN excepted: doubles hold every step of it exactly. */
static uint16_t reference(const float_format *format, float value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double magnitude = fabs((double)value);
    const uint32_t infinity = 0x8000U - (1U << format->mantissa_bits);
    int exponent = format->min_exponent;
    uint32_t bits;

    if (isinf(value)) {
        return (uint16_t)(sign | infinity);
    }
    if (magnitude > 0 && ilogb(magnitude) > exponent) {
        exponent = ilogb(magnitude);
    }
    /* nearbyint() rounds to the nearest, ties to even; a carry into the exponent is right. */
    bits = (uint32_t)nearbyint(ldexp(magnitude, format->mantissa_bits - exponent)) +
           ((uint32_t)(exponent - format->min_exponent) << format->mantissa_bits);
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

static uint16_t reference_nan(const float_format *format, uint32_t bits)
{
    const int dropped = 23 - format->mantissa_bits;
    const uint32_t exponent = 0x8000U - (1U << format->mantissa_bits);

    return (uint16_t)((bits >> 16 & 0x8000) | exponent | 1U << (format->mantissa_bits - 1) |
                      (bits & 0x7FFFFF) >> dropped);
}

static uint16_t expected(const float_format *format, uint32_t bits)
{
    const float value = sli_f32_of_bits(bits);

    return isnan(value) ? reference_nan(format, bits) : reference(format, value);
}

/* Every pattern of the stride, and every half-way point with its two neighbours. */
static void check_rounding(const float_format *format, uint16_t (*convert)(float))
{
    const int dropped = 23 - format->mantissa_bits;

    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += STRIDE) {
        if (convert(sli_f32_of_bits((uint32_t)bits)) != expected(format, (uint32_t)bits)) {
            T_FAIL_("%08x gives %04x, want %04x", (unsigned)bits,
                    convert(sli_f32_of_bits((uint32_t)bits)), expected(format, (uint32_t)bits));
        }
    }
    for (uint32_t high = 0; high < UINT32_C(1) << (32 - dropped); high++) {
        for (uint32_t low = 0; low < 3; low++) {
            uint32_t bits = (high << dropped) + (UINT32_C(1) << (dropped - 1)) - 1 + low;

            if (convert(sli_f32_of_bits(bits)) != expected(format, bits)) {
                T_FAIL_("%08x gives %04x, want %04x", bits, convert(sli_f32_of_bits(bits)),
                        expected(format, bits));
            }
        }
    }
}

static void every_binary16_has_the_value_of_the_standard(void)
{
    for (uint32_t h = 0; h < 65536; h++) {
        const float got = sli_f32_of_f16((uint16_t)h);
        const int exponent = (int)(h >> 10 & 31);
        const double mantissa = (double)(h & 1023);
        const double magnitude =
            exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);

        T_EQ(signbit(got) != 0, h >> 15);
        if (exponent == 31) {
            T_TRUE((h & 1023) != 0 ? isnan(got) : isinf(got));
        } else if (fabs((double)got) != magnitude) {
            T_FAIL_("%04x is %.9g, want %.9g", h, (double)got, magnitude);
        }
    }
}

/* A signalling NaN comes back as the quiet one of the same sign and payload. */
static void every_16_bit_float_survives_the_round_trip(void)
{
    for (uint32_t h = 0; h < 65536; h++) {
        const bool nan16 = (h & 0x7FFF) > 0x7C00;
        const bool nan_b = (h & 0x7FFF) > 0x7F80;

        T_EQ(sli_f16_of_f32(sli_f32_of_f16((uint16_t)h)), nan16 ? h | 0x200 : h);
        T_EQ(sli_bf16_of_f32(sli_f32_of_bf16((uint16_t)h)), nan_b ? h | 0x40 : h);
    }
}

static void binary16_is_rounded_to_nearest_even(void)
{
    check_rounding(&binary16, sli_f16_of_f32);
}

static void bfloat16_is_rounded_to_nearest_even(void)
{
    check_rounding(&bfloat16, sli_bf16_of_f32);
}

/* The values at which something changes, by hand. */
static void the_edges_of_binary16_are_where_the_standard_puts_them(void)
{
    T_EQ(sli_f16_of_f32(65504.0F), 0x7BFF);
    T_EQ(sli_f16_of_f32(0x1.ffdffep15F), 0x7BFF); /* just below half-way to 65536 */
    T_EQ(sli_f16_of_f32(65520.0F), 0x7C00);
    T_EQ(sli_f16_of_f32(-INFINITY), 0xFC00);
    T_EQ(sli_f16_of_f32(0x1p-14F), 0x0400);
    T_EQ(sli_f16_of_f32(0x1.ff8p-15F), 0x03FF);
    T_EQ(sli_f16_of_f32(0x1.ffcp-15F), 0x0400); /* the carry makes it normal */
    T_EQ(sli_f16_of_f32(0x1p-24F), 0x0001);
    T_EQ(sli_f16_of_f32(0x1p-25F), 0x0000); /* a tie, and 0 is even */
    T_EQ(sli_f16_of_f32(0x1.000002p-25F), 0x0001);
    T_EQ(sli_f16_of_f32(-0.0F), 0x8000);
    T_EQ(sli_bf16_of_f32(0x1.fefffep127F), 0x7F7F);
    T_EQ(sli_bf16_of_f32(0x1.fffffep127F), 0x7F80);
    T_EQ(sli_bf16_of_f32(0x1p-149F), 0x0000);
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) static uint16_t hardware_f16(float value)
{
    return (uint16_t)_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT),
                                       0);
}

__attribute__((target("avx,f16c"))) static uint32_t hardware_f32_bits(uint16_t value)
{
    return (uint32_t)_mm_cvtsi128_si32(_mm_castps_si128(_mm_cvtph_ps(_mm_cvtsi32_si128(value))));
}
#endif

static void the_processor_converts_to_the_same_bits(void)
{
#if defined(__x86_64__)
    T_NEEDS(sli_cpu_best() >= SLI_CPU_V3, "the processor has no F16C");
    for (uint32_t h = 0; h < 65536; h++) {
        T_EQ(sli_f32_bits(sli_f32_of_f16((uint16_t)h)), hardware_f32_bits((uint16_t)h));
    }
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += STRIDE) {
        const float value = sli_f32_of_bits((uint32_t)bits);

        if (sli_f16_of_f32(value) != hardware_f16(value)) {
            T_FAIL_("%08x gives %04x, the processor says %04x", (unsigned)bits,
                    sli_f16_of_f32(value), hardware_f16(value));
        }
    }
#else
    T_SKIP("no F16C on this kind of processor");
#endif
}

const t_test float16_tests[] = {
    T_TEST(every_binary16_has_the_value_of_the_standard),
    T_TEST(every_16_bit_float_survives_the_round_trip),
    T_TEST(binary16_is_rounded_to_nearest_even),
    T_TEST(bfloat16_is_rounded_to_nearest_even),
    T_TEST(the_edges_of_binary16_are_where_the_standard_puts_them),
    T_TEST(the_processor_converts_to_the_same_bits),
    T_END,
};
