/* SPDX-License-Identifier: Apache-2.0 */
/* Explains a plan as text: the results of its passes, and its numbers. */
#include <string.h>

#include "dataset_parts.h"
#include "idle_arguments.h"
#include "idle_int.h"
#include "plan.h"
#include "readahead.h"
#include "stream_order.h"
#include "struct_size_int.h"

/* Explains how many samples of each part of concat and mix a pass has. */
static void explain_parts(const sli_plan *plan, sli_text *text)
{
    const group_order *order = plan->details->orders.group;

    for (uint32_t k = 0; order != NULL && k < order->count; k++) {
        const group_part *part = &order->parts[k];

        if (order->schedule == NULL) {
            sli_text_add(text, "part %u: %llu samples, from position %llu on\n", k + 1,
                         (unsigned long long)part->length, (unsigned long long)part->begin);
            continue;
        }
        sli_text_add(text, "part %u: %u in %u turns, %llu in a pass of the group: ", k + 1,
                     order->schedule->weights[k], order->schedule->period,
                     (unsigned long long)part->begin);
        sli_text_add(text, "%.2f passes of its own of %llu samples\n",
                     (double)part->begin / (double)part->length, (unsigned long long)part->length);
    }
}

/* Explains which files the sources of a dataset have not read. */
static void explain_left_out(const sluice_dataset *dataset, sli_text *text)
{
    const dataset_parts *parts = dataset_group(dataset);
    const source_ops *ops = dataset_source(dataset);
    const char *left_out = ops->left_out != NULL ? ops->left_out(dataset->source) : "";

    if (left_out[0] != '\0') {
        sli_text_add(text, "left out by %s: %s\n", dataset->stages[0].def->name, left_out);
    }
    for (uint32_t i = 0; parts != NULL && i < parts->count; i++) {
        explain_left_out(parts->items[i].dataset, text);
    }
}

static const char *last_batch(const sli_plan *plan)
{
    return plan->drop_remainder ? "the remainder dropped" : "the last one padded";
}

static const char *of_filtered(const sli_plan *plan)
{
    return schema_has(&plan->dataset->opened_schema, STATE_FILTERED)
               ? ", of those that filters keep"
               : "";
}

static void explain_stream_order(const sli_plan *plan, sli_text *text)
{
    sli_text_add(text, "order: ");
    stream_order_explain(plan->dataset, text);
    sli_text_add(text,
                 "; every rank reads all samples and keeps its own batches: of %u rows, %s; "
                 "how many there are is not known beforehand\n",
                 plan->batch_size, last_batch(plan));
}

/* Adds the candidates of a pass: "800 samples a pass", or the samples of a stream. */
static void add_candidates(const sli_plan *plan, sli_text *text)
{
    if (plan->details->dealing.is_stream) {
        sli_text_add(text, "the samples of a stream (");
        stream_order_explain(plan->dataset, text);
        sli_text_add(text, ")");
    } else {
        sli_text_add(text, "%llu samples a pass",
                     (unsigned long long)plan->details->orders.all_ranks.length);
    }
}

static void explain_pack_order(const sli_plan *plan, sli_text *text)
{
    sli_text_add(text, "order: windows of %u tokens of the documents of ", plan->details->pack.seq);
    add_candidates(plan, text);
    sli_text_add(text,
                 "%s; every rank reads all documents and takes windows in turns: batches of %u "
                 "rows, %s; how many there are is not known beforehand\n",
                 of_filtered(plan), plan->batch_size, last_batch(plan));
}

