/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last calls of config.agree by a rank that fails. The other ranks may never call it: they may
 * wait in a collective of their step. So a separate thread makes the calls, and is detached after a
 * timeout.
 */
#ifndef SLUICE_LAST_CALL_H
#define SLUICE_LAST_CALL_H

#include "rank_failure.h"

/*
 * Sends the failure of this rank to the others. Returns false if that has not ended after
 * timeout_ms; a thread then remains in `agree`, maybe for ever. Errors of `agree` are ignored: the
 * caller has an earlier one. If no thread can be started, calls `agree` on the calling thread,
 * without a timeout.
 */
bool last_call_make(const rank_failure *own, sluice_agree_fn agree, void *user, int64_t timeout_ms);

#endif
