/* SPDX-License-Identifier: Apache-2.0 */
#include "jp2_cost.h"

#include "status_int.h"

/* Sizes of OpenJPEG's structs and arrays, with what malloc adds; of 64-bit systems. */
enum {
    COST_ANY = 1 << 18,    /* codec, stream, comments, buffers of a code-block */
    COST_TILE = 10240,     /* parameters, and 100 entries of an index of markers */
    COST_COMPONENT = 1152, /* of a tile */
    COST_SEGMENT = 48,     /* entry of an index, which grows by copies */
    COST_PART = 24,        /* of the stated number of tile-parts */
    COST_RESOLUTION = 256,
    COST_PRECINCT = 208, /* of a band: two tag trees */
    COST_BLOCK = 448,    /* 10 segments, nodes of the tag trees */
    COST_PASSES = 72,    /* segment of passes: an entry, and a piece of data */
    COST_LINE = 64,      /* transform: for a sample of the longer side */
    COST_COPIES = 3,     /* of the data: a tile, while it grows, and a code-block */
    COST_OUTPUT = 6      /* our own: a pixel of 16 bits */
};

enum { STYLE_LAZY = 0x01, STYLE_TERMINATE = 0x04, MOST_PASSES = 164, BITS_OF_PASSES = 3 };

/* A resolution of a component in a tile: its size, and its precincts. */
typedef struct resolution {
    uint64_t width;
    uint64_t height;
    uint64_t across;
    uint64_t down;
} resolution;

