/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_operands.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void decode_fail(const decoder *d, const char *text, const char *what)
{
    ptx_fail_text(d->path, d->line, text, what);
}

static uint16_t constant(decoder *d, uint64_t value)
{
    for (uint32_t i = PTX_SPECIALS; i < d->constant_count; i++) {
        if (d->constants[i] == value) {
            return (uint16_t)i;
        }
    }
    if (d->constant_count == REGISTERS) {
        decode_fail(d, "", "more constants than the interpreter has room for");
    }
    d->constants[d->constant_count] = value;
    return (uint16_t)d->constant_count++;
}

void decode_registers(decoder *d, const char *statement)
{
    register_bank bank = {"", 0, 0};
    char type[16];
    unsigned count = 0;
    const int found = sscanf(statement, ".reg %15s %23[^<]<%u>", type, bank.name, &count);

    if (found < 2 || d->bank_count == BANKS) {
        decode_fail(d, statement, "a declaration of registers that the interpreter does not know");
    }
    for (uint32_t i = 0; i < d->bank_count; i++) {
        if (strcmp(d->banks[i].name, bank.name) == 0 && d->banks[i].count == count) {
            return;
        }
    }
    bank.count = found == 3 ? count : 0;
    bank.first = (uint16_t)d->register_count;
    d->register_count += found == 3 ? count : 1;
    if (d->register_count > REGISTERS) {
        decode_fail(d, statement, "more registers than the interpreter has room for");
    }
    d->banks[d->bank_count++] = bank;
}

static bool named_register(const decoder *d, const char *name, uint16_t *register_out)
{
    for (uint32_t i = 0; i < d->bank_count; i++) {
        const register_bank *bank = &d->banks[i];
        const size_t length = strlen(bank->name);
        char *end = NULL;
        unsigned long index;

        if (strncmp(bank->name, name, length) != 0) {
            continue;
        }
        if (bank->count == 0 && name[length] == '\0') {
            *register_out = (uint16_t)(REGISTERS + bank->first);
            return true;
        }
        index = strtoul(name + length, &end, 10);
        if (isdigit((unsigned char)name[length]) && *end == '\0' && index < bank->count) {
            *register_out = (uint16_t)(REGISTERS + bank->first + index);
            return true;
        }
    }
    return false;
}

static bool special_register(const decoder *d, const char *name, uint16_t *register_out)
{
    static const char *const names[] = {
        [PTX_TID] = "%tid.x",
        [PTX_NTID] = "%ntid.x",
        [PTX_CTAID] = "%ctaid.x",
        [PTX_NCTAID] = "%nctaid.x",
    };

    for (uint16_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name) == 0) {
            *register_out = i;
            return true;
        }
    }
    for (uint16_t i = 0; i < d->param_count; i++) {
        if (strcmp(d->params[i], name) == 0) {
            *register_out = (uint16_t)(PTX_PARAM_0 + i);
            return true;
        }
    }
    return false;
}

/* Decimal, 0x, 0f (the bits of a float) and 0d (of a double); U at the end. */
static bool number(const char *text, uint64_t *value_out)
{
    const bool bits =
        text[0] == '0' && (text[1] == 'f' || text[1] == 'd' || text[1] == 'F' || text[1] == 'D');
    char *end = NULL;

    errno = 0;
    *value_out = bits           ? strtoull(text + 2, &end, 16)
                 : *text == '-' ? (uint64_t)strtoll(text, &end, 0)
                                : strtoull(text, &end, 0);
    if (*end == 'U') {
        end++;
    }
    return errno == 0 && end != text && *end == '\0';
}

uint16_t decode_source(decoder *d, const char *text)
{
    uint16_t found = 0;
    uint64_t value = 0;

    if (named_register(d, text, &found) || special_register(d, text, &found)) {
        return found;
    }
    if (!number(text, &value)) {
        decode_fail(d, text, "an operand that the interpreter does not know");
    }
    return constant(d, value);
}

uint16_t decode_destination(decoder *d, const char *text)
{
    uint16_t found = 0;

    if (!named_register(d, text, &found)) {
        decode_fail(d, text, "a result that is no register");
    }
    return found;
}

uint32_t decode_split(decoder *d, char *text, char **words)
{
    uint32_t count = 0;
    int depth = 0;

    if (*text == '\0') {
        return 0;
    }
    words[count++] = text;
    for (; *text != '\0'; text++) {
        depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
        if (*text == ',' && depth == 0) {
            *text = '\0';
            if (count == WORDS) {
                decode_fail(d, words[0], "more operands than the interpreter has room for");
            }
            words[count++] = text + 1;
        }
    }
    return count;
}

uint32_t decode_elements(decoder *d, char *operand, char **words)
{
    const size_t length = strlen(operand);

    if (operand[0] != '{') {
        words[0] = operand;
        return 1;
    }
    if (operand[length - 1] != '}') {
        decode_fail(d, operand, "an operand that the interpreter does not know");
    }
    operand[length - 1] = '\0';
    return decode_split(d, operand + 1, words);
}
