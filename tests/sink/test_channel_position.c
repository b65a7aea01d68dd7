/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel: the position of a loop, saved and resumed. */
#include "collected_sets.h"
#include "log_kit.h"
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

/* config.first_batch of passes of unknown length, and positions before its batch and after it. */
static void a_loop_may_begin_in_a_later_pass(void)
{
    for (size_t m = 0; m < COLLECTED_MAKERS; m++) {
        sluice_dataset *dataset = collected_makers[m]("batch 3");
        sluice_channel_config config = loop_kit_config(0, 0);
        kit_step want[BATCHES];
        loop_kit loop = open_at(dataset, NULL);

        read_steps(&loop, want, BATCHES);
        loop_kit_close(&loop);
        T_TRUE(want[BATCHES - 1].pass > 0);
        for (uint64_t first = 1; first + 2 < BATCHES; first += 4) {
            sluice_channel_position position;

            config.first_batch = first;
            config.seed = 7;
            loop = loop_kit_open_dataset("host:0", dataset, &config);
            position = position_of(&loop); /* no pass has been counted */
            loop_kit_close(&loop);
            T_EQ(position.batch, first);
            loop = open_at(dataset, &position);
            loop_kit_check_next(&loop, &want[first]);
            position = position_of(&loop);
            T_EQ(position.batch, first + 1);
            loop_kit_close(&loop);
            loop = open_at(dataset, &position);
            loop_kit_check_next(&loop, &want[first + 1]);
            loop_kit_close(&loop);
        }
        sluice_dataset_destroy(dataset);
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
    const char *path = t_file("x.tar");
    sluice_dataset *dataset;

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
    sluice_channel_position position = {sizeof(position), 3, 0, 24, 7, ""};
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
    position = (sluice_channel_position){sizeof(position), 3, 0, 24, 7, ""};
    T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "config.position has seed 7, config.seed is 0");
    config.seed = 7;
    config.first_batch = 3;
    T_STATUS(sluice_channel_open(loop.device, loop.own, &config, &channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "set only one of them");
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

/* ---- the identity of the data ---------------------------------------------------------------- */

#define IMAGES "synthetic samples=70 shape=4,4,3 | shuffle | "

/* A position after three batches of the pipeline, with seed 7. */
static sluice_channel_position position_in(const char *pipeline)
{
    sluice_channel_config config = loop_kit_config(3, 0);
    sluice_channel_position position;
    loop_kit loop;

    config.seed = 7;
    loop = loop_kit_open("host:0", pipeline, &config);
    position = position_of(&loop);
    loop_kit_close(&loop);
    T_EQ(position.samples, 24);
    return position;
}

static sluice_status open_with(const char *pipeline, const sluice_channel_position *position)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    sluice_channel *channel = NULL;
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    sluice_status st;

    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_dataset_parse(pipeline, &dataset));
    config.seed = 7;
    config.position = position;
    st = sluice_channel_open(device, dataset, &config, &channel);
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return st;
}

static void a_position_in_other_data_is_refused(void)
{
    static const struct {
        const char *pipeline;
        const char *why;
    } cases[] = {
        {IMAGES "batch 8", "there was \"random_horizontal_flip p=0.5 offload=auto\" after shuffle"},
        {IMAGES "random_horizontal_flip 0.25 | batch 8", "p was 0.5 and is 0.25 now"},
        {"synthetic samples=71 shape=4,4,3 | shuffle | random_horizontal_flip | batch 8",
         "the number of samples was 70 and is 71 now"},
    };
    const sluice_channel_position position = position_in(IMAGES "random_horizontal_flip | batch 8");

    T_OK(open_with(IMAGES "random_horizontal_flip 0.5 offload=host | batch 5", &position));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_channel_position any = position;

        T_STATUS(open_with(cases[i].pipeline, &position), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "cannot resume from config.position: ");
        T_CONTAINS(sluice_last_error(), cases[i].why);
        any.identity[0] = '\0'; /* as the text says */
        T_OK(open_with(cases[i].pipeline, &any));
    }
}

/* Warnings when a channel is opened there. */
static unsigned warnings_at(const sluice_channel_position *position)
{
    kit_log_start(NULL, NULL);
    T_OK(open_with(IMAGES "batch 8", position));
    T_TRUE(kit_log_count(SLUICE_LOG_WARN) == 0 ||
           strstr(kit_log_stop(), "config.position has no identity") != NULL);
    kit_log_stop();
    return kit_log_count(SLUICE_LOG_WARN);
}

