/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "alloc_int.h"
#include "engine_int.h"
#include "jpeg_maker.h"
#include "plan.h"
#include "stage.h"
#include "status_int.h"
#include "testing.h"

static const uint64_t NO_SAMPLE = UINT64_MAX;

/* ---- a source that does what a test tells it ------------------------------------------------- */

enum { MOST_SAMPLES = 4000, SIDE = 4 };

/* What reading a sample does. */
typedef enum behaviour { GOOD, BAD, NO_MEMORY, BLOCKS } behaviour;

static struct {
    uint64_t samples;
    uint8_t behaviours[MOST_SAMPLES];
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint32_t blocked; /* readers that wait */
    bool released;
    uint64_t reads; /* of bad samples */
} script = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void script_reset(uint64_t samples, behaviour all)
{
    T_TRUE(samples <= MOST_SAMPLES);
    script.samples = samples;
    memset(script.behaviours, (int)all, sizeof(script.behaviours));
    script.blocked = 0;
    script.released = false;
    script.reads = 0;
}

static void script_wait_blocked(uint32_t readers)
{
    pthread_mutex_lock(&script.lock);
    while (script.blocked < readers) {
        pthread_cond_wait(&script.changed, &script.lock);
    }
    pthread_mutex_unlock(&script.lock);
}

static void script_wait_reads(uint64_t reads)
{
    pthread_mutex_lock(&script.lock);
    while (script.reads < reads) {
        pthread_cond_wait(&script.changed, &script.lock);
    }
    pthread_mutex_unlock(&script.lock);
}

static void script_release(void)
{
    pthread_mutex_lock(&script.lock);
    script.released = true;
    pthread_cond_broadcast(&script.changed);
    pthread_mutex_unlock(&script.lock);
}

static sluice_status script_open(const void *args, void **source_out)
{
    (void)args;
    *source_out = &script;
    return SLUICE_OK;
}

static void script_close(void *source)
{
    (void)source;
}

static uint64_t script_count(const void *source)
{
    (void)source;
    return script.samples;
}

static void script_name(const void *source, uint64_t index, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "script/%llu", (unsigned long long)index);
}

static uint8_t script_pixel(uint64_t sample, size_t i)
{
    return (uint8_t)(1 + (sample * 7 + i) % 255);
}

static sluice_status script_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const behaviour what = (behaviour)script.behaviours[index];
    sluice_status st = image_buffer_reserve(&io->bytes, SIDE * SIDE * 3);

    (void)source;
    if (st != SLUICE_OK || what == NO_MEMORY) {
        return sli_fail(SLUICE_E_NO_MEMORY, "no memory for this one");
    }
    pthread_mutex_lock(&script.lock);
    script.blocked += what == BLOCKS;
    script.reads += what == BAD;
    pthread_cond_broadcast(&script.changed);
    while (what == BLOCKS && !script.released) {
        pthread_cond_wait(&script.changed, &script.lock);
    }
    pthread_mutex_unlock(&script.lock);
    /* A bad sample leaves its row half written. */
    *(int32_t *)row[1] = (int32_t)index;
    if (what == BAD) {
        return sli_fail(SLUICE_E_CORRUPT, "it is bad");
    }
    for (size_t i = 0; i < SIDE * SIDE * 3; i++) {
        io->bytes.data[i] = script_pixel(index, i);
    }
    io->bytes_read += 100;
    data_out->image = (image_view){io->bytes.data, SIDE * 3, SIDE, SIDE, 3};
    return SLUICE_OK;
}

static uint64_t script_memory(const void *source)
{
    (void)source;
    return 0;
}

static sluice_status script_infer(const void *args, stage_schema *schema)
{
    (void)args;
    schema->column_count = 2;
    schema->columns[0] =
        (sluice_column){.name = "image", .dtype = SLUICE_U8, .rank = 3, .shape = {SIDE, SIDE, 3}};
    schema->columns[1] = (sluice_column){.name = "label", .dtype = SLUICE_I32};
    schema->image = 0;
    return SLUICE_OK;
}

static const source_ops script_ops = {
    .open = script_open,
    .close = script_close,
    .count = script_count,
    .name = script_name,
    .read = script_read,
    .memory = script_memory,
};

static const stage_def stage_script = {
    .name = "script",
    .kind = STAGE_SOURCE,
    .infer = script_infer,
    .source = &script_ops,
};

static sluice_dataset *script_dataset(uint32_t batch, bool drop_remainder)
{
    sluice_dataset *dataset = NULL;

    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_batch(dataset, batch, drop_remainder));
    return dataset;
}

/* ---- a run, without a step ------------------------------------------------------------------- */

typedef struct run_options {
    const char *device; /* NULL: host:0 */
    uint32_t workers;   /* 0: 1 */
    uint32_t slots;     /* 0: 4 */
    sli_run_settings settings;
    uint64_t first_step;
    uint64_t batches; /* 0: a pass; UINT64_MAX: without end */
} run_options;

typedef struct engine_run {
    sluice_device *device;
    sli_plan *plan;
    sli_layout layout;
    sli_topology *topology;
    sli_placement *placement;
    sli_profile profile;
    sli_queue *queue;
    sli_engine *engine;
    uint64_t seq;     /* of the batch that is had, or of the last */
    sli_inputs input; /* that batch */
    bool has_batch;
} engine_run;

static void close_run(engine_run *run)
{
    if (run->engine != NULL) {
        sli_engine_stop(run->engine);
    }
    sli_engine_destroy(run->engine);
    sli_queue_destroy(run->queue);
    sli_profile_fini(&run->profile);
    sli_placement_free(run->placement);
    sli_topology_close(run->topology);
    sli_plan_close(run->plan);
    sluice_device_close(run->device);
    memset(run, 0, sizeof(*run));
}

static sluice_status make_queue(engine_run *run, const run_options *options)
{
    const sli_plan *plan = run->plan;
    const sli_queue_config config = {.device = run->device,
                                     .layout = &run->layout,
                                     .conversion =
                                         plan->device_converts ? &plan->device_conversion : NULL,
                                     .conversion_column = (uint32_t)plan->image_column,
                                     .slots = options->slots > 0 ? options->slots : 4,
                                     .node = -1};

    sluice_status st = sli_queue_create(&config, &run->queue);

    return st == SLUICE_OK ? sli_queue_start(run->queue, NULL) : st;
}

