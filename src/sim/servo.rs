//! A pretend STS3215: its register file, its habits, and a motor that needs time to get anywhere.
//!
//! Where documents disagree about the real servo, the pretend one does what is worst for a careless driver: torque that
//! comes on runs to a stale goal, writing a goal switches torque on, and a locked EEPROM drops writes without a word.

mod embodied;
mod factory;
mod motor;
mod protection;
mod settings;
#[cfg(test)]
mod tests;

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use crate::arm::register::{Encoded, RAM_START, Register};
use crate::arm::{COUNTS_PER_TURN, MAX_HOMING_OFFSET, MotorCalibration};
use crate::sim::hand::Pull;
use settings::Settings;

pub use embodied::{Moved, Puller};
pub use factory::Variant;

/// Counts of a turn.
const TURN: f64 = COUNTS_PER_TURN as f64;
/// What a servo takes its present position for when it is told to re-zero.
const MIDDLE: f64 = 2048.0;
/// `TorqueEnable` value that makes the servo do so.
const REZERO: u8 = 128;
/// From the order to restart until it hears again, seconds.
const BOOT_S: f64 = 0.8;
/// Bits a second for each value of the baud register. Feetech's table; LeRobot's differs in the last three.
const BAUD_RATES: [u32; 8] = [
    1_000_000, 500_000, 250_000, 128_000, 115_200, 76_800, 57_600, 38_400,
];
/// Firmware that knows how to calibrate its position by instruction.
const CALIBRATES_SINCE: (i32, i32) = (3, 10);
/// Where the flag of a kept write is.
const PENDING_FLAG: u8 = 64;
const RETURN_DELAY: u8 = 7;
/// The highest id that a servo takes.
const MAX_ID: u8 = 253;

/// One servo on the simulated bus.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent states and faults"
)]
#[derive(Clone, Debug)]
pub struct SimServo {
    registers: [u8; 256],
    settings: Settings,
    variant: Variant,
    /// Where the horn is, counts of the encoder, running on beyond a turn.
    encoder: f64,
    /// Whole turns of the encoder that it does not know of: it only counts those since it has power.
    turns: f64,
    /// Counts a second.
    velocity: f64,
    /// Duty cycle, permille, signed, and how much of it the turning of the motor itself takes.
    load: f64,
    back_emf: f64,
    /// In a body with weight: where it would have the horn now, counts of the encoder, and how fast that moves; whether it
    /// was driven in the latest step; and how far what it reads is from where the horn is, counts.
    set_point: f64,
    set_speed: f64,
    driven: bool,
    slack: f64,
    /// There, too: how far off the last bit of the encoder is at the moment, counts.
    flicker: f64,
    rng: ChaCha8Rng,
    resting: bool,
    celsius: f64,
    /// Volts that reach this servo.
    volts: f64,
    /// Seconds above the thresholds of overload and current, and the alarms that came of it.
    overload_s: f64,
    overcurrent_s: f64,
    latched: u8,
    /// Seconds until it hears again.
    boot_s: f64,
    plugged: bool,
    /// A write that waits for `Action`.
    pending: Option<(u8, Vec<u8>)>,
    /// Mechanical ends, counts of the encoder.
    stops: Option<[f64; 2]>,
    /// Where a hand takes the horn while it is limp.
    pub(super) pull: Option<Pull>,
    /// Faults: status bits that are always reported, a blocked horn, an EEPROM that keeps nothing, a push when torque comes
    /// on (counts), something in the way (the ends that it leaves, counts of the encoder).
    pub forced_alarms: u8,
    pub stuck: bool,
    pub worn: bool,
    pub kick: f64,
    pub object: Option<[f64; 2]>,
}

impl SimServo {
    /// A servo out of the box, powered up, its horn at `encoder` and free to turn between `stops`, counts of the encoder.
    pub fn new(variant: Variant, encoder: f64, stops: Option<[f64; 2]>) -> Self {
        let registers = factory::registers(variant);
        let mut servo = Self {
            settings: Settings::of(&registers),
            registers,
            variant,
            encoder,
            turns: 0.0,
            velocity: 0.0,
            load: 0.0,
            back_emf: 0.0,
            set_point: encoder,
            set_speed: 0.0,
            driven: false,
            slack: 0.0,
            flicker: 0.0,
            rng: ChaCha8Rng::seed_from_u64(encoder.to_bits()),
            resting: false,
            celsius: motor::IDLE_CELSIUS,
            volts: variant.supply_volts(),
            overload_s: 0.0,
            overcurrent_s: 0.0,
            latched: 0,
            boot_s: 0.0,
            plugged: true,
            pending: None,
            stops,
            pull: None,
            forced_alarms: 0,
            stuck: false,
            worn: false,
            kick: 0.0,
            object: None,
        };
        servo.power_up();
        servo
    }

