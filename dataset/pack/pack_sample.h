/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of one sample that is packed: the work of one worker. */
#ifndef SLUICE_PACK_SAMPLE_H
#define SLUICE_PACK_SAMPLE_H

#include <sluice/pack.h>

#include "dataset_state.h"
#include "image_decoder.h"
#include "jpeg_writer.h"
#include "resample.h"

enum { PACK_NAME_SIZE = 1024, PACK_WHY_SIZE = 256, PACK_FIELD_SIZE = 8 };

/* The same for all samples. */
typedef struct pack_settings {
    const sluice_dataset *dataset; /* open */
    int label;                     /* column of the label; -1 none */
    uint32_t interval;
    uint32_t max_side;
    uint32_t quality; /* 0: as sluice_pack_config says */
    uint32_t subsampling;
    bool raw;
    bool verify;
    uint64_t max_pixels;
} pack_settings;

/* A sample as it will stand in a shard. */
typedef struct packed_sample {
    sluice_pack_fate fate;
    bool has_label;
    int32_t label;
    uint64_t bytes_in;
    jpeg_bytes file;             /* without data: left out */
    char field[PACK_FIELD_SIZE]; /* "jpg" */
    char name[PACK_NAME_SIZE];   /* in the source */
    char why[PACK_WHY_SIZE];     /* of a problem */
} packed_sample;

/* An image that says it has more pixels is not decoded, where no other number is given. */
#define PACK_MAX_PIXELS UINT64_C(100000000)

/* What a worker keeps from one sample to the next. */
typedef struct pack_worker pack_worker;

/* E_NO_MEMORY. */
sluice_status pack_worker_create(const pack_settings *settings, pack_worker **worker_out);
void pack_worker_destroy(pack_worker *worker);

/* Where the next sample of a stream is put, before it is packed. */
stream_item *pack_worker_item(pack_worker *worker);

/*
 * Makes the sample of that index in the source; of a stream, the one that was put. Whatever is
 * wrong with it is its fate; E_NO_MEMORY.
 */
sluice_status pack_sample(pack_worker *worker, uint64_t index, packed_sample **sample_out);
void packed_sample_free(packed_sample *sample);

/* Decodes all of a file's image. */
sluice_status pack_decode(image_decoder *decoder, uint64_t max_pixels, const uint8_t *bytes,
                          size_t size, image_view *image_out);

static inline bool pack_is_left_out(sluice_pack_fate fate)
{
    return fate >= SLUICE_PACK_LEFT_UNREADABLE;
}

static inline bool pack_is_problem(sluice_pack_fate fate)
{
    return fate >= SLUICE_PACK_KEPT_FORMAT;
}

#endif
