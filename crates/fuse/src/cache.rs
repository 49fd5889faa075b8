//! Code that was built before, found by the structure of its group.

use crate::build::{self, Built, Structure};
use indexmap::IndexMap;

/// Structures kept at most; when they are reached, all go.
const CAPACITY: usize = 4096;

/// Built code by structure. Sizes, steps and scalars are no part of the key.
#[derive(Debug, Default)]
pub struct Cache {
    known: IndexMap<Structure, Built>,
    hits: u64,
    misses: u64,
}

impl Cache {
    /// Nothing yet.
    pub fn new() -> Cache {
        Cache::default()
    }

    /// How often code was found.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// How often code was built.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Sets both counts to zero; the code stays.
    pub fn reset_counts(&mut self) {
        (self.hits, self.misses) = (0, 0);
    }

    pub(crate) fn get(&mut self, structure: Structure) -> Built {
        if let Some(built) = self.known.get(&structure) {
            self.hits += 1;
            return built.clone();
        }
        self.misses += 1;
        if self.known.len() >= CAPACITY {
            self.known.clear();
        }
        let built = build::build(&structure);
        self.known.insert(structure, built.clone());
        built
    }
}
