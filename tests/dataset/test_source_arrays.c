/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of arrays: npy and memory. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/arrays.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "npy_kit.h"
#include "source_kit.h"
#include "testing.h"

enum { SAMPLES = 20, SIDE_H = 5, SIDE_W = 7, PIXELS = SIDE_H * SIDE_W * 3 };

/* Three columns of which each row tells its number. */
static struct arrays {
    float points[SAMPLES][3];
    int64_t numbers[SAMPLES];
    uint8_t images[SAMPLES][PIXELS];
} arrays;

static void fill_arrays(void)
{
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < 3; k++) {
            arrays.points[i][k] = (float)(i * 10 + k);
        }
        arrays.numbers[i] = (int64_t)i << 40;
        for (int k = 0; k < PIXELS; k++) {
            arrays.images[i][k] = (uint8_t)(i * 11 + k);
        }
    }
}

static void write_arrays(const char *folder)
{
    fill_arrays();
    npy_write(folder, "points.npy", "<f4", "(20, 3)", arrays.points, sizeof(arrays.points));
    npy_write(folder, "numbers.npy", "<i8", "(20,)", arrays.numbers, sizeof(arrays.numbers));
    npy_write(folder, "image.npy", "|u1", "(20, 5, 7, 3)", arrays.images, sizeof(arrays.images));
}

static sluice_dataset *memory_dataset(void)
{
    const sluice_array of[] = {
        {"points", arrays.points, SLUICE_F32, 2, {SAMPLES, 3}},
        {"numbers", arrays.numbers, SLUICE_I64, 1, {SAMPLES}},
        {"image", arrays.images, SLUICE_U8, 4, {SAMPLES, SIDE_H, SIDE_W, 3}},
    };
    sluice_dataset *dataset = NULL;

    fill_arrays();
    T_OK(sluice_dataset_memory(of, 3, &dataset));
    return dataset;
}

static int find_column(const engine_run *run, const char *name)
{
    int i = sli_layout_find(&run->layout, name);

    T_TRUE(i >= 0);
    return i;
}

/* Runs a pass, and checks that each sample comes once, its rows together. */
static void check_rows(sluice_dataset *dataset, uint32_t workers, bool has_image)
{
    engine_run run;
    uint64_t seen[SAMPLES] = {0};
    bool in_order = true;
    uint64_t last = 0;

    open_run(&run, dataset, &(run_options){.workers = workers});
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < 4; row++) {
            const int64_t number =
                *(const int64_t *)row_of(&run, (uint32_t)find_column(&run, "numbers"), row);
            const uint64_t i = (uint64_t)number >> 40;

            T_TRUE(i < SAMPLES && number == arrays.numbers[i]);
            T_EQ(memcmp(row_of(&run, (uint32_t)find_column(&run, "points"), row), arrays.points[i],
                        sizeof(arrays.points[i])),
                 0);
            T_TRUE(!has_image || memcmp(row_of(&run, (uint32_t)find_column(&run, "image"), row),
                                        arrays.images[i], PIXELS) == 0);
            in_order = in_order && (i == 0 || i == last + 1);
            last = i;
            seen[i]++;
        }
    }
    close_run(&run);
    for (int i = 0; i < SAMPLES; i++) {
        T_EQ(seen[i], 1);
    }
    T_TRUE(!in_order);
    sluice_dataset_destroy(dataset);
}

static sluice_dataset *with(sluice_dataset *dataset, const char *stages)
{
    T_OK(sluice_dataset_add(dataset, stages));
    return dataset;
}

static void rows_of_all_arrays_stay_together(void)
{
    const char *folder = t_folder();
    char text[800];

    write_arrays(folder);
    snprintf(text, sizeof(text), "npy %s/points.npy,%s/numbers.npy | shuffle 3 | batch 4", folder,
             folder);
    check_rows(parsed(text), 1, false);
    snprintf(text, sizeof(text), "npy %s | shuffle 3 | batch 4", folder);
    check_rows(parsed(text), 3, true);
    check_rows(with(memory_dataset(), "shuffle 3 | batch 4"), 2, true);
}

