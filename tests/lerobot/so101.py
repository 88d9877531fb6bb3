"""LeRobot's own SO-101 classes against the pretend arms: proof that the emulator speaks as real servos do.

Needs LeRobot 0.6.1 with its Feetech extra (`pip install 'lerobot[feetech]==0.6.1'`, Python 3.12) and a built smolpilot:

    python tests/lerobot/so101.py target/release/smolpilot

It starts `smolpilot emulate`, lets LeRobot set ids, calibrate, read, drive and teleoperate, and checks that calibration
files pass both ways. The answers that a person would type are given by the script, and the hand that a person would lend
is the emulator's (`--control`). Nothing outside a temporary folder is written. Exit status 0 when all of it held.

LeRobot writes without a second try and gives up after 50 ms, spinning on a core meanwhile: run it on an idle machine.
"""

import builtins
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SMOLPILOT = Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/smolpilot").resolve()
HOME = Path(tempfile.mkdtemp(prefix="smolpilot-lerobot-"))
# Before LeRobot is imported: it reads these once.
os.environ["HF_LEROBOT_HOME"] = str(HOME / "lerobot")
os.environ["HF_LEROBOT_CALIBRATION"] = str(HOME / "lerobot" / "calibration")

import lerobot  # noqa: E402
from lerobot.robots.so_follower import SO101Follower, SO101FollowerConfig  # noqa: E402
from lerobot.teleoperators.so_leader import SO101Leader, SO101LeaderConfig  # noqa: E402
from lerobot.motors import motors_bus  # noqa: E402
from PIL import Image  # noqa: E402

JOINTS = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"]


class Emulator:
    """`smolpilot emulate`, its ports, and its hand."""

    def __init__(self, *words):
        command = [SMOLPILOT, "emulate", "--control", "--log", *map(str, words)]
        # Appended to, because both ends share its place.
        self.log = tempfile.TemporaryFile("a+", dir=HOME)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        count = 2 if "--pair" in words else 1
        lines = [self.process.stdout.readline().split() for _ in range(count)]
        self.ports = dict(lines)

    def tell(self, line):
        print(line, file=self.process.stdin, flush=True)

    def counted(self, pattern):
        """The sum of a number in all lines of the emulator's log so far."""
        self.log.seek(0)
        return sum(int(number) for number in re.findall(pattern, self.log.read()))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        ended = self.process.wait(timeout=10)
        if kind is None:
            check(ended == 0 and self.counted(r"(\d+) bytes were no request") == 0, "the emulator understood every byte")


@contextlib.contextmanager
def operator(answer):
    """Answers LeRobot's prompts in the place of a person."""
    asked = builtins.input

    def typed(prompt=""):
        print(f"   LeRobot asks: {prompt.strip()}", file=sys.stderr)
        return answer(prompt)

    builtins.input = typed
    try:
        yield
    finally:
        builtins.input = asked


def step(text):
    print(f"== {text}", flush=True)


def check(condition, what):
    if not condition:
        raise AssertionError(what)
    print(f"   ok: {what}", flush=True)


def meet(arm):
    """Connects. LeRobot pings each motor once and waits 50 ms; a busy machine may be slower than that now and then."""
    for _ in range(5):
        try:
            return arm.connect()
        except RuntimeError as error:
            if "motor check failed" not in str(error):
                raise
            print("   a motor was too slow to be met; again", file=sys.stderr)
            arm.bus.port_handler.closePort()
    return arm.connect()


