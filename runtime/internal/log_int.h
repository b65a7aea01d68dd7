/* SPDX-License-Identifier: Apache-2.0 */
/* Writing log lines. Lower case, the exact cause, then what to try if we know it. */
#ifndef SLUICE_LOG_INT_H
#define SLUICE_LOG_INT_H

#include <sluice/log.h>

/* Writes one line when the level is on. Any thread. */
void sli_log(sluice_log_level level, const char *format, ...) SLUICE_PRINTF(2, 3);

#endif
