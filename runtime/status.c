/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of statuses, and each thread's last error. */
#include "status_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "format_int.h"
#include "log_int.h"
#include "printable_int.h"

/* Prefix of E_NO_MEMORY error texts. */
static const char MEMORY[] = "out of memory: ";

static _Thread_local char last_error[SLI_ERROR_SIZE];
static _Thread_local int last_errno;
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

static sluice_status set_last_error(sluice_status status, int error, const char *text)
{
    sli_printable(text, SLI_CONTINUED, last_error, sizeof(last_error));
    last_errno = error;
    failures++;
    sli_log(SLUICE_LOG_DEBUG, "%s: %s", sluice_status_name(status), last_error);
    return status;
}

/*
 * set_last_error() with the prefix for E_NO_MEMORY. If the text quotes another text with the
 * prefix, the prefix is moved to the beginning.
 */
static sluice_status set_own_error(sluice_status status, int error, const char *text)
{
    const char *quoted = strstr(text, MEMORY);
    const size_t before = quoted != NULL ? (size_t)(quoted - text) : strlen(text);
    const char *rest = quoted != NULL ? quoted + strlen(MEMORY) : "";
    char whole[SLI_ERROR_SIZE + sizeof(MEMORY)];

    if (status != SLUICE_E_NO_MEMORY || strncmp(text, MEMORY, strlen("out of memory")) == 0) {
        return set_last_error(status, error, text);
    }
    snprintf(whole, sizeof(whole), "%s%.*s%s", MEMORY, (int)before, text, rest);
    return set_last_error(status, error, whole);
}

sluice_status sli_fail(sluice_status status, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    va_list args;

    va_start(args, format);
    sli_print_args(text, sizeof(text), format, args);
    va_end(args);
    return set_own_error(status, 0, text);
}

sluice_status sli_fail_with(sluice_status status, int error, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    va_list args;

    va_start(args, format);
    sli_print_args(text, sizeof(text), format, args);
    va_end(args);
    return set_own_error(status, error, text);
}

sluice_status sli_fail_quoting(sluice_status status, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    va_list args;

    va_start(args, format);
    sli_print_args(text, sizeof(text), format, args);
    va_end(args);
    return set_own_error(status, last_errno, text);
}

sluice_status sluice_fail(sluice_status status, const char *format, ...)
{
    char text[SLI_ERROR_SIZE] = "";
    va_list args;

    if (format != NULL) {
        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
    }
    return set_last_error(status, 0, text);
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
    length = sli_print_args(text, sizeof(text), format, args);
    va_end(args);
    if (failures != before && last_error[0] != '\0' && length >= 0 &&
        (size_t)length < sizeof(text)) {
        snprintf(text + length, sizeof(text) - (size_t)length, ": %s", last_error);
    }
    return set_last_error(status, 0, text);
}

/* Writes the C library's text of an errno value and, if one applies, the limit to raise. */
static void describe_errno(int error, char *text, size_t size)
{
    struct rlimit limit;
    size_t length;

    if (strerror_r(error, text, size) != 0) {
        snprintf(text, size, "errno %d", error);
    }
    length = strlen(text);
    if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        snprintf(text + length, size - length, " (ulimit -n is %llu; raise it)",
                 (unsigned long long)limit.rlim_cur);
    } else if (error == ENFILE) {
        snprintf(text + length, size - length, " (fs.file-max)");
    }
}

int sli_last_errno(void)
{
    return last_errno;
}

sluice_status sli_fail_errno(sluice_status status, int error, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    char cause[128];
    va_list args;
    int length;

    va_start(args, format);
    length = sli_print_args(text, sizeof(text), format, args);
    va_end(args);
    describe_errno(error, cause, sizeof(cause));
    if (length >= 0 && (size_t)length < sizeof(text)) {
        snprintf(text + length, sizeof(text) - (size_t)length, ": %s", cause);
    }
    return set_own_error(error == ENOMEM ? SLUICE_E_NO_MEMORY : status, error, text);
}

sluice_status sli_fail_kept(sluice_status status, int error, const char *text)
{
    snprintf(last_error, sizeof(last_error), "%s", text);
    last_errno = error;
    failures++;
    return status;
}
