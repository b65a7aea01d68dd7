/* SPDX-License-Identifier: Apache-2.0 */
#include "color_fields.h"

#include <assert.h>
#include <string.h>

/* True if a field is for these displacements of the chain's image. */
static bool is_field_of(const elastic_field *field, const color_chain *chain,
                        const elastic_options *options, const sli_draws *draws)
{
    return memcmp(&field->draws, draws, sizeof(*draws)) == 0 &&
           memcmp(&field->options, options, sizeof(*options)) == 0 &&
           field->width == chain->width && field->height == chain->height &&
           field->flipped_x == chain->flipped_x && field->flipped_y == chain->flipped_y;
}

/* True if an operation of the chain uses the field. */
static bool uses_field(const color_chain *chain, const elastic_field *field)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        if (chain->operations[i].kind == COLOR_WARP &&
            chain->operations[i].warp.shifts == &field->shifts) {
            return true;
        }
    }
    return false;
}

/* Finds the field with these displacements, else one that the chain does not use. */
static elastic_field *find_field(const color_chain *chain, const elastic_options *options,
                                 const sli_draws *draws)
{
    elastic_field *found = NULL;

    for (uint32_t i = 0; i < chain->field_count; i++) {
        elastic_field *field = &chain->fields[i];

        if (is_field_of(field, chain, options, draws)) {
            return field;
        }
        found = uses_field(chain, field) ? found : field;
    }
    return found;
}

void color_add_elastic(color_chain *chain, const image_warp *warp, const elastic_options *options,
                       const sli_draws *draws)
{
    elastic_field *field = find_field(chain, options, draws);
    image_warp next = *warp;

    assert(field != NULL);
    if (!is_field_of(field, chain, options, draws)) {
        field->draws = *draws;
        field->options = *options;
        field->width = chain->width;
        field->height = chain->height;
        field->flipped_x = chain->flipped_x;
        field->flipped_y = chain->flipped_y;
        field->is_made = false;
    }
    next.shifts = &field->shifts;
    color_add_warp(chain, &next);
}

sluice_status color_make_fields(const color_chain *chain)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < chain->field_count && st == SLUICE_OK; i++) {
        if (uses_field(chain, &chain->fields[i])) {
            st = elastic_make(&chain->fields[i]);
        }
    }
    return st;
}
