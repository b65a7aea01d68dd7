/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands and their help pages. `sluice help` and the manual are both printed from
 * these texts.
 */
#include "cli.h"

const cli_command cli_commands[] = {
    {"bench", "bench {PIPELINE | -f FILE} [OPTIONS]",
     "Runs a pipeline and reports what limits it, and what each stage costs.",
     "PIPELINE is `source | stage | ...` in quotes; see `sluice help stages`. The step does "
     "nothing, or uses --step-us of CPU time, so the pipeline alone is measured. The report goes "
     "to stdout, the plan and a progress bar to stderr.\n",
     "  -f FILE            a file that holds the pipeline, instead of PIPELINE\n"
     "  --arg NAME VALUE   replace ${NAME} in the pipeline by VALUE, which is not parsed; "
     "repeatable\n"
     "  --device NAME      auto, host:N, cuda:N or cuda:local (by the local rank), with options "
     "after commas: host:0,copy=1 (auto)\n"
     "  --mode MODE        auto, direct, data, graph or loop (auto)\n"
     "  --sink-size N      steps per sink; -1: a pass (-1)\n"
     "  --epochs N         number of epochs, of sink-size steps or a pass each (1)\n"
     "  --steps N          steps of this run, instead of --epochs\n"
     "  --seconds S        time limit of this run, instead of --epochs\n"
     "  --workers N|auto   threads that read and decode (auto: by cores and quota)\n"
     "  --slots N          batches in the queue (4, more for many workers, within --memory)\n"
     "  --memory BYTES     upper bound for staging, slots and samples of a stream: 2G\n"
     "  --seed N           seed of order and random transforms (0)\n"
     "  --rank R           number of this process among --world (0)\n"
     "  --world W          processes that share each pass (without --rank and --world both come "
     "from "
     "torchrun, mpirun, srun or another launcher; else 1)\n"
     "  --micro-batches K  batches per step (1)\n"
     "  --start-step N     begin after N steps, as a resumed run would (0)\n"
     "  --step-us T        the step uses T microseconds of CPU time (0); not on cuda:N\n"
     "  --on-error POLICY  policy for bad samples: fail, replace or zero (fail)\n"
     "  --digest           report the digest of all batches that steps get\n"
     "  --digests FILE     a line per step: step, epoch, pass, first sample, digest; implies "
     "--digest\n"
     "  --ids FILE         a line per step: step, then the sample indices of its rows\n"
     "  --runs N           run the pipeline N times, and print medians in place of the report (6 "
     "with "
     "--compare)\n"
     "  --compare PIPELINE run this pipeline, too, in turn with the first one, and compare both as "
     "`sluice compare` does\n"
     "  --json             one JSON object on stdout instead of text; with --runs it has the "
     "reports of all runs, for `sluice compare`\n",
     cmd_bench, true},
    {"explain", "explain {PIPELINE | -f FILE} [OPTIONS]",
     "Explains what a pipeline will do, and runs nothing.",
     "Prints the pipeline with all defaults, the order of samples, what is read and decoded, "
     "which stages are fused, and the columns of a batch. The source is opened: samples are "
     "counted, and the headers of shards without an index are read once.\n"
     "\n"
     "--sample I prints what a run draws for one sample instead: each crop, resize, flip and warp "
     "in pixels, and the parameters of each colour stage that is applied.\n",
     "  -f FILE            a file that holds the pipeline, instead of PIPELINE\n"
     "  --arg NAME VALUE   replace ${NAME} in the pipeline by VALUE, which is not parsed; "
     "repeatable\n"
     "  --sample I         explain sample I of the source, from 0\n"
     "  --pass P           the pass whose random numbers --sample draws, from 0 (0)\n"
     "  --seed N           seed of --sample's random numbers (0)\n"
     "  --json             one JSON object on stdout instead of text\n",
     cmd_explain, false},
    {"classes", "classes {SRC | -f FILE} [OPTIONS]", "Prints the name of each class, by its label.",
     "SRC is a file or folder of data, or a pipeline in quotes, of which only the source is "
     "opened. "
     "Each line is a class: the label, a tab, the name. Shards have labels without names.\n",
     "  -f FILE            a file that holds the pipeline, instead of SRC\n"
     "  --arg NAME VALUE   replace ${NAME} in the pipeline by VALUE, which is not parsed; "
     "repeatable\n"
     "  --json             one JSON object on stdout instead of lines\n",
     cmd_classes, false},
    {"compare", "compare {A B | FILE} [OPTIONS]",
     "Compares the reports of two sides, and tells a change from noise.",
     "A and B are reports as JSON, by `sluice bench --json`, `sluice bench --runs N --json` or "
     "sluice_report_json(): a file, a folder (all NAME.json in it), or several with commas "
     "between: "
     "old1.json,old2.json. - is standard input. A file of `sluice bench --compare --json` has both "
     "sides, and is given alone.\n"
     "\n"
     "The table has medians, the ratio B/A and the p-value of a Mann-Whitney test, for the run and "
     "for each stage. ~ marks what noise explains, ? too few runs: at least 4 a side are needed to "
     "tell, and 6 find a change of about 5 percent. Lines `differs:` name what else differs "
     "between the runs: pipeline, machine, device, version.\n"
     "\n"
     "CPU time a sample decides the exit status, since it varies less than rates do: 0 if B is not "
     "slower or runs are too few to tell, 1 if B is slower, 2 after an error.\n",
     "  --gate PERCENT     exit with 1 only if B takes more than PERCENT more CPU time a sample; "
     "too few runs are an error then (0)\n"
     "  --json             one JSON object on stdout instead of the table\n",
     cmd_compare, false},
    {"convert", "convert {SRC | -f FILE} DST --format FORMAT [OPTIONS]",
     "Writes the samples of a dataset as files of another format, with all their columns.",
     "SRC is a file or folder of data, or a source in quotes, optionally with stages of order, or "
     "a "
     "stream. DST gets the files, a list of samples beside each, classes.txt, pack.txt and "
     "pack.json. Files of images are stored unchanged, and not decoded; pixels and numbers keep "
     "their bits.\n"
     "\n"
     "FORMAT is webdataset: tar shards, which `webdataset DST fields=auto` reads back, bit for "
     "bit; `sluice pack` writes them with JPEG files of which a part can be decoded alone. Or it "
     "is tfrecord: TFRecord files of TensorFlow, whose records are tf.train.Example; or "
     "mindrecord: files of MindSpore, each with its .db. `tfrecord DST` and `mindrecord DST` read "
     "them back, bit for bit, but not the names of classes. npy is an array of each column, "
     "without files of images, which `npy DST` reads. A column that the format cannot keep "
     "is refused by its name.\n"
     "\n"
     "The same options give the same bytes. An interrupted conversion continues after its last "
     "complete file when the same command is run again. Samples that cannot be read or opened are "
     "left out and named, and the exit status is 1.\n",
     "  --format FORMAT    webdataset, tfrecord, mindrecord or npy\n"
     "  -f FILE            a file that holds the pipeline, instead of SRC\n"
     "  --arg NAME VALUE   replace ${NAME} in the pipeline by VALUE, which is not parsed; "
     "repeatable\n"
     "  --drop COLUMNS     columns that are not written, separated by commas\n"
     "  --shard-size BYTES maximum bytes of samples in a file: 512M (1G); not of npy\n"
     "  --shuffle[=SEED]   write in a random order, the same for the same seed (0)\n"
     "  --workers N|auto   threads that read (auto: by cores and quota)\n"
     "  --leave-out-unreadable go on without files that the disk or the file server fails to "
     "read, list them with the reason, and exit 1; the next run reads them again\n"
     "  --json             one JSON object on stdout instead of the summary\n",
     cmd_convert, false},
    {"inspect", "inspect {SRC | -f FILE} [OPTIONS]",
     "Describes what a dataset holds: samples, columns, classes, sizes and formats of images.",
     "SRC is a file or folder of data, whose source is chosen by names (class folders, images, "
     "YOLO, VOC, CIFAR, MNIST, shards, record files, lists, .json of COCO, .npy, .npz), or a "
     "pipeline in quotes, of which only the source is read. Every sample is read, and the headers "
     "of its images; images are not decoded (`sluice verify` does that). The first 20 samples that "
     "cannot be read are listed with the reason, and the exit status is 1 then.\n"
     "\n"
     "The line of a column ends with the smallest and the largest value of whole numbers. Classes "
     "are counted by the column label, or else by the numbers that belong to boxes.\n",
     "  -f FILE            a file that holds the pipeline, instead of SRC\n"
     "  --arg NAME VALUE   replace ${NAME} in the pipeline by VALUE, which is not parsed; "
     "repeatable\n"
     "  --max-samples N    read N samples only, evenly spaced\n"
     "  --workers N|auto   threads that read (auto: 4)\n"
     "  --json             one JSON object on stdout instead of text\n",
     cmd_inspect, false},
    {"pack", "pack {SRC | -f FILE} DST [OPTIONS]",
     "Packs samples into tar shards, in which a part of an image can be decoded alone.",
     "SRC is a folder DIR/CLASS/FILE, or a source in quotes, optionally with stages of order, "
     "such as `image_folder DIR | split train 0.9`, or a stream, such as `webdataset -`. DST "
     "gets tar shards in WebDataset layout, an index and a list of samples beside each, "
     "classes.txt, pack.txt and pack.json.\n"
     "\n"
     "A pack has all columns: the image as KEY.jpg, the label as KEY.cls, each other column as "
     "KEY.NAME with .png and other extensions of images, .txt, .cls or .npy. "
     "`webdataset DST fields=auto` reads them back, bit for bit; `webdataset DST` reads the label "
     "and an image that is a file (.jpg, .png, .ppm).\n"
     "\n"
     "JPEG files are rewritten without loss: the same coefficients, as baseline JPEG with "
     "restart markers, 3 percent larger; a random crop is decoded in half the time. Files "
     "that cannot be rewritten so are stored unchanged, and reported. Images that the source has "
     "as pixels of one size stay pixels, .npy, without --quality, --raw and the like.\n"
     "\n"
     "The same options give the same bytes. An interrupted pack continues after its last "
     "complete shard when the same command is run again. Samples that cannot be read or are not "
     "images are left out and named, and the exit status is 1.\n"
     "\n"
     "A file that cannot be read because the disk, the file server or the process fails (EIO, "
     "ESTALE, too many open files) is retried for some seconds, then ends the pack with exit "
     "1.\n",
     "  -f FILE            a file that holds the pipeline, instead of SRC\n"
     "  --arg NAME VALUE   replace ${NAME} in the pipeline by VALUE, which is not parsed; "
     "repeatable\n"
     "  --drop COLUMNS     columns that are not packed, separated by commas\n"
     "  --interval PX      approximate pixels between restart markers; 0: none (32)\n"
     "  --max-side N       resize larger images so that their longer side is N, and "
     "re-encode them: lossy\n"
     "  --quality Q        re-encode all images, 1 to 100: lossy (90 for resized "
     "images)\n"
     "  --subsampling S    re-encode all images, chroma 420 or 444: lossy (420 for "
     "resized images)\n"
     "  --raw              store pixels as PPM: large, without decoding later (RGB: "
     "decode mode=gray gives slightly different values than from JPEG files)\n"
     "  --shard-size BYTES maximum bytes of a shard: 512M (1G)\n"
     "  --shuffle[=SEED]   pack in a random order, the same for the same seed (0)\n"
     "  --workers N|auto   threads that transcode (auto: by cores and quota)\n"
     "  --verify           decode every result and compare its pixels with those of its "
     "source\n"
     "  --leave-out-unreadable go on without files that the disk or the file server fails to "
     "read, list them with the reason, and exit 1; the next run reads them again\n"
     "  --json             one JSON object on stdout instead of the summary\n",
     cmd_pack, false},
    {"report", "report [merge] RUN.json... [-o FILE]",
     "Makes an HTML page of the reports of runs, or one report of those of ranks.",
     "RUN.json is a report as `sluice bench --json`, sluice_report_json() or "
     "SLUICE_REPORT=RUN.json writes it; - is standard input. The page shows up to 16 runs side by "
     "side. It needs no network, and holds each report as JSON.\n"
     "\n"
     "`report merge` makes one report of those of the ranks of one run; a page can show it. It "
     "says on stderr which ranks are missing, and which one the others wait for.\n"
     "\n"
     "Without -o the output goes to stdout, unless that is a terminal.\n",
     "  -o FILE            write the page, or the merged report, to this file; - is stdout\n",
     cmd_report, false},
    {"show", "show {PIPELINE | -f FILE} [OPTIONS]",
     "Shows the batches of a pipeline as a step gets them.",
     "Makes batches on the CPU, prints dtype, shape, minimum, maximum and mean of each column "
     "without the rows of padding, and writes a contact sheet of the images, those of a sample "
     "side by side: normalize is undone, masks, boxes and points are drawn over the first image, "
     "and "
     "below each sample are label, class name, sample number and file. --seed, --rank, "
     "--world and --start-step select the batches that a run with these options would train on.\n"
     "\n"
     "--sample I shows one sample as it is in the first passes of a run, each with other random "
     "numbers. Stages of order are left out.\n"
     "\n"
     "--npy writes DIR/COLUMN.npy for every column, an array of N x batch rows, with the zeros "
     "that pad the last batch of a pass. The files get their names when all of them are complete, "
     "and replace older ones.\n",
     "  -f FILE            a file that holds the pipeline, instead of PIPELINE\n"
     "  --arg NAME VALUE   replace ${NAME} in the pipeline by VALUE, which is not parsed; "
     "repeatable\n"
     "  -o FILE            the contact sheet, PNG (batch.png, unless --npy is given)\n"
     "  --npy DIR          write every column as an array of numpy; DIR is made if it is missing\n"
     "  --steps N          number of batches, in order, across passes (1)\n"
     "  --start-step N     begin after N batches, as a resumed run would (0)\n"
     "  --sample I         show sample I of the source, from 0, once for each pass\n"
     "  --times N          number of passes of --sample (8)\n"
     "  --seed N           seed of order and random transforms (0)\n"
     "  --rank R           number of this process among --world (0)\n"
     "  --world W          processes that share each pass (1)\n"
     "  --on-error POLICY  policy for bad samples: fail, replace or zero (fail)\n",
     cmd_show, false},
    {"synth", "synth DIR [OPTIONS]",
     "Makes a small labelled JPEG dataset in DIR/train and DIR/test.",
     "A small network can learn the classes; a linear classifier learns little. The same "
     "options give the same bytes.\n",
     "  --classes N        class folders (10)\n"
     "  --per-class N      pictures per class, a fifth of them in DIR/test (500)\n"
     "  --size N           side length in pixels (64)\n"
     "  --quality N        quality of the JPEG files, 1 to 100 (90)\n"
     "  --seed N           seed of all random numbers (1)\n",
     cmd_synth, false},
    {"topo", "topo [OPTIONS]",
     "Shows the topology of the machine and the placement of threads and memory.", NULL,
     "  --device NAME      show the placement for this device\n"
     "  --devices LIST     show the placement of one rank per device: cuda:all, or "
     "names with commas; with --xml, cuda:N is the N-th NVIDIA GPU by PCI address\n"
     "  --pci LIST         the same for devices at these PCI addresses\n"
     "  --synthetic TEXT   another machine, in the syntax of hwloc: \"numa:2 core:4 pu:1\"\n"
     "  --xml FILE         another machine, an XML file of lstopo\n"
     "  --workers N        number of workers, instead of the default\n"
     "  --ranks N          processes that share the machine (1, or one for each device)\n"
     "  --emit LAUNCHER    print shell commands that start each rank bound to its part, instead of "
     "tables: numactl, mpirun, srun or torchrun\n"
     "  --json             one JSON object on stdout instead of tables\n",
     cmd_topo, false},
    {"verify", "verify PATH [OPTIONS]",
     "Decodes all images of a pack, tar shard, folder or pipeline, and names bad ones.",
     "PATH is a file or folder of data, as `sluice inspect` takes it, or a pipeline in quotes, of "
     "which only the source is read. In shards the checksums are compared with the index, and the "
     "index with the archive. A pack "
     "must also have its lists, an index with checksums for each shard and as many shards as "
     "pack.json says, and no pack.corrupt. The exit status is 1 if a check fails. No file is "
     "changed. Images of 16 bits per channel, an Exif orientation and further frames are not "
     "defects: `sluice inspect` counts them.\n",
     "  --workers N|auto   threads that decode (auto: by cores and quota)\n"
     "  --json             one JSON object on stdout instead of lines\n",
     cmd_verify, false},
    {"help", "help [COMMAND | stages [STAGE] | --man | --markdown]",
     "Describes commands and stages.", NULL,
     "  --man              all help, as the source of the manual page sluice(1)\n"
     "  --markdown         all stages, as a page of Markdown\n",
     cmd_help, false},
    {NULL, NULL, NULL, NULL, NULL, NULL, false},
};
