"""The pictures of an episode as smolpilot decodes them, against LeRobot's: proof that row and picture belong together.

Needs what `recordings.py` needs, and a built smolpilot:

    python tests/lerobot/pixels.py target/release/smolpilot DATASET [--episode N] [--truth FOLDER] [--decoders torchcodec,pyav]

smolpilot writes each picture as PNG (`smolpilot data export`); LeRobot reads the same rows. Both decode the same film, so that they may
differ by rounding alone. With `--truth`, a folder of pictures named alike (`front-000000.png`), both are also compared with what the
camera showed before it was encoded: there they may differ by the codec's loss, and each must fit its own row better than the next.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("smolpilot", type=Path)
parser.add_argument("dataset", type=Path)
parser.add_argument("--episode", type=int, default=0)
parser.add_argument("--truth", type=Path)
parser.add_argument("--decoders", default="torchcodec,pyav")
ARGS = parser.parse_args()
HOME = Path(tempfile.mkdtemp(prefix="smolpilot-pixels-"))
os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=str(HOME / "hf"), HF_LEROBOT_HOME=str(HOME / "lerobot"))

import numpy as np  # noqa: E402
from lerobot.datasets.lerobot_dataset import LeRobotDataset  # noqa: E402
from PIL import Image  # noqa: E402

# Of 255. On its way from YUV to RGB ffmpeg, which both of LeRobot's decoders use, rounds down: its pictures are 1.0 darker, in green 1.5.
MEAN_ROUNDING, MEAN_LOSS = 2.0, 8.0


def picture(folder, camera, row):
    return np.asarray(Image.open(folder / f"{camera}-{row:06d}.png").convert("RGB")).astype(np.int16)


def difference(a, b):
    return float(np.abs(a - b).mean())


def main():
    ours = HOME / "ours"
    export = [ARGS.smolpilot, "data", "export", ARGS.dataset, "--episode", ARGS.episode, "--out", ours]
    subprocess.run([*map(str, export)], check=True)
    worst = {}
    for decoder in ARGS.decoders.split(","):
        dataset = LeRobotDataset("local/pixels", root=ARGS.dataset, video_backend=decoder)
        episode = dataset.meta.episodes[ARGS.episode]
        first, last = episode["dataset_from_index"], episode["dataset_to_index"]
        for index in range(first, last):
            item, row = dataset[index], index - first
            # The grid of rows and what the film's clock says are the same to 1e-4 s, or LeRobot would not have read it.
            assert abs(float(item["timestamp"]) - row / dataset.fps) < 1e-4, (row, item["timestamp"])
            for key in dataset.meta.camera_keys:
                camera = key.rsplit(".", 1)[-1]
                theirs = (item[key].numpy().transpose(1, 2, 0) * 255).round().astype(np.int16)
                own = picture(ours, camera, row)
                note(worst, f"{camera}: smolpilot and LeRobot ({decoder})", difference(own, theirs), MEAN_ROUNDING, row)
                if ARGS.truth:
                    loss(worst, f"{camera}: LeRobot ({decoder}) and the camera", theirs, camera, row, last - first)
                    loss(worst, f"{camera}: smolpilot and the camera", own, camera, row, last - first)
    for what, (value, row, _) in worst.items():
        print(f"{what}: mean difference at most {value:.2f} of 255, in row {row}")
    sys.exit(0 if all(value <= bound for value, _, bound in worst.values()) else 1)


def note(worst, what, value, bound, row):
    if value >= worst.get(what, (-1.0,))[0]:
        worst[what] = (value, row, bound)


def loss(worst, what, seen, camera, row, rows):
    right = difference(seen, picture(ARGS.truth, camera, row))
    note(worst, what, right, MEAN_LOSS, row)
    if row + 1 < rows:
        next_one = difference(seen, picture(ARGS.truth, camera, row + 1))
        assert right <= next_one, f"{what}: row {row} shows the picture of row {row + 1}"


if __name__ == "__main__":
    main()
