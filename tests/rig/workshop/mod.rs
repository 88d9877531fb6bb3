//! Whole visits to the workshop, step by step as a person makes them, on pretend arms behind pretend ports and in virtual
//! time; and the runtime that keeps the workshop and the flown arm apart.

mod calibrating;
mod flying;
mod numbering;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use smolpilot::arm::workbench::calibrating::Stage;
use smolpilot::arm::{
    Arm, Calibration, Calibrations, Error, ErrorKind, Options, Port, PortInfo, Role,
};
use smolpilot::clock::Clock;
use smolpilot::joint::Joint;
use smolpilot::runtime::workshop::{
    Activity, ArmCard, CalibratingView, Line, NumberingView, Order, SavedView, Shop, Tools,
    WorkshopView,
};
use smolpilot::sim::{Gesture, SimArm};

/// Where the arm that is worked on is plugged in.
const PORT: &str = "/dev/ttyACM0";

/// A port and the arm behind it; without one it may not be opened.
type Plugged = (PortInfo, Option<SimArm>);

/// Ports with pretend arms behind them.
#[derive(Clone, Default)]
struct Ports(Arc<Mutex<Vec<Plugged>>>);

impl Ports {
    fn plug(&self, path: &str, arm: Option<&SimArm>) {
        let info = PortInfo {
            path: path.to_owned(),
            description: "USB Single Serial".to_owned(),
            usb: true,
            serial: Some(format!("SN-{path}")),
            adapter: true,
        };
        self.0.lock().unwrap().push((info, arm.cloned()));
    }

    fn unplug(&self, path: &str) {
        self.0.lock().unwrap().retain(|(info, _)| info.path != path);
    }

    fn list(&self) -> Vec<PortInfo> {
        let ports = self.0.lock().unwrap();
        ports.iter().map(|(info, _)| info.clone()).collect()
    }

    fn open(&self, path: &str) -> Result<Port, Error> {
        let ports = self.0.lock().unwrap();
        let port = ports.iter().find(|(info, _)| info.path == path);
        let kind = match port {
            Some((_, Some(arm))) => return Ok(arm.port()),
            Some((_, None)) => ErrorKind::Permission,
            None => ErrorKind::NoPort,
        };
        Err(Error {
            port: path.to_owned(),
            kind,
        })
    }

    fn tools(&self, clock: &Clock, calibrations: &Path) -> Tools {
        let (list, open) = (self.clone(), self.clone());
        Tools {
            list: Arc::new(move || list.list()),
            open: Arc::new(move |path| open.open(path)),
            calibrations: Some(Calibrations::below(calibrations)),
            clock: clock.clone(),
        }
    }
}

/// A person in the workshop.
struct Visit {
    shop: Shop,
    clock: Clock,
    ports: Ports,
    place: tempfile::TempDir,
    arm: SimArm,
}

impl Visit {
    /// To a workshop with one arm, whose servos have their numbers and nothing else.
    fn with_fresh_arm(role: Role) -> Self {
        Self::with(SimArm::uncalibrated(Clock::virtual_at_zero(), role))
    }

    fn with(arm: SimArm) -> Self {
        let place = tempfile::tempdir().unwrap();
        let (clock, ports) = (arm.clock().clone(), Ports::default());
        ports.plug(PORT, Some(&arm));
        Self {
            shop: Shop::new(ports.tools(&clock, place.path())),
            clock,
            ports,
            place,
            arm,
        }
    }

    fn say(&mut self, order: Order) -> WorkshopView {
        self.shop.obey(order);
        self.shop.view()
    }

    /// Lets the workshop work for as long as something goes on by itself.
    fn turns(&mut self, turns: u32) -> WorkshopView {
        for _ in 0..turns {
            self.clock.advance(Duration::from_millis(20));
            self.shop.turn();
        }
        self.shop.view()
    }

    fn calibrating(&self) -> CalibratingView {
        match self.shop.view().activity {
            Activity::Calibrating(it) => *it,
            other => panic!("{other:?}"),
        }
    }

    fn numbering(&self) -> NumberingView {
        match self.shop.view().activity {
            Activity::Numbering(it) => *it,
            other => panic!("{other:?}"),
        }
    }

    fn saved(&self) -> SavedView {
        match self.shop.view().activity {
            Activity::Saved(it) => *it,
            other => panic!("{other:?}: {:?}", self.shop.view().trouble),
        }
    }

    fn card(&self, path: &str) -> ArmCard {
        match &self.shop.view().port(path).unwrap().line {
            Line::Arm(card) => ArmCard::clone(card),
            other => panic!("{other:?}"),
        }
    }

    fn begin(&mut self, role: Role) {
        let port = PORT.to_owned();
        let seen = self.say(Order::Calibrate { port, role });
        assert_eq!(seen.trouble, None);
    }

    /// The hand takes one joint towards a value, robot units, until it is there or at its stop.
    fn lead(&mut self, joint: Joint, value: f32) {
        self.arm.hand(Gesture::Joint(joint, value));
        self.until_it_rests();
    }

    fn centre(&mut self) {
        self.arm.hand(Gesture::Middle);
        self.until_it_rests();
    }

    fn until_it_rests(&mut self) {
        loop {
            let before = self.arm.pose();
            self.turns(20);
            if self.arm.pose().max_abs_diff(before) < 0.1 {
                return;
            }
        }
    }

    /// From stop to stop, and back to the middle.
    fn sweep(&mut self, joint: Joint) {
        let (low, high, middle) = match joint {
            Joint::Gripper => (-10.0, 110.0, 50.0),
            _ => (-150.0, 150.0, 0.0),
        };
        for value in [low, high, middle] {
            self.lead(joint, value);
        }
    }

    fn next(&mut self) -> Stage {
        let seen = self.say(Order::Next);
        assert_eq!(seen.trouble, None);
        self.calibrating().stage
    }

    /// From the middle pose to the check.
    fn go_through(&mut self) {
        self.centre();
        assert_eq!(self.next(), Stage::Sweep);
        for joint in Joint::ALL {
            if joint != Joint::WristRoll {
                self.sweep(joint);
            }
        }
        assert_eq!(self.next(), Stage::Close);
        self.lead(Joint::Gripper, -10.0);
        assert_eq!(self.next(), Stage::Open);
        self.lead(Joint::Gripper, 110.0);
        assert_eq!(self.next(), Stage::Check);
    }

    fn files(&self) -> usize {
        let mut folders = vec![self.place.path().to_owned()];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files += 1;
                }
            }
        }
        files
    }
}

fn connect(arm: &SimArm, calibration: Calibration) -> Result<Arm, Error> {
    let options = Options {
        role: arm.build().role,
        clock: arm.clock().clone(),
        ..Options::default()
    };
    Arm::connect(arm.port(), calibration, options)
}
