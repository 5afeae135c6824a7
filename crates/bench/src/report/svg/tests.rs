use super::{Plot, svg};

fn drawn(plot: &Plot) -> String {
    let text = svg(plot, "p");
    let places = ["d=\"", "x=\"", "y=\"", "height=\"", "points=\""];
    for attribute in places.iter().flat_map(|place| text.split(place).skip(1)) {
        let value = attribute.split('"').next().unwrap();
        assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
    }
    text
}

fn line_of(points: &[(f64, f64)]) -> Plot {
    let mut plot = Plot::lines("t", "x", "y");
    points.iter().for_each(|&(x, y)| plot.point("varve", x, y));
    plot
}

#[test]
fn an_empty_plot_says_that_nothing_was_measured() {
    assert!(drawn(&line_of(&[])).contains("nothing was measured"));
    assert!(drawn(&Plot::bars("t", Vec::new(), "y")).contains("nothing was measured"));
    assert!(drawn(&Plot::bars("t", vec!["a".to_owned()], "y").log_y()).contains("nothing"));
}

#[test]
fn a_single_point_is_drawn() {
    for plot in [line_of(&[(0.0, 0.0)]), line_of(&[(3.0, 7.0)]).log_x().log_y()] {
        let text = drawn(&plot);
        assert!(text.contains("<path class=\"marker c0\"") && !text.contains("not drawn"));
    }
}

#[test]
fn values_that_are_no_numbers_leave_a_gap_and_are_told() {
    let infinite = f64::INFINITY;
    let text = drawn(&line_of(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 2.0), (4.0, infinite)]));
    let path = text.split("<path class=\"line c0\" d=\"").nth(2).unwrap();
    assert_eq!(path.split('"').next().unwrap().matches('M').count(), 2);
    assert!(text.contains("2 values are not drawn: not a number."), "{text}");
}

#[test]
fn zero_is_left_out_of_a_logarithmic_axis_and_told() {
    let text = drawn(&line_of(&[(0.0, 5.0), (10.0, 0.0), (100.0, 3.0)]).log_x().log_y());
    assert!(text.contains("2 values are not drawn"), "{text}");
    let mut plot = Plot::bars("t", Vec::new(), "y").log_y();
    plot.bar("a", "W1", 0.0);
    plot.bar("a", "W2", 8.0);
    assert!(drawn(&plot).contains("1 value is not drawn"));
}

#[test]
fn eight_lines_differ_in_colour_and_in_marker() {
    let mut plot = Plot::lines("t", "x", "y");
    (0..8).for_each(|line| plot.point(&format!("line {line}"), 1.0, f64::from(line)));
    let text = drawn(&plot);
    let legend = text.split("</ul>").next().unwrap();
    let of_markers = legend.split("<path class=\"marker ").skip(1);
    let looks: Vec<_> = of_markers.map(|marker| marker.split('>').next().unwrap()).collect();
    let colours: std::collections::BTreeSet<_> =
        looks.iter().map(|look| look.split('"').next().unwrap()).collect();
    let markers: std::collections::BTreeSet<_> =
        looks.iter().map(|look| look.split('"').nth(2).unwrap()).collect();
    assert_eq!((colours.len(), markers.len()), (8, 8), "{looks:?}");
}

#[test]
fn what_the_source_has_is_dashed_and_takes_no_colour() {
    let mut plot = line_of(&[(1.0, 1.0)]);
    plot.point("paper", 1.0, 2.0);
    plot.point("valkey", 1.0, 3.0);
    plot.lines[1].is_paper = true;
    let text = drawn(&plot);
    assert!(text.contains("line paper dash0") && text.contains("line c1"), "{text}");
    assert!(!text.contains("line c2"));
}

#[test]
fn bars_below_zero_hang_from_the_axis_and_bars_without_a_group_are_left_out() {
    let mut plot = Plot::bars("t", Vec::new(), "y");
    plot.bar("a", "W1", -5.0);
    plot.bar("a", "W2", 5.0);
    plot.point("a", 9.0, 1.0);
    assert!(drawn(&plot).contains("1 value is not drawn"));
}

#[test]
fn long_names_of_groups_stand_aslant_within_the_drawing() {
    let mut plot = Plot::bars("t", Vec::new(), "y");
    for group in 0..12 {
        plot.bar("a", &format!("Collections-under-churn-{group}"), 1.0);
    }
    assert!(drawn(&plot).contains("rotate("));
    let mut plot = Plot::bars("t", Vec::new(), "y");
    plot.bar("a", "two words", 1.0);
    assert!(!drawn(&plot).contains("rotate("));
}

#[test]
fn labels_are_escaped() {
    let mut plot = Plot::bars("<script>", vec!["<b>".to_owned()], "<i>");
    plot.x.label = "<u>".to_owned();
    plot.point("<s>", 0.0, 1.0);
    let text = drawn(&plot);
    for tag in ["<script>", "<b>", "<i>", "<u>", "<s>"] {
        assert!(!text.contains(tag), "{tag}");
    }
}
