//! MySQL's character sets: their names and properties.

use serde::{Deserialize, Serialize};

use crate::Collation;

/// How a character set encodes characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Utf8mb4,
    Utf8mb3,
    Latin1,
    Ascii,
    Binary,
    Ucs2,
    Utf16,
    Utf16Le,
    Utf32,
    /// By a table: its index in `maps.bin`.
    Mapped(u8),
}

pub(super) struct Definition {
    pub name: &'static str,
    pub description: &'static str,
    pub max_bytes: u32,
    pub form: Form,
    pub default: Collation,
    pub bytewise: Collation,
}

macro_rules! charsets {
    ($($charset:ident: $name:literal, $description:literal, $max:literal, $form:expr, $default:ident, $bytewise:ident;)*) => {
        /// The character sets of MySQL 8.0. Definitions of tables store these names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Charset {
            $($charset,)*
        }

        impl Charset {
            pub const ALL: [Self; DEFINITIONS.len()] = [$(Self::$charset,)*];
        }

        static DEFINITIONS: [Definition; [$($name),*].len()] = [$(Definition {
            name: $name,
            description: $description,
            max_bytes: $max,
            form: $form,
            default: Collation::$default,
            bytewise: Collation::$bytewise,
        },)*];
    };
}

use Form::*;

// Name, description, bytes of the longest character, form, default collation, `_bin` collation.
charsets! {
    Utf8mb4: "utf8mb4", "UTF-8 Unicode", 4, Utf8mb4, Utf8mb40900AiCi, Utf8mb4Bin;
    Utf8mb3: "utf8mb3", "UTF-8 Unicode", 3, Utf8mb3, Utf8mb3GeneralCi, Utf8mb3Bin;
    Latin1: "latin1", "cp1252 West European", 1, Latin1, Latin1SwedishCi, Latin1Bin;
    Ascii: "ascii", "US ASCII", 1, Ascii, AsciiGeneralCi, AsciiBin;
    Binary: "binary", "Binary pseudo charset", 1, Binary, Binary, Binary;
    Armscii8: "armscii8", "ARMSCII-8 Armenian", 1, Mapped(0), Armscii8GeneralCi, Armscii8Bin;
    Big5: "big5", "Big5 Traditional Chinese", 2, Mapped(1), Big5ChineseCi, Big5Bin;
    Cp1250: "cp1250", "Windows Central European", 1, Mapped(2), Cp1250GeneralCi, Cp1250Bin;
    Cp1251: "cp1251", "Windows Cyrillic", 1, Mapped(3), Cp1251GeneralCi, Cp1251Bin;
    Cp1256: "cp1256", "Windows Arabic", 1, Mapped(4), Cp1256GeneralCi, Cp1256Bin;
    Cp1257: "cp1257", "Windows Baltic", 1, Mapped(5), Cp1257GeneralCi, Cp1257Bin;
    Cp850: "cp850", "DOS West European", 1, Mapped(6), Cp850GeneralCi, Cp850Bin;
    Cp852: "cp852", "DOS Central European", 1, Mapped(7), Cp852GeneralCi, Cp852Bin;
    Cp866: "cp866", "DOS Russian", 1, Mapped(8), Cp866GeneralCi, Cp866Bin;
    Cp932: "cp932", "SJIS for Windows Japanese", 2, Mapped(9), Cp932JapaneseCi, Cp932Bin;
    Dec8: "dec8", "DEC West European", 1, Mapped(10), Dec8SwedishCi, Dec8Bin;
    Eucjpms: "eucjpms", "UJIS for Windows Japanese", 3, Mapped(11), EucjpmsJapaneseCi, EucjpmsBin;
    Euckr: "euckr", "EUC-KR Korean", 2, Mapped(12), EuckrKoreanCi, EuckrBin;
    Gb18030: "gb18030", "China National Standard GB18030", 4, Mapped(13), Gb18030ChineseCi, Gb18030Bin;
    Gb2312: "gb2312", "GB2312 Simplified Chinese", 2, Mapped(14), Gb2312ChineseCi, Gb2312Bin;
    Gbk: "gbk", "GBK Simplified Chinese", 2, Mapped(15), GbkChineseCi, GbkBin;
    Geostd8: "geostd8", "GEOSTD8 Georgian", 1, Mapped(16), Geostd8GeneralCi, Geostd8Bin;
    Greek: "greek", "ISO 8859-7 Greek", 1, Mapped(17), GreekGeneralCi, GreekBin;
    Hebrew: "hebrew", "ISO 8859-8 Hebrew", 1, Mapped(18), HebrewGeneralCi, HebrewBin;
    Hp8: "hp8", "HP West European", 1, Mapped(19), Hp8EnglishCi, Hp8Bin;
    Keybcs2: "keybcs2", "DOS Kamenicky Czech-Slovak", 1, Mapped(20), Keybcs2GeneralCi, Keybcs2Bin;
    Koi8r: "koi8r", "KOI8-R Relcom Russian", 1, Mapped(21), Koi8rGeneralCi, Koi8rBin;
    Koi8u: "koi8u", "KOI8-U Ukrainian", 1, Mapped(22), Koi8uGeneralCi, Koi8uBin;
    Latin2: "latin2", "ISO 8859-2 Central European", 1, Mapped(23), Latin2GeneralCi, Latin2Bin;
    Latin5: "latin5", "ISO 8859-9 Turkish", 1, Mapped(24), Latin5TurkishCi, Latin5Bin;
    Latin7: "latin7", "ISO 8859-13 Baltic", 1, Mapped(25), Latin7GeneralCi, Latin7Bin;
    Macce: "macce", "Mac Central European", 1, Mapped(26), MacceGeneralCi, MacceBin;
    Macroman: "macroman", "Mac West European", 1, Mapped(27), MacromanGeneralCi, MacromanBin;
    Sjis: "sjis", "Shift-JIS Japanese", 2, Mapped(28), SjisJapaneseCi, SjisBin;
    Swe7: "swe7", "7bit Swedish", 1, Mapped(29), Swe7SwedishCi, Swe7Bin;
    Tis620: "tis620", "TIS620 Thai", 1, Mapped(30), Tis620ThaiCi, Tis620Bin;
    Ucs2: "ucs2", "UCS-2 Unicode", 2, Ucs2, Ucs2GeneralCi, Ucs2Bin;
    Ujis: "ujis", "EUC-JP Japanese", 3, Mapped(31), UjisJapaneseCi, UjisBin;
    Utf16: "utf16", "UTF-16 Unicode", 4, Utf16, Utf16GeneralCi, Utf16Bin;
    Utf16le: "utf16le", "UTF-16LE Unicode", 4, Utf16Le, Utf16leGeneralCi, Utf16leBin;
    Utf32: "utf32", "UTF-32 Unicode", 4, Utf32, Utf32GeneralCi, Utf32Bin;
}

