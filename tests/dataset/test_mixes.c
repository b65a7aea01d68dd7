/* SPDX-License-Identifier: Apache-2.0 */
/* mixup and cutmix: formulas, partners, labels, draws, and what they refuse. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "float16_int.h"
#include "list_kit.h"
#include "map_kit.h"
#include "plan_kit.h"
#include "row_mix.h"
#include "testing.h"

enum { BATCH = 5, CLASSES = 122 }; /* numbers[11] is 121 */

/* ---- a batch and its partners ---------------------------------------------------------------- */

static float label_at(const engine_run *run, uint32_t row, int64_t class_number)
{
    float value;

    memcpy(&value, (const float *)column_row(run, "number", row) + class_number, sizeof(value));
    return value;
}

static double value_at(const void *pixels, sluice_dtype dtype, size_t i)
{
    switch (dtype) {
    case SLUICE_U8:
        return ((const uint8_t *)pixels)[i];
    case SLUICE_F32:
        return (double)((const float *)pixels)[i];
    case SLUICE_F16:
        return (double)sli_f32_of_f16(((const uint16_t *)pixels)[i]);
    default:
        return (double)sli_f32_of_bf16(((const uint16_t *)pixels)[i]);
    }
}

/* The value that mixup should write. */
static double blended(double own, double other, float share, float rest, sluice_dtype dtype)
{
    const float a = (float)other * rest;
    const float b = (float)own * share;
    const float sum = a + b;

    switch (dtype) {
    case SLUICE_U8:
        return rint((double)sum);
    case SLUICE_F32:
        return (double)sum;
    case SLUICE_F16:
        return (double)sli_f32_of_f16(sli_f16_of_f32(sum));
    default:
        return (double)sli_f32_of_bf16(sli_bf16_of_f32(sum));
    }
}

/* The rows of the batch with a sample. */
static uint32_t valid_rows(const engine_run *run)
{
    return run->input.header->valid_rows;
}

/* Checks the labels of a mixed batch of samples in their order from `first` on; returns lambda. */
static float check_labels(const engine_run *run, uint32_t first)
{
    const uint32_t rows = valid_rows(run);
    const float lambda = label_at(run, 0, numbers[first]);

    for (uint32_t row = 0; row < rows; row++) {
        const int64_t own = numbers[first + row];
        const int64_t other = numbers[first + (row + rows - 1) % rows];

        for (int64_t c = 0; c < CLASSES; c++) {
            const float got = label_at(run, row, c);

            if (c == own) {
                T_TRUE(got == lambda);
            } else if (c == other) {
                T_NEAR(got, 1 - (double)lambda, 1e-7);
            } else {
                T_TRUE(got == 0);
            }
        }
    }
    for (uint32_t row = rows; row < BATCH; row++) {
        T_TRUE(is_zero(column_row(run, "number", row), CLASSES * sizeof(float)));
        T_TRUE(is_zero(column_row(run, "image", row), row_bytes(run, 0)));
    }
    return lambda;
}

static sluice_dataset *with_stages(const char *stages, const char *last)
{
    sluice_dataset *dataset = arrays_of(plain_images);
    char text[300];

    snprintf(text, sizeof(text), "%s%sbatch 5%s", stages, stages[0] != '\0' ? " | " : "", last);
    T_OK(sluice_dataset_add(dataset, text));
    return dataset;
}

/* Calls `check` for each batch of the stages, with the batch that they give without mixing. */
static void each_batch(const char *stages, const char *mix, const run_options *options,
                       void (*check)(const engine_run *, const engine_run *, uint32_t))
{
    sluice_dataset *mixed = with_stages(stages, mix);
    sluice_dataset *plain = with_stages(stages, "");
    uint32_t first = 0;
    engine_run a;
    engine_run b;

    open_run(&a, mixed, options);
    open_run(&b, plain, options);
    while (next_batch(&a) == SLUICE_OK) {
        T_OK(next_batch(&b));
        check(&a, &b, first);
        first += BATCH;
        done_with_batch(&a);
        done_with_batch(&b);
    }
    T_EQ(first, 3 * BATCH);
    close_run(&a);
    close_run(&b);
    sluice_dataset_destroy(mixed);
    sluice_dataset_destroy(plain);
}

