//! A person at the helm: a leader in the hand, a takeover in mid-run, keys that are held, and parking.

use std::sync::Arc;
use std::time::Duration;

use glam::vec3;
use smolpilot::arm::Arm;
use smolpilot::clock::Clock;
use smolpilot::joint::{Joint, JointVec};
use smolpilot::latest::Latest;
use smolpilot::runtime::{
    Command, Drive, FaultKind, LeaderSetup, LeaderStatus, Mode, Runtime, Setup, Snapshot, Twist,
};
use smolpilot::sim::{Fault, SimArm};

use crate::scripted::loader;
use crate::stand::{Stand, armed, connected, connector, fault};

/// Where the policy of these tests wants the arm.
const NEAR: JointVec = JointVec([5.0, -48.0, 48.0, 48.0, 0.0, 20.0]);
/// The most that a joint may be sent in one tick at 60 Hz, and the rounding to whole counts.
const STEP: f32 = 1.0 + 0.1;

/// A hand puts the leader somewhere.
fn place(leader: &SimArm, pose: JointVec) {
    for joint in Joint::ALL {
        let counts = leader.calibration().unnormalize(joint, pose[joint]);
        let id = leader.calibration().motor(joint).id;
        leader.inject(Fault::Position(id, counts));
    }
}

/// The pose of an arm with one joint moved on by `by`.
fn moved(arm: &SimArm, joint: Joint, by: f32) -> JointVec {
    let mut pose = arm.pose();
    pose[joint] += by;
    pose
}

/// An armed follower and a leader that was put `by` degrees of pan away from it.
fn led(by: f32) -> (Stand, SimArm) {
    let follower = SimArm::new(Clock::real());
    let leader = SimArm::new(follower.clock().clone());
    place(&leader, moved(&leader, Joint::ShoulderPan, by));
    let stand = Stand::with_leader(follower, Some(&leader), NEAR);
    stand.until("connected", connected);
    stand.tell(Command::EnableTorque);
    stand.until("armed", armed);
    stand.until("led", is_led);
    (stand, leader)
}

fn is_led(seen: &Snapshot) -> bool {
    let leader = seen.leader.as_ref();
    leader.is_some_and(|leader| leader.status == LeaderStatus::Live)
}

fn apart(seen: &Snapshot) -> f32 {
    let leader = seen.leader.as_ref().and_then(|leader| leader.pose);
    leader.unwrap().max_abs_diff(seen.commanded)
}

/// The longest step of a body joint in the history from this tick on.
fn longest_step(seen: &Snapshot, from: u64) -> f32 {
    let history: Vec<_> = seen.history.iter().filter(|it| it.tick.0 >= from).collect();
    let steps = history.windows(2).map(|pair| {
        let step = pair[1]
            .commanded
            .zip(pair[0].commanded, |a, b| (a - b).abs());
        step.0[..5].iter().copied().fold(0.0, f32::max)
    });
    steps.fold(0.0, f32::max)
}

#[test]
fn a_follower_is_aligned_and_then_follows() {
    let (stand, leader) = led(25.0);
    let start = stand.arm.pose();
    stand.tell(Command::SetMode(Mode::Teleop));
    let seen = stand.until("aligning", |seen| seen.approaching.is_some());
    let (began, tick) = (seen.now, seen.tick.0);
    assert!(seen.commanded.max_abs_diff(start) < 2.0, "it jumped");
    let seen = stand.until("aligned", |seen| seen.approaching.is_none());
    assert!(
        seen.now.saturating_sub(began) >= Duration::from_millis(1450),
        "{:?}",
        seen.now.saturating_sub(began)
    );
    assert!(
        longest_step(&seen, tick) <= 0.5 + 0.1,
        "30 degrees a second"
    );
    assert!(apart(&seen) < 1.0);
    let from = leader.pose();
    for k in 1..=40 {
        let mut pose = from;
        pose[Joint::ElbowFlex] += 0.4 * k as f32;
        place(&leader, pose);
        stand.after(1);
    }
    let seen = stand.until("there", |seen| apart(seen) < 0.2);
    let turned = seen.measured[Joint::ElbowFlex] - start[Joint::ElbowFlex];
    assert!((15.0..17.0).contains(&turned), "{turned}");
    assert!(seen.max_step <= STEP, "{}", seen.max_step);
    assert!(seen.faults.is_empty(), "{:?}", seen.faults);
    let rate = seen.leader.as_ref().unwrap().rate_hz;
    assert!(rate > 30.0, "{rate}");
    assert!(Joint::ALL.iter().all(|&joint| !leader.torque(joint)));
}

