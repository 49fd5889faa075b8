//! The C header of backends: made from `crates/device/src/abi/table.rs` and the numbers of primitives
//! and dtypes.

use crate::TaskError;
use arrayloom_ir::ALL_PRIMS;
use arrayloom_types::ALL_DTYPES;
use cbindgen::{Builder, Config, ItemType, Language, Style};
use std::path::Path;

const SOURCE: &str = "crates/device/src/abi/table.rs";
const HEADER: &str = "crates/device/include/arrayloom_backend.h";

const HEAD: &str = "\
/* The interface of arrayloom's backends. Made by `cargo xtask header`; do not edit.
 *
 * A backend is a shared library that exports one function:
 *
 *     const ArrayloomTable *arrayloom_backend_v1(void);
 *
 * The table and everything it points to live as long as the library. Functions return ARRAYLOOM_OK or
 * another status, may be called from any thread, and never let an exception out. docs/backends.md has a
 * whole backend. */";

fn upper(name: &str) -> String {
    let mut text = String::new();
    for (i, c) in name.chars().enumerate() {
        if i > 0 && c.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(c.to_ascii_uppercase());
    }
    text
}

/// The numbers of primitives and dtypes, as definitions.
fn numbers() -> String {
    let mut lines = vec![
        "/* Numbers of the primitives; crates/ir/src/prim.rs says what they do. */".to_owned(),
    ];
    for prim in ALL_PRIMS {
        let name = upper(prim.name());
        lines.push(format!("#define ARRAYLOOM_PRIM_{name} {}", *prim as u8));
    }
    lines.push("\n/* Numbers of the dtypes. */".to_owned());
    for dtype in ALL_DTYPES {
        let name = dtype.name().to_ascii_uppercase();
        lines.push(format!("#define ARRAYLOOM_DTYPE_{name} {}", dtype as u8));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The text of the header.
fn text(root: &Path) -> Result<String, TaskError> {
    let mut config = Config {
        language: Language::C,
        style: Style::Type,
        cpp_compat: true,
        header: Some(HEAD.to_owned()),
        include_guard: Some("ARRAYLOOM_BACKEND_H".to_owned()),
        no_includes: true,
        sys_includes: vec!["stdint.h".to_owned(), "stddef.h".to_owned()],
        after_includes: Some(numbers()),
        trailer: Some("const ArrayloomTable *arrayloom_backend_v1(void);".to_owned()),
        documentation: true,
        ..Config::default()
    };
    config.export.item_types = vec![ItemType::Constants, ItemType::Structs];
    config.export.include = vec![
        "CTable".to_owned(),
        "CCaps".to_owned(),
        "CKernel".to_owned(),
        "CLaunch".to_owned(),
    ];
    for name in [
        "Text", "Caps", "Ins", "Output", "Kernel", "Arg", "Fold", "Launch", "Table",
    ] {
        config
            .export
            .rename
            .insert(format!("C{name}"), format!("Arrayloom{name}"));
    }
    for name in [
        "OK",
        "OUT_OF_MEMORY",
        "UNSUPPORTED",
        "FAILED",
        "DEVICE_LOST",
        "MAJOR",
        "MINOR",
        "CAPS_UNIFIED",
        "CAPS_FUSED",
        "CAPS_UNALIGNED",
        "CAPS_NUMPY_ORDER",
        "CAPS_FLAGS",
        "FORM_STORE",
        "FORM_REDUCE",
        "FORM_ARG",
        "FORM_SCAN",
        "ARG_VIEW",
        "ARG_SCALAR",
    ] {
        config
            .export
            .rename
            .insert(name.to_owned(), format!("ARRAYLOOM_{name}"));
    }
    let bindings = Builder::new()
        .with_config(config)
        .with_src(root.join(SOURCE))
        .generate()
        .map_err(|error| TaskError::Header {
            what: error.to_string(),
        })?;
    let mut bytes = Vec::new();
    bindings.write(&mut bytes);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes the header, or, with `check`, fails if it is not the one that would be written.
///
/// # Errors
/// [`TaskError`] when the sources cannot be read or the header is old.
pub(crate) fn header(root: &Path, check: bool) -> Result<String, TaskError> {
    let text = text(root)?;
    let path = root.join(HEADER);
    let failed = |source| TaskError::Read {
        path: HEADER.to_owned(),
        source,
    };
    if check {
        let known = std::fs::read_to_string(&path).map_err(failed)?;
        return if known == text {
            Ok(format!("{HEADER} is up to date\n"))
        } else {
            Err(TaskError::Header {
                what: format!("{HEADER} is old; run cargo xtask header"),
            })
        };
    }
    std::fs::write(&path, text).map_err(failed)?;
    Ok(format!("{HEADER} written\n"))
}
