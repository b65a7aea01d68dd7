/* SPDX-License-Identifier: Apache-2.0 */
/* Structs with a struct_size: callers that know less or more than the library. */
#include "struct_size_int.h"

#include <stdlib.h>

#include <sluice/version.h>

#include "testing.h"

/* A struct of 0.2 that has grown by a field; a later one has two fields more. */
typedef struct grown {
    size_t struct_size;
    uint64_t old;
    uint64_t added;
} grown;

typedef struct later {
    size_t struct_size;
    uint64_t old;
    uint64_t added;
    uint64_t later[2];
} later;

static const sli_struct grown_struct = SLI_STRUCT(grown, old);

/* A caller's struct in a block of its own, of this size: sanitizers see what goes past it. */
static void *made(size_t size, unsigned char fill)
{
    unsigned char *bytes = malloc(size > sizeof(size) ? size : sizeof(size));

    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    memset(bytes, fill, size);
    memcpy(bytes, &size, sizeof(size));
    return bytes;
}

static sluice_status read_from(const void *from, grown *copy_out)
{
    memset(copy_out, 0xEE, sizeof(*copy_out));
    return sli_struct_read(&grown_struct, "call", from, copy_out);
}

static void a_smaller_struct_is_read_with_zeros(void)
{
    void *caller = made(offsetof(grown, added), 0x11);
    grown copy;

    T_OK(read_from(caller, &copy));
    T_EQ(copy.struct_size, sizeof(grown));
    T_EQ(copy.old, 0x1111111111111111);
    T_EQ(copy.added, 0);
    free(caller);
}

static void a_struct_of_the_same_size_is_read(void)
{
    void *caller = made(sizeof(grown), 0x11);
    grown copy;

    T_OK(read_from(caller, &copy));
    T_EQ(copy.old, 0x1111111111111111);
    T_EQ(copy.added, 0x1111111111111111);
    free(caller);
}

static void a_larger_struct_is_read_when_the_rest_is_zero(void)
{
    later *caller = made(sizeof(later), 0);
    grown copy;

    caller->added = 7;
    T_OK(read_from(caller, &copy));
    T_EQ(copy.struct_size, sizeof(grown));
    T_EQ(copy.added, 7);
    free(caller);
}

static void a_larger_struct_with_newer_settings_is_refused(void)
{
    later *caller = made(sizeof(later), 0);
    grown copy;

    caller->later[1] = (uint64_t)1 << 63;
    T_STATUS(read_from(caller, &copy), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "call: grown has 40 bytes");
    T_CONTAINS(sluice_last_error(), "its struct has 24 bytes");
    T_CONTAINS(sluice_last_error(), "Sluice " SLUICE_VERSION);
    T_CONTAINS(sluice_last_error(), "leave newer fields zero");
    T_EQ(copy.old, 0xEEEEEEEEEEEEEEEE);
    free(caller);
}

static void sizes_that_are_none_are_refused(void)
{
    static const size_t sizes[] = {
        0, 1, sizeof(size_t), offsetof(grown, added) - 1, SLI_STRUCT_MOST + 1, SIZE_MAX};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t *caller = made(sizeof(size_t), 0);
        grown copy;

        *caller = sizes[i];
        T_STATUS(read_from(caller, &copy), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "call: struct_size of grown is ");
        T_CONTAINS(sluice_last_error(),
                   "must be 24 (Sluice " SLUICE_VERSION "; at least 16, that of");
        T_CONTAINS(sluice_last_error(), "call grown_init() first");
        T_STATUS(sli_struct_write(&grown_struct, "call", &copy, caller), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "set it to sizeof(grown)");
        T_EQ(*caller, sizes[i]);
        free(caller);
    }
}

static void no_struct_is_refused(void)
{
    grown copy = {.struct_size = 0};

    T_STATUS(read_from(NULL, &copy), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "call: grown is NULL");
    T_STATUS(sli_struct_write(&grown_struct, "call", &copy, NULL), SLUICE_E_INVALID);
    T_STATUS(sli_struct_check(&grown_struct, "call", NULL), SLUICE_E_INVALID);
    sli_struct_init(NULL, sizeof(copy));
}

static void a_struct_is_written_up_to_the_callers_size(void)
{
    static const size_t sizes[] = {offsetof(grown, added), sizeof(grown), sizeof(later)};
    const grown known = {1, 2, 3};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        later *caller = made(sizes[i], 0xEE);

        T_OK(sli_struct_check(&grown_struct, "call", caller));
        T_OK(sli_struct_write(&grown_struct, "call", &known, caller));
        T_EQ(caller->struct_size, sizes[i]);
        T_EQ(caller->old, 2);
        if (sizes[i] >= sizeof(grown)) {
            T_EQ(caller->added, 3);
        }
        if (sizes[i] >= sizeof(later)) {
            T_EQ(caller->later[0] | caller->later[1], 0);
        }
        free(caller);
    }
}

static void init_writes_the_callers_size(void)
{
    static const size_t sizes[] = {sizeof(size_t), sizeof(grown), sizeof(later)};
    size_t none = 77;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char *caller = made(sizes[i], 0xEE);
        size_t size;

        sli_struct_init(caller, sizes[i]);
        memcpy(&size, caller, sizeof(size));
        T_EQ(size, sizes[i]);
        for (size_t at = sizeof(size); at < sizes[i]; at++) {
            T_EQ(caller[at], 0);
        }
        free(caller);
    }
    sli_struct_init(&none, sizeof(none) - 1); /* no room for a size */
    T_EQ(none, 77);
}

const t_test struct_size_tests[] = {
    T_TEST(a_smaller_struct_is_read_with_zeros),
    T_TEST(a_struct_of_the_same_size_is_read),
    T_TEST(a_larger_struct_is_read_when_the_rest_is_zero),
    T_TEST(a_larger_struct_with_newer_settings_is_refused),
    T_TEST(sizes_that_are_none_are_refused),
    T_TEST(no_struct_is_refused),
    T_TEST(a_struct_is_written_up_to_the_callers_size),
    T_TEST(init_writes_the_callers_size),
    T_END,
};