static void a_position_without_an_identity_is_accepted_with_a_warning(void)
{
    sluice_channel_position position = position_in(IMAGES "batch 8");
    sluice_channel_position fields = {.struct_size = sizeof(fields), .seed = 7};

    T_EQ(warnings_at(&position), 0);
    T_EQ(warnings_at(&fields), 0); /* it has not begun */
    fields.batch = position.batch;
    fields.samples = position.samples;
    T_EQ(warnings_at(&fields), 1);
    position.struct_size = offsetof(sluice_channel_position, identity); /* an older program */
    T_EQ(warnings_at(&position), 1);
}

static void a_damaged_identity_is_refused(void)
{
    const sluice_channel_position position = position_in(IMAGES "batch 8");
    sluice_channel_position damaged = position;

    for (size_t i = 1; position.identity[i] != '\0'; i++) {
        damaged.identity[i] ^= 1;
        T_STATUS(open_with(IMAGES "batch 8", &damaged), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), "config.position: its identity is corrupt");
        T_TRUE(strstr(sluice_last_error(), "sluice_state") == NULL); /* there is no file */
        damaged.identity[i] = position.identity[i];
    }
    memset(damaged.identity, 'x', sizeof(damaged.identity));
    T_STATUS(open_with(IMAGES "batch 8", &damaged), SLUICE_E_CORRUPT);
}

/* A text that does not fit is kept as its beginning and a hash. */
static void a_pipeline_of_any_length_has_an_identity(void)
{
    char text[4000] = IMAGES "random_apply 0.5 (";
    char other[4000];
    sluice_channel_position position;

    for (int i = 0; i < 26; i++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%srandom_affine 1.%d",
                 i > 0 ? " | " : "", 100 + i);
    }
    snprintf(other, sizeof(other), "%s | random_invert 0.7) | batch 8", text);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), " | random_invert 0.8) | batch 8");
    position = position_in(text);
    T_CONTAINS(position.identity, "... #");
    T_OK(open_with(text, &position));
    T_STATUS(open_with(other, &position), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the pipeline differs");
}

/* Writes a pipeline of `count` nested stages and a name of `width` letters to `text`. */
static void write_long(char *text, size_t size, int count, int width, const char *last)
{
    snprintf(text, size, IMAGES "rename label %.*s | random_apply 0.5 (", width,
             "abcdefghijklmnopqrstuvwxyzabcdef");
    for (int i = 0; i < count; i++) {
        snprintf(text + strlen(text), size - strlen(text), "%s%s", i > 0 ? " | " : "",
                 i < 13 ? "random_affine 1.125" : "random_invert 0.5");
    }
    snprintf(text + strlen(text), size - strlen(text), ") | %s | batch 8", last);
}

static bool is_short(const sluice_channel_position *position)
{
    return strstr(position->identity, "... #") != NULL;
}

/* Also where only one of the two is shortened. */
static void long_pipelines_with_the_same_bits_are_the_same(void)
{
    int one_is_short = 0;
    int count = 1;
    char a[4000];
    char b[4000];

    for (sluice_channel_position position = {0}; !is_short(&position); count++) {
        write_long(a, sizeof(a), count, 1, "random_horizontal_flip 0.5 | to_chw");
        position = position_in(a);
    }
    for (int width = 1; width < 32; width++) {
        sluice_channel_position positions[2];

        write_long(a, sizeof(a), count - 2, width, "random_horizontal_flip 0.5 | to_chw");
        write_long(b, sizeof(b), count - 2, width,
                   "to_chw | random_horizontal_flip 0.5 offload=device");
        positions[0] = position_in(a);
        positions[1] = position_in(b);
        T_OK(open_with(a, &positions[1]));
        T_OK(open_with(b, &positions[0]));
        one_is_short += is_short(&positions[0]) != is_short(&positions[1]);
        write_long(b, sizeof(b), count - 2, width, "random_horizontal_flip 0.25 | to_chw");
        T_STATUS(open_with(b, &positions[0]), SLUICE_E_INVALID);
        T_STATUS(open_with(b, &positions[1]), SLUICE_E_INVALID);
    }
    T_TRUE(one_is_short > 0);
}

const t_test channel_position_tests[] = {
    T_TEST(a_loop_may_begin_in_a_later_pass),
    T_TEST(a_resumed_loop_has_the_bits_of_an_unbroken_one),
    T_TEST(a_loop_over_a_stream_is_resumed),
    T_TEST(a_position_is_of_the_next_batch),
    T_TEST(the_rest_of_a_pass_is_dealt_in_other_batches),
    T_TEST(positions_that_make_no_sense_are_refused),
    T_TEST(a_position_in_other_data_is_refused),
    T_TEST(a_position_without_an_identity_is_accepted_with_a_warning),
    T_TEST(a_damaged_identity_is_refused),
    T_TEST(a_pipeline_of_any_length_has_an_identity),
    T_TEST(long_pipelines_with_the_same_bits_are_the_same),
    T_END,
};
