/* SPDX-License-Identifier: Apache-2.0 */
#include "anchor_list.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "array_values.h"
#include "npy_header.h"
#include "plain_file.h"
#include "rng_int.h"
#include "status_int.h"

void anchor_list_retain(anchor_list *list)
{
    if (list != NULL) {
        atomic_fetch_add_explicit(&list->users, 1, memory_order_relaxed);
    }
}

void anchor_list_release(anchor_list *list)
{
    if (list != NULL && atomic_fetch_sub_explicit(&list->users, 1, memory_order_acq_rel) == 1) {
        sli_free(list->corners);
        sli_free(list);
    }
}

static sluice_status make_list(uint32_t count, anchor_list **list_out)
{
    anchor_list *list = sli_calloc(1, sizeof(*list));

    if (list != NULL) {
        list->count = count;
        list->corners = sli_calloc(count, sizeof(*list->corners));
        atomic_init(&list->users, 1);
    }
    if (list == NULL || list->corners == NULL) {
        anchor_list_release(list);
        return sli_fail(SLUICE_E_NO_MEMORY, "%u anchors", count);
    }
    *list_out = list;
    return SLUICE_OK;
}

/* ---- by name --------------------------------------------------------------------------------- */

/* A map of features, with the boxes that each of its positions has. */
typedef struct anchor_grid {
    uint32_t side; /* positions in a line */
    double step;   /* pixels between two positions */
    double scale;  /* side of the small square in pixels */
    double next;   /* the same of the next map */
    uint32_t ratios;
} anchor_grid;

static const anchor_grid ssd300_grids[] = {
    {38, 8, 21, 45, 1},   {19, 16, 45, 99, 2},   {10, 32, 99, 153, 2},
    {5, 64, 153, 207, 2}, {3, 100, 207, 261, 1}, {1, 300, 261, 315, 1},
};

enum { SSD300_SIZE = 300, SSD300_GRIDS = 6, SSD300_COUNT = 8732 };

/* Width and height of box k of a map: squares of two sizes, then each ratio lying and upright. */
static void shape_of(const anchor_grid *grid, uint32_t k, double shape[2])
{
    const double small = grid->scale / SSD300_SIZE;
    const double root = sqrt(k < 4 ? 2 : 3);

    if (k < 2) {
        shape[0] = k == 0 ? small : sqrt(small * (grid->next / SSD300_SIZE));
        shape[1] = shape[0];
    } else {
        shape[k % 2] = small * root;
        shape[1 - k % 2] = small / root;
    }
}

static float clamp(double value)
{
    const float rounded = (float)value;

    return rounded < 0 ? 0 : rounded > 1 ? 1 : rounded;
}

static void put_anchor(float *corners, double x, double y, const double shape[2])
{
    const float centre[2] = {clamp(x), clamp(y)};

    for (int axis = 0; axis < 2; axis++) {
        const float half = 0.5F * clamp(shape[axis]);

        corners[axis] = centre[axis] - half;
        corners[2 + axis] = centre[axis] + half;
    }
}

/* Liu et al., "SSD: Single Shot MultiBox Detector" (2016), with the sizes and the order of NVIDIA's
 * dboxes300_coco(): map by map, box by box, then line by line. */
static void fill_ssd300(anchor_list *list)
{
    uint32_t at = 0;

    for (uint32_t g = 0; g < SSD300_GRIDS; g++) {
        const anchor_grid *grid = &ssd300_grids[g];
        const double positions = SSD300_SIZE / grid->step;

        for (uint32_t k = 0; k < 2 + 2 * grid->ratios; k++) {
            double shape[2];

            shape_of(grid, k, shape);
            for (uint32_t i = 0; i < grid->side * grid->side; i++) {
                put_anchor(list->corners[at++], (i % grid->side + 0.5) / positions,
                           (i / grid->side + 0.5) / positions, shape);
            }
        }
    }
}

/* ---- from a file ----------------------------------------------------------------------------- */

static sluice_status check_header(const npy_header *header, uint64_t size)
{
    if (header->is_complex || (header->dtype != SLUICE_F32 && header->dtype != SLUICE_F64) ||
        header->rank != 2 || header->shape[1] != 4) {
        return sli_fail(SLUICE_E_INVALID, "the array must be f32 or f64 (anchors, 4)");
    }
    if (header->shape[0] < 1 || header->shape[0] > ANCHORS_MOST) {
        return sli_fail(SLUICE_E_INVALID, "%llu anchors; they must be from 1 to %d",
                        (unsigned long long)header->shape[0], ANCHORS_MOST);
    }
    return header->data_at + header->data_bytes <= size
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "the file was truncated");
}

