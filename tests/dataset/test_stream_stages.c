/* SPDX-License-Identifier: Apache-2.0 */
/* Streams with stages that choose and order samples. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "permutation.h"
#include "sample_mixer.h"
#include "shard_kit.h"
#include "stream_kit.h"
#include "stream_order.h"
#include "testing.h"

enum { MOST = 64 };

static const char *const stages[] = {
    " | skip 3",
    " | take 6",
    " | skip 2 | take 7",
    " | take 9 | skip 4",
    " | split train 0.6",
    " | split val 0.5 test=0.2 | take 3 | skip 1",
    " | skip 1 | split test 0.7",
    " | take 100 | skip 0",
};

enum { STAGES = sizeof(stages) / sizeof(stages[0]) };

static void samples_are_chosen_as_by_an_index(void)
{
    const char *folder = t_folder();

    make_two(folder, 23);
    for (int i = 0; i < 3 * STAGES; i++) {
        check_stream("@ access=stream", stages[i % STAGES], folder, "4",
                     &(run_options){.device = devices[i % 2],
                                    .workers = worker_counts[i % 3],
                                    .passes = 1 + (uint64_t)i % 3});
    }
}

static void ranks_share_what_was_chosen(void)
{
    const char *folder = t_folder();

    make_two(folder, 40);
    for (uint32_t i = 0; i < 3 * STAGES; i++) {
        if (i / 3 != 5) { /* which leaves less than a sample for each */
            check_stream("@ access=stream", stages[i / 3], folder, "4",
                         &(run_options){.workers = worker_counts[i % 3],
                                        .settings = {.rank = i % 3, .world = 3},
                                        .passes = 2});
        }
    }
}

static void a_pass_without_samples_is_an_error(void)
{
    static const char *const none[] = {"@ access=stream | take 0", "@ access=stream | skip 99",
                                       "@ access=stream | skip 9 | shuffle"};
    const char *folder = t_folder();

    make_two(folder, 9);
    for (int i = 0; i < 3; i++) {
        sluice_dataset *dataset = stream_dataset(none[i], folder, "4");

        T_EQ(batches_to_error(dataset, &(run_options){.workers = 2, .batches = 5}, SLUICE_E_INVALID,
                              "no valid data in the dataset: a pass of the stream has 0 samples"),
             0);
    }
}

/* What comes after a `take` is not read: the stream may go on for ever. */
static void a_pipe_is_read_as_far_as_it_is_taken(void)
{
    const char *path = t_file("fifo");
    tar_maker tar = {0};
    fifo_writer writer;
    tape got;

    add_images(&tar, 0, 9);
    tar_add_text(&tar, "x.txt", "and no end");
    fifo_write(&writer, path, tar.bytes, tar.size);
    got = record_own(stream_dataset("@ | take 8", path, "4"),
                     &(run_options){.workers = 2, .batches = UINT64_MAX});
    T_STATUS(got.end, SLUICE_END_OF_DATA);
    T_EQ(got.batches, 2);
    fifo_join(&writer);
    tar_free(&tar);
    free(got.bytes);
}

/* ---- shuffle -------------------------------------------------------------------------------- */

/* Labels that a run gave, in order, without padding. */
typedef struct labels {
    uint32_t count;
    int32_t of[4 * MOST];
    sluice_status end;
    char error[SLI_ERROR_SIZE];
} labels;

static labels labels_of(const char *what, const char *path, const run_options *options)
{
    labels got = {.count = 0};
    engine_run run;

    open_own(&run, stream_dataset(what, path, "4"), options);
    while ((got.end = next_batch(&run)) == SLUICE_OK) {
        for (uint32_t row = 0; row < run.input.header->valid_rows; row++) {
            const int32_t label = *(const int32_t *)row_of(&run, 1, row);

            /* The image is the label's own. */
            T_EQ(*(const uint8_t *)row_of(&run, 0, row), label + 1);
            T_TRUE(got.count < 4 * MOST);
            got.of[got.count++] = label;
        }
    }
    snprintf(got.error, sizeof(got.error), "%s", sluice_last_error());
    close_run(&run);
    return got;
}

