//! From an episode's rows to its columns and its statistics.

use crate::action::Action;
use crate::dataset::schema::columns;
use crate::dataset::schema::{Features, camera_key};
use crate::dataset::stats::{PictureCount, Running, Stats};
use crate::dataset::table::{Column, Table};
use crate::dataset::{Driver, Outcome, Plan};
use crate::joint::{JOINT_COUNT, JointVec};

use super::{EpisodeParts, RowRecord};

/// Bit 0 of `repeated`: the row holds what the row before held.
const FILLED: u64 = 1;

/// Where an episode comes to stand.
pub(super) struct Standing<'a> {
    pub episode: usize,
    /// Its first row, counted over the data set.
    pub from: u64,
    /// The number in the data set of each of the episode's tasks.
    pub tasks: &'a [usize],
}

/// The columns of an episode. All that a plan can ask for, whether or not the features have it.
pub(super) fn table(plan: &Plan, parts: &EpisodeParts, standing: &Standing<'_>) -> Table {
    let rows = finite(&parts.rows);
    let rows = rows.as_slice();
    let joints = |name, of: fn(&RowRecord) -> JointVec| {
        Column::floats(
            name,
            JOINT_COUNT,
            rows.iter().flat_map(|row| of(row).0).map(f64::from),
        )
    };
    let seconds = |at: usize| at as f64 / f64::from(plan.fps.max(1));
    let task = |row: &RowRecord| standing.tasks.get(row.task).copied().unwrap_or(0) as i64;
    let mut table = Table {
        rows: rows.len(),
        columns: vec![
            joints(columns::ACTION, |row| row.action),
            joints(columns::STATE, |row| row.state),
            Column::floats(columns::TIMESTAMP, 1, (0..rows.len()).map(seconds)),
            Column::integers(columns::FRAME_INDEX, 0..rows.len() as i64),
            Column::integers(
                columns::EPISODE_INDEX,
                rows.iter().map(|_| standing.episode as i64),
            ),
            Column::integers(columns::INDEX, (standing.from as i64..).take(rows.len())),
            Column::integers(columns::TASK_INDEX, rows.iter().map(task)),
        ],
    };
    if plan.provenance {
        add_provenance(&mut table, rows, parts.outcome);
        if let Some(steps) = plan.chunk {
            add_chunk(&mut table, rows, steps);
        }
    }
    table
}

fn add_provenance(table: &mut Table, rows: &[RowRecord], outcome: Outcome) {
    let mut whole = |name, of: &dyn Fn(&RowRecord) -> i64| {
        table.put(Column::integers(name, rows.iter().map(of)));
    };
    whole(columns::DRIVER, &|row| driver_number(row.provenance.driver));
    whole(columns::INTERVENTION, &|row| {
        row.provenance.intervention.into()
    });
    whole(columns::SCHEDULING, &|row| row.provenance.scheduling.into());
    whole(columns::N_ACTION_STEPS, &|row| {
        row.provenance.n_action_steps.into()
    });
    whole(columns::ACTIONS_PER_CHUNK, &|row| {
        row.provenance.actions_per_chunk.into()
    });
    whole(columns::AGGREGATE, &|row| row.provenance.aggregate.into());
    whole(columns::QUEUE, &|row| row.provenance.queue.into());
    whole(columns::OUTCOME, &|_| outcome_number(outcome));
    whole(columns::CAPTURE_TIME, &|row| {
        row.captured_at.as_nanos() as i64
    });
    whole(columns::REPEATED, &|row| row.repeated as i64);
    let mut real = |name, of: fn(&RowRecord) -> f32| {
        let finite = |value: f32| {
            if value.is_finite() {
                f64::from(value)
            } else {
                0.0
            }
        };
        table.put(Column::floats(
            name,
            1,
            rows.iter().map(|row| finite(of(row))),
        ));
    };
    real(columns::CHUNK_SIZE_THRESHOLD, |row| {
        row.provenance.chunk_size_threshold
    });
    real(columns::LATENCY, |row| row.provenance.latency_s);
}

fn add_chunk(table: &mut Table, rows: &[RowRecord], steps: usize) {
    let values = rows.iter().flat_map(|row| {
        let chunk = &row.provenance.chunk;
        let last = chunk.last().copied().unwrap_or_default();
        (0..steps).flat_map(move |at| whole_action(chunk.get(at).copied().unwrap_or(last)))
    });
    table.put(Column::floats(
        columns::PREDICTED_CHUNK,
        steps * JOINT_COUNT,
        values,
    ));
    let known = |row: &RowRecord| row.provenance.chunk.len().min(steps) as i64;
    table.put(Column::integers(
        columns::PREDICTED_STEPS,
        rows.iter().map(known),
    ));
    let age = |row: &RowRecord| i64::from(row.provenance.chunk_age);
    table.put(Column::integers(
        columns::PREDICTED_AGE,
        rows.iter().map(age),
    ));
}

fn whole_action(action: Action) -> impl Iterator<Item = f64> {
    action.0.into_iter().map(|value| {
        if value.is_finite() {
            f64::from(value)
        } else {
            0.0
        }
    })
}

