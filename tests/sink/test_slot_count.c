/* SPDX-License-Identifier: Apache-2.0 */
/* The default number of slots, by itself and as channels take it. */
#include <sluice/sluice.h>

#include "queue_int.h"
#include "random_kit.h"
#include "ring_simulation.h"
#include "slot_count.h"
#include "testing.h"

/* 2 workers, batches of 64 photographs as bytes, on a large host. */
static const slot_request host = {.workers = 2,
                                  .batch_size = 64,
                                  .slot_bytes = UINT64_C(224) * 224 * 3 * 64,
                                  .free_bytes = UINT64_C(64) << 30,
                                  .lends = true};

static void few_workers_on_the_host_have_three_or_four_slots(void)
{
    slot_request r = host;

    T_EQ(slot_count(&r), 4);
    r.workers = 16; /* 256 rows, as many as four slots have */
    T_EQ(slot_count(&r), 4);
    r.slot_bytes *= 4; /* f32: four slots are more than a cache holds */
    T_EQ(slot_count(&r), 4);
    r.workers = 12;
    T_EQ(slot_count(&r), 3);
    r.lends = false;
    T_EQ(slot_count(&r), 4);
}

static void each_worker_has_sixteen_rows_in_flight(void)
{
    slot_request r = host;

    for (uint32_t workers = 1; workers <= 200; workers++) {
        for (uint32_t batch = 1; batch <= 512; batch *= 2) {
            const uint64_t rows = UINT64_C(16) * workers;
            uint32_t slots;

            r.workers = workers;
            r.batch_size = batch;
            r.slot_bytes = 100 * batch;
            slots = slot_count(&r);
            T_TRUE((uint64_t)slots * batch >= rows || slots == SLI_MAX_SLOTS);
            T_TRUE(slots == 4 || (uint64_t)(slots - 1) * batch < rows);
        }
    }
    r.batch_size = 60;
    r.workers = 64;
    T_EQ(slot_count(&r), 18); /* 1024 / 60, and a part */
}

static void kernels_have_sixteen_mib_of_slots(void)
{
    static const struct {
        uint64_t slot_bytes;
        uint32_t slots;
    } cases[] = {{1, 64},      {256 << 10, 64}, {(256 << 10) + 1, 63}, {1 << 20, 16},
                 {3 << 20, 5}, {4 << 20, 4},    {5 << 20, 4},          {100 << 20, 4}};
    slot_request r = host;

    r.kernels = true;
    r.lends = false;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        r.slot_bytes = cases[i].slot_bytes;
        T_EQ(slot_count(&r), cases[i].slots);
    }
    r.slot_bytes = 1 << 20;
    r.workers = 100; /* 1600 rows: the larger of the two */
    T_EQ(slot_count(&r), 25);
}

static void the_workers_slots_are_bounded(void)
{
    slot_request r = host;

    r.workers = 1024;
    r.batch_size = 1;
    r.slot_bytes = 1000;
    T_EQ(slot_count(&r), 1024);
    r.workers = 256;
    r.batch_size = 64;
    r.slot_bytes = 64 << 20; /* 64 slots would be 4 GiB */
    T_EQ(slot_count(&r), 16);
    r.free_bytes = UINT64_C(5) << 30; /* of which a sixteenth is 5 slots */
    T_EQ(slot_count(&r), 5);
    r.free_bytes = 0;
    T_EQ(slot_count(&r), 3);
    r.kernels = true;
    r.lends = false;
    T_EQ(slot_count(&r), 4);
    r.slot_bytes = SLI_MAX_SLOT_BYTES;
    T_EQ(slot_count(&r), 4);
}

/* Samples of which few take much longer than most. */
static void many_workers_are_kept_busy(void)
{
    static double costs[600];
    ring_simulation s = {.costs = costs,
                         .samples = 600,
                         .batch_size = 64,
                         .step_share = 0.95,
                         .lends = true,
                         .batches = 2000};
    slot_request r = host;
    uint32_t random = 7;

    for (size_t i = 0; i < s.samples; i++) {
        const double u = test_below(&random, 1 << 20) / (double)(1 << 20);

        costs[i] = 1 + 2 * u + 10 * pow(u, 20);
    }
    for (uint32_t workers = 64; workers <= 128; workers *= 2) {
        s.workers = r.workers = workers;
        s.slots = slot_count(&r);
        T_TRUE(ring_simulation_run(&s) >= 0.99);
        s.slots = 4;
        T_TRUE(ring_simulation_run(&s) < 0.8);
    }
}

/* ---- of channels ----------------------------------------------------------------------------- */

static sluice_channel_info info_of(const char *uri, const char *pipeline, uint32_t workers,
                                   uint64_t memory_bytes)
{
    sluice_channel_info info = {.struct_size = sizeof(info)};
    sluice_channel_config config;
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_channel *channel = NULL;

    sluice_channel_config_init(&config);
    config.workers = workers;
    config.memory_bytes = memory_bytes;
    T_OK(sluice_device_open(uri, &device));
    T_OK(sluice_dataset_parse(pipeline, &dataset));
    T_OK(sluice_channel_open(device, dataset, &config, &channel));
    T_OK(sluice_channel_inspect(channel, &info));
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return info;
}

static void channels_have_slots_for_their_workers(void)
{
    static const char small[] = "synthetic samples=1000 shape=8,8,3 | batch 4";
    const uint64_t slot_bytes = info_of("host:0", small, 1, 0).slot_bytes / 4;
    sluice_channel_info info = info_of("host:0", small, 9, 0);

    T_EQ(info.slots, 36); /* 144 rows */
    T_EQ(info.slot_bytes, 36 * slot_bytes);
    info = info_of("host:0", small, 9, 20 * slot_bytes + 1);
    T_EQ(info.slots, 20); /* as many as the bound lets there be */
    info = info_of("host:0,copy=1", small, 9, 20 * slot_bytes + 1);
    T_EQ(info.slots, 10); /* staging counts, too */
    T_EQ(info.staging_bytes, info.slot_bytes);
    info = info_of("host:0", "synthetic samples=1000 shape=8,8,3 | batch 100", 9, 0);
    T_EQ(info.slots, 4);
}

const t_test slot_count_tests[] = {
    T_TEST(few_workers_on_the_host_have_three_or_four_slots),
    T_TEST(each_worker_has_sixteen_rows_in_flight),
    T_TEST(kernels_have_sixteen_mib_of_slots),
    T_TEST(the_workers_slots_are_bounded),
    T_TEST(many_workers_are_kept_busy),
    T_TEST(channels_have_slots_for_their_workers),
    T_END,
};
