/* SPDX-License-Identifier: Apache-2.0 */
/* By what a conversion notices that a folder holds other data of the same names. */
#ifndef SLUICE_PACK_IDENTITY_H
#define SLUICE_PACK_IDENTITY_H

#include "order.h"
#include "pack_sample.h"

/*
 * Appends a line with a hash of what the first, the middle and the last sample hold. One that is
 * left out counts as empty. Returns the errors of pack_sample(). Call it before the workers start.
 */
sluice_status pack_identity_add(const pack_settings *settings, const sample_order *order,
                                sli_text *text);

#endif
