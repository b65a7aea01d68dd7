/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the data of index stages that depend on all samples: members of splits and subsets,
 * weights and classes. This is done once, when the dataset is opened.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "class_table.h"
#include "compressed_file.h"
#include "group_order.h"
#include "index_stages.h"
#include "number_text.h"
#include "order.h"
#include "plain_file.h"
#include "plan.h"
#include "rng_int.h"
#include "subset_table.h"
#include "weight_table.h"

/* Limit on the number of samples before one of these stages, since it visits all of them. */
static const uint64_t MOST_LISTED = UINT32_MAX;

/* Limit on the size of a file of numbers, so that it cannot exhaust memory. */
static const uint64_t MOST_TEXT = UINT64_C(1) << 36;

/*
 * ---- order before a stage
 * ------------------------------------------------------------------------
 */

/* Makes the order of the stages before stage i. It is the same in every pass. */
static sluice_status order_before(sluice_dataset *dataset, uint32_t i, part_order **before_out)
{
    const char *name = dataset->stages[i].def->name;
    const uint32_t stages = dataset->stage_count;
    part_order *before = NULL;
    sluice_status st;

    dataset->stage_count = i;
    st = part_order_make(dataset, 0, 0, &before);
    dataset->stage_count = stages;
    if (st == SLUICE_OK && before->order.length > MOST_LISTED) {
        st = sli_fail(SLUICE_E_UNSUPPORTED, "%s: %llu samples are more than it can list", name,
                      (unsigned long long)before->order.length);
        part_order_free(before);
    }
    if (st == SLUICE_OK) {
        *before_out = before;
    }
    return st;
}

static uint64_t sample_before(const sample_order *before, uint64_t position)
{
    uint64_t sample;
    uint64_t pass;

    order_at(before, 0, position, &sample, &pass);
    return sample;
}

/* ---- split ----------------------------------------------------------------------------------- */

/* Lists the samples that stage i, a split, keeps, as positions before the stage. */
static sluice_status make_split(sluice_dataset *dataset, uint32_t i, const sample_order *before)
{
    const split_args *args = (const split_args *)(const void *)dataset->stages[i].args.bytes;
    split_members *split = &dataset->splits[i];
    size_t capacity = 0;

    for (uint64_t position = 0; position < before->length; position++) {
        char name[1024];

        dataset_source(dataset)->name(dataset->source, sample_before(before, position), name,
                                      sizeof(name));
        if (split_keeps(args, name)) {
            uint64_t *grown = sli_grow(split->members, &capacity, split->count + 1, sizeof(*grown));

            if (grown == NULL) {
                return sli_fail(SLUICE_E_NO_MEMORY, "the members of a split");
            }
            split->members = grown;
            grown[split->count++] = position;
        }
    }
    return SLUICE_OK;
}

/* ---- files of numbers ------------------------------------------------------------------------ */

/* Adds the stage, the file and the line to an error message; line 0: the error has no line. */
static sluice_status file_error(const char *stage, const char *path, uint64_t line,
                                sluice_status status)
{
    sli_error error;
    char place[32] = "";

    sli_error_take(status, &error);
    if (line > 0) {
        snprintf(place, sizeof(place), ":%llu", (unsigned long long)line);
    }
    return sli_fail_with(status, error.error_number, "%s: %.600s%s: %.300s", stage, path, place,
                         error.text);
}

/* Reads a whole file; free the text with sli_free(). Messages do not name the file. */
static sluice_status read_text(const char *path, char **text_out, size_t *size_out)
{
    int fd = -1;
    uint64_t size = 0;
    char *text = NULL;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    st = compressed_file_refuse(fd, NULL);
    if (st == SLUICE_OK && size > MOST_TEXT) {
        st = sli_fail(SLUICE_E_UNSUPPORTED, "the file is larger than 64 GiB");
    } else if (st == SLUICE_OK) {
        text = sli_calloc((size_t)size + 1, 1);
        st = text != NULL
                 ? plain_file_read(fd, 0, text, (size_t)size, size_out)
                 : sli_fail(SLUICE_E_NO_MEMORY, "a text of %llu bytes", (unsigned long long)size);
    }
    close(fd);
    if (st != SLUICE_OK) {
        sli_free(text);
        return st;
    }
    *text_out = text;
    return SLUICE_OK;
}

