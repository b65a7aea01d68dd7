/* SPDX-License-Identifier: Apache-2.0 */
/* one_hot, cast, pad and truncate: columns that are computed anew. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <sluice/arrays.h>
#include <sluice/sampling.h>

#include "dataset_kit.h"
#include "document_kit.h"
#include "list_kit.h"
#include "operators/array/array_values.h"
#include "testing.h"

/* A column `x` of `count` samples. */
static sluice_dataset *array_dataset(sluice_dtype dtype, const void *data, uint64_t count,
                                     uint64_t width)
{
    const sluice_array array = {"x", data, dtype, width > 1 ? 2 : 1, {count, width}};
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_memory(&array, 1, &dataset));
    return dataset;
}

static void one_hot_is_one_at_the_class(void)
{
    static const int64_t classes[] = {2, 0, 3};
    sluice_dataset *dataset = array_dataset(SLUICE_I64, classes, 3, 1);
    engine_run run;

    T_OK(sluice_dataset_add(dataset, "one_hot x 4 | batch 3"));
    open_own(&run, dataset, &(run_options){.workers = 2});
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 3; row++) {
        const float *vector = column_row(&run, "x", row);

        for (int i = 0; i < 4; i++) {
            T_TRUE(vector[i] == (i == classes[row] ? 1.0F : 0.0F));
        }
    }
    close_run(&run);
}

static void labels_are_smoothed(void)
{
    static const uint8_t class = 1;
    sluice_dataset *dataset = array_dataset(SLUICE_U8, &class, 1, 1);
    float vector[5];

    T_OK(sluice_dataset_add(dataset, "one_hot x 5 smoothing=0.1 | batch 1"));
    T_OK(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){vector}, NULL));
    for (int i = 0; i < 5; i++) {
        T_TRUE(vector[i] == (i == 1 ? 0.92F : 0.02F));
    }
    sluice_dataset_destroy(dataset);
}

static void casts_are_those_of_c(void)
{
    static const int32_t integers[] = {-7, 16777217};
    static const float floats[] = {2.9F, -2.9F};
    sluice_dataset *dataset = array_dataset(SLUICE_I32, integers, 1, 2);
    float f32[2];
    int64_t i64[2];
    int8_t i8[2];

    T_OK(sluice_dataset_add(dataset, "cast x f32 | batch 1"));
    T_OK(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){f32}, NULL));
    T_TRUE(f32[0] == -7 && f32[1] == 16777216);
    sluice_dataset_destroy(dataset);
    dataset = array_dataset(SLUICE_I32, integers, 1, 2);
    T_OK(sluice_dataset_add(dataset, "cast x i64 | batch 1"));
    T_OK(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){i64}, NULL));
    T_TRUE(i64[0] == -7 && i64[1] == 16777217);
    sluice_dataset_destroy(dataset);
    dataset = array_dataset(SLUICE_F32, floats, 1, 2);
    T_OK(sluice_dataset_add(dataset, "cast x bf16 | cast x f32 | cast x i8 | batch 1"));
    T_OK(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){i8}, NULL));
    T_TRUE(i8[0] == 2 && i8[1] == -2);
    sluice_dataset_destroy(dataset);
}

/* Of a long array the first number is named that the type cannot represent; NaN, infinities and
 * what rounds to the largest number are represented. */
