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
    {"explain", "explain PIPELINE [OPTIONS]", "Tells what a pipeline will do, and runs nothing.",
     "First the pipeline with all defaults written out, then the order of samples, what is read "
     "and\n"
     "decoded, what is done in one pass, and the columns of a batch. The source is opened: "
     "samples\n"
     "are counted, and shards without an index are walked.\n",
     "  --json             one JSON object on stdout instead of text\n", cmd_explain},
    {"pack", "pack SRC DST [OPTIONS]",
     "Packs images into tar shards of which a part of each image can be decoded alone.",
     "SRC is a folder DIR/CLASS/FILE, or a source in quotes with stages of order behind it, such "
     "as\n"
     "`image_folder DIR | split train 0.9`, or a stream, as `webdataset -`. DST is made: tar "
     "shards\n"
     "in WebDataset layout, an index and a list of samples beside each, classes.txt, pack.txt and\n"
     "pack.json.\n\n"
     "JPEG files are rewritten without loss: the same coefficients, in baseline code with restart\n"
     "markers, 3 percent larger, from which a random crop is decoded in half the time. Files for\n"
     "which that cannot be done are stored as they are, and told of.\n\n"
     "The same options make the same bytes. A pack that was interrupted goes on behind its last\n"
     "finished shard when the same command is run again.\n",
     "  --interval PX      pixels between restart markers, about; 0 none (32)\n"
     "  --max-side N       resize larger images so that their longer side is N, and encode these\n"
     "                     anew: lossy\n"
     "  --quality Q        encode all images anew, 1 to 100: lossy (90 for those that are "
     "resized)\n"
     "  --subsampling S    encode all images anew, chroma 420 or 444: lossy (420 for those "
     "resized)\n"
     "  --raw              store pixels instead of files, as PPM: large, and no decoding later\n"
     "  --shard-size BYTES most bytes of a shard, as 512M (1G)\n"
     "  --shuffle[=SEED]   in a random order, the same for the same seed (0)\n"
     "  --workers N|auto   threads that transcode (auto: by cores and quota)\n"
     "  --verify           decode every result and compare its pixels with those of its source\n"
     "  --json             one JSON object on stdout instead of the summary\n",
     cmd_pack},
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
    {"verify", "verify PATH [OPTIONS]",
     "Decodes all images of a pack, a tar shard or a folder, and tells of those that are bad.",
     "Of shards the checksums are compared with those of their index, and indexes with what lies "
     "in\n"
     "the archives; of a pack the lists, too, and whether it is complete. Exit 1 when anything is\n"
     "wrong. Nothing is changed.\n",
     "  --workers N|auto   threads that decode (auto: by cores and quota)\n"
     "  --json             one JSON object on stdout instead of lines\n",
     cmd_verify},
    {"help", "help [COMMAND | stages [STAGE] | --man]", "Tells about commands and stages.", NULL,
     "  --man              everything, as the source of the manual page sluice(1)\n", cmd_help},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
