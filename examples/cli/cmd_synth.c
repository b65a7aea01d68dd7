/* SPDX-License-Identifier: Apache-2.0 */
/* sluice synth: placeholder for the build while its maker is at work. */
#include "cli.h"

int cmd_synth(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return EXIT_WORDS;
}
