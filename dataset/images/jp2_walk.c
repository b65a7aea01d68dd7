/* SPDX-License-Identifier: Apache-2.0 */
#include "jp2_walk.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

enum {
    MARK_CAP = 0xFF50,
    MARK_SOC = 0xFF4F,
    MARK_SIZ = 0xFF51,
    MARK_COD = 0xFF52,
    MARK_COC = 0xFF53,
    MARK_TLM = 0xFF55,
    MARK_PLM = 0xFF57,
    MARK_PLT = 0xFF58,
    MARK_QCD = 0xFF5C,
    MARK_QCC = 0xFF5D,
    MARK_RGN = 0xFF5E,
    MARK_POC = 0xFF5F,
    MARK_PPM = 0xFF60,
    MARK_PPT = 0xFF61,
    MARK_CRG = 0xFF63,
    MARK_COM = 0xFF64,
    MARK_SOT = 0xFF90,
    MARK_SOD = 0xFF93,
    MARK_EOC = 0xFFD9
};

enum {
    SOT_SIZE = 12, /* with its marker */
    MOST_LEVELS = JP2_RESOLUTIONS - 1,
    MOST_BLOCK = 10, /* a code-block has at most 2^10 samples on a side, and 2^12 in all */
    MOST_BLOCK_AREA = 12,
    MOST_TILES = 65535,
    MOST_STEP = 4, /* of subsampling */
    STYLE_HT = 0x40,
    WHOLE_PRECINCT = 15
};

typedef struct segment {
    uint32_t marker;
    const uint8_t *content; /* after the length */
    size_t size;
} segment;

static sluice_status cut(void)
{
    return sli_fail(SLUICE_E_CORRUPT, "the JPEG 2000 code stream is cut, or a length is wrong");
}

/* Takes the marker segment at `at`, which must end before `end`, and moves behind it. */
static sluice_status next_segment(jp2_walk *walk, size_t end, segment *segment_out)
{
    uint32_t length;

    if (end - walk->at < 4) {
        return cut();
    }
    length = jp2_u16(walk->bytes + walk->at + 2);
    if (length < 2 || length > end - walk->at - 2) {
        return cut();
    }
    *segment_out =
        (segment){jp2_u16(walk->bytes + walk->at), walk->bytes + walk->at + 4, length - 2};
    walk->at += length + 2;
    walk->segments++;
    return SLUICE_OK;
}

static sluice_status refused(const segment *one, const char *where)
{
    const char *name = one->marker == MARK_POC   ? " (POC)"
                       : one->marker == MARK_CAP ? " (CAP: HTJ2K)"
                       : one->marker == MARK_PPM ? " (PPM)"
                       : one->marker == MARK_PPT ? " (PPT)"
                       : one->marker == MARK_COD ? " (COD)"
                       : one->marker == MARK_COC ? " (COC)"
                                                 : "";

    return sli_fail(one->marker < 0xFF00 ? SLUICE_E_CORRUPT : SLUICE_E_UNSUPPORTED,
                    "the JPEG 2000 file has a marker %04X%s in %s; such files are not decoded: "
                    "encode it again without it",
                    one->marker, name, where);
}

/* ---- the main header ------------------------------------------------------------------------- */

static sluice_status check_grid(const jp2_walk *walk)
{
    const jp2_area *image = &walk->image;
    const jp2_area *tile = &walk->first_tile;

    if (image->x0 >= image->x1 || image->y0 >= image->y1 || image->x1 > INT32_MAX ||
        image->y1 > INT32_MAX) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the JPEG 2000 file has an image from %u, %u to %u, %u; it must be "
                        "one from 0 to 2147483647",
                        image->x0, image->y0, image->x1, image->y1);
    }
    if (tile->x0 > image->x0 || tile->y0 > image->y0 || tile->x1 <= image->x0 ||
        tile->y1 <= image->y0) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the JPEG 2000 file has a first tile without pixels of the image");
    }
    return SLUICE_OK;
}

