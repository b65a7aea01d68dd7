/* SPDX-License-Identifier: Apache-2.0 */
/* Logging. A message is in lower case and states the exact cause, then what to try, if anything. */
#ifndef SLUICE_LOG_INT_H
#define SLUICE_LOG_INT_H

#include <stdint.h>

#include <sluice/log.h>

/* Writes one line if the level is enabled. Callable from any thread. */
void sli_log(sluice_log_level level, const char *format, ...) SLUICE_PRINTF(2, 3);

/*
 * Registers an open run or channel of this process, as rank `rank` of `world`. Until the matching
 * sli_log_leave_rank() lines on stderr begin "sluice[2/8]: " if world is above 1. They have no rank
 * if runs of different ranks are open at once. Callable from any thread.
 */
void sli_log_enter_rank(uint32_t rank, uint32_t world);

/* Ends what the matching sli_log_enter_rank() began. */
void sli_log_leave_rank(void);

#endif
