//! Signature version 4 of a request.

use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign as make};
use aws_sigv4::sign::v4;
use gpu_runtime::http::client::{HeaderName, HeaderValue, Method, Request, Url};
use jiff::Timestamp;

use super::Credentials;

/// Why a request could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("failed to sign a request for {service}")]
pub struct SignError {
    service: &'static str,
}

/// Posts a form to a service, signed at an instant.
pub fn sign(
    url: Url,
    form: String,
    credentials: &Credentials,
    region: &str,
    service: &'static str,
    at: Timestamp,
) -> Result<Request, SignError> {
    let headers = headers(&url, &form, credentials, region, service, at).ok_or(SignError { service })?;
    let signed = headers
        .into_iter()
        .fold(Request::post(url, CONTENT, form), |request, (name, value)| {
            request.header(name, value)
        });
    Ok(signed)
}

const CONTENT: &str = "application/x-www-form-urlencoded";

/// The headers that prove who sends the form.
fn headers(
    url: &Url,
    form: &str,
    credentials: &Credentials,
    region: &str,
    service: &str,
    at: Timestamp,
) -> Option<Vec<(HeaderName, HeaderValue)>> {
    let token = credentials.token.as_ref().map(|token| token.expose().to_owned());
    let (access_key, secret) = (credentials.access_key.clone(), credentials.secret.expose());
    let identity = aws_credential_types::Credentials::new(access_key, secret, token, None, "given").into();
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(at.into())
        .settings(SigningSettings::default())
        .build()
        .ok()?
        .into();
    let content = std::iter::once(("content-type", CONTENT));
    let body = SignableBody::Bytes(form.as_bytes());
    let signable = SignableRequest::new(Method::POST.as_str(), url.as_str(), content, body).ok()?;
    let (instructions, _) = make(signable, &parameters).ok()?.into_parts();
    let mut headers = Vec::new();
    for (name, value) in instructions.headers() {
        let mut value = HeaderValue::from_str(value).ok()?;
        value.set_sensitive(true);
        headers.push((HeaderName::from_bytes(name.as_bytes()).ok()?, value));
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use gpu_runtime::http::client::Secret;

    use super::*;

    /// The signatures are those that botocore makes of the same request.
    #[test]
    fn signatures_are_those_of_another_implementation() {
        for (token, expected) in [
            (
                None,
                "content-type;host;x-amz-date, Signature=b5bade5255923da471ec75ab0f32d1b733e8b8b77dd6ff085d3e33222b250815",
            ),
            (
                Some(Secret::new("session/token+==")),
                "content-type;host;x-amz-date;x-amz-security-token, \
                 Signature=e4147ef9d7aab95626b9ba065cc49eef8afdbd8536e60dac9713e7dea34e5aa4",
            ),
        ] {
            let credentials = Credentials {
                access_key: "AKIDEXAMPLE".to_owned(),
                secret: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
                token,
                expires: None,
            };
            let url = "https://ec2.us-east-1.amazonaws.com/".parse().unwrap();
            let form = "Action=DescribeSpotPriceHistory&Version=2016-11-15";
            let at = "2026-11-16T03:00:00Z".parse().unwrap();
            let headers = headers(&url, form, &credentials, "us-east-1", "ec2", at).unwrap();
            let found = headers.iter().find(|(name, _)| *name == "authorization").unwrap();
            let scope = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261116/us-east-1/ec2/aws4_request";
            assert_eq!(
                found.1.to_str().unwrap(),
                format!("{scope}, SignedHeaders={expected}")
            );
        }
    }
}
