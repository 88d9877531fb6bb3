"""LeRobot's own tools on data sets that smolpilot wrote: proof that what is recorded can be read, added to, edited and trained on.

Needs LeRobot 0.6.1 (`pip install 'lerobot[dataset,training]==0.6.1' lerobot-lint lerobot-doctor`, Python 3.12), ffmpeg's libraries,
and a script that checks a data set with LeRobot's reader and exits with 0 when it is right:

    python tests/lerobot/recordings.py --validator validate_dataset.py DATASETS [--only read,lint,doctor,append,delete,split,merge]

DATASETS are data sets, or folders of data sets. Nothing in them is written to: each step works on a copy in a temporary folder. No
hub is asked. A line a step, exit status 0 when all of them held.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

STEPS = ["read", "lint", "doctor", "append", "delete", "split", "merge"]
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("datasets", nargs="+", type=Path)
parser.add_argument("--validator", type=Path, required=True)
parser.add_argument("--only", default=",".join(STEPS), help="the steps, separated by commas")
parser.add_argument("--stride", type=int, default=1, help="read every so many frames")
parser.add_argument("--keep", action="store_true", help="leave the temporary folder where it is")
ARGS = parser.parse_args()
HOME = Path(tempfile.mkdtemp(prefix="smolpilot-datasets-"))
# Before LeRobot is imported: it reads these once.
os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=str(HOME / "hf"), HF_LEROBOT_HOME=str(HOME / "lerobot"))
os.environ.update(SVT_LOG="1", TQDM_DISABLE="1")
BIN = Path(sys.executable).parent

import numpy as np  # noqa: E402
import lerobot  # noqa: E402
from lerobot.configs.video import RGBEncoderConfig  # noqa: E402
from lerobot.datasets.dataset_tools import delete_episodes, merge_datasets, split_dataset  # noqa: E402
from lerobot.datasets.lerobot_dataset import LeRobotDataset  # noqa: E402

# What LeRobot fills in by itself.
OWN = {"timestamp", "frame_index", "episode_index", "index", "task_index"}


def run(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise AssertionError("\n    ".join(lines[-25:]))
    return done.stdout


def read(root):
    """LeRobot's reader on every frame, by both decoders; not even a remark is let pass."""
    run(sys.executable, ARGS.validator, root, "--strict", "--stride", ARGS.stride)


def reads(root):
    """The same for what LeRobot's tools made, which the script may remark upon."""
    run(sys.executable, ARGS.validator, root, "--stride", ARGS.stride)


def lint(root):
    """Its exit status is 1 for warnings as well, whatever it is told, so that its report is read."""
    report = root.with_name("lint.json")
    words = [BIN / "lelint", "check", root.resolve(), "--profile", "so101", "--units", "degrees", "--json", report]
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    assert report.is_file(), done.stdout + done.stderr
    found = json.loads(report.read_text())
    errors = [it["message"] for it in found["findings"] if it["severity"] == "error"]
    assert not errors and found["summary"]["errors"] == 0, "; ".join(errors)
    return "ok" + remarks(it["check"] for it in found["findings"] if it["severity"] == "warning")


def doctor(root):
    said = json.loads(run(BIN / "lerobot-doctor", "check", root.resolve(), "--json", "--ci", "--fail-on", "fail"))
    failed = [check["name"] for check in said["checks"] if check["severity"] == "FAIL"]
    assert not failed, ", ".join(failed)
    return "ok" + remarks(check["name"] for check in said["checks"] if check["severity"] == "WARN")


def remarks(names):
    counts = Counter(names)
    return ", but: " + ", ".join(f"{name} x{count}" for name, count in counts.items()) if counts else ""


def opened(root):
    return LeRobotDataset(f"local/{root.name}", root=root)


def encoder(root):
    """LeRobot adds to a data set in the codec that it has."""
    features = json.loads((root / "meta/info.json").read_text())["features"]
    codecs = {it["info"]["video.codec"] for it in features.values() if it["dtype"] == "video"}
    return RGBEncoderConfig(vcodec="h264") if codecs == {"h264"} else None


def made_up(feature, at):
    """A value that fits a feature, and differs from row to row."""
    shape = tuple(feature["shape"])
    if feature["dtype"] in ("video", "image"):
        height, width, _ = shape
        picture = np.full(shape, 40, dtype=np.uint8)
        picture[:, : (at * 7) % width] = 200
        picture[(at * 5) % height :, :, 0] = 120
        return picture
    return np.full(shape, at % 7, dtype=feature["dtype"])


def append(root):
    """LeRobot records one more episode."""
    dataset = LeRobotDataset.resume(f"local/{root.name}", root=root, rgb_encoder=encoder(root))
    features, episodes = dataset.features, dataset.num_episodes
    for at in range(20):
        frame = {key: made_up(feature, at) for key, feature in features.items() if key not in OWN}
        dataset.add_frame({**frame, "task": "a task of LeRobot's"})
    dataset.save_episode()
    dataset.finalize()
    reads(root)
    assert opened(root).num_episodes == episodes + 1


def delete(root):
    dataset = opened(root)
    out = root.with_name(root.name + "-deleted")
    last = dataset.num_episodes - 1
    if last < 1:
        return "one episode only"
    delete_episodes(dataset, [last // 2], output_dir=out, repo_id="local/deleted")
    reads(out)
    assert opened(out).num_episodes == last


def split(root):
    dataset = opened(root)
    if dataset.num_episodes < 2:
        return "one episode only"
    half = dataset.num_episodes // 2
    parts = {"first": list(range(half)), "second": list(range(half, dataset.num_episodes))}
    out = root.with_name(root.name + "-split")
    split_dataset(dataset, parts, output_dir=out)
    for name in parts:
        reads(out / name)


def merge(root):
    """With itself: the same encoder, so that films are copied, not encoded again."""
    twin = root.with_name(root.name + "-twin")
    shutil.copytree(root, twin)
    out = root.with_name(root.name + "-merged")
    merge_datasets([opened(root), opened(twin)], output_repo_id="local/merged", output_dir=out)
    reads(out)
    assert opened(out).num_episodes == 2 * opened(root).num_episodes


def found():
    for place in ARGS.datasets:
        infos = [place / "meta/info.json", *sorted(place.glob("*/meta/info.json"))]
        roots = [info.parent.parent for info in infos if info.is_file()]
        if not roots:
            raise SystemExit(f"{place} holds no data set")
        yield from roots


def main():
    print(f"LeRobot {lerobot.__version__}, {ARGS.validator}", flush=True)
    wanted = ARGS.only.split(",")
    failures = 0
    for number, root in enumerate(found()):
        info = json.loads((root / "meta/info.json").read_text())
        print(f"{root}: {info['total_episodes']} episodes, {info['total_frames']} frames at {info['fps']} Hz", flush=True)
        for step in STEPS:
            if step not in wanted:
                continue
            copy = HOME / f"{number}-{step}" / root.name
            shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".recording"))
            began = time.monotonic()
            try:
                said = globals()[step](copy) or "ok"
            except Exception as why:
                said, failures = f"FAILED: {type(why).__name__}: {why}", failures + 1
            print(f"  {step:<8}{time.monotonic() - began:6.1f} s  {said}", flush=True)
            if not ARGS.keep:
                shutil.rmtree(copy.parent, ignore_errors=True)
    print("all held" if failures == 0 else f"{failures} failed")
    if not ARGS.keep:
        shutil.rmtree(HOME, ignore_errors=True)
    sys.exit(min(failures, 1))


if __name__ == "__main__":
    main()
