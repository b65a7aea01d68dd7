/* SPDX-License-Identifier: Apache-2.0 */
/* Names ranks of this machine that are stopped or gone, in warnings of ranks that wait. */
#ifndef SLUICE_PEER_STATES_H
#define SLUICE_PEER_STATES_H

#include <stdint.h>

#include "text_int.h"

/* Appends "; rank 1 (process 4711) is stopped" for each such rank except `own`, at most 8. Nothing
 * if the ranks did not exchange their cores, or cannot see each other's processes. Any thread. */
void peer_states_describe(uint32_t own, sli_text *text);

#endif
