/* SPDX-License-Identifier: Apache-2.0 */
#include "voc_file.h"

#include <expat.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "box_form.h"
#include "library_calls.h"
#include "status_int.h"
#include "text_int.h"

#define EXPAT_CALLS(X)                                                                             \
    X(XML_ErrorString)                                                                             \
    X(XML_GetCurrentLineNumber)                                                                    \
    X(XML_GetErrorCode)                                                                            \
    X(XML_Parse)                                                                                   \
    X(XML_ParserCreate)                                                                            \
    X(XML_ParserFree)                                                                              \
    X(XML_ParserReset)                                                                             \
    X(XML_SetCharacterDataHandler)                                                                 \
    X(XML_SetElementHandler)                                                                       \
    X(XML_SetStartDoctypeDeclHandler)                                                              \
    X(XML_SetUserData)                                                                             \
    X(XML_StopParser)

static struct {
    EXPAT_CALLS(CALL_MEMBER)
} calls;
static const library_call call_table[] = {EXPAT_CALLS(CALL_ENTRY)};
static loaded_library libexpat = {.file = "libexpat.so.1",
                                  .name = "libexpat",
                                  .package = "libexpat1",
                                  .calls = call_table,
                                  .count = sizeof(call_table) / sizeof(call_table[0])};

/* The elements that are read. */
typedef enum element {
    NO_ELEMENT,
    ANNOTATION,
    SIZE,
    WIDTH,
    HEIGHT,
    OBJECT,
    NAME,
    DIFFICULT,
    BOX,
    XMIN, /* the corners are in the order of voc_object */
    YMIN,
    XMAX,
    YMAX,
    OTHER /* and all within it */
} element;

static const struct {
    element parent;
    element is;
    const char *name;
} elements[] = {
    {NO_ELEMENT, ANNOTATION, "annotation"},
    {ANNOTATION, SIZE, "size"},
    {SIZE, WIDTH, "width"},
    {SIZE, HEIGHT, "height"},
    {ANNOTATION, OBJECT, "object"},
    {OBJECT, NAME, "name"},
    {OBJECT, DIFFICULT, "difficult"},
    {OBJECT, BOX, "bndbox"},
    {BOX, XMIN, "xmin"},
    {BOX, YMIN, "ymin"},
    {BOX, XMAX, "xmax"},
    {BOX, YMAX, "ymax"},
};

enum { ELEMENTS = sizeof(elements) / sizeof(elements[0]), DEEPEST = 64 };

typedef struct voc_parser {
    XML_Parser xml;
    voc_file *file;
    sluice_status status;  /* of the first error */
    element open[DEEPEST]; /* the elements around the cursor, from the root on */
    uint32_t depth;
    uint32_t found; /* of the object: bit i: element i */
    voc_object object;
    char text[VOC_NAME_MOST + 1]; /* of the innermost element */
    size_t length;
} voc_parser;

/* ---- values ---------------------------------------------------------------------------------- */

/* Stops at an error, which the caller has set. */
static void stop(voc_parser *parser, sluice_status status)
{
    if (parser->status == SLUICE_OK && status != SLUICE_OK) {
        parser->status = status;
        parser->file->line = calls.XML_GetCurrentLineNumber(parser->xml);
        calls.XML_StopParser(parser->xml, XML_FALSE);
    }
}

static const char *name_of(element is)
{
    for (int i = 0; i < ELEMENTS; i++) {
        if (elements[i].is == is) {
            return elements[i].name;
        }
    }
    return "";
}

/* The text of the element, without blanks around it. */
static const char *trimmed(voc_parser *parser)
{
    static const char blanks[] = " \t\r\n";
    char *text = parser->text;

    while (parser->length > 0 && strchr(blanks, text[parser->length - 1]) != NULL) {
        parser->length--;
    }
    text[parser->length] = '\0';
    return text + strspn(text, blanks);
}

static sluice_status get_real(voc_parser *parser, element is, double *number_out)
{
    const char *text = trimmed(parser);

    return sli_parse_real(text, number_out)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "%s is '%.60s' and must be a number", name_of(is),
                          text);
}

