/* SPDX-License-Identifier: Apache-2.0 */
#include "struct_size_int.h"

#include <stdbool.h>
#include <string.h>

#include <sluice/version.h>

static size_t size_of(const void *any)
{
    size_t size;

    memcpy(&size, any, sizeof(size));
    return size;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

/*
 * Checks struct_size. The error text ends with advice: `before`, the name of the struct, `after`.
 */
static sluice_status check_size(const sli_struct *type, const char *call, const void *any,
                                const char *before, const char *after)
{
    size_t size;

    if (any == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s is NULL", call, type->name);
    }
    size = size_of(any);
    if (size >= type->minimum && size <= SLI_STRUCT_MOST) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "%s: struct_size of %s is %zu, and must be %zu (Sluice %s; at least %zu, that "
                    "of Sluice 0.2): %s%s%s",
                    call, type->name, size, type->size, sluice_version(), type->minimum, before,
                    type->name, after);
}

sluice_status sli_struct_read(const sli_struct *type, const char *call, const void *from,
                              void *copy_out)
{
    const sluice_status st = check_size(type, call, from, "call ", "_init() first");
    size_t size;

    if (st != SLUICE_OK) {
        return st;
    }
    size = size_of(from);
    if (size > type->size &&
        !is_zero((const unsigned char *)from + type->size, size - type->size)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s has %zu bytes and sets fields that this library, Sluice %s, does "
                        "not have: its struct has %zu bytes; use the library that the program "
                        "was compiled for, or leave newer fields zero",
                        call, type->name, size, sluice_version(), type->size);
    }
    memset(copy_out, 0, type->size);
    memcpy(copy_out, from, size < type->size ? size : type->size);
    memcpy(copy_out, &type->size, sizeof(type->size));
    return SLUICE_OK;
}

sluice_status sli_struct_read_optional(const sli_struct *type, const char *call, const void *from,
                                       void *copy_out)
{
    if (from == NULL) {
        sli_struct_init(copy_out, type->size);
        return SLUICE_OK;
    }
    return sli_struct_read(type, call, from, copy_out);
}

sluice_status sli_struct_check(const sli_struct *type, const char *call, const void *to)
{
    return check_size(type, call, to, "set it to sizeof(", ")");
}

sluice_status sli_struct_write(const sli_struct *type, const char *call, const void *from, void *to)
{
    const sluice_status st = sli_struct_check(type, call, to);
    const size_t head = sizeof(size_t);
    size_t size;

    if (st != SLUICE_OK) {
        return st;
    }
    size = size_of(to);
    if (size > type->size) {
        memset((unsigned char *)to + type->size, 0, size - type->size);
        size = type->size;
    }
    memcpy((unsigned char *)to + head, (const unsigned char *)from + head, size - head);
    return SLUICE_OK;
}

void sli_struct_init(void *to, size_t size)
{
    if (to != NULL && size >= sizeof(size)) {
        memset(to, 0, size);
        memcpy(to, &size, sizeof(size));
    }
}
