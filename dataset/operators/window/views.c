/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages views, five_crop and ten_crop: several views of an image, which later stages process
 * one by one.
 */
#include "crop.h"
#include "geometry_ops.h"
#include "layout_int.h"
#include "status_int.h"

enum { FIVE = 5, MOST_VIEWS = 16 };

/* Refuses columns whose rows would differ between the views. */
static sluice_status check_followers(const char *stage, const stage_schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if ((int)i != schema->image && schema->infos[i].role != ROLE_PLAIN) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: column %s is %s, and would differ between the views of the image; "
                            "drop it before",
                            stage, schema->columns[i].name, schema_role_words(schema, i));
        }
    }
    return SLUICE_OK;
}

static sluice_status infer_views(const char *stage, uint32_t count, stage_schema *schema)
{
    sluice_status st = schema_check_pixels(schema, stage);

    if (st == SLUICE_OK) {
        st = check_followers(stage, schema);
    }
    schema->view_count = count;
    return st;
}

/* ---- views ----------------------------------------------------------------------------------- */

typedef struct views_args {
    uint64_t n;
} views_args;

static uint32_t views_count(const void *args)
{
    return (uint32_t)((const views_args *)args)->n;
}

static sluice_status views_infer(const void *args, stage_schema *schema)
{
    return infer_views("views", views_count(args), schema);
}

static sluice_status views_geometry(const void *args, uint32_t view, uint32_t width,
                                    uint32_t height, stage_window *out)
{
    (void)args;
    (void)view;
    (void)width;
    (void)height;
    (void)out;
    return SLUICE_OK;
}

static const stage_param views_params[] = {
    PARAM_(views_args, n, PARAM_COUNT, NULL, 2, MOST_VIEWS, NULL, "number of views"),
};

const stage_def stage_views = {
    .name = "views",
    .summary = "Makes n views of each image, with random numbers of their own in later stages.",
    .example = "views 2 | random_resized_crop 96,128",
    .gives = "image u8 (height, width, C), in the batch (n, height, width, C)",
    .details = "Reference: Chen et al., \"A Simple Framework for Contrastive Learning of Visual "
               "Representations\" (2020).\n"
               "The image is decoded once, and all later stages run on each view with random "
               "numbers of their own. View 0 has the pixels of a pipeline without this stage. "
               "The image of the batch is (batch, n, height, width, C), or (batch, n, C, "
               "height, width) after to_chw.\n"
               "The stage comes among crops and resizes; those before it run once. A pipeline "
               "has one stage of views, five_crop and ten_crop.\n"
               "Workers convert the views, so the stage device and offload=device are "
               "refused, and maps that read the image, mosaic, mixup and cutmix. Masks, "
               "boxes, points, further images and the stage geometry are refused, since they "
               "would differ between the views.",
    .kind = STAGE_GEOMETRY,
    STAGE_PARAMS(views_params),
    .args_size = sizeof(views_args),
    .infer = views_infer,
    .geometry =
        &(const geometry_ops){
            .views =
                &(const view_ops){
                    .count = views_count,
                    .draw = views_geometry,
                },
        },
};

/* ---- five_crop and ten_crop ------------------------------------------------------------------ */

typedef struct five_args {
    param_size size;
} five_args;

typedef struct ten_args {
    param_size size;
    bool vertical_flip;
} ten_args;

static sluice_status check_fits(const char *stage, const param_size *size, uint64_t width,
                                uint64_t height)
{
    return crop_width(size) <= width && size->height <= height
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: an image of %llux%llu is smaller than the crop of %ux%u; put resize "
                          "before it",
                          stage, (unsigned long long)width, (unsigned long long)height,
                          crop_width(size), size->height);
}

static sluice_status infer_crops(const char *stage, const param_size *size, uint32_t count,
                                 stage_schema *schema)
{
    sluice_status st = infer_views(stage, count, schema);

    if (st == SLUICE_OK && !schema_lacks_size(schema)) {
        const uint64_t *shape = schema->columns[schema->image].shape;

        st = check_fits(stage, size, shape[SCHEMA_W], shape[SCHEMA_H]);
    }
    return st == SLUICE_OK ? crop_infer(size, stage, schema) : st;
}

/* Sets the crop of a view: the upper left, upper right, lower left and lower right corners, then
 * the centre. `flips`: of the image, before it is cropped. */
