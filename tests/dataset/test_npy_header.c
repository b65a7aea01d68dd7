/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "npy_header.h"
#include "npy_kit.h"
#include "testing.h"

static sluice_status parse(const char *dict, npy_header *header)
{
    uint8_t bytes[1000];
    const size_t size = npy_head(1, dict, bytes);

    return npy_header_parse(bytes, size, header);
}

/* What numpy.dtype() reads; one byte has no order. */
static void types_and_shapes_are_read(void)
{
    static const struct {
        const char *descrs; /* separated by spaces */
        sluice_dtype dtype;
    } types[] = {
        {"|u1 <u1 =u1 >u1 u1 B uint8 =B", SLUICE_U8}, {"|b1 <b1 =b1 >b1 b1 ? bool |?", SLUICE_U8},
        {"|i1 <i1 =i1 >i1 i1 b int8", SLUICE_I8},     {"<u2 =u2 u2 H uint16", SLUICE_U16},
        {"<u4 =u4 u4 I uint32", SLUICE_U32},          {"<i4 =i4 i4 i int32", SLUICE_I32},
        {"<i8 =i8 i8 q int64", SLUICE_I64},           {"<i2 =i2 i2 h int16", SLUICE_I16},
        {"<u8 =u8 u8 Q uint64", SLUICE_U64},          {"<f8 =f8 f8 d float64", SLUICE_F64},
        {"<f2 =f2 f2 e float16", SLUICE_F16},         {"<f4 =f4 |f4 f4 f float32", SLUICE_F32},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        char descrs[100];
        char *rest = NULL;

        snprintf(descrs, sizeof(descrs), "%s", types[i].descrs);
        for (char *one = strtok_r(descrs, " ", &rest); one != NULL;
             one = strtok_r(NULL, " ", &rest)) {
            npy_header header;
            char dict[200];

            snprintf(dict, sizeof(dict),
                     "{'descr': '%s', 'fortran_order': False, 'shape': (7, 3), }", one);
            T_OK(parse(dict, &header));
            T_EQ(header.dtype, types[i].dtype);
            T_TRUE(header.rank == 2 && header.shape[0] == 7 && header.shape[1] == 3);
            T_EQ(header.row_bytes, 3 * sluice_dtype_size(types[i].dtype));
            T_EQ(header.data_bytes, 7 * header.row_bytes);
            T_EQ(header.data_at, 128);
        }
    }
}

static void dicts_are_read_however_they_are_written(void)
{
    static const char *const dicts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }\n",
        "{\"shape\":(5,),\"descr\":\"<f4\",\"fortran_order\":False}",
        " { 'fortran_order' : False , 'shape' : ( 5 ) , 'descr' : '<f4' } ",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (5L,), }", /* Python 2 */
        "{u'descr': u'<f4', u'fortran_order': False, u'shape': (5 L,)}",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (5,)}", /* both orders are the same */
    };

    for (size_t i = 0; i < sizeof(dicts) / sizeof(dicts[0]); i++) {
        npy_header header;

        T_OK(parse(dicts[i], &header));
        T_TRUE(header.rank == 1 && header.shape[0] == 5 && header.row_bytes == 4);
    }
}

static void lengths_of_python_2_are_read(void)
{
    npy_header header;

    T_OK(parse("{'descr': '<u1', 'fortran_order': False, 'shape': (3L, 4L, 5L), }", &header));
    T_TRUE(header.rank == 3 && header.shape[0] == 3 && header.shape[1] == 4 &&
           header.shape[2] == 5);
    T_STATUS(parse("{'descr': '<u1', 'fortran_order': False, 'shape': (3LL,)}", &header),
             SLUICE_E_CORRUPT);
    T_STATUS(parse("{'descr': '<u1', 'fortran_order': False, 'shape': (L,)}", &header),
             SLUICE_E_CORRUPT);
}

/* Arrays of one element, and without elements. */
static void a_number_has_no_dimension_and_an_array_may_be_empty(void)
{
    npy_header header;

    T_OK(parse("{'descr': '<f4', 'fortran_order': True, 'shape': ()}", &header));
    T_TRUE(header.rank == 0 && header.data_bytes == 4 && !header.is_fortran);
    T_OK(parse("{'descr': '<f4', 'fortran_order': True, 'shape': (0, 4)}", &header));
    T_TRUE(header.row_bytes == 16 && header.data_bytes == 0 && !header.is_fortran);
    T_OK(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0)}", &header));
    T_TRUE(header.row_bytes == 0 && header.data_bytes == 0);
}

static void fortran_order_becomes_c_order(void)
{
    static const uint16_t stored[12] = {0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11}; /* of (2, 3, 2) */
    uint16_t elements[12];
    npy_header header;

    T_OK(parse("{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3, 2)}", &header));
    T_TRUE(header.is_fortran);
    npy_to_c_order(&header, (const uint8_t *)stored, (uint8_t *)elements);
    for (uint16_t i = 0; i < 12; i++) {
        T_EQ(elements[i], i);
    }
    T_OK(parse("{'descr': '<u2', 'fortran_order': True, 'shape': (1, 12, 1)}", &header));
    T_TRUE(!header.is_fortran);
}

