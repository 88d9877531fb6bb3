//! The simulated rig: which task the table is laid for, how far the task is, how often it was done, and how fast time passes
//! there. Only while the simulated arm is the one that is flown.

use egui::{
    Align, Align2, Button, CornerRadius, DragValue, Layout, PopupCloseBehavior, Rect, Role, Sense,
    Stroke, StrokeKind, Ui, Vec2, WidgetInfo,
};

use crate::arm;
use crate::runtime::{Command, RigOrder, RigView, Snapshot};
use crate::ui::card::{badge_ui, card_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::theme::{self, Tokens};
use crate::ui::words;

/// The rates of time on offer, and how they are called.
const RATES: [(f32, &str); 5] = [
    (0.1, "0.1×"),
    (0.25, "0.25×"),
    (0.5, "0.5×"),
    (1.0, "1×"),
    (2.0, "2×"),
];
const RATE_HINT: &str = "How fast time passes on the rig. The whole runtime goes with it, and the policy computes as fast as \
                         ever: in slow motion its latency shrinks against the arm.";
const RATE_OBSTACLE: &str = "The leader is a real arm, and a real arm knows no slow motion. Disconnect it first (Set-up, Arms).";

/// What the window keeps of the rig.
#[derive(Debug, Default)]
pub struct RigDraft {
    /// The seed under the hand, until it is let go.
    seed: Option<u64>,
}

/// Draws the strip between the task and the 3D panel.
pub fn rig_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let Some(rig) = &snapshot.rig else {
        draft.rig.seed = None;
        return;
    };
    ui.horizontal(|ui| {
        ui.label(theme::section(ui, "RIG"));
        tasks_ui(ui, rig, snapshot, draft, commands);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            count_ui(ui, rig);
            progress_ui(ui, rig);
        });
    });
    if rig.task.is_none() || rig.obstacle.is_some() {
        plea_ui(ui, rig, snapshot, draft, commands);
    }
    ui.horizontal_wrapped(|ui| {
        table_ui(ui, rig, draft, commands);
        ui.add_space(6.0);
        rate_ui(ui, rig, snapshot, commands);
    });
    ui.add_space(2.0);
}

/// The tasks that the table can be laid for.
fn tasks_ui(
    ui: &mut Ui,
    rig: &RigView,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let response = ui
        .add_enabled(!rig.tasks.is_empty(), Button::new("Tasks"))
        .on_hover_text("Lays the table for a task and sends it.");
    egui::Popup::menu(&response)
        .close_behavior(PopupCloseBehavior::CloseOnClick)
        .show(|ui| {
            ui.set_min_width(300.0);
            for task in &rig.tasks {
                let is_current = *task == snapshot.task;
                if ui
                    .add(Button::selectable(is_current, task.as_str()))
                    .clicked()
                {
                    lay(draft, commands, task);
                }
            }
        });
}

/// Lays the table for a task, which is sent with it.
fn lay(draft: &mut Draft, commands: &mut Vec<Command>, task: &str) {
    task.clone_into(&mut draft.task.text);
    draft.preferences.remember_task(task);
    let task = task.to_owned();
    commands.push(Command::Rig(RigOrder::Lay { task }));
}

/// How often it was done, and whether it is now.
fn count_ui(ui: &mut Ui, rig: &RigView) {
    let text = format!("{} of {}", rig.successes, rig.attempts);
    ui.label(theme::figure(text, theme::BODY))
        .on_hover_text("How often this task was done, and tried, since it was chosen.");
    if rig.done_since.is_some() {
        badge_ui(ui, "done", theme::tokens(ui).good);
    }
}

