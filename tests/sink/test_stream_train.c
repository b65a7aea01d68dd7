/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_train() on data of which nobody knows how many there are. */
#include <string.h>
#include <sys/stat.h>

#include "shard_kit.h"
#include "stream_kit.h"
#include "testing.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_AUTO, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

static void run_on(kit *k, sluice_mode mode, const char *what, const char *path, uint64_t epochs,
                   uint64_t steps)
{
    kit_init(k);
    k->dataset = stream_dataset(what, path, "4");
    k->config.dataset_sink_mode = mode != SLUICE_MODE_AUTO;
    k->config.mode = mode;
    k->config.epochs = epochs;
    k->config.max_steps = steps;
    k->model.reads_valid_rows = true;
    kit_run(k);
}

static void done_with(kit *k)
{
    sluice_dataset *dataset = k->dataset;

    kit_fini(k);
    sluice_dataset_destroy(dataset);
}

static void compare(sluice_mode mode, uint64_t epochs, uint64_t steps, uint64_t want)
{
    const char *path = t_file("x.tar");
    kit indexed;
    kit stream;

    make_image_shard(path, 0, 23);
    run_on(&indexed, mode, "@ index=none", path, epochs, steps);
    run_on(&stream, mode, "@ access=stream", path, epochs, steps);
    T_STATUS(indexed.status, SLUICE_OK);
    if (stream.status != SLUICE_OK) {
        T_FAIL_("the stream ends with %.900s", stream.error);
    }
    T_EQ(stream.count, want);
    T_EQ(indexed.count, want);
    T_EQ(stream.hook_calls[KIT_EPOCH_END], epochs > 0 ? epochs : 1);
    kit_check_same(&indexed, &stream, 0, want);
    done_with(&indexed);
    done_with(&stream);
}

static void an_epoch_of_a_stream_is_the_stream(void)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        compare(modes[i], 1, 0, 6);
    }
}

static void steps_of_a_stream_go_on_in_the_next_pass(void)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        compare(modes[i], 0, 4, 4);
    }
}

/* Epochs of a stream of 23 samples, in loop mode. */
static void run_epochs(kit *k, const char *what, uint64_t epochs)
{
    const char *path = t_file("x.tar");

    make_image_shard(path, 0, 23);
    run_on(k, SLUICE_MODE_LOOP, what, path, epochs, 0);
}

static void the_plan_of_a_stream_names_no_length(void)
{
    kit k;

    run_epochs(&k, "@ access=stream | shuffle", 1);
    T_STATUS(k.status, SLUICE_OK);
    T_CONTAINS(
        k.plan,
        "plan: steps until the stream ends of batches of 4 in sequence, mode loop (asked for), "
        "one sink, ");
    /* What the shuffle held is in the report. */
    T_TRUE(k.report->memory.stream > 23 * sizeof(stream_item));
    done_with(&k);
}

static void the_samples_of_a_stream_are_printed_and_count_as_memory(void)
{
    const char *path = t_file("x.tar");
    kit k;

    make_image_shard(path, 0, 23);
    kit_init(&k);
    k.dataset = stream_dataset("@ access=stream max_sample=1M", path, "4");
    k.config.workers = 2;
    k.config.max_steps = 5;
    k.model.reads_valid_rows = true;
    T_OK(kit_run(&k));
    /* Twice the largest, and one for each of two workers and two that read. */
    T_CONTAINS(k.plan, "MB slots + up to 6.3 MB of the stream's samples on host:0");
    k.config.memory_bytes = 6 << 20;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "samples of the stream take up to 6.29146 MB with 2 workers, more than the "
                        "bound of 6.29146 MB; lower max_sample=");
    k.config.memory_bytes = (6 << 20) + 10000; /* room for some slots */
    T_OK(kit_run(&k));
    k.config.memory_bytes = (6 << 20) + 100;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "slots take");
    T_CONTAINS(k.error, "beside 6.29146 MB for samples of the stream");
    done_with(&k);
}

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const kit *k = user;

    (void)rank;
    (void)world;
    t_write_file(t_path(folder, "state"), &k->state, sizeof(k->state));
    return SLUICE_OK;
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    uint8_t bytes[sizeof(float) + 1];
    kit *k = user;

    (void)rank;
    (void)world;
    if (read_file_bytes(t_path(folder, "state"), bytes, sizeof(bytes)) != sizeof(k->state)) {
        return SLUICE_E_IO;
    }
    memcpy(&k->state, bytes, sizeof(k->state));
    return SLUICE_OK;
}

/* Check mode reads the first batches three times. */
static void a_pipe_cannot_be_checked_with(void)
{
    const char *folder = t_folder();
    char path[400];
    kit k;

    make_image_shard(t_path(folder, "x.tar"), 0, 23);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, i == 0 ? "x.tar" : "fifo");
        if (i == 1) {
            T_EQ(mkfifo(path, 0600), 0);
        }
        kit_init(&k);
        k.dataset = stream_dataset("@ access=stream", path, "4");
        k.config.epochs = 1;
        k.config.check = true;
        k.model.reads_valid_rows = true;
        k.model.save = save;
        k.model.load = load;
        kit_run(&k);
        if (i == 0) {
            T_STATUS(k.status, SLUICE_OK);
        } else {
            T_STATUS(k.status, SLUICE_E_UNSUPPORTED);
            T_CONTAINS(k.error, "data from a pipe can be read only once");
        }
        done_with(&k);
    }
}

static void an_epoch_is_a_pass_of_the_shards(void)
{
    kit k;

    run_epochs(&k, "@ access=stream", 2);
    T_STATUS(k.status, SLUICE_OK);
    T_EQ(k.count, 2 * 6);
    T_EQ(k.hook_calls[KIT_EPOCH_END], 2);
    T_EQ(k.steps[5].epoch, 0);
    T_EQ(k.steps[6].epoch, 1);
    T_CONTAINS(k.plan, "steps until 2 passes end of batches of 4");
    T_CONTAINS(k.plan, "one sink for each pass");
    done_with(&k);
}

const t_test stream_train_tests[] = {
    T_TEST(an_epoch_of_a_stream_is_the_stream),
    T_TEST(steps_of_a_stream_go_on_in_the_next_pass),
    T_TEST(the_samples_of_a_stream_are_printed_and_count_as_memory),
    T_TEST(the_plan_of_a_stream_names_no_length),
    T_TEST(a_pipe_cannot_be_checked_with),
    T_TEST(an_epoch_is_a_pass_of_the_shards),
    T_END,
};
