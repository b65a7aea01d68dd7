/* SPDX-License-Identifier: Apache-2.0 */
/* The random_resize stage: torchvision's RandomResize. */
#include "resize_sides.h"
#include "status_int.h"

typedef struct random_resize_args {
    param_edges size; /* MIN,MAX of the shorter side */
    resize_filter filter;
} random_resize_args;

static sluice_status random_resize_check(void *opaque)
{
    const random_resize_args *args = opaque;
    const uint64_t *ends = args->size.values;

    if (args->size.count != 2) {
        return sli_fail(
            SLUICE_E_INVALID,
            "random_resize: size has %u number%s and must be MIN,MAX, the lengths of the "
            "shorter side; for one length use resize N",
            args->size.count, args->size.count == 1 ? "" : "s");
    }
    if (ends[0] < 1 || ends[0] > ends[1] || ends[1] > RESIZE_MOST_SIDE) {
        return sli_fail(SLUICE_E_INVALID,
                        "random_resize: size=%llu,%llu must be MIN,MAX with 1 <= MIN <= MAX <= %d",
                        (unsigned long long)ends[0], (unsigned long long)ends[1], RESIZE_MOST_SIDE);
    }
    return resize_filter_check("random_resize", &args->filter);
}

static sluice_status random_resize_geometry(const void *opaque, const sli_draws *draws,
                                            uint32_t width, uint32_t height, stage_window *out)
{
    const random_resize_args *args = opaque;
    const uint32_t low = (uint32_t)args->size.values[0];
    const uint32_t high = (uint32_t)args->size.values[1];
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    out->filter = args->filter;
    resize_shorter_side(width, height, low + sli_below(bits[0], high - low + 1), out);
    return SLUICE_OK;
}

static sluice_status random_resize_infer(const void *opaque, stage_schema *schema)
{
    const random_resize_args *args = opaque;

    return resize_infer_sides("random_resize", random_resize_geometry, args,
                              args->size.values[0] != args->size.values[1], schema);
}

static const stage_param random_resize_params[] = {
    PARAM_(random_resize_args, size, PARAM_EDGES, NULL, 0, 0, NULL,
           "MIN,MAX length of the shorter side in pixels, from 1 to 65535"),
    RESIZE_FILTER_PARAMS(random_resize_args, filter),
};

const stage_def stage_random_resize = {
    .name = "random_resize",
    .summary = "Resizes so that the shorter side has a random length.",
    .elsewhere = "RandomResize",
    .example = "random_resize 32,96 | center_crop 96,128",
    .gives = "image u8 (height, width, C), of a random size",
    .details = "Reference: torchvision.transforms.v2.RandomResize.\n"
               "The new length n of the shorter side is drawn for each image: a whole number "
               "from MIN to MAX, all with the same probability. MAX is included, as the "
               "documentation of torchvision says; its code never draws MAX. The new longer side "
               "is longer * n / shorter, rounded down. The filters are those of resize.\n"
               "An image whose longer side would have more than 65535 pixels is a bad sample.",
    .kind = STAGE_GEOMETRY,
    .draws = true,
    STAGE_PARAMS(random_resize_params),
    .args_size = sizeof(random_resize_args),
    .check = random_resize_check,
    .infer = random_resize_infer,
    .geometry =
        &(const geometry_ops){
            .draw = random_resize_geometry,
            .resizes = true,
        },
};
