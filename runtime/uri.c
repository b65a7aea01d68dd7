/* SPDX-License-Identifier: Apache-2.0 */
#include "uri_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status_int.h"

sluice_status sli_uri_number(const char *key, const char *value, int64_t low, int64_t high,
                             int64_t *number_out)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || number < low || number > high) {
        return sli_fail(SLUICE_E_INVALID,
                        "device option %s=%s must be a whole number from %lld to %lld", key, value,
                        (long long)low, (long long)high);
    }
    *number_out = number;
    return SLUICE_OK;
}

sluice_status sli_uri_parse(const char *text, sli_uri *uri_out)
{
    sli_uri *uri = uri_out;
    char *rest;
    char *colon;
    int64_t ordinal = 0;
    sluice_status st;

    memset(uri, 0, sizeof(*uri));
    if (strlen(text) >= sizeof(uri->text)) {
        return sli_fail(SLUICE_E_INVALID, "device name of more than %zu bytes",
                        sizeof(uri->text) - 1);
    }
    snprintf(uri->text, sizeof(uri->text), "%s", text);
    rest = strchr(uri->text, ',');
    if (rest != NULL) {
        *rest++ = '\0';
    }
    colon = strchr(uri->text, ':');
    uri->kind = uri->text;
    if (colon != NULL) {
        *colon = '\0';
        uri->local = strcmp(colon + 1, "local") == 0;
        st = uri->local ? SLUICE_OK : sli_uri_number("N", colon + 1, 0, 63, &ordinal);
        if (st != SLUICE_OK) {
            return sli_fail(SLUICE_E_INVALID, "device %s must be KIND:N with N from 0 to 63", text);
        }
        uri->ordinal = (uint32_t)ordinal;
    }
    while (rest != NULL) {
        char *key = rest;
        char *value = strchr(key, '=');

        rest = strchr(key, ',');
        if (rest != NULL) {
            *rest++ = '\0';
        }
        if (value == NULL || value == key || (rest != NULL && value >= rest)) {
            return sli_fail(SLUICE_E_INVALID, "device %s: '%s' after a comma must be key=value",
                            text, key);
        }
        if (uri->option_count == SLI_URI_OPTIONS) {
            return sli_fail(SLUICE_E_INVALID, "device %s: more than %d options", text,
                            SLI_URI_OPTIONS);
        }
        *value = '\0';
        uri->options[uri->option_count].key = key;
        uri->options[uri->option_count].value = value + 1;
        uri->option_count++;
    }
    return SLUICE_OK;
}
