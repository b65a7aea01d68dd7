/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two texts of stages to decide whether they give the same results. Three differences have
 * no effect: where conversions run (offload), the positions of flips and to_chw among conversions,
 * and the positions of order stages among other stages. A flip does not change places with a warp,
 * random_erasing, or another flip if both exchange points. Missing arguments have their defaults; a
 * missing orient of decode is equal to any (stages_stored.h).
 * Other differences are listed. For the list, as many stages as possible are matched by name, in
 * order.
 */
#include <string.h>

#include "alloc_int.h"
#include "conversion_ops.h"
#include "dataset_state.h"
#include "log_int.h"
#include "nested_stages.h"
#include "pipeline_text.h"
#include "plan_int.h"
#include "stage_kinds.h"
#include "stage_registry.h"
#include "stages_allowed_int.h"
#include "stages_stored.h"

typedef struct stage_list {
    dataset_stage stages[DATASET_MAX_STAGES];
    uint32_t count;
} stage_list;

typedef struct comparison {
    stage_list kept;     /* stages of the checkpoint */
    stage_list mine;     /* stages of this run */
    bool lacks_orient;   /* kept is of a version before decode orient= */
    const char *allowed; /* arguments that may differ (stages_allowed_int.h); NULL: none */
    /*
     * matches[i][k]: maximum number of matches between the stages from i on in `kept` and from k on
     * in `mine`.
     */
    uint8_t matches[DATASET_MAX_STAGES + 1][DATASET_MAX_STAGES + 1];
    sli_text differences;
} comparison;

/*
 * ---- the canonical order of stages --------------------------------------------------------------
 */

/* True if a stage has positions in the image, so that a flip before it gives another result than
 * one after it. */
static bool has_positions(const dataset_stage *stage)
{
    const nested_stages *nested = nested_in(stage);

    for (uint32_t i = 0; nested != NULL && i < nested->stage_count; i++) {
        if (has_positions(&nested->stages[i])) {
            return true;
        }
    }
    return stage_erases(stage->def) || (nested == NULL && stage_places(stage->def));
}

/* True for a flip that exchanges points. */
static bool swaps_points(const dataset_stage *stage)
{
    const stage_def *def = stage->def;

    for (uint32_t i = 0; def->flip != NULL && i < def->param_count; i++) {
        if (strcmp(def->params[i].name, "swap") == 0) {
            return (*(char *const *)(const void *)(stage->args.bytes + def->params[i].offset))[0] !=
                   '\0';
        }
    }
    return false;
}

/* True if a stage gives another result before a flip than after it. */
static bool depends_on_flip(const dataset_stage *stage, const dataset_stage *flip)
{
    return stage_moves(flip->def) && flip->def->flip != NULL &&
           (has_positions(stage) || (swaps_points(stage) && swaps_points(flip)));
}

/*
 * True if stage `first` must precede stage `second` in the canonical order. Texts that give the
 * same results have the same canonical order. Stages without a rule keep their order.
 */
static bool comes_before(const dataset_stage *first, const dataset_stage *second)
{
    const stage_def *a = first->def;
    const stage_def *b = second->def;

    if ((b->kind == STAGE_MAP || b->kind == STAGE_ARRAY || b->kind == STAGE_PACK ||
         b->kind == STAGE_BUCKET) &&
        a->kind != STAGE_INDEX) {
        return false; /* stages after these may use their outputs, so they stay after them */
    }
    if ((a->kind == STAGE_GEOMETRY && b->kind == STAGE_COLOR) ||
        (a->kind == STAGE_COLOR && b->kind == STAGE_GEOMETRY)) {
        return false; /* they do not commute: an image is resized before it is brightened, or after
                       */
    }
    if (depends_on_flip(first, second)) { /* flips are never moved forward past another kind */
        return false;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind;
    }
    if (stage_moves(a) != stage_moves(b)) {
        return stage_moves(b);
    }
    return stage_moves(a) && strcmp(a->name, b->name) < 0;
}

static void sort_stages(stage_list *list)
{
    for (uint32_t i = 1; i < list->count; i++) {
        const dataset_stage stage = list->stages[i];
        uint32_t k = i;

        for (; k > 0 && comes_before(&stage, &list->stages[k - 1]); k--) {
            list->stages[k] = list->stages[k - 1];
        }
        list->stages[k] = stage;
    }
}

/*
 * Replaces definitions by those for converted images, and by those before geometry, as when the
 * stages are added. A stage after to_chw alone does the same as before it, so it keeps its
 * definition.
 */
