//! Every knob, live: when the policy is asked, how much of a chunk is used, how chunks meet, and at what rate.

use egui::{Align, Checkbox, ComboBox, Layout, RichText, Sense, Stroke, Ui, Vec2};

use crate::policy::RtcSchedule;
use crate::runtime::{
    Aggregate, Command, Knob, Knobs, RtcKnobs, Scheduling, Snapshot, WHOLE_CHUNK,
};
use crate::ui::card::{heading_ui, weak_ui};
use crate::ui::draft::{Draft, KnobDraft};
use crate::ui::knob_slider::{KnobSlider, label_ui};
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::theme;

const ONLY_ASYNC: &str = "Only in async mode.";
const ONLY_SYNC: &str = "Only in sync mode; async and RTC execute until the next chunk arrives.";

/// What the rows of this panel share.
struct Rows<'a> {
    knobs: Knobs,
    defaults: Knobs,
    chunk_size: usize,
    g_min: Option<f32>,
    draft: &'a mut KnobDraft,
    commands: &'a mut Vec<Command>,
}

impl Rows<'_> {
    fn set(&mut self, knob: Knob) {
        self.commands.push(Command::Set(knob));
    }
}

/// Draws the knobs.
pub fn knob_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let chunk_size = snapshot.spec.as_ref().map_or(50, |spec| spec.chunk_size);
    let mut rows = Rows {
        knobs: snapshot.knobs,
        defaults: Draft::default_knobs(snapshot),
        chunk_size: chunk_size.max(1),
        g_min: snapshot.queue.g_min_p95.or(snapshot.queue.g_min),
        draft: &mut draft.knobs,
        commands,
    };
    heading_ui(ui, "SCHEDULING", |ui| {
        weak_ui(ui, "double click: default");
    });
    scheduling_ui(ui, &mut rows);
    threshold_ui(ui, &mut rows);
    chunk_ui(ui, &mut rows);
    separator_ui(ui);
    merge_ui(ui, &mut rows);
    if rows.knobs.scheduling == Scheduling::Rtc {
        rtc_ui(ui, &mut rows);
    }
    separator_ui(ui);
    rate_ui(ui, &mut rows);
}

/// A hairline between groups of knobs; a heading would push the last knobs out of a small window.
fn separator_ui(ui: &mut Ui) {
    let size = Vec2::new(ui.available_width(), 7.0);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let stroke = Stroke::new(1.0, theme::tokens(ui).line);
    ui.painter().hline(rect.x_range(), rect.center().y, stroke);
}

fn scheduling_ui(ui: &mut Ui, rows: &mut Rows<'_>) {
    let tokens = theme::tokens(ui);
    let choices = [
        (
            Scheduling::Sync,
            "Observe, wait for the chunk, execute some of it, repeat.",
        ),
        (
            Scheduling::Async,
            "Ask when the queue falls below g; merge the overlap.",
        ),
        (
            Scheduling::Rtc,
            "Ask like async; the new chunk is guided to continue the old one.",
        ),
    ];
    let labels = choices.map(|(choice, _)| choice.to_string());
    let segments: Vec<Segment<'_>> = choices
        .iter()
        .zip(&labels)
        .map(|(&(choice, hint), label)| {
            Segment::plain(tokens, label, rows.knobs.scheduling == choice, hint)
        })
        .collect();
    let size = Vec2::new(ui.available_width(), 26.0);
    if let Some(i) = segmented_ui(ui, &segments, size, &theme::font(theme::BODY)) {
        rows.set(Knob::Scheduling(choices[i].0));
    }
}

fn threshold_ui(ui: &mut Ui, rows: &mut Rows<'_>) {
    let is_sync = rows.knobs.scheduling == Scheduling::Sync;
    let obstacle = if is_sync {
        Some("g has no effect in sync mode: the queue runs empty first.")
    } else if rows.knobs.auto_threshold {
        Some("Auto g is on: g follows the measured latency.")
    } else {
        None
    };
    let knob = KnobSlider {
        name: "g",
        value: f64::from(rows.knobs.chunk_size_threshold),
        range: 0.0..=1.0,
        decimals: 2,
        suffix: "",
        default: f64::from(rows.defaults.chunk_size_threshold),
        obstacle,
        hint: "chunk_size_threshold: ask when queue / chunk < g. The mark is g_min, below which the queue runs dry.",
        mark: rows.g_min.map(f64::from),
        word: None,
    };
    if let Some(value) = knob.ui(ui, rows.draft) {
        rows.set(Knob::ChunkSizeThreshold(value as f32));
    }
    ui.horizontal(|ui| {
        label_ui(ui, "", "");
        let mut auto = rows.knobs.auto_threshold;
        let text = RichText::new("auto g").size(theme::BODY);
        let response = ui
            .add_enabled(!is_sync, Checkbox::new(&mut auto, text))
            .on_hover_text("Keeps g a little above g_min from the measured p95 latency.")
            .on_disabled_hover_text(ONLY_ASYNC);
        if response.changed() {
            rows.set(Knob::AutoThreshold(auto));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let bound = match rows.g_min {
                Some(g_min) if g_min > 1.0 => format!("▲ g_min {g_min:.2}: out of reach"),
                Some(g_min) => format!("▲ g_min {g_min:.2}"),
                None => "▲ g_min not measured".to_owned(),
            };
            weak_ui(ui, bound);
        });
    });
}

