//! What is compiled and uploaded once for a kernel: its variants, and the uniforms that equal launches share.

use bytemuck::Pod;

use super::compile;
use crate::gpu::compute::{Buffer, Compute, Error, Kernel, KernelSpec, Slice};

/// Compiled variants of one shader, told apart by `V`, and uniforms `P`.
#[derive(Debug)]
pub struct Variants<V, P> {
    compute: Compute,
    compiled: Vec<(V, Kernel)>,
    uniforms: Vec<(P, Buffer)>,
    /// Stand in for what a launch does not read or write.
    unread: Buffer,
    unwritten: Buffer,
}

impl<V: Copy + PartialEq, P: Pod + PartialEq> Variants<V, P> {
    pub fn new(compute: &Compute) -> Self {
        Self {
            compute: compute.clone(),
            compiled: Vec::new(),
            uniforms: Vec::new(),
            unread: compute.buffer("nothing to read", 4),
            unwritten: compute.buffer("nothing to write", 4),
        }
    }

    /// Where the kernels run.
    pub fn compute(&self) -> &Compute {
        &self.compute
    }

    /// The kernel of a variant, compiled at its first use.
    ///
    /// # Errors
    /// The driver refuses it.
    pub fn kernel(&mut self, variant: V, spec: &KernelSpec<'_>) -> Result<Kernel, Error> {
        let known = self.compiled.iter().find(|(known, _)| *known == variant);
        if let Some((_, kernel)) = known {
            return Ok(kernel.clone());
        }
        let kernel = compile(&self.compute, spec)?;
        self.compiled.push((variant, kernel.clone()));
        Ok(kernel)
    }

    /// A uniform that holds `params`.
    pub fn uniform(&mut self, params: P) -> Slice {
        let known = self.uniforms.iter().find(|(known, _)| *known == params);
        if let Some((_, buffer)) = known {
            return buffer.whole();
        }
        let buffer = self.compute.uniform("parameters of a kernel", &[params]);
        let slice = buffer.whole();
        self.uniforms.push((params, buffer));
        slice
    }

    /// `slice`, or a word that nobody reads.
    pub fn or_unread(&self, slice: Option<&Slice>) -> Slice {
        slice.cloned().unwrap_or_else(|| self.unread.whole())
    }

    /// `slice`, or a word that nobody writes.
    pub fn or_unwritten(&self, slice: Option<&Slice>) -> Slice {
        slice.cloned().unwrap_or_else(|| self.unwritten.whole())
    }
}
