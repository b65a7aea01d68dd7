/* SPDX-License-Identifier: Apache-2.0 */
#include "thread_interrupt_int.h"

#include <stddef.h>

static _Thread_local const sli_interrupt *current;

void sli_thread_interrupt(const sli_interrupt *interrupt)
{
    current = interrupt;
}

bool sli_is_interrupted(void)
{
    return current != NULL && current->is_set(current->arg);
}
