/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue by one or two threads, in an order that each test decides; tests/stress has many
 * threads in no order at all. `step` here is what the test does between GetNext and step_done.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "alloc_int.h"
#include "queue_state.h"
#include "testing.h"

/* A batch is 4 rows of an image of (2, 5, 3) bytes and a label. */
enum { BATCH = 4, HEIGHT = 2, WIDTH = 5, CHANNELS = 3, ROW_BYTES = 30, SLOTS = 3, POISON = 0xA5 };

static const char *const backends[] = {"host:0", "host:0,copy=1", "host:0,copy=1,latency_us=300"};
enum { BACKENDS = sizeof(backends) / sizeof(backends[0]) };

typedef struct fixture {
    sluice_device *device;
    sli_layout layout;
    sli_conversion conversion;
    sli_queue_config config;
    sli_queue *queue;
} fixture;

/* ---- a device whose memory is counted ---------------------------------------------------------
 */

static int64_t device_bytes;
static int64_t registered_bytes;
static int registrations;
static bool refuse_registration;

static sluice_status counted_alloc(void *state, size_t bytes, void **block_out)
{
    sluice_status st = sli_host_backend.mem_alloc(state, bytes, block_out);

    device_bytes += st == SLUICE_OK ? (int64_t)bytes : 0;
    return st;
}

static void counted_free(void *state, void *block, size_t bytes)
{
    device_bytes -= (int64_t)bytes;
    sli_host_backend.mem_free(state, block, bytes);
}

static sluice_status counted_register(void *state, void *block, size_t bytes)
{
    (void)state;
    (void)block;
    if (refuse_registration) {
        return sli_fail(SLUICE_E_DEVICE, "no registration today");
    }
    registrations++;
    registered_bytes += (int64_t)bytes;
    return SLUICE_OK;
}

