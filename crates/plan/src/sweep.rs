//! Several kernels in one pass over rows: which rows of which stage are computed when, and by whom.
//!
//! A *stage* visits its rows in rising order. A *link* says that row `i` of a later stage comes after
//! rows `i + low ..= i + high` of an earlier one. From the links every stage gets a head start,
//! `ahead`: at time `t` its rows below `t + ahead` are done. So all stages go over memory together, a
//! few rows apart, and what one stage hands to the next is still in the cache.
//!
//! Time is cut into *bands*, one for each worker at a time. A band computes the rows that belong to its
//! time, and before them the `warm` rows that its own rows need from bands before it. It never waits for
//! another band, and never sees memory that another band writes: of every block that the pass writes,
//! a row belongs to one band; the others work on *images* of the few foreign rows that they touch.

use arrayloom_types::Strides;
use std::ops::Range;

/// How a stage comes to the elements of one of its views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// As the view says: memory that the pass does not write, or no memory at all.
    Direct,
    /// Memory that the pass writes: foreign rows are those of an image.
    Block {
        /// The number of the block.
        block: usize,
        /// The row of the block that row 0 lies in.
        row: isize,
    },
    /// Rows that exist only for a while.
    Ring {
        /// The number of the ring.
        ring: usize,
        /// The row of the ring's stage that row 0 of this stage is.
        row: usize,
        /// Bytes from the start of a row of the ring to the first element.
        offset: isize,
        /// Steps in bytes; the first one is the ring's pitch.
        strides: Strides,
    },
}

/// Rows of an intermediate value, the latest few of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Rows that readers need beyond those of one step.
    pub reach: usize,
    /// Pieces of a row, as far apart as all the rows are long: one, or the elements of a column if rows are
    /// columns.
    pub pieces: usize,
}

/// Row `i` of stage `to` comes after rows `i + low ..= i + high` of stage `from`, an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The earlier stage.
    pub from: usize,
    /// The later stage.
    pub to: usize,
    /// The first of the rows, counted from `i`.
    pub low: isize,
    /// The last of the rows, counted from `i`.
    pub high: isize,
    /// True when the values of these rows are needed, not only their place in time.
    pub flow: bool,
}

/// A stage touches rows of a block that the pass writes: its row `i` lies in row `i + row` of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The stage.
    pub stage: usize,
    /// The block.
    pub block: usize,
    /// The row of the block that the stage's row 0 lies in.
    pub row: isize,
    /// True when the stage writes it.
    pub writes: bool,
}

/// When the rows of a stage are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Rows of the stage.
    pub rows: usize,
    /// At time `t` the rows below `t + ahead` are done.
    pub ahead: isize,
    /// Rows before its own that a band computes as well.
    pub warm: usize,
}

/// Which rows of a block a band works on, counted from the start or end of the band's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// The first row that belongs to a band, counted from the start of its time.
    pub own: isize,
    /// The first row that it touches, counted from the start of its time.
    pub low: isize,
    /// The row after the last that it touches, counted from the end of its time.
    pub high: isize,
    /// All rows that the pass touches.
    pub rows: (isize, isize),
}

/// When everything happens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The stages in order.
    pub stages: Vec<Timing>,
    /// The blocks that the pass writes.
    pub blocks: Vec<Ownership>,
}

/// A part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Band {
    /// Its first moment.
    pub start: isize,
    /// The moment after its last.
    pub end: isize,
    /// True when no band comes before it.
    pub first: bool,
    /// True when no band comes after it.
    pub last: bool,
}

