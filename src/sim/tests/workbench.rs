//! Calibrating and numbering the pretend servos with the real workbench: what is written, what is not, and what is left when
//! it fails.

use std::time::Duration;

use super::{connect, enable, rig};
use crate::arm::register::{RAM_START, Register};
use crate::arm::workbench::calibrating::{Calibrating, Stage};
use crate::arm::workbench::numbering::{Numbered, Numbering, OnLine, Verdict};
use crate::arm::workbench::{EngraveError, IDS, Workbench};
use crate::arm::{Arm, Calibration, Error, ErrorKind, Options, Problem, Role};
use crate::joint::{JOINT_COUNT, Joint};
use crate::sim::{Distortion, Fault, SimArm};

const PERIOD: Duration = Duration::from_millis(20);
/// Counts that the hand moves a joint between two looks.
const STEP: i32 = 150;

fn bench(rig: &SimArm) -> Workbench {
    Workbench::open(rig.port(), "bench", rig.clock()).unwrap()
}

fn connect_with(rig: &SimArm, calibration: Calibration) -> Result<Arm, Error> {
    let options = Options {
        clock: rig.clock().clone(),
        ..Options::default()
    };
    Arm::connect(rig.port(), calibration, options)
}

/// A person at the bench.
struct Hand<'a> {
    rig: &'a SimArm,
    bench: Workbench,
    it: Calibrating,
    /// Encoder counts of each joint, running on beyond a turn, and the ends of its travel.
    at: [i32; JOINT_COUNT],
    ends: [[i32; 2]; JOINT_COUNT],
    /// Homing offsets in the servos.
    offsets: [i32; JOINT_COUNT],
}

impl<'a> Hand<'a> {
    /// In front of an arm as it stands; each joint can go 1000 counts either way.
    fn at(rig: &'a SimArm) -> Self {
        let mut bench = bench(rig);
        let cards = bench.census().unwrap().whole().unwrap();
        let offsets = cards.map(|card| card.entry.homing_offset);
        let at = cards.map(|card| card.position + card.entry.homing_offset);
        Self {
            rig,
            bench,
            it: Calibrating::new(Role::Follower, IDS, offsets),
            at,
            ends: at.map(|at| [at - 1000, at + 1000]),
            offsets,
        }
    }

    fn look(&mut self) {
        self.rig.clock().advance(PERIOD);
        let looks = self.bench.look().unwrap();
        let positions = looks.map(|look| look.map(|look| look.position));
        self.it.measured(positions, self.rig.clock().now());
    }

    fn lead(&mut self, joint: Joint, goal: i32) {
        let index = joint.index();
        while self.at[index] != goal {
            self.at[index] += (goal - self.at[index]).clamp(-STEP, STEP);
            let position = self.at[index] - self.offsets[index];
            self.rig.inject(Fault::Position(IDS[index], position));
            self.look();
        }
    }

    /// All steps; the gripper opens upward.
    fn calibrate(&mut self) -> Calibration {
        for _ in 0..20 {
            self.look();
        }
        assert_eq!(self.it.advance(), Ok(Stage::Sweep));
        for joint in Joint::ALL {
            let middle = self.at[joint.index()];
            let [low, high] = self.ends[joint.index()];
            for goal in [low, high, middle] {
                self.lead(joint, goal);
            }
        }
        assert_eq!(self.it.advance(), Ok(Stage::Close));
        self.lead(Joint::Gripper, self.ends[5][0]);
        assert_eq!(self.it.advance(), Ok(Stage::Open));
        self.lead(Joint::Gripper, self.ends[5][1]);
        assert_eq!(self.it.advance(), Ok(Stage::Check));
        assert_eq!(self.it.obstacles(), []);
        self.it.calibration().unwrap()
    }
}

fn eeprom_writes(rig: &SimArm) -> usize {
    let writes = rig.writes();
    writes
        .iter()
        .filter(|write| write.address < RAM_START)
        .count()
}