#[test]
fn a_leader_that_is_pulled_out_in_mid_run_leaves_the_arm_holding_and_comes_back_slowly() {
    let (stand, leader) = led(0.0);
    stand.tell(Command::SetMode(Mode::Teleop));
    stand.until("following", |seen| {
        seen.mode == Mode::Teleop && apart(seen) < 1.0
    });
    leader.inject(Fault::Disconnect);
    let (seen, lost) = stand.until_fault(FaultKind::LeaderLost);
    assert_eq!((seen.mode, armed(&seen)), (Mode::Teleop, true));
    assert!(lost.what.contains("leader"), "{}", lost.what);
    let seen = stand.until("named", |seen| {
        let leader = seen.leader.as_ref().unwrap();
        matches!(&leader.status, LeaderStatus::Lost(why) if why.contains("adapter is gone"))
    });
    assert!(
        fault(&seen, FaultKind::BusLost).is_none(),
        "the follower is well"
    );
    stand.assert_holds(10);
    leader.heal();
    place(&leader, moved(&leader, Joint::ShoulderPan, -20.0));
    let seen = stand.until("approached", |seen| seen.approaching.is_some());
    let tick = seen.tick.0;
    let seen = stand.until("aligned", |seen| is_led(seen) && seen.approaching.is_none());
    assert!(longest_step(&seen, tick) <= 0.5 + 0.1);
    assert!(fault(&seen, FaultKind::LeaderLost).is_none());
}

#[test]
fn a_takeover_and_the_way_back_do_not_jump() {
    let (stand, leader) = led(-30.0);
    stand.tell(Command::SetMode(Mode::Policy));
    let seen = stand.until("driven", |seen| seen.measured.max_abs_diff(NEAR) < 1.0);
    let (tick, generation) = (seen.tick.0, seen.generation);
    stand.tell(Command::Takeover);
    let seen = stand.until("taken over", |seen| seen.mode == Mode::Teleop);
    assert_eq!(seen.interrupted, Some(Mode::Policy));
    let seen = stand.until("aligned", |seen| apart(seen) < 0.5);
    assert!(longest_step(&seen, tick) <= STEP);
    assert!(seen.history.back().is_some_and(|it| it.intervention));
    let chunks = seen.chunks;
    stand.tell(Command::Takeover);
    let seen = stand.until("given back", |seen| seen.mode == Mode::Policy);
    assert!(seen.generation > generation);
    let tick = seen.tick.0;
    stand.until("approached", |seen| {
        seen.chunks > chunks && seen.approaching.is_some()
    });
    let seen = stand.until("there", |seen| seen.measured.max_abs_diff(NEAR) < 1.0);
    // 30 °/s at the policy's 30 Hz.
    assert!(
        longest_step(&seen, tick) <= 1.0 + 0.1,
        "{}",
        longest_step(&seen, tick)
    );
    assert!(!leader.torque(Joint::ShoulderPan));
}

#[test]
fn a_leader_that_another_program_left_stiff_is_let_down() {
    let follower = SimArm::new(Clock::real());
    let leader = SimArm::new(follower.clock().clone());
    let mut stiff = connector(&leader)().unwrap();
    arm_it(&mut stiff);
    drop(stiff);
    assert!(leader.torque(Joint::ElbowFlex));
    let stand = Stand::with_leader(follower, Some(&leader), NEAR);
    stand.until("led", is_led);
    assert!(Joint::ALL.iter().all(|&joint| !leader.torque(joint)));
}

fn arm_it(arm: &mut Arm) {
    arm.begin_arming();
    while !arm.torque_enabled() {
        arm.advance_torque().unwrap();
    }
}

