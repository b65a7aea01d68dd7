/* SPDX-License-Identifier: Apache-2.0 */
/* Maps: what they read, what they write, and where they stand among conversions. */
#include <sluice/arrays.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "map_kit.h"
#include "testing.h"

/* ---- maps ------------------------------------------------------------------------------------ */

/* Inverts the image, in whatever size it has. */
static sluice_status invert(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    void *room;
    sluice_status st = sluice_sample_get(sample, "image", &view);

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "image", view.shape, &room);
    }
    for (size_t i = 0; st == SLUICE_OK && i < view.bytes; i++) {
        ((uint8_t *)room)[i] = (uint8_t)(255 - ((const uint8_t *)view.data)[i]);
    }
    return st;
}

static const char *const image_input[] = {"image"};
static const sluice_column_spec any_image[] = {
    {.name = "image", .rank = 3, .shape = {0, 0, 3}, .dtype = SLUICE_U8, .role = SLUICE_ROLE_IMAGE},
};

static void add_invert(sluice_dataset *dataset)
{
    add_map(dataset, "invert", invert, image_input, 1, any_image, 1, NULL);
}

/* The sum of a column's values, f32 (channels): of (H, W, C) or (C, H, W). */
typedef struct summing {
    bool is_chw;
} summing;

static sluice_status sum_channels(sluice_sample *sample, void *user)
{
    const summing *s = user;
    sluice_sample_view view;
    void *room;
    float *sums;
    sluice_status st = sluice_sample_get(sample, "image", &view);

    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "sums", NULL, &room);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    sums = room;
    memset(sums, 0, 3 * sizeof(*sums));
    for (size_t i = 0; i < PIXELS; i++) {
        const size_t channel = s->is_chw ? i / (H * W) : i % 3;

        sums[channel] += view.dtype == SLUICE_U8 ? ((const uint8_t *)view.data)[i]
                                                 : ((const float *)view.data)[i];
    }
    return SLUICE_OK;
}

static const sluice_column_spec sums_output[] = {
    {.name = "sums", .dtype = SLUICE_F32, .rank = 1, .shape = {3}},
};

/* ---- comparisons ----------------------------------------------------------------------------- */

/* Runs both and compares the columns that the first has with those of the same name. */
static void check_same(sluice_dataset *got_dataset, sluice_dataset *want_dataset,
                       const run_options *options)
{
    engine_run got;
    engine_run want;

    open_run(&got, got_dataset, options);
    open_run(&want, want_dataset, options);
    for (sluice_status st = next_batch(&got); st == SLUICE_OK; st = next_batch(&got)) {
        T_OK(next_batch(&want));
        for (uint32_t i = 0; i < got.layout.column_count; i++) {
            const int column = sli_layout_find(&want.layout, got.plan->seen[i].name);

            for (uint32_t row = 0; column >= 0 && row < 4; row++) {
                T_EQ(memcmp(row_of(&got, i, row), row_of(&want, (uint32_t)column, row),
                            row_bytes(&got, i)),
                     0);
            }
        }
        done_with_batch(&got);
        done_with_batch(&want);
    }
    T_STATUS(next_batch(&want), SLUICE_END_OF_DATA);
    close_run(&got);
    close_run(&want);
}

static void a_map_changes_the_image_before_conversions(void)
{
    static const char *const stages[][2] = {
        {"shuffle", "to_chw"},
        {"random_horizontal_flip", "normalize imagenet | to_chw"},
        {"random_crop 4", "random_horizontal_flip | to_dtype f32 | to_chw"},
        {"resize 9,8 | center_crop 5", "normalize 0.5 0.5 dtype=bf16"},
        {"rename number y", "to_dtype f16"},
    };

    fill_arrays();
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        for (uint64_t k = 0; k < 6; k++) {
            sluice_dataset *got = arrays_of(plain_images);
            sluice_dataset *want = arrays_of(inverted_images);

            T_OK(sluice_dataset_add(got, stages[i][0]));
            add_invert(got);
            T_OK(sluice_dataset_add(got, stages[i][1]));
            T_OK(sluice_dataset_add(got, "batch 4"));
            T_OK(sluice_dataset_add(want, stages[i][0]));
            T_OK(sluice_dataset_add(want, stages[i][1]));
            T_OK(sluice_dataset_add(want, "batch 4"));
            check_same(
                got, want,
                &(run_options){
                    .workers = worker_counts[k % 3],
                    .device = devices[k % 2],
                    .settings = {.seed = k, .prefer_device = k >= 3 && k % 2 == 1, .world = 1}});
            sluice_dataset_destroy(got);
            sluice_dataset_destroy(want);
        }
    }
}

static const void *first_row(engine_run *run, sluice_dataset *dataset, const char *column,
                             bool prefers_device)
{
    open_run(run, dataset,
             &(run_options){.workers = 1,
                            .device = devices[prefers_device],
                            .settings = {.prefer_device = prefers_device, .world = 1}});
    T_OK(next_batch(run));
    return column_row(run, column, 0);
}

