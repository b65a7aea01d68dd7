/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a worker that packs, and how it reads samples. */
#ifndef SLUICE_PACK_WORKER_H
#define SLUICE_PACK_WORKER_H

#include "fault_int.h"
#include "pack_sample.h"

struct pack_worker {
    const pack_settings *settings;
    image_decoder *decoder;
    image_decoder *checker; /* decodes results to verify them; NULL: results are not verified */
    sample_io io;
    image_resampler resampler;
    image_buffer resized;
    image_buffer gray;
    image_buffer rows; /* the values of a sample's columns, as the source writes them */
};

/* pack_read() of the whole sample. */
enum { PACK_SAMPLE = -1 };

/*
 * Reads sample `index`, or the image or mask of one column of it, and retries after transient
 * faults of the machine. *fault_out: the fault, if it persists.
 */
sluice_status pack_read(pack_worker *worker, uint64_t index, int column, void *const *row,
                        sample_data *data_out, sli_fault *fault_out);

/*
 * Ends the pack because of a machine fault: adds the sample's name to the last error and preserves
 * its errno.
 */
sluice_status pack_fail_read(pack_worker *worker, uint64_t index, sli_fault fault,
                             sluice_status status);

/* Writes the name of sample `index`, or of the current item of a stream. */
void pack_name_sample(pack_worker *worker, uint64_t index, char *name, size_t size);

#endif