static sluice_status start_run(engine_run *run, sluice_dataset *dataset, const run_options *options)
{
    const uint32_t workers = options->workers > 0 ? options->workers : 1;
    const sli_placement_request request = {.workers = workers, .node = -1, .local_world = 1};
    sli_run_settings settings = options->settings;
    sluice_status st;

    memset(run, 0, sizeof(*run));
    settings.world = settings.world > 0 ? settings.world : 1;
    st = sluice_device_open(options->device != NULL ? options->device : "host:0", &run->device);
    st = st == SLUICE_OK ? sli_plan_open(dataset, &settings, &run->plan) : st;
    st = st == SLUICE_OK ? sli_layout_make(run->plan->wire, run->plan->column_count,
                                           run->plan->batch_size, &run->layout)
                         : st;
    st = st == SLUICE_OK ? sli_topology_open(NULL, &run->topology) : st;
    st = st == SLUICE_OK ? sli_placement_plan(run->topology, &request, &run->placement) : st;
    st = st == SLUICE_OK ? sli_profile_init(&run->profile, run->plan->stage_names,
                                            run->plan->stage_count, workers)
                         : st;
    st = st == SLUICE_OK ? make_queue(run, options) : st;
    if (st == SLUICE_OK) {
        const sli_engine_config config = {
            .plan = run->plan,
            .queue = run->queue,
            .placement = run->placement,
            .profile = &run->profile,
            .first_step = options->first_step,
            .batches = options->batches > 0 ? options->batches : run->plan->batches_per_pass};

        sli_profile_start(&run->profile);
        st = sli_engine_start(&config, &run->engine);
    }
    if (st != SLUICE_OK) {
        close_run(run);
    }
    return st;
}

static void open_run(engine_run *run, sluice_dataset *dataset, const run_options *options)
{
    sluice_status st = start_run(run, dataset, options);

    if (st != SLUICE_OK) {
        T_FAIL_("the run does not start: %.900s", sluice_last_error());
    }
    T_EQ(run->placement->worker_count, options->workers > 0 ? options->workers : 1);
}

static void done_with_batch(engine_run *run)
{
    if (run->has_batch) {
        sli_queue_step_done(run->queue, run->seq);
        run->has_batch = false;
    }
}

/* Goes on to the next batch: OK, END_OF_DATA, or the run's error. */
static sluice_status next_batch(engine_run *run)
{
    sluice_status st;

    done_with_batch(run);
    st = sli_queue_wait(run->queue, run->seq + 1, -1, false);
    if (st == SLUICE_OK) {
        run->seq++;
        run->has_batch = true;
        st = sli_queue_get_next(run->queue, run->seq, &run->input);
    }
    return st;
}

static const void *row_of(const engine_run *run, uint32_t column, uint32_t row)
{
    const sluice_tensor *tensor = &run->input.tensors[column];

    return (const uint8_t *)tensor->data + row * (tensor->bytes / run->plan->batch_size);
}

static size_t row_bytes(const engine_run *run, uint32_t column)
{
    return run->input.tensors[column].bytes / run->plan->batch_size;
}

static bool is_zero(const void *data, size_t bytes)
{
    const uint8_t *byte = data;

    while (bytes > 0 && *byte == 0) {
        byte++;
        bytes--;
    }
    return bytes == 0;
}

/* ---- all that a run gave, to compare --------------------------------------------------------- */

typedef struct tape {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    uint64_t batches;
    sluice_status end;
    char error[1024];
    sli_engine_errors errors; /* without `first`, which is gone */
} tape;

static void tape_add(tape *t, const void *data, size_t size)
{
    if (t->size + size > t->capacity) {
        t->capacity = 2 * (t->size + size);
        t->bytes = realloc(t->bytes, t->capacity);
        T_TRUE(t->bytes != NULL);
    }
    memcpy(t->bytes + t->size, data, size);
    t->size += size;
}

static void tape_batch(tape *t, const engine_run *run)
{
    const sli_batch_header *header = run->input.header;

    tape_add(t, &header->step, sizeof(header->step));
    tape_add(t, &header->pass, sizeof(header->pass));
    tape_add(t, &header->first_sample, sizeof(header->first_sample));
    tape_add(t, &header->valid_rows, sizeof(header->valid_rows));
    tape_add(t, run->input.samples, run->plan->batch_size * sizeof(*run->input.samples));
    for (uint32_t i = 0; i < run->input.count; i++) {
        tape_add(t, run->input.tensors[i].data, run->input.tensors[i].bytes);
    }
    t->batches++;
}

static tape record(sluice_dataset *dataset, const run_options *options)
{
    engine_run run;
    tape t = {.bytes = NULL};

    open_run(&run, dataset, options);
    while ((t.end = next_batch(&run)) == SLUICE_OK) {
        tape_batch(&t, &run);
    }
    if (t.end != SLUICE_END_OF_DATA) {
        snprintf(t.error, sizeof(t.error), "%s", sluice_last_error());
    }
    sli_engine_stop(run.engine);
    sli_engine_errors_get(run.engine, &t.errors);
    t.errors.first = NULL;
    close_run(&run);
    return t;
}

static void check_equal_tapes(const tape *got, const tape *want, const char *what)
{
    if (got->batches != want->batches || got->size != want->size || got->end != want->end ||
        memcmp(got->bytes, want->bytes, got->size) != 0) {
        T_FAIL_("%s: %llu batches of %zu bytes, then %s; want %llu, %zu, %s%s", what,
                (unsigned long long)got->batches, got->size, sluice_status_name(got->end),
                (unsigned long long)want->batches, want->size, sluice_status_name(want->end),
                got->size == want->size ? "; the bytes differ" : "");
    }
}

static sluice_dataset *parsed(const char *text)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse(text, &dataset);

    if (st != SLUICE_OK) {
        T_FAIL_("%s: %.900s", text, sluice_last_error());
    }
    return dataset;
}

/* A JPEG file of a size. */
static void make_jpeg(const char *folder, const char *name, uint32_t width, uint32_t height,
                      uint32_t seed)
{
    const jpeg_recipe recipe = {.width = width, .height = height, .seed = seed};
    size_t size;
    uint8_t *bytes = jpeg_make(&recipe, &size);

    T_TRUE(bytes != NULL);
    t_write_file(t_path(folder, name), bytes, size);
    free(bytes);
}