/* The two sources give the same bytes, through every kind of transform. */
static void images_in_arrays_take_transforms(void)
{
    const char *folder = t_folder();
    const char *stages = "shuffle 1 | resize 12,14 | random_crop 8 | random_horizontal_flip | "
                         "normalize imagenet | to_chw | batch 4";
    sluice_dataset *files;
    sluice_dataset *memory;
    tape a;
    tape b;

    write_arrays(folder);
    files = parsedf("npy %s/points.npy,%s/numbers.npy,%s/image.npy | %s", folder, folder, folder,
                    stages);
    memory = with(memory_dataset(), stages);
    a = record(files, &(run_options){.workers = 2});
    b = record(memory, &(run_options){.workers = 1});
    T_EQ(a.batches, 5);
    T_TRUE(a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0);
    free(a.bytes);
    free(b.bytes);
    sluice_dataset_destroy(files);
    sluice_dataset_destroy(memory);
}

static void columns_have_the_types_and_names_of_the_files(void)
{
    const char *folder = t_folder();
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    sluice_dataset *dataset = NULL;
    char files[900];

    write_arrays(folder);
    snprintf(files, sizeof(files), "%s/image.npy,%s/n{umbers..umbers}.npy", folder, folder);
    T_STATUS(sluice_dataset_parsef(&dataset, "npy %s", files), SLUICE_E_INVALID); /* no range */
    snprintf(files, sizeof(files), "%s/image.npy,%s/numb*.npy", folder, folder);
    T_OK(sluice_dataset_parsef(&dataset, "npy %s names=picture,label | batch 4", files));
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_TRUE(info.samples == SAMPLES && info.column_count == 2);
    T_STR(info.columns[0].name, "picture");
    T_TRUE(info.columns[0].rank == 3 && info.columns[0].shape[2] == 3);
    T_STR(info.columns[1].name, "label");
    T_TRUE(info.columns[1].rank == 0 && info.columns[1].dtype == SLUICE_I64);
    T_STR(name_of(dataset, 7), "picture:7");
    sluice_dataset_destroy(dataset);
}

static void without_an_image_transforms_are_refused(void)
{
    static const char *const stages[] = {
        "resize 8",     "center_crop 4", "random_horizontal_flip", "normalize imagenet", "to_chw",
        "to_dtype f32", "decode",        "random_resized_crop 4",
    };
    const char *folder = t_folder();

    write_arrays(folder);
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        char text[400];

        snprintf(text, sizeof(text), "npy %s/points.npy | %s | batch 2", folder, stages[i]);
        check_refused(text, "image");
    }
}

/* Images of arrays without channels, or of another type: stages say how to get an image. */
static void arrays_of_images_are_named_with_the_way_to_an_image(void)
{
    static const char *const stages[] = {
        "resize 8",     "center_crop 4", "random_horizontal_flip", "normalize imagenet", "to_chw",
        "to_dtype f32", "decode",        "color_jitter 0.4",       "geometry",           "device",
    };
    static const struct {
        const char *descr;
        const char *shape;
        const char *words;
    } files[] = {
        {"|u1", "(2, 5, 7)",
         ": there is no image; after the source, `column image role=image` makes image the image, "
         "which is u8 (5, 7)"},
        {"<f4", "(2, 5, 7, 3)",
         "`column image role=image` makes image the image, which is f32 (5, 7, 3)"},
        {"<i4", "(2, 5, 7, 3)", "image is i32 (5, 7, 3) and must be u8, u16 or f32 (height, width"},
        {"|u1", "(2, 3, 5, 7)", "image is u8 (3, 5, 7) and must be u8, u16 or f32 (height, width"},
    };
    const char *folder = t_folder();

    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
        static const uint8_t zeros[2 * 5 * 7 * 3 * 4];

        npy_write(folder, "image.npy", files[f].descr, files[f].shape, zeros, sizeof(zeros));
        for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
            char text[400];

            snprintf(text, sizeof(text), "npy %s/image.npy | %s | batch 2", folder, stages[i]);
            check_refused(text, files[f].words);
            check_refused(text, "`column image role=image`");
        }
    }
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void check_npy_fails(const char *files, const char *names, sluice_status want,
                            const char *words)
{
    const int before = open_files();
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parsef(&dataset, "npy %s names=%s", files, names != NULL ? names : ""),
             want);
    CU_ASSERT_PTR_NULL(dataset);
    T_CONTAINS(sluice_last_error(), words);
    T_EQ(open_files(), before);
}

