/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sample that is passed to a callback, which reads its inputs and writes its outputs. A worker
 * has one for each source or map, and uses it like this:
 *
 *     custom_sample_begin(sample, number, &draws);
 *     set sample->inputs, and row and length_row of sample->outputs
 *     before = sli_fail_count();
 *     st = custom_sample_end(sample, "read", before, read(sample, ...));
 *
 * Plain outputs are written directly into the batch's row, unless the sample has guards. Images and
 * masks are written into buffers, and are valid until the next call.
 */
#ifndef SLUICE_CUSTOM_SAMPLE_H
#define SLUICE_CUSTOM_SAMPLE_H

#include <stdatomic.h>

#include "custom_columns.h"
#include "image.h"
#include "rng_int.h"
#include "warp_matrix.h"

/* The state of one output during a call of the callback. */
typedef struct custom_output {
    void *row;            /* destination in the batch; NULL: not needed, or an image or mask */
    int32_t *length_row;  /* ragged outputs: where the length goes; NULL: not needed */
    const uint8_t *bytes; /* the output's bytes; NULL: the output was not written yet */
    size_t size;          /* size of bytes */
    bool in_buffer;       /* `bytes` points into `buffer`, not to lent memory or the row */
    uint64_t shape[SLUICE_MAX_RANK]; /* shape of the output for this sample */
    image_buffer buffer;
} custom_output;

typedef struct custom_input {
    const char *name;
    sluice_sample_view view;
} custom_input;

struct sluice_sample {
    const char *owner;             /* name of the source or map, for messages */
    const custom_columns *columns; /* the declared columns, which are the outputs */
    bool guards;  /* detect writes outside the memory that sluice_sample_room() returned */
    bool overran; /* the last call wrote outside that memory, so other memory may be corrupt */
    uint64_t number;
    sli_draws draws;
    bool has_checked_boxes; /* boxes must be valid as they are: those of a map. Those of a source
                               are clipped and dropped (declared_source.h) */
    _Atomic bool drew;      /* the callback has drawn random numbers for this sample */
    uint32_t image_width; /* an image map that writes the image: size of the image that it is called
                             with, which that of its result is by default; 0: no such map */
    uint32_t image_height;
    bool is_warped;   /* the callback has called sluice_sample_warped() */
    warp_matrix warp; /* from the map's result to the image that it was called with */
    void *worker;
    int stop_fd; /* in next() of a stream: becomes readable when the run ends; else -1 */
    uint32_t input_count;
    custom_input inputs[SLUICE_MAX_COLUMNS];
    custom_output outputs[SLUICE_MAX_COLUMNS]; /* indexed by declared column */
};

/* Initialises the sample. `owner` and `columns` are borrowed until custom_sample_fini(). */
void custom_sample_init(sluice_sample *sample, const char *owner, const custom_columns *columns,
                        bool guards);
void custom_sample_fini(sluice_sample *sample);

/*
 * True if samples should have guard bytes. The environment variable SLUICE_GUARDS decides; by
 * default, only builds with assertions have them.
 */
bool custom_sample_guards(void);

/* Begins a call: resets all outputs to not written, without a row. */
void custom_sample_begin(sluice_sample *sample, uint64_t number, const sli_draws *draws);

/*
 * Ends a call that returned `status`: checks the status, and that every output was written, and
 * copies outputs into their rows. `before` is the thread's sli_fail_count() before the call.
 * `callback` is the callback's name, for messages. E_CALLBACK: it returned an invalid status, or
 * wrote outside the memory of an output. E_CORRUPT: boxes are invalid, or ragged columns contradict
 * each other. E_INVALID: an output is missing.
 */
sluice_status custom_sample_end(sluice_sample *sample, const char *callback, uint64_t before,
                                sluice_status status);

/*
 * Checks that a call that provided no sample wrote nothing outside the memory of an output.
 * E_CALLBACK: it did.
 */
sluice_status custom_sample_guarded(sluice_sample *sample, const char *callback);

/*
 * Converts the status that a callback returned. `before` is the thread's sli_fail_count() before
 * the call. A positive status becomes OK; an error keeps the callback's message. E_CALLBACK: the
 * callback returned an invalid status.
 */
sluice_status custom_status(const char *owner, const char *callback, uint64_t before,
                            sluice_status status);

/*
 * Returns the image in an output of the last call, with IMAGE_SLACK readable bytes after its last
 * line.
 */
sluice_status custom_sample_pixels(sluice_sample *sample, uint32_t output, image_view *image_out);

#endif
