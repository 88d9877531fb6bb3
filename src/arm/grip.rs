//! The gripper's reflexes. Its motor is the one that burns: a policy that closes on a cube goes on asking for 0 %, and a
//! servo that squeezes at full strength is at 50 °C within a minute and overloaded within two seconds.
//!
//! A gripper that meets an object is held a little beyond where it met it, with a torque that it can keep up; it is strong
//! again as soon as it opens or the object is gone. One that is overloaded all the same is not closed further, and stays so
//! until the operator says otherwise.

use std::time::Duration;

/// Percent of the travel by which a closing gripper is behind its goal when it is stopped by something.
const BEHIND: f32 = 4.0;
/// Share of the motor's duty cycle, and the current, that say so too: a goal that has just been sent is far ahead as well.
const PUSHING_PERCENT: f32 = 12.0;
const PUSHING_MILLIAMPERES: f32 = 180.0;
/// Slower than this it has been stopped, percent of the travel a second.
const STILL: f32 = 4.0;
/// For how long all of that must be so.
const PERSISTS: Duration = Duration::from_millis(300);
/// From this share of the duty cycle the servo counts the seconds to an overload; a goal that is only a little beyond the object
/// gets there as well.
const STRAINING_PERCENT: f32 = 25.0;
/// Half of the time that the servo stands that.
const STRAINS: Duration = Duration::from_secs(1);
/// How far beyond the object the goal is kept, percent of the travel: enough to hold on when it gives a little.
const BITE: f32 = 4.0;
/// Within this of that goal there is nothing between the jaws any more, percent of the travel.
const GIVES_WAY: f32 = 1.0;
/// Torque with which an object is held, permille: below a quarter of full load, from which the servo counts the seconds to
/// an overload.
pub(super) const HOLDING_TORQUE: i32 = 200;

/// What a gripper does by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Grip {
    /// Nothing.
    #[default]
    Free,
    /// It holds an object that it met here, percent open, with reduced torque.
    Holding(f32),
    /// It was overloaded here, percent open: it is not closed further before the operator clears that.
    Overloaded(f32),
}

/// What the reflexes look at, once a tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feel {
    pub now: Duration,
    /// Percent open: where it was sent, and where it is.
    pub goal: f32,
    pub position: f32,
    pub load_percent: f32,
    pub milliamperes: f32,
    /// The servo reports an overload.
    pub is_overloaded: bool,
}

/// The reflexes, with what they remember.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reflex {
    grip: Grip,
    /// Since when it has been pushing against something, where it was then.
    pushing: Option<(Duration, f32)>,
}

impl Reflex {
    /// What it does now.
    pub fn grip(&self) -> Grip {
        self.grip
    }

    /// Forgets all: torque went off, or the operator cleared the overload.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Takes in what was measured.
    pub fn feel(&mut self, feel: &Feel) {
        let is_stopped = self.grip == Grip::Free && self.is_stopped(feel);
        self.grip = match self.grip {
            Grip::Overloaded(_) => self.grip,
            _ if feel.is_overloaded => Grip::Overloaded(feel.position),
            // It has closed to where it was sent: the object slipped away, or gave way.
            Grip::Holding(at) if feel.position < at - BITE + GIVES_WAY => Grip::Free,
            Grip::Holding(_) => self.grip,
            Grip::Free if is_stopped => Grip::Holding(feel.position),
            Grip::Free => Grip::Free,
        };
    }

    /// Whether it has pushed against something for long enough.
    fn is_stopped(&mut self, feel: &Feel) -> bool {
        let behind = feel.position - feel.goal;
        let pushes = feel.load_percent.abs() >= PUSHING_PERCENT
            || feel.milliamperes.abs() >= PUSHING_MILLIAMPERES;
        let strains = feel.load_percent.abs() >= STRAINING_PERCENT && behind > 0.0;
        let patience = if pushes && behind >= BEHIND {
            PERSISTS
        } else if strains {
            STRAINS
        } else {
            self.pushing = None;
            return false;
        };
        let (since, at) = *self.pushing.get_or_insert((feel.now, feel.position));
        let spent = feel.now.saturating_sub(since);
        if (at - feel.position).abs() > STILL * spent.as_secs_f32().max(PERSISTS.as_secs_f32()) {
            self.pushing = Some((feel.now, feel.position));
            return false;
        }
        spent >= patience
    }