static void explain_bucket_order(const sli_plan *plan, sli_text *text)
{
    const struct plan_details *details = plan->details;

    sli_text_add(text, "order: %u buckets by length of ", details->bucket.count);
    add_candidates(plan, text);
    sli_text_add(
        text,
        "%s; a bucket with a batch of %u rows for every rank is the next batch, what is "
        "left in them %s; %s\n",
        of_filtered(plan), plan->batch_size, plan->drop_remainder ? "dropped" : "padded",
        details->dealing.is_stream     ? "every rank loads all samples, and keeps those of its "
                                         "batches until their bucket is full"
        : details->dealing.tests_first ? "every rank looks at the length of all samples, and loads "
                                         "those of its rows"
                                       : "every rank looks at the length of all samples, and loads "
                                         "those of its rows; the length is known once a sample is "
                                         "loaded, so samples are loaded twice");
}

static void explain_filtered_order(const sli_plan *plan, sli_text *text)
{
    const struct plan_details *details = plan->details;

    sli_text_add(text, "order: those of ");
    add_candidates(plan, text);
    sli_text_add(text,
                 " that filters keep; every rank calls the filters for all and takes its turns: "
                 "batches of %u rows, %s; how many there are is not known beforehand\n",
                 plan->batch_size, last_batch(plan));
    sli_text_add(text, "filters: called %s\n",
                 details->dealing.tests_first ? "for plain columns, before a sample is loaded"
                 : details->dealing.has_late_filters
                     ? "where their columns have their values; samples wait in a row of the "
                       "worker's"
                     : "after read; samples wait in a row of the worker's");
}

static void explain_direct_order(const sli_plan *plan, sli_text *text)
{
    const struct plan_details *details = plan->details;

    sli_text_add(text, "order: %llu samples a pass", (unsigned long long)plan->samples_per_pass);
    if (plan->settings.world > 1) {
        sli_text_add(text, ", %llu for rank %u of %u",
                     (unsigned long long)details->orders.rank.length, plan->settings.rank,
                     plan->settings.world);
    }
    if (details->orders.own != NULL) {
        sli_text_add(text,
                     "; %s, bound to %u rows and %u ranks; %llu bytes of names and permutations\n",
                     plan->dataset->schema.by[STATE_OWN_ORDER], plan->batch_size,
                     plan->settings.world, (unsigned long long)sli_plan_source_memory(plan));
    } else {
        sli_text_add(
            text,
            "; a pure function of (pass, position), nothing stored but %llu bytes of names "
            "and tables\n",
            (unsigned long long)sli_plan_source_memory(plan));
    }
    sli_text_add(text, "batches: %llu a pass of %u rows, %s\n",
                 (unsigned long long)plan->batches_per_pass, plan->batch_size,
                 details->orders.rank.length % plan->batch_size == 0 ? "all of them full"
                                                                     : last_batch(plan));
}

static void explain_order(const sli_plan *plan, sli_text *text)
{
    const struct plan_details *details = plan->details;

    if (details->pack.seq > 0) {
        explain_pack_order(plan, text);
    } else if (details->bucket.count > 0) {
        explain_bucket_order(plan, text);
    } else if (details->dealing.has_choices) {
        explain_filtered_order(plan, text);
    } else if (details->dealing.is_stream) {
        explain_stream_order(plan, text);
    } else {
        explain_direct_order(plan, text);
    }
}

static void name_branches(const struct plan_details *details, const plan_branches *branches,
                          sli_text *text);

/* Names the stages that a list is drawn from: "resize + gaussian_blur". */
static void name_list(const struct plan_details *details, const plan_list *list, sli_text *text)
{
    const char *plus = "";

    for (uint32_t i = 0; i < list->count; i++) {
        const plan_group *group = &list->groups[i];

        for (uint32_t k = group->first; k < group->first + group->count; k++, plus = " + ") {
            sli_text_add(text, "%s%s", plus, details->geometry.stages[k].stage->def->name);
        }
        for (uint32_t k = group->color_first; k < group->color_end; k++, plus = " + ") {
            sli_text_add(text, "%s%s", plus, details->colors.stages[k].stage->def->name);
        }
        if (group->branches != NULL) {
            sli_text_add(text, "%s", plus);
            name_branches(details, group->branches, text);
            plus = " + ";
        }
    }
}

