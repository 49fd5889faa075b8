//! Many entries behind one kernel. A compiler for a CPU takes a tenth of a second for a kernel, whatever is in
//! it: where many kernels run once each, they become functions, and a number says which one a launch means.
//!
//! A board has parameters enough for each of its seats: pointers, and words of 64 bits.

use crate::dialect::Dialect;
use crate::entry::{Entry, GROUP};
use crate::library::Library;
use std::fmt::Write as _;

/// The most pointers and words of a seat: all parameters of a kernel may have a kilobyte together.
const MOST: [usize; 2] = [24, 96];

/// The kernel of a board, and how many parameters it has after the number of the seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    /// The text of its program.
    pub text: String,
    /// Pointers, which come first.
    pub pointers: usize,
    /// Words, which are one parameter, a structure.
    pub words: usize,
}

impl Board {
    /// The name of the kernel.
    pub const NAME: &'static str = "board";

    /// A board in OpenCL C with a seat for each of these entries, in order. There must be one at least, and all
    /// must be [`is_seated`].
    ///
    /// # Errors
    /// The words for an instruction that the library does not have.
    pub fn of(entries: &[&Entry]) -> Result<Board, String> {
        let (mut functions, mut seats) = (String::new(), String::new());
        let [mut pointers, mut words] = [1; 2];
        for (number, entry) in entries.iter().enumerate() {
            let (name, own) = (entry.name(), crate::text_of(entry)?);
            let head = format!("KERNEL({name}, {GROUP})");
            let index = entry.index();
            let _ = write!(
                functions,
                "\n#undef ix\n#define ix {index}\n{}",
                own.replacen(&head, &format!("DEV void {name}"), 1)
            );
            let (mut at, mut args) = ([0; 2], Vec::new());
            for param in kinds(entry) {
                args.push(match &param {
                    Kind::Pointer(to) => format!("({to} *)p{}", at[0]),
                    Kind::Word(kind) => taken(kind, at[1]),
                });
                at[usize::from(matches!(param, Kind::Word(_)))] += 1;
            }
            [pointers, words] = [pointers.max(at[0]), words.max(at[1])];
            let _ = writeln!(
                seats,
                "    case {number}: {name}({}); break;",
                args.join(", ")
            );
        }
        let list: Vec<String> = (0..pointers).map(|i| format!("GLB u8 *p{i}")).collect();
        let kernel = format!(
            "\ntypedef struct {{ u64 all[{words}]; }} words;\n\
             KERNEL({}, {GROUP})(const u32 seat, {}, const words w) {{\n    switch (seat) {{\n{seats}    }}\n}}\n",
            Board::NAME,
            list.join(", ")
        );
        let library = Library::get().mentioned(&format!("{functions}{kernel}"));
        let text = format!("{}{library}{functions}{kernel}", Dialect::OpenCl.prelude());
        Ok(Board {
            text,
            pointers,
            words,
        })
    }
}

/// True for an entry that can be a function of a [`Board`]: its items work apart, and its parameters are not
/// too many.
pub fn is_seated(entry: &Entry) -> bool {
    let all = kinds(entry);
    let pointers = all.iter().filter(|k| matches!(k, Kind::Pointer(_))).count();
    !entry.in_groups() && pointers <= MOST[0] && all.len() - pointers <= MOST[1]
}

/// A parameter of a function.
enum Kind {
    /// To elements of this type.
    Pointer(String),
    /// A value of this type.
    Word(String),
}

/// The parameters of an entry in order.
fn kinds(entry: &Entry) -> Vec<Kind> {
    let mut all = Vec::new();
    for param in entry.params() {
        for declared in entry.declared(param).split(", ") {
            let value = declared.trim_start_matches("const ");
            let kind = value.split(' ').next().unwrap_or_default();
            all.push(match declared.split_once('*') {
                Some((to, _)) => Kind::Pointer(to.trim().to_owned()),
                None if kind == "ix" => Kind::Word(entry.index().to_owned()),
                None => Kind::Word(kind.to_owned()),
            });
        }
    }
    all
}

/// A word as a value of this type.
fn taken(kind: &str, word: usize) -> String {
    match kind {
        "f64" => format!("f64_of(w.all[{word}])"),
        "f32" => format!("f32_of((u32)w.all[{word}])"),
        _ => format!("({kind})w.all[{word}]"),
    }
}
