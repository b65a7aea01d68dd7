/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_writer.h"

#include <string.h>

#include "alloc_int.h"
#include "exif.h"
#include "status_int.h"

/* Initial size of the output buffer. */
enum { SINK_FIRST = 16384 };

/* ---- growing memory ------------------------------------------------------------------------- */

static jpeg_sink *sink_of(j_compress_ptr info)
{
    return (jpeg_sink *)(void *)info->dest; /* destination is the first field of jpeg_sink */
}

/* libjpeg's callback for a full output buffer: enlarges it, up to sink->most bytes. */
static boolean grow_output(j_compress_ptr info)
{
    jpeg_sink *sink = sink_of(info);
    const size_t used = sink->capacity;
    size_t wanted = used > 0 ? 2 * used : SINK_FIRST;
    uint8_t *grown;

    if (used >= sink->most) {
        sink->grew = true;
        ERREXIT(info, JERR_BUFFER_SIZE);
    }
    wanted = wanted < sink->most ? wanted : sink->most;
    grown = sli_realloc_array(sink->bytes.data, wanted, 1);
    if (grown == NULL) {
        ERREXIT1(info, JERR_OUT_OF_MEMORY, 0);
    }
    sink->bytes.data = grown;
    sink->capacity = wanted;
    sink->destination.next_output_byte = grown + used;
    sink->destination.free_in_buffer = wanted - used;
    return TRUE;
}

static void begin_output(j_compress_ptr info)
{
    (void)grow_output(info);
}

static void end_output(j_compress_ptr info)
{
    jpeg_sink *sink = sink_of(info);

    sink->bytes.size = sink->capacity - sink->destination.free_in_buffer;
}

void jpeg_sink_begin(jpeg_sink *sink, struct jpeg_compress_struct *info, size_t most)
{
    sink->destination.init_destination = begin_output;
    sink->destination.empty_output_buffer = grow_output;
    sink->destination.term_destination = end_output;
    sink->most = most;
    info->dest = &sink->destination;
}

jpeg_bytes jpeg_sink_take(jpeg_sink *sink)
{
    jpeg_bytes bytes = sink->bytes;
    uint8_t *cut = sli_realloc_array(bytes.data, bytes.size, 1);

    bytes.data = cut != NULL ? cut : bytes.data;
    memset(sink, 0, sizeof(*sink));
    return bytes;
}

void jpeg_sink_free(jpeg_sink *sink)
{
    sli_free(sink->bytes.data);
    memset(sink, 0, sizeof(*sink));
}

/* ---- restart markers ------------------------------------------------------------------------ */

/*
 * True if the ratio a / b is nearer to 1 than c / d is. All four are below 2^20, so products do not
 * overflow.
 */
static bool is_nearer(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t high = a > b ? a : b;
    const uint64_t low = a > b ? b : a;

    return high * (c > d ? d : c) < (c > d ? c : d) * low;
}

uint32_t jpeg_restart_interval(uint32_t image_width, uint32_t image_height, uint32_t mcu_width,
                               uint32_t pixels)
{
    const uint32_t row = (image_width + mcu_width - 1) / mcu_width;
    uint32_t best = 1;

    if (pixels == 0 || ((uint64_t)image_width <= 2 * (uint64_t)pixels &&
                        (uint64_t)image_height <= 2 * (uint64_t)pixels)) {
        return 0;
    }
    for (uint32_t k = 2; k <= row; k++) {
        if (row % k == 0 &&
            is_nearer((uint64_t)k * mcu_width, pixels, (uint64_t)best * mcu_width, pixels)) {
            best = k;
        }
    }
    return best;
}

/* ---- pixels --------------------------------------------------------------------------------- */

static void configure_encoder(struct jpeg_compress_struct *info, const image_view *image,
                              const jpeg_encoding *encoding)
{
    const bool gray = image->channels == 1;
    const int across = !gray && encoding->halve_chroma ? 2 : 1;

    info->image_width = image->width;
    info->image_height = image->height;
    info->input_components = (int)image->channels;
    info->in_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(info);
    jpeg_set_quality(info, (int)encoding->quality, TRUE);
    info->comp_info[0].h_samp_factor = across;
    info->comp_info[0].v_samp_factor = across;
    info->dct_method = JDCT_ISLOW;
    info->optimize_coding = TRUE;
    info->restart_interval = jpeg_restart_interval(image->width, image->height,
                                                   8 * (uint32_t)across, encoding->interval);
}

static void write_lines(struct jpeg_compress_struct *info, const image_view *image)
{
    while (info->next_scanline < info->image_height) {
        /* The cast removes const: libjpeg does not write to the line. */
        JSAMPROW row = (JSAMPROW)(uintptr_t)(image->pixels + info->next_scanline * image->stride);

        jpeg_write_scanlines(info, &row, 1);
    }
}

typedef struct jpeg_encoder {
    struct jpeg_compress_struct info;
    jpeg_guard guard;
    jpeg_sink sink;
} jpeg_encoder;

/* The part of the encoder that runs under setjmp(); false: libjpeg failed. */
static bool encode_image(jpeg_encoder *e, const image_view *image, const jpeg_encoding *encoding)
{
    if (setjmp(e->guard.give_up) != 0) {
        return false;
    }
    jpeg_guard_compress(&e->guard, &e->info);
    jpeg_sink_begin(&e->sink, &e->info, SIZE_MAX / 4);
    configure_encoder(&e->info, image, encoding);
    jpeg_start_compress(&e->info, TRUE);
    if (encoding->orientation != EXIF_UPRIGHT) {
        uint8_t exif[EXIF_SEGMENT];

        exif_write(encoding->orientation, exif);
        jpeg_write_marker(&e->info, JPEG_APP0 + 1, exif, sizeof(exif));
    }
    write_lines(&e->info, image);
    jpeg_finish_compress(&e->info);
    return true;
}

sluice_status jpeg_encode(const image_view *image, const jpeg_encoding *encoding,
                          jpeg_bytes *file_out)
{
    jpeg_encoder e;
    bool done;

    memset(&e, 0, sizeof(e));
    jpeg_guard_init(&e.guard);
    done = encode_image(&e, image, encoding);
    jpeg_destroy_compress(&e.info);
    if (!done) {
        jpeg_sink_free(&e.sink);
        if (e.guard.status == SLUICE_CLOSED) {
            return SLUICE_CLOSED;
        }
        return sli_fail(e.guard.status == SLUICE_E_NO_MEMORY ? SLUICE_E_NO_MEMORY
                                                             : SLUICE_E_INVALID,
                        "cannot encode the image: %s", e.guard.text);
    }
    *file_out = jpeg_sink_take(&e.sink);
    return SLUICE_OK;
}
