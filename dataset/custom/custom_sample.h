/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sample that a callback is handed: what it may read (inputs) and what it writes (outputs). A
 * worker keeps one for each source or map:
 *
 *     custom_sample_begin(sample, number, &draws);
 *     custom_sample_input(...), custom_sample_row(...) for each column
 *     before = sli_fail_count();
 *     st = custom_sample_end(sample, "read", before, read(sample, ...));
 *
 * Plain outputs are written where they belong, in the batch's row, unless the sample has guards.
 * Images and masks get buffers, in which they stay until the next call.
 */
#ifndef SLUICE_CUSTOM_SAMPLE_H
#define SLUICE_CUSTOM_SAMPLE_H

#include "custom_columns.h"
#include "image.h"
#include "rng_int.h"

/* An output during a call. */
typedef struct custom_output {
    void *row;            /* where its bytes belong; NULL: they are not wanted, or an image's */
    int32_t *length_row;  /* of ragged ones: where the length belongs; NULL: not wanted */
    const uint8_t *bytes; /* what was given; NULL: nothing yet */
    size_t size;          /* of it */
    bool in_buffer;       /* bytes are in the buffer below, not lent and not in the row */
    uint64_t shape[SLUICE_MAX_RANK]; /* of it */
    image_buffer buffer;
} custom_output;

typedef struct custom_input {
    const char *name;
    sluice_sample_view view;
} custom_input;

struct sluice_sample {
    const char *owner;             /* name of the source or map, for errors */
    const custom_columns *columns; /* outputs */
    bool guards;                   /* find writes beyond what sluice_sample_room() gave */
    bool overran;                  /* the last call wrote beyond it: memory may be damaged */
    uint64_t number;
    sli_draws draws;
    void *worker;
    uint32_t input_count;
    custom_input inputs[SLUICE_MAX_COLUMNS];
    custom_output outputs[SLUICE_MAX_COLUMNS]; /* by declared column */
};

/* All is borrowed until custom_sample_fini(). */
void custom_sample_init(sluice_sample *sample, const char *owner, const custom_columns *columns,
                        bool guards);
void custom_sample_fini(sluice_sample *sample);

/* Do samples have guards here? In builds with assertions, and where SLUICE_GUARDS says so. */
bool custom_sample_guards(void);

/* Begins a call: no output is given yet, and none has a row. */
void custom_sample_begin(sluice_sample *sample, uint64_t number, const sli_draws *draws);

/*
 * Ends a call that returned `status`, when `before` was the thread's sli_fail_count() ahead of it:
 * checks the status and that every output was given; puts outputs into their rows. `callback` is
 * its name, for errors. E_CALLBACK: garbage was returned, or a write went beyond its room;
 * E_CORRUPT: ragged columns contradict each other; E_INVALID: an output is missing.
 */
sluice_status custom_sample_end(sluice_sample *sample, const char *callback, uint64_t before,
                                sluice_status status);

/*
 * What a callback returned, when `before` was the thread's sli_fail_count() ahead of it. A positive
 * status is OK; errors get the callback's text. E_CALLBACK: it is no status.
 */
sluice_status custom_status(const char *owner, const char *callback, uint64_t before,
                            sluice_status status);

/* The image that an output of the last call holds, which has IMAGE_SLACK bytes behind each line. */
sluice_status custom_sample_pixels(sluice_sample *sample, uint32_t output, image_view *image_out);

#endif
