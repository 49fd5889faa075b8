//! The interpreter against itself. This shows that the suite runs and that the interpreter is
//! deterministic; that the interpreter is right is shown by its golden files.

use arrayloom_device::conform;
use arrayloom_reference::Reference;

conform::suite!(Reference::new(), Reference::new());
