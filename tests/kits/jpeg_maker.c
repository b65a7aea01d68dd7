/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_maker.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* jpeglib.h comes first. */
#include <jerror.h>

typedef struct error_catcher {
    struct jpeg_error_mgr manager; /* first: libjpeg points to it */
    jmp_buf back;
} error_catcher;

static void throw(j_common_ptr info)
{
    longjmp(((error_catcher *)(void *)info->err)->back, 1);
}

static void say_nothing(j_common_ptr info)
{
    (void)info;
}

static struct jpeg_error_mgr *catch_errors(error_catcher *catcher)
{
    jpeg_std_error(&catcher->manager);
    catcher->manager.error_exit = throw;
    catcher->manager.output_message = say_nothing;
    return &catcher->manager;
}

uint8_t picture_sample(uint32_t seed, uint32_t x, uint32_t y, uint32_t c)
{
    uint32_t noise =
        (x * 2654435761U) ^ (y * 2246822519U) ^ (c * 3266489917U) ^ (seed * 668265263U);
    uint32_t slope = (x * (3 + c) + y * (5 - c) + seed * 11) & 255;
    uint32_t edge = ((x / 5 + y / 7 + c + seed) & 1) * 140;

    noise = (noise ^ noise >> 15) * 2246822519U;
    return (uint8_t)((slope + edge + (noise >> 26)) & 255);
}

static void configure(struct jpeg_compress_struct *info, const jpeg_recipe *recipe)
{
    J_COLOR_SPACE space = recipe->space == JCS_UNKNOWN ? JCS_YCbCr : recipe->space;

    info->image_width = recipe->width != 0 ? recipe->width : 8;
    info->image_height = recipe->height != 0 ? recipe->height : 8;
    info->in_color_space = space == JCS_GRAYSCALE                   ? JCS_GRAYSCALE
                           : space == JCS_CMYK || space == JCS_YCCK ? JCS_CMYK
                                                                    : JCS_RGB;
    info->input_components = info->in_color_space == JCS_GRAYSCALE ? 1
                             : info->in_color_space == JCS_CMYK    ? 4
                                                                   : 3;
    jpeg_set_defaults(info);
    jpeg_set_colorspace(info, space);
    jpeg_set_quality(info, recipe->quality != 0 ? recipe->quality : 75, TRUE);
    info->dct_method = JDCT_ISLOW;
    info->optimize_coding = recipe->optimised;
    info->arith_code = recipe->arithmetic;
    info->restart_interval = recipe->restart;
    info->write_Adobe_marker = info->write_Adobe_marker && !recipe->no_adobe;
    for (int i = 0; i < info->num_components; i++) {
        uint8_t factors = recipe->sampling[i] != 0 ? recipe->sampling[i] : 0x11;

        info->comp_info[i].h_samp_factor = factors >> 4;
        info->comp_info[i].v_samp_factor = factors & 15;
    }
    if (recipe->progressive) {
        jpeg_simple_progression(info);
    }
    if (recipe->scans != NULL) {
        info->scan_info = recipe->scans;
        info->num_scans = recipe->scan_count;
    }
}

static uint8_t sample_of(const struct jpeg_compress_struct *info, const jpeg_recipe *recipe,
                         uint32_t x, uint32_t y, uint32_t c)
{
    const uint32_t across = x * 255 / info->image_width;
    const uint32_t down = y * 255 / info->image_height;

    if (recipe->flat != 0) {
        return (uint8_t)(recipe->flat - 1);
    }
    if (recipe->smooth) {
        return (uint8_t)(c == 0 ? across : c == 1 ? down : (across + down) / 2);
    }
    return picture_sample(recipe->seed, x, y, c);
}

static void fill_line(const struct jpeg_compress_struct *info, const jpeg_recipe *recipe,
                      uint8_t *line)
{
    uint32_t channels = (uint32_t)info->input_components;

    for (uint32_t x = 0; x < info->image_width; x++) {
        for (uint32_t c = 0; c < channels; c++) {
            line[x * channels + c] = sample_of(info, recipe, x, info->next_scanline, c);
        }
    }
}

uint8_t *jpeg_make(const jpeg_recipe *recipe, size_t *size_out)
{
    struct jpeg_compress_struct info;
    error_catcher catcher;
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    uint8_t *volatile line = NULL;

    memset(&info, 0, sizeof(info));
    info.err = catch_errors(&catcher);
    if (setjmp(catcher.back) != 0) {
        int code = info.err->msg_code;

        jpeg_destroy_compress(&info);
        free(line);
        free(bytes);
        if (code != JERR_NOT_COMPILED && code != JERR_ARITH_NOTIMPL) {
            fprintf(stderr, "jpeg_make: libjpeg's error %d\n", code);
            exit(2);
        }
        return NULL;
    }
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &bytes, &size);
    configure(&info, recipe);
    jpeg_start_compress(&info, TRUE);
    line = malloc((size_t)info.image_width * 4);
    while (line != NULL && info.next_scanline < info.image_height) {
        JSAMPROW row = line;

        fill_line(&info, recipe, line);
        jpeg_write_scanlines(&info, &row, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    free(line);
    *size_out = size;
    return bytes;
}

jpeg_plain jpeg_plain_decode(const uint8_t *bytes, size_t size, J_COLOR_SPACE out)
{
    return jpeg_scaled_decode(bytes, size, out, 1);
}

jpeg_plain jpeg_scaled_decode(const uint8_t *bytes, size_t size, J_COLOR_SPACE out,
                              unsigned divisor)
{
    struct jpeg_decompress_struct info;
    error_catcher catcher;
    uint8_t *volatile pixels = NULL;
    jpeg_plain plain = {0};
    size_t stride;

    memset(&info, 0, sizeof(info));
    info.err = catch_errors(&catcher);
    if (setjmp(catcher.back) != 0) {
        jpeg_destroy_decompress(&info);
        free(pixels);
        return (jpeg_plain){0};
    }
    jpeg_create_decompress(&info);
    jpeg_mem_src(&info, bytes, size);
    jpeg_read_header(&info, TRUE);
    info.out_color_space = out;
    info.dct_method = JDCT_ISLOW;
    info.do_fancy_upsampling = TRUE;
    info.scale_num = 1;
    info.scale_denom = divisor;
    jpeg_start_decompress(&info);
    stride = (size_t)info.output_width * (size_t)info.output_components;
    pixels = malloc(stride * info.output_height);
    while (pixels != NULL && info.output_scanline < info.output_height) {
        JSAMPROW row = pixels + info.output_scanline * stride;

        jpeg_read_scanlines(&info, &row, 1);
    }
    plain = (jpeg_plain){pixels, info.output_width, info.output_height,
                         (uint32_t)info.output_components, 0};
    jpeg_finish_decompress(&info);
    plain.warnings = info.err->num_warnings;
    jpeg_destroy_decompress(&info);
    return plain;
}
