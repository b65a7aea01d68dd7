/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call that takes a struct with a struct_size, as programs call it that were compiled for
 * another version of the library.
 */
#include <stdlib.h>

#include "struct_calls.h"
#include "testing.h"

enum { MORE = 24 }; /* bytes that a later version has at the end of its struct */

/* A caller's struct of this size, in a block of its own: sanitizers see what goes past it. */
static unsigned char *made(const sized_call *c, size_t size)
{
    unsigned char *any = (unsigned char *)malloc(size > sizeof(size) ? size : sizeof(size));

    CU_ASSERT_PTR_NOT_NULL_FATAL(any);
    memset(any, 0xEE, size);
    if (c->fill != NULL) {
        c->fill(any, size);
    } else {
        memcpy(any, &size, sizeof(size));
    }
    return any;
}

static void accepted(const sized_call *c, void *any)
{
    const sluice_status st = c->call(any);

    if (c->then == NULL ? st != SLUICE_OK : strstr(sluice_last_error(), c->then) == NULL) {
        T_FAIL_("%s: %s: %s", c->name, sluice_status_name(st), sluice_last_error());
    }
}

static void refused(const sized_call *c, void *any, const char *part)
{
    const sluice_status st = c->call(any);

    if (st != SLUICE_E_INVALID || strstr(sluice_last_error(), c->name) == NULL ||
        strstr(sluice_last_error(), part) == NULL) {
        T_FAIL_("%s: %s, want E_INVALID with %s: %s", c->name, sluice_status_name(st), part,
                sluice_last_error());
    }
}

static void structs_of_this_version_are_accepted(void)
{
    open_all();
    for (int i = 0; i < call_count; i++) {
        unsigned char *any = made(&calls[i], calls[i].size);

        accepted(&calls[i], any);
        free(any);
    }
    close_all();
}

static void structs_without_a_size_are_refused(void)
{
    open_all();
    for (int i = 0; i < call_count; i++) {
        unsigned char *any = made(&calls[i], calls[i].size);

        memset(any, 0, sizeof(size_t));
        refused(&calls[i], any, "is 0, and must be");
        free(any);
    }
    close_all();
}

static void structs_of_before_0_2_are_refused(void)
{
    open_all();
    for (int i = 0; i < call_count; i++) {
        unsigned char *any = made(&calls[i], sizeof(size_t));

        refused(&calls[i], any, "is 8, and must be");
        free(any);
    }
    close_all();
}

static void structs_of_a_later_version_are_accepted(void)
{
    open_all();
    for (int i = 0; i < call_count; i++) {
        const size_t size = calls[i].size + MORE;
        unsigned char *any = made(&calls[i], size);

        accepted(&calls[i], any);
        T_TRUE(memcmp(any, &size, sizeof(size)) == 0);
        for (int at = 0; at < MORE; at++) {
            if (any[calls[i].size + (size_t)at] != 0 && calls[i].then == NULL) {
                T_FAIL_("%s: byte %d past the library's struct is not zero", calls[i].name, at);
            }
        }
        free(any);
    }
    close_all();
}

static void settings_of_a_later_version_are_refused(void)
{
    open_all();
    for (int i = 0; i < call_count; i++) {
        unsigned char *any = made(&calls[i], calls[i].size + MORE);

        if (calls[i].fill != NULL) {
            any[calls[i].size + MORE - 1] = 1;
            refused(&calls[i], any, "leave newer fields zero");
        }
        free(any);
    }
    close_all();
}

const t_test struct_sizes_tests[] = {
    T_TEST(structs_of_this_version_are_accepted),
    T_TEST(structs_without_a_size_are_refused),
    T_TEST(structs_of_before_0_2_are_refused),
    T_TEST(structs_of_a_later_version_are_accepted),
    T_TEST(settings_of_a_later_version_are_refused),
    T_END,
};
