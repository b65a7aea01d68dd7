/* SPDX-License-Identifier: Apache-2.0 */
/* Logging. A message is in lower case and states the exact cause, then what to try, if anything. */
#ifndef SLUICE_LOG_INT_H
#define SLUICE_LOG_INT_H

#include <sluice/log.h>

/* Writes one line if the level is enabled. Callable from any thread. */
void sli_log(sluice_log_level level, const char *format, ...) SLUICE_PRINTF(2, 3);

#endif
