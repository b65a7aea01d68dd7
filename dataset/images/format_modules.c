/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "format_modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "alloc_int.h"
#include "format_module.h"
#include "library_int.h"
#include "status_int.h"
#include "thread_interrupt_int.h"

enum { PATH_SIZE = 4096 };

/* For messages. */
#define OF_PACKAGE "Debian's package is libsluice0-formats"

#ifdef SLI_LINKED_WEBP
#define LINKED_WEBP &format_webp
#else
#define LINKED_WEBP NULL
#endif
#ifdef SLI_LINKED_TIFF
#define LINKED_TIFF &format_tiff
#else
#define LINKED_TIFF NULL
#endif

#ifdef SLI_LINKED_JP2
#define LINKED_JP2 &format_jp2
#else
#define LINKED_JP2 NULL
#endif

static const struct {
    const char *name;
    image_formats formats;
    const image_format *linked; /* part of this library; NULL: a shared library of its own */
} modules[] = {
    {"WebP", IMAGE_WEBP, LINKED_WEBP},
    {"TIFF", IMAGE_TIFF, LINKED_TIFF},
    {"JPEG 2000", IMAGE_JP2, LINKED_JP2},
};
_Static_assert(sizeof(modules) / sizeof(modules[0]) == FORMAT_MODULES, "all modules");

/* How the files of each module begin. */
static const struct {
    int module;
    const char *magic;
    size_t size;
    size_t at;
} magics[] = {
    {0, "WEBP", 4, 8},
    {1, "II*\0", 4, 0},
    {1, "MM\0*", 4, 0},
    {1, "II+\0", 4, 0}, /* BigTIFF */
    {1, "MM\0+", 4, 0},
    {2, "\0\0\0\x0CjP  \r\n\x87\n", 12, 0},
    {2, "\xFF\x4F\xFF\x51", 4, 0}, /* a raw code stream */
};

static const format_host host = {sli_fail, sli_calloc, sli_aligned_alloc, sli_free,
                                 sli_is_interrupted};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while a module is opened */
static _Atomic(const image_format *) opened[FORMAT_MODULES];

/* The name of the module's file, without ".so". */
static const char *file_of(int module)
{
    return image_formats_name(modules[module].formats);
}

int format_module_find(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        if (size >= magics[i].at + magics[i].size &&
            memcmp(bytes + magics[i].at, magics[i].magic, magics[i].size) == 0 &&
            (magics[i].at == 0 || memcmp(bytes, "RIFF", 4) == 0)) {
            return magics[i].module;
        }
    }
    return -1;
}

image_formats format_module_formats(int module)
{
    return modules[module].formats;
}

const char *format_module_name(int module)
{
    return modules[module].name;
}

/* Writes the folder of the file that this code is in: the library, or a program that the library is
 * linked into. False: it is not known. */
