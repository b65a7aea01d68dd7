/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel: the position of a loop, saved and resumed. */
#include "loop_kit.h"
#include "stream_kit.h"
#include "testing.h"

enum { BATCHES = 30 };

static sluice_channel_position position_of(const loop_kit *loop)
{
    sluice_channel_position position = {.struct_size = sizeof(position)};

    T_OK(sluice_channel_position_get(loop->channel, &position));
    return position;
}

static loop_kit open_at(sluice_dataset *dataset, const sluice_channel_position *position)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    loop_kit loop;

    config.seed = 7;
    config.position = position;
    loop = loop_kit_open_dataset("host:0", dataset, &config);
    T_OK(sluice_channel_start(loop.channel));
    return loop;
}

static void read_steps(const loop_kit *loop, kit_step *steps, size_t count)
{
    const sluice_batch *batch = NULL;

    for (size_t i = 0; i < count; i++) {
        T_OK(loop_kit_next(loop, &batch));
        steps[i] = loop_kit_step(batch);
    }
}

/* Stops behind every batch, by way of the bytes of the position alone. */
static void stop_and_resume_everywhere(sluice_dataset *dataset)
{
    loop_kit whole = open_at(dataset, NULL);
    kit_step want[BATCHES];

    read_steps(&whole, want, BATCHES);
    loop_kit_close(&whole);
    for (size_t stop = 0; stop < BATCHES; stop++) {
        loop_kit loop = open_at(dataset, NULL);
        uint8_t saved[sizeof(sluice_channel_position)];
        sluice_channel_position position;
        kit_step steps[BATCHES];

        read_steps(&loop, steps, stop);
        position = position_of(&loop);
        T_EQ(position.batch, stop);
        memcpy(saved, &position, sizeof(saved));
        loop_kit_close(&loop);
        memcpy(&position, saved, sizeof(saved));
        loop = open_at(dataset, &position);
        read_steps(&loop, steps + stop, BATCHES - stop);
        for (size_t i = 0; i < BATCHES; i++) {
            loop_kit_check_same(&steps[i], &want[i]);
        }
        loop_kit_close(&loop);
    }
}

static void a_resumed_loop_has_the_bits_of_an_unbroken_one(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parse(loop_kit_padded, &dataset));
    stop_and_resume_everywhere(dataset);
    sluice_dataset_destroy(dataset);
}

/* In its third pass as well as in its first, though each process meets its end anew. */
static void a_loop_over_a_stream_is_resumed(void)
{
    char path[400];
    sluice_dataset *dataset;

    snprintf(path, sizeof(path), "%s/x.tar", t_folder());
    make_image_shard(path, 0, 37);
    dataset = stream_dataset("@ access=stream | shuffle buffer=8", path, "4");
    stop_and_resume_everywhere(dataset);
    sluice_dataset_destroy(dataset);
}

/* Of a resumed loop, of one that was rewound, before the start, with batches held. */
static void a_position_is_of_the_next_batch(void)
{
    sluice_channel_config config = loop_kit_config(5, 0);
    const sluice_batch *batch = NULL;
    sluice_channel_position position;
    loop_kit loop;

    config.held = 2;
    config.seed = 7;
    loop = loop_kit_open("host:0", loop_kit_padded, &config);
    position = position_of(&loop);
    T_EQ(position.batch, 5);
    T_EQ(position.pass, 0);
    T_EQ(position.samples, 40);
    T_EQ(position.seed, 7);
    T_OK(sluice_channel_start(loop.channel));
    for (uint64_t n = 5; n < 12; n++) {
        T_OK(loop_kit_next(&loop, &batch));
        position = position_of(&loop);
        T_EQ(position.batch, n + 1);
        T_EQ(position.pass, (n + 1) / LOOP_KIT_PADDED_BATCHES);
        T_EQ(position.samples, (n + 1) % LOOP_KIT_PADDED_BATCHES * 8);
        T_OK(sluice_channel_release(loop.channel, batch, NULL));
    }
    T_OK(sluice_channel_rewind(loop.channel));
    T_EQ(position_of(&loop).batch, 5);
    T_EQ(position_of(&loop).samples, 40);
    loop_kit_close(&loop);
}

static void the_rest_of_a_pass_is_dealt_in_other_batches(void)
{
    const sluice_batch *batch = NULL;
    sluice_channel_position position = {sizeof(position), 3, 0, 24, 7};
    sluice_dataset *dataset = NULL;
    uint32_t seen[70] = {0};
    kit_step steps[3];
    loop_kit loop;

    T_OK(sluice_dataset_parse("synthetic samples=70 shape=4,4,3 | shuffle | batch 8", &dataset));
    loop = open_at(dataset, NULL);
    for (int i = 0; i < 3; i++) {
        T_OK(loop_kit_next(&loop, &batch));
        for (uint32_t row = 0; row < 8; row++) {
            seen[batch->samples[row]]++;
        }
    }
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_parse("synthetic samples=70 shape=4,4,3 | shuffle | batch 23", &dataset));
    loop = open_at(dataset, &position);
    for (int i = 0; i < 2; i++) {
        T_OK(loop_kit_next(&loop, &batch));
        T_EQ(batch->number, 3 + (uint64_t)i);
        for (uint32_t row = 0; row < batch->valid_rows; row++) {
            seen[batch->samples[row]]++;
        }
    }
    for (size_t i = 0; i < 70; i++) {
        T_EQ(seen[i], 1);
    }
    read_steps(&loop, steps, 3); /* the next pass */
    T_EQ(steps[0].pass, 1);
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
}

static void positions_that_make_no_sense_are_refused(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    loop_kit loop = loop_kit_open("host:0", loop_kit_padded, &config);
    sluice_channel_position position = {.struct_size = 0};
    sluice_channel *channel = NULL;

    T_STATUS(sluice_channel_position_get(loop.channel, &position), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_position_get(loop.channel, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_position_get(NULL, &position), SLUICE_E_INVALID);
    config.position = &position;
    T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_channel_position");
    position = (sluice_channel_position){sizeof(position), 3, 0, 24, 7};
    T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "config.position has seed 7, config.seed is 0");
    config.seed = 7;
    config.first_batch = 3;
    T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "want one of them");
    config.first_batch = 0;
    position.samples = 71;
    T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "config.position is after 71 samples of a pass, which has 70");
    position.samples = 0;
    position.batch = UINT64_MAX - 5;
    config.batches = 5;
    T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(channel);
    loop_kit_close(&loop);
}

const t_test channel_position_tests[] = {
    T_TEST(a_resumed_loop_has_the_bits_of_an_unbroken_one),
    T_TEST(a_loop_over_a_stream_is_resumed),
    T_TEST(a_position_is_of_the_next_batch),
    T_TEST(the_rest_of_a_pass_is_dealt_in_other_batches),
    T_TEST(positions_that_make_no_sense_are_refused),
    T_END,
};