/* A map sees the image as the stages before it have left it, whatever follows, and wherever
 * conversions are preferred. */
static void a_map_reads_the_image_where_it_stands(void)
{
    static const struct {
        const char *before;
        const char *behind;
        bool is_chw;
    } cases[] = {
        {"take 1", "normalize 0.5 0.5 | to_chw", false},
        {"normalize 0.5 0.5", "to_chw", false},
        {"to_chw | normalize 0.5 0.5", "", true},
        {"normalize 0.5 0.5 | to_chw", "drop image", true},
        {"random_horizontal_flip 1", "random_horizontal_flip 1 | to_chw", false},
        {"to_chw", "normalize imagenet dtype=f16", true},
    };

    fill_arrays();
    for (size_t k = 0; k < 2 * sizeof(cases) / sizeof(cases[0]); k++) {
        const size_t i = k / 2;
        summing s = {cases[i].is_chw};
        sluice_dataset *dataset = arrays_of(plain_images);
        const bool is_bytes = strstr(cases[i].before, "normalize") == NULL;
        float want[3] = {0, 0, 0};
        const float *sums;
        engine_run run;

        for (int p = 0; p < PIXELS; p++) {
            const float byte = (&plain_images[0][0][0][0])[p];

            want[p % 3] += is_bytes ? byte : (byte / 255 - 0.5F) / 0.5F;
        }
        T_OK(sluice_dataset_add(dataset, cases[i].before));
        add_map(dataset, "sums", sum_channels, image_input, 1, sums_output, 1, &s);
        if (cases[i].behind[0] != '\0') {
            T_OK(sluice_dataset_add(dataset, cases[i].behind));
        }
        T_OK(sluice_dataset_add(dataset, "batch 1"));
        sums = first_row(&run, dataset, "sums", k % 2 == 1);
        for (int c = 0; c < 3; c++) {
            T_TRUE(sums[c] - want[c] < 0.01F && want[c] - sums[c] < 0.01F);
        }
        close_run(&run);
        sluice_dataset_destroy(dataset);
    }
}

/* What comes before and after a map that only reads gives the bits that it gives without. */
static void a_map_that_reads_changes_no_bits(void)
{
    static const char *const stages[][2] = {
        {"random_horizontal_flip", "normalize imagenet | to_chw"},
        {"random_horizontal_flip | normalize imagenet", "to_chw"},
        {"random_horizontal_flip | normalize imagenet | to_chw", "rename number y"},
        {"to_chw", "random_horizontal_flip | to_dtype f16"},
        {"random_horizontal_flip", "random_horizontal_flip | to_chw"}, /* each flips once */
    };

    fill_arrays();
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        for (uint64_t k = 0; k < 4; k++) {
            summing s = {false};
            sluice_dataset *got = arrays_of(plain_images);
            sluice_dataset *want = arrays_of(plain_images);

            T_OK(sluice_dataset_add(got, stages[i][0]));
            add_map(got, "sums", sum_channels, image_input, 1, sums_output, 1, &s);
            for (int both = 0; both < 2; both++) {
                T_OK(sluice_dataset_add(both ? want : got, both ? stages[i][0] : stages[i][1]));
            }
            T_OK(sluice_dataset_add(got, "batch 4"));
            T_OK(sluice_dataset_add(want, stages[i][1]));
            T_OK(sluice_dataset_add(want, "batch 4"));
            check_same(got, want,
                       &(run_options){.workers = 2,
                                      .device = devices[k % 2],
                                      .settings = {.seed = k, .prefer_device = k > 1, .world = 1}});
            sluice_dataset_destroy(got);
            sluice_dataset_destroy(want);
        }
    }
}

/* ---- other columns --------------------------------------------------------------------------- */

/* The odd elements of boxes' classes, ragged, and how many there were. */
static sluice_status pick_odd(sluice_sample *sample, void *user)
{
    sluice_sample_view boxes;
    sluice_sample_view classes;
    int32_t odd[3];
    uint64_t count = 0;
    void *room;
    sluice_status st = sluice_sample_get(sample, "boxes", &boxes);

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_get(sample, "c", &classes);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    T_TRUE(boxes.rank == 2 && boxes.shape[0] == classes.shape[0] && boxes.shape[1] == 4 &&
           boxes.bytes == boxes.shape[0] * 16);
    for (uint64_t i = 0; i < classes.shape[0]; i++) {
        if (((const int32_t *)classes.data)[i] % 2 == 1) {
            odd[count++] = ((const int32_t *)classes.data)[i];
        }
    }
    st = sluice_sample_room(sample, "odd", &count, &room);
    if (st != SLUICE_OK) {
        return st;
    }
    memcpy(room, odd, count * sizeof(odd[0]));
    return give_i64(sample, "all", (int64_t)classes.shape[0]);
}

