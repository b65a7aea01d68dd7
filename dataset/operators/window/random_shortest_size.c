/* SPDX-License-Identifier: Apache-2.0 */
/* The random_shortest_size stage: torchvision's RandomShortestSize. */
#include "resize_sides.h"
#include "status_int.h"

typedef struct shortest_args {
    param_edges min_size;
    uint64_t max_size; /* 0: no maximum */
    resize_filter filter;
} shortest_args;

static sluice_status shortest_check(void *opaque)
{
    const shortest_args *args = opaque;

    for (uint32_t i = 0; i < args->min_size.count; i++) {
        const uint64_t length = args->min_size.values[i];

        if (length < 1 || length > RESIZE_MOST_SIDE) {
            return sli_fail(SLUICE_E_INVALID,
                            "random_shortest_size: min_size=%llu must be from 1 to %d",
                            (unsigned long long)length, RESIZE_MOST_SIDE);
        }
        if (args->max_size != 0 && length > args->max_size) {
            return sli_fail(SLUICE_E_INVALID,
                            "random_shortest_size: max_size=%llu is less than min_size=%llu, so no "
                            "shorter side would have that length; it must be at least %llu",
                            (unsigned long long)args->max_size, (unsigned long long)length,
                            (unsigned long long)length);
        }
    }
    return resize_filter_check("random_shortest_size", &args->filter);
}

static sluice_status shortest_geometry(const void *opaque, const sli_draws *draws, uint32_t width,
                                       uint32_t height, stage_window *out)
{
    const shortest_args *args = opaque;
    const uint32_t shorter = width < height ? width : height;
    const uint32_t longer = width < height ? height : width;
    const double most = (double)args->max_size / longer;
    uint32_t bits[4];
    double r;

    sli_draw(draws, 0, bits);
    r = (double)args->min_size.values[sli_below(bits[0], args->min_size.count)] / shorter;
    out->filter = args->filter;
    resize_by(args->max_size != 0 && most < r ? most : r, width, height, out);
    return SLUICE_OK;
}

static sluice_status shortest_infer(const void *opaque, stage_schema *schema)
{
    const shortest_args *args = opaque;

    return resize_infer_sides("random_shortest_size", shortest_geometry, args,
                              args->min_size.count > 1, schema);
}

static const stage_param shortest_params[] = {
    PARAM_(shortest_args, min_size, PARAM_EDGES, NULL, 0, 0, NULL,
           "lengths of the shorter side in pixels, from 1 to 65535; at most 32"),
    PARAM_(shortest_args, max_size, PARAM_COUNT, "0", 0, 65535, NULL,
           "maximum length of the longer side in pixels; 0: no maximum"),
    RESIZE_FILTER_PARAMS(shortest_args, filter),
};

const stage_def stage_random_shortest_size = {
    .name = "random_shortest_size",
    .summary = "Resizes so that the shorter side has one of several lengths, at random.",
    .elsewhere = "RandomShortestSize",
    .example = "random_shortest_size 40,60,80 max_size=100 | center_crop 96,128",
    .gives = "image u8 (height, width, C), of a random size",
    .details = "Reference: torchvision.transforms.v2.RandomShortestSize.\n"
               "One length m of min_size is drawn for each image, all with the same "
               "probability. Both sides are multiplied by r = m / shorter side, which makes the "
               "shorter side m pixels long. If the longer side would exceed max_size, r is "
               "max_size / longer side instead. The new sides are rounded down. r is a double, as "
               "in torchvision, so a side may be one pixel shorter than m or max_size. The filters "
               "are those of resize.\n"
               "An image that would have a side of 0 or of more than 65535 pixels is a bad "
               "sample.",
    .kind = STAGE_GEOMETRY,
    .draws = true,
    STAGE_PARAMS(shortest_params),
    .args_size = sizeof(shortest_args),
    .check = shortest_check,
    .infer = shortest_infer,
    .geometry =
        &(const geometry_ops){
            .draw = shortest_geometry,
            .resizes = true,
        },
};