static sluice_status crop_view(const char *stage, const param_size *size, uint32_t view,
                               uint8_t flips, uint32_t width, uint32_t height, stage_window *out)
{
    const int64_t right = (int64_t)width - crop_width(size);
    const int64_t bottom = (int64_t)height - size->height;
    const int64_t x[FIVE] = {0, right, 0, right, centred_start(width, crop_width(size))};
    const int64_t y[FIVE] = {0, 0, bottom, bottom, centred_start(height, size->height)};

    out->crops = true;
    out->width = crop_width(size);
    out->height = size->height;
    out->x = (flips & SLI_ROW_FLIP) != 0 ? right - x[view % FIVE] : x[view % FIVE];
    out->y = (flips & SLI_ROW_FLIP_LINES) != 0 ? bottom - y[view % FIVE] : y[view % FIVE];
    return check_fits(stage, size, width, height);
}

static uint32_t five_count(const void *args)
{
    (void)args;
    return FIVE;
}

static sluice_status five_infer(const void *args, stage_schema *schema)
{
    return infer_crops("five_crop", &((const five_args *)args)->size, FIVE, schema);
}

static sluice_status five_geometry(const void *args, uint32_t view, uint32_t width, uint32_t height,
                                   stage_window *out)
{
    return crop_view("five_crop", &((const five_args *)args)->size, view, 0, width, height, out);
}

static const stage_param five_params[] = {
    PARAM_(five_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is a square"),
};

const stage_def stage_five_crop = {
    .name = "five_crop",
    .summary = "Makes five views of each image: crops of its four corners and of its centre.",
    .elsewhere = "FiveCrop",
    .example = "five_crop 64,80",
    .gives = "image u8 (height, width, C), in the batch (5, height, width, C)",
    .details = "Reference: torchvision.transforms.v2.FiveCrop.\n"
               "The views are the upper left, upper right, lower left and lower right corner, "
               "and the centre. An image smaller than the crop makes a bad sample. What is "
               "refused is as with views.",
    .kind = STAGE_GEOMETRY,
    STAGE_PARAMS(five_params),
    .args_size = sizeof(five_args),
    .infer = five_infer,
    .geometry =
        &(const geometry_ops){
            .views =
                &(const view_ops){
                    .count = five_count,
                    .draw = five_geometry,
                },
            .squares = true,
        },
};

static uint32_t ten_count(const void *args)
{
    (void)args;
    return 2 * FIVE;
}

static uint8_t ten_flips(const void *args, uint32_t view)
{
    const uint8_t flip =
        ((const ten_args *)args)->vertical_flip ? SLI_ROW_FLIP_LINES : SLI_ROW_FLIP;

    return view >= FIVE ? flip : 0;
}

static sluice_status ten_infer(const void *args, stage_schema *schema)
{
    return infer_crops("ten_crop", &((const ten_args *)args)->size, 2 * FIVE, schema);
}

static sluice_status ten_geometry(const void *args, uint32_t view, uint32_t width, uint32_t height,
                                  stage_window *out)
{
    return crop_view("ten_crop", &((const ten_args *)args)->size, view, ten_flips(args, view),
                     width, height, out);
}

static const stage_param ten_params[] = {
    PARAM_(ten_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is a square"),
    PARAM_(ten_args, vertical_flip, PARAM_BOOL, "false", 0, 0, NULL,
           "the last five views are upside down; false: left to right"),
};

const stage_def stage_ten_crop = {
    .name = "ten_crop",
    .summary = "Makes ten views of each image: those of five_crop, and of the flipped image.",
    .elsewhere = "TenCrop",
    .example = "ten_crop 48,64",
    .gives = "image u8 (height, width, C), in the batch (10, height, width, C)",
    .details = "Reference: torchvision.transforms.v2.TenCrop.\n"
               "The views are those of five_crop, then those of the flipped image. An image "
               "smaller than the crop makes a bad sample. What is refused is as with views.",
    .kind = STAGE_GEOMETRY,
    STAGE_PARAMS(ten_params),
    .args_size = sizeof(ten_args),
    .infer = ten_infer,
    .geometry =
        &(const geometry_ops){
            .views =
                &(const view_ops){
                    .count = ten_count,
                    .draw = ten_geometry,
                    .flips = ten_flips,
                },
            .squares = true,
        },
};
