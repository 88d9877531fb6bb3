//! Turns parquet columns of either dialect into plain numbers: fixed-size lists as LeRobot records them, and the plain lists that
//! its merge and edit tools write.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, StructArray};
use arrow_schema::DataType;

use super::rows::{Column, Values};

/// Reads one column.
///
/// # Errors
/// A type that is none of LeRobot's, lists of different lengths, or gaps where a number must be.
pub fn column_from_array(array: &ArrayRef) -> Result<Column, String> {
    let values = match array.data_type() {
        DataType::FixedSizeList(_, width) => {
            let list = array.as_fixed_size_list();
            let width = usize::try_from(*width).map_err(|_| "a list of negative width")?;
            let first = usize::try_from(list.value_offset(0)).unwrap_or(0);
            let inner = list.values().slice(first, list.len() * width);
            return widened(&inner, width);
        }
        DataType::List(_) => return listed::<i32>(array),
        DataType::LargeList(_) => return listed::<i64>(array),
        DataType::Struct(_) => Values::Picture(pictures(array.as_struct())?),
        DataType::Utf8 => texts(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter()),
        DataType::Utf8View => texts(array.as_string_view().iter()),
        DataType::Boolean => Values::Bool(
            array
                .as_boolean()
                .iter()
                .map(|value| value.unwrap_or(false))
                .collect(),
        ),
        _ => numbers(array)?,
    };
    Ok(Column { width: 1, values })
}

fn numbers(array: &ArrayRef) -> Result<Values, String> {
    Ok(match array.data_type() {
        DataType::Float32 => Values::Float(
            array
                .as_primitive::<Float32Type>()
                .iter()
                .map(|value| value.unwrap_or(f32::NAN))
                .collect(),
        ),
        DataType::Float64 => Values::Double(
            array
                .as_primitive::<Float64Type>()
                .iter()
                .map(|value| value.unwrap_or(f64::NAN))
                .collect(),
        ),
        DataType::Int8 => integers::<Int8Type>(array)?,
        DataType::Int16 => integers::<Int16Type>(array)?,
        DataType::Int32 => integers::<Int32Type>(array)?,
        DataType::Int64 => integers::<Int64Type>(array)?,
        DataType::UInt8 => integers::<UInt8Type>(array)?,
        DataType::UInt16 => integers::<UInt16Type>(array)?,
        DataType::UInt32 => integers::<UInt32Type>(array)?,
        DataType::UInt64 => integers::<UInt64Type>(array)?,
        other => return Err(format!("is of type {other}, which cannot be read")),
    })
}

