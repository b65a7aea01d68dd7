/* SPDX-License-Identifier: Apache-2.0 */
#include "tiff_layout.h"

#include "image_format.h"
#include "status_int.h"

enum {
    PIXEL_BYTES = 12, /* of a strip or tile, for each pixel of max_pixels */
    MOST_PADDING = 4  /* pixels of all tiles, in times of max_pixels */
};

static sluice_status check_compression(TIFF *tiff)
{
    uint16_t compression = COMPRESSION_NONE;

    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
    switch (compression) {
    case COMPRESSION_NONE:
    case COMPRESSION_PACKBITS:
    case COMPRESSION_LZW:
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
        return SLUICE_OK;
    default:
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the TIFF file has the compression %u; it must be none (1), LZW (5), "
                        "deflate (8 or 32946) or PackBits (32773): `tiffcp -c lzw` converts it",
                        compression);
    }
}

uint16_t tiff_layout_colours(uint16_t photometric)
{
    return photometric == PHOTOMETRIC_MINISWHITE || photometric == PHOTOMETRIC_MINISBLACK ||
                   photometric == PHOTOMETRIC_PALETTE
               ? 1
           : photometric == PHOTOMETRIC_RGB       ? 3
           : photometric == PHOTOMETRIC_SEPARATED ? 4
                                                  : 0;
}

static sluice_status check_samples(const tiff_layout *layout, uint16_t sample_format)
{
    const uint16_t colours = tiff_layout_colours(layout->photometric);
    const uint16_t bits = layout->bits;
    const bool small = bits == 1 || bits == 2 || bits == 4;
    const bool floats = sample_format == SAMPLEFORMAT_IEEEFP && bits == 32;

    if (colours == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the TIFF file has pixels of photometric interpretation %u; it must be "
                        "gray (0 or 1), RGB (2), a palette (3) or CMYK (5)",
                        layout->photometric);
    }
    if (layout->photometric == PHOTOMETRIC_SEPARATED && layout->extra != EXTRASAMPLE_UNSPECIFIED) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the TIFF file is in CMYK with alpha; convert it to RGB");
    }
    if (!floats && sample_format != SAMPLEFORMAT_UINT && sample_format != SAMPLEFORMAT_VOID) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the TIFF file has %s numbers of %u bits per channel; they must be "
                        "unsigned, of 1, 2, 4, 8 or 16 bits, or floating-point, of 32 bits",
                        sample_format == SAMPLEFORMAT_IEEEFP ? "floating-point"
                        : sample_format == SAMPLEFORMAT_INT  ? "signed"
                                                             : "complex",
                        bits);
    }
    if (floats && (layout->extra != EXTRASAMPLE_UNSPECIFIED ||
                   (layout->photometric != PHOTOMETRIC_MINISBLACK &&
                    layout->photometric != PHOTOMETRIC_RGB))) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the TIFF file has floating-point numbers with %s; they must be gray with "
                        "0 as black (photometric interpretation 1) or RGB (2)",
                        layout->extra != EXTRASAMPLE_UNSPECIFIED        ? "alpha"
                        : layout->photometric == PHOTOMETRIC_MINISWHITE ? "0 as white"
                                                                        : "other colours");
    }
    if ((!small && bits != 8 && bits != 16 && !floats) ||
        (bits > 8 && layout->photometric == PHOTOMETRIC_PALETTE) ||
        (small && (layout->samples > 1 && !layout->planes))) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the TIFF file has %u samples of %u bits per pixel; they must have 8 or 16 "
                        "bits, or 1, 2 or 4 for one sample, and at most 8 for a palette",
                        layout->samples, bits);
    }
    if (layout->samples != colours + (layout->extra != EXTRASAMPLE_UNSPECIFIED)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the TIFF file has %u samples per pixel; they must be %u colours, or these "
                        "and alpha, so that none is lost: convert it to gray, RGB or RGBA",
                        layout->samples, colours);
    }
    return SLUICE_OK;
}

size_t tiff_layout_line_bytes(const tiff_layout *layout)
{
    const size_t samples = layout->planes ? 1 : layout->samples;

    return (layout->part_width * samples * layout->bits + 7) / 8;
}

/* The side of all tiles or strips together, which cover a side of the image. */
static uint64_t whole_parts(uint32_t side, uint32_t part)
{
    return (uint64_t)(side / part + (side % part != 0)) * part;
}

