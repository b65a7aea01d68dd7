/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conversion program against the formula of conversion_int.h, value by value. Sources and
 * destinations lie against pages that nobody may touch, so a byte read or written outside ends the
 * run. ctest runs this suite once for each level of instructions (SLUICE_CPU).
 */
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conversion_int.h"
#include "conversion_kernels.h"
#include "cpu_int.h"
#include "float16_int.h"
#include "layout_int.h"
#include "testing.h"

/* Room of a guarded block: larger than any image here but the one with a line of its own. */
enum { ROOM = 128 * 1024, CANARY = 64 };

/* ROOM bytes between two pages without access. */
typedef struct guarded {
    uint8_t *map;
    uint8_t *begin;
    uint8_t *end;
} guarded;

static void guard(guarded *block)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    block->map =
        mmap(NULL, ROOM + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    T_TRUE(block->map != MAP_FAILED);
    block->begin = block->map + page;
    block->end = block->begin + ROOM;
    T_EQ(mprotect(block->map, page, PROT_NONE), 0);
    T_EQ(mprotect(block->end, page, PROT_NONE), 0);
}

static void unguard(guarded *block)
{
    munmap(block->map, ROOM + 2 * (size_t)sysconf(_SC_PAGESIZE));
}

/* Every byte value comes up, and neighbours differ. */
static void fill_bytes(uint8_t *data, size_t bytes)
{
    uint32_t state = 12345;

    for (size_t i = 0; i < bytes; i++) {
        state = state * 1664525 + 1013904223;
        data[i] = (uint8_t)(state >> 24);
    }
}

/* Finite values of every size, some too large for binary16 and some below its smallest. */
static void fill_floats(const sli_conversion *c, void *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float value = ldexpf((float)((int)(i * 7919 % 2001) - 1000), (int)(i % 37) - 24);

        if (c->from == SLUICE_F32) {
            ((float *)data)[i] = value;
        } else {
            ((uint16_t *)data)[i] =
                c->from == SLUICE_F16 ? sli_f16_of_f32(value) : sli_bf16_of_f32(value);
        }
    }
}

static float value_at(const sli_conversion *c, const void *in, size_t i)
{
    switch (c->from) {
    case SLUICE_U8:
        return ((const uint8_t *)in)[i];
    case SLUICE_F16:
        return sli_f32_of_f16(((const uint16_t *)in)[i]);
    case SLUICE_BF16:
        return sli_f32_of_bf16(((const uint16_t *)in)[i]);
    default:
        return ((const float *)in)[i];
    }
}

static size_t index_at(const sli_conversion *c, bool chw, size_t y, size_t x, size_t channel)
{
    return chw ? (channel * c->height + y) * c->width + x
               : (y * c->width + x) * c->channels + channel;
}

/* out = round(fmaf((float)in, scale[channel], bias[channel])), flipped and laid out as asked. */
static void reference(const sli_conversion *c, const void *in, void *out, uint8_t flags)
{
    const bool flipped = c->flip && (flags & SLI_ROW_FLIP) != 0;

    for (size_t y = 0; y < c->height; y++) {
        for (size_t x = 0; x < c->width; x++) {
            for (size_t ch = 0; ch < c->channels; ch++) {
                const size_t from_y = (flags & SLI_ROW_FLIP_LINES) != 0 ? c->height - 1 - y : y;
                const size_t from =
                    index_at(c, c->from_chw, from_y, flipped ? c->width - 1 - x : x, ch);
                const size_t to = index_at(c, c->to_chw, y, x, ch);
                const float value = value_at(c, in, from);
                const float result = c->affine ? fmaf(value, c->scale[ch], c->bias[ch]) : value;

                if (c->to == SLUICE_U8) {
                    ((uint8_t *)out)[to] = (uint8_t)value;
                } else if (c->to == SLUICE_F32) {
                    ((float *)out)[to] = result;
                } else {
                    ((uint16_t *)out)[to] =
                        c->to == SLUICE_F16 ? sli_f16_of_f32(result) : sli_bf16_of_f32(result);
                }
            }
        }
    }
}