static void name_branches(const struct plan_details *details, const plan_branches *branches,
                          sli_text *text)
{
    sli_text_add(text, "%s", branches->stage->def->name);
    for (uint32_t i = 0; i < branches->count; i++) {
        sli_text_add(text, " (");
        name_list(details, &branches->lists[i], text);
        sli_text_add(text, ")");
    }
}

/* The name of the first stage in a group. */
static const char *name_of_group(const struct plan_details *details, const plan_group *group)
{
    return group->branches != NULL ? group->branches->stage->def->name
           : group->map != NULL    ? group->map->name
           : group->count > 0      ? details->geometry.stages[group->first].stage->def->name
                                   : details->colors.stages[group->color_first].stage->def->name;
}

/* Explains a group without geometry. `first` and `before`: as for explain_group(). */
static void explain_whole(const sli_plan *plan, const plan_group *group, bool first,
                          const char *before, sli_text *text)
{
    const struct plan_details *details = plan->details;
    const plan_group *last = &details->geometry.list.groups[details->geometry.list.count - 1];
    const bool decodes = first && details->geometry.decode != NULL;

    if (decodes && group->color_end > group->color_first && group != last) {
        sli_text_add(text, ", whole images if a stage before %s changes them\n",
                     name_of_group(details, group + 1));
        return;
    }
    sli_text_add(text, "%s\n",
                 !first    ? before
                 : decodes ? ", whole images"
                           : "as the source gives them");
}

/* Explains how the geometry of a group is run. */
static const char *how_group_runs(const struct plan_details *details, const plan_group *group,
                                  bool decodes)
{
    const dataset_stage *stage = details->geometry.stages[group->first].stage;

    return stage->def->flip != NULL      ? "the whole image, if it is flipped; after all crops and "
                                           "resizes it would cost next to nothing"
           : stage->def->geometry->turns ? "the whole image, rotated"
           : details->geometry.view == stage ? "one pass for each view of the whole image"
           : decodes ? "fused: decoded down to the lower edge of the crop (JPEG only; with restart "
                       "markers only the segments under it), and cropped and resized in one pass"
                     : "one pass";
}

/* Explains a group of geometry. `first`: the source gives its images; else `before` does. */
static void explain_group(const sli_plan *plan, const plan_group *group, bool first,
                          const char *before, sli_text *text)
{
    const struct plan_details *details = plan->details;
    const bool decodes = first && details->geometry.decode != NULL;

    sli_text_add(text, "pixels: %s", decodes ? "decode" : "");
    if (group->map != NULL) {
        sli_text_add(text, "%s%s: a %s, called with the whole image\n", decodes ? " + " : "",
                     group->map->name, group->map->filter != NULL ? "filter" : "map");
        return;
    }
    if (group->branches != NULL) {
        sli_text_add(text, "%s", decodes ? " + " : "");
        name_branches(details, group->branches, text);
        sli_text_add(text, ": what is drawn for an image runs, one pass for each crop, resize or "
                           "flip\n");
        return;
    }
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        sli_text_add(text, "%s%s", i > group->first || decodes ? " + " : "",
                     details->geometry.stages[i].stage->def->name);
    }
    if (group->count == 0) {
        explain_whole(plan, group, first, before, text);
    } else {
        sli_text_add(text, ": %s\n", how_group_runs(details, group, decodes));
    }
}

/* Explains the colour stages of the workers after a group. is_last: no stage of geometry or map
 * follows them. */
static void explain_colors(const sli_plan *plan, const plan_group *group, bool is_last,
                           sli_text *text)
{
    const struct plan_details *details = plan->details;
    const uint32_t first = group->color_first;
    const uint32_t end = group->color_end < details->colors.host_count ? group->color_end
                                                                       : details->colors.host_count;

    for (uint32_t i = first; i < end; i++) {
        sli_text_add(text, "%s%s", i == first ? "colours: " : " + ",
                     details->colors.stages[i].stage->def->name);
    }
    if (first < end) {
        sli_text_add(text,
                     ": on each line after the resampler; %scontrast, autocontrast and "
                     "equalize wait for the whole image%s\n",
                     details->colors.warps ? "warps, " : "", is_last ? " of the batch's size" : "");
    }
}

