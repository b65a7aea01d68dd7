/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_header.h"

#include <stdbool.h>
#include <string.h>

#include "status_int.h"

static const uint64_t MOST_BYTES = UINT64_C(1) << 62;

/* The unparsed rest of the header's Python dict. */
typedef struct npy_text {
    const char *at;
    const char *end;
} npy_text;

static sluice_status bad_header(const char *why)
{
    return sli_fail(SLUICE_E_CORRUPT, "the header of the .npy file is corrupt: %s", why);
}

static void skip_blanks(npy_text *text)
{
    while (text->at < text->end && strchr(" \t\r\n", *text->at) != NULL && *text->at != '\0') {
        text->at++;
    }
}

/* Skips blanks, then consumes the character `want`. False: the next character differs. */
static bool take(npy_text *text, char want)
{
    skip_blanks(text);
    if (text->at == text->end || *text->at != want) {
        return false;
    }
    text->at++;
    return true;
}

/* Skips blanks, then consumes the word `want`. False: the text differs. */
static bool take_word(npy_text *text, const char *want)
{
    const size_t length = strlen(want);

    skip_blanks(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, want, length) != 0) {
        return false;
    }
    text->at += length;
    return true;
}

/* Consumes a quoted string without escapes, as used for descr and the keys. u'...' is Python 2's.
 */
static bool take_string(npy_text *text, char *string, size_t size)
{
    char quote;
    size_t length = 0;

    (void)take(text, 'u');
    quote = take(text, '\'') ? '\'' : take(text, '"') ? '"' : '\0';
    while (quote != '\0' && text->at < text->end && *text->at != quote) {
        if (*text->at == '\\' || *text->at == '\0' || length + 1 == size) {
            return false;
        }
        string[length++] = *text->at++;
    }
    string[length] = '\0';
    return quote != '\0' && take(text, quote);
}

static bool take_number(npy_text *text, uint64_t *number_out)
{
    uint64_t number = 0;
    const char *begin;

    skip_blanks(text);
    begin = text->at;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        number = number * 10 + (uint64_t)(*text->at - '0');
        if (number > MOST_BYTES) {
            return false;
        }
    }
    *number_out = number;
    return text->at > begin;
}

/* The types as numpy.dtype() reads them, without the byte order: code and size, character, name. */
static const struct {
    const char *words[3];
    sluice_dtype dtype;
} types[] = {
    {{"u1", "B", "uint8"}, SLUICE_U8},      {{"b1", "?", "bool"}, SLUICE_U8},
    {{"i1", "b", "int8"}, SLUICE_I8},       {{"u2", "H", "uint16"}, SLUICE_U16},
    {{"i2", "h", "int16"}, SLUICE_I16},     {{"u4", "I", "uint32"}, SLUICE_U32},
    {{"i4", "i", "int32"}, SLUICE_I32},     {{"u8", "Q", "uint64"}, SLUICE_U64},
    {{"i8", "q", "int64"}, SLUICE_I64},     {{"f2", "e", "float16"}, SLUICE_F16},
    {{"f4", "f", "float32"}, SLUICE_F32},   {{"f8", "d", "float64"}, SLUICE_F64},
    {{"c8", "F", "complex64"}, SLUICE_F32}, {{"c16", "D", "complex128"}, SLUICE_F64},
};

/* Finds a type by its text without the byte order. False: there is none. */
static bool find_type(const char *word, npy_header *header)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (size_t k = 0; k < 3; k++) {
            if (strcmp(word, types[i].words[k]) == 0) {
                header->dtype = types[i].dtype;
                header->is_complex = types[i].words[0][0] == 'c';
                return true;
            }
        }
    }
    return false;
}

