/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue by one or two threads, in an order that each test decides; tests/stress has many threads
 * in no order at all. `step` here is what the test does between GetNext and step_done.
 */
#ifndef SLUICE_QUEUE_KIT_H
#define SLUICE_QUEUE_KIT_H

#include "queue_state.h"

/* A batch is 4 rows of an image of (2, 5, 3) bytes and a label. */
enum { BATCH = 4, HEIGHT = 2, WIDTH = 5, CHANNELS = 3, ROW_BYTES = 30, SLOTS = 3, POISON = 0xA5 };

/* Devices to try each; the last is the CUDA device where the fake of CUDA drives it. */
#if defined(SLI_FAKE_CUDA)
enum { BACKENDS = 4 };
#else
enum { BACKENDS = 3 };
#endif
extern const char *const backends[BACKENDS];

typedef struct fixture {
    sluice_device *device;
    sli_layout layout;
    sli_conversion conversion;
    sli_queue_config config;
    sli_queue *queue;
} fixture;

/* What the device of the fixture gave out and took. */
extern int64_t device_bytes;
extern int64_t registered_bytes;
extern int registrations;
extern bool refuse_registration;

/* Opens the device and writes the config; there is no queue yet. */
void describe(fixture *f, const char *uri, bool converts);

/* The same, and a queue that runs. */
void open_queue(fixture *f, const char *uri, bool converts);

/*
 * A queue that runs, of what was described; over and over with one allocation more before one
 * fails, until none does. Checks that nothing is left of those that failed; returns how many.
 */
int64_t open_without_memory(fixture *f);

/* Checks that all memory has come back. */
void close_queue(fixture *f);

/* Batches that can be under way at once: workers' slots, and the device's where they differ. */
uint64_t room(const fixture *f);

uint8_t byte_of(uint64_t seq, uint32_t row, size_t i);
void acquire(const fixture *f, uint64_t seq, sli_batch *batch);
void fill_row(const fixture *f, const sli_batch *batch, uint64_t seq, uint32_t row);

/* The rows of an acquired batch, its header, and handing it over. */
void complete(const fixture *f, uint64_t seq, const sli_batch *batch);

/* acquire() and complete(). */
void produce(const fixture *f, uint64_t seq);
void produce_end(const fixture *f, uint64_t seq);

void get_next(const fixture *f, uint64_t seq, sli_inputs *inputs);

/* What the step is given must be batch seq, converted or not. */
void check_inputs(const fixture *f, uint64_t seq, const sli_inputs *inputs);

/* get_next(), check_inputs(), and the step is done. */
void consume(const fixture *f, uint64_t seq);

#endif
