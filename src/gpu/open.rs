//! Opens the device that was asked for, or the best there is, and says which and why.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use burn::tensor::{Device, Tensor};
use burn_wgpu::WgpuSetup;

use super::adapter::{Adapter, AdapterKind, adapters};
use super::compute::Compute;
use super::{Arithmetic, DeviceChoice, Error, Wish};

/// A device that works, and how it came to be chosen.
#[derive(Clone, Debug)]
pub struct OpenedDevice {
    /// Burn's handle. Tensors made on it belong to one thread.
    pub device: Device,
    /// Adapter name, or the CPU.
    pub name: String,
    /// `Vulkan`, `Metal`, `Dx12`, or `Flex` for the CPU.
    pub backend: String,
    /// Driver and version; empty for the CPU.
    pub driver: String,
    /// Why this one, in words for the operator.
    pub why: String,
    /// A GPU interface that computes on the CPU: slow.
    pub software: bool,
    /// wgpu's own handles of the same device; `None` for the CPU.
    pub setup: Option<WgpuSetup>,
    /// Own kernels on the same device, which stay compiled however often it is opened; `None` for the CPU.
    pub compute: Option<Compute>,
    /// What computes on it, and how weights are held.
    pub arithmetic: Arithmetic,
    /// Own kernels, or a format that only they have, were asked for by name: nothing else may fly in their place.
    pub insisted: bool,
}

impl OpenedDevice {
    /// Where it computes: adapter, backend.
    pub fn place(&self) -> String {
        format!("{}, {}", self.name, self.backend)
    }

    /// One line for people: adapter, backend, arithmetic.
    pub fn summary(&self) -> String {
        format!("{}, {}", self.place(), self.arithmetic)
    }
}

/// Opens a device, to compute on it with own kernels where it has them, in f32. The same adapter can be asked for again and is then
/// shared.
///
/// # Errors
/// No such adapter, or a driver that fails. With `Auto` a failing GPU leads to the CPU and is named in `why`.
pub fn open(choice: DeviceChoice) -> Result<OpenedDevice, Error> {
    open_for(choice.into())
}

/// As [`open`], to compute the way that is wished for.
///
/// # Errors
/// As [`open`], and kernels or a precision that the device does not have.
pub fn open_for(wish: Wish) -> Result<OpenedDevice, Error> {
    let mut opened = open_any(wish.device)?;
    opened.arithmetic = wish.arithmetic(&opened)?;
    opened.insisted = wish.insists();
    Ok(opened)
}

fn open_any(choice: DeviceChoice) -> Result<OpenedDevice, Error> {
    match choice {
        DeviceChoice::Flex => Ok(cpu("asked for".into())),
        DeviceChoice::Auto => Ok(open_best(&adapters())),
        DeviceChoice::Wgpu => {
            let found = adapters();
            let best = best_hardware(&found);
            let adapter = best.ok_or_else(|| absent("hardware GPU", &found))?;
            open_adapter(adapter, "best hardware GPU".into())
        }
        DeviceChoice::Software => {
            let found = adapters();
            let software = found.iter().find(|a| a.kind == AdapterKind::Software);
            let adapter = software.ok_or_else(|| absent("software adapter", &found))?;
            open_adapter(adapter, "software adapter asked for".into())
        }
        DeviceChoice::Gpu(number) => {
            let found = adapters();
            let wanted = format!("adapter gpu:{number}");
            let adapter = found.get(number).ok_or_else(|| absent(&wanted, &found))?;
            open_adapter(adapter, "asked for by number".into())
        }
    }
}

fn open_best(found: &[Adapter]) -> OpenedDevice {
    let Some(adapter) = best_hardware(found) else {
        return cpu(format!("no usable hardware GPU ({})", seen(found)));
    };
    open_adapter(adapter, "best hardware GPU".into()).unwrap_or_else(|error| {
        log::warn!("{error}");
        cpu(format!("the GPU failed: {error}"))
    })
}

/// Discrete before integrated; on equal terms the order of enumeration.
fn best_hardware(found: &[Adapter]) -> Option<&Adapter> {
    found
        .iter()
        .filter(|adapter| adapter.kind != AdapterKind::Software)
        .filter(|adapter| adapter.selector.kind.is_some() && adapter.shortfall().is_none())
        .min_by_key(|adapter| adapter.kind)
}

fn absent(wanted: &str, found: &[Adapter]) -> Error {
    Error::Absent {
        wanted: wanted.to_owned(),
        seen: seen(found),
    }
}

fn seen(found: &[Adapter]) -> String {
    if found.is_empty() {
        return "wgpu sees no adapter at all: no driver for Vulkan, Metal or DirectX 12".into();
    }
    let list: Vec<String> = found
        .iter()
        .map(|adapter| match adapter.shortfall() {
            Some(why) => format!("{adapter}: {why}"),
            None => adapter.to_string(),
        })
        .collect();
    format!("found {}", list.join("; "))
}

