/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_kit.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "clock_int.h"
#include "dataset_kit.h"
#include "status_int.h"
#include "testing.h"

const char *const devices[] = {"host:0", "host:0,copy=1"};
const uint32_t worker_counts[] = {1, 2, 5};
const run_options one_worker = {.workers = 1};

/* ---- a source that does what a test tells it ------------------------------------------------- */

struct script script = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void script_reset(uint64_t samples, behaviour all)
{
    T_TRUE(samples <= MOST_SAMPLES);
    script.samples = samples;
    memset(script.behaviours, (int)all, sizeof(script.behaviours));
    script.blocked = 0;
    script.let = 0;
    script.released = false;
    script.reads = 0;
    script.holds = false;
    script.located = 0;
}

void script_wait_blocked(uint32_t readers)
{
    pthread_mutex_lock(&script.lock);
    while (script.blocked < readers) {
        pthread_cond_wait(&script.changed, &script.lock);
    }
    pthread_mutex_unlock(&script.lock);
}

bool script_await_blocked(uint32_t readers, int64_t timeout_ns)
{
    const int64_t end_ns = sli_now_ns() + timeout_ns;
    bool blocked = false;

    while (!blocked && sli_now_ns() < end_ns) {
        sched_yield();
        pthread_mutex_lock(&script.lock);
        blocked = script.blocked >= readers;
        pthread_mutex_unlock(&script.lock);
    }
    return blocked;
}

void script_let(uint32_t readers)
{
    pthread_mutex_lock(&script.lock);
    script.let += readers;
    pthread_cond_broadcast(&script.changed);
    pthread_mutex_unlock(&script.lock);
}

void script_block(uint64_t sample)
{
    pthread_mutex_lock(&script.lock);
    script.behaviours[sample] = BLOCKS;
    pthread_mutex_unlock(&script.lock);
}

void script_wait_reads(uint64_t reads)
{
    pthread_mutex_lock(&script.lock);
    while (script.reads < reads) {
        pthread_cond_wait(&script.changed, &script.lock);
    }
    pthread_mutex_unlock(&script.lock);
}

void script_wait_located(uint64_t samples)
{
    pthread_mutex_lock(&script.lock);
    while (script.located < samples) {
        pthread_cond_wait(&script.changed, &script.lock);
    }
    pthread_mutex_unlock(&script.lock);
}

void script_release(void)
{
    pthread_mutex_lock(&script.lock);
    script.released = true;
    script.holds = false;
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

uint8_t script_pixel(uint64_t sample, size_t i)
{
    return (uint8_t)(1 + (sample * 7 + i) % 255);
}

/* Ten times what a run of rows may take. */
static void take_long(void)
{
    const int64_t end = sli_now_ns() + 100000;

    while (sli_now_ns() < end) {
    }
}

static sluice_status script_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    sluice_status st = image_buffer_reserve(&io->bytes, SIDE * SIDE * 3);
    behaviour what;

    (void)source;
    pthread_mutex_lock(&script.lock);
    what = st == SLUICE_OK ? (behaviour)script.behaviours[index] : NO_MEMORY;
    script.blocked += what == BLOCKS;
    script.reads += what == BAD;
    if (what != GOOD && what != SLOW) {
        pthread_cond_broadcast(&script.changed);
    }
    while (what == BLOCKS && !script.released && script.let == 0) {
        pthread_cond_wait(&script.changed, &script.lock);
    }
    script.let -= what == BLOCKS && !script.released;
    pthread_mutex_unlock(&script.lock);
    if (what == SLOW) {
        take_long();
    }
    if (what == NO_MEMORY) {
        return sli_fail(SLUICE_E_NO_MEMORY, "no memory for this one");
    }
    if (what == NO_DESCRIPTORS || what == BAD_SECTOR) {
        return sli_fail_errno(SLUICE_E_IO, what == BAD_SECTOR ? EIO : EMFILE, "cannot open");
    }
    /* A bad sample leaves its row half written. */
    if (row[1] != NULL) {
        *(int32_t *)row[1] = (int32_t)index;
    }
    if (what == BAD) {
        return sli_fail(SLUICE_E_CORRUPT, "it is bad");
    }
    for (size_t i = 0; i < SIDE * SIDE * 3; i++) {
        io->bytes.data[i] = script_pixel(index, i);
    }
    io->bytes_read += 100;
    data_out->image = (image_view){io->bytes.data, SIDE * 3, SIDE, SIDE, 3, IMAGE_U8};
    return SLUICE_OK;
}