static void floats_that_round_to_infinities_are_named(void)
{
    enum { COUNT = 1000 };
    static float numbers[COUNT];
    static uint16_t halves[COUNT];

    for (int i = 0; i < COUNT; i++) {
        numbers[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? -INFINITY : 65519;
    }
    T_EQ(array_convert(SLUICE_F32, numbers, SLUICE_F16, halves, COUNT), COUNT);
    T_TRUE((halves[0] & 0x7FFF) > 0x7C00 && halves[1] == 0xFC00 && halves[2] == 0x7BFF);
    T_EQ(array_convert(SLUICE_F32, numbers, SLUICE_BF16, halves, COUNT), COUNT);
    T_EQ(array_convert(SLUICE_F32, numbers + 1, SLUICE_I32, (int32_t[COUNT]){0}, 1), 0);
    numbers[999] = 65520;
    T_EQ(array_convert(SLUICE_F32, numbers, SLUICE_F16, halves, COUNT), 999);
    numbers[300] = -1e9F;
    T_EQ(array_convert(SLUICE_F32, numbers, SLUICE_F16, halves, COUNT), 300);
    numbers[255] = FLT_MAX;
    T_EQ(array_convert(SLUICE_F32, numbers, SLUICE_BF16, halves, COUNT), 255);
}

/* Each pair of types, at the ends of both: what the new type represents goes through it and back.
 */
static void numbers_go_through_types_that_represent_them(void)
{
    static const sluice_dtype types[] = {SLUICE_U8,  SLUICE_I8,  SLUICE_U16,
                                         SLUICE_I32, SLUICE_U32, SLUICE_I16};
    static const int64_t low[] = {0, INT8_MIN, 0, INT32_MIN, 0, INT16_MIN};
    static const int64_t high[] = {UINT8_MAX, INT8_MAX,   UINT16_MAX,
                                   INT32_MAX, UINT32_MAX, INT16_MAX};

    for (size_t a = 0; a < 6; a++) {
        for (size_t k = 0; k < 4; k++) {
            const int64_t number = k < 2 ? low[a] - (int64_t)k : high[a] + (int64_t)k - 2;
            const bool fits = k == 0 || k == 2;
            const float real = (float)number;
            const bool is_exact = (int64_t)real == number;
            int64_t there = 0;
            int64_t back = 0;

            T_EQ(array_convert(SLUICE_I64, &number, types[a], &there, 1), fits ? 1 : 0);
            if (fits) {
                T_EQ(array_convert(types[a], &there, SLUICE_I64, &back, 1), 1);
                T_EQ(back, number);
            }
            if (is_exact) {
                T_EQ(array_convert(SLUICE_F32, &real, types[a], &there, 1), fits ? 1 : 0);
            }
        }
    }
}

/* The values of u64 and f64 that no other type has, each way. */
static void numbers_of_64_bits_are_exact(void)
{
    static const uint64_t large[] = {UINT64_MAX, UINT64_C(1) << 63, INT64_MAX};
    static const double reals[] = {0x1p63,      -0.5, 0x1p64,       -1,
                                   (double)NAN, 1e39, 0x1.000001p0, -0x1p63};
    uint64_t u64[5];
    double f64[3];
    float f32[3];
    int64_t i64[3];

    T_EQ(array_convert(SLUICE_U64, large, SLUICE_I64, i64, 3), 0);
    T_EQ(array_convert(SLUICE_U64, large + 2, SLUICE_I64, i64, 1), 1);
    T_EQ(i64[0], INT64_MAX);
    T_EQ(array_convert(SLUICE_U64, large, SLUICE_F64, f64, 3), 3);
    T_TRUE(f64[0] == 0x1p64 && f64[1] == 0x1p63 && f64[2] == 0x1p63);
    T_EQ(array_convert(SLUICE_U64, large, SLUICE_F32, f32, 2), 2);
    T_TRUE(f32[0] == 0x1p64F && f32[1] == 0x1p63F);
    T_EQ(array_convert(SLUICE_U64, large, SLUICE_F16, u64, 3), 0);
    i64[1] = -1;
    T_EQ(array_convert(SLUICE_I64, i64, SLUICE_U64, u64, 2), 1);
    T_EQ(u64[0], INT64_MAX);
    T_EQ(array_convert(SLUICE_F64, reals, SLUICE_U64, u64, 5), 2);
    T_TRUE(u64[0] == UINT64_C(1) << 63 && u64[1] == 0);
    T_EQ(array_convert(SLUICE_F64, reals + 3, SLUICE_U64, u64, 1), 0);
    T_EQ(array_convert(SLUICE_F32, (const float[]){0x1p63F, -1}, SLUICE_U64, u64, 2), 1);
    T_EQ(u64[0], UINT64_C(1) << 63);
    T_EQ(array_convert(SLUICE_F64, reals, SLUICE_I64, i64, 1), 0);
    T_EQ(array_convert(SLUICE_F64, reals + 7, SLUICE_I64, i64, 1), 1);
    T_EQ(i64[0], INT64_MIN);
    T_EQ(array_convert(SLUICE_F64, reals + 4, SLUICE_F32, f32, 3), 1); /* 1e39 */
    T_EQ(array_convert(SLUICE_F64, reals + 6, SLUICE_F32, f32, 1), 1);
    T_TRUE(f32[0] == 1);
    T_TRUE(array_store_real(SLUICE_F64, f64, 1, 0.1) && f64[1] == 0.1);
    T_TRUE(array_store_real(SLUICE_U64, u64, 1, 0x1p63) && u64[1] == UINT64_C(1) << 63);
    T_TRUE(!array_store_real(SLUICE_U64, u64, 1, -1) && !array_store_real(SLUICE_U64, u64, 1, 0.5));
}

/* normalize and to_dtype know all values when the dataset is opened: those of 256 bytes. */
static void image_values_that_the_type_cannot_represent_are_refused(void)
{
    static const char *const bad[] = {
        "normalize 0.5 0.000001 dtype=f16 | batch 1",
        "normalize 0.5 0.000001 dtype=f16 | to_chw offload=device | batch 1",
        "normalize 0 0.00001 | to_dtype f16 | batch 1",
    };
    static const char *const good[] = {"normalize 0.5 0.00002 dtype=f16 | batch 1",
                                       "normalize 0.5 0.000001 dtype=bf16 | batch 1",
                                       "normalize 0.5 0.000001 | batch 1"};
    char *explanation = NULL;
    sluice_dataset *dataset;
    char text[200];

    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", bad[i]);
        dataset = parsed(text);
        T_STATUS(sluice_dataset_explain(dataset, &explanation), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "a byte of 255 becomes");
        T_CONTAINS(sluice_last_error(), "cannot be represented as f16; is a std too small?");
        sluice_dataset_destroy(dataset);
        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", good[i]);
        dataset = parsed(text);
        T_OK(sluice_dataset_explain(dataset, &explanation));
        sluice_string_free(explanation);
        sluice_dataset_destroy(dataset);
    }
}

