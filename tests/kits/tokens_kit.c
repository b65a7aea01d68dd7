/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens_kit.h"

#include <stdlib.h>

#include "testing.h"

void tokens_head(uint32_t token_bytes, int32_t count, uint8_t bytes[1024])
{
    const int32_t fields[3] = {token_bytes == 2 ? 20240520 : 20240801, token_bytes == 2 ? 1 : 7,
                               count};

    memset(bytes, 0, 1024);
    memcpy(bytes, fields, sizeof(fields));
}

void tokens_write(const char *folder, const char *name, uint32_t token_bytes, int has_header,
                  uint32_t first, uint32_t count)
{
    const size_t head = has_header ? 1024 : 0;
    const size_t size = head + (size_t)count * token_bytes;
    uint8_t *bytes = malloc(1024 + size);

    T_TRUE(bytes != NULL);
    tokens_head(token_bytes, (int32_t)count, bytes);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t token = first + i; /* little-endian */

        memcpy(bytes + head + (size_t)i * token_bytes, &token, token_bytes);
    }
    t_write_file(t_path(folder, name), bytes, size);
    free(bytes);
}
