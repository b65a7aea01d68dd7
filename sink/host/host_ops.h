/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of the host device, for the table in devices.c. */
#ifndef SLUICE_HOST_OPS_H
#define SLUICE_HOST_OPS_H

#include "lender.h"
#include "program.h"

extern const lender_ops host_lender_ops;
extern const program_ops host_program_ops;

#endif
