/* SPDX-License-Identifier: Apache-2.0 */
/* Packing within a process: stopped at every sample, without memory, by many workers. */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/pack.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "dataset_state.h"
#include "engine_kit.h"
#include "fault_kit.h"
#include "jpeg_maker.h"
#include "jpeg_walk.h"
#include "ordered_run.h"
#include "pack_kit.h"
#include "shard_kit.h"
#include "testing.h"
#include "thread_interrupt_int.h"

static void a_pack_that_is_stopped_anywhere_comes_to_the_same_bytes(void)
{
    const char *top = t_folder();
    const char *whole = folder_named(top, "whole");
    const char *broken = folder_named(top, "broken");
    sluice_dataset *dataset = pictures(folder_named(top, "src"));
    sluice_pack_config config = config_of(dataset, whole);
    sluice_pack_stats first = {.struct_size = sizeof(first)};
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};
    sluice_stop *stop = NULL;

    T_NEEDS(can_pack(), "no libarchive");
    T_OK(sluice_stop_create(&stop));
    T_OK(sluice_pack(&config, &first));
    T_TRUE(first.shards > 3);
    T_EQ(first.fates[SLUICE_PACK_LEFT_NO_IMAGE], 2);
    for (uint64_t after = 1; after <= PACK_SAMPLES; after++) {
        stopper s = {stop, after, 0};

        make_empty(broken);
        config.folder = broken;
        config.stop = stop;
        config.progress = stop_after;
        config.user = &s;
        sluice_stop_clear(stop);
        T_STATUS(sluice_pack(&config, &stats), after == PACK_SAMPLES ? SLUICE_OK : SLUICE_STOPPED);
        T_EQ(stats.complete, after == PACK_SAMPLES);
        config.progress = NULL;
        sluice_stop_clear(stop);
        config.workers = 1 + (uint32_t)after % 3;
        T_OK(sluice_pack(&config, &stats));
        T_EQ(stats.done, PACK_SAMPLES);
        T_EQ(stats.bytes_out, first.bytes_out);
        T_EQ(stats.tar_bytes, first.tar_bytes);
        T_EQ(stats.fates[SLUICE_PACK_LEFT_NO_IMAGE], 2);
        T_TRUE(same_folders(whole, broken));
    }
    sluice_stop_destroy(stop);
    sluice_dataset_destroy(dataset);
}

static void workers_and_memory_do_not_change_the_bytes(void)
{
    const char *top = t_folder();
    const char *whole = folder_named(top, "whole");
    const char *other = folder_named(top, "other");
    sluice_dataset *dataset = pictures(folder_named(top, "src"));
    sluice_pack_config config = config_of(dataset, whole);

    T_NEEDS(can_pack(), "no libarchive");
    T_OK(sluice_pack(&config, NULL));
    config.folder = other;
    for (uint32_t workers = 2; workers < 9; workers++) {
        config.workers = workers;
        config.memory_bytes = workers % 2 == 0 ? 1 : 30000;
        make_empty(other);
        T_OK(sluice_pack(&config, NULL));
        T_TRUE(same_folders(whole, other));
    }
    sluice_dataset_destroy(dataset);
}

/* ---- damaged later ------------------------------------------------------------------------- */

/* Flips a bit of sample's image; the shard is as old as it was. */
static void flip_bit_of(const sluice_dataset *dataset, uint64_t sample)
{
    sample_location at = {.fd = -1};
    struct stat before;
    uint8_t byte;
    int fd;

    T_TRUE(dataset_source(dataset)->locate(dataset->source, sample, &at));
    fd = open(at.path, O_RDWR | O_CLOEXEC);
    T_TRUE(fd >= 0);
    T_EQ(fstat(fd, &before), 0);
    T_EQ(pread(fd, &byte, 1, (off_t)(at.offset + at.size / 2)), 1);
    byte ^= 0x10;
    T_EQ(pwrite(fd, &byte, 1, (off_t)(at.offset + at.size / 2)), 1);
    T_EQ(futimens(fd, (const struct timespec[2]){before.st_atim, before.st_mtim}), 0);
    close(fd);
}