fn shifted() -> Calibration {
    let mut motors = Joint::ALL.map(|joint| Calibration::simulated().motor(joint));
    for motor in &mut motors {
        motor.homing_offset -= 100;
    }
    motors[2].range_max += 50;
    Calibration::new(motors).unwrap()
}

/// Everything that a servo keeps, as it says itself.
fn kept(rig: &SimArm) -> Vec<(i32, i32, i32, i32)> {
    let cards = bench(rig).census().unwrap().whole().unwrap();
    let kept = cards.map(|card| {
        let entry = card.entry;
        (
            card.phase,
            entry.homing_offset,
            entry.range_min,
            entry.range_max,
        )
    });
    kept.to_vec()
}

/// Reported case c04: where the wrist stands, or what offset it has, makes no difference; and nothing is written before the
/// end.
#[test]
fn c04_any_middle_and_any_old_offset_can_be_calibrated() {
    let faults = [
        "",
        "pos:5=4095",
        "pos:5=0",
        "pos:5=4161",
        "offset:5=-1500",
        "pos:2=4095",
        "pos:3=4161",
        "poke:5:18=28",
    ];
    for fault in faults {
        let rig = rig();
        if !fault.is_empty() {
            rig.inject(fault.parse().unwrap());
        }
        if fault.starts_with("poke") {
            // Counts on beyond a turn.
            rig.inject(Fault::Position(5, 4161));
        }
        let mut hand = Hand::at(&rig);
        let calibration = hand.calibrate();
        assert_eq!(rig.writes(), [], "{fault}: written before it was said so");
        hand.bench.engrave(&calibration).unwrap();
        assert!(hand.bench.census().unwrap().holds(&calibration), "{fault}");
        drop(hand);
        let arm = connect_with(&rig, calibration);
        assert!(arm.is_ok(), "{fault}: {:?}", arm.err());
        for motor in kept(&rig) {
            assert_eq!(
                motor.0, 12,
                "{fault}: only the bit for several turns is cleared"
            );
        }
    }
}

#[test]
fn a_calibration_is_written_where_it_differs_and_drives_no_motor() {
    let rig = rig();
    let pose = rig.pose();
    let mut bench = bench(&rig);
    bench.engrave(&Calibration::simulated()).unwrap();
    assert_eq!(rig.writes(), [], "it was right already");
    let changed = bench.engrave(&shifted()).unwrap();
    assert_eq!(changed.len(), JOINT_COUNT);
    // Six offsets and one limit.
    assert_eq!(eeprom_writes(&rig), 7);
    rig.clock().advance(Duration::from_secs(1));
    rig.advance();
    assert_eq!(rig.pose(), pose, "a motor was driven");
    assert_eq!(rig.writes().last().map(|write| write.address), Some(48));
    for joint in Joint::ALL {
        assert!(!rig.torque(joint));
    }
    // What another program would switch torque on with.
    let cards = bench.census().unwrap().whole().unwrap();
    let mut bus = super::bus(&rig);
    for card in cards {
        let id = card.motor.id;
        assert_eq!(bus.read(id, Register::GoalPosition).unwrap(), card.position);
        assert_eq!(bus.read(id, Register::Lock).unwrap(), 1);
        assert_eq!(bus.read(id, Register::TorqueLimit).unwrap(), 1000);
    }
    let before = eeprom_writes(&rig);
    assert_eq!(bench.engrave(&shifted()).unwrap(), []);
    assert_eq!(eeprom_writes(&rig), before);
}

/// Fault 16: an acknowledgement that gets lost is no failure; what counts is what is read back.
#[test]
fn a_lost_acknowledgement_costs_nothing() {
    let rig = rig();
    for skip in [40, 3, 5, 2] {
        rig.inject(Fault::Next {
            skip,
            distortion: Distortion::Drop(0),
        });
    }
    bench(&rig).engrave(&shifted()).unwrap();
    assert!(bench(&rig).census().unwrap().holds(&shifted()));
}

