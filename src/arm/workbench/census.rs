//! Who is on a line, what they hold, and what that says about the arm: complete or not, calibrated or not, fed with the
//! voltage that it is made for or not.

use super::{IDS, Workbench, motor};
use crate::arm::bus::TRIES;
use crate::arm::calibration::{Calibration, MotorCalibration};
use crate::arm::error::{Error, Motor};
use crate::arm::problem::Problem;
use crate::arm::register::{Block, Register, STS3215};
use crate::arm::supply::{VoltageClass, Window};
use crate::arm::turn::COUNTS_PER_TURN;
use crate::arm::{Telemetry, telemetry_from};
use crate::joint::{JOINT_COUNT, Joint};

/// A servo that misses all tries of one round, on a busy machine, is asked once more before it is called silent.
const ROUNDS: u32 = 2;

/// What one servo says about itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServoCard {
    pub motor: Motor,
    pub model: i32,
    pub firmware: (i32, i32),
    /// What it has of a calibration; the drive mode is never in a servo.
    pub entry: MotorCalibration,
    pub phase: i32,
    pub mode: i32,
    pub acknowledges: bool,
    /// The voltages at which it protects itself, lowest and highest, decivolts.
    pub decivolts: [i32; 2],
    pub torque: bool,
    /// Counts, after its homing.
    pub position: i32,
    pub telemetry: Telemetry,
}

/// Everybody who answered on a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Census {
    /// By joint.
    pub cards: [Option<ServoCard>; JOINT_COUNT],
    /// Numbers from which only garbage comes.
    pub garbled: Vec<u8>,
}

impl Workbench {
    /// Asks the six servos of an arm for all that is to be known. Changes nothing.
    ///
    /// # Errors
    /// The port is gone.
    pub fn census(&mut self) -> Result<Census, Error> {
        let mut census = Census::default();
        for round in 0..ROUNDS {
            for (index, id) in IDS.into_iter().enumerate() {
                let is_known = census.cards[index].is_some() || census.garbled.contains(&id);
                // Where nobody answers, nobody is asked again.
                if !is_known && (round == 0 || census.present().next().is_some()) {
                    self.register(id, &mut census)?;
                }
            }
        }
        Ok(census)
    }

    /// Asks one servo for all that is to be known of it.
    fn register(&mut self, id: u8, census: &mut Census) -> Result<(), Error> {
        let blocks = [Block::IDENTITY, Block::CONTROL, Block::STATE];
        let noise = self.noise();
        let mut read = Vec::with_capacity(blocks.len());
        for block in blocks {
            let answer = self.bus.sync_read(block, &[id], TRIES);
            let answer = answer.map_err(|error| self.error(error))?.pop().flatten();
            // Who does not answer the first question is not asked two more.
            let Some(answer) = answer else { break };
            read.push(answer);
        }
        if let [identity, control, state] = read.as_slice() {
            let known = card(id, identity, control, state);
            census.cards[known.motor.joint.index()] = Some(known);
        } else if self.noise() > noise {
            census.garbled.push(id);
        }
        Ok(())
    }

    /// Answers that were none, so far.
    pub(super) fn noise(&self) -> u64 {
        let counters = self.bus.counters();
        counters.corrupt + counters.unexpected
    }
}

fn card(id: u8, identity: &[u8], control: &[u8], state: &[u8]) -> ServoCard {
    let fixed = |register| Block::IDENTITY.value(register, identity);
    ServoCard {
        motor: motor(id),
        model: fixed(Register::ModelNumber),
        firmware: (
            fixed(Register::FirmwareMajorVersion),
            fixed(Register::FirmwareMinorVersion),
        ),
        entry: MotorCalibration {
            id,
            drive_mode: 0,
            homing_offset: fixed(Register::HomingOffset),
            range_min: fixed(Register::MinPositionLimit),
            range_max: fixed(Register::MaxPositionLimit),
        },
        phase: fixed(Register::Phase),
        mode: fixed(Register::OperatingMode),
        acknowledges: fixed(Register::ResponseStatusLevel) != 0,
        decivolts: [
            fixed(Register::MinVoltageLimit),
            fixed(Register::MaxVoltageLimit),
        ],
        torque: Block::CONTROL.value(Register::TorqueEnable, control) != 0,
        position: Block::STATE.value(Register::PresentPosition, state),
        telemetry: telemetry_from(state),
    }
}

impl Census {
    /// The servos that answered.
    pub fn present(&self) -> impl Iterator<Item = &ServoCard> {
        self.cards.iter().flatten()
    }

    /// All six, if they answered.
    pub fn whole(&self) -> Option<[ServoCard; JOINT_COUNT]> {
        let cards: Vec<ServoCard> = self.present().copied().collect();
        cards.try_into().ok()
    }

    /// Joints whose servos do not answer and are not garbled either.
    pub fn missing(&self) -> Vec<Motor> {
        let absent = |joint: &Joint| {
            let id = IDS[joint.index()];
            self.cards[joint.index()].is_none() && !self.garbled.contains(&id)
        };
        let joints = Joint::ALL.into_iter().filter(absent);
        joints.map(|joint| motor(IDS[joint.index()])).collect()
    }

