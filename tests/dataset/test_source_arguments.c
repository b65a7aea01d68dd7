/* SPDX-License-Identifier: Apache-2.0 */
/* Which arguments of the sources of files a run must have unchanged to be resumed: all of them, but
 * those of a table here with a reason. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "dataset_parts.h"
#include "plan_int.h"
#include "source_arguments.h"
#include "source_stage_ops.h"
#include "stage_table.h"
#include "testing.h"

/* What an identity has of an argument that it does not have as data; of each source if `source` is
 * NULL. The required path of a source is ARGUMENT_PLACE without a row. */
static const struct {
    const char *source;
    const char *param;
    source_argument is;
} exceptions[] = {
    {"coco", "root", ARGUMENT_NONE},
    {"image_folder", "extensions", ARGUMENT_NONE},
    {"image_folder", "recursive", ARGUMENT_NONE},
    {"image_list", "root", ARGUMENT_NONE},
    {"image_list", "masks", ARGUMENT_PLACE},
    {"image_list", "classes", ARGUMENT_NONE},
    {"synthetic", "samples", ARGUMENT_NONE},
    {"voc", "names", ARGUMENT_NONE},
    {"webdataset", "access", ARGUMENT_NONE},
    {"webdataset", "classes", ARGUMENT_NONE},
    {"yolo", "root", ARGUMENT_NONE},
    {NULL, "index", ARGUMENT_NONE},
    {NULL, "cache", ARGUMENT_NONE},
    {NULL, "max_sample", ARGUMENT_NONE},
};

static source_argument expected(const stage_def *def, const stage_param *param)
{
    for (size_t i = 0; i < COUNT(exceptions); i++) {
        if ((exceptions[i].source == NULL || strcmp(exceptions[i].source, def->name) == 0) &&
            strcmp(exceptions[i].param, param->name) == 0) {
            return exceptions[i].is;
        }
    }
    return param->default_text == NULL ? ARGUMENT_PLACE : ARGUMENT_DATA;
}

/* A value other than the default. */
static const char *other_value(const stage_param *param)
{
    const char *usual = param->default_text;

    switch (param->type) {
    case PARAM_TEXT:
        return "/x";
    case PARAM_CHOICE:
        return param->choices[strcmp(usual, param->choices[0]) == 0];
    case PARAM_BOOL:
        return strcmp(usual, "true") == 0 ? "false" : "true";
    case PARAM_BYTES:
        return "3M";
    case PARAM_SHAPE:
        return "7,7,3";
    default:
        return "8";
    }
}

/* The text of a source that has one argument; required ones have the value "1". */
static char *text_with(const stage_def *def, const stage_param *with, const char *value)
{
    sluice_dataset *dataset = calloc(1, sizeof(*dataset));
    void *args = dataset->stages[0].args.bytes;
    sli_text text = {0};
    char *taken = NULL;

    dataset->stages[0].def = def;
    T_OK(stage_args_default(def, args));
    for (uint32_t i = 0; i < def->param_count; i++) {
        const stage_param *param = &def->params[i];

        if (param == with || param->default_text == NULL) {
            T_OK(stage_arg_parse(def, param, param == with ? value : "1", args));
        }
    }
    dataset_print_source(dataset, SOURCE_OF_DATA, &text);
    T_OK(sli_text_take(&text, &taken));
    stage_args_free(def, args);
    free(dataset);
    return taken;
}

static void check_argument(const stage_def *def, const stage_param *param, const char *value,
                           source_argument is)
{
    char *usual = text_with(def, NULL, NULL);
    char *other = text_with(def, param, value);
    const bool required = param->default_text == NULL;
    char words[100];

    snprintf(words, sizeof(words), "%s: %s was ", def->name, param->name);
    if (is == ARGUMENT_NONE || (is == ARGUMENT_PLACE && required)) {
        T_STR(other, usual);
    } else {
        T_STATUS(sli_stages_compare(usual, other), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), words);
        T_STATUS(sli_stages_compare(other, usual), SLUICE_E_INVALID);
    }
    T_TRUE(strstr(other, is == ARGUMENT_DATA ? "\n" : value) == NULL);
    sluice_string_free(usual);
    sluice_string_free(other);
}

/* A new argument of a source is in its identity, unless the table of source_arguments.c says why
 * not. */
static void every_argument_is_in_the_identity_or_has_a_reason(void)
{
    uint32_t found = 0;

    for (const stage_def *const *at = stage_table_with_calls; *at != NULL; at++) {
        const stage_def *def = *at;

        for (uint32_t i = 0; def->kind == STAGE_SOURCE && i < def->param_count; i++) {
            const stage_param *param = &def->params[i];

            if (def->source->identifies) {
                continue; /* all arguments are stages of the state; test_stages_compare.c */
            }
            found++;
            T_EQ(source_argument_of(def, param), expected(def, param));
            check_argument(def, param, other_value(param), expected(def, param));
        }
    }
    T_TRUE(found > 60);
}

/* The argument of a part of a group is in the text of the group. */
static void the_arguments_of_parts_count(void)
{
    const sli_run_settings settings = {.world = 1};
    char *texts[2];

    for (int i = 0; i < 2; i++) {
        sli_dataset_identity identity;
        sli_plan *plan;
        sluice_dataset *dataset = parsedf(
            "concat (synthetic 4 shape=2,2,3 classes=%d) (synthetic 4 shape=2,2,3) | batch 2",
            i + 2);

        T_OK(sli_plan_open(dataset, &settings, &plan));
        T_OK(sli_plan_identity(plan, &identity));
        texts[i] = identity.source;
        T_STR(identity.stages, "concat (synthetic) (synthetic)");
        sluice_string_free(identity.stages);
        sli_plan_close(plan);
        sluice_dataset_destroy(dataset);
    }
    T_STATUS(sli_stages_compare(texts[0], texts[1]), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "concat: parts was (synthetic shape=2,2,3 classes=2)");
    sluice_string_free(texts[0]);
    sluice_string_free(texts[1]);
}

const t_test source_arguments_tests[] = {
    T_TEST(every_argument_is_in_the_identity_or_has_a_reason),
    T_TEST(the_arguments_of_parts_count),
    T_END,
};