/* Gets the width or height of the image; 0 is one that is not known. */
static sluice_status get_side(voc_parser *parser, element is, uint32_t *side_out)
{
    double number = 0;
    const sluice_status st = get_real(parser, is, &number);

    if (st != SLUICE_OK) {
        return st;
    }
    if (!(number >= 0 && number <= INT32_MAX) || (double)(uint32_t)number != number) {
        return sli_fail(SLUICE_E_CORRUPT, "%s is %.9g and must be a whole number from 0 to %d",
                        name_of(is), number, INT32_MAX);
    }
    *side_out = (uint32_t)number;
    return SLUICE_OK;
}

static sluice_status get_difficult(voc_parser *parser)
{
    const char *text = trimmed(parser);

    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0) {
        return sli_fail(SLUICE_E_CORRUPT, "difficult is '%.60s' and must be 0 or 1", text);
    }
    parser->object.is_difficult = text[0] == '1';
    return SLUICE_OK;
}

static sluice_status get_name(voc_parser *parser)
{
    voc_file *file = parser->file;
    const char *text = trimmed(parser);
    const size_t size = strlen(text) + 1;
    char *grown;

    if (size == 1) {
        return sli_fail(SLUICE_E_CORRUPT, "the name of an object is empty");
    }
    grown = sli_grow(file->names, &file->names_capacity, file->names_size + size, 1);
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the names of objects");
    }
    file->names = grown;
    memcpy(grown + file->names_size, text, size);
    parser->object.name = file->names_size;
    file->names_size += size;
    return SLUICE_OK;
}

static sluice_status get_value(voc_parser *parser, element is)
{
    double number = 0;
    sluice_status st;

    switch (is) {
    case WIDTH:
        return get_side(parser, is, &parser->file->width);
    case HEIGHT:
        return get_side(parser, is, &parser->file->height);
    case NAME:
        return get_name(parser);
    case DIFFICULT:
        return get_difficult(parser);
    default:
        st = get_real(parser, is, &number);
        parser->object.corners[is - XMIN] = (float)number;
        return st;
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

static bool has_value(element is)
{
    return is == WIDTH || is == HEIGHT || is == NAME || is == DIFFICULT ||
           (is >= XMIN && is <= YMAX);
}

static void XMLCALL begin_element(void *user, const XML_Char *name, const XML_Char **attributes)
{
    voc_parser *parser = user;
    const element parent = parser->depth > 0 ? parser->open[parser->depth - 1] : NO_ELEMENT;
    element is = OTHER;

    (void)attributes;
    for (int i = 0; i < ELEMENTS && parent != OTHER; i++) {
        if (elements[i].parent == parent && strcmp(elements[i].name, name) == 0) {
            is = elements[i].is;
        }
    }
    if (parser->depth == DEEPEST) {
        stop(parser, sli_fail(SLUICE_E_CORRUPT, "more than %d nested elements", DEEPEST));
        return;
    }
    if (parent == NO_ELEMENT && is != ANNOTATION) {
        stop(parser,
             sli_fail(SLUICE_E_CORRUPT, "the root element is %.60s, and must be annotation", name));
    } else if (is == OBJECT) {
        parser->object = (voc_object){.line = calls.XML_GetCurrentLineNumber(parser->xml)};
        parser->found = 0;
    } else if (is > OBJECT && is < OTHER && (parser->found >> is & 1) != 0) {
        stop(parser, sli_fail(SLUICE_E_CORRUPT, "a second %s of an object", name));
    }
    parser->found |= is > OBJECT && is < OTHER ? 1U << is : 0;
    parser->open[parser->depth++] = is;
    parser->length = 0;
}

/* Adds the object that ends. */
static sluice_status add_object(voc_parser *parser)
{
    static const element needed[] = {NAME, XMIN, YMIN, XMAX, YMAX};
    voc_file *file = parser->file;
    voc_object *grown;

    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if ((parser->found >> needed[i] & 1) == 0) {
            return sli_fail(SLUICE_E_CORRUPT, "an object has no %s", name_of(needed[i]));
        }
    }
    grown = sli_grow(file->objects, &file->object_capacity, file->object_count + 1, sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the objects of an image");
    }
    file->objects = grown;
    box_to_corners(BOX_VOC, parser->object.corners);
    grown[file->object_count++] = parser->object;
    return SLUICE_OK;
}

static void XMLCALL end_element(void *user, const XML_Char *name)
{
    voc_parser *parser = user;
    const element is = parser->open[--parser->depth];

    (void)name;
    if (has_value(is)) {
        stop(parser, get_value(parser, is));
    } else if (is == OBJECT) {
        stop(parser, add_object(parser));
    }
    parser->length = 0;
}

static void XMLCALL add_text(void *user, const XML_Char *text, int length)
{
    voc_parser *parser = user;

    if (parser->depth == 0 || !has_value(parser->open[parser->depth - 1])) {
        return;
    }
    if ((size_t)length > VOC_NAME_MOST - parser->length) {
        stop(parser, sli_fail(SLUICE_E_CORRUPT, "%s has more than %d bytes",
                              name_of(parser->open[parser->depth - 1]), VOC_NAME_MOST));
        return;
    }
    memcpy(parser->text + parser->length, text, (size_t)length);
    parser->length += (size_t)length;
}

/* A document type may declare entities that grow without limit, or that are other files. */
static void XMLCALL refuse_doctype(void *user, const XML_Char *name, const XML_Char *system_id,
                                   const XML_Char *public_id, int has_internal_subset)
{
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_internal_subset;
    stop(user, sli_fail(SLUICE_E_UNSUPPORTED,
                        "a document type (DOCTYPE) is not read; remove its declaration"));
}

/* ---- a file ---------------------------------------------------------------------------------- */

static sluice_status open_parser(voc_file *file)
{
    sluice_status st = library_load(&libexpat);

    if (st != SLUICE_OK) {
        return st;
    }
    file->parser = sli_calloc(1, sizeof(*file->parser));
    if (file->parser != NULL) {
        file->parser->xml = calls.XML_ParserCreate(NULL);
    }
    return file->parser != NULL && file->parser->xml != NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_NO_MEMORY, "a parser of XML");
}

