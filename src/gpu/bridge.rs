//! Burn's tensors as the house's own kernels see them: the same memory, no copy through the host. The only file that knows Burn's
//! inside.

use burn::tensor::Tensor;

use super::compute::Slice;

/// A tensor's memory. Burn may use it for something else once this is dropped and what was submitted before is done.
#[derive(Debug)]
pub struct Lent {
    slice: Slice,
    #[cfg(not(feature = "fusion"))]
    _tensor: burn_wgpu::CubeTensor,
}

impl Lent {
    /// Where its values lie, row-major.
    pub fn slice(&self) -> &Slice {
        &self.slice
    }
}

/// Lends a tensor's memory. Everything that Burn was asked to compute for it is handed to the queue first, so that what is
/// submitted afterwards finds it done.
///
/// # Errors
/// In words: the tensor is not on a wgpu device, or not in f32.
#[cfg(not(feature = "fusion"))]
pub fn lend<const D: usize>(tensor: Tensor<D>) -> Result<Lent, String> {
    use burn_wgpu::{AutoCompiler, Wgpu, into_contiguous};
    use cubecl::wgpu::WgpuServer;

    let tensor = tensor
        .try_into_primitive::<Wgpu>()
        .map_err(|error| format!("{error:?}"))?;
    let tensor = into_contiguous(tensor);
    if tensor.dtype != burn::tensor::DType::F32 {
        return Err(format!("its values are {:?}, not f32", tensor.dtype));
    }
    let resource = tensor
        .client
        .get_resource::<WgpuServer<AutoCompiler>>(tensor.handle.clone())
        .map_err(|error| error.to_string())?;
    tensor.client.flush().map_err(|error| error.to_string())?;
    let memory = resource.resource();
    let bytes = 4 * tensor.meta.shape().num_elements() as u64;
    if memory.size < bytes {
        return Err(format!("it holds {} bytes, not {bytes}", memory.size));
    }
    Ok(Lent {
        slice: Slice::foreign(memory.buffer.clone(), memory.offset, bytes),
        _tensor: tensor,
    })
}

/// With fusion a tensor is a promise, not memory.
///
/// # Errors
/// Always, with the way out.
#[cfg(feature = "fusion")]
pub fn lend<const D: usize>(_tensor: Tensor<D>) -> Result<Lent, String> {
    Err("this program was built with Burn's fusion, which keeps tensors from being lent; build it without, or use \
         `--kernels burn`"
        .into())
}

#[cfg(all(test, not(feature = "fusion")))]
mod tests {
    use burn::tensor::Tensor;

    use super::*;
    use crate::gpu::compute::Compute;
    use crate::gpu::kernels::testing;

    #[test]
    fn a_transposed_tensor_is_lent_as_it_reads() {
        let Some(opened) = testing::opened() else {
            return;
        };
        let Some(setup) = &opened.setup else {
            panic!("a wgpu device without its handles")
        };
        let compute = Compute::new(setup);
        let tensor = Tensor::<2>::from_floats([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &opened.device);
        let lent = lend((tensor * 2.0).transpose()).unwrap();
        let values = compute.read(lent.slice()).unwrap();
        assert_eq!(values, [2.0, 8.0, 4.0, 10.0, 6.0, 12.0]);
    }

    #[test]
    fn a_tensor_of_the_cpu_cannot_be_lent() {
        let tensor = Tensor::<1>::from_floats([1.0], &burn::tensor::Device::flex());
        assert!(lend(tensor).is_err());
    }
}
