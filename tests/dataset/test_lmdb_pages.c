/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bytes_int.h"
#include "lmdb_kit.h"
#include "lmdb_pages.h"
#include "testing.h"

/* The values of a file in order: "key=value " each. */
typedef struct listing {
    const uint8_t *data;
    uint32_t page_size;
    char text[40000];
    size_t size;
    uint64_t count;
} listing;

static sluice_status list_value(void *arg, const lmdb_entry *entry)
{
    const uint64_t head = entry->offset - LMDB_PAGE_HEAD;
    listing *to = arg;

    T_EQ(memcmp(entry->key, to->data + entry->key_offset, entry->key_size), 0);
    if (to->size + entry->key_size + entry->size + 3 < sizeof(to->text)) {
        to->size += (size_t)sprintf(to->text + to->size, "%.*s=%.*s ", (int)entry->key_size,
                                    (const char *)entry->key, (int)entry->size,
                                    (const char *)to->data + entry->offset);
    }
    to->count++;
    return entry->is_overflow
               ? lmdb_check_overflow(to->page_size, head, to->data + head, entry->size)
               : SLUICE_OK;
}

/* Lists the values of a file of which only the first `size` bytes exist. */
static sluice_status list_part(lmdb_bytes *bytes, size_t size, listing *to, lmdb_passed *passed)
{
    const char *path = t_file("data.mdb");
    lmdb_file file;
    sluice_status st;
    int fd;

    *to = (listing){.data = bytes->data};
    t_write_file(path, bytes->data, size);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    T_TRUE(fd >= 0);
    st = lmdb_open(fd, size, &file);
    if (st == SLUICE_OK) {
        to->page_size = file.page_size;
        st = lmdb_walk(fd, &file, list_value, to, passed);
    }
    close(fd);
    return st;
}

static sluice_status list(lmdb_bytes *bytes, listing *to)
{
    lmdb_passed passed;

    return list_part(bytes, (size_t)bytes->pages * bytes->page_size, to, &passed);
}

static void check_lists(lmdb_bytes *bytes, const char *want)
{
    listing to;

    T_OK(list(bytes, &to));
    T_STR(to.text, want);
}

static void check_fails(lmdb_bytes *bytes, sluice_status want, const char *words)
{
    listing to;

    T_STATUS(list(bytes, &to), want);
    T_CONTAINS(sluice_last_error(), words);
}

/*
 * Begins a file of which page 4 is the root of a tree of depth 2, over the leaves 3 and 2: a, b on
 * overflow pages 5 and 6, c and d.
 */
static lmdb_bytes *make_tree(uint32_t page_size)
{
    static lmdb_bytes bytes;
    static char many[32768];

    memset(many, 'x', sizeof(many));
    memset(&bytes, 0, sizeof(bytes));
    bytes.page_size = page_size;
    lmdb_put_meta(&bytes, 0, &(lmdb_root){.depth = 2, .entries = 4, .root = 4, .transaction = 6});
    lmdb_put_meta(&bytes, 1, &(lmdb_root){.depth = 1, .entries = 2, .root = 3, .transaction = 5});
    lmdb_begin(&bytes, 3, LMDB_KIT_LEAF);
    lmdb_add(&bytes, 3, "a", 0, "first", 5);
    lmdb_add_overflow(&bytes, 3, "b", 5, many, page_size);
    lmdb_begin(&bytes, 2, LMDB_KIT_LEAF);
    lmdb_add(&bytes, 2, "c", 0, "", 0);
    lmdb_add(&bytes, 2, "d", 0, "last", 4);
    lmdb_begin(&bytes, 4, LMDB_KIT_BRANCH);
    lmdb_add(&bytes, 4, "", 0, NULL, 3);
    lmdb_add(&bytes, 4, "c", 0, NULL, 2);
    return &bytes;
}

static void values_come_in_the_order_of_keys_for_each_page_size(void)
{
    for (uint32_t page_size = 512; page_size <= 32768; page_size *= 2) {
        lmdb_bytes *bytes = make_tree(page_size);
        listing to;

        T_OK(list(bytes, &to));
        T_EQ(to.count, 4);
        T_TRUE(strncmp(to.text, "a=first b=xxx", 13) == 0);
        T_EQ(strspn(to.text + 10, "x"), page_size);
        T_STR(to.text + 10 + page_size, " c= d=last ");
    }
}

