//! Columns in memory, whatever their types on disk were.

/// Columns of the same number of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub rows: usize,
    pub columns: Vec<Column>,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    /// Values a row, over all dimensions; 1 for a scalar.
    pub width: usize,
    /// Row after row, `rows * width`.
    pub values: Values,
}

/// Values of one kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// float32 and float64.
    Floats(Vec<f64>),
    /// Whole numbers, and truth as 0 and 1.
    Integers(Vec<i64>),
    Texts(Vec<String>),
    /// Encoded pictures.
    Pictures(Vec<Vec<u8>>),
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Self::Floats(values) => values.len(),
            Self::Integers(values) => values.len(),
            Self::Texts(values) => values.len(),
            Self::Pictures(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers; `None` for texts and pictures.
    pub fn floats(&self) -> Option<Vec<f64>> {
        match self {
            Self::Floats(values) => Some(values.clone()),
            Self::Integers(values) => Some(values.iter().map(|&value| value as f64).collect()),
            Self::Texts(_) | Self::Pictures(_) => None,
        }
    }

    /// Whole numbers; `None` where there are others.
    pub fn integers(&self) -> Option<Vec<i64>> {
        match self {
            Self::Integers(values) => Some(values.clone()),
            Self::Floats(values) => {
                let whole = |&value: &f64| (value.fract() == 0.0).then_some(value as i64);
                values.iter().map(whole).collect()
            }
            Self::Texts(_) | Self::Pictures(_) => None,
        }
    }

    /// The values in `range`.
    #[must_use]
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        match self {
            Self::Floats(values) => Self::Floats(values[range].to_vec()),
            Self::Integers(values) => Self::Integers(values[range].to_vec()),
            Self::Texts(values) => Self::Texts(values[range].to_vec()),
            Self::Pictures(values) => Self::Pictures(values[range].to_vec()),
        }
    }

    /// Adds those of the same kind; false when they are of another.
    pub(super) fn extend(&mut self, other: Self) -> bool {
        match (self, other) {
            (Self::Floats(mine), Self::Floats(theirs)) => mine.extend(theirs),
            (Self::Integers(mine), Self::Integers(theirs)) => mine.extend(theirs),
            (Self::Texts(mine), Self::Texts(theirs)) => mine.extend(theirs),
            (Self::Pictures(mine), Self::Pictures(theirs)) => mine.extend(theirs),
            _ => return false,
        }
        true
    }
}

impl Table {
    /// The column of this name.
    pub fn get(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Puts a column in, replacing one of its name.
    pub fn put(&mut self, column: Column) {
        match self
            .columns
            .iter_mut()
            .find(|known| known.name == column.name)
        {
            Some(known) => *known = column,
            None => self.columns.push(column),
        }
    }

    /// The rows in `range`.
    #[must_use]
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        let columns = self.columns.iter().map(|column| Column {
            name: column.name.clone(),
            width: column.width,
            values: column
                .values
                .slice(range.start * column.width..range.end * column.width),
        });
        Self {
            rows: range.len(),
            columns: columns.collect(),
        }
    }
}

impl Column {
    /// One number a row.
    pub fn integers(name: &str, values: impl IntoIterator<Item = i64>) -> Self {
        Self {
            name: name.to_owned(),
            width: 1,
            values: Values::Integers(values.into_iter().collect()),
        }
    }

    /// `width` numbers a row, row after row.
    pub fn floats(name: &str, width: usize, values: impl IntoIterator<Item = f64>) -> Self {
        Self {
            name: name.to_owned(),
            width,
            values: Values::Floats(values.into_iter().collect()),
        }
    }
}