static void a_bit_that_was_flipped_is_a_bad_sample(void)
{
    const char *top = t_folder();
    const char *packed = folder_named(top, "packed");
    sluice_dataset *dataset = pictures(folder_named(top, "src"));
    sluice_pack_config config = config_of(dataset, packed);
    uint64_t count;

    T_NEEDS(can_pack(), "no libarchive");
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(dataset);
    dataset = parsedf("webdataset %s", packed);
    T_OK(dataset_open(dataset));
    count = dataset_source(dataset)->count(dataset->source);
    flip_bit_of(dataset, 5);
    for (uint64_t i = 0; i < count; i++) {
        sample_io io = {.bytes_read = 0};
        sample_data data;
        int32_t label = -1;
        void *row[SLUICE_MAX_COLUMNS] = {[1] = &label};
        const sluice_status st = dataset_source(dataset)->read(dataset->source, i, &io, row, &data);

        T_STATUS(st, i == 5 ? SLUICE_E_CORRUPT : SLUICE_OK);
        if (i == 5) {
            T_CONTAINS(sluice_last_error(), "the checksum differs; `sluice verify`");
        }
        sample_io_free(&io);
    }
    sluice_dataset_destroy(dataset);
}

/* ---- lossy --------------------------------------------------------------------------------- */

/* The first file of a pack: behind the header of an archive's first member. */
static void walk_first(const char *folder, jpeg_walk *walk)
{
    static uint8_t bytes[20000];
    FILE *file = fopen(folder_named(folder, "shard-000000.tar"), "rb");

    T_TRUE(file != NULL);
    T_EQ(fseek(file, 512, SEEK_SET), 0);
    T_TRUE(jpeg_walk_file(bytes, fread(bytes, 1, sizeof(bytes), file), walk));
    T_EQ(fclose(file), 0);
}

static void images_encoded_anew_have_restart_markers_and_their_own_colours(void)
{
    static const struct {
        J_COLOR_SPACE space;
        sluice_pack_subsampling subsampling;
        uint32_t components;
        uint32_t across;
    } cases[] = {{JCS_GRAYSCALE, SLUICE_PACK_SUBSAMPLING_AUTO, 1, 1},
                 {JCS_YCbCr, SLUICE_PACK_SUBSAMPLING_AUTO, 3, 2},
                 {JCS_YCbCr, SLUICE_PACK_SUBSAMPLING_444, 3, 1}};

    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *top = t_folder();
        const char *packed = folder_named(top, "packed");
        const jpeg_recipe recipe = {.width = 160, .height = 90, .space = cases[i].space};
        size_t size = 0;
        uint8_t *bytes = jpeg_make(&recipe, &size);
        sluice_pack_config config;
        jpeg_walk walk;

        t_write_file(folder_named(top, "src/a/1.jpg"), bytes, size);
        free(bytes);
        config = config_of(folder_dataset(folder_named(top, "src"), "take 1"), packed);
        config.max_side = 128;
        config.subsampling = cases[i].subsampling;
        make_empty(packed);
        T_OK(sluice_pack(&config, NULL));
        walk_first(packed, &walk);
        T_EQ(walk.width, 128);
        T_EQ(walk.height, 72);
        T_EQ(walk.components, cases[i].components);
        T_EQ(walk.across, cases[i].across);
        T_EQ(walk.interval, cases[i].across == 2 ? 2 : 4);
        sluice_dataset_destroy(config.dataset);
    }
}

/* A pass of the images, decoded as mode says. */
static tape decoded(const char *source, const char *mode)
{
    tape got;

    got = record_own(parsedf("%s | decode mode=%s | center_crop 16 | batch 1", source, mode),
                     &(run_options){.workers = 1});
    T_STATUS(got.end, SLUICE_END_OF_DATA);
    return got;
}