/* ---- mixup ----------------------------------------------------------------------------------- */

static void check_mixup(const engine_run *mixed, const engine_run *plain, uint32_t first)
{
    const sluice_dtype dtype = mixed->input.tensors[0].dtype;
    const uint32_t rows = valid_rows(mixed);
    const float lambda = check_labels(mixed, first);
    const float rest = label_at(mixed, 1, numbers[first]); /* of row 0 in row 1 */

    T_TRUE(rows > 1 && lambda > 0 && rest > 0);
    for (uint32_t row = 0; row < rows; row++) {
        const void *got = column_row(mixed, "image", row);
        const void *own = column_row(plain, "image", row);
        const void *other = column_row(plain, "image", (row + rows - 1) % rows);

        for (size_t i = 0; i < PIXELS; i++) {
            T_TRUE(value_at(got, dtype, i) == blended(value_at(own, dtype, i),
                                                      value_at(other, dtype, i), lambda, rest,
                                                      dtype));
        }
    }
}

static void mixup_blends_each_row_with_the_row_before(void)
{
    static const char *const stages[] = {
        "",
        "to_chw",
        "normalize 0.4,0.3,0.5 0.2,0.3,0.25 | to_chw",
        "normalize 0.5 0.25 dtype=f16",
        "to_dtype bf16 scale=true | to_chw",
    };

    fill_arrays();
    for (uint32_t k = 0; k < sizeof(stages) / sizeof(stages[0]); k++) {
        const run_options options = {.workers = worker_counts[k % 3],
                                     .device = devices[k % 2],
                                     .settings = {.world = 1, .prefer_device = true}};

        each_batch(stages[k], " | mixup 122 label=number", &options, check_mixup);
    }
}

static void blending_gives_equal_bits_for_every_length(void)
{
    static const sluice_dtype dtypes[] = {SLUICE_U8, SLUICE_F32, SLUICE_F16, SLUICE_BF16};
    static const uint32_t indices[2] = {0, 1};

    for (uint32_t k = 0; k < 4; k++) {
        for (uint64_t length = 1; length < 200; length += 33) {
            const sluice_column type = {.dtype = dtypes[k], .rank = 1, .shape = {length}};
            uint16_t data[2 * 400];
            uint16_t saved[400];
            uint16_t before[2 * 400];
            const size_t bytes = sluice_dtype_size(dtypes[k]) * length;
            const mix_rows rows = {&type, (uint8_t *)data, indices, 2, (uint8_t *)saved};

            for (uint32_t i = 0; i < 800; i++) {
                data[i] = (uint16_t)(0x3400 + i * 7 % 0x900); /* finite as any of the types */
            }
            memcpy(before, data, sizeof(data));
            mix_blend(&rows, 0.3);
            for (uint64_t i = 0; i < 2 * length; i++) {
                const double own = value_at(before, dtypes[k], i);
                const double other = value_at(before, dtypes[k], (i + length) % (2 * length));

                T_TRUE(value_at(data, dtypes[k], i) ==
                       blended(own, other, (float)0.3, (float)(1 - 0.3), dtypes[k]));
            }
            T_TRUE(memcmp((uint8_t *)data + 2 * bytes, (uint8_t *)before + 2 * bytes,
                          sizeof(data) - 2 * bytes) == 0);
        }
    }
}

/* ---- cutmix ---------------------------------------------------------------------------------- */

/* True if a pixel of the row is the partner's; the test's samples differ in every byte. */
static bool is_pasted(const uint8_t *got, const uint8_t *own, const uint8_t *other, uint32_t x,
                      uint32_t y, bool is_chw)
{
    uint32_t pasted = 0;

    for (uint32_t c = 0; c < 3; c++) {
        const uint32_t at = is_chw ? (c * H + y) * W + x : (y * W + x) * 3 + c;

        T_TRUE(got[at] == own[at] || got[at] == other[at]);
        pasted += got[at] != own[at];
    }
    T_TRUE(pasted == 0 || pasted == 3);
    return pasted == 3;
}

static bool pasted_somewhere;

