//! The choice between a plain and a packed page by an `Accept-Encoding` header.

use crate::page::Encoding;

/// Gzip where the client takes it and does not like the plain page better. Encodings we cannot write are passed over.
pub(super) fn negotiate(accept_encoding: &str) -> Encoding {
    let (mut gzip, mut plain, mut any) = (None, None, None);
    for item in accept_encoding.split(',') {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let quality = parts.find_map(quality).unwrap_or(1.0);
        let place = match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => &mut gzip,
            "identity" => &mut plain,
            "*" => &mut any,
            _ => continue,
        };
        *place = Some(quality);
    }
    let gzip = gzip.or(any).unwrap_or(0.0);
    // RFC 9110: the plain form is acceptable unless it is excluded, and what is acceptable without a word ranks last.
    let plain = plain.unwrap_or(0.0);
    if gzip > 0.0 && gzip >= plain {
        Encoding::Gzip
    } else {
        Encoding::Plain
    }
}

/// The q-value of a parameter; one that cannot be read excludes, as a client that errs gets the safer form.
fn quality(parameter: &str) -> Option<f32> {
    let (key, value) = parameter.split_once('=')?;
    if !key.trim().eq_ignore_ascii_case("q") {
        return None;
    }
    let number = value.trim().parse().unwrap_or(0.0_f32);
    Some(if (0.0..=1.0).contains(&number) {
        number
    } else {
        0.0
    })
}

#[cfg(test)]
mod tests {
    //! Headers of real clients and of strange ones.

    use super::negotiate;
    use crate::page::Encoding;

    #[track_caller]
    fn check(header: &str, expected: Encoding) {
        assert_eq!(negotiate(header), expected, "{header:?}");
    }

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for header in [
            "gzip",
            "deflate, gzip",
            "gzip;q=0.5",
            "GZIP ; Q=1.000",
            "*",
            "br;q=1, gzip;q=0.8, identity;q=0.1",
            "identity;q=0, gzip;q=0.001",
            "gzip, *;q=0",
        ] {
            check(header, Encoding::Gzip);
        }
    }

    #[test]
    fn everybody_else_gets_the_plain_page() {
        for header in [
            "",
            "identity",
            "br",
            "gzip;q=0",
            "gzip;q=0, *",
            "*;q=0",
            "gzip;q=0.2, identity;q=0.5",
            "gzip;q=zero",
            "gzip;q=NaN",
            "gzip;q=7",
            ",;,q=1;",
        ] {
            check(header, Encoding::Plain);
        }
    }
}
