//! Every stage of a tiny network against the reference, for the network as it runs and for its naive twin.

use smolpilot::policy::smolvla::naive::{LanguagePadding, NaiveSmolVla};
use smolpilot::policy::smolvla::{SmolVla, Stage, Trace};
use smolpilot::policy::{NetworkInput, RtcGuidance, RtcSchedule};

use burn::tensor::Device;

use crate::reference::Case;
use crate::report::Report;
use crate::{ACTIONS, STAGES, TWINS};

pub const CASES: [&str; 3] = ["tiny_a", "tiny_b", "tiny_c"];

pub fn load(case: &Case, device: &Device) -> SmolVla {
    let mut fractions = Vec::new();
    let mut progress = |fraction| fractions.push(fraction);
    let network =
        SmolVla::load(&case.architecture, &case.checkpoint, device, &mut progress).unwrap();
    assert!(fractions.is_sorted() && fractions.last() == Some(&1.0));
    network
}

fn load_naive(case: &Case, device: &Device) -> NaiveSmolVla {
    let padding = LanguagePadding {
        length: case.language_length,
        token: 2,
    };
    NaiveSmolVla::load(
        &case.architecture,
        &case.checkpoint,
        device,
        padding,
        &mut |_| (),
    )
    .unwrap()
}

/// All of one case on one device.
pub fn check(case: &Case, device: &Device, title: &str) {
    let (network, naive) = (load(case, device), load_naive(case, device));
    let mut report = Report::new(format!("{} on {title}, as it runs", case.name));
    let quick = as_it_runs(case, &network, &mut report);
    report.finish();

    let mut report = Report::new(format!("{} on {title}, naive twin", case.name));
    let slow = as_the_reference_runs(case, &naive, &mut report);
    report.compare("twins.actions", &quick, &slow, TWINS);
    report.finish();

    let mut report = Report::new(format!("{} on {title}, guided and queued", case.name));
    guided(case, &network, &mut report);
    queued(case, &network, &mut report);
    if case.golden.has("rtc.prev_chunk_left_over") || case.golden.has("queue.select_action") {
        report.finish();
    }
}

fn as_it_runs(case: &Case, network: &SmolVla, report: &mut Report) -> Vec<f32> {
    let mut trace = Trace::on();
    let steps = case.architecture.num_steps;
    let sample = network
        .sample_actions(&case.input, steps, None, &mut trace)
        .unwrap();
    let rows = valid_rows(case);
    for stage in trace.into_stages() {
        let (name, values) = (&stage.name, &stage.values);
        if let Some(rest) = name.strip_prefix("vision.") {
            compare_pictures(case, rest, &stage, report);
        } else if name == "prefix.embs" || name.starts_with("prefill.vlm_layer_in") {
            compare_rows(case, name, &stage, &rows, 1, report);
        } else if name.starts_with("prefill.") {
            compare_rows(
                case,
                name,
                &stage,
                &rows,
                case.architecture.num_key_value_heads,
                report,
            );
        } else if case.golden.has(name) {
            report.compare(name, values, &case.golden.get(name).values, STAGES);
        }
    }
    compare_actions(case, &sample.actions, report);
    sample.actions
}

fn compare_actions(case: &Case, actions: &[f32], report: &mut Report) {
    let ours = cut(actions, case.architecture.max_action_dim, case.action_dim);
    report.compare(
        "out.actions",
        &ours,
        &case.golden.get("out.actions").values,
        ACTIONS,
    );
}

/// The first `keep` of every `width` numbers.
pub fn cut(values: &[f32], width: usize, keep: usize) -> Vec<f32> {
    values
        .chunks(width)
        .flat_map(|row| &row[..keep])
        .copied()
        .collect()
}

/// Pictures are packed without the missing ones: row n is some camera's picture of some sample.
fn compare_pictures(case: &Case, kind: &str, stage: &Stage, report: &mut Report) {
    let size = stage.values.len() / stage.shape[0];
    let mut packed = stage.values.chunks(size);
    for (camera, image) in case.input.images.iter().enumerate() {
        let name = format!("vision.{camera}.{kind}");
        for (sample, _) in image
            .present
            .iter()
            .enumerate()
            .filter(|(_, there)| **there)
        {
            let ours = packed.next().unwrap();
            if case.golden.has(&name) {
                let reference = case.golden.get(&name).values;
                report.compare(
                    &name,
                    ours,
                    &reference[sample * size..(sample + 1) * size],
                    STAGES,
                );
            }
        }
    }
    assert!(packed.next().is_none(), "more pictures than cameras");
}

/// Positions of the tokens that count, in the reference's padded prefix, for each sample.
pub fn valid_rows(case: &Case) -> Vec<Vec<usize>> {
    let mask = case.golden.flags("prefix.pad_masks");
    let len = mask.len() / case.input.batch;
    mask.chunks(len)
        .map(|mask| (0..len).filter(|&at| mask[at]).collect())
        .collect()
}

/// Compares `[batch, heads, len, width]` (or without heads) token by token.
fn compare_rows(
    case: &Case,
    name: &str,
    stage: &Stage,
    rows: &[Vec<usize>],
    heads: usize,
    report: &mut Report,
) {
    let golden = case.golden.get(name);
    let width = *stage.shape.last().unwrap();
    let padded = golden.shape[golden.shape.len() - 2];
    let ours_len = stage.shape[stage.shape.len() - 2];
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for (sample, rows) in rows.iter().enumerate() {
        assert!(rows.len() <= ours_len, "{name} has too few tokens");
        for head in 0..heads {
            for (at, row) in rows.iter().enumerate() {
                let from = ((sample * heads + head) * ours_len + at) * width;
                ours.extend_from_slice(&stage.values[from..from + width]);
                let from = ((sample * heads + head) * padded + row) * width;
                reference.extend_from_slice(&golden.values[from..from + width]);
            }
        }
    }
    report.compare(name, &ours, &reference, STAGES);
}

