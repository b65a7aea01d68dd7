/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a CUDA device: entries of the backend's table (backend_int.h). */
#ifndef SLUICE_CUDA_DEVICE_H
#define SLUICE_CUDA_DEVICE_H

#include "backend_int.h"

sluice_status cuda_device_open(const sli_uri *uri, sli_device_caps *caps_out, void **state_out);
void cuda_device_close(void *state);
sluice_status cuda_device_count(uint32_t *count_out);

#endif
