/* SPDX-License-Identifier: Apache-2.0 */
/* Making a queue: the memory that it takes, and what is refused. */
#include <unistd.h>

#include "queue_kit.h"
#include "testing.h"

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
        fixture f;

        describe(&f, backends[i / 2], i % 2 != 0);
        T_TRUE(open_without_memory(&f) >= 7);
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

static void nothing_is_a_queue_that_can_be_destroyed(void)
{
    sli_queue_destroy(NULL);
}

const t_test queue_memory_tests[] = {
    T_TEST(memory_is_what_was_computed_before),
    T_TEST(the_memory_of_huge_queues_is_not_understated),
    T_TEST(making_a_queue_survives_running_out_of_memory),
    T_TEST(memory_that_was_not_registered_is_not_unregistered),
    T_TEST(a_conversion_of_other_rows_is_refused),
    T_TEST(nothing_is_a_queue_that_can_be_destroyed),
    T_END,
};
