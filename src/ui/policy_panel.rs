//! The policy: what it is and costs, how far it has been loaded, why it was refused, and how to load another.

use std::time::Duration;

use egui::{Button, Key, Label, ProgressBar, RichText, TextEdit, Ui, Vec2};

use crate::policy::{DEMO, LoadProgress, LoadStage, PolicySpec};
use crate::runtime::{Command, EXPERT, PolicyStatus, Snapshot};
use crate::ui::card::{badge_ui, card_ui, heading_ui, weak_cut_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::theme;
use crate::ui::words;

/// Draws the head of the right column.
pub fn policy_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    heading_ui(ui, "POLICY", |ui| {
        // Without a policy the form is there anyway: it is the way out. On the rig the choice below opens it.
        if !wants_another(snapshot) && snapshot.rig.is_none() {
            let label = if draft.policy.is_open {
                "Close"
            } else {
                "Load…"
            };
            if ui.small_button(label).clicked() {
                draft.policy.is_open = !draft.policy.is_open;
            }
        }
        let ink = match snapshot.policy {
            PolicyStatus::Ready { .. } => tokens.predicted,
            PolicyStatus::Refused { .. } | PolicyStatus::Failed { .. } => tokens.fault_text,
            _ => tokens.weak,
        };
        badge_ui(ui, word(&snapshot.policy), ink);
    });
    if snapshot.rig.is_some() {
        choice_ui(ui, snapshot, draft, commands);
    }
    if let Some(spec) = &snapshot.spec {
        spec_ui(ui, spec);
    }
    warnings_ui(ui, snapshot);
    status_ui(ui, snapshot, draft, commands);
    if draft.policy.is_open || wants_another(snapshot) {
        load_ui(ui, snapshot, draft, commands);
    }
}

/// The policies that are always there on the simulated rig, and the way to another.
fn choice_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    let source = snapshot.policy_source.as_str();
    let is_known = [EXPERT, DEMO].contains(&source);
    let segments = [
        Segment::plain(
            tokens,
            "Expert",
            source == EXPERT,
            "A script that sees where the cubes truly are and does what the task says: no network, no GPU.",
        ),
        Segment::plain(
            tokens,
            "Demo",
            source == DEMO,
            "The untrained network: it shows the whole path, and its motion means nothing.",
        ),
        Segment::plain(
            tokens,
            "Other…",
            !is_known && !source.is_empty(),
            "A checkpoint of your own, or one from the hub.",
        ),
    ];
    let size = Vec2::new(ui.available_width(), 26.0);
    match segmented_ui(ui, &segments, size, &theme::font(theme::BODY)) {
        Some(0) => load(draft, commands, EXPERT),
        Some(1) => load(draft, commands, DEMO),
        Some(_) => draft.policy.is_open = !draft.policy.is_open,
        None => {}
    }
    ui.add_space(2.0);
}

fn load(draft: &mut Draft, commands: &mut Vec<Command>, source: &str) {
    commands.push(Command::LoadPolicy(source.to_owned()));
    draft.policy.is_open = false;
}

/// There is no policy, and none on its way.
fn wants_another(snapshot: &Snapshot) -> bool {
    matches!(
        snapshot.policy,
        PolicyStatus::Absent | PolicyStatus::Refused { .. }
    )
}

fn word(status: &PolicyStatus) -> &'static str {
    match status {
        PolicyStatus::Absent => "none",
        PolicyStatus::Loading(_) => "loading",
        PolicyStatus::Ready { busy: true } => "thinking",
        PolicyStatus::Ready { busy: false } => "ready",
        PolicyStatus::Refused { .. } => "refused",
        PolicyStatus::Failed {
            restarting: true, ..
        } => "restarting",
        PolicyStatus::Failed { .. } => "failed",
    }
}

fn spec_ui(ui: &mut Ui, spec: &PolicySpec) {
    ui.add(Label::new(theme::strong(&spec.name).size(theme::LARGE)).truncate());
    if spec.plans_with_truth {
        weak_cut_ui(ui, spec.device.as_str());
        return;
    }
    weak_cut_ui(
        ui,
        format!(
            "{} + {} layers · {} steps · {}",
            spec.vlm_layers,
            spec.expert_layers,
            spec.num_steps,
            words::parameters(spec.parameters)
        ),
    )
    .on_hover_text(
        "Layers of the VLM + layers of the action expert · Euler steps of the checkpoint · size",
    );
    weak_cut_ui(ui, format!("{} · {}", spec.device, spec.precision));
    if !spec.device_why.is_empty() {
        weak_cut_ui(ui, format!("chosen: {}", spec.device_why));
    }
}

