/* SPDX-License-Identifier: Apache-2.0 */
/* The decode stage: marks where images are decoded. The decoders are in image_decoder.h. */
#include <string.h>

#include "dataset_state.h"
#include "status_int.h"

static const char *const modes[] = {"rgb",     "gray", "index",   "u16",
                                    "u16_rgb", "f32",  "f32_rgb", NULL};
static const char *const depths[] = {"0", "8", NULL};

/* Finds the images to decode: those that `columns` names, or all that are still encoded. */
static sluice_status find_images(const decode_args *args, const stage_schema *schema,
                                 column_set *images_out)
{
    column_set images;
    sluice_status st = schema_select_images(schema, "decode", args->columns, &images);

    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        if ((images >> i & 1) == 0 || schema->columns[i].dtype == SLUICE_ENCODED) {
            continue;
        }
        images &= ~((column_set)1 << i);
        if (args->columns[0] != '\0') {
            st = sli_fail(SLUICE_E_INVALID,
                          "decode: columns=%s: %s is not encoded; the source gives pixels, or an "
                          "earlier decode has decoded it",
                          args->columns, schema->columns[i].name);
        }
    }
    if (st == SLUICE_OK && images == 0) {
        st = schema->image >= 0
                 ? sli_fail(SLUICE_E_INVALID,
                            "decode: there is no encoded image; the source gives pixels already, "
                            "or this is the second decode")
                 : fail_missing_image(schema, "decode");
    }
    *images_out = images;
    return st;
}

static sluice_status decode_infer(const void *opaque, stage_schema *schema)
{
    static const sluice_dtype types[] = {
        [IMAGE_U8] = SLUICE_U8, [IMAGE_U16] = SLUICE_U16, [IMAGE_F32] = SLUICE_F32};
    const decode_args *args = opaque;
    column_set images;
    sluice_status st = find_images(args, schema, &images);

    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        sluice_column *column = &schema->columns[i];

        if (schema->infos[i].role == ROLE_MASK) {
            column->dtype = SLUICE_U8;
            column->rank = 2;
        }
        if ((images >> i & 1) != 0) {
            column->dtype = types[decode_element(args)];
            column->rank = 3;
            column->shape[SCHEMA_C] = decode_channels(args);
            schema->infos[i].white = schema_white(column->dtype);
        }
    }
    return st;
}

static sluice_status decode_check(void *opaque)
{
    decode_args *args = opaque;

    if (decode_element(args) != IMAGE_U8 && args->depth != DECODE_DEPTH_OF_FILE) {
        return sli_fail(SLUICE_E_INVALID,
                        "decode: depth=8 converts images of 16 bits to 8, and mode=%s keeps %s; "
                        "leave one of them out",
                        modes[args->mode], decode_element(args) == IMAGE_U16 ? "16" : "floats");
    }
    args->by_name = 0;
    if (strcmp(args->formats, "auto") == 0) {
        args->allowed = IMAGE_FORMATS_USUAL;
        args->by_name = IMAGE_FORMATS_ALL;
    } else if (strcmp(args->formats, "all") == 0) {
        args->allowed = IMAGE_FORMATS_ALL;
    } else if (!image_formats_parse(args->formats, &args->allowed)) {
        return sli_fail(SLUICE_E_INVALID,
                        "decode: formats='%.100s' must be auto, all, or names with commas, of %s",
                        args->formats, image_formats_names);
    }
    return SLUICE_OK;
}

static const stage_param decode_params[] = {
    PARAM_(
        decode_args, mode, PARAM_CHOICE, "rgb", 0, 0, modes,
        "rgb; gray; index: the numbers that a file with a palette or in gray stores; u16, "
        "u16_rgb: 16 bits per channel, of gray or RGB files of 16 bits; f32, f32_rgb: floats, of "
        "gray or RGB TIFF files of floats"),
    PARAM_(decode_args, max_pixels, PARAM_COUNT, "100000000", 1, 4294836225.0, NULL,
           "an image whose header gives more is an error"),
    PARAM_(decode_args, fast_scale, PARAM_BOOL, "false", 0, 0, NULL,
           "decode JPEG at 1/2, 1/4 or 1/8 if a resize to a smaller size follows; changes pixels "
           "slightly"),
    PARAM_(decode_args, depth, PARAM_CHOICE, "0", 0, 0, depths,
           "0: an image of 16 bits per channel ends the run; 8: it is converted to 8 bits"),
    PARAM_(decode_args, orient, PARAM_BOOL, "true", 0, 0, NULL,
           "apply the Exif orientation of files; false: pixels as stored"),
    PARAM_(decode_args, formats, PARAM_TEXT, "auto", 0, 0, NULL,
           "what may be opened: auto, all, or a list such as jpeg,png,tiff"),
    COLUMNS_PARAM(decode_args, columns),
};

