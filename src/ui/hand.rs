//! A hand at the keyboard or on a button: what it holds drives the arm and is said again and again; what it lets go of ends
//! at once. Only while the window is looked at: a window without the focus hears no key go up.

use egui::{Context, Event, Key};
use glam::Vec3;

use crate::runtime::{
    Command, Drive, FASTEST_GRIPPER, FASTEST_JOINT, FASTEST_TIP, FASTEST_TURN, Mode, Snapshot,
    Twist,
};
use crate::ui::draft::{Draft, Page};

/// A drive is renewed this often, seconds: several times within the dead man's time.
const RENEW_SECONDS: f64 = 0.03;
/// Bounds of the pace, share of the fastest.
pub const PACE: std::ops::RangeInclusive<f32> = 0.05..=1.0;

/// What the window keeps of the hand.
pub struct HandDraft {
    /// Share of the fastest that keys and buttons ask for.
    pub pace: f32,
    /// The panel shows the tip, not the joints.
    pub shows_tip: bool,
    /// What is held in this frame.
    wanted: Drive,
    /// What was said last, and when, seconds of the window's clock.
    sent: Drive,
    sent_at: f64,
}

impl Default for HandDraft {
    fn default() -> Self {
        Self {
            pace: 0.25,
            shows_tip: false,
            wanted: Drive::default(),
            sent: Drive::default(),
            sent_at: 0.0,
        }
    }
}

impl HandDraft {
    /// Something is held that drives.
    pub fn push(&mut self, drive: Drive) {
        self.wanted = self.wanted + drive;
    }

    /// A hand drives now, or did in the frame before.
    pub fn is_driving(&self) -> bool {
        !self.sent.is_still() || !self.wanted.is_still()
    }

    /// Joint speed at this pace, robot units a second.
    pub fn joint_speed(&self) -> f32 {
        FASTEST_JOINT * self.pace
    }
}

/// One way to push the gripper's tip: a key, and a button of the panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    Forward,
    Back,
    Left,
    Right,
    Up,
    Down,
    TiltUp,
    TiltDown,
    RollLeft,
    RollRight,
    Open,
    Close,
}

impl Push {
    /// In pairs, as the panel shows them.
    pub const PAIRS: [[Self; 2]; 6] = [
        [Self::Forward, Self::Back],
        [Self::Left, Self::Right],
        [Self::Up, Self::Down],
        [Self::TiltUp, Self::TiltDown],
        [Self::RollLeft, Self::RollRight],
        [Self::Open, Self::Close],
    ];

    /// The key that does it while it is held.
    pub fn key(self) -> Key {
        match self {
            Self::Forward => Key::ArrowUp,
            Self::Back => Key::ArrowDown,
            Self::Left => Key::ArrowLeft,
            Self::Right => Key::ArrowRight,
            Self::Up => Key::PageUp,
            Self::Down => Key::PageDown,
            Self::TiltUp => Key::Home,
            Self::TiltDown => Key::End,
            Self::RollLeft => Key::Q,
            Self::RollRight => Key::E,
            Self::Open => Key::O,
            Self::Close => Key::C,
        }
    }