fn cpu(why: String) -> OpenedDevice {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    OpenedDevice {
        device: Device::flex(),
        name: format!("CPU, {threads} threads"),
        backend: "Flex".into(),
        driver: String::new(),
        why,
        software: false,
        setup: None,
        compute: None,
        arithmetic: Arithmetic::default(),
        insisted: false,
    }
}

fn open_adapter(adapter: &Adapter, why: String) -> Result<OpenedDevice, Error> {
    if let Some(why) = adapter.shortfall() {
        return Err(Error::TooSmall {
            adapter: adapter.to_string(),
            why,
        });
    }
    let (device, setup, compute) = shared(adapter)?;
    Ok(OpenedDevice {
        device,
        name: adapter.name.clone(),
        backend: adapter.backend.clone(),
        driver: adapter.driver.clone(),
        why,
        software: adapter.kind == AdapterKind::Software,
        setup: Some(setup),
        compute: Some(compute),
        arithmetic: Arithmetic::default(),
        insisted: false,
    })
}

/// An adapter can be brought up only once in a process; whoever comes later gets the same device.
fn shared(adapter: &Adapter) -> Result<(Device, WgpuSetup, Compute), Error> {
    static OPENED: Mutex<Vec<(usize, Device, WgpuSetup, Compute)>> = Mutex::new(Vec::new());
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = opened.iter().find(|(number, ..)| *number == adapter.number);
    if let Some((_, device, setup, compute)) = known {
        return Ok((device.clone(), setup.clone(), compute.clone()));
    }
    let failed = |reason: String| Error::Driver {
        adapter: adapter.to_string(),
        reason,
    };
    // Drivers are foreign code: some panic inside wgpu instead of returning.
    let (device, setup) = catch_unwind(AssertUnwindSafe(|| bring_up(adapter)))
        .unwrap_or_else(|panic| Err(words(&*panic)))
        .map_err(failed)?;
    let compute = Compute::new(&setup);
    opened.push((
        adapter.number,
        device.clone(),
        setup.clone(),
        compute.clone(),
    ));
    Ok((device, setup, compute))
}

fn bring_up(adapter: &Adapter) -> Result<(Device, WgpuSetup), String> {
    let kind = adapter.selector.kind.clone();
    let kind = kind.ok_or("Burn cannot address an adapter of this kind")?;
    let (device, setup) = Device::wgpu_options()
        .graphics_api(adapter.selector.backend)
        .device_kind(kind)
        .init_with_setup()
        .map_err(|error| error.to_string())?;
    let opened = setup.adapter.get_info();
    if opened.name != adapter.name {
        return Err(format!("{} answered instead", opened.name));
    }
    // The smallest possible proof that the driver computes and gives back values.
    let sum = Tensor::<1>::from_floats([1.5, 2.0, 3.25], &device) + 1.0;
    match sum.try_into_vec_as::<f32>() {
        Ok(values) if values == [2.5, 3.0, 4.25] => Ok((device, setup)),
        Ok(values) => Err(format!(
            "it computes 1.5 + 1, 2 + 1, 3.25 + 1 as {values:?}"
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// What a panic said.
pub fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "the driver panicked without a word".into())
}

#[cfg(test)]
mod tests {
    use burn::tensor::DeviceKind;
    use burn_wgpu::WgpuBackend;

    use super::super::adapter::Selector;
    use super::*;

    fn adapter(number: usize, kind: AdapterKind, binding: u64) -> Adapter {
        Adapter {
            number,
            name: format!("Card {number}"),
            backend: "Vulkan".into(),
            kind,
            driver: String::new(),
            max_binding_bytes: binding,
            max_buffer_bytes: 1 << 30,
            workgroup_bytes: 32 << 10,
            max_invocations: 256,
            max_storage_buffers: 8,
            subgroup: (32, 32),
            shader_f16: false,
            timestamps: false,
            selector: Selector {
                backend: WgpuBackend::Vulkan,
                kind: Some(DeviceKind::DiscreteGpu(0)),
            },
        }
    }

    #[test]
    fn hardware_is_ranked_and_software_never_chosen_unasked() {
        let found = [
            adapter(0, AdapterKind::Software, 1 << 30),
            adapter(1, AdapterKind::Integrated, 1 << 30),
            adapter(2, AdapterKind::Discrete, 1 << 20),
            adapter(3, AdapterKind::Discrete, 1 << 30),
        ];
        assert_eq!(best_hardware(&found).unwrap().number, 3);
        assert_eq!(best_hardware(&found[..3]).unwrap().number, 1);
        assert!(best_hardware(&found[..1]).is_none());
    }

    #[test]
    fn without_hardware_the_cpu_computes_and_says_why() {
        let opened = open_best(&[adapter(0, AdapterKind::Software, 1 << 30)]);
        assert_eq!(opened.backend, "Flex");
        assert!(opened.why.contains("Card 0"), "{}", opened.why);
        assert!(open_best(&[]).why.contains("no adapter at all"));
    }

    #[test]
    fn a_number_that_is_not_there_is_named() {
        let error = open(DeviceChoice::Gpu(9999)).unwrap_err();
        assert!(error.to_string().contains("gpu:9999"), "{error}");
    }
}
