//! How much of a full list runs: whole iterations of the loop that records it. Then the lists of a long loop are alike, and
//! one plan serves them all.

use arrayloom_ir::Node;

/// The nodes at the start of the list that are whole iterations, two of them at least; all nodes if there are no such.
pub(crate) fn whole_iterations(list: &[Node]) -> usize {
    let sites: Vec<u32> = list.iter().map(|node| node.site).collect();
    let period = period(&sites);
    if 2 * period > sites.len() {
        return sites.len();
    }
    sites.len() - sites.len() % period
}

/// The least `p` such that each item equals the one `p` items before it.
///
/// It is the length less the longest part that is both a start and an end, by the failure function of Knuth, Morris and
/// Pratt: Fast pattern matching in strings, SIAM J. Comput. 6(2), 1977.
fn period(items: &[u32]) -> usize {
    let mut borders = vec![0; items.len()];
    for at in 1..items.len() {
        let mut border = borders[at - 1];
        while border > 0 && items[border] != items[at] {
            border = borders[border - 1];
        }
        borders[at] = border + usize::from(items[border] == items[at]);
    }
    items.len() - borders.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::period;

    /// By the definition.
    fn slow_period(items: &[u32]) -> usize {
        let repeats = |p: usize| (p..items.len()).all(|at| items[at] == items[at - p]);
        (1..=items.len()).find(|&p| repeats(p)).unwrap_or(0)
    }

    #[test]
    fn periods_are_the_least() {
        for length in 0..12 {
            for code in 0..3_u32.pow(length) {
                let items: Vec<u32> = (0..length).map(|at| code / 3_u32.pow(at) % 3).collect();
                assert_eq!(period(&items), slow_period(&items), "{items:?}");
            }
        }
    }
}
