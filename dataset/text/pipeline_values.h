/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts values into a pipeline text: numbers as decimals, texts as quoted words. So a text with a
 * blank, a quote or a '|' is one argument, whatever it contains.
 */
#ifndef SLUICE_PIPELINE_VALUES_H
#define SLUICE_PIPELINE_VALUES_H

#include <stdarg.h>
#include <stddef.h>

#include <sluice/dataset.h>

#include "text_int.h"

/*
 * Appends the text to `out`, each "{}" replaced by the next value. E_INVALID, with the text and a
 * caret: values and "{}" differ in number, a value is NULL or not finite, a text is not a whole
 * argument. E_NO_MEMORY.
 */
sluice_status pipeline_put_values(const char *text, const sluice_value *values, size_t count,
                                  sli_text *out);

/*
 * Like pipeline_put_values(), with printf's conversions %d %u %ld %lu %lld %llu %zu %g %s, and %%
 * for a percent sign. E_INVALID also for any other conversion.
 */
sluice_status pipeline_put_args(const char *format, va_list args, sli_text *out)
    SLUICE_PRINTF(1, 0);

#endif
