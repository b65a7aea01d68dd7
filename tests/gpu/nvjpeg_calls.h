/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of nvJPEG that check_nvjpeg.cu makes, from a library that it loads: neither header nor
 * library is needed to build. Prototypes and numbers are those of nvjpeg.h since nvJPEG 12.
 */
#ifndef NVJPEG_CALLS_H
#define NVJPEG_CALLS_H

#include <stddef.h>

#include <cuda_runtime.h>

enum { NVJPEG_OK = 0, NVJPEG_BY_GPU = 2, NVJPEG_BY_ENGINE = 3, NVJPEG_RGB_PIXELS = 5 };

/* As nvjpegImage_t; of interleaved pixels the first plane alone. */
struct nvjpeg_image {
    unsigned char *channel[4];
    size_t pitch[4];
};

struct nvjpeg_calls {
    int (*create)(int backend, void *device, void *pinned, unsigned flags, void **handle);
    int (*destroy)(void *handle);
    int (*property)(int which, int *value); /* 0 to 2: major, minor and patch of the version */
    int (*engines)(void *handle, unsigned *engines, unsigned *cores);
    int (*state_create)(void *handle, void **state);
    int (*state_destroy)(void *state);
    int (*batch_begin)(void *handle, void *state, int images, int threads, int format);
    int (*batch)(void *handle, void *state, const unsigned char *const *data, const size_t *bytes,
                 nvjpeg_image *to, cudaStream_t stream);
    int (*params_create)(void *handle, void **params);
    int (*params_destroy)(void *params);
    int (*params_format)(void *params, int format);
    int (*params_region)(void *params, int x, int y, int width, int height);
    int (*batch_params)(void *handle, void *state, const unsigned char *const *data,
                        const size_t *bytes, nvjpeg_image *to, void **params, cudaStream_t stream);
};

#endif
