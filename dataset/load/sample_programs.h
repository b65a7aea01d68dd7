/* SPDX-License-Identifier: Apache-2.0 */
/* Row programs: the colour operations of a sample that GetNext applies on the device. */
#ifndef SLUICE_SAMPLE_PROGRAMS_H
#define SLUICE_SAMPLE_PROGRAMS_H

#include "color_chain.h"
#include "row_program_int.h"

/* Writes the program of the operations of a chain that has numbers (color_chain.numbers). */
void program_of_chain(const color_chain *chain, sli_row_program *program_out);

#endif
