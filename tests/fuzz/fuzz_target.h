/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of image formats share. */
#ifndef SLUICE_FUZZ_TARGET_H
#define SLUICE_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "image_decoder.h"

/* What libFuzzer, or fuzz_main.c, calls with one input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program, so that a fuzzer notices. */
void fuzz_fail(const char *why);

/* Images of more pixels are not decoded: small enough that no input takes long. */
enum { FUZZ_MAX_PIXELS = 1 << 20 };

/* A box of an image of this size that follows from the input; other seeds give others. */
image_box fuzz_box(const uint8_t *data, size_t size, uint32_t seed, uint32_t width,
                   uint32_t height);

/*
 * Opens an image and decodes a box that follows from its bytes, with a decoder that has seen all
 * inputs before. Returns whether there is a region; it is read completely.
 */
bool fuzz_region(const uint8_t *data, size_t size, bool gray, image_box *box_out,
                 image_view *region_out);

#endif