static sluice_status read_components(jp2_walk *walk, const uint8_t *content)
{
    for (uint32_t c = 0; c < walk->components; c++) {
        jp2_component *part = &walk->component[c];

        part->bits = (content[3 * c] & 0x7FU) + 1;
        part->is_signed = content[3 * c] > 0x7F;
        part->dx = content[3 * c + 1];
        part->dy = content[3 * c + 2];
        if (part->bits > 16 || part->is_signed || part->dx == 0 || part->dx > MOST_STEP ||
            part->dy == 0 || part->dy > MOST_STEP || (c == 0 && part->dx * part->dy > 1)) {
            return sli_fail(SLUICE_E_UNSUPPORTED,
                            "component %u of the JPEG 2000 file has %u bits%s, subsampled by "
                            "%ux%u; it must have from 1 to 16, unsigned, subsampled by at most "
                            "%dx%d, the first one not at all",
                            c, part->bits, part->is_signed ? ", signed" : "", part->dx, part->dy,
                            MOST_STEP, MOST_STEP);
        }
    }
    return SLUICE_OK;
}

static uint32_t end_of_tile(uint32_t at, uint32_t length)
{
    return length > UINT32_MAX - at ? UINT32_MAX : at + length;
}

static sluice_status read_siz(jp2_walk *walk, const segment *siz)
{
    const uint8_t *content = siz->content;
    uint64_t tiles;
    sluice_status st;

    if (siz->size < 36) {
        return cut();
    }
    walk->components = jp2_u16(content + 34);
    if (walk->components == 0 || walk->components > JP2_COMPONENTS) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the JPEG 2000 file has %u components; it must have from 1 to %d",
                        walk->components, JP2_COMPONENTS);
    }
    if (siz->size != 36 + 3 * (size_t)walk->components) {
        return cut();
    }
    walk->image = (jp2_area){jp2_u32(content + 10), jp2_u32(content + 14), jp2_u32(content + 2),
                             jp2_u32(content + 6)};
    walk->first_tile = (jp2_area){jp2_u32(content + 26), jp2_u32(content + 30), 0, 0};
    walk->first_tile.x1 = end_of_tile(walk->first_tile.x0, jp2_u32(content + 18));
    walk->first_tile.y1 = end_of_tile(walk->first_tile.y0, jp2_u32(content + 22));
    st = check_grid(walk);
    if (st != SLUICE_OK) {
        return st;
    }
    walk->tiles_x =
        (walk->image.x1 - walk->first_tile.x0 - 1) / (walk->first_tile.x1 - walk->first_tile.x0) +
        1;
    walk->tiles_y =
        (walk->image.y1 - walk->first_tile.y0 - 1) / (walk->first_tile.y1 - walk->first_tile.y0) +
        1;
    tiles = (uint64_t)walk->tiles_x * walk->tiles_y;
    if (tiles > MOST_TILES) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the JPEG 2000 file has %llu tiles; it must have from 1 to %d",
                        (unsigned long long)tiles, MOST_TILES);
    }
    return read_components(walk, content + 36);
}

/* Reads the parameters that COD and COC share; `with_precincts` as their first byte says. */
static sluice_status read_coding(jp2_coding *coding, const uint8_t *content, size_t size,
                                 bool with_precincts)
{
    const uint32_t levels = size >= 5 ? content[0] : 0;

    if (size < 5 || size != 5 + (with_precincts ? (size_t)levels + 1 : 0)) {
        return cut();
    }
    coding->resolutions = levels + 1;
    coding->block_x = (uint32_t)content[1] + 2;
    coding->block_y = (uint32_t)content[2] + 2;
    coding->style = content[3];
    if (levels > MOST_LEVELS || coding->block_x > MOST_BLOCK || coding->block_y > MOST_BLOCK ||
        coding->block_x + coding->block_y > MOST_BLOCK_AREA || content[4] > 1) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the JPEG 2000 file has %u resolutions, code-blocks of 2^%u x 2^%u and "
                        "the transform %u; it must have at most %d, 2^12 samples, and 0 or 1",
                        coding->resolutions, coding->block_x, coding->block_y, content[4],
                        JP2_RESOLUTIONS);
    }
    if (coding->style >= STYLE_HT) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the JPEG 2000 file has code-blocks of HTJ2K; it must be JPEG 2000 part 1");
    }
    for (uint32_t r = 0; r <= levels; r++) {
        const uint8_t sizes = with_precincts ? content[5 + r] : WHOLE_PRECINCT * 0x11;

        coding->precinct_x[r] = sizes & 0x0F;
        coding->precinct_y[r] = sizes >> 4;
        if (r > 0 && (coding->precinct_x[r] == 0 || coding->precinct_y[r] == 0)) {
            return sli_fail(SLUICE_E_CORRUPT, "the JPEG 2000 file has precincts without a band");
        }
    }
    return SLUICE_OK;
}

