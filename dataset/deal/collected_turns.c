/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_turns.h"

#include "collected_notes.h"

sluice_status collected_turns_init(collected_turns *turns, const sli_plan *plan, uint64_t batches)
{
    turns->plan = plan;
    turns->batches = batches;
    turns->done = plan->begin.done;
    turns->limit = UINT64_MAX;
    turns->window.row = COLLECTED_NO_ROW;
    turns->abandoned.row = COLLECTED_NO_ROW;
    return plan->details->bucket.count > 0 ? collected_buckets_create(plan, &turns->buckets)
                                           : SLUICE_OK;
}

void collected_turns_fini(collected_turns *turns)
{
    collected_buckets_destroy(turns->buckets);
}

bool turns_are_full(const collected_turns *turns)
{
    const uint64_t seq = turns_batch(turns);

    return turns->row % turns->plan->batch_size == 0 && turns->held == 0 && turns->dropping == 0 &&
           turns->window.row == COLLECTED_NO_ROW && (seq > turns->batches || seq > turns->limit);
}

void turns_release_held(collected_turns *turns, uint64_t *whole)
{
    if (turns->held != 0 && turns->held_is_written) {
        *whole = turns->held;
    }
    turns->held = 0;
}

/* Ends the hold on a batch if every rank has a turn for its last row. */
static void end_round(collected_turns *turns, uint64_t *whole)
{
    if (turns->turn > turns->done &&
        (turns->turn - turns->done) % turns->plan->settings.world == 0) {
        turns_release_held(turns, whole);
    }
}

/*
 * Assigns the next turn to a kept sample or a window and, if the turn is this rank's, a row. Calls
 * end_round() afterwards, with pack once the window is complete. False: this rank has no row left.
 */
static bool give_turn(collected_turns *turns, uint64_t *row_out)
{
    const sli_run_settings *settings = &turns->plan->settings;
    const uint32_t size = turns->plan->batch_size;
    const uint64_t turn = turns->turn - turns->done;

    if (turns->turn < turns->done) { /* done before the run */
        turns->turn++;
        return true;
    }
    if (turn % settings->world == settings->rank) {
        if (turns_are_full(turns)) {
            return false;
        }
        *row_out = turns->row++;
        /* The batch is dropped if the pass ends before every rank has a turn for this row. */
        if (turns->row % size == 0 && turns->plan->drop_remainder) {
            turns->held = turns->row / size;
            turns->held_is_written = false;
        }
    }
    turns->turn++;
    return true;
}

/* ---- windows of pack ------------------------------------------------------------------------- */

/* Ends the open window. The caller must pad *open_row from token *open_at on; COLLECTED_NO_ROW: the
 * row is another rank's, or there is no open window. */
static void end_window(collected_turns *turns, uint64_t *open_row, uint32_t *open_at)
{
    *open_row = turns->window.row;
    *open_at = turns->window.at;
    turns->window.row = COLLECTED_NO_ROW;
    turns->window.at = 0;
}

void turns_abandon_window(collected_turns *turns)
{
    if (turns->window.row != COLLECTED_NO_ROW) {
        end_window(turns, &turns->abandoned.row, &turns->abandoned.at);
    }
    turns->window.at = 0;
}

/* Assigns windows to the tokens of a document. False: this rank has no row left. */
static bool give_windows(collected_turns *turns, collected_document *document, uint64_t *whole)
{
    const plan_pack *pack = &turns->plan->details->pack;
    uint64_t from = 0;

    if (!pack->split && turns->window.at > 0 && document->length > pack->seq - turns->window.at) {
        end_window(turns, &document->open_row, &document->open_at);
        end_round(turns, whole);
    }
    while (from < document->length) {
        const uint64_t left = document->length - from;
        uint32_t count;

        if (turns->window.at == 0) {
            turns->window.count = 0;
            if (!give_turn(turns, &turns->window.row)) {
                return false;
            }
        }
        if (turns->window.row != COLLECTED_NO_ROW && document->rows++ == 0) {
            document->row = turns->window.row;
            document->at = turns->window.at;
            document->from = from;
            document->document = turns->window.count;
        }
        count = pack->seq - turns->window.at;
        count = left < count ? (uint32_t)left : count;
        from += count;
        turns->window.at += count;
        turns->window.count++;
        if (turns->window.at == pack->seq) {
            turns->window.at = 0;
            turns->window.row = COLLECTED_NO_ROW;
            end_round(turns, whole);
        }
    }
    return true;
}