/* Big-endian elements of each size, and complex numbers, whose parts are swapped alone. */
static void other_byte_orders_are_swapped(void)
{
    static const char *const descrs[] = {">u2", ">i4", ">f8", ">c8", ">c16"};
    static const size_t sizes[] = {2, 4, 8, 4, 8};

    for (size_t i = 0; i < sizeof(descrs) / sizeof(descrs[0]); i++) {
        uint8_t elements[32];
        npy_header header;
        char dict[200];

        snprintf(dict, sizeof(dict), "{'descr': '%s', 'fortran_order': False, 'shape': (2,)}",
                 descrs[i]);
        T_OK(parse(dict, &header));
        T_TRUE(header.is_swapped && header.is_complex == (i > 2));
        for (uint8_t k = 0; k < 32; k++) {
            elements[k] = k;
        }
        npy_swap(&header, elements, header.data_bytes);
        for (size_t k = 0; k < header.data_bytes; k++) {
            T_EQ(elements[k], k / sizes[i] * sizes[i] + sizes[i] - 1 - k % sizes[i]);
        }
    }
}

static void complex_numbers_are_two_floats(void)
{
    static const float stored[8] = {0, 1, 4, 5, 2, 3, 6, 7}; /* of (2, 2, 2) */
    float elements[8];
    npy_header header;

    T_OK(parse("{'descr': '<c8', 'fortran_order': True, 'shape': (2, 2)}", &header));
    T_TRUE(header.dtype == SLUICE_F32 && header.rank == 3 && header.shape[2] == 2);
    T_TRUE(header.row_bytes == 16 && header.data_bytes == 32 && header.is_fortran);
    npy_to_c_order(&header, (const uint8_t *)stored, (uint8_t *)elements);
    for (int i = 0; i < 8; i++) {
        T_TRUE(elements[i] == (float)i);
    }
    T_OK(parse("{'descr': '<c16', 'fortran_order': True, 'shape': (3,)}", &header));
    T_TRUE(header.dtype == SLUICE_F64 && header.data_bytes == 48 && !header.is_fortran);
}

static void versions_2_and_3_have_a_longer_length(void)
{
    for (unsigned version = 2; version <= 3; version++) {
        uint8_t bytes[1000];
        npy_header header;
        size_t size =
            npy_head(version, "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", bytes);

        T_OK(npy_header_parse(bytes, size, &header));
        T_TRUE(header.data_at == size && header.data_bytes == 2);
    }
}

static void bad_headers_are_refused_with_the_reason(void)
{
    static const struct {
        const char *dict;
        sluice_status status;
        const char *words;
    } bad[] = {
        {"", SLUICE_E_CORRUPT, "no dict"},
        {"{", SLUICE_E_CORRUPT, "a key"},
        {"{}", SLUICE_E_CORRUPT, "descr, fortran_order and shape must be there"},
        {"{'descr': '<f4', 'shape': (3,)}", SLUICE_E_CORRUPT, "must be there"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (3,)}", SLUICE_E_CORRUPT, "once each"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}", SLUICE_E_CORRUPT,
         "once each"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", SLUICE_E_CORRUPT,
         "bytes after the dict"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", SLUICE_E_CORRUPT, "no end"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3", SLUICE_E_CORRUPT, "no end"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 3}", SLUICE_E_CORRUPT, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", SLUICE_E_CORRUPT, "numbers"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", SLUICE_E_CORRUPT,
         "must be True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1)}",
         SLUICE_E_UNSUPPORTED, "more than 7 dimensions"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1)}", SLUICE_E_UNSUPPORTED,
         "more than 7 dimensions, with that of complex numbers"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (3,)}", SLUICE_E_UNSUPPORTED,
         "astype('float32')"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", SLUICE_E_UNSUPPORTED,
         "its elements are Python objects (pickle), and must be numbers"},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (3,)}", SLUICE_E_UNSUPPORTED,
         "element type '<U3' must be one of b1"},
        {"{'descr': '<', 'fortran_order': False, 'shape': (3,)}", SLUICE_E_UNSUPPORTED,
         "element type '<' must be"},
        {"{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (3,)}", SLUICE_E_UNSUPPORTED,
         "structs or arrays"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", SLUICE_E_UNSUPPORTED,
         "structs"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2)}",
         SLUICE_E_CORRUPT, "larger than a file"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4611686018427387904, 4)}",
         SLUICE_E_CORRUPT, "larger than a file"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
         SLUICE_E_CORRUPT, "numbers"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        npy_header header;

        T_STATUS(parse(bad[i].dict, &header), bad[i].status);
        T_CONTAINS(sluice_last_error(), bad[i].words);
    }
}

/* A header cut off at any byte, and one with any byte changed, is read or refused. */
static void damaged_headers_do_no_harm(void)
{
    uint8_t bytes[1000];
    const size_t size =
        npy_head(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (12, 3)}", bytes);
    npy_header header;

    for (size_t i = 0; i < size; i++) {
        uint8_t *part = malloc(i + 1); /* no byte more, for ASan */

        T_TRUE(part != NULL);
        memcpy(part, bytes, i);
        T_STATUS(npy_header_parse(part, i, &header), SLUICE_E_CORRUPT);
        free(part);
    }
    for (size_t i = 0; i < size * 256; i++) {
        uint8_t changed[1000];

        memcpy(changed, bytes, size);
        changed[i / 256] = (uint8_t)i;
        if (npy_header_parse(changed, size, &header) == SLUICE_OK) {
            T_TRUE(header.data_at <= size && header.rank <= SLUICE_MAX_RANK + 1);
        }
    }
}

const t_test npy_header_tests[] = {
    T_TEST(types_and_shapes_are_read),
    T_TEST(dicts_are_read_however_they_are_written),
    T_TEST(lengths_of_python_2_are_read),
    T_TEST(a_number_has_no_dimension_and_an_array_may_be_empty),
    T_TEST(fortran_order_becomes_c_order),
    T_TEST(other_byte_orders_are_swapped),
    T_TEST(complex_numbers_are_two_floats),
    T_TEST(versions_2_and_3_have_a_longer_length),
    T_TEST(bad_headers_are_refused_with_the_reason),
    T_TEST(damaged_headers_do_no_harm),
    T_END,
};
