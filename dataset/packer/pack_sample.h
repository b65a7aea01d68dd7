/* SPDX-License-Identifier: Apache-2.0 */
/* Packs one sample, on one worker. */
#ifndef SLUICE_PACK_SAMPLE_H
#define SLUICE_PACK_SAMPLE_H

#include <sluice/pack.h>

#include "dataset_state.h"
#include "image_decoder.h"
#include "jpeg_writer.h"
#include "pack_notes.h"
#include "pack_values.h"
#include "resample.h"

enum { PACK_NAME_SIZE = 1024, PACK_WHY_SIZE = 256, PACK_FIELD_SIZE = 8 };

/* Settings that apply to all samples. */
typedef struct pack_settings {
    const sluice_dataset *dataset; /* a dataset that was opened by dataset_open() */
    const kept_columns *kept;
    bool copies;      /* images are stored as they are */
    bool is_nameless; /* of the format (sample_writer.h) */
    uint32_t interval;
    uint32_t max_side;
    uint32_t quality; /* JPEG quality; 0: the default, 90 */
    sluice_pack_subsampling subsampling;
    bool raw;
    bool verify;
    bool leave_out_unreadable;
    uint64_t max_pixels;
    pack_notes *notes;              /* of the run */
    const sli_interrupt *interrupt; /* cancels retries after machine faults */
} pack_settings;

/* A sample as it will be stored in a shard. */
typedef struct packed_sample {
    sluice_pack_fate fate;
    bool has_label;
    int32_t label;
    uint64_t bytes_in;
    uint64_t bytes_out;          /* 0 if the sample is left out */
    uint32_t orientation;        /* Exif, of an image that is re-encoded (exif.h) */
    jpeg_bytes file;             /* contents of the image file; no data if the sample is left out */
    uint64_t takes;              /* bytes in a shard; 0 if the sample is left out */
    char field[PACK_FIELD_SIZE]; /* field of the file in the archive, for example "jpg" */
    pack_values values;          /* of all columns but the first image */
    char name[PACK_NAME_SIZE];   /* name of the sample in the source */
    char why[PACK_WHY_SIZE];     /* reason for the outcome, if it is a problem */
} packed_sample;

/* Default limit on an image's pixels according to its header; larger images are not decoded. */
#define PACK_MAX_PIXELS UINT64_C(100000000)

/* The state of one worker. */
typedef struct pack_worker pack_worker;

/* Creates a worker's state. Returns E_NO_MEMORY on failure. */
sluice_status pack_worker_create(const pack_settings *settings, pack_worker **worker_out);
void pack_worker_destroy(pack_worker *worker);

/*
 * Frees the user code's state for this worker. Call it on the thread that read with the worker;
 * afterwards another thread may read with it. Accepts NULL.
 */
void pack_worker_end(pack_worker *worker);

/*
 * Returns the worker's stream item: it receives the next sample of a stream, which pack_sample()
 * then packs.
 */
stream_item *pack_worker_item(pack_worker *worker);

/*
 * Packs sample `index` of the source, or the current item of a stream. If the sample itself cannot
 * be packed, the status is OK, and the result's `fate` and `why` say so. E_IO, E_NO_MEMORY: a
 * machine fault persisted after retries.
 */
sluice_status pack_sample(pack_worker *worker, uint64_t index, packed_sample **sample_out);
/*
 * Reads the sample once, without retries. OK: the sample was read, or the sample itself is bad.
 * E_IO, E_NO_MEMORY: a machine fault occurred.
 */
sluice_status pack_try_to_read(pack_worker *worker, uint64_t index);

void packed_sample_free(packed_sample *sample);

static inline bool pack_is_left_out(sluice_pack_fate fate)
{
    return fate >= SLUICE_PACK_LEFT_UNREADABLE && fate <= SLUICE_PACK_LEFT_FAULT;
}

static inline bool pack_is_problem(sluice_pack_fate fate)
{
    return fate >= SLUICE_PACK_KEPT_FORMAT && fate <= SLUICE_PACK_LEFT_FAULT;
}

#endif