/* Prepares the parser for the next file. */
static sluice_status reset(voc_file *file)
{
    voc_parser *parser = file->parser;
    const XML_Parser xml = parser->xml;

    file->width = 0;
    file->height = 0;
    file->names_size = 0;
    file->object_count = 0;
    file->line = 0;
    parser->file = file;
    parser->status = SLUICE_OK;
    parser->depth = 0;
    parser->length = 0;
    if (calls.XML_ParserReset(xml, NULL) == XML_FALSE) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a parser of XML");
    }
    calls.XML_SetUserData(xml, parser);
    calls.XML_SetElementHandler(xml, begin_element, end_element);
    calls.XML_SetCharacterDataHandler(xml, add_text);
    calls.XML_SetStartDoctypeDeclHandler(xml, refuse_doctype);
    return SLUICE_OK;
}

sluice_status voc_file_read(voc_file *file, const char *text, size_t size)
{
    sluice_status st = file->parser == NULL ? open_parser(file) : SLUICE_OK;
    voc_parser *parser = file->parser;
    enum XML_Error error;

    if (st == SLUICE_OK) {
        st = reset(file);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (size > VOC_FILE_MOST) {
        return sli_fail(SLUICE_E_CORRUPT, "the file must have at most %d bytes", VOC_FILE_MOST);
    }
    if (calls.XML_Parse(parser->xml, text, (int)size, XML_TRUE) == XML_STATUS_OK ||
        parser->status != SLUICE_OK) {
        return parser->status;
    }
    error = calls.XML_GetErrorCode(parser->xml);
    file->line = calls.XML_GetCurrentLineNumber(parser->xml);
    return error == XML_ERROR_NO_MEMORY
               ? sli_fail(SLUICE_E_NO_MEMORY, "a parser of XML")
               : sli_fail(SLUICE_E_CORRUPT, "this is not XML: %s", calls.XML_ErrorString(error));
}

void voc_file_free(voc_file *file)
{
    if (file->parser != NULL && file->parser->xml != NULL) {
        calls.XML_ParserFree(file->parser->xml);
    }
    sli_free(file->parser);
    sli_free(file->names);
    sli_free(file->objects);
    *file = (voc_file){.parser = NULL};
}
