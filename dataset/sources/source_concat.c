/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources `concat` and `mix`: the samples of several datasets with the same columns, one dataset
 * after another, or in turns by weights. They differ only in their order (group_order.c). Samples
 * are numbered part by part, so draws differ between parts.
 */
#include <sluice/sampling.h>

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "group_source.h"

/* The state of a worker: the states of the parts' sources. */
typedef struct concat_worker {
    uint32_t count;
    uint32_t last; /* the part that was read last; io->bytes has its data */
    group_slot slots[PARTS_MOST];
} concat_worker;

/* ---- opening --------------------------------------------------------------------------------- */

/* Returns the number of classes of a part that have names. */
static uint32_t named_classes(const group_member *part)
{
    return part->ops->class_name != NULL ? part->ops->classes(part->source) : 0;
}

/* Finds the part before part k that names the most classes. The names of all others are the first
 * ones of these. */
static uint32_t most_classes(const group_source *group, uint32_t k)
{
    uint32_t most = 0;

    for (uint32_t i = 1; i < k; i++) {
        if (named_classes(&group->parts[i]) > named_classes(&group->parts[most])) {
            most = i;
        }
    }
    return most;
}

/* Refuses a set of boxes with more or fewer classes than part `first`: the class numbers of later
 * parts would depend on which part comes first. */
static sluice_status check_class_counts(const group_source *group, uint32_t first, uint32_t k)
{
    const group_member *one = &group->parts[first];
    const group_member *other = &group->parts[k];
    const uint32_t count = named_classes(one);
    const uint32_t others = named_classes(other);
    const group_member *longer = count > others ? one : other;
    char part[20] = "it";
    char name[256];

    if (count == others) {
        return SLUICE_OK;
    }
    if (count < others) {
        snprintf(part, sizeof(part), "part %u", first + 1);
    }
    longer->ops->class_name(longer->source, count < others ? count : others, name, sizeof(name));
    return group_name_part(
        group, k,
        sli_fail(SLUICE_E_INVALID,
                 "it has %u classes, and part %u has %u: %s lacks class %u, %.200s; all parts "
                 "must have the same classes, which are the categories of coco, names= of voc, and "
                 "names of data.yaml",
                 others, first + 1, count, part, count < others ? count : others, name));
}

/* A hash of all names that a part's classes are numbered by; 0: it has none. */
static uint64_t names_of(const group_member *part)
{
    return part->ops->identity != NULL ? part->ops->identity(part->source) : 0;
}

/* Checks that part k and the parts before it have the same names of classes, as far as they have
 * some; folders may lack the last classes of other parts. */
static sluice_status check_classes(const group_source *group, uint32_t k)
{
    const uint32_t first = most_classes(group, k);
    const group_member *one = &group->parts[first];
    const group_member *other = &group->parts[k];
    const bool has_label = schema_find(&one->dataset->schema, "label") >= 0;
    const bool named = named_classes(one) > 0 && named_classes(other) > 0 &&
                       (has_label || schema_find(&one->dataset->schema, "classes") >= 0);
    char want[256];
    char have[256];

    for (uint32_t i = 0; named && i < named_classes(one) && i < named_classes(other); i++) {
        one->ops->class_name(one->source, i, want, sizeof(want));
        other->ops->class_name(other->source, i, have, sizeof(have));
        if (strcmp(want, have) != 0) {
            return group_name_part(
                group, k,
                sli_fail(SLUICE_E_INVALID,
                         "%s %u is %.200s, and %.200s in part %u: classes are numbered in the "
                         "order of their %s, so parts need the same ones; %s",
                         has_label ? "label" : "class", i, have, want, first + 1,
                         has_label ? "names" : "ids",
                         has_label ? "make empty folders for those that a part lacks, or give an "
                                     "image_list with numbers or classes=FILE"
                                   : "all parts must have the same classes, which are the "
                                     "categories of coco, names= of voc, and names of data.yaml"));
        }
    }
    if (names_of(one) != 0 && names_of(other) != 0 && names_of(one) != names_of(other)) {
        return group_name_part(
            group, k,
            sli_fail(SLUICE_E_INVALID,
                     "its classes have other names than those of part %u, and numbers are made "
                     "from them; give all parts the same names, in lists by classes=FILE",
                     first + 1));
    }
    return named && !has_label ? check_class_counts(group, first, k) : SLUICE_OK;
}

