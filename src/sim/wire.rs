//! A serial port that is made of memory, so that the real driver flies the pretend arm on any system, with no pty and no
//! thread: the servos are brought up to date whenever the host reads or writes.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serialport::{
    ClearBuffer, DataBits, Error, ErrorKind, FlowControl, Parity, Result, SerialPort, StopBits,
};

use crate::arm::BAUD_RATE;
use crate::clock::Clock;
use crate::sim::bus::SimBus;

/// The host's end of the wire. With a virtual clock, waiting costs virtual time only.
#[derive(Debug)]
pub struct SimPort {
    bus: Arc<Mutex<SimBus>>,
    clock: Clock,
    timeout: Duration,
    baud_rate: u32,
}

/// The servos, even if another thread died while it held them: their state is plain data.
pub(super) fn lock(bus: &Mutex<SimBus>) -> MutexGuard<'_, SimBus> {
    bus.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimPort {
    /// A port to `bus`.
    pub fn new(bus: Arc<Mutex<SimBus>>, clock: Clock) -> Self {
        Self {
            bus,
            clock,
            timeout: Duration::from_millis(20),
            baud_rate: BAUD_RATE,
        }
    }

    fn unplugged() -> io::Error {
        io::Error::new(io::ErrorKind::BrokenPipe, "simulated cable pulled")
    }

    /// The servos at this moment, or the error of a pulled cable.
    fn bus(&self) -> io::Result<(MutexGuard<'_, SimBus>, Duration)> {
        let now = self.clock.now();
        let mut bus = lock(&self.bus);
        bus.advance(now);
        if bus.disconnected() {
            Err(Self::unplugged())
        } else {
            Ok((bus, now))
        }
    }
}

impl io::Read for SimPort {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let deadline = self.clock.now() + self.timeout;
        loop {
            let (mut bus, now) = self.bus()?;
            let count = bus.deliver(buffer, now);
            if count > 0 || buffer.is_empty() {
                let stall = bus.stall();
                drop(bus);
                self.clock.sleep_until(now + stall);
                return Ok(count);
            }
            if now >= deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let wake = bus.next_burst().map_or(deadline, |at| at.min(deadline));
            drop(bus);
            self.clock.sleep_until(wake);
        }
    }
}

impl io::Write for SimPort {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (mut bus, now) = self.bus()?;
        bus.receive(bytes, now);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.bus().map(drop)
    }
}

impl SerialPort for SimPort {
    fn name(&self) -> Option<String> {
        Some("simulated arm".to_owned())
    }

    fn baud_rate(&self) -> Result<u32> {
        Ok(self.baud_rate)
    }

    fn data_bits(&self) -> Result<DataBits> {
        Ok(DataBits::Eight)
    }

    fn flow_control(&self) -> Result<FlowControl> {
        Ok(FlowControl::None)
    }

    fn parity(&self) -> Result<Parity> {
        Ok(Parity::None)
    }

    fn stop_bits(&self) -> Result<StopBits> {
        Ok(StopBits::One)
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn set_baud_rate(&mut self, baud_rate: u32) -> Result<()> {
        self.baud_rate = baud_rate;
        lock(&self.bus).set_baud_rate(baud_rate);
        Ok(())
    }

    fn set_data_bits(&mut self, bits: DataBits) -> Result<()> {
        fixed(bits == DataBits::Eight)
    }

    fn set_flow_control(&mut self, control: FlowControl) -> Result<()> {
        fixed(control == FlowControl::None)
    }

    fn set_parity(&mut self, parity: Parity) -> Result<()> {
        fixed(parity == Parity::None)
    }

    fn set_stop_bits(&mut self, bits: StopBits) -> Result<()> {
        fixed(bits == StopBits::One)
    }

    fn set_timeout(&mut self, timeout: Duration) -> Result<()> {
        self.timeout = timeout;
        Ok(())
    }

    fn write_request_to_send(&mut self, _level: bool) -> Result<()> {
        Ok(())
    }

    fn write_data_terminal_ready(&mut self, _level: bool) -> Result<()> {
        Ok(())
    }

    fn read_clear_to_send(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn read_data_set_ready(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn read_ring_indicator(&mut self) -> Result<bool> {
        Ok(false)
    }

    fn read_carrier_detect(&mut self) -> Result<bool> {
        Ok(true)
    }

    fn bytes_to_read(&self) -> Result<u32> {
        let (bus, now) = self.bus()?;
        Ok(bus.waiting(now) as u32)
    }

    fn bytes_to_write(&self) -> Result<u32> {
        Ok(0)
    }

    fn clear(&self, buffer: ClearBuffer) -> Result<()> {
        let (mut bus, now) = self.bus()?;
        if buffer != ClearBuffer::Output {
            bus.clear(now);
        }
        Ok(())
    }

    fn try_clone(&self) -> Result<Box<dyn SerialPort>> {
        Ok(Box::new(Self {
            bus: Arc::clone(&self.bus),
            clock: self.clock.clone(),
            ..*self
        }))
    }

    fn set_break(&self) -> Result<()> {
        Ok(())
    }

    fn clear_break(&self) -> Result<()> {
        Ok(())
    }
}

/// The servos speak 8N1 and nothing else.
fn fixed(same: bool) -> Result<()> {
    if same {
        Ok(())
    } else {
        Err(Error::new(
            ErrorKind::InvalidInput,
            "the simulated servos speak 8N1 only",
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;
    use crate::arm::Role;
    use crate::arm::packet::{Instruction, instruction_frame, status_frame};
    use crate::latest::Latest;
    use crate::sim::build::{Build, Stage};
    use crate::sim::faults::Fault;

    fn port(clock: &Clock) -> SimPort {
        let build = Build::new(Role::Follower, Stage::Calibrated);
        let bus = SimBus::new(build, clock.now(), Latest::new());
        SimPort::new(Arc::new(Mutex::new(bus)), clock.clone())
    }

    #[test]
    fn a_ping_is_answered_after_its_time_on_the_wire() {
        let clock = Clock::virtual_at_zero();
        let mut port = port(&clock);
        port.write_all(&instruction_frame(2, Instruction::Ping, &[]))
            .unwrap();
        assert_eq!(port.bytes_to_read().unwrap(), 0);
        let mut answer = [0; 6];
        port.read_exact(&mut answer).unwrap();
        assert_eq!(answer.as_slice(), status_frame(2, 0, &[]));
        assert_eq!(clock.now(), Duration::from_micros(140));
    }

    #[test]
    fn silence_times_out_in_virtual_time_and_a_pulled_cable_is_an_error() {
        let clock = Clock::virtual_at_zero();
        let mut port = port(&clock);
        port.set_timeout(Duration::from_hours(1)).unwrap();
        let error = port.read(&mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(clock.now(), Duration::from_hours(1));
        lock(&port.bus).inject(Fault::Disconnect);
        for kind in [
            port.read(&mut [0; 4]).unwrap_err().kind(),
            port.write(&[1]).unwrap_err().kind(),
        ] {
            assert_eq!(kind, io::ErrorKind::BrokenPipe);
        }
        assert!(port.clear(ClearBuffer::Input).is_err());
    }
}