/* Twenty images of different sizes in three classes. */
static sluice_dataset *jpeg_dataset(const char *folder, const char *stages)
{
    char text[1000];

    for (uint32_t i = 0; i < 20; i++) {
        char name[32];

        snprintf(name, sizeof(name), "class_%u/%02u.jpg", i % 3, i);
        make_jpeg(folder, name, 20 + i * 3, 60 - i, i);
    }
    snprintf(text, sizeof(text), "image_folder %s | %s", folder, stages);
    return parsed(text);
}

static const char *const devices[] = {"host:0", "host:0,copy=1"};
static const uint32_t worker_counts[] = {1, 2, 5};

/* ---- what is in a batch ---------------------------------------------------------------------- */

static void batches_do_not_depend_on_workers_devices_or_offload(void)
{
    static const char *const pipelines[] = {
        "synthetic 53 9,8,3 | shuffle | repeat 2 | random_crop 7 padding=2 | "
        "random_horizontal_flip | normalize imagenet | to_chw | batch 7",
        "synthetic 53 9,8,3 | shuffle | random_resized_crop 5 | random_horizontal_flip 0.3 | "
        "to_dtype f16 scale=true | batch 10 drop_remainder=true",
        "synthetic 10 8,8,1 | batch 4",
    };

    for (size_t p = 0; p < sizeof(pipelines) / sizeof(pipelines[0]); p++) {
        sluice_dataset *dataset = parsed(pipelines[p]);
        run_options options = {.settings = {.seed = 3}, .batches = 25};
        tape want = record(dataset, &options);

        T_EQ(want.end, SLUICE_END_OF_DATA);
        T_EQ(want.batches, 25);
        for (int i = 0; i < 2 * 3 * 2; i++) {
            char what[100];
            tape got;

            options.device = devices[i % 2];
            options.workers = worker_counts[i / 2 % 3];
            options.settings.prefer_device = i / 6 == 1;
            options.slots = 3 + (uint32_t)i % 5;
            snprintf(what, sizeof(what), "pipeline %zu on %s, %u workers", p, options.device,
                     options.workers);
            got = record(dataset, &options);
            check_equal_tapes(&got, &want, what);
            free(got.bytes);
        }
        free(want.bytes);
        sluice_dataset_destroy(dataset);
    }
}

