/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the images and masks of a sample by the rules of a run, without one: for `sluice verify`
 * and `sluice inspect`. */
#ifndef SLUICE_SAMPLE_CHECK_H
#define SLUICE_SAMPLE_CHECK_H

#include "dataset_state.h"
#include "image_decoder.h"

/* Images that do not fit their annotations as they are. */
typedef struct check_findings {
    uint64_t sizes_differ;  /* of another size: bad samples */
    uint64_t labels_stored; /* whose annotations fit only the image as stored, and follow it */
} check_findings;

typedef struct sample_check {
    const sluice_dataset *dataset; /* its stage decode says how; NULL: the sample has one image */
    image_decoder *decoder;
    sample_io *io;
    uint64_t max_pixels;   /* 0: that of the stage decode */
    bool decodes;          /* pixels are decoded; false: only headers are read */
    check_findings *found; /* is counted up; NULL: not needed */
} sample_check;

/*
 * Checks the first image, which was read as `data`, then the masks and further images of the
 * sample, against each other and against the annotations. Without a stage decode, images of 16 bits
 * per channel and of floats are no error.
 *
 * Returns errors of reading, E_CORRUPT and E_UNSUPPORTED with the name of the column, as a run
 * would; faults of the process keep their errno. *bytes is increased by the bytes of the images.
 */
sluice_status sample_check_images(const sample_check *check, uint64_t sample,
                                  const sample_data *data, uint64_t *bytes);

#endif
