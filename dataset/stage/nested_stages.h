/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages in the parentheses of random_apply, random_choice and random_order: the value of a
 * parameter of type PARAM_STAGES.
 */
#ifndef SLUICE_NESTED_STAGES_H
#define SLUICE_NESTED_STAGES_H

#include "rng_int.h"
#include "stage.h"

enum { NESTED_BRANCHES = 32, NESTED_STAGES = 32 };

/* One pair of parentheses: stages that are applied one after the other. */
typedef struct nested_branch {
    uint64_t weight; /* random_choice: above 0, in units of PARTS_WEIGHT_ONE; otherwise 0 */
    uint32_t first;
    uint32_t count; /* at least 1 */
} nested_branch;

/* Several copies of a stage's arguments share one object; it is used by one thread at a time until
 * the dataset is opened, and does not change afterwards. */
struct nested_stages {
    uint32_t references;
    uint32_t branch_count;
    nested_branch branches[NESTED_BRANCHES];
    uint32_t stage_count;
    dataset_stage stages[NESTED_STAGES]; /* owns their arguments */

    /* Appends the branches as text, each in parentheses. */
    void (*print)(const nested_stages *nested, sli_text *text);
};

/* Creates an object without branches, with one reference. Returns E_NO_MEMORY on failure. */
sluice_status nested_create(nested_stages **nested_out);

/*
 * Adds a branch of `def`. On success `nested` owns the arguments of the stages. weight: 0 if the
 * text has none. E_INVALID: no stages, too many, or a stage that cannot be nested in `def`.
 */
sluice_status nested_add(const stage_def *def, nested_stages *nested, uint64_t weight,
                         const dataset_stage *stages, uint32_t count);

/* The nested stages in the arguments of a stage; NULL: the stage has no parameter of this type. */
nested_stages **nested_of(const stage_def *def, void *args);

/* The nested stages of a stage; NULL: it has no parameter of this type. */
const nested_stages *nested_in(const dataset_stage *stage);

/* Takes and drops a reference. NULL is ignored. */
void nested_retain(nested_stages *nested);
void nested_release(nested_stages *nested);

/* True if they are batch maps. There is at least one. */
bool nested_are_batch_maps(const nested_stages *nested);

/* True if one of them is a stage of geometry, at any depth. */
bool nested_have_geometry(const nested_stages *nested);

/* The key of the random numbers of stage `number` in the parentheses of a stage with this key. It
 * does not depend on the stages that are applied. */
static inline uint64_t nested_key(uint64_t key, uint32_t number)
{
    return sli_mix_in(key, number + 1);
}

#endif
