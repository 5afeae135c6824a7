//! A page of every kind of section, and messages about files that cannot be used.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, process};

use bench::report::{Aim, Comparison, Figure, Report, Section, html};

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sample-report.json")
}

/// Renders the sample beside one in which every figure was a tenth lower.
fn page() -> String {
    let report = Report::read(&sample()).unwrap();
    let mut recorded = report.clone();
    for figure in recorded.sections.iter_mut().flat_map(|section| &mut section.figures) {
        figure.measured = figure.measured.map(|measured| measured * 0.9);
    }
    recorded.sections[0].figures[0].what = "gone from here".to_owned();
    html(&report, Some(&Comparison::new(&report, &recorded)))
}

/// Returns the tags in order, without `<` and `>`; attributes never contain either.
fn tags(page: &str) -> Vec<&str> {
    let style = page.find("<style>").unwrap()..page.find("</style>").unwrap();
    let outside = [&page[..style.start], &page[style.end + "</style>".len()..]];
    outside.iter().flat_map(|part| part.split('<').skip(1)).map(before_its_end).collect()
}

fn before_its_end(text: &str) -> &str {
    text.split_once('>').unwrap_or_else(|| panic!("no end: <{text}")).0
}

fn ids(page: &str) -> Vec<&str> {
    let ids = tags(page).into_iter().filter_map(|tag| tag.split_once(" id=\""));
    ids.map(|(_, id)| id.split('"').next().unwrap()).collect()
}

#[test]
fn every_tag_is_closed_in_its_turn() {
    let page = page();
    let mut open = Vec::new();
    for tag in tags(&page) {
        let name = tag.split([' ', '\n']).next().unwrap().trim_end_matches('/');
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes: <{tag}>");
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "</{name}>"),
            None if tag.ends_with('/') || ["!DOCTYPE", "meta"].contains(&name) => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn names_for_links_are_unique_and_every_link_leads_to_one() {
    let page = page();
    let unique: BTreeSet<_> = ids(&page).into_iter().collect();
    assert_eq!(unique.len(), ids(&page).len());
    let links = page.split("href=\"#").chain(page.split("url(#")).skip(1);
    for link in links.filter(|link| !link.starts_with("<!DOCTYPE")) {
        let id = link.split(['"', ')']).next().unwrap();
        assert!(unique.contains(id), "{id}");
    }
}

#[test]
fn every_section_is_there_under_its_name() {
    let page = page();
    for section in Report::read(&sample()).unwrap().sections {
        let title = section.title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let title = title.replace('"', "&quot;").replace('\'', "&#39;");
        assert!(page.contains(&format!("<h2>{title}</h2>")), "{title}");
        let is_simple = !section.name.is_empty() && !section.name.contains('<');
        assert!(!is_simple || ids(&page).contains(&section.name.as_str()), "{}", section.name);
    }
}

#[test]
fn the_page_needs_nothing_beside_it() {
    let page = page().replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "<script", "<link", "<img", "@import", "url(\"", "src="]
    {
        let where_shown = page.replace("&lt;img src=x&gt;", "");
        assert!(!where_shown.contains(outside), "{outside}");
    }
}

#[test]
fn markup_in_a_report_is_shown_and_not_obeyed() {
    let page = page();
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;quotes"));
    assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("<img"));
}

#[test]
fn states_verdicts_and_changes_are_told_in_words() {
    let page = page();
    for word in ["INCOMPLETE:", "SKIPPED:", "FAILED, and incomplete:", "✗</span> short"] {
        assert!(page.contains(word), "{word}");
    }
    for word in ["✓</span> ok", "?</span> not measured", "worse, +11 %", "better, +11 %", ">new<"]
    {
        assert!(page.contains(word), "{word}");
    }
    assert!(page.contains("gone from here") && page.contains("worse than recorded"));
}