#[test]
fn a_key_that_is_held_drives_and_one_that_is_forgotten_stops() {
    let stand = Stand::armed(NEAR);
    stand.tell(Command::Takeover);
    stand.until("jogged", |seen| seen.mode == Mode::Jog);
    let start = stand.arm.pose();
    let up = Twist {
        linear: vec3(0.0, 0.0, 0.08),
        ..Twist::default()
    };
    stand.tell(Command::Drive(Drive::of_tip(up, 0.0)));
    stand.until("moving", |seen| seen.measured.max_abs_diff(start) > 0.5);
    // Nobody renews: it stands, and not far from there.
    let still = |seen: &Snapshot| {
        let newest = seen.history.iter().rev().take(12);
        let mut poses = newest.map(|it| it.commanded);
        let last = poses.next();
        poses.all(|pose| Some(pose) == last)
    };
    stand.until("still", still);
    assert!(stand.arm.pose().max_abs_diff(start) < 12.0);
    assert!(stand.snapshot().max_step <= STEP);
    // Let go of in so many words, it stops at once.
    let pan = Drive::of_joint(Joint::ShoulderPan, 40.0);
    for _ in 0..20 {
        stand.tell(Command::Drive(pan));
        stand.after(1);
    }
    stand.tell(Command::Drive(Drive::default()));
    // As fast as the limits let it slow down, and not back again.
    stand.after(10);
    stand.assert_holds(10);
    let turned = stand.arm.pose()[Joint::ShoulderPan] - start[Joint::ShoulderPan];
    assert!(turned > 2.0, "{turned}");
}

#[test]
fn a_parked_arm_is_low_and_then_limp() {
    let stand = Stand::armed(NEAR);
    stand.tell(Command::ParkAndRelease);
    let seen = stand.until("parking", |seen| seen.parking.is_some());
    let tick = seen.tick.0;
    let seen = stand.until("parked", |seen| seen.parked);
    assert!(
        longest_step(&seen, tick) <= 1.0 + 0.1,
        "30 degrees a second"
    );
    let seen = stand.until("limp", |seen| connected(seen) && !armed(seen));
    assert!(
        seen.measured[Joint::ShoulderLift] < -80.0,
        "{:?}",
        seen.measured
    );
    assert!(Joint::ALL.iter().all(|&joint| !stand.arm.torque(joint)));
}

/// Two minutes of teleoperation on a virtual clock, with a hand that never rests.
#[test]
fn a_long_teleoperation_never_leaps() {
    let follower = SimArm::new(Clock::virtual_at_zero());
    let leader = SimArm::new(follower.clock().clone());
    let start = leader.pose();
    // Connected before the loop starts: two threads that both wait would race the virtual clock.
    let (mut met, mut led) = (
        Some(connector(&follower)().unwrap()),
        Some(connector(&leader)().unwrap()),
    );
    let no_policy = loader(&Latest::new(), &Latest::new());
    let runtime = Runtime::start(Setup {
        connector: Some(Box::new(move || Ok(met.take().unwrap()))),
        leader: Some(LeaderSetup {
            name: "leader".to_owned(),
            connector: Box::new(move || Ok(led.take().unwrap())),
        }),
        ..Setup::new(follower.clock().clone(), no_policy)
    })
    .unwrap();
    let limit = Duration::from_mins(1);
    let until = |done: &dyn Fn(&Snapshot) -> bool| -> Arc<Snapshot> {
        runtime.wait_for(limit, done).unwrap()
    };
    until(&connected);
    runtime.commands.send(Command::EnableTorque).unwrap();
    until(&armed);
    runtime
        .commands
        .send(Command::SetMode(Mode::Teleop))
        .unwrap();
    let began = until(&|seen| seen.mode == Mode::Teleop).now;
    let end = began + Duration::from_mins(2);
    let mut seen = until(&|_| true);
    while seen.now < end {
        let t = seen.now.saturating_sub(began).as_secs_f32();
        let sway =
            |joint: Joint| start[joint] + 12.0 * (t * (0.5 + 0.1 * joint.index() as f32)).sin();
        place(&leader, JointVec::from_fn(sway));
        let tick = seen.tick.0;
        seen = until(&|seen| seen.tick.0 > tick);
    }
    assert!(seen.max_step <= 100.0 / 60.0 + 0.1, "{}", seen.max_step);
    assert!(longest_step(&seen, 0) <= STEP);
    assert_eq!((seen.mode, seen.bus_retries), (Mode::Teleop, 0));
}
