/* SPDX-License-Identifier: Apache-2.0 */
/* The random displacements of a chain's warps. */
#ifndef SLUICE_COLOR_FIELDS_H
#define SLUICE_COLOR_FIELDS_H

#include <sluice/status.h>

#include "color_chain.h"

/*
 * Adds `warp`, whose shifts are set to the random displacements of `draws`. The caller then calls
 * color_make_fields(). A field that has these displacements already is kept.
 */
void color_add_elastic(color_chain *chain, const image_warp *warp, const elastic_options *options,
                       const sli_draws *draws);

/* Computes the displacements that warps of the chain need. Returns E_NO_MEMORY on failure. */
sluice_status color_make_fields(const color_chain *chain);

#endif
