//! A feature: what one column, or one camera, holds.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::joint::Joint;

/// What a feature's values are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Dtype {
    Float32,
    Float64,
    Int64,
    Int32,
    Bool,
    Text,
    /// In mp4 files.
    Video,
    /// PNG in the tables.
    Image,
    /// Whatever else LeRobot may write.
    Other(String),
}

impl Dtype {
    /// A camera, filmed or not.
    pub fn is_picture(&self) -> bool {
        matches!(self, Self::Video | Self::Image)
    }

    /// As `info.json` has it.
    pub fn name(&self) -> &str {
        match self {
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Int64 => "int64",
            Self::Int32 => "int32",
            Self::Bool => "bool",
            Self::Text => "string",
            Self::Video => "video",
            Self::Image => "image",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for Dtype {
    fn from(name: String) -> Self {
        match name.as_str() {
            "float32" => Self::Float32,
            "float64" => Self::Float64,
            "int64" => Self::Int64,
            "int32" => Self::Int32,
            "bool" => Self::Bool,
            "string" => Self::Text,
            "video" => Self::Video,
            "image" => Self::Image,
            _ => Self::Other(name),
        }
    }
}

impl From<Dtype> for String {
    fn from(dtype: Dtype) -> Self {
        dtype.name().to_owned()
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One feature of a data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    pub dtype: Dtype,
    /// `[1]` is a scalar, `[6]` one value a joint, `[480, 640, 3]` a picture.
    pub shape: Vec<usize>,
    /// A list, or in old data sets a list within an object; null where there is nothing to say.
    #[serde(default)]
    pub names: Value,
    /// How a camera's films are encoded. Data sets of v2 call it `video_info`.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "video_info")]
    pub info: Option<Map<String, Value>>,
    /// What else it says: kept as it is.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A joint's name as LeRobot's drivers of all times write it.
fn plain(label: &str) -> &str {
    let label = label.trim_end_matches(".pos");
    label.strip_prefix("main_").unwrap_or(label)
}

impl Feature {
    /// A column of one value a row.
    pub fn scalar(dtype: Dtype) -> Self {
        Self::vector(dtype, 1, None)
    }

    /// A column of `width` values a row.
    pub fn vector(dtype: Dtype, width: usize, names: Option<Vec<String>>) -> Self {
        Self {
            dtype,
            shape: vec![width],
            names: names.map_or(Value::Null, Value::from),
            info: None,
            rest: Map::new(),
        }
    }

    /// A camera that is filmed, colour.
    pub fn video(width: u32, height: u32, info: Map<String, Value>) -> Self {
        Self {
            dtype: Dtype::Video,
            shape: vec![height as usize, width as usize, 3],
            names: Value::from(vec!["height", "width", "channels"]),
            info: Some(info),
            rest: Map::new(),
        }
    }

    /// How many values a row has, over all dimensions.
    pub fn width(&self) -> usize {
        self.shape.iter().product()
    }

    /// The names of its values, flattened; empty where there are none.
    pub fn labels(&self) -> Vec<String> {
        let list = match &self.names {
            Value::Object(named) => named.values().next(),
            names => Some(names),
        };
        let list = list.and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Whether it is the six joints of an SO-101, in their order. Without names nobody knows which they are; LeRobot's older
    /// drivers put `main_` before them.
    pub fn is_so101(&self) -> bool {
        let names = Joint::ALL.map(Joint::name);
        let labels = self.labels();
        labels.len() == names.len()
            && labels
                .iter()
                .zip(names)
                .all(|(label, name)| plain(label) == name)
    }

    /// Width and height of a camera, whichever way round its shape is; `None` for what is no camera.
    pub fn picture_size(&self) -> Option<(u32, u32)> {
        if !self.dtype.is_picture() || self.shape.len() != 3 {
            return None;
        }
        let channels_first = match self.labels().first() {
            Some(first) => first.starts_with("channel"),
            None => self.shape[0] <= 4,
        };
        let [height, width] = if channels_first {
            [self.shape[1], self.shape[2]]
        } else {
            [self.shape[0], self.shape[1]]
        };
        Some((u32::try_from(width).ok()?, u32::try_from(height).ok()?))
    }

    /// The codec of its films as declared: `av1`, `h264`.
    pub fn codec(&self) -> Option<&str> {
        self.info.as_ref()?.get("video.codec")?.as_str()
    }

    /// A camera of distances, not of colours.
    pub fn is_depth(&self) -> bool {
        let info = self.info.as_ref();
        let says = |key: &str| info.and_then(|info| info.get(key)).and_then(Value::as_bool);
        says("is_depth_map")
            .or_else(|| says("video.is_depth_map"))
            .unwrap_or(false)
    }
}

/// Features in the order of `info.json`, which is the order of the columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features(Vec<(String, Feature)>);

impl Features {
    /// Adds one at the end; one of the same name is replaced.
    pub fn push(&mut self, name: impl Into<String>, feature: Feature) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = feature,
            None => self.0.push((name, feature)),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Feature> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, feature)| feature)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Feature)> {
        self.0
            .iter()
            .map(|(name, feature)| (name.as_str(), feature))
    }

    /// The names of those that are the six joints of an SO-101.
    pub fn joints(&self) -> Vec<String> {
        let joints = self.columns().filter(|(_, feature)| feature.is_so101());
        joints.map(|(name, _)| name.to_owned()).collect()
    }

    /// Those that are columns of the tables.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Feature)> {
        self.iter()
            .filter(|(_, feature)| feature.dtype != Dtype::Video)
    }

    /// Those that are films.
    pub fn videos(&self) -> impl Iterator<Item = (&str, &Feature)> {
        self.iter()
            .filter(|(_, feature)| feature.dtype == Dtype::Video)
    }

    /// The cameras, filmed or in the tables.
    pub fn cameras(&self) -> impl Iterator<Item = (&str, &Feature)> {
        self.iter()
            .filter(|(_, feature)| feature.dtype.is_picture())
    }
}

impl Serialize for Features {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, feature) in &self.0 {
            map.serialize_entry(name, feature)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Features;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of features")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Features, A::Error> {
                let mut features = Features::default();
                while let Some((name, feature)) = map.next_entry::<String, Feature>()? {
                    features.push(name, feature);
                }
                Ok(features)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joints_are_known_by_their_names_of_all_times() {
        let six = |prefix: &str, suffix: &str| {
            let names = Joint::ALL.map(|joint| format!("{prefix}{joint}{suffix}"));
            Feature::vector(Dtype::Float32, 6, Some(names.to_vec()))
        };
        assert!(six("", ".pos").is_so101() && six("main_", "").is_so101());
        assert!(!six("left_", ".pos").is_so101());
        assert!(!Feature::vector(Dtype::Float32, 6, None).is_so101());
    }

    #[test]
    fn features_keep_their_order_and_what_is_unknown() {
        let text = r#"{"b":{"dtype":"float32","shape":[2],"names":["x","y"]},"a":{"dtype":"video","shape":[3,480,640],"names":["channels","height","width"],"video_info":{"video.codec":"av1"},"fps":10.0},"c":{"dtype":"language","shape":[1],"names":{"motors":["p","q"]}}}"#;
        let features: Features = serde_json::from_str(text).unwrap();
        let names: Vec<_> = features.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["b", "a", "c"]);
        let camera = features.get("a").unwrap();
        assert_eq!(
            (camera.picture_size(), camera.codec()),
            (Some((640, 480)), Some("av1"))
        );
        assert_eq!(features.get("c").unwrap().labels(), ["p", "q"]);
        assert_eq!(features.columns().count(), 2);
        let back = serde_json::to_string(&features).unwrap();
        assert_eq!(back, text.replace("video_info", "info"));
    }

    #[test]
    fn a_scalar_says_that_it_has_no_names() {
        let text = serde_json::to_string(&Feature::scalar(Dtype::Int64)).unwrap();
        assert_eq!(text, r#"{"dtype":"int64","shape":[1],"names":null}"#);
    }

    #[test]
    fn picture_sizes_are_read_either_way() {
        let mut camera = Feature::video(640, 480, Map::new());
        assert_eq!(camera.picture_size(), Some((640, 480)));
        camera.names = Value::Null;
        camera.shape = vec![3, 480, 640];
        assert_eq!(camera.picture_size(), Some((640, 480)));
        assert_eq!(Feature::scalar(Dtype::Bool).picture_size(), None);
    }
}
