//! Which supply a servo is made for. The 7.4 V and the 12 V variants look alike, and so do their plugs: a 12 V servo on
//! 7.4 V is weak and complains, a 7.4 V servo on 12 V burns.

/// Servos whose own upper limit is below this are of the 7.4 V class, tenths of a volt. They leave the factory with 80, those
/// of the 12 V class with 130 to 140.
const CLASS_BORDER: i32 = 100;
/// What a servo of the 7.4 V class runs on, from a tired 5 V supply to a full battery of two cells that sags a little.
const LOW_CLASS: Window = Window { min: 4.5, max: 8.0 };
/// What a servo of the 12 V class runs on.
const HIGH_CLASS: Window = Window {
    min: 9.5,
    max: 13.0,
};

/// Which supply a servo is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoltageClass {
    /// 5 to 7.4 V: all leaders, some followers.
    Low,
    /// 12 V: followers only.
    High,
}

impl VoltageClass {
    /// The class of a servo whose `MaxVoltageLimit` is this, tenths of a volt.
    pub fn of(max_decivolts: i32) -> Self {
        if max_decivolts < CLASS_BORDER {
            Self::Low
        } else {
            Self::High
        }
    }
}

/// The voltages that are right, volts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    pub min: f32,
    pub max: f32,
}

impl Window {
    /// What a servo with these limits (`MinVoltageLimit` and `MaxVoltageLimit`, tenths of a volt) is made for: its own
    /// limits, and those of its class, which are narrower, because the factory's would let a 12 V servo run on 7.4 V.
    pub fn of(min_decivolts: i32, max_decivolts: i32) -> Self {
        let [min, max] = [min_decivolts, max_decivolts].map(|limit| limit as f32 / 10.0);
        let class = match VoltageClass::of(max_decivolts) {
            VoltageClass::Low => LOW_CLASS,
            VoltageClass::High => HIGH_CLASS,
        };
        Self {
            min: min.max(class.min),
            max: max.min(class.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variant_wants_its_own_supply() {
        assert_eq!(Window::of(40, 80), LOW_CLASS);
        assert_eq!(Window::of(40, 140), HIGH_CLASS);
        let narrow = Window::of(100, 126);
        assert_eq!((narrow.min, narrow.max), (10.0, 12.6));
    }
}
