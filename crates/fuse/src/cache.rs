//! What was planned and built before: plans by their lists, code by the structure of its group.

use crate::Fused;
use crate::build::{self, Built, Structure};
use crate::plans::Plans;
use arrayloom_ir::Node;
use indexmap::IndexMap;

/// Structures kept at most; when they are reached, all go.
const CAPACITY: usize = 4096;

/// Built code by structure, of which sizes, steps and scalars are no part, and plans of whole lists.
#[derive(Debug, Default)]
pub struct Cache {
    known: IndexMap<Structure, Built>,
    pub(crate) fused: Plans<Fused>,
    pub(crate) propagated: Plans<Option<Vec<Node>>>,
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

    /// The lists whose plans are known.
    pub fn plans(&self) -> usize {
        self.fused.len() + self.propagated.len()
    }

    /// Sets both counts to zero; the code stays.
    pub fn reset_counts(&mut self) {
        (self.hits, self.misses) = (0, 0);
    }

    /// The code of a plan that was found as a whole.
    pub(crate) fn found(&mut self, fused: &Fused) {
        self.hits += fused.groups.len() as u64;
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
