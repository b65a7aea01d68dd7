/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alloc_int.h"
#include "cpu_int.h"
#include "jpeg_maker.h"
#include "resample_kernels.h"
#include "testing.h"

/* ---- memory behind which nothing may be touched -----------------------------------------------
 */

typedef struct guarded {
    uint8_t *map;
    size_t map_size;
    uint8_t *data; /* `size` bytes, right before a page without access */
} guarded;

static guarded guarded_make(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = (size + page - 1) / page + 1;
    guarded g = {NULL, pages * page, NULL};

    g.map = mmap(NULL, g.map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.map == MAP_FAILED || mprotect(g.map + (pages - 1) * page, page, PROT_NONE) != 0) {
        fprintf(stderr, "no guarded memory\n");
        exit(2);
    }
    g.data = g.map + (pages - 1) * page - size;
    return g;
}

static void guarded_free(const guarded *g)
{
    munmap(g->map, g->map_size);
}

/* ---- pictures and the resampler
 * ------------------------------------------------------------------
 */

/* A picture of its own memory, whose lines have no gaps. */
typedef struct picture {
    uint8_t *pixels; /* (height, width, channels) and the slack of images, from malloc() */
    uint32_t width;
    uint32_t height;
    uint32_t channels;
} picture;

static size_t picture_size(const picture *p)
{
    return (size_t)p->width * p->height * p->channels;
}

static picture picture_empty(uint32_t width, uint32_t height, uint32_t channels)
{
    picture p = {NULL, width, height, channels};

    p.pixels = malloc(picture_size(&p) + IMAGE_SLACK);
    memset(p.pixels, 0xAA, picture_size(&p) + IMAGE_SLACK);
    return p;
}

static picture picture_make(uint32_t width, uint32_t height, uint32_t channels, uint32_t seed)
{
    picture p = picture_empty(width, height, channels);
    uint8_t *to = p.pixels;

    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            for (uint32_t c = 0; c < channels; c++) {
                *to++ = picture_sample(seed, x, y, c);
            }
        }
    }
    return p;
}

/* Lines that come one by one, put together. */
typedef struct collector {
    uint8_t *to;
    size_t line;
    uint32_t count;
} collector;

static void collect(void *arg, uint32_t y, const uint8_t *pixels)
{
    collector *c = arg;

    if (y == c->count) {
        memcpy(c->to + y * c->line, pixels, c->line);
        c->count++;
    }
}

/* Does a job on the picture, which is the crop; out is (window_height, window_width, channels). */
static void run_job(image_resampler *resampler, const resample_job *job, const picture *in,
                    bool direct, uint8_t *out)
{
    const size_t stride = (size_t)in->width * in->channels;
    collector lines = {out, (size_t)job->window_width * job->channels, 0};
    const line_sink direct_sink = {NULL, NULL, out};
    const line_sink line_by_line = {collect, &lines, NULL};
    image_box needed;
    image_view view;

    T_OK(resample_prepare(resampler, job, &needed));
    T_TRUE(needed.x + needed.width <= job->in_width);
    T_TRUE(needed.y + needed.height <= job->in_height);
    view = (image_view){in->pixels + needed.y * stride + (size_t)needed.x * in->channels, stride,
                        needed.width, needed.height, in->channels};
    T_OK(resample_run(resampler, &view, direct ? &direct_sink : &line_by_line));
    T_EQ(lines.count, direct ? 0 : job->window_height);
}

static resample_job whole_job(const picture *in, uint32_t width, uint32_t height)
{
    return (resample_job){in->channels, in->width, in->height, width, height, 0, 0, width, height};
}

static picture resized(const picture *in, uint32_t width, uint32_t height)
{
    const resample_job job = whole_job(in, width, height);
    image_resampler resampler = {0};
    picture out = picture_empty(width, height, in->channels);

    run_job(&resampler, &job, in, true, out.pixels);
    resampler_free(&resampler);
    return out;
}