/* Checks that what is pasted is one box in all rows, whose area is that of the labels. */
static void check_cutmix_of(const engine_run *mixed, const engine_run *plain, uint32_t first,
                            bool is_chw)
{
    const uint32_t rows = valid_rows(mixed);
    const float lambda = check_labels(mixed, first);
    bool pasted[H][W];

    for (uint32_t row = 0; row < rows; row++) {
        uint32_t area = 0;
        uint32_t x0 = W;
        uint32_t x1 = 0;
        uint32_t y0 = H;
        uint32_t y1 = 0;

        for (uint32_t y = 0; y < H; y++) {
            for (uint32_t x = 0; x < W; x++) {
                const bool is =
                    is_pasted(column_row(mixed, "image", row), column_row(plain, "image", row),
                              column_row(plain, "image", (row + rows - 1) % rows), x, y, is_chw);

                T_TRUE(row == 0 || is == pasted[y][x]);
                pasted[y][x] = is;
                area += is;
                x0 = is && x < x0 ? x : x0;
                x1 = is && x + 1 > x1 ? x + 1 : x1;
                y0 = is && y < y0 ? y : y0;
                y1 = is && y + 1 > y1 ? y + 1 : y1;
            }
        }
        T_TRUE(area == 0 || area == (x1 - x0) * (y1 - y0));
        T_TRUE(lambda == (float)(1 - area / (double)(W * H)));
        pasted_somewhere = pasted_somewhere || (area > 0 && area < W * H);
    }
}

static void check_cutmix(const engine_run *mixed, const engine_run *plain, uint32_t first)
{
    check_cutmix_of(mixed, plain, first, false);
}

static void check_cutmix_chw(const engine_run *mixed, const engine_run *plain, uint32_t first)
{
    check_cutmix_of(mixed, plain, first, true);
}

static void cutmix_pastes_a_box_of_the_row_before(void)
{
    fill_arrays();
    pasted_somewhere = false;
    for (uint64_t seed = 0; seed < 6; seed++) {
        const run_options options = {.workers = worker_counts[seed % 3],
                                     .device = devices[seed % 2],
                                     .settings = {.seed = seed, .world = 1}};

        each_batch(seed % 2 == 0 ? "" : "to_chw", " | cutmix 122 1 number", &options,
                   seed % 2 == 0 ? check_cutmix : check_cutmix_chw);
    }
    T_TRUE(pasted_somewhere);
}

/* By Python: torchvision's CutMix.make_params(), with this centre and lambda. */
static void the_box_is_that_of_torchvision(void)
{
    static const struct {
        uint32_t x;
        uint32_t y;
        double lambda;
        uint32_t width;
        uint32_t height;
        mix_box want;
        double beside;
    } cases[] = {
        {0, 0, 0.0, 224, 224, {0, 0, 112, 112}, 0.75},
        {223, 223, 0.25, 224, 224, {127, 127, 224, 224}, 0.8124800701530612},
        {100, 50, 0.3, 224, 160, {7, 0, 193, 116}, 0.3979910714285714},
        {7, 3, 0.9999, 9, 7, {7, 3, 7, 3}, 1.0},
        {4, 2, 0.5, 9, 7, {1, 0, 7, 4}, 0.6190476190476191},
        {10, 20, 1.0, 32, 32, {10, 20, 10, 20}, 1.0},
        {112, 112, 0.1234567, 176, 176, {30, 30, 176, 176}, 0.3118543388429752},
        {0, 0, 0.0, 1, 1, {0, 0, 0, 0}, 1.0},
    };

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const mix_box got = mix_box_around(cases[i].x, cases[i].y, cases[i].lambda, cases[i].width,
                                           cases[i].height);

        T_EQ(got.x0, cases[i].want.x0);
        T_EQ(got.y0, cases[i].want.y0);
        T_EQ(got.x1, cases[i].want.x1);
        T_EQ(got.y1, cases[i].want.y1);
        T_TRUE(mix_share_beside(&got, cases[i].width, cases[i].height) == cases[i].beside);
    }
}

/* ---- draws ----------------------------------------------------------------------------------- */

static tape mixed_tape(const char *text, const run_options *options)
{
    return record_own(parsed(text), options);
}

