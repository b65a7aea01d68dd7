/* SPDX-License-Identifier: Apache-2.0 */
/* Advice about the data: an index or a pack, so that less is decoded, a cache, faster storage. */
#include <math.h>
#include <string.h>

#include "advice_rules.h"

/*
 * Cost model for decoding only a box of a JPEG file, relative to a full decode. A decoder that
 * starts at the beginning of the file Huffman-decodes all lines down to the box's lower edge
 * (HUFFMAN_PART); the rest of the work is done only for the box's pixels. With an index or restart
 * markers it decodes only the box, enlarged to whole MCUs (MCUS_AROUND). Measured with ImageNet's
 * photographs (docs/guide/fast-data.md).
 */
static const double HUFFMAN_PART = 0.7;
static const double MCUS_AROUND = 1.15;

static const advice_ranges CACHED = {{0.85, 1.1}, {0.74, 1.14}}; /* of reads that do not wait */
static const advice_range DECODED = {0.88, 1.02}; /* of an index: measured 9 % too good */

static bool is_folder(const verdict_facts *facts)
{
    return strcmp(facts->data.source, "image_folder") == 0;
}

static const verdict_stage *decode_of(const verdict_facts *facts)
{
    for (uint32_t i = 0; i < facts->stage_count; i++) {
        if ((facts->stages[i].kind & SLI_STAGE_DECODE) != 0) {
            return &facts->stages[i];
        }
    }
    return NULL;
}

/* Speed-up factor of the workers if the images that lack an index had one. */
static double gain_of_index(const verdict_facts *facts)
{
    const sli_index_counts *counts = &facts->data.indexes;
    const verdict_stage *decode = decode_of(facts);
    const double now =
        HUFFMAN_PART * (double)counts->above + (1 - HUFFMAN_PART) * (double)counts->needed;
    const double then = MCUS_AROUND * (double)counts->needed;

    if (decode == NULL || decode->samples == 0 || now <= 0 || then >= now ||
        !verdict_is_steady(facts, decode)) {
        return 1;
    }
    return 1 / (1 - (double)counts->lacking / (double)decode->samples * (1 - then / now) *
                        decode->busy_s / verdict_busy(facts));
}

/* True if decoding less would help: only the workers' CPU time limits the run. */
static bool decodes_too_much(const verdict_facts *facts, const verdict *v)
{
    return v->at != NULL && (verdict_has_cause(v, "cpu") || verdict_has_cause(v, "starved")) &&
           gain_of_index(facts) >= ADVICE_LEAST_GAIN;
}

static void set_index_rate(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const double now = verdict_now(facts);
    const double gain = gain_of_index(facts);
    verdict_cost cost = verdict_cost_of(facts);

    if (verdict_has_cause(v, "cpu")) {
        /* Steps and the host bound the rate as before. */
        cost.cpu /= gain;
        cost.runqueue /= gain;
        advice_set_rate(advice, fmin(gain * now, verdict_rate(facts, &cost, 1e9)), DECODED);
    }
}

static double percent_needed(const verdict_facts *facts)
{
    return 100 * (double)facts->data.indexes.needed / (double)facts->data.indexes.above;
}

bool advice_index(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    if (!is_folder(facts) || facts->data.indexes.asked > 0 || !decodes_too_much(facts, v)) {
        return false;
    }
    set_index_rate(facts, v, advice);
    advice_say(
        advice,
        "image_folder index=DIR, from the second pass on: the crops need %.0f %% of the pixels "
        "down to their lower edge",
        percent_needed(facts));
    return true;
}

bool advice_pack(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const verdict_stage *at = v->at;

    if (!facts->data.packs) {
        return false;
    }
    if (facts->data.indexes.asked == 0 && decodes_too_much(facts, v)) {
        set_index_rate(facts, v, advice);
        advice_say(advice,
                   "`sluice pack`: the crops need %.0f %% of the pixels down to their lower edge",
                   percent_needed(facts));
        return true;
    }
    if (at == NULL || (at->kind & SLI_STAGE_READ) == 0 || !is_folder(facts) ||
        verdict_has_cause(v, "starved")) {
        return false;
    }
    advice_say(advice,
               "`sluice pack`: a file takes %.0f us to read; a pack spares opening and closing "
               "each",
               1e6 * at->p50_s);
    return true;
}

bool advice_cache(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const verdict_data *data = &facts->data;
    const verdict_stage *decode = decode_of(facts);
    const double bytes = (double)data->cached_bytes * (double)data->samples_per_pass;
    const bool reads_again =
        data->samples_per_pass > 0 && facts->run.samples > data->samples_per_pass;

    if (v->at == NULL || data->has_cache || !reads_again || bytes <= 0 ||
        bytes > (double)data->memory_limit / 2 || decode == NULL ||
        (v->at->kind & (SLI_STAGE_DECODE | SLI_STAGE_READ)) == 0 ||
        verdict_has_cause(v, "starved")) {
        return false;
    }
    advice_say(advice,
               "`cache` after %s keeps all samples in %.1f MB, and later passes read and decode "
               "no file",
               data->cached_after, bytes / 1e6);
    return true;
}

/* The rate if reading files took CPU time only, as it does from the page cache. */
static void set_cached_rate(const verdict_facts *facts, report_advice *advice)
{
    verdict_facts cached = *facts;
    verdict_cost cost;

    for (uint32_t i = 0; i < cached.stage_count; i++) {
        verdict_stage *stage = &cached.stages[i];

        if ((stage->kind & SLI_STAGE_READ) != 0 && (stage->kind & SLI_STAGE_USER) == 0 &&
            stage->has_shares && stage->blocked < 1) {
            stage->busy_s *= 1 - stage->blocked;
            stage->locked_s = 0;
            stage->cpu /= 1 - stage->blocked;
            stage->runqueue /= 1 - stage->blocked;
            stage->blocked = 0;
        }
    }
    cost = verdict_cost_of(&cached);
    advice_set_rate(advice, verdict_rate(&cached, &cost, cached.cores.workers),
                    advice_range_of(&cached, &cost, &CACHED));
}

bool advice_storage(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const double mb_per_s = (double)facts->data.bytes_read / 1e6 / facts->run.seconds;

    if (!verdict_has_cause(v, "storage")) {
        return false;
    }
    if (v->at != NULL && v->at->has_runqueue) {
        set_cached_rate(facts, advice);
    }
    advice_say(advice,
               "%s gives %.1f MB/s: a faster one, files in the page cache, or fewer bytes (`sluice "
               "pack --max-side N`, lossy)%s",
               2 * facts->data.ahead_bytes > facts->data.bytes_read ? "the disk" : "reading",
               mb_per_s, advice->rate_high > 0 ? "; the rate is for reads that do not wait" : "");
    return true;
}