static void every_cast_keeps_small_numbers(void)
{
    static const sluice_dtype types[] = {SLUICE_U8,   SLUICE_I8,  SLUICE_U16, SLUICE_I32,
                                         SLUICE_U32,  SLUICE_I64, SLUICE_F16, SLUICE_F32,
                                         SLUICE_BF16, SLUICE_I16, SLUICE_U64, SLUICE_F64};
    static const int32_t numbers[3] = {0, 1, 100};

    for (size_t a = 0; a < 12; a++) {
        for (size_t b = 0; b < 12; b++) {
            sluice_dataset *dataset = array_dataset(SLUICE_I32, numbers, 1, 3);
            int32_t got[3] = {-1, -1, -1};

            T_OK(sluice_dataset_addf(dataset, "cast x %s | cast x %s | cast x i32 | batch 1",
                                     sluice_dtype_name(types[a]), sluice_dtype_name(types[b])));
            T_OK(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){got}, NULL));
            T_EQ(memcmp(got, numbers, sizeof(got)), 0);
            sluice_dataset_destroy(dataset);
        }
    }
}

static void values_without_a_place_are_bad_samples(void)
{
    static const float not_a_number[] = {NAN, INFINITY, 1e30F, 70000};
    static const float halves[] = {79998, -65520, 3.4e38F};
    static const int32_t large_half[] = {65520};
    static const int32_t negative[] = {-1};
    static const int32_t large[] = {10};
    static const double real[] = {1e300};
    static const uint64_t largest[] = {UINT64_MAX};
    const struct {
        sluice_dtype dtype;
        const void *data;
        const char *stage;
        const char *words;
    } cases[] = {
        {SLUICE_F32, &not_a_number[0], "cast x i32", "cast: sample 0, memory/0: x: element 0"},
        {SLUICE_F32, &not_a_number[1], "cast x i64", "the value inf cannot be represented as i64"},
        {SLUICE_F32, &not_a_number[2], "cast x i64", " cannot be represented as i64"},
        {SLUICE_F32, &not_a_number[3], "cast x u16",
         "the value 70000 cannot be represented as u16"},
        {SLUICE_I32, negative, "cast x u32", "the value -1 cannot be represented as u32"},
        {SLUICE_F32, &halves[0], "cast x f16", "the value 79998 cannot be represented as f16"},
        {SLUICE_F32, &halves[1], "cast x f16", "the value -65520 cannot be represented as f16"},
        {SLUICE_F32, &halves[2], "cast x bf16", " cannot be represented as bf16"},
        {SLUICE_I32, large_half, "cast x f16", "the value 65520 cannot be represented as f16"},
        {SLUICE_I32, negative, "one_hot x 10",
         "one_hot: sample 0, memory/0: x is -1, and must be from 0 to 9"},
        {SLUICE_I32, large, "one_hot x 10", "x is 10, and must be from 0 to 9"},
        {SLUICE_F64, real, "cast x f32",
         "the value 1.0000000000000001e+300 cannot be represented as f32"},
        {SLUICE_U64, largest, "cast x i64", "the value 18446744073709551615 cannot be represented"},
        {SLUICE_U64, largest, "one_hot x 10", "x is 18446744073709551615, and must be from 0"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = array_dataset(cases[i].dtype, cases[i].data, 1, 1);
        float room[10];

        T_OK(sluice_dataset_add(dataset, cases[i].stage));
        T_OK(sluice_dataset_add(dataset, "batch 1"));
        T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, (void *const[]){room}, NULL),
                 SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), cases[i].words);
        sluice_dataset_destroy(dataset);
    }
}