fn chunk_ui(ui: &mut Ui, rows: &mut Rows<'_>) {
    let chunk = KnobSlider {
        name: "chunk",
        value: rows.knobs.actions_per_chunk as f64,
        range: 1.0..=rows.chunk_size as f64,
        decimals: 0,
        suffix: " actions",
        default: rows.defaults.actions_per_chunk as f64,
        obstacle: None,
        hint: "actions_per_chunk: how many actions of each chunk are kept; at the right end, all of any chunk.",
        mark: None,
        word: None,
    };
    if let Some(value) = chunk.ui(ui, rows.draft) {
        let actions = value as usize;
        let all = actions >= rows.chunk_size;
        rows.set(Knob::ActionsPerChunk(if all {
            WHOLE_CHUNK
        } else {
            actions
        }));
    }
    let execute = KnobSlider {
        name: "execute",
        value: rows.knobs.n_action_steps as f64,
        range: 1.0..=rows.knobs.actions_per_chunk.max(1) as f64,
        decimals: 0,
        suffix: " actions",
        default: rows.defaults.n_action_steps as f64,
        obstacle: (rows.knobs.scheduling != Scheduling::Sync).then_some(ONLY_SYNC),
        hint: "n_action_steps: how many actions are executed before the next look.",
        mark: None,
        word: None,
    };
    if let Some(value) = execute.ui(ui, rows.draft) {
        rows.set(Knob::NActionSteps(value as usize));
    }
}

fn merge_ui(ui: &mut Ui, rows: &mut Rows<'_>) {
    let is_async = rows.knobs.scheduling == Scheduling::Async;
    ui.horizontal(|ui| {
        let hint = "How a new chunk is merged with what is still queued.";
        label_ui(ui, "merge", hint);
        ui.add_enabled_ui(is_async, |ui| {
            ComboBox::from_id_salt("merge")
                .width(ui.available_width())
                .selected_text(rows.knobs.aggregate.label())
                .show_ui(ui, |ui| {
                    for choice in Aggregate::ALL {
                        let is_chosen = rows.knobs.aggregate == choice;
                        if ui.selectable_label(is_chosen, choice.label()).clicked() {
                            rows.set(Knob::Aggregate(choice));
                        }
                    }
                })
                .response
                .accessible_name("merge")
                .on_hover_text(hint)
                .on_disabled_hover_text(ONLY_ASYNC);
        });
    });
    let has_ramp = matches!(
        rows.knobs.aggregate,
        Aggregate::LinearRamp | Aggregate::CosineRamp
    );
    let obstacle = if !is_async {
        Some(ONLY_ASYNC)
    } else if has_ramp {
        None
    } else {
        Some("Only the ramps have a length.")
    };
    // The last stop of the rail stands for the whole overlap.
    let knob = KnobSlider {
        name: "blend",
        value: rows.knobs.blend_steps.unwrap_or(rows.chunk_size) as f64,
        range: 1.0..=rows.chunk_size as f64,
        decimals: 0,
        suffix: " actions",
        default: rows.chunk_size as f64,
        obstacle,
        hint: "blend_steps: length of the ramp; at the right end, the whole overlap.",
        mark: None,
        word: rows.knobs.blend_steps.is_none().then_some("all"),
    };
    if let Some(value) = knob.ui(ui, rows.draft) {
        let steps = value as usize;
        rows.set(Knob::BlendSteps((steps < rows.chunk_size).then_some(steps)));
    }
}

