/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `memory`: arrays in the program's memory. Only sluice_dataset_memory() can add it, so it
 * is not in the table of stages.
 */
#include <stdio.h>
#include <string.h>

#include <sluice/arrays.h>

#include "alloc_int.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"
#include "tensor_int.h"

/*
 * The arguments of the stage; used only while the source is opened, before sluice_dataset_memory()
 * returns.
 */
typedef struct memory_args {
    const sluice_array *arrays;
    uint32_t count;
} memory_args;

typedef struct memory_source {
    uint64_t samples;
    uint32_t count;
    sluice_column columns[SLUICE_MAX_COLUMNS];
    const uint8_t *data[SLUICE_MAX_COLUMNS];
    size_t row_bytes[SLUICE_MAX_COLUMNS];
    int image; /* index of the image column; -1: no image */
} memory_source;

static sluice_status check_shape(const sluice_array *array)
{
    if (array->name == NULL || strlen(array->name) >= SLUICE_NAME_SIZE) {
        return sli_fail(SLUICE_E_INVALID, "memory: an array's name is NULL or longer than %d bytes",
                        SLUICE_NAME_SIZE - 1);
    }
    if (array->data == NULL) {
        return sli_fail(SLUICE_E_INVALID, "memory: %s: data must not be NULL", array->name);
    }
    if (sluice_dtype_size(array->dtype) == 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "memory: %s: dtype is %d, and must be a type of numbers, such as SLUICE_F32",
            array->name, (int)array->dtype);
    }
    if (array->rank == 0 || array->rank > SLUICE_MAX_RANK + 1) {
        return sli_fail(
            SLUICE_E_INVALID,
            "memory: %s: rank is %u, and must be 1 to %d; the first dimension counts samples",
            array->name, array->rank, SLUICE_MAX_RANK + 1);
    }
    return array->shape[0] > 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "no valid data in the dataset: memory: %s has no samples", array->name);
}

/* Checks an array and adds it as the next column. */
static sluice_status add_array(memory_source *memory, const sluice_array *array)
{
    sluice_column *column = &memory->columns[memory->count];
    size_t *row_bytes = &memory->row_bytes[memory->count];
    sluice_status st = check_shape(array);
    size_t bytes;

    if (st != SLUICE_OK) {
        return st;
    }
    snprintf(column->name, sizeof(column->name), "%s", array->name);
    column->dtype = array->dtype;
    column->rank = array->rank - 1;
    memcpy(column->shape, &array->shape[1], column->rank * sizeof(column->shape[0]));
    if (!sli_column_bytes(column, row_bytes) || *row_bytes == 0 ||
        __builtin_mul_overflow(*row_bytes, array->shape[0], &bytes)) {
        return sli_fail(SLUICE_E_INVALID,
                        "memory: %s: its shape has no elements, or more than memory can hold",
                        array->name);
    }
    if (memory->count > 0 && array->shape[0] != memory->samples) {
        return sli_fail(SLUICE_E_INVALID,
                        "memory: %s has %llu samples and %s has %llu; the first dimension of all "
                        "must be the same",
                        array->name, (unsigned long long)array->shape[0], memory->columns[0].name,
                        (unsigned long long)memory->samples);
    }
    memory->samples = array->shape[0];
    memory->data[memory->count++] = array->data;
    return SLUICE_OK;
}

static sluice_status memory_open(const void *opaque, void **source_out)
{
    const memory_args *args = opaque;
    stage_schema schema = {.image = -1};
    memory_source *memory = sli_calloc(1, sizeof(*memory));
    sluice_status st = SLUICE_OK;

    if (memory == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "memory");
    }
    for (uint32_t i = 0; i < args->count && st == SLUICE_OK; i++) {
        st = add_array(memory, &args->arrays[i]);
    }
    if (st == SLUICE_OK) {
        st = schema_of_arrays(memory->columns, memory->count, "memory", &schema);
        memory->image = schema.image;
    }
    if (st != SLUICE_OK) {
        sli_free(memory);
        return st;
    }
    *source_out = memory;
    return SLUICE_OK;
}

static void memory_close(void *source)
{
    sli_free(source);
}

static uint64_t memory_count(const void *source)
{
    return ((const memory_source *)source)->samples;
}

static uint64_t memory_bytes(const void *source)
{
    (void)source;
    return sizeof(memory_source);
}

static void memory_name(const void *source, uint64_t index, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "memory/%llu", (unsigned long long)index);
}

/*
 * Returns the image of a sample, in place. The last samples are copied: the resampler may read
 * IMAGE_SLACK bytes past the end of a line, which could be past the end of the array.
 */
static sluice_status find_image(const memory_source *memory, uint64_t index, sample_io *io,
                                image_view *image_out)
{
    const uint32_t i = (uint32_t)memory->image;
    const uint64_t *shape = memory->columns[i].shape;
    const size_t bytes = memory->row_bytes[i];
    const uint8_t *pixels = memory->data[i] + index * bytes;

    if ((memory->samples - 1 - index) * bytes < IMAGE_SLACK) {
        const sluice_status st = image_buffer_reserve(&io->bytes, bytes);

        if (st != SLUICE_OK) {
            return st;
        }
        pixels = memcpy(io->bytes.data, pixels, bytes);
    }
    *image_out = (image_view){pixels,
                              (size_t)(shape[SCHEMA_W] * shape[SCHEMA_C]),
                              (uint32_t)shape[SCHEMA_W],
                              (uint32_t)shape[SCHEMA_H],
                              (uint32_t)shape[SCHEMA_C],
                              IMAGE_U8};
    return SLUICE_OK;
}

static sluice_status memory_read_plain(const void *source, uint64_t index, sample_io *io,
                                       void *const *row)
{
    const memory_source *memory = source;

    for (uint32_t i = 0; i < memory->count; i++) {
        if ((int)i != memory->image && row[i] != NULL) {
            memcpy(row[i], memory->data[i] + index * memory->row_bytes[i], memory->row_bytes[i]);
        }
        io->bytes_read += (int)i != memory->image ? memory->row_bytes[i] : 0;
    }
    return SLUICE_OK;
}

static sluice_status memory_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const memory_source *memory = source;

    (void)memory_read_plain(source, index, io, row);
    if (memory->image < 0) {
        return SLUICE_OK;
    }
    io->bytes_read += memory->row_bytes[memory->image];
    return find_image(memory, index, io, &data_out->image);
}

static const source_ops memory_ops = {
    .open = memory_open,
    .close = memory_close,
    .count = memory_count,
    .name = memory_name,
    .read = memory_read,
    .read_plain = memory_read_plain,
    .memory = memory_bytes,
};

static sluice_status memory_schema(const void *source, stage_schema *schema)
{
    const memory_source *memory = source;

    return schema_of_arrays(memory->columns, memory->count, "memory", schema);
}

static const stage_def stage_memory = {
    .name = "memory",
    .summary = "Arrays of the program.",
    .gives = "a column per array",
    .kind = STAGE_SOURCE,
    .args_size = sizeof(memory_args),
    .source =
        &(const source_stage_ops){
            .ops = &memory_ops,
            .schema = memory_schema,
        },
};

sluice_status sluice_dataset_memory(const sluice_array *arrays, uint32_t count,
                                    sluice_dataset **dataset_out)
{
    const memory_args args = {arrays, count};

    if (arrays == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_memory: arrays must not be NULL");
    }
    if (count == 0 || count > SLUICE_MAX_COLUMNS) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_memory: count is %u, and must be 1 to %d",
                        count, SLUICE_MAX_COLUMNS);
    }
    return dataset_begin(&stage_memory, &args, dataset_out);
}
