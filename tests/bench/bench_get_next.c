/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_get_next [DEVICE]: nanoseconds of a call of sluice_channel_get_next() and of
 * sluice_channel_release() together, where the batch is there already: the loop fetches only while
 * it is told that batches are ready. Prints the median of ROUNDS rounds, the least and the most.
 * With sluice/sluice.h alone.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sluice/sluice.h>

enum { ROUNDS = 101, FETCHES = 200, SLOTS = 256 };

static void check(sluice_status st)
{
    if (st != SLUICE_OK) {
        fprintf(stderr, "bench_get_next: %s: %s\n", sluice_status_name(st), sluice_last_error());
        exit(2);
    }
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void await_ready(sluice_channel *channel)
{
    sluice_channel_stats stats;

    sluice_channel_stats_init(&stats);
    do {
        sched_yield();
        check(sluice_channel_stats_get(channel, &stats));
    } while (stats.ready < FETCHES);
}

/* Of batches that are there, while no worker runs. */
static double measure(sluice_channel *channel)
{
    const sluice_batch *batch = NULL;
    int64_t start;

    await_ready(channel);
    check(sluice_channel_pause(channel));
    start = now_ns();
    for (int i = 0; i < FETCHES; i++) {
        check(sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch));
        check(sluice_channel_release(channel, batch, NULL));
    }
    start = now_ns() - start;
    check(sluice_channel_resume(channel));
    return (double)start / FETCHES;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_channel *channel = NULL;
    sluice_channel_config config;
    double ns[ROUNDS];

    sluice_channel_config_init(&config);
    config.slots = SLOTS;
    config.workers = 1;
    check(sluice_device_open(argc > 1 ? argv[1] : "host:0", &device));
    check(sluice_dataset_parse("synthetic samples=1000 shape=2,2,1 | batch 1", &dataset));
    check(sluice_channel_open(device, dataset, &config, &channel));
    check(sluice_channel_start(channel));
    for (int i = 0; i < ROUNDS; i++) {
        ns[i] = measure(channel);
    }
    qsort(ns, ROUNDS, sizeof(ns[0]), compare);
    printf("%.1f ns a call of get_next and release (%.1f to %.1f), %d rounds of %d\n",
           ns[ROUNDS / 2], ns[0], ns[ROUNDS - 1], ROUNDS, FETCHES);
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return 0;
}
