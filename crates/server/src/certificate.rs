//! The names in a client's certificate, as REQUIRE SUBJECT and REQUIRE ISSUER compare them: OpenSSL's one-line form,
//! `/C=SE/O=Example/CN=client`.
//!
//! TLS has verified the certificate by then, so it is read without further checks; what cannot be read has no names.
//!
//! Source: RFC 5280, 4.1; OpenSSL's `X509_NAME_oneline`, by whose output MySQL compares.

use std::fmt::Write as _;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateNames {
    pub issuer: String,
    pub subject: String,
}

/// When a certificate begins and ends to be valid, as OpenSSL prints it: `Nov 29 07:29:43 2026 GMT`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateDates {
    pub not_before: String,
    pub not_after: String,
}

impl CertificateDates {
    /// `None`: these bytes are no certificate.
    pub fn of(certificate: &[u8]) -> Option<Self> {
        let mut signed = Der::from_issuer_on(certificate)?;
        let _issuer = signed.next()?;
        let mut validity = signed.inside(SEQUENCE)?;
        Some(Self {
            not_before: date(validity.next()?)?,
            not_after: date(validity.next()?)?,
        })
    }
}

/// A moment, which RFC 5280 (4.1.2.5) has in one of two forms: `YYMMDDHHMMSSZ` until 2049, `YYYYMMDDHHMMSSZ` after it.
fn date((form, digits): (u8, &[u8])) -> Option<String> {
    const UTC_TIME: u8 = 0x17;
    const GENERALIZED_TIME: u8 = 0x18;
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<u16>().ok();
    let (year, rest) = match form {
        UTC_TIME => {
            let (year, rest) = digits.split_at_checked(2)?;
            let year = number(year)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => {
            let (year, rest) = digits.split_at_checked(4)?;
            (number(year)?, rest)
        }
        _ => return None,
    };
    let part = |at: usize| number(rest.get(at..at + 2)?);
    let month = MONTHS.get(usize::from(part(0)?).checked_sub(1)?)?;
    let (day, hour, minute, second) = (part(2)?, part(4)?, part(6)?, part(8)?);
    Some(format!(
        "{month} {day:2} {hour:02}:{minute:02}:{second:02} {year} GMT"
    ))
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
/// The version, which stands first unless it is 1.
const VERSION: u8 = 0xA0;

impl CertificateNames {
    /// `None`: these bytes are no certificate.
    pub fn of(certificate: &[u8]) -> Option<Self> {
        let mut signed = Der::from_issuer_on(certificate)?;
        let issuer = signed.inside(SEQUENCE)?;
        let _validity = signed.next()?;
        let subject = signed.inside(SEQUENCE)?;
        Some(Self {
            issuer: one_line(issuer)?,
            subject: one_line(subject)?,
        })
    }
}

/// What is left of elements in DER.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// What a certificate says, from its issuer on.
    fn from_issuer_on(certificate: &'a [u8]) -> Option<Self> {
        let mut signed = Der(certificate).inside(SEQUENCE)?.inside(SEQUENCE)?;
        if signed.0.first() == Some(&VERSION) {
            signed.next()?;
        }
        let _serial_number = signed.next()?;
        let _algorithm = signed.next()?;
        Some(signed)
    }

    /// The next element: its tag and what is in it.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let length = match first {
            0..0x80 => usize::from(first),
            _ => {
                let (digits, behind) = rest.split_at_checked(usize::from(first & 0x7F))?;
                rest = behind;
                let add =
                    |length: usize, digit: &u8| length.checked_mul(256)?.checked_add(usize::from(*digit));
                digits.iter().try_fold(0, add)?
            }
        };
        let (content, behind) = rest.split_at_checked(length)?;
        self.0 = behind;
        Some((tag, content))
    }

    /// The elements in the next one, which has a certain tag.
    fn inside(&mut self, tag: u8) -> Option<Self> {
        let (found, content) = self.next()?;
        (found == tag).then_some(Self(content))
    }
}

