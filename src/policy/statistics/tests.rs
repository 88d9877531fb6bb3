//! Statistics as users have them: beside the processors, inside the weights, by data set, broken.

use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::*;
use crate::policy::processor::golden;

const DIM: usize = 6;

struct Made {
    directory: tempfile::TempDir,
}

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn write(path: &Path, tensors: &[(String, Vec<f32>)]) {
    let bytes: Vec<_> = tensors
        .iter()
        .map(|(name, values)| (name.clone(), floats(values), values.len()))
        .collect();
    let views = bytes.iter().map(|(name, bytes, length)| {
        let view = TensorView::new(Dtype::F32, vec![*length], bytes).unwrap();
        (name.clone(), view)
    });
    safetensors::serialize_to_file(views, None, path).unwrap();
}

/// `tiny_a`'s real statistics.
fn true_stats() -> BTreeMap<String, Vec<f32>> {
    let path = golden::path("tiny_a/checkpoint");
    let file = path.join("policy_preprocessor_step_5_normalizer_processor.safetensors");
    let file = TensorFile::open(&file).unwrap();
    file.names()
        .map(|name| (name.to_owned(), file.read(name).unwrap().values))
        .collect()
}

impl Made {
    /// A copy of `tiny_a`'s configuration with the given tensors as weights, and no processor files.
    fn old(tensors: &[(String, Vec<f32>)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = golden::path("tiny_a/checkpoint/config.json");
        std::fs::copy(config, directory.path().join("config.json")).unwrap();
        let mut all = vec![("model.x".to_owned(), vec![0.0])];
        all.extend_from_slice(tensors);
        write(&directory.path().join("model.safetensors"), &all);
        Self { directory }
    }

    /// The same with processor files whose statistics are `tensors`.
    fn new(tensors: &[(String, Vec<f32>)]) -> Self {
        let made = Self::old(&[]);
        let from = golden::path("tiny_a/checkpoint");
        for name in [PREPROCESSOR, POSTPROCESSOR] {
            std::fs::copy(from.join(name), made.directory.path().join(name)).unwrap();
        }
        for name in [
            "policy_preprocessor_step_5_normalizer_processor.safetensors",
            "policy_postprocessor_step_0_unnormalizer_processor.safetensors",
        ] {
            write(&made.directory.path().join(name), tensors);
        }
        made
    }

    fn read(&self, choice: Option<&str>) -> Result<Normalization, Error> {
        let path = self.directory.path();
        let config = Config::read(path).unwrap();
        let pre = Pipeline::read(path, PREPROCESSOR).unwrap();
        let post = Pipeline::read(path, POSTPROCESSOR).unwrap();
        let weights = Checkpoint::open(path).unwrap();
        normalization(
            path,
            &config,
            (pre.as_ref(), post.as_ref()),
            &weights,
            choice,
        )
    }

    fn words(&self, choice: Option<&str>) -> String {
        self.read(choice).unwrap_err().to_string()
    }
}

/// Old names for the present statistics, for one data set or for none.
fn old_names(dataset: Option<&str>) -> Vec<(String, Vec<f32>)> {
    let start = dataset.map_or_else(String::new, |name| format!("{name}_"));
    let stats = true_stats();
    let mut tensors = Vec::new();
    for stat in ["mean", "std"] {
        let state = stats[&format!("observation.state.{stat}")].clone();
        let action = stats[&format!("action.{stat}")].clone();
        tensors.push((
            format!("normalize_inputs.{start}buffer_observation_state.{stat}"),
            state,
        ));
        for group in ["normalize_targets", "unnormalize_outputs"] {
            let name = format!("{group}.{start}buffer_action.{stat}");
            tensors.push((name, action.clone()));
        }
    }
    tensors
}

fn by_dataset(datasets: &[&str]) -> Vec<(String, Vec<f32>)> {
    let named = |(i, dataset): (usize, &&str)| {
        [("mean", i as f32), ("std", 2.0)]
            .map(|(stat, value)| (format!("{dataset}.buffer.action.{stat}"), vec![value; DIM]))
    };
    datasets.iter().enumerate().flat_map(named).collect()
}

/// Case a02: statistics inside the weights give what the processor files give.
#[test]
fn in_weight_statistics_equal_those_of_the_processor_files() {
    let stats: Vec<_> = true_stats().into_iter().collect();
    let new = Made::new(&stats).read(None).unwrap();
    assert_eq!(new.warnings, Vec::<String>::new());
    let old = Made::old(&old_names(None)).read(None).unwrap();
    assert_eq!((&old.state, &old.action), (&new.state, &new.action));
    assert!(old.warnings[0].contains("old layout"), "{:?}", old.warnings);
    // Saved while compiled, and for one data set of several.
    let prefixed = old_names(Some("so100-blue"));
    let chosen = Made::old(&prefixed).read(Some("so100-blue")).unwrap();
    assert_eq!((&chosen.state, &chosen.action), (&new.state, &new.action));
}

#[test]
fn statistics_by_data_set_are_refused_with_the_list_and_can_be_chosen() {
    let made = Made::new(&by_dataset(&["so100", "so100-blue", "so100-red"]));
    match made.read(None).unwrap_err() {
        Error::Choose { why, datasets } => {
            assert_eq!(datasets, ["so100", "so100-blue", "so100-red"]);
            assert!(why.contains("--stats"), "{why}");
        }
        other => panic!("{other}"),
    }
    let chosen = made.read(Some("so100-blue")).unwrap();
    assert_eq!(chosen.action.inverse(0, 0.5), 2.0);
    // The published base has no statistics of the state.
    assert_eq!(chosen.state, Normalizer::Identity);
    assert!(chosen.warnings.iter().any(|w| w.contains("un-normalised")));
    let wrong = made.read(Some("aloha")).unwrap_err();
    assert!(matches!(wrong, Error::Choose { ref datasets, .. } if datasets.len() == 3));

    let old = Made::old(&old_names(Some("so100")));
    assert!(matches!(old.read(None), Err(Error::Choose { .. })));
}

#[test]
fn statistics_that_were_never_filled_are_refused() {
    let fill = |value: f32| {
        let mut tensors = old_names(None);
        let buffer = tensors
            .iter_mut()
            .find(|(name, _)| name.ends_with("state.mean"));
        buffer.unwrap().1.fill(value);
        Made::old(&tensors).words(None)
    };
    let words = fill(f32::INFINITY);
    assert!(
        words.contains("observation.state") && words.contains("infinite"),
        "{words}"
    );
    assert!(fill(f32::NAN).contains("not a number"));
}

#[test]
fn absent_statistics_are_refused() {
    let words = Made::old(&[]).words(None);
    assert!(
        words.contains(PREPROCESSOR) && words.contains("missing"),
        "{words}"
    );

    let mut stats: Vec<_> = true_stats().into_iter().collect();
    stats.retain(|(name, _)| name != "action.std");
    let words = Made::new(&stats).words(None);
    assert!(words.contains("`action` has no statistic `std`"), "{words}");

    let made = Made::new(&true_stats().into_iter().collect::<Vec<_>>());
    std::fs::remove_file(made.directory.path().join(POSTPROCESSOR)).unwrap();
    assert!(made.words(None).contains(POSTPROCESSOR));
}

#[test]
fn extras_are_ignored_and_features_keep_their_underscores() {
    let mut stats: Vec<_> = true_stats().into_iter().collect();
    stats.push(("reward.from.the.future.mean".into(), vec![1.0]));
    stats.push(("nodot".into(), vec![1.0]));
    assert!(Made::new(&stats).read(None).is_ok());
    let made = Made::old(&[]);
    let mut config = Config::read(made.directory.path()).unwrap();
    config.input_features.0[1].0 = "observation.images.wrist_left".into();
    assert_eq!(
        dotted("observation_images_wrist_left", &config),
        "observation.images.wrist_left"
    );
    assert_eq!(dotted("unknown_thing", &config), "unknown_thing");
}
