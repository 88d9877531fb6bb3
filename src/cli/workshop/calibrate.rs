//! `smolpilot calibrate`: one step after the other, with the joints' travels on a line that follows the hand.

use std::io::Write;

use anyhow::bail;

use super::keyboard::Said;
use super::{Talk, begin, leave, words};
use crate::arm::workbench::calibrating::{JointBar, Stage};
use crate::arm::workbench::sweep::Travel;
use crate::arm::{Role, check_id};
use crate::cli::args::CalibrateArgs;
use crate::cli::output::Outcome;
use crate::joint::{JOINT_COUNT, Joint};
use crate::runtime::workshop::{Activity, CalibratingView, Order, SavedView, Shop};

/// Turns between two drawings of the line.
const DRAWN_EVERY: u32 = 5;
/// Hands free, a step that is done goes on when the arm has stood still for so many turns (2 s).
const STILL_TURNS: u32 = 100;
/// An arm that was in its middle from the beginning is believed after so many turns (10 s).
const PATIENT_TURNS: u32 = 500;
/// Degrees by which a held arm may tremble, and by which something was moved on purpose.
const TREMBLE: f32 = 3.0;
const MOVED: f32 = 10.0;

/// How the conversation goes.
#[derive(Clone, Copy, Debug)]
struct Manner {
    /// Nothing is asked: a step is over when it is done.
    hands_free: bool,
    /// The line with the joints may be drawn over and over.
    follows: bool,
}

/// A calibration in the terminal.
pub struct Calibration {
    id: String,
    manner: Manner,
    turns: u32,
    /// The step that was explained last, and whether the arm was found holding.
    told: Option<(Stage, bool)>,
    /// Where the joints were when they last moved, and for how many turns they have not.
    anchor: [f32; JOINT_COUNT],
    still: u32,
    /// Where the gripper was when this step began, and whether what it asks for was moved since.
    gripper: Option<f32>,
    moved: bool,
    /// The answer to "save?" is awaited.
    asks_to_save: bool,
}

impl Calibration {
    /// Opens the port and looks whether the arm can be calibrated.
    ///
    /// # Errors
    /// It cannot, or the id is none; says why and what to do.
    pub fn begin(shop: &mut Shop, args: &CalibrateArgs, follows: bool) -> anyhow::Result<Self> {
        check_id(&args.id)?;
        let (port, role) = (args.port.clone(), args.role);
        begin(shop, Order::Calibrate { port, role })?;
        Ok(Self {
            id: args.id.clone(),
            manner: Manner {
                hands_free: args.yes,
                follows,
            },
            turns: 0,
            told: None,
            anchor: [0.0; JOINT_COUNT],
            still: 0,
            gripper: None,
            moved: false,
            asks_to_save: false,
        })
    }

    fn explain(&mut self, view: &CalibratingView, out: &mut dyn Write) -> anyhow::Result<()> {
        let holds = !view.holding.is_empty();
        if self.told == Some((view.stage, holds)) {
            return Ok(());
        }
        self.told = Some((view.stage, holds));
        (self.still, self.asks_to_save) = (0, false);
        (self.gripper, self.moved) = (None, false);
        writeln!(out)?;
        if holds {
            if self.manner.hands_free {
                bail!(
                    "{} has torque and cannot be moved by hand. Run this without --yes: it then asks you to support the arm and lets it go",
                    view.port
                );
            }
            writeln!(
                out,
                "The arm has torque in {} joints. Support it, then type: go",
                view.holding.len()
            )?;
            return Ok(());
        }
        let step = view.stage as usize + 1;
        writeln!(out, "[{step}/6] {}", instruction(view.stage, view.role))?;
        if view.stage == Stage::Check {
            self.show_plan(view, out)?;
        } else if !self.manner.hands_free {
            writeln!(
                out,
                "      Enter: done   b: back   r JOINT: redo a joint   q: leave"
            )?;
            if view.stage == Stage::Sweep {
                writeln!(
                    out,
                    "      How far each joint has travelled; * is enough, ! is to be redone:"
                )?;
            }
        }
        Ok(())
    }

    fn show_plan(&mut self, view: &CalibratingView, out: &mut dyn Write) -> anyhow::Result<()> {
        for remark in &view.remarks {
            writeln!(out, "      {remark}")?;
        }
        if let Some(plan) = &view.plan {
            writeln!(
                out,
                "      {:<14} {:>7} {:>6} {:>6}",
                "joint", "homing", "low", "high"
            )?;
            for joint in Joint::ALL {
                let motor = plan.motor(joint);
                let reversed = if motor.drive_mode == 1 {
                    "  opens downward (drive mode 1)"
                } else {
                    ""
                };
                writeln!(
                    out,
                    "      {:<14} {:>7} {:>6} {:>6}{reversed}",
                    joint.name(),
                    motor.homing_offset,
                    motor.range_min,
                    motor.range_max
                )?;
            }
        }
        self.asks_to_save = true;
        if !self.manner.hands_free {
            writeln!(
                out,
                "      Enter: write this into the servos and save it as {} {}   b: back   q: leave",
                view.role, self.id
            )?;
        }
        Ok(())
    }