/* ---- the reference: plain sums in double
 * ---------------------------------------------------------
 */

/* One axis: lines of `count` samples, `step` apart, each `in` long and becoming `out` long. */
static double filtered(const double *line, size_t step, uint32_t in, uint32_t out, uint32_t i)
{
    const double scale = (double)in / out;
    const double support = scale > 1 ? scale : 1;
    const double center = (i + 0.5) * scale;
    double sum = 0;
    double weights = 0;

    for (int64_t k = (int64_t)(center - support) - 1; k <= (int64_t)(center + support) + 1; k++) {
        double weight = 1 - fabs((double)k + 0.5 - center) / support;

        if (k >= 0 && k < in && weight > 0) {
            sum += weight * line[(size_t)k * step];
            weights += weight;
        }
    }
    return sum / weights;
}

/* What the resize would be without any rounding; from malloc(). */
static double *reference(const picture *in, uint32_t width, uint32_t height)
{
    const size_t line = (size_t)in->width * in->channels;
    const size_t out_line = (size_t)width * in->channels;
    double *from = malloc(picture_size(in) * sizeof(*from));
    double *middle = malloc(in->height * out_line * sizeof(*middle));
    double *out = malloc(height * out_line * sizeof(*out));

    for (size_t i = 0; i < picture_size(in); i++) {
        from[i] = in->pixels[i];
    }
    for (uint32_t y = 0; y < in->height; y++) {
        for (size_t i = 0; i < out_line; i++) {
            middle[y * out_line + i] = filtered(from + y * line + i % in->channels, in->channels,
                                                in->width, width, (uint32_t)(i / in->channels));
        }
    }
    for (uint32_t y = 0; y < height; y++) {
        for (size_t i = 0; i < out_line; i++) {
            out[y * out_line + i] = filtered(middle + i, out_line, in->height, height, y);
        }
    }
    free(from);
    free(middle);
    return out;
}

static void check_against_reference(uint32_t width, uint32_t height, uint32_t new_width,
                                    uint32_t new_height, uint32_t channels)
{
    picture in = picture_make(width, height, channels, width + height);
    picture out = resized(&in, new_width, new_height);
    double *want = reference(&in, new_width, new_height);

    for (size_t i = 0; i < picture_size(&out); i++) {
        if (!(fabs(out.pixels[i] - floor(want[i] + 0.5)) <= 1)) {
            T_FAIL_("%ux%ux%u to %ux%u: byte %zu is %d, want %.9g", width, height, channels,
                    new_width, new_height, i, out.pixels[i], want[i]);
        }
    }
    free(want);
    free(in.pixels);
    free(out.pixels);
}

static void resizing_is_within_1_of_exact_arithmetic(void)
{
    static const uint32_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100};
    static const uint32_t channels[] = {3, 1, 3, 4, 2};
    enum { N = sizeof(lengths) / sizeof(lengths[0]) };

    for (uint32_t i = 0; i < N * N; i++) {
        uint32_t j = i * 37 % (N * N);

        check_against_reference(lengths[i / N], lengths[j / N], lengths[i % N], lengths[j % N],
                                channels[i % 5]);
    }
}

static void extreme_ratios_are_within_1_of_exact_arithmetic(void)
{
    static const uint32_t sizes[][4] = {
        {5000, 2, 3, 7},  {2, 5000, 7, 3},  {3, 4, 5000, 2},  {4, 3, 2, 5000},  {1, 1, 1000, 3},
        {65500, 1, 9, 1}, {1, 65500, 2, 1}, {300, 1, 299, 1}, {299, 2, 300, 2}, {513, 700, 1, 1},
    };

    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        const uint32_t *s = sizes[i / 2];

        check_against_reference(s[0], s[1], s[2], s[3], i % 2 == 0 ? 1 : 3);
    }
}

/* ---- Pillow -----------------------------------------------------------------------------------
 */

