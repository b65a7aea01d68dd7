/* SPDX-License-Identifier: Apache-2.0 */
/* skip_empty: a filter of the library, which drops samples without a box. */
#include <stdio.h>

#include "custom_map.h"
#include "custom_sample.h"
#include "image_notes_int.h"
#include "map_ops.h"
#include "status_int.h"

typedef struct skip_args {
    map_args map; /* of all filters */
    const char *column;
} skip_args;

/* Keeps a sample with boxes. The input is the column of boxes, or their number. */
static sluice_status keep_boxes(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    const sluice_sample_view *boxes = &sample->inputs[0].view;

    (void)user;
    *keep_out = boxes->rank > 0 ? boxes->shape[0] > 0 : *(const int32_t *)boxes->data > 0;
    return SLUICE_OK;
}

static sluice_status skip_make(const stage_def *def, void *opaque)
{
    skip_args *args = opaque;
    const char *const inputs[] = {"boxes"}; /* until skip_infer() */
    const sluice_filter filter = {
        .name = def->name, .version = 1, .inputs = inputs, .input_count = 1, .filter = keep_boxes};
    const sluice_status st = custom_filter_make(&filter, def->name, &args->map.map);

    if (st == SLUICE_OK) {
        args->map.map->is_added = true;
        args->map.map->note = 1 + SLI_IMAGE_WITHOUT_BOXES;
    }
    return st;
}

/*
 * The column that the filter reads: before decode the number of boxes, which is known before the
 * image is; else the boxes as all geometry leaves them.
 */
static const char *input_of(const stage_schema *schema, uint32_t boxes)
{
    const int length = schema_find_buffer(schema, schema->infos[boxes].length);
    const bool is_encoded =
        schema->image >= 0 && schema->columns[schema->image].dtype == SLUICE_ENCODED;

    return is_encoded && length >= 0 ? schema->columns[length].name : schema->columns[boxes].name;
}

static sluice_status skip_infer(const void *opaque, stage_schema *schema)
{
    const skip_args *args = opaque;
    const int boxes = schema_find(schema, args->column);

    if (boxes < 0) {
        return schema_no_column(schema, "skip_empty", args->column);
    }
    if (schema->infos[boxes].role != ROLE_BOXES) {
        return sli_fail(SLUICE_E_INVALID, "skip_empty: %s is %s, and must be a column of boxes%s",
                        args->column, schema_role_words(schema, (uint32_t)boxes),
                        schema_has(schema, STATE_BOXES_FINAL) &&
                                schema->infos[boxes].role == ROLE_PLAIN
                            ? "; put skip_empty before box_format or box_encoder"
                            : "");
    }
    snprintf(args->map.map->inputs[0], SLUICE_NAME_SIZE, "%s", input_of(schema, (uint32_t)boxes));
    return custom_map_infer(args->map.map, schema);
}

static const stage_param skip_params[] = {
    PARAM_(skip_args, column, PARAM_TEXT, "boxes", 0, 0, NULL, "the column of boxes"),
};

const stage_def stage_skip_empty = {
    .name = "skip_empty",
    .summary = "Leaves out samples without boxes.",
    .gives = "some of the samples",
    .details =
        "After decode it counts the boxes that are left after all crops, resizes and warps, "
        "which come before it, and after sanitize_boxes. Before decode it counts those of "
        "the source, and the images of samples without boxes are not decoded. The report has the "
        "number of "
        "samples that were left out (`without_boxes`).\n"
        "It is a filter: the number of samples of a pass is known at its end only, stages of "
        "order come before it, and a resumed run loads the samples of its pass again "
        "(docs/guide/functions.md).",
    .kind = STAGE_MAP,
    STAGE_PARAMS(skip_params),
    .args_size = sizeof(skip_args),
    .make = skip_make,
    .release = custom_map_release,
    .infer = skip_infer,
    .map =
        &(const map_ops){
            .goes_before_geometry = custom_map_goes_before_geometry,
            .is_filter = true,
            .is_of_library = true,
        },
};