static void columns_of_images_are_refused(void)
{
    static const refused_case bad[] = {
        {"cast image f32", "cast: image is an image, or follows it"},
        {"cast mask i32", "cast: mask is an image, or follows it"},
        {"one_hot boxes 4", "one_hot: boxes is an image, or follows it"},
        {"one_hot c 4 | one_hot c 3",
         "one_hot: c is f32 with 2 dimensions, and must be one integer"},
        {"drop boxes | one_hot c 4", "one_hot: c belongs to boxes or points that were dropped"},
        {"cast label f32 | one_hot label 3", "one_hot: label is f32 with 0 dimensions"},
        {"one_hot lable 3", "one_hot: there is no column 'lable'; there are image"},
        {"one_hot label 0", "classes"},
        {"one_hot label 3 smoothing=2", "smoothing"},
        {"pad mask to=100", "pad: mask is an image, or follows it"},
        {"pad boxes 100", "pad: boxes is an image, or follows it"},
        {"pad label 4", "pad: label is one number, and must be an array"},
        {"pad 4 4", "pad 4: the name of a column must come first"},
        {"pad lable 4", "pad: there is no column 'lable'"},
        {"pad c 0", "to"},
        {"pad c 4 value=1.5", "pad: value=1.5 cannot be represented as i32, the type of c"},
        {"pad c 4 value=3e9", "cannot be represented as i32"},
        {"cast c u8 | pad c 4 value=-1", "cannot be represented as u8"},
        {"cast c f16 | pad c 4 value=70000", "cannot be represented as f16"},
        {"cast c f32 | pad c 4 value=1e39", "cannot be represented as f32"},
        {"one_hot label 5 | pad label 4", "pad: label has 5 rows, more than to=4; truncate it"},
        {"drop boxes | pad c 4", "pad: c belongs to boxes or points that were dropped"},
        {"truncate c 2", "truncate: c has one row for each box"},
        {"truncate image 2", "truncate: image is an image, or follows it"},
        {"truncate label 2", "truncate: label is one number, and must be an array"},
        {"truncate label", "to"},
    };

    check_refused_stages(decoded_list, bad, sizeof(bad) / sizeof(bad[0]));
}

/* Beside an image on its way to the device, and behind boxes that were dropped. */
static void other_columns_do_not_change(void)
{
    const char *folder = t_folder();
    engine_run run;
    const int64_t *classes;

    write_pair(folder, "a.ppm", "m.pgm");
    open_own(&run,
             list_dataset(folder, LIST_OF_BOXES,
                          "| cast c i64 | decode | center_crop 20 | one_hot label 2 | normalize "
                          "0.5 0.5 offload=device | batch 1"),
             &(run_options){.workers = 1, .device = "host:0,copy=1"});
    T_OK(next_batch(&run));
    classes = column_row(&run, "c", 0);
    T_TRUE(classes[0] == 2 && classes[1] == 0 && classes[2] == 0);
    T_TRUE(((const float *)column_row(&run, "label", 0))[0] == 1);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
    close_run(&run);
}

/* ---- pad and truncate ------------------------------------------------------------------------ */

/* Documents of up to 23 tokens, with stages: `rows` rows, at most `most` of them real, then
 * `value`. */
