/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel as it is decoded: its registers, labels and operands. */
#ifndef SLUICE_TEST_PTX_OPERANDS_H
#define SLUICE_TEST_PTX_OPERANDS_H

#include "ptx_program.h"

enum { REGISTERS = 16384, BANKS = 64, LABELS = 4096, INSNS = 65536, WORDS = 16 };

/* Registers `name`0 to `name`(count - 1), or one of this name if count is 0. */
typedef struct register_bank {
    char name[24];
    uint32_t count;
    uint16_t first;
} register_bank;

typedef struct label {
    char name[32];
    uint32_t insn;
} label;

/* A kernel as it is decoded. Constants get registers from 0 on; others follow when all are known,
 * and until then have numbers from REGISTERS on. */
typedef struct decoder {
    ptx_kernel *kernel;
    const char *path;
    uint32_t line;
    uint64_t constants[REGISTERS];
    uint32_t constant_count;
    register_bank banks[BANKS];
    uint32_t bank_count;
    uint32_t register_count;
    label labels[LABELS];
    uint32_t label_count;
    char (*targets)[32]; /* for each instruction, the label that it goes to */
    char params[PTX_PARAMS][PTX_NAME];
    uint32_t param_count;
} decoder;

/* Ends the process: `text`, of the line at hand, is `what`. */
_Noreturn void decode_fail(const decoder *d, const char *text, const char *what);

/* A declaration: `.reg .b32 %r<67>` or `.reg .b16 tmp`. */
void decode_registers(decoder *d, const char *statement);

/* The register of an operand that is read (a constant has one, too), and of one that is written. */
uint16_t decode_source(decoder *d, const char *text);
uint16_t decode_destination(decoder *d, const char *text);

/* Cuts operands at commas outside brackets; returns their number. Blanks are gone already. */
uint32_t decode_split(decoder *d, char *text, char **words);

/* {a,b}: its elements; else the operand itself. */
uint32_t decode_elements(decoder *d, char *operand, char **words);

#endif