    /// The servo with what LeRobot's set-up and a calibration leave in it.
    #[must_use]
    pub fn calibrated(mut self, calibration: MotorCalibration) -> Self {
        self.set(Register::Id, i32::from(calibration.id));
        self.set(Register::HomingOffset, calibration.homing_offset);
        self.set(Register::MinPositionLimit, calibration.range_min);
        self.set(Register::MaxPositionLimit, calibration.range_max);
        self.poke(RETURN_DELAY, 0);
        self
    }

    /// Bus id.
    pub fn id(&self) -> u8 {
        self.registers[usize::from(Register::Id.address())]
    }

    /// Whether the servo hears a line of this rate at all.
    pub fn hears(&self, baud_rate: u32) -> bool {
        let rate = usize::try_from(self.get(Register::BaudRate)).ok();
        let rate = rate.and_then(|index| BAUD_RATES.get(index));
        self.plugged && self.boot_s <= 0.0 && rate == Some(&baud_rate)
    }

    /// Whether plain writes are acknowledged.
    pub fn acknowledges(&self) -> bool {
        self.get(Register::ResponseStatusLevel) != 0
    }

    /// How much longer than it must it waits before it answers, microseconds.
    pub fn return_delay_us(&self) -> u64 {
        2 * u64::from(self.registers[usize::from(RETURN_DELAY)])
    }

    /// Plugs the servo into the chain, or pulls it out. It starts as after any power-up.
    pub fn plug(&mut self, plugged: bool) {
        if plugged != self.plugged {
            self.plugged = plugged;
            self.power_up();
        }
    }

    /// The value of a register; what is measured is as old as the last [`SimServo::report`].
    pub fn get(&self, register: Register) -> i32 {
        register.decode(&self.registers[usize::from(register.address())..])
    }

    /// Sets a register whatever its protection; a value that does not fit is dropped.
    pub fn set(&mut self, register: Register, value: i32) {
        if let Ok(encoded) = register.encode(value) {
            self.put(register, encoded);
            self.look();
        }
    }

    /// Sets one byte whatever its protection.
    pub fn poke(&mut self, address: u8, value: u8) {
        self.registers[usize::from(address)] = value;
        self.look();
    }

    /// Takes note of what the registers say now.
    fn look(&mut self) {
        self.settings = Settings::of(&self.registers);
        self.resting = false;
    }

    fn put(&mut self, register: Register, encoded: Encoded) {
        let address = usize::from(register.address());
        let bytes = encoded.as_slice();
        self.registers[address..address + bytes.len()].copy_from_slice(bytes);
    }

    /// RAM as after power-up: torque off, goal 0, torque limit from the EEPROM. The horn stays where it is.
    pub fn power_up(&mut self) {
        for address in RAM_START..=u8::MAX {
            if !factory::survives_power_off(address) {
                self.registers[usize::from(address)] = 0;
            }
        }
        self.set(Register::TorqueLimit, self.get(Register::MaxTorqueLimit));
        self.velocity = 0.0;
        self.load = 0.0;
        self.back_emf = 0.0;
        self.forgive();
        self.pending = None;
        self.forget_turns();
        self.report();
    }

    /// The bytes of a read. Beyond the table there are zeros.
    pub fn read(&mut self, address: u8, length: u8) -> Vec<u8> {
        self.report();
        let start = usize::from(address);
        (start..start + usize::from(length))
            .map(|index| self.registers.get(index).copied().unwrap_or(0))
            .collect()
    }

    /// Obeys a write as far as protection allows: never what is measured, never the EEPROM while it is locked.
    pub fn write(&mut self, address: u8, bytes: &[u8]) {
        let locked = self.get(Register::Lock) != 0;
        let torque_before = self.torque();
        for (offset, byte) in bytes.iter().enumerate() {
            let at = address.wrapping_add(offset as u8);
            let fixed = at < Register::Id.address()
                || (Register::PresentPosition.address()..factory::FACTORY_FIRST).contains(&at)
                || at > factory::FACTORY_LAST;
            let protected = factory::survives_power_off(at) && (locked || self.worn);
            let impossible = at == Register::Id.address() && *byte > MAX_ID;
            if !fixed && !protected && !impossible {
                self.registers[usize::from(at)] = *byte;
            }
        }
        self.look();
        let covers = |register: Register| {
            (0..register.width()).any(|offset| {
                let at = usize::from(register.address() + offset);
                (usize::from(address)..usize::from(address) + bytes.len()).contains(&at)
            })
        };
        if covers(Register::TorqueEnable) && self.get(Register::TorqueEnable) == i32::from(REZERO) {
            self.take_for(MIDDLE);
            self.set(Register::TorqueEnable, i32::from(torque_before));
        }
        if covers(Register::GoalPosition) {
            self.set(Register::TorqueEnable, 1);
        }
        self.torque_changed(torque_before);
    }

