/* SPDX-License-Identifier: Apache-2.0 */
#include "source_custom.h"

#include "alloc_int.h"
#include "custom_source.h"
#include "source_stage_ops.h"
#include "status_int.h"

static uint64_t custom_count(const void *source)
{
    return ((const custom_source *)source)->of.count;
}

/* ---- workers --------------------------------------------------------------------------------- */

/* A worker's state, kept between samples. */
typedef struct custom_worker {
    const custom_source *source;
    sluice_sample sample;
} custom_worker;

static void free_worker(void *state)
{
    custom_worker *worker = state;
    const sluice_source *of = &worker->source->of;

    if (of->end != NULL) {
        of->end(worker->sample.worker, of->user);
    }
    custom_sample_fini(&worker->sample);
    sli_free(worker);
}

/*
 * Creates the worker's state at its first sample. A failure ends the run, since it is not an error
 * of the sample.
 */
static sluice_status begin_worker(const custom_source *custom, sample_io *io)
{
    custom_worker *worker = sli_calloc(1, sizeof(*worker));
    uint64_t before;
    sluice_status st;

    io->ends_run = true;
    if (worker == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a worker of %s", custom->name);
    }
    worker->source = custom;
    custom_sample_init(&worker->sample, custom->name, &custom->columns, custom->guards);
    if (custom->of.begin != NULL) {
        before = sli_fail_count();
        st = custom_status(custom->name, "begin", before,
                           custom->of.begin(custom->of.user, &worker->sample.worker));
        if (st != SLUICE_OK) {
            sli_free(worker);
            return st;
        }
    }
    io->ends_run = false;
    io->state = worker;
    io->state_free = free_worker;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Returns the image or mask in declared column i of the sample that was read last. */
static sluice_status find_image(const custom_source *custom, sluice_sample *sample, uint32_t i,
                                sample_data *data_out)
{
    const custom_output *output = &sample->outputs[i];

    if (custom->columns.columns[i].spec.dtype != SLUICE_ENCODED) {
        return custom_sample_pixels(sample, i, &data_out->image);
    }
    data_out->bytes = output->bytes;
    data_out->size = output->size;
    return SLUICE_OK;
}

static sluice_status custom_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const custom_source *custom = source;
    const custom_columns *columns = &custom->columns;
    const sli_draws draws = {io->draws_key, index, io->pass};
    sluice_status st = io->state == NULL ? begin_worker(custom, io) : SLUICE_OK;
    sluice_sample *sample;
    uint64_t before;

    if (st != SLUICE_OK) {
        return st;
    }
    sample = &((custom_worker *)io->state)->sample;
    custom_sample_begin(sample, index, &draws);
    for (uint32_t i = 0; i < columns->count; i++) {
        const custom_column *column = &columns->columns[i];

        if (column->role != SLUICE_ROLE_IMAGE && column->role != SLUICE_ROLE_MASK) {
            sample->outputs[i].row = row[column->column];
        }
        if (column->length >= 0) {
            sample->outputs[i].length_row = row[column->length];
        }
    }
    before = sli_fail_count();
    st = custom_sample_end(sample, "read", before, custom->of.read(sample, index, custom->of.user));
    io->ends_run = sample->overran;
    io->drew = io->drew || atomic_load_explicit(&sample->drew, memory_order_relaxed);
    for (uint32_t i = 0; i < columns->count && st == SLUICE_OK; i++) {
        io->bytes_read += sample->outputs[i].size;
    }
    return st == SLUICE_OK && custom->image >= 0
               ? find_image(custom, sample, (uint32_t)custom->image, data_out)
               : st;
}

static sluice_status custom_read_other(const void *source, uint64_t index, uint32_t column,
                                       sample_io *io, sample_data *data_out)
{
    const custom_source *custom = source;
    uint32_t i = 0;

    (void)index; /* the mask was read with the image */
    while (custom->columns.columns[i].column != column) {
        i++;
    }
    return find_image(custom, &((custom_worker *)io->state)->sample, i, data_out);
}

static const source_ops custom_ops = {
    .open = custom_source_open,
    .close = custom_source_close,
    .count = custom_count,
    .name = custom_source_name,
    .read = custom_read,
    .read_other = custom_read_other,
    .memory = custom_source_memory,
};

static sluice_status custom_schema(const void *source, stage_schema *schema)
{
    custom_columns_schema(&((const custom_source *)source)->columns, schema);
    return SLUICE_OK;
}

static void custom_release(void *opaque)
{
    custom_args *args = opaque;

    if (args->made == NULL || !args->made->is_owned) {
        return;
    }
    if (args->made->of.close != NULL) {
        args->made->of.close(args->made->of.user);
    }
    sli_free(args->made);
    args->made = NULL;
}

static sluice_status custom_choose(const void *opaque, const source_ops **ops_out)
{
    *ops_out =
        ((const custom_args *)opaque)->made->of.next != NULL ? &custom_stream_ops : &custom_ops;
    return SLUICE_OK;
}

/* ---- the stage and its call ------------------------------------------------------------------ */

static const stage_param custom_params[] = {
    PARAM_(custom_args, name, PARAM_TEXT, NULL, 0, 0, NULL, "its name"),
    PARAM_(custom_args, version, PARAM_COUNT, "0", 0, UINT32_MAX, NULL, "of what it reads"),
};

const stage_def stage_source = {
    .name = "source",
    .summary = "Samples that functions of the program read.",
    .gives = "the columns that the program declares",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(custom_params),
    .args_size = sizeof(custom_args),
    .release = custom_release,
    .source =
        &(const source_stage_ops){
            .ops = &custom_ops,
            .choose = custom_choose,
            .schema = custom_schema,
            .identifies = true,
        },
};

sluice_status sluice_dataset_source(const sluice_source *source, sluice_dataset **dataset_out)
{
    custom_args args = {0};
    sluice_status st = custom_source_make(source, NULL, "sluice_dataset_source", &args.made);

    if (st != SLUICE_OK) {
        return st;
    }
    args.name = args.made->name;
    args.version = args.made->of.version;
    st = dataset_begin(&stage_source, &args, dataset_out);
    if (st != SLUICE_OK) {
        custom_source_drop(args.made);
        return st;
    }
    custom_source_own(args.made);
    return SLUICE_OK;
}
