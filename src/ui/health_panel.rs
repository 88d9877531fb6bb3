//! How the servos are: heat, volts, load, current, errors and age of each joint, and what waits for the operator to clear it.
//! It lies between the plots and the status bar, and leaves STOP where it is.

use std::time::Duration;

use egui::{Align, Button, Color32, Layout, RichText, ScrollArea, Sense, Ui, Vec2};

use crate::arm::{CutCounts, Grip};
use crate::joint::Joint;
use crate::runtime::{Command, Connection, Health, JointHealth, Latched, Snapshot};
use crate::ui::card::{card_ui, heading_ui, weak_cut_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::theme::{self, Tokens};
use crate::ui::words;

/// Height of the panel, points.
pub const HEIGHT: f32 = 168.0;

const ROW: f32 = 18.0;
/// Widths of the table's columns, points: joint, °C, V, load, mA, errors, age, state.
const COLUMNS: [f32; 8] = [86.0, 46.0, 52.0, 50.0, 66.0, 50.0, 52.0, 132.0];
const TITLES: [&str; 8] = [
    "joint", "heat", "supply", "load", "current", "errors", "age", "state",
];
/// An answer older than this is late, whatever the rate.
const LATE: Duration = Duration::from_millis(500);

/// The short form for the status bar: "31 °C  7.4 V  0 err". `None` while there is no arm.
pub fn summary(snapshot: &Snapshot) -> Option<String> {
    let is_there = matches!(snapshot.connection, Connection::Connected { .. });
    let health = &snapshot.health;
    is_there.then(|| {
        format!(
            "{} °C  {:.1} V  {} err",
            health.hottest(),
            health.volts(),
            words::count(health.errors())
        )
    })
}

/// Draws the panel.
pub fn health_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    heading_ui(ui, "ARM HEALTH", |ui| {
        if ui.small_button("Close").on_hover_text("V").clicked() {
            draft.shows_health = false;
        }
        ui.add_space(8.0);
        let sum = snapshot.health.milliamperes() / 1000.0;
        weak_ui(ui, format!("all servos {sum:.2} A"));
    });
    if summary(snapshot).is_none() {
        weak_ui(ui, "No arm is connected.");
        return;
    }
    ui.horizontal_top(|ui| {
        table_ui(ui, &snapshot.health);
        ui.add_space(18.0);
        ui.vertical(|ui| matters_ui(ui, snapshot, commands));
    });
}

fn table_ui(ui: &mut Ui, health: &Health) {
    let tokens = theme::tokens(ui);
    let width: f32 = COLUMNS.iter().sum();
    ui.allocate_ui_with_layout(
        Vec2::new(width, ROW * 7.0),
        Layout::top_down(Align::Min),
        |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            row_ui(ui, TITLES.map(|title| (title.to_owned(), tokens.weak)));
            for joint in Joint::ALL {
                row_ui(ui, cells(tokens, joint, health.joint(joint)));
            }
        },
    );
}

/// One line; the first and the last column are words, the others numbers.
fn row_ui(ui: &mut Ui, cells: [(String, Color32); 8]) {
    let width: f32 = COLUMNS.iter().sum();
    let (rect, _) = ui.allocate_exact_size(Vec2::new(width, ROW), Sense::hover());
    let mut left = rect.left();
    for (column, (text, ink)) in cells.into_iter().enumerate() {
        let cell = rect.with_min_x(left).with_max_x(left + COLUMNS[column]);
        left += COLUMNS[column];
        let is_number = (1..7).contains(&column);
        let layout = if is_number {
            Layout::right_to_left(Align::Center)
        } else {
            Layout::left_to_right(Align::Center)
        };
        let text = if is_number {
            theme::figure(text, theme::SMALL).color(ink)
        } else {
            RichText::new(text).size(theme::SMALL).color(ink)
        };
        let inset = if column == 7 { 12.0 } else { 0.0 };
        let mut inner = ui.new_child(
            egui::UiBuilder::new()
                .max_rect(cell.with_min_x(cell.left() + inset))
                .layout(layout),
        );
        inner.add(egui::Label::new(text).truncate());
    }
}

fn cells(tokens: &Tokens, joint: Joint, health: &JointHealth) -> [(String, Color32); 8] {
    use crate::arm::AlarmKind::{Encoder, Overcurrent, Overload, Voltage, Warm};
    let ink = |is_wrong: bool| {
        if is_wrong {
            tokens.fault_text
        } else {
            tokens.text
        }
    };
    let is_late = health.age >= LATE;
    [
        (words::joint(joint).to_owned(), tokens.text),
        (
            format!("{} °C", health.celsius),
            ink(health.is_hot() || health.has(Warm)),
        ),
        (format!("{:.1} V", health.volts), ink(health.has(Voltage))),
        (
            format!("{:.0} %", health.load_percent),
            ink(health.has(Overload)),
        ),
        (
            format!("{:.0} mA", health.milliamperes),
            ink(health.has(Overcurrent)),
        ),
        (words::count(health.errors), ink(health.has(Encoder))),
        (words::span(health.age), ink(is_late)),
        state(tokens, health, is_late),
    ]
}

