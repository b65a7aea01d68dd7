/* SPDX-License-Identifier: Apache-2.0 */
#include "list_columns.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "rng_int.h"
#include "status_int.h"
#include "tensor_int.h"
#include "text_int.h"

/* Limit on N in NAME:KIND[N]; it limits a column's row to 64 MiB, as MOST_BYTES does for xD. */
enum { MOST_ELEMENTS = 1 << 22, MOST_BYTES = 1 << 26 };

/* Limits on images as pixels. */
enum { LONGEST_SIDE = 65535, MOST_CHANNELS = 4 };

#define FRACTION     "fraction_"
#define MASK_NUMBERS "mask_numbers"

/* Indexed by box_form: the KIND in a header field. */
static const char *const form_names[] = {"boxes", "coco", "voc", "darknet"};

/* ---- the header ------------------------------------------------------------------------------ */

static sluice_status bad_field(const list_columns *columns, const char *text)
{
    return columns->is_binary
               ? sli_fail(SLUICE_E_INVALID,
                          "'%.100s' must be NAME:KIND, where KIND is image, mask, boxes[N], "
                          "coco[N], voc[N], darknet[N], fraction_boxes[N], points[N], "
                          "fraction_points[N], mask_numbers[N]@BOXES, text[N], bytes[N], "
                          "imagexHxWxC or maskxHxW as pixels, or a type "
                          "such as i32, f32[N] for up to N numbers, f32[N]x4 for up to N rows of "
                          "4, f32x2x3 for a fixed shape or i32[N]@BOXES; N is at most %d, and a "
                          "row of the batch has at most %d bytes",
                          text, MOST_ELEMENTS, MOST_BYTES)
               : sli_fail(SLUICE_E_INVALID,
                          "'%.100s' must be a column: image, label, or NAME:KIND, where KIND is "
                          "image, mask, boxes[N], coco[N], voc[N], darknet[N], points[N], text[N], "
                          "class, or a type such as f32, f32[N] or i32[N]@BOXES, and N is at most "
                          "%d",
                          text, MOST_ELEMENTS);
}

/* The parts of a header field NAME:WORD[MOST]xDIMS@BOXES. */
typedef struct header_words {
    char name[SLUICE_NAME_SIZE];
    char word[64];
    bool has_most;
    uint64_t most;
    uint32_t rank; /* number of lengths in xDIMS; their product is `row` */
    uint64_t dims[SLUICE_MAX_RANK];
    uint64_t row;
    bool in_parts;                /* the word began with FRACTION */
    char boxes[SLUICE_NAME_SIZE]; /* name in @BOXES; "": the field has no @BOXES */
} header_words;

/*
 * Copies the text up to the first stop character, without the blanks around it. Returns the
 * remaining text, which begins with that character, or NULL if the copy is too long.
 */
static const char *take_until(const char *text, const char *stops, char *copy, size_t size)
{
    const char *const end = text + strcspn(text, stops);
    size_t length;

    text += strspn(text, " \t");
    length = text < end ? (size_t)(end - text) : 0;
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        length--;
    }
    if (length >= size) {
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return end;
}

static bool take_most(const char **text, header_words *words)
{
    const char *at = *text + 1;
    uint64_t most = 0;

    for (; *at >= '0' && *at <= '9' && most <= MOST_ELEMENTS; at++) {
        most = most * 10 + (uint64_t)(*at - '0');
    }
    if (*at != ']' || most == 0 || most > MOST_ELEMENTS) {
        return false;
    }
    words->has_most = true;
    words->most = most;
    *text = at + 1 + strspn(at + 1, " \t");
    return true;
}

/* Takes the lengths of "x2x3" apart, and moves behind them. */
static bool take_dims(const char **text, header_words *words)
{
    const char *at = *text;

    for (; *at == 'x'; words->rank++) {
        uint64_t length = 0;

        for (at++; *at >= '0' && *at <= '9' && length <= MOST_BYTES; at++) {
            length = length * 10 + (uint64_t)(*at - '0');
        }
        if (length == 0 || length > MOST_BYTES / words->row || words->rank == SLUICE_MAX_RANK) {
            return false;
        }
        words->dims[words->rank] = length;
        words->row *= length;
    }
    *text = at;
    return true;
}

