/* SPDX-License-Identifier: Apache-2.0 */
/* What reports say of the indexes of images: those used, made and refused, each once. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "bytes_int.h"
#include "crc32c_int.h"
#include "log_kit.h"
#include "pack_kit.h"
#include "testing.h"
#include "train_kit.h"

/* More than are under way at once, so that a sample's index is kept when its turn comes again. */
enum { IMAGES = 20 };

/* Crops that never take all of an image, and what does. */
static const char *const in_part = "random_resized_crop 16 scale=0.1,0.3";
static const char *const whole = "resize 16";

/* Images and a folder for their indexes, and runs over them. */
typedef struct indexed {
    char folder[300];
    char index[300];
    char file[400]; /* where the indexes are kept */
    char pipeline[1000];
    kit k;
} indexed;

/* Images of so many pixels on each side. */
static void init_indexed_of(indexed *run, int side)
{
    const char *folder = t_folder();

    snprintf(run->folder, sizeof(run->folder), "%s", t_path(folder, "images"));
    snprintf(run->index, sizeof(run->index), "%s", t_path(folder, "index"));
    snprintf(run->file, sizeof(run->file), "%s/places-00.sluice", run->index);
    kit_write_folder(run->folder, IMAGES / 2, side);
    kit_init(&run->k);
}

static void init_indexed(indexed *run)
{
    init_indexed_of(run, 128);
}

static void run_passes(indexed *run, const char *index, const char *transform, int64_t passes)
{
    snprintf(run->pipeline, sizeof(run->pipeline),
             "image_folder %s index='%s' | decode | %s | batch 2", run->folder, index, transform);
    run->k.pipeline = run->pipeline;
    run->k.config.epochs = passes;
    run->k.config.workers = 2;
    run->k.config.slots = 3; /* far less than a pass: its indexes are made when the next begins */
    T_OK(kit_run(&run->k));
    kit_check(&run->k);
}

static bool text_has(const kit *k, const char *words)
{
    char *text = NULL;
    bool has;

    T_OK(sluice_report_text(k->report, &text));
    has = strstr(text, words) != NULL;
    sluice_string_free(text);
    return has;
}

static void check_counts(const indexed *run, uint64_t used, uint64_t made, uint64_t refused)
{
    const kit *k = &run->k;
    char keys[200];
    char line[200];
    char *json = NULL;

    snprintf(keys, sizeof(keys),
             "\"samples_by_index\":%llu,\"indexes_made\":%llu,\"indexes_refused\":%llu,",
             (unsigned long long)used, (unsigned long long)made, (unsigned long long)refused);
    snprintf(line, sizeof(line),
             "\nindexes: %llu of %llu samples decoded by theirs, %llu made, %llu refused\n",
             (unsigned long long)used, (unsigned long long)k->report->stats.samples,
             (unsigned long long)made, (unsigned long long)refused);
    T_OK(sluice_report_json(k->report, &json));
    T_CONTAINS(json, keys);
    sluice_string_free(json);
    T_TRUE(text_has(k, line));
}

static void the_first_pass_makes_indexes_and_later_ones_use_them(void)
{
    indexed run;

    init_indexed(&run);
    run_passes(&run, run.index, in_part, 3);
    check_counts(&run, (uint64_t)2 * IMAGES, IMAGES, 0);
    run_passes(&run, run.index, in_part, 1);
    check_counts(&run, IMAGES, 0, 0);
    run_passes(&run, run.index, whole, 1);
    check_counts(&run, 0, 0, 0);
    kit_fini(&run.k);
}

/* Neither `sluice pack` nor index= makes them faster, so reports advise neither. */
static void small_images_lack_no_index(void)
{
    indexed run;

    init_indexed_of(&run, 48);
    run_passes(&run, "", in_part, 2);
    T_EQ(run.k.report->indexes.lacking, 0);
    kit_fini(&run.k);
}

/* A pack without restart markers: packing it again the same way would gain nothing. */
static void images_of_a_pack_lack_no_index(void)
{
    sluice_pack_config config;
    sluice_dataset *dataset = NULL;
    indexed run;

    T_NEEDS(can_pack(), "no libarchive");
    init_indexed(&run);
    snprintf(run.pipeline, sizeof(run.pipeline), "image_folder %s", run.folder);
    T_OK(sluice_dataset_parse(run.pipeline, &dataset));
    config = config_of(dataset, t_path(run.folder, "pack"));
    config.interval = SLUICE_PACK_NO_MARKERS;
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(dataset);
    snprintf(run.pipeline, sizeof(run.pipeline), "webdataset %s/pack | decode | %s | batch 2",
             run.folder, in_part);
    run.k.pipeline = run.pipeline;
    T_OK(kit_run(&run.k));
    T_EQ(run.k.report->stats.samples, IMAGES);
    T_EQ(run.k.report->indexes.lacking, 0);
    kit_fini(&run.k);
}