static void check_documents(const char *stages, uint32_t rows, uint32_t most, uint16_t value)
{
    for (uint32_t workers = 1; workers < 4; workers += 2) {
        sluice_dataset *dataset = document_dataset();
        engine_run run;

        T_OK(sluice_dataset_add(dataset, stages));
        T_OK(sluice_dataset_add(dataset, "batch 20"));
        open_own(&run, dataset, &(run_options){.workers = workers});
        T_OK(next_batch(&run));
        for (uint32_t row = 0; row < 20; row++) {
            const uint16_t *tokens = column_row(&run, "tokens", row);
            const uint32_t length = document_length(row) < most ? document_length(row) : most;

            T_EQ(*(const int32_t *)column_row(&run, "tokens_length", row), (int32_t)length);
            for (uint32_t i = 0; i < rows; i++) {
                T_EQ(tokens[i], i < length ? document_token(row, i) : value);
            }
        }
        T_EQ(row_bytes(&run, (uint32_t)sli_layout_find(&run.layout, "tokens")), rows * 2);
        close_run(&run);
    }
}

static void ragged_arrays_are_padded_and_truncated(void)
{
    check_documents("pad tokens to=30 value=65535", 30, DOCUMENT_MOST, 65535);
    check_documents("truncate tokens 7", 7, 7, 0);
    check_documents("truncate tokens 7 | pad tokens 9 value=5", 9, 7, 5);
    check_documents("truncate tokens 200", DOCUMENT_MOST, DOCUMENT_MOST, 0);
    check_documents("pad tokens 40 value=3 | truncate tokens 30", 30, DOCUMENT_MOST, 3);
}

/* The same batches, whatever became of the length's column, which is renamed back at the end. */
static void a_length_of_another_name_or_type_still_counts(void)
{
    check_documents("rename tokens_length n | pad tokens 30 value=9 | rename n tokens_length", 30,
                    DOCUMENT_MOST, 9);
    check_documents("rename tokens_length n | truncate tokens 7 | pad tokens 9 value=5 | rename n "
                    "tokens_length",
                    9, 7, 5);
    check_documents("cast tokens_length i64 | pad tokens 30 value=9 | cast tokens_length i32", 30,
                    DOCUMENT_MOST, 9);
    check_documents("rename tokens_length n | rename tokens t | rename n m | pad t 30 value=9 | "
                    "rename t tokens | rename m tokens_length",
                    30, DOCUMENT_MOST, 9);
}

/* The windows of a pass with these stages before pack. */
static tape windows_after(const char *stages)
{
    sluice_dataset *dataset = document_dataset();
    tape t;

    T_OK(sluice_dataset_add(dataset, stages));
    T_OK(sluice_dataset_add(dataset, "pack tokens 9 | batch 2"));
    t = record_own(dataset, &(run_options){.workers = 2, .passes = 1, .batches = UINT64_MAX});
    T_EQ(t.end, SLUICE_END_OF_DATA);
    return t;
}

static void pack_takes_no_padding_for_tokens(void)
{
    static const char *const stages[] = {"rename tokens_length n", "cast tokens_length i64",
                                         "rename tokens_length n | rename label tokens_length"};
    const tape want = windows_after("skip 0");

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        tape got = windows_after(stages[i]);

        check_equal_tapes(&got, &want, stages[i]);
        free(got.bytes);
    }
    free(want.bytes);
}

/* Windows of two parts of a concat. */
static tape windows_of_parts(const char *stages)
{
    sluice_dataset *parts[] = {document_dataset(), document_dataset()};
    sluice_dataset *dataset = NULL;
    tape t;

    for (int i = 0; i < 2; i++) {
        T_OK(sluice_dataset_add(parts[i], stages));
    }
    T_OK(sluice_dataset_concat(parts, 2, &dataset));
    T_OK(sluice_dataset_add(dataset, "pack tokens 9 | batch 2"));
    t = record_own(dataset, &(run_options){.workers = 2, .passes = 1, .batches = UINT64_MAX});
    T_EQ(t.end, SLUICE_END_OF_DATA);
    return t;
}

static void parts_of_a_group_keep_their_lengths(void)
{
    const tape want = windows_of_parts("skip 1");
    tape got = windows_of_parts("skip 1 | rename tokens_length n | project n,label,tokens");

    check_equal_tapes(&got, &want, "concat");
    free(got.bytes);
    free(want.bytes);
}

static void a_length_that_was_changed_is_not_truncated(void)
{
    static const char *const stages[] = {"cast tokens_length i64 | truncate tokens 7",
                                         "rename tokens_length n | drop n | truncate tokens 7"};

    for (size_t i = 0; i < 2; i++) {
        sluice_dataset *dataset = document_dataset();

        T_STATUS(sluice_dataset_add(dataset, stages[i]), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "truncate: the column of the length of tokens was changed "
                                        "or dropped by an earlier stage; put truncate before it");
        sluice_dataset_destroy(dataset);
    }
}

