//! The adapters that wgpu finds on this machine, with what decides whether the network fits.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use burn::tensor::DeviceKind;
use burn_wgpu::WgpuBackend;
use serde::Serialize;

/// Smallest storage binding that will do: the connector's weight takes 47 MiB, one camera's attention scores 48 MiB.
const LEAST_BINDING: u64 = 64 << 20;
/// Smallest workgroup and fewest storage buffers that Burn's kernels need.
const LEAST_INVOCATIONS: u32 = 256;
const LEAST_STORAGE_BUFFERS: u32 = 8;

/// What sort of hardware is behind an adapter, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AdapterKind {
    /// Has its own memory.
    Discrete,
    /// Shares memory with the CPU.
    Integrated,
    /// Passed into a virtual machine.
    Virtual,
    /// wgpu cannot tell.
    Other,
    /// Computes on the CPU (lavapipe, WARP, `SwiftShader`).
    Software,
}

/// One adapter on one graphics API.
#[derive(Clone, Debug, Serialize)]
pub struct Adapter {
    /// `gpu:N` of the command line.
    pub number: usize,
    /// Name as the driver gives it.
    pub name: String,
    /// Graphics API: `Vulkan`, `Metal` or `Dx12`.
    pub backend: String,
    /// Sort of hardware.
    pub kind: AdapterKind,
    /// Driver and its version.
    pub driver: String,
    /// Largest buffer that a kernel may see, in bytes.
    pub max_binding_bytes: u64,
    /// Largest buffer, in bytes.
    pub max_buffer_bytes: u64,
    /// Memory that a workgroup shares, in bytes.
    pub workgroup_bytes: u32,
    /// Threads in a workgroup.
    pub max_invocations: u32,
    /// Buffers that a kernel may see.
    pub max_storage_buffers: u32,
    /// Threads that run in step, least and most.
    pub subgroup: (u32, u32),
    /// Half-precision arithmetic.
    pub shader_f16: bool,
    /// Time stamps for measuring kernels.
    pub timestamps: bool,
    #[serde(skip)]
    pub(super) selector: Selector,
}

/// How Burn is told which adapter is meant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selector {
    pub(super) backend: WgpuBackend,
    /// `None` where Burn has no name for the kind.
    pub(super) kind: Option<DeviceKind>,
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gpu:{} {} ({}", self.number, self.name, self.backend)?;
        if self.kind == AdapterKind::Software {
            write!(f, ", software")?;
        }
        write!(f, ")")
    }
}

impl Adapter {
    /// What keeps the network from running here, in words.
    pub fn shortfall(&self) -> Option<String> {
        if self.max_binding_bytes.min(self.max_buffer_bytes) < LEAST_BINDING {
            return Some(format!(
                "a kernel sees at most {} MiB of a buffer, {} MiB are needed",
                self.max_binding_bytes.min(self.max_buffer_bytes) >> 20,
                LEAST_BINDING >> 20
            ));
        }
        if self.max_invocations < LEAST_INVOCATIONS {
            return Some(format!(
                "workgroups have at most {} threads, {LEAST_INVOCATIONS} are needed",
                self.max_invocations
            ));
        }
        if self.max_storage_buffers < LEAST_STORAGE_BUFFERS {
            return Some(format!(
                "kernels see at most {} buffers, {LEAST_STORAGE_BUFFERS} are needed",
                self.max_storage_buffers
            ));
        }
        None
    }
}

/// Every adapter of this machine on every graphics API that this build knows, in a stable order. Asked once.
///
/// A driver that panics while it is asked counts as no adapters; the reason is logged.
pub fn adapters() -> Vec<Adapter> {
    static FOUND: OnceLock<Vec<Adapter>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            std::panic::catch_unwind(enumerate).unwrap_or_else(|panic| {
                log::warn!(
                    "asking for adapters failed: {}",
                    super::open::words(&*panic)
                );
                Vec::new()
            })
        })
        .clone()
}

fn enumerate() -> Vec<Adapter> {
    // Kept for the life of the program: Vulkan loaders crash when instances come and go on several threads.
    static INSTANCE: Mutex<Option<wgpu::Instance>> = Mutex::new(None);
    let mut instance = INSTANCE.lock().unwrap_or_else(PoisonError::into_inner);
    let instance = instance.get_or_insert_with(|| {
        let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        wgpu::Instance::new(descriptor)
    });
    let mut found: Vec<Adapter> = Vec::new();
    for adapter in pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all())) {
        let number = found.len();
        if let Some(adapter) = describe(&adapter, number, &found) {
            found.push(adapter);
        }
    }
    found
}

/// `None` for graphics APIs that Burn is not built for.
fn describe(adapter: &wgpu::Adapter, number: usize, before: &[Adapter]) -> Option<Adapter> {
    let (info, limits, features) = (adapter.get_info(), adapter.limits(), adapter.features());
    let backend = match info.backend {
        wgpu::Backend::Vulkan => WgpuBackend::Vulkan,
        wgpu::Backend::Metal => WgpuBackend::Metal,
        wgpu::Backend::Dx12 => WgpuBackend::Dx12,
        _ => return None,
    };
    let kind = match info.device_type {
        wgpu::DeviceType::DiscreteGpu => AdapterKind::Discrete,
        wgpu::DeviceType::IntegratedGpu => AdapterKind::Integrated,
        wgpu::DeviceType::VirtualGpu => AdapterKind::Virtual,
        wgpu::DeviceType::Cpu => AdapterKind::Software,
        wgpu::DeviceType::Other => AdapterKind::Other,
    };
    // Burn counts the adapters of each kind on each graphics API from zero.
    let backend_name = format!("{:?}", info.backend);
    let like = |other: &&Adapter| other.kind == kind && other.backend == backend_name;
    let index = before.iter().filter(like).count();
    let device_kind = match kind {
        AdapterKind::Discrete => Some(DeviceKind::DiscreteGpu(index)),
        AdapterKind::Integrated => Some(DeviceKind::IntegratedGpu(index)),
        AdapterKind::Virtual => Some(DeviceKind::VirtualGpu(index)),
        AdapterKind::Software if index == 0 => Some(DeviceKind::Cpu),
        AdapterKind::Software | AdapterKind::Other => None,
    };
    Some(Adapter {
        number,
        name: info.name,
        backend: backend_name,
        kind,
        driver: format!("{} {}", info.driver, info.driver_info)
            .trim()
            .to_owned(),
        max_binding_bytes: limits.max_storage_buffer_binding_size,
        max_buffer_bytes: limits.max_buffer_size,
        workgroup_bytes: limits.max_compute_workgroup_storage_size,
        max_invocations: limits.max_compute_invocations_per_workgroup,
        max_storage_buffers: limits.max_storage_buffers_per_shader_stage,
        subgroup: (info.subgroup_min_size, info.subgroup_max_size),
        shader_f16: features.contains(wgpu::Features::SHADER_F16),
        timestamps: features.contains(wgpu::Features::TIMESTAMP_QUERY),
        selector: Selector {
            backend,
            kind: device_kind,
        },
    })
}
