/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks that jump: a counter of time can be below zero, or far above the time of the run. */
#ifndef SLUICE_REPORT_BOUNDS_H
#define SLUICE_REPORT_BOUNDS_H

#include "report_data.h"

/* Brings all times of a report into the bounds of its run, so that every share is 0 to 1. Sets
 * clock_jumped if one was far outside. Call it before the verdict. */
void report_bound(sluice_report *report);

#endif
