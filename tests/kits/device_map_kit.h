/* SPDX-License-Identifier: Apache-2.0 */
/* Device maps for tests; on the fake of CUDA they are enqueued as kernels. */
#ifndef SLUICE_DEVICE_MAP_KIT_H
#define SLUICE_DEVICE_MAP_KIT_H

#include <sluice/sluice.h>

/* What a map sees of its sluice_step. */
typedef struct device_map_view {
    int64_t step;
    int64_t epoch;
    int64_t random_key;
    int64_t valid_rows;
} device_map_view;

/* New column `sum`, i32: the sum of the bytes of `image`. */
extern const sluice_column device_map_sum_column;
sluice_status device_map_sum(const sluice_step *step, const sluice_tensor *outputs, void *user);

/* Replaces `label` by `label` i32 (2): the label plus 1000, and twice the column `sum`. */
extern const sluice_column device_map_pair_column;
sluice_status device_map_pair(const sluice_step *step, const sluice_tensor *outputs, void *user);

/* New column `view`, i64 (4): a device_map_view in each row. */
extern const sluice_column device_map_view_column;
sluice_status device_map_look(const sluice_step *step, const sluice_tensor *outputs, void *user);

/* Fails with E_IO and "no table of weights". */
sluice_status device_map_fail(const sluice_step *step, const sluice_tensor *outputs, void *user);

/* Initializes a map of one output. */
void device_map_init(sluice_device_map *map, const char *name, sluice_device_map_fn function,
                     const sluice_column *output);

#endif
