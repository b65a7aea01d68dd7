/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_choices.h"

/* A claim without candidates, at the end of a pass, has the number of the first one of the next
 * pass. */
static bool is_before(const collected_claim *a, const collected_claim *b)
{
    return a->pass != b->pass ? a->pass < b->pass : a->first < b->first;
}

void choices_add(collected_choices *choices, collected_choice *choice)
{
    collected_choice *before = choices->last;

    /* From the end, since the last candidates are often those of the last claims. */
    while (before != NULL && is_before(&choice->claim, &before->claim)) {
        before = before->before;
    }
    choice->before = before;
    choice->next = before != NULL ? before->next : choices->first;
    *(before != NULL ? &before->next : &choices->first) = choice;
    *(choice->next != NULL ? &choice->next->before : &choices->last) = choice;
}

bool choices_reach(const collected_choices *choices, const collected_claim *claim, uint64_t pass)
{
    return choices->chosen == claim->first && choices->ended == pass;
}

void choices_remove_first(collected_choices *choices)
{
    collected_choice *first = choices->first;

    choices->first = first->next;
    *(first->next != NULL ? &first->next->before : &choices->last) = NULL;
    first->is_made = true;
}

void choices_rewind(collected_choices *choices)
{
    choices->chosen = 0;
    choices->ended = 0;
    choices->pass_begin = 0;
}
