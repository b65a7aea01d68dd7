#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the images of this folder: what DALI makes of ../torchvision/rgb-70x12.ppm on the CPU.

Needs nvidia-dali (made with 2.4.0), no GPU. Run it in this folder; the files are kept in the
repository, so that tests need neither.
"""
import numpy
from nvidia.dali import fn, pipeline_def, types

with open("../torchvision/rgb-70x12.ppm", "rb") as file:
    lines = file.read().split(b"\n", 3)
width, height = map(int, lines[1].split())
image = numpy.frombuffer(lines[3], numpy.uint8).reshape(height, width, 3)


def save(name, operator):
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return operator(fn.external_source(source=lambda: [image], layout="HWC"))

    made = pipeline()
    made.build()
    result = numpy.array(made.run()[0][0])
    with open(name + ".ppm", "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (width, height))
        file.write(result.tobytes())


save("color-twist", lambda x: fn.color_twist(x, brightness=1.3, contrast=0.7, saturation=1.6, hue=40))
save("color-twist-gray", lambda x: fn.color_twist(x, brightness=0.8, contrast=1.5, saturation=0, hue=-100))
MATRIX = [0.9, 0.2, -3.5, -0.1, 1.1, 2.25]
save("warp-affine", lambda x: fn.warp_affine(x, matrix=MATRIX, fill_value=90))
save("warp-affine-nearest", lambda x: fn.warp_affine(x, matrix=MATRIX, fill_value=90, inverse_map=False,
                                                     interp_type=types.INTERP_NN))
