/* SPDX-License-Identifier: Apache-2.0 */
/* Applies an image's geometry to its points. */
#ifndef SLUICE_SAMPLE_POINTS_H
#define SLUICE_SAMPLE_POINTS_H

#include "sample_transform.h"

/*
 * Moves the points of a sample, and exchanges those that its flips exchange, with the rows that
 * belong to them. Points that leave the image are neither clipped nor dropped. `buffers` has one
 * entry for each column of the source; NULL: the column is not needed. E_CORRUPT: a flip exchanges
 * two points of which the sample has one.
 */
sluice_status points_follow(const sli_plan *plan, const sample_transform *transform,
                            uint64_t sample, uint64_t pass, void *const *buffers);

/* The same for the points of a tile, whose flips are all among the steps. */
sluice_status points_move(const sli_plan *plan, const sample_transform *transform,
                          void *const *buffers);

#endif
