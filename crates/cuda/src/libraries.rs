//! Where the libraries of CUDA lie.
//!
//! The driver comes with the system. The compiler, and the libraries for products and transforms, may be in the
//! process already, in a package of Python's (`nvidia-cuda-nvrtc` and its kin), in a CUDA toolkit, or where the
//! system looks.

#![expect(unsafe_code, reason = "libraries are opened at run time")]

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::cmp::Reverse;
use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The driver, as the system names it.
const DRIVER: &str = "libcuda.so.1";

/// A library of CUDA's that lies in one of many places.
pub(crate) struct Family {
    /// What its files are called, before the version.
    stem: &'static str,
    /// Versions of names that the system may know, the newest first.
    versions: [&'static str; 3],
    /// So much is CUDA's major version above that of the name.
    ahead: i32,
    /// The beginning of the names of files beside it that it opens by bare names, which not all packages let it
    /// find.
    beside: Option<&'static str>,
}

/// NVRTC.
pub(crate) const COMPILER: Family = Family {
    stem: "libnvrtc.so.",
    versions: ["13", "12", "11.2"],
    ahead: 0,
    beside: Some("libnvrtc-builtins.so"),
};
/// cuBLAS.
pub(crate) const PRODUCTS: Family = Family {
    stem: "libcublas.so.",
    versions: ["13", "12", "11"],
    ahead: 0,
    beside: Some("libcublasLt.so"),
};
/// cuFFT.
pub(crate) const TRANSFORMS: Family = Family {
    stem: "libcufft.so.",
    versions: ["12", "11", "10"],
    ahead: 1,
    beside: None,
};

/// Where libraries may lie beside the process and the system.
pub(crate) struct Places {
    /// Folders of Python's packages.
    pub(crate) packages: Vec<PathBuf>,
    /// Folders of CUDA toolkits, beside the usual one.
    pub(crate) toolkits: Vec<PathBuf>,
    /// CUDA's major version that the driver knows.
    pub(crate) driver: i32,
}

/// Opens only what the process has already.
const NO_LOAD: i32 = 4;

/// Opens a library by its path, or by a name that the system finds.
fn open(path: &Path) -> Result<Library, String> {
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

impl Family {
    /// What `take` makes of the library that the process has, or of the first that it can use of those in all
    /// places.
    ///
    /// # Errors
    /// The reasons against all of them.
    pub(crate) fn first<T>(
        &self,
        places: &Places,
        take: impl Fn(Library, &Path) -> Result<T, String>,
    ) -> Result<T, String> {
        let mut reasons = Vec::new();
        if let Some((library, path)) = self.loaded() {
            match take(library, &path) {
                Ok(taken) => return Ok(taken),
                Err(reason) => reasons.push(reason),
            }
        }
        for path in self.all(places) {
            match self.open(&path).and_then(|library| take(library, &path)) {
                Ok(taken) => return Ok(taken),
                Err(reason) => reasons.push(reason),
            }
        }
        Err(reasons.join("; "))
    }

    /// Names without a path, with CUDA's major version.
    fn names(&self) -> impl Iterator<Item = (PathBuf, i32)> {
        self.versions.iter().filter_map(|version| {
            let name = PathBuf::from(format!("{}{version}", self.stem));
            let major = self.major(&name)?;
            Some((name, major))
        })
    }

    /// The library that another one brought into the process.
    fn loaded(&self) -> Option<(Library, PathBuf)> {
        self.names().find_map(|(name, _)| {
            // SAFETY: nothing is loaded, so nothing runs.
            let found = unsafe { Library::open(Some(&name), RTLD_NOW | RTLD_LOCAL | NO_LOAD) };
            found.ok().map(|library| (library, name))
        })
    }

    /// Opens a library, and before it those beside it.
    fn open(&self, path: &Path) -> Result<Library, String> {
        let beside = path.parent().map(files).unwrap_or_default();
        for file in beside {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if self.beside.is_some_and(|stem| name.starts_with(stem)) {
                keep(open(&file)?);
            }
        }
        open(path)
    }

    /// Every place where the library may lie: those that are not newer than the driver first, then in the order
    /// of Python's packages, toolkits, system; newest first.
    fn all(&self, places: &Places) -> Vec<PathBuf> {
        let wheels = places.packages.iter().flat_map(|packages| {
            let parts = files(&packages.join("nvidia"));
            parts.into_iter().map(|part| part.join("lib"))
        });
        let usual = PathBuf::from("/usr/local/cuda");
        let toolkits = places.toolkits.iter().chain([&usual]);
        let toolkits = toolkits.flat_map(|home| [home.join("lib64"), home.join("lib")]);
        let mut all: Vec<(bool, usize, Reverse<i32>, PathBuf)> = Vec::new();
        for (order, folder) in wheels.chain(toolkits).enumerate() {
            for file in files(&folder) {
                if let Some(major) = self.major(&file) {
                    all.push((major > places.driver, order, Reverse(major), file));
                }
            }
        }
        for (name, major) in self.names() {
            all.push((major > places.driver, usize::MAX, Reverse(major), name));
        }
        all.sort();
        all.into_iter().map(|(.., path)| path).collect()
    }

    /// CUDA's major version by the name of a file.
    fn major(&self, file: &Path) -> Option<i32> {
        let name = file.file_name()?.to_str()?;
        let version = name.strip_prefix(self.stem)?;
        let major: i32 = version.split('.').next()?.parse().ok()?;
        Some(major + self.ahead)
    }
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
        let places = |driver| Places {
            packages: vec![PathBuf::from("/nowhere"), base.clone()],
            toolkits: Vec::new(),
            driver,
        };
        let ours = |driver| -> Vec<PathBuf> {
            let all = COMPILER.all(&places(driver)).into_iter();
            all.filter(|p| p.starts_with(&base)).collect()
        };
        let (old, new) = (
            lib("cuda_nvrtc").join("libnvrtc.so.12"),
            lib("cu13").join("libnvrtc.so.13"),
        );
        assert_eq!(ours(12), [old.clone(), new.clone()]);
        assert_eq!(ours(13), [new, old]);
        let system = COMPILER.all(&places(12));
        assert!(system.contains(&PathBuf::from("libnvrtc.so.12")));
        // CUDA 12 has version 11 of this one.
        let first = TRANSFORMS.all(&places(12)).into_iter().next();
        assert_eq!(first, Some(PathBuf::from("libcufft.so.11")));
        fs::remove_dir_all(base).unwrap();
    }
}
