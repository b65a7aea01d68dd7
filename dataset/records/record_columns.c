/* SPDX-License-Identifier: Apache-2.0 */
#include "record_columns.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "format_modules.h"
#include "log_int.h"
#include "printable_int.h"
#include "record_fields.h"
#include "status_int.h"

enum { MOST_FEATURES = 64, MOST_ROOM = 1 << 22 };

/* What is known about a feature. */
typedef struct feature_facts {
    char name[RECORD_NAME_SIZE];
    record_kind kind;
    sluice_dtype dtype;
    uint64_t records; /* that have it */
    uint64_t least;   /* numbers, or byte strings, in a record */
    uint64_t most;
    size_t most_bytes; /* of a byte string */
    bool is_image;
    bool is_text;
    bool is_mixed; /* it has several kinds */
    bool varies;   /* records may have other numbers of rows */
    uint32_t rank; /* of an array; 0: it has no shape, or rows of several shapes */
    uint64_t shape[SLUICE_MAX_RANK]; /* of the first record */
} feature_facts;

struct record_columns {
    const char *stage;
    image_decoder *decoder;
    uint64_t records;
    uint64_t more;     /* most features of a record that are not in the table below, since it is
                          full, or fields= cannot have their names */
    uint64_t more_now; /* the same of the last record */
    uint32_t count;
    feature_facts features[MOST_FEATURES];
};

sluice_status record_columns_create(const char *stage, record_columns **columns_out)
{
    record_columns *columns = sli_calloc(1, sizeof(*columns));
    sluice_status st =
        columns != NULL ? SLUICE_OK : sli_fail(SLUICE_E_NO_MEMORY, "the columns of a file");

    if (st == SLUICE_OK) {
        st = image_decoder_create(&columns->decoder);
    }
    if (st != SLUICE_OK) {
        sli_free(columns);
        return st;
    }
    image_decoder_allow(columns->decoder, IMAGE_FORMATS_ALL);
    columns->stage = stage;
    *columns_out = columns;
    return SLUICE_OK;
}

void record_columns_free(record_columns *columns)
{
    if (columns != NULL) {
        image_decoder_destroy(columns->decoder);
        sli_free(columns);
    }
}

/* ---- records --------------------------------------------------------------------------------- */

/* True if fields= can have the name. */
static bool name_is_usable(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)name[i] <= ' ' || name[i] == ',' || name[i] == '@' || name[i] == 127) {
            return false;
        }
    }
    return length > 0 && length < RECORD_NAME_SIZE;
}

/* Returns what is known about a feature, a new one if nothing is; NULL: there are too many. */
static feature_facts *find_feature(record_columns *columns, const char *name, size_t length)
{
    feature_facts *facts = columns->features;

    for (uint32_t i = 0; i < columns->count; i++, facts++) {
        if (strlen(facts->name) == length && memcmp(facts->name, name, length) == 0) {
            return facts;
        }
    }
    if (columns->count == MOST_FEATURES || !name_is_usable(name, length)) {
        return NULL;
    }
    memcpy(facts->name, name, length);
    facts->is_image = facts->is_text = true;
    columns->count++;
    return facts;
}

bool record_is_image(image_decoder *decoder, const uint8_t *bytes, size_t size)
{
    uint32_t width;
    uint32_t height;
    const sluice_status st =
        image_decoder_open(decoder, bytes, size, UINT64_C(1) << 40, false, &width, &height);

    return st == SLUICE_OK || (st == SLUICE_E_UNSUPPORTED && format_module_find(bytes, size) >= 0);
}

/* True for UTF-8 without control characters, except those of lines. */
static bool is_text(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size;) {
        char one[5] = "";
        size_t length;

        memcpy(one, bytes + i, size - i < 4 ? size - i : 4);
        length = sli_utf8_length(one);
        if (length == 0 || (sli_is_control(one, length) && strchr("\n\r\t", one[0]) == NULL) ||
            one[0] == '\0') {
            return false;
        }
        i += length;
    }
    return true;
}

/* Notes the shape of an array, of which the number of rows may vary. */
static void note_shape(feature_facts *facts, const record_value *value, bool is_first)
{
    if (is_first) {
        facts->rank = value->rank;
        memcpy(facts->shape, value->shape, sizeof(facts->shape));
    }
    facts->rank = value->rank == facts->rank ? facts->rank : 0;
    for (uint32_t i = 1; i < facts->rank; i++) {
        if (value->shape[i] != facts->shape[i]) {
            facts->rank = 0;
        }
    }
}

