/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failure of a rank, encoded as values of config.agree, a max-allreduce of one integer. The
 * first call carries rank and status, above all other values, so the maximum is that of the lowest
 * failed rank. Further calls of all ranks carry the text, 7 bytes each. A call is a round.
 */
#ifndef SLUICE_RANK_FAILURE_H
#define SLUICE_RANK_FAILURE_H

#include <stdbool.h>

#include <sluice/train.h>

#include "error_int.h"

/* Bytes of text in a round, and limits on the rounds and the bytes of a text. */
enum { FAILURE_BYTES = 7, FAILURE_ROUNDS = 36, FAILURE_TEXT = FAILURE_BYTES * FAILURE_ROUNDS };

typedef struct rank_failure {
    uint32_t rank;
    sluice_status status;
    char text[FAILURE_TEXT + 1]; /* padded with zeros */
} rank_failure;

/* The smallest value of a failure: 32 bits of rank, 8 of status. All other values are below it,
 * also the bits of a double that is not NaN, and of the one NaN that agree.c sends. */
static const int64_t FAILURE_LEAST = INT64_MAX - ((INT64_C(1) << 40) - 1);

/* Describes the failure of a rank. A text of more than FAILURE_TEXT bytes is truncated between two
 * characters, and ends "...". */
void rank_failure_set(uint32_t rank, const sli_error *error, rank_failure *failure_out);

/* Returns the value of the first round. */
int64_t rank_failure_value(const rank_failure *failure);

/*
 * Exchanges the failure after a round whose maximum `most` was FAILURE_LEAST or more; collective.
 * own: this rank's failure, or NULL. first_out: the failure of the lowest failed rank; if `agree`
 * fails, its text is truncated to what was received. Returns the error of `agree`, or E_CALLBACK if
 * it returned a value that no rank can have sent.
 */
sluice_status rank_failure_exchange(int64_t most, const rank_failure *own, sluice_agree_fn agree,
                                    void *user, rank_failure *first_out);

#endif
