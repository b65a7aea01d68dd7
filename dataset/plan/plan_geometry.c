/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's pass over geometry and colours: divides the stages that an image goes through into
 * groups, in lists. Stages in parentheses have lists of their own if geometry is among them.
 */
#include "plan.h"

#include <string.h>

#include "alloc_int.h"
#include "operators/color/color_stage.h"
#include "stage_kinds.h"

/* Makes the groups of a list. */
typedef struct list_builder {
    sli_plan *plan;
    plan_list *list;
    const dataset_stage *outer; /* the stage of the dataset that is planned */
    const stage_schema *before; /* the columns before it */
    bool divides;               /* the next stage begins a group: a cache is before it */
} list_builder;

/* ---- fusing ---------------------------------------------------------------------------------- */

/* True if two stages that pad in the same group have the same padding. */
static bool have_one_padding(const stage_padding *a, const stage_padding *b)
{
    return a->edge == EDGE_CONSTANT && b->edge == EDGE_CONSTANT &&
           memcmp(a->fill, b->fill, sizeof(a->fill)) == 0 && a->mask_fill == b->mask_fill;
}

/*
 * True if stage b can join the group of stages [first, b). A group resizes at most once, and has
 * one padding before the resize and one after it. A stage that resizes pads after its resize. After
 * a resize and a crop no stage pads, since the window would show pixels outside the crop again. An
 * image is continued beyond its edges once, in a group that does not resize. A stage that turns the
 * image is a group of its own, and one that makes views of it begins a group.
 */
static bool joins_group(const struct plan_details *details, uint32_t first, uint32_t b)
{
    const plan_stage *stage = &details->geometry.stages[b];
    const geometry_ops *ops = stage->stage->def->geometry;

    for (uint32_t i = b; i-- > first;) {
        const plan_stage *before = &details->geometry.stages[i];
        const geometry_ops *ops_before = before->stage->def->geometry;

        if (ops->views != NULL || ops->turns || ops_before->turns) {
            return false;
        }
        if (!ops->resizes && stage->pads && before->pads &&
            !have_one_padding(&stage->padding, &before->padding)) {
            return false;
        }
        if ((ops_before->resizes && stage->padding.edge != EDGE_CONSTANT) ||
            (ops->resizes && before->padding.edge != EDGE_CONSTANT)) {
            return false;
        }
        if (ops_before->resizes) {
            return !ops->resizes && !(stage->pads && i + 1 < b);
        }
    }
    return true;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static sluice_status make_list(plan_list *list, uint32_t most)
{
    list->groups = sli_calloc(most, sizeof(*list->groups));
    return list->groups != NULL ? SLUICE_OK
                                : sli_fail(SLUICE_E_NO_MEMORY, "the stages of an image");
}

static void free_list(plan_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        plan_branches *branches = list->groups[i].branches;

        for (uint32_t k = 0; branches != NULL && k < branches->count; k++) {
            free_list(&branches->lists[k]);
        }
        sli_free(branches);
    }
    sli_free(list->groups);
}

static plan_group *begin_group(list_builder *builder)
{
    const struct plan_details *details = builder->plan->details;
    plan_group *group = &builder->list->groups[builder->list->count++];

    builder->divides = false;
    *group = (plan_group){.first = details->geometry.count,
                          .color_first = details->colors.count,
                          .color_end = details->colors.count};
    return group;
}

