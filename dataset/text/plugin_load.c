/* SPDX-License-Identifier: Apache-2.0 */
/* Loads plugins: shared libraries that register stages by name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/plugin.h>
#include <sluice/version.h>

#include "alloc_int.h"
#include "custom_sample.h"
#include "stage_registry.h"
#include "status_int.h"

/* PLUGIN_VERSION is the number in the symbol's name; LATER_VERSIONS are searched for messages. */
enum { PLUGIN_VERSION = 1, LATER_VERSIONS = 16, HOST_SIZE_MOST = 4096, PATH_SIZE = 4096 };

/* A plugin that is loaded; never removed. */
typedef struct loaded_plugin {
    struct loaded_plugin *next;
    const sluice_plugin *plugin;
} loaded_plugin;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while a plugin is loaded */
static loaded_plugin *loaded;                            /* guarded by lock */

/* The functions of the library that plugins get. */
static const sluice_plugin_host host = {
    .struct_size = sizeof(host),
    .version = SLUICE_VERSION,
    .fail = sluice_fail,
    .stage_register = sluice_stage_register,
    .builder_int = sluice_builder_int,
    .builder_float = sluice_builder_float,
    .builder_string = sluice_builder_string,
    .builder_bool = sluice_builder_bool,
    .builder_source = sluice_builder_source,
    .builder_map = sluice_builder_map,
    .builder_filter = sluice_builder_filter,
    .sample_number = sluice_sample_number,
    .sample_worker = sluice_sample_worker,
    .sample_random = sluice_sample_random,
    .sample_get = sluice_sample_get,
    .sample_room = sluice_sample_room,
    .sample_lend = sluice_sample_lend,
    .builder_map_batch = sluice_builder_map_batch,
    .host_batch_rows = sluice_host_batch_rows,
    .host_batch_valid_rows = sluice_host_batch_valid_rows,
    .host_batch_samples = sluice_host_batch_samples,
    .host_batch_worker = sluice_host_batch_worker,
    .host_batch_random = sluice_host_batch_random,
    .host_batch_column = sluice_host_batch_column,
    .sample_stop_fd = sluice_sample_stop_fd,
    .sample_warped = sluice_sample_warped,
};

/*
 * Checks that an open file of `size` bytes is a shared library whose segments are all in the file:
 * dlopen() would map those of a truncated one, and the process would end by a signal.
 */
static sluice_status check_segments(const char *path, int fd, uint64_t size)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;

    if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header.e_type != ET_DYN || header.e_phentsize != sizeof(segment)) {
        return sli_fail(SLUICE_E_INVALID,
                        "plugin %s: not a shared library for this machine, as cc -shared -fPIC "
                        "makes it",
                        path);
    }
    for (uint32_t i = 0; i < header.e_phnum; i++) {
        const uint64_t at = header.e_phoff + (uint64_t)i * sizeof(segment);

        if (header.e_phoff > size || at > size ||
            pread(fd, &segment, sizeof(segment), (off_t)at) != (ssize_t)sizeof(segment) ||
            segment.p_offset > size || segment.p_filesz > size - segment.p_offset) {
            return sli_fail(SLUICE_E_INVALID, "plugin %s: truncated; build or copy it again", path);
        }
    }
    return SLUICE_OK;
}

static sluice_status check_file(const char *path)
{
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait at a pipe */
    sluice_status st;

    if (fd < 0 || fstat(fd, &info) != 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "plugin %s", path);
    } else if (!S_ISREG(info.st_mode)) {
        st = sli_fail(SLUICE_E_INVALID, "plugin %s: not a file; name a shared library", path);
    } else {
        st = check_segments(path, fd, (uint64_t)info.st_size);
    }
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

/* Returns the symbol of the plugin interface with this number, or NULL. */
static void *find_symbol(void *library, int version)
{
    char name[32];

    snprintf(name, sizeof(name), "sluice_plugin_%d", version);
    return dlsym(library, name);
}

/* Fails because the library has no symbol of this version; the text has the reason. */
static sluice_status no_symbol(const char *path, void *library)
{
    for (int version = PLUGIN_VERSION + 1; version <= PLUGIN_VERSION + LATER_VERSIONS; version++) {
        if (find_symbol(library, version) != NULL) {
            return sli_fail(SLUICE_E_INVALID,
                            "plugin %s: built for interface %d of a later Sluice, and %s has %d: "
                            "update Sluice, or build the plugin with the headers of %s",
                            path, version, sluice_version(), PLUGIN_VERSION, sluice_version());
        }
    }
    return sli_fail(SLUICE_E_INVALID,
                    "plugin %s: a shared library without the symbol sluice_plugin_%d: export it as "
                    "<sluice/plugin.h> says, as a const sluice_plugin",
                    path, PLUGIN_VERSION);
}

/* Returns the size of a symbol; 0 if the dynamic loader does not report it. */
static size_t symbol_size(const void *symbol)
{
#ifdef RTLD_DL_SYMENT
    Dl_info info;
    void *extra = NULL;

    if (dladdr1(symbol, &info, &extra, RTLD_DL_SYMENT) != 0 && extra != NULL &&
        info.dli_saddr == symbol) {
        return ((const ElfW(Sym) *)extra)->st_size;
    }
#endif
    (void)symbol;
    return 0;
}

