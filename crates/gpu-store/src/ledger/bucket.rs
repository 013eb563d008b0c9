//! The grid on which roll-ups are kept: five minutes, an hour, a day, all in UTC and counted from the epoch, so that each larger
//! bucket is a whole number of the smaller.

use gpu_cost::{Grain, Moment, Span};

/// The number by which a database knows a grain: its minutes.
pub fn grain_code(grain: Grain) -> i16 {
    match grain {
        Grain::FiveMinutes => 5,
        Grain::Hour => 60,
        Grain::Day => 1440,
    }
}

pub fn grain_of_code(code: i16) -> Option<Grain> {
    Grain::ALL.into_iter().find(|grain| grain_code(*grain) == code)
}

/// The start of the bucket that holds the instant.
pub fn floor(grain: Grain, at: Moment) -> Moment {
    grain.bucket(at).start
}

/// The first bucket that starts at the instant or after it.
pub fn ceil(grain: Grain, at: Moment) -> Moment {
    let bucket = grain.bucket(at);
    if bucket.start == at { at } else { bucket.end }
}

/// The span cut at the borders of buckets: each bucket's start, and the part that lies in it.
pub fn cut(grain: Grain, span: Span) -> impl Iterator<Item = (Moment, Span)> {
    grain
        .buckets(span)
        .map(move |bucket| (bucket.start, bucket.overlap(span)))
}
