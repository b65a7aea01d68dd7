/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source whose columns have other roles than it declares (stage column). It reads from the
 * original source, and gives images and masks, boxes and points as a source does that declares
 * them.
 */
#ifndef SLUICE_DECLARED_SOURCE_H
#define SLUICE_DECLARED_SOURCE_H

#include "dataset_state.h"

/*
 * Puts such a source in front of the open source of a dataset that has stages `column`. Does
 * nothing if the dataset has none, or if it is there already. E_NO_MEMORY.
 */
sluice_status declared_source_wrap(sluice_dataset *dataset);

#endif
