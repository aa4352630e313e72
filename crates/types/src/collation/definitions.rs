//! MySQL's collations: their names and properties, and where their weights come from.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::uca::Version;
use crate::Charset;

/// What defines the order of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The bytes, without padding.
    Bytes,
    /// Code points, which is the order of UTF-8's bytes.
    CodePoints,
    /// The primary weights of DUCET 9.0 (the default collation): [`super::ducet`].
    Ducet,
    /// One weight per code point.
    General,
    Latin1Swedish,
    Latin1Bytes,
    AsciiGeneral,
    /// Primary weights of older versions of DUCET.
    Unicode(Version),
    /// The bytes of the character set.
    Encoded,
    /// A table in `weights.bin`, and how many of its levels count.
    Table(&'static str, u8),
    /// The table of tis620, after leading vowels have changed places with their consonants.
    Thai,
}

pub(super) struct Definition {
    pub id: u16,
    pub name: &'static str,
    pub charset: Charset,
    pub order: Order,
    pub sort_length: u8,
    pub pads_space: bool,
}

macro_rules! collations {
    ($($collation:ident = $id:literal, $name:literal, $charset:ident, $order:expr, $length:literal, $pads:expr;)*) => {
        /// All collations of MySQL 8.0 except two Czech ones. Definitions of tables store these names.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[repr(u16)]
        pub enum Collation {
            $($collation,)*
        }

        impl Collation {
            /// In the order of their numbers.
            pub const ALL: [Self; DEFINITIONS.len()] = [$(Self::$collation,)*];
        }

        static DEFINITIONS: [Definition; [$($id),*].len()] = [$(Definition {
            id: $id,
            name: $name,
            charset: Charset::$charset,
            order: $order,
            sort_length: $length,
            pads_space: $pads,
        },)*];
    };
}

use Order::*;

const PAD: bool = true;
const NO_PAD: bool = false;