    /// The key as it is printed.
    pub fn key_name(self) -> &'static str {
        match self {
            Self::Forward => "↑",
            Self::Back => "↓",
            Self::Left => "←",
            Self::Right => "→",
            Self::Up => "PgUp",
            Self::Down => "PgDn",
            Self::TiltUp => "Home",
            Self::TiltDown => "End",
            Self::RollLeft => "Q",
            Self::RollRight => "E",
            Self::Open => "O",
            Self::Close => "C",
        }
    }

    /// What it does, for a button.
    pub fn label(self) -> &'static str {
        match self {
            Self::Forward => "Forward",
            Self::Back => "Back",
            Self::Left => "Left",
            Self::Right => "Right",
            Self::Up => "Up",
            Self::Down => "Down",
            Self::TiltUp => "Tilt up",
            Self::TiltDown => "Tilt down",
            Self::RollLeft => "Roll left",
            Self::RollRight => "Roll right",
            Self::Open => "Open",
            Self::Close => "Close",
        }
    }

    /// The drive at this share of the fastest.
    pub fn drive(self, pace: f32) -> Drive {
        let linear = |direction: Vec3| Twist {
            linear: direction * FASTEST_TIP * pace,
            ..Twist::default()
        };
        let pitch = |sign: f32| Twist {
            pitch: sign * FASTEST_TURN * pace,
            ..Twist::default()
        };
        let roll = |sign: f32| Twist {
            roll: sign * FASTEST_TURN * pace,
            ..Twist::default()
        };
        let tip = match self {
            Self::Forward => linear(Vec3::X),
            Self::Back => linear(Vec3::NEG_X),
            Self::Left => linear(Vec3::Y),
            Self::Right => linear(Vec3::NEG_Y),
            Self::Up => linear(Vec3::Z),
            Self::Down => linear(Vec3::NEG_Z),
            Self::TiltUp => pitch(-1.0),
            Self::TiltDown => pitch(1.0),
            Self::RollLeft => roll(1.0),
            Self::RollRight => roll(-1.0),
            Self::Open => return Drive::of_tip(Twist::default(), FASTEST_GRIPPER * pace),
            Self::Close => return Drive::of_tip(Twist::default(), -FASTEST_GRIPPER * pace),
        };
        Drive::of_tip(tip, 0.0)
    }
}

/// Whether a hand drives the arm by keys and buttons now.
fn may_drive(snapshot: &Snapshot, draft: &Draft) -> bool {
    snapshot.mode == Mode::Jog && snapshot.stopped.is_none() && draft.page == Page::Cockpit
}

/// Reads the keys that drive while they are held, before any widget sees them.
pub fn held_keys(ctx: &Context, snapshot: &Snapshot, draft: &mut Draft) {
    draft.hand.wanted = Drive::default();
    if !may_drive(snapshot, draft) || ctx.text_edit_focused() {
        return;
    }
    let pushes = Push::PAIRS.as_flattened();
    let held = ctx.input_mut(|input| {
        let is_push = |key: &Key| pushes.iter().any(|push| push.key() == *key);
        // A slider with the focus would turn with the arrows.
        input
            .events
            .retain(|event| !matches!(event, Event::Key { key, .. } if is_push(key)));
        let is_held = |push: &&Push| input.focused && input.keys_down.contains(&push.key());
        let held: Vec<Push> = pushes.iter().filter(is_held).copied().collect();
        held
    });
    if held.is_empty() {
        return;
    }
    // The arrows would also carry the focus from widget to widget.
    ctx.memory_mut(|memory| {
        if let Some(id) = memory.focused() {
            memory.surrender_focus(id);
        }
    });
    for push in held {
        draft.hand.push(push.drive(draft.hand.pace));
    }
}

/// Says what is held, once everything was drawn.
pub fn say(now: f64, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let allowed = may_drive(snapshot, draft);
    let hand = &mut draft.hand;
    let wanted = std::mem::take(&mut hand.wanted);
    if !allowed {
        hand.sent = Drive::default();
        return;
    }
    let is_due = now - hand.sent_at >= RENEW_SECONDS;
    if wanted != hand.sent || (!wanted.is_still() && is_due) {
        commands.push(Command::Drive(wanted));
        (hand.sent, hand.sent_at) = (wanted, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_pushes_cancel_and_every_one_has_a_key_of_its_own() {
        let pushes = Push::PAIRS.as_flattened();
        for [one, other] in Push::PAIRS {
            assert!((one.drive(0.5) + other.drive(0.5)).is_still());
        }
        for (k, push) in pushes.iter().enumerate() {
            assert!(!push.drive(0.05).is_still());
            assert!(pushes[..k].iter().all(|other| other.key() != push.key()));
        }
    }
}
