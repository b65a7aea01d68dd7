/* SPDX-License-Identifier: Apache-2.0 */
#include "web_roles.h"

#include <stdio.h>
#include <string.h>

#include "status_int.h"

/* Indexed by web_role. */
static const char *const words_of[] = {
    "", "image", "mask", "boxes", "fraction_boxes", "points", "fraction_points", "mask_numbers",
};

enum { LARGEST_SIDE = 65535 };

enum { ROLES = sizeof(words_of) / sizeof(words_of[0]) };

const char *web_role_word(web_role role)
{
    return words_of[role];
}

/* ---- the text -------------------------------------------------------------------------------- */

/* Parses "/2:3/4:5", which ends before a '='. Returns the rest; NULL: it has another form. */
static const char *take_pairs(const char *text, point_pairs *pairs)
{
    char list[16 * MOST_POINT_PAIRS];
    const size_t length = strcspn(++text, "=");

    if (length >= sizeof(list)) {
        return NULL;
    }
    memcpy(list, text, length);
    list[length] = '\0';
    for (char *at = list; (at = strchr(at, '/')) != NULL;) {
        *at = ',';
    }
    return point_pairs_parse(list, "webdataset", pairs) == SLUICE_OK ? text + length : NULL;
}

/* Copies the text up to the first of `stops`; returns that character. NULL: the part is empty or
 * does not fit. */