// Number, name, character set, order, SORTLEN, PAD_ATTRIBUTE.
collations! {
    Big5ChineseCi = 1, "big5_chinese_ci", Big5, Table("big5_chinese_ci", 1), 1, PAD;
    Dec8SwedishCi = 3, "dec8_swedish_ci", Dec8, Table("dec8_swedish_ci", 1), 1, PAD;
    Cp850GeneralCi = 4, "cp850_general_ci", Cp850, Table("cp850_general_ci", 1), 1, PAD;
    Latin1German1Ci = 5, "latin1_german1_ci", Latin1, Table("latin1_german1_ci", 1), 1, PAD;
    Hp8EnglishCi = 6, "hp8_english_ci", Hp8, Table("hp8_english_ci", 1), 1, PAD;
    Koi8rGeneralCi = 7, "koi8r_general_ci", Koi8r, Table("koi8r_general_ci", 1), 1, PAD;
    Latin1SwedishCi = 8, "latin1_swedish_ci", Latin1, Latin1Swedish, 1, PAD;
    Latin2GeneralCi = 9, "latin2_general_ci", Latin2, Table("latin2_general_ci", 1), 1, PAD;
    Swe7SwedishCi = 10, "swe7_swedish_ci", Swe7, Table("swe7_swedish_ci", 1), 1, PAD;
    AsciiGeneralCi = 11, "ascii_general_ci", Ascii, AsciiGeneral, 1, PAD;
    UjisJapaneseCi = 12, "ujis_japanese_ci", Ujis, Table("ujis_japanese_ci", 1), 1, PAD;
    SjisJapaneseCi = 13, "sjis_japanese_ci", Sjis, Table("sjis_japanese_ci", 1), 1, PAD;
    Cp1251BulgarianCi = 14, "cp1251_bulgarian_ci", Cp1251, Table("cp1251_bulgarian_ci", 1), 1, PAD;
    Latin1DanishCi = 15, "latin1_danish_ci", Latin1, Table("latin1_danish_ci", 1), 1, PAD;
    HebrewGeneralCi = 16, "hebrew_general_ci", Hebrew, Table("hebrew_general_ci", 1), 1, PAD;
    Tis620ThaiCi = 18, "tis620_thai_ci", Tis620, Thai, 4, PAD;
    EuckrKoreanCi = 19, "euckr_korean_ci", Euckr, Table("euckr_korean_ci", 1), 1, PAD;
    Latin7EstonianCs = 20, "latin7_estonian_cs", Latin7, Table("latin7_estonian_cs", 1), 1, PAD;
    Latin2HungarianCi = 21, "latin2_hungarian_ci", Latin2, Table("latin2_hungarian_ci", 1), 1, PAD;
    Koi8uGeneralCi = 22, "koi8u_general_ci", Koi8u, Table("koi8u_general_ci", 1), 1, PAD;
    Cp1251UkrainianCi = 23, "cp1251_ukrainian_ci", Cp1251, Table("cp1251_ukrainian_ci", 1), 1, PAD;
    Gb2312ChineseCi = 24, "gb2312_chinese_ci", Gb2312, Table("gb2312_chinese_ci", 1), 1, PAD;
    GreekGeneralCi = 25, "greek_general_ci", Greek, Table("greek_general_ci", 1), 1, PAD;
    Cp1250GeneralCi = 26, "cp1250_general_ci", Cp1250, Table("cp1250_general_ci", 1), 1, PAD;
    Latin2CroatianCi = 27, "latin2_croatian_ci", Latin2, Table("latin2_croatian_ci", 1), 1, PAD;
    GbkChineseCi = 28, "gbk_chinese_ci", Gbk, Table("gbk_chinese_ci", 1), 1, PAD;
    Cp1257LithuanianCi = 29, "cp1257_lithuanian_ci", Cp1257, Table("cp1257_lithuanian_ci", 1), 1, PAD;
    Latin5TurkishCi = 30, "latin5_turkish_ci", Latin5, Table("latin5_turkish_ci", 1), 1, PAD;
    Latin1German2Ci = 31, "latin1_german2_ci", Latin1, Table("latin1_german2_ci", 1), 2, PAD;
    Armscii8GeneralCi = 32, "armscii8_general_ci", Armscii8, Table("armscii8_general_ci", 1), 1, PAD;
    Utf8mb3GeneralCi = 33, "utf8mb3_general_ci", Utf8mb3, General, 1, PAD;
    Ucs2GeneralCi = 35, "ucs2_general_ci", Ucs2, General, 1, PAD;
    Cp866GeneralCi = 36, "cp866_general_ci", Cp866, Table("cp866_general_ci", 1), 1, PAD;
    Keybcs2GeneralCi = 37, "keybcs2_general_ci", Keybcs2, Table("keybcs2_general_ci", 1), 1, PAD;
    MacceGeneralCi = 38, "macce_general_ci", Macce, Table("macce_general_ci", 1), 1, PAD;
    MacromanGeneralCi = 39, "macroman_general_ci", Macroman, Table("macroman_general_ci", 1), 1, PAD;
    Cp852GeneralCi = 40, "cp852_general_ci", Cp852, Table("cp852_general_ci", 1), 1, PAD;
    Latin7GeneralCi = 41, "latin7_general_ci", Latin7, Table("latin7_general_ci", 1), 1, PAD;
    Latin7GeneralCs = 42, "latin7_general_cs", Latin7, Table("latin7_general_cs", 1), 1, PAD;
    MacceBin = 43, "macce_bin", Macce, Encoded, 1, PAD;
    Cp1250CroatianCi = 44, "cp1250_croatian_ci", Cp1250, Table("cp1250_croatian_ci", 1), 1, PAD;
    Utf8mb4GeneralCi = 45, "utf8mb4_general_ci", Utf8mb4, General, 1, PAD;
    Utf8mb4Bin = 46, "utf8mb4_bin", Utf8mb4, CodePoints, 1, PAD;
    Latin1Bin = 47, "latin1_bin", Latin1, Latin1Bytes, 1, PAD;
    Latin1GeneralCi = 48, "latin1_general_ci", Latin1, Table("latin1_general_ci", 1), 1, PAD;
    Latin1GeneralCs = 49, "latin1_general_cs", Latin1, Table("latin1_general_cs", 1), 1, PAD;
    Cp1251Bin = 50, "cp1251_bin", Cp1251, Encoded, 1, PAD;
    Cp1251GeneralCi = 51, "cp1251_general_ci", Cp1251, Table("cp1251_general_ci", 1), 1, PAD;
    Cp1251GeneralCs = 52, "cp1251_general_cs", Cp1251, Table("cp1251_general_cs", 1), 1, PAD;
    MacromanBin = 53, "macroman_bin", Macroman, Encoded, 1, PAD;
    Utf16GeneralCi = 54, "utf16_general_ci", Utf16, General, 1, PAD;
    Utf16Bin = 55, "utf16_bin", Utf16, CodePoints, 1, PAD;
    Utf16leGeneralCi = 56, "utf16le_general_ci", Utf16le, General, 1, PAD;
    Cp1256GeneralCi = 57, "cp1256_general_ci", Cp1256, Table("cp1256_general_ci", 1), 1, PAD;
    Cp1257Bin = 58, "cp1257_bin", Cp1257, Encoded, 1, PAD;
    Cp1257GeneralCi = 59, "cp1257_general_ci", Cp1257, Table("cp1257_general_ci", 1), 1, PAD;
    Utf32GeneralCi = 60, "utf32_general_ci", Utf32, General, 1, PAD;
    Utf32Bin = 61, "utf32_bin", Utf32, CodePoints, 1, PAD;
    Utf16leBin = 62, "utf16le_bin", Utf16le, CodePoints, 1, PAD;
    Binary = 63, "binary", Binary, Bytes, 1, NO_PAD;
    Armscii8Bin = 64, "armscii8_bin", Armscii8, Encoded, 1, PAD;
    AsciiBin = 65, "ascii_bin", Ascii, CodePoints, 1, PAD;
    Cp1250Bin = 66, "cp1250_bin", Cp1250, Encoded, 1, PAD;
    Cp1256Bin = 67, "cp1256_bin", Cp1256, Encoded, 1, PAD;
    Cp866Bin = 68, "cp866_bin", Cp866, Encoded, 1, PAD;
    Dec8Bin = 69, "dec8_bin", Dec8, Encoded, 1, PAD;
    GreekBin = 70, "greek_bin", Greek, Encoded, 1, PAD;
    HebrewBin = 71, "hebrew_bin", Hebrew, Encoded, 1, PAD;
    Hp8Bin = 72, "hp8_bin", Hp8, Encoded, 1, PAD;
    Keybcs2Bin = 73, "keybcs2_bin", Keybcs2, Encoded, 1, PAD;
    Koi8rBin = 74, "koi8r_bin", Koi8r, Encoded, 1, PAD;
    Koi8uBin = 75, "koi8u_bin", Koi8u, Encoded, 1, PAD;
    Utf8mb3TolowerCi = 76, "utf8mb3_tolower_ci", Utf8mb3, Table("tolower", 1), 1, PAD;
    Latin2Bin = 77, "latin2_bin", Latin2, Encoded, 1, PAD;
    Latin5Bin = 78, "latin5_bin", Latin5, Encoded, 1, PAD;
    Latin7Bin = 79, "latin7_bin", Latin7, Encoded, 1, PAD;
    Cp850Bin = 80, "cp850_bin", Cp850, Encoded, 1, PAD;
    Cp852Bin = 81, "cp852_bin", Cp852, Encoded, 1, PAD;
    Swe7Bin = 82, "swe7_bin", Swe7, Encoded, 1, PAD;
    Utf8mb3Bin = 83, "utf8mb3_bin", Utf8mb3, CodePoints, 1, PAD;
    Big5Bin = 84, "big5_bin", Big5, Encoded, 1, PAD;
    EuckrBin = 85, "euckr_bin", Euckr, Encoded, 1, PAD;
    Gb2312Bin = 86, "gb2312_bin", Gb2312, Encoded, 1, PAD;
    GbkBin = 87, "gbk_bin", Gbk, Encoded, 1, PAD;
    SjisBin = 88, "sjis_bin", Sjis, Encoded, 1, PAD;
    Tis620Bin = 89, "tis620_bin", Tis620, Encoded, 1, PAD;
    Ucs2Bin = 90, "ucs2_bin", Ucs2, CodePoints, 1, PAD;
    UjisBin = 91, "ujis_bin", Ujis, Encoded, 1, PAD;
    Geostd8GeneralCi = 92, "geostd8_general_ci", Geostd8, Table("geostd8_general_ci", 1), 1, PAD;
    Geostd8Bin = 93, "geostd8_bin", Geostd8, Encoded, 1, PAD;
    Latin1SpanishCi = 94, "latin1_spanish_ci", Latin1, Table("latin1_spanish_ci", 1), 1, PAD;
    Cp932JapaneseCi = 95, "cp932_japanese_ci", Cp932, Table("cp932_japanese_ci", 1), 1, PAD;
    Cp932Bin = 96, "cp932_bin", Cp932, Encoded, 1, PAD;
    EucjpmsJapaneseCi = 97, "eucjpms_japanese_ci", Eucjpms, Table("eucjpms_japanese_ci", 1), 1, PAD;
    EucjpmsBin = 98, "eucjpms_bin", Eucjpms, Encoded, 1, PAD;
    Cp1250PolishCi = 99, "cp1250_polish_ci", Cp1250, Table("cp1250_polish_ci", 1), 1, PAD;
    Utf16UnicodeCi = 101, "utf16_unicode_ci", Utf16, Unicode(Version::V4_0), 8, PAD;
    Utf16IcelandicCi = 102, "utf16_icelandic_ci", Utf16, Table("icelandic", 1), 8, PAD;
    Utf16LatvianCi = 103, "utf16_latvian_ci", Utf16, Table("latvian", 1), 8, PAD;
    Utf16RomanianCi = 104, "utf16_romanian_ci", Utf16, Table("romanian", 1), 8, PAD;
    Utf16SlovenianCi = 105, "utf16_slovenian_ci", Utf16, Table("slovenian", 1), 8, PAD;
    Utf16PolishCi = 106, "utf16_polish_ci", Utf16, Table("polish", 1), 8, PAD;
    Utf16EstonianCi = 107, "utf16_estonian_ci", Utf16, Table("estonian", 1), 8, PAD;
    Utf16SpanishCi = 108, "utf16_spanish_ci", Utf16, Table("spanish", 1), 8, PAD;
    Utf16SwedishCi = 109, "utf16_swedish_ci", Utf16, Table("swedish", 1), 8, PAD;
    Utf16TurkishCi = 110, "utf16_turkish_ci", Utf16, Table("turkish", 1), 8, PAD;
    Utf16CzechCi = 111, "utf16_czech_ci", Utf16, Table("czech", 1), 8, PAD;
    Utf16DanishCi = 112, "utf16_danish_ci", Utf16, Table("danish", 1), 8, PAD;
    Utf16LithuanianCi = 113, "utf16_lithuanian_ci", Utf16, Table("lithuanian", 1), 8, PAD;
    Utf16SlovakCi = 114, "utf16_slovak_ci", Utf16, Table("slovak", 1), 8, PAD;
    Utf16Spanish2Ci = 115, "utf16_spanish2_ci", Utf16, Table("spanish2", 1), 8, PAD;
    Utf16RomanCi = 116, "utf16_roman_ci", Utf16, Table("roman", 1), 8, PAD;
    Utf16PersianCi = 117, "utf16_persian_ci", Utf16, Table("persian", 1), 8, PAD;
    Utf16EsperantoCi = 118, "utf16_esperanto_ci", Utf16, Table("esperanto", 1), 8, PAD;
    Utf16HungarianCi = 119, "utf16_hungarian_ci", Utf16, Table("hungarian", 1), 8, PAD;
    Utf16SinhalaCi = 120, "utf16_sinhala_ci", Utf16, Table("sinhala", 1), 8, PAD;
    Utf16German2Ci = 121, "utf16_german2_ci", Utf16, Table("german2", 1), 8, PAD;
    Utf16CroatianCi = 122, "utf16_croatian_ci", Utf16, Table("croatian", 1), 8, PAD;
    Utf16Unicode520Ci = 123, "utf16_unicode_520_ci", Utf16, Unicode(Version::V5_2), 8, PAD;
    Utf16VietnameseCi = 124, "utf16_vietnamese_ci", Utf16, Table("vietnamese", 1), 8, PAD;
    Ucs2UnicodeCi = 128, "ucs2_unicode_ci", Ucs2, Unicode(Version::V4_0), 8, PAD;
    Ucs2IcelandicCi = 129, "ucs2_icelandic_ci", Ucs2, Table("icelandic", 1), 8, PAD;
    Ucs2LatvianCi = 130, "ucs2_latvian_ci", Ucs2, Table("latvian", 1), 8, PAD;
    Ucs2RomanianCi = 131, "ucs2_romanian_ci", Ucs2, Table("romanian", 1), 8, PAD;
    Ucs2SlovenianCi = 132, "ucs2_slovenian_ci", Ucs2, Table("slovenian", 1), 8, PAD;
    Ucs2PolishCi = 133, "ucs2_polish_ci", Ucs2, Table("polish", 1), 8, PAD;
    Ucs2EstonianCi = 134, "ucs2_estonian_ci", Ucs2, Table("estonian", 1), 8, PAD;
    Ucs2SpanishCi = 135, "ucs2_spanish_ci", Ucs2, Table("spanish", 1), 8, PAD;
    Ucs2SwedishCi = 136, "ucs2_swedish_ci", Ucs2, Table("swedish", 1), 8, PAD;
    Ucs2TurkishCi = 137, "ucs2_turkish_ci", Ucs2, Table("turkish", 1), 8, PAD;
    Ucs2CzechCi = 138, "ucs2_czech_ci", Ucs2, Table("czech", 1), 8, PAD;
    Ucs2DanishCi = 139, "ucs2_danish_ci", Ucs2, Table("danish", 1), 8, PAD;
    Ucs2LithuanianCi = 140, "ucs2_lithuanian_ci", Ucs2, Table("lithuanian", 1), 8, PAD;
    Ucs2SlovakCi = 141, "ucs2_slovak_ci", Ucs2, Table("slovak", 1), 8, PAD;
    Ucs2Spanish2Ci = 142, "ucs2_spanish2_ci", Ucs2, Table("spanish2", 1), 8, PAD;
    Ucs2RomanCi = 143, "ucs2_roman_ci", Ucs2, Table("roman", 1), 8, PAD;
    Ucs2PersianCi = 144, "ucs2_persian_ci", Ucs2, Table("persian", 1), 8, PAD;
    Ucs2EsperantoCi = 145, "ucs2_esperanto_ci", Ucs2, Table("esperanto", 1), 8, PAD;
    Ucs2HungarianCi = 146, "ucs2_hungarian_ci", Ucs2, Table("hungarian", 1), 8, PAD;
    Ucs2SinhalaCi = 147, "ucs2_sinhala_ci", Ucs2, Table("sinhala", 1), 8, PAD;
    Ucs2German2Ci = 148, "ucs2_german2_ci", Ucs2, Table("german2", 1), 8, PAD;
    Ucs2CroatianCi = 149, "ucs2_croatian_ci", Ucs2, Table("croatian", 1), 8, PAD;
    Ucs2Unicode520Ci = 150, "ucs2_unicode_520_ci", Ucs2, Unicode(Version::V5_2), 8, PAD;
    Ucs2VietnameseCi = 151, "ucs2_vietnamese_ci", Ucs2, Table("vietnamese", 1), 8, PAD;
    Ucs2GeneralMysql500Ci = 159, "ucs2_general_mysql500_ci", Ucs2, Table("general_mysql500", 1), 1, PAD;
    Utf32UnicodeCi = 160, "utf32_unicode_ci", Utf32, Unicode(Version::V4_0), 8, PAD;
    Utf32IcelandicCi = 161, "utf32_icelandic_ci", Utf32, Table("icelandic", 1), 8, PAD;
    Utf32LatvianCi = 162, "utf32_latvian_ci", Utf32, Table("latvian", 1), 8, PAD;
    Utf32RomanianCi = 163, "utf32_romanian_ci", Utf32, Table("romanian", 1), 8, PAD;
    Utf32SlovenianCi = 164, "utf32_slovenian_ci", Utf32, Table("slovenian", 1), 8, PAD;
    Utf32PolishCi = 165, "utf32_polish_ci", Utf32, Table("polish", 1), 8, PAD;
    Utf32EstonianCi = 166, "utf32_estonian_ci", Utf32, Table("estonian", 1), 8, PAD;
    Utf32SpanishCi = 167, "utf32_spanish_ci", Utf32, Table("spanish", 1), 8, PAD;
    Utf32SwedishCi = 168, "utf32_swedish_ci", Utf32, Table("swedish", 1), 8, PAD;
    Utf32TurkishCi = 169, "utf32_turkish_ci", Utf32, Table("turkish", 1), 8, PAD;
    Utf32CzechCi = 170, "utf32_czech_ci", Utf32, Table("czech", 1), 8, PAD;
    Utf32DanishCi = 171, "utf32_danish_ci", Utf32, Table("danish", 1), 8, PAD;
    Utf32LithuanianCi = 172, "utf32_lithuanian_ci", Utf32, Table("lithuanian", 1), 8, PAD;
    Utf32SlovakCi = 173, "utf32_slovak_ci", Utf32, Table("slovak", 1), 8, PAD;
    Utf32Spanish2Ci = 174, "utf32_spanish2_ci", Utf32, Table("spanish2", 1), 8, PAD;
    Utf32RomanCi = 175, "utf32_roman_ci", Utf32, Table("roman", 1), 8, PAD;
    Utf32PersianCi = 176, "utf32_persian_ci", Utf32, Table("persian", 1), 8, PAD;
    Utf32EsperantoCi = 177, "utf32_esperanto_ci", Utf32, Table("esperanto", 1), 8, PAD;
    Utf32HungarianCi = 178, "utf32_hungarian_ci", Utf32, Table("hungarian", 1), 8, PAD;
    Utf32SinhalaCi = 179, "utf32_sinhala_ci", Utf32, Table("sinhala", 1), 8, PAD;
    Utf32German2Ci = 180, "utf32_german2_ci", Utf32, Table("german2", 1), 8, PAD;
    Utf32CroatianCi = 181, "utf32_croatian_ci", Utf32, Table("croatian", 1), 8, PAD;
    Utf32Unicode520Ci = 182, "utf32_unicode_520_ci", Utf32, Unicode(Version::V5_2), 8, PAD;
    Utf32VietnameseCi = 183, "utf32_vietnamese_ci", Utf32, Table("vietnamese", 1), 8, PAD;
    Utf8mb3UnicodeCi = 192, "utf8mb3_unicode_ci", Utf8mb3, Unicode(Version::V4_0), 8, PAD;
    Utf8mb3IcelandicCi = 193, "utf8mb3_icelandic_ci", Utf8mb3, Table("icelandic", 1), 8, PAD;
    Utf8mb3LatvianCi = 194, "utf8mb3_latvian_ci", Utf8mb3, Table("latvian", 1), 8, PAD;
    Utf8mb3RomanianCi = 195, "utf8mb3_romanian_ci", Utf8mb3, Table("romanian", 1), 8, PAD;
    Utf8mb3SlovenianCi = 196, "utf8mb3_slovenian_ci", Utf8mb3, Table("slovenian", 1), 8, PAD;
    Utf8mb3PolishCi = 197, "utf8mb3_polish_ci", Utf8mb3, Table("polish", 1), 8, PAD;
    Utf8mb3EstonianCi = 198, "utf8mb3_estonian_ci", Utf8mb3, Table("estonian", 1), 8, PAD;
    Utf8mb3SpanishCi = 199, "utf8mb3_spanish_ci", Utf8mb3, Table("spanish", 1), 8, PAD;
    Utf8mb3SwedishCi = 200, "utf8mb3_swedish_ci", Utf8mb3, Table("swedish", 1), 8, PAD;
    Utf8mb3TurkishCi = 201, "utf8mb3_turkish_ci", Utf8mb3, Table("turkish", 1), 8, PAD;
    Utf8mb3CzechCi = 202, "utf8mb3_czech_ci", Utf8mb3, Table("czech", 1), 8, PAD;
    Utf8mb3DanishCi = 203, "utf8mb3_danish_ci", Utf8mb3, Table("danish", 1), 8, PAD;
    Utf8mb3LithuanianCi = 204, "utf8mb3_lithuanian_ci", Utf8mb3, Table("lithuanian", 1), 8, PAD;
    Utf8mb3SlovakCi = 205, "utf8mb3_slovak_ci", Utf8mb3, Table("slovak", 1), 8, PAD;
    Utf8mb3Spanish2Ci = 206, "utf8mb3_spanish2_ci", Utf8mb3, Table("spanish2", 1), 8, PAD;
    Utf8mb3RomanCi = 207, "utf8mb3_roman_ci", Utf8mb3, Table("roman", 1), 8, PAD;
    Utf8mb3PersianCi = 208, "utf8mb3_persian_ci", Utf8mb3, Table("persian", 1), 8, PAD;
    Utf8mb3EsperantoCi = 209, "utf8mb3_esperanto_ci", Utf8mb3, Table("esperanto", 1), 8, PAD;
    Utf8mb3HungarianCi = 210, "utf8mb3_hungarian_ci", Utf8mb3, Table("hungarian", 1), 8, PAD;
    Utf8mb3SinhalaCi = 211, "utf8mb3_sinhala_ci", Utf8mb3, Table("sinhala", 1), 8, PAD;
    Utf8mb3German2Ci = 212, "utf8mb3_german2_ci", Utf8mb3, Table("german2", 1), 8, PAD;
    Utf8mb3CroatianCi = 213, "utf8mb3_croatian_ci", Utf8mb3, Table("croatian", 1), 8, PAD;
    Utf8mb3Unicode520Ci = 214, "utf8mb3_unicode_520_ci", Utf8mb3, Unicode(Version::V5_2), 8, PAD;
    Utf8mb3VietnameseCi = 215, "utf8mb3_vietnamese_ci", Utf8mb3, Table("vietnamese", 1), 8, PAD;
    Utf8mb3GeneralMysql500Ci = 223, "utf8mb3_general_mysql500_ci", Utf8mb3, Table("general_mysql500", 1), 1, PAD;
    Utf8mb4UnicodeCi = 224, "utf8mb4_unicode_ci", Utf8mb4, Unicode(Version::V4_0), 8, PAD;
    Utf8mb4IcelandicCi = 225, "utf8mb4_icelandic_ci", Utf8mb4, Table("icelandic", 1), 8, PAD;
    Utf8mb4LatvianCi = 226, "utf8mb4_latvian_ci", Utf8mb4, Table("latvian", 1), 8, PAD;
    Utf8mb4RomanianCi = 227, "utf8mb4_romanian_ci", Utf8mb4, Table("romanian", 1), 8, PAD;
    Utf8mb4SlovenianCi = 228, "utf8mb4_slovenian_ci", Utf8mb4, Table("slovenian", 1), 8, PAD;
    Utf8mb4PolishCi = 229, "utf8mb4_polish_ci", Utf8mb4, Table("polish", 1), 8, PAD;
    Utf8mb4EstonianCi = 230, "utf8mb4_estonian_ci", Utf8mb4, Table("estonian", 1), 8, PAD;
    Utf8mb4SpanishCi = 231, "utf8mb4_spanish_ci", Utf8mb4, Table("spanish", 1), 8, PAD;
    Utf8mb4SwedishCi = 232, "utf8mb4_swedish_ci", Utf8mb4, Table("swedish", 1), 8, PAD;
    Utf8mb4TurkishCi = 233, "utf8mb4_turkish_ci", Utf8mb4, Table("turkish", 1), 8, PAD;
    Utf8mb4CzechCi = 234, "utf8mb4_czech_ci", Utf8mb4, Table("czech", 1), 8, PAD;
    Utf8mb4DanishCi = 235, "utf8mb4_danish_ci", Utf8mb4, Table("danish", 1), 8, PAD;
    Utf8mb4LithuanianCi = 236, "utf8mb4_lithuanian_ci", Utf8mb4, Table("lithuanian", 1), 8, PAD;
    Utf8mb4SlovakCi = 237, "utf8mb4_slovak_ci", Utf8mb4, Table("slovak", 1), 8, PAD;
    Utf8mb4Spanish2Ci = 238, "utf8mb4_spanish2_ci", Utf8mb4, Table("spanish2", 1), 8, PAD;
    Utf8mb4RomanCi = 239, "utf8mb4_roman_ci", Utf8mb4, Table("roman", 1), 8, PAD;
    Utf8mb4PersianCi = 240, "utf8mb4_persian_ci", Utf8mb4, Table("persian", 1), 8, PAD;
    Utf8mb4EsperantoCi = 241, "utf8mb4_esperanto_ci", Utf8mb4, Table("esperanto", 1), 8, PAD;
    Utf8mb4HungarianCi = 242, "utf8mb4_hungarian_ci", Utf8mb4, Table("hungarian", 1), 8, PAD;
    Utf8mb4SinhalaCi = 243, "utf8mb4_sinhala_ci", Utf8mb4, Table("sinhala", 1), 8, PAD;
    Utf8mb4German2Ci = 244, "utf8mb4_german2_ci", Utf8mb4, Table("german2", 1), 8, PAD;
    Utf8mb4CroatianCi = 245, "utf8mb4_croatian_ci", Utf8mb4, Table("croatian", 1), 8, PAD;
    Utf8mb4Unicode520Ci = 246, "utf8mb4_unicode_520_ci", Utf8mb4, Unicode(Version::V5_2), 8, PAD;
    Utf8mb4VietnameseCi = 247, "utf8mb4_vietnamese_ci", Utf8mb4, Table("vietnamese", 1), 8, PAD;
    Gb18030ChineseCi = 248, "gb18030_chinese_ci", Gb18030, Table("gb18030_chinese_ci", 1), 2, PAD;
    Gb18030Bin = 249, "gb18030_bin", Gb18030, Encoded, 1, PAD;
    Gb18030Unicode520Ci = 250, "gb18030_unicode_520_ci", Gb18030, Unicode(Version::V5_2), 8, PAD;
    Utf8mb40900AiCi = 255, "utf8mb4_0900_ai_ci", Utf8mb4, Ducet, 0, NO_PAD;
    Utf8mb4DePb0900AiCi = 256, "utf8mb4_de_pb_0900_ai_ci", Utf8mb4, Table("9.0 de_pb", 1), 0, NO_PAD;
    Utf8mb4Is0900AiCi = 257, "utf8mb4_is_0900_ai_ci", Utf8mb4, Table("9.0 is", 1), 0, NO_PAD;
    Utf8mb4Lv0900AiCi = 258, "utf8mb4_lv_0900_ai_ci", Utf8mb4, Table("9.0 lv", 1), 0, NO_PAD;
    Utf8mb4Ro0900AiCi = 259, "utf8mb4_ro_0900_ai_ci", Utf8mb4, Table("9.0 ro", 1), 0, NO_PAD;
    Utf8mb4Sl0900AiCi = 260, "utf8mb4_sl_0900_ai_ci", Utf8mb4, Table("9.0 sl", 1), 0, NO_PAD;
    Utf8mb4Pl0900AiCi = 261, "utf8mb4_pl_0900_ai_ci", Utf8mb4, Table("9.0 pl", 1), 0, NO_PAD;
    Utf8mb4Et0900AiCi = 262, "utf8mb4_et_0900_ai_ci", Utf8mb4, Table("9.0 et", 1), 0, NO_PAD;
    Utf8mb4Es0900AiCi = 263, "utf8mb4_es_0900_ai_ci", Utf8mb4, Table("9.0 es", 1), 0, NO_PAD;
    Utf8mb4Sv0900AiCi = 264, "utf8mb4_sv_0900_ai_ci", Utf8mb4, Table("9.0 sv", 1), 0, NO_PAD;
    Utf8mb4Tr0900AiCi = 265, "utf8mb4_tr_0900_ai_ci", Utf8mb4, Table("9.0 tr", 1), 0, NO_PAD;
    Utf8mb4Cs0900AiCi = 266, "utf8mb4_cs_0900_ai_ci", Utf8mb4, Table("9.0 cs", 1), 0, NO_PAD;
    Utf8mb4Da0900AiCi = 267, "utf8mb4_da_0900_ai_ci", Utf8mb4, Table("9.0 da", 1), 0, NO_PAD;
    Utf8mb4Lt0900AiCi = 268, "utf8mb4_lt_0900_ai_ci", Utf8mb4, Table("9.0 lt", 1), 0, NO_PAD;
    Utf8mb4Sk0900AiCi = 269, "utf8mb4_sk_0900_ai_ci", Utf8mb4, Table("9.0 sk", 1), 0, NO_PAD;
    Utf8mb4EsTrad0900AiCi = 270, "utf8mb4_es_trad_0900_ai_ci", Utf8mb4, Table("9.0 es_trad", 1), 0, NO_PAD;
    Utf8mb4La0900AiCi = 271, "utf8mb4_la_0900_ai_ci", Utf8mb4, Table("9.0 la", 1), 0, NO_PAD;
    Utf8mb4Eo0900AiCi = 273, "utf8mb4_eo_0900_ai_ci", Utf8mb4, Table("9.0 eo", 1), 0, NO_PAD;
    Utf8mb4Hu0900AiCi = 274, "utf8mb4_hu_0900_ai_ci", Utf8mb4, Table("9.0 hu", 1), 0, NO_PAD;
    Utf8mb4Hr0900AiCi = 275, "utf8mb4_hr_0900_ai_ci", Utf8mb4, Table("9.0 hr", 1), 0, NO_PAD;
    Utf8mb4Vi0900AiCi = 277, "utf8mb4_vi_0900_ai_ci", Utf8mb4, Table("9.0 vi", 1), 0, NO_PAD;
    Utf8mb40900AsCs = 278, "utf8mb4_0900_as_cs", Utf8mb4, Table("9.0 root", 3), 0, NO_PAD;
    Utf8mb4DePb0900AsCs = 279, "utf8mb4_de_pb_0900_as_cs", Utf8mb4, Table("9.0 de_pb", 3), 0, NO_PAD;
    Utf8mb4Is0900AsCs = 280, "utf8mb4_is_0900_as_cs", Utf8mb4, Table("9.0 is", 3), 0, NO_PAD;
    Utf8mb4Lv0900AsCs = 281, "utf8mb4_lv_0900_as_cs", Utf8mb4, Table("9.0 lv", 3), 0, NO_PAD;
    Utf8mb4Ro0900AsCs = 282, "utf8mb4_ro_0900_as_cs", Utf8mb4, Table("9.0 ro", 3), 0, NO_PAD;
    Utf8mb4Sl0900AsCs = 283, "utf8mb4_sl_0900_as_cs", Utf8mb4, Table("9.0 sl", 3), 0, NO_PAD;
    Utf8mb4Pl0900AsCs = 284, "utf8mb4_pl_0900_as_cs", Utf8mb4, Table("9.0 pl", 3), 0, NO_PAD;
    Utf8mb4Et0900AsCs = 285, "utf8mb4_et_0900_as_cs", Utf8mb4, Table("9.0 et", 3), 0, NO_PAD;
    Utf8mb4Es0900AsCs = 286, "utf8mb4_es_0900_as_cs", Utf8mb4, Table("9.0 es", 3), 0, NO_PAD;
    Utf8mb4Sv0900AsCs = 287, "utf8mb4_sv_0900_as_cs", Utf8mb4, Table("9.0 sv", 3), 0, NO_PAD;
    Utf8mb4Tr0900AsCs = 288, "utf8mb4_tr_0900_as_cs", Utf8mb4, Table("9.0 tr", 3), 0, NO_PAD;
    Utf8mb4Cs0900AsCs = 289, "utf8mb4_cs_0900_as_cs", Utf8mb4, Table("9.0 cs", 3), 0, NO_PAD;
    Utf8mb4Da0900AsCs = 290, "utf8mb4_da_0900_as_cs", Utf8mb4, Table("9.0 da", 3), 0, NO_PAD;
    Utf8mb4Lt0900AsCs = 291, "utf8mb4_lt_0900_as_cs", Utf8mb4, Table("9.0 lt", 3), 0, NO_PAD;
    Utf8mb4Sk0900AsCs = 292, "utf8mb4_sk_0900_as_cs", Utf8mb4, Table("9.0 sk", 3), 0, NO_PAD;
    Utf8mb4EsTrad0900AsCs = 293, "utf8mb4_es_trad_0900_as_cs", Utf8mb4, Table("9.0 es_trad", 3), 0, NO_PAD;
    Utf8mb4La0900AsCs = 294, "utf8mb4_la_0900_as_cs", Utf8mb4, Table("9.0 la", 3), 0, NO_PAD;
    Utf8mb4Eo0900AsCs = 296, "utf8mb4_eo_0900_as_cs", Utf8mb4, Table("9.0 eo", 3), 0, NO_PAD;
    Utf8mb4Hu0900AsCs = 297, "utf8mb4_hu_0900_as_cs", Utf8mb4, Table("9.0 hu", 3), 0, NO_PAD;
    Utf8mb4Hr0900AsCs = 298, "utf8mb4_hr_0900_as_cs", Utf8mb4, Table("9.0 hr", 3), 0, NO_PAD;
    Utf8mb4Vi0900AsCs = 300, "utf8mb4_vi_0900_as_cs", Utf8mb4, Table("9.0 vi", 3), 0, NO_PAD;
    Utf8mb4Ja0900AsCs = 303, "utf8mb4_ja_0900_as_cs", Utf8mb4, Table("9.0 ja", 3), 0, NO_PAD;
    Utf8mb4Ja0900AsCsKs = 304, "utf8mb4_ja_0900_as_cs_ks", Utf8mb4, Table("9.0 ja_ks", 4), 24, NO_PAD;
    Utf8mb40900AsCi = 305, "utf8mb4_0900_as_ci", Utf8mb4, Table("9.0 root", 2), 0, NO_PAD;
    Utf8mb4Ru0900AiCi = 306, "utf8mb4_ru_0900_ai_ci", Utf8mb4, Table("9.0 ru", 1), 0, NO_PAD;
    Utf8mb4Ru0900AsCs = 307, "utf8mb4_ru_0900_as_cs", Utf8mb4, Table("9.0 ru", 3), 0, NO_PAD;
    Utf8mb4Zh0900AsCs = 308, "utf8mb4_zh_0900_as_cs", Utf8mb4, Table("9.0 zh", 3), 0, NO_PAD;
    Utf8mb40900Bin = 309, "utf8mb4_0900_bin", Utf8mb4, Bytes, 1, NO_PAD;
    Utf8mb4Nb0900AiCi = 310, "utf8mb4_nb_0900_ai_ci", Utf8mb4, Table("9.0 nb", 1), 0, NO_PAD;
    Utf8mb4Nb0900AsCs = 311, "utf8mb4_nb_0900_as_cs", Utf8mb4, Table("9.0 nb", 3), 0, NO_PAD;
    Utf8mb4Nn0900AiCi = 312, "utf8mb4_nn_0900_ai_ci", Utf8mb4, Table("9.0 nn", 1), 0, NO_PAD;
    Utf8mb4Nn0900AsCs = 313, "utf8mb4_nn_0900_as_cs", Utf8mb4, Table("9.0 nn", 3), 0, NO_PAD;
    Utf8mb4SrLatn0900AiCi = 314, "utf8mb4_sr_latn_0900_ai_ci", Utf8mb4, Table("9.0 sr_latn", 1), 0, NO_PAD;
    Utf8mb4SrLatn0900AsCs = 315, "utf8mb4_sr_latn_0900_as_cs", Utf8mb4, Table("9.0 sr_latn", 3), 0, NO_PAD;
    Utf8mb4Bs0900AiCi = 316, "utf8mb4_bs_0900_ai_ci", Utf8mb4, Table("9.0 bs", 1), 0, NO_PAD;
    Utf8mb4Bs0900AsCs = 317, "utf8mb4_bs_0900_as_cs", Utf8mb4, Table("9.0 bs", 3), 0, NO_PAD;
    Utf8mb4Bg0900AiCi = 318, "utf8mb4_bg_0900_ai_ci", Utf8mb4, Table("9.0 bg", 1), 0, NO_PAD;
    Utf8mb4Bg0900AsCs = 319, "utf8mb4_bg_0900_as_cs", Utf8mb4, Table("9.0 bg", 3), 0, NO_PAD;
    Utf8mb4Gl0900AiCi = 320, "utf8mb4_gl_0900_ai_ci", Utf8mb4, Table("9.0 gl", 1), 0, NO_PAD;
    Utf8mb4Gl0900AsCs = 321, "utf8mb4_gl_0900_as_cs", Utf8mb4, Table("9.0 gl", 3), 0, NO_PAD;
    Utf8mb4MnCyrl0900AiCi = 322, "utf8mb4_mn_cyrl_0900_ai_ci", Utf8mb4, Table("9.0 mn_cyrl", 1), 0, NO_PAD;
    Utf8mb4MnCyrl0900AsCs = 323, "utf8mb4_mn_cyrl_0900_as_cs", Utf8mb4, Table("9.0 mn_cyrl", 3), 0, NO_PAD;
}

