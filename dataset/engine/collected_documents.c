/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_worker.h"

#include "error_int.h"
#include "sample_filters.h"

/* Returns the memory of one of the worker's private documents. */
static uint8_t *own_document(const collected_worker *w, uint32_t number)
{
    return w->loader->own_rows + number * w->engine->plan->details->dealing.own_row_bytes;
}

/*
 * Loads a document. If that fails, the error policy replaces it, leaves it out, or ends the run
 * with the returned error.
 */
static sluice_status load_document(collected_worker *w, collected_part *part, uint32_t i)
{
    const collected_claim *claim = &part->choice.claim;
    sample_loader *loader = w->loader;
    void *document = own_document(w, collected_own_number(w, part, i));
    row_task task = {.pass = claim->pass, .global_position = claim->position + i};
    bool is_left_out = false;
    sluice_status st;

    collected_find_candidate(w, part, i);
    task.sample = part->samples[i];
    packed_document_row(w->engine->plan, document, &task.row);
    packed_document_clear(document);
    st = sample_load_filtered(loader, task.sample, part->passes[i], &task.row);
    readahead_was_read(w->engine->ahead, loader->last.read_ticks, loader->last.read_bytes);
    if (st != SLUICE_OK) {
        st = engine_bad_document(w->engine, loader, &task, st, &is_left_out);
    }
    if (st == SLUICE_OK && !loader->last.dropped && !is_left_out) {
        packed_document_keep(loader, document);
    }
    part->samples[i] = task.sample;
    part->choice.documents[i].length = packed_document_length(document);
    return st;
}

uint32_t collected_load_documents(collected_worker *w, collected_part *part)
{
    const collected_claim *claim = &part->choice.claim;
    const uint64_t start = sli_ticks();
    uint32_t count = 0;

    while (count < claim->count && part->choice.error == NULL) {
        const sluice_status st = load_document(w, part, count++);

        if (st != SLUICE_OK) {
            sli_error_take(st, &w->error);
            part->choice.error = &w->error;
        }
    }
    if (count > 0) {
        row_pace_note(&w->pace, sli_ticks() - start, count);
    }
    return count;
}

bool collected_place_document(collected_worker *w, const collected_part *part, uint32_t i)
{
    const sli_plan *plan = w->engine->plan;
    const collected_document *to = &part->choice.documents[i];
    const uint32_t seq = plan->details->pack.seq;

    if (!collected_pad_window(w, to->open_row, to->open_at)) {
        return false;
    }
    for (uint64_t k = 0; k < to->rows; k++) {
        packed_piece piece = {.row = to->row + k, .from = to->from};
        uint64_t left;

        if (k == 0) {
            piece.at = to->at;
            piece.document = to->document;
        } else {
            piece.from += k * plan->settings.world * seq - to->at;
        }
        left = to->length - piece.from;
        piece.count = left < seq - piece.at ? (uint32_t)left : seq - piece.at;
        if (!collected_write_piece(w, &piece, own_document(w, collected_own_number(w, part, i)),
                                   part->samples[i])) {
            return false;
        }
    }
    return true;
}
