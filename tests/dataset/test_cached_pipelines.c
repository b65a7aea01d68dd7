/* SPDX-License-Identifier: Apache-2.0 */
/* The stage cache beside boxes, indexes, filters of length, documents, and what it refuses. */
#include <stdlib.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "source_kit.h"
#include "testing.h"

/* Two runs of a pipeline with a cache, and one without: equal tapes, and all samples in the cache.
 * `text` has an @ where the cache is; `what` names the case. */
static void check_same(const char *text, uint64_t samples, const run_options *options)
{
    const char *at = strchr(text, '@');
    char plain_text[700];
    char cached_text[700];
    sluice_dataset *plain;
    sluice_dataset *cached;
    tape want;

    snprintf(plain_text, sizeof(plain_text), "%.*s%s", (int)(at - text), text, at + 1);
    snprintf(cached_text, sizeof(cached_text), "%.*scache 1M |%s", (int)(at - text), text, at + 1);
    plain = parsed(plain_text);
    cached = parsed(cached_text);
    want = record(plain, options);
    for (uint32_t run = 0; run < 2; run++) {
        tape got = record(cached, options);
        sample_cache_use use;

        check_equal_tapes(&got, &want, cached_text);
        sample_cache_usage(cached->cache, &use);
        T_TRUE(options->settings.world > 1 ? use.entries > 0 : use.entries == samples);
        free(got.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(plain);
    sluice_dataset_destroy(cached);
}

static const run_options three_passes = {
    .workers = 2, .settings = {.seed = 3, .world = 1}, .batches = 9};

/* A second run of a pipeline with a cache, after the files of masks.tsv were removed, is equal. */
static void check_without_files(const char *text, const char *folder)
{
    static const char *const files[] = {"a.ppm", "b.jpg", "c.jpg", "m.pgm"};
    const char *at = strchr(text, '@');
    char cached_text[700];
    sluice_dataset *cached;
    tape got;
    tape want;

    snprintf(cached_text, sizeof(cached_text), "%.*scache 1M |%s", (int)(at - text), text, at + 1);
    cached = parsed(cached_text);
    want = record(cached, &three_passes);
    for (size_t i = 0; i < COUNT(files); i++) {
        char path[400];

        snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        T_EQ(unlink(path), 0);
    }
    got = record(cached, &three_passes);
    check_equal_tapes(&got, &want, cached_text);
    free(got.bytes);
    free(want.bytes);
    sluice_dataset_destroy(cached);
}

/* Nine pictures with boxes; three of them have none. */
static void write_boxes(const char *folder)
{
    char list[1000] = "image\tlabel\tboxes:boxes[3]\tc:i32[3]@boxes\n";

    for (uint32_t i = 0; i < 9; i++) {
        char name[40];
        char line[100];

        snprintf(name, sizeof(name), "%u.jpg", i);
        make_jpeg(folder, name, 60 + i, 50, i);
        snprintf(line, sizeof(line),
                 i % 3 == 0 ? "%s\t%u\t\t\n" : "%s\t%u\t%u,5,40,45;0,0,9,9\t4,5\n", name, i, i);
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s", line);
    }
    write_list(folder, "boxes.tsv", list);
}

static void boxes_follow_cached_images(void)
{
    static const char *const stages[] = {
        "@ decode | random_resized_crop 20 | random_horizontal_flip | batch 3",
        "decode | @ random_resized_crop 20 | random_horizontal_flip | batch 3",
        "decode | resize 40,44 | center_crop 36 | @ random_crop 30 | geometry | batch 3",
        "decode | letterbox 48 | @ random_crop 30 padding=3 | batch 3",
        "decode | letterbox 48 | @ random_iou_crop | resize 30,30 | batch 3",
        "@ decode | random_iou_crop | resize 30,30 | batch 3",
    };
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_boxes(folder);
    for (size_t i = 0; i < COUNT(stages); i++) {
        char text[600];

        snprintf(text, sizeof(text), "image_list %s/boxes.tsv | shuffle | %s", folder, stages[i]);
        check_same(text, 9, &three_passes);
    }
}

/*
 * Masks and further images are kept beside the first image, encoded or as pixels: their files are
 * not read again. Two columns, since each one has entries of its own.
 */
static void masks_and_further_images_are_kept(void)
{
    static const char *const stages[] = {
        "@ decode | random_crop 20 | random_horizontal_flip | batch 2",
        "decode | @ random_crop 20 | rotate 30 | batch 2",
        "decode | resize 26,34 | @ random_crop 20 | random_horizontal_flip | batch 2",
    };
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    for (size_t i = 0; i < COUNT(stages); i++) {
        char text[600];

        write_pair(folder, "a.ppm", "m.pgm");
        make_jpeg(folder, "b.jpg", 40, 30, 1);
        make_jpeg(folder, "c.jpg", 40, 30, 2);
        write_list(folder, "masks.tsv",
                   "image\tleft:mask\tmore:image\tright:mask\n"
                   "a.ppm\tm.pgm\tb.jpg\tm.pgm\nb.jpg\tm.pgm\tc.jpg\tm.pgm\n"
                   "c.jpg\tm.pgm\ta.ppm\tm.pgm\nb.jpg\tm.pgm\ta.ppm\tm.pgm\n");
        snprintf(text, sizeof(text), "image_list %s/masks.tsv | shuffle | %s", folder, stages[i]);
        check_same(text, 4, &three_passes);
        check_without_files(text, folder);
    }
}

/* Decode indexes are kept with the bytes. */
static void indexes_are_kept(void)
{
    char folder[300];
    char text[700];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    for (uint32_t i = 0; i < 9; i++) {
        char name[40];

        snprintf(name, sizeof(name), "files/x/%u.jpg", i);
        make_jpeg(folder, name, 300, 200 + i, i);
    }
    snprintf(text, sizeof(text),
             "image_folder %s/files index=%s/index | @ decode | random_crop 64 | batch 3", folder,
             folder);
    check_same(text, 9, &three_passes); /* makes them */
    check_same(text, 9, &three_passes); /* finds them */
}

static void buckets_and_documents_are_the_same(void)
{
    const run_options ranks[] = {
        {.workers = 2, .settings = {.seed = 3, .world = 1}, .batches = 20},
        {.workers = 2, .settings = {.seed = 3, .rank = 1, .world = 2}, .batches = 10}};

    for (size_t i = 0; i < COUNT(ranks); i++) {
        check_same("synthetic samples=40 classes=7 shape=6,6,3 | shuffle | @ random_crop 5 | "
                   "bucket label 2,4 | batch 4",
                   40, &ranks[i]);
        check_same("synthetic samples=40 classes=7 shape=6,6,3 | @ drop image | one_hot label 7 | "
                   "cast label i32 | rename label tokens | pack tokens 16 | batch 2",
                   40, &ranks[i]);
    }
}

static void arrays_of_several_sources_are_kept(void)
{
    check_same("zip (synthetic samples=18 classes=3 shape=6,6,3) (synthetic samples=18 classes=5 "
               "shape=1,1,1 | drop image | rename label y) | shuffle | @ random_crop 5 | batch 6",
               18, &three_passes);
    check_same("concat (synthetic samples=10 classes=3 shape=6,6,3 | shuffle) (synthetic samples=8 "
               "classes=5 shape=6,6,3) | shuffle | @ random_crop 5 | batch 6",
               18, &three_passes);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void warped_images_are_refused(void)
{
    check_refused("synthetic | rotate 10 | cache 1M | batch 2", "cache comes after rotate");
    check_refused("synthetic | random_rotation 10 | cache 1M | batch 2",
                  "cache comes after random_rotation, which is random");
}

const t_test cached_pipelines_tests[] = {
    T_TEST(boxes_follow_cached_images),
    T_TEST(masks_and_further_images_are_kept),
    T_TEST(indexes_are_kept),
    T_TEST(buckets_and_documents_are_the_same),
    T_TEST(arrays_of_several_sources_are_kept),
    T_TEST(warped_images_are_refused),
    T_END,
};