static void counted_unregister(void *state, void *block, size_t bytes)
{
    (void)state;
    (void)block;
    registrations--;
    registered_bytes -= (int64_t)bytes;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static void describe(fixture *f, const char *uri, bool converts)
{
    static sli_backend counted;
    const sluice_column columns[] = {
        {.name = "image", .dtype = SLUICE_U8, .rank = 3, .shape = {HEIGHT, WIDTH, CHANNELS}},
        {.name = "label", .dtype = SLUICE_I32}};

    memset(f, 0, sizeof(*f));
    T_OK(sluice_device_open(uri, &f->device));
    counted = sli_host_backend;
    counted.mem_alloc = counted_alloc;
    counted.mem_free = counted_free;
    counted.mem_register = counted_register;
    counted.mem_unregister = counted_unregister;
    f->device->backend = &counted;
    T_OK(sli_layout_make(columns, 2, BATCH, &f->layout));
    f->conversion = (sli_conversion){.height = HEIGHT,
                                     .width = WIDTH,
                                     .channels = CHANNELS,
                                     .from = SLUICE_U8,
                                     .to = SLUICE_F16,
                                     .to_chw = true,
                                     .flip = true,
                                     .affine = true,
                                     .scale = {0.5F, 0.25F, 2},
                                     .bias = {1, 2, 3}};
    T_OK(sli_conversion_prepare(&f->conversion));
    f->config.device = f->device;
    f->config.layout = &f->layout;
    f->config.conversion = converts ? &f->conversion : NULL;
    f->config.slots = SLOTS;
    f->config.node = -1;
}

static void open_queue(fixture *f, const char *uri, bool converts)
{
    describe(f, uri, converts);
    T_OK(sli_queue_create(&f->config, &f->queue));
    T_OK(sli_queue_start(f->queue, NULL));
}

static void close_queue(fixture *f)
{
    sli_queue_destroy(f->queue);
    T_EQ(device_bytes, 0);
    T_EQ(registered_bytes, 0);
    T_EQ(registrations, 0);
    sluice_device_close(f->device);
}

/* Batches that can be under way at once: workers' slots, and the device's where they differ. */
static uint64_t room(const fixture *f)
{
    return f->device->caps.host_memory ? SLOTS : 2 * SLOTS;
}

/* ---- batches ----------------------------------------------------------------------------------
 */

static uint8_t byte_of(uint64_t seq, uint32_t row, size_t i)
{
    return (uint8_t)(seq * 31 + row * 7 + i);
}

static void fill_row(const fixture *f, const sli_batch *batch, uint64_t seq, uint32_t row)
{
    const int32_t label = (int32_t)(seq * 100 + row);

    for (size_t i = 0; i < ROW_BYTES; i++) {
        batch->data[f->layout.offsets[0] + row * ROW_BYTES + i] = byte_of(seq, row, i);
    }
    memcpy(batch->data + f->layout.offsets[1] + row * sizeof(label), &label, sizeof(label));
    batch->row_flags[row] = (uint8_t)(row == 1 ? SLI_ROW_FLIP : row == 2 ? SLI_ROW_ZERO : 0);
    batch->samples[row] = seq * 1000 + row;
}

static void acquire(const fixture *f, uint64_t seq, sli_batch *batch)
{
    memset(batch, 0, sizeof(*batch));
    T_OK(sli_queue_acquire(f->queue, seq, -1, batch));
}

/* The rows of an acquired batch, its header, and handing it over. */
static void complete(const fixture *f, uint64_t seq, const sli_batch *batch)
{
    for (uint32_t row = 0; row < BATCH; row++) {
        fill_row(f, batch, seq, row);
        T_EQ(sli_queue_row_done(f->queue, seq), row == BATCH - 1);
    }
    memset(batch->header, 0, sizeof(*batch->header));
    batch->header->step = seq - 1;
    batch->header->pass = 7;
    batch->header->first_sample = batch->samples[0];
    batch->header->valid_rows = BATCH - 1;
    sli_queue_publish(f->queue, seq);
}

static void produce(const fixture *f, uint64_t seq)
{
    sli_batch batch;

    acquire(f, seq, &batch);
    complete(f, seq, &batch);
}

static void produce_end(const fixture *f, uint64_t seq)
{
    sli_batch batch;

    acquire(f, seq, &batch);
    sli_queue_publish_end(f->queue, seq);
}

static void get_next(const fixture *f, uint64_t seq, sli_inputs *inputs)
{
    T_OK(sli_queue_wait(f->queue, seq, -1, false));
    T_OK(sli_queue_get_next(f->queue, seq, inputs));
}

/* What the step is given must be batch seq, converted or not. */
static void check_inputs(const fixture *f, uint64_t seq, const sli_inputs *inputs)
{
    const int32_t *labels = inputs->tensors[1].data;
    const uint8_t *images = inputs->tensors[0].data;
    const size_t bytes = inputs->tensors[0].bytes / BATCH;

    T_EQ(inputs->count, 2);
    T_EQ(inputs->header->seq, seq);
    T_EQ(inputs->header->step, seq - 1);
    T_EQ(inputs->header->pass, 7);
    T_EQ(inputs->header->first_sample, seq * 1000);
    T_EQ(inputs->header->valid_rows, BATCH - 1);
    for (uint32_t row = 0; row < BATCH; row++) {
        const uint8_t flags = (uint8_t)(row == 1 ? SLI_ROW_FLIP : row == 2 ? SLI_ROW_ZERO : 0);
        uint8_t written[ROW_BYTES];
        uint16_t want[ROW_BYTES];

        for (size_t i = 0; i < ROW_BYTES; i++) {
            written[i] = byte_of(seq, row, i);
        }
        sli_convert_image(&f->conversion, written, want, flags);
        T_EQ(labels[row], seq * 100 + row);
        T_EQ(inputs->samples[row], seq * 1000 + row);
        T_EQ(memcmp(images + row * bytes, f->config.conversion != NULL ? (void *)want : written,
                    bytes),
             0);
    }
}

static void consume(const fixture *f, uint64_t seq)
{
    sli_inputs inputs;

    get_next(f, seq, &inputs);
    check_inputs(f, seq, &inputs);
    sli_queue_step_done(f->queue, seq);
}

/* ---- order and room ---------------------------------------------------------------------------
 */

static void every_batch_arrives_once_in_order_and_whole(void)
{
    for (int i = 0; i < 2 * BACKENDS; i++) {
        fixture f;

        open_queue(&f, backends[i / 2], i % 2 != 0);
        for (uint64_t seq = 1; seq <= 5 * SLOTS; seq++) {
            produce(&f, seq);
            consume(&f, seq);
        }
        close_queue(&f);
    }
}

static void a_full_queue_times_out_the_producer(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_batch batch = {NULL, NULL, NULL, NULL};
        fixture f;

        open_queue(&f, backends[i], false);
        for (uint64_t seq = 1; seq <= room(&f); seq++) {
            produce(&f, seq);
        }
        T_STATUS(sli_queue_acquire(f.queue, room(&f) + 1, 0, &batch), SLUICE_TIMEOUT);
        T_STATUS(sli_queue_acquire(f.queue, room(&f) + 1, 1000, &batch), SLUICE_TIMEOUT);
        CU_ASSERT_PTR_NULL(batch.data); /* outputs are set only on OK */
        consume(&f, 1);
        produce(&f, room(&f) + 1); /* nothing was dropped to make room */
        for (uint64_t seq = 2; seq <= room(&f) + 1; seq++) {
            consume(&f, seq);
        }
        close_queue(&f);
    }
}