static void raw_pixels_of_gray_files_are_the_same_in_every_mode(void)
{
    static const char *const modes[] = {"rgb", "gray"};
    const jpeg_recipe recipe = {.width = 40, .height = 30, .space = JCS_GRAYSCALE};
    const char *top = t_folder();
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&recipe, &size);
    char files[600];
    char raw[600];
    sluice_pack_config config;

    t_write_file(folder_named(top, "src/a/1.jpg"), bytes, size);
    free(bytes);
    T_NEEDS(can_pack(), "no libarchive");
    config =
        config_of(folder_dataset(folder_named(top, "src"), "take 1"), folder_named(top, "packed"));
    config.raw = true;
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(config.dataset);
    snprintf(files, sizeof(files), "image_folder %s/src", top);
    snprintf(raw, sizeof(raw), "webdataset %s/packed", top);
    for (int i = 0; i < 2; i++) {
        tape want = decoded(files, modes[i]);
        tape got = decoded(raw, modes[i]);

        check_equal_tapes(&got, &want, modes[i]);
        free(want.bytes);
        free(got.bytes);
    }
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Whichever request fails: it is an error, no sample's fate, and the pack goes on afterwards. */
/* A file named .png with the bytes of a BMP file would be read by this library only. */
static void a_bmp_file_is_packed_as_pixels_only(void)
{
    static const uint8_t bmp[] =
        "BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0\1\0\0\0\1\0\x18\0\0\0\0\0"
        "\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\2\3";
    const char *top = t_folder();
    const char *source = folder_named(top, "src");
    sluice_dataset *dataset;
    sluice_pack_config config;
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};

    T_NEEDS(can_pack(), "no libarchive");
    t_write_file(t_path(source, "c/1.bmp"), bmp, sizeof(bmp));
    make_jpeg(source, "c/2.jpg", 8, 8, 1);
    dataset = folder_dataset(source, "shuffle 5");
    config = config_of(dataset, folder_named(top, "kept"));
    T_OK(sluice_pack(&config, &stats));
    T_EQ(stats.fates[SLUICE_PACK_LEFT_NO_IMAGE], 1);
    config = config_of(dataset, folder_named(top, "raw"));
    config.raw = true;
    T_OK(sluice_pack(&config, &stats));
    T_EQ(stats.fates[SLUICE_PACK_RAW], 2);
    sluice_dataset_destroy(dataset);
}

static void want_of_memory_ends_a_pack_that_can_go_on(void)
{
    const char *top = t_folder();
    const char *whole = folder_named(top, "whole");
    const char *broken = folder_named(top, "broken");
    sluice_dataset *dataset = pictures(folder_named(top, "src"));
    sluice_pack_config config = config_of(dataset, whole);
    sluice_status st = SLUICE_E_NO_MEMORY;
    unsigned failures = 0;

    T_NEEDS(can_pack(), "no libarchive");
    T_OK(sluice_pack(&config, NULL));
    config.folder = broken;
    fault_pauses_begin();
    for (int64_t passed = 0; st == SLUICE_E_NO_MEMORY; passed += 1 + passed / 40) {
        if (passed % 3 == 0) {
            make_empty(broken);
        }
        config.verify = passed % 2 == 0;
        sli_alloc_fail_after(passed);
        st = sluice_pack(&config, NULL);
        sli_alloc_fail_after(-1);
        failures += st == SLUICE_E_NO_MEMORY;
    }
    fault_pauses_end();
    T_OK(st);
    T_TRUE(failures > 50);
    T_TRUE(same_folders(whole, broken));
    sluice_dataset_destroy(dataset);
}

