/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_transcode.h"

#include <string.h>

#include "status_int.h"

/*
 * Limit on the size of a copy: GROWTH times the size of its source, plus GROWTH_FLOOR. Progressive
 * and arithmetic-coded files are 10 to 20 % smaller than baseline.
 */
enum { GROWTH = 2, GROWTH_FLOOR = 65536 };

typedef struct transcoder {
    struct jpeg_decompress_struct in;
    struct jpeg_compress_struct out;
    jpeg_guard guard;
    jpeg_sink sink;
    uint32_t interval;
    sluice_pack_fate fate;
    bool is_writing; /* the source file was read; later errors concern the copy */
} transcoder;

/* ---- unsupported files ---------------------------------------------------------------------- */

/* Refuses the file for a reason that is not an error of libjpeg. */
static void refuse_file(transcoder *t, sluice_pack_fate fate, const char *why)
{
    t->fate = fate;
    snprintf(t->guard.text, sizeof(t->guard.text), "%s", why);
    longjmp(t->guard.give_up, 1);
}

/*
 * Returns the reason that corresponds to libjpeg's error; TRANSCODED: out of memory, which is not a
 * reason to refuse the file.
 */
static sluice_pack_fate fate_of(const transcoder *t)
{
    if (t->sink.grew) {
        return SLUICE_PACK_KEPT_GROWN;
    }
    switch (t->guard.code) {
    case JERR_OUT_OF_MEMORY:
        return SLUICE_PACK_TRANSCODED;
    case 0: /* too many scans */
    case JERR_NO_BACKING_STORE:
    case JERR_IMAGE_TOO_BIG:
    case JERR_WIDTH_OVERFLOW:
        return SLUICE_PACK_KEPT_LARGE;
    case JERR_BAD_PRECISION:
        return SLUICE_PACK_KEPT_PRECISION;
    case JERR_BAD_DCT_COEF:
    case JERR_HUFF_MISSING_CODE:
    case JERR_HUFF_CLEN_OVERFLOW:
        return SLUICE_PACK_KEPT_RANGE;
    case JERR_SOF_UNSUPPORTED:
    case JERR_ARITH_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JTRC_MISC_MARKER: /* a segment that libjpeg does not save, so the copy would lack it */
        return SLUICE_PACK_KEPT_HEADER;
    default:
        return t->is_writing ? SLUICE_PACK_KEPT_HEADER : SLUICE_PACK_KEPT_CORRUPT;
    }
}

/* Refuses files whose header is unsupported. */
static void check_header(transcoder *t)
{
    if (t->in.num_components != 1 && t->in.num_components != 3) {
        refuse_file(t, SLUICE_PACK_KEPT_COMPONENTS,
                    t->in.num_components == 4 ? "it has 4 components, as CMYK"
                                              : "it has neither 1 nor 3 components");
    }
    t->guard.pixels = (uint64_t)t->in.image_width * t->in.image_height;
    if (t->guard.pixels > t->guard.max_pixels) {
        refuse_file(t, SLUICE_PACK_KEPT_LARGE, "its header gives more than max_pixels");
    }
}

/* Returns the last saved marker, or NULL if no marker was saved. */
static jpeg_saved_marker_ptr last_marker(const struct jpeg_decompress_struct *info)
{
    jpeg_saved_marker_ptr last = info->marker_list;

    while (last != NULL && last->next != NULL) {
        last = last->next;
    }
    return last;
}

/*
 * Checks the file after all of its scans were read. A marker that defines the colour space applies
 * only to the scans after it. In the copy all markers come first, so it would apply to all scans.
 */
static void check_whole(transcoder *t, jpeg_saved_marker_ptr last_of_header)
{
    jpeg_saved_marker_ptr marker =
        last_of_header != NULL ? last_of_header->next : t->in.marker_list;
    const jpeg_scans scans = jpeg_scans_of(&t->in);

    if (scans != JPEG_SCANS_WHOLE) {
        refuse_file(t, SLUICE_PACK_KEPT_INCOMPLETE,
                    scans == JPEG_SCANS_MISSING || t->guard.exhausted
                        ? "the file ends before its last scan"
                        : "its scans leave bits of coefficients out, which decoders smooth over");
    }
    if (t->guard.exhausted) {
        refuse_file(t, SLUICE_PACK_KEPT_CORRUPT, "the file has no end");
    }
    for (; marker != NULL; marker = marker->next) {
        if (marker->marker == JPEG_APP0 || marker->marker == JPEG_APP0 + 14) {
            refuse_file(t, SLUICE_PACK_KEPT_HEADER, "a marker of its colours comes after a scan");
        }
    }
}