static void choose_definitions(stage_list *list)
{
    bool is_converted = false;

    for (uint32_t i = 0; i < list->count; i++) {
        const stage_def *def = list->stages[i].def;

        if (def->kind == STAGE_GEOMETRY) {
            stages_begin_geometry(list->stages, i);
        }

        is_converted = is_converted || (def->kind == STAGE_CONVERSION && !stage_moves(def));
        if (is_converted && stage_when_converted(def) != NULL) {
            list->stages[i].def = stage_when_converted(def);
        }
    }
}

/* Sets arguments of nested stages that make no difference, or have two forms, to one of them: these
 * stages are compared as text. */
static void settle_nested(dataset_stage *stage)
{
    nested_stages **nested = nested_of(stage->def, stage->args.bytes);

    for (uint32_t i = 0; nested != NULL && *nested != NULL && i < (*nested)->stage_count; i++) {
        dataset_stage *inner = &(*nested)->stages[i];

        for (uint32_t k = 0; k < inner->def->param_count; k++) {
            const stage_param *param = &inner->def->params[k];
            void *value = inner->args.bytes + param->offset;
            param_size *size = value;

            if (param->choices == offload_targets) {
                *(uint32_t *)value = OFFLOAD_AUTO;
            } else if (param->type == PARAM_SIZE && stage_squares(inner->def) && size->width == 0) {
                size->width = size->height;
            }
        }
        settle_nested(inner);
    }
}

static sluice_status read_list(const char *text, stage_list *list)
{
    sluice_status st =
        pipeline_parse_stages(registry_stages_with_calls(), text, list->stages, &list->count);

    choose_definitions(list);
    for (uint32_t i = 0; i < list->count; i++) {
        settle_nested(&list->stages[i]);
    }
    sort_stages(list);
    return st;
}

static void free_list(stage_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        stage_args_free(list->stages[i].def, list->stages[i].args.bytes);
    }
}

/* ---- what differs ---------------------------------------------------------------------------- */

static void begin_difference(sli_text *text)
{
    sli_text_add(text, "%s", text->length > 0 ? "; " : "");
}

static void print_argument(const stage_def *def, const stage_param *param, const void *args,
                           sli_text *text)
{
    const param_size *size = (const param_size *)(const void *)((const char *)args + param->offset);

    if (param->type == PARAM_SIZE && stage_squares(def) && size->width == 0) {
        sli_text_add(text, "%u,%u", size->height, size->height);
    } else {
        stage_arg_print(param, args, text);
    }
}

static void compare_argument(const stage_def *def, const stage_param *param, const void *kept,
                             const void *mine, comparison *c)
{
    sli_text was = {0};
    sli_text is = {0};

    print_argument(def, param, kept, &was);
    print_argument(def, param, mine, &is);
    sli_text_add(&was, "%s", "");
    sli_text_add(&is, "%s", "");
    if (was.failed || is.failed) {
        c->differences.failed = true;
    } else if (strcmp(was.data, is.data) != 0 &&
               sli_stages_is_allowed(c->allowed, def->name, param->name)) {
        sli_log(SLUICE_LOG_INFO,
                "resumes with another argument, as allowed: %s: %s was %.100s and "
                "is %.100s now",
                def->name, param->name, was.data, is.data);
    } else if (strcmp(was.data, is.data) != 0) {
        begin_difference(&c->differences);
        sli_text_add(&c->differences, "%s: %s was %s and is %s now", def->name, param->name,
                     was.data, is.data);
    }
    sli_text_free(&was);
    sli_text_free(&is);
}

static void compare_arguments(const dataset_stage *kept, const dataset_stage *mine, comparison *c)
{
    for (uint32_t i = 0; i < kept->def->param_count; i++) {
        const stage_param *param = &kept->def->params[i];
        const bool is_new = c->lacks_orient && kept->def->kind == STAGE_DECODE &&
                            strcmp(param->name, "orient") == 0;

        if (param->choices != offload_targets && !is_new) { /* offload makes no difference */
            compare_argument(kept->def, param, kept->args.bytes, mine->args.bytes, c);
        }
    }
}

/* Adds to the differences a stage that only one of the lists has, with the stage before it. */
static void name_stage(const stage_list *list, uint32_t i, const char *what, sli_text *differences)
{
    const dataset_stage *stage = &list->stages[i];

    begin_difference(differences);
    sli_text_add(differences, "%s \"%s", what, stage->def->name);
    stage_args_print(stage->def, stage->args.bytes, differences);
    if (stage->def->kind == STAGE_SOURCE) {
        sli_text_add(differences, "\"");
    } else {
        sli_text_add(differences, "\" after %s",
                     i > 0 ? list->stages[i - 1].def->name : "the source");
    }
}

