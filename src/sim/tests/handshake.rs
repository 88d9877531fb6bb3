//! The first meeting: everything that speaks against driving an arm is said at once, and nothing is written.

use std::time::Duration;

use super::{connect, enable, kind, rig};
use crate::arm::{ErrorKind, Problem};
use crate::sim::{Fault, SimArm};

fn problems(rig: &SimArm) -> Vec<Problem> {
    match kind(connect(rig)) {
        ErrorKind::Unfit(problems) => problems,
        other => panic!("{other}"),
    }
}

#[test]
fn f11_an_echoing_adapter_is_refused() {
    let rig = rig();
    rig.inject(Fault::Echo);
    let error = connect(&rig).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Echo);
    assert!(error.to_string().contains("Waveshare"));
    assert!(rig.writes().is_empty());
}

#[test]
fn f21_f22_all_problems_are_listed_at_once_and_torque_is_untouched() {
    let rig = rig();
    rig.inject("id:2=1".parse().unwrap());
    rig.inject(Fault::Poke {
        id: 4,
        address: 3,
        value: 4,
    });
    rig.inject(Fault::Poke {
        id: 5,
        address: 1,
        value: 9,
    });
    rig.inject(Fault::Mute(6));
    let found = problems(&rig);
    let missing = |id| {
        found
            .iter()
            .any(|problem| matches!(problem, Problem::Missing(motor) if motor.id == id))
    };
    assert!(missing(2) && missing(6) && !missing(3), "{found:?}");
    assert!(
        found
            .iter()
            .any(|problem| matches!(problem, Problem::Garbled(motor) if motor.id == 1)),
        "{found:?}"
    );
    assert!(
        found.iter().any(
            |problem| matches!(problem, Problem::Model { motor, model: 772 } if motor.id == 4)
        )
    );
    assert!(
        found
            .iter()
            .any(|problem| matches!(problem, Problem::Firmware(versions) if versions.len() == 3))
    );
    let text = connect(&rig).unwrap_err().to_string();
    for word in [
        "possible duplicate id",
        "wrist_flex (motor 4) is model 772",
        "mixed firmware",
        "gripper (motor 6) does not answer",
    ] {
        assert!(text.contains(word), "{text}");
    }
    assert!(rig.writes().is_empty());
}

#[test]
fn f23_f20_wrong_places_calibrations_and_supplies_are_explained() {
    let rig = rig();
    rig.inject(Fault::Position(2, 300));
    rig.inject(Fault::Offset(5, -1500));
    rig.inject(Fault::Poke {
        id: 3,
        address: 18,
        value: 0x1C,
    });
    rig.inject(Fault::Supply(3.2));
    rig.clock().advance(Duration::from_millis(5));
    let found = problems(&rig);
    assert!(
        found
            .iter()
            .any(|problem| matches!(problem, Problem::Position { position: 300, .. }))
    );
    assert!(found.iter().any(|problem| matches!(
        problem,
        Problem::Calibration {
            what: "homing_offset",
            servo: -1500,
            ..
        }
    )));
    assert!(
        found
            .iter()
            .any(|problem| matches!(problem, Problem::MultiTurn(motor) if motor.id == 3))
    );
    assert_eq!(
        found
            .iter()
            .filter(|problem| matches!(problem, Problem::Voltage { .. }))
            .count(),
        6
    );
    assert!(rig.writes().is_empty());
}

#[test]
fn a_hot_servo_is_not_switched_on() {
    let rig = rig();
    rig.inject(Fault::Temperature(6, 66.0));
    let mut arm = connect(&rig).unwrap();
    let before = rig.writes().len();
    let unfit = kind(enable(&mut arm));
    assert!(
        matches!(&unfit, ErrorKind::Unfit(problems) if matches!(problems[..], [Problem::Hot { celsius: 66, .. }])),
        "{unfit}"
    );
    assert_eq!(rig.writes().len(), before);
}
