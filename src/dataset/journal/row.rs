//! Rows of an episode as its journal keeps them: all that a [`Step`] says but its pictures.

use std::sync::Arc;
use std::time::Duration;

use crate::action::Action;
use crate::dataset::journal::record::Cursor;
use crate::dataset::{Driver, Outcome, Provenance, Step};
use crate::joint::{JOINT_COUNT, JointVec};

/// A row of the episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// When it was taken, since the first row's step.
    pub at: Duration,
    pub state: JointVec,
    pub action: Action,
    /// Which of the episode's tasks, in the order in which they were first in force.
    pub task: u32,
    /// Bit 0: it fills an instant at which nothing was taken. Bit i + 1: camera i shows the picture of the row before.
    pub repeated: u64,
    pub provenance: Provenance,
    /// By camera: the number and the capture of its picture since the first row's step; `None` while it had shown none.
    pub pictures: Vec<Option<Taken>>,
}

/// Which picture a camera showed. Its instant may lie before the episode's begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    pub seq: u64,
    /// Nanoseconds since the first row's step.
    pub at_ns: i64,
}

/// The bit of a row that fills a missed instant.
pub const FILLED: u64 = 1;

/// The bit of a camera that showed nothing new. Cameras beyond the last bit share it; the sign of a column stays clear.
pub fn repeated_bit(camera: usize) -> u64 {
    1 << (camera + 1).min(62)
}

impl Row {
    /// What a step says, for an episode that began at `begin`.
    pub fn of(step: &Step, begin: Duration, task: u32) -> Self {
        let since = |at: Duration| at.as_nanos() as i64 - begin.as_nanos() as i64;
        let taken = |frame: &Option<crate::observation::Frame>| {
            frame.as_ref().map(|frame| Taken {
                seq: frame.seq,
                at_ns: since(frame.captured_at),
            })
        };
        Self {
            at: step.at.saturating_sub(begin),
            state: step.state,
            action: step.action,
            task,
            repeated: 0,
            provenance: step.provenance.clone(),
            pictures: step.frames.iter().map(taken).collect(),
        }
    }

    /// The payload of its record.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend((self.at.as_nanos() as u64).to_le_bytes());
        write_joints(self.state, out);
        write_joints(self.action, out);
        out.extend(self.task.to_le_bytes());
        out.extend(self.repeated.to_le_bytes());
        let by = &self.provenance;
        out.extend([
            number_of(by.driver),
            u8::from(by.intervention),
            by.scheduling,
            by.aggregate,
        ]);
        for float in [by.chunk_size_threshold, by.latency_s] {
            out.extend(float.to_le_bytes());
        }
        for int in [
            by.n_action_steps,
            by.actions_per_chunk,
            by.queue,
            by.chunk_age,
            by.chunk.len() as u32,
            self.pictures.len() as u32,
        ] {
            out.extend(int.to_le_bytes());
        }
        for action in &*by.chunk {
            write_joints(*action, out);
        }
        for taken in &self.pictures {
            out.push(u8::from(taken.is_some()));
            let taken = taken.unwrap_or_default();
            out.extend(taken.seq.to_le_bytes());
            out.extend(taken.at_ns.to_le_bytes());
        }
    }

    /// Reads a payload; `None` where it is none of a row.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let mut from = Cursor(payload);
        let at = Duration::from_nanos(from.long()?);
        let (state, action) = (read_joints(&mut from)?, read_joints(&mut from)?);
        let (task, repeated) = (from.int()?, from.long()?);
        let [driver, intervention, scheduling, aggregate] = from.bytes()?;
        let (chunk_size_threshold, latency_s) = (from.float()?, from.float()?);
        let (n_action_steps, actions_per_chunk) = (from.int()?, from.int()?);
        let (queue, chunk_age) = (from.int()?, from.int()?);
        let (chunk, pictures) = (from.int()?, from.int()?);
        let chunk: Arc<[Action]> = (0..chunk)
            .map(|_| read_joints(&mut from))
            .collect::<Option<_>>()?;
        let pictures = (0..pictures)
            .map(|_| {
                let (there, taken) = read_picture(&mut from)?;
                Some(there.then_some(taken))
            })
            .collect::<Option<_>>()?;
        let provenance = Provenance {
            driver: driver_of(driver)?,
            intervention: intervention != 0,
            scheduling,
            chunk_size_threshold,
            n_action_steps,
            actions_per_chunk,
            aggregate,
            queue,
            latency_s,
            chunk,
            chunk_age,
        };
        from.rest().is_empty().then_some(Self {
            at,
            state,
            action,
            task,
            repeated,
            provenance,
            pictures,
        })
    }
}

