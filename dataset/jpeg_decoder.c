/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JPEG files, through libjpeg-turbo's libjpeg API. The one place that knows the library. A region's
 * pixels are those of a full decode (accurate integer DCT, smooth chroma upsampling), for every
 * chroma subsampling, and only the lines and columns it needs are transformed.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* jpeglib.h wants stdio.h before it. */
#include <jpeglib.h>

#include <jerror.h>

#include "alloc_int.h"
#include "image_decoder.h"
#include "status_int.h"

enum {
    /* A progressive file is decoded once for each of its scans. Encoders write about 10. */
    MAX_SCANS = 100,
    /* Scans times pixels: what bounds the time of a small file that claims much of both. */
    MAX_SCAN_SHARE = 16,
    /* Of the coefficients of a progressive file. */
    MAX_LIBRARY_BYTES = 1 << 30,
    ROWS_AT_ONCE = 8
};

typedef struct jpeg_decoder {
    struct jpeg_decompress_struct info;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf give_up;
    sluice_status status; /* why it was given up */
    char text[JMSG_LENGTH_MAX];
    bool damaged;   /* a warning about wrong pixels was seen; text says which */
    bool exhausted; /* the library wanted more bytes than there are */
    uint64_t max_pixels;
    uint64_t pixels;
    bool gray;
    image_buffer image;
    image_buffer cmyk; /* one line of four channels */
} jpeg_decoder;

static const uint8_t magic[] = {0xFF, 0xD8};

static jpeg_decoder *of(j_common_ptr info)
{
    return info->client_data;
}

static void give_up(j_common_ptr info)
{
    jpeg_decoder *decoder = of(info);
    int code = info->err->msg_code;

    info->err->format_message(info, decoder->text);
    decoder->status = code == JERR_OUT_OF_MEMORY || code == JERR_NO_BACKING_STORE
                          ? SLUICE_E_NO_MEMORY
                      : code == JERR_CONVERSION_NOTIMPL || code == JERR_BAD_PRECISION ||
                              code == JERR_SOF_UNSUPPORTED || code == JERR_CCIR601_NOTIMPL ||
                              code == JERR_ARITH_NOTIMPL || code == JERR_NOT_COMPILED
                          ? SLUICE_E_UNSUPPORTED
                          : SLUICE_E_CORRUPT;
    longjmp(decoder->give_up, 1);
}

/* Warnings that mean wrong pixels; the others (stray bytes, odd markers) do no harm. */
static bool is_damage(int code)
{
    return code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC ||
           code == JWRN_ARITH_BAD_CODE;
}

static void note(j_common_ptr info, int level)
{
    jpeg_decoder *decoder = of(info);

    if (level < 0 && is_damage(info->err->msg_code) && !decoder->damaged) {
        decoder->damaged = true;
        info->err->format_message(info, decoder->text);
    }
}

static void say_nothing(j_common_ptr info)
{
    (void)info;
}

static void nothing_to_do(j_decompress_ptr info)
{
    (void)info;
}

/*
 * The end of the bytes. A file whose last marker is missing is whole all the same, so the marker
 * is made up; a decoder that wanted more than that warns of it itself.
 */
static boolean made_up_end(j_decompress_ptr info)
{
    static const JOCTET end[2] = {0xFF, JPEG_EOI};

    of((j_common_ptr)info)->exhausted = true;
    info->src->next_input_byte = end;
    info->src->bytes_in_buffer = sizeof(end);
    return TRUE;
}

static void skip_bytes(j_decompress_ptr info, long count)
{
    struct jpeg_source_mgr *source = info->src;

    if (count <= 0) {
        return;
    }
    if ((size_t)count > source->bytes_in_buffer) {
        made_up_end(info);
        return;
    }
    source->next_input_byte += count;
    source->bytes_in_buffer -= (size_t)count;
}

/* Called as each scan of a progressive file is read. */
static void watch_scans(j_common_ptr info)
{
    jpeg_decoder *decoder = of(info);
    uint64_t scans = (uint64_t)decoder->info.input_scan_number;

    if (scans > MAX_SCANS || (scans > MAX_SCAN_SHARE &&
                              scans * decoder->pixels > MAX_SCAN_SHARE * decoder->max_pixels)) {
        snprintf(decoder->text, sizeof(decoder->text), "more than %llu scans",
                 (unsigned long long)scans - 1);
        decoder->status = SLUICE_E_CORRUPT;
        longjmp(decoder->give_up, 1);
    }
}

