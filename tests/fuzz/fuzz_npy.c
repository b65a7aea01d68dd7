/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the beginning of a .npy file; elements in Fortran order are put into C order, and
 * big-endian ones are swapped. Also the anchors of box_encoder, which it reads from such a file. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_file.h"
#include "fuzz_target.h"
#include "npy_header.h"
#include "operators/array/anchor_list.h"

static void read_anchors(const uint8_t *data, size_t size)
{
    anchor_list *list = NULL;

    if (anchor_list_read(fuzz_file(data, size), size, &list) == SLUICE_OK) {
        for (uint32_t i = 0; i < list->count; i++) {
            if (!(list->corners[i][0] < list->corners[i][2] &&
                  list->corners[i][1] < list->corners[i][3] && list->corners[i][3] <= 3)) {
                fuzz_fail("an anchor without an area");
            }
        }
    }
    anchor_list_release(list);
}

static void reorder(const npy_header *header, const uint8_t *data)
{
    uint8_t *elements = malloc((size_t)header->data_bytes);

    if (elements == NULL) {
        return;
    }
    npy_to_c_order(header, data, elements);
    if (elements[0] != data[0] ||
        elements[header->data_bytes - 1] != data[header->data_bytes - 1]) {
        fuzz_fail("the first and the last element have moved");
    }
    free(elements);
}

/* Elements that are swapped twice are the same. */
static void swap(const npy_header *header, const uint8_t *data)
{
    uint8_t *elements = malloc((size_t)header->data_bytes);

    if (elements == NULL) {
        return;
    }
    memcpy(elements, data, (size_t)header->data_bytes);
    npy_swap(header, elements, header->data_bytes);
    npy_swap(header, elements, header->data_bytes);
    if (memcmp(elements, data, (size_t)header->data_bytes) != 0) {
        fuzz_fail("elements have changed");
    }
    free(elements);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    npy_header header;

    read_anchors(data, size);
    if (npy_header_parse(data, size, &header) == SLUICE_OK) {
        uint64_t bytes = sluice_dtype_size(header.dtype);

        if (header.data_at > size || header.rank > SLUICE_MAX_RANK + 1) {
            fuzz_fail("a header that cannot be");
        }
        for (uint32_t i = 0; i < header.rank; i++) {
            bytes *= header.shape[i];
        }
        if (bytes != header.data_bytes ||
            (header.rank > 0 && header.row_bytes * header.shape[0] != bytes)) {
            fuzz_fail("sizes that do not follow from the shape");
        }
        if (header.is_fortran && bytes <= size - header.data_at) {
            reorder(&header, data + header.data_at);
        }
        if (header.is_complex && (header.rank == 0 || header.shape[header.rank - 1] != 2)) {
            fuzz_fail("complex numbers without two parts");
        }
        if (header.is_swapped && bytes > 0 && bytes <= size - header.data_at) {
            swap(&header, data + header.data_at);
        }
    }
    return 0;
}
