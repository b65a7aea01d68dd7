/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the text of PTX as nvcc writes it: kernels without functions, shared memory or variables
 * of their own. Statements end with a semicolon; blocks in braces have no meaning but for names,
 * which are never given twice to registers of different kinds.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_operands.h"

static void *allocated(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* [base+offset] */
static void decode_address(decoder *d, char *operand, ptx_insn *insn)
{
    char *end = strchr(operand, ']');
    char *plus = strchr(operand, '+');

    if (operand[0] != '[' || end == NULL || end[1] != '\0') {
        decode_fail(d, operand, "an address that the interpreter does not know");
    }
    *end = '\0';
    if (plus != NULL) {
        char *rest = NULL;

        *plus = '\0';
        insn->offset = strtoll(plus + 1, &rest, 10);
        if (rest == plus + 1 || *rest != '\0') {
            decode_fail(d, plus + 1, "an offset that is no number");
        }
    }
    insn->from[0] = decode_source(d, operand + 1);
}

static void need(decoder *d, bool right, const char *mnemonic)
{
    if (!right) {
        decode_fail(d, mnemonic, "operands that the interpreter does not know");
    }
}

static void decode_memory(decoder *d, const char *mnemonic, char **operands, uint32_t count,
                          ptx_insn *insn)
{
    const bool stores = mnemonic[0] == 's';
    const bool atomic = mnemonic[0] == 'a';
    char *words[WORDS];
    uint32_t lanes;

    need(d, count == (atomic ? 3U : 2U), mnemonic);
    decode_address(d, operands[stores ? 0 : 1], insn);
    lanes = decode_elements(d, operands[stores ? 1 : 0], words);
    need(d, lanes == insn->access.lanes && lanes <= PTX_OPERANDS, mnemonic);
    for (uint32_t i = 0; i < lanes; i++) {
        if (stores) {
            insn->from[1 + i] = decode_source(d, words[i]);
        } else {
            insn->to[i] = decode_destination(d, words[i]);
        }
    }
    if (atomic) {
        insn->from[1] = decode_source(d, operands[2]);
    }
}

/* A parameter of a call is a register of its name: st.param.b64 [param0],%rd1 */
static void decode_argument(decoder *d, const char *mnemonic, char **operands, uint32_t count,
                            ptx_insn *insn)
{
    need(d, count == 2 && operands[0][0] == '[', mnemonic);
    operands[0][strcspn(operands[0], "+]")] = '\0'; /* the offset is 0 */
    insn->run = ptx_operation("mov.b64");
    insn->to[0] = decode_destination(d, operands[0] + 1);
    insn->from[0] = decode_source(d, operands[1]);
}

/* call.uni NAME,(param0,param1) */
static void decode_call(decoder *d, char **operands, uint32_t count, ptx_insn *insn)
{
    char name[PTX_NAME];

    need(d, count == 3 && operands[1][0] == '(', "call.uni");
    snprintf(name, sizeof(name), "call.uni %s", operands[0]);
    insn->run = ptx_operation(name);
    if (insn->run == NULL) {
        decode_fail(d, name, "a call that the interpreter does not know");
    }
    operands[2][strcspn(operands[2], ")")] = '\0';
    insn->from[0] = decode_source(d, operands[1] + 1);
    insn->from[1] = decode_source(d, operands[2]);
}

/* add.f32 and the like, without a rounding: ptxas may fuse them, so their bits are not known. */
static bool may_be_fused(const char *mnemonic)
{
    static const char *const names[] = {"add.f32", "sub.f32", "mul.f32",
                                        "add.f64", "sub.f64", "mul.f64"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], mnemonic) == 0) {
            return true;
        }
    }
    return false;
}

static void decode_operation(decoder *d, const char *mnemonic, char **operands, uint32_t count,
                             ptx_insn *insn)
{
    insn->run = ptx_operation(mnemonic);
    if (may_be_fused(mnemonic)) {
        decode_fail(d, mnemonic,
                    "may be fused with another instruction: compile with --fmad=false");
    }
    if (insn->run == NULL) {
        decode_fail(d, mnemonic, "an instruction that the interpreter does not know");
    }
    if (strncmp(mnemonic, "bra", 3) == 0) {
        need(d, count == 1, mnemonic);
        snprintf(d->targets[d->kernel->insn_count], sizeof(d->targets[0]), "%s", operands[0]);
        return;
    }
    if (strcmp(mnemonic, "nanosleep.u32") == 0 || strcmp(mnemonic, "bar.sync") == 0 ||
        strcmp(mnemonic, "bar.warp.sync") == 0) {
        need(d, count == 1, mnemonic);
        insn->from[0] = decode_source(d, operands[0]);
        return;
    }
    need(d, count <= PTX_OPERANDS + 1, mnemonic);
    for (uint32_t i = 0; i < count; i++) {
        char *second = strchr(operands[i], '|');

        if (i == 0 && second != NULL) {
            *second = '\0';
            insn->to[1] = decode_destination(d, second + 1);
        }
        if (i == 0) {
            insn->to[0] = decode_destination(d, operands[0]);
        } else {
            insn->from[i - 1] = decode_source(d, operands[i]);
        }
    }
}

