/* SPDX-License-Identifier: Apache-2.0 */
/* Has CUDA load kernels before they are launched. */
#ifndef SLUICE_CUDA_LOADING_H
#define SLUICE_CUDA_LOADING_H

#include <stdbool.h>

/*
 * Before the library's first call of CUDA: sets CUDA_MODULE_LOADING=EAGER, unless the variable is
 * set to anything already, or CUDA may have been initialised: then it would be of no use.
 */
void sli_cuda_load_eagerly(bool (*driver_is_loaded)(void));

/* Is the driver's library in the process? Whoever has initialised CUDA has loaded it. */
bool sli_cuda_driver_is_loaded(void);

#endif
