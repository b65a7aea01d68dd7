/* SPDX-License-Identifier: Apache-2.0 */
#include "show_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { SHAPE_SIZE = 24 * (SLUICE_MAX_RANK + 1) };

bool show_is_integer(sluice_dtype dtype)
{
    return dtype != SLUICE_F32 && dtype != SLUICE_F16 && dtype != SLUICE_BF16 &&
           dtype != SLUICE_F64 && dtype != SLUICE_U64;
}

bool show_is_zeroed(const sluice_batch *batch, uint32_t row)
{
    const sluice_tensor *mask = &batch->inputs[batch->input_count - 1];

    return ((const uint8_t *)mask->data)[row] == 0;
}

static int64_t at_most_i64(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

int64_t show_integer(sluice_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
    case SLUICE_U8:
        return ((const uint8_t *)data)[i];
    case SLUICE_I8:
        return ((const int8_t *)data)[i];
    case SLUICE_I16:
        return ((const int16_t *)data)[i];
    case SLUICE_U16:
        return ((const uint16_t *)data)[i];
    case SLUICE_U32:
        return ((const uint32_t *)data)[i];
    case SLUICE_I32:
        return ((const int32_t *)data)[i];
    case SLUICE_I64:
        return ((const int64_t *)data)[i];
    case SLUICE_U64:
        return at_most_i64(((const uint64_t *)data)[i]);
    default:
        return 0;
    }
}

/* Converts IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits. */
static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 0x1F;
    const int fraction = bits & 0x3FF;
    double value;

    if (exponent == 0x1F) {
        value = fraction != 0 ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        value = ldexp(fraction, -24);
    } else {
        value = ldexp(fraction + 1024, exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

/* Converts bf16, which is the upper half of a binary32. */
static double bf16_value(uint16_t bits)
{
    const uint32_t whole = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &whole, sizeof(value));
    return (double)value;
}

double show_real(sluice_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
    case SLUICE_F32:
        return (double)((const float *)data)[i];
    case SLUICE_F64:
        return ((const double *)data)[i];
    case SLUICE_U64:
        return (double)((const uint64_t *)data)[i];
    case SLUICE_F16:
        return half_value(((const uint16_t *)data)[i]);
    case SLUICE_BF16:
        return bf16_value(((const uint16_t *)data)[i]);
    default:
        return (double)show_integer(dtype, data, i);
    }
}

static void add_integer(column_range *range, int64_t value)
{
    range->low = range->count == 0 || value < range->low ? value : range->low;
    range->high = range->count == 0 || value > range->high ? value : range->high;
    range->sum += (double)value;
    range->count++;
}

static void add_real(column_range *range, double value)
{
    range->least = range->count == 0 ? value : fmin(range->least, value);
    range->most = range->count == 0 ? value : fmax(range->most, value);
    range->sum += value;
    range->count++;
}

/* Writes as many of the first values as fit, followed by "..." if there are more. */
static void write_first(column_range *range, const sluice_tensor *tensor, size_t count)
{
    const size_t room = COLUMN_FIRST_SIZE - sizeof(" ...");
    size_t used = 0;
    size_t i = 0;
    char text[32];

    while (i < count) {
        const int length =
            show_is_integer(tensor->dtype)
                ? snprintf(text, sizeof(text), " %" PRId64,
                           show_integer(tensor->dtype, tensor->data, i))
                : snprintf(text, sizeof(text), " %.6g", show_real(tensor->dtype, tensor->data, i));

        if (used + (size_t)length > room) {
            break;
        }
        memcpy(range->first + used, text, (size_t)length);
        used += (size_t)length;
        i++;
    }
    strcpy(range->first + used, i < count ? " ..." : "");
}

/* True if the first values of the column are printed; false for images. */
static bool is_short(const sluice_tensor *tensor)
{
    return tensor->rank <= 2 || (tensor->rank == 3 && tensor->shape[1] * tensor->shape[2] <= 64);
}

void show_range_add(column_range *range, const sluice_tensor *tensor, uint32_t rows)
{
    const size_t count = tensor->bytes / sluice_dtype_size(tensor->dtype) / tensor->shape[0] * rows;
    const bool is_integer = show_is_integer(tensor->dtype);

    if (range->count == 0 && rows > 0 && is_short(tensor)) {
        write_first(range, tensor, tensor->rank == 1 ? rows : count / rows);
    }
    for (size_t i = 0; i < count; i++) {
        if (is_integer) {
            add_integer(range, show_integer(tensor->dtype, tensor->data, i));
        } else {
            add_real(range, show_real(tensor->dtype, tensor->data, i));
        }
    }
}

/* Writes the shape, (rows, ...), in numpy's notation. */
static void write_shape(const sluice_column *column, uint64_t rows, char text[SHAPE_SIZE])
{
    int used = snprintf(text, SHAPE_SIZE, "(%" PRIu64, rows);

    for (uint32_t i = 0; i < column->rank; i++) {
        used += snprintf(text + used, (size_t)(SHAPE_SIZE - used), ", %" PRIu64, column->shape[i]);
    }
    snprintf(text + used, (size_t)(SHAPE_SIZE - used), "%s)", column->rank == 0 ? "," : "");
}

static void print_range(const column_range *range, bool is_integer)
{
    if (range->count == 0) {
        printf("  %10s  %10s  %10s\n", "-", "-", "-");
    } else if (is_integer) {
        printf("  %10" PRId64 "  %10" PRId64 "  %10.6g\n", range->low, range->high,
               range->sum / (double)range->count);
    } else {
        printf("  %10.6g  %10.6g  %10.6g\n", range->least, range->most,
               range->sum / (double)range->count);
    }
}

void show_print_table(const sluice_channel_info *info, const column_range *ranges, uint64_t rows)
{
    char shape[SHAPE_SIZE];
    int name_width = (int)strlen("column");
    int shape_width = (int)strlen("shape");

    for (uint32_t i = 0; i < info->column_count; i++) {
        const int name = (int)strlen(info->columns[i].name);

        write_shape(&info->columns[i], rows, shape);
        name_width = name > name_width ? name : name_width;
        shape_width = (int)strlen(shape) > shape_width ? (int)strlen(shape) : shape_width;
    }
    printf("%-*s  dtype  %-*s  %10s  %10s  %10s\n", name_width, "column", shape_width, "shape",
           "min", "max", "mean");
    for (uint32_t i = 0; i < info->column_count; i++) {
        const sluice_column *column = &info->columns[i];
        const int name = (int)strlen(column->name);

        write_shape(column, rows, shape);
        cli_print_name(column->name);
        printf("%*s  %-5s  %-*s", name_width - name, "", sluice_dtype_name(column->dtype),
               shape_width, shape);
        print_range(&ranges[i], show_is_integer(column->dtype));
    }
    for (uint32_t i = 0; i < info->column_count; i++) {
        if (ranges[i].first[0] != '\0') {
            cli_print_name(info->columns[i].name);
            printf("%s:%s\n", info->columns[i].rank > 0 ? ", first row" : "", ranges[i].first);
        }
    }
}
