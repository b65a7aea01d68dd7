/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_shard_seeds FOLDER: writes the seeds FOLDER/tar/seed-*, FOLDER/shard_index/seed-*,
 * FOLDER/pnm/seed-* and FOLDER/idx/seed-*.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_file.h"
#include "fuzz_target.h"
#include "shard_index.h"

enum { BLOCK = 512, MOST_BYTES = 1 << 14, MOST_PARTS = 8 };

typedef struct seed {
    uint8_t bytes[MOST_BYTES];
    size_t size;
} seed;

static void write_seed(const char *folder, const char *format, unsigned number, const seed *s)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s/seed-%02u", folder, format, number);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(s->bytes, 1, s->size, file) != s->size || fclose(file) != 0) {
        fuzz_fail(path);
    }
}

static void add(seed *s, const void *bytes, size_t size)
{
    if (size > MOST_BYTES - s->size) {
        fuzz_fail("a seed that is too large");
    }
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
}

/* ---- archives -------------------------------------------------------------------------------- */

static void add_zeros(seed *s, size_t size)
{
    static const uint8_t zeros[4 * BLOCK];

    add(s, zeros, size);
}

static void seal(uint8_t *header)
{
    unsigned sum = 0;
    char text[16];

    memset(header + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++) {
        sum += header[i];
    }
    snprintf(text, sizeof(text), "%06o", sum);
    memcpy(header + 148, text, 7);
}

/* A member; returns its header. */
static uint8_t *add_member(seed *s, char type, const char *name, const char *text, size_t size)
{
    const size_t at = s->size;
    uint8_t *header = s->bytes + at;

    add_zeros(s, BLOCK);
    snprintf((char *)header, 100, "%s", name);
    memcpy(header + 100, "0000644", 8);
    snprintf((char *)header + 124, 12, "%011o", (unsigned)size);
    header[156] = (uint8_t)type;
    memcpy(header + 257, "ustar\00000", 8);
    add(s, text, size);
    add_zeros(s, (BLOCK - size % BLOCK) % BLOCK);
    seal(header);
    return header;
}

/* "KEY=VALUE" with its length before it, as pax has it. */
static void add_pax(seed *s, char type, const char *record)
{
    char text[300];
    size_t length = strlen(record) + 3;

    length += length + 1 > 99 ? 2 : length > 9 ? 1 : 0;
    snprintf(text, sizeof(text), "%zu %s\n", length, record);
    add_member(s, type, "pax", text, strlen(text));
}

static void add_sparse(seed *s, const char *name)
{
    uint8_t *header = add_member(s, 'S', name, "", 0);

    memcpy(header + 386, "00000000000\00000000000003", 23);
    header[482] = 1; /* a block of the map follows */
    seal(header);
    add_zeros(s, BLOCK);
}

/* Changes the size field, which holds the size of what follows, to another form of it. */
static void change_size(seed *s, uint8_t *header, const char *form)
{
    uint8_t *field = header + 124;
    char digits[12];

    (void)s;
    memcpy(digits, field, 12);
    memset(field, 0, 12);
    if (strcmp(form, "binary") == 0) {
        field[0] = 0x80;
        field[11] = (uint8_t)strtoul(digits, NULL, 8);
    } else if (strcmp(form, "blanks") == 0) {
        snprintf((char *)field, 12, "%11lo", strtoul(digits, NULL, 8));
    } else if (strcmp(form, "zeros") == 0) {
        memcpy(field + 5, digits + 5, 7);
    } else {
        memcpy(field, form, strlen(form));
    }
    seal(header);
}

/*
 * A part of an archive, by its first letter: "f NAME TEXT" a file, "d NAME" a folder, "l NAME" a
 * link, "c NAME" a device, "x RECORD" and "g RECORD" pax headers, "L NAME" and "K NAME" long names
 * of GNU, "S NAME" a sparse file, "s FORM NAME TEXT" a file whose size has that form, "z" a block
 * of zeros, "b BYTES" any bytes, "p NAME" the prefix of the header before.
 */