static sluice_status jpeg_create(void **state_out)
{
    jpeg_decoder *decoder = sli_calloc(1, sizeof(*decoder));

    if (decoder == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a JPEG decoder");
    }
    decoder->info.err = jpeg_std_error(&decoder->errors);
    decoder->errors.error_exit = give_up;
    decoder->errors.emit_message = note;
    decoder->errors.output_message = say_nothing;
    decoder->info.client_data = decoder;
    if (setjmp(decoder->give_up) != 0) {
        sluice_status st = sli_fail(decoder->status, "libjpeg: %s", decoder->text);

        sli_free(decoder);
        return st;
    }
    jpeg_create_decompress(&decoder->info);
    decoder->info.client_data = decoder;
    decoder->info.mem->max_memory_to_use = MAX_LIBRARY_BYTES;
    decoder->source.init_source = nothing_to_do;
    decoder->source.fill_input_buffer = made_up_end;
    decoder->source.skip_input_data = skip_bytes;
    decoder->source.resync_to_restart = jpeg_resync_to_restart;
    decoder->source.term_source = nothing_to_do;
    decoder->info.src = &decoder->source;
    decoder->progress.progress_monitor = watch_scans;
    decoder->info.progress = &decoder->progress;
    *state_out = decoder;
    return SLUICE_OK;
}

static void jpeg_destroy_state(void *state)
{
    jpeg_decoder *decoder = state;

    jpeg_destroy_decompress(&decoder->info);
    image_buffer_free(&decoder->image);
    image_buffer_free(&decoder->cmyk);
    sli_free(decoder);
}

/* The failure that longjmp left, as this thread's error; the decoder is ready for the next file. */
static sluice_status failed(jpeg_decoder *decoder)
{
    jpeg_abort_decompress(&decoder->info);
    return sli_fail(decoder->status, "%s",
                    decoder->status == SLUICE_E_NO_MEMORY ? "out of memory while decoding"
                                                          : decoder->text);
}

static sluice_status jpeg_open(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                               bool gray, uint32_t *width_out, uint32_t *height_out)
{
    jpeg_decoder *decoder = state;
    struct jpeg_decompress_struct *info = &decoder->info;

    jpeg_abort_decompress(info);
    decoder->source.next_input_byte = bytes;
    decoder->source.bytes_in_buffer = size;
    decoder->damaged = false;
    decoder->exhausted = false;
    decoder->max_pixels = max_pixels;
    decoder->gray = gray;
    if (setjmp(decoder->give_up) != 0) {
        return failed(decoder);
    }
    jpeg_read_header(info, TRUE);
    decoder->pixels = (uint64_t)info->image_width * info->image_height;
    if (decoder->pixels > max_pixels) {
        uint32_t width = info->image_width;
        uint32_t height = info->image_height;

        jpeg_abort_decompress(info);
        return image_too_large(width, height, max_pixels);
    }
    *width_out = info->image_width;
    *height_out = info->image_height;
    return SLUICE_OK;
}

/* What comes out of the library: gray, RGB, or CMYK, which is turned into RGB afterwards. */
static void choose_output(jpeg_decoder *decoder)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    bool cmyk = info->jpeg_color_space == JCS_CMYK || info->jpeg_color_space == JCS_YCCK;

    info->out_color_space = cmyk ? JCS_CMYK : decoder->gray ? JCS_GRAYSCALE : JCS_RGB;
    info->dct_method = JDCT_ISLOW;
    /* Smooth upsampling stays on: libjpeg-turbo 2.1 skips and crops wrongly without it (its issues
     * 574 and 915). */
    info->do_fancy_upsampling = TRUE;
}

/*
 * The lines and columns to ask for so that those of the box are exact: smooth upsampling of
 * chroma looks one pixel further, and takes the edge of what is asked for to be the image's edge;
 * a row of one or two chroma samples is not smoothed at all.
 */
static image_box widen(const struct jpeg_decompress_struct *info, const image_box *box)
{
    uint32_t margin_x = info->max_h_samp_factor > 1 ? 1 : 0;
    uint32_t margin_y = info->max_v_samp_factor > 1 ? 1 : 0;
    uint32_t least = 2 * (uint32_t)info->max_h_samp_factor + 1;
    uint32_t left = box->x > margin_x ? box->x - margin_x : 0;
    uint32_t top = box->y > margin_y ? box->y - margin_y : 0;
    uint32_t right = box->x + box->width + margin_x;
    uint32_t bottom = box->y + box->height + margin_y;

    right = right < info->output_width ? right : info->output_width;
    bottom = bottom < info->output_height ? bottom : info->output_height;
    if (right - left < least) {
        right = left + least < info->output_width ? left + least : info->output_width;
        left = right > least ? right - least : 0;
    }
    return (image_box){left, top, right - left, bottom - top};
}

static uint8_t times(uint8_t a, uint8_t b)
{
    uint32_t product = (uint32_t)a * b + 128;

    return (uint8_t)((product + (product >> 8)) >> 8);
}

