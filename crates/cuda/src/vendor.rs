//! NVIDIA's libraries for products of matrices and Fourier transforms: opened when the first is wanted, never
//! before. Without them, and where they refuse, kernels of ours do the same.

use crate::blas::Blas;
use crate::device::Cuda;
use crate::fft::Fft;
use crate::libraries::Places;
use crate::memory::Spare;
use arrayloom_device::DeviceError;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Bytes that products work in, as NVIDIA recommends them: up to compute capability 8.9, and from there on.
const WORKSPACES: [u64; 2] = [4 << 20, 32 << 20];

/// The libraries of one device.
pub(crate) struct Vendor {
    /// Where they are looked for, if they are to be used.
    places: Option<Places>,
    /// Bytes that products work in.
    pub(crate) workspace: u64,
    products: OnceLock<Result<Blas, String>>,
    transforms: OnceLock<Result<Arc<Fft>, String>>,
    /// Why the last call ended otherwise.
    failed: Mutex<Option<String>>,
}

impl Vendor {
    /// None is open yet.
    pub(crate) fn new(places: Option<Places>, capability: i32) -> Vendor {
        Vendor {
            places,
            workspace: WORKSPACES[usize::from(capability >= 90)],
            products: OnceLock::new(),
            transforms: OnceLock::new(),
            failed: Mutex::default(),
        }
    }

    /// cuBLAS, if it is there. The context is current.
    pub(crate) fn products(&self, device: &Cuda) -> Option<&Blas> {
        let places = self.places.as_ref()?;
        let opened = self
            .products
            .get_or_init(|| Blas::open(&device.context, places));
        opened.as_ref().ok()
    }

    /// cuFFT, if it is there. The context is current.
    pub(crate) fn transforms(&self, device: &Cuda) -> Option<&Fft> {
        let places = self.places.as_ref()?;
        let opened = self.transforms.get_or_init(|| {
            let fft = Arc::new(Fft::open(&device.context, places)?);
            device.spares.add(Arc::downgrade(&fft) as Weak<dyn Spare>);
            Ok(fft)
        });
        opened.as_deref().ok()
    }

    /// Notes why a call ended otherwise.
    pub(crate) fn failed(&self, why: &DeviceError) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        *failed = Some(why.to_string());
    }

    /// What there is, and why others are not used.
    pub(crate) fn words(&self, device: &Cuda) -> Vec<String> {
        if self.places.is_none() {
            return vec!["no cuBLAS and no cuFFT: they are turned off".to_owned()];
        }
        let Ok(_current) = device.context.enter() else {
            return Vec::new();
        };
        self.products(device);
        self.transforms(device);
        let none = |name: &str, why: &String| format!("no {name}: {why}");
        let mut all = Vec::new();
        if let Some(opened) = self.products.get() {
            all.push(
                opened
                    .as_ref()
                    .map_or_else(|why| none("cuBLAS", why), |library| library.words.clone()),
            );
        }
        if let Some(opened) = self.transforms.get() {
            all.push(
                opened
                    .as_ref()
                    .map_or_else(|why| none("cuFFT", why), |library| library.words.clone()),
            );
        }
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(failed.iter().map(|why| format!("last refused: {why}")));
        all
    }
}
