//! The STS3215's control table: where each value lives in a servo, how wide it is, and how it carries its sign.
//!
//! Addresses and defaults: Feetech's STS3215 memory table V3.6; names as LeRobot writes them. Signs are a magnitude and a
//! sign bit, never two's complement, and a value that does not fit is refused: an overflowed goal is a wrong goal.

/// A register that this program reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    FirmwareMajorVersion,
    FirmwareMinorVersion,
    ModelNumber,
    Id,
    BaudRate,
    ReturnDelayTime,
    ResponseStatusLevel,
    MinPositionLimit,
    MaxPositionLimit,
    MaxTemperatureLimit,
    MaxVoltageLimit,
    MinVoltageLimit,
    MaxTorqueLimit,
    /// Bit 2: speed unit; bit 3: goal velocity 0 means "as fast as it can"; bit 4: multi-turn feedback.
    Phase,
    UnloadingCondition,
    PCoefficient,
    DCoefficient,
    ICoefficient,
    ProtectionCurrent,
    HomingOffset,
    OperatingMode,
    ProtectiveTorque,
    ProtectionTime,
    OverloadTorque,
    /// 0 off, 1 on. 128 re-zeroes the servo where it stands: never sent by this program.
    TorqueEnable,
    Acceleration,
    /// Hazard: writing it also switches torque on (measured by others on an STS3215).
    GoalPosition,
    GoalVelocity,
    TorqueLimit,
    Lock,
    PresentPosition,
    PresentVelocity,
    PresentLoad,
    PresentVoltage,
    PresentTemperature,
    Status,
    Moving,
    PresentCurrent,
    /// Of the factory's area: one byte.
    MaximumAcceleration,
}

/// Whether a register survives power-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// Kept, and written only while `Lock` is 0.
    Eeprom,
    /// Back to its default after every power-up.
    Ram,
    /// The maker's own, beyond the RAM.
    Factory,
}

/// `ModelNumber` of an STS3215.
pub const STS3215: i32 = 777;
/// First address that is RAM.
pub const RAM_START: u8 = 40;
/// First address of the factory's area.
pub const FACTORY_START: u8 = 80;

/// A value that its register cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value} does not fit into {register:?}, which holds {min} to {max}")]
pub struct OutOfRange {
    pub register: Register,
    pub value: i32,
    pub min: i32,
    pub max: i32,
}

/// A value as it travels: one or two bytes, low byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    bytes: [u8; 2],
    width: u8,
}

impl Encoded {
    /// The bytes in wire order.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.width)]
    }
}

impl Register {
    /// Address, width in bytes, sign bit.
    const fn layout(self) -> (u8, u8, Option<u8>) {
        match self {
            Self::FirmwareMajorVersion => (0, 1, None),
            Self::FirmwareMinorVersion => (1, 1, None),
            Self::ModelNumber => (3, 2, None),
            Self::Id => (5, 1, None),
            Self::BaudRate => (6, 1, None),
            Self::ReturnDelayTime => (7, 1, None),
            Self::ResponseStatusLevel => (8, 1, None),
            Self::MinPositionLimit => (9, 2, None),
            Self::MaxPositionLimit => (11, 2, None),
            Self::MaxTemperatureLimit => (13, 1, None),
            Self::MaxVoltageLimit => (14, 1, None),
            Self::MinVoltageLimit => (15, 1, None),
            Self::MaxTorqueLimit => (16, 2, None),
            Self::Phase => (18, 1, None),
            Self::UnloadingCondition => (19, 1, None),
            // In this order.
            Self::PCoefficient => (21, 1, None),
            Self::DCoefficient => (22, 1, None),
            Self::ICoefficient => (23, 1, None),
            Self::ProtectionCurrent => (28, 2, None),
            Self::HomingOffset => (31, 2, Some(11)),
            Self::OperatingMode => (33, 1, None),
            Self::ProtectiveTorque => (34, 1, None),
            Self::ProtectionTime => (35, 1, None),
            Self::OverloadTorque => (36, 1, None),
            Self::TorqueEnable => (40, 1, None),
            Self::Acceleration => (41, 1, None),
            Self::GoalPosition => (42, 2, Some(15)),
            Self::GoalVelocity => (46, 2, Some(15)),
            Self::TorqueLimit => (48, 2, None),
            Self::Lock => (55, 1, None),
            Self::PresentPosition => (56, 2, Some(15)),
            Self::PresentVelocity => (58, 2, Some(15)),
            Self::PresentLoad => (60, 2, Some(10)),
            Self::PresentVoltage => (62, 1, None),
            Self::PresentTemperature => (63, 1, None),
            Self::Status => (65, 1, None),
            Self::Moving => (66, 1, None),
            // Feetech's C++ library reads bit 15 as the sign, LeRobot reads no sign.
            Self::PresentCurrent => (69, 2, Some(15)),
            Self::MaximumAcceleration => (85, 1, None),
        }
    }

    /// Address of the first byte.
    pub const fn address(self) -> u8 {
        self.layout().0
    }

    /// Bytes, 1 or 2.
    pub const fn width(self) -> u8 {
        self.layout().1
    }

    /// Whether a power cycle keeps it.
    pub const fn area(self) -> Area {
        match self.address() {
            ..RAM_START => Area::Eeprom,
            RAM_START..FACTORY_START => Area::Ram,
            FACTORY_START.. => Area::Factory,
        }
    }

