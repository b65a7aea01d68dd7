/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_source.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "callback_int.h"
#include "status_int.h"
#include "struct_size_int.h"

/* ---- making and opening ---------------------------------------------------------------------- */

static bool is_printable(const char *text)
{
    while (*text != '\0' && (unsigned char)*text >= ' ' && *text != '\x7F') {
        text++;
    }
    return *text == '\0';
}

/* Checks a source whose samples read() reads by their numbers. */
static sluice_status check_numbered(const sluice_source *of, const char *call)
{
    if (of->read == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: read is NULL", call, of->name);
    }
    if (of->count == 0) {
        return sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: %s: count is 0", of->name);
    }
    if (of->open_pass != NULL || of->close_pass != NULL || of->max_sample != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: open_pass, close_pass and max_sample are for a stream, and next "
                        "is NULL",
                        call, of->name);
    }
    return SLUICE_OK;
}

/* Checks a stream, whose samples next() makes. */
static sluice_status check_stream(const sluice_source *of, const char *call)
{
    if (of->read != NULL || of->count != 0 || of->name_of != NULL || of->begin != NULL ||
        of->end != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s: next is set, so this is a stream: read, count, name_of, begin and "
                        "end must be NULL or 0; a stream has open_pass and close_pass",
                        call, of->name);
    }
    if (of->close_pass != NULL && of->open_pass == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s: close_pass is set and open_pass is NULL", call,
                        of->name);
    }
    return SLUICE_OK;
}

static sluice_status check_settings(const sluice_source *of, const char *call)
{
    if (of->name == NULL || of->name[0] == '\0' || strlen(of->name) >= CUSTOM_NAME_SIZE) {
        return sli_fail(SLUICE_E_INVALID, "%s: name is NULL, empty or longer than %d bytes", call,
                        CUSTOM_NAME_SIZE - 1);
    }
    if (!is_printable(of->name)) {
        return sli_fail(SLUICE_E_INVALID, "%s: name has control characters", call);
    }
    return of->next != NULL ? check_stream(of, call) : check_numbered(of, call);
}

static int first_image(const custom_columns *columns)
{
    uint32_t i = 0;

    while (i < columns->count && columns->columns[i].role != SLUICE_ROLE_IMAGE) {
        i++;
    }
    return i < columns->count ? (int)i : -1;
}

/* Makes a source from a complete struct, of this version of the library. */
static sluice_status make_checked(const sluice_source *of, custom_source **made_out)
{
    custom_source *custom = sli_calloc(1, sizeof(*custom));
    sluice_status st;

    if (custom == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "source %s", of->name);
    }
    snprintf(custom->name, sizeof(custom->name), "%s", of->name);
    custom->of = *of;
    custom->guards = custom_sample_guards();
    st = custom_columns_make(of->columns, of->column_size, of->column_count, custom->name,
                             &custom->columns);
    if (st != SLUICE_OK) {
        sli_free(custom);
        return st;
    }
    custom->image = first_image(&custom->columns);
    *made_out = custom;
    return SLUICE_OK;
}

static const sli_struct source_struct = SLI_STRUCT(sluice_source, user);

sluice_status custom_source_make(const sluice_source *source, const char *name, const char *call,
                                 custom_source **made_out)
{
    sluice_source own;
    sluice_status st = sli_struct_read(&source_struct, call, source, &own);

    if (st != SLUICE_OK) {
        return st;
    }
    own.name = name != NULL ? name : own.name;
    st = check_settings(&own, call);
    return st == SLUICE_OK ? make_checked(&own, made_out) : st;
}

void custom_source_own(custom_source *made)
{
    made->is_owned = true;
}

void custom_source_drop(custom_source *made)
{
    sli_free(made);
}

sluice_status custom_source_open(const void *opaque, void **source_out)
{
    *source_out = ((const custom_args *)opaque)->made;
    return SLUICE_OK;
}

void custom_source_close(void *source)
{
    (void)source; /* the stage's release() frees it */
}

uint64_t custom_source_memory(const void *source)
{
    (void)source;
    return sizeof(custom_source);
}

void custom_source_name(const void *source, uint64_t index, char *text, size_t size)
{
    const custom_source *custom = source;

    sluice_status st = SLUICE_E_UNSUPPORTED;

    text[0] = '\0';
    if (custom->of.name_of != NULL) {
        st = custom->of.name_of(index, text, size, custom->of.user);
    }
    if (st >= SLUICE_OK && sli_is_status(st)) {
        text[size - 1] = '\0';
    } else {
        snprintf(text, size, "%s/%llu", custom->name, (unsigned long long)index);
    }
}