/// A name: a sequence of sets of attributes.
fn one_line(mut name: Der<'_>) -> Option<String> {
    let mut out = String::new();
    while !name.0.is_empty() {
        let mut attributes = name.inside(SET)?;
        while !attributes.0.is_empty() {
            let mut attribute = attributes.inside(SEQUENCE)?;
            let kind = attribute.inside(OBJECT_ID)?.0;
            let (_, value) = attribute.next()?;
            out.push('/');
            match short_name(kind) {
                Some(short) => out.push_str(short),
                None => put_dotted(kind, &mut out),
            }
            out.push('=');
            for byte in value {
                match byte {
                    b' '..=b'~' => out.push(char::from(*byte)),
                    byte => {
                        let _ = write!(out, "\\x{byte:02X}");
                    }
                }
            }
        }
    }
    Some(out)
}

/// OpenSSL's short name of a kind of attribute.
fn short_name(kind: &[u8]) -> Option<&'static str> {
    /// X.500 (ITU-T X.520).
    const X500: &[u8] = &[0x55, 4];
    const PKCS9: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9];
    /// RFC 4524.
    const COSINE: &[u8] = &[9, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1];
    /// Of certificates with extended validation.
    const JURISDICTION: &[u8] = &[0x2B, 6, 1, 4, 1, 0x82, 0x37, 0x3C, 2, 1];
    let (&number, family) = kind.split_last()?;
    let name = match family {
        X500 => x500_name(number),
        PKCS9 => pkcs9_name(number),
        COSINE => cosine_name(number),
        JURISDICTION => match number {
            1 => "jurisdictionL",
            2 => "jurisdictionST",
            3 => "jurisdictionC",
            _ => "",
        },
        _ => "",
    };
    (!name.is_empty()).then_some(name)
}

fn x500_name(number: u8) -> &'static str {
    match number {
        3 => "CN",
        4 => "SN",
        5 => "serialNumber",
        6 => "C",
        7 => "L",
        8 => "ST",
        9 => "street",
        10 => "O",
        11 => "OU",
        12 => "title",
        13 => "description",
        14 => "searchGuide",
        15 => "businessCategory",
        16 => "postalAddress",
        17 => "postalCode",
        18 => "postOfficeBox",
        19 => "physicalDeliveryOfficeName",
        20 => "telephoneNumber",
        21 => "telexNumber",
        22 => "teletexTerminalIdentifier",
        23 => "facsimileTelephoneNumber",
        24 => "x121Address",
        25 => "internationaliSDNNumber",
        26 => "registeredAddress",
        27 => "destinationIndicator",
        28 => "preferredDeliveryMethod",
        29 => "presentationAddress",
        30 => "supportedApplicationContext",
        31 => "member",
        32 => "owner",
        33 => "roleOccupant",
        34 => "seeAlso",
        35 => "userPassword",
        36 => "userCertificate",
        37 => "cACertificate",
        38 => "authorityRevocationList",
        39 => "certificateRevocationList",
        40 => "crossCertificatePair",
        41 => "name",
        42 => "GN",
        43 => "initials",
        44 => "generationQualifier",
        45 => "x500UniqueIdentifier",
        46 => "dnQualifier",
        47 => "enhancedSearchGuide",
        48 => "protocolInformation",
        49 => "distinguishedName",
        50 => "uniqueMember",
        51 => "houseIdentifier",
        52 => "supportedAlgorithms",
        53 => "deltaRevocationList",
        54 => "dmdName",
        65 => "pseudonym",
        72 => "role",
        97 => "organizationIdentifier",
        98 => "c3",
        99 => "n3",
        100 => "dnsName",
        _ => "",
    }
}

fn pkcs9_name(number: u8) -> &'static str {
    match number {
        1 => "emailAddress",
        2 => "unstructuredName",
        3 => "contentType",
        4 => "messageDigest",
        5 => "signingTime",
        6 => "countersignature",
        7 => "challengePassword",
        8 => "unstructuredAddress",
        9 => "extendedCertificateAttributes",
        14 => "extReq",
        15 => "SMIME-CAPS",
        16 => "SMIME",
        20 => "friendlyName",
        21 => "localKeyID",
        _ => "",
    }
}

