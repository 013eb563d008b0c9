//! The XML of AWS's query interfaces: values by name, and lists of items. No entity is expanded but the five of XML, and depth,
//! count and length are bounded.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::Event;

/// Answers are five deep.
const DEEPEST: usize = 16;
/// A page holds a thousand.
const MOST_ITEMS: usize = 10_000;
/// Session tokens are the longest values, at some two kilobytes.
const LONGEST_TEXT: usize = 16 * 1024;

/// The fields of one item.
pub(crate) type Item = BTreeMap<String, String>;

/// The text of the first element of a name.
pub(crate) fn value(text: &str, name: &str) -> Option<String> {
    let mut found = None;
    walk(text, |path, content| {
        if found.is_none() && path.last().is_some_and(|last| last == name) && !content.is_empty() {
            found = Some(content.to_owned());
        }
        true
    })?;
    found
}

/// The items of a list, each with the texts directly in it; absent where the document is none or has no such list.
pub(crate) fn items(text: &str, list: &str) -> Option<Vec<Item>> {
    let mut items: Vec<Item> = Vec::new();
    let mut current = Item::new();
    let mut seen = false;
    let complete = walk(text, |path, content| {
        match path {
            [.., above, item] if above == list && item == "item" => items.push(std::mem::take(&mut current)),
            [.., above, item, name] if above == list && item == "item" => {
                current.insert(name.clone(), content.to_owned());
            }
            [.., name] if name == list => seen = true,
            _ => {}
        }
        items.len() <= MOST_ITEMS
    });
    complete?;
    seen.then_some(items)
}

/// Tells the path and the text of every element at its end, until told to stop. Nothing comes back from a document that is cut,
/// broken, too deep, or that was stopped.
fn walk(text: &str, mut tell: impl FnMut(&[String], &str) -> bool) -> Option<()> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<String> = Vec::new();
    let mut content = String::new();
    let mut roots = 0_usize;
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => {
                content.clear();
                open.push(local(tag.name().as_ref()));
                if open.len() > DEEPEST {
                    return None;
                }
            }
            Event::Empty(tag) => {
                content.clear();
                open.push(local(tag.name().as_ref()));
                tell(&open, "").then_some(())?;
                open.pop();
            }
            Event::End(_) => {
                tell(&open, content.trim()).then_some(())?;
                content.clear();
                open.pop()?;
                roots += usize::from(open.is_empty());
            }
            Event::Text(piece) => append(&mut content, &piece.xml10_content()),
            Event::CData(piece) => append(&mut content, &piece.xml10_content()),
            Event::GeneralRef(name) => append(&mut content, entity(&name.xml10_content())),
            Event::Eof => return (open.is_empty() && roots == 1).then_some(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// A name without the prefix of its namespace.
fn local(name: &str) -> String {
    name.rsplit(':').next().unwrap_or(name).to_owned()
}

fn append(content: &mut String, piece: &str) {
    if content.len() + piece.len() <= LONGEST_TEXT {
        content.push_str(piece);
    }
}

fn entity(name: &str) -> &'static str {
    match name {
        "amp" => "&",
        "lt" => "<",
        "gt" => ">",
        "quot" => "\"",
        "apos" => "'",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<?xml version="1.0"?><A xmlns="x"><s><item><n>a &amp; b</n><m/></item><item><n>c</n></item></s><nextToken>t</nextToken></A>"#;

    #[test]
    fn items_and_values_are_found() {
        let items = items(PAGE, "s").unwrap();
        assert_eq!(items.len(), 2);
        assert_eq!((items[0]["n"].as_str(), items[0]["m"].as_str()), ("a & b", ""));
        assert_eq!(value(PAGE, "nextToken").as_deref(), Some("t"));
        assert_eq!(super::items(PAGE, "other"), None);
        assert_eq!(super::items("<A><s/></A>", "s"), Some(Vec::new()));
    }

    #[test]
    fn a_cut_or_broken_document_has_nothing() {
        for end in 1..PAGE.len() {
            if PAGE.is_char_boundary(end) {
                assert_eq!(items(&PAGE[..end], "s"), None, "{}", &PAGE[..end]);
                assert_eq!(value(&PAGE[..end], "nextToken"), None);
            }
        }
        let deep = "<a>".repeat(100) + &"</a>".repeat(100);
        assert_eq!(items(&deep, "a"), None);
        for nonsense in ["", "{}", "<a></b>", "<a><a>"] {
            assert_eq!(items(nonsense, "a"), None, "{nonsense}");
        }
    }
}