/* One line of CMYK to RGB or gray. Adobe's files hold inverted values, others plain ones. */
static void convert_cmyk(const jpeg_decoder *decoder, const uint8_t *in, uint8_t *out,
                         uint32_t width)
{
    uint8_t invert = decoder->info.saw_Adobe_marker ? 0 : 0xFF;

    for (uint32_t x = 0; x < width; x++, in += 4) {
        uint8_t black = in[3] ^ invert;
        uint8_t red = times(in[0] ^ invert, black);
        uint8_t green = times(in[1] ^ invert, black);
        uint8_t blue = times(in[2] ^ invert, black);

        if (decoder->gray) {
            /* Luma of ITU-R BT.601 in 16-bit fixed point, as libjpeg weighs it. */
            *out++ = (uint8_t)((red * 19595U + green * 38470U + blue * 7471U + 32768U) >> 16);
        } else {
            *out++ = red;
            *out++ = green;
            *out++ = blue;
        }
    }
}

/* Reads lines [0, count) of what is left into the image; a line is `stride` bytes. */
static void read_lines(jpeg_decoder *decoder, uint32_t count, size_t stride)
{
    struct jpeg_decompress_struct *info = &decoder->info;
    uint8_t *to = decoder->image.data;

    if (info->out_color_space == JCS_CMYK) {
        JSAMPROW row = decoder->cmyk.data;

        for (uint32_t y = 0; y < count; y++, to += stride) {
            jpeg_read_scanlines(info, &row, 1);
            convert_cmyk(decoder, row, to, info->output_width);
        }
        return;
    }
    for (uint32_t y = 0; y < count;) {
        JSAMPROW rows[ROWS_AT_ONCE];
        uint32_t wanted = count - y < ROWS_AT_ONCE ? count - y : ROWS_AT_ONCE;
        JDIMENSION got;

        for (uint32_t i = 0; i < wanted; i++) {
            rows[i] = to + (y + i) * stride;
        }
        got = jpeg_read_scanlines(info, rows, wanted);
        if (got == 0) {
            ERREXIT(info, JERR_INPUT_EOF); /* cannot be: the source never runs dry */
        }
        y += got;
    }
}

static sluice_status damage(jpeg_decoder *decoder)
{
    bool progressive = decoder->info.progressive_mode || decoder->info.buffered_image;

    if (decoder->damaged) {
        return sli_fail(SLUICE_E_CORRUPT, "%s", decoder->text);
    }
    if (decoder->exhausted && (progressive || jpeg_has_multiple_scans(&decoder->info))) {
        return sli_fail(SLUICE_E_CORRUPT, "the file ends before its last scan");
    }
    return SLUICE_OK;
}

static sluice_status jpeg_region(void *state, const image_box *box, image_view *region_out)
{
    jpeg_decoder *decoder = state;
    struct jpeg_decompress_struct *info = &decoder->info;
    const uint32_t channels = decoder->gray ? 1 : 3;
    JDIMENSION left;
    JDIMENSION width;
    image_box wide;
    size_t stride;
    sluice_status st;

    if (setjmp(decoder->give_up) != 0) {
        return failed(decoder);
    }
    choose_output(decoder);
    jpeg_start_decompress(info);
    wide = widen(info, box);
    left = wide.x;
    width = wide.width;
    if (width < info->output_width) {
        jpeg_crop_scanline(info, &left, &width);
    }
    stride = ((size_t)info->output_width * channels + IMAGE_SLACK + 63) / 64 * 64;
    st = image_buffer_reserve(&decoder->image, stride * wide.height);
    if (st == SLUICE_OK && info->out_color_space == JCS_CMYK) {
        st = image_buffer_reserve(&decoder->cmyk, (size_t)info->output_width * 4);
    }
    if (st == SLUICE_OK) {
        if (wide.y > 0) {
            jpeg_skip_scanlines(info, wide.y);
        }
        read_lines(decoder, wide.height, stride);
        st = damage(decoder);
    }
    jpeg_abort_decompress(info);
    if (st != SLUICE_OK) {
        return st;
    }
    region_out->pixels =
        decoder->image.data + (box->y - wide.y) * stride + (size_t)(box->x - left) * channels;
    region_out->stride = stride;
    region_out->width = box->width;
    region_out->height = box->height;
    region_out->channels = channels;
    return SLUICE_OK;
}

extern const image_format format_jpeg;
const image_format format_jpeg = {
    .name = "JPEG",
    .magic = magic,
    .magic_size = sizeof(magic),
    .create = jpeg_create,
    .destroy = jpeg_destroy_state,
    .open = jpeg_open,
    .region = jpeg_region,
};
