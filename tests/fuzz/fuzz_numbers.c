/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of sample numbers, and of weights. */
#include "fuzz_target.h"
#include "number_text.h"

enum { MOST_LINES = 1 << 16, LIMIT = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint32_t numbers[MOST_LINES];
    static double weights[MOST_LINES];
    const char *text = (const char *)data;
    const uint64_t lines = number_text_lines(text, size);
    uint64_t line = 0;

    if (lines > MOST_LINES) {
        return 0;
    }
    if (number_text_indices(text, size, LIMIT, numbers, &line) == SLUICE_OK) {
        for (uint64_t i = 0; i < lines; i++) {
            if (numbers[i] >= LIMIT) {
                fuzz_fail("a number that is no sample's");
            }
        }
    } else if (line == 0 || line > lines) {
        fuzz_fail("an error in a line that is not there");
    }
    line = 0;
    if (number_text_weights(text, size, weights, &line) == SLUICE_OK) {
        for (uint64_t i = 0; i < lines; i++) {
            if (!(weights[i] >= 0)) {
                fuzz_fail("a weight below zero");
            }
        }
    } else if (line == 0 || line > lines) {
        fuzz_fail("an error in a line that is not there");
    }
    return 0;
}