fn rate_ui(ui: &mut Ui, rows: &mut Rows<'_>) {
    let steps = KnobSlider {
        name: "steps",
        value: rows.knobs.num_steps as f64,
        range: 1.0..=50.0,
        decimals: 0,
        suffix: "",
        default: rows.defaults.num_steps as f64,
        obstacle: None,
        hint: "num_steps: Euler steps of the flow. Fewer is faster and rougher.",
        mark: None,
        word: None,
    };
    if let Some(value) = steps.ui(ui, rows.draft) {
        rows.set(Knob::NumSteps(value as usize));
    }
    let fps = KnobSlider {
        name: "fps",
        value: f64::from(rows.knobs.fps),
        range: 5.0..=100.0,
        decimals: 0,
        suffix: " Hz",
        default: f64::from(rows.defaults.fps),
        obstacle: None,
        hint: "Control rate. The policy was trained at one rate; another one changes the speed of the motion.",
        mark: None,
        word: None,
    };
    if let Some(value) = fps.ui(ui, rows.draft) {
        rows.set(Knob::Fps(value as f32));
    }
    // The left end of the rail stands for off.
    let filter = KnobSlider {
        name: "filter",
        value: f64::from(rows.knobs.epsilon.unwrap_or(0.0)),
        range: 0.0..=10.0,
        decimals: 1,
        suffix: "°",
        default: 0.0,
        obstacle: (rows.knobs.scheduling == Scheduling::Sync).then_some(ONLY_ASYNC),
        hint: "Similarity filter: skip a request when the joints moved less than this since the last one. \
               It does not look at the images, so it is off by default.",
        mark: None,
        word: rows.knobs.epsilon.is_none().then_some("off"),
    };
    if let Some(value) = filter.ui(ui, rows.draft) {
        rows.set(Knob::Epsilon((value > 0.0).then_some(value as f32)));
    }
}

fn rtc_ui(ui: &mut Ui, rows: &mut Rows<'_>) {
    let rtc = rows.knobs.rtc;
    let horizon = KnobSlider {
        name: "horizon",
        value: rtc.execution_horizon as f64,
        range: 1.0..=rows.chunk_size as f64,
        decimals: 0,
        suffix: " actions",
        default: rows.defaults.rtc.execution_horizon as f64,
        obstacle: None,
        hint: "execution_horizon: steps of the new chunk that are guided by the old one.",
        mark: None,
        word: None,
    };
    if let Some(value) = horizon.ui(ui, rows.draft) {
        rows.set(Knob::Rtc(RtcKnobs {
            execution_horizon: value as usize,
            ..rtc
        }));
    }
    let weight = KnobSlider {
        name: "guidance",
        value: f64::from(rtc.max_guidance_weight),
        range: 0.0..=100.0,
        decimals: 0,
        suffix: "",
        default: f64::from(rows.defaults.rtc.max_guidance_weight),
        obstacle: None,
        hint: "max_guidance_weight: upper bound of the pull towards the old chunk. Above the number of Euler steps it \
               overshoots.",
        mark: Some(rows.knobs.num_steps as f64),
        word: None,
    };
    if let Some(value) = weight.ui(ui, rows.draft) {
        rows.set(Knob::Rtc(RtcKnobs {
            max_guidance_weight: value as f32,
            ..rtc
        }));
    }
    schedule_ui(ui, rows, rtc);
    // Each Euler step of 1 / num_steps then goes further than all the way to the old chunk.
    if rtc.max_guidance_weight > rows.knobs.num_steps as f32 {
        weak_ui(ui, "! guidance above steps overshoots the old chunk");
    }
}

fn schedule_ui(ui: &mut Ui, rows: &mut Rows<'_>, rtc: RtcKnobs) {
    let tokens = theme::tokens(ui);
    let choices = [
        (RtcSchedule::Zeros, "zeros", "Only the committed steps."),
        (RtcSchedule::Ones, "ones", "Full weight up to the horizon."),
        (RtcSchedule::Linear, "linear", "Falls linearly."),
        (RtcSchedule::Exp, "exp", "Falls faster than linearly."),
    ];
    ui.horizontal(|ui| {
        label_ui(ui, "schedule", "How the guidance fades along the overlap.");
        let segments = choices.map(|(choice, label, hint)| {
            Segment::plain(tokens, label, rtc.schedule == choice, hint)
        });
        let size = Vec2::new(ui.available_width(), 22.0);
        if let Some(i) = segmented_ui(ui, &segments, size, &theme::font(theme::SMALL)) {
            rows.set(Knob::Rtc(RtcKnobs {
                schedule: choices[i].0,
                ..rtc
            }));
        }
    });
}
