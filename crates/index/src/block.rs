//! The lines of one block: finding, placing, displacing, removing.

use crate::line::{DISTANCES, Entry, Line};

/// Lines that the search for a chain of displacements may look at.
const SEARCH_LINES: usize = 32;

/// A power of two lines or not; positions are 16 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    lines: &'a [Line],
}

/// A lane of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneAt {
    pub line: u32,
    pub lane: u32,
}

/// One step of the search: a line that is full, and the entry whose move into it was considered.
#[derive(Clone, Copy)]
struct Step {
    line: u32,
    /// The step before, and the lane of its line whose entry would come here.
    from: u32,
    lane: u32,
}

/// Lines that the search has met.
#[derive(Default)]
struct Seen([u64; 16]);

impl Seen {
    fn first_time(&mut self, line: u32) -> bool {
        let (word, bit) = (&mut self.0[line as usize / 64], 1 << (line % 64));
        let first = *word & bit == 0;
        *word |= bit;
        first
    }
}

/// The home line of a 16-bit position in a block of so many lines.
#[inline]
pub(crate) fn home_line(position: u32, lines: u32) -> u32 {
    (position * lines) >> 16
}

impl<'a> Block<'a> {
    pub fn new(lines: &'a [Line]) -> Block<'a> {
        Block { lines }
    }

    pub fn len(self) -> u32 {
        narrow::to_u32(self.lines.len())
    }

    /// The home line of a 16-bit position; it rises with the position.
    #[inline]
    pub fn home(self, position: u32) -> u32 {
        home_line(position, self.len())
    }

    /// The lowest position whose home is `home`; 2^16 for the line after the last.
    pub fn lowest_position(self, home: u32) -> u32 {
        (home << 16).div_ceil(self.len())
    }

    #[inline]
    pub fn line(self, number: u32) -> &'a Line {
        &self.lines[number as usize]
    }

    /// Where natives of `home` with `code` lie.
    #[inline]
    pub fn line_of(self, home: u32, code: u32) -> u32 {
        let line = home + DISTANCES[code as usize - 1];
        if line >= self.len() { line - self.len() } else { line }
    }

    /// The home of an entry that lies in `line` with `code`.
    #[inline]
    pub fn home_of(self, line: u32, code: u32) -> u32 {
        let distance = DISTANCES[code as usize - 1];
        if line >= distance { line - distance } else { line + self.len() - distance }
    }

    /// Finds the native of `home` with `tag` in which `look` sees something.
    #[inline(always)]
    pub fn find_map<T>(
        self,
        home: u32,
        tag: u16,
        look: impl Fn(Entry) -> Option<T>,
    ) -> Option<(LaneAt, Entry, T)> {
        let line = self.line(home);
        let codes = line.codes();
        for lane in line.matches(tag) {
            let entry = line.entry(lane);
            if codes.of(lane) == 1
                && let Some(seen) = look(entry)
            {
                return Some((LaneAt { line: home, lane }, entry, seen));
            }
        }
        let marks = codes.marks();
        if marks == 0 { None } else { self.find_displaced(home, marks, tag, look) }
    }

    #[inline(never)]
    fn find_displaced<T>(
        self,
        home: u32,
        mut marks: u32,
        tag: u16,
        look: impl Fn(Entry) -> Option<T>,
    ) -> Option<(LaneAt, Entry, T)> {
        while marks != 0 {
            let code = marks.trailing_zeros() + 2;
            marks &= marks - 1;
            let number = self.line_of(home, code);
            let line = self.line(number);
            let codes = line.codes();
            for lane in line.matches(tag) {
                let entry = line.entry(lane);
                if codes.of(lane) == code
                    && let Some(seen) = look(entry)
                {
                    return Some((LaneAt { line: number, lane }, entry, seen));
                }
            }
        }
        None
    }

    /// The lines to which natives of `home` were displaced, with their codes.
    #[inline]
    pub fn marked_lines(self, home: u32, mut marks: u32) -> impl Iterator<Item = (u32, &'a Line)> {
        std::iter::from_fn(move || {
            if marks == 0 {
                return None;
            }
            let code = marks.trailing_zeros() + 2;
            marks &= marks - 1;
            Some((code, self.line(self.line_of(home, code))))
        })
    }

