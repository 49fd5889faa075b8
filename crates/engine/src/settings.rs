//! The settings of the engine: one row each, read from `ARRAYLOOM_*` variables here and nowhere else.

/// A value that a setting may have.
trait Value: Sized {
    fn parse(text: &str) -> Option<Self>;
}

impl Value for bool {
    fn parse(text: &str) -> Option<bool> {
        match text {
            "1" | "true" | "on" | "yes" => Some(true),
            "0" | "false" | "off" | "no" => Some(false),
            _ => None,
        }
    }
}

impl Value for String {
    fn parse(text: &str) -> Option<String> {
        Some(text.to_owned())
    }
}

impl Value for usize {
    fn parse(text: &str) -> Option<usize> {
        u64::parse(text).and_then(|n| usize::try_from(n).ok())
    }
}

impl Value for u64 {
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

            /// The defaults, changed by what `look_up` finds under the names of the variables. A value
            /// that cannot be read changes nothing.
            pub fn from_look_up(look_up: impl Fn(&str) -> Option<String>) -> Settings {
                let mut settings = Settings::default();
                $(
                    let found = look_up($variable);
                    if let Some(value) = found.as_deref().and_then(<$type as Value>::parse) {
                        settings.$name = value;
                    }
                )*
                settings
            }
        }
    };
}

settings! {
    /// Worker threads; 0 for one per core.
    threads: usize = 0, "ARRAYLOOM_THREADS";
    /// Results of at least this many bytes are recorded; smaller ones are NumPy's own.
    min_bytes: usize = 64 << 10, "ARRAYLOOM_MIN_BYTES";
    /// The device by name; empty for the best there is.
    backend: String = String::new(), "ARRAYLOOM_BACKEND";
    /// Recorded operations that make the engine run.
    max_pending_nodes: usize = 512, "ARRAYLOOM_MAX_PENDING_NODES";
    /// Bytes of recorded results that make the engine run.
    max_pending_bytes: u64 = 16 << 30, "ARRAYLOOM_MAX_PENDING_BYTES";
    /// Several operations in one kernel.
    fuse: bool = true, "ARRAYLOOM_FUSE";
    /// Collect floating-point conditions for warnings.
    collect_flags: bool = true, "ARRAYLOOM_COLLECT_FLAGS";
    /// Results whose memory appears when it is touched; false computes into plain memory at once.
    lazy: bool = true, "ARRAYLOOM_LAZY";
    /// Run after every recorded operation.
    eager: bool = false, "ARRAYLOOM_EAGER";
    /// Bytes of memory kept for re-use; 0 for a quarter of the machine's.
    pool_bytes: usize = 0, "ARRAYLOOM_POOL_BYTES";
    /// Keep the text of the kernels that ran, for [`crate::Engine::take_dumps`].
    dump_kernels: bool = false, "ARRAYLOOM_DUMP";
}

impl Settings {
    /// The settings that the environment asks for.
    pub fn from_env() -> Settings {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads the environment"
        )]
        let look_up = |name: &str| std::env::var(name).ok();
        Settings::from_look_up(look_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_change_settings_and_nonsense_does_not() {
        let look_up = |name: &str| match name {
            "ARRAYLOOM_FUSE" => Some("off".to_owned()),
            "ARRAYLOOM_MAX_PENDING_BYTES" => Some("2GiB".to_owned()),
            "ARRAYLOOM_THREADS" => Some("many".to_owned()),
            _ => None,
        };
        let settings = Settings::from_look_up(look_up);
        assert!(!settings.fuse);
        assert_eq!(settings.max_pending_bytes, 2 << 30);
        assert_eq!(settings.threads, Settings::default().threads);
    }
}
