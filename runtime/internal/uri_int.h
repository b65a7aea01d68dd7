/* SPDX-License-Identifier: Apache-2.0 */
/* Device names: "kind:ordinal,key=value,..."; "local" may stand for the ordinal. */
#ifndef SLUICE_URI_INT_H
#define SLUICE_URI_INT_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/status.h>

enum { SLI_URI_OPTIONS = 16 };

typedef struct sli_uri {
    char text[128]; /* copy of the name, separators replaced by zeros; the pointers point into it */
    const char *kind;
    uint32_t ordinal;
    bool local; /* "cuda:local": the ordinal is derived from the local rank */
    uint32_t option_count;
    struct {
        const char *key;
        const char *value;
    } options[SLI_URI_OPTIONS];
} sli_uri;

/* Parses a device name. Returns E_INVALID with an error text that names the invalid part. */
sluice_status sli_uri_parse(const char *text, sli_uri *uri_out);

/* Parses an integer in [low, high]. Returns E_INVALID with an error text that names the option. */
sluice_status sli_uri_number(const char *key, const char *value, int64_t low, int64_t high,
                             int64_t *number_out);

#endif