/* ---- the copy ------------------------------------------------------------------------------- */

static void save_markers(struct jpeg_decompress_struct *info)
{
    for (int i = 0; i < 16; i++) {
        jpeg_save_markers(info, JPEG_APP0 + i, 0xFFFF);
    }
    jpeg_save_markers(info, JPEG_COM, 0xFFFF);
}

/* Sets the copy's parameters to those of the source, except for the entropy coding. */
static void configure_jpeg(transcoder *t)
{
    struct jpeg_compress_struct *out = &t->out;
    int across = 1;

    jpeg_copy_critical_parameters(&t->in, out);
    if (out->num_components == 1) { /* one component: its blocks are stored one by one, whatever
                                       sampling factors the header has */
        out->comp_info[0].h_samp_factor = 1;
        out->comp_info[0].v_samp_factor = 1;
    }
    for (int i = 0; i < out->num_components; i++) {
        across =
            out->comp_info[i].h_samp_factor > across ? out->comp_info[i].h_samp_factor : across;
    }
    out->optimize_coding = TRUE;
    out->arith_code = FALSE;
    out->write_JFIF_header = FALSE; /* the source's own header is copied */
    out->write_Adobe_marker = FALSE;
    out->restart_interval = jpeg_restart_interval(t->in.image_width, t->in.image_height,
                                                  8 * (uint32_t)across, t->interval);
}

static void copy_markers(transcoder *t)
{
    for (jpeg_saved_marker_ptr m = t->in.marker_list; m != NULL; m = m->next) {
        jpeg_write_marker(&t->out, m->marker, m->data, m->data_length);
    }
}

/*
 * The part of the transcoder that runs under setjmp(). False: libjpeg failed, or the file was
 * refused.
 */
static bool run_transcoder(transcoder *t, const uint8_t *bytes, size_t size)
{
    jpeg_saved_marker_ptr last;
    jvirt_barray_ptr *coefficients;

    if (setjmp(t->guard.give_up) != 0) {
        return false;
    }
    jpeg_guard_begin(&t->guard, &t->in, bytes, size);
    save_markers(&t->in);
    jpeg_read_header(&t->in, TRUE);
    check_header(t);
    last = last_marker(&t->in);
    coefficients = jpeg_read_coefficients(&t->in);
    check_whole(t, last);
    t->is_writing = true;
    jpeg_guard_compress(&t->guard, &t->out);
    jpeg_sink_begin(&t->sink, &t->out, size * GROWTH + GROWTH_FLOOR);
    configure_jpeg(t);
    jpeg_write_coefficients(&t->out, coefficients);
    copy_markers(t);
    jpeg_finish_compress(&t->out);
    return true;
}

sluice_status jpeg_transcode(const uint8_t *bytes, size_t size, uint32_t interval,
                             uint64_t max_pixels, jpeg_bytes *file_out, sluice_pack_fate *fate_out,
                             char *why, size_t why_size)
{
    transcoder t;
    bool done;

    memset(&t, 0, sizeof(t));
    jpeg_guard_init(&t.guard);
    t.guard.strict = true;
    t.guard.max_pixels = max_pixels;
    t.interval = interval;
    done = run_transcoder(&t, bytes, size);
    jpeg_destroy_compress(&t.out);
    jpeg_destroy_decompress(&t.in);
    if (done) {
        *file_out = jpeg_sink_take(&t.sink);
        *fate_out = SLUICE_PACK_TRANSCODED;
        why[0] = '\0';
        return SLUICE_OK;
    }
    t.fate = t.fate != SLUICE_PACK_TRANSCODED ? t.fate : fate_of(&t);
    jpeg_sink_free(&t.sink);
    if (t.guard.status == SLUICE_CLOSED) {
        return SLUICE_CLOSED;
    }
    if (t.fate == SLUICE_PACK_TRANSCODED) {
        return sli_fail(SLUICE_E_NO_MEMORY, "out of memory while transcoding");
    }
    *file_out = (jpeg_bytes){NULL, 0};
    *fate_out = t.fate;
    snprintf(why, why_size, "%s",
             t.fate == SLUICE_PACK_KEPT_GROWN ? "the copy would have more than twice its bytes"
                                              : t.guard.text);
    return SLUICE_OK;
}
