/* SPDX-License-Identifier: Apache-2.0 */
/* Computes one sample without a run: the row that a batch would hold, on the caller's thread. */
#include <inttypes.h>
#include <string.h>

#include "alloc_int.h"
#include "dataset_state.h"
#include "described_sample.h"
#include "plan.h"
#include "printable_int.h"
#include "row_program_int.h"
#include "sample_filters.h"
#include "sample_loader.h"
#include "sample_reading.h"
#include "text_int.h"

/* The row of one sample, as workers write it. */
typedef struct row_buffers {
    sli_layout layout; /* layout of a batch of one sample */
    uint8_t *row;
    uint8_t flags;
} row_buffers;

static void copy_out(const sli_plan *plan, const row_buffers *buffers, void *const *columns)
{
    for (uint32_t i = 0; i < plan->column_count; i++) {
        const uint32_t column = plan->device_widens ? plan->outputs[i].column : i;
        const uint8_t *from = buffers->row + buffers->layout.offsets[column];

        if (columns[i] == NULL) {
            continue;
        }
        if (plan->device_widens) {
            sli_output_make(&plan->outputs[i], &buffers->layout, from, columns[i]);
        } else if (plan->program_column >= 0 && (int)i == plan->image_column) {
            const uint8_t *program = buffers->row + buffers->layout.offsets[plan->program_column];
            const sli_row_batch batch = {(const void *)program, from, &buffers->flags};

            sli_row_program_run(&batch, 0, &plan->device_conversion, columns[i]);
        } else if (plan->device_converts && (int)i == plan->image_column) {
            sli_convert_image(&plan->device_conversion, from, columns[i], buffers->flags);
        } else {
            memcpy(columns[i], from, buffers->layout.row_bytes[i]);
        }
    }
}

/* A loader, and the row that it writes. */
typedef struct one_sample {
    const sli_plan *plan;
    sli_counters *counters;
    sample_loader loader;
    row_buffers buffers;
    sample_row row;
} one_sample;

static void close_one(one_sample *one)
{
    sample_loader_fini(&one->loader);
    sli_free(one->counters);
    sli_free(one->buffers.row);
}

