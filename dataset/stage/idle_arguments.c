/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table of the arguments that may be given without effect. An argument is given if its value is
 * not the default. A rule with `never` holds wherever the stage is: the argument is an error. The
 * others depend on other stages, the source or the number of ranks: they are listed.
 */
#include "idle_arguments.h"

#include <string.h>

#include "alloc_int.h"
#include "idle_int.h"
#include "status_int.h"

/* Where a stage is; dataset is NULL while its arguments are checked. */
typedef struct idle_place {
    const stage_def *def;
    const void *args;
    const sluice_dataset *dataset;
    uint32_t stage;
    const idle_run *run; /* NULL: not known yet */
} idle_place;

typedef struct idle_rule {
    const char *stage; /* NULL: every stage with this parameter */
    const char *param; /* NULL: the stage itself */
    const char *value; /* the rule is for this value; NULL: for each that is not the default */
    const char *other; /* it holds if this parameter of the stage has the value `is`, */
    const char *is;
    const char *is_not;                     /* or has not this value, */
    bool (*holds)(const idle_place *place); /* or if this is true */
    bool never;
    const char *why;
} idle_rule;

static bool is_indexed(const idle_place *place)
{
    return !dataset_is_stream(place->dataset);
}

static bool is_stream(const idle_place *place)
{
    return dataset_is_stream(place->dataset);
}

static bool has_no_masks(const idle_place *place)
{
    const stage_schema *schema = &place->dataset->source_schema;

    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].role == ROLE_MASK) {
            return false;
        }
    }
    return true;
}

static const stage_param *find_param(const stage_def *def, const char *name)
{
    for (uint32_t i = 0; i < def->param_count; i++) {
        if (strcmp(def->params[i].name, name) == 0) {
            return &def->params[i];
        }
    }
    return NULL;
}

/* Compares an argument with a text, as it prints. */
typedef enum comparison { DIFFERS, EQUALS, NO_MEMORY } comparison;

static comparison compare(const idle_place *place, const char *name, const char *text)
{
    sli_text printed = {0};
    comparison result = NO_MEMORY;

    stage_arg_print(find_param(place->def, name), place->args, &printed);
    if (!printed.failed) {
        result = strcmp(printed.data != NULL ? printed.data : "", text) == 0 ? EQUALS : DIFFERS;
    }
    sli_text_free(&printed);
    return result;
}

/* True if a random_crop pads nothing. */
static bool is_not_padded(const idle_place *place)
{
    return compare(place, "padding", "0") == EQUALS &&
           compare(place, "pad_if_needed", "false") == EQUALS;
}

static bool is_alone(const idle_place *place)
{
    return place->run->world == 1;
}

/* True if no resize is fused with decoding. */
static bool is_decoded_full_size(const idle_place *place)
{
    return !place->run->decode.resizes;
}

/* True if no crop is fused with decoding. */
static bool is_decoded_whole(const idle_place *place)
{
    return !place->run->decode.crops;
}

static bool is_last_before_batch(const idle_place *place)
{
    const dataset_stage *after = &place->dataset->stages[place->stage + 1];

    return place->stage + 1 == place->dataset->stage_count ||
           strcmp(after->def->name, "batch") == 0;
}

#define NEAREST_RULE(name)                                                                         \
    {                                                                                              \
        .stage = (name), .param = "antialias", .other = "filter", .is = "nearest",                 \
        .why = "filter=nearest takes one pixel and never filters"                                  \
    }

#define OFFSET_RULE(name)                                                                          \
    {                                                                                              \
        .stage = "box_encoder", .param = (name), .other = "offset", .is = "false", .never = true,  \
        .why = "offset=false gives boxes as they are; set offset=true"                             \
    }

#define THRESHOLD_RULE(name)                                                                       \
    {                                                                                              \
        .stage = "random_bbox_crop", .param = (name), .other = "thresholds", .is = "0",            \
        .never = true, .why = "every crop has the threshold 0; set thresholds=, such as 0,0.3,0.5" \
    }

