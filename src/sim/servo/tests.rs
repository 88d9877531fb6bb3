//! The register file's habits, which a driver meets before anything turns.

use super::*;
use crate::arm::Calibration;
use crate::joint::Joint;

fn servo() -> SimServo {
    let motor = Calibration::simulated().motor(Joint::ShoulderPan);
    let encoder = 2000.0 + f64::from(motor.homing_offset);
    SimServo::new(Variant::Volts12, encoder, None).calibrated(motor)
}

fn present(servo: &mut SimServo) -> i32 {
    servo.report();
    servo.get(Register::PresentPosition)
}

#[test]
fn a_servo_out_of_the_box_is_number_one_and_not_calibrated() {
    let mut servo = SimServo::new(Variant::Volts7, 3000.0, None);
    assert_eq!((servo.id(), present(&mut servo)), (1, 3000));
    assert_eq!(servo.read(9, 4), [0, 0, 0xFF, 0x0F]);
    assert_eq!(servo.read(3, 2), [9, 3]);
    assert_eq!(servo.read(14, 2), [80, 40]);
    assert_eq!(servo.read(28, 2), [0xF4, 1]);
    assert_eq!(servo.get(Register::TorqueLimit), 1000);
    assert_eq!(servo.return_delay_us(), 500);
}

#[test]
fn a_locked_eeprom_and_measured_values_ignore_writes() {
    let mut servo = servo();
    servo.write(55, &[1]);
    for (address, bytes) in [(9, [7, 0]), (56, [7, 0]), (85, [254, 1])] {
        servo.write(address, &bytes);
    }
    assert_eq!(servo.get(Register::MinPositionLimit), 796);
    assert_eq!(present(&mut servo), 2000);
    assert_eq!(servo.read(85, 1), [0]);
    servo.write(55, &[0]);
    servo.write(9, &[7, 0]);
    servo.write(85, &[254]);
    servo.write(5, &[254]);
    assert_eq!((servo.get(Register::MinPositionLimit), servo.id()), (7, 1));
    servo.power_up();
    assert_eq!(servo.read(85, 1), [254], "kept without power");
    assert_eq!(servo.get(Register::MinPositionLimit), 7);
}

#[test]
fn positions_wrap_at_a_turn_unless_multi_turn_is_set() {
    let mut servo = servo();
    servo.place(-710.0 + 4161.0);
    assert_eq!(present(&mut servo), 65);
    servo.poke(18, 0x1C);
    servo.turns = 0.0;
    assert_eq!(present(&mut servo), 4161);
    servo.place(4096.0 + 100.0);
    servo.forget_turns();
    assert_eq!(present(&mut servo), 100 + 710);
}

#[test]
fn rezeroing_makes_the_pose_the_middle_and_power_up_forgets_ram() {
    let mut servo = servo();
    servo.write(40, &[REZERO]);
    assert_eq!(present(&mut servo), 2048);
    assert!(!servo.torque());
    servo.write(42, &2500_u16.to_le_bytes());
    servo.power_up();
    assert_eq!(servo.get(Register::GoalPosition), 0);
    assert_eq!(servo.get(Register::TorqueLimit), 1000);
    assert!(!servo.torque());
}

#[test]
fn a_position_is_calibrated_by_instruction_from_firmware_3_10_on() {
    let mut servo = servo();
    assert!(servo.calibrate_position(&[]));
    assert_eq!(present(&mut servo), 2048);
    assert!(servo.calibrate_position(&1000_u16.to_le_bytes()));
    assert_eq!(present(&mut servo), 1000);
    servo.poke(1, 9);
    assert!(!servo.calibrate_position(&[]));
    assert_eq!(present(&mut servo), 1000);
}

#[test]
fn factory_settings_come_back_all_but_the_id() {
    let mut servo = servo();
    servo.set(Register::Id, 4);
    servo.write(42, &2100_u16.to_le_bytes());
    servo.restore_factory();
    assert_eq!(servo.id(), 4);
    assert_eq!(servo.get(Register::HomingOffset), 0);
    assert_eq!(servo.get(Register::MaxPositionLimit), 4095);
    assert!(servo.torque(), "RAM is left alone");
}

#[test]
fn a_servo_is_deaf_while_it_starts_unplugged_or_at_another_rate() {
    let mut servo = servo();
    assert!(servo.hears(1_000_000) && !servo.hears(115_200));
    servo.write(6, &[4]);
    assert!(!servo.hears(1_000_000) && servo.hears(115_200));
    servo.write(6, &[99]);
    assert!(!servo.hears(115_200));
    servo.write(6, &[0]);
    servo.write(42, &2100_u16.to_le_bytes());
    servo.reboot();
    assert!(!servo.hears(1_000_000) && !servo.torque());
    servo.advance(0.9, 12.0);
    assert!(servo.hears(1_000_000));
    servo.plug(false);
    assert!(!servo.hears(1_000_000));
}

#[test]
fn a_kept_write_is_obeyed_on_the_signal() {
    let mut servo = servo();
    servo.write_later(42, &2100_u16.to_le_bytes());
    assert_eq!((servo.torque(), servo.read(64, 1)), (false, vec![1]));
    servo.act();
    assert_eq!((servo.torque(), servo.read(64, 1)), (true, vec![0]));
}