static void want_of_memory_ends_a_check(void)
{
    const char *top = t_folder();
    const char *whole = folder_named(top, "whole");
    sluice_dataset *dataset = pictures(folder_named(top, "src"));
    sluice_pack_config config = config_of(dataset, whole);
    sluice_verify_config check;
    sluice_verify_stats stats = {.struct_size = sizeof(stats)};
    sluice_status st = SLUICE_E_NO_MEMORY;
    unsigned failures = 0;

    T_NEEDS(can_pack(), "no libarchive");
    T_OK(sluice_pack(&config, NULL));
    sluice_verify_config_init(&check);
    check.path = whole;
    check.workers = 1;
    for (int64_t passed = 0; st == SLUICE_E_NO_MEMORY; passed++) {
        sli_alloc_fail_after(passed);
        st = sluice_pack_verify(&check, &stats);
        sli_alloc_fail_after(-1);
        failures += st == SLUICE_E_NO_MEMORY;
    }
    T_OK(st);
    T_TRUE(failures > 20);
    T_EQ(stats.problems, 0);
    sluice_dataset_destroy(dataset);
}

/* Its checksum is right, and so is all else of it. */
static void an_index_of_an_unknown_version_is_a_problem(void)
{
    const char *top = t_folder();
    const char *whole = folder_named(top, "whole");
    char index[1024];
    sluice_dataset *dataset = pictures(folder_named(top, "src"));
    sluice_pack_config config = config_of(dataset, whole);
    sluice_verify_config check;
    uint8_t bytes[8000];
    size_t size;

    T_NEEDS(can_pack(), "no libarchive");
    T_OK(sluice_pack(&config, NULL));
    sluice_verify_config_init(&check);
    check.path = whole;
    snprintf(index, sizeof(index), "%s/shard-000000.tar.sluice", whole);
    size = read_file_bytes(index, bytes, sizeof(bytes));
    for (uint64_t version = 0; version < 5; version++) {
        sluice_verify_stats stats = {.struct_size = sizeof(stats)};
        const bool is_known = version == 1 || version == 2;

        put_in_index(bytes, size, 8, version, 4);
        t_write_file(index, bytes, size);
        T_STATUS(sluice_pack_verify(&check, &stats), is_known ? SLUICE_OK : SLUICE_E_CORRUPT);
        T_EQ(stats.problems, is_known ? 0 : 1);
    }
    sluice_dataset_destroy(dataset);
}

/* ---- ordered runs -------------------------------------------------------------------------- */

typedef struct counting {
    uint64_t taken;
    uint64_t fails_at; /* the item whose make() fails */
    uint64_t refused;  /* the item whose take() fails */
    _Atomic int64_t alive;
    _Atomic int64_t most_alive;
    _Atomic uint64_t made;
    bool in_order;
} counting;

static counting *counted;

static sluice_status make_number(void *arg, uint32_t worker, uint64_t item, void **made_out,
                                 size_t *bytes_out)
{
    counting *c = arg;
    uint64_t *number = malloc(sizeof(*number));
    const int64_t alive = ++c->alive;

    (void)worker;
    for (volatile uint64_t spin = 0; spin < item * 7919 % 20000; spin = spin + 1) {
    }
    if (alive > c->most_alive) {
        c->most_alive = alive;
    }
    if (number == NULL || item == c->fails_at) {
        free(number);
        --c->alive;
        return sluice_fail(SLUICE_E_IO, "item %d", (int)item);
    }
    ++c->made;
    *number = item;
    *made_out = number;
    *bytes_out = 100;
    return SLUICE_OK;
}

static void drop_number(void *made)
{
    --counted->alive;
    free(made);
}

static sluice_status take_number(void *arg, uint64_t item, void *made)
{
    counting *c = arg;

    /* Others are made meanwhile: this ends, in time that nobody counts. */
    while (item < 990 && c->fails_at == UINT64_MAX && c->made < item + 3) {
        sched_yield();
    }
    c->in_order = c->in_order && *(uint64_t *)made == item && c->taken == item;
    drop_number(made);
    if (item == c->refused) {
        return sluice_fail(SLUICE_E_INVALID, "no");
    }
    c->taken++;
    return SLUICE_OK;
}

