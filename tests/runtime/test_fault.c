/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of files and faults of the machine. */
#include <errno.h>

#include "fault_int.h"
#include "status_int.h"
#include "testing.h"

static const struct {
    int error;
    sli_fault fault;
} cases[] = {
    {EMFILE, SLI_FAULT_DESCRIPTORS}, {ENFILE, SLI_FAULT_DESCRIPTORS},
    {ENOMEM, SLI_FAULT_MEMORY},      {EIO, SLI_FAULT_STORAGE},
    {ESTALE, SLI_FAULT_STORAGE},     {ENOSPC, SLI_FAULT_STORAGE},
    {ELIBACC, SLI_FAULT_LIBRARY},    {ELIBBAD, SLI_FAULT_LIBRARY},
    {ENOENT, SLI_FAULT_NONE},        {EACCES, SLI_FAULT_NONE},
    {ELOOP, SLI_FAULT_NONE},         {EISDIR, SLI_FAULT_NONE},
    {ENXIO, SLI_FAULT_NONE},         {0, SLI_FAULT_NONE},
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static void faults_of_the_machine_are_told_from_errors_of_files(void)
{
    for (size_t i = 0; i < CASES; i++) {
        T_EQ(sli_fault_of_errno(cases[i].error), cases[i].fault);
        T_EQ(sli_fault_of_last(sli_fail_errno(SLUICE_E_IO, cases[i].error, "cannot read")),
             cases[i].fault);
    }
    T_EQ(sli_fault_of_last(sli_fail(SLUICE_E_NO_MEMORY, "a buffer")), SLI_FAULT_MEMORY);
    T_EQ(sli_fault_of_last(sli_fail(SLUICE_E_IO, "the shard was cut")), SLI_FAULT_NONE);
}

/* As in the lists of packs. */
static void the_class_is_found_again_in_the_text(void)
{
    for (size_t i = 0; i < CASES; i++) {
        sli_fail_errno(SLUICE_E_IO, cases[i].error, "cannot open");
        T_EQ(sli_fault_of_text(sluice_last_error()), cases[i].fault);
    }
    T_EQ(sli_fault_of_text("cannot open: Too many open files"), SLI_FAULT_DESCRIPTORS);
    T_EQ(sli_fault_of_text("cannot read: Input/output error"), SLI_FAULT_STORAGE);
    T_EQ(sli_fault_of_text("the checksum differs"), SLI_FAULT_NONE);
    T_EQ(sli_fault_of_text(""), SLI_FAULT_NONE);
}

const t_test fault_tests[] = {
    T_TEST(faults_of_the_machine_are_told_from_errors_of_files),
    T_TEST(the_class_is_found_again_in_the_text),
    T_END,
};