static void draws_depend_on_seed_and_position_alone(void)
{
    static const char text[] = "synthetic 40 12,10,3 9 | shuffle 3 | normalize 1 2 | batch 4 | "
                               "mixup 9 0.4 | cutmix alpha=0.5";
    const run_options one = {.workers = 1, .batches = 12, .settings = {.seed = 4, .world = 1}};
    run_options other = one;
    tape first = mixed_tape(text, &one);
    tape t;

    other.workers = 3;
    other.device = devices[1];
    t = mixed_tape(text, &other);
    check_equal_tapes(&t, &first, "three workers");
    free(t.bytes);
    other.first_step = 4; /* as a run that is resumed */
    other.batches = 8;
    t = mixed_tape(text, &other);
    T_EQ(t.batches, 8);
    T_TRUE(t.size * 3 == first.size * 2 &&
           memcmp(t.bytes, first.bytes + first.size - t.size, t.size) == 0);
    free(t.bytes);
    other = one;
    other.settings.world = 2;
    other.settings.rank = 1;
    t = mixed_tape(text, &other);
    T_TRUE(memcmp(t.bytes, first.bytes, t.size) != 0);
    free(t.bytes);
    free(first.bytes);
}

static void each_batch_has_a_lambda_of_its_own(void)
{
    engine_run run;
    double most = 0;
    uint32_t ends = 0;

    open_own(&run, parsed("synthetic 64 4,4,3 3 | shuffle | batch 4 | mixup 3 0.2"),
             &(run_options){.workers = 2});
    while (next_batch(&run) == SLUICE_OK) {
        double largest = 0;

        for (uint32_t row = 0; row < 4; row++) {
            const float *label = column_row(&run, "label", row);

            T_NEAR(label[0] + label[1] + label[2], 1, 1e-6);
            for (uint32_t c = 0; c < 3; c++) {
                largest = label[c] > 0.5F && label[c] < 1 ? (double)label[c] : largest;
            }
        }
        ends += largest > 0.9;
        most = largest > most ? largest : most;
        done_with_batch(&run);
    }
    T_TRUE(ends > 3 && ends < 16); /* a beta distribution of 0.2 is mostly near 0 and 1 */
    T_TRUE(most < 1);
    close_run(&run);
}

/* ---- labels and bad samples ------------------------------------------------------------------ */

static void vectors_of_one_hot_are_blended(void)
{
    engine_run run;

    open_own(&run,
             parsed("synthetic 8 4,4,3 4 | one_hot label 4 smoothing=0.2 | "
                    "batch 8 | mixup"),
             &(run_options){.workers = 1});
    T_EQ(run.layout.columns[1].rank, 1);
    T_EQ(run.layout.columns[1].shape[0], 4);
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 8; row++) {
        const float *label = column_row(&run, "label", row);
        double sum = 0;

        for (uint32_t c = 0; c < 4; c++) {
            T_TRUE(label[c] > 0.0499F);
            sum += (double)label[c];
        }
        T_NEAR(sum, 1, 1e-6);
    }
    close_run(&run);
}

static void bad_samples_are_no_partners(void)
{
    sluice_dataset *dataset;
    engine_run run;

    script_reset(8, GOOD);
    script.behaviours[2] = BAD;
    dataset = script_dataset(4, false);
    T_OK(sluice_dataset_add(dataset, "mixup 8"));
    open_own(&run, dataset,
             &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO, .world = 1}});
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 4; row++) {
        const float *label = column_row(&run, "label", row);
        const uint32_t partner = row == 0 ? 3 : row == 3 ? 1 : row - 1;

        if (row == 2) {
            T_TRUE(is_zero(label, 8 * sizeof(float)));
            T_TRUE(is_zero(column_row(&run, "image", row), SIDE * SIDE * 3));
            continue;
        }
        for (uint32_t c = 0; c < 8; c++) {
            T_TRUE((label[c] > 0) == (c == row || c == partner));
        }
    }
    close_run(&run);
}