static void add_part(seed *s, const char *part)
{
    char name[200] = "";
    char text[200] = "";
    char form[40] = "";

    switch (part[0]) {
    case 'f':
        (void)sscanf(part, "f %199s %199[^@]", name, text);
        add_member(s, '0', name, text, strlen(text));
        break;
    case 's':
        (void)sscanf(part, "s %39s %199s %199[^@]", form, name, text);
        change_size(s, add_member(s, '0', name, text, strlen(text)), form);
        break;
    case 'd':
        add_member(s, '5', part + 2, "", 0);
        break;
    case 'l':
        add_member(s, '2', part + 2, "", 0);
        break;
    case 'c':
        add_member(s, '3', part + 2, "", 0);
        break;
    case 'x':
    case 'g':
        add_pax(s, part[0], part + 2);
        break;
    case 'L':
    case 'K':
        add_member(s, part[0], "././@LongLink", part + 2, strlen(part + 2) + 1);
        break;
    case 'S':
        add_sparse(s, part + 2);
        break;
    case 'z':
        add_zeros(s, BLOCK);
        break;
    default:
        add(s, part + 2, strlen(part + 2));
        break;
    }
}

static const char *const archives[][MOST_PARTS] = {
    {"f a.jpg image", "f a.cls 3", "z", "z"},
    {"f a.jpg image", "f b.jpg other", "z", "z"},
    {"f cat/1.png x", "f cat/1.cls 0", "f dog/1.jpeg y", "f dog/1.cls 1", "z", "z"},
    {"f a.cls -7", "f a.ppm P6", "z", "z"},
    {"f a.cls five", "f a.jpg x", "z", "z"},
    {"f a.cls 2147483648", "f a.jpg x", "z"},
    {"f a.jpg x", "f a.png y", "f a.cls 1", "z", "z"},
    {"f a.jpg x", "f a.jpg y", "z", "z"},
    {"f a.jpg x", "f a.cls 1", "f a.cls 2", "z", "z"},
    {"f a.txt text", "f b.json {}", "z", "z"},
    {"f README", "f .hidden", "f __meta__.x y", "f a.JPG x", "z", "z"},
    {"d folder/", "f folder/a.jpg x", "l folder/b.jpg", "c null", "z", "z"},
    {"x path=folder/of/some/length/a.jpg", "f short x", "f b.jpg y", "z", "z"},
    {"g path=all.jpg", "f one x", "f two y", "z", "z"},
    {"x size=5", "f a.jpg image", "z", "z"},
    {"x mtime=1.5", "x path=a.jpg", "f b x", "z", "z"},
    {"x path=", "f a.jpg x", "z", "z"},
    {"x GNU.sparse.major=1", "f a.jpg x", "f b.jpg y", "z", "z"},
    {"L folder/a-name-that-could-be-long.jpg", "f short x", "z", "z"},
    {"K target", "L name.jpg", "l short", "f b.jpg x", "z", "z"},
    {"S sparse.jpg", "f a.jpg x", "z", "z"},
    {"s binary a.jpg image", "f a.cls 1", "z", "z"},
    {"s blanks a.jpg image", "z", "z"},
    {"s zeros a.jpg image", "z", "z"},
    {"s 8 a.jpg image", "z", "z"},
    {"s 77777777777 a.jpg image", "z", "z"},
    {"f a.jpg", "f a.cls 1", "z", "z"},
    {"f a.jpg x"},
    {"f a.jpg x", "z"},
    {"f a.jpg x", "z", "z", "f b.jpg y", "z", "z"},
    {"f a.jpg x", "b rubbish"},
    {"z", "z"},
    {"x path=a.jpg", "z", "z"},
    {"f ./a.jpg x", "f ../b.jpg y", "f /c.jpg z", "z", "z"},
    {"f a.b.jpg x", "f a.b.cls 1", "f a.jpg y", "z", "z"},
    {"f a.tar.jpg x", "b \x1f\x8b\x08"},
};

enum { ARCHIVES = sizeof(archives) / sizeof(archives[0]) };