/* What an index would spare: of images that have none, and that a crop needs a part of. */
static void images_that_lack_an_index_are_counted(void)
{
    const sli_index_counts *counts;
    indexed run;

    init_indexed(&run);
    run_passes(&run, "", in_part, 2);
    counts = &run.k.report->indexes;
    T_EQ(counts->asked, 0);
    T_EQ(counts->lacking, 2 * IMAGES);
    T_TRUE(counts->needed > 0 && counts->needed < counts->above);
    T_TRUE(counts->above <= (uint64_t)2 * IMAGES * 128 * 128);
    run_passes(&run, "", whole, 1);
    counts = &run.k.report->indexes;
    T_EQ(counts->needed, counts->above);
    run_passes(&run, run.index, in_part, 3);
    T_EQ(run.k.report->indexes.lacking, IMAGES); /* the first pass */
    kit_fini(&run.k);
}

static void one_of_a_changed_image_is_refused(void)
{
    indexed run;
    FILE *file;

    init_indexed(&run);
    run_passes(&run, run.index, in_part, 1);
    file = fopen(t_path(run.folder, "a/003.jpg"), "ab"); /* of another size, with the same pixels */
    T_TRUE(file != NULL);
    T_EQ(fputc(0, file), 0);
    fclose(file);
    run_passes(&run, run.index, in_part, 1);
    check_counts(&run, IMAGES - 1, 1, 1);
    run_passes(&run, run.index, in_part, 1);
    check_counts(&run, IMAGES, 0, 0);
    kit_fini(&run.k);
}

/* Changes the first byte of the index in the last record; sealed: its checksum is right again. */
static void change_last(const char *path, bool sealed)
{
    static uint8_t bytes[1 << 16];
    FILE *file = fopen(path, "r+b");
    size_t size = 0;
    size_t last = 16;
    uint32_t index_size;

    T_TRUE(file != NULL && (size = fread(bytes, 1, sizeof(bytes), file)) < sizeof(bytes));
    while (last + 40 + sli_get_u32(bytes + last + 4) < size) {
        last += 40 + sli_get_u32(bytes + last + 4);
    }
    index_size = sli_get_u32(bytes + last + 4);
    T_EQ(last + 40 + index_size, size);
    bytes[last + 40] ^= 0xFF; /* its version */
    if (sealed) {
        sli_put_u32(bytes + last + 32,
                    sli_crc32c(sli_crc32c(0, bytes + last, 32), bytes + last + 40, index_size));
    }
    rewind(file);
    T_EQ(fwrite(bytes, 1, size, file), size);
    T_EQ(fclose(file), 0);
}

static void a_damaged_one_is_refused_and_made_again(void)
{
    indexed run;

    init_indexed(&run);
    run_passes(&run, run.index, in_part, 1);
    change_last(run.file, false);
    run_passes(&run, run.index, in_part, 2);
    check_counts(&run, 2 * IMAGES - 1, 1, 1);
    kit_fini(&run.k);
}

/* Its image then has none, for good. */
static void one_that_the_decoder_finds_wrong_is_refused(void)
{
    indexed run;

    init_indexed(&run);
    run_passes(&run, run.index, in_part, 1);
    change_last(run.file, true);
    run_passes(&run, run.index, in_part, 2);
    check_counts(&run, 2 * (IMAGES - 1), 0, 1);
    kit_fini(&run.k);
}

static void one_that_cannot_be_kept_is_not_counted(void)
{
    struct rlimit old;
    struct rlimit small;
    indexed run;

    init_indexed(&run);
    T_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){100, old.rlim_max}; /* less than an index takes */
    signal(SIGXFSZ, SIG_IGN);
    kit_log_start(NULL, NULL);
    T_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    run_passes(&run, run.index, in_part, 2);
    T_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    T_CONTAINS(kit_log_stop(), "cannot write");
    check_counts(&run, 0, 0, 0);
    kit_fini(&run.k);
}

static void without_an_index_nothing_is_said_of_it(void)
{
    indexed run;

    init_indexed(&run);
    run_passes(&run, "", in_part, 1);
    T_TRUE(!text_has(&run.k, "indexes"));
    T_EQ(run.k.report->indexes.asked, 0);
    kit_fini(&run.k);
}

const t_test report_indexes_tests[] = {
    T_TEST(the_first_pass_makes_indexes_and_later_ones_use_them),
    T_TEST(images_that_lack_an_index_are_counted),
    T_TEST(small_images_lack_no_index),
    T_TEST(images_of_a_pack_lack_no_index),
    T_TEST(one_of_a_changed_image_is_refused),
    T_TEST(a_damaged_one_is_refused_and_made_again),
    T_TEST(one_that_the_decoder_finds_wrong_is_refused),
    T_TEST(one_that_cannot_be_kept_is_not_counted),
    T_TEST(without_an_index_nothing_is_said_of_it),
    T_END,
};
