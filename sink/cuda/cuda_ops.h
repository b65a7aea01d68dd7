/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of CUDA devices, for the table in devices.c. */
#ifndef SLUICE_CUDA_OPS_H
#define SLUICE_CUDA_OPS_H

#include "lender.h"
#include "program.h"

extern const lender_ops cuda_lender_ops;
extern const program_ops cuda_program_ops;

#endif