    /// The bytes of `value`, or why it has none.
    pub fn encode(self, value: i32) -> Result<Encoded, OutOfRange> {
        let (_, width, sign_bit) = self.layout();
        let max = match sign_bit {
            Some(bit) => (1 << bit) - 1,
            None => (1 << (8 * i32::from(width))) - 1,
        };
        let min = if sign_bit.is_some() { -max } else { 0 };
        if !(min..=max).contains(&value) {
            return Err(OutOfRange {
                register: self,
                value,
                min,
                max,
            });
        }
        let sign = match sign_bit {
            Some(bit) if value < 0 => 1 << bit,
            _ => 0,
        };
        let bits = value.unsigned_abs() as u16 | sign;
        Ok(Encoded {
            bytes: bits.to_le_bytes(),
            width,
        })
    }

    /// The value in the first bytes of `bytes`; missing bytes count as zero.
    pub fn decode(self, bytes: &[u8]) -> i32 {
        let (_, width, sign_bit) = self.layout();
        let byte = |index: usize| i32::from(bytes.get(index).copied().unwrap_or(0));
        let bits = if width == 1 {
            byte(0)
        } else {
            byte(0) | byte(1) << 8
        };
        match sign_bit {
            Some(bit) => {
                let magnitude = bits & ((1 << bit) - 1);
                if bits >> bit & 1 == 1 {
                    -magnitude
                } else {
                    magnitude
                }
            }
            None => bits,
        }
    }
}

/// A run of neighbouring registers that is read in one go. Every block has its own length, so that a late answer to one
/// request can never pass for the answer to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub address: u8,
    pub length: u8,
}

impl Block {
    /// What a servo is and how it is set up: the whole EEPROM but for the coefficients of its velocity mode.
    pub const IDENTITY: Self = Self {
        address: 0,
        length: 37,
    };
    /// Torque state, goal, and the limits it is approached with.
    pub const CONTROL: Self = Self {
        address: 40,
        length: 10,
    };
    /// Everything measured: position to current.
    pub const STATE: Self = Self {
        address: 56,
        length: 15,
    };
    /// [`Block::CONTROL`] and [`Block::STATE`] with what lies between them: one read instead of two is quicker on the wire
    /// and saves a trip over USB.
    pub const WATCH: Self = Self {
        address: 40,
        length: 31,
    };

    /// The factory's limits of velocity and acceleration, and what multiplies them.
    pub const FACTORY: Self = Self {
        address: 84,
        length: 3,
    };

    /// The bytes of a block that lies inside this one; none of one that does not.
    pub fn part(self, inner: Self, bytes: &[u8]) -> &[u8] {
        let Some(start) = inner.address.checked_sub(self.address) else {
            return &[];
        };
        let start = usize::from(start);
        let end = start + usize::from(inner.length);
        bytes.get(start..end).unwrap_or(&[])
    }

    /// The value of a register of this block in the bytes that were read.
    pub fn value(self, register: Register, bytes: &[u8]) -> i32 {
        let offset = usize::from(register.address().saturating_sub(self.address));
        register.decode(bytes.get(offset..).unwrap_or(&[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(register: Register, value: i32) -> u16 {
        let encoded = register.encode(value).unwrap();
        let bytes = encoded.as_slice();
        u16::from(bytes[0]) | u16::from(*bytes.get(1).unwrap_or(&0)) << 8
    }

    #[test]
    fn signs_are_a_magnitude_and_a_bit() {
        assert_eq!(bits(Register::GoalPosition, -100), 0x8064);
        assert_eq!(bits(Register::GoalPosition, -1), 0x8001);
        assert_eq!(bits(Register::HomingOffset, -710), 0x0AC6);
        assert_eq!(bits(Register::HomingOffset, 2047), 0x07FF);
        assert_eq!(bits(Register::HomingOffset, -2047), 0x0FFF);
        assert_eq!(Register::GoalPosition.decode(&[0x00, 0x80]), 0);
        assert_eq!(Register::PresentLoad.decode(&[0x0A, 0x04]), -10);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (register, value) in [
            (Register::HomingOffset, 2114),
            (Register::HomingOffset, -2048),
            (Register::GoalPosition, 32768),
            (Register::TorqueEnable, 256),
            (Register::TorqueLimit, -1),
        ] {
            let error = register.encode(value).unwrap_err();
            assert_eq!((error.register, error.value), (register, value));
        }
    }

    #[test]
    fn every_value_comes_back() {
        for register in [
            Register::HomingOffset,
            Register::GoalPosition,
            Register::TorqueLimit,
            Register::Acceleration,
        ] {
            for value in -40000..40000 {
                if let Ok(encoded) = register.encode(value) {
                    assert_eq!(register.decode(encoded.as_slice()), value);
                }
            }
        }
    }

    #[test]
    fn blocks_have_different_lengths_and_find_their_registers() {
        let blocks = [
            Block::IDENTITY,
            Block::CONTROL,
            Block::STATE,
            Block::WATCH,
            Block::FACTORY,
        ];
        for (index, block) in blocks.iter().enumerate() {
            assert!(
                blocks[..index]
                    .iter()
                    .all(|other| other.length != block.length)
            );
            assert!(block.length > 2, "single registers are one or two bytes");
        }
        let mut bytes = [0; 15];
        bytes[13..].copy_from_slice(&[0x34, 0x12]);
        assert_eq!(Block::STATE.value(Register::PresentCurrent, &bytes), 0x1234);
        let watch: Vec<u8> = (40..71).collect();
        let state: Vec<u8> = (56..71).collect();
        assert_eq!(Block::WATCH.part(Block::STATE, &watch), state);
        assert_eq!(Block::WATCH.part(Block::CONTROL, &watch), &watch[..10]);
        assert!(Block::WATCH.part(Block::STATE, &watch[..9]).is_empty());
        assert!(Block::STATE.part(Block::CONTROL, &state).is_empty());
        assert_eq!(Register::HomingOffset.area(), Area::Eeprom);
        assert_eq!(Register::TorqueEnable.area(), Area::Ram);
        assert_eq!(Register::MaximumAcceleration.area(), Area::Factory);
    }
}
