/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source in front of the original one. Its columns may have other roles than the original
 * declares (stage column): it gives images and masks, boxes and points as a source does that
 * declares them. To the boxes of any source it applies the rule of box_rule.h.
 */
#ifndef SLUICE_DECLARED_SOURCE_H
#define SLUICE_DECLARED_SOURCE_H

#include "box_rows.h"
#include "dataset_state.h"

/*
 * Puts such a source in front of the open source of a dataset that has stages `column` or boxes.
 * Does nothing if it has neither, or if the source is there already. E_NO_MEMORY.
 */
sluice_status declared_source_wrap(sluice_dataset *dataset);

/* Counts boxes of a column of a sample that were clipped once the size of its image was known, and
 * logs the first one of the dataset. */
void declared_source_clipped(const sluice_dataset *dataset, uint64_t sample, sample_io *io,
                             const changed_boxes *clipped);

#endif