static void an_empty_queue_times_out_the_consumer(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        fixture f;

        open_queue(&f, backends[i], false);
        T_STATUS(sli_queue_wait(f.queue, 1, 0, false), SLUICE_TIMEOUT);
        T_STATUS(sli_queue_wait(f.queue, 1, 1000, false), SLUICE_TIMEOUT);
        T_STATUS(sli_queue_wait(f.queue, 1, 0, true), SLUICE_TIMEOUT);
        T_STATUS(sli_queue_wait(f.queue, 1, 1000, true), SLUICE_TIMEOUT);
        produce(&f, 1);
        T_OK(sli_queue_wait(f.queue, 1, -1, true));
        close_queue(&f);
    }
}

static void batches_complete_in_any_order_and_leave_in_order(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_batch batches[SLOTS + 1];
        fixture f;

        open_queue(&f, backends[i], false);
        for (uint64_t seq = 1; seq <= SLOTS; seq++) {
            acquire(&f, seq, &batches[seq]);
        }
        for (uint64_t seq = SLOTS; seq > 1; seq--) {
            complete(&f, seq, &batches[seq]);
            T_STATUS(sli_queue_wait(f.queue, 1, 0, false), SLUICE_TIMEOUT);
        }
        complete(&f, 1, &batches[1]);
        for (uint64_t seq = 1; seq <= SLOTS; seq++) {
            consume(&f, seq);
        }
        close_queue(&f);
    }
}

/* The counter of a place starts anew with each batch that comes to it. */
static void only_the_last_row_completes_a_batch(void)
{
    fixture f;

    open_queue(&f, "host:0", false);
    for (uint64_t seq = 1; seq <= 3 * SLOTS; seq++) {
        sli_batch batch;

        acquire(&f, seq, &batch);
        for (uint32_t done = 0; done < BATCH; done++) {
            const uint32_t row = (done * 3 + 2) % BATCH;

            T_EQ(sli_queue_rows_done(f.queue, seq), done);
            fill_row(&f, &batch, seq, row);
            T_EQ(sli_queue_row_done(f.queue, seq), done == BATCH - 1);
        }
        sli_queue_publish(f.queue, seq);
        T_OK(sli_queue_wait(f.queue, seq, -1, false));
        sli_queue_step_done(f.queue, seq);
    }
    close_queue(&f);
}

/* ---- lending and converting -------------------------------------------------------------------
 */

static void a_lent_slot_is_the_steps_until_it_is_done(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_inputs inputs;
        sli_batch batch;
        fixture f;

        open_queue(&f, backends[i], false);
        for (uint64_t seq = 1; seq <= room(&f); seq++) {
            produce(&f, seq);
        }
        get_next(&f, 1, &inputs);
        T_STATUS(sli_queue_acquire(f.queue, room(&f) + 1, 1000000, &batch), SLUICE_TIMEOUT);
        check_inputs(&f, 1, &inputs);
        sli_queue_step_done(f.queue, 1);
        T_OK(sli_queue_acquire(f.queue, room(&f) + 1, -1, &batch));
        close_queue(&f);
    }
}

static void a_converted_slot_is_given_back_before_the_step(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_inputs inputs;
        fixture f;

        open_queue(&f, backends[i], true);
        for (uint64_t seq = 1; seq <= room(&f); seq++) {
            produce(&f, seq);
        }
        get_next(&f, 1, &inputs);
        produce(&f, room(&f) + 1); /* while the step runs */
        check_inputs(&f, 1, &inputs);
        sli_queue_step_done(f.queue, 1);
        for (uint64_t seq = 2; seq <= room(&f) + 1; seq++) {
            consume(&f, seq);
        }
        close_queue(&f);
    }
}

/* A step that keeps a pointer to what it was lent sees nonsense, as it would on a GPU. */
static void device_memory_is_poisoned_when_it_is_given_back(void)
{
    sli_inputs inputs;
    const uint8_t *kept;
    fixture f;

    open_queue(&f, "host:0,copy=1", false);
    produce(&f, 1);
    get_next(&f, 1, &inputs);
    kept = inputs.tensors[0].data;
    T_EQ(kept[0], byte_of(1, 0, 0));
    sli_queue_step_done(f.queue, 1);
    for (size_t i = 0; i < BATCH * ROW_BYTES; i++) {
        T_EQ(kept[i], POISON);
    }
    close_queue(&f);
}

