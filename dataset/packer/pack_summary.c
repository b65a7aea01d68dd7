/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

sluice_status pack_summary_print(const pack_summary *summary, const sluice_pack_stats *stats,
                                 char **text_out)
{
    sli_text text = {0};
    bool is_first = true;

    sli_text_add(&text,
                 "{\"schema\":1,\"samples\":%" PRIu64 ",\"written\":%" PRIu64
                 ",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64 ",\"tar_bytes\":%" PRIu64
                 ",\"shards\":%" PRIu32 ",\"fates\":{",
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
    sli_text_add(&text, "],\"problems\":[");
    text.failed = text.failed || summary->problems.failed;
    sli_text_add(&text, "%s]}\n", summary->problems.data != NULL ? summary->problems.data : "");
    return sli_text_take(&text, text_out);
}

uint64_t pack_summary_samples(const char *text)
{
    uint64_t samples;

    return text != NULL && sscanf(text, "{\"schema\":1,\"samples\":%" SCNu64, &samples) == 1
               ? samples
               : UINT64_MAX;
}

uint64_t pack_summary_shards(const char *text)
{
    const char *at = pack_summary_samples(text) != UINT64_MAX ? strstr(text, "\"shards\":") : NULL;
    uint64_t shards;

    return at != NULL && sscanf(at, "\"shards\":%" SCNu64, &shards) == 1 ? shards : UINT64_MAX;
}

void pack_summary_free(pack_summary *summary)
{
    sli_text_free(&summary->problems);
}
