/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of each device kind's operations: running sink programs and lending batches. In the
 * layering it is above the files that it refers to. A new kind of device adds a line to the table.
 */
#ifndef SLUICE_DEVICES_H
#define SLUICE_DEVICES_H

#include "lender.h"
#include "program.h"

/* The program operations for a device; NULL if this build cannot run programs on devices of its
 * kind. */
const program_ops *device_programs(const sluice_device *device);

/* The lender operations for a device; NULL if this build has no channels for devices of its kind.
 */
const lender_ops *device_lender(const sluice_device *device);

#endif