static bool find_own_folder(char folder[PATH_SIZE])
{
    struct link_map *map = NULL;
    Dl_info info;
    char *end;

    if (dladdr1(modules, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL) {
        return false;
    }
    if (map->l_name[0] != '\0') {
        snprintf(folder, PATH_SIZE, "%s", map->l_name);
    } else { /* the program: dladdr() would give its argv[0], often without a folder */
        const ssize_t size = readlink("/proc/self/exe", folder, PATH_SIZE - 1);

        folder[size > 0 ? size : 0] = '\0';
    }
    end = strrchr(folder, '/');
    if (end != NULL) {
        *end = '\0';
    }
    return end != NULL;
}

/*
 * Finds the module's file: beside the library, beside the folder of the program that it is linked
 * into, or where it was to be installed. The variable SLUICE_MODULE_DIR names another folder.
 * False: it is missing; the path is that of the first folder.
 */
static bool find_file(int module, char path[PATH_SIZE])
{
    static const char *const places[] = {"/sluice/0/", "/../lib/sluice/0/"};
    const char *given = getauxval(AT_SECURE) == 0 ? getenv("SLUICE_MODULE_DIR") : NULL;
    char first[PATH_SIZE] = SLI_MODULE_DIR;
    char folder[PATH_SIZE];

    if (given != NULL && given[0] != '\0') {
        snprintf(path, PATH_SIZE, "%s/%s.so", given, file_of(module));
        return access(path, F_OK) == 0;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && find_own_folder(folder); i++) {
        snprintf(path, PATH_SIZE, "%.4000s%s%s.so", folder, places[i], file_of(module));
        if (access(path, F_OK) == 0) {
            return true;
        }
        if (i == 0) {
            memcpy(first, path, PATH_SIZE);
        }
    }
    snprintf(path, PATH_SIZE, "%s/%s.so", SLI_MODULE_DIR, file_of(module));
    if (access(path, F_OK) == 0) {
        return true;
    }
    memcpy(path, first, PATH_SIZE);
    return false;
}

/* Checks a module that was loaded. Only its version may be read before that is known. */
static sluice_status check_module(const format_module *found, const char *path)
{
    if (found == NULL) {
        return sli_fail_with(SLUICE_E_UNSUPPORTED, ELIBBAD,
                             "%s is not a format module of Sluice: it has no " FORMAT_MODULE_SYMBOL
                             "; " OF_PACKAGE,
                             path);
    }
    if (strcmp(found->version, SLUICE_VERSION) != 0) {
        return sli_fail_with(SLUICE_E_UNSUPPORTED, ELIBBAD,
                             "the format module %s is of Sluice %.40s, and must be of %s as the "
                             "library is; install both of one version, " OF_PACKAGE,
                             path, found->version, SLUICE_VERSION);
    }
    if (found->format_size != sizeof(image_format) || found->host_size != sizeof(format_host) ||
        found->facts_size != sizeof(image_facts)) {
        return sli_fail_with(SLUICE_E_UNSUPPORTED, ELIBBAD,
                             "the format module %s is of another build of Sluice %s, and must be "
                             "of the library's; build or install both again, " OF_PACKAGE,
                             path, SLUICE_VERSION);
    }
    return SLUICE_OK;
}

/* Loads a module. The caller holds the lock. */
static sluice_status load_module(int module, const image_format **format_out)
{
    char path[PATH_SIZE];
    char name[PATH_SIZE + 100];
    const format_module *found;
    void *library;
    sluice_status st;

    if (!find_file(module, path)) {
        return sli_fail_with(
            SLUICE_E_UNSUPPORTED, ELIBACC,
            "a %s file, and its format module is missing (no %s): install it, " OF_PACKAGE
            ", or build with -DSLUICE_MODULES=%s; else convert the "
            "file to PNG",
            modules[module].name, path, file_of(module));
    }
    snprintf(name, sizeof(name), "a %s file, and the format module %s", modules[module].name, path);
    st = sli_library_open(
        path, name,
        "install the library that it needs (" OF_PACKAGE "), or convert the file to PNG", &library);
    if (st != SLUICE_OK) {
        return st;
    }
    found = dlsym(library, FORMAT_MODULE_SYMBOL);
    st = check_module(found, path);
    if (st != SLUICE_OK) {
        dlclose(library);
        return st;
    }
    found->set_host(&host);
    *format_out = found->format; /* the library stays open */
    return SLUICE_OK;
}

sluice_status format_module_open(int module, const image_format **format_out)
{
    const image_format *format = atomic_load_explicit(&opened[module], memory_order_acquire);
    sluice_status st = SLUICE_OK;

    if (format == NULL) {
        format = modules[module].linked;
    }
    if (format == NULL) {
        pthread_mutex_lock(&lock);
        format = atomic_load_explicit(&opened[module], memory_order_relaxed);
        if (format == NULL) {
            st = load_module(module, &format);
        }
        if (st == SLUICE_OK) {
            atomic_store_explicit(&opened[module], format, memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
    *format_out = format;
    return st;
}
