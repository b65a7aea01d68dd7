/* SPDX-License-Identifier: Apache-2.0 */
#include "image_rules.h"

#include "exif.h"
#include "status_int.h"

sluice_status image_rules_open(image_decoder *decoder, const sample_data *data,
                               const decode_args *args, uint64_t max_pixels, bool gray,
                               image_view *image)
{
    image_decoder_allow(decoder, decode_formats(args, data));
    return image_decoder_open_head(decoder, data->bytes, data->size, &data->rest, max_pixels, gray,
                                   &image->width, &image->height);
}

static sluice_status request_indices(image_decoder *decoder, bool *ends_run)
{
    const sluice_status st = image_decoder_request_indices(decoder);
    image_facts facts;

    if (st == SLUICE_E_UNSUPPORTED) {
        image_decoder_describe(decoder, &facts);
        *ends_run = *ends_run || facts.bits > 8;
    }
    return st;
}

sluice_status image_rules_mode(image_decoder *decoder, const decode_args *args, bool *ends_run)
{
    return args->mode < DECODE_INDEX    ? SLUICE_OK
           : args->mode == DECODE_INDEX ? request_indices(decoder, ends_run)
                                        : image_decoder_request_wide(decoder, decode_element(args),
                                                                     decode_channels(args) == 3);
}

/* Applies the orientation of the open image; its labels follow it if they fit only the image as
 * stored. */
static void apply_orientation(image_decoder *decoder, const sample_data *data, uint32_t orientation,
                              image_view *image, applied_orientation *applied_out)
{
    const bool fits_stored =
        image->width == data->listed_width && image->height == data->listed_height;

    image_decoder_orient(decoder, orientation, &image->width, &image->height);
    applied_out->image = (uint8_t)orientation;
    if (fits_stored &&
        (image->width != data->listed_width || image->height != data->listed_height)) {
        applied_out->labels = (uint8_t)orientation;
    }
}

sluice_status image_rules_orient(image_decoder *decoder, const image_facts *facts,
                                 const sample_data *data, const decode_args *args,
                                 image_view *image, applied_orientation *applied_out,
                                 bool *ends_run)
{
    if (facts->bits > 16 && decode_element(args) == IMAGE_U8) {
        *ends_run = true;
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the %s file has floating-point numbers, and images of a batch have bytes; "
                        "decode mode=%s keeps them",
                        facts->format, facts->channels == 1 ? "f32" : "f32_rgb");
    }
    if (facts->bits > 8 && args->depth == DECODE_DEPTH_OF_FILE &&
        decode_element(args) == IMAGE_U8) {
        *ends_run = true;
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the %s file has %u bits per channel, and images of a batch have 8; "
                        "decode depth=8 converts them, which drops the lower bits, and decode "
                        "mode=u16 or mode=u16_rgb keeps them",
                        facts->format, facts->bits);
    }
    *applied_out = nothing_applied;
    if (facts->orientation != EXIF_UPRIGHT && args->orient) {
        apply_orientation(decoder, data, facts->orientation, image, applied_out);
    }
    return SLUICE_OK;
}

uint32_t image_rules_notes(const image_facts *facts)
{
    const bool is_cmyk = facts->channels == 4 && !facts->transparent;

    return (uint32_t)facts->transparent << SLI_IMAGE_TRANSPARENT |
           (uint32_t)is_cmyk << SLI_IMAGE_CMYK | (uint32_t)facts->further << SLI_IMAGE_FURTHER;
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

/* True if the annotations are for an image of another size than the one that is decoded. */
static bool is_misfit(const sample_data *data, const image_view *image,
                      const applied_orientation *applied)
{
    return data->listed_width > 0 && data->listed_height > 0 && applied->labels == EXIF_UPRIGHT &&
           (image->width != data->listed_width || image->height != data->listed_height);
}

sluice_status image_rules_size(const image_facts *facts, const sample_data *data,
                               const decode_args *args, const image_view *image,
                               const applied_orientation *applied)
{
    return is_misfit(data, image, applied)
               ? wrong_size(data, facts, image->width, image->height, !args->orient)
               : SLUICE_OK;
}

sluice_status image_rules_open_mask(image_decoder *decoder, const decode_args *args,
                                    image_view *mask, uint32_t *own_out, bool *ends_run)
{
    const sluice_status st = request_indices(decoder, ends_run);

    *own_out = st == SLUICE_OK && args->orient
                   ? image_decoder_make_upright(decoder, &mask->width, &mask->height)
                   : EXIF_UPRIGHT;
    return st;
}

sluice_status image_rules_fit_mask(const image_view *mask, uint32_t own, uint32_t width,
                                   uint32_t height, const applied_orientation *applied,
                                   bool *follows_out)
{
    const bool fits = mask->width == width && mask->height == height;

    *follows_out = !fits && own == EXIF_UPRIGHT && exif_exchanges_sides(applied->image) &&
                   mask->width == height && mask->height == width;
    return fits || *follows_out ? SLUICE_OK
                                : sli_fail(SLUICE_E_CORRUPT, "the mask is %ux%u, its image %ux%u",
                                           mask->width, mask->height, width, height);
}

sluice_status image_rules_fit_further(const image_view *image, uint32_t width, uint32_t height)
{
    return image->width == width && image->height == height
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "the image is %ux%u, the first one of its sample %ux%u",
                          image->width, image->height, width, height);
}