static void the_newer_valid_meta_page_counts(void)
{
    lmdb_bytes *bytes = make_tree(1024);

    /* transaction 7 has page 2 alone */
    lmdb_put_meta(bytes, 1, &(lmdb_root){.depth = 1, .entries = 2, .root = 2, .transaction = 7});
    check_lists(bytes, "c= d=last ");
    bytes->data[1024 + 16] ^= 1; /* the magic number of page 1 */
    {
        listing to;
        lmdb_file file;
        const char *path = t_file("one.mdb");
        int fd;

        T_OK(list(bytes, &to));
        T_EQ(to.count, 4);
        t_write_file(path, bytes->data, 7 * 1024);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        T_OK(lmdb_open(fd, 7 * 1024, &file));
        T_TRUE(file.one_meta);
        close(fd);
    }
    bytes->data[1024 + 16] ^= 1;
    bytes->data[16] ^= 1; /* that of page 0: the other is found by its own page size */
    check_lists(bytes, "c= d=last ");
    bytes->data[1024 + 16] ^= 1;
    check_fails(bytes, SLUICE_E_CORRUPT, "this is not an LMDB file");
}

static void empty_databases_have_no_values(void)
{
    lmdb_bytes *bytes = make_tree(512);

    lmdb_put_meta(bytes, 0, &(lmdb_root){.root = UINT64_MAX, .transaction = 6});
    check_lists(bytes, "");
}

static void files_of_other_machines_and_versions_are_refused_by_name(void)
{
    lmdb_bytes *bytes = make_tree(4096);
    const uint8_t big[] = {0xbe, 0xef, 0xc0, 0xde};

    sli_put_u32(bytes->data + 20, 999);
    check_fails(bytes, SLUICE_E_UNSUPPORTED, "it has version 999 of LMDB's format");
    memset(bytes->data, 0, 4096);
    sli_put_u32(bytes->data + 24, UINT32_C(0xbeefc0de));
    sli_put_u32(bytes->data + 28, 2);
    check_fails(bytes, SLUICE_E_UNSUPPORTED, "it has version 2 of LMDB's format, of LMDB 1.0");
    memset(bytes->data, 0, 4096);
    sli_put_u32(bytes->data + 12, UINT32_C(0xbeefc0de));
    check_fails(bytes, SLUICE_E_UNSUPPORTED, "it was written on a 32-bit machine");
    memset(bytes->data, 0, 4096);
    memcpy(bytes->data + 16, big, sizeof(big));
    check_fails(bytes, SLUICE_E_UNSUPPORTED, "it was written on a big-endian machine");
}

static void truncated_files_are_refused(void)
{
    lmdb_bytes *bytes = make_tree(512);
    listing to;
    lmdb_passed passed;

    for (size_t size = 0; size < 3088; size += 37) {
        T_STATUS(list_part(bytes, size, &to, &passed), SLUICE_E_CORRUPT);
    }
    T_STATUS(list_part(bytes, 0, &to, &passed), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "this is not an LMDB file: it has 0 bytes");
    T_STATUS(list_part(bytes, 4 * 512, &to, &passed), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "points to page 4, and the file has pages 2 to 3");
    T_STATUS(list_part(bytes, 6 * 512, &to, &passed), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "page 3 at byte 1536 has a value of 512 bytes on page 5, and "
                                    "the file has 3072 bytes");
}

/* Changes a number of 16 bits in page 3 and checks the error. */
static void check_changed(uint32_t at, uint32_t number, const char *words)
{
    lmdb_bytes *bytes = make_tree(512);

    sli_put_u16(lmdb_page(bytes, 3) + at, (uint16_t)number);
    check_fails(bytes, SLUICE_E_CORRUPT, words);
}

static void pages_that_cannot_be_are_refused(void)
{
    lmdb_bytes *bytes = make_tree(512);
    const uint32_t node = sli_get_u16(lmdb_page(bytes, 3) + 16);

    check_changed(0, 2, "page 3 at byte 1536 is corrupt: it has the number of another page");
    check_changed(10, LMDB_KIT_BRANCH, "it is not the leaf that must be at its depth");
    check_changed(10, LMDB_KIT_OVERFLOW, "it is not the leaf that must be at its depth");
    check_changed(10, LMDB_KIT_LEAF | 0x20, "it is not the leaf that must be at its depth");
    check_changed(12, 16, "its list of nodes does not fit it");
    check_changed(12, 19, "its list of nodes does not fit it");
    check_changed(12, 512, "its list of nodes does not fit it");
    check_changed(14, 514, "its list of nodes does not fit it");
    check_changed(16, 18, "a node is outside of it");
    check_changed(16, 505, "a node is outside of it");
    check_changed(16, 65535, "a node is outside of it");
    check_changed(node + 6, 500, "a key extends beyond it");
    check_changed(node, 500, "a value extends beyond it");
    check_changed(node + 2, 1, "a value extends beyond it");
    check_changed(node + 4, 8, "is of no known kind");
    check_changed(node + 4, 3, "is of no known kind");
    check_changed(node + 8, 'b', "a key is not after the key before it");
}

