//! From the arrays of a file, whatever their types, to values, and from values to the array that a feature's column is.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int32Array, Int64Array,
    StringArray, StructArray,
};
use arrow_schema::{DataType, Field};

use super::column::Values;
use crate::dataset::schema::{Dtype, Feature};

/// The values of an array, lists flattened however deep they are nested. The error says what cannot be read.
pub(super) fn flatten(array: &dyn Array) -> Result<Values, String> {
    if let Some(inner) = list_values(array) {
        return flatten(&inner);
    }
    let floats = |values| Ok(Values::Floats(values));
    let integers = |values| Ok(Values::Integers(values));
    match array.data_type() {
        DataType::Float16 => floats(numbers::<Float16Type, _>(array, f64::NAN, |value| {
            f64::from(f32::from(value))
        })?),
        DataType::Float32 => floats(numbers::<Float32Type, _>(array, f64::NAN, f64::from)?),
        DataType::Float64 => floats(numbers::<Float64Type, _>(array, f64::NAN, |value| value)?),
        DataType::Int8 => integers(whole::<Int8Type>(array, i64::from)?),
        DataType::Int16 => integers(whole::<Int16Type>(array, i64::from)?),
        DataType::Int32 => integers(whole::<Int32Type>(array, i64::from)?),
        DataType::Int64 => integers(whole::<Int64Type>(array, |value| value)?),
        DataType::UInt8 => integers(whole::<UInt8Type>(array, i64::from)?),
        DataType::UInt16 => integers(whole::<UInt16Type>(array, i64::from)?),
        DataType::UInt32 => integers(whole::<UInt32Type>(array, i64::from)?),
        DataType::UInt64 => integers(whole::<UInt64Type>(array, |value| value as i64)?),
        DataType::Boolean => {
            let truths = array.as_boolean().iter();
            integers(
                truths
                    .map(|truth| i64::from(truth.unwrap_or(false)))
                    .collect(),
            )
        }
        DataType::Utf8 => Ok(texts(array.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Ok(texts(array.as_string::<i64>().iter())),
        DataType::Utf8View => Ok(texts(array.as_string_view().iter())),
        DataType::Dictionary(..) => Err("texts in a dictionary cannot be read".to_owned()),
        DataType::Struct(_) => pictures(array.as_struct()),
        DataType::Null => floats(vec![f64::NAN; array.len()]),
        other => Err(format!("values of the type {other} cannot be read")),
    }
}

/// The values within the lists of an array, those outside a slice of it left out; `None` when it is no array of lists.
pub(super) fn list_values(array: &dyn Array) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let offsets = lists.value_offsets();
            let (first, last) = (*offsets.first()? as usize, *offsets.last()? as usize);
            Some(lists.values().slice(first, last - first))
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            let offsets = lists.value_offsets();
            let (first, last) = (*offsets.first()? as usize, *offsets.last()? as usize);
            Some(lists.values().slice(first, last - first))
        }
        DataType::FixedSizeList(_, width) => {
            let lists = array.as_fixed_size_list();
            let width = *width as usize;
            // `values` is already that of the slice.
            Some(lists.values().slice(0, lists.len() * width))
        }
        _ => None,
    }
}

/// The list in one row; `None` when the array holds no lists, or none in this row.
pub(super) fn list_at(array: &dyn Array, row: usize) -> Option<ArrayRef> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::List(_) => Some(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => Some(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => Some(array.as_fixed_size_list().value(row)),
        _ => None,
    }
}

fn numbers<T: ArrowPrimitiveType, V: Copy>(
    array: &dyn Array,
    null: V,
    number: impl Fn(T::Native) -> V,
) -> Result<Vec<V>, String> {
    let array = array
        .as_primitive_opt::<T>()
        .ok_or("an array is not of its own type")?;
    Ok(array
        .iter()
        .map(|value| value.map_or(null, &number))
        .collect())
}

fn whole<T: ArrowPrimitiveType>(
    array: &dyn Array,
    number: impl Fn(T::Native) -> i64,
) -> Result<Vec<i64>, String> {
    if array.null_count() > 0 {
        return Err(format!("{} whole numbers are missing", array.null_count()));
    }
    numbers::<T, _>(array, 0, number)
}

fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Values {
    Values::Texts(
        texts
            .map(|text| text.unwrap_or_default().to_owned())
            .collect(),
    )
}