    /// All natives of `home`, wherever they lie.
    pub fn natives(self, home: u32) -> impl Iterator<Item = (LaneAt, Entry)> + 'a {
        let marks = self.line(home).codes().marks();
        let codes = (1..=6).filter(move |code| *code == 1 || marks >> (code - 2) & 1 == 1);
        codes.flat_map(move |code| {
            let number = self.line_of(home, code);
            let line = self.line(number);
            let lanes = line.codes().occupied().filter(move |lane| line.codes().of(*lane) == code);
            lanes.map(move |lane| (LaneAt { line: number, lane }, line.entry(lane)))
        })
    }

    /// Puts a new entry where its home allows, moving others if it must; `None` if the block is
    /// as full as the search can make it.
    pub fn place(self, home: u32, tag: u16, entry: Entry) -> Option<LaneAt> {
        for code in 1..=6 {
            let number = self.line_of(home, code);
            if let Some(lane) = self.line(number).codes().first_empty() {
                self.put(home, code, LaneAt { line: number, lane }, tag, entry);
                return Some(LaneAt { line: number, lane });
            }
        }
        let (code, at) = self.make_room(home)?;
        self.put(home, code, at, tag, entry);
        Some(at)
    }

    fn put(self, home: u32, code: u32, at: LaneAt, tag: u16, entry: Entry) {
        self.line(at.line).fill(at.lane, code, tag, entry);
        if code > 1 {
            self.line(home).set_mark(code);
        }
    }

    /// Frees a lane in one of the lines of `home` by moving a chain of entries, searched breadth
    /// first so that the chain is short.
    #[cold]
    fn make_room(self, home: u32) -> Option<(u32, LaneAt)> {
        let mut steps = [Step { line: 0, from: 0, lane: 0 }; SEARCH_LINES];
        // A chain that met a line twice could move an entry that an earlier move has replaced.
        let mut seen = Seen::default();
        for code in 1..=6 {
            steps[code as usize - 1].line = self.line_of(home, code);
            seen.first_time(self.line_of(home, code));
        }
        let (mut next, mut end) = (0, 6);
        while next < end {
            let line = steps[next].line;
            let codes = self.line(line).codes();
            for lane in codes.occupied() {
                let native = self.home_of(line, codes.of(lane));
                for code in (1..=6).filter(|code| *code != codes.of(lane)) {
                    let target = self.line_of(native, code);
                    if let Some(empty) = self.line(target).codes().first_empty() {
                        let to = LaneAt { line: target, lane: empty };
                        let last = narrow::to_u32(next);
                        return Some(self.shift_chain(&steps, last, lane, code, to));
                    }
                    if end < SEARCH_LINES && seen.first_time(target) {
                        steps[end] = Step { line: target, from: narrow::to_u32(next), lane };
                        end += 1;
                    }
                }
            }
            next += 1;
        }
        None
    }

    /// Moves the entry at (`step`, `lane`) to the empty lane `to`, then the one before it into the
    /// lane that became empty, back to a line of the new entry's home. Returns that line's code
    /// and lane.
    fn shift_chain(
        self,
        steps: &[Step],
        mut step: u32,
        mut lane: u32,
        code: u32,
        mut to: LaneAt,
    ) -> (u32, LaneAt) {
        let mut code = Some(code);
        loop {
            let from = LaneAt { line: steps[step as usize].line, lane };
            self.shift(from, to, code.take());
            to = from;
            if step < 6 {
                return (step + 1, to);
            }
            lane = steps[step as usize].lane;
            step = steps[step as usize].from;
        }
    }

    /// Moves one entry to an empty lane of another of its lines.
    fn shift(self, from: LaneAt, to: LaneAt, code: Option<u32>) {
        let (source, target) = (self.line(from.line), self.line(to.line));
        let home = self.home_of(from.line, source.codes().of(from.lane));
        let code = code.unwrap_or_else(|| self.code_between(home, to.line));
        let (tag, entry) = (source.tag(from.lane), source.entry(from.lane));
        if let (true, Some(tick)) = (entry.is_timed(), source.tick()) {
            target.note_tick(tick);
        }
        self.remove(from);
        self.put(home, code, to, tag, entry);
    }

    fn code_between(self, home: u32, line: u32) -> u32 {
        (1..=6).find(|code| self.line_of(home, *code) == line).unwrap_or(1)
    }

    /// Empties a lane, and the mark of its home if it was the last under it.
    pub fn remove(self, at: LaneAt) {
        let line = self.line(at.line);
        let code = line.codes().of(at.lane);
        line.empty(at.lane);
        if code > 1 && !line.codes().carries(code) {
            self.line(self.home_of(at.line, code)).clear_mark(code);
        }
    }
}
