/* SPDX-License-Identifier: Apache-2.0 */
/* The jpeg_quality stage: torchvision's JPEG. */
#include "color_stage.h"
#include "status_int.h"

typedef struct quality_args {
    color_args common;
    param_reals quality; /* after check(): LOW,HIGH */
} quality_args;

static sluice_status jpeg_quality_check(void *opaque)
{
    quality_args *args = opaque;
    double *quality = args->quality.values;

    if (args->quality.name[0] != '\0' || args->quality.count == 0 || args->quality.count > 2) {
        return sli_fail(SLUICE_E_INVALID,
                        "jpeg_quality: quality must be one whole number, or LOW,HIGH");
    }
    if (args->quality.count == 1) {
        quality[1] = quality[0];
        args->quality.count = 2;
    }
    if (!(quality[0] >= 1 && quality[0] <= quality[1] && quality[1] <= 100) ||
        quality[0] != (uint32_t)quality[0] || quality[1] != (uint32_t)quality[1]) {
        return sli_fail(SLUICE_E_INVALID,
                        "jpeg_quality: quality from %g to %g must be whole numbers with 1 <= LOW "
                        "<= HIGH <= 100",
                        quality[0], quality[1]);
    }
    return SLUICE_OK;
}

static void jpeg_quality_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const double *quality = ((const quality_args *)opaque)->quality.values;
    const uint32_t low = (uint32_t)quality[0];
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    color_add_jpeg(chain, low + sli_below(bits[0], (uint32_t)quality[1] - low + 1));
}

static const stage_param jpeg_quality_params[] = {
    PARAM_(quality_args, quality, PARAM_REALS, NULL, 0, 0, NULL,
           "quality of the JPEG file, a whole number from 1 to 100, or LOW,HIGH"),
    COLUMNS_PARAM(quality_args, common.columns),
};

const stage_def stage_jpeg_quality = {
    .name = "jpeg_quality",
    .summary = "Encodes as JPEG of random quality, and decodes again.",
    .elsewhere = "JPEG",
    .example = "jpeg_quality 5,10",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.JPEG.\n"
               "The quality is drawn from the whole numbers LOW to HIGH. Colours are stored with "
               "4:2:0 chroma subsampling, as torchvision does.",
    .kind = STAGE_COLOR,
    .draws = true,
    .color =
        &(const color_ops){
            .places = true,
            .add = jpeg_quality_colors,
        },
    STAGE_PARAMS(jpeg_quality_params),
    .args_size = sizeof(quality_args),
    .selects = true,
    .check = jpeg_quality_check,
};
