//! Which arm is which: all of them are watched while a hand moves one. Nothing is driven for it: an arm that wiggles to show
//! itself wiggles into its stops (physical-ai-studio #955).

use std::time::Duration;

use crate::arm::turn::{degrees, encoder_from_position};
use crate::arm::workbench::Workbench;
use crate::arm::workbench::sweep::Sweep;
use crate::arm::{KnownArm, Role};
use crate::joint::JOINT_COUNT;
use crate::runtime::workshop::shop::Tools;
use crate::runtime::workshop::survey::{owners, trouble_of};
use crate::runtime::workshop::view::{IdentifiedArm, Trouble};

/// An arm that was moved this far has been moved on purpose, degrees.
const MOVED: f32 = 10.0;
/// It must have been moved so many times as far as any other.
const CLEARLY: f32 = 3.0;

/// All arms that can be watched.
pub struct IdentifyJob {
    arms: Vec<Watched>,
}

struct Watched {
    port: String,
    /// `None` where it could not be opened, or is gone.
    bench: Option<Workbench>,
    sweeps: [Option<Sweep>; JOINT_COUNT],
    silent: [bool; JOINT_COUNT],
    volts: Option<f32>,
    hint: Option<String>,
    known: Vec<(Role, String)>,
    held_joints: usize,
    trouble: Option<Trouble>,
}

impl IdentifyJob {
    /// Opens all of them; what cannot be opened is shown as such.
    pub fn begin(tools: &Tools, known: &[KnownArm], paths: &[String]) -> Self {
        let arms = paths.iter().map(|path| Watched::open(tools, known, path));
        Self {
            arms: arms.collect(),
        }
    }

    /// One look at each.
    pub fn turn(&mut self, now: Duration) {
        for arm in &mut self.arms {
            arm.look(now);
        }
    }

    /// Takes the torque off one of them, which could not be moved otherwise.
    pub fn let_go(&mut self, port: &str) -> Result<(), Trouble> {
        let mut arms = self.arms.iter_mut();
        let Some(arm) = arms.find(|arm| arm.port == port) else {
            return Ok(());
        };
        let Some(bench) = &mut arm.bench else {
            return Ok(());
        };
        let gone = bench.let_go();
        arm.held_joints = bench.holding().map_or(0, |motors| motors.len());
        gone.map_err(|error| trouble_of(&error))
    }

    /// What there is to see.
    pub fn view(&self) -> Vec<IdentifiedArm> {
        let moved: Vec<f32> = self.arms.iter().map(Watched::moved).collect();
        let is_this = |index: usize| {
            let others = moved
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index);
            let most = others.map(|(_, moved)| *moved).fold(0.0, f32::max);
            moved[index] >= MOVED && moved[index] >= most * CLEARLY
        };
        let arms = self.arms.iter().enumerate();
        arms.map(|(index, arm)| arm.view(is_this(index))).collect()
    }
}

impl Watched {
    fn open(tools: &Tools, known: &[KnownArm], path: &str) -> Self {
        let mut arm = Self {
            port: path.to_owned(),
            bench: None,
            sweeps: [None; JOINT_COUNT],
            silent: [true; JOINT_COUNT],
            volts: None,
            hint: None,
            known: Vec::new(),
            held_joints: 0,
            trouble: None,
        };
        let opened = tools.bench(path).and_then(|mut bench| {
            let census = bench.census()?;
            Ok((bench, census))
        });
        match opened {
            Ok((bench, census)) if census.present().next().is_some() => {
                arm.bench = Some(bench);
                arm.volts = census.volts();
                arm.hint = census.role_hint().map(str::to_owned);
                arm.known = owners(&census, known);
                arm.held_joints = census.held_joints();
            }
            Ok(_) => {
                arm.trouble = Some(Trouble {
                    what: format!("{path}: no servo answers"),
                    remedy: "Check the arm's power supply and its first cable.".to_owned(),
                });
            }
            Err(error) => arm.trouble = Some(trouble_of(&error)),
        }
        arm
    }

    fn look(&mut self, now: Duration) {
        let Some(bench) = &mut self.bench else { return };
        let looks = match bench.look() {
            Ok(looks) => looks,
            Err(error) => {
                self.trouble = Some(trouble_of(&error));
                self.bench = None;
                return;
            }
        };
        for (index, look) in looks.into_iter().enumerate() {
            self.silent[index] = look.is_none();
            let Some(look) = look else { continue };
            // Only changes count, so that no homing is needed.
            let encoder = encoder_from_position(look.position, 0);
            match &mut self.sweeps[index] {
                Some(sweep) => sweep.measured(encoder, now),
                empty => *empty = Some(Sweep::begin(encoder, now)),
            }
        }
    }

    /// Degrees that the joint which went farthest has travelled.
    fn moved(&self) -> f32 {
        let travels = self.sweeps.iter().flatten();
        travels
            .map(|sweep| degrees(sweep.travel()))
            .fold(0.0, f32::max)
    }

    fn view(&self, is_this: bool) -> IdentifiedArm {
        IdentifiedArm {
            port: self.port.clone(),
            now: std::array::from_fn(|index| {
                let sweep = self.sweeps[index].as_ref()?;
                let middle = i32::midpoint(sweep.ends()[0], sweep.ends()[1]);
                (!self.silent[index]).then(|| degrees(sweep.now() - middle))
            }),
            travel: std::array::from_fn(|index| {
                let sweep = self.sweeps[index].as_ref();
                sweep.map_or(0.0, |sweep| degrees(sweep.travel()))
            }),
            is_this,
            volts: self.volts,
            hint: self.hint.clone(),
            known: self.known.clone(),
            held_joints: self.held_joints,
            trouble: self.trouble.clone(),
        }
    }
}