/// The rows, a state or an action that is no number replaced by that of the row before and the row marked: one such value would
/// make the whole data set useless for training.
fn finite(rows: &[RowRecord]) -> Vec<RowRecord> {
    let mut kept: Vec<RowRecord> = Vec::with_capacity(rows.len());
    for row in rows {
        let mut row = row.clone();
        let (state, action) = kept
            .last()
            .map_or_else(Default::default, |before| (before.state, before.action));
        if !row.state.is_finite() {
            (row.state, row.repeated) = (state, row.repeated | FILLED);
        }
        if !row.action.is_finite() {
            (row.action, row.repeated) = (action, row.repeated | FILLED);
        }
        kept.push(row);
    }
    kept
}

/// As the column `smolpilot.driver` has it.
pub fn driver_number(driver: Driver) -> i64 {
    match driver {
        Driver::Nobody => 0,
        Driver::Policy => 1,
        Driver::Teleop => 2,
        Driver::Jog => 3,
        Driver::Replay => 4,
    }
}

/// As the column `smolpilot.outcome` has it.
pub fn outcome_number(outcome: Outcome) -> i64 {
    match outcome {
        Outcome::Unmarked => 0,
        Outcome::Success => 1,
        Outcome::Failure => 2,
    }
}

/// The statistics of an episode, in the order of the features.
pub(super) fn stats(
    plan: &Plan,
    features: &Features,
    table: &Table,
    parts: &EpisodeParts,
    count: PictureCount,
) -> Stats {
    let of = |name: &str| {
        if let Some(column) = table.get(name) {
            let mut running = Running::new(column.width);
            running.push_rows(&column.values.floats()?);
            return running.finish();
        }
        let camera = plan
            .cameras
            .iter()
            .position(|camera| camera_key(&camera.name) == name)?;
        parts.videos.get(camera)?.pictures.finish(count)
    };
    let stats = features
        .iter()
        .filter_map(|(name, _)| Some((name.to_owned(), of(name)?)));
    stats.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Provenance;
    use crate::dataset::table::Values;
    use std::time::Duration;

    fn row(value: f32) -> RowRecord {
        RowRecord {
            state: JointVec([value; 6]),
            action: JointVec([value + 1.0; 6]),
            captured_at: Duration::from_millis(33),
            ..RowRecord::default()
        }
    }

    fn standing() -> Standing<'static> {
        Standing {
            episode: 3,
            from: 100,
            tasks: &[1],
        }
    }

    #[test]
    fn times_are_on_the_grid_and_indices_count_on() {
        let parts = EpisodeParts {
            rows: vec![row(0.0); 4],
            ..EpisodeParts::default()
        };
        let table = table(&Plan::new("set"), &parts, &standing());
        let integers = |name: &str| table.get(name).unwrap().values.integers().unwrap();
        assert_eq!(
            table.get("timestamp").unwrap().values,
            Values::Floats([0.0, 1.0, 2.0, 3.0].map(|at| at / 30.0).to_vec())
        );
        assert_eq!(integers("index"), [100, 101, 102, 103]);
        assert_eq!(
            (integers("episode_index")[0], integers("task_index")[0]),
            (3, 1)
        );
        assert_eq!(integers(columns::CAPTURE_TIME)[0], 33_000_000);
        let features = Features::from_plan(&Plan::new("set"));
        let absent: Vec<_> = features
            .columns()
            .filter(|(name, _)| table.get(name).is_none())
            .collect();
        assert!(absent.is_empty(), "{absent:?}");
    }

    #[test]
    fn a_value_that_is_no_number_is_replaced_and_marked() {
        let mut broken = row(5.0);
        broken.action.0[2] = f32::NAN;
        let rows = finite(&[row(1.0), broken, row(2.0)]);
        assert_eq!(
            (rows[1].action, rows[1].state),
            (row(1.0).action, row(5.0).state)
        );
        assert_eq!([0, 1, 2].map(|at| rows[at].repeated), [0, FILLED, 0]);
    }

    #[test]
    fn a_short_chunk_is_filled_with_its_last_action() {
        let mut with = row(0.0);
        with.provenance = Provenance {
            chunk: [JointVec([1.0; 6]), JointVec([2.0; 6])].into(),
            chunk_age: 7,
            ..Provenance::default()
        };
        let mut table = Table::default();
        add_chunk(&mut table, &[with, row(0.0)], 3);
        let chunk = table.get(columns::PREDICTED_CHUNK).unwrap();
        let values = chunk.values.floats().unwrap();
        assert_eq!((chunk.width, values.len()), (18, 36));
        assert_eq!([0, 6, 12, 18].map(|at| values[at]), [1.0, 2.0, 2.0, 0.0]);
        assert_eq!(
            table.get(columns::PREDICTED_STEPS).unwrap().values,
            Values::Integers(vec![2, 0])
        );
        assert_eq!(
            table.get(columns::PREDICTED_AGE).unwrap().values,
            Values::Integers(vec![7, 0])
        );
    }
}
