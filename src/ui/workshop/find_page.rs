//! Finding an arm's port by its plug.

use egui::Ui;

use crate::arm::workbench::finding::Finding;
use crate::runtime::Command;
use crate::runtime::workshop::Order;
use crate::ui::card::weak_ui;
use crate::ui::workshop::{UNWRITTEN, head_ui, next_ui, order, say_ui};

/// Draws the step.
pub fn find_ui(ui: &mut Ui, finding: &Finding, commands: &mut Vec<Command>) {
    head_ui(ui, "Find a port by its plug", None, UNWRITTEN, commands);
    match finding {
        Finding::Unplug { before } => {
            say_ui(
                ui,
                "Pull the USB cable of the arm out of this computer; leave the arm's power as it is.",
            );
            weak_ui(
                ui,
                "If it is not plugged in yet, plug it in: that tells as well. Nothing needs to be pressed.",
            );
            ui.add_space(8.0);
            for port in before {
                weak_ui(ui, format!("{}  {}", port.path, port.description));
            }
        }
        Finding::Replug { gone, .. } => {
            say_ui(
                ui,
                &format!("{} is gone. Put the cable in again.", gone.path),
            );
            weak_ui(ui, "It may come back under another name.");
        }
        Finding::Found(port) => {
            say_ui(ui, &format!("It is {}.", port.path));
            weak_ui(ui, &port.description);
            ui.add_space(8.0);
            if next_ui(ui, "Who is there?", true) {
                order(commands, Order::Look(port.path.clone()));
            }
        }
        Finding::Several(ports) => {
            let paths: Vec<&str> = ports.iter().map(|port| port.path.as_str()).collect();
            say_ui(
                ui,
                &format!(
                    "Several ports changed at once ({}): pull out one plug alone.",
                    paths.join(", ")
                ),
            );
            if next_ui(ui, "Try again", true) {
                order(commands, Order::FindPort);
            }
        }
    }
}