/* Reads a binary PGM or PPM file of the fixtures. */
static picture read_fixture(const char *name)
{
    char path[512];
    unsigned width = 0;
    unsigned height = 0;
    char kind = '\0';
    picture p = {0};
    FILE *file;

    snprintf(path, sizeof(path), "%s/pillow/%s", SLUICE_TEST_DATA, name);
    file = fopen(path, "rb");
    if (file != NULL && fscanf(file, "P%c %u %u 255", &kind, &width, &height) == 3 &&
        fgetc(file) == '\n') {
        p = picture_empty(width, height, kind == '6' ? 3 : 1);
    }
    if (p.pixels == NULL || fread(p.pixels, 1, picture_size(&p), file) != picture_size(&p)) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    fclose(file);
    return p;
}

static void resizing_is_within_1_of_pillow(void)
{
    static const char *const cases[][2] = {
        {"rgb-61x47.ppm", "rgb-61x47-to-20x30.ppm"},
        {"rgb-61x47.ppm", "rgb-61x47-to-61x13.ppm"},
        {"rgb-61x47.ppm", "rgb-61x47-to-7x61.ppm"},
        {"rgb-61x47.ppm", "rgb-61x47-to-80x33.ppm"},
        {"rgb-61x47.ppm", "rgb-61x47-to-1x1.ppm"},
        {"rgb-61x47.ppm", "rgb-61x47-to-60x46.ppm"},
        {"gray-45x38.pgm", "gray-45x38-to-97x20.pgm"},
        {"gray-45x38.pgm", "gray-45x38-to-44x39.pgm"},
        {"gray-45x38.pgm", "gray-45x38-to-3x3.pgm"},
        {"gray-45x38.pgm", "gray-45x38-to-90x76.pgm"},
        {"rgb-400x2.ppm", "rgb-400x2-to-13x5.ppm"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        picture in = read_fixture(cases[i][0]);
        picture want = read_fixture(cases[i][1]);
        picture out = resized(&in, want.width, want.height);

        for (size_t k = 0; k < picture_size(&want); k++) {
            T_NEAR(out.pixels[k], want.pixels[k], 1);
        }
        free(in.pixels);
        free(want.pixels);
        free(out.pixels);
    }
}

/* ---- levels -----------------------------------------------------------------------------------
 */

typedef struct level {
    sli_cpu_level least; /* of the machine */
    const resample_kernels *kernels;
} level;

static const level levels[] = {
    {SLI_CPU_PORTABLE, &sli_resample_kernels_portable},
#if defined(__x86_64__)
    {SLI_CPU_V3, &sli_resample_kernels_v3},
    {SLI_CPU_V4, &sli_resample_kernels_v4},
#endif
};

/* Kernels that this machine can run; [0] are the portable ones. */
static uint32_t level_count(void)
{
    uint32_t count = 0;

    while (count < sizeof(levels) / sizeof(levels[0]) && levels[count].least <= sli_cpu_best()) {
        count++;
    }
    return count;
}

/* The weights of a resize in `axis`; they stay the resampler's. */
static const resample_axis *axis_of(image_resampler *resampler, uint32_t in, uint32_t out)
{
    const resample_job job = {3, in, in, out, out + 1, 0, 0, out, out + 1};
    image_box needed;

    T_OK(resample_prepare(resampler, &job, &needed));
    return &resampler->x;
}

static const uint32_t axes[][2] = {{1, 1},     {2, 1},     {1, 7},     {5, 9},
                                   {30, 30},   {295, 224}, {224, 224}, {500, 224},
                                   {100, 224}, {640, 7},   {4000, 3},  {17, 3}};

enum { AXES = sizeof(axes) / sizeof(axes[0]) };

/* Rows end where nothing may be read beyond what image.h allows. */
static void check_vertical(const resample_axis *axis, uint32_t at, size_t n, uint32_t *state)
{
    const uint8_t **rows = malloc(axis->taps * sizeof(*rows));
    guarded *memory = malloc(axis->taps * sizeof(*memory));
    int16_t *out[2];

    for (uint32_t k = 0; k < axis->taps; k++) {
        memory[k] = guarded_make(n + MIDDLE_SLACK);
        rows[k] = memory[k].data;
        for (size_t i = 0; i < n + MIDDLE_SLACK; i++) {
            memory[k].data[i] = (uint8_t)(test_random(state) >> 24);
        }
    }
    for (int i = 0; i < 2; i++) {
        out[i] = malloc((n + MIDDLE_SLACK) * sizeof(*out[i]));
    }
    for (uint32_t l = 0; l < level_count(); l++) {
        levels[l].kernels->vertical(rows, axis->weights + (size_t)at * axis->taps, axis->taps,
                                    out[l > 0 ? 1 : 0], n);
        T_TRUE(l == 0 || memcmp(out[0], out[1], n * sizeof(*out[0])) == 0);
    }
    for (uint32_t k = 0; k < axis->taps; k++) {
        guarded_free(&memory[k]);
    }
    free(out[0]);
    free(out[1]);
    free(memory);
    free((void *)rows);
}

static void all_levels_give_the_same_vertical_pass(void)
{
    static const size_t widths[] = {1, 3, 31, 32, 33, 96, 150};
    uint32_t state = 8;

    for (size_t a = 0; a < AXES; a++) {
        image_resampler resampler = {0};
        const resample_axis *axis = axis_of(&resampler, axes[a][0], axes[a][1]);

        for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]) && axis->taps < 300; i++) {
            check_vertical(axis, (uint32_t)(i * 31 % axis->count), widths[i], &state);
        }
        resampler_free(&resampler);
    }
}

