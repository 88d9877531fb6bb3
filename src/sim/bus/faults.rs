//! Makes things go wrong on the bus, and ends it again.

use super::SimBus;
use crate::arm::register::Register;
use crate::sim::faults::{EVERY_SERVO, Fault};
use crate::sim::servo::SimServo;

impl SimBus {
    /// Makes something go wrong.
    pub fn inject(&mut self, fault: Fault) {
        if let Some(id) = fault.servo()
            && !matches!(fault, Fault::Mute(_) | Fault::MuteFor(..))
        {
            self.spoil(id, &fault);
            return;
        }
        match fault {
            Fault::Burst(period) => self.faults.burst = Some(period),
            Fault::Mute(id) => self.faults.mute.push(id),
            Fault::MuteFor(id, transactions) => self.faults.mute_for.push((id, transactions)),
            Fault::Silent => self.faults.silent = true,
            Fault::Echo => self.faults.echo = true,
            Fault::EchoOff => self.faults.echo = false,
            Fault::Delay(by) => self.faults.delay = by,
            Fault::Stall(time) => self.faults.stall = time,
            Fault::Supply(volts) => self.supply_volts = volts,
            Fault::Disconnect => self.faults.disconnected = true,
            Fault::DisconnectAfter(bytes) => self.faults.disconnect_after = Some(bytes),
            Fault::Next { skip, distortion } => self.faults.strike(skip, distortion),
            Fault::Random(chance) => self.faults.play(chance),
            Fault::Heal => self.heal(),
            // Faults of one servo: done above.
            _ => {}
        }
    }

    /// Spoils the servo with this id, or each; where two share an id, the first.
    fn spoil(&mut self, id: u8, fault: &Fault) {
        let meant = |servo: &&mut SimServo| servo.id() == id || id == EVERY_SERVO;
        let count = if id == EVERY_SERVO { usize::MAX } else { 1 };
        for servo in self.servos.iter_mut().filter(meant).take(count) {
            spoil(servo, fault);
        }
        self.show();
    }

    /// Ends all faults that last, random ones too; a cable that is out is put in again. What was changed at once stays
    /// changed, and a script goes on.
    pub fn heal(&mut self) {
        self.faults.end();
        self.supply_volts = self.build.variant().supply_volts();
        self.answers.clear();
        for servo in &mut self.servos {
            servo.forced_alarms = 0;
            servo.stuck = false;
            servo.worn = false;
            servo.kick = 0.0;
            servo.object = None;
        }
    }
}

/// Faults of one servo.
fn spoil(servo: &mut SimServo, fault: &Fault) {
    match fault {
        Fault::Alarms(_, bits) => servo.forced_alarms = *bits,
        Fault::Stuck(_) => servo.stuck = true,
        Fault::Worn(_) => servo.worn = true,
        Fault::Object(_, counts) => servo.put_in_the_way(f64::from(*counts)),
        Fault::Kick(_, counts) => servo.kick = f64::from(*counts),
        Fault::Position(_, counts) => servo.place(servo.encoder_at(f64::from(*counts))),
        Fault::Offset(_, offset) => servo.set(Register::HomingOffset, *offset),
        Fault::BrownOut(_) => servo.power_up(),
        Fault::Temperature(_, celsius) => servo.heat_to(*celsius),
        Fault::Model(_, model) => servo.set(Register::ModelNumber, i32::from(*model)),
        Fault::Firmware(_, major, minor) => {
            servo.set(Register::FirmwareMajorVersion, i32::from(*major));
            servo.set(Register::FirmwareMinorVersion, i32::from(*minor));
        }
        Fault::Poke { address, value, .. } => servo.poke(*address, *value),
        Fault::Readdress(_, id) => servo.set(Register::Id, i32::from(*id)),
        _ => {}
    }
    servo.report();
}
