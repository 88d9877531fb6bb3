"""A few steps of LeRobot's own training loop on a data set that smolpilot wrote.

Needs what `recordings.py` needs, for SmolVLA also LeRobot's `smolvla` extra:

    python tests/lerobot/train.py DATASET [--policy act|smolvla] [--steps 4] [--vlm tests/golden/tiny_a/vlm]

The policies have few layers of small width and begin from nothing: what is proven is that the loop's own reader, sampler, statistics
and processors take the data set, and that the loss stays a finite number. No hub is asked: in the place of SmolVLM2, which LeRobot would
fetch for SmolVLA, stands the small VLM of this program's own tests.
"""

import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("dataset", type=Path)
parser.add_argument("--policy", choices=["act", "smolvla"], default="act")
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--vlm", type=Path, default=Path(__file__).parents[1] / "golden/tiny_a/vlm", help="a folder in place of SmolVLM2")
ARGS = parser.parse_args()
HOME = Path(tempfile.mkdtemp(prefix="smolpilot-train-"))
os.environ.update(HF_HUB_OFFLINE="1", HF_HOME=str(HOME / "hf"), HF_LEROBOT_HOME=str(HOME / "lerobot"))

ACT = {
    "pretrained_backbone_weights": "null",
    "dim_model": 64,
    "n_heads": 2,
    "dim_feedforward": 128,
    "n_encoder_layers": 1,
    "n_vae_encoder_layers": 1,
    "chunk_size": 20,
    "n_action_steps": 20,
}
SMOLVLA = {
    "load_vlm_weights": "false",
    "num_vlm_layers": 2,
    "chunk_size": 20,
    "n_action_steps": 20,
    "resize_imgs_with_padding": "[64,64]",
}


def main():
    settings = dict(ACT)
    if ARGS.policy == "smolvla":
        settings = {**SMOLVLA, "vlm_model_name": ARGS.vlm.resolve()}
    words = [
        Path(sys.executable).parent / "lerobot-train",
        "--dataset.repo_id=local/trained",
        f"--dataset.root={ARGS.dataset}",
        f"--policy.type={ARGS.policy}",
        "--policy.device=cpu",
        "--policy.push_to_hub=false",
        *[f"--policy.{key}={value}" for key, value in settings.items()],
        f"--output_dir={HOME / 'out'}",
        f"--steps={ARGS.steps}",
        f"--batch_size={ARGS.batch}",
        "--num_workers=0",
        "--log_freq=1",
        "--env_eval_freq=0",
        "--wandb.enable=false",
    ]
    done = subprocess.run([*map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    losses = [float(loss) for loss in re.findall(r"\bloss:([-\w.+]+)", done.stdout)]
    kept = list((HOME / "out").rglob("model.safetensors"))
    if done.returncode != 0 or len(losses) < ARGS.steps or not all(map(math.isfinite, losses)) or not kept:
        print("\n".join(done.stdout.splitlines()[-40:]))
        print(f"FAILED: exit status {done.returncode}, losses {losses}, checkpoints {len(kept)}")
        sys.exit(1)
    print(f"{ARGS.policy}: {ARGS.steps} steps on {ARGS.dataset}, losses {losses}, a checkpoint of {kept[0].stat().st_size} bytes")
    shutil.rmtree(HOME, ignore_errors=True)


if __name__ == "__main__":
    main()
