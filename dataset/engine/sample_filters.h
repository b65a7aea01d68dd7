/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that filters may drop. */
#ifndef SLUICE_SAMPLE_FILTERS_H
#define SLUICE_SAMPLE_FILTERS_H

#include "sample_loader.h"

/*
 * sample_load() with filters, which it leaves out. loader->dropped: one of them drops the
 * sample; the contents of the row are undefined then.
 */
sluice_status sample_load_filtered(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   const sample_row *row);

/*
 * Calls the filters of a plan whose tests_first is set, and loads no image: loader->dropped. The
 * contents of the row are undefined.
 */
sluice_status sample_test(sample_loader *loader, uint64_t sample, uint64_t pass,
                          const sample_row *row);

#endif
