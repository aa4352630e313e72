//! The messages of TiKV's coprocessor, as far as they are used here, written by hand like those of `kv-tikv`. A test in
//! `tests/tikv-stand-in/internal/protocol` compares the field numbers with the public ones.

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DagRequest {
    #[prost(message, repeated, tag = "2")]
    pub executors: Vec<Executor>,
    #[prost(int64, optional, tag = "3")]
    pub time_zone_offset: Option<i64>,
    #[prost(uint64, optional, tag = "4")]
    pub flags: Option<u64>,
    #[prost(uint32, repeated, packed = "false", tag = "5")]
    pub output_offsets: Vec<u32>,
    #[prost(int32, optional, tag = "8")]
    pub encode_type: Option<i32>,
    #[prost(string, optional, tag = "11")]
    pub time_zone_name: Option<String>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Executor {
    #[prost(int32, optional, tag = "1")]
    pub tp: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub tbl_scan: Option<TableScan>,
    #[prost(message, optional, tag = "3")]
    pub idx_scan: Option<IndexScan>,
    #[prost(message, optional, tag = "4")]
    pub selection: Option<Selection>,
    #[prost(message, optional, tag = "5")]
    pub aggregation: Option<Aggregation>,
    #[prost(message, optional, tag = "6")]
    pub top_n: Option<TopN>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TableScan {
    #[prost(int64, optional, tag = "1")]
    pub table_id: Option<i64>,
    #[prost(message, repeated, tag = "2")]
    pub columns: Vec<ColumnInfo>,
    #[prost(bool, optional, tag = "3")]
    pub desc: Option<bool>,
    #[prost(int64, repeated, packed = "false", tag = "4")]
    pub primary_column_ids: Vec<i64>,
    #[prost(int64, repeated, packed = "false", tag = "7")]
    pub primary_prefix_column_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct IndexScan {
    #[prost(int64, optional, tag = "1")]
    pub table_id: Option<i64>,
    #[prost(int64, optional, tag = "2")]
    pub index_id: Option<i64>,
    #[prost(message, repeated, tag = "3")]
    pub columns: Vec<ColumnInfo>,
    #[prost(bool, optional, tag = "4")]
    pub desc: Option<bool>,
    #[prost(int64, repeated, packed = "false", tag = "6")]
    pub primary_column_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ColumnInfo {
    #[prost(int64, optional, tag = "1")]
    pub column_id: Option<i64>,
    #[prost(int32, optional, tag = "2")]
    pub tp: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub collation: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub column_len: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub decimal: Option<i32>,
    #[prost(int32, optional, tag = "6")]
    pub flag: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub default_val: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "21")]
    pub pk_handle: Option<bool>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Selection {
    #[prost(message, repeated, tag = "1")]
    pub conditions: Vec<Expr>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Aggregation {
    #[prost(message, repeated, tag = "1")]
    pub group_by: Vec<Expr>,
    #[prost(message, repeated, tag = "2")]
    pub agg_func: Vec<Expr>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct TopN {
    #[prost(message, repeated, tag = "1")]
    pub order_by: Vec<ByItem>,
    #[prost(uint64, optional, tag = "2")]
    pub limit: Option<u64>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ByItem {
    #[prost(message, optional, tag = "1")]
    pub expr: Option<Expr>,
    #[prost(bool, optional, tag = "2")]
    pub desc: Option<bool>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Expr {
    #[prost(int32, optional, tag = "1")]
    pub tp: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub val: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "3")]
    pub children: Vec<Expr>,
    #[prost(int32, optional, tag = "4")]
    pub sig: Option<i32>,
    #[prost(message, optional, tag = "5")]
    pub field_type: Option<FieldType>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct FieldType {
    #[prost(int32, optional, tag = "1")]
    pub tp: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    pub flag: Option<u32>,
    #[prost(int32, optional, tag = "3")]
    pub flen: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub decimal: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub collate: Option<i32>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct SelectResponse {
    #[prost(message, optional, tag = "1")]
    pub error: Option<Error>,
    #[prost(message, repeated, tag = "3")]
    pub chunks: Vec<Chunk>,
    #[prost(int32, optional, tag = "9")]
    pub encode_type: Option<i32>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Error {
    #[prost(int32, optional, tag = "1")]
    pub code: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub msg: Option<String>,
}

#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Chunk {
    #[prost(bytes = "vec", optional, tag = "3")]
    pub rows_data: Option<Vec<u8>>,
}

pub mod exec_type {
    pub const TABLE_SCAN: i32 = 0;
    pub const INDEX_SCAN: i32 = 1;
    pub const SELECTION: i32 = 2;
    pub const AGGREGATION: i32 = 3;
    pub const TOP_N: i32 = 4;
}

pub mod expr_type {
    pub const NULL: i32 = 0;
    pub const INT64: i32 = 1;
    pub const UINT64: i32 = 2;
    pub const FLOAT64: i32 = 4;
    pub const BYTES: i32 = 6;
    pub const MYSQL_DECIMAL: i32 = 102;
    pub const COLUMN_REF: i32 = 201;
    pub const COUNT: i32 = 3001;
    pub const SUM: i32 = 3002;
    pub const MIN: i32 = 3004;
    pub const MAX: i32 = 3005;
    pub const SCALAR_FUNC: i32 = 10000;
}

/// Signatures of comparisons are those of integers. [`crate::form::Form::offset`] is added for other values.
pub mod scalar_func_sig {
    pub const LT_INT: i32 = 100;
    pub const LE_INT: i32 = 110;
    pub const GT_INT: i32 = 120;
    pub const GE_INT: i32 = 130;
    pub const EQ_INT: i32 = 140;
    pub const NE_INT: i32 = 150;
    pub const NULL_EQ_INT: i32 = 160;
    pub const LOGICAL_AND: i32 = 3101;
    pub const LOGICAL_OR: i32 = 3102;
    pub const UNARY_NOT_INT: i32 = 3104;
    pub const DECIMAL_IS_NULL: i32 = 3111;
    pub const REAL_IS_NULL: i32 = 3113;
    pub const STRING_IS_NULL: i32 = 3114;
    pub const INT_IS_NULL: i32 = 3116;
    pub const IN_INT: i32 = 4001;
}

/// Encode types of responses.
pub mod encode_type {
    pub const DEFAULT: i32 = 0;
}
