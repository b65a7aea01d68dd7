/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of batches on windows, buckets and streams in trainings; on the fake of CUDA, too. */

#include "collected_kit.h"
#include "document_kit.h"
#include "generator_kit.h"
#include "testing.h"

static generator shared;

/* Adds the number of rows that have samples to each first byte of the image. */
static sluice_status mark(sluice_host_batch *batch, void *user)
{
    sluice_host_column image;
    const sluice_status st = sluice_host_batch_column(batch, "image", &image);

    (void)user;
    for (uint32_t row = 0; st == SLUICE_OK && row < sluice_host_batch_valid_rows(batch); row++) {
        uint8_t *first = (uint8_t *)image.data + row * image.row_bytes;

        *first = (uint8_t)(*first + sluice_host_batch_valid_rows(batch));
    }
    return st;
}

static sluice_dataset *add_mark(sluice_dataset *dataset)
{
    static const char *const changes[] = {"image"};
    sluice_map_batch map;

    sluice_map_batch_init(&map);
    map.name = "mark";
    map.changes = changes;
    map.change_count = 1;
    map.map = mark;
    T_OK(sluice_dataset_map_batch(dataset, &map));
    return dataset;
}

static sluice_dataset *documents(const char *stages)
{
    sluice_dataset *dataset = document_dataset();

    T_OK(sluice_dataset_add(dataset, stages));
    return dataset;
}

/* The columns have the names that the kit's step reads. */
static sluice_dataset *packed(void)
{
    return documents("shuffle | pack tokens 16 | rename tokens image | rename position label | "
                     "batch 4 drop_remainder=true");
}

static sluice_dataset *bucketed(void)
{
    return documents("shuffle | rename tokens image | bucket image_length 6,13 | batch 4");
}

static sluice_dataset *streamed(void)
{
    shared = (generator){.samples = 23, .varies_by = 2};
    return generator_dataset(&shared, "rename words image | rename image_length label | batch 4");
}

static sluice_dataset *(*const makers[])(void) = {packed, bucketed, streamed};

enum { MAKERS = 3, STEPS = 20 };

static void every_mode_takes_the_steps_of_mapped_batches(void)
{
    for (int m = 0; m < MAKERS; m++) {
        kit plain;
        kit first;
        uint64_t different = 0;

        collected_run(&plain, makers[m](), SLUICE_MODE_AUTO, 0, STEPS);
        collected_run(&first, add_mark(makers[m]()), SLUICE_MODE_AUTO, 0, STEPS);
        T_EQ(first.count, STEPS);
        for (size_t i = 0; i < STEPS; i++) {
            different += plain.steps[i].digest != first.steps[i].digest;
        }
        T_EQ(different, STEPS);
        for (size_t i = 1; i < COLLECTED_MODES; i++) {
            kit k;

            collected_run(&k, add_mark(makers[m]()), collected_modes[i], 0, STEPS);
            kit_check_same(&first, &k, 0, STEPS);
            collected_done(&k);
        }
        collected_done(&first);
        collected_done(&plain);
    }
}

const t_test collected_maps_tests[] = {
    T_TEST(every_mode_takes_the_steps_of_mapped_batches),
    T_END,
};
