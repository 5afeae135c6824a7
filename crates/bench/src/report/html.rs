//! A report as one self-contained page: no scripts, no files, no network.
//!
//! | file | what |
//! |---|---|
//! | `html.rs` | the page from its head to its list of contents |
//! | `html/page.rs` | parts of a page and their link names |
//! | `html/glance.rs` | aims that are met and missed, ratios first |
//! | `html/section.rs` | one scenario |
//! | `html/table.rs` | tables of cells and of figures |
//! | `html/style.css` | layout on a phone, a screen and paper, light and dark |

mod duration;
mod glance;
mod page;
mod section;
mod table;

use super::escape::escape;
use super::{Comparison, Report};
use duration::duration;
use page::Page;

/// Renders the page, with the change of each figure if there is a recorded result to compare with.
pub fn html(report: &Report, comparison: Option<&Comparison>) -> String {
    let page = Page::new(report, comparison);
    let date = escape(&report.date);
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Varve benchmark {date}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    text += &page.header();
    text += "<main>\n";
    text += &page.banners();
    text += &glance::glance(&page);
    text += &page.conditions();
    text += &page.contents();
    for part in &page.parts {
        text += &section::section(part);
    }
    text + "</main>\n</body>\n</html>\n"
}

impl Page<'_> {
    fn header(&self) -> String {
        let machine = self.report.condition(Report::MACHINE).map(str::to_owned);
        let seconds: f64 = self.report.sections.iter().map(|section| section.seconds).sum();
        let took = (seconds > 0.0).then(|| format!("measured in {}", duration(seconds)));
        let facts: Vec<_> = machine.into_iter().chain(took).collect();
        let (date, facts) = (escape(&self.report.date), escape(&facts.join(" · ")));
        format!(
            "<header>\n<h1>Varve benchmark <time>{date}</time></h1>\n<p>{facts}</p>\n</header>\n"
        )
    }

    fn banners(&self) -> String {
        let mut text = String::new();
        if !self.report.complete {
            text += "<p class=\"banner failed\"><strong>INCOMPLETE:</strong> the run was broken \
                     off, or is still going on. What is missing below was not measured.</p>\n";
        }
        if let Some(percent) = self.report.disturbance() {
            text += &format!(
                "<p class=\"banner skipped\"><strong>DISTURBED:</strong> others used \
                 {percent:.0} % of the cores before the start. Times may be too long, and spread \
                 more.</p>\n"
            );
        }
        let scale = self.report.condition(Report::SCALE).and_then(|it| it.parse::<f64>().ok());
        if let Some(scale) = scale.filter(|scale| *scale < 1.0) {
            text += &format!(
                "<p class=\"banner skipped\"><strong>SMALL:</strong> measured at {scale} of the \
                 whole size. Fixed costs weigh more here, and short measurements spread more.</p>\n"
            );
        }
        text
    }

    fn conditions(&self) -> String {
        let mut text = String::from("<h2 id=\"conditions\">Machine and settings</h2>\n<dl>\n");
        for (name, value) in &self.report.conditions {
            text += &format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value));
        }
        text + "</dl>\n"
    }

    fn contents(&self) -> String {
        let mut text = String::from(
            "<nav aria-labelledby=\"contents\">\n<h2 id=\"contents\">Scenarios</h2>\n\
             <ol class=\"contents\">\n",
        );
        for part in &self.parts {
            let (id, title) = (&part.id, escape(&part.section.title));
            text += &format!("<li><a href=\"#{id}\">{title}</a> {}</li>\n", part.remark());
        }
        text + "</ol>\n</nav>\n"
    }
}

const STYLE: &str = include_str!("html/style.css");