static void labels_out_of_range_are_bad_samples(void)
{
    tape t = mixed_tape("synthetic 8 4,4,3 9 | batch 4 | cutmix 5", &(run_options){.workers = 1});

    T_STATUS(t.end, SLUICE_E_CORRUPT);
    T_CONTAINS(t.error, "cutmix: ");
    T_CONTAINS(t.error, "label is 5, and must be from 0 to 4");
    free(t.bytes);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void wrong_positions_and_arguments_are_refused(void)
{
    static const refused_case cases[] = {
        {"synthetic 8 4,4,3 | mixup 10 | batch 4",
         "mixup works on whole batches; it must come after batch"},
        {"synthetic 8 4,4,3 | batch 4 | mixup", "mixup: label label is a class number: classes="},
        {"synthetic 8 4,4,3 | batch 4 | mixup", "or put one_hot label CLASSES before batch"},
        {"synthetic 8 4,4,3 | batch 4 | mixup 10 0", "alpha=0 must be from 1e-06 to 1000000"},
        {"synthetic 8 4,4,3 | batch 4 | cutmix 10 label=y", "cutmix: there is no column 'y'"},
        {"synthetic 8 4,4,3 | batch 4 | cutmix 10 label=image", "cutmix: label image is u8"},
        {"synthetic 8 4,4,3 | project label | batch 4 | mixup 10", "mixup: there is no image"},
        {"synthetic 8 4,4,3 | one_hot label 10 | batch 4 | mixup 9",
         "mixup: classes=9, and label label has 10 values; leave classes out"},
        {"synthetic 8 4,4,3 | cast label f32 | batch 4 | mixup 9",
         "must be one integer, or a vector"},
        {"synthetic 8 4,4,3 | batch 4 | MixUp num_classes=9", "MixUp is called mixup here"},
        {"synthetic 8 4,4,3 | batch 4 | mixup num_classes=9", "num_classes is called classes here"},
        {"synthetic 8 4,4,3 | batch 4 | mixup 10 | shuffle",
         "shuffle must come before batch, which is the last stage"},
    };

    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_refused(cases[i].text, cases[i].words);
    }
}

static void masks_are_refused(void)
{
    const char *folder = t_folder();
    char text[400];

    write_pair(folder, "a.ppm", "a.pgm");
    write_list(folder, "list.tsv", "image:image\tarea:mask\tlabel:i64\na.ppm\ta.pgm\t1\n");
    snprintf(text, sizeof(text), "image_list %s/list.tsv | decode | batch 1 | cutmix 3", folder);
    check_refused(text,
                  "cutmix: column area is a mask, which cannot be mixed; drop it before batch");
}

static sluice_status give_nothing(sluice_sample *sample, void *user)
{
    (void)sample;
    (void)user;
    return SLUICE_OK;
}

/* One box would not fit into both. */
static void cutmix_wants_images_of_one_size(void)
{
    static const char *const inputs[] = {"image"};
    static const sluice_column_spec small[] = {{.name = "small",
                                                .dtype = SLUICE_U8,
                                                .rank = 3,
                                                .shape = {4, 2, 3},
                                                .role = SLUICE_ROLE_IMAGE}};
    sluice_dataset *dataset = parsed("synthetic 8 4,4,3");
    sluice_map map;

    sluice_map_init(&map);
    map.name = "thumbnail";
    map.inputs = inputs;
    map.input_count = 1;
    map.outputs = small;
    map.output_count = 1;
    map.map = give_nothing;
    T_OK(sluice_dataset_map(dataset, &map));
    T_OK(sluice_dataset_add(dataset, "batch 4"));
    T_STATUS(sluice_dataset_add(dataset, "cutmix 10"), SLUICE_E_INVALID);
    T_CONTAINS(
        sluice_last_error(),
        "cutmix: image small has 2x4 pixels, and an earlier one 4x4; the sizes must be equal");
    sluice_dataset_destroy(dataset);
}

const t_test mixes_tests[] = {
    T_TEST(mixup_blends_each_row_with_the_row_before),
    T_TEST(blending_gives_equal_bits_for_every_length),
    T_TEST(cutmix_pastes_a_box_of_the_row_before),
    T_TEST(the_box_is_that_of_torchvision),
    T_TEST(draws_depend_on_seed_and_position_alone),
    T_TEST(each_batch_has_a_lambda_of_its_own),
    T_TEST(vectors_of_one_hot_are_blended),
    T_TEST(bad_samples_are_no_partners),
    T_TEST(labels_out_of_range_are_bad_samples),
    T_TEST(wrong_positions_and_arguments_are_refused),
    T_TEST(masks_are_refused),
    T_TEST(cutmix_wants_images_of_one_size),
    T_END,
};
