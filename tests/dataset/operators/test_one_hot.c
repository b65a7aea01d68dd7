/* SPDX-License-Identifier: Apache-2.0 */
/* one_hot of arrays: a vector for each box, and for each number of a ragged array. */
#include <string.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "testing.h"

/* Checks rows of vectors: the classes' ones, then zeros. -1: a row of padding. */
static void check_rows(const float *rows, const int *classes, uint32_t count, uint32_t of,
                       double smoothing)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < of; k++) {
            const double off = classes[i] < 0 ? 0 : smoothing / of;
            const double on = classes[i] == (int)k ? 1 - smoothing : 0;

            T_NEAR((double)rows[i * of + k], off + on, 1e-6);
        }
    }
}

static void a_box_has_a_vector(void)
{
    static const int all[] = {1, 2, 3};
    static const int cropped[] = {2, -1, -1};
    engine_run run;

    open_list(&run, LIST_OF_BOXES, "decode", "one_hot c 5 | resize 9,9", 1);
    check_rows(column_row(&run, "c", 0), all, 3, 5, 0);
    close_run(&run);
    open_list(&run, LIST_OF_BOXES, "decode", "crop 8,8 top=9 left=12 | one_hot c 4 0.1", 1);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
    check_rows(column_row(&run, "c", 0), cropped, 3, 4, 0.1);
    close_run(&run);
    open_list(&run, LIST_OF_BOXES, "decode", "one_hot c 5 | drop boxes,boxes_length,image", 1);
    check_rows(column_row(&run, "c", 0), all, 3, 5, 0);
    close_run(&run);
}

static void a_ragged_array_has_vectors(void)
{
    static const int rows[2][3] = {{2, 0, -1}, {1, -1, -1}};
    const char *folder = t_folder();
    engine_run run;

    open_own(&run, list_dataset(folder, "n:u8[3]\n2,0\n1\n", "| one_hot n 3 0.3 | batch 2"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    for (uint32_t i = 0; i < 2; i++) {
        check_rows(column_row(&run, "n", i), rows[i], 3, 3, 0.3);
        T_EQ(*(const int32_t *)column_row(&run, "n_length", i), 2 - i);
    }
    close_run(&run);
}

static void a_class_out_of_range_makes_a_bad_sample(void)
{
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    (void)batches_to_error(list_dataset(folder, LIST_OF_BOXES, "| decode | one_hot c 3 | batch 1"),
                           &(run_options){.workers = 1}, SLUICE_E_CORRUPT,
                           "one_hot: sample 0, a.ppm: row 2: c is 3, and must be from 0 to 2");
}

const t_test one_hot_tests[] = {
    T_TEST(a_box_has_a_vector),
    T_TEST(a_ragged_array_has_vectors),
    T_TEST(a_class_out_of_range_makes_a_bad_sample),
    T_END,
};