    /// What a line means now.
    fn answer(&self, line: &str, view: &CalibratingView) -> Option<Order> {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (None, _) if self.asks_to_save => Some(Order::Save {
                id: self.id.clone(),
            }),
            (None, _) => Some(Order::Next),
            (Some("go"), _) if !view.holding.is_empty() => Some(Order::LetGo(view.port.clone())),
            (Some("b"), _) => Some(Order::Back),
            (Some("q"), _) => Some(Order::Cancel),
            (Some("r"), Some(name)) => Joint::ALL
                .into_iter()
                .find(|joint| joint.name() == name || joint.name().starts_with(name))
                .map(Order::Redo),
            _ => None,
        }
    }

    /// Hands free, the step is over when nothing is missing, what it asks for was done in it, and the arm rests.
    fn rests(&mut self, view: &CalibratingView) -> bool {
        let now = view.bars.map(|bar| bar.now.unwrap_or(f32::NAN));
        let moved = |index: &usize| {
            let away = (now[*index] - self.anchor[*index]).abs();
            away > TREMBLE || away.is_nan()
        };
        if (0..JOINT_COUNT).any(|index| moved(&index)) {
            self.moved |= self.still > 0 && view.stage == Stage::Middle;
            (self.anchor, self.still) = (now, 0);
        } else {
            self.still += 1;
        }
        if matches!(view.stage, Stage::Close | Stage::Open) {
            // A gripper that happens to rest open when it is to be closed would be taken for closed.
            let gripper = now[Joint::Gripper.index()];
            let begun = *self.gripper.get_or_insert(gripper);
            self.moved |= (gripper - begun).abs() > MOVED;
            if !self.moved {
                return false;
            }
        }
        if view.stage == Stage::Middle && !self.moved && self.still < PATIENT_TURNS {
            return false;
        }
        let missing = view.obstacles.is_empty() && view.holding.is_empty();
        let partial = |bar: &JointBar| bar.is_swept && bar.verdict == Travel::Partial;
        // Nobody is there to say that a joint which stopped half way is done.
        let half = view.stage == Stage::Sweep && view.bars.iter().any(partial);
        missing && !half && self.still >= STILL_TURNS
    }
}

impl Talk for Calibration {
    fn turn(
        &mut self,
        shop: &mut Shop,
        said: &Said,
        out: &mut dyn Write,
    ) -> anyhow::Result<Option<Outcome>> {
        let seen = shop.view();
        let view = match seen.activity {
            Activity::Calibrating(view) => view,
            Activity::Saved(saved) => return report(&saved, out).map(Some),
            _ => match seen.trouble {
                Some(trouble) => bail!("{}", words(&trouble)),
                None => return leave(shop, out),
            },
        };
        self.explain(&view, out)?;
        self.turns += 1;
        if self.manner.follows && self.turns.is_multiple_of(DRAWN_EVERY) {
            write!(out, "\r{}\u{1b}[K", bars(&view.bars))?;
        }
        let order = match said {
            Said::End => return leave(shop, out),
            Said::Line(line) => {
                if !self.manner.follows {
                    writeln!(out, "      {}", bars(&view.bars))?;
                }
                self.answer(line, &view)
            }
            Said::Nothing if self.manner.hands_free && self.rests(&view) => {
                self.still = 0;
                self.answer("", &view)
            }
            Said::Nothing => return Ok(None),
        };
        let Some(order) = order else {
            writeln!(out, "\n      Enter, b, r JOINT or q")?;
            return Ok(None);
        };
        if order == Order::Cancel {
            return leave(shop, out);
        }
        let is_redo = matches!(order, Order::Redo(_) | Order::Back);
        shop.obey(order);
        if is_redo {
            self.told = None;
        }
        if let Some(trouble) = shop.view().trouble {
            if self.manner.hands_free && self.asks_to_save {
                bail!("{}", words(&trouble));
            }
            writeln!(out, "\n      {}", words(&trouble))?;
        }
        Ok(None)
    }
}

fn instruction(stage: Stage, role: Role) -> &'static str {
    match (stage, role) {
        (Stage::Middle, _) => {
            "Put every joint into the middle of its travel (upper arm up and forward, forearm level, gripper straight ahead and upright) and hold the arm still."
        }
        (Stage::Sweep, _) => {
            "Lead each joint slowly to both of its ends. Wrist roll turns freely and needs no sweep."
        }
        (Stage::Close, Role::Follower) => {
            "Close the gripper all the way and leave it closed; if it is closed already, open it and close it again."
        }
        (Stage::Close, Role::Leader) => {
            "Press the trigger all the way and keep it pressed; if it is already, let it go and press it again."
        }
        (Stage::Open, Role::Follower) => {
            "Open the gripper all the way and leave it open: this shows which way it opens."
        }
        (Stage::Open, Role::Leader) => {
            "Let the trigger go all the way: this shows which way it opens."
        }
        (Stage::Check, _) => "This would be written:",
    }
}

/// All joints' travels on one line, which fits a terminal of 80 columns: one that wraps cannot be drawn over.
fn bars(bars: &[JointBar]) -> String {
    let bar = |bar: &JointBar| {
        let name = short(bar.joint);
        if bar.now.is_none() {
            return format!("{name} silent");
        }
        let mark = match bar.verdict {
            _ if !bar.is_swept => "",
            Travel::Full => "*",
            Travel::Jumped | Travel::TooLong => "!",
            _ => "",
        };
        format!("{name} {:.0}°{mark}", bar.travel)
    };
    let texts: Vec<String> = bars.iter().map(bar).collect();
    texts.join("  ")
}

fn short(joint: Joint) -> &'static str {
    match joint {
        Joint::ShoulderPan => "pan",
        Joint::ShoulderLift => "lift",
        Joint::ElbowFlex => "elbow",
        Joint::WristFlex => "wrist",
        Joint::WristRoll => "roll",
        Joint::Gripper => "gripper",
    }
}

fn report(saved: &SavedView, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let written = match saved.changed.len() {
        JOINT_COUNT => "all six servos written and read back".to_owned(),
        count => format!("{count} servos written and read back, the others were right already"),
    };
    writeln!(
        out,
        "\nCalibrated: {} {} on {} ({written})",
        saved.role, saved.id, saved.port
    )?;
    for path in &saved.paths {
        writeln!(out, "  {}", path.display())?;
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests;
