/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_turns.h"

#include "collected_notes.h"

bool collected_is_full(const collected_rows *rows)
{
    const uint64_t seq = rows->row / rows->plan->batch_size + 1;

    return rows->row % rows->plan->batch_size == 0 && rows->held == 0 && rows->dropping == 0 &&
           rows->open_row == COLLECTED_NO_ROW && (seq > rows->batches || seq > rows->limit);
}

void collected_release_held(collected_rows *rows, uint64_t *whole)
{
    if (rows->held != 0 && rows->held_is_written) {
        *whole = rows->held;
    }
    rows->held = 0;
}

/* Ends the hold on a batch if every rank has a turn for its last row. */
static void end_round(collected_rows *rows, uint64_t *whole)
{
    if (rows->turn > rows->done && (rows->turn - rows->done) % rows->plan->settings.world == 0) {
        collected_release_held(rows, whole);
    }
}

/*
 * Assigns the next turn to a kept sample or a window and, if the turn is this rank's, a row. Calls
 * end_round() afterwards, with pack once the window is complete. False: this rank has no row left.
 */
static bool give_turn(collected_rows *rows, uint64_t *row_out)
{
    const sli_run_settings *settings = &rows->plan->settings;
    const uint32_t size = rows->plan->batch_size;
    const uint64_t turn = rows->turn - rows->done;

    if (rows->turn < rows->done) { /* done before the run */
        rows->turn++;
        return true;
    }
    if (turn % settings->world == settings->rank) {
        if (collected_is_full(rows)) {
            return false;
        }
        *row_out = rows->row++;
        /* The batch is dropped if the pass ends before every rank has a turn for this row. */
        if (rows->row % size == 0 && rows->plan->drop_remainder) {
            rows->held = rows->row / size;
            rows->held_is_written = false;
        }
    }
    rows->turn++;
    return true;
}

/* ---- windows of pack ------------------------------------------------------------------------- */

/* Ends the open window. The caller must pad *open_row from token *open_at on; COLLECTED_NO_ROW: the
 * row is another rank's, or there is no open window. */
static void end_window(collected_rows *rows, uint64_t *open_row, uint32_t *open_at)
{
    *open_row = rows->open_row;
    *open_at = rows->open_at;
    rows->open_row = COLLECTED_NO_ROW;
    rows->open_at = 0;
}

void collected_abandon_window(collected_rows *rows)
{
    if (rows->open_row != COLLECTED_NO_ROW) {
        end_window(rows, &rows->abandoned_row, &rows->abandoned_at);
    }
    rows->open_at = 0;
}

/* Assigns windows to the tokens of a document. False: this rank has no row left. */
static bool give_windows(collected_rows *rows, collected_document *document, uint64_t *whole)
{
    const plan_pack *pack = &rows->plan->details->pack;
    uint64_t from = 0;

    if (!pack->split && rows->open_at > 0 && document->length > pack->seq - rows->open_at) {
        end_window(rows, &document->open_row, &document->open_at);
        end_round(rows, whole);
    }
    while (from < document->length) {
        const uint64_t left = document->length - from;
        uint32_t count;

        if (rows->open_at == 0) {
            rows->open_count = 0;
            if (!give_turn(rows, &rows->open_row)) {
                return false;
            }
        }
        if (rows->open_row != COLLECTED_NO_ROW && document->rows++ == 0) {
            document->row = rows->open_row;
            document->at = rows->open_at;
            document->from = from;
            document->document = rows->open_count;
        }
        count = pack->seq - rows->open_at;
        count = left < count ? (uint32_t)left : count;
        from += count;
        rows->open_at += count;
        rows->open_count++;
        if (rows->open_at == pack->seq) {
            rows->open_at = 0;
            rows->open_row = COLLECTED_NO_ROW;
            end_round(rows, whole);
        }
    }
    return true;
}

/* ---- batches of bucket ----------------------------------------------------------------------- */