def calibrate(emulator, role, arm):
    """LeRobot's calibration: middle, ENTER, sweep all joints, ENTER."""

    def answer(prompt):
        if "middle" in prompt:
            emulator.tell(f"{role} hand:middle")
            time.sleep(2.5)
        return ""

    # The sweep is ended by a key, which LeRobot polls for beside reading positions.
    began = None

    def enter():
        nonlocal began
        if began is None:
            emulator.tell(f"{role} hand:sweep")
            began = time.monotonic()
        return time.monotonic() - began > 6

    polled = motors_bus.enter_pressed
    motors_bus.enter_pressed = enter
    try:
        # Its live table of positions would fill thousands of lines.
        with operator(answer), contextlib.redirect_stdout(io.StringIO()):
            meet(arm)
    finally:
        motors_bus.enter_pressed = polled
    emulator.tell(f"{role} hand:middle")
    time.sleep(2.5)
    check(arm.is_calibrated, f"{role}: the servos hold what LeRobot has written to {arm.calibration_fpath}")


def read_pose(arm):
    pose = arm.get_observation() if hasattr(arm, "get_observation") else arm.get_action()
    return {joint: pose[f"{joint}.pos"] for joint in JOINTS}


def drive(follower, target, seconds=3.0):
    """Sends goals in small steps, as every program should, until the target; the last observation."""
    start, began = read_pose(follower), time.monotonic()
    while True:
        share = min((time.monotonic() - began) / seconds, 1.0)
        goal = {f"{joint}.pos": start[joint] + share * (target[joint] - start[joint]) for joint in JOINTS}
        follower.send_action(goal)
        if share == 1.0:
            time.sleep(0.5)
            return read_pose(follower)
        time.sleep(1 / 60)


def set_ids():
    step("ids: six motors out of the box, one at a time")
    with Emulator("--boxed") as emulator:
        follower = SO101Follower(SO101FollowerConfig(port=emulator.ports["follower"], id="boxed"))

        def answer(prompt):
            emulator.tell(f"only:{prompt.split(chr(39))[1]}")
            time.sleep(0.3)
            return ""

        with operator(answer):
            follower.setup_motors()
        emulator.tell("plug:all")
        time.sleep(0.3)
        follower.bus.port_handler.closePort()
        follower.bus.connect()
        check(sorted(follower.bus.broadcast_ping()) == [1, 2, 3, 4, 5, 6], "all six answer to their own ids")
        follower.bus.disconnect()


def fly_a_pair():
    step("a follower and a leader that were never calibrated")
    with Emulator("--pair", "--fresh") as emulator:
        follower = SO101Follower(SO101FollowerConfig(port=emulator.ports["follower"], id="lero"))
        leader = SO101Leader(SO101LeaderConfig(port=emulator.ports["leader"], id="lero"))
        calibrate(emulator, "follower", follower)
        calibrate(emulator, "leader", leader)

        step("observation and action")
        pose = read_pose(follower)
        print("   ", {joint: round(value, 1) for joint, value in pose.items()})
        target = {"shoulder_pan": 25.0, "shoulder_lift": -20.0, "elbow_flex": 15.0, "wrist_flex": 30.0,
                  "wrist_roll": -40.0, "gripper": 70.0}
        reached = drive(follower, target)
        worst = max(abs(reached[joint] - target[joint]) for joint in JOINTS)
        check(worst < 0.5, f"the follower reaches its goal (worst joint {worst:.2f} away)")

        step("two seconds of teleoperation")
        drive(follower, read_pose(leader))
        emulator.tell("leader hand:wave")
        worst, cycles, began = 0.0, 0, time.monotonic()
        while time.monotonic() - began < 2.0:
            tick = time.perf_counter()
            action = leader.get_action()
            follower.send_action(action)
            seen = read_pose(follower)
            if time.monotonic() - began > 0.5:
                worst = max(worst, *(abs(seen[joint] - action[f"{joint}.pos"]) for joint in JOINTS[:5]))
            cycles += 1
            time.sleep(max(0.0, 1 / 60 - (time.perf_counter() - tick)))
        moved = max(abs(read_pose(leader)[joint] - reached[joint]) for joint in JOINTS)
        check(cycles > 60 and moved > 3, f"{cycles} cycles, the leader has moved")
        check(worst < 15, f"the follower is never more than {worst:.1f} degrees behind")
        follower.disconnect()
        leader.disconnect()

        step("a calibration of LeRobot's in smolpilot")
        file = follower.calibration_fpath
        check(list(json.loads(file.read_text())) == JOINTS, f"{file.name} has the six joints")
        accepted(emulator.ports["follower"], file)

        step("LeRobot again, without calibrating again")
        again = SO101Follower(SO101FollowerConfig(port=emulator.ports["follower"], id="lero"))
        with operator(refuse):
            meet(again)
        check(again.is_calibrated, "connected with the file")
        again.disconnect()