static void copied_batches_do_not_change_with_their_staging(void)
{
    sli_inputs inputs;
    sli_batch batch;
    fixture f;

    open_queue(&f, "host:0,copy=1", false);
    acquire(&f, 1, &batch);
    complete(&f, 1, &batch);
    get_next(&f, 1, &inputs);
    T_TRUE((uint8_t *)inputs.tensors[0].data != batch.data + f.layout.offsets[0]);
    memset(batch.data, 0xEE, f.layout.slot_bytes);
    check_inputs(&f, 1, &inputs);
    close_queue(&f);
}

/* Where device memory is host memory nothing is copied: the step reads what the workers wrote. */
static void host_batches_are_lent_where_they_were_written(void)
{
    sli_inputs inputs;
    sli_batch batch;
    fixture f;

    open_queue(&f, "host:0", false);
    acquire(&f, 1, &batch);
    complete(&f, 1, &batch);
    get_next(&f, 1, &inputs);
    for (uint32_t i = 0; i < 2; i++) {
        T_TRUE((uint8_t *)inputs.tensors[i].data == batch.data + f.layout.offsets[i]);
    }
    close_queue(&f);
}

static void converted_inputs_stay_at_their_addresses(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_inputs first;
        fixture f;

        open_queue(&f, backends[i], true);
        for (uint64_t seq = 1; seq <= 2 * SLOTS; seq++) {
            sli_inputs inputs;

            produce(&f, seq);
            get_next(&f, seq, &inputs);
            first = seq == 1 ? inputs : first;
            T_TRUE(inputs.tensors[0].data == first.tensors[0].data);
            T_TRUE(inputs.tensors[1].data == first.tensors[1].data);
            T_EQ((uintptr_t)inputs.tensors[0].data % SLI_COLUMN_ALIGNMENT, 0);
            T_EQ((uintptr_t)inputs.tensors[1].data % SLI_COLUMN_ALIGNMENT, 0);
            sli_queue_step_done(f.queue, seq);
        }
        close_queue(&f);
    }
}

static void outputs_say_what_the_step_will_see(void)
{
    for (unsigned converts = 0; converts < 2; converts++) {
        const uint64_t hwc[] = {BATCH, HEIGHT, WIDTH, CHANNELS};
        const uint64_t chw[] = {BATCH, CHANNELS, HEIGHT, WIDTH};
        const sluice_tensor *tensors;
        uint32_t count = 0;
        fixture f;

        open_queue(&f, "host:0", converts != 0);
        tensors = sli_queue_outputs(f.queue, &count);
        T_EQ(count, 2);
        T_STR(tensors[0].name, "image");
        T_STR(tensors[1].name, "label");
        T_EQ(tensors[0].dtype, converts != 0 ? SLUICE_F16 : SLUICE_U8);
        T_EQ(tensors[0].rank, 4);
        T_EQ(memcmp(tensors[0].shape, converts != 0 ? chw : hwc, sizeof(hwc)), 0);
        T_EQ(tensors[0].bytes, BATCH * ROW_BYTES * (converts != 0 ? 2 : 1));
        T_EQ(tensors[1].dtype, SLUICE_I32);
        T_EQ(tensors[1].rank, 1);
        T_EQ(tensors[1].shape[0], BATCH);
        T_EQ(tensors[1].bytes, BATCH * sizeof(int32_t));
        close_queue(&f);
    }
}

/* The worst case: workers are as far ahead as slots and staging let them be. */
static void sample_lists_live_as_long_as_their_step(void)
{
    for (int i = 0; i < 2 * BACKENDS; i++) {
        const bool converts = i % 2 != 0;
        fixture f;

        open_queue(&f, backends[i / 2], converts);
        for (uint64_t seq = 1, made = 0; seq <= 4 * SLOTS; seq++) {
            sli_inputs inputs;

            while (made < seq - 1 + room(&f)) {
                produce(&f, ++made);
            }
            get_next(&f, seq, &inputs);
            if (converts) {
                produce(&f, ++made);
            }
            for (uint32_t row = 0; row < BATCH; row++) {
                T_EQ(inputs.samples[row], seq * 1000 + row);
            }
            sli_queue_step_done(f.queue, seq);
        }
        close_queue(&f);
    }
}