static sluice_status concat_open(const void *args, void **source_out)
{
    const dataset_parts *parts = ((const group_args *)args)->parts;
    group_source *group = NULL;
    sluice_status st = group_make(parts, &group);

    for (uint32_t k = 0; st == SLUICE_OK && k < group->part_count; k++) {
        group->parts[k].first = group->count;
        st = __builtin_add_overflow(group->count, group->parts[k].dataset->source_count,
                                    &group->count)
                 ? sli_fail(SLUICE_E_INVALID, "%s: more samples than can be counted", parts->group)
                 : check_classes(group, k);
    }
    if (st != SLUICE_OK) {
        if (group != NULL) {
            group_close(group);
        }
        return st;
    }
    *source_out = group;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Finds the part of a sample; *index becomes its number in that part's source. */
static uint32_t part_of(const group_source *group, uint64_t *index)
{
    uint32_t low = 0;
    uint32_t high = group->part_count;

    while (high - low > 1) { /* the last part whose first number is not above the index */
        const uint32_t middle = (low + high) / 2;

        if (group->parts[middle].first <= *index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *index -= group->parts[low].first;
    return low;
}

static void concat_name(const void *source, uint64_t index, char *text, size_t size)
{
    const group_source *group = source;
    const uint32_t k = part_of(group, &index);
    const int used = snprintf(text, size, "%u/", k + 1);

    if (used >= 0 && (size_t)used < size) {
        group->parts[k].ops->name(group->parts[k].source, index, text + used, size - (size_t)used);
    }
}

static void free_worker(void *state)
{
    concat_worker *worker = state;

    for (uint32_t k = 0; k < worker->count; k++) {
        group_slot_free(&worker->slots[k]);
    }
    sli_free(worker);
}

/* Returns the worker's state, which its first sample creates. NULL: out of memory. */
static concat_worker *worker_of(const group_source *group, sample_io *io)
{
    concat_worker *worker = io->state;

    if (worker == NULL) {
        worker = sli_calloc(1, sizeof(*worker));
        if (worker == NULL) {
            io->ends_run = true;
            sli_fail(SLUICE_E_NO_MEMORY, "a worker of %s", group->name);
            return NULL;
        }
        worker->count = group->part_count;
        io->state = worker;
        io->state_free = free_worker;
    }
    return worker;
}

/* Reads a sample by its part; `plain`: only its plain columns. */
static sluice_status read_part(const group_source *group, uint64_t index, bool plain, sample_io *io,
                               void *const *row, sample_data *data_out)
{
    const uint32_t k = part_of(group, &index);
    const group_member *part = &group->parts[k];
    concat_worker *worker = worker_of(group, io);
    void *part_row[SLUICE_MAX_COLUMNS];
    group_loan loan;
    sluice_status st;

    if (worker == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    if (k != worker->last) {
        io->ahead.file = NULL; /* io->bytes has data of another part */
        worker->last = k;
    }
    group_row(part, row, part_row);
    group_lend(io, &worker->slots[k], k, &loan);
    st = plain ? part->ops->read_plain(part->source, index, io, part_row)
               : part->ops->read(part->source, index, io, part_row, data_out);
    group_take_back(io, &worker->slots[k], &loan);
    return st;
}

static sluice_status concat_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    return read_part(source, index, false, io, row, data_out);
}

static sluice_status concat_read_plain(const void *source, uint64_t index, sample_io *io,
                                       void *const *row)
{
    return read_part(source, index, true, io, row, NULL);
}

static sluice_status concat_read_other(const void *source, uint64_t index, uint32_t column,
                                       sample_io *io, sample_data *data_out)
{
    const group_source *group = source;
    const uint32_t k = part_of(group, &index);
    const group_member *part = &group->parts[k];
    concat_worker *worker = worker_of(group, io);
    group_loan loan;
    sluice_status st;

    if (worker == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    group_lend(io, &worker->slots[k], k, &loan);
    st = part->ops->read_other(part->source, index, part->columns[column], io, data_out);
    group_take_back(io, &worker->slots[k], &loan);
    return st;
}

/* ---- optional operations, by those of the parts ---------------------------------------------- */

/* Finds the windows of one part, with the columns of the group. */
static bool windows_of(const group_member *part, source_windows *windows_out)
{
    source_windows inner;

    if (part->ops->windows == NULL || !part->ops->windows(part->source, &inner)) {
        return false;
    }
    memset(windows_out, 0, sizeof(*windows_out));
    windows_out->stored.dtype = inner.stored.dtype;
    windows_out->stored.rank = inner.stored.rank;
    memcpy(windows_out->stored.shape, inner.stored.shape, sizeof(inner.stored.shape));
    snprintf(windows_out->stored.name, sizeof(windows_out->stored.name), "%s", inner.stored.name);
    for (uint32_t i = 0; i < SLUICE_MAX_COLUMNS; i++) {
        windows_out->offsets[i] =
            i < part->column_count ? inner.offsets[part->columns[i]] : SOURCE_NO_WINDOW;
    }
    windows_out->offload = inner.offload;
    return true;
}

static bool concat_windows(const void *source, source_windows *windows_out)
{
    const group_source *group = source;
    bool same = windows_of(&group->parts[0], windows_out);

    for (uint32_t k = 1; k < group->part_count && same; k++) {
        source_windows other;

        same =
            windows_of(&group->parts[k], &other) && memcmp(&other, windows_out, sizeof(other)) == 0;
    }
    return same;
}

static bool part_drops(const group_member *part)
{
    return part->ops->drops != NULL && part->ops->drops(part->source);
}

static bool concat_locate(const void *source, uint64_t index, sample_location *location_out)
{
    const group_source *group = source;
    const group_member *part = &group->parts[part_of(group, &index)];

    location_out->keeps = false; /* sources other than groups do not set it */
    if (part->ops->locate == NULL || !part->ops->locate(part->source, index, location_out)) {
        return false;
    }
    location_out->keeps = location_out->keeps || !part_drops(part);
    return true;
}

static bool concat_drops(const void *source)
{
    const group_source *group = source;
    bool drops = false;

    for (uint32_t k = 0; k < group->part_count; k++) {
        drops = drops || part_drops(&group->parts[k]);
    }
    return drops;
}

static bool concat_keep_index(const void *source, uint64_t index, const sample_io *io,
                              const sample_data *data)
{
    const group_source *group = source;
    const group_member *part = &group->parts[part_of(group, &index)];

    return part->ops->keep_index(part->source, index, io, data);
}

static uint32_t concat_classes(const void *source)
{
    const group_source *group = source;

    return named_classes(&group->parts[most_classes(group, group->part_count)]);
}

static void concat_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    const group_source *group = source;

    for (uint32_t k = 0; k < group->part_count; k++) {
        const group_member *part = &group->parts[k];

        if (label < named_classes(part)) {
            part->ops->class_name(part->source, label, text, size);
            return;
        }
    }
}

/* ---- the stages ------------------------------------------------------------------------------ */

/* Tables of operations for group_choose(). A table with `drops` has `locate`, which it needs. */
#define OPS(plain_call, locate_call, drops_call)                                                   \
    {                                                                                              \
        .open = concat_open, .close = group_close, .count = group_count, .name = concat_name,      \
        .read = concat_read, .read_plain = (plain_call), .windows = concat_windows,                \
        .read_other = concat_read_other, .locate = (locate_call), .drops = (drops_call),           \
        .keep_index = concat_keep_index, .memory = group_memory, .classes = concat_classes,        \
        .class_name = concat_class_name, .flip_pairs = group_flip_pairs                            \
    }

static const source_ops concat_ops[2][2] = {
    {OPS(NULL, NULL, NULL), OPS(NULL, concat_locate, concat_drops)},
    {OPS(concat_read_plain, NULL, NULL), OPS(concat_read_plain, concat_locate, concat_drops)},
};

static sluice_status choose_concat(const void *args, const source_ops **ops_out)
{
    *ops_out = group_choose(((const group_args *)args)->parts, concat_ops);
    return SLUICE_OK;
}

static sluice_status concat_infer(const void *args, stage_schema *schema)
{
    const dataset_parts *parts = ((const group_args *)args)->parts;
    const stage_schema *first = &parts->items[0].dataset->schema;
    const sluice_status st = parts_schema_join("part 1", first, schema);

    for (uint32_t k = 1; k < parts->count && st == SLUICE_OK; k++) {
        parts_schema_keep_rows(&parts->items[k].dataset->schema, schema);
    }
    return st;
}

static sluice_status mix_check(void *args)
{
    const dataset_parts *parts = ((const group_args *)args)->parts;
    sluice_status st = dataset_parts_check(args);
    uint64_t period = 0;

    for (uint32_t k = 0; st == SLUICE_OK && k < parts->count; k++) {
        const uint64_t weight = parts->items[k].weight / dataset_parts_weight_unit(parts);

        if (weight > MIX_MOST_PERIOD || (period += weight) > MIX_MOST_PERIOD) {
            st = sli_fail(SLUICE_E_INVALID,
                          "mix: the weights as a ratio of whole numbers add up to more than %d; "
                          "round them",
                          MIX_MOST_PERIOD);
        }
    }
    return st;
}

static const stage_param concat_params[] = {
    PARAM_(group_args, parts, PARAM_PARTS, NULL, 0, 0, NULL,
           "datasets in parentheses: a source and stages of order"),
};

const stage_def stage_concat = {
    .name = "concat",
    .summary = "The samples of several datasets, one after another: concat (SOURCE | STAGES) "
               "(SOURCE | STAGES). Their columns are the same.",
    .gives = "the columns of the parts",
    .kind = STAGE_SOURCE,
    .source =
        &(const source_stage_ops){
            .ops = &concat_ops[0][0],
            .group = GROUP_CONCAT,
            .choose = choose_concat,
            .identifies = true,
        },
    STAGE_PARAMS(concat_params),
    .args_size = sizeof(group_args),
    .check = dataset_parts_check,
    .retain = dataset_parts_retain,
    .release = dataset_parts_release,
    .infer = concat_infer,
};

static const stage_param mix_params[] = {
    PARAM_(group_args, parts, PARAM_PARTS, NULL, 0, 0, NULL,
           "datasets in parentheses: a source and stages of order; before each its weight"),
};

const stage_def stage_mix = {
    .name = "mix",
    .summary = "The samples of several datasets in turns by weights, evenly spread: mix "
               "0.7:(SOURCE | STAGES) 0.3:(SOURCE | STAGES). A pass ends when each part has ended "
               "once, or with the first part to end of those marked as in 0.3:end:(...); a part "
               "that ends earlier begins its next pass.",
    .gives = "the columns of the parts, which are the same",
    .kind = STAGE_SOURCE,
    .source =
        &(const source_stage_ops){
            .ops = &concat_ops[0][0],
            .group = GROUP_MIX,
            .choose = choose_concat,
            .identifies = true,
        },
    STAGE_PARAMS(mix_params),
    .args_size = sizeof(group_args),
    .check = mix_check,
    .retain = dataset_parts_retain,
    .release = dataset_parts_release,
    .infer = concat_infer,
};

sluice_status sluice_dataset_concat(sluice_dataset *const *parts, uint32_t count,
                                    sluice_dataset **dataset_out)
{
    return group_begin(&stage_concat, parts, NULL, 0, count, dataset_out);
}

sluice_status sluice_dataset_mix(sluice_dataset *const *parts, const uint64_t *weights,
                                 uint64_t ends, uint32_t count, sluice_dataset **dataset_out)
{
    return group_begin(&stage_mix, parts, weights, ends, count, dataset_out);
}