impl Collation {
    pub const DEFAULT: Self = Self::Utf8mb40900AiCi;

    pub(super) fn definition(self) -> &'static Definition {
        &DEFINITIONS[self as usize]
    }

    pub(super) fn order(self) -> Order {
        self.definition().order
    }

    /// MySQL's number for the collation, as in `information_schema.collations` and the protocol.
    pub fn id(self) -> u16 {
        self.definition().id
    }

    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// Finds a collation by name. `utf8_` is the older spelling of `utf8mb3_`.
    pub fn from_name(name: &str) -> Option<Self> {
        static BY_NAME: LazyLock<HashMap<&'static str, Collation>> =
            LazyLock::new(|| Collation::ALL.iter().map(|c| (c.name(), *c)).collect());
        if let Some(found) = BY_NAME.get(name) {
            return Some(*found);
        }
        let lower = name.to_ascii_lowercase();
        let older = || Some(format!("utf8mb3_{}", lower.strip_prefix("utf8_")?));
        let found = BY_NAME.get(lower.as_str());
        found.or_else(|| BY_NAME.get(older()?.as_str())).copied()
    }

    /// Finds a collation by the number that a client gives.
    pub fn from_id(id: u16) -> Option<Self> {
        let at = DEFINITIONS.binary_search_by_key(&id, |d| d.id).ok()?;
        Self::ALL.get(at).copied()
    }

    pub fn charset(self) -> Charset {
        self.definition().charset
    }

    /// Whether trailing spaces are ignored by comparison (PAD SPACE): not under the newer collations and
    /// `binary`.
    pub fn pads_space(self) -> bool {
        self.definition().pads_space
    }

    /// `Sortlen` of SHOW COLLATION: a factor for the memory that MySQL reserves for sorting.
    pub fn sort_length(self) -> u64 {
        u64::from(self.definition().sort_length)
    }

    /// Whether equality under this collation is equality of bytes (after trailing spaces, where it pads).
    pub fn is_bytewise(self) -> bool {
        matches!(self.order(), Bytes | CodePoints | Latin1Bytes | Encoded)
    }

    /// Whether its name says that case counts: `_cs` and `_bin`.
    pub fn is_case_sensitive(self) -> bool {
        self.is_bytewise() || self.name().ends_with("_cs") || self.name().contains("_as_cs_")
    }

    /// Whether ASCII letters that differ only in case are equal, and every other ASCII character that has a
    /// weight equals only itself.
    pub fn folds_ascii(self) -> bool {
        matches!(
            self.order(),
            Ducet | General | Latin1Swedish | AsciiGeneral | Unicode(_)
        )
    }
}
