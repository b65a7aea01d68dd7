/* SPDX-License-Identifier: Apache-2.0 */
/* Log messages: lower case, the exact cause, then what to try if there is advice. */
#ifndef SLUICE_LOG_INT_H
#define SLUICE_LOG_INT_H

#include <sluice/log.h>

/* Writes one line if the level is enabled. Any thread. */
void sli_log(sluice_log_level level, const char *format, ...) SLUICE_PRINTF(2, 3);

#endif
