//! Which arm is flown: chosen in the window, let go only when nothing would fall, and never shared with the workshop.

use crate::arm::Role;
use crate::runtime::core::{Control, Outputs, Wanted};
use crate::runtime::fault_book::words;
use crate::runtime::workshop::Order;
use crate::runtime::{ArmSource, Connection, FaultKind, Mode};

impl Control {
    /// Lets the arm in this role go and takes another, or none.
    pub(super) fn use_arm(&mut self, role: Role, source: Option<ArmSource>, outputs: &mut Outputs) {
        if let Some((what, remedy)) = self.obstacle_to(role, source.as_ref()) {
            let kind = FaultKind::Workshop;
            self.faults
                .flash(self.now, kind, "arm", words(what, remedy));
            return;
        }
        match role {
            Role::Follower => {
                self.warn_of_lost_arm();
                self.forget_arm(source.as_ref());
            }
            // Nobody is followed to where another leader happens to be.
            Role::Leader if self.mode == Mode::Teleop => self.enter(Mode::Hold),
            Role::Leader => {}
        }
        let is_real = source.as_ref().is_some_and(ArmSource::is_real);
        if is_real {
            self.meet_real_arm(outputs);
        }
        let waves = self.sources.leader == Some(ArmSource::Simulated);
        if role == Role::Follower && is_real && waves {
            // The rig's leader waves by itself: no real arm ever follows it.
            self.sources.set(Role::Leader, None);
            outputs.arms.push((Role::Leader, None));
        }
        self.sources.set(role, source.clone());
        self.arms_chosen = true;
        outputs.arms.push((role, source));
    }

    /// Passes an order on to the workshop, unless it is about an arm that is flown.
    pub(super) fn order_workshop(&mut self, order: Order, outputs: &mut Outputs) {
        let used = order
            .port()
            .and_then(|port| Some((port, self.sources.role_of(port)?)));
        let Some((port, role)) = used else {
            outputs.orders.push(order);
            return;
        };
        let what = format!("{order} on {port} was asked for, but its arm is in use as the {role}");
        let remedy = "Disconnect that arm first (Set-up, Arms), then ask again.";
        let kind = FaultKind::Workshop;
        self.faults
            .flash(self.now, kind, "order", words(what, remedy));
    }

    /// Why this cannot be done now, and what to do.
    fn obstacle_to(&self, role: Role, source: Option<&ArmSource>) -> Option<(String, String)> {
        let wanted = source.and_then(ArmSource::port);
        if let Some(port) = wanted {
            let taken = self.sources.role_of(port).filter(|other| *other != role);
            if let Some(other) = taken {
                return Some((
                    format!("{port} was asked for as the {role}, but it is in use as the {other}"),
                    format!("Disconnect the {other} first."),
                ));
            }
            if self.workshop.busy_port() == Some(port) {
                return Some((
                    format!("{port} was asked for as the {role}, but the workshop has it open"),
                    "Finish or cancel there first.".to_owned(),
                ));
            }
        }
        if role == Role::Leader {
            let is_real = self.sources.is_real(Role::Follower);
            let waves = source == Some(&ArmSource::Simulated);
            return (is_real && waves).then(|| {
                (
                    "the simulated leader waves by itself, and a real follower would wave along"
                        .to_owned(),
                    "Choose a real leader, or fly the simulated arm.".to_owned(),
                )
            });
        }
        // The pretend arm falls on nobody.
        let is_real = self.sources.follower != Some(ArmSource::Simulated);
        let is_connected = matches!(self.arm.connection, Connection::Connected { .. });
        let holds = self.arm.held_joints > 0 || self.arm.armed || self.arm.change.is_some();
        // Nobody would hear a stop any more, and nobody lower it.
        (is_real && is_connected && holds).then(|| {
            (
                format!("the arm on {} holds and was not disconnected", self.name),
                "Support it, press Release torque, then choose again.".to_owned(),
            )
        })
    }

