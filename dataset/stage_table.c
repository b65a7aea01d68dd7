/* SPDX-License-Identifier: Apache-2.0 */
/* Every stage there is: a line each, in the order of help. */
#include <string.h>

#include "names.h"
#include "stage.h"
#include "status_int.h"

#define STAGES(X)                                                                                  \
    X(image_folder)                                                                                \
    X(webdataset)                                                                                  \
    X(cifar10)                                                                                     \
    X(synthetic) X(shuffle) X(shard) X(split) X(take) X(skip) X(repeat) X(decode) X(resize)        \
        X(center_crop) X(random_crop) X(random_resized_crop) X(random_horizontal_flip)             \
            X(normalize) X(to_dtype) X(to_chw) X(batch)

#define DECLARE(name) extern const stage_def stage_##name;
STAGES(DECLARE)

#define ENTRY(name) &stage_##name,
const stage_def *const stage_table[] = {STAGES(ENTRY) NULL};

const stage_def *stage_find(const char *name)
{
    for (size_t i = 0; stage_table[i] != NULL; i++) {
        if (strcmp(stage_table[i]->name, name) == 0) {
            return stage_table[i];
        }
    }
    return NULL;
}

static const char *device_note(const stage_def *def)
{
    return def->kind == STAGE_CONVERSION ? "workers or device" : "workers";
}

static void help_one(const stage_def *def, sli_text *text)
{
    sli_text_add(text, "%s", def->name);
    for (uint32_t i = 0; i < def->param_count; i++) {
        const stage_param *param = &def->params[i];

        if (param->default_text == NULL) {
            sli_text_add(text, " %s", param->name);
        } else {
            sli_text_add(text, " %s=%s", param->name, param->default_text);
        }
    }
    sli_text_add(text, "\n    %s\n", def->summary);
    for (uint32_t i = 0; i < def->param_count; i++) {
        const stage_param *param = &def->params[i];

        sli_text_add(text, "    %-14s %s", param->name, param->help);
        for (uint32_t k = 0; param->choices != NULL && param->choices[k] != NULL; k++) {
            sli_text_add(text, "%s%s", k == 0 ? " (" : ", ", param->choices[k]);
        }
        sli_text_add(text, "%s\n", param->choices != NULL ? ")" : "");
    }
    sli_text_add(text, "    gives %s", def->gives);
    if (def->kind >= STAGE_DECODE && def->kind <= STAGE_CONVERSION) {
        sli_text_add(text, "; runs on %s", device_note(def));
    }
    sli_text_add(text, "\n");
}

sluice_status sluice_stage_help(const char *name, char **text_out)
{
    sli_text text = {0};

    if (text_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_stage_help: text_out is NULL");
    }
    if (name != NULL && stage_find(name) == NULL) {
        const char *nearest = name_nearest_stage(name);

        return sli_fail(SLUICE_E_INVALID, "no stage '%s'%s%s", name,
                        nearest != NULL ? "; nearest is " : "", nearest != NULL ? nearest : "");
    }
    for (size_t i = 0; stage_table[i] != NULL; i++) {
        if (name == NULL || strcmp(name, stage_table[i]->name) == 0) {
            if (text.length > 0) {
                sli_text_add(&text, "\n");
            }
            help_one(stage_table[i], &text);
        }
    }
    return sli_text_take(&text, text_out);
}
