//! Where the libraries of CUDA lie.
//!
//! The driver comes with the system. The compiler may be in the process already, in a package of Python's
//! (`nvidia-cuda-nvrtc` and its kin), in a CUDA toolkit, or where the system looks.

#![expect(unsafe_code, reason = "libraries are opened at run time")]

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::cmp::Reverse;
use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The driver, as the system names it.
const DRIVER: &str = "libcuda.so.1";
/// The compiler without a path, the newest first, with CUDA's major version.
const COMPILERS: [(&str, i32); 3] = [
    ("libnvrtc.so.13", 13),
    ("libnvrtc.so.12", 12),
    ("libnvrtc.so.11.2", 11),
];
/// Opens only what the process has already.
const NO_LOAD: i32 = 4;

/// Opens a library by its path, or by a name that the system finds.
pub(crate) fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: these are NVIDIA's libraries (or what the user put in their place); their constructors are
    // made to run at any time.
    let opened = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    // The reason is that of the system; the error itself says only which call it was.
    opened.map_err(|error| {
        error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string)
    })
}

/// Leaves a library open for good: it has threads, and other libraries use it.
pub(crate) fn keep(library: Library) {
    let _forever = library.into_raw();
}

/// Opens the driver: this file, or the system's.
pub(crate) fn driver(path: Option<&Path>) -> Result<Library, String> {
    open(path.unwrap_or(Path::new(DRIVER)))
}

/// The compiler that another library brought into the process.
pub(crate) fn loaded_compiler() -> Option<(Library, PathBuf)> {
    COMPILERS.into_iter().find_map(|(name, _)| {
        // SAFETY: nothing is loaded, so nothing runs.
        let found = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL | NO_LOAD) };
        found.ok().map(|library| (library, PathBuf::from(name)))
    })
}

/// Opens a compiler, and before it the library that it opens by a bare name, which not all packages let it
/// find.
pub(crate) fn compiler(path: &Path) -> Result<Library, String> {
    let beside = path.parent().map(files).unwrap_or_default();
    for builtins in beside {
        let name = builtins.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("libnvrtc-builtins.so") {
            keep(open(&builtins)?);
        }
    }
    open(path)
}

/// Every place where a compiler may lie: those that are not newer than the driver first, then in the order
/// of Python's packages, toolkits, system; newest first.
pub(crate) fn compilers(
    (packages, toolkits): (&[PathBuf], &[PathBuf]),
    driver: i32,
) -> Vec<PathBuf> {
    let wheels = packages.iter().flat_map(|packages| {
        let parts = files(&packages.join("nvidia"));
        parts.into_iter().map(|part| part.join("lib"))
    });
    let usual = PathBuf::from("/usr/local/cuda");
    let toolkits = toolkits.iter().chain([&usual]);
    let toolkits = toolkits.flat_map(|home| [home.join("lib64"), home.join("lib")]);
    let mut all: Vec<(bool, usize, Reverse<i32>, PathBuf)> = Vec::new();
    for (order, folder) in wheels.chain(toolkits).enumerate() {
        for file in files(&folder) {
            if let Some(major) = major(&file) {
                all.push((major > driver, order, Reverse(major), file));
            }
        }
    }
    for (name, major) in COMPILERS {
        let name = PathBuf::from(name);
        all.push((major > driver, usize::MAX, Reverse(major), name));
    }
    all.sort();
    all.into_iter().map(|(.., path)| path).collect()
}

/// The major version in the name of a compiler's file.
fn major(file: &Path) -> Option<i32> {
    let name = file.file_name()?.to_str()?;
    let version = name.strip_prefix("libnvrtc.so.")?;
    version.split('.').next()?.parse().ok()
}

/// What lies in a folder, by name; nothing if there is none.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut all: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_that_the_driver_knows_come_first() {
        let base = std::env::temp_dir().join(format!("arrayloom-nvrtc-{}", std::process::id()));
        let lib = |name: &str| base.join("nvidia").join(name).join("lib");
        for (folder, file) in [
            ("cu13", "libnvrtc.so.13"),
            ("cuda_nvrtc", "libnvrtc.so.12"),
            ("cuda_nvrtc", "libnvrtc-builtins.so.12.9"),
            ("cuda_nvrtc", "libnvrtc.alt.so.12"),
        ] {
            fs::create_dir_all(lib(folder)).unwrap();
            fs::write(lib(folder).join(file), "").unwrap();
        }
        let packages = [PathBuf::from("/nowhere"), base.clone()];
        let ours = |driver| -> Vec<PathBuf> {
            let all = compilers((&packages, &[]), driver).into_iter();
            all.filter(|p| p.starts_with(&base)).collect()
        };
        let (old, new) = (
            lib("cuda_nvrtc").join("libnvrtc.so.12"),
            lib("cu13").join("libnvrtc.so.13"),
        );
        assert_eq!(ours(12), [old.clone(), new.clone()]);
        assert_eq!(ours(13), [new, old]);
        let system = compilers((&[], &[]), 12);
        assert!(system.contains(&PathBuf::from("libnvrtc.so.12")));
        fs::remove_dir_all(base).unwrap();
    }
}