/* Checks the struct that the plugin exports. */
static sluice_status check_plugin(const char *path, const sluice_plugin *plugin)
{
    const size_t size = symbol_size(plugin);

    if ((size != 0 && size < sizeof(*plugin)) || plugin->host_size < sizeof(size_t) ||
        plugin->host_size > HOST_SIZE_MOST || plugin->host_size % sizeof(void *) != 0 ||
        plugin->init == NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "plugin %s: sluice_plugin_%d is not a sluice_plugin with host_size and "
                        "init: write {sizeof(sluice_plugin_host), init}",
                        path, PLUGIN_VERSION);
    }
    if (plugin->host_size > sizeof(host)) {
        return sli_fail(SLUICE_E_INVALID,
                        "plugin %s: built with the headers of a later Sluice (a table of %zu "
                        "bytes, and %s has %zu): update Sluice, or build the plugin with the "
                        "headers of %s",
                        path, plugin->host_size, sluice_version(), sizeof(host), sluice_version());
    }
    return SLUICE_OK;
}

static bool is_loaded(const sluice_plugin *plugin)
{
    const loaded_plugin *entry = loaded;

    while (entry != NULL && entry->plugin != plugin) {
        entry = entry->next;
    }
    return entry != NULL;
}

/* Calls init(), and registers its stages if it succeeds. */
static sluice_status init_plugin(const char *path, const sluice_plugin *plugin)
{
    char origin[NAMED_ORIGIN_SIZE];
    registry_group *group = sli_calloc(1, sizeof(*group));
    uint64_t before;
    sluice_status st;

    if (group == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "plugin %s", path);
    }
    snprintf(origin, sizeof(origin), "plugin %s", path);
    group->origin = origin;
    registry_group_begin(group);
    before = sli_fail_count();
    st = custom_status(origin, "init", before, plugin->init(&host));
    st = registry_group_end(group, st);
    sli_free(group);
    return st;
}

/* Initializes the plugin of an open library, unless that was done. *kept_out: set to true if the
 * library must stay open. */
static sluice_status take_plugin(const char *path, void *library, bool *kept_out)
{
    const sluice_plugin *plugin = find_symbol(library, PLUGIN_VERSION);
    loaded_plugin *entry;
    sluice_status st;

    if (plugin == NULL) {
        return no_symbol(path, library);
    }
    if (is_loaded(plugin)) {
        return SLUICE_OK;
    }
    st = check_plugin(path, plugin);
    entry = st == SLUICE_OK ? sli_calloc(1, sizeof(*entry)) : NULL;
    if (st == SLUICE_OK && entry == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "plugin %s", path);
    }
    if (st == SLUICE_OK) {
        st = init_plugin(path, plugin);
    }
    if (st != SLUICE_OK) {
        sli_free(entry);
        return st;
    }
    entry->plugin = plugin;
    entry->next = loaded;
    loaded = entry;
    *kept_out = true;
    return SLUICE_OK;
}

static sluice_status load_locked(const char *path)
{
    bool kept = false;
    void *library;
    sluice_status st = check_file(path);

    if (st != SLUICE_OK) {
        return st;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *said = dlerror();

        return sli_fail(SLUICE_E_INVALID,
                        "plugin %s: not loaded: %s; a plugin is a shared library for this machine, "
                        "as cc -shared -fPIC makes it",
                        path, said != NULL ? said : "no reason is known");
    }
    st = take_plugin(path, library, &kept);
    if (!kept) {
        dlclose(library); /* also if it was loaded before: this is a second handle */
    }
    return st;
}

sluice_status sluice_plugin_load(const char *path)
{
    char here[PATH_SIZE];
    sluice_status st;

    if (path == NULL || path[0] == '\0' || strlen(path) + 3 > sizeof(here)) {
        return sli_fail(SLUICE_E_INVALID, "sluice_plugin_load: path is NULL, empty or too long");
    }
    if (registry_group_is_open()) {
        return sli_fail(SLUICE_E_INVALID,
                        "plugin %s: loaded by the init() of another one; load them one after "
                        "the other",
                        path);
    }
    /* Without a slash dlopen() would search the folders of the system. */
    snprintf(here, sizeof(here), "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    pthread_mutex_lock(&lock);
    st = load_locked(here);
    pthread_mutex_unlock(&lock);
    return st;
}

sluice_status sluice_plugin_load_listed(void)
{
    const char *list = getenv("SLUICE_PLUGINS");
    sluice_status st = SLUICE_OK;

    if (list == NULL || getauxval(AT_SECURE) != 0) {
        return SLUICE_OK;
    }
    while (*list != '\0' && st == SLUICE_OK) {
        const size_t length = strcspn(list, ":");
        char path[PATH_SIZE];

        if (length >= sizeof(path)) {
            return sli_fail(SLUICE_E_INVALID, "SLUICE_PLUGINS: a path of %zu bytes is too long",
                            length);
        }
        snprintf(path, sizeof(path), "%.*s", (int)length, list);
        st = length > 0 ? sluice_plugin_load(path) : SLUICE_OK;
        list += length + (list[length] == ':');
    }
    return st == SLUICE_E_INVALID || st == SLUICE_E_IO
               ? sli_fail_quoting(st, "SLUICE_PLUGINS: %s", sluice_last_error())
               : st;
}
