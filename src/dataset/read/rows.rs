//! The rows of one episode, column by column, as plain numbers.

use std::sync::Arc;

use crate::action::Action;
use crate::dataset::Error;
use crate::joint::{JOINT_COUNT, JointVec};

/// The rows of one episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The episode's number.
    pub episode: usize,
    /// Rows.
    pub len: usize,
    /// Every column of the table, in its order. Films have none.
    pub columns: Vec<(String, Column)>,
    /// Columns whose type is none that this program knows, and why.
    pub left_out: Vec<(String, String)>,
}

/// One column: `len * width` values, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Values a row.
    pub width: usize,
    pub values: Values,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Float(Vec<f32>),
    Double(Vec<f64>),
    /// Integers of any width.
    Int(Vec<i64>),
    Bool(Vec<bool>),
    Text(Vec<String>),
    /// One encoded picture a row, PNG or JPEG; empty where there is none.
    Picture(Vec<Arc<[u8]>>),
}

impl Rows {
    /// The column of this name.
    ///
    /// # Errors
    /// There is none; those that there are get named.
    pub fn column(&self, name: &str) -> Result<&Column, Error> {
        let found = self.columns.iter().find(|(column, _)| column == name);
        found.map(|(_, column)| column).ok_or_else(|| {
            let names: Vec<_> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
            Error::Absent(format!(
                "episode {} has no column {name}; it has {}",
                self.episode,
                names.join(", ")
            ))
        })
    }

    /// The pose at each row, robot units; empty for an arm with other joints.
    pub fn states(&self) -> Arc<[JointVec]> {
        self.joints("observation.state")
    }

    /// The action of each row, robot units; empty for an arm with other joints.
    pub fn actions(&self) -> Arc<[Action]> {
        self.joints("action")
    }

    /// A column of six values a row.
    fn joints(&self, name: &str) -> Arc<[JointVec]> {
        match self.column(name) {
            Ok(column) if column.width == JOINT_COUNT => column
                .numbers()
                .chunks_exact(JOINT_COUNT)
                .map(|row| JointVec::from_fn(|joint| narrowed(row[joint.index()])))
                .collect(),
            _ => Arc::default(),
        }
    }

    /// One number a row, or `None` where there is no such column.
    pub fn scalars(&self, name: &str) -> Option<Vec<f64>> {
        let column = self.column(name).ok().filter(|column| column.width == 1)?;
        let numbers = column.numbers();
        (numbers.len() == self.len).then_some(numbers)
    }

    /// Rows at which a person drove in place of the policy; none where the data set does not say.
    pub fn interventions(&self) -> Arc<[bool]> {
        let said = ["smolpilot.intervention", "intervention"]
            .iter()
            .find_map(|name| self.scalars(name));
        match said {
            Some(said) => said.iter().map(|&value| value != 0.0).collect(),
            None => (0..self.len).map(|_| false).collect(),
        }
    }

    /// The number of the task at each row.
    pub fn task_indices(&self) -> Vec<usize> {
        let said = self.scalars("task_index").unwrap_or_default();
        said.iter().map(|&index| counted(index)).collect()
    }
}

impl Column {
    /// The values as numbers, `len * width`; texts and pictures are none.
    pub fn numbers(&self) -> Vec<f64> {
        match &self.values {
            Values::Float(values) => values.iter().map(|&value| f64::from(value)).collect(),
            Values::Double(values) => values.clone(),
            Values::Int(values) => values.iter().map(|&value| rounded(value)).collect(),
            Values::Bool(values) => values
                .iter()
                .map(|&value| f64::from(u8::from(value)))
                .collect(),
            Values::Text(_) | Values::Picture(_) => Vec::new(),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "robot units fit f32, which is what the arm speaks"
)]
fn narrowed(value: f64) -> f32 {
    value as f32
}

#[expect(
    clippy::cast_precision_loss,
    reason = "row numbers and stamps of real recordings are far below 2^53"
)]
fn rounded(value: i64) -> f64 {
    value as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; a negative index is task 0 here and an error of `check`"
)]
fn counted(value: f64) -> usize {
    value as usize
}