static void jpeg_files_give_the_same_batches_on_any_number_of_workers(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset =
        jpeg_dataset(folder, "shuffle | decode | resize 30 | center_crop 20 | "
                             "random_resized_crop 12 | random_horizontal_flip | batch 6");
    run_options options = {.settings = {.seed = 4}, .batches = 9};
    tape want = record(dataset, &options);

    T_EQ(want.end, SLUICE_END_OF_DATA);
    T_EQ(want.batches, 9);
    for (int i = 0; i < 6; i++) {
        tape got;

        options.device = devices[i % 2];
        options.workers = worker_counts[i / 2];
        got = record(dataset, &options);
        check_equal_tapes(&got, &want, options.device);
        free(got.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

static void batches_hold_the_samples_that_they_list(void)
{
    sluice_dataset *dataset;
    engine_run run;

    script_reset(50, GOOD);
    dataset = script_dataset(8, false);
    open_run(&run, dataset, &(run_options){.workers = 3, .batches = 14});
    for (uint64_t step = 0; step < 14; step++) {
        const uint64_t first = step % 7 * 8;

        T_OK(next_batch(&run));
        T_EQ(run.input.header->step, step);
        T_EQ(run.input.header->pass, step / 7);
        T_EQ(run.input.header->first_sample, first);
        T_EQ(run.input.header->valid_rows, first + 8 <= 50 ? 8 : 2);
        for (uint32_t row = 0; row < run.input.header->valid_rows; row++) {
            const uint8_t *image = row_of(&run, 0, row);

            T_EQ(run.input.samples[row], first + row);
            T_EQ(*(const int32_t *)row_of(&run, 1, row), first + row);
            for (size_t i = 0; i < row_bytes(&run, 0); i++) {
                T_EQ(image[i], script_pixel(first + row, i));
            }
        }
    }
    T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* Padding is zero as the step sees it, also where a normalisation would make something of it. */
static void rows_past_the_end_are_zero(void)
{
    sluice_dataset *dataset =
        parsed("synthetic 10 4,4,3 | normalize imagenet | random_horizontal_flip 1 | batch 8");

    for (int i = 0; i < 8; i++) {
        engine_run run;

        open_run(
            &run, dataset,
            &(run_options){.device = devices[i % 2],
                           .workers = 2,
                           .settings = {.prefer_device = i / 2 % 2,
                                        .on_error = i < 4 ? SLI_ON_ERROR_FAIL : SLI_ON_ERROR_ZERO},
                           .batches = 4});
        for (uint64_t step = 0; step < 4; step++) {
            const uint32_t valid = step % 2 == 0 ? 8 : 2;

            T_OK(next_batch(&run));
            T_EQ(run.input.header->valid_rows, valid);
            for (uint32_t row = 0; row < 8; row++) {
                T_EQ(run.input.samples[row] == NO_SAMPLE, row >= valid);
                for (uint32_t column = 0; column < run.input.count; column++) {
                    T_TRUE(row < valid ||
                           is_zero(row_of(&run, column, row), row_bytes(&run, column)));
                }
                T_TRUE(i < 4 || *(const uint8_t *)row_of(&run, 2, row) == (row < valid));
                T_TRUE(row >= valid || !is_zero(row_of(&run, 0, row), row_bytes(&run, 0)));
            }
        }
        close_run(&run);
    }
    sluice_dataset_destroy(dataset);
}

/* More ranks than samples: batches of nothing are batches. */
static void a_rank_without_samples_gives_empty_batches(void)
{
    sluice_dataset *dataset = parsed("synthetic 2 4,4,3 | batch 3");
    engine_run run;

    open_run(&run, dataset, &(run_options){.settings = {.rank = 3, .world = 4}});
    T_OK(next_batch(&run));
    T_EQ(run.input.header->valid_rows, 0);
    T_TRUE(run.input.header->first_sample == NO_SAMPLE);
    T_TRUE(is_zero(run.input.tensors[0].data, run.input.tensors[0].bytes));
    T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* Rank r, row i of global batch g is what one rank alone has at g * W * B + i * W + r. */
static void ranks_together_see_what_one_would(void)
{
    const char *const stages = "shuffle | random_crop 7 padding=2 | random_horizontal_flip";
    engine_run whole;
    engine_run part;
    char text[200];

    for (uint32_t world = 2; world <= 3; world++) {
        sluice_dataset *alone;
        sluice_dataset *shared;

        snprintf(text, sizeof(text), "synthetic 40 8,8,3 | %s | batch %u", stages, 5 * world);
        alone = parsed(text);
        snprintf(text, sizeof(text), "synthetic 40 8,8,3 | %s | batch 5", stages);
        shared = parsed(text);
        for (uint32_t rank = 0; rank < world; rank++) {
            open_run(&whole, alone, &(run_options){.settings = {.seed = 1}, .batches = 6});
            open_run(&part, shared,
                     &(run_options){.settings = {.seed = 1, .rank = rank, .world = world},
                                    .workers = 2,
                                    .batches = 6});
            T_EQ(part.plan->batches_per_pass, whole.plan->batches_per_pass);
            for (int batch = 0; batch < 6; batch++) {
                T_OK(next_batch(&whole));
                T_OK(next_batch(&part));
                for (uint32_t i = 0; i < 5; i++) {
                    const uint32_t row = i * world + rank;

                    T_EQ(part.input.samples[i], whole.input.samples[row]);
                    T_EQ(memcmp(row_of(&part, 0, i), row_of(&whole, 0, row), row_bytes(&part, 0)),
                         0);
                }
            }
            close_run(&whole);
            close_run(&part);
        }
        sluice_dataset_destroy(alone);
        sluice_dataset_destroy(shared);
    }
}

static void a_run_goes_on_exactly_where_another_stopped(void)
{
    static const uint64_t starts[] = {1, 2, 4, 5, 9, 10, 13, 1000000007};
    sluice_dataset *dataset =
        parsed("synthetic 23 8,8,3 | shuffle | random_resized_crop 6 | random_horizontal_flip | "
               "batch 5");
    run_options options = {.settings = {.seed = 6}, .batches = 16};
    tape whole = record(dataset, &options);
    const size_t batch_bytes = whole.size / 16;

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        tape rest;

        options.first_step = starts[i];
        options.batches = 3;
        options.workers = 1 + (uint32_t)i % 3;
        options.device = devices[i % 2];
        rest = record(dataset, &options);
        T_EQ(rest.batches, 3);
        T_TRUE(starts[i] > 13 ||
               memcmp(rest.bytes, whole.bytes + starts[i] * batch_bytes, rest.size) == 0);
        free(rest.bytes);
    }
    /* Far out, too, a step is a function of its number alone. */
    options.first_step = 1000000008;
    for (int i = 0; i < 2; i++) {
        tape at = record(dataset, &options);
        uint64_t step;

        memcpy(&step, at.bytes, sizeof(step));
        T_EQ(step, 1000000008);
        free(at.bytes);
    }
    free(whole.bytes);
    sluice_dataset_destroy(dataset);
}

static void repetitions_draw_anew(void)
{
    sluice_dataset *dataset = parsed("synthetic 30 16,16,3 | repeat 2 | random_crop 8 | batch 30");
    engine_run run;
    uint8_t *first;
    int same = 0;

    open_run(&run, dataset, &(run_options){.settings = {.seed = 1}});
    T_OK(next_batch(&run));
    first = malloc(run.input.tensors[0].bytes);
    memcpy(first, run.input.tensors[0].data, run.input.tensors[0].bytes);
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 30; row++) {
        T_EQ(run.input.samples[row], row);
        same +=
            memcmp(first + row * row_bytes(&run, 0), row_of(&run, 0, row), row_bytes(&run, 0)) == 0;
    }
    T_TRUE(same < 5);
    free(first);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

static void several_runs_use_one_dataset_at_once(void)
{
    sluice_dataset *dataset = parsed("synthetic 23 8,8,3 | split train 0.9 seed=1 | shuffle | "
                                     "random_crop 6 | batch 5");
    run_options options = {.settings = {.seed = 6}, .batches = 12};
    tape want;
    engine_run runs[3];
    tape tapes[3] = {{.bytes = NULL}, {.bytes = NULL}, {.bytes = NULL}};

    for (int i = 0; i < 3; i++) {
        open_run(&runs[i], dataset, &options);
    }
    for (int batch = 0; batch < 12; batch++) {
        for (int i = 0; i < 3; i++) {
            T_OK(next_batch(&runs[i]));
            tape_batch(&tapes[i], &runs[i]);
        }
    }
    for (int i = 0; i < 3; i++) {
        close_run(&runs[i]);
    }
    want = record(dataset, &options);
    for (int i = 0; i < 3; i++) {
        tapes[i].end = SLUICE_END_OF_DATA;
        check_equal_tapes(&tapes[i], &want, "one of three runs");
        free(tapes[i].bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

static void the_end_comes_after_the_last_batch(void)
{
    sluice_dataset *dataset = parsed("synthetic 10 4,4,3 | batch 4");

    for (int i = 0; i < 6; i++) {
        run_options options = {.device = devices[i % 2], .workers = worker_counts[i / 2]};

        for (options.batches = 1; options.batches < 9; options.batches++) {
            tape t = record(dataset, &options);

            T_EQ(t.end, SLUICE_END_OF_DATA);
            T_EQ(t.batches, options.batches);
            free(t.bytes);
        }
    }
    sluice_dataset_destroy(dataset);
}

/* ---- policy fail ----------------------------------------------------------------------------- */

static void a_bad_sample_ends_the_run_after_the_batches_before_it(void)
{
    sluice_dataset *dataset;

    script_reset(100, GOOD);
    script.behaviours[42] = BAD;
    dataset = script_dataset(8, false);
    for (int i = 0; i < 6; i++) {
        tape t = record(dataset, &(run_options){.device = devices[i % 2],
                                                .workers = worker_counts[i / 2],
                                                .slots = 3 + (uint32_t)i});

        T_EQ(t.batches, 5);
        T_EQ(t.end, SLUICE_E_CORRUPT);
        T_STR(t.error, "read: sample 42, script/42: it is bad");
        T_EQ(t.errors.failed, 1);
        T_EQ(t.errors.count, 1);
        T_EQ(t.errors.replaced + t.errors.zeroed, 0);
        free(t.bytes);
    }
    sluice_dataset_destroy(dataset);
}

/* Of several bad rows in a batch the first is named, whoever met it; later batches do not matter.
 */
static void the_lowest_bad_row_is_named(void)
{
    sluice_dataset *dataset;

    script_reset(100, GOOD);
    for (int i = 43; i < 100; i++) {
        script.behaviours[i] = i % 5 != 0 ? BAD : GOOD;
    }
    dataset = script_dataset(16, false);
    for (int i = 0; i < 60; i++) {
        tape t = record(dataset, &(run_options){.device = devices[i % 2], .workers = 5});

        T_EQ(t.batches, 2);
        T_STR(t.error, "read: sample 43, script/43: it is bad");
        free(t.bytes);
    }
    sluice_dataset_destroy(dataset);
}

static void an_error_names_its_stage_and_both_sizes(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    char text[500];
    tape t;

    make_jpeg(folder, "a/1.jpg", 40, 24, 1);
    make_jpeg(folder, "a/2.jpg", 41, 24, 2);
    t_write_file(t_path(folder, "a/3.jpg"), "no image", 8);
    snprintf(text, sizeof(text), "image_folder %s | decode | batch 1", folder);
    dataset = parsed(text);
    t = record(dataset, &(run_options){.workers = 2});
    T_EQ(t.batches, 1);
    T_EQ(t.end, SLUICE_E_INVALID);
    T_STR(t.error, "convert: sample 1, a/2.jpg: the image is 41x24x3 where the batch has 40x24x3; "
                   "add resize or a crop, so that all have one size");
    free(t.bytes);
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "image_folder %s | skip 2 | decode | resize 8,8 | batch 1",
             folder);
    dataset = parsed(text);
    t = record(dataset, &(run_options){.workers = 2});
    T_EQ(t.end, SLUICE_E_CORRUPT);
    T_STR(t.error, "decode: sample 2, a/3.jpg: this is no image that can be decoded");
    free(t.bytes);
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "image_folder %s | decode | random_crop 30 | batch 1", folder);
    dataset = parsed(text);
    t = record(dataset, &(run_options){.workers = 2});
    T_EQ(t.end, SLUICE_E_INVALID);
    T_CONTAINS(t.error, "random_crop: sample 0, a/1.jpg: random_crop: an image of 40x24");
    free(t.bytes);
    sluice_dataset_destroy(dataset);
}

/* ---- policy zero ----------------------------------------------------------------------------- */

static void bad_samples_are_zero_rows_with_a_mask(void)
{
    for (int i = 0; i < 12; i++) {
        const double mean[] = {0.5};
        const double std[] = {0.25};
        sluice_dataset *dataset = NULL;
        engine_run run;

        script_reset(30, GOOD);
        for (int k = 0; k < 30; k += 4) {
            script.behaviours[k] = BAD;
        }
        T_OK(dataset_begin(&stage_script, "", &dataset));
        T_OK(sluice_dataset_random_horizontal_flip(dataset, 1));
        T_OK(sluice_dataset_normalize(dataset, mean, std, 1, 1, SLUICE_F32));
        T_OK(sluice_dataset_offload(dataset, i / 6 == 0 ? "host" : "device"));
        T_OK(sluice_dataset_batch(dataset, 7, false));
        open_run(&run, dataset,
                 &(run_options){.device = devices[i % 2],
                                .workers = worker_counts[i / 2 % 3],
                                .settings = {.on_error = SLI_ON_ERROR_ZERO},
                                .batches = 10});
        for (uint64_t step = 0; step < 10; step++) {
            T_OK(next_batch(&run));
            for (uint32_t row = 0; row < run.input.header->valid_rows; row++) {
                const uint64_t sample = step % 5 * 7 + row;
                const bool bad = sample % 4 == 0;

                T_EQ(run.input.samples[row], sample);
                T_EQ(is_zero(row_of(&run, 0, row), row_bytes(&run, 0)), bad);
                T_EQ(*(const int32_t *)row_of(&run, 1, row), bad ? 0 : (int)sample);
                T_EQ(*(const uint8_t *)row_of(&run, 2, row), !bad);
            }
        }
        T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
        close_run(&run);
        sluice_dataset_destroy(dataset);
    }
}

static void errors_are_counted_over_passes_and_named_once(void)
{
    sluice_dataset *dataset;
    engine_run run;
    sli_engine_errors errors;
    bool seen[300] = {false};

    script_reset(300, BAD);
    for (int i = 0; i < 300; i += 6) {
        script.behaviours[i] = GOOD;
    }
    dataset = script_dataset(10, false);
    open_run(&run, dataset,
             &(run_options){
                 .workers = 3, .settings = {.on_error = SLI_ON_ERROR_ZERO}, .batches = 3 * 30});
    while (next_batch(&run) == SLUICE_OK) {
        sli_engine_errors_get(run.engine, &errors);
        for (uint32_t i = 0; i < errors.count; i++) {
            T_EQ(strncmp(errors.first[i].name, "script/", 7), 0);
        }
    }
    T_EQ(run.seq, 90);
    sli_engine_stop(run.engine);
    sli_engine_errors_get(run.engine, &errors);
    T_EQ(errors.zeroed, 3 * 250);
    T_EQ(errors.replaced, 0);
    T_EQ(errors.failed, 0);
    T_EQ(errors.count, 100);
    for (uint32_t i = 0; i < 100; i++) {
        const sli_error_sample *error = &errors.first[i];
        char name[64];

        T_TRUE(error->sample < 300 && error->sample % 6 != 0 && !seen[error->sample]);
        seen[error->sample] = true;
        snprintf(name, sizeof(name), "script/%llu", (unsigned long long)error->sample);
        T_STR(error->name, name);
        T_STR(error->stage, "read");
        T_STR(error->text, "it is bad");
    }
    T_EQ(sli_engine_bytes_read(run.engine), 3 * 50 * 100);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* ---- policy replace -------------------------------------------------------------------------- */

static void bad_samples_are_replaced_by_others_of_the_set(void)
{
    sluice_dataset *dataset = NULL;
    run_options options = {.settings = {.on_error = SLI_ON_ERROR_REPLACE, .seed = 8},
                           .batches = 12};
    engine_run run;
    tape want;
    uint32_t replacements[60] = {0};
    uint32_t replaced = 0;

    script_reset(100, GOOD);
    for (int i = 0; i < 100; i += 3) {
        script.behaviours[i] = BAD;
    }
    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_skip(dataset, 40));
    T_OK(sluice_dataset_batch(dataset, 10, false));
    open_run(&run, dataset, &options);
    for (uint64_t step = 0; step < 12; step++) {
        T_OK(next_batch(&run));
        T_EQ(run.input.count, 2);
        for (uint32_t row = 0; row < 10; row++) {
            const uint64_t own = 40 + step % 6 * 10 + row;
            const uint64_t sample = run.input.samples[row];
            const uint8_t *image = row_of(&run, 0, row);

            if (own % 3 != 0) {
                T_EQ(sample, own);
            } else {
                /* Never from outside of what the stages leave, and good itself. */
                T_TRUE(sample >= 40 && sample < 100 && sample % 3 != 0);
                replacements[sample - 40]++;
                replaced++;
            }
            T_EQ(*(const int32_t *)row_of(&run, 1, row), sample);
            for (size_t i = 0; i < row_bytes(&run, 0); i++) {
                T_EQ(image[i], script_pixel(sample, i));
            }
        }
    }
    close_run(&run);
    for (int i = 0; i < 60; i++) {
        T_TRUE(replacements[i] < 8); /* not always the same */
    }
    want = record(dataset, &options);
    T_EQ(want.errors.replaced, replaced);
    T_EQ(want.errors.zeroed + want.errors.failed, 0);
    for (int i = 0; i < 6; i++) {
        tape got;

        options.device = devices[i % 2];
        options.workers = worker_counts[i / 2];
        got = record(dataset, &options);
        check_equal_tapes(&got, &want, "replacements");
        T_EQ(got.errors.replaced, replaced);
        free(got.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

/* What replaces a sample does not depend on how many ranks share the pass. */
static void replacements_are_the_same_for_any_world(void)
{
    engine_run whole;
    engine_run part;
    sluice_dataset *alone = NULL;
    sluice_dataset *shared = NULL;

    script_reset(90, GOOD);
    for (int i = 0; i < 90; i += 2) {
        script.behaviours[i] = BAD;
    }
    T_OK(dataset_begin(&stage_script, "", &alone));
    T_OK(sluice_dataset_shuffle(alone, 1));
    T_OK(sluice_dataset_batch(alone, 15, false));
    T_OK(dataset_begin(&stage_script, "", &shared));
    T_OK(sluice_dataset_shuffle(shared, 1));
    T_OK(sluice_dataset_batch(shared, 5, false));
    for (uint32_t rank = 0; rank < 3; rank++) {
        const sli_run_settings settings = {.on_error = SLI_ON_ERROR_REPLACE, .world = 1};
        const sli_run_settings shares = {
            .on_error = SLI_ON_ERROR_REPLACE, .rank = rank, .world = 3};

        open_run(&whole, alone, &(run_options){.settings = settings, .batches = 12});
        open_run(&part, shared, &(run_options){.settings = shares, .workers = 2, .batches = 12});
        for (int batch = 0; batch < 12; batch++) {
            T_OK(next_batch(&whole));
            T_OK(next_batch(&part));
            for (uint32_t i = 0; i < 5; i++) {
                T_EQ(part.input.samples[i], whole.input.samples[i * 3 + rank]);
            }
        }
        close_run(&whole);
        close_run(&part);
    }
    sluice_dataset_destroy(alone);
    sluice_dataset_destroy(shared);
}

static void replacements_stay_within_a_split(void)
{
    sluice_dataset *dataset = NULL;
    engine_run run;
    sluice_dataset *open;
    uint32_t replaced = 0;

    script_reset(200, GOOD);
    for (int i = 0; i < 200; i += 2) {
        script.behaviours[i] = BAD;
    }
    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_split(dataset, "test", 0.3, 0, 0));
    T_OK(sluice_dataset_shuffle(dataset, SLUICE_SEED_OF_RUN));
    T_OK(sluice_dataset_batch(dataset, 4, false));
    open_run(&run, dataset,
             &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE, .rank = 1, .world = 2},
                            .batches = 30});
    open = run.plan->dataset;
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < run.input.header->valid_rows; row++) {
            const split_members *split = &open->splits[1];
            uint64_t k = 0;

            while (k < split->count && split->members[k] != run.input.samples[row]) {
                k++;
            }
            T_TRUE(k < split->count);
            replaced += run.input.samples[row] % 2;
        }
    }
    T_TRUE(replaced > 20);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* With nine bad samples in ten, 0.9^8 of the bad ones find no replacement in 8 tries. */
static void after_eight_tries_a_row_is_left_zero(void)
{
    sluice_dataset *dataset;
    tape t;

    script_reset(3000, BAD);
    for (int i = 0; i < 3000; i += 10) {
        script.behaviours[i] = GOOD;
    }
    dataset = script_dataset(100, false);
    t = record(dataset,
               &(run_options){.workers = 2, .settings = {.on_error = SLI_ON_ERROR_REPLACE}});
    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.errors.replaced + t.errors.zeroed, 2700);
    T_NEAR(t.errors.zeroed, 2700 * 0.43046721, 100);
    T_EQ(t.errors.count, 100);
    free(t.bytes);
    T_TRUE(script.reads > 2700 && script.reads < 2700 * 9);
    sluice_dataset_destroy(dataset);
    /* Read once, and eight times more. */
    script_reset(1, BAD);
    dataset = script_dataset(100, false);
    t = record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE}});
    T_EQ(script.reads, 9);
    free(t.bytes);
    sluice_dataset_destroy(dataset);
}

