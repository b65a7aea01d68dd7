#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One loader of another project over a folder of class folders of JPEG files, one worker.

    peer.py NAME FOLDER u8|f32|recipe SECONDS

Each does what its own documentation recommends for the usual training input: decode, random
resized crop to 224 (area 0.08 to 1, aspect 3/4 to 4/3), mirror half of them, and for f32 normalise
into NCHW. recipe is that of torchvision's ResNet-50 (references/classification, --train-crop-size 176
--auto-augment ta_wide --random-erase 0.1 --mixup-alpha 0.2 --cutmix-alpha 1.0); DALI has no mixup and
cutmix, so these are left out there; MindSpore mixes half of the samples by cutmix. Batches of 64 are taken and dropped. Prints one line:

    NAME VERSION MILLISECONDS

of CPU for 1000 images: user and system time of the process and of those that it started, from the
first batch on, so that start-up does not count.
"""
import os
import random
import sys
import time

BATCH = 64
SIDE = 224
RECIPE_SIDE = 176
MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


def jpeg_files(folder):
    found = [os.path.join(top, name) for top, _, names in os.walk(folder) for name in names
             if name.lower().endswith((".jpg", ".jpeg"))]
    return sorted(found)


def dali(folder, as_float):
    from nvidia import dali as package
    from nvidia.dali import fn, types

    @package.pipeline_def(batch_size=BATCH, num_threads=1, device_id=None)
    def pipeline():
        encoded, _ = fn.readers.file(file_root=folder, random_shuffle=True, initial_fill=2048)
        image = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB,
                                              random_area=[0.08, 1], random_aspect_ratio=[3 / 4, 4 / 3])
        image = fn.resize(image, size=[SIDE, SIDE], interp_type=types.INTERP_LINEAR, antialias=True)
        mirror = fn.random.coin_flip(probability=0.5)
        if not as_float:
            return fn.flip(image, horizontal=mirror)
        return fn.crop_mirror_normalize(image, mirror=mirror, mean=MEAN, std=STD,
                                        dtype=types.FLOAT, output_layout="CHW")

    made = pipeline()
    made.build()
    while True:
        made.run()
        yield package.__version__


def mindspore(folder, as_float):
    import mindspore as package
    from mindspore.dataset import ImageFolderDataset, config, vision

    config.set_num_parallel_workers(1)
    steps = [vision.RandomCropDecodeResize(SIDE), vision.RandomHorizontalFlip(0.5)]
    if as_float:
        steps += [vision.Normalize(MEAN, STD), vision.HWC2CHW()]
    data = ImageFolderDataset(folder, shuffle=True, num_parallel_workers=1)
    data = data.map(steps, input_columns=["image"], num_parallel_workers=1)
    data = data.batch(BATCH, drop_remainder=True)
    while True:
        for _ in data.create_tuple_iterator(output_numpy=True, num_epochs=1):
            yield package.__version__


def tfdata(folder, as_float):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    def load(path):
        encoded = tf.io.read_file(path)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(encoded), bounding_boxes=tf.zeros([1, 0, 4]),
            min_object_covered=0.0, area_range=(0.08, 1.0), aspect_ratio_range=(3 / 4, 4 / 3),
            max_attempts=10, use_image_if_no_bounding_boxes=True)
        window = tf.concat([begin[:2], size[:2]], 0)
        image = tf.image.decode_and_crop_jpeg(encoded, window, channels=3)
        image = tf.image.resize(image, [SIDE, SIDE], antialias=True)
        image = tf.image.random_flip_left_right(image)
        if as_float:
            return tf.transpose((image - MEAN) / STD, [2, 0, 1])
        return tf.cast(image, tf.uint8)

    names = jpeg_files(folder)
    data = tf.data.Dataset.from_tensor_slices(names).shuffle(len(names)).repeat()
    data = data.map(load, num_parallel_calls=1).batch(BATCH, drop_remainder=True).prefetch(2)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    for _ in data.with_options(options):
        yield tf.__version__


def torchvision(folder, as_float):
    import torch
    import torchvision as package
    from torchvision import transforms as t

    torch.set_num_threads(1)
    steps = [t.RandomResizedCrop(SIDE), t.RandomHorizontalFlip()]
    if as_float:
        steps += [t.ToTensor(), t.Normalize([m / 255 for m in MEAN], [s / 255 for s in STD])]
    else:
        steps += [t.PILToTensor()]
    data = package.datasets.ImageFolder(folder, t.Compose(steps))
    loader = torch.utils.data.DataLoader(data, BATCH, shuffle=True, num_workers=1, drop_last=True,
                                         persistent_workers=True)
    while True:
        for _ in loader:
            yield package.__version__


def crop_of(width, height):
    """Random part as torchvision draws it: ten tries, then all of the image."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        ratio = (4 / 3) ** random.uniform(-1, 1)
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    return 0, 0, width, height


def opencv(folder, as_float):
    import cv2
    import numpy

    cv2.setNumThreads(0)
    names = jpeg_files(folder)
    mean = numpy.array(MEAN, numpy.float32)
    scale = 1 / numpy.array(STD, numpy.float32)
    while True:
        random.shuffle(names)
        for at in range(0, len(names) - BATCH + 1, BATCH):
            shape = (BATCH, 3, SIDE, SIDE) if as_float else (BATCH, SIDE, SIDE, 3)
            batch = numpy.empty(shape, numpy.float32 if as_float else numpy.uint8)
            for row, name in enumerate(names[at:at + BATCH]):
                image = cv2.imread(name, cv2.IMREAD_COLOR)
                x, y, w, h = crop_of(image.shape[1], image.shape[0])
                image = cv2.resize(image[y:y + h, x:x + w], (SIDE, SIDE))
                image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
                if random.random() < 0.5:
                    image = cv2.flip(image, 1)
                batch[row] = ((image - mean) * scale).transpose(2, 0, 1) if as_float else image
            yield cv2.__version__