/* A program of this shape; the normalisation is one with awkward numbers. */
static sli_conversion program(sluice_dtype from, sluice_dtype to, uint32_t channels, uint32_t width)
{
    sli_conversion c = {.height = 2, .width = width, .channels = channels, .from = from, .to = to};

    for (uint32_t i = 0; i < channels; i++) {
        c.scale[i] = 1.0F / (57.3F + (float)i);
        c.bias[i] = -1.7F - 0.3F * (float)i;
    }
    return c;
}

static size_t in_bytes(const sli_conversion *c)
{
    return (size_t)c->height * c->width * c->channels * sluice_dtype_size(c->from);
}

static void describe(const sli_conversion *c, uint8_t flags, const char *what, char text[200])
{
    snprintf(text, 200, "%s: %s %s to %s %s, %u channels, width %u%s%s%s", what,
             sluice_dtype_name(c->from), c->from_chw ? "CHW" : "HWC", sluice_dtype_name(c->to),
             c->to_chw ? "CHW" : "HWC", c->channels, c->width, c->affine ? ", affine" : "",
             c->flip ? ", may flip" : "", (flags & SLI_ROW_FLIP) != 0 ? ", flipped" : "");
}

/* Are the bytes those wanted, and the ones before and after them untouched? */
static void check_bytes(const sli_conversion *c, uint8_t flags, const char *what, const guarded *to,
                        const uint8_t *out, const uint8_t *want)
{
    const size_t bytes = sli_conversion_out_bytes(c);
    char text[200];

    describe(c, flags, what, text);
    for (size_t i = 0; i < bytes; i++) {
        if (out[i] != want[i]) {
            T_FAIL_("%s: byte %zu is %02x, want %02x", text, i, out[i], want[i]);
        }
    }
    for (size_t i = 1; i <= CANARY; i++) {
        if ((out - i >= to->begin && out[-(ptrdiff_t)i] != 0xEE) ||
            (out + bytes + i <= to->end && out[bytes + i - 1] != 0xEE)) {
            T_FAIL_("%s: wrote outside the image", text);
        }
    }
}

/* Converts with source and destination against the guards, once at each side. */
static void check_program(sli_conversion *c, uint8_t flags, guarded *from, guarded *to,
                          uint8_t *want)
{
    const size_t taken = in_bytes(c);
    const size_t bytes = sli_conversion_out_bytes(c);

    T_OK(sli_conversion_prepare(c));
    for (int side = 0; side < 2; side++) {
        uint8_t *in = side == 0 ? from->begin : from->end - taken;
        uint8_t *out = side == 0 ? to->begin : to->end - bytes;

        if (c->from == SLUICE_U8) {
            fill_bytes(in, taken);
        } else {
            fill_floats(c, in, taken / sluice_dtype_size(c->from));
        }
        reference(c, in, want, flags);
        memset(side == 0 ? out : out - CANARY, 0xEE, bytes + CANARY);
        sli_convert_image(c, in, out, flags);
        check_bytes(c, flags, "image", to, out, want);
        if (c->from != SLUICE_U8 || c->from_chw) {
            continue;
        }
        memset(side == 0 ? out : out - CANARY, 0xEE, bytes + CANARY);
        for (uint32_t y = 0; y < c->height; y++) {
            sli_convert_line(c, y, in + (size_t)y * c->width * c->channels, out, flags);
        }
        check_bytes(c, flags, "lines", to, out, want);
    }
}

/* All layouts, flips and normalisations of one pair of types. */
static void check_variants(sluice_dtype from, sluice_dtype to, uint32_t channels, uint32_t width,
                           guarded *source, guarded *destination, uint8_t *want)
{
    for (unsigned variant = 0; variant < 64; variant++) {
        sli_conversion c = program(from, to, channels, width);
        const uint8_t flags = (uint8_t)(((variant & 16) != 0 ? SLI_ROW_FLIP : 0) |
                                        ((variant & 32) != 0 ? SLI_ROW_FLIP_LINES : 0));

        c.to_chw = (variant & 1) != 0;
        c.from_chw = (variant & 2) != 0;
        c.affine = (variant & 4) != 0;
        c.flip = (variant & 8) != 0;
        if ((to == SLUICE_U8 && c.affine) || (from == SLUICE_U8 && c.from_chw && width > 20)) {
            continue;
        }
        check_program(&c, flags, source, destination, want);
    }
}

static const sluice_dtype types[] = {SLUICE_U8, SLUICE_F32, SLUICE_F16, SLUICE_BF16};

