//! Cuts an answer of the query API into its series as it arrives, so that one series is held and not all.
//!
//! It looks for the array `data.result` and hands out its objects one by one. Everything around it, which is small, is kept and
//! parsed at the end.

/// A series with its labels and a hundred samples is some kilobytes.
const LONGEST_SERIES: usize = 1 << 20;
/// Status, warnings and statistics.
const LONGEST_FRAME: usize = 256 << 10;

/// Long enough to tell `result` from `resultType`.
const LONGEST_KEY: usize = 16;

/// Depth of the objects `{` root and `"data": {`.
const DATA_DEPTH: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct Splitter {
    depth: u32,
    string: StringState,
    /// The last string at the depth of `data`, as far as it matters.
    key: Vec<u8>,
    place: Place,
    series: Vec<u8>,
    frame: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum StringState {
    #[default]
    Outside,
    Inside,
    AfterBackslash,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Frame,
    /// In `data.result`, between two series.
    Between,
    InSeries,
}

/// The answer is not what the query API gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SplitError {
    #[error("a series is longer than {LONGEST_SERIES} bytes")]
    SeriesTooLong,
    #[error("the answer has more than {LONGEST_FRAME} bytes besides its series")]
    FrameTooLong,
    #[error("the answer is not the JSON of a query")]
    NotAnAnswer,
}

impl Splitter {
    /// Takes the next piece and calls back for every series that is complete.
    pub(super) fn feed(&mut self, piece: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), SplitError> {
        // Where the current series begins in this piece; one that began before goes on from the start.
        let mut start = 0;
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            match self.string {
                StringState::Inside => {
                    let text = &piece[at..];
                    let text = &text[..memchr::memchr2(b'"', b'\\', text).unwrap_or(text.len())];
                    self.remember(text)?;
                    at += text.len();
                    match piece.get(at) {
                        Some(b'"') => self.string = StringState::Outside,
                        Some(_) => self.string = StringState::AfterBackslash,
                        None => break,
                    }
                    self.frame(&piece[at..=at])?;
                }
                StringState::AfterBackslash => {
                    self.string = StringState::Inside;
                    self.frame(&[byte])?;
                }
                StringState::Outside => {
                    let before = self.place;
                    match self.step(byte)? {
                        Step::Begins => start = at,
                        Step::Ends => {
                            self.end_series(&piece[start..=at], &mut each)?;
                        }
                        // The brackets of the array belong to the frame, which then holds an empty one.
                        Step::Goes if before == Place::Frame => self.frame_byte(byte)?,
                        Step::Goes => self.frame(&[byte])?,
                    }
                }
            }
            at += 1;
        }
        match self.place {
            Place::InSeries => self.hold(&piece[start..]),
            Place::Frame | Place::Between => Ok(()),
        }
    }

    /// What stood around the series.
    pub(super) fn finish(self) -> Result<Vec<u8>, SplitError> {
        if self.depth != 0 || self.string != StringState::Outside {
            return Err(SplitError::NotAnAnswer);
        }
        Ok(self.frame)
    }

    fn step(&mut self, byte: u8) -> Result<Step, SplitError> {
        match byte {
            b'"' => {
                if self.place == Place::Between {
                    return Err(SplitError::NotAnAnswer);
                }
                self.string = StringState::Inside;
                self.key.clear();
            }
            b'{' | b'[' => {
                let is_result = byte == b'[' && self.depth == DATA_DEPTH && self.key == b"result";
                self.depth += 1;
                if self.place == Place::Between {
                    if byte == b'[' {
                        return Err(SplitError::NotAnAnswer);
                    }
                    self.place = Place::InSeries;
                    return Ok(Step::Begins);
                }
                if self.place == Place::Frame && is_result {
                    self.place = Place::Between;
                }
            }
            b'}' | b']' => {
                self.depth = self.depth.checked_sub(1).ok_or(SplitError::NotAnAnswer)?;
                match self.place {
                    Place::InSeries if self.depth == DATA_DEPTH + 1 => return Ok(Step::Ends),
                    Place::Between => self.place = Place::Frame,
                    Place::InSeries | Place::Frame => {}
                }
            }
            _ => {}
        }
        Ok(Step::Goes)
    }

    /// Text of a string: it may be the key that matters, and it may belong to the frame.
    fn remember(&mut self, text: &[u8]) -> Result<(), SplitError> {
        if self.place == Place::Frame && self.depth == DATA_DEPTH && self.key.len() < LONGEST_KEY {
            self.key.extend_from_slice(&text[..text.len().min(LONGEST_KEY)]);
        }
        self.frame(text)
    }

    fn frame(&mut self, bytes: &[u8]) -> Result<(), SplitError> {
        if self.place != Place::Frame {
            return Ok(());
        }
        if self.frame.len() + bytes.len() > LONGEST_FRAME {
            return Err(SplitError::FrameTooLong);
        }
        self.frame.extend_from_slice(bytes);
        Ok(())
    }

    fn frame_byte(&mut self, byte: u8) -> Result<(), SplitError> {
        if self.frame.len() >= LONGEST_FRAME {
            return Err(SplitError::FrameTooLong);
        }
        self.frame.push(byte);
        Ok(())
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), SplitError> {
        if self.series.len() + bytes.len() > LONGEST_SERIES {
            return Err(SplitError::SeriesTooLong);
        }
        self.series.extend_from_slice(bytes);
        Ok(())
    }

    fn end_series(&mut self, end: &[u8], each: &mut impl FnMut(&[u8])) -> Result<(), SplitError> {
        self.place = Place::Between;
        if self.series.is_empty() {
            each(end);
            return Ok(());
        }
        self.hold(end)?;
        each(&self.series);
        self.series.clear();
        Ok(())
    }
}

