/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `zip`: the columns of several datasets side by side. Sample i has the columns of sample i
 * of each part, as the part's stages number them. The lead is the first part with an image, else
 * the first part: it is read with the worker's sample_io. Each other part has a sample_io of its
 * own, since the data of all parts are in use at the same time.
 */
#include <sluice/sampling.h>

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "group_source.h"

/* A worker's state for one part; for the lead only the slot is used. */
typedef struct zip_reader {
    group_slot slot;
    sample_io io;
    sample_data data; /* what was read last */
    uint64_t index;   /* sample of the group to which the fields below belong */
    bool is_read;     /* the source's read() was called for it */
    bool has_data;    /* `data` is of this sample, and io was not used since */
} zip_reader;

typedef struct zip_worker {
    uint32_t count;
    zip_reader readers[];
} zip_worker;

/* ---- opening --------------------------------------------------------------------------------- */

/* Makes the order of a part, which maps a sample of the group to one of the part. */
static sluice_status open_member(group_source *zip, uint32_t k, uint32_t *columns)
{
    group_member *part = &zip->parts[k];
    sluice_status st = part_order_make(part->dataset, 0, k, &part->order);
    uint64_t length;

    if (st != SLUICE_OK) {
        return st;
    }
    part->first_column = *columns;
    *columns += part->column_count;
    length = part->order->order.length;
    if (k == 0) {
        zip->count = length;
    }
    return length == zip->count
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "zip: part %u has %llu samples and part 1 has %llu; shorten the longer "
                          "one by `take %llu`",
                          k + 1, (unsigned long long)length, (unsigned long long)zip->count,
                          (unsigned long long)(length < zip->count ? length : zip->count));
}

static sluice_status zip_open(const void *args, void **source_out)
{
    const dataset_parts *parts = ((const group_args *)args)->parts;
    uint32_t columns = 0;
    group_source *zip = NULL;
    sluice_status st = group_make(parts, &zip);

    if (st != SLUICE_OK) {
        return st;
    }
    for (uint32_t k = 0; st == SLUICE_OK && k < zip->part_count; k++) {
        st = open_member(zip, k, &columns);
    }
    for (uint32_t k = zip->part_count; k-- > 0;) {
        zip->lead = zip->parts[k].dataset->schema.image >= 0 ? k : zip->lead;
    }
    if (st != SLUICE_OK) {
        group_close(zip);
        return st;
    }
    *source_out = zip;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Returns the number of sample `index` of the group in the source of a part, and its pass. */
static uint64_t sample_in(const group_member *part, uint64_t index, uint64_t pass,
                          uint64_t *pass_out)
{
    uint64_t sample;

    order_at(&part->order->order, pass, index, &sample, pass_out);
    return sample;
}

static void zip_name(const void *source, uint64_t index, char *text, size_t size)
{
    const group_source *zip = source;
    const group_member *part = &zip->parts[zip->lead];
    uint64_t pass;

    part->ops->name(part->source, sample_in(part, index, 0, &pass), text, size);
}

static void free_worker(void *state)
{
    zip_worker *worker = state;

    for (uint32_t k = 0; k < worker->count; k++) {
        group_slot_free(&worker->readers[k].slot);
        sample_io_free(&worker->readers[k].io);
    }
    sli_free(worker);
}

/* Returns the worker's state, which its first sample creates. NULL: out of memory. */
static zip_worker *worker_of(const group_source *zip, sample_io *io)
{
    zip_worker *worker = io->state;

    if (worker == NULL) {
        worker = sli_calloc(1, sizeof(*worker) + zip->part_count * sizeof(worker->readers[0]));
        if (worker == NULL) {
            io->ends_run = true;
            sli_fail(SLUICE_E_NO_MEMORY, "a worker of zip");
            return NULL;
        }
        worker->count = zip->part_count;
        io->state = worker;
        io->state_free = free_worker;
    }
    return worker;
}

/* The kinds of reads of a part. */
typedef enum zip_what { ZIP_ALL, ZIP_PLAIN, ZIP_OTHER } zip_what;

/* Reads from a part with its sample_io. column: for ZIP_OTHER, the column of the part's source. */
static sluice_status read_with(const group_member *part, zip_what what, uint64_t sample,
                               uint32_t column, sample_io *io, void *const *part_row,
                               sample_data *data_out)
{
    switch (what) {
    case ZIP_PLAIN:
        return part->ops->read_plain(part->source, sample, io, part_row);
    case ZIP_OTHER:
        return part->ops->read_other(part->source, sample, column, io, data_out);
    default:
        return part->ops->read(part->source, sample, io, part_row, data_out);
    }
}

/* Reads part k of sample `index` of the group. */
static sluice_status read_part(const group_source *zip, uint32_t k, zip_what what, uint64_t index,
                               uint32_t column, sample_io *io, void *const *part_row,
                               sample_data *data_out)
{
    const group_member *part = &zip->parts[k];
    zip_worker *worker = worker_of(zip, io);
    zip_reader *reader = &worker->readers[k];
    sample_io *own = k == zip->lead ? io : &reader->io;
    const uint64_t outer_pass = io->pass;
    const uint64_t before = own->bytes_read;
    uint64_t pass;
    const uint64_t sample = sample_in(part, index, outer_pass, &pass);
    group_loan loan;
    sluice_status st;

    if (own != io) {
        own->interrupt = io->interrupt;
        own->whole = io->whole;
        own->draws_key = io->draws_key;
        own->ends_run = false;
        own->drew = false;
    }
    own->pass = pass;
    group_lend(own, &reader->slot, k, &loan);
    st = read_with(part, what, sample, column, own, part_row, data_out);
    group_take_back(own, &reader->slot, &loan);
    if (own != io) {
        io->bytes_read += own->bytes_read - before;
        io->ends_run = io->ends_run || own->ends_run;
        io->drew = io->drew || own->drew;
    }
    io->pass = outer_pass;
    return st == SLUICE_OK ? st : group_name_part(zip, k, st);
}

/* True if the group needs a plain column of the part. */
static bool is_needed(void *const part_row[SLUICE_MAX_COLUMNS])
{
    uint32_t i = 0;

    while (i < SLUICE_MAX_COLUMNS && part_row[i] == NULL) {
        i++;
    }
    return i < SLUICE_MAX_COLUMNS;
}

/* Reads a part that does not lead. */
static sluice_status read_beside(const group_source *zip, uint32_t k, uint64_t index, sample_io *io,
                                 void *const *row)
{
    const group_member *part = &zip->parts[k];
    zip_reader *reader = &((zip_worker *)io->state)->readers[k];
    const zip_what what = part->ops->read_plain != NULL ? ZIP_PLAIN : ZIP_ALL;
    void *part_row[SLUICE_MAX_COLUMNS];
    sluice_status st;

    reader->index = index;
    reader->is_read = false;
    reader->has_data = false;
    sample_io_give_back(&reader->io);
    group_row(part, row, part_row);
    if (!is_needed(part_row) && part->dataset->schema.image >= 0) {
        return SLUICE_OK; /* zip_read_other() reads its images and masks */
    }
    reader->data = (sample_data){0};
    st = read_part(zip, k, what, index, 0, io, part_row, &reader->data);
    reader->is_read = st == SLUICE_OK && what == ZIP_ALL;
    reader->has_data = reader->is_read;
    return st;
}

static sluice_status zip_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                              sample_data *data_out)
{
    const group_source *zip = source;
    sluice_status st = worker_of(zip, io) != NULL ? SLUICE_OK : SLUICE_E_NO_MEMORY;
    void *part_row[SLUICE_MAX_COLUMNS];

    for (uint32_t k = 0; st == SLUICE_OK && k < zip->part_count; k++) {
        if (k == zip->lead) {
            group_row(&zip->parts[k], row, part_row);
            st = read_part(zip, k, ZIP_ALL, index, 0, io, part_row, data_out);
        } else {
            st = read_beside(zip, k, index, io, row);
        }
    }
    return st;
}

