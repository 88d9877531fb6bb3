//! The SO-101 on its serial bus: packets, registers, calibration, arming and limits.

/// An opened serial port, real or in memory.
pub type Port = Box<dyn serialport::SerialPort>;
