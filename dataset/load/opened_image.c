/* SPDX-License-Identifier: Apache-2.0 */
#include "opened_image.h"

#include "exif.h"
#include "fault_int.h"
#include "log_int.h"
#include "printable_int.h"
#include "sample_reading.h"
#include "status_int.h"

const char *const sli_image_note_keys[SLI_IMAGE_NOTES] = {
    [SLI_IMAGE_ORIENTED] = "exif_orientation",
    [SLI_IMAGE_AS_STORED] = "exif_ignored",
    [SLI_IMAGE_LABELS_STORED] = "labels_stored",
    [SLI_IMAGE_TRANSPARENT] = "transparent",
    [SLI_IMAGE_CMYK] = "cmyk",
    [SLI_IMAGE_FURTHER] = "further",
    [SLI_IMAGE_BOXES_BELOW] = "boxes_below",
    [SLI_IMAGE_WITHOUT_BOXES] = "without_boxes",
};

const char *const sli_image_note_texts[SLI_IMAGE_NOTES] = {
    [SLI_IMAGE_ORIENTED] = ("with an Exif orientation other than 1, which is applied; labels are "
                            "taken as upright (decode orient=false uses pixels as stored)"),
    [SLI_IMAGE_AS_STORED] = ("with an Exif orientation other than 1, which orient=false does not "
                             "apply: pixels are used as stored"),
    [SLI_IMAGE_LABELS_STORED] = ("whose annotations fit only its size before the Exif orientation: "
                                 "they follow the image"),
    [SLI_IMAGE_TRANSPARENT] = "with transparency: blended onto black",
    [SLI_IMAGE_CMYK] = "in CMYK: converted to RGB without a colour profile",
    [SLI_IMAGE_FURTHER] = "in files with further images or frames: the first one is used",
    [SLI_IMAGE_BOXES_BELOW] = "with boxes below the limits of sanitize_boxes: they are dropped",
    [SLI_IMAGE_WITHOUT_BOXES] = "without a box: skip_empty leaves the sample out",
};

/* The stages that notes are of, if they are not of decode: the pipeline asks for what they note. */
static const char *const note_stages[SLI_IMAGE_NOTES] = {
    [SLI_IMAGE_BOXES_BELOW] = "sanitize_boxes",
    [SLI_IMAGE_WITHOUT_BOXES] = "skip_empty",
};

sluice_status opened_image_failed(sample_loader *loader, sluice_status status)
{
    loader->last.fault = sli_fault_of_last(status);
    return status;
}

void opened_image_note(sample_loader *loader, uint64_t sample, sli_image_note note)
{
    const uint32_t bit = UINT32_C(1) << note;
    char raw[256];
    char name[256];

    sli_counter_add(&loader->report.image_notes[note], 1);
    if ((atomic_load_explicit(&loader->plan->dataset->image_notes, memory_order_relaxed) & bit) !=
            0 ||
        (atomic_fetch_or_explicit(&loader->plan->dataset->image_notes, bit, memory_order_relaxed) &
         bit) != 0) {
        return;
    }
    sample_name(loader, sample, raw, sizeof(raw));
    sli_printable(raw, SLI_ONE_LINE, name, sizeof(name));
    sli_log(note_stages[note] != NULL ? SLUICE_LOG_INFO : SLUICE_LOG_WARN,
            "%s: %s is the first image %s; the report counts such images",
            note_stages[note] != NULL ? note_stages[note] : "decode", name,
            sli_image_note_texts[note]);
}

/* Fails since the image has not the size that its annotations are for. It is as the stage decode
 * gives it. */
static sluice_status wrong_size(const sample_data *data, const image_facts *facts, uint32_t width,
                                uint32_t height, bool is_stored)
{
    if (is_stored && exif_exchanges_sides(facts->orientation) && width == data->listed_height &&
        height == data->listed_width) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the annotations are for %ux%u, the image with its Exif orientation %u "
                        "applied, and pixels are used as stored, %ux%u; apply the orientation to "
                        "the file (mogrify -auto-orient), or decode orient=true",
                        data->listed_width, data->listed_height, facts->orientation, width, height);
    }
    return sli_fail(SLUICE_E_CORRUPT, "the image is %ux%u, and its annotations are for %ux%u",
                    width, height, data->listed_width, data->listed_height);
}

