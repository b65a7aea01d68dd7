/* SPDX-License-Identifier: Apache-2.0 */
/* Batches on their way: order, room, and what the step is lent or given. */
#include <sched.h>
#include <semaphore.h>

#include "clock_int.h"
#include "queue_kit.h"
#include "testing.h"
#if defined(SLI_FAKE_CUDA)
#include "fake_cuda.h"
#endif

/* ---- order and room -------------------------------------------------------------------------- */

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
        sli_batch batch = {.data = NULL};
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
            T_EQ(sli_queue_add_rows(f.queue, seq, 1), done == BATCH - 1);
        }
        sli_queue_publish(f.queue, seq);
        T_OK(sli_queue_wait(f.queue, seq, -1, false));
        sli_queue_step_done(f.queue, seq);
    }
    close_queue(&f);
}

/* ---- many slots ------------------------------------------------------------------------------ */

enum { MANY_SLOTS = 200 };

static sem_t gate;

static void wait_at_gate(void *arg)
{
    while (sem_wait(arg) != 0) {
    }
}

/* No copy is done until release_copies(). */
static void hold_copies(const fixture *f)
{
    sem_init(&gate, 0, 0);
#if defined(SLI_FAKE_CUDA)
    if (strncmp(sluice_device_name(f->device), "cuda", 4) == 0) {
        fake_cuda_hold_copies_after(0);
        return;
    }
#endif
    T_OK(sli_stream_call(&f->queue->copy_stream, wait_at_gate, &gate));
}

static void release_copies(void)
{
    sem_post(&gate);
#if defined(SLI_FAKE_CUDA)
    fake_cuda_hold_copies_after(-1);
#endif
}

/* How many copies the copier has submitted, once there are that many; fewer after 20 s. */
static uint64_t await_copies(const fixture *f, uint64_t count)
{
    const int64_t end_ns = sli_now_ns() + INT64_C(20000000000);

    while (atomic_load(&f->queue->copies) < count && sli_now_ns() < end_ns) {
        sched_yield();
    }
    return atomic_load(&f->queue->copies);
}

static void copies_to_all_slots_are_under_way_at_once(void)
{
    for (int i = 0; i < BACKENDS; i++) {
        fixture f;

        describe(&f, backends[i], false);
        f.config.slots = MANY_SLOTS;
        T_OK(sli_queue_create(&f.config, &f.queue));
        T_OK(sli_queue_start(f.queue, NULL));
        if (f.queue->copy_stream.handle == NULL) { /* workers write into the slots themselves */
            close_queue(&f);
            continue;
        }
        hold_copies(&f);
        for (uint64_t seq = 1; seq <= MANY_SLOTS; seq++) {
            produce(&f, seq);
        }
        T_EQ(await_copies(&f, MANY_SLOTS), MANY_SLOTS);
        release_copies();
        for (uint64_t seq = 1; seq <= MANY_SLOTS; seq++) {
            consume(&f, seq);
        }
        close_queue(&f);
        sem_destroy(&gate);
    }
}

/* ---- lending and converting ------------------------------------------------------------------ */

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
        tensors = sli_queue_outputs(f.queue, 0, &count);
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
        T_CONTAINS(sluice_last_error(), "the slot of batch 1 holds batch 9");
        T_EQ(inputs.count, 77); /* outputs are set only on OK */
        close_queue(&f);
    }
}

const t_test queue_batches_tests[] = {
    T_TEST(every_batch_arrives_once_in_order_and_whole),
    T_TEST(a_full_queue_times_out_the_producer),
    T_TEST(an_empty_queue_times_out_the_consumer),
    T_TEST(batches_complete_in_any_order_and_leave_in_order),
    T_TEST(only_the_last_row_completes_a_batch),
    T_TEST(copies_to_all_slots_are_under_way_at_once),
    T_TEST(a_lent_slot_is_the_steps_until_it_is_done),
    T_TEST(a_converted_slot_is_given_back_before_the_step),
    T_TEST(device_memory_is_poisoned_when_it_is_given_back),
    T_TEST(copied_batches_do_not_change_with_their_staging),
    T_TEST(host_batches_are_lent_where_they_were_written),
    T_TEST(converted_inputs_stay_at_their_addresses),
    T_TEST(outputs_say_what_the_step_will_see),
    T_TEST(sample_lists_live_as_long_as_their_step),
    T_TEST(a_word_that_ran_ahead_of_its_slot_is_corruption),
    T_END,
};