impl Charset {
    pub(super) fn definition(self) -> &'static Definition {
        &DEFINITIONS[self as usize]
    }

    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// As SHOW CHARACTER SET describes it.
    pub fn description(self) -> &'static str {
        self.definition().description
    }

    /// Finds a character set by name. `utf8` is utf8mb3, as in MySQL 8.0.
    pub fn from_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Self::Utf8mb3);
        }
        Self::ALL
            .into_iter()
            .find(|c| c.name().eq_ignore_ascii_case(name))
    }

    pub fn default_collation(self) -> Collation {
        self.definition().default
    }

    /// The collation that compares code points or bytes, and ignores trailing spaces (`binary` does not).
    pub fn bytewise_collation(self) -> Collation {
        self.definition().bytewise
    }

    /// Bytes the longest character takes.
    pub fn max_bytes_per_char(self) -> u32 {
        self.definition().max_bytes
    }

    /// Bytes the shortest character takes.
    pub fn min_bytes_per_char(self) -> usize {
        match self {
            Self::Ucs2 | Self::Utf16 | Self::Utf16le => 2,
            Self::Utf32 => 4,
            _ => 1,
        }
    }

    /// Whether it encodes Unicode, all of it or a part.
    pub fn is_unicode(self) -> bool {
        !matches!(self.definition().form, Latin1 | Ascii | Binary | Mapped(_))
    }

    /// Whether its bytes are UTF-8, or treated as UTF-8.
    pub fn is_utf8(self) -> bool {
        matches!(self, Self::Utf8mb4 | Self::Utf8mb3 | Self::Ascii | Self::Binary)
    }

    /// Whether ASCII text has the same bytes in this character set.
    pub fn holds_ascii(self) -> bool {
        self.min_bytes_per_char() == 1 && self != Self::Swe7
    }

    /// Whether `character_set_client` may be this character set: not if ASCII takes more than a byte.
    pub fn is_for_clients(self) -> bool {
        self.min_bytes_per_char() == 1
    }
}