/* Reads the size of strips and tiles. Both are limited by the number of pixels, as the image is. */
static sluice_status read_parts(TIFF *tiff, tiff_layout *layout, uint64_t max_pixels)
{
    layout->tiles = TIFFIsTiled(tiff) != 0;
    if (layout->tiles) {
        layout->part_width = 0;
        layout->part_height = 0;
        TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &layout->part_width);
        TIFFGetField(tiff, TIFFTAG_TILELENGTH, &layout->part_height);
    } else {
        layout->part_width = layout->width;
        layout->part_height = layout->height;
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &layout->part_height);
        if (layout->part_height > layout->height) {
            layout->part_height = layout->height;
        }
    }
    if (layout->part_width == 0 || layout->part_height == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "the TIFF file has %s of %ux%u",
                        layout->tiles ? "tiles" : "strips", layout->part_width,
                        layout->part_height);
    }
    if ((uint64_t)layout->part_width * layout->part_height > max_pixels) {
        return image_too_large(layout->part_width, layout->part_height, max_pixels);
    }
    if (whole_parts(layout->width, layout->part_width) *
            whole_parts(layout->height, layout->part_height) >
        MOST_PADDING * max_pixels) {
        return sli_fail(SLUICE_E_INVALID,
                        "the TIFF file has tiles of %ux%u for %ux%u pixels, which together have "
                        "more than %d times max_pixels; decode max_pixels=N allows more",
                        layout->part_width, layout->part_height, layout->width, layout->height,
                        MOST_PADDING);
    }
    if (tiff_layout_line_bytes(layout) * layout->part_height *
            (layout->planes ? layout->samples : 1U) >
        max_pixels * PIXEL_BYTES) {
        return sli_fail(SLUICE_E_INVALID,
                        "the TIFF file has %s of %ux%u pixels of %u samples, more than max_pixels "
                        "pixels of %d bytes; decode max_pixels=N allows more",
                        layout->tiles ? "tiles" : "strips", layout->part_width, layout->part_height,
                        layout->samples, PIXEL_BYTES);
    }
    return SLUICE_OK;
}

static sluice_status read_palette(TIFF *tiff, tiff_layout *layout)
{
    uint16_t *map[3];
    bool is_wide = false; /* some writers store bytes, which libtiff's own reader takes as such */

    if (layout->photometric != PHOTOMETRIC_PALETTE) {
        return SLUICE_OK;
    }
    if (TIFFGetField(tiff, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]) == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "the TIFF file has no palette, and needs one");
    }
    for (int c = 0; c < 3; c++) {
        for (uint32_t i = 0; i < 1U << layout->bits; i++) {
            is_wide = is_wide || map[c][i] > UINT8_MAX;
        }
    }
    for (int c = 0; c < 3; c++) {
        for (uint32_t i = 0; i < 1U << layout->bits; i++) {
            layout->palette[c][i] = (uint8_t)(is_wide ? map[c][i] >> 8 : map[c][i]);
        }
    }
    return SLUICE_OK;
}

sluice_status tiff_layout_read(tiff_layout *layout, TIFF *tiff, uint64_t max_pixels)
{
    uint16_t planes = PLANARCONFIG_CONTIG;
    uint16_t format = SAMPLEFORMAT_UINT;
    uint16_t extras = 0;
    uint16_t *kinds = NULL;
    sluice_status st;

    *layout = (tiff_layout){.width = 0};
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &layout->width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &layout->height);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &layout->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &layout->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &layout->orientation);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planes);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    if (TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &layout->photometric) == 0) {
        layout->photometric = layout->samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
    }
    TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &extras, &kinds);
    layout->extra =
        extras > 0 && layout->samples == tiff_layout_colours(layout->photometric) + extras
            ? kinds[0]
            : EXTRASAMPLE_UNSPECIFIED;
    layout->planes = planes == PLANARCONFIG_SEPARATE && layout->samples > 1;
    if (layout->width == 0 || layout->height == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "the TIFF file has a size of %ux%u", layout->width,
                        layout->height);
    }
    st = image_check_size(layout->width, layout->height, max_pixels);
    if (st == SLUICE_OK) {
        st = check_compression(tiff);
    }
    if (st == SLUICE_OK) {
        st = check_samples(layout, format);
    }
    if (st == SLUICE_OK) {
        st = read_palette(tiff, layout);
    }
    return st == SLUICE_OK ? read_parts(tiff, layout, max_pixels) : st;
}