static sluice_status open_one(const sli_plan *plan, one_sample *one)
{
    row_buffers *buffers = &one->buffers;
    sluice_status st;

    memset(one, 0, sizeof(*one));
    one->plan = plan;
    st = sli_layout_make(plan->wire, plan->wire_count, 1, &buffers->layout);
    if (st == SLUICE_OK) {
        st = plan_cache_open(plan);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    one->counters = sli_calloc(PLAN_PROFILED, sizeof(*one->counters));
    buffers->row = sli_aligned_alloc(64, buffers->layout.slot_bytes);
    if (one->counters == NULL || buffers->row == NULL ||
        sample_loader_init(&one->loader, plan) != SLUICE_OK) {
        close_one(one);
        return sli_fail(SLUICE_E_NO_MEMORY, "a sample of %zu bytes", buffers->layout.slot_bytes);
    }
    memset(buffers->row, 0, buffers->layout.slot_bytes);
    for (uint32_t i = 0; i < PLAN_PROFILED; i++) {
        one->loader.report.counters[i] = &one->counters[i];
    }
    one->row.flags = &buffers->flags;
    for (uint32_t i = 0; i < plan->wire_count; i++) {
        one->row.columns[i] = buffers->row + buffers->layout.offsets[i];
    }
    return SLUICE_OK;
}

/* Runs one sample through the pipeline, into the row. */
static sluice_status load_row(one_sample *one, uint64_t sample, uint64_t pass)
{
    const sluice_status st = sample_load(&one->loader, sample, pass, &one->row);
    char text[SLI_ERROR_SIZE];

    if (st != SLUICE_OK) {
        sample_failure_text(&one->loader, sample, text, sizeof(text));
        return sli_fail(st, "%s", text);
    }
    return SLUICE_OK;
}

/* The same, and copies its columns. */
static sluice_status load_one(one_sample *one, uint64_t sample, uint64_t pass, void *const *columns)
{
    const sluice_status st = load_row(one, sample, pass);

    if (st == SLUICE_OK) {
        copy_out(one->plan, &one->buffers, columns);
    }
    return st;
}

/* Calls the filters for a sample. A sample that fails counts as kept, as in a run. */
static sluice_status is_kept(one_sample *one, uint64_t sample, uint64_t pass, bool *kept_out)
{
    sample_loader *loader = &one->loader;
    const sluice_status st = one->plan->details->dealing.tests_first
                                 ? sample_test(loader, sample, pass, &one->row)
                                 : sample_load_filtered(loader, sample, pass, &one->row);

    *kept_out = st != SLUICE_OK || !loader->last.dropped;
    return st == SLUICE_E_NO_MEMORY ? st : SLUICE_OK;
}

/* Finds sample `index` of those that filters keep: calls them from the beginning of the pass. */
static sluice_status find_kept(one_sample *one, uint64_t pass, uint64_t index, uint64_t *sample_out,
                               uint64_t *sample_pass_out)
{
    const sample_order *all = &one->plan->details->orders.all_ranks;
    uint64_t turn = 0;

    for (uint64_t i = 0; i < all->length; i++) {
        bool kept = false;
        sluice_status st;

        order_at(all, pass, i, sample_out, sample_pass_out);
        st = is_kept(one, *sample_out, *sample_pass_out, &kept);
        if (st != SLUICE_OK || (kept && turn == index)) {
            return st;
        }
        turn += kept;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "sluice_dataset_get: index %" PRIu64 " is past the end: filters keep %" PRIu64
                    " samples of this pass",
                    index, turn);
}

static sluice_status get_kept(const sli_plan *plan, uint64_t pass, uint64_t index,
                              void *const *columns, uint64_t *sample_out)
{
    uint64_t sample = 0;
    uint64_t sample_pass = 0;
    one_sample one;
    sluice_status st = open_one(plan, &one);

    if (st != SLUICE_OK) {
        return st;
    }
    st = find_kept(&one, pass, index, &sample, &sample_pass);
    if (st == SLUICE_OK && sample_out != NULL) {
        *sample_out = sample;
    }
    if (st == SLUICE_OK && columns != NULL) {
        st = load_one(&one, sample, sample_pass, columns);
    }
    close_one(&one);
    return st;
}

static sluice_status get_sample(const sli_plan *plan, uint64_t pass, uint64_t index,
                                void *const *columns, uint64_t *sample_out)
{
    const sample_order *order = &plan->details->orders.rank;
    uint64_t sample;
    uint64_t sample_pass;
    one_sample one;
    sluice_status st;

    if (index >= order->length) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_dataset_get: index %" PRIu64 " must be less than %" PRIu64
                        ", the samples of a pass",
                        index, order->length);
    }
    order_at(order, pass, index, &sample, &sample_pass);
    if (sample_out != NULL) {
        *sample_out = sample;
    }
    if (columns == NULL) {
        return SLUICE_OK;
    }
    st = open_one(plan, &one);
    if (st == SLUICE_OK) {
        sample_set_pass(&one.loader, pass);
        st = load_one(&one, sample, sample_pass, columns);
        close_one(&one);
    }
    return st;
}

/* Refuses pipelines whose rows are not one sample each. */
static sluice_status check_rows(const sli_plan *plan, const char *call)
{
    const struct plan_details *details = plan->details;

    if (details->dealing.is_stream) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s: samples of a stream can only be read in sequence", call);
    }
    if (details->pack.seq > 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s: with pack a row is a window of several documents; read them by a run "
                        "or a channel, or leave pack out",
                        call);
    }
    if (details->bucket.count > 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s: with bucket the rows of a pass depend on the batch size and the "
                        "ranks; read them by a run or a channel, or leave bucket out",
                        call);
    }
    return SLUICE_OK;
}

