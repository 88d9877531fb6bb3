//! Our frames and registers beside those of `rustypot`, another driver of these servos, where it is right: it writes the
//! same bytes, and reads the same values from the pretend arm. Where it is not (negative goals through its typed
//! accessors, baud rates below 115200), the manual decides and nothing is compared.

use proptest::prelude::*;
use rustypot::DynamixelProtocolHandler;
use rustypot::servo::feetech::sts3215::DEFINITION;

use crate::arm::packet::{BROADCAST, Instruction, instruction_frame};
use crate::arm::register::Register;
use crate::arm::unrecorded;

/// Our names and theirs.
const REGISTERS: [(Register, &str); 34] = [
    (Register::FirmwareMajorVersion, "firmware_major_version"),
    (Register::FirmwareMinorVersion, "firmware_minor_version"),
    (Register::ModelNumber, "model_number"),
    (Register::Id, "id"),
    (Register::BaudRate, "baud_rate"),
    (Register::ReturnDelayTime, "return_delay_time"),
    (Register::ResponseStatusLevel, "response_status_level"),
    (Register::MinPositionLimit, "min_position_limit"),
    (Register::MaxPositionLimit, "max_position_limit"),
    (Register::MaxTemperatureLimit, "max_temperature_limit"),
    (Register::MaxVoltageLimit, "max_voltage_limit"),
    (Register::MinVoltageLimit, "min_voltage_limit"),
    (Register::MaxTorqueLimit, "max_torque_limit"),
    (Register::Phase, "phase"),
    (Register::UnloadingCondition, "unloading_condition"),
    (Register::PCoefficient, "p_coefficient"),
    (Register::DCoefficient, "d_coefficient"),
    (Register::ICoefficient, "i_coefficient"),
    (Register::ProtectionCurrent, "protection_current"),
    (Register::HomingOffset, "homing_offset"),
    (Register::OperatingMode, "operating_mode"),
    (Register::ProtectiveTorque, "protective_torque"),
    (Register::ProtectionTime, "protection_time"),
    (Register::OverloadTorque, "overload_torque"),
    (Register::TorqueEnable, "torque_enable"),
    (Register::Acceleration, "acceleration"),
    (Register::GoalPosition, "goal_position"),
    (Register::GoalVelocity, "goal_velocity"),
    (Register::TorqueLimit, "torque_limit"),
    (Register::Lock, "lock"),
    (Register::PresentPosition, "present_position"),
    (Register::PresentVelocity, "present_velocity"),
    (Register::PresentLoad, "present_load"),
    (Register::MaximumAcceleration, "maximum_acceleration"),
];

#[test]
fn registers_lie_where_another_driver_has_them_and_carry_the_same_values() {
    let order = DEFINITION.info.word_order;
    for (ours, name) in REGISTERS {
        let theirs = DEFINITION.register(name).unwrap();
        assert_eq!(
            (ours.address(), ours.width()),
            (theirs.addr, theirs.size),
            "{name}"
        );
        for value in (-33_000..=66_000)
            .step_by(7)
            .chain([-2047, -2048, 2047, 2048, 255, 256])
        {
            let encoded = ours.encode(value).ok();
            let expected = theirs.encode(order, i64::from(value)).ok();
            let bytes = encoded.map(|encoded| encoded.as_slice().to_vec());
            assert_eq!(bytes, expected, "{name} = {value}");
            if let Some(bytes) = bytes {
                let read = theirs.decode(order, &bytes).unwrap();
                assert_eq!(i64::from(ours.decode(&bytes)), read, "{name} = {value}");
            }
        }
    }
}

#[cfg(unix)]
mod wire {
    use std::io::Read as _;
    use std::time::Duration;

    use serialport::{SerialPort, TTYPort};

    use super::*;

    /// What the other driver puts on the wire. Nobody answers it, which it may complain about.
    fn sent(speak: impl FnOnce(&DynamixelProtocolHandler, &mut dyn SerialPort)) -> Vec<u8> {
        let (mut line, mut host) = TTYPort::pair().unwrap();
        host.set_timeout(Duration::from_millis(1)).unwrap();
        speak(&DynamixelProtocolHandler::v1(), &mut host);
        // The header says how much there is; nobody waits for silence.
        let mut bytes = vec![0; 4];
        line.set_timeout(Duration::from_secs(5)).unwrap();
        line.read_exact(&mut bytes).unwrap();
        bytes.resize(4 + usize::from(bytes[3]), 0);
        line.read_exact(&mut bytes[4..]).unwrap();
        bytes
    }

    proptest! {
        #![proptest_config(unrecorded(40))]

        #[test]
        fn frames_are_those_of_another_driver(
            id in 0_u8..=253,
            address in 0_u8..=90,
            length in 1_u8..=40,
            bytes in prop::collection::vec(any::<u8>(), 1..20),
            ids in prop::collection::btree_set(0_u8..=253, 1..8),
        ) {
            let ids: Vec<u8> = ids.into_iter().collect();
            let ours = instruction_frame(id, Instruction::Ping, &[]);
            prop_assert_eq!(sent(|it, port| drop(it.ping(port, id))), ours);

            let ours = instruction_frame(id, Instruction::Read, &[address, length]);
            prop_assert_eq!(sent(|it, port| drop(it.read(port, id, address, length))), ours);

            let ours = instruction_frame(id, Instruction::Write, &[&[address], &bytes[..]].concat());
            prop_assert_eq!(sent(|it, port| drop(it.write(port, id, address, &bytes))), ours);

            let asked = [&[address, length], &ids[..]].concat();
            let ours = instruction_frame(BROADCAST, Instruction::SyncRead, &asked);
            prop_assert_eq!(sent(|it, port| drop(it.sync_read(port, &ids, address, length))), ours);

            let told = ids.iter().flat_map(|id| [&[*id], &bytes[..]].concat());
            let told: Vec<u8> = [address, bytes.len() as u8].into_iter().chain(told).collect();
            let ours = instruction_frame(BROADCAST, Instruction::SyncWrite, &told);
            let values = vec![bytes.clone(); ids.len()];
            prop_assert_eq!(sent(|it, port| drop(it.sync_write(port, &ids, address, &values))), ours);
        }
    }
}
