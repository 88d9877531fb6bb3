//! Giving fresh servos their numbers, one servo at a time, as a state machine without a bus. All servos leave the factory as
//! number 1: two of them on one line talk at the same time, and a number that is given then goes to both.

use std::fmt;

use crate::arm::error::Motor;
use crate::arm::register::STS3215;
use crate::arm::role::Role;
use crate::joint::{JOINT_COUNT, Joint};

/// The number that a servo leaves the factory with.
const FACTORY_ID: u8 = 1;

/// Who is on a line that should hold one servo.
#[derive(Clone, Debug, PartialEq)]
pub enum OnLine {
    Nobody,
    /// Something talks, but over itself: several servos with one number, or a bad cable.
    Garbled,
    /// These numbers answer.
    Several(Vec<u8>),
    One(Lone),
}

/// The only servo on a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lone {
    pub id: u8,
    /// The baud rate that it listens to, as its register has it.
    pub rate: usize,
    pub model: i32,
    /// Volts at its plug.
    pub volts: f32,
}

/// What is to be done with what was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It has its number and its baud rate already.
    Right,
    /// It gets its number; it has this one.
    Number(u8),
    /// It has the number of another joint: perhaps the wrong servo is plugged in. Only if the operator insists.
    Foreign(Motor),
    /// Nothing is done.
    Refused(Refusal),
}

/// Why a servo is not numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Nobody,
    Garbled,
    Several(Vec<u8>),
    Model(i32),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str(
                "no servo answers at any speed: check the power supply, the cable from the board to the servo, and that the board's jumper is on B",
            ),
            Self::Garbled => f.write_str(
                "several servos answer at once: unplug all but one. (Fresh servos all have the number 1.) If there is only one, its cable is bad",
            ),
            Self::Several(ids) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "several servos are on the line (numbers {}): unplug all but one",
                    ids.join(", ")
                )
            }
            Self::Model(model) => write!(
                f,
                "this is {}, not an STS3215: take the servo that belongs there",
                model_name(*model)
            ),
        }
    }
}

/// A model in words.
pub fn model_name(model: i32) -> String {
    let name = match model {
        STS3215 => "an STS3215",
        2825 => "an STS3250",
        11272 => "an SM8512BL",
        1284 => "an SCS0009",
        521 => "an STS3036",
        _ => return format!("a servo of unknown model {model}"),
    };
    format!("{name} (model {model})")
}

/// How a servo came to its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// It had it.
    Already,
    /// It had this one before.
    From(u8),
}

/// Six servos on their way to their numbers: the gripper first, as LeRobot does.
#[derive(Clone, Debug)]
pub struct Numbering {
    role: Role,
    done: [Option<Numbered>; JOINT_COUNT],
    /// The joint whose servo is to be plugged in; `None` after the last.
    wanted: Option<Joint>,
}

impl Numbering {
    /// Begins with the gripper.
    pub fn new(role: Role) -> Self {
        Self {
            role,
            done: [None; JOINT_COUNT],
            wanted: Some(Joint::Gripper),
        }
    }

    /// What the arm is for: the gears differ.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The joint whose servo is to be plugged in alone, and the number it gets; `None` when all have theirs.
    pub fn wanted(&self) -> Option<Motor> {
        let joint = self.wanted?;
        let id = id_of(joint);
        Some(Motor { joint, id })
    }

    /// What has been done, by joint.
    pub fn done(&self) -> [Option<Numbered>; JOINT_COUNT] {
        self.done
    }

    /// What is to be done with what is on the line.
    pub fn judge(&self, found: &OnLine) -> Verdict {
        let lone = match found {
            OnLine::Nobody => return Verdict::Refused(Refusal::Nobody),
            OnLine::Garbled => return Verdict::Refused(Refusal::Garbled),
            OnLine::Several(ids) => return Verdict::Refused(Refusal::Several(ids.clone())),
            OnLine::One(lone) => lone,
        };
        if lone.model != STS3215 {
            return Verdict::Refused(Refusal::Model(lone.model));
        }
        let wanted = self.wanted().map(|motor| motor.id);
        if wanted == Some(lone.id) {
            return if lone.rate == 0 {
                Verdict::Right
            } else {
                Verdict::Number(lone.id)
            };
        }
        let other = Joint::ALL
            .into_iter()
            .find(|joint| id_of(*joint) == lone.id);
        match other {
            Some(joint) if lone.id != FACTORY_ID => Verdict::Foreign(Motor { joint, id: lone.id }),
            _ => Verdict::Number(lone.id),
        }
    }