static sluice_status parse_type(npy_text *text, npy_header *header)
{
    char descr[32];
    const char *word = descr;

    skip_blanks(text);
    if (text->at < text->end && (*text->at == '[' || *text->at == '(')) {
        return sli_fail(
            SLUICE_E_UNSUPPORTED,
            "its elements are structs or arrays; save each field as an array of its own");
    }
    if (!take_string(text, descr, sizeof(descr))) {
        return bad_header("descr is not a short string");
    }
    word += descr[0] != '\0' && strchr("<>=|", descr[0]) != NULL;
    if (strcmp(word, "O") == 0 || strcmp(word, "object") == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "its elements are Python objects (pickle), and must be numbers; rows of "
                        "different lengths become one array with zeros after them, and an array "
                        "of their lengths");
    }
    if (!find_type(word, header)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "its element type '%s' must be one of b1, u1, u2, u4, u8, i1, i2, i4, i8, "
                        "f2, f4, f8, c8, c16; convert it before np.save, for instance by "
                        "astype('float32')",
                        descr);
    }
    /* An element of one byte has no order, whatever its mark. */
    header->is_swapped = descr[0] == '>' && sluice_dtype_size(header->dtype) > 1;
    return SLUICE_OK;
}

static sluice_status parse_order(npy_text *text, npy_header *header)
{
    header->is_fortran = take_word(text, "True");
    return header->is_fortran || take_word(text, "False")
               ? SLUICE_OK
               : bad_header("fortran_order must be True or False");
}

/* Parses a tuple of lengths. Python 2 wrote them as 3L. */
static sluice_status parse_shape(npy_text *text, npy_header *header)
{
    bool ends = false;

    header->rank = 0;
    if (!take(text, '(')) {
        return bad_header("shape must be a tuple");
    }
    while (!(ends = take(text, ')'))) {
        uint64_t length;

        if (!take_number(text, &length)) {
            return bad_header("shape must be a tuple of numbers");
        }
        (void)take(text, 'L');
        if (header->rank == SLUICE_MAX_RANK + 1) {
            return sli_fail(SLUICE_E_UNSUPPORTED, "it has more than %d dimensions",
                            SLUICE_MAX_RANK + 1);
        }
        header->shape[header->rank++] = length;
        if (!take(text, ',')) {
            ends = take(text, ')');
            break;
        }
    }
    return ends ? SLUICE_OK : bad_header("shape has no end");
}

/* The keys of the dict; each must occur exactly once. */
enum { KEY_DESCR, KEY_ORDER, KEY_SHAPE, KEYS };

static const char *const keys[KEYS] = {"descr", "fortran_order", "shape"};

static sluice_status parse_value(npy_text *text, int key, npy_header *header)
{
    switch (key) {
    case KEY_DESCR:
        return parse_type(text, header);
    case KEY_ORDER:
        return parse_order(text, header);
    default:
        return parse_shape(text, header);
    }
}

static sluice_status parse_dict(npy_text *text, npy_header *header)
{
    bool seen[KEYS] = {false};
    int count = 0;
    sluice_status st;

    if (!take(text, '{')) {
        return bad_header("no dict");
    }
    while (!take(text, '}')) {
        char name[32];
        int key = 0;

        if (!take_string(text, name, sizeof(name)) || !take(text, ':')) {
            return bad_header("a key is not a string with a value");
        }
        while (key < KEYS && strcmp(keys[key], name) != 0) {
            key++;
        }
        if (key == KEYS || seen[key]) {
            return bad_header("its keys must be descr, fortran_order and shape, once each");
        }
        seen[key] = true;
        count++;
        st = parse_value(text, key, header);
        if (st != SLUICE_OK) {
            return st;
        }
        if (!take(text, ',')) {
            if (!take(text, '}')) {
                return bad_header("the dict has no end");
            }
            break;
        }
    }
    return count == KEYS ? SLUICE_OK : bad_header("descr, fortran_order and shape must be there");
}

/* Multiplies a number of bytes by a length. False: the product is more than a file can have. */
static bool multiply(uint64_t *bytes, uint64_t length)
{
    return !__builtin_mul_overflow(*bytes, length, bytes) && *bytes <= MOST_BYTES;
}