fn as_the_reference_runs(case: &Case, naive: &NaiveSmolVla, report: &mut Report) -> Vec<f32> {
    check_masks(case, naive);
    let mut trace = Trace::on();
    let steps = case.architecture.num_steps;
    let sample = naive
        .sample_actions(&case.input, steps, None, &mut trace)
        .unwrap();
    let mut compared = Vec::new();
    for stage in trace.into_stages() {
        if case.golden.has(&stage.name) {
            let reference = case.golden.get(&stage.name);
            assert_eq!(reference.shape, stage.shape, "{}", stage.name);
            report.compare(&stage.name, &stage.values, &reference.values, STAGES);
            compared.push(stage.name);
        }
    }
    // Whatever the reference kept of these kinds must have been seen.
    for name in case.golden.names() {
        let kind = ["prefill.", "denoise.", "prefix.embs"]
            .iter()
            .any(|kind| name.starts_with(kind));
        let elsewhere = ["time", "att_2d_masks", "position_ids"]
            .iter()
            .any(|end| name.ends_with(end));
        assert!(
            !kind || elsewhere || compared.contains(&name),
            "{name} was not compared"
        );
    }
    compare_actions(case, &sample.actions, report);
    sample.actions
}

fn check_masks(case: &Case, naive: &NaiveSmolVla) {
    let prefix = naive.embed_prefix(&case.input, &mut Trace::off()).unwrap();
    let (golden, batch) = (&case.golden, case.input.batch);
    let chunk = case.architecture.chunk_size;
    assert_eq!(prefix.pad_masks.concat(), golden.flags("prefix.pad_masks"));
    assert_eq!(
        prefix.att_masks.repeat(batch),
        golden.flags("prefix.att_masks")
    );
    assert_eq!(
        prefix.position_ids().concat(),
        golden.integers("prefix.position_ids")
    );
    assert_eq!(prefix.visible(), golden.flags("prefix.att_2d_masks"));
    assert_eq!(
        prefix.suffix_visible(chunk),
        golden.flags("denoise.0.att_2d_masks")
    );
    assert_eq!(
        prefix.suffix_position_ids(chunk).concat(),
        golden.integers("denoise.0.position_ids")
    );
}

fn guided(case: &Case, network: &SmolVla, report: &mut Report) {
    let steps = case.architecture.num_steps;
    for (name, guidance) in guidances(case) {
        let sample = network
            .sample_actions(&case.input, steps, Some(&guidance), &mut Trace::off())
            .unwrap();
        let ours = cut(
            &sample.actions,
            case.architecture.max_action_dim,
            case.action_dim,
        );
        report.compare(&name, &ours, &case.golden.get(&name).values, ACTIONS);
    }
}

/// Guided chunks that the reference kept, if it did: the tensor's name, and the guidance.
pub fn guidances(case: &Case) -> Vec<(String, RtcGuidance)> {
    if !case.golden.has("rtc.prev_chunk_left_over") {
        return Vec::new();
    }
    let previous = case.golden.get("rtc.prev_chunk_left_over");
    let rows = previous.values.chunks(previous.shape[1]);
    let left_over: Vec<Vec<f32>> = rows.map(<[f32]>::to_vec).collect();
    [
        ("ZEROS", RtcSchedule::Zeros),
        ("ONES", RtcSchedule::Ones),
        ("LINEAR", RtcSchedule::Linear),
        ("EXP", RtcSchedule::Exp),
    ]
    .map(|(name, schedule)| {
        let guidance = RtcGuidance {
            left_over: left_over.clone(),
            inference_delay: 2,
            execution_horizon: 5,
            max_guidance_weight: 10.0,
            schedule,
        };
        (format!("rtc.actions.{name}"), guidance)
    })
    .to_vec()
}

/// `select_action` four times with three actions a chunk: calls 0 and 3 run the network, on states that differ.
fn queued(case: &Case, network: &SmolVla, report: &mut Report) {
    if !case.golden.has("queue.select_action") {
        return;
    }
    let expected = case.golden.get("queue.select_action");
    let stats = crate::reference::File::open(&format!(
        "{}/checkpoint/policy_preprocessor_step_5_normalizer_processor.safetensors",
        case.name
    ));
    let (low, high) = (
        stats.get("observation.state.min"),
        stats.get("observation.state.max"),
    );
    let raw = case.golden.get("in.state").values;
    let mut chunk = Vec::new();
    for call in 0..4 {
        if call % 3 == 0 {
            let mut input: NetworkInput = case.input.clone();
            for (i, value) in raw.iter().enumerate() {
                let (low, high) = (low.values[i], high.values[i]);
                input.state[i] = 2.0 * (value + call as f32 - low) / (high - low) - 1.0;
            }
            let steps = case.architecture.num_steps;
            chunk = network
                .sample_actions(&input, steps, None, &mut Trace::off())
                .unwrap()
                .actions;
        }
        let from = call % 3 * case.architecture.max_action_dim;
        let ours = &chunk[from..from + case.action_dim];
        let reference = &expected.values[call * case.action_dim..(call + 1) * case.action_dim];
        report.compare(
            &format!("queue.select_action.{call}"),
            ours,
            reference,
            ACTIONS,
        );
    }
}
