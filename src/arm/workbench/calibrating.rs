//! Calibrating an arm, as a state machine without a bus: it takes what the servos say while a person moves the limp arm,
//! says what is still missing, and in the end knows what to write. Nothing is written before that, neither to a servo nor
//! to a disk, so that it can be left at any step.

use std::fmt;
use std::time::Duration;

use crate::arm::calibration::{Calibration, MotorCalibration};
use crate::arm::role::Role;
use crate::arm::turn::{degrees, encoder_from_position, short_way};
use crate::arm::workbench::homing::{centred, full_turn, is_clear_of_wrap};
use crate::arm::workbench::sweep::{Sweep, Travel, usual_travel};
use crate::joint::{JOINT_COUNT, Joint, JointVec};

/// Counts within which an arm that is held still may tremble (2°), and for how long it is to be still.
const TREMBLE: i32 = 23;
const STILL_TIME: Duration = Duration::from_millis(300);
/// A joint that has not answered for so long is silent.
const SILENCE: Duration = Duration::from_millis(500);
/// The gripper is at an end of its travel when it is in this part of it.
const END_SHARE: f32 = 0.2;
/// A middle pose that is so far from the middle of the travel deserves a word, degrees: a part of the travel may be missing.
const ODD_MIDDLE: f32 = 25.0;

/// The steps, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The arm is put into the middle of its travel.
    #[default]
    Middle,
    /// Each joint is led from one end of its travel to the other.
    Sweep,
    /// The gripper is closed.
    Close,
    /// The gripper is opened; which way that turns is its drive mode.
    Open,
    /// The arm on the screen follows the real one.
    Check,
}

impl Stage {
    /// All, in their order.
    pub const ALL: [Self; 5] = [
        Self::Middle,
        Self::Sweep,
        Self::Close,
        Self::Open,
        Self::Check,
    ];
}

/// What stands in the way of the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// These joints do not answer.
    Silent(Vec<Joint>),
    /// The arm is still moving.
    Moving,
    /// This joint's sweep is of no use as it is.
    Travel(Joint, Travel),
    /// The wrist turns further than half a turn from the middle that was shown.
    OffCentre(Joint),
    /// The gripper stands somewhere in the middle of its travel.
    Halfway,
    /// The gripper is open where it was closed.
    SameEnd,
    /// The result would be no calibration; cannot happen to an arm whose ids differ.
    Impossible(String),
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent(joints) => {
                let names: Vec<&str> = joints.iter().map(|joint| joint.name()).collect();
                write!(
                    f,
                    "{} does not answer: check the power and the cable into it",
                    names.join(", ")
                )
            }
            Self::Moving => f.write_str("hold the arm still for a moment"),
            Self::Travel(joint, Travel::Unmoved) => {
                write!(f, "{joint} has not moved yet: lead it to both of its ends")
            }
            Self::Travel(joint, Travel::TooLong) => write!(
                f,
                "{joint} turned by more than 350°: it has no stop, or its horn slips; redo it"
            ),
            Self::Travel(joint, Travel::Jumped) => {
                write!(f, "{joint} jumped between two readings: redo it, slower")
            }
            Self::Travel(joint, _) => {
                write!(f, "{joint} has hardly moved: lead it to both of its ends")
            }
            Self::OffCentre(joint) => write!(
                f,
                "{joint} turns more than half a turn away from the middle you showed: go back and put it in its middle"
            ),
            Self::Halfway => f.write_str("the gripper stands halfway: move it all the way"),
            Self::SameEnd => f.write_str("the gripper is where it was when it was closed"),
            Self::Impossible(why) => f.write_str(why),
        }
    }
}

/// One joint as the operator sees it. Degrees from the middle pose; from where the joint was at first, before there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointBar {
    pub joint: Joint,
    /// Where it is; `None` while it is silent.
    pub now: Option<f32>,
    pub low: f32,
    pub high: f32,
    /// From end to end.
    pub travel: f32,
    /// What an SO-101's joint usually travels.
    pub usual: f32,
    /// What the sweep is worth.
    pub verdict: Travel,
    /// Whether it has to be swept at all: the wrist's roll has not.
    pub is_swept: bool,
}

