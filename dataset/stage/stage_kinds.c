/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_kinds.h"

#include "color_ops.h"
#include "conversion_ops.h"
#include "geometry_ops.h"
#include "map_ops.h"

const struct view_ops *view_ops_of(const stage_def *def)
{
    return def->geometry != NULL ? def->geometry->views : NULL;
}

const struct tile_ops *tile_ops_of(const stage_def *def)
{
    return def->geometry != NULL ? def->geometry->tiles : NULL;
}

const struct branch_ops *branch_ops_of(const stage_def *def)
{
    return def->geometry != NULL ? def->geometry->branches : NULL;
}

bool stage_squares(const stage_def *def)
{
    return def->geometry != NULL && def->geometry->squares;
}

bool stage_warps(const stage_def *def, const void *args)
{
    const branch_ops *branches = branch_ops_of(def);
    const color_ops *color = def->color;

    return branches != NULL ? branches->warps(args)
                            : color != NULL && color->warps &&
                                  (color->warps_with == NULL || color->warps_with(args));
}

bool stage_places(const stage_def *def)
{
    return def->color != NULL && def->color->places;
}

bool stage_may_be_by_pixel(const stage_def *def)
{
    return def->color != NULL && def->color->is_by_pixel != NULL;
}

bool stage_is_by_pixel(const stage_def *def, const void *args)
{
    return stage_may_be_by_pixel(def) && def->color->is_by_pixel(args);
}

const stage_def *stage_when_converted(const stage_def *def)
{
    return def->color != NULL ? def->color->when_converted : NULL;
}

bool stage_moves(const stage_def *def)
{
    return def->conversion != NULL && def->conversion->moves;
}

bool stage_erases(const stage_def *def)
{
    return def->conversion != NULL && def->conversion->erases != NULL;
}

const stage_def *stage_before_geometry(const stage_def *def)
{
    return def->conversion != NULL ? def->conversion->before_geometry : NULL;
}

bool stage_declares_size(const stage_def *def, const void *args)
{
    return def->map != NULL && def->map->declares_size != NULL && def->map->declares_size(args);
}