/// LeRobot's `image`: a struct of the file's bytes and its path.
fn pictures(array: &StructArray) -> Result<Values, String> {
    let bytes = array
        .column_by_name("bytes")
        .ok_or("a struct without `bytes` is no picture")?;
    let all: Vec<Vec<u8>> = match bytes.data_type() {
        DataType::Binary => bytes
            .as_binary::<i32>()
            .iter()
            .map(|bytes| bytes.unwrap_or_default().to_vec())
            .collect(),
        DataType::LargeBinary => bytes
            .as_binary::<i64>()
            .iter()
            .map(|bytes| bytes.unwrap_or_default().to_vec())
            .collect(),
        other => return Err(format!("a picture's bytes are of the type {other}")),
    };
    Ok(Values::Pictures(all))
}

/// The type of a feature's column, exactly LeRobot's; `None` for what it does not write by itself.
pub(super) fn column_type(feature: &Feature) -> Option<DataType> {
    let one = match feature.dtype {
        Dtype::Float32 => DataType::Float32,
        Dtype::Float64 => DataType::Float64,
        Dtype::Int64 => DataType::Int64,
        Dtype::Int32 => DataType::Int32,
        Dtype::Bool => DataType::Boolean,
        Dtype::Text => DataType::Utf8,
        Dtype::Image => return Some(DataType::Struct(picture_fields().into())),
        Dtype::Video | Dtype::Other(_) => return None,
    };
    match feature.shape.as_slice() {
        [1] | [] => Some(one),
        [width] => {
            let width = i32::try_from(*width).ok()?;
            Some(DataType::FixedSizeList(element(one), width))
        }
        _ => None,
    }
}

/// The field within a list.
pub(super) fn element(of: DataType) -> Arc<Field> {
    Arc::new(Field::new("element", of, true))
}

fn picture_fields() -> Vec<Field> {
    vec![
        Field::new("bytes", DataType::Binary, true),
        Field::new("path", DataType::Utf8, true),
    ]
}

/// The array of a feature's column. The error says what does not fit.
pub(super) fn array(feature: &Feature, values: &Values) -> Result<ArrayRef, String> {
    let column_type = column_type(feature).ok_or_else(|| {
        format!(
            "columns of {} in {:?} cannot be written",
            feature.dtype, feature.shape
        )
    })?;
    let one = |dtype: &DataType| {
        scalars(dtype, values).ok_or_else(|| format!("its values are no {}", feature.dtype))
    };
    match &column_type {
        DataType::FixedSizeList(field, width) => {
            if !values.len().is_multiple_of((*width).max(1) as usize) {
                return Err(format!(
                    "{} values are no whole rows of {width}",
                    values.len()
                ));
            }
            let inner = one(field.data_type())?;
            Ok(Arc::new(FixedSizeListArray::new(
                Arc::clone(field),
                *width,
                inner,
                None,
            )))
        }
        scalar => one(scalar),
    }
}

fn scalars(of: &DataType, values: &Values) -> Option<ArrayRef> {
    let array: ArrayRef = match (of, values) {
        (DataType::Float32, values) => Arc::new(Float32Array::from_iter_values(
            values.floats()?.into_iter().map(|value| value as f32),
        )),
        (DataType::Float64, values) => Arc::new(Float64Array::from_iter_values(values.floats()?)),
        (DataType::Int64, values) => Arc::new(Int64Array::from_iter_values(values.integers()?)),
        (DataType::Int32, values) => {
            let narrow = values.integers()?.into_iter().map(i32::try_from);
            Arc::new(Int32Array::from_iter_values(
                narrow.collect::<Result<Vec<_>, _>>().ok()?,
            ))
        }
        (DataType::Boolean, values) => {
            let mut truths = BooleanBuilder::new();
            values
                .integers()?
                .into_iter()
                .for_each(|value| truths.append_value(value != 0));
            Arc::new(truths.finish())
        }
        (DataType::Utf8, Values::Texts(texts)) => Arc::new(StringArray::from_iter_values(texts)),
        (DataType::Struct(fields), Values::Pictures(pictures)) => {
            let mut bytes = BinaryBuilder::new();
            for picture in pictures {
                bytes.append_value(picture);
            }
            let paths = StringArray::from(vec![None::<&str>; pictures.len()]);
            let columns: Vec<ArrayRef> = vec![Arc::new(bytes.finish()), Arc::new(paths)];
            Arc::new(StructArray::new(fields.clone(), columns, None))
        }
        _ => return None,
    };
    Some(array)
}
