/* SPDX-License-Identifier: Apache-2.0 */
/* Device names: "kind:ordinal,key=value,...". */
#ifndef SLUICE_URI_INT_H
#define SLUICE_URI_INT_H

#include <stdint.h>

#include <sluice/status.h>

enum { SLI_URI_OPTIONS = 16 };

typedef struct sli_uri {
    char text[128]; /* the name with its separators turned into zeros; the pointers lead here */
    const char *kind;
    uint32_t ordinal;
    uint32_t option_count;
    struct {
        const char *key;
        const char *value;
    } options[SLI_URI_OPTIONS];
} sli_uri;

/* E_INVALID with the text and what is wrong with it. */
sluice_status sli_uri_parse(const char *text, sli_uri *uri_out);

/* Reads a whole number in [low, high], or fails with the option's name. */
sluice_status sli_uri_number(const char *key, const char *value, int64_t low, int64_t high,
                             int64_t *number_out);

#endif