static void a_word_that_ran_ahead_of_its_slot_is_corruption(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_inputs inputs = {.count = 77};
        fixture f;

        open_queue(&f, backends[i], false);
        produce(&f, 1);
        T_OK(sli_queue_wait(f.queue, 1, -1, false));
        ((sli_batch_header *)(void *)queue_slot(f.queue, f.queue->back, 1))->seq = 9;
        T_STATUS(sli_queue_get_next(f.queue, 1, &inputs), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), "batch 1 says 9");
        T_EQ(inputs.count, 77); /* outputs are set only on OK */
        close_queue(&f);
    }
}

/* ---- the end, errors, closing -----------------------------------------------------------------
 */

static void the_end_comes_after_the_last_batch(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_batch batch;
        fixture f;

        open_queue(&f, backends[i], false);
        acquire(&f, 1, &batch);
        produce_end(&f, 2); /* before the batch in front of it is complete */
        T_STATUS(sli_queue_wait(f.queue, 1, 0, false), SLUICE_TIMEOUT);
        complete(&f, 1, &batch);
        consume(&f, 1);
        T_STATUS(sli_queue_wait(f.queue, 2, -1, false), SLUICE_END_OF_DATA);
        T_STATUS(sli_queue_wait(f.queue, 2, 0, true), SLUICE_END_OF_DATA); /* and again */
        T_STATUS(sli_queue_wait(f.queue, 3, 0, false), SLUICE_TIMEOUT);
        close_queue(&f);
    }
}

/* Batches before the error are good; the error has the text of the batch's first bad row. */
static void an_error_arrives_in_order_with_the_text_of_the_lowest_row(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_batch batch;
        fixture f;

        open_queue(&f, backends[i], false);
        produce(&f, 1);
        acquire(&f, 2, &batch);
        sli_queue_row_failed(f.queue, 2, 3, SLUICE_E_IO, "row three");
        sli_queue_row_failed(f.queue, 2, 1, SLUICE_E_CORRUPT, "row one");
        sli_queue_row_failed(f.queue, 2, 2, SLUICE_E_IO, "row two");
        complete(&f, 2, &batch);
        produce(&f, 3);
        consume(&f, 1);
        sli_fail(SLUICE_E_INVALID, "something else");
        T_STATUS(sli_queue_wait(f.queue, 2, -1, false), SLUICE_E_CORRUPT);
        T_STR(sluice_last_error(), "row one");
        close_queue(&f);
    }
}

/* Batch 2 is done first and fails, then batch 1 fails: the consumer meets batch 1. */
static void of_several_errors_the_one_that_is_met_counts(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_batch first;
        sli_batch second;
        fixture f;

        open_queue(&f, backends[i], false);
        acquire(&f, 1, &first);
        acquire(&f, 2, &second);
        sli_queue_row_failed(f.queue, 2, 0, SLUICE_E_IO, "batch two");
        complete(&f, 2, &second);
        sli_queue_row_failed(f.queue, 1, 3, SLUICE_E_CORRUPT, "batch one");
        complete(&f, 1, &first);
        T_STATUS(sli_queue_wait(f.queue, 1, -1, false), SLUICE_E_CORRUPT);
        T_STR(sluice_last_error(), "batch one");
        close_queue(&f);
    }
}

static void a_failed_copy_arrives_after_the_good_batches(void)
{
    for (int i = 0; i < 2; i++) {
        fixture f;

        open_queue(&f, "host:0,copy=1,fail_after=2", i != 0);
        produce(&f, 1);
        produce(&f, 2);
        produce(&f, 3);
        consume(&f, 1);
        consume(&f, 2);
        T_STATUS(sli_queue_wait(f.queue, 3, -1, false), SLUICE_E_DEVICE);
        T_CONTAINS(sluice_last_error(), "fail_after");
        T_STATUS(sli_queue_wait(f.queue, 3, 0, true), SLUICE_E_DEVICE); /* it stays */
        T_STATUS(sli_queue_wait(f.queue, 4, 0, false), SLUICE_TIMEOUT);
        close_queue(&f);
    }
}

static void a_closed_queue_gives_nothing_more(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_batch batch = {NULL, NULL, NULL, NULL};
        fixture f;

        open_queue(&f, backends[i], false);
        produce(&f, 1);
        T_OK(sli_queue_wait(f.queue, 1, -1, false));
        sli_queue_close(f.queue);
        T_STATUS(sli_queue_wait(f.queue, 1, -1, false), SLUICE_CLOSED);
        T_STATUS(sli_queue_wait(f.queue, 2, -1, true), SLUICE_CLOSED);
        T_STATUS(sli_queue_acquire(f.queue, 2, -1, &batch), SLUICE_CLOSED);
        T_STATUS(sli_queue_acquire(f.queue, 99, 0, &batch), SLUICE_CLOSED);
        CU_ASSERT_PTR_NULL(batch.data);
        close_queue(&f);
    }
}