/* The group that a stage of geometry or colours can join; NULL: there is none. */
static plan_group *last_group(const list_builder *builder)
{
    const plan_list *list = builder->list;
    plan_group *last = list->count > 0 ? &list->groups[list->count - 1] : NULL;

    return last != NULL && !builder->divides && last->branches == NULL && last->map == NULL ? last
                                                                                            : NULL;
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Finds the boxes that a stage depends on. */
static void find_boxes(const list_builder *builder)
{
    const stage_schema *before = builder->before;

    builder->plan->details->geometry.boxes = (int)before->infos[schema_find_boxes(before)].buffer;
}

static plan_stage plan_stage_of(const list_builder *builder, const dataset_stage *stage,
                                uint64_t key)
{
    plan_stage planned = {.stage = stage, .outer = builder->outer, .key = key};

    const geometry_ops *ops = stage->def->geometry;

    planned.pads = ops->padding != NULL && ops->padding(stage->args.bytes, &planned.padding);
    planned.pairs =
        plan_flip_pairs(builder->plan->dataset, stage, builder->before, &planned.points);
    return planned;
}

static void add_geometry(list_builder *builder, const dataset_stage *stage, uint64_t key)
{
    struct plan_details *details = builder->plan->details;
    const uint32_t number = details->geometry.count;
    plan_group *group = last_group(builder);

    details->geometry.stages[number] = plan_stage_of(builder, stage, key);
    if (group == NULL || group->color_end > group->color_first ||
        (group->count > 0 && !joins_group(details, group->first, number))) {
        group = begin_group(builder);
    }
    details->geometry.count++;
    group->count++;
    if (stage->def->geometry->draw_of_boxes != NULL) {
        find_boxes(builder);
    }
}

/* Adds a colour stage, with the columns of the source that it works on: no map comes before it. */
static sluice_status add_color(list_builder *builder, const dataset_stage *stage, uint64_t key)
{
    struct plan_details *details = builder->plan->details;
    const color_args *args = (const void *)stage->args.bytes;
    const bool warps = stage_warps(stage->def, stage->args.bytes);
    plan_group *group = last_group(builder);
    plan_stage color = {.stage = stage, .outer = builder->outer, .key = key};
    column_set images = 0;
    const sluice_status st = schema_select_images(
        builder->before, stage->def->name, stage->def->selects ? args->columns : "", &images);

    for (uint32_t k = 0; k < SLUICE_MAX_COLUMNS; k++) {
        if ((images >> k & 1) != 0) {
            color.images |= (column_set)1 << builder->before->infos[k].buffer;
        }
    }
    group = group != NULL ? group : begin_group(builder);
    details->colors.stages[details->colors.count++] = color;
    group->color_end++;
    details->colors.host_count += details->colors.device == 0;
    details->colors.warps = details->colors.warps || warps;
    details->colors.device_warps =
        details->colors.device_warps || (details->colors.device > 0 && warps);
    return st;
}

static sluice_status add_stage(list_builder *builder, const dataset_stage *stage, uint64_t key);

/* Makes the list of a pair of parentheses. */
static sluice_status add_list(const list_builder *outer, const nested_stages *nested,
                              const nested_branch *branch, uint64_t key, plan_list *list)
{
    list_builder builder = {outer->plan, list, outer->outer, outer->before, false};
    sluice_status st = make_list(list, branch->count);

    for (uint32_t k = branch->first; k < branch->first + branch->count && st == SLUICE_OK; k++) {
        st = add_stage(&builder, &nested->stages[k], nested_key(key, k));
    }
    return st;
}

/* Adds a stage that draws which of its branches an image goes through. */
static sluice_status add_branches(list_builder *builder, const dataset_stage *stage, uint64_t key)
{
    const nested_stages *nested = nested_in(stage);
    plan_branches *branches = sli_calloc(1, sizeof(*branches));
    sluice_status st = SLUICE_OK;

    if (branches == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the stages in parentheses of a plan");
    }
    branches->stage = stage;
    branches->key = key;
    begin_group(builder)->branches = branches;
    for (uint32_t i = 0; i < nested->branch_count && st == SLUICE_OK; i++) {
        branches->count++;
        st = add_list(builder, nested, &nested->branches[i], key, &branches->lists[i]);
    }
    return st;
}

/* Adds a stage of geometry or colours, alone or in parentheses. */
static sluice_status add_stage(list_builder *builder, const dataset_stage *stage, uint64_t key)
{
    if (stage->def->kind == STAGE_COLOR) {
        return add_color(builder, stage, key);
    }
    if (branch_ops_of(stage->def) != NULL) {
        return add_branches(builder, stage, key);
    }
    add_geometry(builder, stage, key);
    return SLUICE_OK;
}

/* Adds a map or filter if it is an image map. */
static void add_map(list_builder *builder, const dataset_stage *stage)
{
    const custom_map *map = ((const map_args *)(const void *)stage->args.bytes)->map;

    if (custom_map_is_image_map(map, builder->before)) {
        begin_group(builder)->map = map;
    }
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* The number of stages of geometry and colours in a stage, with those in parentheses. */
static uint32_t count_stages(const dataset_stage *stage)
{
    uint32_t count = 0;

    if (branch_ops_of(stage->def) != NULL) {
        const nested_stages *nested = nested_in(stage);

        for (uint32_t i = 0; i < nested->stage_count; i++) {
            count += count_stages(&nested->stages[i]);
        }
        return count;
    }
    return stage->def->kind == STAGE_GEOMETRY || stage->def->kind == STAGE_COLOR;
}

static sluice_status make_room(sli_plan *plan)
{
    struct plan_details *details = plan->details;
    uint32_t count = 1;

    for (uint32_t i = 0; i < plan->dataset->stage_count; i++) {
        count += count_stages(&plan->dataset->stages[i]);
    }
    details->geometry.stages = sli_calloc(count, sizeof(*details->geometry.stages));
    details->colors.stages = sli_calloc(count, sizeof(*details->colors.stages));
    if (details->geometry.stages == NULL || details->colors.stages == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the stages of a plan");
    }
    return make_list(&details->geometry.list, DATASET_MAX_STAGES + 1);
}

void plan_free_geometry(struct plan_details *details)
{
    free_list(&details->geometry.list);
    free_list(&details->geometry.mosaic.list);
    sli_free(details->geometry.stages);
    sli_free(details->colors.stages);
}

/* Plans the stage mosaic: what comes after it is another list. */
static void add_mosaic(list_builder *builder, const dataset_stage *stage, uint64_t key)
{
    struct plan_details *details = builder->plan->details;
    plan_stage *planned = &details->geometry.stages[details->geometry.count++];

    *planned = plan_stage_of(builder, stage, key);
    details->geometry.mosaic.tiles = stage->def->geometry->tiles->count;
    details->geometry.mosaic.planned = planned;
    details->geometry.mosaic.list = details->geometry.list;
    details->geometry.list = (plan_list){0};
    builder->divides = false;
}

/* The most steps that are drawn for a list. */
static uint32_t most_steps(const plan_list *list)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < list->count; i++) {
        const plan_branches *branches = list->groups[i].branches;

        most += branches == NULL;
        for (uint32_t k = 0; branches != NULL && k < branches->count; k++) {
            most += most_steps(&branches->lists[k]);
        }
    }
    return most;
}

