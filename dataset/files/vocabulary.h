/* SPDX-License-Identifier: Apache-2.0 */
/* Names of classes, which a list writes in place of their numbers. */
#ifndef SLUICE_VOCABULARY_H
#define SLUICE_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Room for a name. */
enum { CLASS_NAME_SIZE = 256 };

/* It begins as zeros. */
typedef struct vocabulary {
    char *text; /* zero-terminated names */
    size_t text_size;
    size_t text_capacity;
    size_t *names; /* offset in `text` of the name of each class */
    size_t names_capacity;
    uint32_t count;
    uint32_t *slots; /* hash table of 1 + the number of a class; 0: free */
    size_t slot_count;
    const char *file; /* that they were read from; owned; NULL: collected from a list */
    bool is_open;     /* names are still collected, and have no numbers yet */
} vocabulary;

/* Adds a name, unless it is there. E_INVALID: there are too many names. E_NO_MEMORY. */
sluice_status vocabulary_add(vocabulary *names, const char *name);

/* Ends the collection: numbers the classes by their names in byte order. E_NO_MEMORY. */
sluice_status vocabulary_close(vocabulary *names);

/*
 * Reads the names of a file, one a line, numbered by their lines from 0; lines "0<TAB>NAME", as
 * `sluice classes` prints them, are read, too. E_INVALID: a line is empty or too long, or a name
 * occurs twice, with FILE:LINE; also E_IO, E_UNSUPPORTED and E_NO_MEMORY.
 */
sluice_status vocabulary_read(vocabulary *names, const char *path);

/* Finds the number of a class. False: it is not one of them. */
bool vocabulary_find(const vocabulary *names, const char *name, uint32_t *number_out);

const char *vocabulary_text(const vocabulary *names, uint32_t number);

/* A hash of all names with their numbers, for the identity of a run. */
uint64_t vocabulary_hash(const vocabulary *names);
uint64_t vocabulary_memory(const vocabulary *names);
void vocabulary_free(vocabulary *names);

#endif
