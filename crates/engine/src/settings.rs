//! The settings of the engine: one row each, read from `ARRAYLOOM_*` variables here and nowhere else.

use crate::EngineError;
use arrayloom_memory::{parse_limit, physical_memory};
use std::path::PathBuf;

/// Bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(pub u64);

/// A number of things that are not bytes, so that it takes no unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub usize);

/// A value that a setting may have.
trait Value: Sized {
    /// What the text may be, for messages.
    const TAKES: &'static str;
    fn parse(text: &str) -> Option<Self>;
}

impl Value for bool {
    const TAKES: &'static str = "1 or 0";
    fn parse(text: &str) -> Option<bool> {
        match text {
            "1" | "true" | "on" | "yes" => Some(true),
            "0" | "false" | "off" | "no" => Some(false),
            _ => None,
        }
    }
}

impl Value for String {
    const TAKES: &'static str = "a name";
    fn parse(text: &str) -> Option<String> {
        Some(text.to_owned())
    }
}

impl Value for Amount {
    const TAKES: &'static str =
        "an amount of memory such as 2GiB, or a share of main memory such as 50%";
    fn parse(text: &str) -> Option<Amount> {
        parse_limit(text, physical_memory()).ok().map(Amount)
    }
}

impl Value for Count {
    const TAKES: &'static str = "a whole number";
    fn parse(text: &str) -> Option<Count> {
        text.parse().ok().map(Count)
    }
}

impl Value for usize {
    const TAKES: &'static str = u64::TAKES;
    fn parse(text: &str) -> Option<usize> {
        u64::parse(text).and_then(|n| usize::try_from(n).ok())
    }
}

impl Value for u64 {
    const TAKES: &'static str = "a number of bytes, with KiB, MiB or GiB behind it if wanted";
    /// A whole number, or one with a unit: `KiB`, `MiB`, `GiB`.
    fn parse(text: &str) -> Option<u64> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "" => 1,
            "KiB" | "K" => 1 << 10,
            "MiB" | "M" => 1 << 20,
            "GiB" | "G" => 1 << 30,
            _ => return None,
        };
        digits.parse::<u64>().ok()?.checked_mul(unit)
    }
}

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $default:expr, $variable:literal;)*) => {
        /// What can be set. Every field has a variable of the environment.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Settings { $($(#[$doc])* pub $name: $type,)* }

        impl Default for Settings {
            fn default() -> Settings {
                Settings { $($name: $default,)* }
            }
        }

        impl Settings {
            /// The variables of the environment and the defaults.
            pub const VARIABLES: &[(&'static str, &'static str)] =
                &[$(($variable, stringify!($name)),)*];

            /// The defaults, changed by what `look_up` finds under the names of the variables. An empty
            /// text is as good as none.
            ///
            /// # Errors
            /// [`EngineError::BadSetting`] for a text that cannot be read.
            pub fn from_look_up(
                look_up: impl Fn(&str) -> Option<String>,
            ) -> Result<Settings, EngineError> {
                let mut settings = Settings::default();
                $(
                    if let Some(text) = look_up($variable).filter(|text| !text.is_empty()) {
                        settings.$name = <$type as Value>::parse(&text).ok_or_else(|| {
                            EngineError::BadSetting {
                                variable: $variable,
                                value: text.clone(),
                                takes: <$type as Value>::TAKES.to_owned(),
                            }
                        })?;
                    }
                )*
                Ok(settings)
            }
        }
    };
}

