/* SPDX-License-Identifier: Apache-2.0 */
/* The passes over the data, for reports. */
#ifndef SLUICE_REPORT_PASSES_H
#define SLUICE_REPORT_PASSES_H

#include "report_data.h"
#include "text_int.h"

/* Adds a line if passes differ much: the first one from those after it, or one from all others. */
void report_add_passes(const sluice_report *report, sli_text *text);

/* Adds the key "passes". */
void report_add_passes_json(const sluice_report *report, sli_text *text);

#endif
