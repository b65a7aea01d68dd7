/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validates XML topology files before hwloc parses them. hwloc does not check its input: an object
 * that lacks a set, or has a CPU that its parent lacks, crashes hwloc 2.9.
 */
#include "topology_xml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "status_int.h"

/* Upper bound on the size of a file. The file of a machine with 10000 CPUs is a few megabytes. */
enum { MAX_BYTES = 16 << 20 };

/* Upper bounds: depth of nested objects; index of a CPU or node; size of a set's text in bytes. */
enum { MAX_DEPTH = 64, MAX_INDEX = 65535, SET_TEXT = (MAX_INDEX / 32 + 1) * 11 };

typedef enum set_kind { CPUS, ALL_CPUS, NODES, ALL_NODES, SET_COUNT } set_kind;

static const char *const set_names[SET_COUNT] = {"cpuset", "complete_cpuset", "nodeset",
                                                 "complete_nodeset"};

/* An object of the walk that is still open: its end tag is not reached yet. */
typedef struct level {
    bool is_place; /* has sets; false for devices */
    hwloc_bitmap_t sets[SET_COUNT];
    hwloc_bitmap_t below; /* union of the children's ALL_CPUS sets so far */
} level;

typedef struct walk {
    level *levels;      /* (MAX_DEPTH) stack of open objects */
    uint32_t depth;     /* number of open objects */
    uint32_t cpu_count; /* number of logical CPUs so far */
    bool closed;        /* the end tag of the machine was reached */
} walk;

/*
 * The value of an attribute of the tag [tag, end), terminated by a quote before `end`; NULL: no
 * such attribute.
 */
static const char *find_attribute(const char *tag, const char *end, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = tag; end - at > (ptrdiff_t)length + 3; at++) {
        if (*at == ' ' && strncmp(at + 1, name, length) == 0 && at[length + 1] == '=' &&
            at[length + 2] == '"') {
            const char *value = at + length + 3;

            return memchr(value, '"', (size_t)(end - value)) != NULL ? value : NULL;
        }
    }
    return NULL;
}

static bool value_is(const char *value, const char *word)
{
    return strncmp(value, word, strlen(word)) == 0 && value[strlen(word)] == '"';
}

static bool value_is_one_of(const char *value, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (value_is(value, *words)) {
            return true;
        }
    }
    return false;
}

/* True if this is a valid word of a set. A word holds 32 CPUs: "0x" and up to 8 digits, or empty
 * for no CPU. */
static bool is_word(const char *word, size_t length)
{
    return length == 0 || (length >= 3 && length <= 10 && strncmp(word, "0x", 2) == 0 &&
                           strspn(word + 2, "0123456789abcdefABCDEF") >= length - 2);
}

/* True if the value has the form "0x0000ffff,,0x00000001". hwloc aborts on any other form. */
static bool is_set(const char *value)
{
    const size_t length = strcspn(value, "\"");

    if (length == 0 || length >= SET_TEXT || value[0] == ',' || value[length - 1] == ',') {
        return false;
    }
    for (size_t at = 0; at < length;) {
        const size_t word = strcspn(value + at, ",\"");

        if (!is_word(value + at, word)) {
            return false;
        }
        at += word + 1;
    }
    return true;
}

static bool read_set(const char *value, hwloc_bitmap_t set)
{
    char text[SET_TEXT];
    const size_t length = strcspn(value, "\"");

    if (!is_set(value)) {
        return false;
    }
    memcpy(text, value, length);
    text[length] = '\0';
    return hwloc_bitmap_sscanf(set, text) == 0 && hwloc_bitmap_last(set) <= MAX_INDEX;
}

/* Checks the form of all sets of a tag, including unused ones such as allowed_cpuset, and sets of
 * elements that are not objects. */
static bool are_sets(const char *tag, const char *end)
{
    static const char key[] = "set=\"";
    const ptrdiff_t length = sizeof(key) - 1;

    for (const char *at = tag; end - at > length; at++) {
        if (strncmp(at, key, (size_t)length) == 0 && !is_set(at + length)) {
            return false;
        }
    }
    return true;
}