    /// An arm that cannot be asked can be let go, but not forgotten: its servos do what they were told last.
    fn warn_of_lost_arm(&mut self) {
        if !matches!(self.arm.connection, Connection::Lost(_)) {
            return;
        }
        let what = format!("{} was disconnected while it did not answer", self.name);
        let remedy = "If it holds, it goes on holding: support it and switch its supply off.";
        let kind = FaultKind::Workshop;
        self.faults
            .flash(self.now, kind, "lost", words(what, remedy));
    }

    /// Nothing of the arm before may reach the next one.
    fn forget_arm(&mut self, source: Option<&ArmSource>) {
        self.enter(Mode::Hold);
        self.reset();
        self.rig.goes_on = false;
        self.arm.wants = Wanted::Nothing;
        self.arm.change = None;
        self.arm.armed = false;
        self.arm.held_joints = 0;
        self.arm.left_holding = false;
        self.arm.gone = false;
        self.arm.failed = None;
        self.arm.failures = 0;
        self.arm.connection = match source {
            Some(_) => Connection::Connecting,
            None => Connection::Absent,
        };
        self.name = source.map(ToString::to_string).unwrap_or_default();
        for kind in [
            FaultKind::BusLost,
            FaultKind::Arming,
            FaultKind::ServoAlarm,
            FaultKind::JointBlocked,
            FaultKind::Uncalibrated,
        ] {
            self.faults.clear(kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::core::bench::{Bench, Temper, flying};
    use crate::runtime::core::{ArmFailure, ArmInput, Inputs};
    use crate::runtime::workshop::{Activity, WorkshopView};
    use crate::runtime::{Command, Knobs};

    fn port(path: &str) -> ArmSource {
        ArmSource::Port {
            path: path.to_owned(),
            id: "blue".to_owned(),
        }
    }

    fn using(path: &str) -> Command {
        Command::UseArm(Role::Follower, Some(port(path)))
    }

    #[test]
    fn an_arm_that_holds_is_not_let_go() {
        for command in [using("COM5"), Command::UseArm(Role::Follower, None)] {
            let mut bench = flying(50);
            bench.tick(vec![command]);
            assert_eq!(bench.arms, []);
            let told = bench.fault(FaultKind::Workshop).map(|it| it.remedy.clone());
            assert!(told.is_some_and(|it| it.contains("Release torque")));
            assert_eq!(bench.seen.mode, Mode::Policy, "the run goes on");
        }
        let mut bench = flying(50);
        bench.tick(vec![Command::ReleaseTorque]);
        bench.tick(vec![]);
        bench.tick(vec![using("COM5")]);
        assert_eq!(bench.arms, [(Role::Follower, Some(port("COM5")))]);
    }

    #[test]
    fn a_pretend_arm_that_holds_makes_room() {
        let mut bench = flying(50);
        bench.control.sources.follower = Some(ArmSource::Simulated);
        bench.tick(vec![using("COM5")]);
        assert_eq!(bench.arms, [(Role::Follower, Some(port("COM5")))]);
        assert_eq!(bench.seen.mode, Mode::Hold);
    }

    #[test]
    fn what_was_asked_of_one_arm_does_not_reach_the_next() {
        let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
        bench.tick(vec![]);
        bench.tick(vec![Command::EnableTorque, using("COM5")]);
        assert_eq!(
            bench.seen.connection,
            Connection::Connected { torque: false }
        );
        assert!(
            bench.seen.arming.is_none(),
            "torque was meant for the other"
        );
        assert_eq!(bench.seen.arm, "COM5");
        assert_eq!(bench.seen.sources.follower, Some(port("COM5")));
        assert!(bench.seen.arms_chosen);
    }

    #[test]
    fn no_real_arm_follows_a_leader_that_waves_by_itself() {
        let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
        bench.tick(vec![Command::UseArm(
            Role::Leader,
            Some(ArmSource::Simulated),
        )]);
        bench.tick(vec![using("COM5")]);
        let leaders = [Some(ArmSource::Simulated), None].map(|source| (Role::Leader, source));
        assert_eq!(bench.arms[..2], leaders);
        assert_eq!(bench.seen.sources.leader, None);
        bench.tick(vec![Command::UseArm(
            Role::Leader,
            Some(ArmSource::Simulated),
        )]);
        assert_eq!((bench.arms.len(), &bench.seen.sources.leader), (3, &None));
        assert!(bench.fault(FaultKind::Workshop).is_some());
    }

    #[test]
    fn one_port_has_one_use() {
        let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
        bench.tick(vec![]);
        bench.tick(vec![using("COM5")]);
        bench.tick(vec![Command::UseArm(Role::Leader, Some(port("COM5")))]);
        assert_eq!(bench.arms.len(), 1);
        bench.tick(vec![Command::Workshop(Order::Look("COM5".to_owned()))]);
        assert!(bench.orders.is_empty());
        let told = bench.fault(FaultKind::Workshop).map(|it| it.what.clone());
        assert!(told.is_some_and(|it| it.contains("follower")));
        bench.tick(vec![
            Command::UseArm(Role::Follower, None),
            Command::Workshop(Order::Look("COM5".to_owned())),
        ]);
        assert_eq!(bench.orders, [Order::Look("COM5".to_owned())]);
    }

    #[test]
    fn the_port_on_the_bench_is_not_driven() {
        let mut control = Control::default();
        let seen = WorkshopView {
            activity: Activity::Numbering(Box::new(numbering("COM5"))),
            ..WorkshopView::default()
        };
        let outputs = control.tick(Inputs {
            commands: vec![using("COM5"), using("COM7")],
            workshop: std::sync::Arc::new(seen),
            ..Inputs::default()
        });
        assert_eq!(outputs.arms, [(Role::Follower, Some(port("COM7")))]);
    }

    fn numbering(port: &str) -> crate::runtime::workshop::NumberingView {
        crate::runtime::workshop::NumberingView {
            port: port.to_owned(),
            role: Role::Follower,
            wanted: None,
            done: [None; 6],
            hunting: None,
            verdict: None,
            chain: None,
            trouble: None,
        }
    }

    #[test]
    fn a_lost_arm_is_let_go_with_a_word_of_warning() {
        let mut control = Control::default();
        let lost = ArmInput::Lost(ArmFailure {
            what: "the adapter is gone".to_owned(),
            ..ArmFailure::default()
        });
        control.tick(Inputs {
            arm: lost,
            ..Inputs::default()
        });
        let outputs = control.tick(Inputs {
            commands: vec![Command::UseArm(Role::Follower, None)],
            ..Inputs::default()
        });
        assert_eq!(outputs.arms, [(Role::Follower, None)]);
        let seen = control.settle(crate::runtime::core::Settled::Nothing);
        let mut faults = seen.faults.iter();
        let told = faults.find(|fault| fault.kind == FaultKind::Workshop);
        assert!(told.is_some_and(|told| told.remedy.contains("support it")));
        let mut lost = seen.faults.iter();
        assert!(lost.all(|fault| fault.kind != FaultKind::BusLost || !fault.active));
    }

    #[test]
    fn an_arm_without_calibration_is_no_lost_arm() {
        let mut control = Control::default();
        let failure = ArmFailure {
            what: "no calibration of a follower called `blue`".to_owned(),
            remedy: "Calibrate it".to_owned(),
            ..ArmFailure::default()
        };
        control.tick(Inputs {
            arm: ArmInput::Uncalibrated(failure),
            ..Inputs::default()
        });
        let seen = control.settle(crate::runtime::core::Settled::Nothing);
        assert!(matches!(seen.connection, Connection::Uncalibrated(_)));
        let kinds: Vec<_> = seen.faults.iter().map(|fault| fault.kind).collect();
        assert_eq!(kinds, [FaultKind::Uncalibrated]);
    }
}