/// What is odd about the checkpoint and about its newest chunk, and how often it had to be started again.
fn warnings_ui(ui: &mut Ui, snapshot: &Snapshot) {
    let tokens = theme::tokens(ui);
    let of_spec = snapshot.spec.iter().flat_map(|spec| &spec.warnings);
    for warning in of_spec.chain(&snapshot.policy_warnings) {
        let text = RichText::new(format!("! {warning}")).size(theme::SMALL);
        ui.label(text.color(tokens.text));
    }
    if snapshot.policy_restarts > 0 {
        let times = words::plural(snapshot.policy_restarts as usize, "time");
        weak_ui(ui, format!("started again {times}"));
    }
}

fn status_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    match &snapshot.policy {
        PolicyStatus::Ready { .. } => {}
        PolicyStatus::Absent => {
            card_ui(ui, tokens.line, |ui| {
                ui.label("No policy is loaded.");
                weak_ui(
                    ui,
                    "The demo network needs no download and shows the whole path.",
                );
                if ui.button("Load the demo").clicked() {
                    commands.push(Command::LoadPolicy(DEMO.to_owned()));
                }
            });
        }
        PolicyStatus::Loading(progress) => {
            let since = draft.policy.loading_since.unwrap_or(snapshot.now);
            progress_ui(ui, progress, snapshot.now.saturating_sub(since));
            let cancel = ui.button("Cancel loading").on_hover_text(
                "There is no policy then; what was downloaded is kept for the next time.",
            );
            if cancel.clicked() {
                commands.push(Command::CancelLoad);
            }
        }
        PolicyStatus::Refused { why, stats } => refused_ui(ui, commands, why, stats),
        PolicyStatus::Failed { why, restarting } => {
            card_ui(ui, tokens.fault, |ui| {
                ui.label(why);
                if *restarting {
                    weak_ui(ui, "It is being restarted; the arm holds.");
                }
                if ui.button("Restart the policy").clicked() {
                    commands.push(Command::RestartPolicy);
                }
            });
        }
    }
}

/// The stages of loading, in their order: what is done, what is being done, what is to come.
fn progress_ui(ui: &mut Ui, progress: &LoadProgress, elapsed: Duration) {
    let tokens = theme::tokens(ui);
    let now = LoadStage::ALL
        .iter()
        .position(|stage| *stage == progress.stage);
    for (i, stage) in LoadStage::ALL.into_iter().enumerate() {
        let (sign, ink) = match Some(i).cmp(&now) {
            std::cmp::Ordering::Less => ("●", tokens.weak),
            std::cmp::Ordering::Equal => ("▶", tokens.text),
            std::cmp::Ordering::Greater => ("○", tokens.faint),
        };
        let text = match progress.fraction {
            Some(fraction) if Some(i) == now => {
                format!("{sign}  {stage}  {:.0} %", fraction * 100.0)
            }
            _ => format!("{sign}  {stage}"),
        };
        ui.label(RichText::new(text).size(theme::BODY).color(ink));
    }
    let bar = ProgressBar::new(progress.fraction.unwrap_or(0.0))
        .desired_height(6.0)
        .fill(tokens.predicted)
        .animate(progress.fraction.is_none());
    ui.add(bar);
    weak_ui(
        ui,
        format!("{} so far; the arm holds", words::seconds(elapsed)),
    );
}

fn refused_ui(ui: &mut Ui, commands: &mut Vec<Command>, why: &str, stats: &[String]) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.fault, |ui| {
        ui.label(why);
        if !stats.is_empty() {
            weak_ui(ui, "Whose statistics are right for this arm?");
            for name in stats {
                if ui.button(name).clicked() {
                    commands.push(Command::ChooseStats(name.clone()));
                }
            }
        }
    });
}

fn load_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    weak_ui(ui, "A checkpoint directory, a hub id, or demo:");
    let hint = RichText::new("lerobot/smolvla_base").color(tokens.faint);
    let field = TextEdit::singleline(&mut draft.policy.source)
        .hint_text(hint)
        .min_size(Vec2::new(80.0, 24.0))
        .desired_width(f32::INFINITY);
    let response = ui.add(field).accessible_name("Policy source");
    let is_entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
    ui.horizontal(|ui| {
        let source = draft.policy.source.trim().to_owned();
        let wanted = ui
            .add_enabled(!source.is_empty(), Button::new("Load"))
            .on_hover_text("The arm holds meanwhile.")
            .on_disabled_hover_text("Type what to load first.");
        if (wanted.clicked() || is_entered) && !source.is_empty() {
            load(draft, commands, &source);
        }
        if snapshot.rig.is_none() && ui.button("Demo").clicked() {
            load(draft, commands, DEMO);
        }
        let can_restart = matches!(
            snapshot.policy,
            PolicyStatus::Ready { .. } | PolicyStatus::Failed { .. }
        );
        let restart = ui
            .add_enabled(can_restart, Button::new("Restart"))
            .on_disabled_hover_text("There is no policy to restart.");
        if restart.clicked() {
            commands.push(Command::RestartPolicy);
        }
    });
    if !snapshot.policy_source.is_empty() {
        weak_cut_ui(ui, format!("asked for: {}", snapshot.policy_source));
    }
}