static bool read_sets(const char *tag, const char *end, level *object)
{
    for (int kind = 0; kind < SET_COUNT; kind++) {
        const char *value = find_attribute(tag, end, set_names[kind]);

        if (value == NULL || !read_set(value, object->sets[kind])) {
            return false;
        }
    }
    return hwloc_bitmap_isincluded(object->sets[CPUS], object->sets[ALL_CPUS]) &&
           hwloc_bitmap_isincluded(object->sets[NODES], object->sets[ALL_NODES]);
}

/* True if the object's os_index is the only member of this set. */
static bool is_numbered(const char *tag, const char *end, hwloc_const_bitmap_t set)
{
    const char *index = find_attribute(tag, end, "os_index");

    return index != NULL && hwloc_bitmap_weight(set) == 1 &&
           strtoul(index, NULL, 10) == (unsigned long)hwloc_bitmap_first(set);
}

/* True if an object fits into its parent `around`: each set is a subset of the parent's, and its
 * CPUs are disjoint from those of earlier siblings and do not begin before the first sibling's. */
static bool level_fits(const level *object, level *around, bool is_memory)
{
    for (int kind = 0; kind < SET_COUNT; kind++) {
        if (!hwloc_bitmap_isincluded(object->sets[kind], around->sets[kind])) {
            return false;
        }
    }
    if (is_memory || hwloc_bitmap_iszero(object->sets[ALL_CPUS])) {
        return true; /* memory nodes, and groups around memory nodes without CPUs */
    }
    if (hwloc_bitmap_intersects(object->sets[ALL_CPUS], around->below) ||
        hwloc_bitmap_first(object->sets[ALL_CPUS]) < hwloc_bitmap_first(around->below)) {
        return false;
    }
    return hwloc_bitmap_or(around->below, around->below, object->sets[ALL_CPUS]) == 0;
}

/* Checks an object at its opening tag; it is a child of the innermost open object. */
static bool check_object(walk *self, const char *tag, const char *end)
{
    static const char *const memory[] = {"NUMANode", "MemCache", NULL};
    static const char *const devices[] = {"Bridge", "PCIDev", "OSDev", "Misc", NULL};
    static const char *const places[] = {"Machine", "Package",  "Die",      "Group",    "Core",
                                         "PU",      "L1Cache",  "L2Cache",  "L3Cache",  "L4Cache",
                                         "L5Cache", "L1iCache", "L2iCache", "L3iCache", NULL};
    const char *type = find_attribute(tag, end, "type");
    level *object = &self->levels[self->depth];
    level *around = self->depth > 0 ? &self->levels[self->depth - 1] : NULL;
    bool is_memory;

    if (type == NULL || self->closed || (around == NULL) != value_is(type, "Machine")) {
        return false;
    }
    object->is_place = !value_is_one_of(type, devices);
    if (!object->is_place) {
        return true;
    }
    is_memory = value_is_one_of(type, memory);
    if ((!is_memory && !value_is_one_of(type, places)) || !read_sets(tag, end, object)) {
        return false;
    }
    hwloc_bitmap_zero(object->below);
    if (value_is(type, "NUMANode") && !is_numbered(tag, end, object->sets[ALL_NODES])) {
        return false;
    }
    if (value_is(type, "PU")) {
        self->cpu_count++;
        if (!is_numbered(tag, end, object->sets[ALL_CPUS])) {
            return false;
        }
    }
    return around == NULL || (around->is_place && level_fits(object, around, is_memory));
}

/* Checks one tag: <object ...>, <object .../>, </object>; other tags are skipped. */
static bool check_tag(walk *self, const char *tag, const char *end)
{
    if (strncmp(tag, "</object", strlen("</object")) == 0) {
        if (self->depth == 0) {
            return false;
        }
        self->depth--;
        self->closed = self->depth == 0;
        return true;
    }
    if (strncmp(tag, "<object", strlen("<object")) != 0) {
        return true;
    }
    if (!check_object(self, tag, end)) {
        return false;
    }
    if (end[-1] != '/') {
        self->depth++;
    }
    return self->depth < MAX_DEPTH;
}

