//! The motor of a servo that sits in a body with weight: it does not move its horn itself, but says where it would have it
//! and how hard it pulls there, and is told what came of it.

use rand::RngExt as _;

use super::SimServo;

/// Duty cycle for each count that the horn is behind the set-point with the P that LeRobot sets, permille: full effort at
/// 3.4°. Softer than a real one at a standstill, whose gears hold much of the weight.
const GAIN: f64 = 26.0;
/// LeRobot's P.
pub(super) const USUAL_P: f64 = 16.0;
/// How much farther than at full effort the set-point runs ahead of a horn that does not follow, counts.
const LEAD: f64 = 20.0;
/// Half of the play between the horn and what reads it, counts (half a degree).
const HALF_PLAY: f64 = 5.7;
/// Noise of a magnetic encoder of 12 bits: its last bit flickers. An arm of which six joints read the same for half a second
/// is taken for a line that hangs by those who check data sets.
const HALF_FLICKER: f64 = 0.5;

/// What a servo does to its joint during one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pull {
    /// Where to, counts of the encoder, and how fast that place moves, counts a second.
    pub to: f64,
    pub speed: f64,
    pub by: Puller,
    /// Between what the horn can turn, counts of the encoder.
    pub ends: [f64; 2],
}

/// What pulls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Puller {
    /// Nothing but friction.
    Friction,
    /// The motor: with at most so many permille of its stall torque, and so stiffly, 1 with the usual P.
    Motor { effort: f64, gain: f64 },
    /// A person.
    Hand,
    /// Something that is stronger than anything else.
    Jam,
}

/// What a step did to the horn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// Counts of the encoder, counts a second.
    pub encoder: f64,
    pub velocity: f64,
    /// With how much of its stall torque the motor pulled, permille, signed.
    pub load: f64,
    /// How much of that its own turning took, permille, signed.
    pub back_emf: f64,
}

impl SimServo {
    /// What the servo does during the next `dt_s` seconds with `volts` at its plug.
    pub fn pull(&mut self, dt_s: f64, volts: f64) -> Pull {
        self.volts = if self.plugged { volts } else { 0.0 };
        self.boot_s = (self.boot_s - dt_s).max(0.0);
        if !(self.settings.torque && self.driven) {
            self.set_point = self.encoder;
            self.set_speed = 0.0;
        }
        self.driven = self.settings.torque;
        let by = if self.stuck {
            self.follow_goal(dt_s);
            Puller::Jam
        } else if self.settings.torque {
            self.follow_goal(dt_s);
            Puller::Motor {
                // A stalled motor pulls in proportion to its voltage.
                effort: self.effort() * (self.volts / self.variant.supply_volts()).clamp(0.0, 1.0),
                gain: self.settings.gain,
            }
        } else if let Some(pull) = self.pull {
            let step = pull.speed * dt_s;
            self.set_point = self.encoder + (pull.to - self.encoder).clamp(-step, step);
            self.set_speed = (self.set_point - self.encoder) / dt_s;
            Puller::Hand
        } else {
            Puller::Friction
        };
        let (to, speed) = match by {
            Puller::Jam => (self.encoder, 0.0),
            _ => (self.set_point, self.set_speed),
        };
        let [low, high] = self.ends();
        Pull {
            to,
            speed,
            by,
            // Not back from beyond an end by force.
            ends: [low.min(self.encoder), high.max(self.encoder)],
        }
    }

    /// Moves the set-point on as the registers allow, but not far ahead of the horn.
    fn follow_goal(&mut self, dt_s: f64) {
        if !self.settings.torque {
            return;
        }
        let there = self.settings.position(self.set_point, self.turns);
        let error = if self.settings.mode == 0 {
            self.settings.goal - there
        } else {
            0.0
        };
        self.set_speed = self.next_velocity(self.set_speed, error, dt_s);
        let lead = self.effort() / (GAIN * self.settings.gain) + LEAD;
        let free = self.set_point + self.set_speed * dt_s;
        self.set_point = free.clamp(self.encoder - lead, self.encoder + lead);
        if self.set_point != free {
            self.set_speed = 0.0;
        }
    }

    /// Takes in what came of it.
    pub fn moved(&mut self, moved: Moved, dt_s: f64) {
        let read = self.encoder + self.slack;
        self.encoder = moved.encoder;
        self.velocity = moved.velocity;
        self.slack = read.clamp(self.encoder - HALF_PLAY, self.encoder + HALF_PLAY) - self.encoder;
        self.flicker = self.rng.random_range(-HALF_FLICKER..=HALF_FLICKER);
        (self.load, self.back_emf) = if self.stuck && self.settings.torque {
            let pushing = (self.set_point - self.encoder) * GAIN * self.settings.gain;
            (pushing.clamp(-self.effort(), self.effort()), 0.0)
        } else if self.settings.torque {
            (moved.load, moved.back_emf)
        } else {
            (0.0, 0.0)
        };
        self.resting = false;
        self.protect(dt_s);
    }
}