static sluice_status read_cod(jp2_walk *walk, const segment *cod)
{
    sluice_status st;

    if (cod->size < 5 || walk->layers > 0) {
        return cut();
    }
    walk->layers = jp2_u16(cod->content + 2);
    if (walk->layers == 0 || cod->content[1] > 4 || cod->content[4] > 1) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the JPEG 2000 file has %u layers, in the order %u, and the colour "
                        "transform %u; it must have layers, an order from 0 to 4, and 0 or 1",
                        walk->layers, cod->content[1], cod->content[4]);
    }
    st = read_coding(&walk->component[0].coding, cod->content + 5, cod->size - 5,
                     (cod->content[0] & 1) != 0);
    for (uint32_t c = 1; c < walk->components; c++) {
        walk->component[c].coding = walk->component[0].coding;
    }
    return st;
}

static sluice_status read_coc(jp2_walk *walk, const segment *coc)
{
    if (coc->size < 2 || walk->layers == 0 || coc->content[0] >= walk->components) {
        return cut();
    }
    return read_coding(&walk->component[coc->content[0]].coding, coc->content + 2, coc->size - 2,
                       (coc->content[1] & 1) != 0);
}

sluice_status jp2_walk_header(jp2_walk *walk, const uint8_t *bytes, size_t size)
{
    segment one = {0};
    sluice_status st;

    *walk = (jp2_walk){.bytes = bytes, .size = size, .at = 2};
    if (size < 4 || jp2_u16(bytes) != MARK_SOC || jp2_u16(bytes + 2) != MARK_SIZ) {
        return sli_fail(SLUICE_E_CORRUPT, "the JPEG 2000 code stream does not begin with SOC, SIZ");
    }
    st = next_segment(walk, size, &one);
    if (st == SLUICE_OK) {
        st = read_siz(walk, &one);
    }
    while (st == SLUICE_OK && (size - walk->at < 2 || jp2_u16(bytes + walk->at) != MARK_SOT)) {
        st = next_segment(walk, size, &one);
        if (st != SLUICE_OK) {
            return st;
        }
        switch (one.marker) {
        case MARK_COD:
            st = read_cod(walk, &one);
            break;
        case MARK_COC:
            st = read_coc(walk, &one);
            break;
        case MARK_QCD:
        case MARK_QCC:
        case MARK_RGN:
        case MARK_TLM:
        case MARK_PLM:
        case MARK_CRG:
        case MARK_COM:
            break;
        default:
            return refused(&one, "its main header");
        }
    }
    return st != SLUICE_OK || walk->layers > 0
               ? st
               : sli_fail(SLUICE_E_CORRUPT, "the JPEG 2000 code stream has no marker COD");
}

/* ---- tile-parts ------------------------------------------------------------------------------ */

/* Moves behind the header of a tile-part that ends at `end`: behind its SOD. */
static sluice_status skip_part_header(jp2_walk *walk, size_t end)
{
    while (end - walk->at >= 2 && jp2_u16(walk->bytes + walk->at) != MARK_SOD) {
        segment one = {0};
        const sluice_status st = next_segment(walk, end, &one);

        if (st != SLUICE_OK) {
            return st;
        }
        if (one.marker != MARK_QCD && one.marker != MARK_QCC && one.marker != MARK_RGN &&
            one.marker != MARK_PLT && one.marker != MARK_COM) {
            return refused(&one, "a tile-part");
        }
    }
    if (end - walk->at < 2) {
        return cut();
    }
    walk->at += 2;
    return SLUICE_OK;
}