/* There is nothing to fetch, so readahead never finds that all of it is cached. */
static bool script_locate(const void *source, uint64_t index, sample_location *location_out)
{
    (void)source;
    (void)location_out;
    pthread_mutex_lock(&script.lock);
    if (script.located < MOST_SAMPLES) {
        script.locations[script.located++] = (uint32_t)index;
    }
    pthread_cond_broadcast(&script.changed);
    while (script.holds) {
        pthread_cond_wait(&script.changed, &script.lock);
    }
    pthread_mutex_unlock(&script.lock);
    return false;
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
    .locate = script_locate,
    .memory = script_memory,
};

const stage_def stage_script = {
    .name = "script",
    .kind = STAGE_SOURCE,
    .infer = script_infer,
    .source =
        &(const source_stage_ops){
            .ops = &script_ops,
        },
};

sluice_dataset *script_dataset(uint32_t batch, bool drop_remainder)
{
    sluice_dataset *dataset = NULL;

    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_addf(dataset, "batch %u drop_remainder=%s", batch,
                             drop_remainder ? "true" : "false"));
    return dataset;
}

/* ---- a run, without a step ------------------------------------------------------------------- */

void close_run(engine_run *run)
{
    if (run->engine != NULL) {
        sli_engine_stop(run->engine);
    }
    sli_engine_destroy(run->engine);
    sli_queue_destroy(run->queue);
    sli_profile_fini(&run->profile);
    sli_placement_free(run->placement);
    sli_plan_close(run->plan);
    sluice_device_close(run->device);
    sluice_dataset_destroy(run->own);
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
                                     .programs = sli_plan_programs(plan),
                                     .outputs = plan->device_widens ? plan->outputs : NULL,
                                     .output_count = plan->column_count,
                                     .slots = options->slots > 0 ? options->slots : 4,
                                     .node = -1};

    sluice_status st = sli_queue_create(&config, &run->queue);

    return st == SLUICE_OK ? sli_queue_start(run->queue, NULL) : st;
}

static sli_topology *machine;

static void forget_machine(void)
{
    sli_topology_close(machine);
}

/* Read once, since hwloc takes longer for that than most runs take. */
static const sli_topology *this_machine(void)
{
    if (machine == NULL) {
        T_OK(sli_topology_open(NULL, &machine));
        atexit(forget_machine);
    }
    return machine;
}

static sluice_status begin(sli_plan *plan, const run_options *options)
{
    const sli_position position = sli_plan_position(plan, options->first_step);

    return options->resumes ? sli_plan_begin(plan, &position, 1)
                            : sli_plan_begin_after(plan, options->first_step, 1);
}

sluice_status start_run(engine_run *run, sluice_dataset *dataset, const run_options *options)
{
    const uint32_t workers = options->workers > 0 ? options->workers : 1;
    const sli_placement_request request = {.workers = workers, .node = -1, .local_world = 1};
    sli_run_settings settings = options->settings;
    sluice_status st;

    memset(run, 0, sizeof(*run));
    settings.world = settings.world > 0 ? settings.world : 1;
    st = sluice_device_open(options->device != NULL ? options->device : "host:0", &run->device);
    settings.copies = st == SLUICE_OK && !run->device->caps.host_memory;
    st = st == SLUICE_OK ? sli_plan_open(dataset, &settings, &run->plan) : st;
    st = st == SLUICE_OK ? begin(run->plan, options) : st;
    st = st == SLUICE_OK ? sli_plan_layout(run->plan, &run->layout) : st;
    st = st == SLUICE_OK ? sli_placement_plan(this_machine(), &request, &run->placement) : st;
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
            .batches = options->batches > 0 ? options->batches : run->plan->batches_per_pass,
            .passes = options->passes > 0 ? options->passes : options->batches == 0};

        sli_profile_start(&run->profile);
        st = sli_engine_start(&config, &run->engine);
    }
    if (st != SLUICE_OK) {
        close_run(run);
    }
    return st;
}