/* ---- subset ---------------------------------------------------------------------------------- */

static sluice_status parse_subset(const sluice_dataset *dataset, const char *text, size_t size,
                                  uint64_t *line_out, subset_table **table_out)
{
    const uint64_t count = number_text_lines(text, size);
    uint32_t *numbers = sli_calloc((size_t)count + 1, sizeof(*numbers));
    sluice_status st;

    if (numbers == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of %llu samples", (unsigned long long)count);
    }
    st = number_text_indices(text, size, dataset->source_count, numbers, line_out);
    if (st == SLUICE_OK && count == 0) {
        st = sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: the file has no lines");
    }
    if (st == SLUICE_OK) {
        st = subset_table_make(numbers, count, dataset->source_count, table_out);
    }
    sli_free(numbers);
    return st;
}

static sluice_status make_subset(sluice_dataset *dataset, uint32_t i)
{
    const subset_args *args = (const subset_args *)(const void *)dataset->stages[i].args.bytes;
    index_table *made = &dataset->tables[i];
    subset_table *table = NULL;
    char *text = NULL;
    size_t size = 0;
    uint64_t line = 0;
    sluice_status st = read_text(args->file, &text, &size);

    if (st == SLUICE_OK) {
        st = parse_subset(dataset, text, size, &line, &table);
        sli_free(text);
    }
    if (st != SLUICE_OK) {
        return file_error("subset", args->file, line, st);
    }
    made->block = table;
    made->bytes = table->bytes;
    made->length = table->count;
    for (uint64_t k = 0; k < table->count; k++) {
        made->hash = sli_mix_in(made->hash, table->members[k]);
    }
    return SLUICE_OK;
}

/*
 * ---- numbers in columns
 * --------------------------------------------------------------------------
 */

/* A column of the source, with the name and type that it has before a stage. */
typedef struct number_column {
    const char *stage;
    sluice_column type;
    uint32_t source_column;
} number_column;

/*
 * Finds a column by its name before stage i. E_INVALID: there is no such column, it is not one
 * number, or it is not a column of the source.
 */
static sluice_status find_number(const sluice_dataset *dataset, uint32_t i, const char *name,
                                 number_column *number_out)
{
    const char *stage = dataset->stages[i].def->name;
    stage_schema schema;
    sluice_status st = dataset_schema_after(dataset, i, &schema);
    int found;

    if (st != SLUICE_OK) {
        return st;
    }
    found = schema_find(&schema, name);
    if (found < 0) {
        return schema_no_column(&schema, stage, name);
    }
    *number_out = (number_column){stage, schema.columns[found], schema.infos[found].buffer};
    if (number_out->source_column >= dataset->source_schema.column_count) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: column %s is computed by a stage before it; put %s after the source",
                        stage, name, stage);
    }
    if (number_out->type.rank != 0 || schema.infos[found].role != ROLE_PLAIN ||
        number_out->type.dtype == SLUICE_ENCODED || number_out->type.dtype == SLUICE_F16 ||
        number_out->type.dtype == SLUICE_BF16) {
        return sli_fail(SLUICE_E_INVALID, "%s: column %s must be one number for each sample", stage,
                        name);
    }
    return SLUICE_OK;
}

/* Converts a number of any type: to *real, and also to *whole unless it is a float (then 0). */
static void convert_number(sluice_dtype dtype, const void *bytes, int64_t *whole, double *real)
{
    union {
        uint8_t u8;
        int8_t i8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        float f32;
        double f64;
    } value;

    memcpy(&value, bytes, sizeof(value));
    switch (dtype) {
    case SLUICE_U8:
        *whole = value.u8;
        break;
    case SLUICE_I8:
        *whole = value.i8;
        break;
    case SLUICE_I16:
        *whole = value.i16;
        break;
    case SLUICE_U16:
        *whole = value.u16;
        break;
    case SLUICE_I32:
        *whole = value.i32;
        break;
    case SLUICE_U32:
        *whole = value.u32;
        break;
    case SLUICE_I64:
        *whole = value.i64;
        break;
    case SLUICE_U64:
        *whole = value.i64; /* classes need only be distinct */
        *real = (double)value.u64;
        return;
    default:
        *whole = 0;
        *real = dtype == SLUICE_F64 ? value.f64 : (double)value.f32;
        return;
    }
    *real = (double)*whole;
}