/* Takes lengths apart that follow a word without [N]: f32x2. */
static bool split_word(header_words *words)
{
    char *at = strchr(words->word, 'x');
    const char *rest;

    while (at != NULL && (at[1] < '0' || at[1] > '9')) {
        at = strchr(at + 1, 'x');
    }
    if (at == NULL) {
        return true;
    }
    rest = at;
    if (!take_dims(&rest, words) || *rest != '\0') {
        return false;
    }
    *at = '\0';
    return true;
}

/* Takes the prefix of boxes and points off that are fractions of their image. */
static void take_fraction(header_words *words)
{
    const char *rest = words->word + strlen(FRACTION);

    words->in_parts = strncmp(words->word, FRACTION, strlen(FRACTION)) == 0 &&
                      (strcmp(rest, "boxes") == 0 || strcmp(rest, "points") == 0);
    if (words->in_parts) {
        memmove(words->word, rest, strlen(rest) + 1);
    }
}

static bool take_apart(const list_columns *columns, const char *text, header_words *words)
{
    memset(words, 0, sizeof(*words));
    words->row = 1;
    text = take_until(text, ":", words->name, sizeof(words->name));
    if (text != NULL && *text == ':') {
        text = take_until(text + 1, "[@", words->word, sizeof(words->word));
    } else if (text != NULL) {
        const char *usual = strcmp(words->name, "image") == 0   ? "image"
                            : strcmp(words->name, "label") == 0 ? "i32"
                                                                : "";

        snprintf(words->word, sizeof(words->word), "%s", usual);
    }
    if (text != NULL && *text == '[' && !take_most(&text, words)) {
        return false;
    }
    if (text != NULL && columns->is_binary &&
        !(words->has_most ? take_dims(&text, words) : split_word(words))) {
        return false;
    }
    if (columns->is_binary) {
        take_fraction(words);
    }
    if (text != NULL && *text == '@') {
        text = take_until(text + 1, "", words->boxes, sizeof(words->boxes));
    }
    return text != NULL && *text == '\0' && words->word[0] != '\0';
}

/* Adds a column to the batch. Returns NULL if there are too many columns. */
static sluice_column *add_to_schema(stage_schema *schema, const char *name, sluice_dtype dtype)
{
    sluice_column *column;

    if (schema->column_count == SLUICE_MAX_COLUMNS) {
        return NULL;
    }
    column = &schema->columns[schema->column_count++];
    *column = (sluice_column){.dtype = dtype};
    snprintf(column->name, sizeof(column->name), "%s", name);
    return column;
}

/*
 * Adds the i32 column NAME_length, the number of elements in column `name`. False: too many
 * columns, or the name is too long.
 */
static bool add_length(list_columns *columns, list_column *field, const char *name)
{
    char text[SLUICE_NAME_SIZE + 8];

    snprintf(text, sizeof(text), "%s_length", name);
    field->length = (int)columns->schema.column_count;
    return strlen(text) < SLUICE_NAME_SIZE &&
           add_to_schema(&columns->schema, text, SLUICE_I32) != NULL;
}

/* Returns the index of the field of boxes or points with this name, or of rows of binary numbers;
 * -1 if there is none. */
