/* SPDX-License-Identifier: Apache-2.0 */
/* Zeros behind values: exactly the bytes asked for, at any address. */
#include <stdint.h>
#include <string.h>

#include "alloc_int.h"
#include "testing.h"
#include "zero_padding_int.h"

static void exactly_the_padding_is_zeroed(void)
{
    static const size_t sizes[] = {0,     1,     63,    64,    65535,      65536,
                                   65537, 65599, 65600, 65601, 65664 + 63, 200000};
    const size_t most = 200000 + 256;
    uint8_t *memory = sli_aligned_alloc(64, most);

    T_TRUE(memory != NULL);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t at = 1; at < 130; at++) {
            const size_t end = at + sizes[i];
            size_t wrong = 0;

            memset(memory, 0xA5, most);
            sli_zero_padding(memory + at, sizes[i]);
            for (size_t b = 0; b < most; b++) {
                wrong += memory[b] != (b >= at && b < end ? 0 : 0xA5);
            }
            T_EQ(wrong, 0);
        }
    }
    sli_free(memory);
}

const t_test zero_padding_tests[] = {
    T_TEST(exactly_the_padding_is_zeroed),
    T_END,
};