static sluice_status walk_part(jp2_walk *walk)
{
    const uint8_t *sot = walk->bytes + walk->at;
    const size_t begin = walk->at;
    uint64_t length;
    uint32_t index;
    jp2_tile *tile;
    sluice_status st;

    if (walk->size - begin < SOT_SIZE || jp2_u16(sot + 2) != SOT_SIZE - 2) {
        return cut();
    }
    index = jp2_u16(sot + 4);
    length = jp2_u32(sot + 6);
    if (length == 0) { /* it ends with the stream, before EOC */
        length = walk->size - begin - 2;
    }
    if (index >= walk->tiles_x * walk->tiles_y || length < SOT_SIZE ||
        length > walk->size - begin) {
        return cut();
    }
    tile = &walk->tiles[index];
    if (sot[10] != tile->parts || (sot[11] != 0 && sot[11] <= sot[10])) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the JPEG 2000 file has tile-part %u of tile %u, whose header says %u in "
                        "all; it must be tile-part %u",
                        sot[10], index, sot[11], tile->parts);
    }
    walk->at += SOT_SIZE;
    st = skip_part_header(walk, begin + (size_t)length);
    if (st != SLUICE_OK) {
        return st;
    }
    tile->parts++;
    tile->stated = sot[11] > tile->stated ? sot[11] : tile->stated;
    tile->bytes += begin + length - walk->at;
    walk->at = begin + (size_t)length;
    return SLUICE_OK;
}

sluice_status jp2_walk_tiles(jp2_walk *walk)
{
    const uint32_t tiles = walk->tiles_x * walk->tiles_y;

    walk->tiles = sli_calloc(tiles, sizeof(*walk->tiles));
    if (walk->tiles == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%u tiles of a JPEG 2000 file", tiles);
    }
    for (;;) {
        sluice_status st;

        if (walk->size - walk->at < 2) {
            return cut();
        }
        if (jp2_u16(walk->bytes + walk->at) == MARK_EOC) {
            break;
        }
        if (jp2_u16(walk->bytes + walk->at) != MARK_SOT) {
            return cut();
        }
        st = walk_part(walk);
        if (st != SLUICE_OK) {
            return st;
        }
    }
    walk->size = walk->at + 2;
    for (uint32_t i = 0; i < tiles; i++) {
        if (walk->tiles[i].parts == 0 || walk->tiles[i].parts < walk->tiles[i].stated) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "the JPEG 2000 file has %u of %u tile-parts of tile %u of %u",
                            walk->tiles[i].parts,
                            walk->tiles[i].stated > 0 ? walk->tiles[i].stated : 1, i, tiles);
        }
    }
    return SLUICE_OK;
}

void jp2_walk_end(jp2_walk *walk)
{
    sli_free(walk->tiles);
    walk->tiles = NULL;
}

/* The range of tile i along an axis, of tiles from..to, cut to low..high. */
static void cut_tile(uint32_t from, uint32_t to, uint32_t i, uint32_t *low, uint32_t *high)
{
    const uint64_t begin = from + (uint64_t)i * (to - from);
    const uint64_t end = begin + (to - from);

    *low = begin > *low ? (uint32_t)begin : *low;
    *high = end < *high ? (uint32_t)end : *high;
}

jp2_area jp2_walk_tile(const jp2_walk *walk, uint32_t x, uint32_t y)
{
    jp2_area area = walk->image;

    cut_tile(walk->first_tile.x0, walk->first_tile.x1, x, &area.x0, &area.x1);
    cut_tile(walk->first_tile.y0, walk->first_tile.y1, y, &area.y0, &area.y1);
    return area;
}