fn write_joints(joints: JointVec, out: &mut Vec<u8>) {
    for value in joints.0 {
        out.extend(value.to_le_bytes());
    }
}

fn read_joints(from: &mut Cursor<'_>) -> Option<JointVec> {
    let mut joints = [0.0; JOINT_COUNT];
    for value in &mut joints {
        *value = from.float()?;
    }
    Some(JointVec(joints))
}

/// A picture, and whether there was one: `None` is the end of the payload.
fn read_picture(from: &mut Cursor<'_>) -> Option<(bool, Taken)> {
    let there = from.byte()? != 0;
    let taken = Taken {
        seq: from.long()?,
        at_ns: from.bytes().map(i64::from_le_bytes)?,
    };
    Some((there, taken))
}

const DRIVERS: [Driver; 5] = [
    Driver::Nobody,
    Driver::Policy,
    Driver::Teleop,
    Driver::Jog,
    Driver::Replay,
];

fn number_of(driver: Driver) -> u8 {
    driver as u8
}

fn driver_of(number: u8) -> Option<Driver> {
    DRIVERS.get(usize::from(number)).copied()
}

const OUTCOMES: [Outcome; 3] = [Outcome::Unmarked, Outcome::Success, Outcome::Failure];

/// The payload of a record that says how the episode went.
pub fn write_outcome(outcome: Outcome) -> [u8; 1] {
    [outcome as u8]
}

/// Reads it back.
pub fn read_outcome(payload: &[u8]) -> Option<Outcome> {
    OUTCOMES.get(usize::from(*payload.first()?)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let joints = |first: f32| JointVec([first, 1.5, -2.0, 90.0, f32::MIN_POSITIVE, 100.0]);
        Row {
            at: Duration::from_nanos(33_333_333),
            state: joints(0.0),
            action: joints(-7.0),
            task: 3,
            repeated: FILLED | repeated_bit(1),
            provenance: Provenance {
                driver: Driver::Replay,
                intervention: true,
                scheduling: 2,
                chunk_size_threshold: 0.7,
                n_action_steps: 10,
                actions_per_chunk: 50,
                aggregate: 1,
                queue: 17,
                latency_s: 0.25,
                chunk: [joints(1.0), joints(2.0)].into(),
                chunk_age: 4,
            },
            pictures: vec![
                None,
                Some(Taken {
                    seq: 12,
                    at_ns: -5_000_000,
                }),
            ],
        }
    }

    #[test]
    fn a_row_is_read_as_it_was_written_and_not_from_a_part_of_it() {
        let mut bytes = Vec::new();
        row().write(&mut bytes);
        assert_eq!(Row::read(&bytes), Some(row()));
        for cut in 0..bytes.len() {
            assert_eq!(Row::read(&bytes[..cut]), None, "cut at {cut}");
        }
        bytes.push(0);
        assert_eq!(Row::read(&bytes), None);
    }

    #[test]
    fn every_driver_and_outcome_has_a_number_of_its_own() {
        for driver in DRIVERS {
            assert_eq!(driver_of(number_of(driver)), Some(driver));
        }
        for outcome in OUTCOMES {
            assert_eq!(read_outcome(&write_outcome(outcome)), Some(outcome));
        }
        assert_eq!((driver_of(5), read_outcome(&[3])), (None, None));
    }

    #[test]
    fn a_picture_from_before_the_episode_keeps_its_time() {
        let frame = crate::observation::Frame::new(1, 1, vec![0; 3], 8, Duration::from_millis(990));
        let step = Step {
            at: Duration::from_secs(1),
            state: JointVec::default(),
            action: JointVec::default(),
            frames: vec![frame, None],
            task: "".into(),
            provenance: Provenance::default(),
            missed: 0,
        };
        let row = Row::of(&step, step.at, 0);
        assert_eq!(row.at, Duration::ZERO);
        let taken = Taken {
            seq: 8,
            at_ns: -10_000_000,
        };
        assert_eq!(row.pictures, [Some(taken), None]);
        assert_eq!([0, 1, 61, 90].map(repeated_bit), [2, 4, 1 << 62, 1 << 62]);
    }
}
