/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of each kind of device, in one table: running programs, lending batches. The table
 * is above its entries in the layering; a new kind of device adds a line to it.
 */
#ifndef SLUICE_DEVICES_H
#define SLUICE_DEVICES_H

#include "lender.h"
#include "program.h"

/* The programs of a device; NULL: this build runs no program on its kind. */
const program_ops *device_programs(const sluice_device *device);

/* The lender of a device; NULL: this build has no channel for its kind. */
const lender_ops *device_lender(const sluice_device *device);

#endif
