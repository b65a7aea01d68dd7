/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_choices.h"

/* True if candidates of the claim can get no rows any more. */
static bool is_useless(const collected_rows *rows, const collected_claim *claim)
{
    return rows->stopped || rows->over || rows->error.status != SLUICE_OK ||
           claim->round != rows->round || collected_is_full(rows);
}

/* True if the choices of all earlier candidates are made. */
static bool is_next(const collected_rows *rows, const collected_claim *claim)
{
    const uint64_t pass = claim->pass - rows->plan->begin.pass;

    return rows->chosen == claim->first && rows->ended == pass && rows->dropping == 0;
}

/* A claim without candidates, at the end of a pass, has the number of the first one of the next
 * pass. */
static bool is_before(const collected_claim *a, const collected_claim *b)
{
    return a->pass != b->pass ? a->pass < b->pass : a->first < b->first;
}

void collected_choices_add(collected_rows *rows, collected_choice *choice)
{
    collected_choice *before = rows->last;

    choice->whole = 0;
    choice->rest = (collected_claim){.kind = COLLECTED_NOTHING, .open_row = COLLECTED_NO_ROW};
    choice->gets_rows = false;
    choice->is_made = choice->claim.round != rows->round;
    if (choice->is_made) {
        return;
    }
    for (uint32_t i = 0; i < choice->claim.count; i++) {
        choice->rows[i] = COLLECTED_NO_ROW;
        if (choice->documents != NULL) {
            choice->documents[i].rows = 0;
            choice->documents[i].open_row = COLLECTED_NO_ROW;
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
static void count_replayed(collected_rows *rows, uint64_t candidates)
{
    if (replay_is_open(&rows->replay)) {
        replay_add(&rows->replay, candidates);
        if (rows->turn >= rows->done) {
            replay_end(&rows->replay, rows->ended + 1);
        }
    }
}

/* Assigns rows to the candidates of a choice, all of whose earlier ones are made. */
static void make(collected_rows *rows, collected_choice *choice)
{
    choice->gets_rows = true;
    if (!collected_give_rows(rows, choice)) {
        return; /* neither later candidates nor later choices can get rows */
    }
    if (choice->error != NULL) {
        rows->error = *choice->error;
        collected_abandon_window(rows);
        return;
    }
    rows->chosen += choice->claim.count;
    count_replayed(rows, choice->claim.count);
    if (choice->claim.ends_pass) {
        collected_end_pass(rows, choice);
    }
}

bool collected_choices_make(collected_rows *rows)
{
    bool any = false;

    while (rows->choices != NULL) {
        collected_choice *first = rows->choices;

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