/// Fault 17: a servo that acknowledges and keeps its old value is caught by reading back, and nothing else stays changed.
#[test]
fn a_value_that_is_not_kept_is_an_error_and_not_a_success() {
    let rig = rig();
    let old = Calibration::simulated().motor(Joint::ShoulderPan);
    let mut bench = bench(&rig);
    let lie = Register::HomingOffset.encode(old.homing_offset).unwrap();
    // Behind the census (three questions to each of six servos), torque and lock (each written and read), and the write.
    let mut skip = 18 + 4 + 1;
    for _ in 0..3 {
        rig.inject(Fault::Next {
            skip,
            distortion: Distortion::Params(0, lie.as_slice().to_vec()),
        });
        // The next read-back comes after the next write.
        skip = 1;
    }
    let error = bench.engrave(&shifted()).unwrap_err();
    let EngraveError::Restored(cause) = &error else {
        panic!("{error}")
    };
    assert!(
        matches!(
            cause.kind,
            ErrorKind::NotTaken {
                register: Register::HomingOffset,
                ..
            }
        ),
        "{cause}"
    );
    assert!(bench.census().unwrap().holds(&Calibration::simulated()));
}

#[test]
fn what_fails_midway_is_put_back_or_named() {
    let old = kept(&rig());
    // A servo that falls silent for a while somewhere in the middle of it.
    for skip in [26, 30, 41, 60] {
        let rig = rig();
        rig.inject(Fault::Next {
            skip,
            distortion: Distortion::LoseRequest,
        });
        for _ in 0..5 {
            rig.inject(super::next(Distortion::LoseRequest));
        }
        let error = bench(&rig).engrave(&shifted()).unwrap_err();
        let EngraveError::Restored(cause) = &error else {
            panic!("{skip}: {error}")
        };
        assert!(matches!(cause.kind, ErrorKind::Silent(_)), "{cause}");
        assert!(error.to_string().contains("old values again"), "{error}");
        assert_eq!(kept(&rig), old, "{skip}");
        bench(&rig).engrave(&shifted()).unwrap();
    }
    // The cable comes out and stays out.
    let rig = rig();
    let before_it = 24 * 21;
    rig.inject(Fault::DisconnectAfter(before_it + 200));
    let error = bench(&rig).engrave(&shifted()).unwrap_err();
    let EngraveError::Mixed { motors, .. } = &error else {
        panic!("{error}")
    };
    rig.heal();
    let now = kept(&rig);
    for (joint, (new, old)) in Joint::ALL.into_iter().zip(now.iter().zip(&old)) {
        let named = motors.iter().any(|motor| motor.joint == joint);
        assert!(
            named || new == old,
            "{joint} differs and is not named: {error}"
        );
    }
}

#[test]
fn an_arm_that_is_not_whole_or_holds_is_left_alone() {
    let rig = rig();
    rig.inject(Fault::Mute(4));
    let error = bench(&rig).engrave(&shifted()).unwrap_err();
    let EngraveError::Unfit(problems) = &error else {
        panic!("{error}")
    };
    assert!(matches!(problems.as_slice(), [Problem::Missing(motor)] if motor.id == 4));
    rig.heal();
    enable(&mut connect(&rig).unwrap()).unwrap();
    let before = eeprom_writes(&rig);
    let error = bench(&rig).engrave(&shifted()).unwrap_err();
    assert!(matches!(error, EngraveError::Holding(ref motors) if motors.len() == JOINT_COUNT));
    assert_eq!(eeprom_writes(&rig), before);
}