static ordered_job job_of(counting *c, uint32_t workers, size_t budget)
{
    const ordered_job job = {.end = 1000,
                             .workers = workers,
                             .budget = budget,
                             .arg = c,
                             .make = make_number,
                             .take = take_number,
                             .drop = drop_number};

    *c = (counting){.fails_at = UINT64_MAX, .refused = UINT64_MAX, .in_order = true};
    counted = c;
    return job;
}

static void items_are_taken_in_order_within_a_budget(void)
{
    for (uint32_t workers = 1; workers < 7; workers++) {
        counting c;
        ordered_job job = job_of(&c, workers, 1000);

        T_OK(ordered_run(&job));
        T_TRUE(c.in_order);
        T_EQ(c.taken, 1000);
        T_EQ(c.alive, 0);
        /* Ten of 100 bytes, one that is taken, and what each worker is at. */
        T_TRUE(c.most_alive <= 10 + 1 + (int64_t)workers);
    }
}

static void an_error_comes_after_all_items_before_it(void)
{
    for (uint32_t workers = 1; workers < 5; workers++) {
        counting c;
        ordered_job job = job_of(&c, workers, 1 << 20);

        c.fails_at = 500;
        T_STATUS(ordered_run(&job), SLUICE_E_IO);
        T_STR(sluice_last_error(), "item 500");
        T_EQ(c.taken, 500);
        T_EQ(c.alive, 0);
        job = job_of(&c, workers, 1 << 20);
        c.refused = 300;
        T_STATUS(ordered_run(&job), SLUICE_E_INVALID);
        T_EQ(c.taken, 300);
        T_EQ(c.alive, 0);
    }
}

/* Makes items that end by the interrupt of their thread alone, once a stop is requested. */
typedef struct endless {
    sluice_stop *stop;
    _Atomic uint32_t interrupted;
} endless;

static sluice_status make_endless(void *arg, uint32_t worker, uint64_t item, void **made_out,
                                  size_t *bytes_out)
{
    endless *e = arg;

    (void)worker;
    (void)made_out;
    (void)bytes_out;
    sluice_stop_request(e->stop);
    for (uint32_t i = 0; i < 1000000 && !sli_is_interrupted(); i++) {
        sched_yield();
    }
    e->interrupted += sli_is_interrupted();
    if (item == 0) {
        sluice_stop_clear(e->stop); /* the run has been stopped all the same */
    }
    return SLUICE_CLOSED;
}

static sluice_status take_none(void *arg, uint64_t item, void *made)
{
    (void)arg;
    (void)item;
    (void)made;
    return SLUICE_E_INVALID;
}

static void a_stop_interrupts_the_items_that_are_being_made(void)
{
    endless e = {.interrupted = 0};
    ordered_job job = {.end = 1,
                       .workers = 1,
                       .budget = 1000,
                       .arg = &e,
                       .make = make_endless,
                       .take = take_none,
                       .drop = free};

    T_OK(sluice_stop_create(&e.stop));
    job.stop = e.stop;
    T_STATUS(ordered_run(&job), SLUICE_STOPPED);
    T_EQ(e.interrupted, 1);
    sluice_stop_destroy(e.stop);
}

const t_test pack_tests[] = {
    T_TEST(a_pack_that_is_stopped_anywhere_comes_to_the_same_bytes),
    T_TEST(workers_and_memory_do_not_change_the_bytes),
    T_TEST(a_bit_that_was_flipped_is_a_bad_sample),
    T_TEST(images_encoded_anew_have_restart_markers_and_their_own_colours),
    T_TEST(raw_pixels_of_gray_files_are_the_same_in_every_mode),
    T_TEST(a_bmp_file_is_packed_as_pixels_only),
    T_TEST(want_of_memory_ends_a_pack_that_can_go_on),
    T_TEST(want_of_memory_ends_a_check),
    T_TEST(an_index_of_an_unknown_version_is_a_problem),
    T_TEST(items_are_taken_in_order_within_a_budget),
    T_TEST(an_error_comes_after_all_items_before_it),
    T_TEST(a_stop_interrupts_the_items_that_are_being_made),
    T_END,
};