    /// What speaks against using this arm, beyond its calibration.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.missing().into_iter().map(Problem::Missing).collect();
        problems.extend(self.garbled.iter().map(|id| Problem::Garbled(motor(*id))));
        for card in self.present() {
            let motor = card.motor;
            if card.model != STS3215 {
                let model = card.model;
                problems.push(Problem::Model { motor, model });
            }
            if !card.acknowledges {
                problems.push(Problem::Unacknowledging(motor));
            }
            problems.extend(card.supply_problem());
        }
        let mut versions = self.present().map(|card| card.firmware);
        let first = versions.next();
        if versions.any(|version| Some(version) != first) {
            let all = self.present();
            let all = all.map(|card| (card.motor, card.firmware.0, card.firmware.1));
            problems.push(Problem::Firmware(all.collect()));
        }
        problems
    }

    /// The same in words: where one cable explains several silent servos, it is named in their place.
    pub fn complaints(&self) -> Vec<String> {
        let missing: Vec<Joint> = self.missing().iter().map(|motor| motor.joint).collect();
        let silent = behind(&missing);
        let is_broken = silent.is_some();
        let problems = self
            .problems()
            .into_iter()
            .filter(|problem| !is_broken || !matches!(problem, Problem::Missing(_)))
            .map(|problem| problem.to_string());
        silent.into_iter().chain(problems).collect()
    }

    /// What the servos hold as a calibration, were the gripper's direction the usual one; `None` while it is that of no
    /// arm: servos as the factory left them, or ranges and offsets that no calibration has.
    pub fn engraved(&self) -> Option<Calibration> {
        let cards = self.whole()?;
        let fresh = cards.iter().all(ServoCard::is_fresh);
        let entries = cards.map(|card| card.entry);
        Calibration::new(entries).ok().filter(|_| !fresh)
    }

    /// Whether the servos hold exactly this calibration.
    pub fn holds(&self, calibration: &Calibration) -> bool {
        let same = |card: &ServoCard| {
            let entry = calibration.motor(card.motor.joint);
            // The drive mode is in the file alone.
            MotorCalibration {
                drive_mode: 0,
                ..entry
            } == card.entry
        };
        self.whole().is_some_and(|cards| cards.iter().all(same))
    }

    /// The supply that the servos are made for; `None` where they differ or none answers.
    pub fn voltage_class(&self) -> Option<VoltageClass> {
        let mut classes = self.present().map(ServoCard::voltage_class);
        let first = classes.next()?;
        classes.all(|class| class == first).then_some(first)
    }

    /// Volts at the plugs, the lowest of all.
    pub fn volts(&self) -> Option<f32> {
        let volts = self.present().map(|card| card.telemetry.volts);
        volts.reduce(f32::min)
    }

    /// What the voltages say about the arm's role; a hint, not a proof: there are followers of the low kind.
    pub fn role_hint(&self) -> Option<&'static str> {
        Some(match self.voltage_class()? {
            VoltageClass::Low => {
                "5 to 7.4 V servos: a leader, or a follower of the low-voltage kind"
            }
            VoltageClass::High => "12 V servos: a follower",
        })
    }

    /// How many joints have torque.
    pub fn held_joints(&self) -> usize {
        self.present().filter(|card| card.torque).count()
    }
}

impl ServoCard {
    /// Neither homed nor limited: nobody has calibrated it.
    pub fn is_fresh(&self) -> bool {
        let entry = &self.entry;
        let open = entry.range_min <= 0 && entry.range_max >= COUNTS_PER_TURN - 1;
        entry.homing_offset == 0 && (open || entry.range_min == entry.range_max)
    }

    /// The supply that it is made for.
    pub fn voltage_class(&self) -> VoltageClass {
        VoltageClass::of(self.decivolts[1])
    }

    fn supply_problem(&self) -> Option<Problem> {
        let Window { min, max } = Window::of(self.decivolts[0], self.decivolts[1]);
        let volts = self.telemetry.volts;
        (volts < min || volts > max).then_some(Problem::Voltage {
            motor: self.motor,
            volts,
            min,
            max,
        })
    }
}

/// Where the chain is broken, when several servos in a row up to its end are silent: one cable is the cause, not all of them.
fn behind(missing: &[Joint]) -> Option<String> {
    let first = missing.first()?.index();
    let mut present = Joint::ALL.iter().filter(|joint| !missing.contains(joint));
    if let (Some(only), None) = (present.next(), present.next()) {
        // Fresh servos are all number 1, and a single one may be on the line to be numbered.
        return Some(format!(
            "only number {} answers: check the cables, or number the servos (Set ids)",
            IDS[only.index()]
        ));
    }
    let is_tail = missing.len() > 1 && missing.len() == JOINT_COUNT - first;
    is_tail.then(|| match first {
        0 => "no servo answers: check the power and the cable from the board".to_owned(),
        _ => format!(
            "nothing answers behind {}: check the cable from it to {}",
            Joint::ALL[first - 1],
            Joint::ALL[first]
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cable_is_named_where_a_whole_tail_is_silent() {
        let words = behind(&Joint::ALL[2..]).unwrap();
        assert!(words.contains("from it to elbow_flex"), "{words}");
        assert!(behind(&Joint::ALL).unwrap().contains("the power"));
        assert!(behind(&Joint::ALL[1..]).unwrap().contains("only number 1"));
        assert!(behind(&Joint::ALL[..5]).unwrap().contains("only number 6"));
        assert_eq!(behind(&[Joint::ElbowFlex]), None);
        assert_eq!(behind(&[Joint::ShoulderPan, Joint::Gripper]), None);
        assert_eq!(behind(&[]), None);
    }
}