/// The newest reading of one joint.
#[derive(Clone, Copy, Debug)]
struct Seen {
    encoder: i32,
    at: Duration,
    /// Where it was at the beginning.
    first: i32,
    /// Where it was when it last moved, and when.
    anchor: i32,
    since: Duration,
}

/// A calibration on its way.
#[derive(Clone, Debug)]
pub struct Calibrating {
    role: Role,
    ids: [u8; JOINT_COUNT],
    /// Homing offsets that the servos subtract while this goes on.
    offsets: [i32; JOINT_COUNT],
    stage: Stage,
    now: Duration,
    seen: [Option<Seen>; JOINT_COUNT],
    /// Encoder counts of the middle pose, on the scale of the sweeps.
    middle: Option<[i32; JOINT_COUNT]>,
    sweeps: Option<[Sweep; JOINT_COUNT]>,
    closed: Option<i32>,
    opened: Option<i32>,
}

impl Calibrating {
    /// Begins with the middle pose. `offsets` are the homing offsets in force in the servos; they stay in force.
    pub fn new(role: Role, ids: [u8; JOINT_COUNT], offsets: [i32; JOINT_COUNT]) -> Self {
        Self {
            role,
            ids,
            offsets,
            stage: Stage::Middle,
            now: Duration::ZERO,
            seen: [None; JOINT_COUNT],
            middle: None,
            sweeps: None,
            closed: None,
            opened: None,
        }
    }

    /// What the arm is for.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The step that is to be done.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Takes the positions that the servos reported at `now`, counts after their present homing; `None` where no answer came.
    pub fn measured(&mut self, positions: [Option<i32>; JOINT_COUNT], now: Duration) {
        self.now = now;
        for (index, position) in positions.into_iter().enumerate() {
            let Some(position) = position else { continue };
            let encoder = encoder_from_position(position, self.offsets[index]);
            let moved = |seen: &Seen| short_way(seen.anchor, encoder).abs() > TREMBLE;
            let (anchor, since) = match &self.seen[index] {
                Some(seen) if !moved(seen) => (seen.anchor, seen.since),
                _ => (encoder, now),
            };
            self.seen[index] = Some(Seen {
                encoder,
                first: self.seen[index].map_or(encoder, |seen| seen.first),
                at: now,
                anchor,
                since,
            });
            if let Some(sweeps) = &mut self.sweeps {
                sweeps[index].measured(encoder, now);
            }
        }
    }

