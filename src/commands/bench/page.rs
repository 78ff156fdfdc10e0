//! The rows as one page with bars, complete in itself: no script, nothing loaded from elsewhere.

use super::measure::Measured;
use super::plan::{Kind, What};
use super::table::{Report, engine, size};
use crate::commands::work::processors;

const BAR: f64 = 460.0;
const LINE: f64 = 22.0;
const LABEL: f64 = 300.0;

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}\
svg text{font:13px system-ui,sans-serif;fill:currentColor}.cpu{fill:#3b7dd8}.gzip{fill:#999}.qat{fill:#d8873b}\
.plain{fill:#999}.sealed{fill:#3b7dd8}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
td,th{padding:.1rem .7rem;text-align:right;border-bottom:1px solid #8884}td:first-child,th:first-child{text-align:left}";

/// The page.
pub(super) fn of(report: &Report<'_>) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>nightjar bench</title><style>{STYLE}</style></head>\n\
         <body><h1>nightjar bench</h1>\n<p>Data: {}. Host: {} processors. MB are 10<sup>6</sup> bytes.</p>\n",
        text(&report.input.name),
        processors()
    );
    for (block, threads) in groups(report) {
        let rows: Vec<&Measured> = report
            .of(Kind::Codec)
            .filter(|measured| (measured.row.block, measured.row.threads) == (block, threads))
            .collect();
        page.extend([format!("<h2>Blocks of {}, {threads} at once</h2>\n", text(&size(block)))]);
        page += &bars(&rows.iter().map(|measured| codec_bar(report, measured)).collect::<Vec<_>>());
    }
    let small: Vec<Bar> = report.of(Kind::Cipher).map(|measured| cipher_bar(report, measured)).collect();
    if !small.is_empty() {
        page += "<h2>What encryption costs blocks of 4 KiB that are not compressed</h2>\n";
        page += &bars(&small);
    }
    let explanation = report.explanation();
    if !explanation.is_empty() {
        let lines: Vec<String> = explanation.iter().map(|line| text(line)).collect();
        page.extend([format!("<pre>{}</pre>\n", lines.join("\n").trim_start())]);
    }
    page += "<h2>All figures</h2>\n";
    page += &figures(&report.csv());
    page + "</body></html>\n"
}

/// Sizes of blocks and numbers of threads, in the order in which they were measured.
fn groups(report: &Report<'_>) -> Vec<(u32, usize)> {
    let mut found = Vec::new();
    for measured in report.of(Kind::Codec) {
        let group = (measured.row.block, measured.row.threads);
        if !found.contains(&group) {
            found.push(group);
        }
    }
    found
}

struct Bar {
    label: String,
    class: &'static str,
    rate: f64,
    remark: String,
}

fn codec_bar(report: &Report<'_>, measured: &Measured) -> Bar {
    let class = if measured.row.what == What::Gzip { "gzip" } else { engine(measured) };
    let times = report.factor(measured, false).map(|factor| format!(", {factor:.1} x gzip")).unwrap_or_default();
    Bar {
        label: format!("{} on {}, cipher {}", measured.row.what, engine(measured), measured.row.cipher),
        class,
        rate: measured.rate,
        remark: format!(
            "{:.0} MB/s, ratio {:.2}, CPU {:.0} %{times}",
            measured.rate, measured.ratio, measured.cpu_host
        ),
    }
}

fn cipher_bar(report: &Report<'_>, measured: &Measured) -> Bar {
    let row = &measured.row;
    let plain = report.plain_of(measured).is_some_and(|plain| plain.row.cipher == row.cipher);
    let p999 = measured.latency[2].as_secs_f64() * 1e6;
    Bar {
        label: format!("{}, {} jobs, depth {}", row.cipher, row.jobs, row.depth),
        class: if plain { "plain" } else { "sealed" },
        rate: measured.rate,
        remark: format!("{:.0} MB/s, {:.0} op/s, p99.9 {p999:.0} us", measured.rate, measured.operations),
    }
}

fn bars(bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.rate).fold(1e-9, f64::max);
    let height = LINE * super::measure::float(bars.len() as u64) + 4.0;
    let width = LABEL + BAR + 330.0;
    let mut svg = format!("<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"100%\" role=\"img\">\n");
    let mut y = 2.0;
    for bar in bars {
        let length = (BAR * bar.rate / most).max(1.0);
        svg.extend([format!(
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>\
             <rect class=\"{}\" x=\"{LABEL:.0}\" y=\"{:.0}\" width=\"{length:.1}\" height=\"{:.0}\"/>\
             <text x=\"{:.1}\" y=\"{:.0}\">{}</text>\n",
            LABEL - 8.0,
            y + 15.0,
            text(&bar.label),
            bar.class,
            y + 2.0,
            LINE - 4.0,
            LABEL + length + 6.0,
            y + 15.0,
            text(&bar.remark)
        )]);
        y += LINE;
    }
    svg + "</svg>\n"
}

/// Comma-separated values as a table.
fn figures(csv: &str) -> String {
    let mut html = "<table>\n".to_owned();
    for (number, line) in csv.lines().enumerate() {
        let tag = if number == 0 { "th" } else { "td" };
        let cells = line.split(',').fold(String::new(), |row, cell| row + &format!("<{tag}>{}</{tag}>", text(cell)));
        html.extend([format!("<tr>{cells}</tr>\n")]);
    }
    html + "</table>\n"
}

/// Text that may hold anything.
fn text(raw: &str) -> String {
    raw.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{figures, text};

    #[test]
    fn nothing_in_a_name_becomes_markup() {
        assert_eq!(text("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
        assert!(figures("a,b\n1,<i>\n").contains("<td>&lt;i&gt;</td>"));
    }
}