/* A thread in an endless wait: what it waits for, and what it was told. */
typedef struct sleeper {
    pthread_t thread;
    sli_queue *queue;
    uint64_t seq;
    enum { ACQUIRES, SLEEPS, POLLS } how;
    sluice_status got;
} sleeper;

static void *sleep_until_told(void *arg)
{
    sleeper *s = arg;
    sli_batch batch;

    s->got = s->how == ACQUIRES ? sli_queue_acquire(s->queue, s->seq, -1, &batch)
                                : sli_queue_wait(s->queue, s->seq, -1, s->how == POLLS);
    return NULL;
}

static void start_sleepers(sleeper *sleepers, int count)
{
    for (int i = 0; i < count; i++) {
        T_EQ(pthread_create(&sleepers[i].thread, NULL, sleep_until_told, &sleepers[i]), 0);
    }
}

static void join_sleepers(sleeper *sleepers, int count, sluice_status want)
{
    for (int i = 0; i < count; i++) {
        pthread_join(sleepers[i].thread, NULL);
        T_EQ(sleepers[i].got, want);
    }
}

/* Until so many threads sleep on the event. */
static void await_waiters(sli_event *event, uint32_t count)
{
    while (atomic_load(&event->waiters) != count) {
        sched_yield();
    }
}

static void closing_wakes_everybody(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        fixture f;
        sleeper sleepers[4];

        open_queue(&f, backends[i], false);
        for (uint64_t seq = 1; seq <= room(&f); seq++) {
            produce(&f, seq);
        }
        for (int s = 0; s < 4; s++) {
            sleepers[s] = (sleeper){.queue = f.queue, .seq = room(&f) + 1};
        }
        sleepers[1].seq++;
        sleepers[2].how = SLEEPS;
        sleepers[3].how = POLLS;
        start_sleepers(sleepers, 4);
        await_waiters(&f.queue->front.room, 2);
        await_waiters(&f.queue->back->ready, 1);
        sli_queue_close(f.queue);
        join_sleepers(sleepers, 4, SLUICE_CLOSED);
        close_queue(&f);
    }
}

static void a_batch_wakes_the_consumer_and_room_the_producers(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        fixture f;
        sleeper consumer;
        sleeper producers[2];

        open_queue(&f, backends[i], false);
        consumer = (sleeper){.queue = f.queue, .seq = 1, .how = SLEEPS};
        start_sleepers(&consumer, 1);
        await_waiters(&f.queue->back->ready, 1);
        produce(&f, 1);
        join_sleepers(&consumer, 1, SLUICE_OK);
        for (uint64_t seq = 2; seq <= room(&f); seq++) {
            produce(&f, seq);
        }
        for (int s = 0; s < 2; s++) { /* two rows of one batch */
            producers[s] = (sleeper){.queue = f.queue, .seq = room(&f) + 1};
        }
        start_sleepers(producers, 2);
        await_waiters(&f.queue->front.room, 2);
        consume(&f, 1);
        join_sleepers(producers, 2, SLUICE_OK);
        close_queue(&f);
    }
}

/* ---- memory and statistics --------------------------------------------------------------------
 */

static void memory_is_what_was_computed_before(void)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    for (int i = 0; i < 2 * BACKENDS; i++) {
        sli_queue_memory memory;
        uint64_t front;
        fixture f;

        describe(&f, backends[i / 2], i % 2 != 0);
        sli_queue_memory_of(&f.config, &memory);
        T_OK(sli_queue_create(&f.config, &f.queue));
        front = f.queue->front_memory.bytes; /* whole pages */
        if (f.device->caps.host_memory) {
            T_EQ(memory.staging_bytes, 0);
            T_EQ((memory.slot_bytes - (uint64_t)device_bytes + page - 1) / page * page, front);
            T_EQ(registered_bytes, 0);
        } else {
            T_EQ(memory.slot_bytes, device_bytes);
            T_EQ((memory.staging_bytes + page - 1) / page * page, front);
            T_EQ(registered_bytes, memory.staging_bytes);
        }
        close_queue(&f);
    }
}