static void bytes_become_what_the_formula_says_at_every_width(void)
{
    static const uint32_t wide[] = {224, 333};
    static _Alignas(8) uint8_t want[ROOM];
    guarded from;
    guarded to;

    guard(&from);
    guard(&to);
    for (uint32_t channels = 1; channels <= SLI_MAX_CHANNELS; channels++) {
        for (size_t type = 0; type < 4; type++) {
            for (uint32_t width = 1; width <= 70; width++) {
                check_variants(SLUICE_U8, types[type], channels, width, &from, &to, want);
            }
            for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
                check_variants(SLUICE_U8, types[type], channels, wide[i], &from, &to, want);
            }
        }
    }
    unguard(&from);
    unguard(&to);
}

static void floats_become_what_the_formula_says(void)
{
    static _Alignas(8) uint8_t want[ROOM];
    guarded from;
    guarded to;

    guard(&from);
    guard(&to);
    for (size_t i = 1; i < 4; i++) {
        for (size_t j = 1; j < 4; j++) {
            for (uint32_t channels = 1; channels <= SLI_MAX_CHANNELS; channels++) {
                check_variants(types[i], types[j], channels, 37, &from, &to, want);
            }
        }
    }
    unguard(&from);
    unguard(&to);
}

/* Results beyond the types' ranges: infinities and numbers below the smallest normal one. */
static void results_out_of_range_are_the_same_on_every_level(void)
{
    static const float scales[] = {1e6F, 3e38F, 1e-7F, 1e-40F, -1e-9F};
    static _Alignas(8) uint8_t want[ROOM];
    guarded from;
    guarded to;

    guard(&from);
    guard(&to);
    for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
        for (size_t type = 1; type < 4; type++) {
            for (unsigned chw = 0; chw < 2; chw++) {
                sli_conversion c = program(SLUICE_U8, types[type], 3, 40);

                c.affine = true;
                c.to_chw = chw != 0;
                for (int ch = 0; ch < 3; ch++) {
                    c.scale[ch] = scales[i];
                    c.bias[ch] = 0;
                }
                check_program(&c, 0, &from, &to, want);
            }
        }
    }
    unguard(&from);
    unguard(&to);
}

/* 256, 257, ... 511 need nine bits and bfloat16 has eight: every odd one is a tie. So for binary16.
 */
static void ties_go_to_even_on_every_level(void)
{
    static _Alignas(8) uint8_t want[ROOM];
    guarded from;
    guarded to;

    guard(&from);
    guard(&to);
    for (unsigned variant = 0; variant < 8; variant++) {
        sli_conversion c =
            program(SLUICE_U8, (variant & 1) != 0 ? SLUICE_F16 : SLUICE_BF16, 3, 333);

        c.affine = true;
        c.to_chw = (variant & 2) != 0;
        for (int ch = 0; ch < 3; ch++) {
            c.scale[ch] = (variant & 4) != 0 ? 1 : -1;
            c.bias[ch] = c.scale[ch] * (c.to == SLUICE_F16 ? 2048 : 256);
        }
        check_program(&c, 0, &from, &to, want);
    }
    unguard(&from);
    unguard(&to);
}

/* Every set of kernels that the processor can run, whichever one is in use. */
static const conversion_kernels *kernels_of(int level)
{
    static const conversion_kernels *const levels[] = {
        &sli_conversion_kernels_portable,
#if defined(__x86_64__)
        &sli_conversion_kernels_v3,
        &sli_conversion_kernels_v4,
#endif
    };

    return level < (int)(sizeof(levels) / sizeof(levels[0])) && level <= (int)sli_cpu_best()
               ? levels[level]
               : NULL;
}

/* One line by the kernels of one level, laid out as the program says. */
static void convert_line_by(const conversion_kernels *kernels, const sli_conversion *c,
                            const uint8_t *in, uint8_t *out)
{
    const size_t plane = c->width * sluice_dtype_size(c->to);
    void *planes[] = {out, out + plane, out + 2 * plane};

    switch (c->to) {
    case SLUICE_U8:
        kernels->planes_u8(c, in, planes);
        break;
    case SLUICE_F32:
        c->to_chw ? kernels->planes_f32(c, in, planes) : kernels->packed_f32(c, in, out);
        break;
    case SLUICE_F16:
        c->to_chw ? kernels->planes_f16(c, in, planes) : kernels->packed_f16(c, in, out);
        break;
    default:
        c->to_chw ? kernels->planes_bf16(c, in, planes) : kernels->packed_bf16(c, in, out);
        break;
    }
}