static sluice_status read_number(const sluice_dataset *dataset, const number_column *number,
                                 uint64_t sample, sample_io *io, int64_t *whole, double *real)
{
    const source_ops *source = dataset_source(dataset);
    uint64_t bytes[2] = {0};
    void *row[SLUICE_MAX_COLUMNS] = {NULL};
    sample_data data = {0};
    char name[256];
    sli_error error;
    sluice_status st;

    row[number->source_column] = bytes;
    st = source->read_plain != NULL ? source->read_plain(dataset->source, sample, io, row)
                                    : source->read(dataset->source, sample, io, row, &data);
    sample_io_give_back(io);
    if (st != SLUICE_OK) {
        sli_error_take(st, &error);
        source->name(dataset->source, sample, name, sizeof(name));
        return sli_fail_with(st, error.error_number, "%s: cannot read column %s of %s: %.600s",
                             number->stage, number->type.name, name, error.text);
    }
    convert_number(number->type.dtype, bytes, whole, real);
    return SLUICE_OK;
}

/* Reads the column at all positions before a stage, into wholes or, if that is NULL, into reals. */
static sluice_status read_numbers(const sluice_dataset *dataset, const number_column *number,
                                  const sample_order *before, int64_t *wholes, double *reals)
{
    sample_io io = {.bytes_read = 0};
    sluice_status st = SLUICE_OK;

    for (uint64_t i = 0; st == SLUICE_OK && i < before->length; i++) {
        int64_t whole = 0;
        double real = 0;

        st = read_number(dataset, number, sample_before(before, i), &io, &whole, &real);
        if (wholes != NULL) {
            wholes[i] = whole;
        } else {
            reals[i] = real;
        }
    }
    sample_io_free(&io);
    return st;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Reads the weights from a file, which must have one for each sample of the source. */
static sluice_status parse_weights(const sluice_dataset *dataset, const char *path,
                                   double *by_sample)
{
    char *text = NULL;
    size_t size = 0;
    uint64_t line = 0;
    sluice_status st = read_text(path, &text, &size);

    if (st == SLUICE_E_IO) {
        st = sli_fail_quoting(st, "neither a column nor a file that can be read: %.300s",
                              sluice_last_error());
    }
    if (st == SLUICE_OK && number_text_lines(text, size) != dataset->source_count) {
        st = sli_fail(SLUICE_E_INVALID,
                      "%llu lines for %llu samples of the source; each must have one",
                      (unsigned long long)number_text_lines(text, size),
                      (unsigned long long)dataset->source_count);
    }
    if (st == SLUICE_OK) {
        st = number_text_weights(text, size, by_sample, &line);
    }
    sli_free(text);
    return st == SLUICE_OK ? st : file_error("weights", path, line, st);
}

static sluice_status weights_of_file(const sluice_dataset *dataset, const char *path,
                                     const sample_order *before, double *weights)
{
    double *by_sample;
    sluice_status st;

    if (dataset->source_count > MOST_LISTED) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "weights: %.600s: the source has %llu samples, and a file has weights of "
                        "at most %llu",
                        path, (unsigned long long)dataset->source_count,
                        (unsigned long long)MOST_LISTED);
    }
    by_sample = sli_calloc((size_t)dataset->source_count, sizeof(*by_sample));
    if (by_sample == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%llu weights",
                        (unsigned long long)dataset->source_count);
    }
    st = parse_weights(dataset, path, by_sample);
    for (uint64_t i = 0; st == SLUICE_OK && i < before->length; i++) {
        weights[i] = by_sample[sample_before(before, i)];
    }
    sli_free(by_sample);
    return st;
}

static sluice_status weights_of_column(const sluice_dataset *dataset, uint32_t i,
                                       const char *column, const sample_order *before,
                                       double *weights)
{
    number_column number;
    sluice_status st = find_number(dataset, i, column, &number);

    if (st == SLUICE_OK) {
        st = read_numbers(dataset, &number, before, NULL, weights);
    }
    for (uint64_t k = 0; st == SLUICE_OK && k < before->length; k++) {
        if (!(weights[k] >= 0 && weights[k] <= 1e300)) {
            st = sli_fail(SLUICE_E_CORRUPT,
                          "weights: column %s of sample %llu is %g, and must be a number from 0",
                          column, (unsigned long long)sample_before(before, k), weights[k]);
        }
    }
    return st;
}