/* The order of a pass by what the header says: two shards by turns, `buffer` samples at hand. */
static void expect_pass(const int shards[2], uint64_t buffer, uint64_t seed, uint64_t pass,
                        int32_t *out)
{
    const uint64_t pass_key =
        sli_mix_in(sli_mix_in(sli_mix_in(sli_hash_text("shuffle"), seed), 0), pass);
    const index_permutation files = permutation_of(2);
    int32_t arriving[MOST];
    int32_t held[MOST];
    uint32_t arrived = 0;
    uint32_t next = 0;
    uint32_t holds = 0;

    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t file =
            permutation_at(&files, sli_mix_in(sli_hash_text("files"), pass_key), i);

        for (int k = 0; k < shards[file]; k++) {
            arriving[arrived++] = (file == 0 ? 0 : shards[0]) + k;
        }
    }
    for (uint64_t given = 0; given < arrived; given++) {
        const sli_draws draws = {.key = pass_key, .sample = given};
        uint32_t random[4];
        uint32_t at;

        while (holds < buffer && next < arrived) {
            held[holds++] = arriving[next++];
        }
        sli_draw(&draws, 0, random);
        at = (uint32_t)((uint64_t)random[0] * holds >> 32);
        out[given] = held[at];
        held[at] = held[--holds];
    }
}

static void shuffle_is_a_function_of_seed_and_pass(void)
{
    static const uint64_t buffers[] = {1, 2, 5, 22, 23, 1000};
    const int shards[2] = {11, 12};
    const char *folder = t_folder();

    make_two(folder, 23);
    for (uint32_t i = 0; i < 18; i++) {
        const uint64_t seed = 7 + i % 2;
        int32_t want[3 * 23];
        labels got;
        char what[100];

        for (uint64_t pass = 0; pass < 3; pass++) {
            expect_pass(shards, buffers[i / 3], seed, pass, want + 23 * pass);
        }
        snprintf(what, sizeof(what), "@ access=stream | shuffle buffer=%d", (int)buffers[i / 3]);
        got = labels_of(what, folder,
                        &(run_options){.device = devices[i % 2],
                                       .workers = worker_counts[i % 3],
                                       .settings = {.seed = seed},
                                       .passes = 3});
        T_EQ(got.count, 69);
        T_TRUE(memcmp(got.of, want, sizeof(want)) == 0);
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

/* All of 0 to count - 1 are there, once. */
static void check_all(int32_t *of, uint32_t got, uint32_t count)
{
    T_EQ(got, count);
    qsort(of, count, sizeof(*of), by_number);
    for (uint32_t i = 0; i < count; i++) {
        T_EQ(of[i], (int32_t)i);
    }
}

static void every_pass_has_every_sample_once(void)
{
    const char *folder = t_folder();

    make_two(folder, 32);
    for (uint32_t i = 0; i < 9; i++) {
        labels got =
            labels_of(i < 3 ? "@ access=stream | shuffle buffer=3"
                            : "@ access=stream | shuffle 5 | shuffle buffer=7",
                      folder, &(run_options){.workers = worker_counts[i % 3], .passes = 2});

        T_EQ(got.count, 64);
        T_TRUE(memcmp(got.of, got.of + 32, 32 * sizeof(*got.of)) != 0);
        check_all(got.of, 32, 32);
        check_all(got.of + 32, 32, 32);
    }
}

static void ranks_share_what_was_shuffled(void)
{
    const char *folder = t_folder();
    int32_t all[MOST];
    uint32_t count = 0;

    make_two(folder, 24);
    for (uint32_t rank = 0; rank < 3; rank++) {
        const labels got = labels_of("@ access=stream | shuffle buffer=6", folder,
                                     &(run_options){.workers = worker_counts[rank],
                                                    .settings = {.rank = rank, .world = 3},
                                                    .passes = 1});

        T_EQ(got.count, 8);
        memcpy(all + count, got.of, sizeof(all[0]) * got.count);
        count += got.count;
    }
    check_all(all, count, 24);
}

/* Behind another stage of order files are not mixed: each pass has the same samples. */
static void what_was_chosen_before_is_the_same_in_every_pass(void)
{
    const char *folder = t_folder();
    labels got;

    make_two(folder, 40);
    got = labels_of("@ access=stream | take 10 | shuffle", folder,
                    &(run_options){.workers = 2, .passes = 4});
    T_EQ(got.count, 40);
    for (uint32_t pass = 0; pass < 4; pass++) {
        check_all(got.of + 10 * pass, 10, 10);
    }
}

/* What comes by a pipe comes in its order, and so do the files around it. */
static void a_pipe_is_mixed_within_the_buffer_alone(void)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        const char *folder = t_folder();
        char what[1000];
        tar_maker tar = {0};
        fifo_writer writer;
        labels got;

        make_image_shard(t_path(folder, "z.tar"), 0, 20);
        add_images(&tar, 20, 20);
        tar_add_zeros(&tar, 2);
        fifo_write(&writer, t_path(folder, "fifo"), tar.bytes, tar.size);
        snprintf(what, sizeof(what), "@/z.tar,%s/fifo | shuffle buffer=4", folder);
        got = labels_of(what, folder,
                        &(run_options){.workers = 2, .settings = {.seed = seed}, .passes = 1});
        fifo_join(&writer);
        tar_free(&tar);
        for (int32_t i = 0; i < (int32_t)got.count; i++) {
            T_TRUE(got.of[i] < i + 4);
        }
        check_all(got.of, got.count, 40);
    }
}

