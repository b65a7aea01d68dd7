/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each stage of the table by its call and as text (stage_calls.c): the same description, and
 * batches of the same bytes. A stage that is not there fails, and so does an argument that no call
 * sets.
 */
#include <stdlib.h>

#include <sluice/arrays.h>
#include <sluice/transforms.h>

#include "dataset_kit.h"
#include "dataset_state.h"
#include "engine_kit.h"
#include "idx_kit.h"
#include "npy_kit.h"
#include "stage_calls.h"
#include "stage_table.h"
#include "tar_kit.h"
#include "testing.h"

/* Files of every source. */
static void write_sources(const char *folder)
{
    static const char coco[] =
        "{\"images\": [{\"id\": 1, \"file_name\": \"x.ppm\"}], \"annotations\": [{\"image_id\": 1,"
        " \"category_id\": 0, \"bbox\": [0, 0, 1, 1], \"iscrowd\": 1}], "
        "\"categories\": [{\"id\": 0, \"name\": \"x\"}]}";
    static const char points[] = "image\tpoints:points[4]\nx.ppm\t0,0;1,1;0,1;1,0\n";
    static const char boxes[] = "image\tboxes:boxes[4]\nx.ppm\t0,0,1,1\n";
    static const float coordinates[4][2][2] = {{{1, 2}, {3, 4}}};
    tar_maker tar = {0};
    uint8_t record[3074];

    sluice_dataset_destroy(jpeg_dataset(folder, "decode"));
    for (int i = 0; i < 6; i++) {
        char name[40];
        char ppm[60];

        snprintf(name, sizeof(name), "%d.ppm", i);
        snprintf(ppm, sizeof(ppm), "P6 3 3 255\n%027d", i * 12345);
        tar_add_text(&tar, name, ppm);
        snprintf(name, sizeof(name), "%d.class", i);
        tar_add_text(&tar, name, i % 2 == 0 ? "1" : "2");
    }
    tar_write(&tar, t_path(folder, "x.tar"));
    tar_free(&tar);
    for (size_t i = 0; i < sizeof(record); i++) {
        record[i] = (uint8_t)(i % 10);
    }
    t_write_file(t_path(folder, "test_batch.bin"), record, 3073);
    t_write_file(t_path(folder, "test.bin"), record, sizeof(record));
    t_write_file(t_path(folder, "train.bin"), record, sizeof(record));
    t_write_file(t_path(folder, "x.ppm"), "P6 1 1 255\nabc", 14);
    t_write_file(t_path(folder, "photos/x.ppm"), "P6 1 1 255\nabc", 14);
    t_write_file(t_path(folder, "masks/x.pgm"), "P5 1 1 255\na", 12);
    t_write_file(t_path(folder, "x.csv"), "x.ppm,3\nx.ppm,4\n", 16);
    t_write_file(t_path(folder, "points.tsv"), points, strlen(points));
    t_write_file(t_path(folder, "boxes.tsv"), boxes, strlen(boxes));
    t_write_file(t_path(folder, "x.json"), coco, strlen(coco));
    idx_write_pair(folder, "t10k-", 6, 3);
    npy_write(folder, "x.npy", "|u1", "(100, 5)", record, 500);
    npy_write(folder, "arrays/image.npy", "|u1", "(4, 5, 6, 3)", record, 360);
    npy_write(folder, "arrays/points.npy", "<f4", "(4, 2, 2)", coordinates, sizeof(coordinates));
    npy_write(folder, "arrays/seen.npy", "|u1", "(4, 2)", record, 8);
}

static sluice_dataset *parse_case(const stage_call *c, const char *folder)
{
    static const char *const name = "FOLDER";
    char text[600];
    sluice_dataset *dataset = NULL;

    snprintf(text, sizeof(text), "%s%s%s", c->before != NULL ? c->before : "",
             c->before != NULL ? " | " : "", c->text);
    T_OK(sluice_dataset_parse_args(text, &name, &folder, strstr(text, "${FOLDER}") != NULL,
                                   &dataset));
    return dataset;
}

static sluice_dataset *call_case(const stage_call *c, const char *folder)
{
    static const char *const name = "FOLDER";
    const char *before = c->before;
    sluice_dataset *dataset = NULL;

    if (c->begin != NULL) {
        T_OK(c->begin(folder, &dataset));
        return dataset;
    }
    T_OK(sluice_dataset_parse_args(before, &name, &folder, strstr(before, "${FOLDER}") != NULL,
                                   &dataset));
    T_OK(c->call(dataset));
    return dataset;
}

/* True for a source that this build can describe but not open, since it lacks a library. */
static bool lacks_library(const stage_call *c)
{
#ifdef SLI_HAVE_JANSSON
    (void)c;
    return false;
#else
    return strncmp(c->text, "coco ", 5) == 0;
#endif
}

/* ---- the checks ------------------------------------------------------------------------------ */

static void check_same_batches(sluice_dataset *text, sluice_dataset *call, const stage_call *c)
{
    const run_options options = {.workers = 2, .settings = {.seed = 3}};
    tape want;
    tape got;

    if (c->after != NULL) {
        T_OK(sluice_dataset_add(text, c->after));
        T_OK(sluice_dataset_add(call, c->after));
    }
    want = record(text, &options);
    got = record(call, &options);
    T_TRUE(want.batches > 0 && want.size > 0);
    T_EQ(want.end, SLUICE_END_OF_DATA);
    check_equal_tapes(&got, &want, c->text);
    free(want.bytes);
    free(got.bytes);
}

static void calls_and_texts_give_the_same(void)
{
    char folder[400];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_sources(folder);
    for (size_t k = 0; stage_call_at(k) != NULL; k++) {
        const stage_call *c = stage_call_at(k);

        sluice_dataset *text = parse_case(c, folder);
        sluice_dataset *call = call_case(c, folder);

        T_STR(described(call), described(text));
        if (!lacks_library(c)) {
            check_same_batches(text, call, c);
        }
        sluice_dataset_destroy(text);
        sluice_dataset_destroy(call);
    }
}

const t_test stage_calls_tests[] = {
    T_TEST(calls_and_texts_give_the_same),
    T_END,
};
