//! What servos complain about, as news for the operator. An alarm is never a failure of communication.

use std::fmt;

use crate::arm::error::Motor;

/// Temperature from which the operator should know, °C. The servo cuts torque by itself at 70.
pub const WARM_CELSIUS: i32 = 55;
/// Temperature from which the arm is not fit to be switched on, °C.
pub const HOT_CELSIUS: i32 = 65;

/// One complaint. The first five are bits of the status byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AlarmKind {
    Voltage,
    Encoder,
    Overheated,
    Overcurrent,
    Overload,
    /// Measured, before the servo's own alarm: [`WARM_CELSIUS`] is passed.
    Warm,
    /// Measured: [`HOT_CELSIUS`] is passed.
    Hot,
}

impl AlarmKind {
    /// The bits of the status byte. Bit 4 means something else in every table and bits 6 and 7 nothing: they are logged
    /// by the bus and otherwise ignored.
    const BITS: [(u8, Self); 5] = [
        (0x01, Self::Voltage),
        (0x02, Self::Encoder),
        (0x04, Self::Overheated),
        (0x08, Self::Overcurrent),
        (0x20, Self::Overload),
    ];

    /// Whether this complaint is in a status byte. What is measured is in none.
    pub fn is_in(self, bits: u8) -> bool {
        let mut known = Self::BITS.into_iter();
        known.any(|(mask, kind)| kind == self && bits & mask != 0)
    }

    /// All complaints in a status byte and a measured temperature.
    pub fn from_status(bits: u8, celsius: i32) -> impl Iterator<Item = Self> {
        let flagged = Self::BITS
            .into_iter()
            .filter(move |(mask, _)| bits & mask != 0);
        let measured = if celsius >= HOT_CELSIUS {
            Some(Self::Hot)
        } else if celsius >= WARM_CELSIUS {
            Some(Self::Warm)
        } else {
            None
        };
        flagged.map(|(_, kind)| kind).chain(measured)
    }

    /// What to do now.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Voltage => {
                "Check the supply: its voltage (7.4 V and 12 V servos look alike), its plugs, and that it is strong enough (12 V needs 5 A)"
            }
            Self::Encoder => "Stop and replace the servo",
            Self::Overheated | Self::Hot => "Support the arm, switch torque off and let it cool",
            Self::Overcurrent => "Check that the joint moves freely",
            Self::Overload => {
                "Take the load off, then switch torque off and on; if it stays, power the arm off and on"
            }
            Self::Warm => "Let the arm rest soon; do not keep the gripper squeezing",
        }
    }
}

impl fmt::Display for AlarmKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Voltage => "voltage out of range",
            Self::Encoder => "position sensor broken",
            Self::Overheated => "overheated",
            Self::Overcurrent => "too much current",
            Self::Overload => "overloaded",
            Self::Warm => "getting warm",
            Self::Hot => "hot",
        })
    }
}

/// A complaint of one servo, present in its latest answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    pub motor: Motor,
    pub kind: AlarmKind,
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.motor, self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_bits_are_alarms_and_others_are_not() {
        let kinds = |bits, celsius| AlarmKind::from_status(bits, celsius).collect::<Vec<_>>();
        assert_eq!(kinds(0x21, 30), [AlarmKind::Voltage, AlarmKind::Overload]);
        assert_eq!(kinds(0xD0, 30), []);
        assert_eq!(kinds(0, 56), [AlarmKind::Warm]);
        assert_eq!(kinds(0x04, 70), [AlarmKind::Overheated, AlarmKind::Hot]);
        assert!(AlarmKind::Overload.is_in(0x21) && !AlarmKind::Overload.is_in(0x11));
        assert!(!AlarmKind::Hot.is_in(0xFF), "measured by us");
    }
}