fn cosine_name(number: u8) -> &'static str {
    match number {
        1 => "UID",
        2 => "textEncodedORAddress",
        3 => "mail",
        4 => "info",
        5 => "favouriteDrink",
        6 => "roomNumber",
        7 => "photo",
        8 => "userClass",
        9 => "host",
        10 => "manager",
        11 => "documentIdentifier",
        12 => "documentTitle",
        13 => "documentVersion",
        14 => "documentAuthor",
        15 => "documentLocation",
        20 => "homeTelephoneNumber",
        21 => "secretary",
        22 => "otherMailbox",
        23 => "lastModifiedTime",
        24 => "lastModifiedBy",
        25 => "DC",
        26 => "aRecord",
        27 => "pilotAttributeType27",
        28 => "mXRecord",
        29 => "nSRecord",
        30 => "sOARecord",
        31 => "cNAMERecord",
        37 => "associatedDomain",
        38 => "associatedName",
        39 => "homePostalAddress",
        40 => "personalTitle",
        41 => "mobileTelephoneNumber",
        42 => "pagerTelephoneNumber",
        43 => "friendlyCountryName",
        44 => "uid",
        45 => "organizationalStatus",
        46 => "janetMailbox",
        47 => "mailPreferenceOption",
        48 => "buildingName",
        49 => "dSAQuality",
        50 => "singleLevelQuality",
        51 => "subtreeMinimumQuality",
        52 => "subtreeMaximumQuality",
        53 => "personalSignature",
        54 => "dITRedirect",
        55 => "audio",
        56 => "documentPublisher",
        _ => "",
    }
}

/// An object id in numbers.
fn put_dotted(id: &[u8], out: &mut String) {
    let (mut number, mut is_first) = (0_u64, true);
    for byte in id {
        number = number.wrapping_shl(7) | u64::from(byte & 0x7F);
        if byte & 0x80 != 0 {
            continue;
        }
        if std::mem::take(&mut is_first) {
            let root = (number / 40).min(2);
            let _ = write!(out, "{root}.{}", number - root * 40);
        } else {
            let _ = write!(out, ".{number}");
        }
        number = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    fn certificate(names: &[(DnType, &str)]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in names {
            params.distinguished_name.push(kind.clone(), *value);
        }
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn names_are_as_openssl_writes_them() {
        let der = certificate(&[
            (DnType::CountryName, "SE"),
            (DnType::OrganizationName, "Ex/am ple"),
            (DnType::CommonName, "k\u{fc}r"),
            (DnType::CustomDnType(vec![2, 5, 4, 15]), "Private Organization"),
            (DnType::CustomDnType(vec![2, 5, 4, 97]), "VATSE-1"),
            (
                DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 311, 60, 2, 1, 3]),
                "SE",
            ),
            (DnType::CustomDnType(vec![1, 2, 840, 113_549, 1, 9, 1]), "a@b.se"),
            (
                DnType::CustomDnType(vec![0, 9, 2342, 19_200_300, 100, 1, 25]),
                "example",
            ),
            (
                DnType::CustomDnType(vec![0, 9, 2342, 19_200_300, 100, 1, 99]),
                "y",
            ),
            (DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 99999]), "x"),
        ]);
        let names = CertificateNames::of(&der).unwrap();
        let expected = "/C=SE/O=Ex/am ple/CN=k\\xC3\\xBCr/businessCategory=Private Organization\
                        /organizationIdentifier=VATSE-1/jurisdictionC=SE/emailAddress=a@b.se/DC=example\
                        /0.9.2342.19200300.100.1.99=y/1.3.6.1.4.1.99999=x";
        assert_eq!(
            (names.subject.as_str(), names.issuer.as_str()),
            (expected, expected)
        );
    }

    #[test]
    fn dates_are_as_openssl_prints_them() {
        let mut params = CertificateParams::default();
        params.not_before = rcgen::date_time_ymd(2026, 3, 7);
        params.not_after = rcgen::date_time_ymd(4096, 12, 31);
        let der = params
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap()
            .der()
            .to_vec();
        let dates = CertificateDates::of(&der).unwrap();
        assert_eq!(dates.not_before, "Mar  7 00:00:00 2026 GMT");
        assert_eq!(dates.not_after, "Dec 31 00:00:00 4096 GMT");
        assert_eq!(CertificateDates::of(&der[..40]), None);
        assert_eq!(date((0x17, b"9913")), None);
    }

    #[test]
    fn broken_bytes_have_no_names() {
        let der = certificate(&[(DnType::CommonName, "a")]);
        assert_eq!(CertificateNames::of(b""), None);
        for end in 0..der.len() / 4 {
            assert_eq!(CertificateNames::of(&der[..end]), None, "{end}");
        }
        for at in 0..der.len() {
            let mut broken = der.clone();
            broken[at] ^= 0xFF;
            // Whatever is read now, it does not panic.
            let _ = CertificateNames::of(&broken);
        }
    }
}
