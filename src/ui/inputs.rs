//! What the window is told about input that is not its own: a gamepad, and keys that work while another window is in front.

/// One source of input, and whether it works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum InputStatus {
    /// Not wanted, or nothing is there.
    #[default]
    Off,
    /// It works; what it is.
    Active(String),
    /// It does not, and why.
    Inactive(String),
}

/// All of them. Filled in by whoever holds the devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The gamepad by name.
    pub pad: InputStatus,
    /// The global keys.
    pub stop_key: InputStatus,
    pub takeover_key: InputStatus,
}