static sluice_status find_sizes(npy_header *header)
{
    uint32_t long_dimensions = 0; /* dimensions with more than one index */

    for (uint32_t i = 0; i < header->rank; i++) {
        long_dimensions += header->shape[i] > 1;
    }
    if (header->is_complex) {
        if (header->rank == SLUICE_MAX_RANK + 1) {
            return sli_fail(SLUICE_E_UNSUPPORTED,
                            "it has more than %d dimensions, with that of "
                            "complex numbers",
                            SLUICE_MAX_RANK + 1);
        }
        header->shape[header->rank++] = 2;
    }
    header->row_bytes = sluice_dtype_size(header->dtype);
    for (uint32_t i = 1; i < header->rank; i++) {
        if (!multiply(&header->row_bytes, header->shape[i])) {
            return bad_header("shape is larger than a file can be");
        }
    }
    header->data_bytes = header->row_bytes;
    if (header->rank > 0 && !multiply(&header->data_bytes, header->shape[0])) {
        return bad_header("shape is larger than a file can be");
    }
    header->is_fortran = header->is_fortran && long_dimensions > 1 && header->data_bytes > 0;
    return SLUICE_OK;
}

sluice_status npy_header_parse(const uint8_t *bytes, size_t size, npy_header *header_out)
{
    static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    npy_header header = {.rank = 0};
    uint64_t begin = 10;
    uint64_t length;
    npy_text text;
    sluice_status st;

    if (size < 12 || memcmp(bytes, magic, sizeof(magic)) != 0) {
        return sli_fail(SLUICE_E_CORRUPT, "this is not a .npy file");
    }
    if (bytes[6] < 1 || bytes[6] > 3) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "its version of the .npy format, %u, must be 1 to 3",
                        bytes[6]);
    }
    length = bytes[8] | (uint64_t)bytes[9] << 8;
    if (bytes[6] > 1) {
        length |= (uint64_t)bytes[10] << 16 | (uint64_t)bytes[11] << 24;
        begin = 12;
    }
    if (length > size - begin) {
        return size < NPY_HEAD
                   ? bad_header("the file ends within it")
                   : sli_fail(SLUICE_E_UNSUPPORTED, "its header has %llu bytes, more than %d",
                              (unsigned long long)length, NPY_HEAD);
    }
    text = (npy_text){(const char *)bytes + begin, (const char *)bytes + begin + length};
    st = parse_dict(&text, &header);
    if (st == SLUICE_OK) {
        skip_blanks(&text);
        st = text.at == text.end ? find_sizes(&header) : bad_header("bytes after the dict");
    }
    if (st == SLUICE_OK) {
        header.data_at = begin + length;
        *header_out = header;
    }
    return st;
}

void npy_to_c_order(const npy_header *header, const uint8_t *from, uint8_t *to)
{
    const size_t size = sluice_dtype_size(header->dtype) * (header->is_complex ? 2 : 1);
    const uint32_t rank = header->rank - header->is_complex;
    const uint64_t count = header->data_bytes / size;
    uint64_t at[SLUICE_MAX_RANK + 1] = {0};   /* index of the element in `from` */
    uint64_t step[SLUICE_MAX_RANK + 1] = {0}; /* elements of `to` from an index to the next one */
    uint64_t element = 0;                     /* offset of the element in `to` */

    for (uint32_t i = rank; i > 0; i--) {
        step[i - 1] = i == rank ? 1 : step[i] * header->shape[i];
    }
    for (uint64_t n = 0; n < count; n++) {
        memcpy(to + element * size, from + n * size, size);
        element += step[0];
        at[0]++;
        for (uint32_t i = 0; i + 1 < rank && at[i] == header->shape[i]; i++) {
            element -= step[i] * at[i];
            at[i] = 0;
            element += step[i + 1];
            at[i + 1]++;
        }
    }
}

void npy_swap(const npy_header *header, uint8_t *elements, uint64_t bytes)
{
    const size_t size = header->is_swapped ? sluice_dtype_size(header->dtype) : 1;
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    for (uint64_t at = 0; size == 2 && at < bytes; at += 2) {
        memcpy(&two, elements + at, 2);
        two = __builtin_bswap16(two);
        memcpy(elements + at, &two, 2);
    }
    for (uint64_t at = 0; size == 4 && at < bytes; at += 4) {
        memcpy(&four, elements + at, 4);
        four = __builtin_bswap32(four);
        memcpy(elements + at, &four, 4);
    }
    for (uint64_t at = 0; size == 8 && at < bytes; at += 8) {
        memcpy(&eight, elements + at, 8);
        eight = __builtin_bswap64(eight);
        memcpy(elements + at, &eight, 8);
    }
}
