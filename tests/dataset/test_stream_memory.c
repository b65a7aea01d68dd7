/* SPDX-License-Identifier: Apache-2.0 */
/* Large images in streams: which are refused, and what those that are read take together. */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "collected_rows.h"
#include "shard_kit.h"
#include "stream_hold.h"
#include "stream_kit.h"
#include "testing.h"
#include "text_int.h"

enum { MIB = 1 << 20, WORKERS = 4, ROUNDS = 300 };

/* ---- the budget ----------------------------------------------------------------------------- */

/* Threads that take items of different sizes, one at a time, and give them back. */
typedef struct hold_threads {
    stream_hold hold;
    pthread_mutex_t lock; /* which taking is done under */
    _Atomic int64_t large;
    _Atomic int64_t count; /* of large items that are held */
    _Atomic uint32_t broken;
} hold_threads;

static void take_and_give_back(void *arg)
{
    hold_threads *threads = arg;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        stream_item item = {.held = (size_t)(i % 5) * 6 * MIB};
        const bool is_large = item.held > STREAM_SMALL_BYTES;

        pthread_mutex_lock(&threads->lock);
        stream_hold_take(&threads->hold, &item);
        if (is_large) {
            const int64_t bytes = atomic_fetch_add(&threads->large, (int64_t)item.held);
            const int64_t others = atomic_fetch_add(&threads->count, 1);

            if (others > 0 && bytes + (int64_t)item.held > 32 * MIB) {
                atomic_fetch_add(&threads->broken, 1);
            }
        }
        pthread_mutex_unlock(&threads->lock);
        sched_yield();
        if (is_large) {
            atomic_fetch_sub(&threads->large, (int64_t)item.held);
            atomic_fetch_sub(&threads->count, 1);
        }
        stream_hold_give_back(&threads->hold, &item);
    }
}

static void large_samples_share_a_budget(void)
{
    hold_threads threads = {.lock = PTHREAD_MUTEX_INITIALIZER};
    sli_thread workers[WORKERS] = {{.started = false}};

    stream_hold_init(&threads.hold, 32 * MIB);
    for (int i = 0; i < WORKERS; i++) {
        T_OK(sli_thread_start(&workers[i], "test/hold", NULL, take_and_give_back, &threads));
    }
    for (int i = 0; i < WORKERS; i++) {
        sli_thread_join(&workers[i]);
    }
    T_EQ(threads.broken, 0);
    T_EQ(threads.hold.bytes, 0);
}

static void a_sample_beyond_the_budget_is_let_in_alone(void)
{
    stream_hold hold;
    stream_item large = {.held = 100 * MIB};
    stream_item small = {.held = 8 * MIB};

    stream_hold_init(&hold, 10 * MIB);
    stream_hold_take(&hold, &large);
    T_EQ(hold.bytes, 100 * MIB);
    stream_hold_take(&hold, &small); /* is not charged, and does not wait */
    T_EQ(small.charged, 0);
    stream_hold_give_back(&hold, &large);
    stream_hold_give_back(&hold, &large);
    stream_hold_give_back(&hold, &small);
    T_EQ(hold.bytes, 0);
}

static void take_second(void *arg)
{
    stream_item second = {.held = 100 * MIB};

    stream_hold_take(arg, &second);
}

static void a_stop_ends_the_wait_for_the_budget(void)
{
    stream_hold hold;
    stream_item first = {.held = 100 * MIB};
    sli_thread thread = {.started = false};

    stream_hold_init(&hold, 100 * MIB);
    stream_hold_take(&hold, &first);
    T_OK(sli_thread_start(&thread, "test/hold", NULL, take_second, &hold));
    stream_hold_stop(&hold);
    sli_thread_join(&thread);
}

static void abandoned_samples_are_refused_if_they_are_large(void)
{
    stream_hold hold;
    stream_item large = {.held = 100 * MIB};
    stream_item small = {.held = 8 * MIB};

    stream_hold_init(&hold, 100 * MIB);
    stream_hold_abandon(&hold, true);
    T_TRUE(!stream_hold_take(&hold, &large));
    T_EQ(hold.bytes, 0);
    T_EQ(large.charged, 0);
    T_TRUE(stream_hold_take(&hold, &small));
    stream_hold_abandon(&hold, false);
    T_TRUE(stream_hold_take(&hold, &large));
    T_EQ(hold.bytes, 100 * MIB);
}

