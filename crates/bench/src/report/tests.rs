//! A page and Markdown of every kind of section.

use std::collections::BTreeSet;
use std::fs;

use super::{Aim, Figure, Report, Section, html};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sample-report.json");

fn sample() -> Report {
    Report::read(SAMPLE.as_ref()).unwrap()
}

/// The sample when every figure was a tenth lower.
fn recorded() -> Report {
    let mut recorded = sample();
    for figure in recorded.sections.iter_mut().flat_map(|section| &mut section.figures) {
        figure.measured = figure.measured.map(|measured| measured * 0.9);
    }
    recorded.sections[0].figures[0].what = "gone from here".to_owned();
    recorded
}

#[test]
fn every_tag_is_closed_in_its_turn_and_every_link_leads_to_one_place() {
    let page = html(&sample(), Some(&recorded()));
    let (head, behind) = page.split_once("<style>").unwrap();
    let body = behind.split_once("</style>").unwrap().1;
    let (mut open, mut ids) = (Vec::new(), BTreeSet::new());
    // Attributes never contain `<` or `>`.
    for tag in [head, body].iter().flat_map(|part| part.split('<').skip(1)) {
        let tag = tag.split_once('>').unwrap_or_else(|| panic!("no end: <{tag}")).0;
        let name = tag.split(' ').next().unwrap();
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes: <{tag}>");
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "</{name}>"),
            None if !["!DOCTYPE", "meta"].contains(&name) => open.push(name),
            None => {}
        }
        if let Some((_, id)) = tag.split_once(" id=\"") {
            assert!(ids.insert(id.split('"').next().unwrap()), "twice: {id}");
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for link in body.split("href=\"#").skip(1) {
        assert!(ids.contains(link.split('"').next().unwrap()), "{link}");
    }
    assert!(ids.contains("billion"), "a link to a scenario holds from one report to the next");
}

#[test]
fn the_page_needs_nothing_beside_it_and_obeys_no_markup_of_a_report() {
    let page = html(&sample(), None).replace("&#60;img src=x&#62;", "");
    assert!(page.contains("&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62; &#38; &#34;quotes"));
    for outside in ["http", "<script", "<b>", "<link", "<img", "@import", "url(", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn states_verdicts_and_changes_are_told_in_words_and_what_is_short_comes_first() {
    let page = html(&sample(), Some(&recorded()));
    for word in [
        "<h2>Memory per key while keys grow</h2>",
        "INCOMPLETE:</strong>",
        "SKIPPED:</strong>",
        "FAILED, and incomplete:</strong>",
        ">short<",
        ">ok<",
        ">not measured<",
        ">worse, +11 %<",
        ">better, +11 %<",
        ">new<",
        "gone from here",
        "</strong> worse than recorded",
    ] {
        assert!(page.contains(word), "{word}");
    }
    let glance = page.split("id=\"_conditions\"").next().unwrap();
    let (ratios, others) = glance.split_once("<h3>Absolute numbers").unwrap();
    let ratios = ratios.split_once("<h3>Ratios").unwrap().1;
    for table in [ratios, others] {
        assert!(table.rfind(">short<").unwrap() < table.find(">ok<").unwrap());
    }
    assert!(!ratios.contains(" ms<") && others.contains(" ms<"));
    let alone = html(&sample(), None);
    let body = alone.split("</head>").nth(1).unwrap();
    assert!(!body.contains("recorded") && !body.contains("change"), "without a recorded result");
    assert!(html(&Report::new(Vec::new()), None).contains("No figure has an aim."));
}

/// Renders a page of one scenario with so many rows and figures, every fifth of which is short.
fn long_page(rows: u32) -> String {
    let mut section = Section::new("t", "n");
    for row in 0..rows {
        section.row([row.to_string()]);
        let measured = if row % 5 == 0 { 2.0 } else { 1.0 };
        let figure = Figure::new(format!("figure {row}"), Some(measured), "");
        section.figures.push(figure.compared_with(Aim::AtMost(1.0)));
    }
    html(&Report { sections: vec![section], ..Report::new(Vec::new()) }, None)
}

#[test]
fn a_long_table_is_folded_and_says_how_long_it_is_but_what_is_short_stays_in_sight() {
    assert!(!long_page(24).contains("<details"));
    let page = long_page(25);
    let summaries = page.split("<summary>").skip(1).map(|it| it.split('<').next().unwrap());
    let expected = ["Those that hold: 20", "25 rows, 5 short", "25 rows"];
    assert_eq!(summaries.collect::<Vec<_>>(), expected);
    let glance = page.split("id=\"_conditions\"").next().unwrap();
    let (open, folded) = glance.split_once("<details>").unwrap();
    assert_eq!([open, folded].map(|it| it.matches(">short<").count()), [5, 0]);
    assert_eq!([open, folded].map(|it| it.matches(">ok<").count()), [0, 20]);
}

#[test]
fn markdown_is_what_was_looked_through() {
    let mut report = sample();
    report.conditions.push((Report::OTHERS.to_owned(), "9 %".to_owned()));
    let (text, path) = (report.markdown("sample", Some(&recorded())), SAMPLE.replace("json", "md"));
    // `LOOK=1 cargo test` writes the file, to be looked through and committed.
    if std::env::var_os("LOOK").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap(), "{path}");
}