void open_run(engine_run *run, sluice_dataset *dataset, const run_options *options)
{
    sluice_status st = start_run(run, dataset, options);

    if (st != SLUICE_OK) {
        T_FAIL_("the run does not start: %.900s", sluice_last_error());
    }
    T_EQ(run->placement->worker_count, options->workers > 0 ? options->workers : 1);
}

void open_own(engine_run *run, sluice_dataset *dataset, const run_options *options)
{
    open_run(run, dataset, options);
    run->own = dataset;
}

void done_with_batch(engine_run *run)
{
    if (run->has_batch) {
        sli_queue_step_done(run->queue, run->seq);
        run->has_batch = false;
    }
}

sluice_status next_batch(engine_run *run)
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

uint64_t batches_to_error(sluice_dataset *dataset, const run_options *options, sluice_status status,
                          const char *words)
{
    const int64_t limit_ns = INT64_C(20000000000);
    uint64_t batches = 0;
    engine_run run;

    open_own(&run, dataset, options);
    while (sli_queue_wait(run.queue, run.seq + 1, limit_ns, false) == SLUICE_OK) {
        T_OK(next_batch(&run));
        done_with_batch(&run);
        batches++;
    }
    T_STATUS(sli_queue_wait(run.queue, run.seq + 1, 0, false), status);
    T_CONTAINS(sluice_last_error(), words);
    close_run(&run);
    return batches;
}

const void *row_of(const engine_run *run, uint32_t column, uint32_t row)
{
    const sluice_tensor *tensor = &run->input.tensors[column];

    return (const uint8_t *)tensor->data + row * (tensor->bytes / run->plan->batch_size);
}

size_t row_bytes(const engine_run *run, uint32_t column)
{
    return run->input.tensors[column].bytes / run->plan->batch_size;
}

bool is_zero(const void *data, size_t bytes)
{
    const uint8_t *byte = data;

    while (bytes > 0 && *byte == 0) {
        byte++;
        bytes--;
    }
    return bytes == 0;
}

/* ---- all that a run gave, to compare --------------------------------------------------------- */

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

void tape_batch(tape *t, const engine_run *run)
{
    const sli_batch_header *header = run->input.header;

    tape_add(t, &header->position, sizeof(header->position));
    tape_add(t, &header->pass, sizeof(header->pass));
    tape_add(t, &header->first_sample, sizeof(header->first_sample));
    tape_add(t, &header->valid_rows, sizeof(header->valid_rows));
    tape_add(t, run->input.samples, run->plan->batch_size * sizeof(*run->input.samples));
    for (uint32_t i = 0; i < run->input.count; i++) {
        tape_add(t, run->input.tensors[i].data, run->input.tensors[i].bytes);
    }
    t->batches++;
}

tape record(sluice_dataset *dataset, const run_options *options)
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

tape record_own(sluice_dataset *dataset, const run_options *options)
{
    const tape t = record(dataset, options);

    sluice_dataset_destroy(dataset);
    return t;
}

void check_three_workers(sluice_dataset *dataset, uint64_t batches)
{
    tape want = record(dataset, &(run_options){.workers = 1, .settings = {.seed = 3}});
    tape got = record_own(dataset, &(run_options){.workers = 3, .settings = {.seed = 3}});

    T_EQ(want.batches, batches);
    check_equal_tapes(&got, &want, "three workers");
    free(want.bytes);
    free(got.bytes);
}

void check_equal_tapes(const tape *got, const tape *want, const char *what)
{
    if (got->batches != want->batches || got->size != want->size || got->end != want->end ||
        memcmp(got->bytes, want->bytes, got->size) != 0) {
        T_FAIL_("%s: %llu batches of %zu bytes, then %s; want %llu, %zu, %s%s", what,
                (unsigned long long)got->batches, got->size, sluice_status_name(got->end),
                (unsigned long long)want->batches, want->size, sluice_status_name(want->end),
                got->size == want->size ? "; the bytes differ" : "");
    }
}

sluice_dataset *jpeg_dataset(const char *folder, const char *stages)
{
    for (uint32_t i = 0; i < 20; i++) {
        char name[32];

        snprintf(name, sizeof(name), "class_%u/%02u.jpg", i % 3, i);
        make_jpeg(folder, name, 20 + i * 3, 60 - i, i);
    }
    return folder_dataset(folder, stages);
}
