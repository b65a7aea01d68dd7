/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for the reports of runs that go on (sluice_report_request()). */
#ifndef SLUICE_REPORT_REQUEST_H
#define SLUICE_REPORT_REQUEST_H

#include <stdint.h>

/* The number of requests in this process so far. */
uint64_t report_requests(void);

#endif
