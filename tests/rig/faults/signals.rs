//! Row 29 on the program itself: it flies a pretend arm over a serial port, and somebody ends it in mid-motion.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use smolpilot::clock::Clock;
use smolpilot::joint::{Joint, JointVec};
use smolpilot::sim::{Fault, Gesture, Pty, SimArm};

use crate::flight::GOAL;

/// Longer than anything takes on a busy machine; reached only when the test fails.
const LIMIT: Duration = Duration::from_mins(1);
/// Counts that a joint is pushed from where it stands, while it is driven, and after a stop.
const PUSHED: i32 = 60;
const AT_REST: i32 = 12;

/// Where the leader is held, far from where the follower stands.
const HELD: JointVec = JointVec([40.0, -50.0, 50.0, 50.0, 0.0, 20.0]);

/// The program, flying an arm whose joints are blocked, so that one pushes towards where its leader is.
struct Flown {
    arm: SimArm,
    program: Child,
    _ports: [Pty; 2],
    _folder: tempfile::TempDir,
}

impl Flown {
    fn pushing() -> Self {
        let clock = Clock::real();
        let served = |arm: SimArm| (arm.clone(), Pty::start(arm, None).unwrap());
        let follower = served(SimArm::new(clock.clone()));
        let leader = served(SimArm::leader(clock));
        leader.0.hand(Gesture::To(HELD));
        let folder = tempfile::tempdir().unwrap();
        let mut flown = Self {
            program: start(folder.path(), &follower, &leader),
            arm: follower.0,
            _ports: [follower.1, leader.1],
            _folder: folder,
        };
        let driven = |arm: &SimArm| Joint::ALL.iter().all(|&joint| arm.torque(joint));
        flown.wait_until("driven", driven);
        (1..=6).for_each(|id| flown.arm.inject(Fault::Stuck(id)));
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
        // Only a failed test leaves it running.
        self.program.kill().ok();
        self.program.wait().ok();
    }
}

/// The program without a policy, which would take the time that the pretend servos need to answer in.
fn start(folder: &Path, follower: &(SimArm, Pty), leader: &(SimArm, Pty)) -> Child {
    let mut program = Command::new(env!("CARGO_BIN_EXE_smolpilot"));
    program.args(["teleop", "--arm"]);
    let names = [
        ("follower", "calibration"),
        ("leader", "leader-calibration"),
    ];
    for ((arm, port), (role, calibration)) in [follower, leader].into_iter().zip(names) {
        let file = folder.join(format!("{role}.json"));
        std::fs::write(&file, arm.calibration().to_json()).unwrap();
        program.arg(format!("--{role}")).arg(port.path().unwrap());
        program.arg(format!("--{calibration}")).arg(file);
    }
    let program = program.stdout(Stdio::null()).stderr(Stdio::null());
    program.spawn().unwrap()
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
