//! Keys of tables that keep what was made of kernels.

use std::hash::Hasher;

/// Takes what is hashed as it is: keys are equal where all values are.
///
/// ```
/// use arrayloom_ir::KeyBytes;
/// use std::hash::Hash as _;
///
/// let key = |number: u32| {
///     let mut bytes = KeyBytes::default();
///     ("name", number).hash(&mut bytes);
///     bytes.into_key()
/// };
/// assert!(key(1) == key(1) && key(1) != key(2));
/// ```
#[derive(Debug)]
pub struct KeyBytes(Vec<u8>);

impl Default for KeyBytes {
    fn default() -> KeyBytes {
        KeyBytes(Vec::with_capacity(1024))
    }
}

impl KeyBytes {
    /// The key.
    pub fn into_key(self) -> Box<[u8]> {
        self.0.into_boxed_slice()
    }
}

impl Hasher for KeyBytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.len() as u64
    }
}