fn integers<T>(array: &ArrayRef) -> Result<Values, String>
where
    T: ArrowPrimitiveType,
    T::Native: TryInto<i64>,
{
    let values = array.as_primitive::<T>().iter();
    let whole: Option<Vec<i64>> = values.map(|value| value?.try_into().ok()).collect();
    let why = "has a gap, or a number beyond 64 bits, where an integer must be";
    whole.map(Values::Int).ok_or_else(|| why.to_owned())
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Values {
    Values::Text(
        values
            .map(|text| text.unwrap_or_default().to_owned())
            .collect(),
    )
}

/// Lists that may differ in length, but must not.
fn listed<O: OffsetSizeTrait>(array: &ArrayRef) -> Result<Column, String> {
    let list = array.as_list::<O>();
    let offsets = list.value_offsets();
    let lengths = offsets
        .windows(2)
        .map(|pair| pair[1].as_usize() - pair[0].as_usize());
    let width = lengths.clone().next().unwrap_or(0);
    if lengths.clone().any(|length| length != width) {
        return Err("has lists of different lengths".to_owned());
    }
    let first = offsets.first().map_or(0, |first| first.as_usize());
    widened(&list.values().slice(first, list.len() * width), width)
}

/// A column of lists, `width` of `inner` a row.
fn widened(inner: &ArrayRef, width: usize) -> Result<Column, String> {
    let inner = column_from_array(inner)?;
    Ok(Column {
        width: inner.width * width,
        values: inner.values,
    })
}

/// Pictures as `datasets` keeps them: a struct of `bytes` and `path`.
fn pictures(array: &StructArray) -> Result<Vec<Arc<[u8]>>, String> {
    let bytes = array
        .column_by_name("bytes")
        .ok_or("is a struct without `bytes`, which is no picture")?;
    let copied = |value: Option<&[u8]>| Arc::from(value.unwrap_or_default());
    match bytes.data_type() {
        DataType::Binary => Ok(bytes.as_binary::<i32>().iter().map(copied).collect()),
        DataType::LargeBinary => Ok(bytes.as_binary::<i64>().iter().map(copied).collect()),
        other => Err(format!("keeps pictures as {other}, which cannot be read")),
    }
}

impl Values {
    /// How many there are, over all rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Float(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Picture(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts the values of the next part of the same column behind.
    ///
    /// # Errors
    /// They are of another type.
    pub fn extend(&mut self, more: Self) -> Result<(), String> {
        match (self, more) {
            (Self::Float(values), Self::Float(more)) => values.extend(more),
            (Self::Double(values), Self::Double(more)) => values.extend(more),
            (Self::Int(values), Self::Int(more)) => values.extend(more),
            (Self::Bool(values), Self::Bool(more)) => values.extend(more),
            (Self::Text(values), Self::Text(more)) => values.extend(more),
            (Self::Picture(values), Self::Picture(more)) => values.extend(more),
            _ => return Err("changes its type".to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type as I32;
    use arrow_array::{
        BinaryArray, FixedSizeListArray, Float32Array, Int32Array, ListArray, StringArray,
    };
    use arrow_schema::Field;

    fn floats(width: usize, values: &[f32]) -> Column {
        Column {
            width,
            values: Values::Float(values.to_vec()),
        }
    }

    #[test]
    fn both_dialects_of_a_vector_read_alike_also_from_their_middle() {
        let values: ArrayRef = Arc::new(Float32Array::from_iter_values([1., 2., 3., 4., 5., 6.]));
        let element = Arc::new(Field::new("element", DataType::Float32, true));
        let fixed = FixedSizeListArray::new(element, 2, values, None);
        let fixed: ArrayRef = Arc::new(fixed.slice(1, 2));
        assert_eq!(
            column_from_array(&fixed),
            Ok(floats(2, &[3., 4., 5., 6.]))
        );
        let rows = [[1., 2.], [3., 4.], [5., 6.]].map(|row| Some(row.map(Some)));
        let plain = ListArray::from_iter_primitive::<Float32Type, _, _>(rows);
        let plain: ArrayRef = Arc::new(plain.slice(1, 2));
        assert_eq!(
            column_from_array(&plain),
            Ok(floats(2, &[3., 4., 5., 6.]))
        );
    }

    #[test]
    fn narrow_integers_widen_and_gaps_are_refused() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![1, -2]));
        let read = column_from_array(&array).unwrap();
        assert_eq!(read.values, Values::Int(vec![1, -2]));
        let gap: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        assert!(column_from_array(&gap).unwrap_err().contains("gap"));
    }

    #[test]
    fn lists_of_different_lengths_are_refused() {
        let rows = [Some(vec![Some(1)]), Some(vec![Some(1), Some(2)])];
        let array: ArrayRef = Arc::new(ListArray::from_iter_primitive::<I32, _, _>(rows));
        assert!(column_from_array(&array).unwrap_err().contains("lengths"));
    }

    #[test]
    fn pictures_are_found_in_their_struct() {
        let array: ArrayRef = Arc::new(StructArray::from(vec![
            (
                Arc::new(Field::new("bytes", DataType::Binary, true)),
                Arc::new(BinaryArray::from_vec(vec![b"png"])) as ArrayRef,
            ),
            (
                Arc::new(Field::new("path", DataType::Utf8, true)),
                Arc::new(StringArray::from(vec!["a.png"])) as ArrayRef,
            ),
        ]));
        let read = column_from_array(&array).unwrap();
        assert_eq!(read.values, Values::Picture(vec![Arc::from(&b"png"[..])]));
    }

    #[test]
    fn parts_of_a_column_join_if_they_are_alike() {
        let mut values = Values::Int(vec![1]);
        assert_eq!(values.extend(Values::Int(vec![2])), Ok(()));
        assert_eq!(values, Values::Int(vec![1, 2]));
        assert!(values.extend(Values::Float(vec![])).is_err());
    }
}