/* mov.b32 {low,high},%r1 and mov.b32 %r1,{low,high} of halves; mov.b64 */
static bool decode_halves(decoder *d, const char *mnemonic, char **operands, uint32_t count,
                          ptx_insn *insn)
{
    char *words[WORDS];

    if (strncmp(mnemonic, "mov.b", 5) != 0 || count != 2 ||
        (operands[0][0] != '{' && operands[1][0] != '{')) {
        return false;
    }
    insn->offset = strtol(mnemonic + 5, NULL, 10) / 2;
    need(d, insn->offset == 16 || insn->offset == 32, mnemonic);
    if (operands[0][0] == '{') {
        need(d, decode_elements(d, operands[0], words) == 2, mnemonic);
        insn->to[0] = decode_destination(d, words[0]);
        insn->to[1] = decode_destination(d, words[1]);
        insn->from[0] = decode_source(d, operands[1]);
        insn->run = ptx_unpack;
    } else {
        need(d, decode_elements(d, operands[1], words) == 2, mnemonic);
        insn->to[0] = decode_destination(d, operands[0]);
        insn->from[0] = decode_source(d, words[0]);
        insn->from[1] = decode_source(d, words[1]);
        insn->run = ptx_pack;
    }
    return true;
}

static char *without_blanks(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        if (!isspace((unsigned char)*from)) {
            *to++ = *from;
        }
    }
    *to = '\0';
    return text;
}

/* @%p1 or @!%p1 before an instruction; returns what follows. */
static char *decode_guard(decoder *d, char *text, ptx_insn *insn)
{
    char *end;

    insn->guard = PTX_NO_GUARD;
    if (*text != '@') {
        return text;
    }
    insn->guard_value = text[1] != '!';
    text += insn->guard_value ? 1 : 2;
    end = text + strcspn(text, " \t\n");
    if (*end == '\0') {
        decode_fail(d, text, "a guard without an instruction");
    }
    *end = '\0';
    insn->guard = decode_destination(d, text);
    return end + 1 + strspn(end + 1, " \t\n");
}

static void decode_instruction(decoder *d, char *statement)
{
    ptx_insn *insn = &d->kernel->insns[d->kernel->insn_count];
    char *mnemonic = decode_guard(d, statement, insn);
    char *rest = mnemonic + strcspn(mnemonic, " \t\n");
    char *operands[WORDS];
    uint32_t count;

    if (*rest != '\0') {
        *rest++ = '\0';
    }
    insn->line = d->line;
    count = decode_split(d, without_blanks(rest), operands);
    insn->run = ptx_memory_operation(mnemonic, &insn->access);
    if (strncmp(mnemonic, "st.param.", 9) == 0) {
        decode_argument(d, mnemonic, operands, count, insn);
    } else if (insn->run != NULL) {
        decode_memory(d, mnemonic, operands, count, insn);
    } else if (strcmp(mnemonic, "call.uni") == 0) {
        decode_call(d, operands, count, insn);
    } else if (count == 2 && strcmp(operands[1], "%globaltimer") == 0) {
        insn->run = ptx_operation("mov.u64 %globaltimer");
        insn->to[0] = decode_destination(d, operands[0]);
    } else if (!decode_halves(d, mnemonic, operands, count, insn)) {
        decode_operation(d, mnemonic, operands, count, insn);
    }
    if (++d->kernel->insn_count == INSNS) {
        decode_fail(d, mnemonic, "a kernel longer than the interpreter has room for");
    }
}