/// Finds head starts and warm rows. `rows` has the rows of every stage and the fewest warm rows that it
/// wants; `blocks` is the number of blocks that the pass writes.
pub fn schedule(
    rows: &[(usize, usize)],
    links: &[Link],
    touches: &[Touch],
    blocks: usize,
) -> Schedule {
    let count = rows.len();
    let mut ahead = vec![0isize; count];
    for stage in (0..count).rev() {
        let wanted = links.iter().filter(|l| l.from == stage);
        let wanted = wanted.map(|l| ahead[l.to] + l.high).max();
        ahead[stage] = wanted.unwrap_or(0);
    }
    let own: Vec<isize> = (0..blocks)
        .map(|block| {
            let writes = touches.iter().filter(|t| t.block == block && t.writes);
            writes.map(|t| ahead[t.stage] + t.row).min().unwrap_or(0)
        })
        .collect();
    let mut warm = vec![0isize; count];
    for stage in (0..count).rev() {
        let readers = links.iter().filter(|l| l.from == stage && l.flow);
        let for_readers = readers.map(|l| ahead[stage] - (ahead[l.to] - warm[l.to] + l.low));
        let writes = touches.iter().filter(|t| t.stage == stage && t.writes);
        let for_blocks = writes.map(|t| ahead[stage] + t.row - own[t.block]);
        let least = rows[stage].1.cast_signed();
        warm[stage] = for_readers.chain(for_blocks).fold(least, isize::max);
    }
    let blocks = (0..blocks)
        .map(|block| {
            let here = || touches.iter().filter(|t| t.block == block);
            let low = here().map(|t| ahead[t.stage] - warm[t.stage] + t.row).min();
            let high = here().map(|t| ahead[t.stage] + t.row).max();
            let first = here().map(|t| t.row).min();
            let end = here().map(|t| t.row + rows[t.stage].0.cast_signed()).max();
            Ownership {
                own: own[block],
                low: low.unwrap_or(own[block]),
                high: high.unwrap_or(own[block]),
                rows: (first.unwrap_or(0), end.unwrap_or(0)),
            }
        })
        .collect();
    let timing = |(stage, &(rows, _)): (usize, &(usize, usize))| Timing {
        rows,
        ahead: ahead[stage],
        warm: warm[stage].unsigned_abs(),
    };
    Schedule {
        stages: rows.iter().enumerate().map(timing).collect(),
        blocks,
    }
}

impl Schedule {
    /// The time from the first row to the last.
    pub fn time(&self) -> (isize, isize) {
        let start = self.stages.iter().map(|s| -s.ahead).min();
        let end = self.stages.iter().map(|s| s.rows.cast_signed() - s.ahead);
        (start.unwrap_or(0), end.max().unwrap_or(0))
    }

    /// Cuts the time into at most `parts` bands of nearly equal length.
    pub fn bands(&self, parts: usize) -> Vec<Band> {
        let (start, end) = self.time();
        let length = usize::try_from(end - start).unwrap_or(0);
        let cut = crate::bands(length, parts.max(1));
        let count = cut.len();
        cut.enumerate()
            .map(|(number, range)| Band {
                start: start + range.start.cast_signed(),
                end: start + range.end.cast_signed(),
                first: number == 0,
                last: number + 1 == count,
            })
            .collect()
    }

    /// The most warm rows of any stage: so long before its time a band begins.
    pub fn warm(&self) -> usize {
        self.stages.iter().map(|s| s.warm).max().unwrap_or(0)
    }

    /// How many rows of `from` are kept for a reader beyond those of one step.
    pub fn reach(&self, link: &Link) -> usize {
        let reach = self.stages[link.from].ahead - self.stages[link.to].ahead - link.low;
        reach.max(0).unsigned_abs()
    }
}

impl Timing {
    /// The rows that a band computes, those of others that it needs among them.
    pub fn computed(&self, band: &Band) -> Range<usize> {
        let start = self.clip(band.start + self.ahead - self.warm.cast_signed());
        start..self.clip(band.end + self.ahead).max(start)
    }

    /// The rows of the stage below a time.
    pub fn until(&self, time: isize) -> usize {
        self.clip(time + self.ahead)
    }

    fn clip(&self, row: isize) -> usize {
        usize::try_from(row).unwrap_or(0).min(self.rows)
    }
}

impl Ownership {
    /// The rows of the block that belong to a band: from the first of these to before the second.
    pub fn owned(&self, band: &Band) -> (isize, isize) {
        let start = if band.first {
            isize::MIN
        } else {
            band.start + self.own
        };
        let end = if band.last {
            isize::MAX
        } else {
            band.end + self.own
        };
        (start, end)
    }

