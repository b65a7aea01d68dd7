/* SPDX-License-Identifier: Apache-2.0 */
/* The commands and their pages: the one text behind `sluice help` and the manual. */
#include "cli.h"

const cli_command cli_commands[] = {
    {"bench", "bench PIPELINE [OPTIONS]",
     "Runs a pipeline into the device queue and tells where the time goes.",
     "PIPELINE is `source | stage | ...` in quotes; see `sluice help stages`. The step does "
     "nothing,\n"
     "or takes --step-us of a processor, so what is measured is the way to it. The report goes to\n"
     "stdout, the plan and a progress bar to stderr.\n",
     "  --device NAME      auto, host:N or cuda:N, with options after commas: host:0,copy=1 "
     "(auto)\n"
     "  --mode MODE        auto, direct, data, graph or loop (auto)\n"
     "  --sink-size N      steps of a sink; -1: a pass (-1)\n"
     "  --epochs N         of sink-size steps, or passes (1)\n"
     "  --steps N          of this run, instead of --epochs\n"
     "  --seconds S        of this run, instead of --epochs\n"
     "  --workers N|auto   threads that read and decode (auto: by cores and quota)\n"
     "  --slots N          batches in the queue (4, fewer when --memory wants it)\n"
     "  --memory BYTES     upper bound for staging and slots together, as 512M\n"
     "  --seed N           of order and random transforms (0)\n"
     "  --rank R           which of --world processes this is (0)\n"
     "  --world W          processes that share each pass (1)\n"
     "  --micro-batches K  batches of a step (1)\n"
     "  --start-step N     N steps are done already: begin as a resumed run would (0)\n"
     "  --step-us T        the step takes T microseconds of a processor (0); not on cuda:N\n"
     "  --on-error POLICY  fail, replace or zero: what to do with a bad sample (fail)\n"
     "  --digest           compute the digest of every batch as the step sees it\n"
     "  --digests FILE     a line a step: step, epoch, pass, first sample, digest; implies "
     "--digest\n"
     "  --ids FILE         a line a step: step, then the sample indices of its rows\n"
     "  --json             one JSON object on stdout instead of the table\n",
     cmd_bench},
    {"synth", "synth DIR [OPTIONS]",
     "Makes a small labelled JPEG dataset in DIR/train and DIR/test.",
     "The pictures of a class differ from each other and from those of other classes enough to be\n"
     "learnt, and enough to need learning. The same options make the same bytes.\n",
     "  --classes N        class folders (10)\n"
     "  --per-class N      pictures of each class, a fifth of them in DIR/test (500)\n"
     "  --size N           pixels of a side (64)\n"
     "  --quality N        of the JPEG files, 1 to 100 (90)\n"
     "  --seed N           of everything random (1)\n",
     cmd_synth},
    {"topo", "topo [OPTIONS]",
     "Shows the machine as the library sees it, and what it would place where.", NULL,
     "  --device NAME      plan for this device\n"
     "  --synthetic TEXT   another machine, in hwloc's words: \"numa:2 core:4 pu:1\"\n"
     "  --xml FILE         another machine, saved by lstopo\n"
     "  --workers N        instead of as many as fit\n"
     "  --ranks N          processes that share the machine (1)\n"
     "  --json             one JSON object on stdout instead of tables\n",
     cmd_topo},
    {"help", "help [COMMAND | stages [STAGE] | --man]", "Tells about commands and stages.", NULL,
     "  --man              everything, as the source of the manual page sluice(1)\n", cmd_help},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