static int find_boxes(const list_columns *columns, const char *name)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        const list_column *field = &columns->fields[i];

        if ((field->kind == LIST_BOXES || field->kind == LIST_POINTS ||
             (columns->is_binary && field->kind == LIST_NUMBERS && field->boxes < 0)) &&
            strcmp(columns->schema.columns[field->column].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Finds a box format by its KIND. False: the word is not a box format. */
static bool find_form(const char *word, box_form *form_out)
{
    for (uint32_t i = 0; i < sizeof(form_names) / sizeof(form_names[0]); i++) {
        if (strcmp(form_names[i], word) == 0) {
            *form_out = (box_form)i;
            return true;
        }
    }
    return false;
}

static bool is_text(const list_columns *columns, const char *word)
{
    return strcmp(word, "text") == 0 || (columns->is_binary && strcmp(word, "bytes") == 0);
}

/* True if a field is numbers of a type that it can have, and its row is not too large. */
static bool is_type(const list_columns *columns, const header_words *words, sluice_dtype *dtype_out)
{
    return sli_dtype_parse(words->word, dtype_out) &&
           (columns->is_binary ||
            (*dtype_out != SLUICE_F16 && *dtype_out != SLUICE_BF16 && *dtype_out != SLUICE_U64)) &&
           (!words->has_most || words->rank < SLUICE_MAX_RANK) &&
           (words->rank == 0 || words->row * (words->has_most ? words->most : 1) <=
                                    MOST_BYTES / sluice_dtype_size(*dtype_out));
}

/* Chooses an image or mask: a file or, of binary values, pixels of a fixed shape. */
static sluice_status choose_image(const list_columns *columns, const header_words *words,
                                  const char *text, list_column *field)
{
    const bool is_mask = strcmp(words->word, "mask") == 0;

    if (words->has_most || words->boxes[0] != '\0') {
        return bad_field(columns, text);
    }
    field->kind = words->rank > 0 ? LIST_PIXELS : is_mask ? LIST_MASK : LIST_IMAGE;
    field->dtype = words->rank > 0 ? SLUICE_U8 : SLUICE_ENCODED;
    field->row = (uint32_t)words->row;
    if (words->rank == 0) {
        return SLUICE_OK;
    }
    return words->rank == (is_mask ? 2 : 3) && words->dims[SCHEMA_H] <= LONGEST_SIDE &&
                   words->dims[SCHEMA_W] <= LONGEST_SIDE &&
                   (is_mask || words->dims[SCHEMA_C] <= MOST_CHANNELS)
               ? SLUICE_OK
               : bad_field(columns, text);
}

/* Chooses points. Binary ones may be rows of several points, which may belong to boxes, or have a
 * fixed number. */
static sluice_status choose_points(const list_columns *columns, const header_words *words,
                                   const char *text, list_column *field)
{
    const bool is_fixed = !words->has_most;

    if (words->rank > 1 || (is_fixed && words->rank == 0) ||
        (words->boxes[0] != '\0' && (is_fixed || words->rank == 0)) ||
        words->row > MOST_ELEMENTS / (is_fixed ? 1 : words->most)) {
        return bad_field(columns, text);
    }
    field->kind = LIST_POINTS;
    field->dtype = SLUICE_F32;
    field->most = (uint32_t)(is_fixed ? words->row : words->most);
    field->row = (uint32_t)(is_fixed ? 1 : words->row);
    return SLUICE_OK;
}

/* Chooses numbers or classes. */
static sluice_status choose_numbers(const list_columns *columns, const header_words *words,
                                    const char *text, list_column *field)
{
    if (!columns->is_binary && strcmp(words->word, "class") == 0) {
        field->dtype = SLUICE_I32;
        field->names = sli_calloc(1, sizeof(*field->names));
        if (field->names == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the classes of %s", words->name);
        }
        field->names->is_open = true;
    } else if (columns->is_binary && strcmp(words->word, MASK_NUMBERS) == 0) {
        field->dtype = SLUICE_I32;
        if (words->boxes[0] == '\0' || words->rank > 0) {
            return bad_field(columns, text);
        }
    } else if (!is_type(columns, words, &field->dtype)) {
        return bad_field(columns, text);
    }
    field->row = (uint32_t)words->row;
    field->kind = words->has_most ? LIST_NUMBERS : words->rank > 0 ? LIST_ARRAY : LIST_NUMBER;
    return words->boxes[0] != '\0' && field->kind == LIST_ARRAY ? bad_field(columns, text)
                                                                : SLUICE_OK;
}

/* Finds the column that @BOXES names. */
static sluice_status find_owner(const list_columns *columns, const header_words *words,
                                list_column *field)
{
    const list_column *owner;

    field->boxes = find_boxes(columns, words->boxes);
    owner = field->boxes >= 0 ? &columns->fields[field->boxes] : NULL;
    if (owner == NULL || (field->kind == LIST_POINTS && owner->kind != LIST_BOXES)) {
        return sli_fail(SLUICE_E_INVALID, "%s: there is no column %s of boxes%s before it",
                        words->name, words->boxes, field->kind == LIST_POINTS ? "" : " or points");
    }
    return owner->most == field->most
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "%s must have [%u], as many as %s", words->name,
                          owner->most, words->boxes);
}

/* Determines the kind, type and number of elements of a field. */
static sluice_status choose_kind(const list_columns *columns, const header_words *words,
                                 const char *text, list_column *field)
{
    sluice_status st = SLUICE_OK;

    field->most = (uint32_t)words->most;
    field->dtype = SLUICE_U8;
    if (strcmp(words->word, "image") == 0 || strcmp(words->word, "mask") == 0) {
        return choose_image(columns, words, text, field);
    }
    if (strcmp(words->word, "points") == 0) {
        st = choose_points(columns, words, text, field);
    } else if (find_form(words->word, &field->form) || is_text(columns, words->word)) {
        field->kind = is_text(columns, words->word) ? LIST_TEXT : LIST_BOXES;
        field->dtype = field->kind == LIST_TEXT ? SLUICE_U8 : SLUICE_F32;
        return words->has_most && words->boxes[0] == '\0' && words->rank == 0
                   ? SLUICE_OK
                   : bad_field(columns, text);
    } else {
        st = choose_numbers(columns, words, text, field);
    }
    return st == SLUICE_OK && words->boxes[0] != '\0' ? find_owner(columns, words, field) : st;
}

/* Sets the role of rows that belong to boxes or points. Beside rows of numbers it is plain. */
static void tie_rows(const list_columns *columns, const list_column *owner,
                     const header_words *words, column_info *info)
{
    if (owner->kind == LIST_NUMBERS) {
        info->rows = columns->schema.infos[owner->column].rows;
    } else {
        info->role = ROLE_TIED;
        info->tied_to = (uint32_t)owner->column;
        info->numbers_mask = strcmp(words->word, MASK_NUMBERS) == 0;
    }
}

/* Sets shape and role of a column of points, the last one. False: there is no column for its
 * length. */
static bool set_points(list_columns *columns, const header_words *words, list_column *field,
                       sluice_column *column, column_info *info)
{
    const bool has_rows = words->has_most && words->rank > 0;

    column->rank = has_rows ? 3 : 2;
    column->shape[0] = field->most;
    column->shape[1] = field->row;
    column->shape[column->rank - 1] = 2;
    info->role = ROLE_POINTS;
    info->in_parts = words->in_parts;
    info->length = columns->schema.column_count;
    if (field->boxes >= 0) {
        info->is_tied = true;
        info->tied_to = (uint32_t)columns->fields[field->boxes].column;
        info->length = (uint32_t)columns->fields[field->boxes].length;
        return true;
    }
    if (!words->has_most) {
        info->length = SCHEMA_NO_LENGTH;
        return true;
    }
    return add_length(columns, field, words->name);
}

/* Adds the field's columns to the batch. False: too many columns, or a name is too long. */
static bool add_columns(list_columns *columns, const header_words *words, list_column *field)
{
    stage_schema *schema = &columns->schema;
    sluice_column *column = add_to_schema(schema, words->name, field->dtype);
    column_info *info = &schema->infos[schema->column_count - 1];

    field->column = (int)schema->column_count - 1;
    if (column == NULL) {
        return false;
    }
    memcpy(column->shape, words->dims, sizeof(words->dims));
    column->rank = words->rank;
    switch (field->kind) {
    case LIST_IMAGE:
    case LIST_MASK:
    case LIST_PIXELS:
        if (words->word[0] == 'm') {
            info->role = ROLE_MASK;
            return true;
        }
        info->role = schema->image >= 0 ? ROLE_IMAGE : ROLE_PLAIN;
        schema->image = schema->image >= 0 ? schema->image : field->column;
        return true;
    case LIST_BOXES:
        column->rank = 2;
        column->shape[0] = field->most;
        column->shape[1] = 4;
        info->role = ROLE_BOXES;
        info->length = schema->column_count;
        info->in_parts = words->in_parts || field->form == BOX_DARKNET;
        return add_length(columns, field, words->name);
    case LIST_POINTS:
        return set_points(columns, words, field, column, info);
    case LIST_ARRAY: /* an image, too, as in source npy */
        if (schema->image < 0 && schema_is_raw_image(column)) {
            schema->image = field->column;
            field->kind = LIST_PIXELS;
        }
        return true;
    case LIST_NUMBER:
        return true;
    case LIST_NUMBERS:
    case LIST_TEXT:
        column->rank = 1 + words->rank;
        column->shape[0] = field->most;
        memcpy(&column->shape[1], words->dims, words->rank * sizeof(words->dims[0]));
        if (field->boxes >= 0) {
            tie_rows(columns, &columns->fields[field->boxes], words, info);
            return true;
        }
        info->rows = schema->column_count + 1;
        info->is_text = strcmp(words->word, "text") == 0;
        return add_length(columns, field, words->name);
    }
    return false;
}

static void free_names(list_column *field)
{
    if (field->names != NULL) {
        vocabulary_free(field->names);
        sli_free(field->names);
    }
}

void list_columns_free(list_columns *columns)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        free_names(&columns->fields[i]);
    }
}

