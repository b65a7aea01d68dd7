/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "log_kit.h"
#include "shard_kit.h"
#include "source_kit.h"
#include "testing.h"

/* ---- samples --------------------------------------------------------------------------------- */

static void samples_of_all_shards_are_read_in_any_order(void)
{
    char folder[300];
    sluice_dataset *dataset;
    const int before = open_files();

    snprintf(folder, sizeof(folder), "%s", t_folder());
    make_web_shard(t_path(folder, "b.tar"), "b", 3);
    make_web_shard(t_path(folder, "a.tar"), "a", 2);
    make_web_shard(t_path(folder, "empty.tar"), "empty", 0);
    make_web_shard(t_path(folder, "z.tar"), "z", 1);
    make_web_shard(t_path(folder, "other.txt"), "o", 1);
    make_web_shard(t_path(folder, ".hidden.tar"), "h", 1);
    for (int again = 0; again < 2; again++) {
        dataset = open_web("webdataset @", folder);
        T_EQ(dataset->source_count, 6);
        check_web_sample(dataset, 5, "z.tar/000.jpg", "z-0", 0);
        check_web_sample(dataset, 4, "b.tar/002.jpg", "b-2", 2);
        check_web_sample(dataset, 0, "a.tar/000.jpg", "a-0", 0);
        check_web_sample(dataset, 2, "b.tar/000.jpg", "b-0", 0);
        check_web_sample(dataset, 1, "a.tar/001.jpg", "a-1", 1);
        sluice_dataset_destroy(dataset);
    }
    T_EQ(open_files(), before);
}

static void arguments_are_checked(void)
{
    static const char *const wrong[] = {
        "webdataset ''",           "webdataset x image=",
        "webdataset x image=.jpg", "webdataset x image=jpg,",
        "webdataset x image=a/b",  "webdataset x label=",
        "webdataset x label=a,b",  "webdataset x label=.cls",
        "webdataset x index=",     "webdataset",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        sluice_dataset *dataset = NULL;

        T_STATUS(sluice_dataset_parse(wrong[i], &dataset), SLUICE_E_INVALID);
    }
}

/* ---- what is left out, and what is bad ------------------------------------------------------- */

static void incomplete_samples_are_left_out_with_a_warning(void)
{
    const char *said;
    const char *path = t_file("s.tar");
    tar_maker tar = {0};
    sluice_dataset *dataset;

    tar_add_texts(&tar, "a.jpg=no-label b.cls=5 c.jpg=whole c.cls=6 d.png=no-label");
    tar_add(&tar, "link.jpg", '2', NULL, 0);
    tar_add_texts(&tar, "e.jpg=last e.cls=7");
    tar_write(&tar, path);
    for (int again = 0; again < 2; again++) { /* the second time by the index */
        kit_log_start(NULL, NULL);
        dataset = open_web("webdataset @", path);
        said = kit_log_stop();
        T_EQ(dataset->source_count, 2);
        check_web_sample(dataset, 0, "s.tar/c.jpg", "whole", 6);
        check_web_sample(dataset, 1, "s.tar/e.jpg", "last", 7);
        T_CONTAINS(said,
                   "1 samples without an image are skipped (image=jpg,jpeg,png,ppm; fields seen: ");
        T_CONTAINS(said,
                   "2 samples without a label are skipped; label=none reads them, first s.tar/a\n");
        T_CONTAINS(said, "1 links, special and sparse members are skipped, first s.tar\n");
        sluice_dataset_destroy(dataset);
    }
    kit_log_start(NULL, NULL);
    dataset = open_web("webdataset @ label=none", path);
    said = kit_log_stop();
    T_EQ(dataset->source_count, 4);
    T_EQ(dataset->schema.column_count, 1);
    T_TRUE(strstr(said, "without a label") == NULL);
    sluice_dataset_destroy(dataset);
}

