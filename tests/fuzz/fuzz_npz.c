/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a .npy or .npz file, with all its arrays and with a member of a name. zlib is not
 * instrumented: of deflated members this tries what surrounds it. */
#include <stdlib.h>

#include "fuzz_file.h"
#include "fuzz_target.h"
#include "npy_arrays.h"
#include "npy_ragged.h"

/* Reads the first row and the last one, which ends where the array does. */
static void read_rows(const npy_array *array)
{
    const uint64_t count = npy_array_samples(array);
    const uint64_t rows = array->starts != NULL ? array->column.shape[0] : 1;
    uint8_t *row = malloc((size_t)(rows * array->header.row_bytes));

    if (row == NULL) {
        return;
    }
    if ((npy_array_read(array, 0, row) != SLUICE_OK ||
         npy_array_read(array, count - 1, row) != SLUICE_OK) &&
        array->starts == NULL) {
        fuzz_fail("a row that cannot be read");
    }
    free(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const members[] = {"", "y", "x,y.npy", ""};
    static const char *const ragged[] = {"", "", "", "x[3],y[4]@x"};

    fuzz_file(data, size);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        npy_arrays arrays = {.count = 0};

        if (npy_arrays_open(fuzz_file_path(), members[i], "", &arrays) == SLUICE_OK &&
            npy_ragged_make(ragged[i], &arrays) == SLUICE_OK &&
            npy_arrays_check(&arrays) == SLUICE_OK) {
            for (uint32_t k = 0; k < arrays.count; k++) {
                read_rows(&arrays.arrays[k]);
            }
        }
        npy_arrays_close(&arrays);
    }
    return 0;
}
