//! Machine code on the disk, and what becomes of code that the driver refuses.

use super::fake::Fake;
use super::work::program;
use arrayloom_cuda::Config;
use std::fs;
use std::path::PathBuf;

/// A fake with a cache of its own, and the files in it.
fn fresh(test: &str) -> (Fake, Config, impl Fn() -> Vec<PathBuf>) {
    let fake = Fake::new(test);
    let dir = fake.folder().join("kernels");
    let config = Config {
        cache: Some((dir.clone(), 1 << 30)),
        ..fake.config()
    };
    let files = move || {
        let all = fs::read_dir(&dir).unwrap();
        let mut all: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all
    };
    (fake, config, files)
}

#[test]
fn a_kernel_is_compiled_once() {
    let (fake, config, files) = fresh("once");
    program(config.clone()).unwrap();
    let (first, kept) = (fake.get("compiled"), files());
    assert!(first > 0 && !kept.is_empty());
    assert!(kept.iter().all(|file| file.extension().unwrap() == "cubin"));
    program(config.clone()).unwrap();
    assert_eq!(fake.get("compiled"), first);
    // A broken file, and code that the driver does not take, are compiled again.
    fs::write(&kept[0], "broken").unwrap();
    program(config.clone()).unwrap();
    assert_eq!((fake.get("compiled"), files()), (first + 1, kept.clone()));
    fake.fail("cuModuleLoadData", 1, 200);
    program(config.clone()).unwrap();
    assert_eq!((fake.get("compiled"), files()), (first + 2, kept));
    // Another driver may make other code.
    fake.set("version", 12090);
    program(config).unwrap();
    assert_eq!(fake.get("compiled"), 2 * first + 2);
    assert_eq!((fake.get("faults"), fake.get("live")), (0, 0));
}

/// The driver compiles for a GPU that is newer than the compiler.
#[test]
fn a_gpu_newer_than_the_compiler() {
    let (fake, config, _) = fresh("newer");
    fake.set("capability", 120);
    program(config).unwrap();
    let called = fake.called();
    assert!(called.iter().any(|name| name == "nvrtcGetPTX"));
    assert!(called.iter().all(|name| name != "nvrtcGetCUBIN"));
}

/// What the compiler says is in the error.
#[test]
fn a_text_that_is_refused() {
    let (fake, config, _) = fresh("refused");
    fake.fail("nvrtcCompileProgram", 1, 6);
    let error = program(config).unwrap_err().to_string();
    assert!(
        error.contains("nvrtcCompileProgram gave error 6"),
        "{error}"
    );
    assert_eq!((fake.get("faults"), fake.get("live")), (0, 0));
}