static sluice_status make_weights(sluice_dataset *dataset, uint32_t i, const sample_order *before)
{
    const weights_args *args = (const weights_args *)(const void *)dataset->stages[i].args.bytes;
    index_table *made = &dataset->tables[i];
    weight_table *table = NULL;
    double *weights = sli_calloc((size_t)before->length, sizeof(*weights));
    stage_schema schema;
    sluice_status st;

    if (weights == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "weights of %llu samples",
                        (unsigned long long)before->length);
    }
    st = dataset_schema_after(dataset, i, &schema);
    if (st == SLUICE_OK) {
        st = schema_find(&schema, args->by) >= 0
                 ? weights_of_column(dataset, i, args->by, before, weights)
                 : weights_of_file(dataset, args->by, before, weights);
    }
    if (st == SLUICE_OK) {
        st = weight_table_make(weights, before->length, &table);
        st = st == SLUICE_E_INVALID ? file_error("weights", args->by, 0, st) : st;
    }
    sli_free(weights);
    if (st != SLUICE_OK) {
        return st;
    }
    made->block = table;
    made->bytes = table->bytes;
    made->length = args->samples > 0 ? args->samples : before->length;
    for (uint64_t k = 0; k < table->n; k++) {
        const weight_entry *entry = &table->entries[k];

        made->hash = sli_mix_in(made->hash, (uint64_t)entry->threshold << 32 | entry->alias);
    }
    return SLUICE_OK;
}

/* ---- balance --------------------------------------------------------------------------------- */

static sluice_status make_balance(sluice_dataset *dataset, uint32_t i, const sample_order *before)
{
    const balance_args *args = (const balance_args *)(const void *)dataset->stages[i].args.bytes;
    index_table *made = &dataset->tables[i];
    class_table *table = NULL;
    number_column number;
    int64_t *labels = sli_calloc((size_t)before->length, sizeof(*labels));
    sluice_status st = find_number(dataset, i, args->column, &number);

    if (st == SLUICE_OK && labels == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "classes of %llu samples",
                      (unsigned long long)before->length);
    }
    if (st == SLUICE_OK) {
        st = read_numbers(dataset, &number, before, labels, NULL);
    }
    if (st == SLUICE_OK) {
        st = class_table_make(labels, before->length, &table);
    }
    if (st == SLUICE_OK) {
        made->block = table;
        made->bytes = table->bytes;
        made->length = args->samples > 0 ? args->samples : before->length;
        for (uint64_t k = 0; k < before->length; k++) {
            made->hash = sli_mix_in(made->hash, (uint64_t)labels[k]);
        }
    }
    sli_free(labels);
    return st;
}

/* ---- all stages ------------------------------------------------------------------------------ */

static sluice_status make_table(sluice_dataset *dataset, uint32_t i)
{
    const index_kind kind = dataset->stages[i].def->index;
    part_order *made = NULL;
    const sample_order *before;
    sluice_status st;

    if (kind == INDEX_SUBSET) {
        return make_subset(dataset, i);
    }
    if (kind != INDEX_SPLIT && kind != INDEX_WEIGHTS && kind != INDEX_BALANCE) {
        return SLUICE_OK;
    }
    st = order_before(dataset, i, &made);
    if (st != SLUICE_OK) {
        return st;
    }
    before = &made->order;
    if (kind == INDEX_SPLIT) {
        st = make_split(dataset, i, before);
    } else if (before->length > 0) {
        st = kind == INDEX_WEIGHTS ? make_weights(dataset, i, before)
                                   : make_balance(dataset, i, before);
    }
    part_order_free(made);
    return st;
}

sluice_status index_tables_make(sluice_dataset *dataset)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 1; i < dataset->stage_count && st == SLUICE_OK; i++) {
        st = make_table(dataset, i);
    }
    return st;
}

void index_tables_free(sluice_dataset *dataset)
{
    for (uint32_t i = 0; i < dataset->stage_count; i++) {
        sli_free(dataset->splits[i].members);
        sli_free(dataset->tables[i].block);
        dataset->splits[i] = (split_members){NULL, 0};
        dataset->tables[i] = (index_table){.block = NULL};
    }
}