#[test]
fn an_arm_that_somebody_left_holding_is_let_go_softly() {
    let rig = rig();
    enable(&mut connect(&rig).unwrap()).unwrap();
    let mut bench = bench(&rig);
    assert_eq!(bench.holding().unwrap().len(), JOINT_COUNT);
    let began = rig.clock().now();
    bench.let_go().unwrap();
    assert!(rig.clock().now().saturating_sub(began) >= Duration::from_millis(500));
    assert_eq!(bench.holding().unwrap(), []);
    let fading = rig.writes();
    let limits: Vec<i32> = fading
        .iter()
        .filter(|write| write.id == 1 && write.address == Register::TorqueLimit.address())
        .map(|write| Register::TorqueLimit.decode(&write.bytes))
        .collect();
    assert_eq!(
        limits[limits.len() - 11..],
        [540, 480, 420, 360, 300, 240, 180, 120, 60, 0, 600]
    );
}

#[test]
fn a_census_says_who_is_there_and_what_is_wrong() {
    let rig = rig();
    let mut bench = bench(&rig);
    let census = bench.census().unwrap();
    assert!(census.holds(&Calibration::simulated()) && census.problems().is_empty());
    assert_eq!(census.engraved(), Some(Calibration::simulated()));
    assert!(census.role_hint().unwrap().contains("follower"));
    assert_eq!(rig.writes(), [], "looking changes nothing");
    // What the driver refuses to energise, the workshop names beforehand.
    rig.inject(Fault::Supply(8.5));
    rig.clock().advance(PERIOD);
    let problems = bench.census().unwrap().problems();
    assert_eq!(problems.len(), JOINT_COUNT, "{problems:?}");
    assert!(
        problems
            .iter()
            .all(|it| matches!(it, Problem::Voltage { min, .. } if *min == 9.5))
    );
    rig.heal();
    rig.clock().advance(PERIOD);
    rig.inject(Fault::Readdress(3, 2));
    rig.inject("poke:6:0=9".parse().unwrap());
    let census = bench.census().unwrap();
    let problems = census.problems();
    assert!(problems.contains(&Problem::Garbled(crate::arm::Motor {
        joint: Joint::ShoulderLift,
        id: 2
    })));
    assert!(
        problems
            .iter()
            .any(|it| matches!(it, Problem::Missing(motor) if motor.id == 3))
    );
    assert!(problems.iter().any(|it| matches!(it, Problem::Firmware(_))));
    assert_eq!(census.engraved(), None);
}

#[test]
fn two_servos_on_the_line_are_refused_and_one_gets_its_number() {
    let rig = rig();
    let mut bench = bench(&rig);
    let numbering = Numbering::new(Role::Follower);
    assert_eq!(bench.listen_at(0).unwrap(), OnLine::Several(IDS.to_vec()));
    for id in 1..5 {
        rig.inject(Fault::Mute(id));
    }
    rig.inject(Fault::Readdress(5, 6));
    assert_eq!(bench.listen_at(0).unwrap(), OnLine::Garbled);
    rig.inject(Fault::Mute(60));
    rig.inject(Fault::Readdress(6, 60));
    let found = bench.listen_at(0).unwrap();
    assert_eq!(numbering.judge(&found), Verdict::Right);
    assert_eq!(rig.writes(), []);
}

#[test]
fn a_number_is_given_and_read_back() {
    let rig = rig();
    for id in 1..6 {
        rig.inject(Fault::Mute(id));
    }
    rig.inject(Fault::Readdress(6, 77));
    let mut bench = bench(&rig);
    let mut numbering = Numbering::new(Role::Follower);
    let found = bench.listen_at(0).unwrap();
    let OnLine::One(lone) = &found else {
        panic!("{found:?}")
    };
    assert_eq!(numbering.judge(&found), Verdict::Number(77));
    bench.renumber(lone, 6).unwrap();
    numbering.numbered(Numbered::From(77));
    assert_eq!(numbering.wanted().map(|motor| motor.id), Some(5));
    let found = bench.listen_at(0).unwrap();
    assert!(matches!(found, OnLine::One(lone) if lone.id == 6));
    let mut bus = super::bus(&rig);
    assert_eq!(bus.read(6, Register::Lock).unwrap(), 1);
}