static void make_archive(size_t number, seed *s)
{
    s->size = 0;
    for (size_t i = 0; i < MOST_PARTS && archives[number][i] != NULL; i++) {
        add_part(s, archives[number][i]);
    }
}

/* The indexes of those archives that are whole, with and without checksums of images. */
static unsigned make_index(const char *folder, unsigned number, const seed *s, bool with_crc)
{
    const int fd = fuzz_file(s->bytes, s->size);
    shard_index index = {0};
    char path[4096];

    if (shard_index_build(fd, "x.tar", &shard_default_fields, with_crc, &index) != SLUICE_OK) {
        return number;
    }
    index.stamp = number; /* that of the file would differ each time */
    snprintf(path, sizeof(path), "%s/shard_index/seed-%02u", folder, number);
    if (shard_index_write(&index, &shard_default_fields, false, path) != SLUICE_OK) {
        fuzz_fail(sluice_last_error());
    }
    shard_index_free(&index);
    return number + 1;
}

static void make_archives(const char *folder)
{
    static seed s;
    unsigned indexes = 0;

    for (unsigned i = 0; i < ARCHIVES; i++) {
        make_archive(i, &s);
        write_seed(folder, "tar", i, &s);
        indexes = make_index(folder, indexes, &s, i % 2 == 0);
        if (i % 3 == 0) {
            indexes = make_index(folder, indexes, &s, i % 2 != 0);
        }
    }
}

/* ---- images ---------------------------------------------------------------------------------- */

/* PNM headers, and the number of pixel bytes behind each. */
static const struct {
    const char *header;
    size_t pixels;
} images[] = {
    {"P6 2 2 255\n", 12},
    {"P5 2 2 255\n", 4},
    {"P6\n3 1\n255\n", 9},
    {"P5\n1 1\n255\n", 1},
    {"P6 # a comment\n2 2\n255\n", 12},
    {"P6\n#one\n#two\n4 1 # three\n255\n", 12},
    {"P5\t5\t3\r255 ", 15},
    {"P6\r\n2\r\n2\r\n255\r", 12},
    {"P6   7  1   255\v", 21},
    {"P6 02 002 0255\n", 12},
    {"P6 2 2 65535\n", 24},
    {"P6 2 2 254\n", 12},
    {"P6 2 2 0\n", 12},
    {"P6 0 2 255\n", 12},
    {"P6 2 0 255\n", 12},
    {"P6 2 2 255\n", 11},
    {"P6 2 2 255\n", 0},
    {"P6 2 2 255", 0},
    {"P6 2 2 ", 0},
    {"P6", 0},
    {"P6 2147483647 2147483647 255\n", 12},
    {"P6 4294967296 1 255\n", 12},
    {"P6 1048576 1 255\n", 30},
    {"P6 -1 2 255\n", 12},
    {"P6 2 2 255\n", 500},
    {"P5 17 31 255\n", 527},
    {"P6 20 30 255\n", 1800},
    {"P5 400 6 255\n", 2400},
    {"P5 1 600 255\n", 600},
    {"P5 600 1 255\n", 600},
    {"P62 2 255\n", 12},
    {"P5#\n3 3 255\n", 9},
    {"P3 2 2 255\n1 2 3 4 5 6 7 8 9 10 11 12\n", 0},
    {"P4 8 2\n", 2},
    {"P5 5 3 15\n", 15},
    {"P5 4 2 9000\n", 16},
    {"P6 1 1 65535\n", 6},
};

static void make_images(const char *folder)
{
    static seed s;

    for (unsigned i = 0; i < sizeof(images) / sizeof(images[0]); i++) {
        s.size = 0;
        add(&s, images[i].header, strlen(images[i].header));
        for (size_t k = 0; k < images[i].pixels; k++) {
            const uint8_t pixel = (uint8_t)(k * 37 + i * 11);

            add(&s, &pixel, 1);
        }
        write_seed(folder, "pnm", i, &s);
    }
}

/* ---- IDX files ------------------------------------------------------------------------------- */

enum { MOST_DIMENSIONS = 6 };