/* Outputs end where nothing may be written, inputs behind the slack of the middle. */
static void check_horizontal(const resample_axis *axis, uint32_t *state)
{
    const size_t elements = ((size_t)axis->in + axis->taps) * 3 + MIDDLE_SLACK;
    const size_t size = (size_t)axis->count * 3;
    guarded memory[STRIP];
    guarded places[2][STRIP];
    const int16_t *in[STRIP];

    for (int l = 0; l < STRIP; l++) {
        memory[l] = guarded_make(elements * sizeof(int16_t));
        in[l] = (const int16_t *)(const void *)memory[l].data;
        for (size_t i = 0; i < (size_t)axis->in * 3; i++) {
            /* What the vertical pass can give: 0 to 255, with 7 bits behind the point. */
            int16_t value = (int16_t)(test_below(state, 8) == 0 ? 32640 : test_below(state, 32641));

            memcpy(memory[l].data + i * sizeof(value), &value, sizeof(value));
        }
        places[0][l] = guarded_make(size);
        places[1][l] = guarded_make(size);
    }
    for (uint32_t v = 0; v < level_count(); v++) {
        guarded *to = places[v > 0 ? 1 : 0];
        uint8_t *const out[STRIP] = {to[0].data, to[1].data, to[2].data, to[3].data};

        levels[v].kernels->horizontal_rgb(axis, 0, in, out);
        for (int l = 0; l < STRIP && v > 0; l++) {
            T_TRUE(memcmp(places[0][l].data, places[1][l].data, size) == 0);
        }
    }
    for (int l = 0; l < STRIP; l++) {
        guarded_free(&memory[l]);
        guarded_free(&places[0][l]);
        guarded_free(&places[1][l]);
    }
}

static void all_levels_give_the_same_horizontal_pass(void)
{
    uint32_t state = 9;

    for (size_t a = 0; a < AXES; a++) {
        for (int i = 0; i < 4; i++) {
            image_resampler resampler = {0};

            check_horizontal(axis_of(&resampler, axes[a][0], axes[a][1]), &state);
            resampler_free(&resampler);
        }
    }
}

/* ---- windows ------------------------------------------------------------------------------------
 */

/* A start of a window of this length that sees, or just misses, something of `size`. */
static int64_t some_start(uint32_t *state, uint32_t size, uint32_t length)
{
    return (int64_t)test_below(state, size + length + 5) - (int64_t)length - 2;
}