static void count_matches(comparison *c)
{
    for (uint32_t i = c->kept.count; i-- > 0;) {
        for (uint32_t k = c->mine.count; k-- > 0;) {
            const uint8_t skipped = c->matches[i + 1][k] > c->matches[i][k + 1]
                                        ? c->matches[i + 1][k]
                                        : c->matches[i][k + 1];
            const uint8_t matched = (uint8_t)(c->matches[i + 1][k + 1] + 1);
            const bool same = c->kept.stages[i].def == c->mine.stages[k].def;

            c->matches[i][k] = same && matched > skipped ? matched : skipped;
        }
    }
}

static void find_differences(comparison *c)
{
    uint32_t i = 0;
    uint32_t k = 0;

    while (i < c->kept.count || k < c->mine.count) {
        if (i < c->kept.count && k < c->mine.count &&
            c->kept.stages[i].def == c->mine.stages[k].def) {
            compare_arguments(&c->kept.stages[i++], &c->mine.stages[k++], c);
        } else if (k == c->mine.count ||
                   (i < c->kept.count && c->matches[i + 1][k] >= c->matches[i][k + 1])) {
            name_stage(&c->kept, i++, "there was", &c->differences);
        } else {
            name_stage(&c->mine, k++, "there is now", &c->differences);
        }
    }
}

/*
 * Compares texts that this library cannot parse, such as those of another version: shows them from
 * the first differing stage on.
 */
static sluice_status texts_differ(const char *kept, const char *mine)
{
    size_t at = 0;

    while (kept[at] != '\0' && kept[at] == mine[at]) {
        at++;
    }
    while (at > 0 && kept[at - 1] != '|') {
        at--; /* go back to the beginning of the stage */
    }
    return sli_fail(SLUICE_E_INVALID,
                    "the pipeline differs: it was \"%.200s\" and is \"%.200s\" now, from there on",
                    kept + at, mine + at);
}

static sluice_status compare_lists(comparison *c, const char *kept, const char *mine)
{
    sluice_status st = read_list(kept, &c->kept);

    if (st == SLUICE_OK) {
        st = read_list(mine, &c->mine);
    }
    if (st != SLUICE_OK) {
        return st == SLUICE_E_INVALID ? texts_differ(kept, mine) : st;
    }
    count_matches(c);
    find_differences(c);
    if (c->differences.failed) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a comparison of pipelines");
    }
    return c->differences.length == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "the pipeline differs: %s", c->differences.data);
}

/* ---- the canonical text ---------------------------------------------------------------------- */

/* True for a definition that choose_definitions() has chosen. */
static bool is_chosen(const stage_def *def)
{
    const stage_def *const *all = registry_stages_with_calls();

    while (*all != NULL && stage_when_converted(*all) != def) {
        all++;
    }
    return *all != NULL;
}

static void print_canonical(const stage_list *list, sli_text *text)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const stage_def *def = list->stages[i].def;

        sli_text_add(text, "%s%s%s", i > 0 ? " | " : "", def->name,
                     is_chosen(def) ? " converted" : "");
        for (uint32_t k = 0; k < def->param_count; k++) {
            if (def->params[k].choices != offload_targets) { /* offload makes no difference */
                sli_text_add(text, " %s=", def->params[k].name);
                print_argument(def, &def->params[k], list->stages[i].args.bytes, text);
            }
        }
    }
}

sluice_status sli_stages_canonical(const char *stages, char **canonical_out)
{
    stage_list *list = sli_calloc(1, sizeof(*list));
    sli_text text = {0};
    sluice_status st;

    if (list == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the canonical text of a pipeline");
    }
    st = read_list(stages, list);
    if (st == SLUICE_OK) {
        sli_text_add(&text, "%s", "");
        print_canonical(list, &text);
    } else if (st == SLUICE_E_INVALID) {
        sli_text_add(&text, "%s", stages);
        st = SLUICE_OK;
    }
    free_list(list);
    sli_free(list);
    return st == SLUICE_OK ? sli_text_take(&text, canonical_out) : st;
}

/* ---- comparing ------------------------------------------------------------------------------- */

sluice_status sli_stages_compare_allowing(const char *kept, const char *mine, const char *allowed)
{
    comparison *c;
    sluice_status st;

    if (strcmp(kept, mine) == 0) {
        return SLUICE_OK;
    }
    c = sli_calloc(1, sizeof(*c));
    if (c == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a comparison of pipelines");
    }
    c->lacks_orient = stages_lack_orient(kept);
    c->allowed = allowed;
    st = compare_lists(c, kept, mine);
    free_list(&c->kept);
    free_list(&c->mine);
    sli_text_free(&c->differences);
    sli_free(c);
    return st;
}

sluice_status sli_stages_compare(const char *kept, const char *mine)
{
    return sli_stages_compare_allowing(kept, mine, NULL);
}
