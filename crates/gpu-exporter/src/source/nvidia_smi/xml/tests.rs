//! Documents with warnings around them, and documents that are none.

use super::{DEEPEST, Unreadable, parse};

#[test]
fn a_tree_is_read() {
    let text = "WARNING: old\n<?xml version=\"1.0\" ?>\n<!DOCTYPE log SYSTEM \"x.dtd\">\n<log>\n <gpu id=\"0:1\"><name>A &amp; B</name>\
                <list/><supported_clocks><value>1</value></supported_clocks><!-- no --></gpu>\n</log>\nWARNING: infoROM is corrupted";
    let log = parse(text, "log").unwrap();
    let gpu = log.at("gpu").unwrap();
    assert_eq!(
        (gpu.id.as_str(), gpu.at("name").unwrap().text()),
        ("0:1", "A & B")
    );
    assert!(gpu.at("list").is_some() && gpu.at("supported_clocks").is_none());
    assert_eq!(gpu.all_children().len(), 2);
}

#[test]
fn broken_documents_are_refused() {
    let deep = format!(
        "<log>{}{}</log>",
        "<a>".repeat(DEEPEST + 1),
        "</a>".repeat(DEEPEST + 1)
    );
    for text in [
        "",
        "no xml",
        "<log>",
        "<log><a></log>",
        "<log><a></b></log>",
        "<log x=></log>",
        "<other></other>",
        &deep,
    ] {
        assert_eq!(parse(text, "log"), Err(Unreadable), "{text}");
    }
}

#[test]
fn entities_are_not_expanded() {
    let bomb = "<!DOCTYPE log [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]><log><x>&b;&b;</x></log>";
    assert_eq!(parse(bomb, "log").unwrap().at("x").unwrap().text(), "");
}
