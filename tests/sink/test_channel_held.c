/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel: several batches held at once, released in any order. */
#include <stdlib.h>

#include "loop_kit.h"
#include "testing.h"

/* Lends slots; lends slots of poisoned memory; converts into sets of tensors. */
static const char *const devices[] = {"host:0", "host:0,copy=1"};
static const char *const converting = "synthetic samples=70 shape=6,6,3 | shuffle | random_crop 4 "
                                      "| to_dtype f32 scale=true offload=device | batch 8";

static const char *text_of(size_t i)
{
    return i >= COUNT(devices) ? converting : loop_kit_padded;
}

static const char *device_of(size_t i)
{
    return devices[i % COUNT(devices)];
}

enum { CASES = 2 * COUNT(devices) };

static loop_kit open_held(size_t i, uint32_t held, uint64_t batches)
{
    sluice_channel_config config = loop_kit_config(0, batches);
    loop_kit loop;

    config.held = held;
    config.seed = 7;
    loop = loop_kit_open(device_of(i), text_of(i), &config);
    T_OK(sluice_channel_start(loop.channel));
    return loop;
}

static void release(const loop_kit *loop, const sluice_batch *batch)
{
    T_OK(sluice_channel_release(loop->channel, batch, NULL));
}

/* The steps of a loop that holds one batch at a time. */
static void read_all(size_t i, kit_step *steps, uint64_t count)
{
    const sluice_batch *batch = NULL;
    loop_kit loop = open_held(i, 0, count);

    for (uint64_t n = 0; n < count; n++) {
        T_OK(loop_kit_next(&loop, &batch));
        steps[n] = loop_kit_step(batch);
    }
    loop_kit_close(&loop);
}

static void check_held(const sluice_batch *const *batches, const kit_step *want, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const kit_step step = loop_kit_step(batches[i]);

        loop_kit_check_same(&step, &want[batches[i]->number]);
    }
}

/* Whatever comes after it and in whatever order batches are released. */
static void a_batch_stays_as_it_is_while_it_is_held(void)
{
    enum { BATCHES = 40, HELD = 3 };

    for (size_t i = 0; i < CASES; i++) {
        const sluice_batch *batches[HELD];
        kit_step want[BATCHES];
        loop_kit loop;
        size_t held = 0;

        read_all(i, want, BATCHES);
        loop = open_held(i, HELD, BATCHES);
        for (uint64_t n = 0; n < BATCHES; n++) {
            if (held == HELD) {
                const size_t which = n * 5 % HELD;

                release(&loop, batches[which]);
                batches[which] = batches[--held];
            }
            T_OK(loop_kit_next(&loop, &batches[held]));
            T_EQ(batches[held]->number, n);
            held++;
            check_held(batches, want, held);
        }
        while (held > 0) {
            release(&loop, batches[--held]);
        }
        T_STATUS(loop_kit_next(&loop, &batches[0]), SLUICE_END_OF_DATA);
        loop_kit_close(&loop);
    }
}

/* Also where samples cost so little that workers wait for half of the slots. */
static void most_slots_may_be_held(void)
{
    enum { BATCHES = 4000, HELD = 6 };

    for (size_t i = 0; i < 2 * COUNT(devices); i++) {
        sluice_channel_config config = loop_kit_config(0, BATCHES);
        const sluice_batch *batches[HELD] = {NULL};
        loop_kit loop;

        config.held = HELD;
        config.slots = HELD + 2;
        config.workers = (uint32_t)i / 2 + 1;
        loop = loop_kit_open(device_of(i), "synthetic samples=64 shape=1,1,1 | batch 4", &config);
        T_OK(sluice_channel_start(loop.channel));
        for (uint64_t n = 0; n < BATCHES; n++) {
            const sluice_batch **entry = &batches[n % HELD];

            if (*entry != NULL) {
                release(&loop, *entry);
            }
            T_OK(sluice_channel_get_next(loop.channel, NULL, 20000, entry));
        }
        loop_kit_close(&loop);
    }
}

/* Where batches are not lent from their slots. */
static void addresses_cycle_through_the_sets(void)
{
    loop_kit loop = open_held(COUNT(devices), 3, 0);
    const sluice_batch *batches[3] = {NULL};
    const void *data[3] = {NULL};

    for (size_t n = 0; n < 30; n++) {
        if (n >= 3) {
            release(&loop, batches[n % 3]);
        }
        T_OK(loop_kit_next(&loop, &batches[n % 3]));
        T_TRUE(n < 3 || batches[n % 3]->inputs[0].data == data[n % 3]);
        data[n % 3] = batches[n % 3]->inputs[0].data;
    }
    T_TRUE(data[0] != data[1] && data[1] != data[2] && data[0] != data[2]);
    loop_kit_close(&loop); /* batches are held */
}