#[test]
fn ratios_come_before_absolute_numbers_and_what_is_short_before_what_is_not() {
    let page = page();
    let glance = page.split("id=\"conditions\"").next().unwrap();
    let (ratios, others) = glance.split_once("<h3>Absolute numbers").unwrap();
    let ratios = ratios.split_once("<h3>Ratios").unwrap().1;
    for table in [ratios, others] {
        let (short, ok) = (table.rfind("</span> short"), table.find("</span> ok"));
        assert!(short.unwrap() < ok.unwrap());
    }
    assert!(!ratios.contains(" ms<") && others.contains(" ms<"));
}

#[test]
fn a_page_without_a_recorded_result_speaks_of_none() {
    let report = Report::read(&sample()).unwrap();
    let page = html(&report, None);
    let body = page.split("</head>").nth(1).unwrap();
    assert!(!body.contains("recorded") && !body.contains("change"));
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
fn a_long_table_is_folded_and_says_how_long_it_is() {
    assert!(!long_page(24).contains("<details"));
    let page = long_page(25);
    let summaries: Vec<_> = page.split("<summary>").skip(1).map(before_its_end).collect();
    assert_eq!(
        summaries,
        ["Those that hold: 20 rows</summary", "25 rows, 5 short</summary", "25 rows</summary"]
    );
    assert_eq!(page.matches("<details>").count(), page.matches("</details>").count());
}

#[test]
fn what_is_short_is_not_folded_at_a_glance() {
    let page = long_page(30);
    let glance = page.split("id=\"conditions\"").next().unwrap();
    let (open, folded) = glance.split_once("<details>").unwrap();
    assert_eq!(open.matches("</span> short").count(), 6);
    assert_eq!(folded.matches("</span> ok").count(), 24);
}

#[test]
fn an_empty_report_is_a_page_too() {
    let page = html(&Report::new(Vec::new()), None);
    assert!(page.contains("No figure has an aim."));
}

/// Temporary folder of a test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("varve-page-{name}-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn varve_bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_varve-bench")).args(arguments).output().unwrap()
}

fn refusal(arguments: &[&str]) -> String {
    let output = varve_bench(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_program_writes_the_page_and_prints_what_got_worse() {
    let folder = Folder::new("writes");
    let text = fs::read_to_string(sample()).unwrap();
    let recorded = folder.file("recorded.json", &text.replace("0.446", "0.3"));
    let (sample, out) = (sample().display().to_string(), folder.path("report.html"));
    let output = varve_bench(&["page", &sample, "--against", &recorded, "--out", &out]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("compare: CPU of GET / Valkey") && printed.contains("+49 %"));
    assert!(fs::read_to_string(&out).unwrap().ends_with("</html>\n"));
}

#[test]
fn files_that_are_no_results_are_refused_by_name_and_reason() {
    let folder = Folder::new("refuses");
    let out = folder.path("report.html");
    let missing = refusal(&["page", &folder.path("missing.json"), "--out", &out]);
    assert!(missing.contains("missing.json: No such file"), "{missing}");
    let text = folder.file("text.json", "no JSON");
    let text = refusal(&["page", &text, "--out", &out]);
    assert!(text.contains("text.json: not a result of varve-bench"), "{text}");
    let other = folder.file("other.json", "{\"version\": 9}");
    let other = refusal(&["page", &other, "--out", &out]);
    assert!(other.contains("other.json: the file has version 9"), "{other}");
    let recorded = folder.file("recorded.json", "{\"figures\": []}");
    let sample = sample().display().to_string();
    let recorded = refusal(&["page", &sample, "--against", &recorded, "--out", &out]);
    assert!(recorded.contains("recorded.json: the file has no version"), "{recorded}");
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_page_that_cannot_be_written_is_told_with_its_path() {
    let folder = Folder::new("unwritable");
    let (sample, out) = (sample().display().to_string(), folder.path("no/such/report.html"));
    let told = refusal(&["page", &sample, "--out", &out]);
    assert!(told.contains("report.html cannot be written: No such file or directory"), "{told}");
}