/* ---- nothing readable ------------------------------------------------------------------------ */

static void a_pass_of_bad_samples_is_no_data(void)
{
    static const struct {
        uint64_t samples;
        uint32_t batch;
        bool drop;
        uint64_t first_step;
    } cases[] = {
        {20, 4, false, 0}, {21, 4, false, 0}, {21, 4, true, 0}, {3, 4, false, 0},
        {21, 4, false, 3}, {21, 4, true, 7},  {1, 1, false, 0},
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        for (int i = 0; i < 6; i++) {
            sluice_dataset *dataset;
            tape t;

            script_reset(cases[c].samples, BAD);
            dataset = script_dataset(cases[c].batch, cases[c].drop);
            t = record(dataset,
                       &(run_options){.workers = worker_counts[i / 2],
                                      .settings = {.on_error = i % 2 == 0 ? SLI_ON_ERROR_ZERO
                                                                          : SLI_ON_ERROR_REPLACE},
                                      .first_step = cases[c].first_step,
                                      .batches = 40});
            T_EQ(t.end, SLUICE_E_INVALID);
            T_CONTAINS(t.error, "no valid data in the dataset");
            T_CONTAINS(t.error, "it is bad");
            T_TRUE(t.batches < 12);
            free(t.bytes);
            sluice_dataset_destroy(dataset);
        }
    }
}