static sluice_status check_corners(const anchor_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const float *c = list->corners[i];

        if (!(c[0] < c[2] && c[1] < c[3])) {
            return sli_fail(SLUICE_E_INVALID,
                            "anchor %u (from 0) is %g, %g, %g, %g, and must be x0, y0, x1, y1 with "
                            "x0 < x1 and y0 < y1, not centre and size",
                            i, (double)c[0], (double)c[1], (double)c[2], (double)c[3]);
        }
        if (!(c[0] >= -2 && c[1] >= -2 && c[2] <= 3 && c[3] <= 3)) {
            return sli_fail(SLUICE_E_INVALID,
                            "anchor %u (from 0) is %g, %g, %g, %g, and must be in fractions of "
                            "width and height, from -2 to 3; divide pixels by the image's size",
                            i, (double)c[0], (double)c[1], (double)c[2], (double)c[3]);
        }
    }
    return SLUICE_OK;
}

/* Reads the elements that follow a header. `bytes` has room for them, `spare`, too. */
static sluice_status read_corners(int fd, const npy_header *header, uint8_t *bytes, uint8_t *spare,
                                  anchor_list *list)
{
    const size_t size = (size_t)header->data_bytes;
    const size_t count = (size_t)list->count * 4;
    uint8_t *elements = bytes;
    size_t got;
    sluice_status st = plain_file_read(fd, header->data_at, bytes, size, &got);

    if (st == SLUICE_OK && got < size) {
        st = sli_fail(SLUICE_E_CORRUPT, "the file was truncated");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    npy_swap(header, elements, size);
    if (header->is_fortran) {
        npy_to_c_order(header, elements, spare);
        elements = spare;
    }
    return array_convert(header->dtype, elements, SLUICE_F32, list->corners, count) == count
               ? check_corners(list)
               : sli_fail(SLUICE_E_INVALID, "it has a number that f32 cannot represent");
}

sluice_status anchor_list_read(int fd, uint64_t size, anchor_list **list_out)
{
    uint8_t head[NPY_HEAD];
    npy_header header;
    uint8_t *bytes = NULL;
    size_t got;
    sluice_status st = plain_file_read(fd, 0, head, sizeof(head), &got);

    if (st == SLUICE_OK) {
        st = npy_header_parse(head, got, &header);
    }
    if (st == SLUICE_OK) {
        st = check_header(&header, size);
    }
    if (st == SLUICE_OK) {
        st = make_list((uint32_t)header.shape[0], list_out);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    bytes = sli_calloc(2, (size_t)header.data_bytes);
    st = bytes != NULL ? read_corners(fd, &header, bytes, bytes + header.data_bytes, *list_out)
                       : sli_fail(SLUICE_E_NO_MEMORY, "%u anchors", (*list_out)->count);
    sli_free(bytes);
    return st;
}

static sluice_status read_file(const char *stage, const char *path, anchor_list **list_out)
{
    uint64_t size;
    int fd = -1;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st == SLUICE_OK) {
        st = anchor_list_read(fd, size, list_out);
        close(fd);
    }
    if (st != SLUICE_OK) {
        st = sli_fail_quoting(st, "%s: anchors=%s: %.600s", stage, path, sluice_last_error());
    }
    return st;
}

sluice_status anchor_list_open(const char *stage, const char *text, anchor_list **list_out)
{
    const size_t length = strlen(text);
    anchor_list *list = NULL;
    sluice_status st;

    if (strcmp(text, "ssd300") == 0) {
        st = make_list(SSD300_COUNT, &list);
        if (st == SLUICE_OK) {
            fill_ssd300(list);
        }
    } else if (length > 4 && strcmp(text + length - 4, ".npy") == 0) {
        st = read_file(stage, text, &list);
    } else {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s: anchors=%.200s must be ssd300, or the path of a .npy file", stage, text);
    }
    if (st != SLUICE_OK) {
        anchor_list_release(list);
        return st;
    }
    for (size_t i = 0; i < (size_t)list->count * 4; i++) {
        uint32_t bits;

        memcpy(&bits, &list->corners[0][0] + i, sizeof(bits));
        list->hash = sli_mix_in(list->hash, bits);
    }
    *list_out = list;
    return SLUICE_OK;
}
