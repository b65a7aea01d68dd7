/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of statuses, and each thread's last error. */
#include "status_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_int.h"

static _Thread_local char last_error[SLI_ERROR_SIZE];
static _Thread_local uint64_t failures;

const char *sluice_status_name(sluice_status status)
{
    switch (status) {
#define STATUS_NAME(name, number, text)                                                            \
    case SLUICE_##name:                                                                            \
        return #name;
        SLUICE_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    }
    return "?";
}

const char *sluice_status_text(sluice_status status)
{
    switch (status) {
#define STATUS_TEXT(name, number, text)                                                            \
    case SLUICE_##name:                                                                            \
        return text;
        SLUICE_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "?";
}

const char *sluice_last_error(void)
{
    return last_error;
}

void sluice_string_free(char *text)
{
    free(text);
}

static sluice_status keep(sluice_status status, const char *text)
{
    snprintf(last_error, sizeof(last_error), "%s", text);
    failures++;
    sli_log(SLUICE_LOG_DEBUG, "%s: %s", sluice_status_name(status), text);
    return status;
}

sluice_status sli_fail(sluice_status status, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return keep(status, text);
}

sluice_status sluice_fail(sluice_status status, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return keep(status, text);
}

uint64_t sli_fail_count(void)
{
    return failures;
}

sluice_status sli_fail_from(sluice_status status, uint64_t before, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (failures != before && last_error[0] != '\0' && length >= 0 &&
        (size_t)length < sizeof(text)) {
        snprintf(text + length, sizeof(text) - (size_t)length, ": %s", last_error);
    }
    return keep(status, text);
}

sluice_status sli_fail_errno(sluice_status status, int error, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    char cause[128];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (strerror_r(error, cause, sizeof(cause)) != 0) {
        snprintf(cause, sizeof(cause), "errno %d", error);
    }
    if (length >= 0 && (size_t)length < sizeof(text)) {
        snprintf(text + length, sizeof(text) - (size_t)length, ": %s", cause);
    }
    return keep(status, text);
}

sluice_status sli_fail_again(sluice_status status, const char *text)
{
    if (text != NULL && text != last_error) {
        snprintf(last_error, sizeof(last_error), "%s", text);
    }
    failures++;
    return status;
}
