/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the beginning of a file of tokens; the first 9 are its type and its length. */
#include <string.h>

#include "fuzz_target.h"
#include "token_header.h"

enum { GIVEN = 9 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    token_header header;
    uint64_t bytes;
    size_t head;

    if (size < GIVEN) {
        return 0;
    }
    memcpy(&bytes, data + 1, sizeof(bytes));
    bytes = bytes == 0 || bytes > INT64_MAX ? size - GIVEN : bytes;
    head = size - GIVEN < TOKEN_HEAD ? size - GIVEN : TOKEN_HEAD;
    bytes = head < TOKEN_HEAD ? head : bytes < TOKEN_HEAD ? TOKEN_HEAD : bytes;
    if (token_header_parse(data + GIVEN, head, bytes, (token_type)(data[0] % 3), &header) ==
        SLUICE_OK) {
        if (header.count == 0 || (header.token_bytes != 2 && header.token_bytes != 4) ||
            (header.data_at != 0 && header.data_at != TOKEN_HEAD)) {
            fuzz_fail("a header that cannot be");
        }
        if (header.data_at + header.count * header.token_bytes != bytes) {
            fuzz_fail("tokens that do not fill the file");
        }
    }
    return 0;
}
