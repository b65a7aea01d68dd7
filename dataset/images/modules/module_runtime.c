/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a format module that is the same in all: what it exports, and the functions of the
 * runtime that decoders call, passed on to the library that has opened the module.
 */
#include <stdarg.h>
#include <stdio.h>

#include "alloc_int.h"
#include "format_module.h"
#include "status_int.h"
#include "thread_interrupt_int.h"

static const format_host *host;

static void set_host(const format_host *given)
{
    host = given;
}

extern __attribute__((visibility("default"))) const format_module sluice_format_module;
const format_module sluice_format_module = {
    .version = SLUICE_VERSION,
    .format_size = sizeof(image_format),
    .host_size = sizeof(format_host),
    .facts_size = sizeof(image_facts),
    .format = &SLI_MODULE_FORMAT,
    .set_host = set_host,
};

sluice_status sli_fail(sluice_status status, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return host->fail(status, "%s", text);
}

void *sli_calloc(size_t count, size_t size)
{
    return host->calloc(count, size);
}

void *sli_aligned_alloc(size_t alignment, size_t size)
{
    return host->aligned_alloc(alignment, size);
}

void sli_free(const void *block)
{
    host->free(block);
}

bool sli_is_interrupted(void)
{
    return host->is_interrupted();
}