sluice_status opened_image_check_resumed(sample_loader *loader, uint32_t orientation)
{
    if (orientation == EXIF_UPRIGHT || !loader->plan->details->images.keeps_stored) {
        return SLUICE_OK;
    }
    loader->io.ends_run = true;
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "the run is resumed from a state of a version that used pixels as stored, and "
                    "the file has the Exif orientation %u; add orient=false to decode, or begin "
                    "anew",
                    orientation);
}

/* Applies the orientation of the open image; its labels follow it if they fit only the image as
 * stored. */
static void apply_orientation(sample_loader *loader, const sample_data *data, uint32_t orientation,
                              image_view *image, applied_orientation *applied_out)
{
    const bool fits_stored =
        image->width == data->listed_width && image->height == data->listed_height;

    image_decoder_orient(loader->tools.decoder, orientation, &image->width, &image->height);
    applied_out->image = (uint8_t)orientation;
    if (fits_stored &&
        (image->width != data->listed_width || image->height != data->listed_height)) {
        applied_out->labels = (uint8_t)orientation;
    }
}

/* True if the annotations are for an image of another size than the one that is decoded. */
static bool is_misfit(const sample_data *data, const image_view *image,
                      const applied_orientation *applied)
{
    return data->listed_width > 0 && data->listed_height > 0 && applied->labels == EXIF_UPRIGHT &&
           (image->width != data->listed_width || image->height != data->listed_height);
}

sluice_status opened_image_check(sample_loader *loader, uint64_t sample, const sample_data *data,
                                 const decode_args *decode, image_view *image,
                                 applied_orientation *applied_out)
{
    const bool is_stored = !decode->orient;
    image_facts facts;
    sluice_status st;

    image_decoder_describe(loader->tools.decoder, &facts);
    if (facts.bits > 16 && decode_element(decode) == IMAGE_U8) {
        loader->io.ends_run = true;
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the %s file has floating-point numbers, and images of a batch have bytes; "
                        "decode mode=%s keeps them",
                        facts.format, facts.channels == 1 ? "f32" : "f32_rgb");
    }
    if (facts.bits > 8 && decode->depth == DECODE_DEPTH_OF_FILE &&
        decode_element(decode) == IMAGE_U8) {
        loader->io.ends_run = true;
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the %s file has %u bits per channel, and images of a batch have 8; "
                        "decode depth=8 converts them, which drops the lower bits, and decode "
                        "mode=u16 or mode=u16_rgb keeps them",
                        facts.format, facts.bits);
    }
    *applied_out = nothing_applied;
    if (facts.orientation != EXIF_UPRIGHT && !is_stored) {
        apply_orientation(loader, data, facts.orientation, image, applied_out);
    }
    st = opened_image_check_resumed(loader, applied_out->image);
    if (st != SLUICE_OK) {
        return st;
    }
    if (is_misfit(data, image, applied_out)) {
        return wrong_size(data, &facts, image->width, image->height, is_stored);
    }
    if (facts.orientation != EXIF_UPRIGHT) {
        opened_image_note(loader, sample, is_stored ? SLI_IMAGE_AS_STORED : SLI_IMAGE_ORIENTED);
    }
    if (applied_out->labels != EXIF_UPRIGHT) {
        opened_image_note(loader, sample, SLI_IMAGE_LABELS_STORED);
    }
    if (facts.transparent && decode->mode != DECODE_INDEX) {
        opened_image_note(loader, sample, SLI_IMAGE_TRANSPARENT);
    }
    if (facts.channels == 4 && !facts.transparent) {
        opened_image_note(loader, sample, SLI_IMAGE_CMYK);
    }
    if (facts.further) {
        opened_image_note(loader, sample, SLI_IMAGE_FURTHER);
    }
    return SLUICE_OK;
}

sluice_status opened_image_request_indices(image_decoder *decoder, bool *ends_run)
{
    const sluice_status st = image_decoder_request_indices(decoder);
    image_facts facts;

    if (st == SLUICE_E_UNSUPPORTED) {
        image_decoder_describe(decoder, &facts);
        *ends_run = *ends_run || facts.bits > 8;
    }
    return st;
}
