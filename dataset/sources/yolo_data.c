/* SPDX-License-Identifier: Apache-2.0 */
#include "yolo_data.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "alloc_int.h"
#include "library_calls.h"
#include "status_int.h"
#include "text_int.h"

#define YAML_CALLS(X)                                                                              \
    X(yaml_event_delete)                                                                           \
    X(yaml_parser_delete)                                                                          \
    X(yaml_parser_initialize)                                                                      \
    X(yaml_parser_parse)                                                                           \
    X(yaml_parser_set_input_string)

/* Limits: nested lists and maps, bytes of a path or a name, classes. */
enum { DEEPEST = 32, MOST_TEXT = 4095, MOST_CLASSES = 1 << 16 };

static struct {
    YAML_CALLS(CALL_MEMBER)
} calls;
static const library_call call_table[] = {YAML_CALLS(CALL_ENTRY)};
static loaded_library libyaml = {.file = "libyaml-0.so.2",
                                 .name = "libyaml",
                                 .package = "libyaml-0-2",
                                 .calls = call_table,
                                 .count = sizeof(call_table) / sizeof(call_table[0])};

typedef struct data_reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    bool has_event;
    uint64_t line; /* of the value that is read, from 1 */
    const char *split;
    yolo_data *data;
    box_set *set;
    size_t *names; /* 1 + the offset of the name of each class in the set's names; 0: none yet */
    size_t name_capacity;
    size_t name_count;
    uint32_t seen; /* bit i: the key i of the table of keys */
} data_reader;

/* ---- events ---------------------------------------------------------------------------------- */

static sluice_status fail_parser(data_reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;

    if (parser->error == YAML_MEMORY_ERROR) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a description of a set");
    }
    reader->line = parser->problem_mark.line + 1;
    return sli_fail(SLUICE_E_CORRUPT, "this is not YAML: %.200s",
                    parser->problem != NULL ? parser->problem : "an unknown error");
}

/* Goes to the next event. */
static sluice_status next_event(data_reader *reader)
{
    if (reader->has_event) {
        calls.yaml_event_delete(&reader->event);
    }
    reader->has_event = calls.yaml_parser_parse(&reader->parser, &reader->event) != 0;
    if (!reader->has_event) {
        return fail_parser(reader);
    }
    reader->line = reader->event.start_mark.line + 1;
    return SLUICE_OK;
}

/* True if the current event is a value without a text, as of `test:` and `test: null`. */
static bool is_null(const data_reader *reader)
{
    const char *value = (const char *)reader->event.data.scalar.value;

    return reader->event.type == YAML_SCALAR_EVENT &&
           reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (value[0] == '\0' || strcmp(value, "~") == 0 || strcmp(value, "null") == 0);
}

/* Gets the text of the current event. */
static sluice_status get_text(const data_reader *reader, const char *what, const char **text_out)
{
    const size_t length = reader->event.data.scalar.length;

    if (reader->event.type != YAML_SCALAR_EVENT) {
        return sli_fail(SLUICE_E_CORRUPT, "%s must be a text%s", what,
                        reader->event.type == YAML_ALIAS_EVENT ? ", not an alias" : "");
    }
    *text_out = (const char *)reader->event.data.scalar.value;
    return length > 0 && length <= MOST_TEXT && strlen(*text_out) == length
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "%s must be a text of 1 to %d bytes", what, MOST_TEXT);
}

/* Gets the whole number of the current event. */
static sluice_status get_number(const data_reader *reader, const char *what, uint32_t least,
                                uint32_t most, uint32_t *number_out)
{
    const char *text = "";
    double number = 0;
    sluice_status st = get_text(reader, what, &text);

    if (st != SLUICE_OK) {
        return st;
    }
    if (!sli_parse_real(text, &number) || !(number >= least && number <= most) ||
        (double)(uint32_t)number != number) {
        return sli_fail(SLUICE_E_CORRUPT, "%s is %.80s and must be a whole number from %u to %u",
                        what, text, least, most);
    }
    *number_out = (uint32_t)number;
    return SLUICE_OK;
}

