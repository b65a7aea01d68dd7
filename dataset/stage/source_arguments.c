/* SPDX-License-Identifier: Apache-2.0 */
#include "source_arguments.h"

#include <string.h>

#include "source_stage_ops.h"

typedef struct argument_row {
    const char *source;
    const char *param;
    source_argument is;
} argument_row;

/* Arguments of sources of files that are not ARGUMENT_DATA. The required path of each source is
 * ARGUMENT_PLACE without a row. Without `source` a row holds for all sources. */
static const argument_row rows[] = {
    /* Number and names of the samples are part of the identity. */
    {"synthetic", "samples", ARGUMENT_NONE},
    {"image_folder", "extensions", ARGUMENT_NONE},
    {"image_folder", "recursive", ARGUMENT_NONE},
    /* A stream has another number of samples than the same shards by index. */
    {"webdataset", "access", ARGUMENT_NONE},
    /* The names of classes are part of the identity (source_ops.identity). */
    {"image_list", "classes", ARGUMENT_NONE},
    {"voc", "names", ARGUMENT_NONE},
    {"webdataset", "classes", ARGUMENT_NONE},
    /* Places of the same files. */
    {"image_list", "root", ARGUMENT_NONE},
    {"coco", "root", ARGUMENT_NONE},
    {"yolo", "root", ARGUMENT_NONE},
    {"image_list", "masks", ARGUMENT_PLACE}, /* without it there is no column mask */
    /* Ways to the same bytes. */
    {NULL, "index", ARGUMENT_NONE},
    {NULL, "cache", ARGUMENT_NONE},
    /* A limit beyond which a sample is bad: a run that failed there may go on with a larger one. */
    {NULL, "max_sample", ARGUMENT_NONE},
};

source_argument source_argument_of(const stage_def *def, const stage_param *param)
{
    const source_stage_ops *ops = def->source;

    if (ops->identifies) {
        return ops->path != NULL && strcmp(ops->path, param->name) == 0 ? ARGUMENT_PLACE
                                                                        : ARGUMENT_DATA;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if ((rows[i].source == NULL || strcmp(rows[i].source, def->name) == 0) &&
            strcmp(rows[i].param, param->name) == 0) {
            return rows[i].is;
        }
    }
    return param->default_text == NULL && param->type == PARAM_TEXT ? ARGUMENT_PLACE
                                                                    : ARGUMENT_DATA;
}