def torchvision_recipe(folder):
    import torch
    import torchvision as package
    from torchvision.transforms import InterpolationMode, v2

    torch.set_num_threads(1)
    steps = v2.Compose([
        v2.RandomResizedCrop(RECIPE_SIDE, antialias=True), v2.RandomHorizontalFlip(),
        v2.TrivialAugmentWide(interpolation=InterpolationMode.BILINEAR), v2.PILToTensor(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([m / 255 for m in MEAN], [s / 255 for s in STD]), v2.RandomErasing(0.1)])
    data = package.datasets.ImageFolder(folder, steps)
    classes = len(data.classes)
    mix = v2.RandomChoice([v2.MixUp(alpha=0.2, num_classes=classes), v2.CutMix(alpha=1.0, num_classes=classes)])
    loader = torch.utils.data.DataLoader(
        data, BATCH, shuffle=True, num_workers=1, drop_last=True, persistent_workers=True,
        collate_fn=lambda rows: mix(*torch.utils.data.default_collate(rows)))
    while True:
        for _ in loader:
            yield package.__version__


def dali_recipe(folder):
    from nvidia import dali as package
    from nvidia.dali import fn, types
    from nvidia.dali.auto_aug import trivial_augment

    @package.pipeline_def(batch_size=BATCH, num_threads=1, device_id=None, enable_conditionals=True)
    def pipeline():
        encoded, _ = fn.readers.file(file_root=folder, random_shuffle=True, initial_fill=2048)
        image = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB,
                                              random_area=[0.08, 1], random_aspect_ratio=[3 / 4, 4 / 3])
        image = fn.resize(image, size=[RECIPE_SIDE] * 2, interp_type=types.INTERP_LINEAR, antialias=True)
        image = fn.flip(image, horizontal=fn.random.coin_flip(probability=0.5))
        image = trivial_augment.trivial_augment_wide(image, interp_type=types.INTERP_LINEAR)
        image = fn.crop_mirror_normalize(image, mean=MEAN, std=STD, dtype=types.FLOAT, output_layout="CHW")
        if fn.random.coin_flip(probability=0.1, dtype=types.BOOL):
            image = fn.erase(image, anchor=fn.random.uniform(range=[0, 0.6], shape=[2]),
                             shape=fn.random.uniform(range=[0.14, 0.57], shape=[2]),
                             axes=(1, 2), normalized=True)
        return image

    made = pipeline()
    made.build()
    while True:
        made.run()
        yield package.__version__


def mindspore_recipe(folder):
    import mindspore as package
    from mindspore.dataset import ImageFolderDataset, config, transforms, vision

    config.set_num_parallel_workers(1)
    classes = len(os.listdir(folder))
    steps = [vision.RandomCropDecodeResize(RECIPE_SIDE), vision.RandomHorizontalFlip(0.5),
             vision.TrivialAugmentWide(interpolation=vision.Inter.BILINEAR),
             vision.Normalize(MEAN, STD), vision.HWC2CHW(), vision.RandomErasing(0.1)]
    cutmix = vision.CutMixBatch(vision.ImageBatchFormat.NCHW, 1.0, 0.5)
    data = ImageFolderDataset(folder, shuffle=True, num_parallel_workers=1)
    data = data.map(steps, input_columns=["image"], num_parallel_workers=1)
    data = data.map([transforms.OneHot(classes)], input_columns=["label"], num_parallel_workers=1)
    data = data.batch(BATCH, drop_remainder=True)
    data = data.map([cutmix], input_columns=["image", "label"], num_parallel_workers=1)
    while True:
        for _ in data.create_tuple_iterator(output_numpy=True, num_epochs=1):
            yield package.__version__


RECIPES = {"torchvision": torchvision_recipe, "dali": dali_recipe, "mindspore": mindspore_recipe}
PEERS = {f.__name__: f for f in (dali, mindspore, tfdata, torchvision, opencv)}


def cpu_ticks():
    """User and system time of this process and of all that it started."""
    parents, ticks = {}, {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        parents[int(entry)] = int(fields[1])
        ticks[int(entry)] = sum(map(int, fields[11:15]))
    total = 0
    for process in ticks:
        ancestor = process
        while ancestor not in (0, os.getpid()):
            ancestor = parents.get(ancestor, 0)
        total += ticks[process] if ancestor == os.getpid() else 0
    return total


def main():
    if len(sys.argv) != 5 or sys.argv[3] not in ("u8", "f32", "recipe") or \
            sys.argv[1] not in (RECIPES if sys.argv[3] == "recipe" else PEERS):
        sys.exit(f"usage: peer.py {'|'.join(PEERS)} FOLDER u8|f32 SECONDS, or {'|'.join(RECIPES)} FOLDER recipe SECONDS")
    name, folder, kind, seconds = sys.argv[1:]
    batches = RECIPES[name](folder) if kind == "recipe" else PEERS[name](folder, kind == "f32")
    for _ in range(4):
        version = next(batches)
    begin, start, images = time.monotonic(), cpu_ticks(), 0
    while time.monotonic() - begin < float(seconds):
        next(batches)
        images += BATCH
    used = (cpu_ticks() - start) / os.sysconf("SC_CLK_TCK")
    print(f"{name} {version} {used / images * 1e6:.0f}", flush=True)
    os._exit(0)  # some wait for their threads


main()