/* Passes the value that begins with the current event. */
static sluice_status skip_value(data_reader *reader)
{
    sluice_status st = SLUICE_OK;
    uint32_t depth = 0;

    for (;;) {
        const yaml_event_type_t type = reader->event.type;

        depth += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        depth -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        if (depth > DEEPEST) {
            return sli_fail(SLUICE_E_CORRUPT, "more than %d nested lists and maps", DEEPEST);
        }
        if (depth == 0) {
            return SLUICE_OK;
        }
        st = next_event(reader);
        if (st != SLUICE_OK) {
            return st;
        }
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

static sluice_status read_path(data_reader *reader)
{
    const char *text = "";
    sluice_status st = is_null(reader) ? SLUICE_OK : get_text(reader, "path", &text);

    return st == SLUICE_OK && text[0] != '\0'
               ? image_files_add(&reader->data->folder, text, strlen(text))
               : st;
}

static sluice_status add_images(data_reader *reader)
{
    const char *text = "";
    const sluice_status st = get_text(reader, reader->split, &text);

    return st == SLUICE_OK ? image_files_add(&reader->data->images, text, strlen(text)) : st;
}

/* Reads the images of the split: a path, or a list of paths. */
static sluice_status read_images(data_reader *reader)
{
    sluice_status st = SLUICE_OK;

    if (reader->event.type != YAML_SEQUENCE_START_EVENT) {
        return is_null(reader) ? SLUICE_OK : add_images(reader);
    }
    for (;;) {
        st = next_event(reader);
        if (st != SLUICE_OK || reader->event.type == YAML_SEQUENCE_END_EVENT) {
            return st;
        }
        st = add_images(reader);
        if (st != SLUICE_OK) {
            return st;
        }
    }
}

/* Adds the name of a class, which the current event has. */
static sluice_status add_name(data_reader *reader, uint32_t class)
{
    const char *text = "";
    sluice_status st = get_text(reader, "a name of a class", &text);
    size_t *grown;
    size_t name = 0;

    if (st == SLUICE_OK && class >= MOST_CLASSES) {
        st = sli_fail(SLUICE_E_CORRUPT, "names has more than %d classes", MOST_CLASSES);
    }
    st = st == SLUICE_OK ? box_set_add_name(reader->set, text, strlen(text), &name) : st;
    if (st != SLUICE_OK) {
        return st;
    }
    grown = sli_grow(reader->names, &reader->name_capacity, (size_t) class + 1, sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the names of the classes");
    }
    reader->names = grown;
    while (reader->name_count <= class) {
        grown[reader->name_count++] = 0;
    }
    if (grown[class] != 0) {
        return sli_fail(SLUICE_E_CORRUPT, "names has a second name of class %u, %.80s", class,
                        text);
    }
    grown[class] = name + 1;
    return SLUICE_OK;
}

static sluice_status read_names(data_reader *reader)
{
    const bool is_map = reader->event.type == YAML_MAPPING_START_EVENT;
    sluice_status st = SLUICE_OK;

    if (!is_map && reader->event.type != YAML_SEQUENCE_START_EVENT) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "names must be a list of names, or a map from numbers to names");
    }
    for (uint32_t i = 0; st == SLUICE_OK; i++) {
        uint32_t class = i;

        st = next_event(reader);
        if (st != SLUICE_OK || reader->event.type == YAML_SEQUENCE_END_EVENT ||
            reader->event.type == YAML_MAPPING_END_EVENT) {
            break;
        }
        if (is_map) {
            st = get_number(reader, "a key of names", 0, MOST_CLASSES - 1, &class);
            st = st == SLUICE_OK ? next_event(reader) : st;
        }
        st = st == SLUICE_OK ? add_name(reader, class) : st;
    }
    return st;
}

static sluice_status read_count(data_reader *reader)
{
    return get_number(reader, "nc", 1, MOST_CLASSES, &reader->data->nc);
}

