/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an LMDB file, and as a Datum. */
#include <stdlib.h>

#include <sluice/log.h>

#include "datum.h"
#include "fuzz_records.h"
#include "fuzz_target.h"
#include "lmdb_format.h"

static const record_names names = {10,
                                   {"image", "label", "pixels", "value", "data", "float_data",
                                    "channels", "height", "width", "encoded"}};

static void read_datum(const uint8_t *bytes, size_t size)
{
    datum image;
    uint8_t *to;

    if (datum_parse(bytes, size, &image) != SLUICE_OK) {
        return;
    }
    to = malloc(image.data_size + 4 * image.float_count + 1);
    if (to == NULL) {
        return;
    }
    if (datum_check_pixels(&image) == SLUICE_OK) {
        datum_pixels(&image, true, to);
    }
    datum_floats(bytes, size, to);
    free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sluice_log_set_level(SLUICE_LOG_ERROR);
    read_datum(data, size);
    (void)fuzz_records(&record_lmdb, data, size, &names);
    return 0;
}