    /// Keeps a write for [`SimServo::act`].
    pub fn write_later(&mut self, address: u8, bytes: &[u8]) {
        self.pending = Some((address, bytes.to_vec()));
        self.registers[usize::from(PENDING_FLAG)] = 1;
    }

    /// Does what was kept.
    pub fn act(&mut self) {
        self.registers[usize::from(PENDING_FLAG)] = 0;
        if let Some((address, bytes)) = self.pending.take() {
            self.write(address, &bytes);
        }
    }

    /// Restarts: limp at once, deaf for a while.
    pub fn reboot(&mut self) {
        self.power_up();
        self.boot_s = BOOT_S;
    }

    /// The EEPROM as the factory left it, but for the id. Its calibration is gone.
    pub fn restore_factory(&mut self) {
        let id = self.id();
        let factory = factory::registers(self.variant);
        for (address, value) in (0..).zip(factory) {
            if factory::survives_power_off(address) {
                self.registers[usize::from(address)] = value;
            }
        }
        self.set(Register::Id, i32::from(id));
    }

    /// Forgets how many turns it has made.
    pub fn forget_turns(&mut self) {
        self.turns = (self.encoder / TURN).floor();
    }

    /// Takes the position that it is at for `counts`, the middle where none are given. Old firmware does not know how.
    pub fn calibrate_position(&mut self, params: &[u8]) -> bool {
        let firmware = [
            Register::FirmwareMajorVersion,
            Register::FirmwareMinorVersion,
        ];
        let [major, minor] = firmware.map(|register| self.get(register));
        if (major, minor) < CALIBRATES_SINCE {
            return false;
        }
        match params {
            [low, high] => self.take_for(f64::from(u16::from_le_bytes([*low, *high]) % 4096)),
            _ => self.take_for(MIDDLE),
        }
        true
    }

    /// Whether the motor is driven.
    pub fn torque(&self) -> bool {
        self.settings.torque
    }

    /// Chooses the homing offset by which this position reads `counts`.
    fn take_for(&mut self, counts: f64) {
        let half = TURN / 2.0;
        let offset = (self.encoder + self.slack - counts + half).rem_euclid(TURN) - half;
        let most = f64::from(MAX_HOMING_OFFSET);
        self.set(
            Register::HomingOffset,
            offset.round().clamp(-most, most) as i32,
        );
    }

    /// Switching torque clears what has tripped; switching it on delivers the scripted push.
    fn torque_changed(&mut self, before: bool) {
        let now = self.torque();
        if now != before {
            self.forgive();
            self.driven = false;
            if now {
                self.encoder += std::mem::take(&mut self.kick);
            }
        }
    }

    /// Where the horn is, counts of the encoder.
    pub fn encoder(&self) -> f64 {
        self.encoder
    }

    /// Puts the horn somewhere at once, counts of the encoder, whatever is in the way.
    pub fn place(&mut self, encoder: f64) {
        self.encoder = encoder;
        self.velocity = 0.0;
        self.slack = 0.0;
        self.driven = false;
        self.resting = false;
        self.report();
    }

    /// Takes the place where the horn is for its goal, as if the host had sent it there; a limp servo stays limp.
    pub fn stay(&mut self) {
        let here = self.position().round() as i32;
        self.set(Register::GoalPosition, here);
    }

    /// The encoder counts at which this servo reads `counts`, in the turn that the joint can be in.
    pub fn encoder_at(&self, counts: f64) -> f64 {
        let encoder = counts + self.settings.offset;
        match self.stops {
            Some([low, high]) if !self.settings.multi_turn => {
                let middle = f64::midpoint(low, high);
                middle + (encoder - middle + TURN / 2.0).rem_euclid(TURN) - TURN / 2.0
            }
            _ => encoder,
        }
    }

    /// Position as the servo counts it, after homing; wrapped into a turn unless Phase says otherwise.
    pub fn position(&self) -> f64 {
        self.settings
            .position(self.encoder + self.slack, self.turns)
    }
}
