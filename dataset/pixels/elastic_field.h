/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random displacements of torchvision's ElasticTransform: uniform noise, one number for each
 * pixel and axis, is smoothed by a Gaussian filter and scaled.
 */
#ifndef SLUICE_ELASTIC_FIELD_H
#define SLUICE_ELASTIC_FIELD_H

#include <sluice/status.h>

#include "image_warp.h"
#include "rng_int.h"

/* Most taps of the filter, those of the largest sigma. */
enum { ELASTIC_TAPS = 513 };
#define ELASTIC_SIGMA 64.0

typedef struct elastic_options {
    double alpha[2]; /* strength along x and along y */
    double sigma[2]; /* standard deviation of the filter along x and along y, in pixels, at most
                        ELASTIC_SIGMA; both 0: no filter */
} elastic_options;

/* False: images of this size would need more random numbers than a stage has. */
bool elastic_fits(uint64_t width, uint64_t height);

/* A field of displacements; zero-initialise. It is a function of the first members. */
typedef struct elastic_field {
    sli_draws draws;
    elastic_options options;
    uint32_t width;
    uint32_t height;
    bool flipped_x; /* the field of the flipped image */
    bool flipped_y;
    bool is_made;
    warp_shifts shifts; /* of elastic_make() */
    image_buffer memory;
} elastic_field;

/*
 * Computes the displacements, unless they are there already. Those along x are alpha[0] / height *
 * width / 2 times the smoothed noise, those along y alpha[1] / width * height / 2 times, as
 * torchvision's, which divides by the other side. Returns E_NO_MEMORY on failure.
 */
sluice_status elastic_make(elastic_field *field);

/* Reserves the memory of the field, and sets field->shifts, whose values are undefined. */
sluice_status elastic_reserve(elastic_field *field);

/* Computes the displacements along x (axis 0) or y from the lines of elastic_noise(). */
void elastic_displace(elastic_field *field, uint32_t axis);

/* Line y of the noise of one axis, of field->width numbers. */
float *elastic_noise(const elastic_field *field, uint32_t y);

void elastic_free(elastic_field *field);

#endif