static sluice_status read_points(data_reader *reader)
{
    static const char *const what[] = {"the points of kpt_shape", "the numbers of kpt_shape"};
    uint32_t numbers[2] = {0, 0};
    sluice_status st = SLUICE_OK;

    if (is_null(reader)) {
        return SLUICE_OK;
    }
    if (reader->event.type != YAML_SEQUENCE_START_EVENT) {
        return sli_fail(SLUICE_E_CORRUPT, "kpt_shape must be a list of 2 numbers, as [17, 3]");
    }
    for (int i = 0; i < 2 && st == SLUICE_OK; i++) {
        st = next_event(reader);
        if (st == SLUICE_OK) {
            st = get_number(reader, what[i], i == 0 ? 1 : 2, i == 0 ? BOX_MOST_POINTS : 3,
                            &numbers[i]);
        }
    }
    st = st == SLUICE_OK ? next_event(reader) : st;
    if (st == SLUICE_OK && reader->event.type != YAML_SEQUENCE_END_EVENT) {
        st = sli_fail(SLUICE_E_CORRUPT, "kpt_shape must be a list of 2 numbers, as [17, 3]");
    }
    reader->data->points = numbers[0];
    reader->data->point_numbers = numbers[0] * numbers[1];
    return st;
}

static sluice_status add_pair(point_pairs *pairs, uint32_t from, uint32_t to)
{
    if (pairs->count == MOST_POINT_PAIRS) {
        return sli_fail(SLUICE_E_CORRUPT, "flip_idx exchanges more than %d pairs of points",
                        MOST_POINT_PAIRS);
    }
    pairs->pairs[pairs->count][0] = (uint16_t)from;
    pairs->pairs[pairs->count++][1] = (uint16_t)to;
    return SLUICE_OK;
}

/* Reads flip_idx. Point i and point flip_idx[i] must change places. */
static sluice_status read_flip(data_reader *reader)
{
    uint16_t places[BOX_MOST_POINTS] = {0};
    uint32_t count = 0;
    sluice_status st = SLUICE_OK;

    if (is_null(reader)) {
        return SLUICE_OK;
    }
    if (reader->event.type != YAML_SEQUENCE_START_EVENT) {
        return sli_fail(SLUICE_E_CORRUPT, "flip_idx must be a list of the indexes of points");
    }
    while (st == SLUICE_OK) {
        uint32_t place = 0;

        st = next_event(reader);
        if (st != SLUICE_OK || reader->event.type == YAML_SEQUENCE_END_EVENT) {
            break;
        }
        if (count == BOX_MOST_POINTS) {
            return sli_fail(SLUICE_E_CORRUPT, "flip_idx has more than %d points", BOX_MOST_POINTS);
        }
        st = get_number(reader, "a point of flip_idx", 0, BOX_MOST_POINTS - 1, &place);
        places[count++] = (uint16_t)place;
    }
    for (uint32_t i = 0; i < count && st == SLUICE_OK; i++) {
        if (places[i] >= count || places[places[i]] != i) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "flip_idx: point %u becomes point %u, and must then take its place", i,
                            places[i]);
        }
        st = places[i] > i ? add_pair(&reader->data->pairs, i, places[i]) : SLUICE_OK;
    }
    reader->data->flip_points = count;
    return st;
}

/* ---- the description ------------------------------------------------------------------------- */

/* The keys that are read; the first one stands for that of the split. */
static const struct {
    const char *key;
    sluice_status (*read)(data_reader *reader);
} keys[] = {
    {NULL, read_images}, {"path", read_path},        {"names", read_names},
    {"nc", read_count},  {"kpt_shape", read_points}, {"flip_idx", read_flip},
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

/* Notes keys that usually name images, for the message that one is missing. */
static void note_key(data_reader *reader, const char *key)
{
    static const char *const usual[] = {"train", "val", "valid", "validation", "test"};
    char *lists = reader->data->lists;
    const size_t length = strlen(lists);

    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (strcmp(key, usual[i]) == 0 && length < 150) {
            snprintf(lists + length, sizeof(reader->data->lists) - length, "%s%s",
                     length > 0 ? ", " : "", key);
        }
    }
}

