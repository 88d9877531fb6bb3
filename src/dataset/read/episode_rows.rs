//! The rows of one episode, column by column, as plain numbers.

use std::sync::Arc;

use crate::action::Action;
use crate::dataset::Error;
use crate::dataset::schema::columns::{ACTION, INTERVENTION, STATE, TASK_INDEX};
use crate::dataset::table::{Column, Table};
use crate::joint::{JOINT_COUNT, JointVec};

/// The rows of one episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The episode's number.
    pub episode: usize,
    /// Every column of the table, in its order. Films have none.
    pub table: Table,
    /// Columns whose type is none that this program knows, and why.
    pub left_out: Vec<(String, String)>,
    /// Columns that are the six joints of an SO-101, by what they are named in `info.json`.
    pub joints: Vec<String>,
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.table.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column of this name.
    ///
    /// # Errors
    /// There is none; those that there are get named.
    pub fn column(&self, name: &str) -> Result<&Column, Error> {
        self.table.get(name).ok_or_else(|| {
            let names: Vec<_> = self
                .table
                .columns
                .iter()
                .map(|it| it.name.as_str())
                .collect();
            let has = names.join(", ");
            Error::Absent(format!(
                "episode {} has no column {name}; it has {has}",
                self.episode
            ))
        })
    }

    /// The pose at each row, robot units; empty for an arm with other joints.
    pub fn states(&self) -> Arc<[JointVec]> {
        self.joints(STATE)
    }

    /// The action of each row, robot units; empty for an arm with other joints.
    pub fn actions(&self) -> Arc<[Action]> {
        self.joints(ACTION)
    }

    /// A column of six values a row.
    fn joints(&self, name: &str) -> Arc<[JointVec]> {
        // Six values of another robot would send this arm anywhere.
        let is_so101 = self.joints.iter().any(|known| known == name);
        let column = self.table.get(name).filter(|_| is_so101);
        let column = column.filter(|column| column.width == JOINT_COUNT);
        let numbers = column.and_then(|column| column.values.floats());
        numbers
            .unwrap_or_default()
            .chunks_exact(JOINT_COUNT)
            .map(|row| JointVec::from_fn(|joint| row[joint.index()] as f32))
            .collect()
    }

    /// One number a row, or `None` where there is no such column.
    pub fn scalars(&self, name: &str) -> Option<Vec<f64>> {
        let column = self.table.get(name)?;
        (column.width == 1).then(|| column.values.floats())?
    }

    /// Rows at which a person drove in place of the policy; none where the data set does not say.
    pub fn interventions(&self) -> Arc<[bool]> {
        let said = self.scalars(INTERVENTION);
        match said.or_else(|| self.scalars("intervention")) {
            Some(said) => said.iter().map(|&value| value != 0.0).collect(),
            None => vec![false; self.len()].into(),
        }
    }

    /// The number of the task at each row; one that is none is left out.
    pub fn task_indices(&self) -> Vec<usize> {
        let column = self.table.get(TASK_INDEX);
        let numbers = column.and_then(|column| column.values.integers());
        let numbers = numbers.unwrap_or_default().into_iter();
        numbers
            .filter_map(|number| number.try_into().ok())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_values_are_joints_only_by_their_names() {
        let mut rows = Rows {
            table: Table {
                rows: 1,
                columns: vec![Column::floats(ACTION, 6, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])],
            },
            ..Rows::default()
        };
        assert!(rows.actions().is_empty(), "of another robot");
        rows.joints.push(ACTION.to_owned());
        assert_eq!(rows.actions()[0].0, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn what_is_absent_is_empty_or_named() {
        let rows = Rows {
            episode: 3,
            table: Table {
                rows: 2,
                columns: vec![
                    Column::integers(TASK_INDEX, [1, 0]),
                    Column::floats(STATE, 2, [1.0, 2.0, 3.0, 4.0]),
                ],
            },
            left_out: vec![],
            joints: vec![],
        };
        assert_eq!(rows.task_indices(), [1, 0]);
        assert!(rows.states().is_empty() && rows.actions().is_empty());
        assert_eq!(rows.interventions().len(), 2);
        assert_eq!((rows.scalars(STATE), rows.scalars("a")), (None, None));
        let said = rows.column("reward").unwrap_err().to_string();
        assert!(said.contains("reward") && said.contains(STATE), "{said}");
    }
}
