/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_int.h"
#include "device_int.h"
#include "status_int.h"

/* Copies go round so many places; no two under way share one. */
enum { PLACES = 4, MOST_GROUP = 64, TRIES = 5, PAGE = 4096 };

typedef struct bed {
    gpu_copies *run;
    sluice_device *device;
    sli_stream stream;
    size_t bytes; /* of a copy */
    uint8_t *staging;
    bool registered;
    void *slots;     /* (PLACES, bytes) on the device */
    uint64_t *words; /* (MOST_GROUP) on the device */
    uint64_t given;
    uint64_t arrived; /* stored by the stream */
    sli_event wake;
} bed;

static void close_bed(bed *b)
{
    if (b->device == NULL) {
        return;
    }
    sli_stream_close(&b->stream);
    sli_device_free(b->device, b->words, MOST_GROUP * sizeof(uint64_t));
    sli_device_free(b->device, b->slots, PLACES * b->bytes);
    if (b->registered) {
        sli_device_unregister(b->device, b->staging, PLACES * b->bytes);
    }
    sluice_device_close(b->device);
}

static sluice_status open_bed(bed *b)
{
    sluice_status st = sluice_device_open(b->run->device, &b->device);

    if (st == SLUICE_OK) {
        st = sli_device_register(b->device, b->staging, PLACES * b->bytes);
        b->registered = st == SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        st = sli_device_alloc(b->device, PLACES * b->bytes, &b->slots);
    }
    if (st == SLUICE_OK) {
        st = sli_device_alloc(b->device, MOST_GROUP * sizeof(uint64_t), (void **)&b->words);
    }
    if (st == SLUICE_OK) {
        st = sli_stream_open(b->device, "copies", SLI_STREAM_COPIES, NULL, 0, &b->stream);
    }
    return st;
}

static sluice_status give(bed *b)
{
    const size_t place = b->given % PLACES * b->bytes;
    uint64_t values[MOST_GROUP];
    sluice_status st =
        sli_stream_copy(&b->stream, (uint8_t *)b->slots + place, b->staging + place, b->bytes);

    b->given++;
    for (uint32_t i = 0; i < b->run->group; i++) {
        values[i] = b->given;
    }
    if (st == SLUICE_OK) {
        st = sli_stream_publish(&b->stream, b->words, values, b->run->group);
    }
    return st == SLUICE_OK ? sli_stream_write(&b->stream, &b->arrived, b->given, &b->wake) : st;
}

/* One copy after another; the first ones are not counted. */
static sluice_status measure_rate(bed *b)
{
    int64_t begin_ns = 0;
    sluice_status st = SLUICE_OK;

    for (int i = 0; i < PLACES && st == SLUICE_OK; i++) {
        st = give(b);
    }
    if (st == SLUICE_OK) {
        st = sli_stream_wait(&b->stream, -1);
    }
    begin_ns = sli_now_ns();
    for (uint32_t i = 0; i < b->run->copies && st == SLUICE_OK; i++) {
        st = give(b);
    }
    if (st == SLUICE_OK) {
        st = sli_stream_wait(&b->stream, -1);
    }
    b->run->gb_per_s = (double)b->bytes * b->run->copies / (double)(sli_now_ns() - begin_ns + 1);
    return st;
}

typedef struct word_wait {
    const uint64_t *word;
    uint64_t value;
} word_wait;

static bool has_come(void *arg)
{
    const word_wait *wait = arg;

    return __atomic_load_n(wait->word, __ATOMIC_ACQUIRE) >= wait->value;
}

/* Two copies into an idle stream; the least of a few tries. */
static sluice_status measure_first(bed *b)
{
    sluice_status st = SLUICE_OK;

    for (int i = 0; i < TRIES && st == SLUICE_OK; i++) {
        const int64_t begin_ns = sli_now_ns();
        word_wait wait = {&b->arrived, b->given + 1};
        double us;

        st = give(b);
        if (st == SLUICE_OK) {
            st = give(b);
        }
        if (st == SLUICE_OK) {
            (void)sli_event_await(&b->wake, has_come, &wait, 1000000000);
            us = 1e-3 * (double)(sli_now_ns() - begin_ns);
            b->run->first_us = i == 0 || us < b->run->first_us ? us : b->run->first_us;
            st = sli_stream_wait(&b->stream, -1);
        }
    }
    return st;
}

bool gpu_copies_run(gpu_copies *run)
{
    bed b = {.run = run, .bytes = run->batch_bytes * run->group};
    sluice_status st = SLUICE_E_NO_MEMORY;
    void *staging = NULL;

    if (run->group == 0 || run->group > MOST_GROUP) {
        snprintf(run->error, sizeof(run->error), "a copy of %u batches", run->group);
        return false;
    }
    if (posix_memalign(&staging, PAGE, PLACES * b.bytes) != 0) {
        snprintf(run->error, sizeof(run->error), "no memory for %zu bytes", PLACES * b.bytes);
        return false;
    }
    memset(staging, 1, PLACES * b.bytes);
    b.staging = staging;
    st = open_bed(&b);
    if (st == SLUICE_OK) {
        st = measure_rate(&b);
    }
    if (st == SLUICE_OK) {
        st = measure_first(&b);
    }
    if (st != SLUICE_OK) {
        snprintf(run->error, sizeof(run->error), "%s", sluice_last_error());
    }
    close_bed(&b);
    free(staging);
    return st == SLUICE_OK;
}