static void a_length_is_truncated_without_its_column(void)
{
    sluice_dataset *dataset = document_dataset();
    engine_run run;

    T_OK(sluice_dataset_add(dataset, "truncate tokens 7 | project tokens_length | batch 20"));
    open_own(&run, dataset, &(run_options){.workers = 2});
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 20; row++) {
        T_EQ(*(const int32_t *)column_row(&run, "tokens_length", row),
             document_length(row) < 7 ? (int32_t)document_length(row) : 7);
    }
    close_run(&run);
}

static void documents_are_truncated_before_pack(void)
{
    sluice_dataset *dataset = document_dataset();
    const uint16_t *tokens;
    engine_run run;
    uint32_t at = 0;

    T_OK(sluice_dataset_add(dataset, "truncate tokens 3 | pack tokens seq=9 | batch 1"));
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    tokens = column_row(&run, "tokens", 0);
    for (uint64_t sample = 0; at < 9; sample++) {
        for (uint32_t i = 0; i < document_length(sample) && i < 3 && at < 9; i++) {
            T_EQ(tokens[at++], document_token(sample, i));
        }
    }
    close_run(&run);
}

static void more_rows_than_pad_allows_are_a_bad_sample(void)
{
    sluice_dataset *dataset = document_dataset();
    tape got;

    T_OK(sluice_dataset_add(dataset, "pad tokens 22 | batch 1"));
    got = record_own(dataset, &(run_options){.workers = 1});
    T_TRUE(got.end < 0);
    T_CONTAINS(got.error, "pad: sample ");
    T_CONTAINS(got.error, "tokens has 23 rows, more than to=22; put `truncate tokens to=22`");
    free(got.bytes);
}

static void arrays_of_one_length_are_padded_and_truncated(void)
{
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    static const float want[2][4] = {{1, 2, -1.5F, -1.5F}, {4, 5, -1.5F, -1.5F}};
    sluice_dataset *dataset = array_dataset(SLUICE_F32, values, 2, 3);
    engine_run run;

    T_OK(sluice_dataset_add(dataset, "truncate x 2 | pad x 4 value=-1.5 | batch 2"));
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(memcmp(column_row(&run, "x", 0), want[0], sizeof(want[0])), 0);
    T_EQ(memcmp(column_row(&run, "x", 1), want[1], sizeof(want[1])), 0);
    close_run(&run);
}

/* A column of boxes has the length of the boxes that are left, also after a cast. */
static void columns_of_boxes_are_padded(void)
{
    engine_run run;
    const int64_t *classes;

    open_list(&run, LIST_OF_BOXES, "decode", "center_crop 20 | cast c i64 | pad c 5 value=-1", 0);
    classes = column_row(&run, "c", 0);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
    T_EQ(classes[0], 2);
    for (int i = 1; i < 5; i++) {
        T_EQ(classes[i], -1);
    }
    close_run(&run);
}

const t_test array_stages_tests[] = {
    T_TEST(one_hot_is_one_at_the_class),
    T_TEST(labels_are_smoothed),
    T_TEST(casts_are_those_of_c),
    T_TEST(floats_that_round_to_infinities_are_named),
    T_TEST(numbers_go_through_types_that_represent_them),
    T_TEST(numbers_of_64_bits_are_exact),
    T_TEST(image_values_that_the_type_cannot_represent_are_refused),
    T_TEST(every_cast_keeps_small_numbers),
    T_TEST(values_without_a_place_are_bad_samples),
    T_TEST(columns_of_images_are_refused),
    T_TEST(other_columns_do_not_change),
    T_TEST(ragged_arrays_are_padded_and_truncated),
    T_TEST(a_length_of_another_name_or_type_still_counts),
    T_TEST(pack_takes_no_padding_for_tokens),
    T_TEST(parts_of_a_group_keep_their_lengths),
    T_TEST(a_length_that_was_changed_is_not_truncated),
    T_TEST(a_length_is_truncated_without_its_column),
    T_TEST(documents_are_truncated_before_pack),
    T_TEST(more_rows_than_pad_allows_are_a_bad_sample),
    T_TEST(arrays_of_one_length_are_padded_and_truncated),
    T_TEST(columns_of_boxes_are_padded),
    T_END,
};