/* Finds the stage that makes views of the image, and its group. */
static void find_views(struct plan_details *details)
{
    details->geometry.view_count = 1;
    details->geometry.list.shared = details->geometry.list.count;
    for (uint32_t i = 0; i < details->geometry.list.count; i++) {
        const plan_group *group = &details->geometry.list.groups[i];
        const dataset_stage *stage =
            group->count > 0 ? details->geometry.stages[group->first].stage : NULL;

        if (stage != NULL && stage->def->geometry->views != NULL) {
            details->geometry.view = stage;
            details->geometry.view_count = stage->def->geometry->views->count(stage->args.bytes);
            details->geometry.list.shared = i;
        }
    }
}

/* Ends the last list: its last group writes the row, so it has no branches and no map, and comes
 * after the cache. */
static void end_lists(list_builder *builder)
{
    struct plan_details *details = builder->plan->details;
    const uint32_t tile_steps = most_steps(&details->geometry.mosaic.list) + 1; /* and its resize */

    if (last_group(builder) == NULL) {
        (void)begin_group(builder);
    }
    last_group(builder)->writes_row = true;
    find_views(details);
    while (details->geometry.list.head < details->geometry.list.shared &&
           details->geometry.list.groups[details->geometry.list.head].map == NULL) {
        details->geometry.list.head++;
    }
    details->geometry.mosaic.list.shared = details->geometry.mosaic.list.count;
    details->geometry.mosaic.list.head = details->geometry.mosaic.list.count;
    details->geometry.most_steps = most_steps(&details->geometry.list);
    if (details->geometry.mosaic.tiles > 0 && tile_steps > details->geometry.most_steps) {
        details->geometry.most_steps = tile_steps;
    }
}

sluice_status plan_geometry(sli_plan *plan)
{
    struct plan_details *details = plan->details;
    stage_schema before;
    list_builder builder = {plan, &details->geometry.list, NULL, &before, false};
    sluice_status st = make_room(plan);

    details->geometry.boxes = -1;
    details->geometry.decode =
        dataset_decode_of(plan->dataset, (uint32_t)plan->dataset->source_schema.image);
    for (uint32_t i = 0; i < plan->dataset->stage_count && st == SLUICE_OK; i++) {
        const dataset_stage *stage = &plan->dataset->stages[i];
        const uint64_t key = plan_stage_key(plan->dataset, i, plan->settings.seed);
        const stage_kind kind = stage->def->kind;

        builder.outer = stage;
        if (kind == STAGE_GEOMETRY || kind == STAGE_COLOR || kind == STAGE_MAP) {
            st = dataset_schema_after(plan->dataset, i, &before);
        }
        if (st != SLUICE_OK) {
            break;
        }
        if (tile_ops_of(stage->def) != NULL) {
            add_mosaic(&builder, stage, key);
            st = make_list(&details->geometry.list, DATASET_MAX_STAGES + 1);
        } else if (kind == STAGE_GEOMETRY || kind == STAGE_COLOR) {
            st = add_stage(&builder, stage, key);
        } else if (kind == STAGE_MAP) {
            add_map(&builder, stage);
        } else if (kind == STAGE_CACHE) {
            details->cache.stage = i;
            details->cache.groups = details->geometry.list.count;
            builder.divides = details->geometry.list.count > 0;
        } else if (kind == STAGE_DEVICE) {
            details->colors.device = i;
        }
    }
    if (st == SLUICE_OK) {
        end_lists(&builder);
    }
    return st;
}
