/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_lines.h"

#include <inttypes.h>
#include <string.h>

#include "escaped_text.h"
#include "fault_int.h"

static const char COLUMNS[] = "key\tfield\tlabel\tfate\tbytes_in\tbytes_out\tname\twhy";

enum { FIELDS = 8 };

/* ---- outcomes ------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *text;
} fates[] = {
#define FATE(name, number, word, text) [number] = {word, text},
    SLUICE_PACK_FATE_MAP(FATE)
#undef FATE
};

enum { FATES = sizeof(fates) / sizeof(fates[0]) };
_Static_assert((int)FATES <= (int)SLUICE_PACK_FATES, "counters for all fates");

const char *sluice_pack_fate_name(sluice_pack_fate fate)
{
    return (unsigned)fate < FATES ? fates[fate].name : "?";
}

const char *sluice_pack_fate_text(sluice_pack_fate fate)
{
    return (unsigned)fate < FATES ? fates[fate].text : "?";
}

static bool find_fate(const char *name, sluice_pack_fate *fate_out)
{
    for (unsigned i = 0; i < FATES; i++) {
        if (strcmp(fates[i].name, name) == 0) {
            *fate_out = (sluice_pack_fate)i;
            return true;
        }
    }
    return false;
}

/* ---- writing -------------------------------------------------------------------------------- */

void pack_lines_begin(sli_text *text)
{
    sli_text_add(text, "%s\n", COLUMNS);
}

void pack_lines_add(sli_text *text, const char *key, const packed_sample *sample)
{
    sli_text_add(text, "%s\t%s\t", key,
                 pack_is_left_out(sample->fate) || sample->field[0] == '\0' ? "-" : sample->field);
    if (sample->has_label) {
        sli_text_add(text, "%" PRId32, sample->label);
    } else {
        sli_text_add(text, "-");
    }
    sli_text_add(text, "\t%s\t%" PRIu64 "\t%" PRIu64 "\t", sluice_pack_fate_name(sample->fate),
                 sample->bytes_in, sample->bytes_out);
    escaped_text_add(text, sample->name);
    sli_text_add(text, "\t");
    escaped_text_add(text, sample->why);
    sli_text_add(text, "\n");
}

void pack_lines_end(sli_text *text, uint64_t tar_bytes, uint64_t next)
{
    sli_text_add(text, "#end\t%" PRIu64 "\t%" PRIu64 "\n", tar_bytes, next);
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool read_number(const char *text, uint64_t *number_out)
{
    uint64_t number = 0;

    if (*text == '\0') {
        return false;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number)) {
            return false;
        }
    }
    *number_out = number;
    return *text == '\0';
}

/*
 * Splits a line into fields, in place. Returns the number of fields, or FIELDS + 1 if there are
 * more than FIELDS.
 */
static int cut_fields(char *line, char **fields)
{
    int count = 0;

    while (count < FIELDS) {
        fields[count++] = line;
        line += strcspn(line, "\t");
        if (*line == '\0') {
            return count;
        }
        *line++ = '\0';
    }
    return FIELDS + 1;
}

static bool read_line(char **fields, pack_line *line)
{
    if (!read_number(fields[0], &line->position) || !find_fate(fields[3], &line->fate) ||
        !read_number(fields[4], &line->bytes_in) || !read_number(fields[5], &line->bytes_out)) {
        return false;
    }
    escaped_text_undo(fields[6], fields[6] + strlen(fields[6]));
    escaped_text_undo(fields[7], fields[7] + strlen(fields[7]));
    line->name = fields[6];
    line->why = fields[7];
    /* Earlier versions did not write LEFT_FAULT; it is derived from the reason. */
    if (line->fate == SLUICE_PACK_LEFT_UNREADABLE &&
        sli_fault_of_text(line->why) != SLI_FAULT_NONE) {
        line->fate = SLUICE_PACK_LEFT_FAULT;
    }
    return true;
}

bool pack_lines_read(char *text, void (*each)(void *arg, const pack_line *line), void *arg,
                     uint64_t *tar_bytes_out, uint64_t *next_out)
{
    bool is_first = true;

    for (char *line = text; *line != '\0'; is_first = false) {
        char *fields[FIELDS + 1];
        char *end = strchr(line, '\n');
        pack_line read;
        int count;

        if (end == NULL) {
            return false;
        }
        *end = '\0';
        if (is_first) {
            if (strcmp(line, COLUMNS) != 0) {
                return false;
            }
            line = end + 1;
            continue;
        }
        count = cut_fields(line, fields);
        if (count == 3 && strcmp(fields[0], "#end") == 0) {
            return end[1] == '\0' && read_number(fields[1], tar_bytes_out) &&
                   read_number(fields[2], next_out);
        }
        if (count != FIELDS || !read_line(fields, &read)) {
            return false;
        }
        each(arg, &read);
        line = end + 1;
    }
    return false;
}