/* Refuses maps of batches, too. */
static sluice_status check_position(const sli_plan *plan)
{
    const struct plan_details *details = plan->details;

    return details->work.batch_map_count == 0
               ? check_rows(plan, "sluice_dataset_get")
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "sluice_dataset_get: %s works on whole batches; read them by a run or a "
                          "channel, or leave it out",
                          details->work.batch_maps[0].name);
}

sluice_status sluice_dataset_get(sluice_dataset *dataset, uint64_t seed, uint64_t pass,
                                 uint64_t index, void *const *columns, uint64_t *sample_out)
{
    const sli_run_settings settings = {.seed = seed, .world = 1};
    sluice_status st = dataset_status(dataset, "sluice_dataset_get");
    sli_plan *plan;

    if (st == SLUICE_OK) {
        st = sli_plan_open(dataset, &settings, &plan);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    st = check_position(plan);
    if (st == SLUICE_OK) {
        st = plan->details->dealing.has_choices
                 ? get_kept(plan, pass, index, columns, sample_out)
                 : get_sample(plan, pass, index, columns, sample_out);
    }
    sli_plan_close(plan);
    return st;
}

/* ---- explaining a sample --------------------------------------------------------------------- */

static const char explain_call[] = "sluice_dataset_explain_sample";

static sluice_status check_explained(const sli_plan *plan, uint64_t sample)
{
    if (sample >= plan->dataset->source_count && !plan->details->dealing.is_stream) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: sample %" PRIu64 " must be less than %" PRIu64
                        ", the samples of the source",
                        explain_call, sample, plan->dataset->source_count);
    }
    return check_rows(plan, explain_call);
}

/* Names a sample that was loaded, and describes what was drawn for it. */
static sluice_status describe_one(one_sample *one, uint64_t sample, uint64_t pass, sli_text *text)
{
    const sample_transform *transform = &one->loader.drawn.image;
    char raw[256];
    char name[256];

    sample_name(&one->loader, sample, raw, sizeof(raw));
    sli_printable(raw, SLI_ONE_LINE, name, sizeof(name));
    sli_text_add(text, "sample %" PRIu64 " in pass %" PRIu64 ": %s", sample, pass, name);
    if (one->plan->details->images.first >= 0) {
        sli_text_add(text, ", %ux%u", transform->width, transform->height);
    }
    sli_text_add(text, "\n");
    return describe_sample(&one->loader, sample, pass, text);
}

static sluice_status explain_sample(const sli_plan *plan, uint64_t pass, uint64_t sample,
                                    sli_text *text)
{
    one_sample one;
    sluice_status st = check_explained(plan, sample);

    if (st == SLUICE_OK) {
        st = open_one(plan, &one);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    sample_set_pass(&one.loader, pass);
    st = load_row(&one, sample, pass);
    if (st == SLUICE_OK) {
        st = describe_one(&one, sample, pass, text);
    }
    close_one(&one);
    return st;
}

sluice_status sluice_dataset_explain_sample(sluice_dataset *dataset, uint64_t seed, uint64_t pass,
                                            uint64_t sample, char **text_out)
{
    const sli_run_settings settings = {.seed = seed, .world = 1};
    sluice_status st = dataset_status(dataset, explain_call);
    sli_text text = {0};
    sli_plan *plan;

    if (st == SLUICE_OK && text_out == NULL) {
        st = sli_fail(SLUICE_E_INVALID, "%s: text_out is NULL", explain_call);
    }
    if (st == SLUICE_OK) {
        st = sli_plan_open(dataset, &settings, &plan);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    st = explain_sample(plan, pass, sample, &text);
    sli_plan_close(plan);
    if (st != SLUICE_OK) {
        sli_text_free(&text);
        return st;
    }
    return sli_text_take(&text, text_out);
}
