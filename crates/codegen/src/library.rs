//! The C functions that kernels mention.
//!
//! The files of `c/` hold items: functions and tables, apart by empty lines. Between `//each T: a b` and
//! `//end` an item stands for one of each name, with `$T` for the name, `$U` for the unsigned type of its
//! width, `$M` for the type in which products of it wrap, `$W` for its bits, and `$R` for the parts of a
//! complex number.

use indexmap::IndexMap;
use std::collections::BTreeSet;
use std::sync::OnceLock;

const FILES: [&str; 9] = [
    include_str!("c/access.c"),
    include_str!("c/integers.c"),
    include_str!("c/floats.c"),
    include_str!("c/math.c"),
    include_str!("c/complex.c"),
    include_str!("c/conditions.c"),
    include_str!("c/sort.c"),
    include_str!("c/fourier.c"),
    include_str!("c/filter.c"),
];

struct Item {
    text: String,
    /// The numbers of the items that it mentions.
    needs: Vec<usize>,
}

/// All items by the name of what they define.
pub(crate) struct Library(IndexMap<String, Item>);

impl Library {
    /// The library, read once.
    pub(crate) fn get() -> &'static Library {
        static LIBRARY: OnceLock<Library> = OnceLock::new();
        LIBRARY.get_or_init(|| {
            let mut items: IndexMap<String, Item> = IndexMap::new();
            for text in FILES.iter().flat_map(|file| expanded(file)) {
                let needs = Vec::new();
                items.insert(defined(&text).to_owned(), Item { text, needs });
            }
            let needs: Vec<Vec<usize>> = items
                .iter()
                .map(|(name, item)| {
                    let used = words(&item.text).filter(|w| w != name);
                    used.filter_map(|w| items.get_index_of(w)).collect()
                })
                .collect();
            for (item, needs) in items.values_mut().zip(needs) {
                item.needs = needs;
            }
            Library(items)
        })
    }

    /// True when a function of this name exists.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The items that a text mentions, those that they mention before them.
    pub(crate) fn mentioned(&self, text: &str) -> String {
        let (mut done, mut out) = (BTreeSet::new(), String::new());
        let roots: BTreeSet<usize> = words(text).filter_map(|w| self.0.get_index_of(w)).collect();
        for root in roots {
            self.add(root, &mut done, &mut out);
        }
        out
    }

    fn add(&self, number: usize, done: &mut BTreeSet<usize>, out: &mut String) {
        if !done.insert(number) {
            return;
        }
        let item = &self.0[number];
        for &need in &item.needs {
            self.add(need, done, out);
        }
        out.push('\n');
        out.push_str(&item.text);
        out.push('\n');
    }
}

/// The identifiers of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|w| w.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The items of a file, one for each type.
fn expanded(file: &str) -> Vec<String> {
    let (mut items, mut types): (Vec<String>, Vec<&str>) = (Vec::new(), Vec::new());
    for block in file.split("\n\n") {
        let mut body: Vec<&str> = Vec::new();
        let mut ends = false;
        for line in block.lines() {
            if let Some(list) = line.strip_prefix("//each T: ") {
                types = list.split_whitespace().collect();
            } else if line == "//end" {
                ends = true;
            } else {
                body.push(line);
            }
        }
        let text = body.join("\n");
        if text
            .lines()
            .any(|l| l.starts_with("DEV ") || l.starts_with("CONSTANT "))
        {
            if types.is_empty() {
                items.push(text);
            } else {
                items.extend(types.iter().map(|name| filled(&text, name)));
            }
        }
        if ends {
            types.clear();
        }
    }
    items
}

/// A template for the type or function `name`.
fn filled(template: &str, name: &str) -> String {
    let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let bits: u32 = digits.parse().unwrap_or(0);
    let part = if name == "c64" { "f32" } else { "f64" };
    let wraps = if bits == 64 { "u64" } else { "u32" };
    template
        .replace("$T", name)
        .replace("$U", &format!("u{bits}"))
        .replace("$M", wraps)
        .replace("$W", &bits.to_string())
        .replace("$R", part)
}

/// The name that an item defines: the last word before its first bracket.
fn defined(text: &str) -> &str {
    let body = text
        .lines()
        .find(|l| l.starts_with("DEV ") || l.starts_with("CONSTANT "))
        .unwrap_or_default();
    let head = body.split(['(', '[']).next().unwrap_or_default();
    words(head).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_give_one_item_for_each_type() {
        let library = Library::get();
        for name in [
            "add_u16",
            "floordiv_i64",
            "fmod_f64",
            "sin_c64",
            "max_b8",
            "two_by_pi",
        ] {
            assert!(library.has(name), "{name}");
        }
        assert!(!library.has("add_$T"));
        assert!(library.0.values().all(|item| !item.text.contains('$')));
    }

    #[test]
    fn only_what_is_mentioned_comes_and_in_order() {
        let text = Library::get().mentioned("x = log1p_c64(y);");
        let place = |name: &str| text.find(&format!(" {name}(")).unwrap();
        assert!(place("split_log") < place("log_f64"));
        assert!(place("log_f64") < place("log_f32"));
        assert!(!text.contains("sin_f64"));
        assert!(Library::get().mentioned("a + b").is_empty());
    }
}
