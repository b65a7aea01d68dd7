/* SPDX-License-Identifier: Apache-2.0 */
/* What the headers of a sample's images and masks must say: in a run, and in a check without one.
 */
#ifndef SLUICE_IMAGE_RULES_H
#define SLUICE_IMAGE_RULES_H

#include "dataset_state.h"
#include "image_decoder.h"
#include "image_notes_int.h"
#include "sample_transform.h"

/*
 * Opens the encoded image of a sample, in the formats that the stage decode allows. gray: it is
 * decoded to one channel. `image` gets the size of the file. Fails as image_decoder_open() does.
 */
sluice_status image_rules_open(image_decoder *decoder, const sample_data *data,
                               const decode_args *args, uint64_t max_pixels, bool gray,
                               image_view *image);

/*
 * Selects class numbers, values of 16 bits or floats as pixels of the open image, as the stage
 * decode says. E_UNSUPPORTED: the file has other pixels. *ends_run is set for class numbers of more
 * than 8 bits: a policy for bad samples would leave out every image of such a dataset.
 */
sluice_status image_rules_mode(image_decoder *decoder, const decode_args *args, bool *ends_run);

/*
 * Applies the orientation of the open image, unless pixels are used as stored: `image` has the size
 * of the file, and then that of the upright image. Annotations that fit only the size of the file
 * follow it. E_UNSUPPORTED: decoding would drop bits that the stage decode was not told to drop;
 * sets *ends_run.
 */
sluice_status image_rules_orient(image_decoder *decoder, const image_facts *facts,
                                 const sample_data *data, const decode_args *args,
                                 image_view *image, applied_orientation *applied_out,
                                 bool *ends_run);

/* Returns a set of bits, 1 << sli_image_note: what decoding the image as pixels changes or leaves
 * out, but for its orientation. */
uint32_t image_rules_notes(const image_facts *facts);

/* E_CORRUPT: the annotations are for an image of another size than `image`, as it is decoded. */
sluice_status image_rules_size(const image_facts *facts, const sample_data *data,
                               const decode_args *args, const image_view *image,
                               const applied_orientation *applied);

/*
 * Selects class numbers as pixels of the open mask, and applies the orientation of its file, as
 * image_rules_mode() and image_rules_orient() do. *own_out: the orientation of its file, if it is
 * applied; else 1.
 */
sluice_status image_rules_open_mask(image_decoder *decoder, const decode_args *args,
                                    image_view *mask, uint32_t *own_out, bool *ends_run);

/*
 * E_CORRUPT: a mask has another size than its image. *follows_out: it has the size that the image
 * has in its file, so the orientation of the image is applied to the mask, too.
 */
sluice_status image_rules_fit_mask(const image_view *mask, uint32_t own, uint32_t width,
                                   uint32_t height, const applied_orientation *applied,
                                   bool *follows_out);

/* E_CORRUPT: a further image has another size than the first one. */
sluice_status image_rules_fit_further(const image_view *image, uint32_t width, uint32_t height);

#endif