static void a_large_buffer_is_not_kept(void)
{
    stream_hold hold;
    stream_item item = {.held = 9 * MIB + 1};

    stream_hold_init(&hold, 100 * MIB);
    T_OK(image_buffer_reserve(&item.bytes, item.held));
    T_TRUE(item.bytes.capacity <= item.held + IMAGE_MOST_SPARE);
    stream_hold_take(&hold, &item);
    stream_hold_give_back(&hold, &item);
    T_TRUE(item.bytes.data == NULL);
    item.held = 8 * MIB;
    T_OK(image_buffer_reserve(&item.bytes, item.held));
    stream_hold_take(&hold, &item);
    stream_hold_give_back(&hold, &item);
    T_TRUE(item.bytes.data != NULL);
    image_buffer_free(&item.bytes);
}

static void the_bound_counts_workers_and_shuffles(void)
{
    sluice_dataset *dataset;
    sli_run_settings settings = {.world = 1};
    const uint64_t items = 10 * sizeof(stream_item);
    const char *path = t_file("x.tar");
    sli_plan *plan;

    make_image_shard(path, 0, 3);
    T_EQ(stream_hold_memory(100, 5), 200 + 7 * 100);
    T_EQ(stream_hold_memory(100 * MIB, 5), 200 * MIB + 7 * 8 * MIB);
    dataset = stream_dataset("@ access=stream max_sample=1M | shuffle buffer=10", path, "2");
    T_OK(sli_plan_open(dataset, &settings, &plan));
    T_EQ(sli_plan_stream_memory(plan, 4), (2 + 6 + 10) * MIB + items);
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
    dataset = stream_dataset("@ access=stream max_sample=512M | shuffle buffer=10", path, "2");
    T_OK(sli_plan_open(dataset, &settings, &plan));
    T_EQ(sli_plan_stream_memory(plan, 4), (uint64_t)(1024 + 6 * 8 + 1024 + 512) * MIB + items);
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
    dataset = stream_dataset("@ index=none", path, "2");
    T_OK(sli_plan_open(dataset, &settings, &plan));
    T_EQ(sli_plan_stream_memory(plan, 4), 0);
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

/* ---- images --------------------------------------------------------------------------------- */

/* A PPM image of 2 x 2 with bytes behind it, so that it has that many. */
static void add_padded(tar_maker *tar, const char *key, size_t size, int label)
{
    uint8_t *image = malloc(size);
    char text[40];

    T_TRUE(image != NULL && size > 40);
    memset(image, label + 1, size);
    memcpy(image, "P6 2 2 255\n", 11);
    snprintf(text, sizeof(text), "%s.ppm", key);
    tar_add(tar, text, '0', image, size);
    free(image);
    snprintf(text, sizeof(text), "%d", label);
    snprintf(text + 20, 20, "%s.cls", key);
    tar_add_text(tar, text + 20, text);
}

/* ---- rewinds -------------------------------------------------------------------------------- */

/* A worker's takes of rows, in batches of 1. */
typedef struct hold_taker {
    collected_rows *rows;
    stream_item item;
    collected_claim claim;
} hold_taker;

static void take_row(void *arg)
{
    hold_taker *taker = arg;
    const collected_request request = {.most = 1, .item = &taker->item};

    collected_rows_take(taker->rows, &request, &taker->claim);
}

static void check_rewind_at_the_budget(const char *path)
{
    sluice_dataset *dataset = stream_dataset("@ access=stream max_sample=9M", path, "1");
    sli_run_settings settings = {.world = 1};
    hold_taker first = {0};
    hold_taker second = {0};
    sli_thread thread = {.started = false};
    sli_plan *plan;

    T_OK(sli_plan_open(dataset, &settings, &plan));
    T_OK(collected_rows_create(plan, UINT64_MAX, 0, &first.rows));
    second.rows = first.rows;
    take_row(&first);
    T_EQ(first.claim.kind, COLLECTED_SAMPLE);
    T_OK(sli_thread_start(&thread, "test/take", NULL, take_row, &second));
    usleep(50000); /* now it most likely waits for the first one's memory */
    T_EQ(collected_rows_freeze(first.rows), 1);
    collected_rows_rewind(first.rows, 2, UINT64_MAX);
    sli_thread_join(&thread);
    T_EQ(second.claim.kind, COLLECTED_PADDING);
    T_EQ(second.claim.seq, 2);
    take_row(&first); /* releases its sample */
    T_EQ(first.claim.kind, COLLECTED_SAMPLE);
    T_EQ(first.claim.seq, 3);
    T_EQ(first.item.number, 0);
    T_EQ(first.item.charged, first.item.held);
    collected_rows_done(first.rows, &first.item);
    collected_rows_destroy(first.rows);
    image_buffer_free(&first.item.bytes);
    image_buffer_free(&second.item.bytes);
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

/* The sample that is held may wait for the caller of the rewind, who receives its batch. */
static void a_rewind_does_not_wait_for_the_budget(void)
{
    tar_maker tar = {0};
    const char *path = t_file("x.tar");

    add_padded(&tar, "a", 9 * MIB - 1, 0);
    add_padded(&tar, "b", 9 * MIB - 1, 1);
    tar_write(&tar, path);
    check_rewind_at_the_budget(path);
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void an_image_beyond_max_sample_is_an_error_of_its_sample(void)
{
    const char *path = t_file("x.tar");
    char words[600];
    tar_maker tar = {0};

    add_padded(&tar, "a", 5000, 0);
    add_padded(&tar, "k/b", 5001, 1);
    add_padded(&tar, "c", 4000, 2);
    add_padded(&tar, "d", 23 + 100, 3);
    tar_write(&tar, path);
    snprintf(words, sizeof(words),
             "sample 1, x.tar/k/b.ppm: the image has 5001 bytes, and must have at most "
             "max_sample=5000; raise max_sample=, up to 1G, for the member k/b.ppm of the shard %s",
             path);
    for (uint32_t i = 0; i < 3; i++) {
        run_options options = {.workers = worker_counts[i]};
        sluice_dataset *dataset = stream_dataset("@ access=stream max_sample=5000", path, "4");
        tape got = record(dataset, &options);

        T_STATUS(got.end, SLUICE_E_IO);
        T_CONTAINS(got.error, words);
        free(got.bytes);
        options.settings.on_error = SLI_ON_ERROR_ZERO;
        got = record(dataset, &options);
        T_EQ(got.errors.zeroed, 1);
        T_EQ(got.batches, 1);
        free(got.bytes);
        sluice_dataset_destroy(dataset);
        dataset = stream_dataset("@ access=stream max_sample=5001", path, "4");
        got = record(dataset, &options);
        T_EQ(got.errors.zeroed, 0);
        free(got.bytes);
        sluice_dataset_destroy(dataset);
    }
}

/* Nor is memory for it asked for: here 4 TiB, of which the archive has one byte. */
static void an_image_beyond_max_sample_takes_no_memory(void)
{
    static const uint8_t size[12] = {0x80, 0, 0, 0, 0, 0, 4};
    run_options options = {.workers = 1};
    tar_maker tar = {0};
    const char *path = t_file("x.tar");

    add_padded(&tar, "a", 100, 0);
    tar_set(&tar, tar_add(&tar, "b.ppm", '0', "P", 1), 124, size, sizeof(size));
    tar_write(&tar, path);
    batches_to_error(stream_dataset("@ access=stream", path, "1"), &options, SLUICE_E_CORRUPT,
                     "it is truncated");
}

/* Of which two do not fit into the budget: workers wait for each other, in every kind of run. */
static void large_images_come_through_one_by_one(void)
{
    const char *folder = t_folder();
    tar_maker tar = {0};

    for (int i = 0; i < 12; i++) {
        char key[20];

        snprintf(key, sizeof(key), "%02d", i);
        add_padded(&tar, key, i % 3 == 1 ? 5000 : 9 * MIB, i);
    }
    tar_write(&tar, t_path(folder, "x.tar"));
    for (uint32_t i = 0; i < 6; i++) {
        const uint32_t world = 1 + i / 3;

        check_stream("@ access=stream max_sample=10M", i % 2 ? " | skip 1" : "", folder, "4",
                     &(run_options){.workers = worker_counts[i % 3],
                                    .settings = {.rank = world - 1, .world = world},
                                    .passes = 2});
    }
}

const t_test stream_memory_tests[] = {
    T_TEST(large_samples_share_a_budget),
    T_TEST(a_sample_beyond_the_budget_is_let_in_alone),
    T_TEST(a_stop_ends_the_wait_for_the_budget),
    T_TEST(abandoned_samples_are_refused_if_they_are_large),
    T_TEST(a_large_buffer_is_not_kept),
    T_TEST(the_bound_counts_workers_and_shuffles),
    T_TEST(a_rewind_does_not_wait_for_the_budget),
    T_TEST(an_image_beyond_max_sample_is_an_error_of_its_sample),
    T_TEST(an_image_beyond_max_sample_takes_no_memory),
    T_TEST(large_images_come_through_one_by_one),
    T_END,
};
