#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recipe of torchvision's ResNet-50 by Sluice and by other loaders, in one run on one core.

    recipe.py BUILD_DIR FOLDER [-r ROUNDS] [-s SECONDS] [-p PEER]...

FOLDER/CLASS/*.jpg. random_resized_crop 176, flip, trivial_augment, normalise, erasing 0.1, mixup 0.2
or cutmix 1.0 (see peer.py), batches of 64, one worker. In each round Sluice and each peer (torchvision,
dali, mindspore) run in turn. Environments are those of peers.sh. Prints a table in Markdown: medians of
the samples for a second of CPU time, all threads counted.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

STAGES = ("decode | random_resized_crop 176 | random_horizontal_flip 0.5 | trivial_augment filter=bilinear"
          " | normalize imagenet | to_chw | random_erasing 0.1 | batch 64"
          " | random_choice (mixup %d 0.2) (cutmix %d 1)")
PEERS = ["torchvision", "dali", "mindspore"]


def sluice_ms(tool, source, classes):
    """CPU time of 1000 samples of the passes after the first, in ms."""
    used = []
    for epochs in 1, 6:
        text = "%s | shuffle seed=7 | %s" % (source, STAGES % (classes, classes))
        done = subprocess.run(["taskset", "-c", "0", tool, "bench", text, "--epochs", str(epochs), "--workers", "1",
                               "--json"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        report = json.loads(done.stdout)
        used.append((report["samples"], report["cpu_s_per_1000_samples"] * report["samples"] / 1000))
    return (used[1][1] - used[0][1]) / (used[1][0] - used[0][0]) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("-s", "--seconds", type=float, default=5)
    parser.add_argument("-p", "--peer", action="append", choices=PEERS)
    wanted = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    homes = os.environ.get("PEERS", os.path.expanduser("~/.cache/sluice-peers"))
    tool = os.path.join(wanted.build, "bin", "sluice")
    folder = os.path.abspath(wanted.folder)
    classes = len(os.listdir(folder))
    with tempfile.TemporaryDirectory() as index:
        sources = {"Sluice": "image_folder " + folder,
                   "Sluice, index=": "image_folder %s index=%s" % (folder, index)}
        times = {name: [] for name in list(sources) + (wanted.peer or PEERS)}
        versions = {}
        for _ in range(wanted.rounds):
            for name, source in sources.items():
                times[name].append(sluice_ms(tool, source, classes))
            for name in wanted.peer or PEERS:
                done = subprocess.run(
                    ["taskset", "-c", "0", os.path.join(homes, name, "bin", "python"), os.path.join(here, "peer.py"),
                     name, folder, "recipe", str(wanted.seconds)],
                    text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                if done.returncode != 0:
                    sys.exit("recipe.py: %s does not run" % name)
                _, versions[name], ms = done.stdout.split()[-3:]
                times[name].append(float(ms))
    print("| loader | samples for a CPU second |\n| --- | --- |")
    for name in times:
        print("| %s | %.0f |" % (" ".join([name, versions.get(name, "")]).strip(), 1e6 / statistics.median(times[name])))


main()
