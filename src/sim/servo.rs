//! A pretend STS3215: its register file, its habits, and a motor that needs time to get anywhere.
//!
//! Where documents disagree about the real servo, the pretend one does what is worst for a careless driver: torque that
//! comes on runs to a stale goal, writing a goal switches torque on, and a locked EEPROM drops writes without a word.

mod motor;

use crate::arm::register::{Area, Encoded, FACTORY_START, RAM_START, Register};
use crate::arm::{COUNTS_PER_TURN, MotorCalibration};

/// Counts of a turn.
const TURN: f64 = COUNTS_PER_TURN as f64;
/// Status bit of an overload.
const OVERLOAD_ALARM: u8 = 0x20;

/// `TorqueEnable` value that makes the servo take its present position for the middle.
const REZERO: u8 = 128;

/// One servo on the simulated bus.
#[derive(Clone, Debug)]
pub struct SimServo {
    registers: [u8; 256],
    /// Where the horn is, counts of the encoder, running on beyond a turn.
    encoder: f64,
    /// Counts a second.
    velocity: f64,
    celsius: f64,
    /// Volts that reach this servo.
    volts: f64,
    /// Seconds above the overload threshold.
    overload_s: f64,
    /// A write that waits for `Action`.
    pending: Option<(u8, Vec<u8>)>,
    /// Faults: status bits that are always reported, a blocked horn, a push when torque comes on (counts).
    pub forced_alarms: u8,
    pub stuck: bool,
    pub kick: f64,
}

impl SimServo {
    /// A servo as the factory and a calibration leave it, standing at `position` counts (after homing), powered up.
    pub fn new(calibration: MotorCalibration, position: f64) -> Self {
        let mut servo = Self {
            registers: [0; 256],
            encoder: position + f64::from(calibration.homing_offset),
            velocity: 0.0,
            celsius: motor::IDLE_CELSIUS,
            volts: 12.0,
            overload_s: 0.0,
            pending: None,
            forced_alarms: 0,
            stuck: false,
            kick: 0.0,
        };
        for (register, value) in FACTORY {
            servo.set(register, value);
        }
        servo.set(Register::Id, i32::from(calibration.id));
        servo.set(Register::HomingOffset, calibration.homing_offset);
        servo.set(Register::MinPositionLimit, calibration.range_min);
        servo.set(Register::MaxPositionLimit, calibration.range_max);
        servo.power_up();
        servo
    }

    /// Bus id.
    pub fn id(&self) -> u8 {
        self.registers[usize::from(Register::Id.address())]
    }

    /// Whether the servo hears a 1 Mbaud line at all.
    pub fn hears(&self) -> bool {
        self.get(Register::BaudRate) == 0
    }

    /// Whether plain writes are acknowledged.
    pub fn acknowledges(&self) -> bool {
        self.get(Register::ResponseStatusLevel) != 0
    }

    /// The value of a register.
    pub fn get(&self, register: Register) -> i32 {
        register.decode(&self.registers[usize::from(register.address())..])
    }

    /// Sets a register whatever its protection; a value that does not fit is dropped.
    pub fn set(&mut self, register: Register, value: i32) {
        if let Ok(encoded) = register.encode(value) {
            self.put(register, encoded);
        }
    }

    /// Sets one byte whatever its protection.
    pub fn poke(&mut self, address: u8, value: u8) {
        self.registers[usize::from(address)] = value;
    }

    fn put(&mut self, register: Register, encoded: Encoded) {
        let address = usize::from(register.address());
        let bytes = encoded.as_slice();
        self.registers[address..address + bytes.len()].copy_from_slice(bytes);
    }

    /// RAM as after power-up: torque off, goal 0, torque limit from the EEPROM. The horn stays where it is.
    pub fn power_up(&mut self) {
        self.registers[usize::from(RAM_START)..usize::from(FACTORY_START)].fill(0);
        self.set(Register::TorqueLimit, self.get(Register::MaxTorqueLimit));
        self.velocity = 0.0;
        self.overload_s = 0.0;
        self.pending = None;
        self.report();
    }

    /// The ERR byte of every answer.
    pub fn alarms(&self) -> u8 {
        self.get(Register::Status) as u8 | self.forced_alarms
    }

    /// The bytes of a read. Beyond the table there are zeros.
    pub fn read(&self, address: u8, length: u8) -> Vec<u8> {
        let start = usize::from(address);
        (start..start + usize::from(length))
            .map(|index| self.registers.get(index).copied().unwrap_or(0))
            .collect()
    }