/* Nobody can tell it from an archive without an end, which some write. */
static void a_shard_that_was_cut_between_members_is_warned_of(void)
{
    const char *path = t_file("s.tar");
    tar_maker tar = {0};

    tar_add_texts(&tar, "a.jpg=one a.cls=5 b.jpg=two b.cls=6");
    for (size_t zeros = 0; zeros < 2; zeros++) {
        tar_add_zeros(&tar, zeros);
        t_write_file(path, tar.bytes, tar.size);
        for (int again = 0; again < 2; again++) { /* the second time by the index */
            const char *said;
            sluice_dataset *dataset;

            kit_log_start(NULL, NULL);
            dataset = open_web("webdataset @", path);
            said = kit_log_stop();
            T_EQ(dataset->source_count, 2);
            T_EQ(strstr(said, "1 shards end without the zeros that end an archive") != NULL,
                 zeros == 0);
            sluice_dataset_destroy(dataset);
        }
    }
    tar_free(&tar);
}

static void indexes_that_cannot_be_kept_where_they_are_wanted_are_warned_of(void)
{
    static const char *const wanted[] = {"s.tar/no", "there"}; /* the first is within a file */
    const char *path = t_file("s.tar");
    char text[500];

    make_web_shard(path, "s", 2);
    for (int i = 0; i < 2; i++) {
        sluice_dataset *dataset;

        snprintf(text, sizeof(text), "webdataset @ index=%.*s/%s", (int)(strlen(path) - 6), path,
                 wanted[i]);
        kit_log_start(NULL, NULL);
        dataset = open_web(text, path);
        T_EQ(strstr(kit_log_stop(), "1 indexes cannot be written to the folder") != NULL, i == 0);
        T_EQ(dataset->source_count, 2);
        sluice_dataset_destroy(dataset);
    }
}