/* The largest slots there can be: the sums must not wrap round to something that fits. */
static void the_memory_of_huge_queues_is_not_understated(void)
{
    const sluice_column column = {
        .name = "x", .dtype = SLUICE_U8, .rank = 3, .shape = {1, 1, SLI_MAX_SLOT_BYTES - 512}};
    sli_queue_memory memory;
    fixture f;

    describe(&f, "host:0,copy=1", false);
    T_OK(sli_layout_make(&column, 1, 1, &f.layout));
    f.config.slots = SLI_MAX_SLOTS;
    sli_queue_memory_of(&f.config, &memory);
    T_EQ(memory.staging_bytes, SLI_MAX_SLOT_BYTES * SLI_MAX_SLOTS);
    T_TRUE(memory.staging_bytes + memory.slot_bytes > memory.staging_bytes);
    T_STATUS(sli_queue_create(&f.config, &f.queue), SLUICE_E_NO_MEMORY);
    CU_ASSERT_PTR_NULL(f.queue);
    close_queue(&f);
}

static void making_a_queue_survives_running_out_of_memory(void)
{
    for (int i = 0; i < 2 * BACKENDS; i++) {
        int64_t passes = 0;
        fixture f;

        describe(&f, backends[i / 2], i % 2 != 0);
        for (;; passes++) {
            sluice_status st;

            sli_alloc_fail_after(passes);
            st = sli_queue_create(&f.config, &f.queue);
            if (st == SLUICE_OK) {
                st = sli_queue_start(f.queue, NULL);
            }
            sli_alloc_fail_after(-1);
            if (st == SLUICE_OK) {
                break;
            }
            T_EQ(st, SLUICE_E_NO_MEMORY);
            sli_queue_destroy(f.queue); /* made, and not started; or NULL */
            f.queue = NULL;
            T_EQ(device_bytes, 0);
            T_EQ(registrations, 0);
        }
        T_TRUE(passes >= 7);
        close_queue(&f);
    }
}

static void memory_that_was_not_registered_is_not_unregistered(void)
{
    fixture f;

    describe(&f, "host:0,copy=1", false);
    refuse_registration = true;
    T_STATUS(sli_queue_create(&f.config, &f.queue), SLUICE_E_DEVICE);
    refuse_registration = false;
    T_EQ(registrations, 0);
    close_queue(&f);
}

static void a_conversion_of_other_rows_is_refused(void)
{
    fixture f;

    describe(&f, "host:0", true);
    f.config.conversion_column = 1;
    T_STATUS(sli_queue_create(&f.config, &f.queue), SLUICE_E_INVALID);
    f.config.conversion_column = 2;
    T_STATUS(sli_queue_create(&f.config, &f.queue), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(f.queue);
    close_queue(&f);
}

/* Waits for what the copier does beside the test. */
static void stats_after(const fixture *f, uint64_t bytes_copied, sli_queue_stats *stats)
{
    do {
        sched_yield();
        sli_queue_stats_get(f->queue, stats);
    } while (!f->device->caps.host_memory && stats->bytes_copied != bytes_copied);
}

static void looks_count_how_full_the_queue_is(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_queue_stats stats;
        fixture f;

        open_queue(&f, backends[i], false);
        sli_queue_look(f.queue); /* finds 0 */
        produce(&f, 1);
        produce(&f, 2);
        T_OK(sli_queue_wait(f.queue, 2, -1, false));
        sli_queue_look(f.queue); /* 2 */
        produce(&f, 3);
        T_OK(sli_queue_wait(f.queue, 3, -1, false));
        sli_queue_look(f.queue); /* 3: full */
        consume(&f, 1);
        sli_queue_look(f.queue); /* 2 */
        stats_after(&f, 3 * f.layout.slot_bytes, &stats);
        T_EQ(stats.slots.capacity, SLOTS);
        T_EQ(stats.slots.looks, 4);
        T_EQ(stats.slots.depth_sum, 7);
        T_EQ(stats.slots.empty, 1);
        T_EQ(stats.slots.full, 1);
        T_EQ(stats.has_staging, !f.device->caps.host_memory);
        close_queue(&f);
    }
}

static void hold(void *arg)
{
    while (!atomic_load((_Atomic bool *)arg)) {
        sched_yield();
    }
}

/* While a copy is under way its batch is not there yet: a consumer that comes finds nothing. */
static void a_batch_counts_as_there_once_it_is_copied(void)
{
    _Atomic bool go_on = false;
    sli_queue_stats stats;
    fixture f;

    open_queue(&f, "host:0,copy=1", false);
    T_OK(sli_stream_call(&f.queue->copy_stream, hold, &go_on));
    produce(&f, 1);
    T_STATUS(sli_queue_wait(f.queue, 1, 5000000, false), SLUICE_TIMEOUT);
    sli_queue_look(f.queue);
    atomic_store(&go_on, true);
    T_OK(sli_queue_wait(f.queue, 1, -1, false));
    sli_queue_look(f.queue);
    sli_queue_stats_get(f.queue, &stats);
    T_EQ(stats.slots.looks, 2);
    T_EQ(stats.slots.empty, 1);
    T_EQ(stats.slots.depth_sum, 1);
    close_queue(&f);
}