static void one_good_sample_is_data(void)
{
    for (int i = 0; i < 6; i++) {
        sluice_dataset *dataset;
        tape t;

        script_reset(21, BAD);
        script.behaviours[i * 4] = GOOD;
        dataset = script_dataset(4, i % 2 == 0);
        t = record(dataset, &(run_options){.workers = worker_counts[i / 2],
                                           .settings = {.on_error = SLI_ON_ERROR_ZERO},
                                           .batches = 60});
        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.batches, 60);
        free(t.bytes);
        sluice_dataset_destroy(dataset);
    }
}

/* A good sample that takes long must not be forgotten while bad ones of later passes go by. */
static void a_slow_good_sample_is_data(void)
{
    sluice_dataset *dataset;
    engine_run run;

    script_reset(2, BAD);
    script.behaviours[0] = BLOCKS;
    dataset = script_dataset(1, false);
    open_run(
        &run, dataset,
        &(run_options){
            .workers = 5, .slots = 16, .settings = {.on_error = SLI_ON_ERROR_ZERO}, .batches = 20});
    script_wait_blocked(5); /* five passes are under way, with four bad samples */
    script_wait_reads(4);
    script_release();
    for (int i = 0; i < 20; i++) {
        T_OK(next_batch(&run));
    }
    T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Running out of memory is nobody's bad sample: it ends the run under every policy. */
static void running_out_of_memory_is_no_bad_sample(void)
{
    for (int policy = 0; policy < 3; policy++) {
        sluice_dataset *dataset;
        tape t;

        script_reset(40, GOOD);
        script.behaviours[22] = NO_MEMORY;
        dataset = script_dataset(5, false);
        t = record(dataset, &(run_options){.workers = 3,
                                           .settings = {.on_error = (sli_error_policy)policy}});
        T_EQ(t.end, SLUICE_E_NO_MEMORY);
        T_EQ(t.batches, 4);
        T_CONTAINS(t.error, "read: sample 22, script/22: no memory for this one");
        T_EQ(t.errors.count, 0);
        T_EQ(t.errors.failed + t.errors.replaced + t.errors.zeroed, 0);
        free(t.bytes);
        sluice_dataset_destroy(dataset);
    }
}

static void running_out_of_memory_while_replacing_ends_the_run(void)
{
    sluice_dataset *dataset;
    tape t;

    script_reset(40, NO_MEMORY);
    for (int i = 0; i < 11; i++) {
        script.behaviours[i] = i < 10 ? GOOD : BAD;
    }
    dataset = script_dataset(5, false);
    t = record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE, .seed = 3},
                                       .batches = 3});
    T_EQ(t.end, SLUICE_E_NO_MEMORY);
    T_EQ(t.batches, 2);
    T_EQ(t.errors.count, 1);
    T_EQ(t.errors.replaced + t.errors.zeroed, 0);
    free(t.bytes);
    sluice_dataset_destroy(dataset);
}

