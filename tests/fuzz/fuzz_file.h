/* SPDX-License-Identifier: Apache-2.0 */
/* An input as a file, for targets that read files. */
#ifndef SLUICE_FUZZ_FILE_H
#define SLUICE_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

/* A file without a name that holds these bytes; the same one each time. */
int fuzz_file(const uint8_t *data, size_t size);

/* Where it can be opened by name. */
const char *fuzz_file_path(void);

#endif