static void one_batch_too_many_is_refused_at_once(void)
{
    for (size_t i = 0; i < CASES; i++) {
        loop_kit loop = open_held(i, 2, 0);
        const sluice_batch *batches[2] = {NULL};
        const sluice_batch *other = NULL;

        T_OK(loop_kit_next(&loop, &batches[0]));
        T_OK(loop_kit_next(&loop, &batches[1]));
        T_STATUS(loop_kit_next(&loop, &other), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "2 batches are held, as many as config.held allows");
        CU_ASSERT_PTR_NULL(other);
        release(&loop, batches[1]);
        T_OK(loop_kit_next(&loop, &other));
        T_EQ(other->number, 2);
        T_EQ(batches[0]->number, 0);
        loop_kit_close(&loop);
    }
}

/* Its slot is in the way of the batches that come, for ever. */
static void a_batch_cannot_be_held_for_longer_than_there_are_slots(void)
{
    for (size_t i = 0; i < CASES; i++) {
        sluice_channel_config config = loop_kit_config(0, 0);
        const sluice_batch *first = NULL;
        const sluice_batch *batch = NULL;
        kit_step before;
        kit_step after;
        loop_kit loop;

        config.held = 2;
        config.slots = 5;
        loop = loop_kit_open(device_of(i), text_of(i), &config);
        T_OK(sluice_channel_start(loop.channel));
        T_OK(loop_kit_next(&loop, &first));
        before = loop_kit_step(first);
        for (uint64_t n = 1; n < 5; n++) {
            T_OK(loop_kit_next(&loop, &batch));
            T_EQ(batch->number, n);
            release(&loop, batch);
        }
        T_STATUS(loop_kit_next(&loop, &batch), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "batch 0 is held while 4 others came after it");
        after = loop_kit_step(first);
        loop_kit_check_same(&after, &before);
        release(&loop, first);
        T_OK(loop_kit_next(&loop, &batch));
        T_EQ(batch->number, 5);
        loop_kit_close(&loop);
    }
}

/* The workers have made all that there is room for. */
static void wait_until_made(const loop_kit *loop, uint64_t batches)
{
    uint64_t produced = 0;

    while (produced < batches) {
        sluice_report *report = loop_kit_report(loop);

        produced = report->produced;
        sluice_report_destroy(report);
    }
}

/* Also where workers fill slots and staging far ahead of it. */
static void samples_stay_as_long_as_their_batch(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    const sluice_batch *first = NULL;
    const sluice_batch *batch = NULL;
    kit_step before;
    kit_step after;
    loop_kit loop;

    config.held = 2;
    config.slots = 5;
    loop = loop_kit_open("host:0,copy=1", converting, &config);
    T_OK(sluice_channel_start(loop.channel));
    T_OK(loop_kit_next(&loop, &first));
    before = loop_kit_step(first);
    for (uint64_t n = 1; n < 5; n++) {
        T_OK(loop_kit_next(&loop, &batch));
        T_OK(sluice_channel_release(loop.channel, batch, NULL));
    }
    /* Five slots, staging, and what was fetched, but for a slot that is not worth a wake. */
    wait_until_made(&loop, 5 + 2 * 5 - 1);
    after = loop_kit_step(first);
    loop_kit_check_same(&after, &before);
    loop_kit_close(&loop);
}

static void what_is_not_held_cannot_be_released(void)
{
    for (uint32_t held = 1; held <= 2; held++) {
        loop_kit loop = open_held(0, held, 0);
        loop_kit other = open_held(0, held, 0);
        const sluice_batch *batch = NULL;
        const sluice_batch *foreign = NULL;
        const void *within;
        sluice_batch copy;

        T_OK(loop_kit_next(&loop, &batch));
        T_OK(loop_kit_next(&other, &foreign));
        copy = *batch;
        T_STATUS(sluice_channel_release(loop.channel, foreign, NULL), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "the batch is not one of this channel");
        T_STATUS(sluice_channel_release(loop.channel, &copy, NULL), SLUICE_E_INVALID);
        within = (const char *)batch + sizeof(batch->struct_size);
        T_STATUS(sluice_channel_release(loop.channel, within, NULL), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "the batch is not one of this channel");
        T_STATUS(sluice_channel_release(loop.channel, NULL, NULL), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "batch is NULL");
        T_STATUS(sluice_channel_release(NULL, batch, NULL), SLUICE_E_INVALID);
        T_STATUS(sluice_channel_release(loop.channel, batch, &loop), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "stream must be NULL");
        release(&loop, batch); /* it was held all the time */
        T_STATUS(sluice_channel_release(loop.channel, batch, NULL), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "it has been released before");
        T_OK(loop_kit_next(&loop, &foreign));
        T_STATUS(sluice_channel_release(loop.channel, batch, NULL), SLUICE_E_INVALID); /* stale */
        T_EQ(foreign->number, 1);
        loop_kit_close(&other);
        loop_kit_close(&loop);
    }
}

