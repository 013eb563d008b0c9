//! A list of targets in words: `a:9400,b:9400,https://c:9443/metrics`.

use gpu_runtime::http::client::Url;

use super::Target;

/// Where exporters listen when nobody says otherwise.
const PORT: u16 = 9400;
const PATH: &str = "/metrics";

/// Why a word is no target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("`{0}` is no target: give `host:9400` or `https://host:9400/metrics`")]
    Unreadable(String),
    #[error("`{0}` holds a user or a password: give credentials by their own settings")]
    Credentials(String),
    #[error("no target is given: name at least one, as `host:9400`")]
    Empty,
}

/// Reads targets that are separated by commas.
pub fn parse_targets(text: &str) -> Result<Vec<Target>, TargetError> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let targets: Vec<Target> = words.map(parse).collect::<Result<_, _>>()?;
    if targets.is_empty() {
        return Err(TargetError::Empty);
    }
    Ok(targets)
}

fn parse(word: &str) -> Result<Target, TargetError> {
    let unreadable = || TargetError::Unreadable(word.to_owned());
    let has_scheme = word.starts_with("http://") || word.starts_with("https://");
    let text = if has_scheme {
        word.to_owned()
    } else {
        format!("http://{word}")
    };
    let mut url: Url = text.parse().map_err(|_| unreadable())?;
    let host = url
        .host_str()
        .filter(|host| !host.is_empty())
        .ok_or_else(unreadable)?
        .to_owned();
    if !url.username().is_empty() || url.password().is_some() {
        return Err(TargetError::Credentials(host));
    }
    if url.port().is_none() && !has_scheme {
        url.set_port(Some(PORT)).map_err(|()| unreadable())?;
    }
    if url.path() == "/" {
        url.set_path(PATH);
    }
    let port = url.port_or_known_default().ok_or_else(unreadable)?;
    let name = match url.path() {
        PATH => format!("{host}:{port}"),
        path => format!("{host}:{port}{path}"),
    };
    Ok(Target {
        name,
        url,
        node: None,
    })
}