/* At any of its requests: the run does not start, or ends with E_NO_MEMORY after good batches. */
static void runs_survive_running_out_of_memory(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset =
        jpeg_dataset(folder, "decode | resize 40 | center_crop 30 | random_resized_crop 12 | "
                             "random_horizontal_flip | batch 4");
    const run_options options = {.workers = 2, .settings = {.on_error = SLI_ON_ERROR_REPLACE}};
    tape want = record(dataset, &options);
    bool complete = false;

    T_EQ(want.end, SLUICE_END_OF_DATA);
    for (int64_t passes = 0; !complete; passes++) {
        tape got = {.bytes = NULL};
        engine_run run;

        sli_alloc_fail_after(passes);
        got.end = start_run(&run, dataset, &options);
        if (got.end == SLUICE_OK) {
            while ((got.end = next_batch(&run)) == SLUICE_OK) {
                tape_batch(&got, &run);
            }
            sli_alloc_fail_after(-1);
            sli_engine_errors_get(run.engine, &got.errors);
            T_EQ(got.errors.count, 0);
            close_run(&run);
        }
        sli_alloc_fail_after(-1);
        complete = got.end == SLUICE_END_OF_DATA;
        T_TRUE(complete || got.end == SLUICE_E_NO_MEMORY);
        T_TRUE(got.size <= want.size &&
               (got.size == 0 || memcmp(got.bytes, want.bytes, got.size) == 0));
        T_TRUE(!complete || got.size == want.size);
        free(got.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

/* ---- stopping -------------------------------------------------------------------------------- */

static void runs_can_be_stopped_at_any_moment(void)
{
    sluice_dataset *dataset =
        parsed("synthetic 100 8,8,3 | shuffle | random_crop 6 | normalize imagenet | batch 4");
    uint32_t state = 1;

    for (int i = 0; i < 150; i++) {
        run_options options = {.device = devices[i % 2],
                               .workers = 1 + test_below(&state, 5),
                               .slots = 3 + test_below(&state, 4),
                               .settings = {.prefer_device = test_below(&state, 2) == 1},
                               .batches = i % 3 == 0 ? 1 + test_below(&state, 6) : UINT64_MAX};
        uint32_t batches = test_below(&state, 8);
        engine_run run;

        open_run(&run, dataset, &options);
        while (batches-- > 0 && next_batch(&run) == SLUICE_OK) {
        }
        for (uint32_t spin = test_below(&state, 20000); spin > 0; spin--) {
            atomic_signal_fence(memory_order_seq_cst);
        }
        sli_engine_stop(run.engine);
        done_with_batch(&run);
        T_STATUS(next_batch(&run), SLUICE_CLOSED);
        sli_engine_stop(run.engine);
        close_run(&run);
    }
    sluice_dataset_destroy(dataset);
}

static void runs_that_fail_can_be_stopped_at_any_moment(void)
{
    sluice_dataset *dataset;
    uint32_t state = 2;

    for (int i = 0; i < 100; i++) {
        run_options options = {.device = devices[i % 2],
                               .workers = 1 + test_below(&state, 5),
                               .settings = {.on_error = (sli_error_policy)(i % 3)},
                               .batches = UINT64_MAX};
        engine_run run;

        script_reset(40, BAD);
        memset(script.behaviours, GOOD, test_below(&state, 30));
        dataset = script_dataset(3, false);
        open_run(&run, dataset, &options);
        for (uint32_t batches = test_below(&state, 12);
             batches > 0 && next_batch(&run) == SLUICE_OK; batches--) {
        }
        close_run(&run);
        sluice_dataset_destroy(dataset);
    }
}

static void an_engine_can_be_stopped_while_a_sample_is_read(void)
{
    sluice_dataset *dataset;
    engine_run run;

    script_reset(40, GOOD);
    script.behaviours[5] = BLOCKS;
    dataset = script_dataset(4, false);
    open_run(&run, dataset, &(run_options){.workers = 2, .batches = UINT64_MAX});
    T_OK(next_batch(&run));
    script_wait_blocked(1);
    script_release();
    close_run(&run);
    sluice_dataset_destroy(dataset);
    sli_engine_destroy(NULL);
}

/* ---- telling --------------------------------------------------------------------------------- */

static void who_waits_for_whom_is_said(void)
{
    sluice_dataset *dataset;
    engine_run run;
    sli_text text = {0};
    bool first;

    script_reset(40, GOOD);
    script.behaviours[2] = BAD;
    script.behaviours[9] = BLOCKS;
    dataset = script_dataset(4, false);
    open_run(&run, dataset,
             &(run_options){.workers = 2,
                            .slots = 3,
                            .settings = {.on_error = SLI_ON_ERROR_ZERO},
                            .first_step = 20,
                            .batches = UINT64_MAX});
    script_wait_blocked(1);
    T_OK(next_batch(&run));
    T_OK(next_batch(&run));
    /* The other worker does what there is room for, and then waits for more. */
    do {
        sli_text_free(&text);
        sli_engine_describe_wait(run.engine, 3, &text);
        first = strstr(text.data, "worker 0 is in read of script/9 for 0.") != NULL;
    } while (strstr(text.data, "batch 22 has 3 of 4 rows; ") == NULL ||
             strstr(text.data, first ? "worker 1 waits for room or is done"
                                     : "worker 0 waits for room or is done") == NULL);
    T_TRUE(first || strstr(text.data, "worker 1 is in read of script/9 for 0.") != NULL);
    sli_text_free(&text);
    script_release();
    T_OK(next_batch(&run));
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* A worker that met a bad sample and then waits for room is not in that sample any more. */
static void a_bad_sample_does_not_hold_its_worker(void)
{
    sluice_dataset *dataset;
    engine_run run;
    sli_text text = {0};

    script_reset(3, GOOD);
    script.behaviours[2] = BAD;
    dataset = script_dataset(1, false);
    open_run(&run, dataset,
             &(run_options){
                 .slots = 3, .settings = {.on_error = SLI_ON_ERROR_ZERO}, .batches = UINT64_MAX});
    script_wait_reads(1);
    do {
        sli_text_free(&text);
        sli_engine_describe_wait(run.engine, 1, &text);
    } while (strstr(text.data, "worker 0 waits for room or is done") == NULL);
    sli_text_free(&text);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

static void the_profile_counts_what_went_through(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = jpeg_dataset(folder, "decode | resize 30 | center_crop 20 | batch 5");
    sli_stage_summary summary;
    engine_run run;

    open_run(&run, dataset, &(run_options){.workers = 2, .batches = 8});
    while (next_batch(&run) == SLUICE_OK) {
    }
    sli_engine_stop(run.engine);
    sli_profile_stop(&run.profile);
    for (uint32_t stage = 0; stage < run.plan->stage_count; stage++) {
        sli_profile_summarise(&run.profile, stage, &summary);
        T_EQ(summary.samples, stage == PLAN_BATCH ? 8 : 40);
        T_TRUE(summary.bytes > 0 && summary.busy_ns > 0);
    }
    sli_profile_summarise(&run.profile, PLAN_READ, &summary);
    T_EQ(summary.bytes, sli_engine_bytes_read(run.engine));
    for (uint32_t i = 0; i < 2; i++) {
        char name[32];

        snprintf(name, sizeof(name), "sluice/w/%u", i);
        T_STR(sli_engine_thread(run.engine, i)->name, name);
    }
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

const t_test engine_tests[] = {
    T_TEST(batches_do_not_depend_on_workers_devices_or_offload),
    T_TEST(jpeg_files_give_the_same_batches_on_any_number_of_workers),
    T_TEST(batches_hold_the_samples_that_they_list),
    T_TEST(rows_past_the_end_are_zero),
    T_TEST(a_rank_without_samples_gives_empty_batches),
    T_TEST(ranks_together_see_what_one_would),
    T_TEST(a_run_goes_on_exactly_where_another_stopped),
    T_TEST(repetitions_draw_anew),
    T_TEST(several_runs_use_one_dataset_at_once),
    T_TEST(the_end_comes_after_the_last_batch),
    T_TEST(a_bad_sample_ends_the_run_after_the_batches_before_it),
    T_TEST(the_lowest_bad_row_is_named),
    T_TEST(an_error_names_its_stage_and_both_sizes),
    T_TEST(bad_samples_are_zero_rows_with_a_mask),
    T_TEST(errors_are_counted_over_passes_and_named_once),
    T_TEST(bad_samples_are_replaced_by_others_of_the_set),
    T_TEST(replacements_are_the_same_for_any_world),
    T_TEST(replacements_stay_within_a_split),
    T_TEST(after_eight_tries_a_row_is_left_zero),
    T_TEST(a_pass_of_bad_samples_is_no_data),
    T_TEST(one_good_sample_is_data),
    T_TEST(a_slow_good_sample_is_data),
    T_TEST(running_out_of_memory_is_no_bad_sample),
    T_TEST(running_out_of_memory_while_replacing_ends_the_run),
    T_TEST(runs_survive_running_out_of_memory),
    T_TEST(runs_can_be_stopped_at_any_moment),
    T_TEST(runs_that_fail_can_be_stopped_at_any_moment),
    T_TEST(an_engine_can_be_stopped_while_a_sample_is_read),
    T_TEST(who_waits_for_whom_is_said),
    T_TEST(a_bad_sample_does_not_hold_its_worker),
    T_TEST(the_profile_counts_what_went_through),
    T_END,
};
