/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `synthetic`: samples that are generated from their index, for measurements without files.
 */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "conversion_int.h"
#include "rng_int.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"

typedef struct synthetic_args {
    uint64_t samples;
    param_shape shape;
    uint64_t classes;
} synthetic_args;

static sluice_status synthetic_check(void *opaque)
{
    const synthetic_args *args = opaque;
    uint64_t pixels = 1;

    if (args->shape.rank != 3 || args->shape.dims[SCHEMA_C] > SLI_MAX_CHANNELS) {
        return sli_fail(SLUICE_E_INVALID,
                        "synthetic: shape must be HEIGHT,WIDTH,CHANNELS with at most %d channels",
                        SLI_MAX_CHANNELS);
    }
    for (int i = 0; i < 3; i++) {
        if (args->shape.dims[i] == 0 || args->shape.dims[i] > 65535) {
            return sli_fail(
                SLUICE_E_INVALID,
                "synthetic: shape has %llu, and height, width and channels must be 1 to 65535",
                (unsigned long long)args->shape.dims[i]);
        }
        pixels *= args->shape.dims[i];
    }
    if (pixels > INT32_MAX) {
        return sli_fail(SLUICE_E_INVALID,
                        "synthetic: shape has more than 2^31 - 1 values; use a smaller one");
    }
    return SLUICE_OK;
}

static sluice_status synthetic_infer(const void *opaque, stage_schema *schema)
{
    const synthetic_args *args = opaque;

    schema->column_count = 2;
    schema->columns[0] = (sluice_column){.name = "image", .dtype = SLUICE_U8, .rank = 3};
    memcpy(schema->columns[0].shape, args->shape.dims, sizeof(args->shape.dims));
    schema->columns[1] = (sluice_column){.name = "label", .dtype = SLUICE_I32};
    schema->image = 0;
    return SLUICE_OK;
}

static sluice_status synthetic_open(const void *args, void **source_out)
{
    synthetic_args *source = sli_calloc(1, sizeof(*source));

    if (source == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "synthetic");
    }
    memcpy(source, args, sizeof(*source));
    if (source->samples == 0) {
        sli_free(source);
        return sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: synthetic has samples=0");
    }
    *source_out = source;
    return SLUICE_OK;
}

static void synthetic_close(void *source)
{
    sli_free(source);
}

static uint64_t synthetic_count(const void *source)
{
    return ((const synthetic_args *)source)->samples;
}

static uint64_t synthetic_memory(const void *source)
{
    (void)source;
    return sizeof(synthetic_args);
}

static void synthetic_name(const void *source, uint64_t index, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "synthetic/%llu", (unsigned long long)index);
}

static sluice_status synthetic_read_plain(const void *opaque, uint64_t index, sample_io *io,
                                          void *const *row)
{
    const synthetic_args *source = opaque;

    (void)io;
    if (row[1] != NULL) {
        *(int32_t *)row[1] = (int32_t)(index % source->classes);
    }
    return SLUICE_OK;
}

/* Generates pixels by a Weyl sequence: fast, and different at every position of every sample. */
static sluice_status synthetic_read(const void *opaque, uint64_t index, sample_io *io,
                                    void *const *row, sample_data *data_out)
{
    const synthetic_args *source = opaque;
    const uint64_t *dims = source->shape.dims;
    size_t bytes = (size_t)(dims[SCHEMA_H] * dims[SCHEMA_W] * dims[SCHEMA_C]);
    sluice_status st = image_buffer_reserve(&io->bytes, (bytes + 7) / 8 * 8);
    uint64_t word = sli_mix64(index + 1);

    if (st != SLUICE_OK) {
        return st;
    }
    for (size_t i = 0; i < bytes; i += 8) {
        word += UINT64_C(0x9E3779B97F4A7C15);
        memcpy(io->bytes.data + i, &word, sizeof(word));
    }
    (void)synthetic_read_plain(opaque, index, io, row);
    data_out->image =
        (image_view){io->bytes.data,           (size_t)(dims[SCHEMA_W] * dims[SCHEMA_C]),
                     (uint32_t)dims[SCHEMA_W], (uint32_t)dims[SCHEMA_H],
                     (uint32_t)dims[SCHEMA_C], IMAGE_U8};
    return SLUICE_OK;
}

static const source_ops synthetic_ops = {
    .open = synthetic_open,
    .close = synthetic_close,
    .count = synthetic_count,
    .name = synthetic_name,
    .read = synthetic_read,
    .read_plain = synthetic_read_plain,
    .memory = synthetic_memory,
};

static const stage_param synthetic_params[] = {
    PARAM_(synthetic_args, samples, PARAM_COUNT, "1000", 0, 1e15, NULL, "number of samples"),
    PARAM_(synthetic_args, shape, PARAM_SHAPE, "224,224,3", 0, 0, NULL, "height,width,channels"),
    PARAM_(synthetic_args, classes, PARAM_COUNT, "10", 1, 2147483647, NULL,
           "a label is the sample's index modulo this"),
};

const stage_def stage_synthetic = {
    .name = "synthetic",
    .summary = "Generated samples, a function of their index: for measurements without files.",
    .elsewhere = "FakeImageDataset",
    .gives = "image u8 (height, width, channels), label i32",
    .details = "Images have 1 to 4 channels.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(synthetic_params),
    .args_size = sizeof(synthetic_args),
    .check = synthetic_check,
    .infer = synthetic_infer,
    .source =
        &(const source_stage_ops){
            .ops = &synthetic_ops,
        },
};
