/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failure of a rank, in values of config.agree, a max-allreduce of one integer. The first round
 * carries rank and status, above all other values, so the maximum is that of the lowest failed
 * rank. The text follows, 7 bytes a round, in rounds that all ranks make in lockstep.
 */
#ifndef SLUICE_RANK_FAILURE_H
#define SLUICE_RANK_FAILURE_H

#include <stdbool.h>

#include <sluice/train.h>

#include "error_int.h"

/* Bytes of text in a round, the largest number of rounds for a text, and so its longest. */
enum { FAILURE_BYTES = 7, FAILURE_ROUNDS = 36, FAILURE_TEXT = FAILURE_BYTES * FAILURE_ROUNDS };

typedef struct rank_failure {
    uint32_t rank;
    sluice_status status;
    char text[FAILURE_TEXT + 1]; /* padded with zeros */
} rank_failure;

/* Every value that is not a failure is below it: a rank has 32 bits, a status 8. The bits of a
 * double that is not NaN, and of the one NaN that agree.c sends, are below it, too. */
static const int64_t FAILURE_LEAST = INT64_MAX - ((INT64_C(1) << 40) - 1);

/* Describes the failure of a rank. A longer text is cut between two characters, and ends "...". */
void rank_failure_set(uint32_t rank, const sli_error *error, rank_failure *failure_out);

/* The value of the first round. */
int64_t rank_failure_value(const rank_failure *failure);

/*
 * The rounds after the one whose maximum was `most`, at least FAILURE_LEAST. own is this rank's
 * failure, or NULL. first_out receives the failure of the lowest failed rank; if `agree` fails, as
 * much of it as had come. Returns the error of `agree`, or E_CALLBACK if it gave a value that no
 * rank can have sent.
 */
sluice_status rank_failure_exchange(int64_t most, const rank_failure *own, sluice_agree_fn agree,
                                    void *user, rank_failure *first_out);

#endif