/* ---- batches of bucket ----------------------------------------------------------------------- */

/* Gives the rows of a bucket the next turns. False: this rank has no row left. */
static bool give_batch(collected_turns *turns, uint32_t bucket, sli_error *error)
{
    const uint32_t size = turns->plan->batch_size;
    sluice_status st;

    if (turns->turn < turns->done) {
        collected_buckets_empty(turns->buckets, bucket);
    } else if (turns_are_full(turns)) {
        return false;
    } else {
        st = collected_buckets_emit(turns->buckets, bucket);
        turns->row += st == SLUICE_OK ? size : 0;
        sli_error_take_first(st, error);
    }
    turns->turn += (uint64_t)size * turns->plan->settings.world;
    return true;
}

/* Ends a pass of bucket: makes a padded batch of each bucket that is not empty, or drops their
 * samples (drop_remainder). False: this rank has no row left. */
static bool end_buckets(collected_turns *turns, sli_error *error)
{
    uint32_t bucket = 0;

    while (collected_buckets_next(turns->buckets, &bucket)) {
        if (turns->plan->drop_remainder) {
            collected_buckets_empty(turns->buckets, bucket);
        } else if (!give_batch(turns, bucket, error)) {
            return false;
        }
    }
    return true;
}

/* Puts the kept candidates of a choice into their buckets. False: this rank has no row left. */
static bool fill_buckets(collected_turns *turns, collected_choice *choice, sli_error *error)
{
    const collected_claim *claim = &choice->claim;

    for (uint32_t i = 0; i < claim->count; i++) {
        if (choice->keeps[i] &&
            collected_buckets_add(turns->buckets, choice->buckets[i], claim->first + i,
                                  &choice->held) &&
            !give_batch(turns, choice->buckets[i], error)) {
            return false;
        }
    }
    return true;
}

/* ---- candidates and passes ------------------------------------------------------------------- */

/* Assigns a row to a kept sample. False: this rank has no row left. */
static bool give_row(collected_turns *turns, uint64_t *row_out, uint64_t *whole)
{
    const bool given = give_turn(turns, row_out);

    if (given) {
        end_round(turns, whole);
    }
    return given;
}

bool turns_give(collected_turns *turns, collected_choice *choice, sli_error *error)
{
    const collected_claim *claim = &choice->claim;
    const bool packs = turns->plan->details->pack.seq > 0;

    if (turns->buckets != NULL) {
        return fill_buckets(turns, choice, error) &&
               (!claim->ends_pass || end_buckets(turns, error));
    }
    for (uint32_t i = 0; i < claim->count; i++) {
        if (packs ? !give_windows(turns, &choice->documents[i], &choice->whole)
                  : choice->keeps[i] && !give_row(turns, &choice->rows[i], &choice->whole)) {
            return false;
        }
    }
    return true;
}

/*
 * Completes the last batch of a pass, whose rows end before row `end`: pads it, or leaves out its
 * remaining rows and marks it to be dropped. Of a batch that other ranks have begun, and that is
 * after the last one, no row is assigned.
 */
static void end_batch(collected_turns *turns, uint64_t end, collected_claim *rest)
{
    const uint32_t size = turns->plan->batch_size;
    const uint32_t row = (uint32_t)(turns->row % size);

    rest->seq = turns->row / size + 1;
    rest->row = row;
    if (turns->row < end && row == 0 && (rest->seq > turns->batches || rest->seq > turns->limit)) {
        return;
    }
    if (turns->row < end) {
        rest->kind = COLLECTED_PADDING;
        rest->count = (uint32_t)(end - turns->row);
        turns->row = end;
    } else if (turns->row > end) {
        if (row > 0) {
            rest->kind = COLLECTED_LEFT_OUT;
            rest->count = size - row;
            turns->row += rest->count;
        }
        turns->dropping = end / size + 1;
    }
}