static void note_bytes(record_columns *columns, feature_facts *facts, const record_value *value)
{
    facts->most_bytes = value->size > facts->most_bytes ? value->size : facts->most_bytes;
    facts->is_image = facts->is_image && value->kind == RECORD_BYTES &&
                      record_is_image(columns->decoder, value->data, value->size);
    facts->is_text =
        facts->is_text && (value->kind == RECORD_TEXT || is_text(value->data, value->size));
}

void record_columns_note(record_columns *columns, const char *name, size_t length,
                         const record_value *value, bool varies)
{
    feature_facts *facts =
        value->kind != RECORD_MISSING ? find_feature(columns, name, length) : NULL;

    if (facts == NULL) {
        columns->more_now += value->kind != RECORD_MISSING;
        return;
    }
    note_shape(facts, value, facts->records == 0);
    facts->varies = facts->varies || varies;
    facts->least = facts->records == 0 || value->count < facts->least ? value->count : facts->least;
    facts->most = value->count > facts->most ? value->count : facts->most;
    facts->records++;
    if (value->count == 0) {
        return;
    }
    facts->is_mixed =
        facts->is_mixed || (facts->kind != RECORD_MISSING &&
                            (facts->kind != value->kind || facts->dtype != value->dtype));
    facts->kind = value->kind;
    facts->dtype = value->dtype;
    if (value->kind != RECORD_NUMBERS) {
        note_bytes(columns, facts, value);
    }
}

