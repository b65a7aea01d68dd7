/* SPDX-License-Identifier: Apache-2.0 */
#include "source_custom.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "custom_sample.h"
#include "status_int.h"
#include "struct_size_int.h"

struct custom_source {
    char name[CUSTOM_NAME_SIZE];
    sluice_source of; /* copy of the caller's struct; its name and columns point to the caller's
                         memory, so they must not be used */
    custom_columns columns;
    int image; /* index of the first declared image column; -1: no image */
    bool guards;
    bool is_owned; /* the stage of a dataset owns it */
};

/* ---- making and opening ---------------------------------------------------------------------- */

static bool is_printable(const char *text)
{
    while (*text != '\0' && (unsigned char)*text >= ' ' && *text != '\x7F') {
        text++;
    }
    return *text == '\0';
}

static sluice_status check_settings(const sluice_source *of, const char *call)
{
    if (of->name == NULL || of->name[0] == '\0' || strlen(of->name) >= CUSTOM_NAME_SIZE) {
        return sli_fail(SLUICE_E_INVALID, "%s: name is NULL, empty or longer than %d bytes", call,
                        CUSTOM_NAME_SIZE - 1);
    }
    if (!is_printable(of->name)) {
        return sli_fail(SLUICE_E_INVALID, "%s: name has control characters", call);
    }
    if (of->read == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: read is NULL", call, of->name);
    }
    if (of->count == 0) {
        return sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: %s: count is 0", of->name);
    }
    return SLUICE_OK;
}

static int first_image(const custom_columns *columns)
{
    uint32_t i = 0;

    while (i < columns->count && columns->columns[i].role != SLUICE_ROLE_IMAGE) {
        i++;
    }
    return i < columns->count ? (int)i : -1;
}

/* Makes a source of the library's own version of the struct. */
static sluice_status make_checked(const sluice_source *of, custom_source **made_out)
{
    custom_source *custom = sli_calloc(1, sizeof(*custom));
    sluice_status st;

    if (custom == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "source %s", of->name);
    }
    snprintf(custom->name, sizeof(custom->name), "%s", of->name);
    custom->of = *of;
    custom->guards = custom_sample_guards();
    st = custom_columns_make(of->columns, of->column_size, of->column_count, custom->name,
                             &custom->columns);
    if (st != SLUICE_OK) {
        sli_free(custom);
        return st;
    }
    custom->image = first_image(&custom->columns);
    *made_out = custom;
    return SLUICE_OK;
}

static const sli_struct source_struct = SLI_STRUCT(sluice_source, user);

void sluice_source_init_size(sluice_source *source, size_t size)
{
    sli_struct_init(source, size);
}

sluice_status custom_source_make(const sluice_source *source, const char *name, const char *call,
                                 custom_source **made_out)
{
    sluice_source own;
    sluice_status st = sli_struct_read(&source_struct, call, source, &own);

    if (st != SLUICE_OK) {
        return st;
    }
    own.name = name != NULL ? name : own.name;
    st = check_settings(&own, call);
    return st == SLUICE_OK ? make_checked(&own, made_out) : st;
}

void custom_source_own(custom_source *made)
{
    made->is_owned = true;
}

void custom_source_drop(custom_source *made)
{
    sli_free(made);
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

static sluice_status custom_open(const void *opaque, void **source_out)
{
    *source_out = ((const custom_args *)opaque)->made;
    return SLUICE_OK;
}

static void custom_close(void *source)
{
    (void)source; /* custom_release() frees it */
}

static uint64_t custom_count(const void *source)
{
    return ((const custom_source *)source)->of.count;
}

static uint64_t custom_memory(const void *source)
{
    (void)source;
    return sizeof(custom_source);
}

static void custom_name(const void *source, uint64_t index, char *text, size_t size)
{
    const custom_source *custom = source;

    text[0] = '\0';
    if (custom->of.name_of != NULL &&
        custom->of.name_of(index, text, size, custom->of.user) >= SLUICE_OK) {
        text[size - 1] = '\0';
    } else {
        snprintf(text, size, "%s/%llu", custom->name, (unsigned long long)index);
    }
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

        if (column->role == SLUICE_ROLE_PLAIN || column->role == SLUICE_ROLE_BOXES) {
            sample->outputs[i].row = row[column->column];
        }
        if (column->length >= 0) {
            sample->outputs[i].length_row = row[column->length];
        }
    }
    before = sli_fail_count();
    st = custom_sample_end(sample, "read", before, custom->of.read(sample, index, custom->of.user));
    io->ends_run = sample->overran;
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
    .open = custom_open,
    .close = custom_close,
    .count = custom_count,
    .name = custom_name,
    .read = custom_read,
    .read_other = custom_read_other,
    .memory = custom_memory,
};

static sluice_status custom_schema(const void *source, stage_schema *schema)
{
    custom_columns_schema(&((const custom_source *)source)->columns, schema);
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
    .source = &custom_ops,
    .source_schema = custom_schema,
    .identifies = true,
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
