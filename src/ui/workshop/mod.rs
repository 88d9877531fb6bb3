//! The workshop's pages under Set-up, Arms: what is on the ports, and one step a screen for what is done with it.

mod arms_page;
mod bars;
mod calibrate_page;
mod find_page;
mod identify_page;
mod number_page;
mod save_page;

use std::collections::BTreeMap;

use egui::{Align, Button, Key, Layout, Rect, Response, RichText, ScrollArea, Ui, Vec2};

use crate::arm::Role;
use crate::arm::workbench::sweep::usual_travel;
use crate::joint::{Joint, JointVec};
use crate::runtime::workshop::{Activity, Order, Trouble};
use crate::runtime::{Command, Fault, FaultKind, Snapshot};
use crate::ui::card::card_ui;
use crate::ui::draft::Draft;
use crate::ui::notice_panel::fault_ui;
use crate::ui::theme;

/// Share of a step's page that the words take.
const WORDS_SHARE: f32 = 0.6;
const BUTTONS_HEIGHT: f32 = 36.0;
/// What Cancel leaves behind where nothing is written on the way.
const UNWRITTEN: &str = "Leaves without writing anything.";
/// Seconds in which the ghost leads a joint through its travel and back.
const SWING_SECONDS: f64 = 4.0;

/// What belongs to these pages alone.
#[derive(Default)]
pub struct WorkshopDraft {
    /// The tab Arms of the set-up page is open.
    pub is_open: bool,
    /// The ports were asked for when the tab was opened.
    asked: bool,
    /// The role that the operator gave the arm on a port.
    roles: BTreeMap<String, Role>,
    /// The port being typed.
    port: String,
    /// The id being typed, and the port for which it was filled in.
    id: String,
    id_for: Option<String>,
    /// The arm on the screen was found to follow: what will be written is shown.
    is_saving: bool,
    /// The arm on this port is to be let go, if the operator supports it.
    asks_to_let_go: Option<String>,
}

/// Draws the tab.
pub fn workshop_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    if !std::mem::replace(&mut draft.workshop.asked, true) && !snapshot.workshop.is_surveyed {
        order(commands, Order::Survey);
    }
    if let Some(trouble) = &snapshot.workshop.trouble {
        trouble_ui(ui, trouble);
        ui.add_space(8.0);
    }
    // What was pressed here and refused is said here, and not in the cockpit alone.
    let refused = |fault: &&Fault| fault.kind == FaultKind::Workshop;
    for fault in snapshot.faults.iter().filter(refused) {
        fault_ui(ui, snapshot, fault, commands);
        ui.add_space(8.0);
    }
    if !matches!(snapshot.workshop.activity, Activity::Calibrating(_)) {
        draft.workshop.is_saving = false;
    }
    let scrolled = |ui: &mut Ui, add: &mut dyn FnMut(&mut Ui)| {
        ScrollArea::vertical()
            .id_salt("workshop")
            .auto_shrink(false)
            .show(ui, add);
    };
    match &snapshot.workshop.activity {
        Activity::Idle => scrolled(ui, &mut |ui| {
            arms_page::arms_ui(ui, snapshot, draft, commands);
        }),
        Activity::Finding(finding) => find_page::find_ui(ui, finding, commands),
        Activity::Identifying(arms) => scrolled(ui, &mut |ui| {
            identify_page::identify_ui(ui, arms, draft, commands);
        }),
        Activity::Calibrating(view) if draft.workshop.is_saving => {
            save_page::save_ui(ui, snapshot, view, draft, commands);
        }
        Activity::Calibrating(view) => {
            calibrate_page::calibrate_ui(ui, snapshot, view, draft, commands);
        }
        Activity::Numbering(view) => {
            number_page::number_ui(ui, snapshot, view, draft, commands);
        }
        Activity::Saved(saved) => scrolled(ui, &mut |ui| {
            save_page::saved_ui(ui, snapshot, saved, commands);
        }),
    }
}

/// Enter ended the typing in this field.
fn is_entered(ui: &Ui, field: &Response) -> bool {
    field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter))
}

fn order(commands: &mut Vec<Command>, order: Order) {
    commands.push(Command::Workshop(order));
}

