/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "pack_fields.h"
#include "pack_marks.h"

static void name_first(char *text, const sluice_pack_problem *problem)
{
    snprintf(text, PACK_FIRST_SIZE, "%.150s: %.150s", problem->name, problem->why);
}

void pack_summary_note(pack_summary *summary, const sluice_pack_problem *problem)
{
    sli_text *text = &summary->problems;

    if (summary->count == 0) {
        name_first(summary->first_why, problem);
    }
    if (problem->fate == SLUICE_PACK_LEFT_FAULT && summary->first_fault[0] == '\0') {
        name_first(summary->first_fault, problem);
    }
    if (summary->count == PACK_PROBLEMS_NAMED) {
        return;
    }
    sli_text_add(text, "%s{\"position\":%" PRIu64 ",\"fate\":\"%s\",\"name\":",
                 summary->count > 0 ? "," : "", problem->position,
                 sluice_pack_fate_name(problem->fate));
    sli_text_add_json(text, problem->name);
    sli_text_add(text, ",\"why\":");
    sli_text_add_json(text, problem->why);
    sli_text_add(text, "}");
    summary->count++;
}

/* Adds names that have commas between them, as elements of a list. */
static void add_names(sli_text *text, const char *names)
{
    bool is_first = true;

    while (names != NULL && *names != '\0') {
        const size_t length = strcspn(names, ",");
        char name[SLUICE_NAME_SIZE];

        snprintf(name, sizeof(name), "%.*s", (int)length, names);
        sli_text_add(text, "%s", is_first ? "" : ",");
        sli_text_add_json(text, name);
        is_first = false;
        names += length + (names[length] == ',');
    }
}

/* What a column is, as a word. */
static const char *kind_of(const kept_columns *kept, uint32_t i)
{
    const kept_column *column = &kept->columns[i];

    switch (column->info.role) {
    case ROLE_MASK:
        return "mask";
    case ROLE_BOXES:
        return column->info.in_parts ? "fraction_boxes" : "boxes";
    case ROLE_POINTS:
        return column->info.in_parts ? "fraction_points" : "points";
    case ROLE_IMAGE:
        return "image";
    default:
        return (int)i == kept->image ? "image" : "values";
    }
}

/* Adds the columns as a list of objects: name, kind, and of values type, shape and most rows. */
static void add_columns(sli_text *text, const kept_columns *kept)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        const kept_column *column = &kept->columns[i];
        const uint32_t fixed = kept_is_ragged(column) ? 1 : 0;

        sli_text_add(text, "%s{\"name\":\"%s\",\"kind\":\"%s\"", i > 0 ? "," : "",
                     column->type.name, kind_of(kept, i));
        if (!column->is_file) {
            sli_text_add(text, ",\"type\":\"%s\",\"shape\":[",
                         sluice_dtype_name(column->type.dtype));
            for (uint32_t k = fixed; k < column->type.rank; k++) {
                sli_text_add(text, "%s%" PRIu64, k > fixed ? "," : "", column->type.shape[k]);
            }
            sli_text_add(text, "]");
        }
        if (kept_is_ragged(column)) {
            sli_text_add(text, ",\"most\":%" PRIu64, column->type.shape[0]);
        }
        if (column->owner >= 0) {
            sli_text_add(text, ",\"of\":\"%s\"", kept->columns[column->owner].type.name);
        }
        sli_text_add(text, "}");
    }
}

sluice_status pack_summary_print(const pack_summary *summary, const sluice_pack_stats *stats,
                                 const kept_columns *kept, const pack_folder *folder,
                                 char **text_out)
{
    sli_text text = {0};
    bool is_first = true;

    if (folder->has_indexes) {
        sli_text_add(&text, PACK_SUMMARY_OF_PACK);
    } else {
        sli_text_add(&text,
                     PACK_SUMMARY_OF_CONVERSION "\"%s\",\"samples\":", folder->writer->format);
    }
    sli_text_add(&text,
                 "%" PRIu64 ",\"written\":%" PRIu64 ",\"bytes_in\":%" PRIu64
                 ",\"bytes_out\":%" PRIu64 ",\"tar_bytes\":%" PRIu64 ",\"shards\":%" PRIu32
                 ",\"fates\":{",
                 stats->samples, stats->written, stats->bytes_in, stats->bytes_out,
                 stats->tar_bytes, stats->shards);
    for (int i = 0; i < SLUICE_PACK_FATES; i++) {
        if (stats->fates[i] > 0) {
            sli_text_add(&text, "%s\"%s\":%" PRIu64, is_first ? "" : ",",
                         sluice_pack_fate_name((sluice_pack_fate)i), stats->fates[i]);
            is_first = false;
        }
    }
    sli_text_add(&text, "},\"dropped\":[");
    add_names(&text, summary->dropped);
    sli_text_add(&text, "],\"" PACK_FIELDS "\":\"");
    folder->writer->print_fields(kept, &text);
    sli_text_add(&text, "\",\"columns\":[");
    add_columns(&text, kept);
    sli_text_add(&text, "],\"problems\":[");
    text.failed = text.failed || summary->problems.failed;
    sli_text_add(&text, "%s]}\n", summary->problems.data != NULL ? summary->problems.data : "");
    return sli_text_take(&text, text_out);
}

void pack_summary_free(pack_summary *summary)
{
    sli_text_free(&summary->problems);
}