void record_columns_begin(record_columns *columns)
{
    columns->more = columns->more_now > columns->more ? columns->more_now : columns->more;
    columns->more_now = 0;
    columns->records++;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Returns a power of 2 that is at least twice a number; 0: it is too large for [N]. */
static uint64_t room_for(uint64_t most)
{
    uint64_t room = 16;

    while (room < 2 * most && room < MOST_ROOM) {
        room *= 2;
    }
    return most <= MOST_ROOM ? room : 0;
}

/* True if the feature is a single item, or k numbers, in every record. */
static bool is_fixed(const record_columns *columns, const feature_facts *facts)
{
    return facts->least == facts->most && facts->records == columns->records && !facts->varies;
}

/* Writes the KIND of numbers. False: they cannot be a column. */
static bool print_numbers(const record_columns *columns, const feature_facts *facts,
                          const char *name, char *text, size_t size)
{
    const bool fixed = is_fixed(columns, facts);
    const bool is_label = facts->dtype == SLUICE_I64 && facts->most == 1 && facts->rank == 0 &&
                          strcmp(name, "label") == 0;
    const char *type = is_label ? "i32" : sluice_dtype_name(facts->dtype);
    uint64_t per_row = 1;
    uint64_t room;

    for (uint32_t i = 1; i < facts->rank; i++) {
        per_row *= facts->shape[i];
    }
    room = room_for(facts->most / (per_row > 0 ? per_row : 1));
    if (fixed && facts->rank == 0 && facts->most == 1) {
        snprintf(text, size, "%s", type);
    } else if (fixed && facts->rank == 0) {
        snprintf(text, size, "%sx%llu", type, (unsigned long long)facts->most);
    } else if (fixed) {
        size_t used = (size_t)snprintf(text, size, "%s", type);

        for (uint32_t i = 0; i < facts->rank && used < size; i++) {
            used += (size_t)snprintf(text + used, size - used, "x%llu",
                                     (unsigned long long)facts->shape[i]);
        }
    } else if (per_row > 1) {
        snprintf(text, size, "%s[%llu]x%llu", type, (unsigned long long)room,
                 (unsigned long long)per_row);
    } else {
        snprintf(text, size, "%s[%llu]", type, (unsigned long long)room);
    }
    return room > 0;
}

/* Writes the KIND of a feature. False: it cannot be a column. */
static bool print_kind(const record_columns *columns, const feature_facts *facts, const char *name,
                       char *text, size_t size)
{
    const uint64_t room = room_for(facts->most_bytes);

    if (facts->kind == RECORD_MISSING || facts->is_mixed) {
        return false;
    }
    if (facts->kind == RECORD_NUMBERS) {
        return print_numbers(columns, facts, name, text, size);
    }
    if (facts->is_image) {
        snprintf(text, size, "image");
    } else {
        snprintf(text, size, "%s[%llu]", facts->is_text ? "text" : "bytes",
                 (unsigned long long)room);
    }
    return room > 0 && facts->most == 1;
}

/* Makes a column's name of a text. */
static void make_name(const char *from, char name[SLUICE_NAME_SIZE])
{
    const bool has_digit = *from >= '0' && *from <= '9';
    size_t length = 0;

    if (has_digit) {
        name[length++] = '_';
    }
    for (; *from != '\0' && length < SLUICE_NAME_SIZE - 8; from++) { /* room for _length */
        const bool is_letter = (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') ||
                               (*from >= '0' && *from <= '9');

        name[length++] = is_letter ? *from : '_';
    }
    name[length] = '\0';
}

typedef char column_names[MOST_FEATURES][SLUICE_NAME_SIZE];

static bool name_is_taken(column_names names, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        char length[SLUICE_NAME_SIZE + 8];

        snprintf(length, sizeof(length), "%s_length", names[i]);
        if (strcmp(names[i], name) == 0 || strcmp(length, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Names a column: `image`, the last part of the feature's name, all of it, or with a number. */
static void choose_name(const feature_facts *facts, bool is_first_image, column_names names,
                        uint32_t count, char name[SLUICE_NAME_SIZE])
{
    const char *slash = strrchr(facts->name, '/');

    make_name(is_first_image                      ? "image"
              : slash != NULL && slash[1] != '\0' ? slash + 1
                                                  : facts->name,
              name);
    if (name_is_taken(names, count, name)) {
        make_name(facts->name, name);
    }
    for (uint32_t n = 2; name_is_taken(names, count, name); n++) {
        char whole[RECORD_NAME_SIZE];
        char numbered[SLUICE_NAME_SIZE];

        make_name(facts->name, whole);
        snprintf(numbered, sizeof(numbered), "%.16s_%u", whole, n);
        memcpy(name, numbered, sizeof(numbered));
    }
}

static void tell_left_out(const char *stage, uint64_t count, const sli_text *first)
{
    if (count > 0) {
        sli_log(SLUICE_LOG_WARN,
                "%s: %llu features are left out, since they have several byte strings, mixed "
                "types or no values, are too large, or do not fit into %d columns%s%.300s; fields= "
                "chooses the columns",
                stage, (unsigned long long)count, SLUICE_MAX_COLUMNS, first->length > 0 ? ": " : "",
                first->length > 0 && !first->failed ? first->data : "");
    }
}

sluice_status record_columns_print(const record_columns *columns, sli_text *fields)
{
    column_names *names = sli_calloc(1, sizeof(*names));
    uint64_t left_out = columns->more > columns->more_now ? columns->more : columns->more_now;
    uint32_t taken = 0;
    uint32_t used = 0; /* columns, with those of lengths */
    bool has_image = false;
    sli_text first = {0};

    if (names == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the columns of a file");
    }
    for (uint32_t i = 0; i < columns->count; i++) {
        const feature_facts *facts = &columns->features[i];
        const bool is_first =
            facts->kind == RECORD_BYTES && facts->is_image && !has_image && facts->most == 1;
        char *name = (*names)[taken];
        char kind[64] = "";
        uint32_t needs;

        choose_name(facts, is_first, *names, taken, name);
        needs = print_kind(columns, facts, name, kind, sizeof(kind))
                    ? (strchr(kind, '[') != NULL ? 2 : 1)
                    : SLUICE_MAX_COLUMNS + 1;
        if (used + needs > SLUICE_MAX_COLUMNS) {
            left_out++;
            sli_text_add(&first, "%s%s", first.length > 0 ? ", " : "", facts->name);
            continue;
        }
        sli_text_add(fields, "%s%s:%s@%s", taken > 0 ? "," : "", name, facts->name, kind);
        has_image = has_image || is_first;
        used += needs;
        taken++;
    }
    tell_left_out(columns->stage, left_out, &first);
    sli_text_free(&first);
    sli_free(names);
    return taken > 0 ? SLUICE_OK
                     : sli_fail(SLUICE_E_UNSUPPORTED,
                                "the first records have no feature that can be a column");
}