static void check_kernels(const conversion_kernels *kernels, sli_conversion *c, guarded *from,
                          guarded *to, uint8_t *want)
{
    const size_t bytes = sli_conversion_out_bytes(c);

    T_OK(sli_conversion_prepare(c));
    for (int side = 0; side < 2; side++) {
        uint8_t *in = side == 0 ? from->begin : from->end - in_bytes(c);
        uint8_t *out = side == 0 ? to->begin : to->end - bytes;

        fill_bytes(in, in_bytes(c));
        reference(c, in, want, 0);
        memset(side == 0 ? out : out - CANARY, 0xEE, bytes + CANARY);
        convert_line_by(kernels, c, in, out);
        check_bytes(c, 0, "kernel", to, out, want);
    }
}

static void kernels_of_every_level_give_the_same_bits(void)
{
    static _Alignas(8) uint8_t want[ROOM];
    guarded from;
    guarded to;

    guard(&from);
    guard(&to);
    for (int level = 0; kernels_of(level) != NULL; level++) {
        for (unsigned variant = 0; variant < 32; variant++) {
            for (uint32_t width = 1; width <= 70; width++) {
                sli_conversion c =
                    program(SLUICE_U8, types[variant & 3], (variant & 4) != 0 ? 3 : 1, width);

                c.height = 1;
                c.affine = (variant & 8) != 0 && c.to != SLUICE_U8;
                c.to_chw = (variant & 16) != 0 || c.to == SLUICE_U8;
                check_kernels(kernels_of(level), &c, &from, &to, want);
            }
        }
    }
    unguard(&from);
    unguard(&to);
}

static void lines_are_flipped_without_a_look_at_their_neighbours(void)
{
    guarded from;
    guarded to;

    guard(&from);
    guard(&to);
    for (int level = 0; kernels_of(level) != NULL; level++) {
        for (uint32_t width = 1; width <= 100; width++) {
            const size_t bytes = 3 * (size_t)width;

            for (int side = 0; side < 2; side++) {
                uint8_t *in = side == 0 ? from.begin : from.end - bytes;
                uint8_t *out = side == 0 ? to.begin : to.end - bytes;

                fill_bytes(in, bytes);
                memset(side == 0 ? out : out - CANARY, 0xEE, bytes + CANARY);
                kernels_of(level)->flip_rgb(in, out, width);
                for (size_t i = 0; i < bytes; i++) {
                    T_EQ(out[i], in[(width - 1 - i / 3) * 3 + i % 3]);
                }
                T_EQ(side == 0 ? out[bytes] : out[-1], 0xEE);
            }
        }
    }
    unguard(&from);
    unguard(&to);
}

/* A line too wide to be flipped on the stack, on both sides of the bound of 24576 bytes. */
static void lines_of_any_width_are_converted(void)
{
    static const uint32_t widths[] = {8191, 8192, 8193};
    static _Alignas(8) uint8_t want[ROOM];
    guarded from;
    guarded to;

    guard(&from);
    guard(&to);
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        for (unsigned chw = 0; chw < 2; chw++) {
            sli_conversion c = program(SLUICE_U8, SLUICE_F16, 3, widths[i]);

            c.flip = true;
            c.affine = true;
            c.to_chw = chw != 0;
            check_program(&c, SLI_ROW_FLIP, &from, &to, want);
        }
    }
    unguard(&from);
    unguard(&to);
}

static void a_row_without_a_sample_is_zero_whatever_the_program(void)
{
    const uint8_t in[2 * 5 * 3] = {1, 2, 3};
    float out[2 * 5 * 3 + 1];
    sli_conversion c = program(SLUICE_U8, SLUICE_F32, 3, 5);

    c.affine = true;
    c.flip = true;
    T_OK(sli_conversion_prepare(&c));
    for (size_t i = 0; i < 31; i++) {
        out[i] = 9;
    }
    sli_convert_image(&c, in, out, SLI_ROW_ZERO | SLI_ROW_FLIP);
    for (size_t i = 0; i < 30; i++) {
        T_EQ(sli_f32_bits(out[i]), 0); /* not a bias, not -0 */
    }
    T_EQ(out[30], 9);
}

