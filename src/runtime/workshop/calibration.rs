//! Calibrating one arm: the machine of the steps, the servos it watches, and the one moment at which anything is written.

use std::time::Duration;

use crate::arm::workbench::calibrating::{Calibrating, Stage};
use crate::arm::workbench::sweep::Travel;
use crate::arm::workbench::{IDS, ServoCard, Workbench};
use crate::arm::{KnownArm, Motor, Problem, Role, check_id};
use crate::joint::{JOINT_COUNT, JointVec};
use crate::runtime::workshop::Order;
use crate::runtime::workshop::shop::Tools;
use crate::runtime::workshop::survey::{owners, trouble_of};
use crate::runtime::workshop::view::{CalibratingView, SavedView, Trouble};

/// How often it is looked whether the arm has torque.
const TORQUE_PAUSE: Duration = Duration::from_secs(1);
/// What the arm looks like when every joint is in its middle, and with the jaws closed and open, robot units.
const MIDDLE: JointVec = JointVec([0.0, 0.0, 0.0, 0.0, 0.0, 50.0]);
const CLOSED: JointVec = JointVec([0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
const OPEN: JointVec = JointVec([0.0, 0.0, 0.0, 0.0, 0.0, 100.0]);

/// One arm on the bench.
pub struct CalibrationJob {
    bench: Workbench,
    port: String,
    steps: Calibrating,
    cards: [ServoCard; JOINT_COUNT],
    holding: Vec<Motor>,
    /// When the torque was last looked at.
    looked: Option<Duration>,
    suggested_id: String,
    remarks: Vec<String>,
}

impl CalibrationJob {
    /// Opens the port and looks whether it is an arm that can be calibrated. Writes nothing.
    pub fn begin(
        tools: &Tools,
        known: &[KnownArm],
        port: &str,
        role: Role,
    ) -> Result<Self, Trouble> {
        let mut bench = tools.bench(port).map_err(|error| trouble_of(&error))?;
        let census = bench.census().map_err(|error| trouble_of(&error))?;
        let (grave, odd): (Vec<Problem>, Vec<Problem>) =
            census.problems().into_iter().partition(is_grave);
        let cards = match census.whole() {
            Some(cards) if grave.is_empty() => cards,
            _ => return Err(unfit(port, &grave)),
        };
        let owners = owners(&census, known);
        let own = owners.iter().find(|(as_role, _)| *as_role == role);
        Ok(Self {
            bench,
            port: port.to_owned(),
            steps: Calibrating::new(role, IDS, cards.map(|card| card.entry.homing_offset)),
            holding: cards
                .iter()
                .filter(|card| card.torque)
                .map(|card| card.motor)
                .collect(),
            cards,
            looked: None,
            suggested_id: own.map(|(_, id)| id.clone()).unwrap_or_default(),
            remarks: odd.iter().map(ToString::to_string).collect(),
        })
    }

    /// One look at the arm.
    pub fn turn(&mut self, now: Duration) -> Result<(), Trouble> {
        let looks = self.bench.look();
        let looks = looks.map_err(|error| lost(&trouble_of(&error)))?;
        let positions = looks.map(|look| look.map(|look| look.position));
        self.steps.measured(positions, now);
        if self.looked.is_none_or(|at| now >= at + TORQUE_PAUSE) {
            self.looked = Some(now);
            self.look_for_torque()?;
        }
        Ok(())
    }

    fn look_for_torque(&mut self) -> Result<(), Trouble> {
        let holding = self.bench.holding();
        self.holding = holding.map_err(|error| lost(&trouble_of(&error)))?;
        Ok(())
    }

    /// An order about the steps.
    pub fn obey(&mut self, order: &Order) -> Result<(), Trouble> {
        match order {
            Order::Next => self.next(),
            Order::Back => {
                self.steps.back();
                Ok(())
            }
            Order::Redo(joint) => {
                self.steps.redo(*joint);
                Ok(())
            }
            Order::LetGo(_) => {
                let gone = self.bench.let_go();
                self.look_for_torque()?;
                gone.map_err(|error| trouble_of(&error))
            }
            _ => Ok(()),
        }
    }

    fn next(&mut self) -> Result<(), Trouble> {
        if !self.holding.is_empty() {
            return Err(Trouble {
                what: "the arm has torque and cannot be moved by hand".to_owned(),
                remedy: "Support it, then let it go.".to_owned(),
            });
        }
        self.steps.advance().map(drop).map_err(|obstacles| Trouble {
            what: "this step is not done yet".to_owned(),
            remedy: sentences(&obstacles),
        })
    }

    /// Writes the servos, then the file. The file lies ready before the first servo is touched, so that all that can still
    /// fail behind the servos is a rename.
    pub fn save(&mut self, tools: &Tools, id: &str) -> Result<SavedView, Trouble> {
        let id = id.trim();
        let fails = |what: String, remedy: &str| Trouble {
            what,
            remedy: remedy.to_owned(),
        };
        if self.steps.stage() != Stage::Check {
            return Err(fails(
                "the calibration is not complete".to_owned(),
                "Go through its steps first. Nothing was written.",
            ));
        }
        let calibration = self.steps.calibration().map_err(|missing| {
            fails(
                missing.to_string(),
                "Redo what is named. Nothing was written.",
            )
        })?;
        check_id(id).map_err(|error| fails(error.to_string(), "Nothing was written."))?;
        let Some(calibrations) = &tools.calibrations else {
            return Err(fails(
                "this system names no home, where calibrations would be kept".to_owned(),
                "Set HF_LEROBOT_CALIBRATION to a folder and start again. Nothing was written.",
            ));
        };
        let role = self.steps.role();
        let staged = calibrations
            .stage(role, id, &calibration)
            .map_err(|error| fails(error.to_string(), "Then save again. Nothing was written."))?;
        let changed = self
            .bench
            .engrave(&calibration)
            .map_err(|error| fails(error.to_string(), "The file was not changed either."))?;
        let paths = staged.commit().map_err(|error| {
            fails(
                format!("the servos hold the new calibration, but {error}"),
                "Then save again: the arm cannot be driven before its file fits its servos.",
            )
        })?;
        log::info!("calibrated {role} {id} on {}", self.port);
        Ok(SavedView {
            port: self.port.clone(),
            role,
            id: id.to_owned(),
            paths,
            changed,
            calibration,
        })
    }

    /// Joints that may not have reached both of their ends; of a sweep that goes on, only when it could be over.
    fn doubts(&self, is_done: bool) -> Vec<String> {
        match self.steps.stage() {
            Stage::Sweep if is_done => {
                let bars = self.steps.bars();
                let partial = bars
                    .iter()
                    .filter(|bar| bar.is_swept && bar.verdict == Travel::Partial);
                partial.map(|bar| {
                    format!(
                        "{} turned by {:.0}°, an SO-101's usually by about {:.0}°: did it reach both ends?",
                        bar.joint, bar.travel, bar.usual
                    )
                }).collect()
            }
            Stage::Middle | Stage::Sweep => Vec::new(),
            _ => {
                let odd = self.steps.odd_middles();
                odd.iter().map(|(joint, away)| {
                    format!(
                        "{joint}: the middle you showed is {:.0}° from the middle of its travel; did it reach both ends?",
                        away.abs()
                    )
                }).collect()
            }
        }
    }

    /// What there is to see.
    pub fn view(&self) -> CalibratingView {
        let mut remarks = self.remarks.clone();
        let obstacles = self.steps.obstacles();
        remarks.extend(self.doubts(obstacles.is_empty()));
        CalibratingView {
            port: self.port.clone(),
            role: self.steps.role(),
            stage: self.steps.stage(),
            holding: self.holding.clone(),
            bars: self.steps.bars(),
            obstacles: obstacles.iter().map(ToString::to_string).collect(),
            remarks,
            pose: self.steps.pose(),
            expected: match self.steps.stage() {
                Stage::Middle | Stage::Sweep => MIDDLE,
                Stage::Close => CLOSED,
                Stage::Open | Stage::Check => OPEN,
            },
            plan: self.steps.calibration().ok(),
            before: self.cards.map(|card| card.entry),
            suggested_id: self.suggested_id.clone(),
        }
    }
}

/// What makes a calibration useless or dangerous. Mixed firmware, and a servo that does not acknowledge, do not.
fn is_grave(problem: &Problem) -> bool {
    !matches!(problem, Problem::Firmware(_) | Problem::Unacknowledging(_))
}

fn unfit(port: &str, problems: &[Problem]) -> Trouble {
    let six = JOINT_COUNT;
    let is_nobody = problems.len() >= six
        && problems
            .iter()
            .all(|problem| matches!(problem, Problem::Missing(_)));
    if is_nobody {
        return Trouble {
            what: format!("{port}: no servo answers"),
            remedy: "Check the arm's power supply and its first cable; fresh servos get their numbers first (Set ids)."
                .to_owned(),
        };
    }
    Trouble {
        what: format!(
            "{port}: the arm cannot be calibrated yet: {}",
            sentences(problems)
        ),
        remedy: "Put right what is listed; servos without their numbers get them under Set ids."
            .to_owned(),
    }
}

/// The port is gone in the middle of it.
fn lost(trouble: &Trouble) -> Trouble {
    Trouble {
        what: trouble.what.clone(),
        remedy: format!("Nothing was written. {}; then begin again.", trouble.remedy),
    }
}

fn sentences<T: ToString>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