static void a_shuffled_stream_goes_on_where_a_run_stopped(void)
{
    const char *folder = t_folder();
    const char *what = "@ access=stream | shuffle buffer=5";
    labels whole;

    make_two(folder, 24);
    whole = labels_of(what, folder, &(run_options){.workers = 2, .passes = 2});
    T_EQ(whole.count, 48);
    for (uint32_t first = 0; first < 6; first++) {
        const labels rest = labels_of(
            what, folder, &(run_options){.workers = 2, .first_step = first, .batches = 12 - first});

        T_EQ(rest.count, 48 - 4 * first);
        T_TRUE(memcmp(rest.of, whole.of + (size_t)4 * first, rest.count * sizeof(rest.of[0])) == 0);
    }
}

/* Samples before the damage are given, although they were held when it was met. */
static void damage_comes_behind_the_samples_that_are_held(void)
{
    const char *path = t_file("x.tar");
    tar_maker tar = {0};

    add_images(&tar, 0, 20);
    t_write_file(path, tar.bytes, tar.size);
    for (uint32_t i = 0; i < 3; i++) {
        labels got = labels_of("@ access=stream | shuffle buffer=9", path,
                               &(run_options){.workers = worker_counts[i], .passes = 1});

        T_STATUS(got.end, SLUICE_E_CORRUPT);
        T_CONTAINS(got.error, "without the zeros that end an archive");
        /* The last sample may go on behind what was cut off. */
        T_TRUE(got.count >= 16);
        qsort(got.of, got.count, sizeof(got.of[0]), by_number);
        for (uint32_t k = 1; k < got.count; k++) {
            T_TRUE(got.of[k] > got.of[k - 1]);
        }
    }
    tar_free(&tar);
}

/* A stop does not wait until what is held was given. */
static void a_stop_comes_before_the_samples_that_are_held(void)
{
    const int stop_fd = eventfd(0, EFD_CLOEXEC);
    tar_maker tar = {0};
    const char *path = t_file("fifo");
    sluice_dataset *dataset;
    stream_order *order;
    stream_item item = {.number = 0};
    sluice_status st = SLUICE_OK;
    uint32_t given = 0;
    int fd;

    T_EQ(mkfifo(path, 0600), 0);
    add_images(&tar, 0, 6); /* the last may go on: five are complete */
    fd = open(path, O_RDWR | O_CLOEXEC);
    T_EQ(write(fd, tar.bytes, tar.size), (ssize_t)tar.size);
    dataset = stream_dataset("@ | shuffle buffer=3", path, "4");
    T_OK(dataset_open(dataset));
    T_OK(stream_order_create(dataset, 1, &order));
    T_OK(stream_order_begin(order, &(stream_start){.stop_fd = stop_fd}));
    T_OK(stream_order_next(order, &item)); /* all bytes that there are were read with it */
    given++;
    T_EQ(eventfd_write(stop_fd, 1), 0);
    while (st == SLUICE_OK) {
        st = stream_order_next(order, &item);
        given += st == SLUICE_OK;
    }
    T_STATUS(st, SLUICE_CLOSED);
    T_EQ(given, 3);
    stream_order_destroy(order);
    image_buffer_free(&item.bytes);
    sluice_dataset_destroy(dataset);
    tar_free(&tar);
    close(fd);
    close(stop_fd);
}

static void no_memory_is_an_error_wherever_it_is_met(void)
{
    const char *folder = t_folder();
    bool done = false;

    make_two(folder, 20);
    for (int64_t passes = 0; !done && passes < 2000; passes++) {
        sluice_dataset *dataset = stream_dataset("@ access=stream | shuffle buffer=6", folder, "4");
        engine_run run;
        sluice_status st;

        sli_alloc_fail_after(passes);
        st = start_run(&run, dataset, &(run_options){.workers = 2, .passes = 2});
        if (st == SLUICE_OK) {
            do {
                st = next_batch(&run);
            } while (st == SLUICE_OK);
            sli_alloc_fail_after(-1);
            close_run(&run);
        }
        sli_alloc_fail_after(-1);
        done = st == SLUICE_END_OF_DATA;
        T_TRUE(done || st == SLUICE_E_NO_MEMORY);
        sluice_dataset_destroy(dataset);
    }
    T_TRUE(done);
}