    /// Everything that stands in the way of the next step; in the last one, of saving.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let silent: Vec<Joint> = Joint::ALL
            .into_iter()
            .filter(|joint| self.is_silent(*joint))
            .collect();
        if !silent.is_empty() {
            return vec![Obstacle::Silent(silent)];
        }
        let mut found = Vec::new();
        match self.stage {
            Stage::Middle => {
                if !Joint::ALL.into_iter().all(|joint| self.is_still(joint)) {
                    found.push(Obstacle::Moving);
                }
            }
            Stage::Sweep => found.extend(self.spoilt_sweeps()),
            Stage::Close | Stage::Open => {
                found.extend(self.spoilt_sweeps());
                found.extend(self.gripper_obstacle());
            }
            Stage::Check => {
                found.extend(self.spoilt_sweeps());
                if found.is_empty()
                    && let Err(impossible) = self.calibration()
                {
                    found.push(impossible);
                }
            }
        }
        found
    }

    /// Goes on to the next step; the last one stays.
    ///
    /// # Errors
    /// What stands in the way; nothing has changed then.
    pub fn advance(&mut self) -> Result<Stage, Vec<Obstacle>> {
        let obstacles = self.obstacles();
        if !obstacles.is_empty() {
            return Err(obstacles);
        }
        match self.stage {
            Stage::Middle => {
                let encoders = self.seen.map(|seen| seen.map_or(0, |seen| seen.encoder));
                self.middle = Some(encoders);
                self.sweeps = Some(encoders.map(|encoder| Sweep::begin(encoder, self.now)));
            }
            Stage::Close => self.closed = self.gripper_now(),
            Stage::Open => self.opened = self.gripper_now(),
            Stage::Sweep | Stage::Check => {}
        }
        let next = self.stage as usize + 1;
        self.stage = Stage::ALL.get(next).copied().unwrap_or(Stage::Check);
        Ok(self.stage)
    }

    /// Goes back by a step. What was swept stays, but for the step before it: a new middle begins new sweeps.
    pub fn back(&mut self) {
        self.stage = match self.stage {
            Stage::Middle | Stage::Sweep => Stage::Middle,
            Stage::Close => Stage::Sweep,
            Stage::Open => Stage::Close,
            Stage::Check => Stage::Open,
        };
        if self.stage == Stage::Middle {
            (self.middle, self.sweeps) = (None, None);
        }
    }

    /// Forgets how far a joint went: it is to be swept again, from where it is.
    pub fn redo(&mut self, joint: Joint) {
        let index = joint.index();
        let (Some(sweeps), Some(middle), Some(seen)) =
            (&mut self.sweeps, &self.middle, &self.seen[index])
        else {
            return;
        };
        // Which turn it is on is not known after a jump; the one nearer to the middle is.
        let near = middle[index] + short_way(middle[index], seen.encoder);
        sweeps[index] = Sweep::begin(near, self.now);
        self.stage = Stage::Sweep;
        if joint == Joint::Gripper {
            (self.closed, self.opened) = (None, None);
        }
    }

    /// What is to be written, from all that is known now.
    ///
    /// # Errors
    /// What is still missing.
    pub fn calibration(&self) -> Result<Calibration, Obstacle> {
        let (Some(sweeps), Some(middle)) = (&self.sweeps, &self.middle) else {
            return Err(Obstacle::Moving);
        };
        if let Some(spoilt) = self.spoilt_sweeps().into_iter().next() {
            return Err(spoilt);
        }
        let (Some(closed), Some(opened)) = (self.closed, self.opened) else {
            return Err(Obstacle::Halfway);
        };
        let entry = |joint: Joint| -> MotorCalibration {
            let index = joint.index();
            let id = self.ids[index];
            match joint {
                Joint::WristRoll => full_turn(id, middle[index]),
                Joint::Gripper => centred(id, u8::from(opened < closed), sweeps[index].ends()),
                _ => centred(id, 0, sweeps[index].ends()),
            }
        };
        Calibration::new(Joint::ALL.map(entry))
            .map_err(|(joint, problem)| Obstacle::Impossible(format!("{joint}: {problem}")))
    }

    /// Where the arm is, robot units, for a picture of it: by the new calibration once there is one, before that from the
    /// middle pose. `None` before there is one.
    pub fn pose(&self) -> Option<JointVec> {
        let encoders = self.seen.map(|seen| seen.map(|seen| seen.encoder));
        if encoders.iter().any(Option::is_none) {
            return None;
        }
        let encoders = encoders.map(Option::unwrap_or_default);
        if self.stage == Stage::Check
            && let Ok(calibration) = self.calibration()
        {
            return Some(JointVec::from_fn(|joint| {
                let index = joint.index();
                let offset = calibration.motor(joint).homing_offset;
                let position = encoder_from_position(encoders[index], -offset);
                calibration.normalize(joint, f64::from(position))
            }));
        }
        let middle = self.middle?;
        Some(JointVec::from_fn(|joint| {
            let index = joint.index();
            match joint {
                Joint::Gripper => self.gripper_share().unwrap_or(0.5) * 100.0,
                _ => degrees(short_way(middle[index], encoders[index])),
            }
        }))
    }

    /// One bar a joint.
    pub fn bars(&self) -> [JointBar; JOINT_COUNT] {
        Joint::ALL.map(|joint| self.bar(joint))
    }

    /// How far the middle pose was from the middle of each joint's travel, where that is so far that a part of the travel
    /// may be missing; degrees.
    pub fn odd_middles(&self) -> Vec<(Joint, f32)> {
        let (Some(sweeps), Some(middle)) = (&self.sweeps, &self.middle) else {
            return Vec::new();
        };
        let odd = |joint: Joint| {
            let index = joint.index();
            let [low, high] = sweeps[index].ends();
            let away = degrees(middle[index] - (low + (high - low) / 2));
            // The gripper's middle is where nobody looks, and the roll's is the zero itself.
            let counts = !matches!(joint, Joint::Gripper | Joint::WristRoll);
            (counts && away.abs() > ODD_MIDDLE).then_some((joint, away))
        };
        Joint::ALL.into_iter().filter_map(odd).collect()
    }

    fn bar(&self, joint: Joint) -> JointBar {
        let index = joint.index();
        let seen = self.seen[index];
        let zero = self.middle.map(|middle| middle[index]);
        let bar = JointBar {
            joint,
            now: None,
            low: 0.0,
            high: 0.0,
            travel: 0.0,
            usual: usual_travel(joint),
            verdict: Travel::Unmoved,
            is_swept: joint != Joint::WristRoll,
        };
        let (Some(zero), Some(sweeps)) = (zero, &self.sweeps) else {
            let heard = seen.filter(|_| !self.is_silent(joint));
            let now = heard.map(|seen| degrees(short_way(seen.first, seen.encoder)));
            return JointBar { now, ..bar };
        };
        let sweep = &sweeps[index];
        let [low, high] = sweep.ends().map(|end| degrees(end - zero));
        JointBar {
            now: (!self.is_silent(joint)).then(|| degrees(sweep.now() - zero)),
            low,
            high,
            travel: degrees(sweep.travel()),
            verdict: sweep.verdict(joint),
            ..bar
        }
    }

    fn is_silent(&self, joint: Joint) -> bool {
        self.seen[joint.index()].is_none_or(|seen| self.now.saturating_sub(seen.at) > SILENCE)
    }

    fn is_still(&self, joint: Joint) -> bool {
        self.seen[joint.index()]
            .is_some_and(|seen| self.now.saturating_sub(seen.since) >= STILL_TIME)
    }

    fn spoilt_sweeps(&self) -> Vec<Obstacle> {
        let (Some(sweeps), Some(middle)) = (&self.sweeps, &self.middle) else {
            return Vec::new();
        };
        let spoilt = |joint: Joint| {
            let sweep = &sweeps[joint.index()];
            let verdict = sweep.verdict(joint);
            if joint != Joint::WristRoll {
                return (!verdict.is_usable()).then_some(Obstacle::Travel(joint, verdict));
            }
            // The roll need not be led anywhere; where it was, all the way must be one.
            match verdict {
                Travel::Jumped | Travel::TooLong => Some(Obstacle::Travel(joint, verdict)),
                _ if !is_clear_of_wrap(middle[joint.index()], sweep.ends()) => {
                    Some(Obstacle::OffCentre(joint))
                }
                _ => None,
            }
        };
        Joint::ALL.into_iter().filter_map(spoilt).collect()
    }

    fn gripper_sweep(&self) -> Option<&Sweep> {
        let sweeps = self.sweeps.as_ref()?;
        Some(&sweeps[Joint::Gripper.index()])
    }

    fn gripper_now(&self) -> Option<i32> {
        self.gripper_sweep().map(Sweep::now)
    }

    /// Where the gripper stands in its travel, 0 to 1.
    fn gripper_share(&self) -> Option<f32> {
        let sweep = self.gripper_sweep()?;
        let travel = sweep.travel();
        (travel > 0).then(|| (sweep.now() - sweep.ends()[0]) as f32 / travel as f32)
    }

    fn gripper_obstacle(&self) -> Option<Obstacle> {
        let share = self.gripper_share()?;
        if share > END_SHARE && share < 1.0 - END_SHARE {
            return Some(Obstacle::Halfway);
        }
        let [low, high] = self.gripper_sweep()?.ends();
        let closed_high = self.closed? - low > (high - low) / 2;
        (self.stage == Stage::Open && closed_high == (share > 0.5)).then_some(Obstacle::SameEnd)
    }
}

#[cfg(test)]
mod tests;
