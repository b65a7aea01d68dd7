/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times of the steps of a channel's loop: from one batch to the next call, until the loop
 * publishes times of its own (sluice_channel_step_time()). Then only these count.
 */
#ifndef SLUICE_CHANNEL_STEPS_H
#define SLUICE_CHANNEL_STEPS_H

#include "channel_state.h"

/* Counts the time between two calls as a step, unless the loop publishes step times. */
void channel_steps_count(sluice_channel *channel, uint64_t ticks);

#endif