static sluice_status zip_read_plain(const void *source, uint64_t index, sample_io *io,
                                    void *const *row)
{
    const group_source *zip = source;
    sluice_status st = worker_of(zip, io) != NULL ? SLUICE_OK : SLUICE_E_NO_MEMORY;
    void *part_row[SLUICE_MAX_COLUMNS];

    for (uint32_t k = 0; st == SLUICE_OK && k < zip->part_count; k++) {
        group_row(&zip->parts[k], row, part_row);
        if (is_needed(part_row)) {
            st = read_part(zip, k, ZIP_PLAIN, index, 0, io, part_row, NULL);
        }
    }
    return st;
}

/* Calls read() of a part, without plain columns, unless it was called for this sample (`again`: in
 * any case). */
static sluice_status read_image(const group_source *zip, uint32_t k, uint64_t index, bool again,
                                sample_io *io)
{
    zip_reader *reader = &((zip_worker *)io->state)->readers[k];
    void *none[SLUICE_MAX_COLUMNS] = {NULL};
    sluice_status st = SLUICE_OK;

    if (!reader->is_read || again) {
        reader->data = (sample_data){0};
        st = read_part(zip, k, ZIP_ALL, index, 0, io, none, &reader->data);
        reader->is_read = st == SLUICE_OK;
        reader->has_data = reader->is_read;
    }
    return st;
}

/* Reads a mask or a further image of a part that does not lead. */
static sluice_status read_other_beside(const group_source *zip, uint32_t k, uint64_t index,
                                       uint32_t own, sample_io *io, sample_data *data_out)
{
    const group_member *part = &zip->parts[k];
    const bool is_image = part->dataset->schema.image == (int)own;
    zip_reader *reader = &((zip_worker *)io->state)->readers[k];
    sluice_status st;

    if (reader->index != index) { /* zip_read() was called for another sample */
        reader->index = index;
        reader->is_read = false;
        reader->has_data = false;
    }
    st = read_image(zip, k, index, is_image && !reader->has_data, io);
    if (st == SLUICE_OK && is_image) {
        *data_out = reader->data;
        data_out->index = NULL; /* only the first image of a sample has an index */
        return SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        reader->has_data = false;
        st = read_part(zip, k, ZIP_OTHER, index, part->columns[own], io, NULL, data_out);
    }
    return st;
}

