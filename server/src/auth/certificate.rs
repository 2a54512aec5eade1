//! Whom a client's certificate names.

use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::Identity;

/// Why a certificate names nobody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// It can't be read.
    #[error("the client's certificate can't be read: {0}")]
    Unreadable(String),
    /// It has no common name.
    #[error("the client's certificate has no common name (CN), which is the user's name")]
    Nameless,
}

impl Identity {
    /// The user and groups of a certificate, as Kubernetes reads them: the common name (CN), and each organization (O).
    /// Whether anybody vouches for the certificate is not looked at here.
    pub fn of_certificate(der: &[u8]) -> Result<Self, CertificateError> {
        let (_, certificate) =
            X509Certificate::from_der(der).map_err(|error| CertificateError::Unreadable(error.to_string()))?;
        let subject = certificate.subject();
        let texts = |values: Vec<&x509_parser::prelude::AttributeTypeAndValue<'_>>| -> Vec<String> {
            let text =
                |value: &&x509_parser::prelude::AttributeTypeAndValue<'_>| value.as_str().ok().map(str::to_owned);
            values.iter().filter_map(text).filter(|text| !text.is_empty()).collect()
        };
        let user = texts(subject.iter_common_name().collect()).pop().ok_or(CertificateError::Nameless)?;
        Ok(Self::authenticated(&user, texts(subject.iter_organization().collect())))
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    use super::*;

    fn certificate(names: &[(DnType, &str)]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, name) in names {
            params.distinguished_name.push(kind.clone(), DnValue::Utf8String((*name).to_owned()));
        }
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().to_vec()
    }

    #[test]
    fn the_common_name_is_the_user_and_organizations_are_groups() {
        let der = certificate(&[(DnType::CommonName, "ann"), (DnType::OrganizationName, "team-a")]);
        let identity = Identity::of_certificate(&der).expect("it has a name");
        assert_eq!(&*identity.user, "ann");
        assert_eq!(*identity.groups, ["team-a", "system:authenticated"]);
    }

    #[test]
    fn without_a_name_it_is_nobody() {
        let der = certificate(&[(DnType::OrganizationName, "team-a")]);
        assert_eq!(Identity::of_certificate(&der), Err(CertificateError::Nameless));
        assert!(matches!(Identity::of_certificate(b"no"), Err(CertificateError::Unreadable(_))));
    }
}