static void check_window(image_resampler *resampler, const picture *in, const picture *whole,
                         uint32_t *state)
{
    resample_job job = whole_job(in, whole->width, whole->height);
    uint8_t *out;

    job.window_width = 1 + test_below(state, whole->width + 6);
    job.window_height = 1 + test_below(state, whole->height + 6);
    job.window_x = some_start(state, whole->width, job.window_width);
    job.window_y = some_start(state, whole->height, job.window_height);
    out = malloc((size_t)job.window_width * job.window_height * job.channels);
    memset(out, 0x55, (size_t)job.window_width * job.window_height * job.channels);
    run_job(resampler, &job, in, test_below(state, 2) == 0, out);
    for (uint32_t y = 0; y < job.window_height; y++) {
        for (uint32_t x = 0; x < job.window_width; x++) {
            int64_t from_x = x + job.window_x;
            int64_t from_y = y + job.window_y;
            bool inside =
                from_x >= 0 && from_x < whole->width && from_y >= 0 && from_y < whole->height;

            for (uint32_t c = 0; c < job.channels; c++) {
                size_t from = ((size_t)from_y * whole->width + (size_t)from_x) * job.channels + c;

                T_EQ(out[((size_t)y * job.window_width + x) * job.channels + c],
                     inside ? whole->pixels[from] : 0);
            }
        }
    }
    free(out);
}

static void a_window_is_a_part_of_the_whole(void)
{
    static const uint32_t sizes[][4] = {
        {40, 30, 20, 15}, {20, 15, 33, 40}, {31, 17, 31, 17}, {31, 17, 31, 20},
        {1, 1, 9, 9},     {90, 5, 3, 21},   {64, 64, 1, 1},   {7, 7, 1, 30},
    };
    uint32_t state = 10;

    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        const uint32_t *s = sizes[i / 2];
        picture in = picture_make(s[0], s[1], i % 2 == 0 ? 3 : 1, (uint32_t)i);
        picture whole = resized(&in, s[2], s[3]);
        image_resampler resampler = {0};

        for (int k = 0; k < 60; k++) {
            check_window(&resampler, &in, &whole, &state);
        }
        resampler_free(&resampler);
        free(in.pixels);
        free(whole.pixels);
    }
}

/* A resampler that did other sizes before gives what a fresh one does. */
static void a_used_resampler_is_as_good_as_a_new_one(void)
{
    image_resampler used = {0};
    uint32_t state = 11;

    for (uint32_t i = 0; i < 200; i++) {
        picture in = picture_make(1 + test_below(&state, 60), 1 + test_below(&state, 60),
                                  i % 4 == 0 ? 1 : 3, i);
        uint32_t width = 1 + test_below(&state, 40);
        uint32_t height = 1 + test_below(&state, 40);
        const resample_job job = whole_job(&in, width, height);
        picture want = resized(&in, width, height);
        picture out = picture_empty(width, height, in.channels);

        run_job(&used, &job, &in, i % 3 != 0, out.pixels);
        T_TRUE(memcmp(out.pixels, want.pixels, picture_size(&want)) == 0);
        free(in.pixels);
        free(want.pixels);
        free(out.pixels);
    }
    resampler_free(&used);
}

/* ---- bounds ------------------------------------------------------------------------------------
 */