static const idle_rule rules[] = {
    {.stage = "split",
     .param = "test",
     .other = "part",
     .is_not = "val",
     .never = true,
     .why = "test= is the share that part=val leaves to part=test; set fraction= for this part"},
    {.stage = "shard",
     .param = "world",
     .other = "rank",
     .is = "none",
     .never = true,
     .why = "with rank=none every rank gets every sample"},
    {.stage = "pad_image",
     .param = "fill",
     .other = "mode",
     .is_not = "constant",
     .why = "this mode continues the image; fill is for mode=constant"},
    {.stage = "pad_image",
     .param = "mask_fill",
     .other = "mode",
     .is_not = "constant",
     .why = "this mode continues the mask; mask_fill is for mode=constant"},
    {.stage = "random_crop",
     .param = "fill",
     .holds = is_not_padded,
     .why = "there is no padding; fill is for padding= and pad_if_needed=true"},
    {.stage = "random_crop",
     .param = "mask_fill",
     .holds = is_not_padded,
     .why = "there is no padding; mask_fill is for padding= and pad_if_needed=true"},
    THRESHOLD_RULE("threshold_type"),
    THRESHOLD_RULE("all_boxes_above_threshold"),
    OFFSET_RULE("scale"),
    OFFSET_RULE("means"),
    OFFSET_RULE("stds"),
    {.stage = "gaussian_blur",
     .param = "sigma",
     .other = "kernel_size",
     .is = "1",
     .never = true,
     .why = "a kernel of 1 pixel does not blur"},
    {.param = "border",
     .other = "filter",
     .is = "nearest",
     .never = true,
     .why = "filter=nearest takes one pixel; set filter=bilinear"},
    NEAREST_RULE("resize"),
    NEAREST_RULE("random_resized_crop"),
    NEAREST_RULE("random_resize"),
    NEAREST_RULE("scale_jitter"),
    NEAREST_RULE("random_shortest_size"),
    NEAREST_RULE("letterbox"),
    NEAREST_RULE("mosaic"),
    {.stage = "rand_augment",
     .param = "magnitude",
     .other = "num_ops",
     .is = "0",
     .never = true,
     .why = "num_ops=0 applies nothing"},
    {.stage = "shuffle",
     .param = "buffer",
     .holds = is_indexed,
     .why = "the source is read by index, and all of its samples are shuffled; a buffer is for "
            "streams"},
    {.stage = "webdataset",
     .param = "max_sample",
     .holds = is_indexed,
     .why = "the shards have an index; it is for streams"},
    {.stage = "webdataset",
     .param = "index",
     .holds = is_stream,
     .why = "the shards are read as a stream"},
    {.stage = "decode",
     .param = "fast_scale",
     .holds = is_decoded_full_size,
     .why = "no resize is fused with decoding, so images are decoded at full size"},
    {.stage = "image_folder",
     .param = "index",
     .holds = is_decoded_whole,
     .why = "no crop is fused with decoding, and whole images are decoded without an index"},
    {.stage = "device", .holds = is_last_before_batch, .why = "no stage of the image follows"},
    {.param = "mask_fill", .holds = has_no_masks, .why = "there are no masks"},
    {.param = "p", .value = "0", .why = "the stage is never applied"},
    {.stage = "cache", .param = "shared", .holds = is_alone, .why = "there is one rank"},
};

/* True if the value of the argument is not the default. */
static bool is_given(const idle_place *place, const stage_param *param)
{
    dataset_stage usual = {.def = place->def};
    sli_text text = {0};
    bool is_other = false;

    if (param->default_text == NULL) {
        return true;
    }
    if (stage_arg_parse(place->def, param, param->default_text, usual.args.bytes) == SLUICE_OK) {
        stage_arg_print(param, usual.args.bytes, &text);
        is_other = !text.failed &&
                   compare(place, param->name, text.data != NULL ? text.data : "") == DIFFERS;
        if (param->type == PARAM_TEXT) {
            sli_free(*(char **)(void *)(usual.args.bytes + param->offset));
        }
    }
    sli_text_free(&text);
    return is_other;
}

static bool applies(const idle_rule *rule, const idle_place *place)
{
    const stage_param *param = NULL;

    if (rule->stage != NULL && strcmp(rule->stage, place->def->name) != 0) {
        return false;
    }
    if (rule->param == NULL) {
        return rule->holds(place);
    }
    param = find_param(place->def, rule->param);
    if (param == NULL) {
        return false;
    }
    if (rule->value != NULL ? compare(place, rule->param, rule->value) != EQUALS
                            : !is_given(place, param)) {
        return false;
    }
    if (rule->other != NULL) {
        return rule->is != NULL ? compare(place, rule->other, rule->is) == EQUALS
                                : compare(place, rule->other, rule->is_not) == DIFFERS;
    }
    return rule->holds == NULL || rule->holds(place);
}

/* Appends "NAME=VALUE" of the argument. */
static void print_argument(const idle_rule *rule, const idle_place *place, sli_text *text)
{
    sli_text_add(text, "%s=", rule->param);
    stage_arg_print(find_param(place->def, rule->param), place->args, text);
}

sluice_status idle_arguments_check(const stage_def *def, const void *args)
{
    const idle_place place = {.def = def, .args = args};

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].never && applies(&rules[i], &place)) {
            sli_text argument = {0};
            sluice_status st;

            print_argument(&rules[i], &place, &argument);
            st = sli_fail(SLUICE_E_INVALID, "%s: %s has no effect: %s", def->name,
                          argument.data != NULL ? argument.data : rules[i].param, rules[i].why);
            sli_text_free(&argument);
            return st;
        }
    }
    return SLUICE_OK;
}

void sli_idle_add(sli_text *list, const char *what, const char *why)
{
    sli_text_add(list, "%s%s (%s)", list->data != NULL ? ", " : "", what, why);
}

void idle_arguments_list(const sluice_dataset *dataset, const idle_run *run, sli_text *text)
{
    for (uint32_t k = 0; k < dataset->stage_count; k++) {
        const idle_place place = {dataset->stages[k].def, dataset->stages[k].args.bytes, dataset, k,
                                  run};

        for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
            sli_text what = {0};

            if (rules[i].never || !applies(&rules[i], &place)) {
                continue;
            }
            sli_text_add(&what, "%s", place.def->name);
            if (rules[i].param != NULL) {
                sli_text_add(&what, " ");
                print_argument(&rules[i], &place, &what);
            }
            sli_idle_add(text, what.data != NULL ? what.data : place.def->name, rules[i].why);
            sli_text_free(&what);
        }
    }
}
