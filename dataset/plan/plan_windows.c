/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's pass over windows. A source may have several columns that are windows of one stored
 * array, such as the inputs and targets of a window of tokens. On a device that copies batches the
 * array crosses the bus once, as it is stored, and GetNext makes the columns of it (output_int.h);
 * elsewhere the workers write the columns.
 */
#include <stdio.h>
#include <string.h>

#include "plan.h"

/* Is this buffer of the source a window that the batch or a step needs? */
static bool is_needed_window(const sli_plan *plan, const source_windows *windows, uint32_t buffer)
{
    return buffer < plan->dataset->source_schema.column_count &&
           windows->offsets[buffer] != SOURCE_NO_WINDOW &&
           plan->details->memory.buffers[buffer].needed;
}

/* The name of a stage that reads a buffer on the host; NULL: there is none. */
static const char *reader_of(const struct plan_details *details, uint32_t buffer)
{
    const plan_pack *pack = &details->pack;

    if (details->bucket.count > 0 && details->bucket.length == buffer) {
        return "bucket";
    }
    if (pack->seq > 0 && (pack->document == buffer || pack->length == (int)buffer)) {
        return "pack";
    }
    for (uint32_t i = 0; i < details->work.step_count; i++) {
        const plan_step *step = &details->work.steps[i];

        for (uint32_t k = 0; step->array != NULL && k < step->array_columns; k++) {
            if (step->inputs[k] == buffer) {
                return step->array->def->name;
            }
        }
        for (uint32_t k = 0; step->map != NULL && k < step->map->input_count; k++) {
            if (step->inputs[k] == buffer || step->lengths[k] == (int)buffer) {
                return step->map->name;
            }
        }
    }
    for (uint32_t i = 0; i < details->work.batch_map_count; i++) {
        const plan_batch_map *map = &details->work.batch_maps[i];

        for (uint32_t k = 0; map->map != NULL && k < map->map->column_count; k++) {
            if (map->buffers[k] == buffer) {
                return map->name;
            }
        }
    }
    return NULL;
}

/* Names of the columns that are windows: "inputs, targets". */
static void list_windows(const sli_plan *plan, const source_windows *windows, char *text,
                         size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < plan->dataset->source_schema.column_count && length < size; i++) {
        if (is_needed_window(plan, windows, i)) {
            length += (size_t)snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "",
                                       plan->dataset->source_schema.columns[i].name);
        }
    }
}

/*
 * Decides whether GetNext makes the columns. *why_out: why it cannot; "": it can. E_INVALID: the
 * source's offload=device is not possible.
 */
static sluice_status choose_side(const sli_plan *plan, const source_windows *windows,
                                 bool *on_device_out, char *why, size_t size)
{
    const char *source = plan->dataset->stages[0].def->name;

    why[0] = '\0';
    for (uint32_t i = 0; i < plan->dataset->source_schema.column_count; i++) {
        const char *reader =
            is_needed_window(plan, windows, i) ? reader_of(plan->details, i) : NULL;

        if (reader != NULL) {
            snprintf(why, size, "%s reads %s on the host", reader,
                     plan->dataset->source_schema.columns[i].name);
        }
    }
    if (plan->details->cache.stage > 0 && why[0] == '\0') {
        snprintf(why, size, "cache keeps the columns");
    }
    if (plan->device_converts && why[0] == '\0') {
        snprintf(why, size, "GetNext converts the image");
    }
    if (windows->offload == OFFLOAD_DEVICE && why[0] != '\0') {
        return sli_fail(SLUICE_E_INVALID, "%s offload=device is not possible: %s; use offload=auto",
                        source, why);
    }
    *on_device_out =
        why[0] == '\0' && (windows->offload == OFFLOAD_DEVICE ||
                           (windows->offload == OFFLOAD_AUTO && plan->settings.prefer_device));
    return SLUICE_OK;
}

/* Moves a column of the batch to its place in the row that workers write. */
static void move_column(sli_plan *plan, uint32_t column, const sluice_column *wire)
{
    struct plan_details *details = plan->details;

    plan->outputs[column] = (sli_output){plan->seen[column], plan->wire_count, 0};
    for (uint32_t i = 0; i < details->memory.buffer_count; i++) {
        if (column < plan->dataset->opened_schema.column_count &&
            plan->dataset->opened_schema.infos[column].buffer == i) {
            details->memory.buffers[i].column = (int)plan->wire_count;
        }
    }
    if (plan->mask_column == (int)column) {
        plan->mask_column = (int)plan->wire_count;
    }
    plan->wire[plan->wire_count++] = *wire;
}

/* Replaces the columns that are windows by the stored array in the row that workers write. */
static void send_stored(sli_plan *plan, const source_windows *windows)
{
    const stage_schema *schema = &plan->dataset->opened_schema;
    struct plan_details *details = plan->details;
    const int mask = plan->mask_column;
    sluice_column wire[SLUICE_MAX_COLUMNS];

    memcpy(wire, plan->wire, sizeof(wire));
    plan->wire_count = 0;
    plan->mask_column = -1;
    for (uint32_t i = 0; i < plan->column_count; i++) {
        const uint32_t buffer = i < schema->column_count ? schema->infos[i].buffer : UINT32_MAX;

        if (!is_needed_window(plan, windows, buffer)) {
            plan->mask_column = mask == (int)i ? mask : plan->mask_column;
            move_column(plan, i, &wire[i]);
            continue;
        }
        if (details->images.stored_column < 0) {
            details->images.stored_column = (int)plan->wire_count;
            plan->wire[plan->wire_count++] = windows->stored;
        }
        plan->outputs[i] = (sli_output){plan->seen[i], (uint32_t)details->images.stored_column,
                                        windows->offsets[buffer]};
        plan->device_widens = true;
    }
    for (uint32_t i = 0; i < plan->dataset->source_schema.column_count; i++) {
        if (is_needed_window(plan, windows, i)) {
            details->memory.buffers[i].needed =
                false; /* the source writes the stored array instead */
            details->memory.buffers[i].column = -1;
        }
    }
    details->memory.rows_only = false;
}

sluice_status plan_windows(sli_plan *plan)
{
    const source_ops *source = dataset_source(plan->dataset);
    source_windows windows;
    bool on_device = false;
    char names[200];
    char why[200];
    char note[500];
    sluice_status st;

    plan->wire_count = plan->column_count;
    plan->details->images.stored_column = -1;
    if (source->windows == NULL || !source->windows(plan->dataset->source, &windows)) {
        return SLUICE_OK;
    }
    st = choose_side(plan, &windows, &on_device, why, sizeof(why));
    list_windows(plan, &windows, names, sizeof(names));
    if (st != SLUICE_OK || names[0] == '\0') {
        return st;
    }
    if (on_device) {
        send_stored(plan, &windows);
        snprintf(note, sizeof(note), "%s: windows of one row of %llu %s, in the device's GetNext",
                 names, (unsigned long long)windows.stored.shape[0],
                 sluice_dtype_name(windows.stored.dtype));
    } else {
        snprintf(note, sizeof(note), "%s: in the workers' write to the row%s%s", names,
                 why[0] != '\0' ? ", for " : "", why);
    }
    plan_note(plan, note);
    return SLUICE_OK;
}