/* An error of a file has its own status, and shows the stage as one of the text does. */
static void errors_of_files_show_the_stage(void)
{
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parse("npy /nonexistent/x.npy | batch 4", &dataset), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/x.npy: cannot open");
    T_CONTAINS(sluice_last_error(), "\n    npy /nonexistent/x.npy | batch 4\n    ^");
}

static void bad_files_are_named(void)
{
    const char *folder = t_folder();
    char files[1600] = "";

    write_arrays(folder);
    npy_write(folder, "short.npy", "<f4", "(30, 3)", arrays.points, sizeof(arrays.points));
    npy_write(folder, "ten.npy", "<i8", "(10,)", arrays.numbers, 80);
    npy_write(folder, "none.npy", "<i8", "(0,)", arrays.numbers, 0);
    npy_write(folder, "9-lives.npy", "<i8", "(20,)", arrays.numbers, sizeof(arrays.numbers));
    t_write_file(t_path(folder, "text.npy"), "hello, world, hello", 19);
    T_EQ(mkfifo(t_path(folder, "fifo.npy"), 0600), 0);
    T_EQ(mkdir(t_path(folder, "empty"), 0700), 0);
    check_npy_fails(t_path(folder, "short.npy"), NULL, SLUICE_E_CORRUPT, "short.npy: it has 368");
    check_npy_fails(t_path(folder, "text.npy"), NULL, SLUICE_E_CORRUPT, "not a .npy file");
    check_npy_fails(t_path(folder, "absent.npy"), NULL, SLUICE_E_IO, "absent.npy: cannot open");
    check_npy_fails(t_path(folder, "fifo.npy"), NULL, SLUICE_E_UNSUPPORTED, "fifo.npy");
    check_npy_fails(t_path(folder, "empty"), NULL, SLUICE_E_INVALID, "no *.npy in it");
    check_npy_fails(t_path(folder, "none.npy"), NULL, SLUICE_E_INVALID, "no samples");
    npy_write(folder, "number.npy", "<i8", "()", arrays.numbers, 8);
    check_npy_fails(t_path(folder, "number.npy"), NULL, SLUICE_E_UNSUPPORTED, "a single number");
    npy_write(folder, "empty.npy", "<i8", "(20, 0)", arrays.numbers, 0);
    check_npy_fails(t_path(folder, "empty.npy"), NULL, SLUICE_E_UNSUPPORTED, "no elements");
    check_npy_fails(t_path(folder, "9-lives.npy"), NULL, SLUICE_E_INVALID, "the column name");
    check_npy_fails(t_path(folder, "points.npy"), "a,b", SLUICE_E_INVALID,
                    "names has 2 names, and must have 1, one for each array");
    check_npy_fails(t_path(folder, "points.npy"), "a-name-of-thirty-two-characters!",
                    SLUICE_E_INVALID, "longer than the 31 bytes");
    snprintf(files, sizeof(files), "%s/points.npy,%s/ten.npy", folder, folder);
    check_npy_fails(files, NULL, SLUICE_E_INVALID, "20");
    check_npy_fails(files, NULL, SLUICE_E_INVALID, "ten.npy has 10 samples and points of");
    snprintf(files, sizeof(files), "%s/points.npy,%s/points.npy", folder, folder);
    check_npy_fails(files, NULL, SLUICE_E_INVALID, "two columns have the name points");
    snprintf(files, sizeof(files), "%s/points.npy", folder);
    for (int i = 0; i < 16; i++) {
        const size_t used = strlen(files);

        snprintf(files + used, sizeof(files) - used, ",%s/points.npy", folder);
    }
    check_npy_fails(files, NULL, SLUICE_E_INVALID, "they must be at most 16");
}

/* Files of other programs: any byte order of one byte, lengths of Python 2, all in Fortran order.
 */
