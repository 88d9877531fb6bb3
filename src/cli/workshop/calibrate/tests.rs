//! A calibration by text, on a pretend arm and in virtual time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::arm::{Calibrations, PortInfo};
use crate::clock::Clock;
use crate::runtime::workshop::Tools;
use crate::sim::{Fault, SimArm};

const PORT: &str = "/dev/ttyACM0";

struct Table {
    arm: SimArm,
    shop: Shop,
    talk: Calibration,
    out: Vec<u8>,
    /// Counts after the servos' homing.
    at: [i32; JOINT_COUNT],
    place: tempfile::TempDir,
}

fn tools(arm: &SimArm, place: &Path) -> Tools {
    let port = arm.clone();
    Tools {
        list: Arc::new(|| {
            vec![PortInfo {
                path: PORT.to_owned(),
                ..PortInfo::default()
            }]
        }),
        open: Arc::new(move |_| Ok(port.port())),
        calibrations: Some(Calibrations::below(place)),
        clock: arm.clock().clone(),
    }
}

impl Table {
    fn new(yes: bool) -> Self {
        let arm = SimArm::new(Clock::virtual_at_zero());
        let place = tempfile::tempdir().unwrap();
        let mut shop = Shop::new(tools(&arm, place.path()));
        let args = CalibrateArgs {
            port: PORT.to_owned(),
            role: Role::Follower,
            id: "blue".to_owned(),
            yes,
        };
        let talk = Calibration::begin(&mut shop, &args, false).unwrap();
        let pose = arm.pose();
        let at = Joint::ALL.map(|joint| arm.calibration().unnormalize(joint, pose[joint]));
        Self {
            arm,
            shop,
            talk,
            out: Vec::new(),
            at,
            place,
        }
    }

    fn turn(&mut self, said: &Said) -> anyhow::Result<Option<Outcome>> {
        self.arm.clock().advance(Duration::from_millis(20));
        self.shop.turn();
        self.talk.turn(&mut self.shop, said, &mut self.out)
    }

    fn say(&mut self, line: &str) -> Option<Outcome> {
        self.turn(&Said::Line(line.to_owned())).unwrap()
    }

    fn wait(&mut self, turns: u32) -> Option<Outcome> {
        (0..turns).find_map(|_| self.turn(&Said::Nothing).unwrap())
    }

    fn lead(&mut self, joint: Joint, by: i32) {
        let index = joint.index();
        let goal = self.at[index] + by;
        while self.at[index] != goal {
            self.at[index] += (goal - self.at[index]).clamp(-150, 150);
            self.arm
                .inject(Fault::Position(index as u8 + 1, self.at[index]));
            self.turn(&Said::Nothing).unwrap();
        }
    }

    fn sweep_all(&mut self) {
        for joint in Joint::ALL {
            if joint != Joint::WristRoll {
                for by in [-1000, 2000, -1000] {
                    self.lead(joint, by);
                }
            }
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    fn kept(&self) -> Option<crate::arm::Calibration> {
        let kept = Calibrations::below(self.place.path());
        kept.read(Role::Follower, "blue").ok()
    }
}

#[test]
fn enter_goes_from_step_to_step_and_saves_at_the_end() {
    let mut table = Table::new(false);
    table.wait(30);
    table.say("");
    table.lead(Joint::ShoulderPan, 300);
    table.say("");
    assert!(table.text().contains("elbow_flex has not moved yet"));
    table.say("r pan");
    table.say("r shoulder_pan");
    table.lead(Joint::ShoulderPan, -300);
    table.sweep_all();
    table.say("");
    table.lead(Joint::Gripper, -1000);
    table.say("");
    table.lead(Joint::Gripper, 2000);
    table.say("");
    table.wait(2);
    assert!(table.text().contains("save it as follower blue"));
    assert_eq!((table.arm.writes(), table.kept()), (vec![], None));
    table.say("");
    assert_eq!(table.wait(2), Some(Outcome::Done));
    assert!(table.kept().is_some() && table.text().contains("blue.json"));
}

#[test]
fn hands_free_each_step_is_over_when_it_is_done_and_the_arm_rests() {
    let mut table = Table::new(true);
    // In its middle from the beginning: that takes longer to be believed.
    table.wait(200);
    assert!(!table.text().contains("[2/6]"));
    table.wait(500);
    assert!(table.text().contains("[2/6]"), "{}", table.text());
    table.sweep_all();
    // The gripper rests open, and is not taken for closed.
    table.lead(Joint::Gripper, 1000);
    table.wait(600);
    assert!(table.text().contains("[3/6]") && !table.text().contains("[4/6]"));
    table.lead(Joint::Gripper, -2000);
    table.wait(150);
    table.lead(Joint::Gripper, 2000);
    assert_eq!(table.wait(400), Some(Outcome::Done));
    let kept = table.kept().unwrap();
    assert_eq!(kept.motor(Joint::Gripper).drive_mode, 0);
}

#[test]
fn hands_free_a_middle_that_was_sought_is_taken_when_it_rests() {
    let mut table = Table::new(true);
    table.wait(20);
    table.lead(Joint::ElbowFlex, 400);
    table.wait(90);
    assert!(!table.text().contains("[2/6]"));
    table.wait(30);
    assert!(table.text().contains("[2/6]"));
}

#[test]
fn leaving_and_the_end_of_the_input_write_nothing() {
    for end in [Said::Line("q".to_owned()), Said::End] {
        let mut table = Table::new(false);
        table.wait(30);
        table.say("");
        assert_eq!(table.turn(&end).unwrap(), Some(Outcome::Fault));
        assert!(table.text().contains("Nothing was written"));
        assert_eq!((table.arm.writes(), table.kept()), (vec![], None));
    }
}

#[test]
fn a_port_or_an_id_that_is_none_is_refused_at_once() {
    let arm = SimArm::new(Clock::virtual_at_zero());
    let place = tempfile::tempdir().unwrap();
    let mut shop = Shop::new(tools(&arm, place.path()));
    let mut args = CalibrateArgs {
        port: PORT.to_owned(),
        role: Role::Leader,
        id: "../up".to_owned(),
        yes: false,
    };
    assert!(Calibration::begin(&mut shop, &args, false).is_err());
    args.id = "amber".to_owned();
    arm.inject(Fault::Silent);
    let why = Calibration::begin(&mut shop, &args, false).err().unwrap();
    assert!(why.to_string().contains("no servo answers"), "{why}");
}
