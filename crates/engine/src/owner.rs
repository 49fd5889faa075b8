//! What the guard's service thread asks for when the program touches memory.

use crate::Engine;
use crate::wanted::Wanted;
use arrayloom_guard::{Owner, Slot};
use std::sync::atomic::Ordering;

impl Owner for Engine {
    fn evaluate(&self, slot: Slot) -> Result<(), ()> {
        let number = self
            .guard()
            .and_then(|guard| Engine::number_of(guard, slot))
            .ok_or(())?;
        let _turn = self.turns.take_for_service();
        let done = match self.evaluate_slot(number) {
            Ok(()) => Ok(()),
            // A late request: another thread's touch was served and the array is gone since.
            Err(_) if self.table().get(number).is_none() => Ok(()),
            Err(error) => {
                self.keep_failure(error);
                Err(())
            }
        };
        self.give_notice();
        done
    }

    fn before_write(&self, slot: Slot) -> Result<(), ()> {
        let _turn = self.turns.take_for_service();
        let number = self.guard().and_then(|g| Engine::number_of(g, slot));
        let done = self
            .run_list(Wanted::All)
            .and_then(|()| number.map_or(Ok(()), |slot| self.take_from(slot)))
            .map_err(|error| self.keep_failure(error));
        self.give_notice();
        done
    }

    fn failed(&self, _slot: Slot) {}

    fn served(&self) {
        if self.news.swap(false, Ordering::AcqRel)
            && let Some(notice) = self.notice.get()
        {
            notice();
        }
    }
}

impl Engine {
    /// Remembers that a touch left something to be told, for the touching thread to tell.
    pub(crate) fn give_notice(&self) {
        if self.has_news() {
            self.news.store(true, Ordering::Release);
        }
    }
}