bool list_columns_names(const list_columns *columns, const vocabulary **names_out)
{
    *names_out = NULL;
    for (uint32_t i = 0; i < columns->count; i++) {
        const list_column *field = &columns->fields[i];

        if (strcmp(columns->schema.columns[field->column].name, "label") == 0) {
            *names_out = field->names;
            return true;
        }
        *names_out = *names_out == NULL ? field->names : *names_out;
    }
    return false;
}

vocabulary *list_columns_classes(const list_columns *columns, uint32_t *count_io)
{
    vocabulary *names = NULL;

    for (uint32_t i = 0; i < columns->count; i++) {
        if (columns->fields[i].names != NULL) {
            names = columns->fields[i].names;
            ++*count_io;
        }
    }
    return names;
}

uint64_t list_columns_identity(const list_columns *columns, uint64_t hash)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        if (columns->fields[i].names != NULL) {
            hash = sli_mix_in(hash, vocabulary_hash(columns->fields[i].names));
        }
    }
    return hash;
}

/* Appends the KIND of a column, with [N]; nothing if its name has it. */
static void print_kind(const list_column *field, const char *name, sli_text *text)
{
    if ((field->kind == LIST_IMAGE && strcmp(name, "image") == 0) ||
        (field->kind == LIST_NUMBER && field->dtype == SLUICE_I32 && field->names == NULL &&
         strcmp(name, "label") == 0)) {
        return;
    }
    sli_text_add(text, ":%s",
                 field->kind == LIST_IMAGE    ? "image"
                 : field->kind == LIST_MASK   ? "mask"
                 : field->kind == LIST_BOXES  ? form_names[field->form]
                 : field->kind == LIST_POINTS ? "points"
                 : field->kind == LIST_TEXT   ? "text"
                 : field->names != NULL       ? "class"
                                              : sluice_dtype_name(field->dtype));
    if (field->most > 0) {
        sli_text_add(text, "[%u]", field->most);
    }
}

