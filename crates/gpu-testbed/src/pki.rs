//! Keys and certificates for the parts of a bed, made anew for every bed. Nothing here outlives the bed's directory.

use std::path::PathBuf;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::{Bed, BedError};

/// Why a certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// The certificate library refused.
    #[error("failed to make a certificate for `{subject}`")]
    Make {
        /// For whom.
        subject: String,
        /// The library's answer.
        source: rcgen::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] BedError),
}

/// A certificate authority of one bed.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

/// A certificate with its key, both as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// The files of an [`Identity`] in a bed.
#[derive(Debug, Clone)]
pub struct IdentityFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Authority {
    /// Makes an authority of that name.
    pub fn new(name: &str) -> Result<Self, PkiError> {
        let failed = |source| PkiError::Make {
            subject: name.to_owned(),
            source,
        };
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        Ok(Self {
            issuer: Issuer::new(params, key),
            certificate,
        })
    }

    /// The authority's own certificate as PEM: what others must trust.
    pub fn certificate(&self) -> String {
        self.certificate.pem()
    }

    /// The same in its binary form.
    pub fn certificate_der(&self) -> Vec<u8> {
        self.certificate.der().to_vec()
    }

    /// The authority's certificate and key, for programs that sign by themselves.
    pub fn identity(&self) -> Identity {
        Identity {
            certificate: self.certificate.pem(),
            key: self.issuer.key().serialize_pem(),
        }
    }

    /// A certificate for a server under these names and addresses.
    pub fn server(&self, names: &[&str]) -> Result<Identity, PkiError> {
        let subject = names.first().copied().unwrap_or("server");
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        self.issue(subject, None, names, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A certificate for a client: `name` is the user, `group` its group in Kubernetes.
    pub fn client(&self, name: &str, group: Option<&str>) -> Result<Identity, PkiError> {
        self.issue(name, group, Vec::new(), ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(
        &self,
        subject: &str,
        group: Option<&str>,
        names: Vec<String>,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Identity, PkiError> {
        let failed = |source| PkiError::Make {
            subject: subject.to_owned(),
            source,
        };
        let mut params = CertificateParams::new(names).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, subject);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok(Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

impl Identity {
    /// Writes both as `NAME.crt` and `NAME.key` into a directory of the bed.
    pub fn write(&self, bed: &Bed, name: &str) -> Result<IdentityFiles, PkiError> {
        Ok(IdentityFiles {
            certificate: bed.write_file(format!("{name}.crt"), &self.certificate)?,
            key: bed.write_file(format!("{name}.key"), &self.key)?,
        })
    }
}

/// A key for signing service account tokens: the private half and the public half as PEM.
pub fn signing_key() -> Result<(String, String), PkiError> {
    let key = KeyPair::generate().map_err(|source| PkiError::Make {
        subject: "service account tokens".to_owned(),
        source,
    })?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}