    /// The wanted servo has its number: on to the next one.
    pub fn numbered(&mut self, how: Numbered) {
        let Some(joint) = self.wanted else { return };
        self.done[joint.index()] = Some(how);
        let before = joint.index().checked_sub(1);
        self.wanted = before.and_then(|index| Joint::ALL.get(index).copied());
    }

    /// Back to the servo before.
    pub fn back(&mut self) {
        let before = self.wanted.map_or(0, |joint| joint.index() + 1);
        if let Some(joint) = Joint::ALL.get(before) {
            self.wanted = Some(*joint);
            self.done[before] = None;
        }
    }
}

/// The number that LeRobot gives a joint's servo.
pub fn id_of(joint: Joint) -> u8 {
    joint.index() as u8 + 1
}

/// The gear ratio of a joint's servo: a leader must turn easily, and not every servo of its kit is alike.
pub fn gears(role: Role, joint: Joint) -> &'static str {
    match (role, joint) {
        (Role::Follower, _) | (_, Joint::ShoulderLift) => "1:345",
        (_, Joint::ShoulderPan | Joint::ElbowFlex) => "1:191",
        (_, Joint::WristFlex | Joint::WristRoll | Joint::Gripper) => "1:147",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lone(id: u8) -> Lone {
        Lone {
            id,
            rate: 0,
            model: STS3215,
            volts: 12.1,
        }
    }

    #[test]
    fn six_fresh_servos_get_their_numbers_from_the_gripper_down() {
        let mut numbering = Numbering::new(Role::Follower);
        let mut order = Vec::new();
        while let Some(motor) = numbering.wanted() {
            order.push(motor.id);
            match numbering.judge(&OnLine::One(lone(1))) {
                Verdict::Number(from) => numbering.numbered(Numbered::From(from)),
                Verdict::Right => numbering.numbered(Numbered::Already),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(order, [6, 5, 4, 3, 2, 1]);
        assert_eq!(
            numbering.done()[0],
            Some(Numbered::Already),
            "fresh servos are number 1"
        );
        assert_eq!(numbering.done()[5], Some(Numbered::From(1)));
        numbering.back();
        assert_eq!(numbering.wanted().map(|motor| motor.id), Some(1));
        numbering.back();
        assert_eq!(numbering.wanted().map(|motor| motor.id), Some(2));
        assert_eq!(numbering.done()[1], None);
    }

    #[test]
    fn what_is_not_one_sts3215_is_refused_in_words() {
        let numbering = Numbering::new(Role::Leader);
        for (found, word) in [
            (OnLine::Nobody, "power supply"),
            (OnLine::Garbled, "all but one"),
            (OnLine::Several(vec![1, 5]), "1, 5"),
            (
                OnLine::One(Lone {
                    model: 2825,
                    ..lone(1)
                }),
                "STS3250",
            ),
            (
                OnLine::One(Lone {
                    model: 9,
                    ..lone(1)
                }),
                "unknown model 9",
            ),
        ] {
            let Verdict::Refused(why) = numbering.judge(&found) else {
                panic!("{found:?} is taken")
            };
            assert!(why.to_string().contains(word), "{why}");
        }
    }

    #[test]
    fn a_servo_that_is_right_is_left_alone_and_another_joints_is_asked_about() {
        let numbering = Numbering::new(Role::Follower);
        assert_eq!(numbering.judge(&OnLine::One(lone(6))), Verdict::Right);
        let slow = Lone { rate: 4, ..lone(6) };
        assert_eq!(numbering.judge(&OnLine::One(slow)), Verdict::Number(6));
        assert_eq!(numbering.judge(&OnLine::One(lone(77))), Verdict::Number(77));
        let elbow = Motor {
            joint: Joint::ElbowFlex,
            id: 3,
        };
        assert_eq!(
            numbering.judge(&OnLine::One(lone(3))),
            Verdict::Foreign(elbow)
        );
    }

    #[test]
    fn a_leader_has_other_gears() {
        assert_eq!(gears(Role::Leader, Joint::ShoulderLift), "1:345");
        assert_eq!(gears(Role::Leader, Joint::Gripper), "1:147");
        assert_eq!(gears(Role::Follower, Joint::Gripper), "1:345");
    }
}