static bool check_tags(walk *self, const char *text)
{
    for (const char *tag = strchr(text, '<'); tag != NULL; tag = strchr(tag + 1, '<')) {
        const char *end = tag + 1 + strcspn(tag + 1, "<>");

        if (*end != '>' || !are_sets(tag, end) || !check_tag(self, tag, end)) {
            return false;
        }
    }
    return self->closed && self->cpu_count > 0;
}

static bool make_levels(level *levels)
{
    for (int i = 0; i < MAX_DEPTH; i++) {
        levels[i].below = hwloc_bitmap_alloc();
        if (levels[i].below == NULL) {
            return false;
        }
        for (int kind = 0; kind < SET_COUNT; kind++) {
            levels[i].sets[kind] = hwloc_bitmap_alloc();
            if (levels[i].sets[kind] == NULL) {
                return false;
            }
        }
    }
    return true;
}

static void free_levels(level *levels)
{
    for (int i = 0; i < MAX_DEPTH; i++) {
        hwloc_bitmap_free(levels[i].below);
        for (int kind = 0; kind < SET_COUNT; kind++) {
            hwloc_bitmap_free(levels[i].sets[kind]);
        }
    }
    sli_free(levels);
}

/* Checks that the text has one machine with consistent objects. */
static sluice_status check_text(const char *text, const char *path)
{
    const char *topology = strstr(text, "<topology ");
    walk self = {.levels = sli_calloc(MAX_DEPTH, sizeof(*self.levels))};
    sluice_status st = SLUICE_OK;

    if (self.levels == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "topology file %s", path);
    }
    if (!make_levels(self.levels)) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "topology file %s", path);
    } else if (topology == NULL || strncmp(topology, "<topology version=\"2.", 21) != 0 ||
               !check_tags(&self, text)) {
        st = sli_topology_xml_refused(path);
    }
    free_levels(self.levels);
    return st;
}

sluice_status sli_topology_xml_refused(const char *path)
{
    return sli_fail(SLUICE_E_INVALID,
                    "topology file %s is not a complete XML file of hwloc 2; write one by `lstopo "
                    "FILE.xml`, with hwloc 3 by `lstopo --export-xml-flags v2 FILE.xml`",
                    path);
}

/* Reads an open file completely. The text ends with a zero, which *size_out includes. */
static sluice_status read_all(int file, const char *path, char **text_out, int *size_out)
{
    struct stat info;
    size_t size;
    ssize_t used;
    char *text;

    if (fstat(file, &info) != 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read topology file %s", path);
    }
    if (!S_ISREG(info.st_mode) || info.st_size > MAX_BYTES) {
        return sli_fail(SLUICE_E_INVALID,
                        "topology file %s must be a regular file of at most %d MiB", path,
                        MAX_BYTES >> 20);
    }
    size = (size_t)info.st_size;
    text = sli_calloc(size + 1, 1);
    if (text == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "topology file %s, %zu bytes", path, size);
    }
    used = sli_read(file, text, size); /* fewer bytes if the file was truncated while reading */
    if (used < 0) {
        const int error = errno;

        sli_free(text);
        return sli_fail_errno(SLUICE_E_IO, error, "cannot read topology file %s", path);
    }
    *text_out = text;
    *size_out = (int)used + 1;
    return SLUICE_OK;
}

/* Reads the file itself, since hwloc would read a FIFO or /dev/zero without end. */
sluice_status sli_topology_set_xml(hwloc_topology_t loaded, const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = NULL;
    int size = 0;
    sluice_status st;

    if (file < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open topology file %s", path);
    }
    st = read_all(file, path, &text, &size);
    close(file);
    if (st != SLUICE_OK) {
        return st;
    }
    st = check_text(text, path);
    if (st == SLUICE_OK && hwloc_topology_set_xmlbuffer(loaded, text, size) != 0) {
        st = sli_topology_xml_refused(path);
    }
    sli_free(text);
    return st;
}
