//! What the guard's service thread asks for when the program touches memory.

use crate::Engine;
use arrayloom_guard::{Owner, Slot};

impl Owner for Engine {
    fn evaluate(&self, slot: Slot) -> Result<(), ()> {
        let number = self
            .guard()
            .and_then(|guard| Engine::number_of(guard, slot))
            .ok_or(())?;
        let _turn = self.turns.take_for_service();
        let ran = self.run_list();
        let done = self.materialise(number);
        let error = if self.is_pending(number) {
            ran.and(done)
        } else {
            done
        };
        error.map_err(|error| self.keep_failure(error))
    }

    fn before_write(&self, _slot: Slot) -> Result<(), ()> {
        let _turn = self.turns.take_for_service();
        self.run_list().map_err(|error| self.keep_failure(error))
    }

    fn failed(&self, _slot: Slot) {}
}
