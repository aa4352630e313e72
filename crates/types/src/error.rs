//! What a MySQL client sees when something fails: number, SQLSTATE, message.
//!
//! Source: MySQL 8.0 Error Message Reference, "Server Error Message Reference".

use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error as MySQL reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// MySQL's error number, one of [`errno`].
    pub code: u16,
    /// The text a client shows. Worded as MySQL words it, since applications match on it.
    pub message: String,
}

impl Error {
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The five-character SQLSTATE that belongs to the error's number.
    pub fn sqlstate(&self) -> &'static str {
        errno::sqlstate(self.code)
    }

    /// Error 1235: StemDB lacks something that MySQL has. `what` names it; `instead` says what to do.
    pub fn not_supported(what: impl fmt::Display, instead: &str) -> Self {
        let tail = if instead.is_empty() {
            String::new()
        } else {
            format!("; {instead}")
        };
        Self::new(
            errno::ER_NOT_SUPPORTED_YET,
            format!("This version of StemDB doesn't yet support '{what}'{tail}"),
        )
    }

    /// Error 1166: a column cannot have this name, of which the message has the first 100 bytes.
    pub fn wrong_column_name(name: &str) -> Self {
        let shown = &name[..name.floor_char_boundary(100)];
        Self::new(
            errno::ER_WRONG_COLUMN_NAME,
            format!("Incorrect column name '{shown}'"),
        )
    }

    /// Error 1105: a state that must not occur. It is always a defect of StemDB.
    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(errno::ER_UNKNOWN_ERROR, format!("internal error: {message}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sqlstate(), self.message)
    }
}

impl std::error::Error for Error {}

/// What `SHOW WARNINGS` lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningLevel {
    Note,
    Warning,
    Error,
}

impl WarningLevel {
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "Note",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

/// One line of `SHOW WARNINGS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub level: WarningLevel,
    pub code: u16,
    pub message: String,
}

impl Warning {
    pub fn note(code: u16, message: impl Into<String>) -> Self {
        Self {
            level: WarningLevel::Note,
            code,
            message: message.into(),
        }
    }

    #[allow(clippy::self_named_constructors)] // a Warning of level Warning, beside one of level Note
    pub fn warning(code: u16, message: impl Into<String>) -> Self {
        Self {
            level: WarningLevel::Warning,
            code,
            message: message.into(),
        }
    }
}

