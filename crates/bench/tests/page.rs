//! A page of every kind of section, and messages about files that cannot be used.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use bench::report::{Aim, Comparison, Figure, Report, Section, html};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sample-report.json");

fn sample() -> Report {
    Report::read(SAMPLE.as_ref()).unwrap()
}

/// Renders the sample beside one in which every figure was a tenth lower.
fn page() -> String {
    let report = sample();
    let mut recorded = report.clone();
    for figure in recorded.sections.iter_mut().flat_map(|section| &mut section.figures) {
        figure.measured = figure.measured.map(|measured| measured * 0.9);
    }
    recorded.sections[0].figures[0].what = "gone from here".to_owned();
    html(&report, Some(&Comparison::new(&report, &recorded)))
}

#[test]
fn every_tag_is_closed_in_its_turn_and_every_link_leads_to_one_place() {
    let page = page();
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
    for link in body.split("href=\"#").skip(1).chain(body.split("url(#").skip(1)) {
        let id = link.split(['"', ')']).next().unwrap();
        assert!(ids.contains(id), "{id}");
    }
    for name in ["compare", "billion"] {
        assert!(ids.contains(name), "a link to {name} holds from one report to the next");
    }
}

#[test]
fn the_page_needs_nothing_beside_it_and_obeys_no_markup_of_a_report() {
    let page = page().replace("&#60;img src=x&#62;", "");
    assert!(page.contains("&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62; &#38; &#34;quotes"));
    for outside in ["http", "<script", "<b>", "<link", "<img", "@import", "url(&", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn states_verdicts_and_changes_are_told_in_words() {
    let page = page();
    let titles = sample().sections.into_iter().map(|section| section.title);
    for title in titles.filter(|title| !title.contains('<')) {
        assert!(page.contains(&format!("<h2>{title}</h2>")), "{title}");
    }
    for word in [
        "INCOMPLETE:</strong>",
        "SKIPPED:</strong>",
        "FAILED, and incomplete:</strong>",
        "✗</span> short",
        "✓</span> ok",
        "?</span> not measured",
        "worse, +11 %",
        "better, +11 %",
        ">new<",
        "gone from here",
        "</strong> worse than recorded",
    ] {
        assert!(page.contains(word), "{word}");
    }
    let alone = html(&sample(), None);
    let body = alone.split("</head>").nth(1).unwrap();
    assert!(!body.contains("recorded") && !body.contains("change"), "without a recorded result");
    assert!(html(&Report::new(Vec::new()), None).contains("No figure has an aim."));
}

#[test]
fn ratios_come_before_absolute_numbers_and_what_is_short_before_what_is_not() {
    let page = page();
    let glance = page.split("id=\"_conditions\"").next().unwrap();
    let (ratios, others) = glance.split_once("<h3>Absolute numbers").unwrap();
    let ratios = ratios.split_once("<h3>Ratios").unwrap().1;
    for table in [ratios, others] {
        let (short, ok) = (table.rfind("</span> short"), table.find("</span> ok"));
        assert!(short.unwrap() < ok.unwrap());
    }
    assert!(!ratios.contains(" ms<") && others.contains(" ms<"));
}

/// Renders a page of one scenario with so many rows and figures, every fifth of which is short.
fn long_page(rows: u32) -> String {
    let mut section = Section::new("t", &["n"]);
    for row in 0..rows {
        section.row([row.to_string()]);
        let measured = if row % 5 == 0 { 2.0 } else { 1.0 };
        let figure = Figure::new(format!("figure {row}"), Some(measured), "");
        section.figures.push(figure.held_against(Aim::AtMost(1.0)));
    }
    let mut report = Report::new(Vec::new());
    report.sections.push(section);
    html(&report, None)
}

#[test]
fn a_long_table_is_folded_and_says_how_long_it_is_but_what_is_short_stays_in_sight() {
    assert!(!long_page(24).contains("<details"));
    let page = long_page(25);
    let summaries = page.split("<summary>").skip(1).map(|it| it.split('<').next().unwrap());
    let told = ["Those that hold: 20", "25 rows, 5 short", "25 rows"];
    assert_eq!(summaries.collect::<Vec<_>>(), told);
    let glance = page.split("id=\"_conditions\"").next().unwrap();
    let (open, folded) = glance.split_once("<details>").unwrap();
    assert_eq!((open.matches("</span> short").count(), open.matches("</span> ok").count()), (5, 0));
    assert_eq!(folded.matches("</span> ok").count(), 20);
}

#[test]
fn markdown_and_text_are_those_that_were_looked_through() {
    let mut report = sample();
    let mut recorded = report.clone();
    recorded.sections[0].figures[0].measured = Some(0.3);
    report.conditions.push((Report::OTHERS.to_owned(), "9 %".to_owned()));
    let markdown = report.markdown("sample", Some(&Comparison::new(&report, &recorded)));
    let sections: Vec<_> = report.sections.iter().map(Section::text).collect();
    for (name, text) in [("md", markdown), ("txt", sections.concat() + &report.summary())] {
        let path = SAMPLE.replace("json", name);
        // `LOOK=1 cargo test` writes the files, to be looked through and committed.
        if std::env::var_os("LOOK").is_some() {
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(text, fs::read_to_string(&path).unwrap(), "{path}");
    }
}

#[test]
fn the_program_writes_the_page_and_prints_what_got_worse_or_names_the_file_it_cannot_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let better = fs::read_to_string(SAMPLE).unwrap().replace("0.446", "0.3");
    for (name, text) in [
        ("text.json", "no JSON"),
        ("other.json", "{\"version\": 9}"),
        ("old.json", "{\"figures\": []}"),
        ("better.json", &better),
    ] {
        fs::write(path(name), text).unwrap();
    }
    let run = |result: &str, against: &str, out: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_varve-bench"));
        command.args(["page", result, "--against", against, "--out", out]);
        let output = command.output().unwrap();
        let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), told)
    };
    let out = path("report.html");
    for (result, against, out, reason) in [
        (&path("missing.json"), SAMPLE, &out, "missing.json: No such file"),
        (&path("text.json"), SAMPLE, &out, "text.json: not a result of varve-bench"),
        (&path("other.json"), SAMPLE, &out, "other.json: the file has version 9"),
        (&SAMPLE.to_owned(), &path("old.json"), &out, "old.json: the file has no version"),
        (&SAMPLE.to_owned(), SAMPLE, &path("no/x.html"), "x.html cannot be written: No such file"),
    ] {
        let (status, told) = run(result, against, out);
        assert!(status == Some(1) && told.contains(reason), "{told}");
    }
    assert!(!fs::exists(&out).unwrap());
    let (status, told) = run(SAMPLE, &path("better.json"), &out);
    assert!(status == Some(0) && told.contains("compare: CPU of GET / Valkey"), "{told}");
    assert!(told.contains("+49 %"), "{told}");
    assert!(fs::read_to_string(&out).unwrap().ends_with("</html>\n"));
}
