/* SPDX-License-Identifier: Apache-2.0 */
#include "augment_table.h"

#include <math.h>

sluice_status augment_infer(const char *stage, const warp_options *options, uint32_t operations,
                            stage_schema *schema)
{
    const sluice_status st = schema_add_colors(schema, stage, "", true, 0);

    return st == SLUICE_OK ? warp_infer(stage, options, operations, false, schema) : st;
}

static void add_warp_kind(const augment_table *table, augment_kind kind, double signed_magnitude,
                          const warp_options *options, color_chain *chain)
{
    const uint32_t side = kind == AUGMENT_TRANSLATE_X ? chain->width : chain->height;
    const double pixels =
        trunc(signed_magnitude * (table->pixels > 0 ? table->pixels : table->part * side));
    warp_affine affine = {0, {0, 0}, 1, {0, 0}};
    warp_matrix matrix = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};

    switch (kind) {
    case AUGMENT_SHEAR_X:
        matrix.m[1] = table->shear * signed_magnitude;
        break;
    case AUGMENT_SHEAR_Y:
        matrix.m[3] = table->shear * signed_magnitude;
        break;
    case AUGMENT_TRANSLATE_X:
        matrix.m[2] = -pixels;
        break;
    case AUGMENT_TRANSLATE_Y:
        matrix.m[5] = -pixels;
        break;
    default:
        affine.degrees = -table->degrees * signed_magnitude;
        matrix = warp_of_affine(&affine, chain->width, chain->height);
        break;
    }
    warp_add(options, &matrix, chain);
}

void augment_add(const augment_table *table, augment_kind kind, double magnitude, bool negative,
                 const warp_options *options, color_chain *chain)
{
    const double signed_magnitude = negative ? -magnitude : magnitude;
    const double factor = 1 + table->factor * signed_magnitude;

    switch (kind) {
    case AUGMENT_BRIGHTNESS:
        color_add_brightness(chain, factor);
        break;
    case AUGMENT_SATURATION:
        color_add_saturation(chain, factor);
        break;
    case AUGMENT_CONTRAST:
        color_add_contrast(chain, factor);
        break;
    case AUGMENT_SHARPNESS:
        color_add_sharpness(chain, factor);
        break;
    case AUGMENT_POSTERIZE:
        color_add_posterize(chain, (uint32_t)rint(table->bits - table->lost_bits * magnitude));
        break;
    case AUGMENT_SOLARIZE:
        /* In single precision, as torchvision: 85 and 170 are thresholds of 10 magnitudes. */
        color_add_solarize(chain, (double)(float)(255 * (1 - magnitude)));
        break;
    case AUGMENT_AUTOCONTRAST:
        color_add_autocontrast(chain);
        break;
    case AUGMENT_EQUALIZE:
        color_add_equalize(chain);
        break;
    case AUGMENT_INVERT:
        color_add_invert(chain);
        break;
    case AUGMENT_NOTHING:
        break;
    default:
        add_warp_kind(table, kind, signed_magnitude, options, chain);
        break;
    }
}
