/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_PLACEMENT_REPORT_H
#define SLUICE_PLACEMENT_REPORT_H

#include "placement_int.h"

/* Writes a CPU list, "0-3,8", of any length. */
void sli_cpus_write(const sli_cpus *cpus, sli_text *text);

#endif
