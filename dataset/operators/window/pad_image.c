/* SPDX-License-Identifier: Apache-2.0 */
/* The pad_image stage: torchvision's Pad. (The stage pad is for plain arrays.) */
#include "fill_args.h"
#include "margin_args.h"
#include "status_int.h"

typedef struct pad_args {
    param_reals padding; /* after margins_check(): left, top, right, bottom */
    fill_args outside;
    uint32_t mode; /* a value of image_edge */
} pad_args;

static const char *const modes[] = {"constant", "edge", "reflect", "symmetric", NULL};

static sluice_status pad_check(void *opaque)
{
    pad_args *args = opaque;
    const sluice_status st = margins_check("pad_image", &args->padding);

    return st == SLUICE_OK ? fill_check("pad_image", &args->outside) : st;
}

/* Checks that an image has enough pixels for its reflection. */
static sluice_status check_reflection(const pad_args *args, uint64_t width, uint64_t height)
{
    const image_margins m = margins_of(&args->padding);
    const uint64_t most_x = m.left > m.right ? m.left : m.right;
    const uint64_t most_y = m.top > m.bottom ? m.top : m.bottom;
    const bool reflects = args->mode == EDGE_REFLECT;
    const uint64_t least = reflects ? 1 : 0;

    if ((reflects || args->mode == EDGE_SYMMETRIC) &&
        (most_x + least > width || most_y + least > height)) {
        return sli_fail(SLUICE_E_INVALID,
                        "pad_image: mode=%s with padding=%u,%u,%u,%u needs images of at least "
                        "%llux%llu, and this one is %llux%llu; use less padding, mode=edge, or "
                        "resize before it",
                        modes[args->mode], m.left, m.top, m.right, m.bottom,
                        (unsigned long long)(most_x + least), (unsigned long long)(most_y + least),
                        (unsigned long long)width, (unsigned long long)height);
    }
    return SLUICE_OK;
}

/* Refuses boxes and points beside an image whose parts are shown several times. */
static sluice_status check_followers(const pad_args *args, const stage_schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count && args->mode != EDGE_CONSTANT; i++) {
        const column_role role = schema->infos[i].role;

        if (role == ROLE_BOXES || role == ROLE_POINTS) {
            return sli_fail(SLUICE_E_INVALID,
                            "pad_image: mode=%s repeats parts of the image, and column %s has "
                            "%s; use mode=constant, or drop %s",
                            modes[args->mode], schema->columns[i].name,
                            role == ROLE_BOXES ? "boxes" : "points", schema->columns[i].name);
        }
    }
    return SLUICE_OK;
}

static sluice_status pad_infer(const void *opaque, stage_schema *schema)
{
    const pad_args *args = opaque;
    const image_margins m = margins_of(&args->padding);
    sluice_status st = schema_check_pixels(schema, "pad_image");
    uint64_t *shape;

    if (st == SLUICE_OK) {
        st = fill_infer("pad_image", &args->outside, schema);
    }
    if (st == SLUICE_OK) {
        st = check_followers(args, schema);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    shape = schema->columns[schema->image].shape;
    if (shape[SCHEMA_H] == 0 || shape[SCHEMA_W] == 0) {
        return SLUICE_OK;
    }
    st = check_reflection(args, shape[SCHEMA_W], shape[SCHEMA_H]);
    shape[SCHEMA_H] += (uint64_t)m.top + m.bottom;
    shape[SCHEMA_W] += (uint64_t)m.left + m.right;
    return st;
}

static bool pad_padding(const void *opaque, stage_padding *padding_out)
{
    const pad_args *args = opaque;
    const image_margins m = margins_of(&args->padding);

    padding_out->edge = (image_edge)args->mode;
    fill_set(&args->outside, padding_out);
    return !margins_are_none(&m);
}

static sluice_status pad_geometry(const void *opaque, const sli_draws *draws, uint32_t width,
                                  uint32_t height, stage_window *out)
{
    const pad_args *args = opaque;
    const image_margins m = margins_of(&args->padding);

    (void)draws;
    out->crops = true;
    out->x = -(int64_t)m.left;
    out->y = -(int64_t)m.top;
    out->width = m.left + width + m.right;
    out->height = m.top + height + m.bottom;
    return check_reflection(args, width, height);
}

static const stage_param pad_params[] = {
    PARAM_(pad_args, padding, PARAM_REALS, NULL, 0, 0, NULL, MARGIN_HELP),
    FILL_PARAM(pad_args, outside),
    PARAM_(pad_args, mode, PARAM_CHOICE, "constant", 0, 0, modes,
           "constant: the fill; else the image, continued beyond its edges"),
    MASK_FILL_PARAM(pad_args, outside),
};

const stage_def stage_pad_image = {
    .name = "pad_image",
    .summary = "Pads the image on all sides.",
    .elsewhere = "Pad",
    .example = "pad_image 16 fill=255,200,0",
    .gives = "image u8, larger by the padding",
    .details = "Reference: torchvision.transforms.v2.Pad. (pad is for plain arrays.)\n"
               "The modes edge, reflect and symmetric repeat pixels of the image: aa|abcd|dd, "
               "cb|abcd|cb and ba|abcd|dc for a line abcd and 2 pixels. They do not use fill, "
               "and are refused with boxes or points. An image with fewer pixels than the "
               "padding (symmetric), or not more (reflect), is a bad sample.\n"
               "The pixels of a padding are not stored before a resize.\n"
               "Masks, boxes, points and further images follow. A box is moved and clipped; "
               "boxes without remaining area are dropped.",
    .kind = STAGE_GEOMETRY,
    STAGE_PARAMS(pad_params),
    .args_size = sizeof(pad_args),
    .check = pad_check,
    .infer = pad_infer,
    .geometry =
        &(const geometry_ops){
            .draw = pad_geometry,
            .padding = pad_padding,
        },
};
