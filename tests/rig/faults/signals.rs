//! Row 29 on the program itself: it flies a pretend arm over a serial port, and somebody ends it in mid-motion.

use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use smolpilot::clock::Clock;
use smolpilot::joint::Joint;
use smolpilot::sim::{Fault, Pty, SimArm};

use crate::flight::GOAL;

/// Longer than anything takes on a busy machine; reached only when the test fails.
const LIMIT: Duration = Duration::from_secs(60);
/// Counts that a joint is pushed from where it stands, while it is driven, and after a stop.
const PUSHED: i32 = 60;
const AT_REST: i32 = 12;

/// The program, flying an arm whose joints are blocked, so that each pushes towards where the policy wants it.
struct Flown {
    arm: SimArm,
    _port: Pty,
    _folder: tempfile::TempDir,
    program: Child,
}

impl Flown {
    fn pushing() -> Self {
        let arm = SimArm::new(Clock::real());
        let port = Pty::start(arm.clone(), None).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let program = start(&port.path().unwrap(), folder.path(), &arm);
        let mut flown = Self {
            arm,
            _port: port,
            _folder: folder,
            program,
        };
        flown.wait_until("driven", |arm| arm.torque(Joint::Gripper));
        for id in 1..=6 {
            flown.arm.inject(Fault::Stuck(id));
        }
        flown.wait_until("pushing", |arm| pushed(arm) > PUSHED);
        flown
    }

    fn wait_until(&mut self, what: &str, condition: impl Fn(&SimArm) -> bool) {
        let end = Instant::now() + LIMIT;
        while !condition(&self.arm) {
            let ended = self.program.try_wait().unwrap();
            assert!(
                ended.is_none() && Instant::now() < end,
                "never {what}: {ended:?}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal.
    fn signal(&self, name: &str) {
        let pid = self.program.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end, and checks that every joint stands still and none was let go of.
    fn ended(mut self) -> ExitStatus {
        let end = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.program.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(
            pushed(&self.arm) <= AT_REST,
            "it still pushes by {}",
            pushed(&self.arm)
        );
        assert!(Joint::ALL.iter().all(|&joint| self.arm.torque(joint)));
        status
    }
}

impl Drop for Flown {
    fn drop(&mut self) {
        // Only a failed test leaves it running.
        self.program.kill().ok();
        self.program.wait().ok();
    }
}

fn start(port: &Path, folder: &Path, arm: &SimArm) -> Child {
    let (calibration, picture) = (folder.join("arm.json"), folder.join("grey.png"));
    std::fs::write(&calibration, arm.calibration().to_json()).unwrap();
    image::RgbImage::new(64, 48).save(&picture).unwrap();
    let camera = |name: &str| format!("--camera={name}={}", picture.display());
    Command::new(env!("CARGO_BIN_EXE_smolpilot"))
        .args(["run", "--arm", "--device=flex", "--policy=demo"])
        .args([camera("front"), camera("wrist")])
        .arg("--follower")
        .arg(port)
        .arg("--calibration")
        .arg(calibration)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create("/tmp/sig.err").unwrap())
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
fn fault_29_signals_stop_the_arm_before_the_program_ends() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        let flown = Flown::pushing();
        flown.signal(signal);
        assert_eq!(flown.ended().code(), Some(0), "{signal}");
    }
}

#[test]
fn fault_29_a_second_signal_does_not_break_the_stop_off() {
    let flown = Flown::pushing();
    for signal in ["-INT", "-TERM", "-INT"] {
        flown.signal(signal);
    }
    // Once the arm holds, the second one ends the program at once, unless it has ended by itself.
    let code = flown.ended().code();
    assert!(matches!(code, Some(0 | 130)), "{code:?}");
}

#[test]
fn fault_29_a_stop_that_is_not_confirmed_shows_in_the_exit_code() {
    let flown = Flown::pushing();
    flown.arm.inject(Fault::Mute(1));
    flown.signal("-TERM");
    let arm = flown.arm.clone();
    let mut flown = flown;
    let end = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = flown.program.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < end, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(1));
    assert!(Joint::ALL.iter().all(|&joint| arm.torque(joint)));
}