/* produced = consumed + in flight, also when an error or the end ends the run. */
static void every_batch_is_accounted_for(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        sli_queue_stats stats;
        sli_batch batch;
        fixture f;

        open_queue(&f, backends[i], i % 2 != 0);
        for (uint64_t seq = 1; seq <= 7; seq++) {
            produce(&f, seq);
            consume(&f, seq);
        }
        produce(&f, 8); /* in flight */
        acquire(&f, 9, &batch);
        sli_queue_row_failed(f.queue, 9, 0, SLUICE_E_IO, "no batch");
        complete(&f, 9, &batch);
        produce_end(&f, 10);
        T_OK(sli_queue_wait(f.queue, 8, -1, false));
        stats_after(&f, 8 * f.layout.slot_bytes, &stats);
        T_EQ(stats.produced, 8);
        T_EQ(stats.consumed, 7);
        T_EQ(stats.bytes_copied, f.device->caps.host_memory ? 0 : 8 * f.layout.slot_bytes);
        close_queue(&f);
    }
}

static void the_copier_counts_its_copies(void)
{
    sli_counters counters;
    sli_queue_stats stats;
    fixture f;

    memset((void *)&counters, 0, sizeof(counters));
    describe(&f, "host:0,copy=1", true);
    f.config.copy_counters = &counters;
    T_OK(sli_queue_create(&f.config, &f.queue));
    T_OK(sli_queue_start(f.queue, NULL));
    for (uint64_t seq = 1; seq <= 5; seq++) {
        produce(&f, seq);
        consume(&f, seq);
    }
    stats_after(&f, 5 * f.layout.slot_bytes, &stats);
    sli_queue_destroy(f.queue); /* the copier has ended: its counters are final */
    f.queue = NULL;
    T_EQ(atomic_load(&counters.samples), 5);
    T_EQ(atomic_load(&counters.bytes), 5 * f.layout.slot_bytes);
    T_TRUE(atomic_load(&counters.busy_ticks) > 0);
    close_queue(&f);
}

static void nothing_is_a_queue_that_can_be_destroyed(void)
{
    sli_queue_destroy(NULL);
}

const t_test queue_tests[] = {
    T_TEST(every_batch_arrives_once_in_order_and_whole),
    T_TEST(a_full_queue_times_out_the_producer),
    T_TEST(an_empty_queue_times_out_the_consumer),
    T_TEST(batches_complete_in_any_order_and_leave_in_order),
    T_TEST(only_the_last_row_completes_a_batch),
    T_TEST(a_lent_slot_is_the_steps_until_it_is_done),
    T_TEST(a_converted_slot_is_given_back_before_the_step),
    T_TEST(device_memory_is_poisoned_when_it_is_given_back),
    T_TEST(copied_batches_do_not_change_with_their_staging),
    T_TEST(host_batches_are_lent_where_they_were_written),
    T_TEST(converted_inputs_stay_at_their_addresses),
    T_TEST(outputs_say_what_the_step_will_see),
    T_TEST(sample_lists_live_as_long_as_their_step),
    T_TEST(a_word_that_ran_ahead_of_its_slot_is_corruption),
    T_TEST(the_end_comes_after_the_last_batch),
    T_TEST(an_error_arrives_in_order_with_the_text_of_the_lowest_row),
    T_TEST(of_several_errors_the_one_that_is_met_counts),
    T_TEST(a_failed_copy_arrives_after_the_good_batches),
    T_TEST(a_closed_queue_gives_nothing_more),
    T_TEST(closing_wakes_everybody),
    T_TEST(a_batch_wakes_the_consumer_and_room_the_producers),
    T_TEST(memory_is_what_was_computed_before),
    T_TEST(the_memory_of_huge_queues_is_not_understated),
    T_TEST(making_a_queue_survives_running_out_of_memory),
    T_TEST(memory_that_was_not_registered_is_not_unregistered),
    T_TEST(a_conversion_of_other_rows_is_refused),
    T_TEST(looks_count_how_full_the_queue_is),
    T_TEST(a_batch_counts_as_there_once_it_is_copied),
    T_TEST(every_batch_is_accounted_for),
    T_TEST(the_copier_counts_its_copies),
    T_TEST(nothing_is_a_queue_that_can_be_destroyed),
    T_END,
};
