/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory, and page-locked host memory: entries of the backend's table (backend_int.h). */
#ifndef SLUICE_CUDA_MEMORY_H
#define SLUICE_CUDA_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

sluice_status cuda_memory_alloc(void *state, size_t bytes, void **block_out);
void cuda_memory_free(void *state, void *block, size_t bytes);
sluice_status cuda_memory_available(void *state, uint64_t *bytes_out);
sluice_status cuda_memory_register(void *state, void *block, size_t bytes);
void cuda_memory_unregister(void *state, void *block, size_t bytes);
sluice_status cuda_memory_device_address(void *state, void *host_block, void **address_out);
sluice_status cuda_memory_clear(void *state, void *block, size_t bytes);

#endif
