/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan will do, in words and figures. */
#include <string.h>

#include "plan.h"
#include "readahead.h"
#include "stream_order.h"

static void explain_order(const sli_plan *plan, sli_text *text)
{
    const struct plan_details *details = plan->details;

    if (details->is_stream) {
        sli_text_add(text, "order: ");
        stream_order_explain(plan->dataset, text);
        sli_text_add(text,
                     "; every rank reads all samples and keeps its own\nbatches: of %u rows, %s; "
                     "how many there are is not known beforehand\n",
                     plan->batch_size,
                     plan->drop_remainder ? "the remainder dropped" : "the last one padded");
        return;
    }
    sli_text_add(text, "order: %llu samples a pass", (unsigned long long)plan->samples_per_pass);
    if (plan->settings.world > 1) {
        sli_text_add(text, ", %llu for rank %u of %u", (unsigned long long)details->order.length,
                     plan->settings.rank, plan->settings.world);
    }
    sli_text_add(text,
                 "; a pure function of (pass, position), nothing stored but %llu bytes of names "
                 "and splits\n",
                 (unsigned long long)sli_plan_source_memory(plan));
    sli_text_add(text, "batches: %llu a pass of %u rows, %s\n",
                 (unsigned long long)plan->batches_per_pass, plan->batch_size,
                 plan->drop_remainder ? "the remainder dropped" : "the last one padded");
}

static void explain_group(const sli_plan *plan, uint32_t number, sli_text *text)
{
    const struct plan_details *details = plan->details;
    const plan_group *group = &details->groups[number];
    bool decodes = number == 0 && details->decode != NULL;

    sli_text_add(text, "pixels: %s", decodes ? "decode" : "");
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        sli_text_add(text, "%s%s", i > group->first || decodes ? " + " : "",
                     details->geometry[i].stage->def->name);
    }
    if (group->count == 0) {
        sli_text_add(text, "%s\n", decodes ? ", whole images" : "as the source gives them");
        return;
    }
    sli_text_add(text, ": %s\n",
                 decodes && group->count > 0
                     ? "fused: only the lines and columns under the crop are decoded (of files "
                       "with restart markers only the segments), and resized in one pass"
                     : "one pass");
}

static void explain_reading(const sli_plan *plan, sli_text *text)
{
    const source_ops *source = dataset_source(plan->dataset);

    if (source->locate != NULL) {
        sli_text_add(
            text,
            "reading: what is not in the page cache is asked for up to %d samples or %d MB "
            "before workers come to it%s\n",
            READAHEAD_ROWS, READAHEAD_BYTES >> 20,
            source->drops != NULL && source->drops(plan->dataset->source)
                ? ", and dropped behind them"
                : "");
    }
}

void sli_plan_explain(const sli_plan *plan, sli_text *text)
{
    const struct plan_details *details = plan->details;

    explain_order(plan, text);
    explain_reading(plan, text);
    for (uint32_t i = 0; i < details->group_count && plan->image_column >= 0; i++) {
        explain_group(plan, i, text);
    }
    sli_text_add(text, "%s", details->notes);
    for (uint32_t i = 0; i < plan->column_count; i++) {
        sli_text_add(text, "column %s: %s (%u", plan->seen[i].name,
                     sluice_dtype_name(plan->seen[i].dtype), plan->batch_size);
        for (uint32_t d = 0; d < plan->seen[i].rank; d++) {
            sli_text_add(text, ", %llu", (unsigned long long)plan->seen[i].shape[d]);
        }
        sli_text_add(text, ")\n");
    }
    sli_text_add(text, "assembly: direct; each worker writes whole samples into their rows\n");
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

sluice_status sluice_dataset_inspect(sluice_dataset *dataset, sluice_dataset_info *info)
{
    const sli_run_settings settings = {.world = 1};
    sluice_dataset_info full;
    sli_plan *plan;
    bool known;
    sluice_status st = dataset_status(dataset, "sluice_dataset_inspect");

    if (st == SLUICE_OK && (info == NULL || info->struct_size < sizeof(info->struct_size) ||
                            info->struct_size > sizeof(full))) {
        st = sli_fail(SLUICE_E_INVALID, "sluice_dataset_inspect: struct_size is not set");
    }
    if (st == SLUICE_OK) {
        st = sli_plan_open(dataset, &settings, &plan);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    known = !sli_plan_is_stream(plan);
    memset(&full, 0, sizeof(full));
    full.struct_size = info->struct_size;
    full.source_samples = known ? dataset->source_count : 0;
    full.samples = known ? plan->samples_per_pass : 0;
    full.batches = known ? plan->batches_per_pass : 0;
    full.batch_size = plan->batch_size;
    full.column_count = plan->column_count;
    memcpy(full.columns, plan->seen, sizeof(full.columns));
    sli_plan_close(plan);
    memcpy(info, &full, info->struct_size);
    return SLUICE_OK;
}