static void files_of_other_programs_are_read(void)
{
    static const char *const dicts[] = {
        "{'descr': '<u1', 'fortran_order': False, 'shape': (6, 3), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (6L, 3L)}",
        "{'descr': '<b1', 'fortran_order': False, 'shape': (6, 3)}",
        "{'descr': '|u1', 'fortran_order': True, 'shape': (18,)}",
        "{'descr': '=i8', 'fortran_order': True, 'shape': (2, 1)}",
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(dicts) / sizeof(dicts[0]); i++) {
        sluice_dataset *dataset = NULL;
        uint8_t bytes[1100];
        uint8_t row[8] = {0};
        void *columns[] = {row};
        const size_t head = npy_head(1, dicts[i], bytes);

        for (uint8_t k = 0; k < 18; k++) {
            bytes[head + k] = k;
        }
        t_write_file(t_path(folder, "x.npy"), bytes, head + 18);
        T_OK(sluice_dataset_parsef(&dataset, "npy %s | batch 1", t_path(folder, "x.npy")));
        T_OK(sluice_dataset_get(dataset, 1, 0, 1, columns, NULL));
        T_EQ(row[0], i < 3 ? 3 : i == 3 ? 1 : 8);
        sluice_dataset_destroy(dataset);
    }
}

/* Big-endian elements in Fortran order, which are held in memory; complex numbers. */
static void other_orders_are_read(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    uint8_t bytes[1100] = {0};
    uint16_t row[2];
    double parts[2];
    size_t head = npy_head(1, "{'descr': '>u2', 'fortran_order': True, 'shape': (3, 2)}", bytes);
    const double numbers[4] = {1, -2, 3, 0.5};

    for (uint8_t k = 0; k < 6; k++) {
        bytes[head + 2 * k + 1] = k;
    }
    t_write_file(t_path(folder, "x.npy"), bytes, head + 12);
    dataset = parsedf("npy %s | batch 1", t_path(folder, "x.npy"));
    T_OK(sluice_dataset_get(dataset, 1, 0, 1, (void *const[]){row}, NULL));
    T_TRUE(row[0] == 1 && row[1] == 4);
    sluice_dataset_destroy(dataset);
    npy_write(folder, "c.npy", "<c16", "(2,)", numbers, sizeof(numbers));
    dataset = parsedf("npy %s | batch 1", t_path(folder, "c.npy"));
    T_OK(sluice_dataset_get(dataset, 1, 0, 1, (void *const[]){parts}, NULL));
    T_TRUE(parts[0] == 3 && parts[1] == 0.5);
    sluice_dataset_destroy(dataset);
    npy_write(folder, "c.npy", "<c16", "()", numbers, 16);
    check_npy_fails(t_path(folder, "c.npy"), NULL, SLUICE_E_UNSUPPORTED, "a single number");
}

static void a_file_that_is_cut_off_while_in_use_is_a_bad_sample(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    tape got;

    write_arrays(folder);
    dataset = parsedf("npy %s/points.npy | batch 4", folder);
    T_EQ(truncate(t_path(folder, "points.npy"), 128 + 10 * 12 - 1), 0);
    got = record(dataset, &(run_options){.workers = 2});
    T_EQ(got.end, SLUICE_E_CORRUPT);
    T_EQ(got.batches, 2);
    T_CONTAINS(got.error, "sample 9, points:9: ");
    T_CONTAINS(got.error, "points.npy ends within the sample");
    free(got.bytes);
    got = record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO}});
    T_EQ(got.end, SLUICE_END_OF_DATA);
    T_EQ(got.errors.zeroed, 11);
    free(got.bytes);
    sluice_dataset_destroy(dataset);
}

static void a_column_named_mask_stays(void)
{
    const uint8_t masks[4] = {5, 6, 7, 8};
    const sli_run_settings zero = {.on_error = SLI_ON_ERROR_ZERO};
    sluice_dataset *dataset = NULL;
    engine_run run;

    T_OK(sluice_dataset_memory(&(sluice_array){"mask", masks, SLUICE_U8, 1, {4}}, 1, &dataset));
    T_OK(sluice_dataset_add(dataset, "batch 8"));
    open_own(&run, dataset, &(run_options){.settings = zero});
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 8; row++) {
        T_EQ(*(const uint8_t *)row_of(&run, (uint32_t)find_column(&run, "mask"), row),
             row < 4 ? masks[row] : 0);
        T_EQ(*(const uint8_t *)row_of(&run, (uint32_t)find_column(&run, "valid"), row), row < 4);
    }
    close_run(&run);
}