static void circles_end(void)
{
    lmdb_bytes *bytes = make_tree(512);

    lmdb_begin(bytes, 4, LMDB_KIT_BRANCH);
    lmdb_add(bytes, 4, "", 0, NULL, 4);
    check_fails(bytes, SLUICE_E_CORRUPT, "it is not the leaf that must be at its depth");
    lmdb_begin(bytes, 4, LMDB_KIT_BRANCH);
    for (int i = 0; i < 20; i++) { /* depth 32: 20^31 ways to the leaf */
        lmdb_add(bytes, 4, "", 0, NULL, 4);
    }
    lmdb_put_meta(bytes, 0, &(lmdb_root){.depth = 32, .entries = 9, .root = 4, .transaction = 6});
    check_fails(bytes, SLUICE_E_CORRUPT, "it is not the leaf that must be at its depth");
    lmdb_put_meta(bytes, 0, &(lmdb_root){.depth = 33, .entries = 9, .root = 4, .transaction = 6});
    check_fails(bytes, SLUICE_E_CORRUPT, "the depth of its tree is 33");
    lmdb_put_meta(bytes, 0, &(lmdb_root){.entries = 9, .root = 4, .transaction = 6});
    check_fails(bytes, SLUICE_E_CORRUPT, "the depth of its tree is 0");
    bytes = make_tree(512);
    lmdb_add(bytes, 4, "e", 0, NULL, 3); /* a leaf that is visited already */
    check_fails(bytes, SLUICE_E_CORRUPT, "a key is not after the key before it");
    bytes = make_tree(512);
    lmdb_put_meta(bytes, 0, &(lmdb_root){.depth = 2, .entries = 5, .root = 4, .transaction = 6});
    check_fails(bytes, SLUICE_E_CORRUPT,
                "its tree has 4 keys, and by its meta page it must have 5");
}

static void overflow_pages_are_checked_with_their_value(void)
{
    lmdb_bytes *bytes = make_tree(512);

    sli_put_u64(lmdb_page(bytes, 5), 6);
    check_fails(bytes, SLUICE_E_CORRUPT, "page 5 at byte 2560 is corrupt: it is not the first");
    sli_put_u64(lmdb_page(bytes, 5), 5);
    sli_put_u32(lmdb_page(bytes, 5) + 12, 1);
    check_fails(bytes, SLUICE_E_CORRUPT, "page 5 at byte 2560");
    sli_put_u32(lmdb_page(bytes, 5) + 12, 2);
    sli_put_u16(lmdb_page(bytes, 5) + 10, LMDB_KIT_LEAF);
    check_fails(bytes, SLUICE_E_CORRUPT, "page 5 at byte 2560");
}

static void databases_and_lists_are_counted(void)
{
    lmdb_bytes *bytes = make_tree(512);
    lmdb_passed passed = {9, 9};
    listing to;

    lmdb_add(bytes, 2, "e", 2, "a named database", 16);
    lmdb_add(bytes, 2, "f", 4, "a page of values", 16);
    lmdb_add(bytes, 2, "g", 6, "a tree of values", 16);
    T_OK(list_part(bytes, 7 * 512, &to, &passed));
    T_EQ(to.count, 4);
    T_EQ(passed.databases, 1);
    T_EQ(passed.lists, 2);
}

static void integer_and_reversed_keys_have_an_order_of_their_own(void)
{
    lmdb_bytes *bytes = make_tree(512);

    lmdb_begin(bytes, 2, LMDB_KIT_LEAF);
    lmdb_add(bytes, 2, "bbaa", 0, "1", 1);
    lmdb_add(bytes, 2, "aaab", 0, "2", 1);
    for (uint32_t flags = 0; flags <= 8; flags += 2) {
        lmdb_put_meta(bytes, 0, &(lmdb_root){flags, 1, 2, 2, 6});
        if (flags == 0 || flags == 4) {
            check_fails(bytes, SLUICE_E_CORRUPT, "a key is not after the key before it");
        } else {
            check_lists(bytes, "bbaa=1 aaab=2 ");
        }
    }
}

const t_test lmdb_pages_tests[] = {
    T_TEST(values_come_in_the_order_of_keys_for_each_page_size),
    T_TEST(the_newer_valid_meta_page_counts),
    T_TEST(empty_databases_have_no_values),
    T_TEST(files_of_other_machines_and_versions_are_refused_by_name),
    T_TEST(truncated_files_are_refused),
    T_TEST(pages_that_cannot_be_are_refused),
    T_TEST(circles_end),
    T_TEST(overflow_pages_are_checked_with_their_value),
    T_TEST(databases_and_lists_are_counted),
    T_TEST(integer_and_reversed_keys_have_an_order_of_their_own),
    T_END,
};