/* True if no stage is in a group: the last one, which writes the row after branches or a map. */
static bool is_empty(const plan_group *group)
{
    return group->branches == NULL && group->map == NULL && group->count == 0 &&
           group->color_first == group->color_end;
}

static void explain_geometry(const sli_plan *plan, sli_text *text)
{
    const struct plan_details *details = plan->details;
    const plan_mosaic *mosaic = &details->geometry.mosaic;
    uint32_t end = details->geometry.list.count; /* without the empty group */

    while (end > 1 && is_empty(&details->geometry.list.groups[end - 1])) {
        end--;
    }
    for (uint32_t i = 0; i < mosaic->list.count; i++) {
        explain_group(plan, &mosaic->list.groups[i], i == 0, "", text);
    }
    if (mosaic->tiles > 0) {
        sli_text_add(
            text,
            "pixels: %s%s: %u samples in an image of %ux%u; the other tiles are drawn from "
            "all samples of the pass, over all ranks; %s the part of each that is "
            "shown\n",
            mosaic->list.count == 0 && details->geometry.decode != NULL ? "decode + " : "",
            mosaic->planned->stage->def->name, mosaic->tiles, mosaic->width, mosaic->height,
            mosaic->list.count == 0 && details->geometry.decode != NULL ? "decodes and resizes"
                                                                        : "resizes");
    }
    for (uint32_t i = 0; i < details->geometry.list.count; i++) {
        const plan_group *group = &details->geometry.list.groups[i];

        if (i > 0 && is_empty(group) && details->cache.groups == 0) {
            continue;
        }
        explain_group(plan, group, i == 0 && mosaic->tiles == 0,
                      mosaic->tiles > 0           ? "those of mosaic"
                      : details->cache.groups > 0 ? "those of the cache"
                                                  : "to the row",
                      text);
        explain_colors(plan, group, i + 1 == end, text);
    }
}

static void explain_reading(const sli_plan *plan, sli_text *text)
{
    const source_ops *source = dataset_source(plan->dataset);
    const uint64_t fixed = sli_plan_stream_memory(plan, 0);

    if (source->locate != NULL) {
        sli_text_add(text,
                     "reading: readahead requests files that are not in the page cache, up to %d "
                     "samples or %d MB ahead%s\n",
                     READAHEAD_ROWS, READAHEAD_BYTES >> 20,
                     source->drops != NULL && source->drops(plan->dataset->source)
                         ? ", and dropped after them"
                         : "");
    }
    if (plan->details->dealing.is_stream) {
        sli_text_add(
            text,
            "reading: in sequence, samples of at most %.1f MB (max_sample), which take up to "
            "%.1f MB and %.1f MB for each worker\n",
            (double)source->largest(plan->dataset->source) / 1e6, (double)fixed / 1e6,
            (double)(sli_plan_stream_memory(plan, 1) - fixed) / 1e6);
    }
}

/* Explains gray images: the gray values of a JPEG file differ from those of its RGB copy. */
static void explain_gray(const sli_plan *plan, sli_text *text)
{
    const dataset_stage *decode = plan->details->geometry.decode;

    if (decode != NULL &&
        ((const decode_args *)(const void *)decode->args.bytes)->mode == DECODE_GRAY) {
        sli_text_add(text,
                     "gray: of a JPEG file the luma that it stores; of PNG and PPM, and so of what "
                     "`pack --raw` made of a JPEG file, the luma of RGB, which differs where "
                     "colours were rounded or clipped\n");
    }
}

