/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded PTX, shared by the files of the interpreter. */
#ifndef SLUICE_TEST_PTX_PROGRAM_H
#define SLUICE_TEST_PTX_PROGRAM_H

#include "ptx_machine.h"

enum { PTX_NAME = 80, PTX_OPERANDS = 4, PTX_NO_GUARD = UINT16_MAX };

typedef struct ptx_thread ptx_thread;
typedef struct ptx_insn ptx_insn;
typedef void ptx_function(ptx_thread *thread, const ptx_insn *insn);

/* The order of an access with those of other threads: PTX memory consistency model. */
typedef enum ptx_semantics {
    PTX_WEAK,
    PTX_RELAXED, /* also .volatile */
    PTX_ACQUIRE, /* of loads */
    PTX_RELEASE, /* of stores */
    PTX_ACQ_REL  /* of atomics */
} ptx_semantics;

typedef enum ptx_scope { PTX_CTA, PTX_GPU, PTX_SYS } ptx_scope;

typedef struct ptx_access {
    uint8_t bytes; /* of one element */
    uint8_t lanes; /* elements of a vector */
    uint8_t semantics;
    uint8_t scope;
    bool param;        /* of the parameters, else of global memory */
    bool non_coherent; /* ld.global.nc: nothing may write there while the kernel runs */
} ptx_access;

/* Operands are registers; constants, parameters and special registers have registers, too. */
struct ptx_insn {
    ptx_function *run;
    uint16_t guard; /* a predicate, or PTX_NO_GUARD */
    bool guard_value;
    uint16_t to[PTX_OPERANDS];
    uint16_t from[PTX_OPERANDS + 1]; /* of a store: the address, then up to four values */
    ptx_access access;
    int64_t offset;  /* of an address */
    uint32_t target; /* of a branch */
    uint32_t line;
};

/* A register whose value each launch, block or thread sets. */
typedef enum ptx_special {
    PTX_TID,
    PTX_NTID,
    PTX_CTAID,
    PTX_NCTAID,
    PTX_PARAM_0,
    PTX_PARAM_1,
    PTX_SPECIALS
} ptx_special;

struct ptx_kernel {
    char name[PTX_NAME];
    ptx_insn *insns;
    size_t insn_count;
    uint64_t *initial; /* values of the registers at the beginning: constants come first */
    uint16_t constant_count;
    uint16_t register_count;
    uint16_t specials[PTX_SPECIALS]; /* registers; each below constant_count */
    size_t param_bytes[PTX_PARAMS];
    const char *path; /* of the file */
};

struct ptx_module {
    char path[256];
    ptx_kernel *kernels;
    size_t kernel_count;
};

typedef enum ptx_state { PTX_RUNS, PTX_AT_BARRIER, PTX_AT_SHUFFLE, PTX_ENDED } ptx_state;

struct ptx_thread {
    uint64_t *r;
    uint32_t pc;
    ptx_state state;
    uint32_t block;
    uint32_t index; /* in its block */
    const ptx_launch *launch;
    ptx_counts *counts;
    const ptx_insn *shuffle; /* where it waits for its warp */
};

/* Ends the process: `what` of this instruction is not known or not allowed. */
_Noreturn void ptx_fail(const ptx_thread *thread, const ptx_insn *insn, const char *what);
_Noreturn void ptx_fail_text(const char *path, uint32_t line, const char *text, const char *what);

/* ptx_operations.c: the function of an instruction without operands in memory; NULL: none. */
ptx_function *ptx_operation(const char *mnemonic);
void ptx_pack(ptx_thread *t, const ptx_insn *i);
void ptx_unpack(ptx_thread *t, const ptx_insn *i);

/* ptx_memory.c: decodes ld, st and atom; NULL: not known. */
ptx_function *ptx_memory_operation(const char *mnemonic, ptx_access *access_out);

/* ptx_parse.c */
void ptx_parse(ptx_module *module, char *text);

#endif
