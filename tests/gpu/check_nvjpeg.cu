/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVIDIA's decoder of JPEG would give, where its library is: engines, images a second of a
 * batch with and without a region, by the GPU's cores and by its engines; whether work behind a
 * batch in its stream sees the images; and what one truncated file does to the others of its batch.
 * Nothing of it is used by Sluice: a figure for a decision.
 */
#include "gpu_checks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "nvjpeg_calls.h"

enum { IMAGES = 64, WIDTH = 500, HEIGHT = 375, SIDE = 224, ROUNDS = 10 };
enum { IMAGE_BYTES = WIDTH * HEIGHT * 3 };

struct bench {
    nvjpeg_calls calls;
    void *handle;
    void *state;
    void *params[IMAGES];
    unsigned char *files[IMAGES];
    size_t bytes[IMAGES];
    unsigned char *pixels; /* on the device */
    unsigned char *seen;   /* copied back */
    cudaStream_t stream;
};

static bool load(nvjpeg_calls *c)
{
    static const char *const names[] = {"libnvjpeg.so", "libnvjpeg.so.13", "libnvjpeg.so.12"};
    void *library = NULL;

    for (int i = 0; i < 3 && library == NULL; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (library == NULL) {
        return false;
    }
    const struct {
        const char *name;
        void *call;
    } wanted[] = {{"nvjpegCreateEx", &c->create},
                  {"nvjpegDestroy", &c->destroy},
                  {"nvjpegGetProperty", &c->property},
                  {"nvjpegGetHardwareDecoderInfo", &c->engines},
                  {"nvjpegJpegStateCreate", &c->state_create},
                  {"nvjpegJpegStateDestroy", &c->state_destroy},
                  {"nvjpegDecodeBatchedInitialize", &c->batch_begin},
                  {"nvjpegDecodeBatched", &c->batch},
                  {"nvjpegDecodeParamsCreate", &c->params_create},
                  {"nvjpegDecodeParamsDestroy", &c->params_destroy},
                  {"nvjpegDecodeParamsSetOutputFormat", &c->params_format},
                  {"nvjpegDecodeParamsSetROI", &c->params_region},
                  {"nvjpegDecodeBatchedEx", &c->batch_params}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *address = dlsym(library, wanted[i].name);

        if (address == NULL) {
            return false;
        }
        memcpy(wanted[i].call, &address, sizeof(address));
    }
    return true;
}

/* A picture of slopes and edges that differ from image to image. */
static void make_file(bench *b, int image)
{
    static JSAMPLE line[WIDTH * 3];
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned long bytes = 0;
    JSAMPROW rows[] = {line};

    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &b->files[image], &bytes);
    jpeg.image_width = WIDTH;
    jpeg.image_height = HEIGHT;
    jpeg.input_components = 3;
    jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 90, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    for (int y = 0; y < HEIGHT; y++) {
        for (int i = 0; i < WIDTH * 3; i++) {
            const int x = i / 3;

            line[i] = (JSAMPLE)((x * (image + 3) + y * (i % 3 + 1)) / 7 + ((x ^ y) & 32));
        }
        jpeg_write_scanlines(&jpeg, rows, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    b->bytes[image] = bytes;
}

/* Decodes all files into b->pixels; region: the middle of SIDE x SIDE. Returns nvJPEG's status. */
static int decode(bench *b, bool region)
{
    nvjpeg_image to[IMAGES] = {};

    for (int i = 0; i < IMAGES; i++) {
        to[i].channel[0] = b->pixels + (size_t)i * IMAGE_BYTES;
        to[i].pitch[0] = (size_t)(region ? SIDE : WIDTH) * 3;
    }
    return region ? b->calls.batch_params(b->handle, b->state, b->files, b->bytes, to, b->params,
                                          b->stream)
                  : b->calls.batch(b->handle, b->state, b->files, b->bytes, to, b->stream);
}

static gpu_verdict rate(bench *b, bool region, double *rate_out, int *status_out, char *text)
{
    double start = 0;

    *status_out = NVJPEG_OK;
    for (int i = 0; i <= ROUNDS && *status_out == NVJPEG_OK; i++) { /* the first one warms up */
        *status_out = decode(b, region);
        NEED_CUDA(cudaStreamSynchronize(b->stream));
        start = i == 0 ? gpu_now() : start;
    }
    *rate_out = ROUNDS * IMAGES / (gpu_now() - start);
    return GPU_PASS;
}

/* Images whose copy behind the batch, in its stream, is not what lies there in the end. */
static gpu_verdict count_early(bench *b, int *early_out, char *text)
{
    const size_t bytes = (size_t)IMAGES * IMAGE_BYTES;
    unsigned char *late = (unsigned char *)malloc(bytes);

    NEED(late != NULL, "out of memory");
    *early_out = 0;
    NEED_CUDA(cudaMemsetAsync(b->pixels, 0, bytes, b->stream));
    NEED(decode(b, false) == NVJPEG_OK, "a batch fails the second time");
    NEED_CUDA(cudaMemcpyAsync(b->seen, b->pixels, bytes, cudaMemcpyDeviceToHost, b->stream));
    NEED_CUDA(cudaDeviceSynchronize());
    NEED_CUDA(cudaMemcpy(late, b->pixels, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < IMAGES; i++) {
        const size_t at = (size_t)i * IMAGE_BYTES;

        *early_out += memcmp(b->seen + at, late + at, IMAGE_BYTES) != 0;
    }
    memcpy(b->seen, late, bytes);
    free(late);
    return GPU_PASS;
}

/* One file is cut in the middle: nvJPEG's status, and how many of the others differ. */
static gpu_verdict truncate_one(bench *b, int *status_out, int *others_out, char *text)
{
    static unsigned char image[IMAGE_BYTES];
    const size_t whole = b->bytes[IMAGES / 2];

    b->bytes[IMAGES / 2] = whole / 2;
    *others_out = 0;
    *status_out = decode(b, false);
    b->bytes[IMAGES / 2] = whole;
    NEED_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < IMAGES; i++) {
        const size_t at = (size_t)i * IMAGE_BYTES;

        NEED_CUDA(cudaMemcpy(image, b->pixels + at, IMAGE_BYTES, cudaMemcpyDeviceToHost));
        *others_out += i != IMAGES / 2 && memcmp(image, b->seen + at, IMAGE_BYTES) != 0;
    }
    return GPU_PASS;
}

static gpu_verdict try_backend(bench *b, int backend, char *line, size_t size, char *text)
{
    const char *by = backend == NVJPEG_BY_ENGINE ? "engines" : "cores";
    double whole = 0;
    double region = 0;
    int status = b->calls.create(backend, NULL, NULL, 0, &b->handle);
    int of_region = 0;
    int early = 0;
    int cut = 0;
    int others = 0;

    if (status != NVJPEG_OK) {
        snprintf(line, size, "%s: none (status %d)", by, status);
        return GPU_PASS;
    }
    NEED(b->calls.state_create(b->handle, &b->state) == NVJPEG_OK, "nvjpegJpegStateCreate");
    for (int i = 0; i < IMAGES; i++) {
        NEED(b->calls.params_create(b->handle, &b->params[i]) == NVJPEG_OK &&
                 b->calls.params_format(b->params[i], NVJPEG_RGB_PIXELS) == NVJPEG_OK &&
                 b->calls.params_region(b->params[i], (WIDTH - SIDE) / 2, (HEIGHT - SIDE) / 2, SIDE,
                                        SIDE) == NVJPEG_OK,
             "nvjpegDecodeParams");
    }
    NEED(b->calls.batch_begin(b->handle, b->state, IMAGES, 1, NVJPEG_RGB_PIXELS) == NVJPEG_OK,
         "nvjpegDecodeBatchedInitialize");
    if (rate(b, false, &whole, &status, text) != GPU_PASS ||
        rate(b, true, &region, &of_region, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    if (status == NVJPEG_OK && (count_early(b, &early, text) != GPU_PASS ||
                                truncate_one(b, &cut, &others, text) != GPU_PASS)) {
        return GPU_FAIL;
    }
    snprintf(line, size,
             "%s: %.0f images/s (status %d), a region %.0f (%d), %d of %d copied too early, one "
             "truncated: status %d, %d others differ",
             by, whole, status, region, of_region, early, (int)IMAGES, cut, others);
    for (int i = 0; i < IMAGES; i++) {
        b->calls.params_destroy(b->params[i]);
    }
    b->calls.state_destroy(b->state);
    b->calls.destroy(b->handle);
    return GPU_PASS;
}

gpu_verdict check_nvjpeg(char *text)
{
    static bench b;
    char lines[2][GPU_TEXT / 2 - 40] = {"", ""};
    unsigned engines = 0;
    unsigned cores = 0;
    void *handle = NULL;
    int version[2] = {0, 0};

    if (!load(&b.calls)) {
        return gpu_say(text, GPU_SKIP, "libnvjpeg.so of CUDA 12 or 13 is not there, or lacks calls");
    }
    b.calls.property(0, &version[0]);
    b.calls.property(1, &version[1]);
    for (int i = 0; i < IMAGES; i++) {
        make_file(&b, i);
    }
    NEED_CUDA(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaMalloc(&b.pixels, (size_t)IMAGES * IMAGE_BYTES));
    NEED_CUDA(cudaMallocHost(&b.seen, (size_t)IMAGES * IMAGE_BYTES));
    if (b.calls.create(NVJPEG_BY_GPU, NULL, NULL, 0, &handle) == NVJPEG_OK) {
        b.calls.engines(handle, &engines, &cores);
        b.calls.destroy(handle);
    }
    if (try_backend(&b, NVJPEG_BY_GPU, lines[0], sizeof(lines[0]), text) != GPU_PASS ||
        try_backend(&b, NVJPEG_BY_ENGINE, lines[1], sizeof(lines[1]), text) != GPU_PASS) {
        return GPU_FAIL;
    }
    return gpu_say(text, GPU_PASS, "nvJPEG %d.%d, %u engines of %u cores; %s; %s", version[0],
                   version[1], engines, cores, lines[0], lines[1]);
}
