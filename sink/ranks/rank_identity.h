/* SPDX-License-Identifier: Apache-2.0 */
/* A run in one line: which rank, on which device, with how much of the machine. */
#ifndef SLUICE_RANK_IDENTITY_H
#define SLUICE_RANK_IDENTITY_H

#include "feed.h"
#include "text_int.h"

/* Of an open feed. */
void rank_identity_print(const sluice_ranks *ranks, const data_feed *feed, sli_text *text);

/* The same as a line of the log, level info. */
void rank_identity_log(const sluice_ranks *ranks, const data_feed *feed);

#endif