static void only_a_program_that_changes_nothing_is_the_identity(void)
{
    sli_conversion c = program(SLUICE_F16, SLUICE_F16, 3, 5);

    T_TRUE(sli_conversion_is_identity(&c));
    c.to = SLUICE_F32;
    T_TRUE(!sli_conversion_is_identity(&c));
    c.to = SLUICE_F16;
    c.to_chw = true;
    T_TRUE(!sli_conversion_is_identity(&c));
    c.from_chw = true;
    T_TRUE(sli_conversion_is_identity(&c));
    c.flip = true;
    T_TRUE(!sli_conversion_is_identity(&c));
    c.flip = false;
    c.affine = true;
    T_TRUE(!sli_conversion_is_identity(&c));
}

/* The identity is a copy: a NaN's bits stay as they are. */
static void the_identity_leaves_every_bit(void)
{
    sli_conversion c = program(SLUICE_F16, SLUICE_F16, 1, 3);
    const uint16_t in[] = {0x7C01, 0xFFFF, 0x8000, 0x0001, 0x7C00, 0x1234};
    uint16_t out[6];

    T_OK(sli_conversion_prepare(&c));
    sli_convert_image(&c, in, out, SLI_ROW_FLIP); /* it never flips, so the flag says nothing */
    T_EQ(memcmp(in, out, sizeof(in)), 0);
}

static void an_image_takes_the_bytes_of_its_type(void)
{
    for (size_t type = 0; type < 4; type++) {
        const sli_conversion c = program(SLUICE_U8, types[type], 3, 5);

        T_EQ(sli_conversion_out_bytes(&c), 30 * sluice_dtype_size(types[type]));
    }
}

static void programs_that_cannot_be_are_refused(void)
{
    sli_conversion good = program(SLUICE_U8, SLUICE_F32, 3, 5);
    sli_conversion bad[14];

    good.affine = true;
    T_OK(sli_conversion_prepare(&good));
    for (size_t i = 0; i < 14; i++) {
        bad[i] = good;
    }
    bad[0].channels = 0;
    bad[1].channels = SLI_MAX_CHANNELS + 1;
    bad[2].width = 0;
    bad[3].height = 0;
    bad[4].to = SLUICE_U8; /* a normalisation gives no bytes */
    bad[5].from = SLUICE_F32;
    bad[5].to = SLUICE_U8;
    bad[5].affine = false;
    bad[6].from = SLUICE_I32;
    bad[7].to = SLUICE_I64;
    bad[8].from = SLUICE_ENCODED;
    bad[9].scale[2] = INFINITY;
    bad[10].bias[0] = NAN;
    bad[11].scale[1] = NAN;
    bad[12].bias[2] = -INFINITY;
    bad[13].to = SLUICE_I8;
    for (size_t i = 0; i < 14; i++) {
        sluice_status st = sli_conversion_prepare(&bad[i]);

        if (st != SLUICE_E_INVALID) {
            T_FAIL_("bad program %zu gives %s", i, sluice_status_name(st));
        }
    }
    good.channels = 2; /* what stands at channels that are none does not matter */
    good.scale[2] = NAN;
    T_OK(sli_conversion_prepare(&good));
}

const t_test conversion_tests[] = {
    T_TEST(bytes_become_what_the_formula_says_at_every_width),
    T_TEST(floats_become_what_the_formula_says),
    T_TEST(results_out_of_range_are_the_same_on_every_level),
    T_TEST(ties_go_to_even_on_every_level),
    T_TEST(kernels_of_every_level_give_the_same_bits),
    T_TEST(lines_are_flipped_without_a_look_at_their_neighbours),
    T_TEST(lines_of_any_width_are_converted),
    T_TEST(a_row_without_a_sample_is_zero_whatever_the_program),
    T_TEST(only_a_program_that_changes_nothing_is_the_identity),
    T_TEST(the_identity_leaves_every_bit),
    T_TEST(an_image_takes_the_bytes_of_its_type),
    T_TEST(programs_that_cannot_be_are_refused),
    T_END,
};