/// A bar with the stage written on it, as wide as there is room.
fn progress_ui(ui: &mut Ui, rig: &RigView) {
    let tokens = theme::tokens(ui);
    let size = Vec2::new(ui.available_width(), 20.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let share = rig.progress.clamp(0.0, 1.0);
    let text = stage(rig);
    response.widget_info(|| WidgetInfo::labeled(Role::ProgressIndicator, true, text.as_str()));
    let radius = CornerRadius::same(4);
    let (fill, strength) = match rig.done_since {
        Some(_) => (tokens.good, 0.5),
        None => (tokens.commanded, 0.4),
    };
    let painter = ui.painter();
    painter.rect_filled(rect, radius, tokens.well);
    let done = Rect::from_min_size(rect.min, Vec2::new(rect.width() * share, rect.height()));
    painter.rect_filled(done, radius, Tokens::wash(fill, strength));
    let edge = Stroke::new(1.0, tokens.line);
    painter.rect_stroke(rect, radius, edge, StrokeKind::Inside);
    let font = theme::font(theme::SMALL);
    let at = rect.left_center() + Vec2::new(8.0, 0.0);
    let words = painter.layout_no_wrap(text, font, tokens.text);
    let place = Align2::LEFT_CENTER.anchor_size(at, words.size());
    painter
        .with_clip_rect(rect)
        .galley(place.min, words, tokens.text);
    if let Some(task) = &rig.task {
        response.on_hover_text(format!(
            "{task}: {:.0} % after {}",
            share * 100.0,
            words::seconds(rig.elapsed)
        ));
    }
}

/// What is being done now, in words.
fn stage(rig: &RigView) -> String {
    match (&rig.task, &rig.obstacle) {
        (None, _) => "no referee for this task".to_owned(),
        (Some(_), Some(obstacle)) => obstacle.clone(),
        (Some(task), None) if rig.done_since.is_some() => {
            format!("{task}: in {}", words::seconds(rig.elapsed))
        }
        (Some(task), None) if rig.stage.is_empty() => task.clone(),
        (Some(_), None) => rig.stage.clone(),
    }
}

/// A task that cannot be judged, or not be done on this table: what would do.
fn plea_ui(
    ui: &mut Ui,
    rig: &RigView,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.chosen, |ui| {
        if rig.obstacle.is_some() && rig.task.is_some() {
            ui.horizontal(|ui| {
                weak_ui(ui, "The table is laid for something else.");
                if ui.button("Lay the table for it").clicked() {
                    lay(draft, commands, &snapshot.task);
                }
            });
            return;
        }
        let known = rig.sentences.join(" · ");
        weak_ui(ui, format!("The referee understands: {known}"));
    });
}

/// Which table it is, and other ones.
fn table_ui(ui: &mut Ui, rig: &RigView, draft: &mut Draft, commands: &mut Vec<Command>) {
    let reset = |seed| Command::Rig(RigOrder::Reset { seed });
    weak_ui(ui, "Table");
    let mut seed = draft.rig.seed.unwrap_or(rig.seed);
    let response = ui
        .add(DragValue::new(&mut seed).speed(0.2))
        .accessible_name("Seed of the table")
        .on_hover_text("The seed: where things lie. The same seed lays the same table.");
    if response.changed() {
        draft.rig.seed = Some(seed);
    }
    // Not at every step of a drag: each table is another episode.
    let is_held = response.dragged() || response.has_focus();
    if !is_held && let Some(seed) = draft.rig.seed.take_if(|seed| *seed != rig.seed) {
        commands.push(reset(Some(seed)));
    }
    if !is_held {
        draft.rig.seed = None;
    }
    let again = ui
        .button("Reset")
        .on_hover_text("Lays the table as it was: the same seed again. Key L.");
    if again.clicked() {
        commands.push(reset(None));
    }
    let next = ui
        .button("Next")
        .on_hover_text("Lays the table with the next seed.");
    if next.clicked() {
        commands.push(reset(Some(rig.seed.wrapping_add(1))));
    }
    let mut repeats = rig.repeats;
    let hint = "Lays the table with the next seed a moment after each success.";
    if ui
        .checkbox(&mut repeats, "Repeat")
        .on_hover_text(hint)
        .clicked()
    {
        commands.push(Command::Rig(RigOrder::Repeat(!rig.repeats)));
    }
}

/// How fast time passes.
fn rate_ui(ui: &mut Ui, rig: &RigView, snapshot: &Snapshot, commands: &mut Vec<Command>) {
    let tokens = theme::tokens(ui);
    let is_led = snapshot.sources.is_real(arm::Role::Leader);
    weak_ui(ui, "Time");
    let segments = RATES.map(|(rate, label)| {
        let is_chosen = (rig.speed - rate).abs() < 0.01;
        Segment {
            obstacle: (is_led && !is_chosen).then_some(RATE_OBSTACLE),
            ..Segment::plain(tokens, label, is_chosen, RATE_HINT)
        }
    });
    let size = Vec2::new(42.0 * RATES.len() as f32, 24.0);
    if let Some(i) = segmented_ui(ui, &segments, size, &theme::font(theme::SMALL)) {
        commands.push(Command::Rig(RigOrder::Speed(RATES[i].0)));
    }
}
