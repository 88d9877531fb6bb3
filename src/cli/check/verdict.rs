//! Says in words whether a checkpoint can drive an SO-101 here, before any torque is switched on.

use serde::Serialize;

use crate::joint::JOINT_COUNT;
use crate::policy::PolicySpec;
use crate::runtime::ViewBinding;

/// What is known about a checkpoint on this machine.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    pub spec: &'a PolicySpec,
    pub bindings: &'a [ViewBinding],
    /// Cameras that are there, by name.
    pub cameras: &'a [String],
    /// Time from request to chunk in seconds, and whether it was measured or computed from the device's speed.
    pub latency_s: f64,
    pub measured: bool,
    /// Control rate in Hz.
    pub fps: f64,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Dimensions and views fit an SO-101.
    pub can_drive: bool,
    /// Some g keeps the plan fresh: the latency is at most half a chunk.
    pub some_g_keeps_fresh: bool,
    /// The least g at which the queue does not run dry on average; above 1 there is none.
    pub g_min: f64,
    /// The answer in words, most important first.
    pub words: Vec<String>,
}

/// Judges a checkpoint.
pub fn verdict(facts: &Facts<'_>) -> Verdict {
    let mut obstacles = dimensions(facts.spec);
    let (missing, hint) = views(facts);
    obstacles.extend(missing);
    let chunk_s = facts.spec.chunk_size as f64 / facts.fps;
    let g_min = facts.latency_s / chunk_s;
    let some_g_keeps_fresh = g_min <= 0.5;
    let can_drive = obstacles.is_empty();
    let mut words = if can_drive {
        vec![format!(
            "{} can drive this SO-101: {JOINT_COUNT} joints in, {JOINT_COUNT} actions out.",
            facts.spec.name
        )]
    } else {
        obstacles
    };
    words.extend(hint);
    words.push(freshness(facts, chunk_s, g_min));
    Verdict {
        can_drive,
        some_g_keeps_fresh,
        g_min,
        words,
    }
}

/// What the widths of state and action rule out.
fn dimensions(spec: &PolicySpec) -> Vec<String> {
    let widths = [
        ("state values", spec.state_dim),
        ("actions", spec.action_dim),
    ];
    let wrong = widths
        .into_iter()
        .filter(|(_, width)| *width != JOINT_COUNT);
    wrong
        .map(|(what, width)| {
            format!(
                "{} cannot drive an SO-101: it has {width} {what}, the arm has {JOINT_COUNT} joints; take a checkpoint that was fine-tuned on this arm.",
                spec.name
            )
        })
        .collect()
}

/// An obstacle when no view has a camera, and a hint when some lack one.
fn views(facts: &Facts<'_>) -> (Option<String>, Option<String>) {
    let unbound: Vec<_> = facts
        .bindings
        .iter()
        .filter(|binding| binding.camera.is_none())
        .map(|binding| binding.view.as_str())
        .collect();
    if unbound.is_empty() {
        return (None, None);
    }
    let cameras = match facts.cameras {
        [] => "no camera is named; add --camera NAME=SOURCE".to_owned(),
        names => format!(
            "the cameras are {}; bind with --view VIEW=CAMERA",
            names.join(", ")
        ),
    };
    let list = unbound.join(", ");
    if unbound.len() == facts.bindings.len() {
        let why = format!("None of its views has a camera ({list}): {cameras}.");
        return (Some(why), None);
    }
    let why = format!(
        "No camera for {list}: the network runs without, which it may not have been trained for; {cameras}."
    );
    (None, Some(why))
}

/// Whether the queue can be kept full and the plan fresh.
fn freshness(facts: &Facts<'_>, chunk_s: f64, g_min: f64) -> String {
    let Facts { spec, fps, .. } = facts;
    let source = if facts.measured {
        "measured"
    } else {
        "estimated from the device's speed"
    };
    let latency = format!(
        "A chunk takes about {} ({source})",
        seconds(facts.latency_s)
    );
    let plan = format!(
        "{} actions at {fps:.0} Hz last {}",
        spec.chunk_size,
        seconds(chunk_s)
    );
    if g_min > 1.0 {
        format!(
            "{latency}; {plan}: no g keeps the plan fresh, the arm holds its pose between chunks. Fewer steps, fewer views, a lower rate or a faster device would help."
        )
    } else if g_min > 0.5 {
        format!(
            "{latency}; {plan}: no g keeps the plan fresh, every chunk is more than half old when it arrives. g of {g_min:.2} or more avoids holding."
        )
    } else {
        format!("{latency}; {plan}: any g from {g_min:.2} keeps the queue from running dry.")
    }
}

/// A time as a person would say it.
pub fn seconds(time: f64) -> String {
    match time {
        short if short < 1.0 => format!("{:.0} ms", short * 1e3),
        medium if medium < 120.0 => format!("{medium:.1} s"),
        long => format!("{:.0} min", long / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> PolicySpec {
        PolicySpec {
            name: "tiny".into(),
            state_dim: 6,
            action_dim: 6,
            chunk_size: 50,
            ..PolicySpec::default()
        }
    }

    fn binding(view: &str, camera: Option<&str>) -> ViewBinding {
        ViewBinding {
            view: view.into(),
            camera: camera.map(Into::into),
        }
    }

    fn judge(spec: &PolicySpec, bindings: &[ViewBinding], latency_s: f64) -> Verdict {
        verdict(&Facts {
            spec,
            bindings,
            cameras: &["front".to_owned()],
            latency_s,
            measured: false,
            fps: 30.0,
        })
    }

    #[test]
    fn a_fast_policy_with_its_views_can_drive() {
        let verdict = judge(&spec(), &[binding("camera1", Some("front"))], 0.1);
        assert!(verdict.can_drive && verdict.some_g_keeps_fresh);
        assert!((verdict.g_min - 0.06).abs() < 1e-9);
        let words = verdict.words.join(" ");
        assert!(
            words.contains("can drive") && words.contains("0.06"),
            "{words}"
        );
    }

    #[test]
    fn a_slow_policy_is_told_that_no_g_helps() {
        let views = [binding("camera1", Some("front"))];
        let slow = judge(&spec(), &views, 6.0);
        assert!(slow.can_drive && !slow.some_g_keeps_fresh);
        assert!(slow.words.join(" ").contains("no g keeps the plan fresh"));
        let half = judge(&spec(), &views, 1.0);
        assert!(!half.some_g_keeps_fresh);
        assert!(
            half.words.join(" ").contains("g of 0.60"),
            "{:?}",
            half.words
        );
    }

    #[test]
    fn wrong_widths_and_missing_views_are_named() {
        let wide = PolicySpec {
            state_dim: 14,
            action_dim: 7,
            ..spec()
        };
        let verdict = judge(&wide, &[binding("camera1", None)], 0.1);
        let words = verdict.words.join(" ");
        assert!(!verdict.can_drive);
        assert!(
            words.contains("14 state values") && words.contains("7 actions"),
            "{words}"
        );
        assert!(
            words.contains("camera1") && words.contains("front"),
            "{words}"
        );
    }

    #[test]
    fn one_missing_view_of_two_is_a_warning() {
        let views = [binding("camera1", Some("front")), binding("camera2", None)];
        let verdict = judge(&spec(), &views, 0.1);
        assert!(verdict.can_drive);
        assert!(verdict.words.join(" ").contains("No camera for camera2"));
    }

    #[test]
    fn times_are_said_as_people_say_them() {
        assert_eq!(seconds(0.0123), "12 ms");
        assert_eq!(seconds(5.97), "6.0 s");
        assert_eq!(seconds(300.0), "5 min");
    }
}