fn trouble_ui(ui: &mut Ui, trouble: &Trouble) {
    let tokens = theme::tokens(ui);
    card_ui(ui, tokens.fault, |ui| {
        ui.label(theme::strong(&trouble.what));
        if !trouble.remedy.is_empty() {
            ui.label(RichText::new(&trouble.remedy).color(tokens.weak));
        }
    });
}

/// The head of a step: what is being done, which step of how many, and the way out with what it leaves behind.
fn head_ui(
    ui: &mut Ui,
    title: &str,
    step: Option<(usize, usize)>,
    leaving: &str,
    commands: &mut Vec<Command>,
) {
    ui.horizontal(|ui| {
        ui.label(theme::strong(title).size(theme::LEAD));
        if let Some((step, of)) = step {
            let color = theme::tokens(ui).weak;
            ui.label(RichText::new(format!("step {step} of {of}")).color(color));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("Cancel").on_hover_text(leaving).clicked() {
                order(commands, Order::Cancel);
            }
        });
    });
    ui.add_space(6.0);
}

/// What to do now, large enough to be read from where the arm is.
fn say_ui(ui: &mut Ui, text: &str) {
    ui.label(RichText::new(text).size(theme::LARGE));
    ui.add_space(8.0);
}

/// The button that stands out: what is to be pressed next.
fn next_ui(ui: &mut Ui, label: &str, is_enabled: bool) -> bool {
    let tokens = theme::tokens(ui);
    let text = RichText::new(label)
        .size(theme::LARGE)
        .color(tokens.on_chosen);
    let button = Button::new(text)
        .fill(tokens.chosen)
        .min_size(Vec2::new(120.0, 32.0));
    ui.add_enabled(is_enabled, button).clicked()
}

fn back_ui(ui: &mut Ui, is_enabled: bool) -> bool {
    let button = Button::new("Back").min_size(Vec2::new(80.0, 32.0));
    ui.add_enabled(is_enabled, button).clicked()
}

/// Where the words, the buttons below them and the picture beside both go.
fn areas(ui: &Ui) -> [Rect; 3] {
    let page = ui.available_rect_before_wrap();
    let middle = page.left() + page.width() * WORDS_SHARE;
    let words = page.with_max_x(middle - 8.0);
    // The buttons have their place, however many words stand above them.
    let buttons = words.with_min_y(words.bottom() - BUTTONS_HEIGHT);
    [
        words.with_max_y(buttons.top() - 8.0),
        buttons,
        page.with_min_x(middle + 8.0),
    ]
}

/// The arm with one joint led through its usual travel and back, over and over.
fn swung(ui: &Ui, joints: JointVec, joint: Joint) -> JointVec {
    let turn = ui.input(|input| input.time) * std::f64::consts::TAU / SWING_SECONDS;
    let swing = turn.sin() as f32;
    let mut pose = joints;
    pose[joint] = match joint {
        Joint::Gripper => 50.0 + 50.0 * swing,
        _ => usual_travel(joint) / 2.0 * swing,
    };
    pose
}

/// Letting an arm go takes two presses: it sinks.
fn let_go_ui(
    ui: &mut Ui,
    port: &str,
    held: usize,
    draft: &mut WorkshopDraft,
    commands: &mut Vec<Command>,
) {
    let tokens = theme::tokens(ui);
    let is_asked = draft.asks_to_let_go.as_deref() == Some(port);
    ui.horizontal_wrapped(|ui| {
        ui.label(
            RichText::new(format!(
                "{held} joints have torque and do not move by hand."
            ))
            .color(tokens.text),
        );
        if !is_asked {
            if ui.button("Let it go…").clicked() {
                draft.asks_to_let_go = Some(port.to_owned());
            }
            return;
        }
        ui.label("Support the arm: without torque it sinks.");
        let text = theme::strong("I hold it: let go").color(tokens.on_human);
        if ui.add(Button::new(text).fill(tokens.human)).clicked() {
            order(commands, Order::LetGo(port.to_owned()));
            draft.asks_to_let_go = None;
        }
        if ui.button("Keep holding").clicked() {
            draft.asks_to_let_go = None;
        }
    });
}