def refuse(prompt):
    raise AssertionError(f"LeRobot wants to be calibrated: {prompt}")


def accepted(port, file):
    """smolpilot meets the arm with this file: its handshake compares every servo with it."""
    picture = HOME / "grey.png"
    Image.new("RGB", (64, 48), "grey").save(picture)
    words = [SMOLPILOT, "run", "--follower", port, "--calibration", file, "--seconds", "1", "--json"]
    words += ["--camera", f"front={picture}", "--camera", f"wrist={picture}"]
    environment = {**os.environ, "HOME": str(HOME)}
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, env=environment, timeout=120)
    summary = json.loads(done.stdout) if done.stdout.strip() else {}
    # Packets that a busy machine was too slow for have nothing to do with the file.
    faults = [fault for fault in summary.get("faults", []) if "not fit" in fault["what"]]
    if done.returncode != 0 or faults:
        raise AssertionError(f"smolpilot refuses {file}: {faults} {done.stderr}")
    print(f"   ok: smolpilot accepts {Path(file).name}", flush=True)
    wrong = json.loads(Path(file).read_text())
    wrong["elbow_flex"]["homing_offset"] += 1
    other = HOME / "wrong.json"
    other.write_text(json.dumps(wrong))
    words[words.index(file)] = other
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, env=environment, timeout=120)
    check(done.returncode == 1 and "elbow_flex" in done.stderr, "and refuses one that is a count off")


def take_ours():
    step("calibrations of smolpilot's in LeRobot")
    folder = os.environ["HF_LEROBOT_CALIBRATION"]
    with Emulator("--pair", "--calibration", folder, "--id", "ours", "--hand", "wave") as emulator:
        follower = SO101Follower(SO101FollowerConfig(port=emulator.ports["follower"], id="ours"))
        leader = SO101Leader(SO101LeaderConfig(port=emulator.ports["leader"], id="ours"))
        with operator(refuse):
            meet(follower)
            meet(leader)
        check(follower.is_calibrated and leader.is_calibrated, "both are calibrated as they come")
        first = read_pose(leader)
        time.sleep(1.0)
        moved = max(abs(read_pose(leader)[joint] - first[joint]) for joint in JOINTS)
        check(moved > 3, "the leader waves")
        follower.disconnect()
        leader.disconnect()


def bear_noise():
    step("a bad line: one transaction in thirty is struck")
    script = HOME / "bad.faults"
    script.write_text("every 1/30 seed 3 drop|flip|late:5   # what LeRobot's retries get over\n")
    folder = os.environ["HF_LEROBOT_CALIBRATION"]
    with Emulator("--calibration", folder, "--id", "noisy") as emulator:
        follower = SO101Follower(SO101FollowerConfig(port=emulator.ports["follower"], id="noisy", num_read_retries=5))
        meet(follower)
        for line in script.read_text().splitlines():
            emulator.tell(line)
        for _ in range(300):
            follower.get_observation()
        emulator.tell("heal")
        time.sleep(1.2)  # The log comes once a second.
        follower.disconnect()
        strikes = emulator.counted(r"(\d+) struck by faults")
        check(strikes > 1, f"300 observations in spite of {strikes} faults")


if __name__ == "__main__":
    print(f"LeRobot {lerobot.__version__}, {SMOLPILOT}")
    set_ids()
    fly_a_pair()
    take_ours()
    bear_noise()
    shutil.rmtree(HOME)
    print("LeRobot's SO101Follower and SO101Leader work with the emulator")
