//! The one place that names the `.wgsl` files, so that each is loaded, labelled and checked in the same way.

/// A shader file of `/shaders`, valid WGSL as it stands.
#[derive(Clone, Copy, Debug)]
pub struct Shader {
    /// Path below `/shaders`.
    pub name: &'static str,
    pub source: &'static str,
}

impl Shader {
    /// Compiles the file on `device`, under its own name.
    pub fn module(&self, device: &wgpu::Device) -> wgpu::ShaderModule {
        device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(self.name),
            source: wgpu::ShaderSource::Wgsl(self.source.into()),
        })
    }
}

/// The arm, its table, the cubes, the ghost and the ribbons.
pub const SCENE: Shader = Shader {
    name: "scene.wgsl",
    source: include_str!("../../shaders/scene.wgsl"),
};

/// Every shader of the house.
pub const ALL: &[Shader] = &[SCENE];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shader_is_valid_as_it_stands() {
        for shader in ALL {
            let module = naga::front::wgsl::parse_str(shader.source)
                .unwrap_or_else(|e| panic!("{}: {}", shader.name, e.emit_to_string(shader.source)));
            let mut validator = naga::valid::Validator::new(
                naga::valid::ValidationFlags::all(),
                naga::valid::Capabilities::all(),
            );
            validator
                .validate(&module)
                .unwrap_or_else(|e| panic!("{}: {e:?}", shader.name));
        }
    }
}