    /// Obeys a write as far as protection allows: never what is measured, never the EEPROM while it is locked.
    pub fn write(&mut self, address: u8, bytes: &[u8]) {
        let locked = self.get(Register::Lock) != 0;
        let present = Register::PresentPosition.address();
        let torque_before = self.torque();
        for (offset, byte) in bytes.iter().enumerate() {
            let at = address.wrapping_add(offset as u8);
            let fixed = at < Register::Id.address() || (present..FACTORY_START).contains(&at);
            let protected = at < RAM_START && locked;
            if !fixed && !protected {
                self.registers[usize::from(at)] = *byte;
            }
        }
        let covers = |register: Register| {
            (0..register.width()).any(|offset| {
                let at = usize::from(register.address() + offset);
                (usize::from(address)..usize::from(address) + bytes.len()).contains(&at)
            })
        };
        debug_assert_eq!(
            Register::GoalPosition.area(),
            Area::Ram,
            "goals are not protected"
        );
        if covers(Register::TorqueEnable) && self.get(Register::TorqueEnable) == i32::from(REZERO) {
            self.rezero(torque_before);
        }
        if covers(Register::GoalPosition) {
            self.set(Register::TorqueEnable, 1);
        }
        self.torque_changed(torque_before);
    }

    /// Keeps a write for [`SimServo::act`].
    pub fn write_later(&mut self, address: u8, bytes: &[u8]) {
        self.pending = Some((address, bytes.to_vec()));
    }

    /// Does what was kept.
    pub fn act(&mut self) {
        if let Some((address, bytes)) = self.pending.take() {
            self.write(address, &bytes);
        }
    }

    /// Whether the motor is driven.
    pub fn torque(&self) -> bool {
        self.get(Register::TorqueEnable) == 1
    }

    fn rezero(&mut self, torque: bool) {
        let offset = crate::arm::half_turn_homing_offset(self.encoder.round() as i32, 0);
        self.set(Register::HomingOffset, offset);
        self.set(Register::TorqueEnable, i32::from(torque));
    }

    /// Switching torque clears an overload; switching it on delivers the scripted push.
    fn torque_changed(&mut self, before: bool) {
        let now = self.torque();
        if now != before {
            self.overload_s = 0.0;
            self.set(
                Register::Status,
                self.get(Register::Status) & !i32::from(OVERLOAD_ALARM),
            );
            if now {
                self.encoder += std::mem::take(&mut self.kick);
            }
        }
    }

    /// Where the horn is, counts of the encoder.
    pub fn encoder(&self) -> f64 {
        self.encoder
    }

    /// Puts the horn somewhere at once, counts of the encoder.
    pub fn place(&mut self, encoder: f64) {
        self.encoder = encoder;
        self.velocity = 0.0;
        self.report();
    }

    /// Position as the servo counts it, after homing; wrapped into a turn unless Phase says otherwise.
    pub fn position(&self) -> f64 {
        let position = self.encoder - f64::from(self.get(Register::HomingOffset));
        if self.get(Register::Phase) & 0x10 == 0 {
            position.rem_euclid(TURN)
        } else {
            position
        }
    }
}

/// EEPROM of a 12 V STS3215 with the settings that LeRobot makes.
const FACTORY: [(Register, i32); 14] = [
    (Register::FirmwareMajorVersion, 3),
    (Register::FirmwareMinorVersion, 10),
    (Register::ModelNumber, 777),
    (Register::ResponseStatusLevel, 1),
    (Register::MaxTemperatureLimit, 70),
    (Register::MaxVoltageLimit, 140),
    (Register::MinVoltageLimit, 40),
    (Register::MaxTorqueLimit, 1000),
    (Register::Phase, 12),
    (Register::UnloadingCondition, 44),
    (Register::OperatingMode, 0),
    (Register::ProtectiveTorque, 20),
    (Register::ProtectionTime, 200),
    (Register::OverloadTorque, 80),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::Calibration;
    use crate::joint::Joint;

    fn servo() -> SimServo {
        SimServo::new(Calibration::simulated().motor(Joint::ShoulderPan), 2000.0)
    }

    #[test]
    fn a_locked_eeprom_and_measured_values_ignore_writes() {
        let mut servo = servo();
        servo.write(55, &[1]);
        servo.write(9, &[7, 0]);
        servo.write(56, &[7, 0]);
        assert_eq!(servo.get(Register::MinPositionLimit), 796);
        assert_eq!(servo.get(Register::PresentPosition), 2000);
        servo.write(55, &[0]);
        servo.write(9, &[7, 0]);
        assert_eq!(servo.get(Register::MinPositionLimit), 7);
    }

    #[test]
    fn positions_wrap_at_a_turn_unless_multi_turn_is_set() {
        let mut servo = servo();
        servo.place(-710.0 + 4161.0);
        assert_eq!(servo.get(Register::PresentPosition), 65);
        servo.poke(18, 0x1C);
        servo.place(-710.0 + 4161.0);
        assert_eq!(servo.get(Register::PresentPosition), 4161);
    }

    #[test]
    fn rezeroing_makes_the_pose_the_middle_and_power_up_forgets_ram() {
        let mut servo = servo();
        servo.write(40, &[REZERO]);
        assert_eq!(
            servo.get(Register::PresentPosition),
            2000,
            "reported at the next step"
        );
        servo.advance(0.001, 12.0);
        assert!((2046..=2048).contains(&servo.get(Register::PresentPosition)));
        servo.write(42, &2500_u16.to_le_bytes());
        servo.power_up();
        assert_eq!(servo.get(Register::GoalPosition), 0);
        assert_eq!(servo.get(Register::TorqueLimit), 1000);
        assert!(!servo.torque());
    }
}
