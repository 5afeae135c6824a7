//! Continuation of an earlier run that was interrupted.

use anyhow::{Result, bail};

use super::{LATER, Report};

impl Report {
    /// Turns this report into the rest of an earlier run: takes its date, and its conditions beside
    /// the present ones where they differ. Sections are left to the caller, who knows which of them
    /// still count.
    ///
    /// # Errors
    /// If the earlier run was on another machine or at another scale: such figures do not belong in
    /// one report.
    pub fn go_on_from(&mut self, earlier: &Self) -> Result<()> {
        for name in [Self::MACHINE, Self::SCALE] {
            let (before, now) = (earlier.condition(name), self.condition(name));
            if before != now {
                let [before, now] = [before, now].map(|it| it.unwrap_or("unknown"));
                bail!("{name} was {before} and is {now} now: begin a run of its own");
            }
        }
        self.date.clone_from(&earlier.date);
        for (name, now) in &mut self.conditions {
            let Some(before) = earlier.condition(name) else { continue };
            let is_the_latest = before.rsplit(LATER).next() == Some(now);
            *now = if is_the_latest { before.to_owned() } else { format!("{before}{LATER}{now}") };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Report;

    fn report(conditions: &[(&str, &str)]) -> Report {
        let owned = conditions.iter().map(|(name, it)| ((*name).to_owned(), (*it).to_owned()));
        Report::new(owned.collect())
    }

    #[test]
    fn what_changed_since_the_earlier_run_is_told_beside_it() {
        let mut earlier = report(&[("commit", "a"), ("kernel", "6"), (Report::OTHERS, "9 %")]);
        earlier.date = "2026-01-02".to_owned();
        let now = [("commit", "b"), ("kernel", "6"), (Report::OTHERS, "0 %"), ("order", "any")];
        let mut second = report(&now);
        second.go_on_from(&earlier).unwrap();
        assert_eq!((second.date.as_str(), second.disturbance()), ("2026-01-02", Some(9.0)));
        let mut third = report(&now);
        third.go_on_from(&second).unwrap();
        let told = ["commit", "kernel", "order"].map(|name| third.condition(name).unwrap());
        assert_eq!(told, ["a; later b", "6", "any"]);
    }

    #[test]
    fn a_run_on_another_machine_or_at_another_scale_is_no_part_of_this_one() {
        let earlier = report(&[(Report::MACHINE, "m"), (Report::SCALE, "1")]);
        for (machine, scale) in [("n", "1"), ("m", "0.5")] {
            let mut now = report(&[(Report::MACHINE, machine), (Report::SCALE, scale)]);
            let error = now.go_on_from(&earlier).unwrap_err().to_string();
            assert!(error.contains("begin a run of its own"), "{error}");
        }
    }
}
