/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_choices.h"

/* True if candidates of the claim can get no rows any more. */
static bool is_useless(const kept_rows *rows, const kept_claim *claim)
{
    return rows->stopped || rows->over || rows->error.status != SLUICE_OK ||
           claim->round != rows->round || kept_is_full(rows);
}

/* True if the choices of all earlier candidates are made. */
static bool is_next(const kept_rows *rows, const kept_claim *claim)
{
    const uint64_t pass = claim->pass - rows->plan->begin.pass;

    return rows->chosen == claim->first && rows->ended == pass && rows->dropping == 0;
}

/* A claim without candidates, at the end of a pass, has the number of the first one of the next
 * pass. */
static bool is_before(const kept_claim *a, const kept_claim *b)
{
    return a->pass != b->pass ? a->pass < b->pass : a->first < b->first;
}

void kept_choices_add(kept_rows *rows, kept_choice *choice)
{
    kept_choice *before = rows->last;

    choice->whole = 0;
    choice->rest = (kept_claim){.kind = KEPT_NOTHING, .open_row = KEPT_NO_ROW};
    choice->gets_rows = false;
    choice->is_made = choice->claim.round != rows->round;
    if (choice->is_made) {
        return;
    }
    for (uint32_t i = 0; i < choice->claim.count; i++) {
        choice->rows[i] = KEPT_NO_ROW;
        if (choice->documents != NULL) {
            choice->documents[i].rows = 0;
            choice->documents[i].open_row = KEPT_NO_ROW;
        }
    }
    /* From the end, since the last candidates are often those of the last claims. */
    while (before != NULL && is_before(&choice->claim, &before->claim)) {
        before = before->before;
    }
    choice->before = before;
    choice->next = before != NULL ? before->next : rows->choices;
    *(before != NULL ? &before->next : &rows->choices) = choice;
    *(choice->next != NULL ? &choice->next->before : &rows->last) = choice;
}

/* Counts chosen candidates in the replay, and ends it when it is complete. */
static void count_replayed(kept_rows *rows, uint64_t candidates)
{
    if (replay_is_open(&rows->replay)) {
        replay_add(&rows->replay, candidates);
        if (rows->turn >= rows->done) {
            replay_end(&rows->replay, rows->ended + 1);
        }
    }
}

/* Assigns rows to the candidates of a choice, all of whose earlier ones are made. */
static void make(kept_rows *rows, kept_choice *choice)
{
    choice->gets_rows = true;
    if (!kept_give_rows(rows, choice)) {
        return; /* neither later candidates nor later choices can get rows */
    }
    if (choice->error != NULL) {
        rows->error = *choice->error;
        kept_abandon_window(rows);
        return;
    }
    rows->chosen += choice->claim.count;
    count_replayed(rows, choice->claim.count);
    if (choice->claim.ends_pass) {
        kept_end_pass(rows, choice);
    }
}

bool kept_choices_make(kept_rows *rows)
{
    bool any = false;

    while (rows->choices != NULL) {
        kept_choice *first = rows->choices;

        if (!is_useless(rows, &first->claim)) {
            if (!is_next(rows, &first->claim)) {
                break;
            }
            make(rows, first);
        }
        rows->choices = first->next;
        *(first->next != NULL ? &first->next->before : &rows->last) = NULL;
        first->is_made = true;
        any = true;
    }
    return any;
}