const stage_def stage_decode = {
    .name = "decode",
    .summary =
        "Decodes JPEG, PNG, BMP, GIF, WebP, TIFF, JPEG 2000 and PNM files; of a JPEG only the "
        "part that the next crop needs.",
    .elsewhere = "Decode",
    .gives = "image u8 (H, W, 3), or (H, W, 1) with mode=gray and mode=index; u16 (H, W, 1) with "
             "mode=u16, (H, W, 3) with mode=u16_rgb; f32 of the same shapes with mode=f32 and "
             "f32_rgb; further images, too; masks u8 (H, W)",
    .details =
        "JPEG files are decoded with libjpeg-turbo's accurate integer DCT and smooth "
        "chroma, PNG files if the library was built with libpng, WebP, TIFF and JPEG 2000 files by "
        "the format modules webp, tiff and jp2. If a crop follows, a JPEG file is decoded only "
        "down to the crop's lower edge, or only under the crop if it has restart markers or an "
        "index, and of TIFF and JPEG 2000 files only the strips and tiles that it needs. PNG files "
        "are decoded as a whole. "
        "The pixels are those of a full decode.\n"
        "mode rgb gives (H, W, 3), gray (H, W, 1). index gives (H, W, 1), the stored "
        "values of a PNG, BMP, GIF or TIFF file with a palette or in gray, or of a PGM file, as "
        "masks have them; other files are bad samples.\n"
        "mode u16 gives u16 (H, W, 1) from gray files of 16 bits per channel, u16_rgb (H, W, 3) "
        "from RGB files of 16 bits: PNG, TIFF, JPEG 2000 of 9 to 16 bits, and PGM or PPM with a "
        "maximum value above 255. White is 65535: values of a file with a smaller maximum become "
        "value * 65535 / maximum, rounded. A file of 8 bits, or one in gray where the mode is "
        "u16_rgb, is a bad sample. f32 and f32_rgb give f32 from TIFF files of floats of 32 bits, "
        "the values as "
        "they are: no value is white. Crops, flips, paddings with fill 0, resizes, normalize and "
        "to_dtype work on images of 16 bits and of floats, and the workers run all of these; "
        "colours, warps, mosaics and mixes work on bytes, and are refused.\n"
        "Grayscale, CMYK and YCCK files become RGB (or gray); transparent pixels are "
        "blended onto black. A file that is corrupt or not an image makes a bad "
        "sample. Without such a mode, a file of 16 bits per channel ends the run as unsupported, "
        "whatever the policy for bad samples is, and so does a TIFF file of floats. With depth=8 "
        "files of 16 bits are converted: value * 255 / maximum, rounded; class numbers (masks, "
        "mode=index) never are.\n"
        "With orient=true, a file with an Exif orientation (JPEG, PNG, WebP, TIFF) is turned "
        "upright, as by "
        "Pillow's ImageOps.exif_transpose(); only what the next crop needs is decoded and "
        "turned. Labels are taken as upright; annotations and masks whose size fits only the "
        "stored image follow it. Files of masks may have an orientation of their own.\n"
        "fast_scale is for a resize to half the size or less: JPEG files are decoded "
        "at 1/2, 1/4 or 1/8 of their size, and the result is resized. That is faster "
        "for large photographs, but gives other pixels: a crop begins and ends at "
        "whole pixels of the smaller image, and the scaled DCT replaces a part of the "
        "filter.\n"
        "A format is told by the bytes of a file. formats=auto opens all formats, but a TIFF file "
        "only if its name ends in .tif or .tiff, and a JPEG 2000 file only if it ends in .jp2, "
        ".j2k, .jpf, .jpx, .j2c or .jpc: their libraries are large, and a hostile x.jpg does not "
        "reach them. formats=all opens them under any name. formats=jpeg,png opens these only; the "
        "names are jpeg, png, bmp, gif, pnm (PPM, PGM and PBM), webp, tiff and jp2. Other files "
        "are bad samples.\n"
        "The stage decodes all images of a sample that are still encoded, or those of "
        "columns, so that each may have a mode of its own. All images must be decoded "
        "before a stage that changes the geometry. Masks are decoded by the first "
        "stage of this kind, as by index, with the max_pixels of the first image.",
    .kind = STAGE_DECODE,
    STAGE_PARAMS(decode_params),
    .args_size = sizeof(decode_args),
    .check = decode_check,
    .infer = decode_infer,
    .selects = true,
};
