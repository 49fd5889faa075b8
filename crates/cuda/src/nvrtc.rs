//! The compiler: text in, machine code out.

use crate::api::{Code, Handle, Nvrtc};
use crate::context::unavailable;
use crate::libraries::{self, Places};
use arrayloom_device::DeviceError;
use libloading::os::unix::Library;
use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr;

const INSTALL: &str =
    "pip install nvidia-cuda-nvrtc, of the driver's major version, or set CUDA_HOME";

/// NVIDIA's compiler for one kind of GPU.
pub(crate) struct Compiler {
    api: Nvrtc,
    /// Where it was found.
    path: PathBuf,
    version: (i32, i32),
    options: Vec<CString>,
    /// It makes machine code; otherwise the driver does, from the compiler's own language.
    native: bool,
}

/// A program, which is given back.
struct Program<'a> {
    api: &'a Nvrtc,
    raw: Handle,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        drop(self.api.destroy_program(&mut self.raw));
    }
}

impl Compiler {
    /// Opens the compiler for GPUs of this capability, with these options.
    pub(crate) fn open(
        places: &Places,
        capability: i32,
        options: &[&str],
    ) -> Result<Compiler, DeviceError> {
        let found = libraries::COMPILER.first(places, |library, path| {
            Compiler::of(library, path, capability, options)
        });
        found.map_err(|reasons| {
            let why = format!("there is no CUDA compiler (NVRTC): {reasons}");
            unavailable(&why, INSTALL)
        })
    }

    fn of(
        library: Library,
        path: &Path,
        capability: i32,
        options: &[&str],
    ) -> Result<Compiler, String> {
        let at = path.display();
        let api = Nvrtc::load(&library)
            .map_err(|name| format!("{at} has no {}", name.to_string_lossy()))?;
        libraries::keep(library);
        let mut version = (0, 0);
        api.version(&mut version.0, &mut version.1)
            .map_err(|code| format!("{at}: {code}"))?;
        let known = known(&api).map_err(|code| format!("{at}: {code}"))?;
        let native = known.contains(&capability);
        let best = known.into_iter().filter(|&a| a <= capability).max();
        let best = best.ok_or_else(|| format!("{at} does not know GPUs of sm_{capability}"))?;
        let kind = if native { "sm" } else { "compute" };
        let target = format!("--gpu-architecture={kind}_{best}");
        let options = [target.as_str()].into_iter().chain(options.iter().copied());
        Ok(Compiler {
            api,
            path: path.to_owned(),
            version,
            options: options
                .map(|o| CString::new(o).unwrap_or_default())
                .collect(),
            native,
        })
    }

    /// Its version in words, and the options: what machine code depends on beside the text.
    pub(crate) fn words(&self) -> (String, String) {
        let (major, minor) = self.version;
        let options: Vec<_> = self.options.iter().map(|o| o.to_string_lossy()).collect();
        (format!("NVRTC {major}.{minor}"), options.join(" "))
    }

    /// Where it was found.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Compiles; what the compiler says if it refuses the text.
    pub(crate) fn compile(&self, text: &str) -> Result<Vec<u8>, String> {
        let text = CString::new(text).map_err(|error| error.to_string())?;
        let mut raw = ptr::null_mut();
        let (none, name) = (ptr::null(), c"arrayloom.cu".as_ptr());
        let made = self
            .api
            .create_program(&mut raw, text.as_ptr(), name, 0, none, none);
        made.map_err(|code| code.to_string())?;
        let program = Program {
            api: &self.api,
            raw,
        };
        let options: Vec<*const c_char> = self.options.iter().map(|o| o.as_ptr()).collect();
        let count = c_int::try_from(options.len()).unwrap_or(0);
        let compiled = self
            .api
            .compile_program(program.raw, count, options.as_ptr());
        compiled.map_err(|code| {
            let mut bytes = 0;
            let told = self.api.log_size(program.raw, &mut bytes);
            let log = told.map_or_else(
                |_unknown| Vec::new(),
                |()| read(bytes, |place| self.api.log(program.raw, place)).unwrap_or_default(),
            );
            let log = String::from_utf8_lossy(&log).replace('\0', "");
            format!("{code}: {}", log.trim())
        })?;
        let mut bytes = 0;
        if self.native {
            let told = self.api.cubin_size(program.raw, &mut bytes);
            told.map_err(|code| code.to_string())?;
            read(bytes, |place| self.api.cubin(program.raw, place)).map_err(|code| code.to_string())
        } else {
            self.api
                .ptx_size(program.raw, &mut bytes)
                .map_err(|code| code.to_string())?;
            read(bytes, |place| self.api.ptx(program.raw, place)).map_err(|code| code.to_string())
        }
    }
}

/// GPUs that a compiler knows, by capability.
fn known(api: &Nvrtc) -> Result<Vec<c_int>, Code> {
    let mut count = 0;
    api.arch_count(&mut count)?;
    let mut list = vec![0; usize::try_from(count).unwrap_or(0)];
    api.archs(list.as_mut_ptr())?;
    Ok(list)
}

/// So many bytes that a call writes.
fn read(
    bytes: usize,
    write: impl FnOnce(*mut c_char) -> Result<(), Code>,
) -> Result<Vec<u8>, Code> {
    let mut place = vec![0u8; bytes];
    write(place.as_mut_ptr().cast())?;
    Ok(place)
}