/// MySQL's error numbers, by the names of its manual, and the SQLSTATE of each.
pub mod errno {
    macro_rules! errors {
        ($($name:ident = $code:literal, $state:literal;)*) => {
            $(pub const $name: u16 = $code;)*

            /// The SQLSTATE of an error number; `HY000` for every number without one of its own.
            pub fn sqlstate(code: u16) -> &'static str {
                match code {
                    $($code => $state,)*
                    _ => "HY000",
                }
            }
        };
    }

    errors! {
        ER_CON_COUNT_ERROR = 1040, "08004";
        ER_NOT_KEYFILE = 1034, "HY000";
        ER_OUT_OF_RESOURCES = 1041, "HY000";
        ER_OUTOFMEMORY = 1037, "HY001";
        ER_OUT_OF_SORTMEMORY = 1038, "HY001";
        ER_HANDSHAKE_ERROR = 1043, "08S01";
        ER_DBACCESS_DENIED_ERROR = 1044, "42000";
        ER_ACCESS_DENIED_ERROR = 1045, "28000";
        ER_NO_DB_ERROR = 1046, "3D000";
        ER_UNKNOWN_COM_ERROR = 1047, "08S01";
        ER_BAD_NULL_ERROR = 1048, "23000";
        ER_BAD_DB_ERROR = 1049, "42000";
        ER_TABLE_EXISTS_ERROR = 1050, "42S01";
        ER_BAD_TABLE_ERROR = 1051, "42S02";
        ER_NON_UNIQ_ERROR = 1052, "23000";
        ER_SERVER_SHUTDOWN = 1053, "08S01";
        ER_BAD_FIELD_ERROR = 1054, "42S22";
        ER_WRONG_FIELD_WITH_GROUP = 1055, "42000";
        ER_WRONG_GROUP_FIELD = 1056, "42000";
        ER_WRONG_VALUE_COUNT = 1058, "21S01";
        ER_TOO_LONG_IDENT = 1059, "42000";
        ER_DUP_FIELDNAME = 1060, "42S21";
        ER_DUP_KEYNAME = 1061, "42000";
        ER_DUP_ENTRY = 1062, "23000";
        ER_WRONG_FIELD_SPEC = 1063, "42000";
        ER_PARSE_ERROR = 1064, "42000";
        ER_EMPTY_QUERY = 1065, "42000";
        ER_NONUNIQ_TABLE = 1066, "42000";
        ER_INVALID_DEFAULT = 1067, "42000";
        ER_MULTIPLE_PRI_KEY = 1068, "42000";
        ER_TOO_MANY_KEYS = 1069, "42000";
        ER_TOO_MANY_KEY_PARTS = 1070, "42000";
        ER_TOO_LONG_KEY = 1071, "42000";
        ER_KEY_COLUMN_DOES_NOT_EXITS = 1072, "42000";
        ER_BLOB_USED_AS_KEY = 1073, "42000";
        ER_TOO_BIG_FIELDLENGTH = 1074, "42000";
        ER_WRONG_AUTO_KEY = 1075, "42000";
        ER_WRONG_SUB_KEY = 1089, "HY000";
        ER_CANT_REMOVE_ALL_FIELDS = 1090, "42000";
        ER_CANT_DROP_FIELD_OR_KEY = 1091, "42000";
        ER_NO_SUCH_THREAD = 1094, "HY000";
        ER_KILL_DENIED_ERROR = 1095, "HY000";
        ER_NO_TABLES_USED = 1096, "HY000";
        ER_WRONG_DB_NAME = 1102, "42000";
        ER_WRONG_TABLE_NAME = 1103, "42000";
        ER_TOO_BIG_SELECT = 1104, "42000";
        ER_UNKNOWN_ERROR = 1105, "HY000";
        ER_UNKNOWN_TABLE = 1109, "42S02";
        ER_FIELD_SPECIFIED_TWICE = 1110, "42000";
        ER_INVALID_GROUP_FUNC_USE = 1111, "HY000";
        ER_TABLE_MUST_HAVE_A_VISIBLE_COLUMN = 4028, "HY000";
        ER_RECORD_FILE_FULL = 1114, "HY000";
        ER_UNKNOWN_CHARACTER_SET = 1115, "42000";
        ER_TOO_BIG_ROWSIZE = 1118, "42000";
        ER_WRONG_OUTER_JOIN = 1120, "42000";
        ER_NULL_COLUMN_IN_INDEX = 1121, "42000";
        ER_PASSWORD_NO_MATCH = 1133, "42000";
        ER_WRONG_VALUE_COUNT_ON_ROW = 1136, "21S01";
        ER_MIX_OF_GROUP_FUNC_AND_FIELDS = 1140, "42000";
        ER_TABLEACCESS_DENIED_ERROR = 1142, "42000";
        ER_COLUMNACCESS_DENIED_ERROR = 1143, "42000";
        ER_ILLEGAL_GRANT_FOR_TABLE = 1144, "42000";
        ER_NO_SUCH_TABLE = 1146, "42S02";
        ER_NONEXISTING_TABLE_GRANT = 1147, "42000";
        ER_SYNTAX_ERROR = 1149, "42000";
        ER_NET_PACKET_TOO_LARGE = 1153, "08S01";
        ER_WRONG_FIELD_TERMINATORS = 1083, "42000";
        ER_BLOBS_AND_NO_TERMINATED = 1084, "42000";
        ER_CLIENT_LOCAL_FILES_DISABLED = 3948, "42000";
        ER_NET_READ_ERROR = 1158, "08S01";
        ER_NET_PACKETS_OUT_OF_ORDER = 1156, "08S01";
        ER_TOO_LONG_STRING = 1162, "42000";
        ER_WRONG_COLUMN_NAME = 1166, "42000";
        ER_WRONG_KEY_COLUMN = 1167, "42000";
        ER_DUP_UNIQUE = 1169, "23000";
        ER_BLOB_KEY_WITHOUT_LENGTH = 1170, "42000";
        ER_PRIMARY_CANT_HAVE_NULL = 1171, "42000";
        ER_TOO_MANY_ROWS = 1172, "42000";
        ER_REQUIRES_PRIMARY_KEY = 1173, "42000";
        ER_KEY_DOES_NOT_EXITS = 1176, "42000";
        ER_CHECK_NO_SUCH_TABLE = 1177, "42000";
        ER_ERROR_DURING_COMMIT = 1180, "HY000";
        ER_UNKNOWN_SYSTEM_VARIABLE = 1193, "HY000";
        ER_LOCK_WAIT_TIMEOUT = 1205, "HY000";
        ER_LOCK_DEADLOCK = 1213, "40001";
        ER_WRONG_ARGUMENTS = 1210, "HY000";
        ER_CANNOT_USER = 1396, "HY000";
        ER_WRONG_USAGE = 1221, "HY000";
        ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT = 1222, "21000";
        ER_CANT_UPDATE_WITH_READLOCK = 1223, "HY000";
        ER_TOO_MANY_USER_CONNECTIONS = 1203, "42000";
        ER_USER_LIMIT_REACHED = 1226, "42000";
        ER_SPECIFIC_ACCESS_DENIED_ERROR = 1227, "42000";
        ER_LOCAL_VARIABLE = 1228, "HY000";
        ER_GLOBAL_VARIABLE = 1229, "HY000";
        ER_NO_DEFAULT = 1230, "42000";
        ER_WRONG_VALUE_FOR_VAR = 1231, "42000";
        ER_WRONG_TYPE_FOR_VAR = 1232, "42000";
        ER_VAR_CANT_BE_READ = 1233, "HY000";
        ER_CANT_USE_OPTION_HERE = 1234, "42000";
        ER_NOT_SUPPORTED_YET = 1235, "42000";
        ER_INCORRECT_GLOBAL_LOCAL_VAR = 1238, "HY000";
        ER_WRONG_FK_DEF = 1239, "42000";
        ER_ROW_IS_REFERENCED_2 = 1451, "23000";
        ER_NO_REFERENCED_ROW_2 = 1452, "23000";
        ER_NO_REFERENCED_ROW = 1216, "23000";
        ER_ROW_IS_REFERENCED = 1217, "23000";
        ER_TRUNCATE_ILLEGAL_FK = 1701, "42000";
        ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO = 1761, "23000";
        ER_OPERAND_COLUMNS = 1241, "21000";
        ER_SUBQUERY_NO_1_ROW = 1242, "21000";
        ER_UNKNOWN_STMT_HANDLER = 1243, "HY000";
        ER_ILLEGAL_REFERENCE = 1247, "42S22";
        ER_SP_UNDECLARED_VAR = 1327, "42000";
        ER_TABLENAME_NOT_ALLOWED_HERE = 1250, "42000";
        ER_COLLATION_CHARSET_MISMATCH = 1253, "42000";
        ER_WARN_DATA_OUT_OF_RANGE = 1264, "22003";
        WARN_DATA_TRUNCATED = 1265, "01000";
        ER_CUT_VALUE_GROUP_CONCAT = 1260, "HY000";
        ER_CANT_AGGREGATE_2COLLATIONS = 1267, "HY000";
        ER_UNKNOWN_COLLATION = 1273, "HY000";
        ER_WRONG_NAME_FOR_INDEX = 1280, "42000";
        ER_TRUNCATED_WRONG_VALUE = 1292, "22007";
        ER_UNKNOWN_TIME_ZONE = 1298, "HY000";
        ER_INVALID_CHARACTER_STRING = 1300, "HY000";
        ER_DERIVED_MUST_HAVE_ALIAS = 1248, "42000";
        ER_TOO_BIG_FOR_UNCOMPRESS = 1256, "HY000";
        ER_ZLIB_Z_BUF_ERROR = 1258, "HY000";
        ER_ZLIB_Z_DATA_ERROR = 1259, "HY000";
        ER_MISSING_JSON_TABLE_VALUE = 3665, "22035";
        ER_WRONG_JSON_TABLE_VALUE = 3666, "2203F";
        ER_JT_VALUE_OUT_OF_RANGE = 3669, "22003";
        ER_TF_MUST_HAVE_ALIAS = 3667, "42000";
        ER_TF_MAX_NESTED_PATH = 3670, "42000";
        ER_SP_DOES_NOT_EXIST = 1305, "42000";
        ER_WRONG_OBJECT = 1347, "HY000";
        ER_TRG_DOES_NOT_EXIST = 1360, "HY000";
        ER_EVENT_DOES_NOT_EXIST = 1539, "HY000";
        ER_QUERY_INTERRUPTED = 1317, "70100";
        ER_DIVISION_BY_ZERO = 1365, "22012";
        ER_NO_DEFAULT_FOR_FIELD = 1364, "HY000";
        ER_TRUNCATED_WRONG_VALUE_FOR_FIELD = 1366, "HY000";
        ER_ILLEGAL_VALUE_FOR_TYPE = 1367, "22007";
        ER_NONEXISTING_PROC_GRANT = 1403, "42000";
        ER_DATA_TOO_LONG = 1406, "22001";
        ER_DUP_ARGUMENT = 1225, "HY000";
        ER_UNKNOWN_LOCALE = 1649, "HY000";
        ER_DATETIME_FUNCTION_OVERFLOW = 1441, "22008";
        ER_M_BIGGER_THAN_D = 1427, "42000";
        ER_TOO_BIG_SCALE = 1425, "42000";
        ER_TOO_BIG_PRECISION = 1426, "42000";
        ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT = 1582, "42000";
        ER_PROCACCESS_DENIED_ERROR = 1370, "42000";
        ER_XAER_NOTA = 1397, "XAE04";
        ER_XAER_INVAL = 1398, "XAE05";
        ER_XAER_RMFAIL = 1399, "XAE07";
        ER_XAER_OUTSIDE = 1400, "XAE09";
        ER_XAER_RMERR = 1401, "XAE03";
        ER_XA_RBROLLBACK = 1402, "XA100";
        ER_XAER_DUPID = 1440, "XAE08";
        ER_XA_RBTIMEOUT = 1613, "XA106";
        ER_XA_RBDEADLOCK = 1614, "XA102";
        ER_XA_TEMP_TABLE = 4091, "HY000";
        ER_CANT_CHANGE_TX_CHARACTERISTICS = 1568, "25001";
        ER_DUP_ENTRY_AUTOINCREMENT_CASE = 1569, "HY000";
        ER_WRONG_FCT_PARAMETERS = 1583, "42000";
        ER_WRONG_STRING_LENGTH = 1470, "HY000";
        ER_UNSUPPORTED_PS = 1295, "HY000";
        ER_SP_ALREADY_EXISTS = 1304, "42000";
        ER_PS_MANY_PARAM = 1390, "HY000";
        ER_KEY_PART_0 = 1391, "HY000";
        ER_DATA_OUT_OF_RANGE = 1690, "22003";
        ER_TOO_LONG_INDEX_COMMENT = 1688, "HY000";
        ER_PLUGIN_IS_NOT_LOADED = 1524, "HY000";
        ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792, "25006";
        ER_ALTER_OPERATION_NOT_SUPPORTED = 1845, "0A000";
        ER_ALTER_OPERATION_NOT_SUPPORTED_REASON = 1846, "0A000";
        ER_SET_PASSWORD_AUTH_PLUGIN = 1699, "HY000";
        ER_READ_ONLY_MODE = 1836, "HY000";
        ER_INVALID_JSON_TEXT = 3140, "22032";
        ER_INVALID_JSON_TEXT_IN_PARAM = 3141, "22032";
        ER_INVALID_JSON_CHARSET = 3144, "22032";
        ER_JSON_VALUE_TOO_BIG = 3150, "22032";
        ER_JSON_KEY_TOO_BIG = 3151, "22032";
        ER_JSON_USED_AS_KEY = 3152, "42000";
        ER_JSON_DOCUMENT_TOO_DEEP = 3157, "22032";
        ER_JSON_DOCUMENT_NULL_KEY = 3158, "22032";
        ER_FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION = 3753, "42000";
        ER_WARN_DATA_TRUNCATED_FUNCTIONAL_INDEX = 3751, "01000";
        ER_WARN_DATA_OUT_OF_RANGE_FUNCTIONAL_INDEX = 3752, "22003";
        ER_INVALID_JSON_VALUE_FOR_FUNC_INDEX = 3903, "22018";
        ER_JSON_VALUE_OUT_OF_RANGE_FOR_FUNC_INDEX = 3904, "22003";
        ER_FUNCTIONAL_INDEX_DATA_IS_TOO_LONG = 3907, "22001";
        ER_WRONG_MVI_VALUE = 3908, "HY000";
        ER_CHECK_CONSTRAINT_VIOLATED = 3819, "HY000";
        ER_BLOB_CANT_HAVE_DEFAULT = 1101, "42000";
        ER_INVALID_BITWISE_OPERANDS_SIZE = 3513, "HY000";
        ER_INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE = 3514, "HY000";
        ER_LOCK_NOWAIT = 3572, "HY000";
        ER_WINDOW_FRAME_ILLEGAL = 3586, "HY000";
        ER_XML_INVALID_VALUE = 1525, "HY000";
        ER_INVALID_JSON_TYPE = 3853, "22032";
        ER_INVALID_CAST_TO_TIMESTAMP = 3998, "HY000";
        ER_MISSING_JSON_VALUE = 3966, "22035";
        ER_MULTIPLE_JSON_VALUES = 3967, "22034";
        ER_QUERY_TIMEOUT = 3024, "HY000";
        ER_USER_LOCK_WRONG_NAME = 3057, "42000";
        ER_USER_LOCK_DEADLOCK = 3058, "HY000";
        ER_UNSUPPORTED_ACTION_ON_DEFAULT_VAL = 3774, "HY000";
        ER_REGEXP_ERROR = 3692, "HY000";
        ER_FIELD_IN_ORDER_NOT_SELECT = 3065, "HY000";
        ER_HOST_NOT_PRIVILEGED = 1130, "HY000";
        ER_NET_UNCOMPRESS_ERROR = 1157, "08S01";
        ER_NOT_SUPPORTED_AUTH_MODE = 1251, "08004";
        ER_ACCESS_DENIED_NO_PASSWORD_ERROR = 1698, "28000";
        ER_MALFORMED_PACKET = 1835, "HY000";
        ER_ACCOUNT_HAS_BEEN_LOCKED = 3118, "HY000";
        ER_SECURE_TRANSPORT_REQUIRED = 3159, "HY000";
        ER_CLIENT_INTERACTION_TIMEOUT = 4031, "HY000";
        ER_TABLE_DEF_CHANGED = 1412, "HY000";
        ER_WRONG_VALUE_FOR_TYPE = 1411, "HY000";
        ER_TOO_MANY_FIELDS = 1117, "HY000";
        ER_UNKNOWN_STORAGE_ENGINE = 1286, "42000";
        ER_WARN_DEPRECATED_SYNTAX = 1287, "HY000";
        ER_PERSIST_ONLY_ACCESS_DENIED_ERROR = 3630, "42000";
        ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT = 1681, "HY000";
        ER_WARN_DEPRECATED_IDENT = 4119, "HY000";
        ER_CONFLICTING_DECLARATIONS = 1302, "HY000";
        ER_TOO_BIG_DISPLAYWIDTH = 1439, "42000";
        ER_NON_GROUPING_FIELD_USED = 1463, "42000";
        ER_NET_READ_INTERRUPTED = 1159, "08S01";
        ER_MAX_PREPARED_STMT_COUNT_REACHED = 1461, "42000";
        ER_INVALID_ARGUMENT_FOR_LOGARITHM = 3020, "2201E";
        ER_INVALID_JSON_PATH = 3143, "42000";
        ER_INVALID_TYPE_FOR_JSON = 3146, "22032";
        ER_INVALID_JSON_PATH_WILDCARD = 3149, "42000";
        ER_JSON_VACUOUS_PATH = 3153, "42000";
        ER_JSON_BAD_ONE_OR_ALL_ARG = 3154, "42000";
        ER_JSON_VALUE_OUT_OF_RANGE_FOR_CAST = 3155, "22003";
        ER_INVALID_JSON_VALUE_FOR_CAST = 3156, "22018";
        ER_INVALID_JSON_PATH_ARRAY_CELL = 3165, "42000";
        ER_FUNC_INEXISTENT_NAME_COLLISION = 1630, "42000";
        ER_UNKNOWN_EXPLAIN_FORMAT = 1791, "HY000";
        ER_DA_INVALID_CONDITION_NUMBER = 1758, "35000";
        ER_SP_COND_MISMATCH = 1319, "42000";
        ER_SP_BAD_SQLSTATE = 1407, "42000";
        ER_DUP_SIGNAL_SET = 1641, "42000";
        ER_SIGNAL_WARN = 1642, "01000";
        ER_SIGNAL_NOT_FOUND = 1643, "02000";
        ER_SIGNAL_EXCEPTION = 1644, "HY000";
        ER_RESIGNAL_WITHOUT_ACTIVE_HANDLER = 1645, "0K000";
        WARN_COND_ITEM_TRUNCATED = 1647, "HY000";
        ER_COND_ITEM_TOO_LONG = 1648, "HY000";
        ER_GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER = 3004, "0Z002";
        ER_UNKNOWN_ALTER_ALGORITHM = 1800, "HY000";
        ER_UNKNOWN_ALTER_LOCK = 1801, "HY000";
        ER_INVALID_USE_OF_NULL = 1138, "22004";
        ER_NONEXISTING_GRANT = 1141, "42000";
        ER_CANT_CREATE_USER_WITH_GRANT = 1410, "42000";
        ER_SCHEMA_DOES_NOT_EXIST = 3503, "42Y07";
        WARN_OPTION_IGNORED = 1618, "HY000";
        ER_AES_INVALID_IV = 1882, "HY000";
        ER_ILLEGAL_USER_VAR = 3061, "42000";
        ER_AES_INVALID_KDF_NAME = 3235, "HY000";
        ER_AES_INVALID_KDF_ITERATIONS = 3236, "HY000";
        ER_AES_KEY_SIZE = 3237, "HY000";
        ER_AES_INVALID_KDF_OPTION_SIZE = 3238, "HY000";
        ER_CANNOT_CONVERT_STRING = 3854, "HY000";
        ER_UNSUPPORTED_SQL_MODE = 3899, "HY000";
        // TiDB's numbers, for errors that MySQL has no number for.
        ER_TXN_TOO_LARGE = 8004, "HY000";
        ER_WRITE_CONFLICT = 9007, "HY000";
        ER_SNAPSHOT_TOO_OLD = 9006, "HY000";
        ER_RESULT_UNDETERMINED = 8501, "HY000";
        ER_SCHEMA_OUT_OF_DATE = 8027, "HY000";
        ER_SCHEMA_CHANGED = 8028, "HY000";
        ER_MEMORY_EXCEEDED = 8175, "HY000";
        ER_ADMIN_CHECK_TABLE = 8003, "HY000";
        ER_STORE_UNAVAILABLE = 9005, "HY000";
    }
}