/* By the call, or by the next get_next. */
static void a_single_batch_may_be_released_or_not(void)
{
    loop_kit loop = open_held(1, 1, 0);
    const sluice_batch *batch = NULL;
    const sluice_batch *last = NULL;
    kit_step want[30];

    read_all(1, want, 30);
    for (uint64_t n = 0; n < 30; n++) {
        T_OK(loop_kit_next(&loop, &batch));
        check_held(&batch, want, 1);
        if (n % 3 == 0) {
            release(&loop, batch);
        } else if (last != NULL) {
            T_STATUS(sluice_channel_release(loop.channel, last, NULL), SLUICE_E_INVALID);
        }
        last = batch;
    }
    loop_kit_close(&loop);
}

static void slots_follow_the_batches_held(void)
{
    static const struct {
        const char *device;
        const char *text;
        uint32_t least;
    } cases[] = {{"host:0", "synthetic samples=70 shape=6,6,3 | batch 8", 6 + 2},
                 {"host:0", NULL, 6 + 1}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = cases[i].text != NULL ? cases[i].text : converting;
        sluice_channel_config config = loop_kit_config(0, 0);
        sluice_channel_info info = {.struct_size = sizeof(info)};
        sluice_channel *channel = NULL;
        char words[80];
        loop_kit loop;

        config.held = 6;
        loop = loop_kit_open(cases[i].device, text, &config);
        T_OK(sluice_channel_inspect(loop.channel, &info));
        T_TRUE(info.slots >= cases[i].least);
        config.slots = cases[i].least - 1;
        T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
        snprintf(words, sizeof(words),
                 "slots=%u must be from %u to 1024 on %s, where 6 batches are held", config.slots,
                 cases[i].least, cases[i].device);
        T_CONTAINS(sluice_last_error(), words);
        config.slots = cases[i].least;
        T_OK(sluice_channel_open(loop.device, loop.own, &config, &channel));
        sluice_channel_close(channel);
        config.held = 1023;
        T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "held is 1023, and must be at most 1022");
        loop_kit_close(&loop);
    }
}

static void a_number_of_slots_in_the_environment_is_checked(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    sluice_channel *channel = NULL;
    loop_kit loop = loop_kit_open("host:0", loop_kit_padded, &config);

    config.held = 6;
    T_EQ(setenv("SLUICE_SLOTS", "7", 1), 0);
    T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "slots=7 must be from 8 to 1024");
    T_CONTAINS(sluice_last_error(), "SLUICE_SLOTS");
    T_EQ(unsetenv("SLUICE_SLOTS"), 0);
    loop_kit_close(&loop);
}

static uint64_t bytes_of(uint32_t held, uint64_t memory_bytes)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    sluice_channel_info info = {.struct_size = sizeof(info)};
    loop_kit loop;

    config.held = held;
    config.slots = 9;
    config.memory_bytes = memory_bytes;
    loop = loop_kit_open("host:0", converting, &config);
    T_OK(sluice_channel_inspect(loop.channel, &info));
    loop_kit_close(&loop);
    return info.staging_bytes + info.slot_bytes;
}

static void sets_of_tensors_count_in_memory(void)
{
    const uint64_t image = 8 * 4 * 4 * 3 * sizeof(float);
    const uint64_t set = image + 256; /* the labels, aligned */
    const uint64_t one = bytes_of(1, 0);
    const uint64_t six = bytes_of(6, 0);
    sluice_channel_config config = loop_kit_config(0, 0);
    sluice_channel *channel = NULL;
    loop_kit loop = loop_kit_open("host:0", converting, &config);

    T_EQ(six - one, 5 * set);
    T_EQ(bytes_of(6, six), six);
    config.held = 6;
    config.slots = 9;
    config.memory_bytes = six - 1;
    T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "more than the bound");
    loop_kit_close(&loop);
}

const t_test channel_held_tests[] = {
    T_TEST(a_batch_stays_as_it_is_while_it_is_held),
    T_TEST(most_slots_may_be_held),
    T_TEST(addresses_cycle_through_the_sets),
    T_TEST(one_batch_too_many_is_refused_at_once),
    T_TEST(a_batch_cannot_be_held_for_longer_than_there_are_slots),
    T_TEST(samples_stay_as_long_as_their_batch),
    T_TEST(what_is_not_held_cannot_be_released),
    T_TEST(a_single_batch_may_be_released_or_not),
    T_TEST(slots_follow_the_batches_held),
    T_TEST(a_number_of_slots_in_the_environment_is_checked),
    T_TEST(sets_of_tensors_count_in_memory),
    T_END,
};
