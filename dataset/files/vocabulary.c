/* SPDX-License-Identifier: Apache-2.0 */
/* qsort_r() needs this. */
#define _GNU_SOURCE
#include "vocabulary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "list_text.h"
#include "plain_file.h"
#include "rng_int.h"
#include "status_int.h"

/* Limits on the classes, and on the size of a file of their names. */
enum { MOST_CLASSES = 1 << 20, MOST_FILE_BYTES = 1 << 28 };

const char *vocabulary_text(const vocabulary *names, uint32_t number)
{
    return names->text + names->names[number];
}

void vocabulary_free(vocabulary *names)
{
    sli_free(names->text);
    sli_free(names->names);
    sli_free(names->slots);
    sli_free(names->file);
    *names = (vocabulary){.count = 0};
}

uint64_t vocabulary_memory(const vocabulary *names)
{
    return sizeof(*names) + names->text_capacity + names->names_capacity * sizeof(*names->names) +
           names->slot_count * sizeof(*names->slots);
}

uint64_t vocabulary_hash(const vocabulary *names)
{
    uint64_t hash = names->count;

    for (uint32_t i = 0; i < names->count; i++) {
        hash = sli_mix_in(hash, sli_hash_text(vocabulary_text(names, i)));
    }
    return hash;
}

/* ---- the table ------------------------------------------------------------------------------- */

static sluice_status no_memory(void)
{
    return sli_fail(SLUICE_E_NO_MEMORY, "the names of classes");
}

/* Returns the slot of a name: that of its class, or the free one where it belongs. */
static uint32_t *find_slot(const vocabulary *names, const char *name)
{
    const size_t mask = names->slot_count - 1;
    size_t at = (size_t)sli_hash_text(name) & mask;

    while (names->slots[at] != 0 &&
           strcmp(vocabulary_text(names, names->slots[at] - 1), name) != 0) {
        at = (at + 1) & mask;
    }
    return &names->slots[at];
}

/* Makes a table of twice as many slots as names, at least, and fills it. */
static sluice_status make_slots(vocabulary *names)
{
    size_t count = 64;
    uint32_t *slots;

    while (count < 4 * ((size_t)names->count + 1)) {
        count *= 2;
    }
    slots = sli_calloc(count, sizeof(*slots));
    if (slots == NULL) {
        return no_memory();
    }
    sli_free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    for (uint32_t i = 0; i < names->count; i++) {
        *find_slot(names, vocabulary_text(names, i)) = i + 1;
    }
    return SLUICE_OK;
}

bool vocabulary_find(const vocabulary *names, const char *name, uint32_t *number_out)
{
    const uint32_t slot = names->slot_count > 0 ? *find_slot(names, name) : 0;

    *number_out = slot > 0 ? slot - 1 : 0;
    return slot > 0;
}

static sluice_status append(vocabulary *names, const char *name)
{
    const size_t size = strlen(name) + 1;
    char *text = sli_grow(names->text, &names->text_capacity, names->text_size + size, 1);
    size_t *grown;

    if (text == NULL) {
        return no_memory();
    }
    names->text = text;
    grown =
        sli_grow(names->names, &names->names_capacity, (size_t)names->count + 1, sizeof(*grown));
    if (grown == NULL) {
        return no_memory();
    }
    names->names = grown;
    memcpy(text + names->text_size, name, size);
    grown[names->count++] = names->text_size;
    names->text_size += size;
    return SLUICE_OK;
}

sluice_status vocabulary_add(vocabulary *names, const char *name)
{
    uint32_t number;
    sluice_status st = SLUICE_OK;

    if (vocabulary_find(names, name, &number)) {
        return SLUICE_OK;
    }
    if (names->count == MOST_CLASSES) {
        return sli_fail(SLUICE_E_INVALID,
                        "a column of kind class has more than %d different names; text[N] has no "
                        "such bound",
                        MOST_CLASSES);
    }
    if (names->slot_count < 2 * ((size_t)names->count + 1)) {
        st = make_slots(names);
    }
    st = st == SLUICE_OK ? append(names, name) : st;
    if (st == SLUICE_OK) {
        *find_slot(names, name) = names->count;
    }
    return st;
}