/* Without labels the second column is another's, such as the mask. */
static void without_labels_nothing_is_written_to_another_column(void)
{
    const char *path = t_file("s.tar");
    sluice_dataset *dataset;
    sample_io io = {.bytes_read = 0};
    sample_data data;
    int32_t label = 12345;

    make_web_shard(path, "x", 2);
    dataset = open_web("webdataset @ label=none", path);
    T_OK(read_sample(dataset, 1, &io, &label, &data));
    T_EQ(label, 12345);
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

static void samples_that_nobody_can_tell_are_bad_samples(void)
{
    const char *path = t_file("s.tar");
    tar_maker tar = {0};
    sluice_dataset *dataset;

    tar_add_texts(&tar, "a.jpg=1 a.jpg=2 a.cls=5 b.jpg=3 b.cls=cat c.jpg=4 c.cls=5");
    tar_write(&tar, path);
    dataset = open_web("webdataset @", path);
    T_EQ(dataset->source_count, 3);
    check_read_fails(dataset, 0, SLUICE_E_CORRUPT, "twice");
    check_read_fails(dataset, 1, SLUICE_E_CORRUPT,
                     "must be a whole number of 32 bits, such as 7, in digits; label=FIELD");
    check_web_sample(dataset, 2, "s.tar/c.jpg", "4", 5);
    sluice_dataset_destroy(dataset);
    dataset = open_web("webdataset @ label=none", path);
    check_read_fails(dataset, 0, SLUICE_E_CORRUPT, path);
    {
        sample_io io = {.bytes_read = 0};
        sample_data data;

        T_OK(read_sample(dataset, 1, &io, NULL, &data));
        sample_io_free(&io);
    }
    sluice_dataset_destroy(dataset);
}

static void nothing_to_read_says_what_was_found(void)
{
    char folder[300];
    tar_maker tar = {0};

    snprintf(folder, sizeof(folder), "%s", t_folder());
    tar_add_texts(&tar, "a.npy=1 a.txt=1");
    tar_write(&tar, t_path(folder, "npy.tar"));
    tar_add_texts(&tar, "a.jpg=1 b.jpg=1 a.cls=1");
    tar_write(&tar, t_path(folder, "mixed.tar"));
    kit_log_start(NULL, NULL);
    check_web_fails("webdataset @/npy.tar", folder, SLUICE_E_INVALID, "fields seen: npy,txt");
    T_CONTAINS(sluice_last_error(), "no valid data in the dataset");
    check_web_fails("webdataset @/mixed.tar", folder, SLUICE_E_INVALID,
                    "none of 2 images has a label");
    T_CONTAINS(sluice_last_error(), "--sort=name");
    (void)kit_log_stop();
    make_web_shard(t_path(folder, "empty.tar"), "x", 0);
    check_web_fails("webdataset @/empty.tar", folder, SLUICE_E_INVALID, "fields seen: none");
}

static void damaged_shards_are_errors_with_their_names(void)
{
    char folder[300];
    tar_maker tar = {0};
    const int before = open_files();

    snprintf(folder, sizeof(folder), "%s", t_folder());
    make_web_shard(t_path(folder, "a.tar"), "a", 1);
    tar_add_text(&tar, "x.jpg", "abc");
    t_write_file(t_path(folder, "cut.tar"), tar.bytes, 514);
    tar_free(&tar);
    check_web_fails("webdataset @", folder, SLUICE_E_CORRUPT, "/cut.tar, member 'x.jpg'");
    T_EQ(open_files(), before);
    t_write_file(t_path(folder, "cut.tar"), "", 0);
    check_web_fails("webdataset @", folder, SLUICE_E_CORRUPT, "/cut.tar is empty");
    T_EQ(unlink(t_path(folder, "cut.tar")), 0);
    T_EQ(mkdir(t_path(folder, "cut.tar"), 0755), 0);
    check_web_fails("webdataset @", folder, SLUICE_E_IO, "/cut.tar must be a regular file");
    T_EQ(open_files(), before);
}

static void a_shard_cut_after_it_was_opened_is_a_bad_sample(void)
{
    const char *path = t_file("s.tar");
    sluice_dataset *dataset;

    make_web_shard(path, "x", 3);
    dataset = open_web("webdataset @", path);
    T_EQ(truncate(path, 2048 + 512 + 1), 0); /* within the second sample's image */
    check_web_sample(dataset, 0, "s.tar/000.jpg", "x-0", 0);
    check_read_fails(dataset, 1, SLUICE_E_IO, "within the sample");
    T_CONTAINS(sluice_last_error(), path);
    check_read_fails(dataset, 2, SLUICE_E_IO, "within the sample");
    sluice_dataset_destroy(dataset);
}

/* ---- files, order, memory -------------------------------------------------------------------- */

static void more_shards_than_files_may_be_open_are_read(void)
{
    enum { SHARDS = 150 };
    struct rlimit old;
    struct rlimit few;
    char folder[300];
    char other[400];
    sluice_dataset *dataset;
    const int before = open_files();

    snprintf(folder, sizeof(folder), "%s", t_folder());
    for (int i = 0; i < SHARDS; i++) {
        char name[40];

        snprintf(name, sizeof(name), "%03d.tar", i);
        make_web_shard(t_path(folder, name), name, 1);
    }
    T_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = 100;
    T_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    dataset = open_web("webdataset @/{000..149}.tar", folder);
    T_EQ(dataset->source_count, SHARDS);
    for (uint64_t i = 0; i < SHARDS; i++) {
        char name[40];
        char text[40];

        snprintf(name, sizeof(name), "%03d.tar/000.jpg", (int)i);
        snprintf(text, sizeof(text), "%03d.tar-0", (int)i);
        check_web_sample(dataset, i, name, text, 0);
    }
    T_TRUE(open_files() <= before + 50);
    T_EQ(truncate(t_path(folder, "149.tar"), 1536), 0);
    check_read_fails(dataset, SHARDS - 1, SLUICE_E_IO,
                     "was changed or replaced since the dataset was opened");
    make_web_shard(t_path(folder, "x"), "148.tar", 1);
    snprintf(other, sizeof(other), "%s", t_path(folder, "x"));
    T_EQ(rename(other, t_path(folder, "148.tar")), 0); /* of the same size */
    check_read_fails(dataset, SHARDS - 2, SLUICE_E_IO,
                     "was changed or replaced since the dataset was opened");
    T_EQ(unlink(t_path(folder, "149.tar")), 0);
    check_read_fails(dataset, SHARDS - 1, SLUICE_E_IO, "149.tar: No such file");
    sluice_dataset_destroy(dataset);
    T_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
    T_EQ(open_files(), before);
}

/* Also where the first bytes of an image lend the descriptor to its decoder. */
static void shards_are_closed_where_descriptors_run_out_and_read_all_the_same(void)
{
    enum { SIDE = 40, SIZE = 12 + SIDE * SIDE * 3 };
    static uint8_t ppm[SIZE] = "P6\n40 40 255";
    char folder[300];
    tar_maker tar = {0};
    sluice_dataset *dataset;
    sample_io io = {.bytes_read = 0};
    sample_data data;
    const int before = open_files();

    snprintf(folder, sizeof(folder), "%s", t_folder());
    ppm[SIZE - SIDE * SIDE * 3 - 1] = '\n';
    tar_add(&tar, "0.ppm", '0', ppm, SIZE);
    tar_add_text(&tar, "0.cls", "0");
    tar_write(&tar, t_path(folder, "a.tar"));
    tar_free(&tar);
    make_web_shard(t_path(folder, "b.tar"), "b", 3);
    dataset = open_web("webdataset @", folder);
    T_EQ(open_files(), before + 2);
    T_OK(read_sample(dataset, 0, &io, NULL, &data));
    T_EQ(data.size, IMAGE_HEAD);
    T_EQ(sli_held_files_drop(), 1);
    T_EQ(open_files(), before + 1);
    check_web_sample(dataset, 2, "b.tar/001.jpg", "b-1", 1);
    sample_io_free(&io);
    T_EQ(sli_held_files_drop(), 1);
    io = (sample_io){.bytes_read = 0};
    T_OK(read_sample(dataset, 0, &io, NULL, &data));
    T_EQ(data.size, SIZE);
    T_EQ(open_files(), before);
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

/* The image in the shard, and the same as a file of image_folder, by way of the decoder. */
static void raw_images_are_read_in_part_and_are_the_same(void)
{
    enum { WIDTH = 60, HEIGHT = 50, SIZE = WIDTH * HEIGHT * 3 };
    static uint8_t bytes[16 + SIZE];
    static uint8_t part[20 * 10 * 3];
    static uint8_t whole[20 * 10 * 3];
    void *const part_row[SLUICE_MAX_COLUMNS] = {part};
    void *const whole_row[SLUICE_MAX_COLUMNS] = {whole};
    char folder[300];
    tar_maker tar = {0};
    sluice_dataset *dataset;
    sample_io io = {.bytes_read = 0};
    sample_data data;
    int32_t label = 0;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    memcpy(bytes, "P6 60 50 255\n", 13);
    for (size_t i = 0; i < SIZE; i++) {
        bytes[13 + i] = (uint8_t)(i * 31 + i / 180);
    }
    tar_add(&tar, "a.PPM", '0', bytes, 13 + SIZE);
    tar_add_text(&tar, "a.cls", "3");
    tar_write(&tar, t_path(folder, "s.tar"));
    t_write_file(t_path(folder, "images/c/a.ppm"), bytes, 13 + SIZE);
    dataset = open_web("webdataset @/s.tar | decode | random_crop 10,20 | batch 1", folder);
    T_OK(read_sample(dataset, 0, &io, &label, &data));
    T_EQ(label, 3);
    T_EQ(data.rest.size, 13 + SIZE);
    T_TRUE(io.bytes_read < 1000);
    sample_io_free(&io);
    for (uint64_t pass = 0; pass < 5; pass++) {
        sluice_dataset *images =
            web_dataset("image_folder @/images extensions=ppm | decode | random_crop 10,20 | "
                        "batch 1",
                        folder);

        T_OK(sluice_dataset_get(dataset, 1, pass, 0, part_row, NULL));
        T_OK(sluice_dataset_get(images, 1, pass, 0, whole_row, NULL));
        T_EQ(memcmp(part, whole, sizeof(part)), 0);
        sluice_dataset_destroy(images);
    }
    sluice_dataset_destroy(dataset);
}

/* What is called .ppm and is none is read as a whole, whatever it is. */
static void bytes_and_not_names_say_what_an_image_is(void)
{
    const char *path = t_file("s.tar");
    uint8_t text[5000];
    tar_maker tar = {0};
    sluice_dataset *dataset;
    sample_io io = {.bytes_read = 0};
    sample_data data;
    int32_t label = 0;

    memset(text, 'x', sizeof(text));
    text[4999] = 'y';
    tar_add(&tar, "a.ppm", '0', text, sizeof(text));
    tar_add_text(&tar, "a.cls", "3");
    tar_write(&tar, path);
    dataset = open_web("webdataset @", path);
    T_OK(read_sample(dataset, 0, &io, &label, &data));
    T_EQ(data.size, 5000);
    T_EQ(data.rest.size, 0);
    T_EQ(memcmp(data.bytes, text, 5000), 0);
    T_EQ(io.bytes_read, 5000);
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

static void ranks_see_every_sample_once(void)
{
    const char *path = t_file("s.tar");
    tar_maker tar = {0};
    bool seen[10] = {false};

    for (char i = 0; i < 10; i++) {
        const char pixel[13] = {'P', '5', ' ', '1', ' ', '1', ' ', '2', '5', '5', ' ', i, 0};
        char name[20];

        snprintf(name, sizeof(name), "%d.pgm", i);
        tar_add(&tar, name, '0', pixel, 12);
    }
    tar_write(&tar, path);
    for (int rank = 0; rank < 3; rank++) {
        sluice_dataset *dataset;
        char text[200];

        snprintf(text, sizeof(text),
                 "webdataset @ label=none image=pgm | shuffle seed=3 | shard rank=%d world=3 | "
                 "decode mode=gray | batch 2",
                 rank);
        dataset = web_dataset(text, path);
        for (uint64_t i = 0; i < (rank == 0 ? 4 : 3); i++) {
            uint64_t sample = 99;
            uint8_t pixel = 99;
            void *const row[SLUICE_MAX_COLUMNS] = {&pixel};

            T_OK(sluice_dataset_get(dataset, 0, 0, i, row, &sample));
            T_TRUE(sample < 10 && !seen[sample]);
            T_EQ(pixel, sample);
            seen[sample] = true;
        }
        sluice_dataset_destroy(dataset);
    }
    for (int i = 0; i < 10; i++) {
        T_TRUE(seen[i]);
    }
}

static void memory_for_a_sample_is_small(void)
{
    enum { SAMPLES = 900 };
    const char *path = t_file("s.tar");
    sluice_dataset *dataset;

    make_web_shard(path, "x", SAMPLES);
    dataset = open_web("webdataset @", path);
    T_TRUE(dataset_source(dataset)->memory(dataset->source) < SAMPLES * 45);
    sluice_dataset_destroy(dataset);
}

static void failing_allocations_of_shards_are_reported(void)
{
    char folder[300];
    const int before = open_files();
    bool opened = false;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    make_web_shard(t_path(folder, "a-0.tar"), "a", 2);
    make_web_shard(t_path(folder, "a-1.tar"), "b", 2);
    for (int failures = 0; !opened; failures++) {
        sluice_dataset *dataset = web_dataset("webdataset @/a-{0..1}.t*r index=none", folder);
        sluice_status st;

        sli_alloc_fail_after(failures);
        st = dataset_open(dataset);
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        opened = st == SLUICE_OK && dataset->source_count == 4;
        sluice_dataset_destroy(dataset);
        T_EQ(open_files(), before);
        T_TRUE(failures < 200);
    }
}

const t_test source_webdataset_tests[] = {
    T_TEST(samples_of_all_shards_are_read_in_any_order),
    T_TEST(arguments_are_checked),
    T_TEST(incomplete_samples_are_left_out_with_a_warning),
    T_TEST(a_shard_that_was_cut_between_members_is_warned_of),
    T_TEST(indexes_that_cannot_be_kept_where_they_are_wanted_are_warned_of),
    T_TEST(without_labels_nothing_is_written_to_another_column),
    T_TEST(samples_that_nobody_can_tell_are_bad_samples),
    T_TEST(nothing_to_read_says_what_was_found),
    T_TEST(damaged_shards_are_errors_with_their_names),
    T_TEST(a_shard_cut_after_it_was_opened_is_a_bad_sample),
    T_TEST(shards_are_closed_where_descriptors_run_out_and_read_all_the_same),
    T_TEST(more_shards_than_files_may_be_open_are_read),
    T_TEST(raw_images_are_read_in_part_and_are_the_same),
    T_TEST(bytes_and_not_names_say_what_an_image_is),
    T_TEST(ranks_see_every_sample_once),
    T_TEST(memory_for_a_sample_is_small),
    T_TEST(failing_allocations_of_shards_are_reported),
    T_END,
};
