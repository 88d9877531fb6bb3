"""LeRobot's SmolVLA and smolpilot's beside each other on this CPU: the same checkpoint, inputs and threads, turn by turn.

Needs LeRobot 0.6.1 with its SmolVLA extra (`pip install 'lerobot[smolvla]==0.6.1'`, Python 3.12), a built smolpilot, and a checkpoint
that both can read:

    python tests/lerobot/speed.py target/release/smolpilot CHECKPOINT [--rounds 5] [--threads 2] [--vlm DIRECTORY]

In each round smolpilot computes a chunk (after one that warms it up), then LeRobot in f32, then LeRobot in the mix of bf16 and f32 in
which it publishes its weights. So all three see the same machine; what other programs take from it, they take from all. Prints medians
and ratios by stage. What smolpilot answers is held to LeRobot's f32 elsewhere (tests/parity, tests/full_size).

Without a network, `--vlm` names a directory with SmolVLM2's config.json, processor files and tokenizer; no weights are needed there.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("smolpilot", type=Path)
parser.add_argument("checkpoint", type=Path)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--vlm", help="SmolVLM2's files (default: what the checkpoint names)")
ARGS = parser.parse_args()

# Before anything is imported that starts threads.
os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(ARGS.threads)
if ARGS.vlm:
    os.environ["HF_HUB_OFFLINE"] = "1"

import lerobot  # noqa: E402
import torch  # noqa: E402
from lerobot.configs.policies import PreTrainedConfig  # noqa: E402
from lerobot.policies.factory import make_pre_post_processors  # noqa: E402
from lerobot.policies.smolvla.modeling_smolvla import SmolVLAPolicy  # noqa: E402

torch.set_num_threads(ARGS.threads)
# What smolpilot's bench shows its policy.
TASK = "Pick up the red cube and place it in the box."
WIDTH, HEIGHT, NOISE = 640, 480, 0.5
STAGES = ["vision", "prefix", "denoise", "total"]


def inputs(config, processor):
    """The observation of smolpilot's bench: made-up pictures, a state of zeros."""
    at = torch.arange(WIDTH * HEIGHT * 3, dtype=torch.int64)
    picture = ((at * 2654435761 % 2**32) >> 24).float().div(255).reshape(1, HEIGHT, WIDTH, 3)
    picture = picture.permute(0, 3, 1, 2).contiguous()
    batch = {key: picture.clone() for key in config.image_features}
    batch["observation.state"] = torch.zeros(1, *config.robot_state_feature.shape)
    batch["task"] = [TASK]
    return processor(batch)


class LeRobot:
    """LeRobot's policy with a stopwatch in it."""

    def __init__(self, mixed):
        config = PreTrainedConfig.from_pretrained(ARGS.checkpoint)
        config.device, config.load_vlm_weights = "cpu", False
        words = {}
        if ARGS.vlm:
            config.vlm_model_name = ARGS.vlm
            words = {"tokenizer_processor": {"tokenizer_name": ARGS.vlm}}
        self.policy = SmolVLAPolicy.from_pretrained(ARGS.checkpoint, config=config, strict=True).eval()
        overrides = {**words, "device_processor": {"device": "cpu"}}
        processor, _ = make_pre_post_processors(config, pretrained_path=ARGS.checkpoint, preprocessor_overrides=overrides)
        self.policy.float()
        if mixed:
            self.policy.model.vlm_with_expert.vlm.to(torch.bfloat16)
        self.batch = inputs(config, processor)
        self.noise = torch.full((1, config.chunk_size, config.max_action_dim), NOISE)
        self.spent = {}
        model = self.policy.model
        for owner, name, stage in [
            (model.vlm_with_expert, "embed_image", "vision"),
            (model, "denoise_step", "denoise"),
            (model, "sample_actions", "total"),
        ]:
            setattr(owner, name, self.timed(getattr(owner, name), stage))

    def timed(self, function, stage):
        def run(*words, **named):
            began = time.perf_counter()
            answer = function(*words, **named)
            self.spent[stage] = self.spent.get(stage, 0.0) + time.perf_counter() - began
            return answer

        return run

    def chunk(self):
        """Seconds by stage, and the actions. The prefix is what is neither vision nor denoising."""
        self.spent.clear()
        with torch.no_grad():
            actions = self.policy.predict_action_chunk(dict(self.batch), noise=self.noise.clone())
        spent = dict(self.spent)
        spent["prefix"] = spent["total"] - spent["vision"] - spent["denoise"]
        return spent, actions.float()


def smolpilot_chunk():
    """Seconds by stage of smolpilot's one measured run."""
    words = [ARGS.smolpilot.resolve(), "bench", "--policy", ARGS.checkpoint, "--device", "flex", "--runs", "1", "--json"]
    words += ["--task", TASK]
    with tempfile.TemporaryDirectory(prefix="smolpilot-speed-") as home:
        environment = {**os.environ, "HOME": home}
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, env=environment, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"smolpilot bench failed: {done.stderr}")
    report = json.loads(done.stdout)
    return {stage: report[stage]["ms"]["median"] / 1e3 for stage in STAGES}


def main():
    print(f"LeRobot {lerobot.__version__}, PyTorch {torch.__version__}, {ARGS.smolpilot}, {ARGS.threads} threads", flush=True)
    f32, mixed = LeRobot(mixed=False), LeRobot(mixed=True)
    (_, wanted), (_, found) = f32.chunk(), mixed.chunk()  # warm up
    ways = {"smolpilot": smolpilot_chunk, "LeRobot f32": lambda: f32.chunk()[0], "LeRobot bf16": lambda: mixed.chunk()[0]}
    times = {way: [] for way in ways}
    for number in range(ARGS.rounds):
        for way, run in ways.items():
            times[way].append(run())
        line = ", ".join(f"{way} {times[way][-1]['total']:.2f} s" for way in ways)
        print(f"round {number + 1}: {line}", flush=True)
    median = {way: {stage: statistics.median(run[stage] for run in runs) for stage in STAGES} for way, runs in times.items()}
    print(f"\nmedians of {ARGS.rounds}, seconds" + "".join(f"{stage:>10}" for stage in STAGES))
    for way, stages in median.items():
        print(f"{way:<24}" + "".join(f"{stages[stage]:10.2f}" for stage in STAGES))
    for way in list(ways)[1:]:
        # Ratios within a round, so that a load that comes and goes does not tell between the two.
        ratios = [statistics.median(b[s] / a[s] for a, b in zip(times["smolpilot"], times[way])) for s in STAGES]
        print(f"{way + ' / smolpilot':<24}" + "".join(f"{ratio:10.2f}" for ratio in ratios))
    print(f"largest difference of LeRobot's bf16 actions from its f32: {(wanted - found).abs().max():.1e}")


if __name__ == "__main__":
    main()
