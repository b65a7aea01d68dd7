/* SPDX-License-Identifier: Apache-2.0 */
/* What users ask of stages of any kind. */
#ifndef SLUICE_STAGE_KINDS_H
#define SLUICE_STAGE_KINDS_H

#include <stdbool.h>

#include "stage.h"

/* The operations of a stage of geometry that makes views of the image, makes it of tiles, or has
 * branches; NULL: it does not, or is of another kind. */
const struct view_ops *view_ops_of(const stage_def *def);
const struct tile_ops *tile_ops_of(const stage_def *def);
const struct branch_ops *branch_ops_of(const stage_def *def);

/* True if a stage takes a size of which one number means a square. */
bool stage_squares(const stage_def *def);

/* True if a stage may warp the image: one of colours, or one with branches of such stages. */
bool stage_warps(const stage_def *def, const void *args);

/* True for a stage of colours whose operations have positions in the image. */
bool stage_places(const stage_def *def);

/* True for a stage of colours that GetNext can run, with some arguments, or with these. */
bool stage_may_be_by_pixel(const stage_def *def);
bool stage_is_by_pixel(const stage_def *def, const void *args);

/* The definition that replaces the one of a stage of colours after conversions; NULL: none does. */
const stage_def *stage_when_converted(const stage_def *def);

/* True for a conversion that moves pixels without changing values. */
bool stage_moves(const stage_def *def);

/* True for a conversion that erases a rectangle of converted values. */
bool stage_erases(const stage_def *def);

/* The definition that replaces the one of a flip if a stage of geometry comes after it; NULL: the
 * stage is not a flip, or is of geometry already. */
const stage_def *stage_before_geometry(const stage_def *def);

/* True for a map that works before geometry and declares the size of its image. */
bool stage_declares_size(const stage_def *def, const void *args);

#endif