static void ragged_columns_have_their_lengths(void)
{
    static const char *const inputs[] = {"boxes", "c"};
    static const sluice_column_spec outputs[] = {
        {.name = "odd", .dtype = SLUICE_I32, .rank = 1, .shape = {3}, .ragged = 1},
        {.name = "all", .dtype = SLUICE_I64},
    };
    const char *folder = t_folder();
    sluice_dataset *dataset;
    engine_run run;
    const int32_t *odd;

    write_pair(folder, "a.ppm", "m.pgm");
    /* The crop loses the first box and the last. */
    dataset = list_dataset(folder, LIST_OF_BOXES, "| decode | random_crop 30,40");
    add_map(dataset, "odd", pick_odd, inputs, 2, outputs, 2, NULL);
    T_OK(sluice_dataset_add(dataset, "project odd,odd_length,all | batch 1"));
    odd = first_row(&run, dataset, "odd", false);
    T_TRUE(odd[0] == 1 && odd[1] == 3 && odd[2] == 0);
    T_EQ(*(const int32_t *)column_row(&run, "odd_length", 0), 2);
    T_EQ(*(const int64_t *)column_row(&run, "all", 0), 3);
    close_run(&run);
    sluice_dataset_destroy(dataset);
    dataset = list_dataset(folder, LIST_OF_BOXES, "| decode | center_crop 20");
    add_map(dataset, "odd", pick_odd, inputs, 2, outputs, 2, NULL);
    T_OK(sluice_dataset_add(dataset, "drop image,mask,boxes,c | batch 1"));
    odd = first_row(&run, dataset, "odd", false);
    T_TRUE(odd[0] == 0 && odd[1] == 0 && odd[2] == 0);
    T_EQ(*(const int32_t *)column_row(&run, "odd_length", 0), 0);
    T_EQ(*(const int64_t *)column_row(&run, "all", 0), 1);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* How many elements of x there are, by its view. */
static sluice_status count_elements(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    const sluice_status st = sluice_sample_get(sample, "x", &view);

    (void)user;
    T_EQ(view.bytes, view.shape[0] * sizeof(float));
    return st == SLUICE_OK ? give_i64(sample, "count", (int64_t)view.shape[0]) : st;
}

/* A column of a program's own may be called x_length, and hold anything. */
static void lengths_that_cannot_be_are_bounded(void)
{
    static const float x[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    static const int32_t lengths[3] = {-1, INT32_MAX, 1};
    static const int64_t want[3] = {0, 2, 1};
    static const char *const inputs[] = {"x"};
    static const sluice_column_spec outputs[] = {{.name = "count", .dtype = SLUICE_I64}};
    const sluice_array arrays[] = {
        {"x", x, SLUICE_F32, 2, {3, 2}},
        {"x_length", lengths, SLUICE_I32, 1, {3}},
    };
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_memory(arrays, 2, &dataset));
    add_map(dataset, "count", count_elements, inputs, 1, outputs, 1, NULL);
    T_OK(sluice_dataset_add(dataset, "project count | batch 1"));
    for (uint64_t i = 0; i < 3; i++) {
        int64_t count = -1;

        T_OK(sluice_dataset_get(dataset, 0, 0, i, (void *const[]){&count}, NULL));
        T_EQ(count, want[i]);
    }
    sluice_dataset_destroy(dataset);
}

/* number -> number + 1 */
static sluice_status next_number(sluice_sample *sample, void *user)
{
    sluice_sample_view view;
    const sluice_status st = sluice_sample_get(sample, "number", &view);

    (void)user;
    return st == SLUICE_OK ? give_i64(sample, "number", *(const int64_t *)view.data + 1) : st;
}

static void maps_follow_one_another(void)
{
    static const char *const inputs[] = {"number"};
    static const sluice_column_spec outputs[] = {{.name = "number", .dtype = SLUICE_I64}};
    sluice_dataset *dataset;
    engine_run run;

    fill_arrays();
    dataset = arrays_of(plain_images);
    for (int i = 0; i < 8; i++) {
        add_map(dataset, "next", next_number, inputs, 1, outputs, 1, NULL);
    }
    T_OK(sluice_dataset_add(dataset, "batch 4"));
    open_own(&run, dataset, &(run_options){.workers = 2});
    for (int64_t i = 0; i < SAMPLES; i++) {
        if (i % 4 == 0) {
            T_OK(next_batch(&run));
        }
        T_EQ(*(const int64_t *)column_row(&run, "number", (uint32_t)(i % 4)), numbers[i] + 8);
        if (i % 4 == 3) {
            done_with_batch(&run);
        }
    }
    T_STR(run.plan->stage_names[PLAN_MAPS], "next");
    close_run(&run);
}

const t_test map_tests[] = {
    T_TEST(a_map_changes_the_image_before_conversions),
    T_TEST(a_map_reads_the_image_where_it_stands),
    T_TEST(a_map_that_reads_changes_no_bits),
    T_TEST(ragged_columns_have_their_lengths),
    T_TEST(lengths_that_cannot_be_are_bounded),
    T_TEST(maps_follow_one_another),
    T_END,
};
