//! The arms: which are flown, what is on each port, and what can be done with it.

use egui::{Align, Button, Layout, RichText, TextEdit, Ui, Vec2};

use crate::arm::{Role, System};
use crate::joint::JOINT_COUNT;
use crate::runtime::workshop::{ArmCard, CalibrationState, Line, Order, PortView};
use crate::runtime::{ArmSource, Command, Connection, Snapshot};
use crate::ui::card::{badge_ui, card_ui, heading_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::theme;
use crate::ui::workshop::{WorkshopDraft, is_entered, let_go_ui, order};

/// Draws the page.
pub fn arms_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    heading_ui(ui, "IN USE", |_| {});
    for role in Role::ALL {
        in_use_ui(ui, snapshot, role, commands);
    }
    ui.add_space(12.0);
    heading_ui(ui, "PORTS", |ui| {
        if ui.button("Which arm is which?").clicked() {
            order(commands, Order::Identify);
        }
        if ui.button("Find a port by its plug").clicked() {
            order(commands, Order::FindPort);
        }
        if ui.button("Look again").clicked() {
            order(commands, Order::Survey);
        }
    });
    let ports = &snapshot.workshop.ports;
    // What cannot be an arm comes last and small.
    let (likely, unlikely): (Vec<&PortView>, Vec<&PortView>) = ports.iter().partition(|port| {
        let is_used = snapshot.sources.role_of(&port.info.path).is_some();
        port.info.adapter || is_used || port.line != Line::Unknown
    });
    if snapshot.workshop.is_surveyed && likely.is_empty() {
        ui.label("No USB port is there.");
        weak_ui(ui, format!("{}.", System::here().without_port()));
        ui.add_space(6.0);
    }
    for port in likely {
        port_ui(ui, snapshot, port, &mut draft.workshop, commands);
        ui.add_space(6.0);
    }
    for port in unlikely {
        other_port_ui(ui, port, commands);
    }
    ui.add_space(6.0);
    named_port_ui(ui, &mut draft.workshop, commands);
    ui.add_space(12.0);
    heading_ui(ui, "WITHOUT HARDWARE", |_| {});
    let is_flown = snapshot.sources.follower == Some(ArmSource::Simulated);
    ui.horizontal(|ui| {
        ui.label(theme::strong("Simulated arm"));
        if is_flown {
            badge_ui(ui, "in use as the follower", theme::tokens(ui).text);
        } else if ui
            .button("Fly the simulated arm")
            .on_hover_text("The follower in use is disconnected; it must not hold.")
            .clicked()
        {
            commands.push(Command::UseArm(Role::Follower, Some(ArmSource::Simulated)));
        }
    });
}

fn in_use_ui(ui: &mut Ui, snapshot: &Snapshot, role: Role, commands: &mut Vec<Command>) {
    let source = snapshot.sources.of(role);
    ui.horizontal(|ui| {
        let size = Vec2::new(60.0, 20.0);
        ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_width(size.x);
            ui.label(theme::strong(role.name()));
        });
        let Some(source) = source else {
            weak_ui(ui, "none; choose one below");
            return;
        };
        ui.label(source.to_string());
        if let ArmSource::Port { id, .. } = source
            && !id.is_empty()
        {
            weak_ui(ui, format!("id {id}"));
        }
        if role == Role::Follower {
            weak_ui(ui, connection_word(snapshot));
        }
        let label = format!("Disconnect the {role}");
        let hint = "Closes its port, so that it can be calibrated or replaced. Release its torque first: an arm that holds stays connected.";
        if ui.button(label).on_hover_text(hint).clicked() {
            commands.push(Command::UseArm(role, None));
        }
        let is_uncalibrated = matches!(snapshot.connection, Connection::Uncalibrated(_));
        if let (Role::Follower, true, Some(port)) = (role, is_uncalibrated, source.port()) {
            let port = port.to_owned();
            if ui.button("Disconnect and calibrate it").clicked() {
                commands.push(Command::UseArm(role, None));
                order(commands, Order::Calibrate { port, role });
            }
        }
    });
    if let (Role::Follower, Connection::Uncalibrated(why) | Connection::Lost(why)) =
        (role, &snapshot.connection)
    {
        weak_ui(ui, why);
    }
}

fn connection_word(snapshot: &Snapshot) -> String {
    match &snapshot.connection {
        Connection::Absent => "no connection".to_owned(),
        Connection::Connecting => "connecting".to_owned(),
        Connection::Connected { torque: true } => "torque on".to_owned(),
        Connection::Connected { torque: false } if snapshot.held_joints > 0 => {
            format!("{} joints hold", snapshot.held_joints)
        }
        Connection::Connected { torque: false } => "limp".to_owned(),
        Connection::Uncalibrated(_) => "not calibrated".to_owned(),
        Connection::Lost(_) => "lost".to_owned(),
    }
}