/* Both ends of input and output lie at a page without access; the slack holds anything. */
static void nothing_outside_the_buffers_is_touched(void)
{
    uint32_t state = 12;

    for (uint32_t i = 0; i < 300; i++) {
        picture in = picture_make(1 + test_below(&state, 70), 1 + test_below(&state, 20),
                                  i % 4 == 0 ? 1 : 3, i);
        const size_t size = picture_size(&in);
        const uint32_t width = i % 7 == 0 ? in.width : 1 + test_below(&state, 90);
        const uint32_t height = i % 7 == 0 ? in.height : 1 + test_below(&state, 30);
        const resample_job job = whole_job(&in, width, height);
        const size_t out_size = (size_t)width * height * in.channels;
        guarded from = guarded_make(size + IMAGE_SLACK);
        guarded to = guarded_make(out_size);
        picture want = resized(&in, width, height);
        const picture guarded_in = {from.data, in.width, in.height, in.channels};
        image_resampler resampler = {0};

        memcpy(from.data, in.pixels, size);
        memset(from.data + size, 0xFF, IMAGE_SLACK);
        run_job(&resampler, &job, &guarded_in, true, to.data);
        T_TRUE(memcmp(to.data, want.pixels, out_size) == 0);
        resampler_free(&resampler);
        guarded_free(&from);
        guarded_free(&to);
        free(in.pixels);
        free(want.pixels);
    }
}

/* ---- simple truths ------------------------------------------------------------------------------
 */

static void the_same_size_is_a_copy(void)
{
    for (uint32_t i = 1; i < 40; i++) {
        picture in = picture_make(i, 41 - i, i % 2 == 0 ? 3 : 1, i);
        picture out = resized(&in, in.width, in.height);

        T_TRUE(memcmp(in.pixels, out.pixels, picture_size(&in)) == 0);
        free(in.pixels);
        free(out.pixels);
    }
}

static void one_colour_stays_that_colour(void)
{
    static const uint8_t values[] = {0, 1, 127, 128, 254, 255};
    static const uint32_t others[] = {1, 2, 3, 50, 333, 3000};

    for (uint32_t i = 0; i < 40 * 40 + 6 * 6; i++) {
        uint32_t from = i < 1600 ? 1 + i / 40 : others[(i - 1600) / 6];
        uint32_t to = i < 1600 ? 1 + i % 40 : others[(i - 1600) % 6];
        uint8_t value = values[i % sizeof(values)];
        picture in = picture_empty(from, 2, 3);
        picture out;

        memset(in.pixels, value, picture_size(&in));
        out = resized(&in, to, 1 + i % 3);
        for (size_t k = 0; k < picture_size(&out); k++) {
            T_EQ(out.pixels[k], value);
        }
        free(in.pixels);
        free(out.pixels);
    }
}

static void running_out_of_memory_is_said(void)
{
    picture in = picture_make(300, 300, 3, 1);
    picture out = picture_empty(2, 2, 3);
    const resample_job job = whole_job(&in, 2, 2);
    const line_sink sink = {NULL, NULL, out.pixels};
    const image_view view = {in.pixels, 900, 300, 300, 3};
    int64_t passes = 0;

    for (;; passes++) {
        image_resampler resampler = {0};
        image_box needed;
        sluice_status st;

        sli_alloc_fail_after(passes);
        st = resample_prepare(&resampler, &job, &needed);
        if (st == SLUICE_OK) {
            st = resample_run(&resampler, &view, &sink);
        }
        sli_alloc_fail_after(-1);
        resampler_free(&resampler);
        if (st == SLUICE_OK) {
            break;
        }
        T_EQ(st, SLUICE_E_NO_MEMORY);
    }
    T_TRUE(passes >= 5);
    free(in.pixels);
    free(out.pixels);
}

const t_test resample_tests[] = {
    T_TEST(resizing_is_within_1_of_exact_arithmetic),
    T_TEST(extreme_ratios_are_within_1_of_exact_arithmetic),
    T_TEST(resizing_is_within_1_of_pillow),
    T_TEST(all_levels_give_the_same_vertical_pass),
    T_TEST(all_levels_give_the_same_horizontal_pass),
    T_TEST(a_window_is_a_part_of_the_whole),
    T_TEST(a_used_resampler_is_as_good_as_a_new_one),
    T_TEST(nothing_outside_the_buffers_is_touched),
    T_TEST(the_same_size_is_a_copy),
    T_TEST(one_colour_stays_that_colour),
    T_TEST(running_out_of_memory_is_said),
    T_END,
};
