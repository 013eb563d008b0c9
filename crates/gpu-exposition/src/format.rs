//! The two formats, their content types, and the choice between them by an `Accept` header.

/// A page's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Prometheus text format 0.0.4; when reading, also the quoted names of text format 1.0.0.
    Text,
    /// OpenMetrics text format 1.0.0.
    OpenMetrics,
}

impl Format {
    pub const ALL: [Self; 2] = [Self::Text, Self::OpenMetrics];

    /// The value of the `Content-Type` header of a page in this format.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The format of a page by its `Content-Type`. Only OpenMetrics announces itself: exporters have sent text pages
    /// under every other type, and Prometheus reads those as text too.
    pub fn of_content_type(content_type: &str) -> Self {
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if media_type.eq_ignore_ascii_case("application/openmetrics-text") {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    /// The format that answers an `Accept` header best.
    ///
    /// The highest q-value wins, the earlier range wins a tie, and a range with `q=0` or an unreadable q-value is not
    /// acceptable. A header that names nothing we can write gets the text format, as every scraper reads it.
    pub fn negotiate(accept: &str) -> Self {
        let mut best = (Self::Text, Quality::ZERO);
        for range in accept.split(',') {
            let Some((format, quality)) = media_range(range) else {
                continue;
            };
            if quality > best.1 {
                best = (format, quality);
            }
        }
        best.0
    }
}

/// A q-value in thousandths: RFC 9110 allows three decimals, so an integer holds it exactly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Quality(u16);

impl Quality {
    const ZERO: Self = Self(0);
    const ONE: Self = Self(1000);

    fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if fraction.len() > 3 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let mut thousandths = match whole {
            "0" => 0,
            "1" => 1000,
            _ => return None,
        };
        for (digit, weight) in fraction.bytes().zip([100, 10, 1]) {
            thousandths += u16::from(digit - b'0') * weight;
        }
        (thousandths <= Self::ONE.0).then_some(Self(thousandths))
    }
}

fn media_range(range: &str) -> Option<(Format, Quality)> {
    let mut parts = range.split(';').map(str::trim);
    let media_type = parts.next()?;
    let mut quality = Quality::ONE;
    let mut version = None;
    for parameter in parts {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let (key, value) = (key.trim(), value.trim().trim_matches('"'));
        if key.eq_ignore_ascii_case("q") {
            quality = Quality::parse(value)?;
        } else if key.eq_ignore_ascii_case("version") {
            version = Some(value);
        }
    }
    let is = |name: &str| media_type.eq_ignore_ascii_case(name);
    let format = if is("application/openmetrics-text") || is("application/*") {
        Format::OpenMetrics
    } else if is("text/plain") || is("text/*") || is("*/*") {
        Format::Text
    } else {
        return None;
    };
    let known = match (format, version) {
        (_, None) | (Format::OpenMetrics, Some("1.0.0")) => true,
        // Legacy names look the same in text 1.0.0, and a reader of it also reads 0.0.4.
        (Format::Text, Some(version)) => matches!(version, "0.0.4" | "1.0.0"),
        (Format::OpenMetrics, Some(_)) => false,
    };
    known.then_some((format, quality))
}