    /// The foreign rows that a band touches, before and after its own.
    pub fn foreign(&self, band: &Band) -> [Range<isize>; 2] {
        let clip = |row: isize| row.clamp(self.rows.0, self.rows.1);
        let before = if band.first {
            0..0
        } else {
            clip(band.start + self.low)..clip(band.start + self.own)
        };
        let after = if band.last {
            0..0
        } else {
            clip(band.end + self.own)..clip(band.end + self.high)
        };
        [before, after]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half steps, then an update in place that reads them at rows `i` and `i + 1`.
    fn shallow_water() -> (Schedule, [Link; 3]) {
        let link = |from, low, high, flow| Link {
            from,
            to: 2,
            low,
            high,
            flow,
        };
        let links = [
            link(0, 0, 1, true),
            link(1, 0, 0, true),
            link(0, 0, 1, false),
        ];
        let touch = |stage, row, writes| Touch {
            stage,
            block: 0,
            row,
            writes,
        };
        let touches = [
            touch(0, 0, false),
            touch(0, 1, false),
            touch(1, 1, false),
            touch(2, 1, true),
        ];
        let rows = [(99, 0), (98, 0), (98, 0)];
        (schedule(&rows, &links, &touches, 1), links)
    }

    #[test]
    fn stages_run_as_far_ahead_as_their_readers_need() {
        let (plan, links) = shallow_water();
        let ahead: Vec<isize> = plan.stages.iter().map(|s| s.ahead).collect();
        let warm: Vec<usize> = plan.stages.iter().map(|s| s.warm).collect();
        assert_eq!((ahead, warm), (vec![1, 0, 0], vec![1, 0, 0]));
        assert_eq!(plan.reach(&links[0]), 1);
        assert_eq!(plan.time(), (-1, 98));
        let block = plan.blocks[0];
        assert_eq!((block.own, block.low, block.high), (1, 0, 2));
    }

    #[test]
    fn bands_share_out_all_rows() {
        let (plan, _) = shallow_water();
        for parts in [1, 2, 3, 7, 500] {
            let bands = plan.bands(parts);
            for stage in &plan.stages {
                let ends: Vec<usize> = bands.iter().map(|b| stage.computed(b).end).collect();
                assert_eq!(ends.last(), Some(&stage.rows));
                for (band, before) in bands[1..].iter().zip(&ends) {
                    let computed = stage.computed(band);
                    let wanted = before.saturating_sub(stage.warm);
                    assert!(computed.start == wanted || computed.is_empty());
                }
                assert_eq!(stage.computed(&bands[0]).start, 0);
            }
            for pair in bands.windows(2) {
                let block = &plan.blocks[0];
                assert_eq!(block.owned(&pair[0]).1, block.owned(&pair[1]).0);
            }
        }
    }

    #[test]
    fn two_updates_in_place_belong_to_the_last() {
        // Two steps of a stencil in place: work, store, work, store.
        let flow = |from, low, high| Link {
            from,
            to: from + 1,
            low,
            high,
            flow: true,
        };
        let order = |from, to, low, high| Link {
            from,
            to,
            low,
            high,
            flow: false,
        };
        let links = [
            flow(0, 0, 0),
            flow(1, -1, 1),
            flow(2, 0, 0),
            order(0, 1, -1, 1),
            order(2, 3, -1, 1),
            order(1, 3, 0, 0),
            order(0, 3, -1, 1),
        ];
        let touch = |stage, row, writes| Touch {
            stage,
            block: 0,
            row,
            writes,
        };
        let touches = [
            touch(0, 0, false),
            touch(0, 2, false),
            touch(1, 1, true),
            touch(2, 0, false),
            touch(2, 2, false),
            touch(3, 1, true),
        ];
        let plan = schedule(&[(50, 0); 4], &links, &touches, 1);
        let ahead: Vec<isize> = plan.stages.iter().map(|s| s.ahead).collect();
        assert_eq!(ahead, [3, 2, 1, 0]);
        let warm: Vec<usize> = plan.stages.iter().map(|s| s.warm).collect();
        assert_eq!(warm, [4, 3, 1, 0]);
        let block = plan.blocks[0];
        assert_eq!((block.own, block.low, block.high), (1, -1, 5));
    }
}
