#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Image operators of Sluice beside those of other libraries, one after another in one run.

    operators.py BUILD_DIR FOLDER [-r ROUNDS] [-o OPERATOR]... [-p PEER]...

FOLDER has photographs, FOLDER/CLASS/*.jpg, of which 50 are cropped to 224 x 224. Peers: torchvision
(uint8 tensors), pillow (torchvision on Pillow images), opencv, dali (CPU), mindspore; each from its
package on PyPI in an environment of its own, $PEERS/NAME (~/.cache/sluice-peers), which peers.sh
makes; pillow has that of torchvision.

Each library is a process with one thread on one core. In each round ($ROUNDS, 5) each operator is run
by all processes in turn, on all images. Prints a table in Markdown: medians of the CPU time of an
image in us, and the largest and mean difference of Sluice's values from those of torchvision on
tensors. For Sluice it is the time from an array to the row of a batch, and, of stages that work on
the lines between, what the stage adds to it; the ratio is that of the fastest peer to the latter.
"""
import argparse
import array
import os
import statistics
import subprocess
import sys
import tempfile

SIDE = 224
AFFINE = "affine 12 5,-8 0.9 5,3"
MATRIX = "warp_affine 1.1,0.1,-9,-0.1,1.05,4"
CHAIN = AFFINE + " bilinear | color_jitter 1.3,1.3 %s 1.3,1.3 0.1,0.1 | random_erasing 1 0.15,0.16 | normalize imagenet | to_chw"
# Stages that move pixels to their places: the whole time is theirs.
WHOLE = ("horizontal flip", "vertical flip", "center crop 160", "pad 16", "resize 160", "resize 320", "normalize",
         "chain", "chain, contrast")
# Name, stages, and whether values can be compared (drawn at random, or in random order: no).
OPERATORS = [
    ("brightness", "color_jitter 1.3,1.3", True),
    ("contrast", "color_jitter contrast=1.3,1.3", True),
    ("saturation", "color_jitter saturation=1.3,1.3", True),
    ("hue", "color_jitter hue=0.1,0.1", True),
    ("color_jitter", "color_jitter 1.3,1.3 1.3,1.3 1.3,1.3 0.1,0.1", False),
    ("color_twist", "color_twist 1.3 1.3 1.3 36", False),
    ("grayscale", "random_grayscale 1", True),
    ("invert", "random_invert 1", True),
    ("posterize", "random_posterize 4 1", True),
    ("solarize", "random_solarize 128 1", True),
    ("autocontrast", "random_autocontrast 1", True),
    ("equalize", "random_equalize 1", True),
    ("sharpness", "random_adjust_sharpness 1.7 1", True),
    ("blur 5", "gaussian_blur 5 1.2", True),
    ("blur 23", "gaussian_blur 23 1.2", True),
    ("rotate, nearest", "rotate 30", True),
    ("rotate, bilinear", "rotate 30 bilinear", True),
    ("affine, nearest", AFFINE, True),
    ("affine, bilinear", AFFINE + " bilinear", True),
    ("perspective, bilinear", "perspective 20,10 194,5 214,199 15,212", True),
    ("warp_affine", MATRIX, False),
    ("elastic", "elastic", False),
    ("trivial_augment", "trivial_augment", False),
    ("horizontal flip", "random_horizontal_flip 1", True),
    ("vertical flip", "random_vertical_flip 1", True),
    ("center crop 160", "center_crop 160", True),
    ("pad 16", "pad_image 16", True),
    ("resize 160", "resize 160", True),
    ("resize 320", "resize 320", True),
    ("erase", "random_erasing 1 0.15,0.16", False),
    ("normalize", "normalize imagenet | to_chw", True),
    ("chain", CHAIN % "0", False),
    ("chain, contrast", CHAIN % "1.3,1.3", False),
]
PEERS = ["torchvision", "pillow", "opencv", "dali", "mindspore"]
MAKE_IMAGES = """
import glob, numpy, os, PIL.Image, sys
from torchvision.transforms import functional as F
files = sorted(glob.glob(os.path.join(sys.argv[1], "*", "*")))
files = files[::max(len(files) // 50, 1)][:50]
images = [F.center_crop(F.resize(PIL.Image.open(f).convert("RGB"), 256), [224, 224]) for f in files]
numpy.stack([numpy.asarray(i) for i in images]).tofile(sys.argv[2])
"""


class Process:
    """A process that answers each line by a line."""

    def __init__(self, command):
        self.process = subprocess.Popen(["taskset", "-c", "0"] + command, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer:
            sys.exit("operators.py: a process ended at: " + line)
        return answer


def difference(one, other):
    """Largest and mean absolute difference of two files of bytes or of floats."""
    kind = "B" if os.path.getsize(one) % 4 or "normalize" not in one else "f"
    values = []
    for path in one, other:
        numbers = array.array(kind)
        with open(path, "rb") as file:
            numbers.frombytes(file.read())
        values.append(numbers)
    if len(values[0]) != len(values[1]):
        return "other size"
    apart = [abs(a - b) for a, b in zip(*values)]
    return "%.3g, %.2g" % (max(apart), sum(apart) / len(apart))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("-o", "--operator", action="append")
    parser.add_argument("-p", "--peer", action="append", choices=PEERS)
    wanted = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    homes = os.environ.get("PEERS", os.path.expanduser("~/.cache/sluice-peers"))

    def python(name):
        return os.path.join(homes, "torchvision" if name == "pillow" else name, "bin", "python")

    with tempfile.TemporaryDirectory() as folder:
        images = os.path.join(folder, "images")
        subprocess.run([python("torchvision"), "-c", MAKE_IMAGES, wanted.folder, images], check=True)
        peers = {name: Process([python(name), os.path.join(here, "operator_peer.py"), name, images, str(SIDE)])
                 for name in wanted.peer or PEERS}
        sluice = Process([os.path.join(wanted.build, "bin", "bench_operators"), images, str(SIDE)])
        print("| operator | Sluice | the stage | " + " | ".join("%s %s" % (name, peers[name].ask("version"))
                                                   for name in peers) + " | ratio | difference |")
        print("| --- " * (len(peers) + 5) + "|")
        for name, stages, compares in OPERATORS:
            if wanted.operator and name not in wanted.operator:
                continue
            times, alone = {"": []}, []
            for _ in range(wanted.rounds):
                times[""].append(float(sluice.ask("time " + stages)))
                plain = 0 if name in WHOLE else float(sluice.ask("time take 50"))
                alone.append(times[""][-1] - plain)
                for peer in peers:
                    answer = peers[peer].ask("time " + name)
                    if answer != "-":
                        times.setdefault(peer, []).append(float(answer))
            stage = max(statistics.median(alone), 0.1)
            medians = {peer: statistics.median(times[peer]) for peer in times}
            best = min([medians[peer] for peer in medians if peer], default=None)
            apart = "-"
            if compares and "torchvision" in peers:
                files = [os.path.join(folder, name.replace(" ", "_") + end) for end in (".ours", ".theirs")]
                sluice.ask("save %s %s" % (files[0], stages))
                peers["torchvision"].ask("save %s %s" % (files[1], name))
                apart = difference(*files)
            cells = ["%.0f" % medians[peer] if peer in medians else "-" for peer in peers]
            print("| %s | %.0f | %.0f | %s | %s | %s |" % (name, medians[""], stage, " | ".join(cells),
                                                          "%.1f" % (best / stage) if best else "-", apart), flush=True)


main()
