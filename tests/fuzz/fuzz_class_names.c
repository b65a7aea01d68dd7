/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as the file classes.txt of a pack. A zero byte must be refused; names that
 * are written and read again must be the same. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "escaped_text.h"
#include "fuzz_target.h"

/* The names of a copy of the bytes, which is as large as the reader of packs makes it. NULL: one of
 * the bytes is zero. */
static char *divide(const uint8_t *data, size_t size, char ***names_out, uint32_t *count_out)
{
    char *text = malloc(size + 1);
    const bool has_zero = size > 0 && memchr(data, 0, size) != NULL;
    sluice_status st;

    if (text == NULL) {
        abort();
    }
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    st = escaped_text_lines(text, size, names_out, count_out);
    if (st != (has_zero ? SLUICE_E_CORRUPT : SLUICE_OK)) {
        fuzz_fail(has_zero ? "a name with a zero byte" : "no names");
    }
    if (has_zero) {
        free(text);
        return NULL;
    }
    return text;
}

/* Number of lines, the last one with or without a line feed. */
static uint32_t count_lines(const uint8_t *data, size_t size)
{
    uint32_t count = 0;

    for (size_t i = 0; i < size; i++) {
        count += data[i] == '\n' || i + 1 == size;
    }
    return count;
}

static void check_again(char **names, uint32_t count)
{
    sli_text text = {.data = NULL};
    char *written = NULL;
    char **again = NULL;
    char *copy;
    uint32_t number = 0;

    for (uint32_t i = 0; i < count; i++) {
        escaped_text_add(&text, names[i]);
        sli_text_add(&text, "\n");
    }
    if (sli_text_take(&text, &written) != SLUICE_OK) {
        abort();
    }
    copy = divide((const uint8_t *)written, strlen(written), &again, &number);
    if (number != count) {
        fuzz_fail("another number of names");
    }
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], again[i]) != 0) {
            fuzz_fail("another name");
        }
    }
    free(copy);
    sli_free(again);
    sli_free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char **names = NULL;
    uint32_t count = 0;
    char *text = divide(data, size, &names, &count);

    if (text == NULL) {
        return 0;
    }
    if (count != count_lines(data, size)) {
        fuzz_fail("a line without a name");
    }
    for (uint32_t i = 0; i < count; i++) {
        if (names[i] < text || names[i] + strlen(names[i]) > text + size) {
            fuzz_fail("a name outside of the text");
        }
    }
    check_again(names, count);
    sli_free(names);
    free(text);
    return 0;
}
