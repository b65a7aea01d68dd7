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

/* A value of each argument other than its default, and what an identity has of it. */
static const struct {
    const char *source;
    const char *param;
    const char *value;
    source_argument is;
} arguments[] = {
    {"cifar10", "dir", "/x", ARGUMENT_PLACE},
    {"cifar10", "split", "test", ARGUMENT_DATA},
    {"cifar100", "dir", "/x", ARGUMENT_PLACE},
    {"cifar100", "split", "test", ARGUMENT_DATA},
    {"cifar100", "label", "coarse", ARGUMENT_DATA},
    {"coco", "file", "/x", ARGUMENT_PLACE},
    {"coco", "root", "/x", ARGUMENT_NONE},
    {"coco", "iscrowd", "keep", ARGUMENT_DATA},
    {"coco", "max_boxes", "7", ARGUMENT_DATA},
    {"coco", "masks", "semantic", ARGUMENT_DATA},
    {"coco", "keypoints", "17", ARGUMENT_DATA},
    {"image_folder", "dir", "/x", ARGUMENT_PLACE},
    {"image_folder", "extensions", "jpg", ARGUMENT_NONE},
    {"image_folder", "index", "/x", ARGUMENT_NONE},
    {"image_folder", "cache", "drop", ARGUMENT_NONE},
    {"image_folder", "recursive", "true", ARGUMENT_NONE},
    {"image_list", "file", "/x", ARGUMENT_PLACE},
    {"image_list", "root", "/x", ARGUMENT_NONE},
    {"image_list", "masks", "/x", ARGUMENT_PLACE},
    {"image_list", "suffix", "_m", ARGUMENT_DATA},
    {"image_list", "classes", "/x", ARGUMENT_NONE},
    {"image_list", "fields", "image=a,label:class=b.c", ARGUMENT_DATA},
    {"mnist", "files", "/x", ARGUMENT_PLACE},
    {"mnist", "split", "test", ARGUMENT_DATA},
    {"npy", "files", "/x", ARGUMENT_PLACE},
    {"npy", "names", "a,b", ARGUMENT_DATA},
    {"npy", "members", "a,b", ARGUMENT_DATA},
    {"npy", "ragged", "a:9", ARGUMENT_DATA},
    {"synthetic", "samples", "8", ARGUMENT_NONE},
    {"synthetic", "shape", "7,7,3", ARGUMENT_DATA},
    {"synthetic", "classes", "7", ARGUMENT_DATA},
    {"tfrecord", "files", "/x", ARGUMENT_PLACE},
    {"tfrecord", "fields", "a:b@i32", ARGUMENT_DATA},
    {"tfrecord", "index", "/x", ARGUMENT_NONE},
    {"tfrecord", "cache", "drop", ARGUMENT_NONE},
    {"tfrecord", "max_sample", "1M", ARGUMENT_NONE},
    {"recordio", "files", "/x", ARGUMENT_PLACE},
    {"recordio", "fields", "a:b@i32", ARGUMENT_DATA},
    {"recordio", "index", "/x", ARGUMENT_NONE},
    {"recordio", "cache", "drop", ARGUMENT_NONE},
    {"lmdb", "files", "/x", ARGUMENT_PLACE},
    {"lmdb", "fields", "a:b@i32", ARGUMENT_DATA},
    {"lmdb", "index", "/x", ARGUMENT_NONE},
    {"lmdb", "cache", "drop", ARGUMENT_NONE},
    {"mindrecord", "files", "/x", ARGUMENT_PLACE},
    {"mindrecord", "fields", "a:b@i32", ARGUMENT_DATA},
    {"mindrecord", "index", "/x", ARGUMENT_NONE},
    {"mindrecord", "cache", "drop", ARGUMENT_NONE},
    {"voc", "dir", "/x", ARGUMENT_PLACE},
    {"voc", "split", "val", ARGUMENT_DATA},
    {"voc", "names", "a,b", ARGUMENT_NONE},
    {"voc", "difficult", "keep", ARGUMENT_DATA},
    {"voc", "masks", "semantic", ARGUMENT_DATA},
    {"voc", "max_boxes", "7", ARGUMENT_DATA},
    {"webdataset", "shards", "/x", ARGUMENT_PLACE},
    {"webdataset", "image", "png", ARGUMENT_DATA},
    {"webdataset", "label", "id", ARGUMENT_DATA},
    {"webdataset", "index", "/x", ARGUMENT_NONE},
    {"webdataset", "cache", "drop", ARGUMENT_NONE},
    {"webdataset", "access", "stream", ARGUMENT_NONE},
    {"webdataset", "max_sample", "1M", ARGUMENT_NONE},
    {"webdataset", "classes", "/x", ARGUMENT_NONE},
    {"webdataset", "fields", "image:jpg,n:txt[5]", ARGUMENT_DATA},
    {"yolo", "dir", "/x", ARGUMENT_PLACE},
    {"yolo", "split", "val", ARGUMENT_DATA},
    {"yolo", "root", "/x", ARGUMENT_NONE},
    {"yolo", "max_boxes", "7", ARGUMENT_DATA},
    {"yolo", "masks", "semantic", ARGUMENT_DATA},
    {"yolo", "keypoints", "17", ARGUMENT_DATA},
};

static size_t find_row(const char *source, const char *param)
{
    size_t i = 0;

    while (i < COUNT(arguments) &&
           (strcmp(arguments[i].source, source) != 0 || strcmp(arguments[i].param, param) != 0)) {
        i++;
    }
    return i;
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

/* A new argument fails here until somebody has decided what it is. */
static void every_argument_is_in_the_identity_or_has_a_reason(void)
{
    size_t found = 0;

    for (const stage_def *const *at = stage_table_with_calls; *at != NULL; at++) {
        const stage_def *def = *at;

        for (uint32_t i = 0; def->kind == STAGE_SOURCE && i < def->param_count; i++) {
            const size_t row = find_row(def->name, def->params[i].name);

            if (def->source->identifies) {
                continue; /* all arguments are stages of the state; test_stages_compare.c */
            }
            if (row == COUNT(arguments)) {
                printf("%s %s= is in no row\n", def->name, def->params[i].name);
                T_TRUE(false);
                continue;
            }
            found++;
            T_EQ(source_argument_of(def, &def->params[i]), arguments[row].is);
            check_argument(def, &def->params[i], arguments[row].value, arguments[row].is);
        }
    }
    T_EQ(found, COUNT(arguments));
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