settings! {
    /// Worker threads; 0 for one per core.
    threads: Count = Count(0), "ARRAYLOOM_THREADS";
    /// Results of at least this many bytes are recorded; smaller ones are NumPy's own.
    min_bytes: usize = 256 << 10, "ARRAYLOOM_MIN_BYTES";
    /// The device by name; empty for the best there is.
    backend: String = String::new(), "ARRAYLOOM_BACKEND";
    /// Highest instruction set of the CPU device: avx512, avx2 or baseline; empty for the best there is.
    isa: String = String::new(), "ARRAYLOOM_ISA";
    /// The CPU device compiles kernels at run time.
    jit: bool = true, "ARRAYLOOM_JIT";
    /// Matrix products and Fourier transforms of GPUs go to their vendors' libraries, where there are any.
    libraries: bool = true, "ARRAYLOOM_LIBRARIES";
    /// Compiled programs of devices are kept on disk.
    cache: bool = true, "ARRAYLOOM_CACHE";
    /// Where they are kept; empty for `arrayloom/kernels` in the user's directory for caches.
    cache_dir: String = String::new(), "ARRAYLOOM_CACHE_DIR";
    /// Bytes that they may take there.
    cache_bytes: u64 = 256 << 20, "ARRAYLOOM_CACHE_BYTES";
    /// Whose elementary functions the CPU device takes: numpy for NumPy's bits, own for the same bits on
    /// every processor; empty for its own where they are faster than NumPy's.
    math: String = String::new(), "ARRAYLOOM_MATH";
    /// Elements of a tile of the CPU device; 0 for as many as its cache likes.
    tile: Count = Count(0), "ARRAYLOOM_TILE";
    /// Recorded operations that make the engine run.
    max_pending_nodes: Count = Count(512), "ARRAYLOOM_MAX_PENDING_NODES";
    /// Bytes of recorded results that make the engine run.
    max_pending_bytes: u64 = 16 << 30, "ARRAYLOOM_MAX_PENDING_BYTES";
    /// Several operations in one kernel.
    fuse: bool = true, "ARRAYLOOM_FUSE";
    /// Bytes that each part must have on average where an array made of pieces is read where these come from.
    seam_bytes: usize = 32 << 10, "ARRAYLOOM_SEAM_BYTES";
    /// Kernels that depend on each other at shifted rows in one pass over memory.
    sweep: bool = true, "ARRAYLOOM_SWEEP";
    /// Points of a kernel that may take part in such a pass.
    sweep_points: Count = Count(16 << 10), "ARRAYLOOM_SWEEP_POINTS";
    /// Columns at least of a pass over columns, where rows are folded into one.
    sweep_columns: Count = Count(256), "ARRAYLOOM_SWEEP_COLUMNS";
    /// Bytes that such a pass must keep from memory.
    sweep_bytes: usize = 1 << 20, "ARRAYLOOM_SWEEP_BYTES";
    /// Bytes of planes, or rows as long, that such a pass holds in the cache that cores share.
    sweep_planes: usize = 8 << 20, "ARRAYLOOM_SWEEP_PLANES";
    /// Rows that each kernel of such a pass computes at a time; 0 for as many as the cache likes.
    sweep_rows: Count = Count(0), "ARRAYLOOM_SWEEP_ROWS";
    /// Collect floating-point conditions for warnings.
    collect_flags: bool = true, "ARRAYLOOM_COLLECT_FLAGS";
    /// Results whose memory appears when it is touched; false computes into plain memory at once.
    lazy: bool = true, "ARRAYLOOM_LAZY";
    /// Run after every recorded operation.
    eager: bool = false, "ARRAYLOOM_EAGER";
    /// Lines whose results are always wanted at once are run at once.
    learn: bool = true, "ARRAYLOOM_LEARN";
    /// Bytes of dropped arrays kept where they are, for the next array of their size.
    warm_bytes: usize = 32 << 20, "ARRAYLOOM_WARM_BYTES";
    /// Bytes of memory kept for re-use; 0 for a quarter of the machine's.
    pool_bytes: usize = 0, "ARRAYLOOM_POOL_BYTES";
    /// Bytes of arrays at most: more is spilled, or an error.
    memory_limit: Amount = Amount(u64::MAX), "ARRAYLOOM_MEMORY_LIMIT";
    /// What does not fit under the limit goes to a file.
    spill: bool = true, "ARRAYLOOM_SPILL";
    /// The folder of that file; empty for the system's folder of temporary files.
    spill_dir: String = String::new(), "ARRAYLOOM_SPILL_DIR";
    /// Keep what ran, for [`crate::Engine::take_dumps`].
    dump_kernels: bool = false, "ARRAYLOOM_DUMP";
}

impl Settings {
    /// The settings that the environment asks for.
    ///
    /// # Errors
    /// [`EngineError::BadSetting`] for a value that cannot be read.
    pub fn from_env() -> Result<Settings, EngineError> {
        Settings::from_look_up(variable)
    }

    /// The folder in which compiled programs of devices are kept; none if they are not, or without a home.
    pub fn kernel_cache(&self) -> Option<PathBuf> {
        let folder = |name| {
            let folder = PathBuf::from(variable(name)?);
            folder.is_absolute().then_some(folder)
        };
        let users = || {
            let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
            Some(caches?.join("arrayloom").join("kernels"))
        };
        let chosen = match self.cache_dir.as_str() {
            "" => users(),
            dir => Some(PathBuf::from(dir)),
        };
        chosen.filter(|_| self.cache)
    }
}

/// A variable of the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_change_settings() {
        let look_up = |name: &str| match name {
            "ARRAYLOOM_FUSE" => Some("off".to_owned()),
            "ARRAYLOOM_MAX_PENDING_BYTES" => Some("2GiB".to_owned()),
            "ARRAYLOOM_THREADS" => Some(String::new()),
            _ => None,
        };
        let settings = Settings::from_look_up(look_up).unwrap();
        assert!(!settings.fuse);
        assert_eq!(settings.max_pending_bytes, 2 << 30);
        assert_eq!(settings.threads, Settings::default().threads);
    }

    #[test]
    fn nonsense_is_named() {
        let look_up = |name: &str| (name == "ARRAYLOOM_THREADS").then(|| "many".to_owned());
        let error = Settings::from_look_up(look_up).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("ARRAYLOOM_THREADS") && text.contains("many"),
            "{text}"
        );
    }

    #[test]
    fn counts_take_no_unit() {
        let counts = ["THREADS", "TILE", "MAX_PENDING_NODES", "SWEEP_POINTS"];
        for name in counts.map(|name| format!("ARRAYLOOM_{name}")) {
            let set = |value: &str| {
                let value = value.to_owned();
                Settings::from_look_up(|asked| (asked == name).then(|| value.clone()))
            };
            assert!(set("2").is_ok());
            for value in ["2KiB", "2K", "2MiB", "-2", "2.5"] {
                let text = set(value).unwrap_err().to_string();
                assert!(
                    text.contains(value) && text.contains("a whole number"),
                    "{text}"
                );
            }
        }
    }
}