/// What is the matter with a joint, in a word or two.
fn state(tokens: &Tokens, health: &JointHealth, is_late: bool) -> (String, Color32) {
    let mut complaints: Vec<String> = health.alarms.iter().map(ToString::to_string).collect();
    if is_late {
        complaints.push("silent".to_owned());
    }
    if health.latched.is_some() {
        complaints.insert(0, "latched".to_owned());
    }
    if complaints.is_empty() {
        ("fine".to_owned(), tokens.weak)
    } else {
        (complaints.join(", "), tokens.fault_text)
    }
}

/// What waits for the operator, and what the limits do.
fn matters_ui(ui: &mut Ui, snapshot: &Snapshot, commands: &mut Vec<Command>) {
    let health = &snapshot.health;
    ScrollArea::vertical()
        .id_salt("matters")
        .auto_shrink(false)
        .show(ui, |ui| {
            if let Some(why) = &health.unfit {
                let tokens = theme::tokens(ui);
                card_ui(ui, tokens.fault, |ui| {
                    ui.label(theme::strong("Not fit to be driven").size(theme::BODY));
                    weak_ui(ui, why);
                });
            }
            let latched = Joint::ALL
                .into_iter()
                .filter_map(|joint| Some((joint, health.joint(joint).latched.as_ref()?)));
            let mut is_empty = true;
            for (joint, latched) in latched {
                is_empty = false;
                latched_ui(ui, snapshot, joint, latched, commands);
            }
            if is_empty {
                weak_ui(ui, "Nothing is to be cleared.");
            }
            if let Some(grip) = grip_words(health.grip) {
                weak_ui(ui, grip);
            }
            weak_cut_ui(ui, limit_words(&health.cuts, health.rejected)).on_hover_text(
                "Ticks in which an action was not followed as it was asked for, by reason, since the arm was connected.",
            );
        });
}

fn latched_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    joint: Joint,
    latched: &Latched,
    commands: &mut Vec<Command>,
) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.fault, |ui| {
        // The words wrap over the whole width; what is to be pressed is never below the edge.
        ui.horizontal(|ui| {
            let clear = Button::new(format!("Clear {}", words::joint(joint)));
            if ui.add(clear).on_hover_text(&latched.remedy).clicked() {
                commands.push(Command::ClearAlarm(joint));
            }
            let since = snapshot.now.saturating_sub(latched.since);
            weak_ui(ui, format!("since {}", words::span(since)));
        });
        ui.label(theme::strong(&latched.what).size(theme::BODY));
        weak_ui(ui, &latched.remedy);
    });
}

fn grip_words(grip: Grip) -> Option<String> {
    match grip {
        Grip::Free => None,
        Grip::Holding(at) => Some(format!(
            "The gripper holds something at {at:.0} % open, with less torque than it closes with."
        )),
        Grip::Overloaded(at) => Some(format!(
            "The gripper was overloaded at {at:.0} % open and is not closed further."
        )),
    }
}

/// "goals cut: range 3 · speed 120", with what has happened only.
fn limit_words(cuts: &CutCounts, rejected: u64) -> String {
    let counted = [
        ("range", cuts.range),
        ("speed", cuts.speed),
        ("acceleration", cuts.acceleration),
        ("distance", cuts.relative_target),
        ("grip", cuts.grip),
        ("table", cuts.table),
        ("itself", cuts.self_collision),
        ("no number", rejected),
    ];
    let happened: Vec<String> = counted
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {}", words::count(count)))
        .collect();
    if happened.is_empty() {
        "No goal was cut by the limits.".to_owned()
    } else {
        format!("Goals cut by the limits: {}", happened.join(" · "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_happened_is_listed() {
        let mut cuts = CutCounts::default();
        assert!(limit_words(&cuts, 0).starts_with("No goal"));
        (cuts.speed, cuts.table) = (1200, 3);
        let text = limit_words(&cuts, 2);
        assert_eq!(
            text,
            "Goals cut by the limits: speed 1\u{2009}200 · table 3 · no number 2"
        );
    }

    #[test]
    fn an_arm_that_is_not_there_has_no_summary() {
        let mut snapshot = Snapshot::default();
        assert_eq!(summary(&snapshot), None);
        snapshot.connection = Connection::Connected { torque: false };
        for joint in &mut snapshot.health.joints {
            (joint.celsius, joint.volts) = (31, 7.4);
        }
        assert_eq!(summary(&snapshot).as_deref(), Some("31 °C  7.4 V  0 err"));
    }
}
