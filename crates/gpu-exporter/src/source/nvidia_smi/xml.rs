//! A small tree of an XML document that a tool printed. Nothing is fetched, no entity is expanded but the five of XML, and depth,
//! count and length are bounded.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// The report is seven deep.
const DEEPEST: usize = 24;
/// Sixteen GPUs with slices and processes have some ten thousand.
const MOST_ELEMENTS: usize = 200_000;
/// Values are short; a list of retired pages is not read.
const LONGEST_TEXT: usize = 4096;
/// Long lists that nobody needs.
const SKIPPED: &[&str] = &["supported_clocks", "accounted_processes"];

/// An element with its text and its children.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    /// The attribute `id`.
    pub(super) id: String,
    text: String,
    children: Vec<Element>,
}

impl Element {
    /// What stands directly in it.
    pub(super) fn text(&self) -> &str {
        self.text.trim()
    }

    pub(super) fn children(&self, name: &str) -> impl Iterator<Item = &Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    pub(super) fn all_children(&self) -> &[Element] {
        &self.children
    }

    /// The first element at a path such as `pci/link_widths`.
    pub(super) fn at(&self, path: &str) -> Option<&Element> {
        path.split('/')
            .try_fold(self, |element, name| element.children(name).next())
    }
}

/// Why a document was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

/// The first element of that name that is complete, whatever stands before and after it: tools print warnings around it.
pub(super) fn parse(text: &str, root: &str) -> Result<Element, Unreadable> {
    let start = text.find(&format!("<{root}")).ok_or(Unreadable)?;
    let mut reader = Reader::from_str(&text[start..]);
    let mut open: Vec<Element> = Vec::new();
    let mut count = 0_usize;
    loop {
        let closed = match reader.read_event().map_err(|_| Unreadable)? {
            Event::Start(tag) if SKIPPED.contains(&tag.name().as_ref()) => {
                let end = tag.to_end().into_owned();
                reader.read_to_end(end.name()).map_err(|_| Unreadable)?;
                continue;
            }
            Event::Start(tag) => {
                open.push(element(&tag)?);
                count += 1;
                if open.len() > DEEPEST || count > MOST_ELEMENTS {
                    return Err(Unreadable);
                }
                continue;
            }
            Event::Empty(tag) => element(&tag)?,
            // The reader has checked that the names of both ends are the same.
            Event::End(_) => open.pop().ok_or(Unreadable)?,
            Event::Text(text) => {
                append(&mut open, &text.xml10_content());
                continue;
            }
            Event::CData(text) => {
                append(&mut open, &text.xml10_content());
                continue;
            }
            Event::GeneralRef(name) => {
                append(&mut open, entity(&name.xml10_content()));
                continue;
            }
            Event::Eof => return Err(Unreadable),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => continue,
        };
        count += 1;
        if count > MOST_ELEMENTS {
            return Err(Unreadable);
        }
        match open.last_mut() {
            Some(parent) => parent.children.push(closed),
            None if closed.name == root => return Ok(closed),
            None => return Err(Unreadable),
        }
    }
}

fn element(tag: &BytesStart<'_>) -> Result<Element, Unreadable> {
    let id = match tag.try_get_attribute("id").map_err(|_| Unreadable)? {
        Some(attribute) => attribute.value.chars().take(LONGEST_TEXT).collect(),
        None => String::new(),
    };
    Ok(Element {
        name: tag.name().as_ref().to_owned(),
        id,
        ..Element::default()
    })
}

fn append(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut()
        && element.text.len() + text.len() <= LONGEST_TEXT
    {
        element.text.push_str(text);
    }
}

/// The five that every document knows; any other stands for nothing.
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
mod tests;
