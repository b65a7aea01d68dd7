/* SPDX-License-Identifier: Apache-2.0 */
/* Options after the comma in a device's name: `cuda:0,transport=pull,spin_us=200`. */
#ifndef SLUICE_CUDA_OPTIONS_H
#define SLUICE_CUDA_OPTIONS_H

#include "backend_int.h"

/* The transport of batches to the device. AUTO: push where supported. */
typedef enum cuda_transport { CUDA_AUTO, CUDA_PUSH, CUDA_PULL } cuda_transport;

/* Options of the CUDA backend only. */
typedef struct cuda_options {
    cuda_transport way;
    uint32_t copy_streams;
    int64_t poll_ns;
} cuda_options;

/*
 * Parses the options; those that sli_device_caps holds are stored in caps. Returns E_INVALID, with
 * a text that names the unknown option or the value out of range.
 */
sluice_status cuda_options_read(const sli_uri *uri, sli_device_caps *caps,
                                cuda_options *options_out);

#endif