/* Gives the rows of a bucket the next turns. False: this rank has no row left. */
static bool give_batch(collected_rows *rows, uint32_t bucket)
{
    const uint32_t size = rows->plan->batch_size;
    sluice_status st;

    if (rows->turn < rows->done) {
        collected_buckets_empty(rows->buckets, bucket);
    } else if (collected_is_full(rows)) {
        return false;
    } else {
        st = collected_buckets_emit(rows->buckets, bucket);
        rows->row += st == SLUICE_OK ? size : 0;
        sli_error_take_first(st, &rows->error);
    }
    rows->turn += (uint64_t)size * rows->plan->settings.world;
    return true;
}

/* Ends a pass of bucket: makes a padded batch of each bucket that is not empty, or drops their
 * samples (drop_remainder). False: this rank has no row left. */
static bool end_buckets(collected_rows *rows)
{
    uint32_t bucket = 0;

    while (collected_buckets_next(rows->buckets, &bucket)) {
        if (rows->plan->drop_remainder) {
            collected_buckets_empty(rows->buckets, bucket);
        } else if (!give_batch(rows, bucket)) {
            return false;
        }
    }
    return true;
}

/* Puts the kept candidates of a choice into their buckets. False: this rank has no row left. */
static bool fill_buckets(collected_rows *rows, collected_choice *choice)
{
    const collected_claim *claim = &choice->claim;

    for (uint32_t i = 0; i < claim->count; i++) {
        if (choice->keeps[i] &&
            collected_buckets_add(rows->buckets, choice->buckets[i], claim->first + i,
                                  &choice->held) &&
            !give_batch(rows, choice->buckets[i])) {
            return false;
        }
    }
    return true;
}

/* ---- candidates and passes ------------------------------------------------------------------- */

/* Assigns a row to a kept sample. False: this rank has no row left. */
static bool give_row(collected_rows *rows, uint64_t *row_out, uint64_t *whole)
{
    const bool given = give_turn(rows, row_out);

    if (given) {
        end_round(rows, whole);
    }
    return given;
}

bool collected_give_rows(collected_rows *rows, collected_choice *choice)
{
    const collected_claim *claim = &choice->claim;
    const bool packs = rows->plan->details->pack.seq > 0;

    if (rows->buckets != NULL) {
        return fill_buckets(rows, choice) && (!claim->ends_pass || end_buckets(rows));
    }
    for (uint32_t i = 0; i < claim->count; i++) {
        if (packs ? !give_windows(rows, &choice->documents[i], &choice->whole)
                  : choice->keeps[i] && !give_row(rows, &choice->rows[i], &choice->whole)) {
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
static void end_batch(collected_rows *rows, uint64_t end, collected_claim *rest)
{
    const uint32_t size = rows->plan->batch_size;
    const uint32_t row = (uint32_t)(rows->row % size);

    rest->seq = rows->row / size + 1;
    rest->row = row;
    if (rows->row < end && row == 0 && (rest->seq > rows->batches || rest->seq > rows->limit)) {
        return;
    }
    if (rows->row < end) {
        rest->kind = COLLECTED_PADDING;
        rest->count = (uint32_t)(end - rows->row);
        rows->row = end;
    } else if (rows->row > end) {
        if (row > 0) {
            rest->kind = COLLECTED_LEFT_OUT;
            rest->count = size - row;
            rows->row += rest->count;
        }
        rows->dropping = end / size + 1;
    }
}

void collected_end_pass(collected_rows *rows, collected_choice *choice)
{
    const sli_plan *plan = rows->plan;
    const uint64_t pass = rows->ended++;
    const uint64_t candidates = rows->chosen - rows->pass_chosen;
    const uint64_t turns = rows->turn > rows->done ? rows->turn - rows->done : 0;
    const uint64_t end = rows->pass_row + plan_batches_in(plan, turns) * plan->batch_size;
    sluice_status st =
        collected_check_pass(plan, &(collected_pass_result){candidates, rows->turn, rows->done});

    if (st == SLUICE_OK) {
        st = plan_end_pass(plan, pass, rows->turn, &rows->done);
    }
    end_batch(rows, end, &choice->rest);
    end_window(rows, &choice->rest.open_row, &choice->rest.open_at);
    if (st != SLUICE_OK) {
        sli_error_take(st, &rows->error); /* may be raised by another thread */
    }
    collected_release_held(rows, &choice->whole);
    rows->pass_row = end;
    rows->pass_chosen = rows->chosen;
    rows->turn = 0;
}