void sli_plan_idle(const sli_plan *plan, sli_text *list)
{
    const idle_run run = {plan->settings.world, plan_decode_fusion(plan)};

    idle_arguments_list(plan->dataset, &run, list);
}

static void explain_idle(const sli_plan *plan, sli_text *text)
{
    sli_text list = {0};

    sli_plan_idle(plan, &list);
    if (list.data != NULL) {
        sli_text_add(text, "without effect: %s\n", list.data);
    }
    sli_text_free(&list);
}

void sli_plan_explain(const sli_plan *plan, sli_text *text)
{
    const struct plan_details *details = plan->details;

    explain_order(plan, text);
    explain_parts(plan, text);
    explain_left_out(plan->dataset, text);
    explain_reading(plan, text);
    if (details->images.first >= 0) {
        explain_geometry(plan, text);
    }
    explain_gray(plan, text);
    sli_text_add(text, "%s", details->texts.notes);
    for (uint32_t i = 0; i < plan->column_count; i++) {
        sli_text_add(text, "column %s: %s (%u", plan->seen[i].name,
                     sluice_dtype_name(plan->seen[i].dtype), plan->batch_size);
        for (uint32_t d = 0; d < plan->seen[i].rank; d++) {
            sli_text_add(text, ", %llu", (unsigned long long)plan->seen[i].shape[d]);
        }
        sli_text_add(text, ")\n");
    }
    explain_idle(plan, text);
    sli_text_add(text, "assembly: %s\n",
                 details->pack.seq > 0
                     ? "collected; documents are joined in order, and each worker writes the "
                       "tokens of its documents into their windows"
                 : details->bucket.count > 0
                     ? details->dealing.is_stream
                           ? "collected; loaded samples wait in buckets, and are copied into their "
                             "rows"
                           : "collected; samples wait in buckets by number, and each worker writes "
                             "whole samples into their rows"
                 : details->dealing.has_choices
                     ? "collected; each worker writes the samples that are kept into their rows"
                     : "direct; each worker writes whole samples into their rows");
}

sluice_status sluice_dataset_explain(sluice_dataset *dataset, char **text_out)
{
    const sli_run_settings settings = {.world = 1};
    sluice_status st = dataset_status(dataset, "sluice_dataset_explain");
    sli_text text = {0};
    sli_plan *plan;

    if (st == SLUICE_OK && text_out == NULL) {
        st = sli_fail(SLUICE_E_INVALID, "sluice_dataset_explain: text_out is NULL");
    }
    if (st == SLUICE_OK) {
        st = sli_plan_open(dataset, &settings, &plan);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    sli_plan_explain(plan, &text);
    sli_plan_close(plan);
    return sli_text_take(&text, text_out);
}

static const sli_struct info_struct = SLI_STRUCT(sluice_dataset_info, columns);

sluice_status sluice_dataset_inspect(sluice_dataset *dataset, sluice_dataset_info *info)
{
    const sli_run_settings settings = {.world = 1};
    sluice_dataset_info full;
    sli_plan *plan;
    bool known;
    sluice_status st = dataset_status(dataset, "sluice_dataset_inspect");

    if (st == SLUICE_OK) {
        st = sli_struct_check(&info_struct, "sluice_dataset_inspect", info);
    }
    if (st == SLUICE_OK) {
        st = sli_plan_open(dataset, &settings, &plan);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    known = sli_plan_uncounted(plan) == NULL;
    memset(&full, 0, sizeof(full));
    full.source_samples = sli_plan_is_stream(plan) ? 0 : dataset->source_count;
    full.samples = known ? plan->samples_per_pass : 0;
    full.batches = known ? plan->batches_per_pass : 0;
    full.batch_size = plan->batch_size;
    full.column_count = plan->column_count;
    memcpy(full.columns, plan->seen, sizeof(full.columns));
    sli_plan_close(plan);
    return sli_struct_write(&info_struct, "sluice_dataset_inspect", &full, info);
}
