/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library and a format module exchange. A format module is a shared library with one
 * image_format whose decoder needs a library of others; it is built from the same tree, so both
 * must be of exactly the same version.
 */
#ifndef SLUICE_FORMAT_MODULE_H
#define SLUICE_FORMAT_MODULE_H

#include <sluice/status.h>
#include <sluice/version.h>

#include "image_format.h"

/* The functions of the library that a module calls: errors, memory, and the end of a run. */
typedef struct format_host {
    sluice_status (*fail)(sluice_status status, const char *format, ...);
    void *(*calloc)(size_t count, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void (*free)(const void *block);
    bool (*is_interrupted)(void);
} format_host;

/* What a module exports, as a variable named FORMAT_MODULE_SYMBOL. */
typedef struct format_module {
    const char *version; /* SLUICE_VERSION; read before all others */
    size_t format_size;  /* size of image_format, */
    size_t host_size;    /* of format_host, */
    size_t facts_size;   /* and of image_facts */
    const image_format *format;
    void (*set_host)(const format_host *host); /* called once, before the format is used */
} format_module;

#define FORMAT_MODULE_SYMBOL "sluice_format_module"

#endif
