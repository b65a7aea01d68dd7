/* SPDX-License-Identifier: Apache-2.0 */
#include "opened_image.h"

#include "exif.h"
#include "fault_int.h"
#include "image_rules.h"
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
    [SLI_IMAGE_BOXES_LEFT_OUT] = "boxes_left_out",
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
    [SLI_IMAGE_BOXES_LEFT_OUT] = ("with more boxes in the tiles of mosaic than their column holds: "
                                  "the smallest are left out (a larger maximum of the source, such "
                                  "as max_boxes=, keeps them)"),
};

/* The stages that notes are of, if they are not of decode. */
static const char *const note_stages[SLI_IMAGE_NOTES] = {
    [SLI_IMAGE_BOXES_BELOW] = "sanitize_boxes",
    [SLI_IMAGE_WITHOUT_BOXES] = "skip_empty",
    [SLI_IMAGE_BOXES_LEFT_OUT] = "mosaic",
};

/* True if the pipeline has a stage for what is noted. */
static bool is_asked_for(sli_image_note note)
{
    return note == SLI_IMAGE_BOXES_BELOW || note == SLI_IMAGE_WITHOUT_BOXES;
}

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
    sli_log(is_asked_for(note) ? SLUICE_LOG_INFO : SLUICE_LOG_WARN,
            "%s: %s is the first image %s; the report counts such images",
            note_stages[note] != NULL ? note_stages[note] : "decode", name,
            sli_image_note_texts[note]);
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

sluice_status opened_image_check(sample_loader *loader, uint64_t sample, const sample_data *data,
                                 const decode_args *decode, image_view *image,
                                 applied_orientation *applied_out)
{
    const bool is_stored = !decode->orient;
    uint32_t found;
    image_facts facts;
    sluice_status st;

    image_decoder_describe(loader->tools.decoder, &facts);
    st = image_rules_orient(loader->tools.decoder, &facts, data, decode, image, applied_out,
                            &loader->io.ends_run);
    if (st == SLUICE_OK) {
        st = opened_image_check_resumed(loader, applied_out->image);
    }
    if (st == SLUICE_OK) {
        st = image_rules_size(&facts, data, decode, image, applied_out);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (facts.orientation != EXIF_UPRIGHT) {
        opened_image_note(loader, sample, is_stored ? SLI_IMAGE_AS_STORED : SLI_IMAGE_ORIENTED);
    }
    if (applied_out->labels != EXIF_UPRIGHT) {
        opened_image_note(loader, sample, SLI_IMAGE_LABELS_STORED);
    }
    found = image_rules_notes(&facts);
    if (decode->mode == DECODE_INDEX) {
        found &= ~(UINT32_C(1) << SLI_IMAGE_TRANSPARENT);
    }
    for (uint32_t i = 0; found != 0; i++, found >>= 1) {
        if ((found & 1) != 0) {
            opened_image_note(loader, sample, (sli_image_note)i);
        }
    }
    return SLUICE_OK;
}