static uint64_t divide_up(uint64_t value, uint64_t by)
{
    return (value + by - 1) / by;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Halves a range `levels` times; rounded up, as annex B says. */
static uint64_t halve(uint64_t value, uint32_t levels)
{
    return divide_up(value, UINT64_C(1) << levels);
}

static uint64_t precincts(uint64_t from, uint64_t to, uint32_t log2)
{
    return from == to ? 0 : halve(to, log2) - (from >> log2);
}

static resolution resolution_of(const jp2_component *part, const jp2_area *tile, uint32_t r)
{
    const uint32_t levels = part->coding.resolutions - 1 - r;
    const uint64_t x0 = halve(divide_up(tile->x0, part->dx), levels);
    const uint64_t y0 = halve(divide_up(tile->y0, part->dy), levels);
    const uint64_t x1 = halve(divide_up(tile->x1, part->dx), levels);
    const uint64_t y1 = halve(divide_up(tile->y1, part->dy), levels);

    return (resolution){x1 - x0, y1 - y0, precincts(x0, x1, part->coding.precinct_x[r]),
                        precincts(y0, y1, part->coding.precinct_y[r])};
}

/* The largest sizes and numbers of a resolution in any tile. OpenJPEG keeps what a tile had. */
static resolution largest(const jp2_walk *walk, uint32_t component, uint32_t r)
{
    resolution most = {0};

    for (uint32_t x = 0; x < walk->tiles_x; x++) {
        const jp2_area tile = jp2_walk_tile(walk, x, 0);
        const resolution one = resolution_of(&walk->component[component], &tile, r);

        most.width = larger(most.width, one.width);
        most.across = larger(most.across, one.across);
    }
    for (uint32_t y = 0; y < walk->tiles_y; y++) {
        const jp2_area tile = jp2_walk_tile(walk, 0, y);
        const resolution one = resolution_of(&walk->component[component], &tile, r);

        most.height = larger(most.height, one.height);
        most.down = larger(most.down, one.down);
    }
    return most;
}

/* Code-blocks of a band along one axis: `length` samples in `parts` precincts. */
static uint64_t blocks_along(uint64_t length, uint64_t parts, uint32_t precinct, uint32_t block,
                             bool is_band)
{
    const uint32_t part = precinct - (is_band ? 1 : 0);
    const uint32_t side = block < part ? block : part;
    const uint64_t samples = is_band ? length / 2 + 1 : length;

    return parts * smaller(UINT64_C(1) << (part - side), halve(samples, side) + 1);
}

/* The segments of passes that a code-block can have. */
static uint64_t passes_of(const jp2_walk *walk, uint32_t style)
{
    const uint64_t of_packet = (style & (STYLE_LAZY | STYLE_TERMINATE)) != 0 ? MOST_PASSES : 2;

    return of_packet * walk->layers;
}

typedef struct tile_cost {
    uint64_t bytes;
    uint64_t passes;    /* segments of passes */
    uint64_t precincts; /* most of a resolution */
    uint64_t samples;
    uint64_t side;
} tile_cost;

static void add_resolution(const jp2_walk *walk, uint32_t component, uint32_t r, tile_cost *cost)
{
    const jp2_coding *coding = &walk->component[component].coding;
    const resolution most = largest(walk, component, r);
    const uint64_t bands = r > 0 ? 3 : 1;
    const uint64_t blocks =
        blocks_along(most.width, most.across, coding->precinct_x[r], coding->block_x, r > 0) *
        blocks_along(most.height, most.down, coding->precinct_y[r], coding->block_y, r > 0) * bands;

    cost->bytes +=
        COST_RESOLUTION + most.across * most.down * bands * COST_PRECINCT + blocks * COST_BLOCK;
    cost->passes += smaller(blocks, UINT32_MAX) * passes_of(walk, coding->style);
    cost->precincts = larger(cost->precincts, most.across * most.down);
    if (r + 1 == coding->resolutions) {
        cost->samples += most.width * most.height;
        cost->side = larger(cost->side, larger(most.width, most.height));
    }
}

uint64_t jp2_cost_limit(const jp2_walk *walk)
{
    const jp2_area *image = &walk->image;

    return (uint64_t)(image->x1 - image->x0) * (image->y1 - image->y0) * JP2_BYTES_OF_PIXEL +
           (uint64_t)walk->size * JP2_BYTES_OF_FILE + JP2_BYTES_OF_ANY;
}

uint64_t jp2_cost_of_tiles(const jp2_walk *walk)
{
    return (uint64_t)walk->tiles_x * walk->tiles_y *
           (COST_TILE + (uint64_t)walk->components * COST_COMPONENT);
}

uint64_t jp2_cost(const jp2_walk *walk)
{
    const uint32_t tiles = walk->tiles_x * walk->tiles_y;
    const jp2_area *image = &walk->image;
    const uint64_t pixels = (uint64_t)(image->x1 - image->x0) * (image->y1 - image->y0);
    uint64_t cost = COST_ANY + jp2_cost_of_tiles(walk) + walk->segments * COST_SEGMENT;
    tile_cost tile = {0};
    uint32_t resolutions = 0;

    for (uint32_t i = 0; i < tiles; i++) {
        cost += (uint64_t)walk->tiles[i].stated * COST_PART;
    }
    for (uint32_t c = 0; c < walk->components; c++) {
        const uint32_t count = walk->component[c].coding.resolutions;

        for (uint32_t r = 0; r < count; r++) {
            add_resolution(walk, c, r, &tile);
        }
        resolutions = count > resolutions ? count : resolutions;
    }
    cost += tile.bytes + tile.side * COST_LINE;
    cost += smaller(tile.passes, (uint64_t)walk->size * 8 / BITS_OF_PASSES) * COST_PASSES;
    cost += ((uint64_t)walk->layers + 1) * resolutions * walk->components * tile.precincts *
            sizeof(int16_t);
    cost += (tile.samples * (tiles > 1 ? 1 : 0) + pixels * walk->components) * sizeof(int32_t);
    return cost + pixels * COST_OUTPUT + (uint64_t)walk->size * COST_COPIES;
}

/* The packets of a tile. */
static uint64_t packets_of(const jp2_walk *walk, const jp2_area *tile)
{
    uint64_t packets = 0;

    for (uint32_t c = 0; c < walk->components; c++) {
        for (uint32_t r = 0; r < walk->component[c].coding.resolutions; r++) {
            const resolution one = resolution_of(&walk->component[c], tile, r);

            packets += one.across * one.down;
        }
    }
    return packets * walk->layers;
}

sluice_status jp2_cost_check_packets(const jp2_walk *walk)
{
    for (uint32_t y = 0; y < walk->tiles_y; y++) {
        for (uint32_t x = 0; x < walk->tiles_x; x++) {
            const uint32_t i = y * walk->tiles_x + x;
            const jp2_area area = jp2_walk_tile(walk, x, y);
            const uint64_t packets = packets_of(walk, &area);

            if (packets > walk->tiles[i].bytes) { /* an empty packet is a byte */
                return sli_fail(SLUICE_E_CORRUPT,
                                "the JPEG 2000 file is cut: tile %u has %llu bytes for %llu "
                                "packets of at least 1 byte",
                                i, (unsigned long long)walk->tiles[i].bytes,
                                (unsigned long long)packets);
            }
        }
    }
    return SLUICE_OK;
}