static void plans_say_what_is_done(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    char *text = NULL;

    make_two(folder, 20);
    dataset = stream_dataset("@ access=stream | shuffle buffer=6", folder, "4");
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "order: files in another order each pass, shuffled within 6 samples, at most "
                     "1024 MB of them; every rank");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
    dataset = stream_dataset("@ access=stream | skip 2 | take 9 | split train 0.5 | shuffle",
                             folder, "4");
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "order: without the first 2, at most 9, those that split keeps, shuffled "
                     "within 1000 samples");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
    dataset = stream_dataset("@ access=stream", folder, "4");
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "order: as the stream gives them; every rank");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

/* ---- the mixer ------------------------------------------------------------------------------ */

static void put(sample_mixer *mixer, stream_item *item, uint64_t number, size_t held,
                size_t capacity)
{
    T_OK(image_buffer_reserve(&item->bytes, capacity));
    memset(item->bytes.data, (int)number, held);
    item->number = number;
    item->held = held;
    T_OK(sample_mixer_put(mixer, item));
    T_TRUE(item->bytes.data == NULL);
}

static void a_mixer_is_full_by_samples_or_by_bytes(void)
{
    sample_mixer mixer = {0};
    stream_item item = {.held = 0};

    sample_mixer_begin(&mixer, 3, 1000, 1);
    put(&mixer, &item, 0, 10, 10);
    put(&mixer, &item, 1, 10, 10);
    T_TRUE(!sample_mixer_is_full(&mixer));
    put(&mixer, &item, 2, 10, 10);
    T_TRUE(sample_mixer_is_full(&mixer));
    sample_mixer_take(&mixer, &item);
    T_TRUE(!sample_mixer_is_full(&mixer));
    image_buffer_free(&item.bytes);
    put(&mixer, &item, 3, 990, 990);
    T_TRUE(sample_mixer_is_full(&mixer));

    sample_mixer_begin(&mixer, 3, 1000, 1);
    T_TRUE(!sample_mixer_is_full(&mixer));
    put(&mixer, &item, 0, 5000, 5000); /* one goes in, however large */
    T_TRUE(sample_mixer_is_full(&mixer));
    sample_mixer_take(&mixer, &item);
    T_EQ(mixer.bytes, 0);
    T_TRUE(!sample_mixer_is_full(&mixer));
    image_buffer_free(&item.bytes);
    sample_mixer_free(&mixer);
}

/* A buffer that was large once is not held for a small image; what is in it stays. */
static void a_mixer_holds_no_more_than_images_take(void)
{
    sample_mixer mixer = {0};
    stream_item item = {.held = 0};

    sample_mixer_begin(&mixer, 3, 1000, 1);
    put(&mixer, &item, 9, 100, 1000000);
    T_TRUE(mixer.items[0].bytes.capacity < 1000);
    sample_mixer_take(&mixer, &item);
    T_EQ(item.held, 100);
    for (size_t i = 0; i < item.held; i++) {
        T_EQ(item.bytes.data[i], 9);
    }
    put(&mixer, &item, 9, 0, 1000000); /* larger than a source takes: without bytes */
    T_TRUE(mixer.items[0].bytes.capacity < 1000);
    sample_mixer_free(&mixer);
}

const t_test stream_stages_tests[] = {
    T_TEST(samples_are_chosen_as_by_an_index),
    T_TEST(ranks_share_what_was_chosen),
    T_TEST(a_pass_without_samples_is_an_error),
    T_TEST(a_pipe_is_read_as_far_as_it_is_taken),
    T_TEST(shuffle_is_a_function_of_seed_and_pass),
    T_TEST(every_pass_has_every_sample_once),
    T_TEST(ranks_share_what_was_shuffled),
    T_TEST(what_was_chosen_before_is_the_same_in_every_pass),
    T_TEST(a_pipe_is_mixed_within_the_buffer_alone),
    T_TEST(a_shuffled_stream_goes_on_where_a_run_stopped),
    T_TEST(damage_comes_behind_the_samples_that_are_held),
    T_TEST(a_stop_comes_before_the_samples_that_are_held),
    T_TEST(no_memory_is_an_error_wherever_it_is_met),
    T_TEST(plans_say_what_is_done),
    T_TEST(a_mixer_is_full_by_samples_or_by_bytes),
    T_TEST(a_mixer_holds_no_more_than_images_take),
    T_END,
};
