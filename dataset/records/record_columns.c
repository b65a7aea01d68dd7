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

enum { MOST_FEATURES = 256, MOST_ROOM = 1 << 22 };

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

typedef char column_names[SLUICE_MAX_COLUMNS][SLUICE_NAME_SIZE];

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

/* Returns what follows the last slash of a feature's name, or all of it. */
static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : name;
}

/* Names a column: `image`, the last part of the feature's name, all of it, or with a number. */
static void choose_name(const feature_facts *facts, bool is_first_image, column_names names,
                        uint32_t count, char name[SLUICE_NAME_SIZE])
{
    make_name(is_first_image ? "image" : last_part(facts->name), name);
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

/* Why a feature is no column. */
typedef enum column_fault { FITS, NO_ROOM, NO_COLUMN, NO_NAME, FAULT_COUNT } column_fault;

static const char *const fault_texts[FAULT_COUNT] = {
    [NO_ROOM] = "a sample has at most 16 columns",
    [NO_COLUMN] = "they have several byte strings, mixed types or no values, or are too large",
    [NO_NAME] = "fields= cannot have their names, or the records have more than 256 features",
};
_Static_assert(SLUICE_MAX_COLUMNS == 16 && MOST_FEATURES == 256, "numbers in the texts above");

static bool is_one_image(const feature_facts *facts)
{
    return facts->kind == RECORD_BYTES && facts->is_image && facts->most == 1;
}

/* Order in which features become columns: the first image, those named image or label, others. */
static int rank_of(const feature_facts *facts, bool is_first_image)
{
    const char *name = last_part(facts->name);

    if (is_first_image) {
        return 0;
    }
    return strcmp(name, "image") == 0 || strcmp(name, "label") == 0 ? 1 : 2;
}

/* Finds which features become columns, in the order of their ranks, while there is room. */
static void choose_features(const record_columns *columns, column_fault faults[MOST_FEATURES])
{
    uint32_t needs[MOST_FEATURES]; /* columns, with that of lengths */
    uint32_t image = MOST_FEATURES;
    uint32_t used = 0;

    for (uint32_t i = 0; i < columns->count; i++) {
        const feature_facts *facts = &columns->features[i];
        char kind[64] = "";

        faults[i] = print_kind(columns, facts, "", kind, sizeof(kind)) ? NO_ROOM : NO_COLUMN;
        needs[i] = strchr(kind, '[') != NULL ? 2 : 1;
        if (image == MOST_FEATURES && faults[i] == NO_ROOM && is_one_image(facts)) {
            image = i;
        }
    }
    for (int rank = 0; rank <= 2; rank++) {
        for (uint32_t i = 0; i < columns->count; i++) {
            if (faults[i] == NO_ROOM && used + needs[i] <= SLUICE_MAX_COLUMNS &&
                rank_of(&columns->features[i], i == image) == rank) {
                faults[i] = FITS;
                used += needs[i];
            }
        }
    }
}

/* Warns of the features with this fault. `unknown` is the number of further ones, whose names were
 * not kept. */
static void warn_left_out(const record_columns *columns, const column_fault *faults,
                          column_fault fault, uint64_t unknown)
{
    sli_text names = {0};
    uint64_t count = unknown;

    for (uint32_t i = 0; i < columns->count; i++) {
        if (faults[i] == fault) {
            sli_text_add(&names, "%s%s", names.length > 0 ? ", " : ": ", columns->features[i].name);
            count++;
        }
    }
    if (count > 0) {
        sli_log(SLUICE_LOG_WARN,
                "%s: %llu features are left out, since %s%.600s; choose columns with fields=",
                columns->stage, (unsigned long long)count, fault_texts[fault],
                names.length > 0 && !names.failed ? names.data : "");
    }
    sli_text_free(&names);
}

sluice_status record_columns_print(const record_columns *columns, sli_text *fields)
{
    column_names *names = sli_calloc(1, sizeof(*names));
    column_fault faults[MOST_FEATURES];
    uint32_t taken = 0;
    bool has_image = false;

    if (names == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the columns of a file");
    }
    choose_features(columns, faults);
    for (uint32_t i = 0; i < columns->count; i++) {
        const feature_facts *facts = &columns->features[i];
        const bool is_first = !has_image && is_one_image(facts);
        char kind[64] = "";
        char *name;

        if (faults[i] != FITS) {
            continue;
        }
        name = (*names)[taken];
        choose_name(facts, is_first, *names, taken, name);
        (void)print_kind(columns, facts, name, kind, sizeof(kind)); /* it is a column */
        sli_text_add(fields, "%s%s:%s@%s", taken > 0 ? "," : "", name, facts->name, kind);
        has_image = has_image || is_first;
        taken++;
    }
    warn_left_out(columns, faults, NO_ROOM, 0);
    warn_left_out(columns, faults, NO_COLUMN, 0);
    warn_left_out(columns, faults, NO_NAME,
                  columns->more > columns->more_now ? columns->more : columns->more_now);
    sli_free(names);
    return taken > 0 ? SLUICE_OK
                     : sli_fail(SLUICE_E_UNSUPPORTED,
                                "the first records have no feature that can be a column");
}