static sluice_status zip_read_other(const void *source, uint64_t index, uint32_t column,
                                    sample_io *io, sample_data *data_out)
{
    const group_source *zip = source;
    uint32_t k = zip->part_count - 1;
    uint32_t own;

    if (worker_of(zip, io) == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    while (zip->parts[k].first_column > column) {
        k--;
    }
    own = column - zip->parts[k].first_column;
    return k == zip->lead
               ? read_part(zip, k, ZIP_OTHER, index, zip->parts[k].columns[own], io, NULL, data_out)
               : read_other_beside(zip, k, index, own, io, data_out);
}

/* ---- optional operations: those of the lead -------------------------------------------------- */

static bool zip_locate(const void *source, uint64_t index, sample_location *location_out)
{
    const group_source *zip = source;
    const group_member *lead = &zip->parts[zip->lead];
    uint64_t pass;

    return lead->ops->locate != NULL &&
           lead->ops->locate(lead->source, sample_in(lead, index, 0, &pass), location_out);
}

static bool zip_drops(const void *source)
{
    const group_source *zip = source;
    const group_member *lead = &zip->parts[zip->lead];

    return lead->ops->drops != NULL && lead->ops->drops(lead->source);
}

static bool zip_keep_index(const void *source, uint64_t index, const sample_io *io,
                           const sample_data *data)
{
    const group_source *zip = source;
    const group_member *lead = &zip->parts[zip->lead];
    uint64_t pass;

    return lead->ops->keep_index(lead->source, sample_in(lead, index, 0, &pass), io, data);
}

/* Returns the part with the column `label`; NULL: none, or its source has no class names. */
static const group_member *labelled(const group_source *zip)
{
    for (uint32_t k = 0; k < zip->part_count; k++) {
        const group_member *part = &zip->parts[k];

        if (schema_find(&part->dataset->schema, "label") >= 0) {
            return part->ops->class_name != NULL && part->ops->classes(part->source) > 0 ? part
                                                                                         : NULL;
        }
    }
    return NULL;
}

static uint32_t zip_classes(const void *source)
{
    const group_member *part = labelled(source);

    return part != NULL ? part->ops->classes(part->source) : 0;
}

static void zip_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    const group_member *part = labelled(source);

    part->ops->class_name(part->source, label, text, size);
}

/* ---- the stage ------------------------------------------------------------------------------- */

#define OPS(plain_call, locate_call, drops_call)                                                   \
    {                                                                                              \
        .open = zip_open, .close = group_close, .count = group_count, .name = zip_name,            \
        .read = zip_read, .read_plain = (plain_call), .read_other = zip_read_other,                \
        .locate = (locate_call), .drops = (drops_call), .keep_index = zip_keep_index,              \
        .memory = group_memory, .classes = zip_classes, .class_name = zip_class_name,              \
        .flip_pairs = group_flip_pairs                                                             \
    }

static const source_ops zip_ops[2][2] = {
    {OPS(NULL, NULL, NULL), OPS(NULL, zip_locate, zip_drops)},
    {OPS(zip_read_plain, NULL, NULL), OPS(zip_read_plain, zip_locate, zip_drops)},
};

static sluice_status choose_zip(const void *args, const source_ops **ops_out)
{
    *ops_out = group_choose(((const group_args *)args)->parts, zip_ops);
    return SLUICE_OK;
}

static sluice_status zip_infer(const void *args, stage_schema *schema)
{
    const dataset_parts *parts = ((const group_args *)args)->parts;
    char name[40];
    sluice_status st = SLUICE_OK;

    for (uint32_t k = 0; k < parts->count && st == SLUICE_OK; k++) {
        snprintf(name, sizeof(name), "zip: part %u", k + 1);
        st = parts_schema_join(name, &parts->items[k].dataset->schema, schema);
    }
    return st;
}

static const stage_param zip_params[] = {
    PARAM_(group_args, parts, PARAM_PARTS, NULL, 0, 0, NULL,
           "datasets in parentheses: a source and stages of order"),
};

const stage_def stage_zip = {
    .name = "zip",
    .summary = "The columns of several datasets side by side: zip (SOURCE | STAGES) (SOURCE | "
               "STAGES). All have the same number of samples, and different names of columns.",
    .gives = "the columns of all parts",
    .kind = STAGE_SOURCE,
    .source =
        &(const source_stage_ops){
            .ops = &zip_ops[0][0],
            .group = GROUP_ZIP,
            .choose = choose_zip,
            .identifies = true,
        },
    STAGE_PARAMS(zip_params),
    .args_size = sizeof(group_args),
    .check = dataset_parts_check,
    .retain = dataset_parts_retain,
    .release = dataset_parts_release,
    .infer = zip_infer,
};

sluice_status sluice_dataset_zip(sluice_dataset *const *parts, uint32_t count,
                                 sluice_dataset **dataset_out)
{
    return group_begin(&stage_zip, parts, NULL, 0, count, dataset_out);
}