uint64_t turns_give_round(collected_turns *turns, uint64_t skipped, uint32_t count)
{
    const sli_run_settings *settings = &turns->plan->settings;
    const bool is_given =
        settings->rank < count && (count == settings->world || !turns->plan->drop_remainder);

    turns->turn += skipped + count;
    return is_given ? turns->row++ : COLLECTED_NO_ROW;
}

void turns_end_pass(collected_turns *turns, const collected_pass_end *pass, collected_claim *rest,
                    uint64_t *whole, sli_error *error)
{
    const sli_plan *plan = turns->plan;
    const uint64_t count = turns->turn > turns->done ? turns->turn - turns->done : 0;
    const uint64_t end = turns->pass_row + plan_batches_in(plan, count) * plan->batch_size;
    sluice_status st = collected_check_pass(
        plan, &(collected_pass_result){pass->candidates, turns->turn, turns->done});

    if (st == SLUICE_OK) {
        st = plan_end_pass(plan, pass->number, turns->turn, &turns->done);
    }
    end_batch(turns, end, rest);
    end_window(turns, &rest->open_row, &rest->open_at);
    if (st != SLUICE_OK) {
        sli_error_take(st, error); /* may be raised by another thread */
    }
    turns_release_held(turns, whole);
    turns->pass_row = end;
    turns->turn = 0;
}

/* ---- rows without candidates ------------------------------------------------------------------
 */

/* If the abandoned window is the last row of its batch, the claim has no rows besides it. Nor has
 * it others if the run fails and a batch is held: that batch fails. */
void turns_give_empty(collected_turns *turns, collected_kind kind, uint64_t end,
                      collected_claim *claim)
{
    const uint32_t size = turns->plan->batch_size;
    const uint64_t open = turns->abandoned.row;
    const bool ends_held = kind == COLLECTED_FAILED && turns->held != 0;

    claim->kind = kind;
    claim->open_row = open;
    claim->open_at = turns->abandoned.at;
    turns->abandoned.row = COLLECTED_NO_ROW;
    claim->seq = ends_held                  ? turns->held
                 : open != COLLECTED_NO_ROW ? open / size + 1
                                            : turns_batch(turns);
    claim->row = (uint32_t)(turns->row % size);
    if ((open != COLLECTED_NO_ROW || ends_held) && claim->row == 0) {
        claim->row = size - 1;
        return;
    }
    claim->count = size - claim->row;
    if (end - turns->row < claim->count) {
        claim->count = (uint32_t)(end - turns->row);
    }
    turns->row += claim->count;
}

bool turns_give_bucket_rows(collected_turns *turns, collected_claim *claim, bucket_row *rows_out)
{
    const uint32_t size = turns->plan->batch_size;
    const uint64_t pending = turns->buckets != NULL ? collected_buckets_pending(turns->buckets) : 0;
    const uint64_t row = turns->row - pending;

    if (pending == 0) {
        return false;
    }
    claim->kind = COLLECTED_ROWS;
    claim->seq = row / size + 1;
    claim->row = (uint32_t)(row % size);
    claim->count =
        size - claim->row < COLLECTED_ROWS_MOST ? size - claim->row : COLLECTED_ROWS_MOST;
    claim->count = pending < claim->count ? (uint32_t)pending : claim->count;
    collected_buckets_take(turns->buckets, claim->count, rows_out);
    return true;
}

void turns_rewind(collected_turns *turns, uint64_t *whole)
{
    turns->turn = 0;
    turns->done = turns->plan->begin.done;
    turns->pass_row = turns->base * turns->plan->batch_size;
    turns_abandon_window(turns);
    if (turns->buckets != NULL) {
        turns->row -= collected_buckets_pending(turns->buckets);
        collected_buckets_clear(turns->buckets);
    }
    turns_release_held(turns, whole);
}
