/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each kind of device can do, in one table: run programs, lend batches. The table lies above
 * its entries; a new kind of device is a line in it.
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