static int compare_names(const void *a, const void *b, void *text)
{
    return strcmp((const char *)text + *(const size_t *)a, (const char *)text + *(const size_t *)b);
}

sluice_status vocabulary_close(vocabulary *names)
{
    if (names->count > 1) {
        qsort_r(names->names, names->count, sizeof(*names->names), compare_names, names->text);
    }
    names->is_open = false;
    return make_slots(names);
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* True if a line begins with "NUMBER<TAB>". */
static bool has_number(const char *line, uint32_t number)
{
    char text[16];
    const int length = snprintf(text, sizeof(text), "%" PRIu32 "\t", number);

    return strncmp(line, text, (size_t)length) == 0;
}

/* Adds the name in a line of a file; `numbered`: after its number. */
static sluice_status add_line(vocabulary *names, const char *path, char *line, bool numbered)
{
    const uint32_t number = names->count;
    char *own = line + (numbered ? strcspn(line, "\t") : 0);
    const char *name;
    uint32_t other;

    own[strcspn(own, "\r")] = '\0';
    name = list_trim(own);
    if (numbered && !has_number(line, number)) {
        return sli_fail(SLUICE_E_INVALID, "%s:%u: the line must begin with %u and a tab", path,
                        number + 1, number);
    }
    if (name[0] == '\0' || strlen(name) >= CLASS_NAME_SIZE) {
        return sli_fail(SLUICE_E_INVALID, "%s:%u: the name of a class must have 1 to %d bytes",
                        path, number + 1, CLASS_NAME_SIZE - 1);
    }
    if (vocabulary_find(names, name, &other)) {
        return sli_fail(SLUICE_E_INVALID, "%s:%u: the class %s is in line %u, too", path,
                        number + 1, name, other + 1);
    }
    return vocabulary_add(names, name);
}

static sluice_status add_lines(vocabulary *names, const char *path, char *text, size_t size)
{
    char *line = text + (strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
    const bool numbered = has_number(line, 0);
    sluice_status st = SLUICE_OK;

    if (strlen(text) != size) {
        return sli_fail(SLUICE_E_INVALID, "%s: it has a zero byte, and must be a text in UTF-8",
                        path);
    }
    while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL) {
        text[--size] = '\0'; /* empty lines at the end have no name */
    }
    while (st == SLUICE_OK && *line != '\0') {
        char *end = line + strcspn(line, "\n");
        char *next = *end == '\n' ? end + 1 : end;

        *end = '\0';
        st = add_line(names, path, line, numbered);
        line = next;
    }
    return st == SLUICE_OK && names->count == 0
               ? sli_fail(SLUICE_E_INVALID, "%s: it must have the name of a class in each line",
                          path)
               : st;
}

sluice_status vocabulary_read(vocabulary *names, const char *path)
{
    uint64_t size = 0;
    size_t got = 0;
    char *text = NULL;
    int fd = -1;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        return sli_fail_quoting(st, "classes=%.300s: %.600s", path, sluice_last_error());
    }
    if (size > MOST_FILE_BYTES) {
        st = sli_fail(SLUICE_E_UNSUPPORTED, "%s: names of classes may have %d bytes", path,
                      MOST_FILE_BYTES);
    } else {
        text = sli_calloc((size_t)size + 1, 1);
        st = text != NULL ? plain_file_read(fd, 0, text, (size_t)size, &got) : no_memory();
    }
    close(fd);
    names->file = st == SLUICE_OK ? sli_strdup(path) : NULL;
    if (st == SLUICE_OK && names->file == NULL) {
        st = no_memory();
    }
    if (st == SLUICE_OK) {
        names->is_open = false;
        st = add_lines(names, path, text, got);
    }
    sli_free(text);
    return st;
}
