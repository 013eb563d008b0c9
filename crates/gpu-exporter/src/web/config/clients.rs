//! Who may connect: the five kinds of client authentication of Go's TLS, and the list of names a client must have one of.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};
use webpki::EndEntityCert;

use super::WebConfigError;

/// What the file says about clients.
pub(super) struct Policy<'a> {
    /// Go's name; empty stands for none.
    pub(super) kind: &'a str,
    pub(super) authority: Option<Vec<CertificateDer<'static>>>,
    pub(super) allowed: &'a [String],
}

/// The verifier that the policy asks for; none means that clients are not asked for a certificate.
pub(super) fn verifier(
    policy: &Policy<'_>,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, WebConfigError> {
    let refused = |key, problem: &str| {
        Err(WebConfigError::Value {
            key,
            problem: problem.to_owned(),
        })
    };
    let (demand, trust) = match policy.kind {
        "" | "NoClientCert" => {
            if policy.authority.is_some() || !policy.allowed.is_empty() {
                let problem = "no client certificate is asked for, and yet `client_ca_file` or `client_allowed_sans` \
                               is given; use RequireAndVerifyClientCert";
                return refused("client_auth_type", problem);
            }
            return Ok(None);
        }
        "RequestClientCert" => (Demand::Optional, Trust::Anybody),
        "RequireAnyClientCert" | "RequireClientCert" => (Demand::Mandatory, Trust::Anybody),
        "VerifyClientCertIfGiven" => (Demand::Optional, Trust::Authority),
        "RequireAndVerifyClientCert" => (Demand::Mandatory, Trust::Authority),
        _ => {
            let problem = "this server does not know that value; use NoClientCert, RequestClientCert, \
                           RequireAnyClientCert, VerifyClientCertIfGiven or RequireAndVerifyClientCert";
            return refused("client_auth_type", problem);
        }
    };
    let names = allowed_names(policy.allowed)?;
    let inner = match (trust, &policy.authority) {
        (Trust::Anybody, None) => None,
        (Trust::Anybody, Some(_)) => {
            let problem = "it has no effect with this `client_auth_type`, which verifies no certificate";
            return refused("client_ca_file", problem);
        }
        (Trust::Authority, None) => {
            let problem =
                "it is missing; clients cannot be verified without the certificate of their authority";
            return refused("client_ca_file", problem);
        }
        (Trust::Authority, Some(authority)) => Some(by_authority(authority, demand, provider)?),
    };
    if inner.is_none() && !names.is_empty() {
        let problem =
            "names in certificates that are not verified prove nothing; use RequireAndVerifyClientCert";
        return refused("client_allowed_sans", problem);
    }
    Ok(Some(Arc::new(Verifier {
        demand,
        inner,
        names,
        provider: Arc::clone(provider),
    })))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    Optional,
    Mandatory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Anybody,
    Authority,
}

fn by_authority(
    authority: &[CertificateDer<'static>],
    demand: Demand,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, WebConfigError> {
    let failed = |problem: String| WebConfigError::Pem {
        key: "client_ca_file",
        problem,
    };
    let mut roots = RootCertStore::empty();
    for certificate in authority {
        roots
            .add(certificate.clone())
            .map_err(|error| failed(error.to_string()))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let builder = match demand {
        Demand::Optional => builder.allow_unauthenticated(),
        Demand::Mandatory => builder,
    };
    builder.build().map_err(|error| failed(error.to_string()))
}

/// A name that a client's certificate may carry.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// Compared letter by letter: a wildcard in a client's certificate is not widened.
    Dns(String),
    Uri(String),
    Address(IpAddr),
}

fn allowed_names(written: &[String]) -> Result<Vec<Name>, WebConfigError> {
    let name = |text: &String| {
        if let Ok(address) = text.parse() {
            return Ok(Name::Address(address));
        }
        if text.contains("://") {
            return Ok(Name::Uri(text.clone()));
        }
        if text.is_empty() || text.contains('@') {
            let problem = "only host names, addresses and URIs are compared, no mail addresses".to_owned();
            return Err(WebConfigError::Value {
                key: "client_allowed_sans",
                problem,
            });
        }
        Ok(Name::Dns(text.to_ascii_lowercase()))
    };
    written.iter().map(name).collect()
}

impl Name {
    fn is_of(&self, certificate: &EndEntityCert<'_>) -> bool {
        match self {
            Self::Dns(name) => certificate
                .valid_dns_names()
                .any(|own| own.eq_ignore_ascii_case(name)),
            Self::Uri(uri) => certificate.valid_uri_names().any(|own| own == uri),
            Self::Address(address) => {
                let subject = ServerName::IpAddress((*address).into());
                certificate.verify_is_valid_for_subject_name(&subject).is_ok()
            }
        }
    }
}

#[derive(Debug)]
struct Verifier {
    demand: Demand,
    /// Checks the chain; without it any certificate will do, as long as the client has its key.
    inner: Option<Arc<dyn ClientCertVerifier>>,
    names: Vec<Name>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for Verifier {
    fn client_auth_mandatory(&self) -> bool {
        self.demand == Demand::Mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner
            .as_ref()
            .map_or(&[], |inner| inner.root_hint_subjects())
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if let Some(inner) = &self.inner {
            inner.verify_client_cert(end_entity, intermediates, now)?;
        }
        if !self.names.is_empty() {
            let certificate = EndEntityCert::try_from(end_entity)
                .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
            if !self.names.iter().any(|name| name.is_of(&certificate)) {
                return Err(Error::InvalidCertificate(
                    CertificateError::ApplicationVerificationFailure,
                ));
            }
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
