//! What a new STS3215 holds in its registers, in both variants that SO-101 kits ship with.
//!
//! Source: Feetech's memory table V3.6 and the later one; the 12 V variant differs in its voltage limits.

use crate::arm::register::{RAM_START, Register};

/// First and last address of the settings that the factory made and that a host may change, behind the measured values.
pub(super) const FACTORY_FIRST: u8 = 80;
pub(super) const FACTORY_LAST: u8 = 86;

/// Which windings a servo has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// STS3215-C001: leaders, and followers of the cheaper kit.
    Volts7,
    /// STS3215-C018.
    Volts12,
}

impl Variant {
    /// What its supply should give, volts.
    pub fn supply_volts(self) -> f64 {
        match self {
            Self::Volts7 => 7.4,
            Self::Volts12 => 12.0,
        }
    }

    fn max_decivolts(self) -> u8 {
        match self {
            Self::Volts7 => 80,
            Self::Volts12 => 140,
        }
    }
}

/// Single bytes of the EEPROM and of the factory's settings: address, value.
const BYTES: [(u8, u8); 30] = [
    (0, 3),     // firmware 3.10
    (1, 10),    //
    (3, 9),     // model 777, low byte first
    (4, 3),     //
    (5, 1),     // id
    (7, 250),   // answers half a millisecond later than it could
    (8, 1),     // acknowledges writes
    (11, 0xFF), // highest position 4095
    (12, 0x0F), //
    (13, 70),   // °C
    (15, 40),   // lowest voltage, decivolts
    (16, 0xE8), // most torque 1000 permille
    (17, 0x03), //
    (18, 12),   // phase
    (19, 44),   // unloads for heat, current and overload
    (20, 47),   // LED
    (21, 32),   // P
    (22, 32),   // D
    (24, 16),   // startup force
    (26, 1),    // dead zones
    (27, 1),    //
    (28, 0xF4), // protection current 500 x 6.5 mA
    (29, 0x01), //
    (30, 1),    // angular resolution
    (34, 20),   // protective torque, percent
    (35, 200),  // protection time, 10 ms
    (36, 80),   // overload torque, percent
    (37, 10),   // P of the speed loop
    (38, 200),  // over-current time, 10 ms
    (39, 10),   // I of the speed loop
];

/// The registers of a servo out of the box; RAM is all zeros before it has powered up.
pub(super) fn registers(variant: Variant) -> [u8; 256] {
    let mut registers = [0; 256];
    for (address, value) in BYTES {
        registers[usize::from(address)] = value;
    }
    registers[usize::from(Register::MaxVoltageLimit.address())] = variant.max_decivolts();
    registers
}

/// Whether an address keeps its value without power.
pub(super) fn survives_power_off(address: u8) -> bool {
    address < RAM_START || (FACTORY_FIRST..=FACTORY_LAST).contains(&address)
}
