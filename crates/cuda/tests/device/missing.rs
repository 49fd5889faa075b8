//! What is missing is named, with what helps; nothing panics.

use super::fake::{COMPILER, Fake};
use arrayloom_cuda::{Config, Cuda};
use arrayloom_device::DeviceError;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Why the device cannot be opened.
fn refused(config: Config) -> String {
    match Cuda::open(config) {
        Err(DeviceError::Unsupported {
            device: "cuda",
            what,
        }) => what,
        Err(other) => format!("another error: {other}"),
        Ok(_) => "a device".to_owned(),
    }
}

#[track_caller]
fn says(what: &str, words: &[&str]) {
    for word in words {
        assert!(what.contains(word), "{word:?} is not in {what:?}");
    }
}

#[test]
fn no_driver() {
    let driver = Some("/nowhere/libcuda.so.1".into());
    let config = Config {
        driver,
        ..Config::default()
    };
    says(
        &refused(config),
        &["no CUDA driver", "/nowhere", "install NVIDIA's driver"],
    );
}

#[test]
fn no_driver_but_a_file() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-library.so");
    fs::write(&file, "no library").unwrap();
    let config = Config {
        driver: Some(file),
        ..Config::default()
    };
    says(&refused(config), &["no CUDA driver", "no-library.so"]);
}

#[test]
fn a_driver_without_a_function() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (text, library) = (folder.join("old.c"), folder.join("libold.so"));
    fs::write(&text, "int cuInit(unsigned flags) { return 0; }").unwrap();
    let mut compiler = Command::new("gcc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &text]);
    assert!(compiler.status().unwrap().success());
    let config = Config {
        driver: Some(library),
        ..Config::default()
    };
    says(
        &refused(config),
        &["too old", "cuDriverGetVersion", "CUDA 11.2"],
    );
}

#[test]
fn no_gpu() {
    let fake = Fake::new("no-gpu");
    fake.set("devices", 0);
    says(
        &refused(fake.config()),
        &["cuInit gave error 100, CUDA_ERROR_NO_DEVICE"],
    );
    fake.set("devices", 2);
    let config = Config {
        index: 5,
        ..fake.config()
    };
    says(
        &refused(config),
        &["there are 2 GPUs, and number 5 is wanted"],
    );
    assert_eq!(fake.get("live"), 0);
}

/// A compiler that cannot be used is named with its reason.
#[test]
fn no_compiler() {
    let fake = Fake::new("no-compiler");
    fake.set("capability", 30);
    let words = [
        "no CUDA compiler",
        "does not know GPUs of sm_30",
        "pip install nvidia-cuda-nvrtc",
    ];
    says(&refused(fake.config()), &words);
    let compiler = fake.folder().join(COMPILER);
    fs::remove_file(&compiler).unwrap();
    fs::write(&compiler, "no library").unwrap();
    says(
        &refused(fake.config()),
        &["no CUDA compiler", "libnvrtc.so.12", "CUDA_HOME"],
    );
    assert_eq!(fake.get("faults"), 0);
}
