/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_guard.h"

#include "status_int.h"
#include "thread_interrupt_int.h"

enum {
    /*
     * Limit on the number of scans: each scan of a progressive file is a pass over the image.
     * Encoders write about 10.
     */
    MAX_SCANS = 100,
    /*
     * Limit on scans * pixels / max_pixels. It bounds the decode time of a small file that declares
     * many scans and many pixels.
     */
    MAX_SCAN_SHARE = 16,
    /* Limit on memory for the coefficients of a progressive file. */
    MAX_LIBRARY_BYTES = 1 << 30
};

static jpeg_guard *guard_of(j_common_ptr info)
{
    return info->client_data;
}

static sluice_status status_of(int code)
{
    switch (code) {
    case JERR_OUT_OF_MEMORY:
    case JERR_NO_BACKING_STORE:
        return SLUICE_E_NO_MEMORY;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_IMAGE_TOO_BIG:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
        return SLUICE_E_UNSUPPORTED;
    default:
        return SLUICE_E_CORRUPT;
    }
}

static void give_up(j_common_ptr info)
{
    jpeg_guard *guard = guard_of(info);

    info->err->format_message(info, guard->text);
    guard->code = info->err->msg_code;
    guard->status = status_of(guard->code);
    longjmp(guard->give_up, 1);
}

/*
 * True if the warning means wrong pixels. Other warnings (extraneous bytes, unusual markers) are
 * harmless.
 */
static bool is_damage(const struct jpeg_error_mgr *errors)
{
    switch (errors->msg_code) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
        return true;
    case JWRN_EXTRANEOUS_DATA: /* the extraneous bytes before a restart marker are data of blocks */
        return errors->msg_parm.i[1] >= JPEG_RST0 && errors->msg_parm.i[1] <= JPEG_RST0 + 7;
    default:
        return false;
    }
}

/*
 * True if the trace message reports an application or comment segment of length 0 or 1, which does
 * not even include the length field. libjpeg treats such a segment as empty, reports it like any
 * other, and does not save it.
 */
static bool has_wrong_length(const struct jpeg_error_mgr *errors)
{
    switch (errors->msg_code) {
    case JTRC_MISC_MARKER:
        return errors->msg_parm.i[1] < 0;
    case JTRC_APP0:
    case JTRC_APP14:
        return errors->msg_parm.i[0] < 0;
    default:
        return false;
    }
}

static void give_up_segment(j_common_ptr info)
{
    jpeg_guard *guard = guard_of(info);

    snprintf(guard->text, sizeof(guard->text), "a segment of its markers has the length 0 or 1");
    guard->code = JTRC_MISC_MARKER;
    guard->status = SLUICE_E_CORRUPT;
    longjmp(guard->give_up, 1);
}

/*
 * Aborts the decode at the first sign of damage: the result would be an error anyway, and decoding
 * the rest of a hostile file may take long.
 */
static void note_warning(j_common_ptr info, int level)
{
    if (level > 0 && guard_of(info)->strict && has_wrong_length(info->err)) {
        give_up_segment(info);
    }
    if (level < 0 && (guard_of(info)->strict || is_damage(info->err))) {
        give_up(info);
    }
}

static void print_nothing(j_common_ptr info)
{
    (void)info;
}

static void nothing_to_do(j_decompress_ptr info)
{
    (void)info;
}

/*
 * Called when libjpeg has consumed all bytes. A file without an end marker may still be complete,
 * so an end marker is made up. If the decoder needs more data than the file has, libjpeg warns.
 */
static boolean made_up_end(j_decompress_ptr info)
{
    static const JOCTET end[2] = {0xFF, JPEG_EOI};

    guard_of((j_common_ptr)info)->exhausted = true;
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

/* libjpeg's progress callback, for lines of blocks: polls the thread's interrupt. */
static void poll_interrupt(j_common_ptr info)
{
    jpeg_guard *guard = guard_of(info);

    if (sli_is_interrupted()) {
        guard->status = SLUICE_CLOSED;
        guard->code = 0;
        longjmp(guard->give_up, 1);
    }
}

/* The same, which also enforces the limits on scans while a progressive file is read. */
static void watch_scans(j_common_ptr info)
{
    jpeg_guard *guard = guard_of(info);
    uint64_t scans = (uint64_t)((j_decompress_ptr)info)->input_scan_number;

    poll_interrupt(info);
    if (scans > MAX_SCANS ||
        (scans > MAX_SCAN_SHARE && scans * guard->pixels > MAX_SCAN_SHARE * guard->max_pixels)) {
        snprintf(guard->text, sizeof(guard->text), "more than %llu scans",
                 (unsigned long long)scans - 1);
        guard->status = SLUICE_E_CORRUPT;
        guard->code = 0;
        longjmp(guard->give_up, 1);
    }
}

void jpeg_guard_init(jpeg_guard *guard)
{
    jpeg_std_error(&guard->errors);
    guard->errors.error_exit = give_up;
    guard->errors.emit_message = note_warning;
    guard->errors.output_message = print_nothing;
    guard->source.init_source = nothing_to_do;
    guard->source.fill_input_buffer = made_up_end;
    guard->source.skip_input_data = skip_bytes;
    guard->source.resync_to_restart = jpeg_resync_to_restart;
    guard->source.term_source = nothing_to_do;
    guard->progress.progress_monitor = watch_scans;
    guard->writing.progress_monitor = poll_interrupt;
}

void jpeg_guard_begin(jpeg_guard *guard, struct jpeg_decompress_struct *info, const uint8_t *bytes,
                      size_t size)
{
    info->err = &guard->errors;
    info->client_data = guard;
    jpeg_destroy_decompress(info);
    jpeg_create_decompress(info);
    info->mem->max_memory_to_use = MAX_LIBRARY_BYTES;
    info->src = &guard->source;
    info->progress = &guard->progress;
    guard->source.next_input_byte = bytes;
    guard->source.bytes_in_buffer = size;
    guard->exhausted = false;
}

void jpeg_guard_compress(jpeg_guard *guard, struct jpeg_compress_struct *info)
{
    info->err = &guard->errors;
    info->client_data = guard;
    jpeg_create_compress(info);
    info->progress = &guard->writing;
}

sluice_status jpeg_guard_failed(const jpeg_guard *guard, struct jpeg_decompress_struct *info)
{
    jpeg_destroy_decompress(info);
    if (guard->status == SLUICE_CLOSED) {
        return SLUICE_CLOSED;
    }
    return sli_fail(guard->status, "%s",
                    guard->status == SLUICE_E_NO_MEMORY ? "out of memory while decoding"
                                                        : guard->text);
}

jpeg_scans jpeg_scans_of(const struct jpeg_decompress_struct *info)
{
    jpeg_scans scans = JPEG_SCANS_WHOLE;

    for (int i = 0; i < info->num_components; i++) {
        if (info->comp_info[i].quant_table == NULL) {
            return JPEG_SCANS_MISSING;
        }
        for (int k = 0; info->progressive_mode && k < DCTSIZE2; k++) {
            scans = info->coef_bits[i][k] != 0 ? JPEG_SCANS_COARSE : scans;
        }
    }
    return scans;
}