/* The first four bytes, dimensions up to the first that is UINT32_MAX, and bytes of elements. */
static const struct {
    uint8_t head[4];
    uint32_t shape[MOST_DIMENSIONS];
    size_t elements;
} arrays[] = {
    {{0, 0, 8, 1}, {5, UINT32_MAX}, 5},
    {{0, 0, 8, 1}, {1, UINT32_MAX}, 1},
    {{0, 0, 8, 1}, {0, UINT32_MAX}, 0},
    {{0, 0, 8, 1}, {300, UINT32_MAX}, 300},
    {{0, 0, 8, 2}, {4, 8, UINT32_MAX}, 32},
    {{0, 0, 8, 3}, {2, 3, 4, UINT32_MAX}, 24},
    {{0, 0, 8, 3}, {1, 28, 28, UINT32_MAX}, 784},
    {{0, 0, 8, 3}, {7, 1, 1, UINT32_MAX}, 7},
    {{0, 0, 8, 4}, {2, 3, 4, 3, UINT32_MAX}, 72},
    {{0, 0, 8, 4}, {1, 1, 1, 1, UINT32_MAX}, 1},
    {{0, 0, 8, 5}, {1, 1, 1, 1, 1, UINT32_MAX}, 1},
    {{0, 0, 8, 1}, {5, UINT32_MAX}, 4},
    {{0, 0, 8, 1}, {5, UINT32_MAX}, 6},
    {{0, 0, 8, 3}, {2, 3, 4, UINT32_MAX}, 23},
    {{0, 0, 8, 3}, {2, 3, 4, UINT32_MAX}, 25},
    {{0, 0, 8, 3}, {2, 3, UINT32_MAX}, 0},
    {{0, 0, 8, 1}, {UINT32_MAX}, 3},
    {{0, 0, 8, 3}, {2, 0, 4, UINT32_MAX}, 0},
    {{0, 0, 8, 3}, {0, 28, 28, UINT32_MAX}, 0},
    {{0, 0, 8, 3}, {65536, 65536, 65536, UINT32_MAX}, 9},
    {{0, 0, 8, 4}, {65536, 65536, 65536, 65536, UINT32_MAX}, 9},
    {{0, 0, 8, 2}, {0xfffffffe, 0xfffffffe, UINT32_MAX}, 9},
    {{0, 0, 8, 0}, {UINT32_MAX}, 4},
    {{0, 0, 8, 255}, {1, 1, UINT32_MAX}, 4},
    {{0, 0, 9, 1}, {5, UINT32_MAX}, 5},
    {{0, 0, 11, 1}, {5, UINT32_MAX}, 10},
    {{0, 0, 12, 2}, {2, 8, UINT32_MAX}, 64},
    {{0, 0, 13, 1}, {5, UINT32_MAX}, 20},
    {{0, 0, 14, 1}, {5, UINT32_MAX}, 40},
    {{0, 0, 10, 1}, {5, UINT32_MAX}, 5},
    {{0, 1, 8, 1}, {5, UINT32_MAX}, 5},
    {{1, 0, 8, 1}, {5, UINT32_MAX}, 5},
};

static void make_arrays(const char *folder)
{
    static seed s;

    for (unsigned i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        s.size = 0;
        add(&s, arrays[i].head, sizeof(arrays[i].head));
        for (unsigned k = 0; arrays[i].shape[k] != UINT32_MAX; k++) {
            const uint32_t d = arrays[i].shape[k];
            const uint8_t bytes[] = {(uint8_t)(d >> 24), (uint8_t)(d >> 16), (uint8_t)(d >> 8),
                                     (uint8_t)d};

            add(&s, bytes, sizeof(bytes));
        }
        for (size_t k = 0; k < arrays[i].elements; k++) {
            const uint8_t element = (uint8_t)(k * 29 + i);

            add(&s, &element, 1);
        }
        write_seed(folder, "idx", i, &s);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "make_shard_seeds FOLDER\n");
        return 2;
    }
    make_archives(argv[1]);
    make_images(argv[1]);
    make_arrays(argv[1]);
    return 0;
}
