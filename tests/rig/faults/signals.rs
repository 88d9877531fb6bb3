//! Row 29 on the program itself: it flies a pretend arm over a serial port, and somebody ends it in mid-motion.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use smolpilot::clock::Clock;
use smolpilot::joint::Joint;
use smolpilot::sim::{Fault, Pty, SimArm};

use crate::flight::GOAL;

/// Longer than anything takes on a busy machine; reached only when the test fails.
const LIMIT: Duration = Duration::from_mins(1);
/// How long the program may take to drive. On a machine that is too busy for pretend servos to answer in time, it says so
/// and waits for its operator, who tries again.
const DRIVEN: Duration = Duration::from_secs(20);
const STARTS: u32 = 3;
/// Counts that a joint is pushed from where it stands, while it is driven, and after a stop.
const PUSHED: i32 = 60;
const AT_REST: i32 = 12;

/// One program at a time: each computes for a second or two, and the pretend servos have to answer meanwhile.
static TURN: Mutex<()> = Mutex::new(());

/// The program, flying an arm whose joints are blocked, so that each pushes towards where the policy wants it.
struct Flown {
    arm: SimArm,
    program: Child,
    _port: Pty,
    _folder: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Flown {
    fn pushing() -> Self {
        for _ in 0..STARTS {
            let mut flown = Self::start();
            if flown.came_to(|arm| pushed(arm) > PUSHED) {
                return flown;
            }
        }
        panic!("it does not drive");
    }

    fn start() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let arm = SimArm::new(Clock::real());
        let port = Pty::start(arm.clone(), None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let program = start(&port.path().unwrap(), folder.path(), &arm);
        Self {
            arm,
            program,
            _port: port,
            _folder: folder,
            _turn: turn,
        }
    }

    /// Waits until the arm is driven, blocks its joints, and waits until it is like this.
    fn came_to(&mut self, condition: impl Fn(&SimArm) -> bool) -> bool {
        let end = Instant::now() + DRIVEN;
        let mut is_blocked = false;
        while Instant::now() < end {
            assert!(self.program.try_wait().unwrap().is_none(), "it has ended");
            let is_driven = Joint::ALL.iter().all(|&joint| self.arm.torque(joint));
            if is_driven && !is_blocked {
                (1..=6).for_each(|id| self.arm.inject(Fault::Stuck(id)));
                is_blocked = true;
            }
            if is_blocked && condition(&self.arm) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Sends these signals one right after the other.
    fn signal(&self, names: &[&str]) {
        let pid = self.program.id().to_string();
        for name in names {
            let sent = Command::new("kill").args([name, pid.as_str()]).status();
            assert!(sent.unwrap().success());
        }
    }

    /// Waits for the end; the exit code. No joint was let go of.
    fn ended(&mut self) -> Option<i32> {
        let end = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.program.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(Joint::ALL.iter().all(|&joint| self.arm.torque(joint)));
        status.code()
    }
}

impl Drop for Flown {
    fn drop(&mut self) {
        // Only one that does not drive, or a failed test, leaves it running.
        self.program.kill().ok();
        self.program.wait().ok();
    }
}

fn start(port: &Path, folder: &Path, arm: &SimArm) -> Child {
    let (calibration, picture) = (folder.join("arm.json"), folder.join("grey.png"));
    std::fs::write(&calibration, arm.calibration().to_json()).unwrap();
    image::RgbImage::new(64, 48).save(&picture).unwrap();
    let camera = |name: &str| format!("--camera={name}={}", picture.display());
    Command::new("nice")
        .args(["-n", "19", env!("CARGO_BIN_EXE_smolpilot")])
        .args(["run", "--arm", "--device=flex", "--policy=demo"])
        .args([camera("front"), camera("wrist")])
        .arg("--follower")
        .arg(port)
        .arg("--calibration")
        .arg(calibration)
        .env("RAYON_NUM_THREADS", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Counts that the joint which is pushed most is away from the goal that it was told last.
fn pushed(arm: &SimArm) -> i32 {
    arm.advance();
    let (log, calibration, pose) = (arm.writes(), arm.calibration(), arm.pose());
    let of = |joint: Joint| {
        let id = calibration.motor(joint).id;
        let goal = log.iter().rfind(|it| it.id == id && it.address == GOAL)?;
        let goal = i32::from(u16::from_le_bytes([goal.bytes[0], goal.bytes[1]]));
        Some((goal - calibration.unnormalize(joint, pose[joint])).abs())
    };
    Joint::ALL.into_iter().filter_map(of).max().unwrap_or(0)
}

#[test]
fn fault_29_a_signal_stops_the_arm_before_the_program_ends() {
    for signal in ["-INT", "-TERM"] {
        let mut flown = Flown::pushing();
        flown.signal(&[signal]);
        assert_eq!(flown.ended(), Some(0), "{signal}");
        assert!(
            pushed(&flown.arm) <= AT_REST,
            "it still pushes after {signal}"
        );
    }
}

#[test]
fn fault_29_a_second_signal_does_not_break_the_stop_off() {
    let mut flown = Flown::pushing();
    flown.signal(&["-HUP", "-TERM", "-INT"]);
    // Once the arm holds, the second one ends the program at once, unless it has ended by itself.
    let code = flown.ended();
    assert!(matches!(code, Some(0 | 130)), "{code:?}");
    assert!(pushed(&flown.arm) <= AT_REST, "it still pushes");
}

#[test]
fn fault_29_a_stop_that_is_not_confirmed_shows_in_the_exit_code() {
    let mut flown = Flown::pushing();
    flown.arm.inject(Fault::Mute(1));
    flown.signal(&["-TERM"]);
    assert_eq!(flown.ended(), Some(1));
}