static const char *take_until(const char *text, const char *stops, char *copy, size_t size)
{
    const size_t length = strcspn(text, stops);

    if (length == 0 || length >= size || text[length] == '\0') {
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return text + length;
}

static bool find_role(const char *word, web_role *role_out)
{
    for (uint32_t i = WEB_PIXELS; i < ROLES; i++) {
        if (strcmp(word, words_of[i]) == 0) {
            *role_out = (web_role)i;
            return true;
        }
    }
    return false;
}

/* Which of [N] and @ROWS a role has. */
static bool has_parts(const web_role_words *words)
{
    const bool has_most = words->most > 0;
    const bool has_rows = words->rows[0] != '\0';

    switch (words->role) {
    case WEB_PIXELS:
    case WEB_PIXEL_MASK:
        return !has_most && !has_rows;
    case WEB_BOXES:
    case WEB_FRACTION_BOXES:
        return has_most && !has_rows;
    case WEB_MASK_NUMBERS:
        return has_most && has_rows;
    default:
        return has_most || !has_rows;
    }
}

const char *web_role_parse(const char *text, uint32_t most, web_role_words *words_out)
{
    web_role_words words = {.most = 0};
    char word[SLUICE_NAME_SIZE];

    text = take_until(text, ":", words.name, sizeof(words.name));
    text = text != NULL ? take_until(text + 1, "[@=", word, sizeof(word)) : NULL;
    if (text == NULL || !find_role(word, &words.role)) {
        return NULL;
    }
    if (*text == '[') {
        uint64_t number = 0;

        for (text++; *text >= '0' && *text <= '9' && number <= most; text++) {
            number = number * 10 + (uint64_t)(*text - '0');
        }
        if (*text++ != ']' || number == 0 || number > most) {
            return NULL;
        }
        words.most = (uint32_t)number;
    }
    if (*text == '@') {
        text = take_until(text + 1, "=/", words.rows, sizeof(words.rows));
    }
    if (text != NULL && *text == '/' && web_role_is_points(words.role)) {
        text = take_pairs(text, &words.pairs);
    }
    if (text == NULL || *text != '=' || !has_parts(&words)) {
        return NULL;
    }
    *words_out = words;
    return text + 1;
}

/* ---- the schema ------------------------------------------------------------------------------ */

static sluice_status wrong_type(web_role role, const sluice_column *column, const char *must_be)
{
    char text[120];

    return sli_fail(SLUICE_E_INVALID, "webdataset: fields: %s is %s, and must be %s for %s",
                    column->name, column_type_text(column, text, sizeof(text)), must_be,
                    words_of[role]);
}

/* Makes a column of pixels the image, or a further image if there is one. */
static sluice_status set_pixels(uint32_t i, stage_schema *schema)
{
    const sluice_column *column = &schema->columns[i];
    image_element element;

    if (column->rank != 3 || !schema_element(column->dtype, &element) ||
        column->shape[SCHEMA_H] > LARGEST_SIDE || column->shape[SCHEMA_W] > LARGEST_SIDE ||
        column->shape[SCHEMA_C] > IMAGE_CHANNELS) {
        return wrong_type(WEB_PIXELS, column,
                          "u8, u16 or f32 (height, width, channels) with 1 to 4 channels");
    }
    if (schema->image >= 0) {
        schema->infos[i].role = ROLE_IMAGE;
    } else {
        schema->image = (int)i;
    }
    return SLUICE_OK;
}

static sluice_status set_mask(uint32_t i, stage_schema *schema)
{
    const sluice_column *column = &schema->columns[i];

    if (column->rank != 2 || column->dtype != SLUICE_U8 || column->shape[SCHEMA_H] > LARGEST_SIDE ||
        column->shape[SCHEMA_W] > LARGEST_SIDE) {
        return wrong_type(WEB_PIXEL_MASK, column, "u8 (height, width)");
    }
    schema->infos[i].role = ROLE_MASK;
    return SLUICE_OK;
}

/* Makes a column of numbers follow the boxes or points that its rows belong to. Beside rows of
 * numbers it is plain. */
static void tie(uint32_t i, int owner, stage_schema *schema)
{
    const column_role role = owner >= 0 ? schema->infos[owner].role : ROLE_PLAIN;

    if (role == ROLE_BOXES || role == ROLE_POINTS) {
        schema->infos[i].role = ROLE_TIED;
        schema->infos[i].tied_to = (uint32_t)owner;
        schema->infos[i].rows = 0;
    } else if (owner >= 0) {
        schema->infos[i].rows = schema->infos[owner].rows;
    }
}

static sluice_status set_boxes(web_role role, uint32_t i, stage_schema *schema)
{
    const sluice_column *column = &schema->columns[i];

    if (column->dtype != SLUICE_F32 || column->rank != 2 || column->shape[1] != 4) {
        return wrong_type(role, column, "f32 (N, 4)");
    }
    schema->infos[i] =
        (column_info){.role = ROLE_BOXES, .length = i + 1, .in_parts = role == WEB_FRACTION_BOXES};
    return SLUICE_OK;
}

static sluice_status set_points(web_role role, uint32_t i, int owner, stage_schema *schema)
{
    const sluice_column *column = &schema->columns[i];
    column_info *info = &schema->infos[i];
    const bool has_length = info->rows > 0;

    if (column->dtype != SLUICE_F32 || column->rank < 2 || column->rank > 3 ||
        column->shape[column->rank - 1] != 2) {
        return wrong_type(role, column, "f32 (N, 2) or (N, K, 2)");
    }
    *info = (column_info){.role = ROLE_POINTS,
                          .length = has_length ? i + 1 : SCHEMA_NO_LENGTH,
                          .in_parts = role == WEB_FRACTION_POINTS};
    if (owner >= 0) {
        if (schema->infos[owner].role != ROLE_BOXES || column->rank != 3) {
            return wrong_type(role, column, "f32 (N, K, 2), and what follows @ a column of boxes,");
        }
        info->is_tied = true;
        info->tied_to = (uint32_t)owner;
        info->length = schema->infos[owner].length;
    }
    return SLUICE_OK;
}

sluice_status web_role_set(web_role role, uint32_t column, int owner, stage_schema *schema)
{
    switch (role) {
    case WEB_PLAIN:
        tie(column, owner, schema);
        return SLUICE_OK;
    case WEB_PIXELS:
        return set_pixels(column, schema);
    case WEB_PIXEL_MASK:
        return set_mask(column, schema);
    case WEB_MASK_NUMBERS:
        tie(column, owner, schema);
        schema->infos[column].numbers_mask = true;
        return SLUICE_OK;
    case WEB_BOXES:
    case WEB_FRACTION_BOXES:
        return set_boxes(role, column, schema);
    case WEB_POINTS:
    case WEB_FRACTION_POINTS:
        break;
    }
    return set_points(role, column, owner, schema);
}
