//! Settings that a person edited, or that another version wrote: one value that cannot be read must not cost the others.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads JSON on top of the defaults; returns with it the names of the values that cannot be read, such as `knobs.fps`, in whose
/// place the defaults stay.
///
/// # Errors
/// It is no JSON, or no object.
pub fn salvage<T>(text: &[u8]) -> serde_json::Result<(T, Vec<String>)>
where
    T: Default + Serialize + DeserializeOwned,
{
    let found: Value = serde_json::from_slice(text)?;
    if !found.is_object() {
        return Ok((serde_json::from_value(found)?, Vec::new()));
    }
    let mut whole = serde_json::to_value(T::default())?;
    let mut unread = Vec::new();
    take_over::<T>(&mut whole, "", found, &mut unread);
    Ok((serde_json::from_value(whole)?, unread))
}

/// Puts what was found at this JSON pointer, or as much of it as can be read.
fn take_over<T: DeserializeOwned>(
    whole: &mut Value,
    pointer: &str,
    found: Value,
    unread: &mut Vec<String>,
) {
    // A name that nobody knows is of another version.
    let Some(place) = whole.pointer_mut(pointer) else {
        return;
    };
    let usual = std::mem::replace(place, found);
    if T::deserialize(&*whole).is_ok() {
        return;
    }
    let Some(place) = whole.pointer_mut(pointer) else {
        return;
    };
    let has_parts = usual.is_object();
    match std::mem::replace(place, usual) {
        Value::Object(parts) if has_parts => {
            for (name, part) in parts {
                take_over::<T>(whole, &format!("{pointer}/{name}"), part, unread);
            }
        }
        _ => unread.push(pointer.trim_start_matches('/').replace('/', ".")),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Kept {
        task: String,
        inner: Inner,
        perhaps: Option<u8>,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    struct Inner {
        rate: f32,
        count: u8,
    }

    #[test]
    fn what_can_be_read_is_kept_and_the_rest_is_named() {
        let text =
            r#"{"task": "wave", "inner": {"rate": 0.7, "count": 300}, "perhaps": -1, "new": 1}"#;
        let (kept, unread) = salvage::<Kept>(text.as_bytes()).unwrap();
        assert_eq!((kept.task.as_str(), kept.inner.rate), ("wave", 0.7));
        assert_eq!((kept.inner.count, kept.perhaps), (0, None));
        assert_eq!(unread, ["inner.count", "perhaps"]);
        let (kept, unread) = salvage::<Kept>(br#"{"inner": 3, "perhaps": 4}"#).unwrap();
        assert_eq!((kept.perhaps, unread), (Some(4), vec!["inner".to_owned()]));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["{ half", "3", "", "null"] {
            assert!(salvage::<Kept>(text.as_bytes()).is_err(), "{text}");
        }
    }
}