/* Reads a key, which the current event has, and its value. */
static sluice_status read_key(data_reader *reader)
{
    const char *text = "";
    uint32_t key = 1;
    sluice_status st = get_text(reader, "a key", &text);

    if (st != SLUICE_OK) {
        return st;
    }
    note_key(reader, text);
    while (key < KEYS && strcmp(text, keys[key].key) != 0) {
        key++;
    }
    if (key == KEYS && reader->split != NULL && strcmp(text, reader->split) == 0) {
        key = 0;
    }
    if (key < KEYS && (reader->seen >> key & 1) != 0) {
        return sli_fail(SLUICE_E_CORRUPT, "a second %s", text);
    }
    reader->seen |= key < KEYS ? 1U << key : 0;
    st = next_event(reader);
    if (st != SLUICE_OK) {
        return st;
    }
    return key < KEYS ? keys[key].read(reader) : skip_value(reader);
}

/* Reads the map that the file must be. */
static sluice_status read_map(data_reader *reader)
{
    sluice_status st = next_event(reader); /* the begin of the stream */

    st = st == SLUICE_OK ? next_event(reader) : st; /* of the document */
    st = st == SLUICE_OK && reader->event.type != YAML_STREAM_END_EVENT ? next_event(reader) : st;
    if (st != SLUICE_OK) {
        return st;
    }
    if (reader->event.type != YAML_MAPPING_START_EVENT) {
        return sli_fail(SLUICE_E_CORRUPT, "the file must be a map with the keys path, train, val, "
                                          "names");
    }
    for (;;) {
        st = next_event(reader);
        if (st != SLUICE_OK || reader->event.type == YAML_MAPPING_END_EVENT) {
            break;
        }
        st = read_key(reader);
        if (st != SLUICE_OK) {
            return st;
        }
    }
    st = st == SLUICE_OK ? next_event(reader) : st; /* the end of the document */
    st = st == SLUICE_OK ? next_event(reader) : st; /* of the stream */
    return st == SLUICE_OK && reader->event.type != YAML_STREAM_END_EVENT
               ? sli_fail(SLUICE_E_CORRUPT, "a second document")
               : st;
}

/* Checks what the keys say together, and adds the classes. */
static sluice_status end_map(data_reader *reader)
{
    sluice_status st = SLUICE_OK;

    reader->line = 0;
    if (reader->split != NULL && reader->data->images.count == 0) {
        return sli_fail(SLUICE_E_INVALID, "there are no images of %s; keys with images are: %s",
                        reader->split,
                        reader->data->lists[0] != '\0' ? reader->data->lists : "none");
    }
    if (reader->data->nc > 0 && reader->name_count > 0 && reader->name_count != reader->data->nc) {
        return sli_fail(SLUICE_E_CORRUPT, "nc is %u, and names has %zu names; they must be equal",
                        reader->data->nc, reader->name_count);
    }
    for (size_t i = 0; i < reader->name_count && st == SLUICE_OK; i++) {
        st = reader->names[i] != 0
                 ? box_set_add_class(reader->set, reader->names[i] - 1)
                 : sli_fail(SLUICE_E_CORRUPT,
                            "names has no name of class %zu; it must have one of each from 0 to "
                            "%zu",
                            i, reader->name_count - 1);
    }
    return st;
}

static sluice_status read_text(data_reader *reader, const char *text, size_t size)
{
    sluice_status st;

    calls.yaml_parser_set_input_string(&reader->parser, (const unsigned char *)text, size);
    st = read_map(reader);
    if (reader->has_event) {
        calls.yaml_event_delete(&reader->event);
    }
    st = st == SLUICE_OK ? end_map(reader) : st;
    if (st == SLUICE_OK || st == SLUICE_E_NO_MEMORY || reader->line == 0) {
        return st;
    }
    return sli_fail_quoting(st, "line %llu: %.800s", (unsigned long long)reader->line,
                            sluice_last_error());
}

sluice_status yolo_data_read(const char *text, size_t size, const char *split, yolo_data *data,
                             box_set *set)
{
    data_reader reader = {.split = split, .data = data, .set = set};
    sluice_status st = library_load(&libyaml);

    if (st != SLUICE_OK) {
        return st;
    }
    if (calls.yaml_parser_initialize(&reader.parser) == 0) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a description of a set");
    }
    st = read_text(&reader, text, size);
    calls.yaml_parser_delete(&reader.parser);
    sli_free(reader.names);
    return st;
}