static void decode_statement(decoder *d, char *statement)
{
    if (*statement == '\0') {
        return;
    }
    if (strncmp(statement, ".reg", 4) == 0) {
        decode_registers(d, statement);
    } else if (strncmp(statement, ".param", 6) == 0) { /* of a call: .param .b64 param0 */
        char type[16];
        char name[24];
        char text[64];

        if (sscanf(statement, ".param %15s %23s", type, name) != 2) {
            decode_fail(d, statement, "a parameter that the interpreter does not know");
        }
        snprintf(text, sizeof(text), ".reg %s %s", type, name);
        decode_registers(d, text);
    } else if (strncmp(statement, ".pragma", 7) != 0) {
        if (*statement == '.') {
            decode_fail(d, statement, "a directive that the interpreter does not know");
        }
        decode_instruction(d, statement);
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static uint16_t placed(const decoder *d, uint16_t given)
{
    return given >= REGISTERS && given != PTX_NO_GUARD
               ? (uint16_t)(given - REGISTERS + d->constant_count)
               : given;
}

static uint32_t label_insn(decoder *d, const char *name)
{
    for (uint32_t i = 0; i < d->label_count; i++) {
        if (strcmp(d->labels[i].name, name) == 0) {
            return d->labels[i].insn;
        }
    }
    decode_fail(d, name, "a label that is not there");
}

/* Places the registers behind the constants, and finds the labels. */
static void finish_kernel(decoder *d)
{
    ptx_kernel *kernel = d->kernel;

    for (size_t i = 0; i < kernel->insn_count; i++) {
        ptx_insn *insn = &kernel->insns[i];

        insn->guard = placed(d, insn->guard);
        for (unsigned k = 0; k < PTX_OPERANDS; k++) {
            insn->to[k] = placed(d, insn->to[k]);
            insn->from[k] = placed(d, insn->from[k]);
        }
        insn->from[PTX_OPERANDS] = placed(d, insn->from[PTX_OPERANDS]);
        if (d->targets[i][0] != '\0') {
            insn->target = label_insn(d, d->targets[i]);
        }
    }
    kernel->constant_count = (uint16_t)d->constant_count;
    kernel->register_count = (uint16_t)(d->constant_count + d->register_count);
    kernel->initial = allocated(kernel->constant_count, sizeof(uint64_t));
    memcpy(kernel->initial, d->constants, kernel->constant_count * sizeof(uint64_t));
    kernel->insns = realloc(kernel->insns, kernel->insn_count * sizeof(*kernel->insns));
}

static void count_lines(decoder *d, const char *from, const char *to)
{
    for (; from < to; from++) {
        d->line += *from == '\n';
    }
}

/* The body of a kernel, after its brace; returns the end. */
static char *decode_body(decoder *d, char *at)
{
    int depth = 1;

    for (;;) {
        char *start = at;
        char *end;

        at += strspn(at, " \t\r\n");
        count_lines(d, start, at);
        if (*at == '{' || *at == '}') {
            depth += *at++ == '{' ? 1 : -1;
            if (depth == 0) {
                return at;
            }
            continue;
        }
        end = at + strcspn(at, ";:");
        if (*end == '\0') {
            decode_fail(d, at, "the text ends within a kernel");
        }
        start = at;
        at = end + 1;
        if (*end == ':') {
            label *next = &d->labels[d->label_count];

            *end = '\0';
            snprintf(next->name, sizeof(next->name), "%s", start);
            next->insn = (uint32_t)d->kernel->insn_count;
            if (++d->label_count == LABELS) {
                decode_fail(d, start, "more labels than the interpreter has room for");
            }
            continue;
        }
        *end = '\0';
        {
            const uint32_t line = d->line;
            uint32_t lines = 0;

            for (const char *c = start; c < end; c++) {
                lines += *c == '\n';
            }
            decode_statement(d, start);
            d->line = line + lines;
        }
    }
}

/* .visible .entry NAME( .param .align 8 .b8 NAME_param_0[96], ... ) directives { */
static char *decode_head(decoder *d, char *at)
{
    ptx_kernel *kernel = d->kernel;
    char *brace = strchr(at, '{');
    char *close = strchr(at, ')');

    if (brace == NULL || close == NULL || close > brace ||
        sscanf(at, "%79[^( \n]", kernel->name) != 1) {
        decode_fail(d, at, "a kernel whose head the interpreter does not know");
    }
    for (char *param = at; (param = strstr(param, ".param")) != NULL && param < close; param += 6) {
        unsigned align = 0;

        if (d->param_count == PTX_PARAMS ||
            sscanf(param, ".param .align %u .b8 %79[^[][%zu]", &align, d->params[d->param_count],
                   &kernel->param_bytes[d->param_count]) != 3) {
            decode_fail(d, kernel->name, "a parameter that the interpreter does not know");
        }
        d->param_count++;
    }
    count_lines(d, at, brace);
    return brace + 1;
}

static char *decode_kernel(ptx_module *module, char *at, uint32_t *line)
{
    decoder *d = allocated(1, sizeof(*d));
    ptx_kernel *kernel;

    module->kernels = realloc(module->kernels, (module->kernel_count + 1) * sizeof(*kernel));
    kernel = &module->kernels[module->kernel_count++];
    memset(kernel, 0, sizeof(*kernel));
    kernel->path = module->path;
    kernel->insns = allocated(INSNS, sizeof(*kernel->insns));
    d->targets = allocated(INSNS, sizeof(*d->targets));
    d->kernel = kernel;
    d->path = module->path;
    d->line = *line;
    d->constant_count = PTX_SPECIALS;
    at = decode_body(d, decode_head(d, at));
    finish_kernel(d);
    *line = d->line;
    free(d->targets);
    free(d);
    return at;
}

static void strip_comments(char *text)
{
    for (char *at = text; (at = strstr(at, "//")) != NULL;) {
        while (*at != '\n' && *at != '\0') {
            *at++ = ' ';
        }
    }
}

void ptx_parse(ptx_module *module, char *text)
{
    uint32_t line = 1;
    char *at = text;

    strip_comments(text);
    while ((at = strstr(text, ".entry ")) != NULL) {
        static const char *const unknown[] = {".shared", ".const ", ".func (", "\n.global"};

        for (const char *c = text; c < at; c++) {
            line += *c == '\n';
        }
        *at = '\0';
        for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
            if (strstr(text, unknown[i]) != NULL) {
                ptx_fail_text(module->path, line, unknown[i], "outside kernels, is not known");
            }
        }
        text = decode_kernel(module, at + 7, &line);
    }
}