fn port_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    port: &PortView,
    draft: &mut WorkshopDraft,
    commands: &mut Vec<Command>,
) {
    let tokens = theme::tokens(ui);
    let path = port.info.path.as_str();
    let used_as = snapshot.sources.role_of(path);
    let edge = match (&port.line, used_as) {
        (_, Some(_)) => tokens.chosen,
        (Line::Refused(_), _) => tokens.fault,
        (Line::Arm(card), _) if !card.problems.is_empty() => tokens.fault,
        _ => tokens.line,
    };
    card_ui(ui, edge, |ui| {
        ui.horizontal(|ui| {
            ui.label(theme::strong(path).size(theme::LARGE));
            weak_ui(ui, &port.info.description);
            if let Some(serial) = &port.info.serial {
                weak_ui(ui, format!("board {serial}"));
            }
            if let Some(role) = used_as {
                badge_ui(ui, &format!("in use as the {role}"), tokens.text);
            }
        });
        if used_as.is_some() {
            weak_ui(ui, "Disconnect it to calibrate it or to number its servos.");
            return;
        }
        match &port.line {
            Line::Unknown => {
                weak_ui(ui, "not asked yet");
            }
            Line::Looking => {
                weak_ui(ui, "asking who is there");
            }
            Line::Refused(trouble) => {
                ui.label(&trouble.what);
                weak_ui(ui, &trouble.remedy);
            }
            Line::Empty => {
                ui.label("No servo with a number of an arm answers.");
                weak_ui(
                    ui,
                    "Is the arm's power on? Fresh servos get their numbers under Set ids.",
                );
            }
            Line::Arm(card) => card_words_ui(ui, card),
        }
        actions_ui(ui, port, draft, commands);
    });
}

/// Who is there, whether it is calibrated, and what is wrong with it.
fn card_words_ui(ui: &mut Ui, card: &ArmCard) {
    let tokens = theme::tokens(ui);
    let who = if card.present == JOINT_COUNT {
        "SO-101, all six servos".to_owned()
    } else {
        format!("{} of {JOINT_COUNT} servos", card.present)
    };
    ui.horizontal_wrapped(|ui| {
        ui.label(theme::strong(who));
        match &card.calibration {
            CalibrationState::Absent => {
                badge_ui(ui, "not calibrated", tokens.human);
            }
            CalibrationState::Foreign => {
                badge_ui(ui, "calibrated elsewhere", tokens.human).on_hover_text(
                    "Its servos hold a calibration that no file on this machine has. Calibrate it, or bring its file.",
                );
            }
            CalibrationState::Known(owners) => {
                for (role, id) in owners {
                    badge_ui(ui, &format!("calibrated: {role} {id}"), tokens.good);
                }
            }
        }
        if let Some(volts) = card.volts {
            ui.label(theme::figure(format!("{volts:.1} V"), theme::BODY));
        }
        if let Some(hint) = &card.hint {
            weak_ui(ui, hint);
        }
    });
    for problem in &card.problems {
        ui.label(RichText::new(problem).color(tokens.fault_text));
    }
}

fn actions_ui(
    ui: &mut Ui,
    port: &PortView,
    draft: &mut WorkshopDraft,
    commands: &mut Vec<Command>,
) {
    let tokens = theme::tokens(ui);
    let path = port.info.path.clone();
    let card = match &port.line {
        Line::Arm(card) => Some(card),
        _ => None,
    };
    let guess = card.map_or(Role::Follower, |card| card.role);
    let role = *draft.roles.get(&path).unwrap_or(&guess);
    if let Some(card) = card.filter(|card| card.held_joints > 0) {
        let_go_ui(ui, &path, card.held_joints, draft, commands);
    }
    ui.horizontal(|ui| {
        let segments = Role::ALL.map(|choice| {
            let hint = "What this arm is for.";
            Segment::plain(tokens, choice.name(), choice == role, hint)
        });
        let size = Vec2::new(150.0, 24.0);
        if let Some(i) = segmented_ui(ui, &segments, size, &theme::font(theme::BODY)) {
            draft.roles.insert(path.clone(), Role::ALL[i]);
        }
        let owner = card.and_then(|card| owner(card, role));
        let use_it = Button::new(format!("Use as {role}"));
        let response = ui
            .add_enabled(owner.is_some(), use_it)
            .on_disabled_hover_text(format!("It is not calibrated as a {role} yet."))
            .on_hover_text("Its port is opened and its servos are checked; torque stays off.");
        if let (true, Some(id)) = (response.clicked(), owner) {
            let source = ArmSource::Port {
                path: path.clone(),
                id: id.to_owned(),
            };
            commands.push(Command::UseArm(role, Some(source)));
        }
        if ui.button("Calibrate").clicked() {
            let port = path.clone();
            order(commands, Order::Calibrate { port, role });
        }
        if ui.button("Set ids").clicked() {
            let port = path.clone();
            order(commands, Order::SetIds { port, role });
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("Look").clicked() {
                order(commands, Order::Look(path.clone()));
            }
        });
    });
}

/// The id that it is known by in this role.
fn owner(card: &ArmCard, role: Role) -> Option<&str> {
    let CalibrationState::Known(owners) = &card.calibration else {
        return None;
    };
    let own = owners.iter().find(|(as_role, _)| *as_role == role);
    own.map(|(_, id)| id.as_str())
}

/// A port that is hardly an arm's: it is not opened unasked, because some devices restart then.
fn other_port_ui(ui: &mut Ui, port: &PortView, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        ui.label(&port.info.path);
        weak_ui(ui, &port.info.description);
        weak_ui(ui, "hardly an arm");
        let name = format!("Look at {}", port.info.path);
        if ui.small_button(name).clicked() {
            order(commands, Order::Look(port.info.path.clone()));
        }
    });
}

fn named_port_ui(ui: &mut Ui, draft: &mut WorkshopDraft, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        ui.label("Another port");
        let field = TextEdit::singleline(&mut draft.port)
            .hint_text("/dev/ttyUSB0, COM7")
            .desired_width(180.0);
        let field = ui.add(field).accessible_name("Another port");
        let path = draft.port.trim().to_owned();
        let look = ui.add_enabled(!path.is_empty(), Button::new("Look at it"));
        if !path.is_empty() && (look.clicked() || is_entered(ui, &field)) {
            order(commands, Order::Look(path));
            draft.port.clear();
            // The next port is typed at once, and its letters are no keys of the cockpit.
            field.request_focus();
        }
    });
}