static void bad_arrays_are_refused(void)
{
    static const float data[12] = {0};
    static const struct {
        sluice_array arrays[2];
        uint32_t count;
        const char *words;
    } bad[] = {
        {{{"x", data, SLUICE_F32, 1, {12}}}, 0, "count is 0, and must be 1 to 16"},
        {{{"x", data, SLUICE_F32, 1, {12}}}, 17, "count is 17, and must be 1 to 16"},
        {{{NULL, data, SLUICE_F32, 1, {12}}}, 1, "name is NULL"},
        {{{"a_name_of_more_than_31_characters", data, SLUICE_F32, 1, {12}}}, 1, "longer than 31"},
        {{{"", data, SLUICE_F32, 1, {12}}}, 1, "the column name"},
        {{{"x.y", data, SLUICE_F32, 1, {12}}}, 1, "the column name"},
        {{{"x", NULL, SLUICE_F32, 1, {12}}}, 1, "data must not be NULL"},
        {{{"x", data, SLUICE_ENCODED, 1, {12}}}, 1, "dtype"},
        {{{"x", data, SLUICE_F32, 0, {12}}}, 1, "rank is 0"},
        {{{"x", data, SLUICE_F32, 8, {12}}}, 1, "rank is 8"},
        {{{"x", data, SLUICE_F32, 1, {0}}}, 1, "no samples"},
        {{{"x", data, SLUICE_F32, 2, {12, 0}}}, 1, "no elements"},
        {{{"x", data, SLUICE_F32, 3, {2, UINT64_MAX / 2, 2}}}, 1, "more than memory"},
        {{{"x", data, SLUICE_F32, 2, {UINT64_MAX / 2, 2}}}, 1, "more than memory"},
        {{{"x", data, SLUICE_F32, 1, {12}}, {"x", data, SLUICE_F32, 1, {12}}}, 2, "two columns"},
        {{{"x", data, SLUICE_F32, 1, {12}}, {"y", data, SLUICE_F32, 1, {11}}}, 2, "y has 11"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset = NULL;

        T_STATUS(sluice_dataset_memory(bad[i].arrays, bad[i].count, &dataset), SLUICE_E_INVALID);
        CU_ASSERT_PTR_NULL(dataset);
        T_CONTAINS(sluice_last_error(), bad[i].words);
    }
    T_STATUS(sluice_dataset_memory(NULL, 1, &(sluice_dataset *){NULL}), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_memory(bad[0].arrays, 1, NULL), SLUICE_E_INVALID);
}

/* The resampler reads past the end of a line: not past the end of the caller's array. */
static void nothing_is_read_past_the_end_of_an_array(void)
{
    enum { COUNT = 30, BYTES = 5 * 3 };
    uint8_t *images = malloc(COUNT * BYTES); /* no byte more, for ASan */
    sluice_dataset *dataset = NULL;
    tape got;

    T_TRUE(images != NULL);
    memset(images, 7, COUNT * BYTES);
    T_OK(sluice_dataset_memory(&(sluice_array){"image", images, SLUICE_U8, 4, {COUNT, 5, 3, 1}}, 1,
                               &dataset));
    T_OK(sluice_dataset_add(dataset, "resize 9,8 | batch 3"));
    got = record_own(dataset, &(run_options){.workers = 1});
    T_EQ(got.end, SLUICE_END_OF_DATA);
    T_EQ(got.batches, 10);
    free(got.bytes);
    free(images);
}

const t_test source_arrays_tests[] = {
    T_TEST(rows_of_all_arrays_stay_together),
    T_TEST(images_in_arrays_take_transforms),
    T_TEST(columns_have_the_types_and_names_of_the_files),
    T_TEST(without_an_image_transforms_are_refused),
    T_TEST(arrays_of_images_are_named_with_the_way_to_an_image),
    T_TEST(errors_of_files_show_the_stage),
    T_TEST(files_of_other_programs_are_read),
    T_TEST(other_orders_are_read),
    T_TEST(bad_files_are_named),
    T_TEST(a_file_that_is_cut_off_while_in_use_is_a_bad_sample),
    T_TEST(a_column_named_mask_stays),
    T_TEST(bad_arrays_are_refused),
    T_TEST(nothing_is_read_past_the_end_of_an_array),
    T_END,
};