enum Step {
    Goes,
    Begins,
    Ends,
}

#[cfg(test)]
mod tests {
    use super::{SplitError, Splitter};

    fn split(answer: &str, size: usize) -> Result<(Vec<String>, String), SplitError> {
        let mut splitter = Splitter::default();
        let mut series = Vec::new();
        for piece in answer.as_bytes().chunks(size) {
            splitter.feed(piece, |one| series.push(String::from_utf8(one.to_vec()).unwrap()))?;
        }
        Ok((series, String::from_utf8(splitter.finish()?).unwrap()))
    }

    #[track_caller]
    fn check(answer: &str, series: &[&str], frame: &str) {
        for size in 1..40 {
            let (found, around) = split(answer, size).unwrap();
            assert_eq!(
                (found.as_slice(), around.as_str()),
                (
                    &series.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>()[..],
                    frame
                ),
                "{size}"
            );
        }
    }

    #[test]
    fn series_are_handed_out_one_by_one_and_the_rest_is_kept() {
        check(
            r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"}\"],["},"values":[[1,"2"]]}, {"x":{}}]},"warnings":["w [1]"]}"#,
            &[r#"{"metric":{"a":"}\"],["},"values":[[1,"2"]]}"#, r#"{"x":{}}"#],
            r#"{"status":"success","data":{"resultType":"matrix","result":[]},"warnings":["w [1]"]}"#,
        );
        check(
            r#"{"infos":["result"],"data":{"result":[],"resultType":"vector"},"status":"success"}"#,
            &[],
            r#"{"infos":["result"],"data":{"result":[],"resultType":"vector"},"status":"success"}"#,
        );
        check(
            r#"{"status":"error","error":"no"}"#,
            &[],
            r#"{"status":"error","error":"no"}"#,
        );
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for answer in [
            r#"{"data":{"result":["#,
            "]",
            r#"{"data":{"result":["a"]}}"#,
            r#"{"data":{"result":[[1]]}}"#,
            "\"x",
        ] {
            assert_eq!(split(answer, 7), Err(SplitError::NotAnAnswer), "{answer}");
        }
        let endless = format!("{{\"data\":{{\"result\":[{{\"a\":\"{}", "x".repeat(2 << 20));
        assert_eq!(split(&endless, 5000), Err(SplitError::SeriesTooLong));
        let wide = format!("{{\"warnings\":[\"{}\"]}}", "x".repeat(300 << 10));
        assert_eq!(split(&wide, 5000), Err(SplitError::FrameTooLong));
    }
}
