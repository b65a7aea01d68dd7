/* SPDX-License-Identifier: Apache-2.0 */
#include "json_nonfinite.h"

#include <stdbool.h>
#include <string.h>

/* The words, and what replaces them. */
static const struct nonfinite {
    const char *word;
    const char *json; /* of the same length */
} words[] = {
    {"NaN", "\"\" "},
    {"Infinity", "1e300   "},
    {"-Infinity", "-1e300   "},
};

enum { WORDS = sizeof(words) / sizeof(words[0]) };

/* True for bytes of numbers and of words such as null, and of invalid ones. */
static bool is_of_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '+' || c == '.' || c == '_';
}

/* Returns the end of a string; `at` is its opening quote. */
static size_t pass_string(const char *text, size_t size, size_t at)
{
    for (at++; at < size && text[at] != '"'; at++) {
        at += text[at] == '\\';
    }
    return at < size ? at + 1 : size;
}

/* Finds the next word that is not finite, from *at. Returns NULL if there is none. */
static const struct nonfinite *next_word(const char *text, size_t size, size_t *at)
{
    while (*at < size) {
        const size_t begin = *at;
        size_t end = begin;

        if (text[begin] == '"') {
            *at = pass_string(text, size, begin);
            continue;
        }
        while (end < size && is_of_word(text[end])) {
            end++;
        }
        for (int i = 0; i < WORDS; i++) {
            if (end - begin == strlen(words[i].word) &&
                memcmp(text + begin, words[i].word, end - begin) == 0) {
                return &words[i];
            }
        }
        *at = end > begin ? end : begin + 1;
    }
    return NULL;
}

const char *json_nonfinite_find(const char *text, size_t size)
{
    size_t at = 0;
    const struct nonfinite *found = next_word(text, size, &at);

    return found != NULL ? found->word : NULL;
}

void json_nonfinite_replace(char *text, size_t size)
{
    const struct nonfinite *found;
    size_t at = 0;

    while ((found = next_word(text, size, &at)) != NULL) {
        const size_t length = strlen(found->word);

        memcpy(text + at, found->json, length);
        at += length;
    }
}
