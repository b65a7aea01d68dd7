/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a channel does beside its batches, as the stall monitor does for a run: it answers
 * sluice_report_request(), looks at what its workers wait for, and adds a row a second to its
 * series. It has no thread for that: the consumer's thread polls at the begin of each get_next, and
 * while it waits.
 */
#ifndef SLUICE_CHANNEL_WATCH_H
#define SLUICE_CHANNEL_WATCH_H

#include "channel_state.h"

void channel_watch_init(channel_watch *watch);
void channel_watch_fini(channel_watch *watch);

/* Requests from before the start are not answered. Call it before the first poll. */
void channel_watch_begin(sluice_channel *channel);

/* Does what is due. Returns true if that took time. now: sli_ticks(). On the consumer's thread
 * only. */
bool channel_watch_poll(sluice_channel *channel, uint64_t now);
#endif