    /// The goal that may be sent for this one, percent open. Opening is always possible, and ends holding.
    pub fn allow(&mut self, goal: f32) -> f32 {
        match self.grip {
            Grip::Free => goal,
            Grip::Overloaded(at) => goal.max(at),
            Grip::Holding(at) if goal > at => {
                self.grip = Grip::Free;
                self.pushing = None;
                goal
            }
            Grip::Holding(at) => goal.max(at - BITE),
        }
    }

    /// The torque limit that the reflexes want, permille; `None` for the usual one.
    pub fn torque(&self) -> Option<i32> {
        (self.grip != Grip::Free).then_some(HOLDING_TORQUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn feel(ms: u32, goal: f32, position: f32, load_percent: f32) -> Feel {
        Feel {
            now: MS * ms,
            goal,
            position,
            load_percent,
            milliamperes: 0.0,
            is_overloaded: false,
        }
    }

    #[test]
    fn a_gripper_that_pushes_in_vain_for_long_holds_with_less() {
        let mut reflex = Reflex::default();
        for ms in (0..300).step_by(30) {
            reflex.feel(&feel(ms, 0.0, 40.0, -40.0));
            assert_eq!((reflex.grip(), reflex.torque()), (Grip::Free, None), "{ms}");
        }
        reflex.feel(&feel(300, 0.0, 40.0, -40.0));
        assert_eq!(reflex.grip(), Grip::Holding(40.0));
        assert_eq!(reflex.torque(), Some(HOLDING_TORQUE));
        reflex.feel(&feel(330, 36.0, 37.5, -20.0));
        assert_eq!(reflex.allow(0.0), 36.0);
        assert_eq!(reflex.allow(38.0), 38.0);
        assert_eq!(reflex.allow(55.0), 55.0, "opening");
        assert_eq!((reflex.grip(), reflex.torque()), (Grip::Free, None));
        assert_eq!(reflex.allow(0.0), 0.0);
    }

    #[test]
    fn a_gripper_on_its_way_pushes_nothing() {
        let mut reflex = Reflex::default();
        for step in 0..30 {
            let position = 90.0 - 3.0 * step as f32;
            reflex.feel(&feel(33 * step, position - 8.0, position, -30.0));
            assert_eq!(reflex.grip(), Grip::Free);
        }
        // It has arrived; friction alone is no object.
        for ms in (1000..2000).step_by(33) {
            reflex.feel(&feel(ms, 0.0, 0.5, -6.0));
            assert_eq!(reflex.grip(), Grip::Free);
        }
    }

    #[test]
    fn a_goal_just_beyond_the_object_does_not_overload_it() {
        let mut reflex = Reflex::default();
        for ms in (0..1000).step_by(50) {
            reflex.feel(&feel(ms, 14.3, 17.8, -50.0));
            assert_eq!(reflex.grip(), Grip::Free, "{ms}");
        }
        reflex.feel(&feel(1000, 14.3, 17.8, -50.0));
        assert_eq!(reflex.grip(), Grip::Holding(17.8));
        // Held open against something it may push on: there is nothing that it could hold.
        let mut reflex = Reflex::default();
        for ms in (0..3000).step_by(50) {
            reflex.feel(&feel(ms, 20.0, 17.8, 50.0));
        }
        assert_eq!(reflex.grip(), Grip::Free);
    }

    #[test]
    fn an_object_that_is_gone_is_closed_after() {
        let mut reflex = Reflex::default();
        for ms in [0, 150, 300] {
            reflex.feel(&feel(ms, 0.0, 40.0, -40.0));
        }
        assert_eq!(reflex.grip(), Grip::Holding(40.0));
        reflex.feel(&feel(400, 36.0, 36.1, -5.0));
        assert_eq!((reflex.grip(), reflex.allow(0.0)), (Grip::Free, 0.0));
    }

    #[test]
    fn an_overload_stays_until_it_is_cleared() {
        let mut reflex = Reflex::default();
        let mut overload = feel(0, 0.0, 25.0, -50.0);
        overload.is_overloaded = true;
        reflex.feel(&overload);
        reflex.feel(&feel(100, 25.0, 25.0, 0.0));
        assert_eq!(reflex.grip(), Grip::Overloaded(25.0));
        assert_eq!((reflex.allow(0.0), reflex.allow(60.0)), (25.0, 60.0));
        assert_eq!(
            reflex.grip(),
            Grip::Overloaded(25.0),
            "opening does not clear it"
        );
        reflex.reset();
        assert_eq!((reflex.grip(), reflex.allow(0.0)), (Grip::Free, 0.0));
    }
}