void list_columns_print(const list_columns *columns, sli_text *text)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        const list_column *field = &columns->fields[i];
        const char *name = columns->schema.columns[field->column].name;

        sli_text_add(text, "%s%s", i > 0 ? "," : "", name);
        print_kind(field, name, text);
        if (field->boxes >= 0) {
            const list_column *boxes = &columns->fields[field->boxes];

            sli_text_add(text, "@%s", columns->schema.columns[boxes->column].name);
        }
    }
}

sluice_status list_add_column(list_columns *columns, const char *text)
{
    list_column field = {.length = -1, .boxes = -1, .row = 1};
    header_words words;
    char own[128];
    sluice_status st;

    snprintf(own, sizeof(own), "%s", text);
    st = take_apart(columns, list_trim(own), &words) ? choose_kind(columns, &words, text, &field)
                                                     : bad_field(columns, text);
    if (st == SLUICE_OK &&
        (columns->count == SLUICE_MAX_COLUMNS || !add_columns(columns, &words, &field))) {
        st = sli_fail(SLUICE_E_INVALID,
                      "%.100s: with its length its name is too long, or there are more than %d "
                      "columns",
                      text, SLUICE_MAX_COLUMNS);
    }
    if (st != SLUICE_OK) {
        free_names(&field);
        return st;
    }
    columns->fields[columns->count++] = field;
    return SLUICE_OK;
}

void list_plain_columns(list_columns *columns, uint32_t fields)
{
    static const char *const names[] = {"image", "label"};

    for (uint32_t i = 0; i < fields && i < 2; i++) {
        (void)list_add_column(columns, names[i]);
    }
    columns->is_plain = true;
}
