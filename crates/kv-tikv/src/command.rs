//! The commands that go to a region, and their encoding in the batch stream.

use crate::proto::coprocessor;
use crate::proto::errorpb;
use crate::proto::kvrpcpb::*;
use bytes::Bytes;
use kv::{Error, Result};
use prost::Message;
use prost::encoding::{
    WireType, decode_key, decode_varint, encode_key, encode_varint, encoded_len_varint, key_len,
};

/// A request to one region.
pub trait Command: Message {
    /// The command's field number in the batch stream's union.
    const TAG: u32;
    type Response: RegionResponse;

    fn context_mut(&mut self) -> &mut Context;
}

/// The response to a [`Command`].
pub trait RegionResponse: Message + Default {
    fn take_region_error(&mut self) -> Option<errorpb::Error>;
}

macro_rules! commands {
    ($($tag:literal $request:ident $response:ident,)*) => {
        $(
            impl Command for $request {
                const TAG: u32 = $tag;
                type Response = $response;

                fn context_mut(&mut self) -> &mut Context {
                    self.context.get_or_insert_default()
                }
            }

            impl RegionResponse for $response {
                fn take_region_error(&mut self) -> Option<errorpb::Error> {
                    self.region_error.take()
                }
            }
        )*
    };
}

commands! {
    1 GetRequest GetResponse,
    2 ScanRequest ScanResponse,
    3 PrewriteRequest PrewriteResponse,
    4 CommitRequest CommitResponse,
    7 BatchGetRequest BatchGetResponse,
    8 BatchRollbackRequest BatchRollbackResponse,
    9 ScanLockRequest ScanLockResponse,
    10 ResolveLockRequest ResolveLockResponse,
    23 PessimisticLockRequest PessimisticLockResponse,
    24 PessimisticRollbackRequest PessimisticRollbackResponse,
    25 CheckTxnStatusRequest CheckTxnStatusResponse,
    26 TxnHeartBeatRequest TxnHeartBeatResponse,
    33 CheckSecondaryLocksRequest CheckSecondaryLocksResponse,
}

impl Command for coprocessor::Request {
    const TAG: u32 = 22;
    type Response = coprocessor::Response;

    fn context_mut(&mut self) -> &mut Context {
        self.context.get_or_insert_default()
    }
}

impl RegionResponse for coprocessor::Response {
    fn take_region_error(&mut self) -> Option<errorpb::Error> {
        self.region_error.take()
    }
}

/// Encodes a command as one element of a batch.
pub fn encode<C: Command>(command: &C) -> Bytes {
    let len = command.encoded_len();
    let len_u64 = u64::try_from(len).unwrap_or(u64::MAX);
    let mut bytes = Vec::with_capacity(key_len(C::TAG) + encoded_len_varint(len_u64) + len);
    encode_key(C::TAG, WireType::LengthDelimited, &mut bytes);
    encode_varint(len_u64, &mut bytes);
    command.encode_raw(&mut bytes);
    Bytes::from(bytes)
}

/// Decodes the response to `C` from one element of a batch.
pub fn decode<C: Command>(mut element: Bytes) -> Result<C::Response> {
    let broken = |what: &str| Error::Unavailable(format!("a store's response cannot be decoded: {what}"));
    let (tag, wire_type) = decode_key(&mut element).map_err(|error| broken(&error.to_string()))?;
    if tag != C::TAG || wire_type != WireType::LengthDelimited {
        return Err(broken("it responds to another command"));
    }
    let len = decode_varint(&mut element).map_err(|error| broken(&error.to_string()))?;
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    if len > element.len() {
        return Err(broken("cut short"));
    }
    C::Response::decode(element.split_to(len)).map_err(|error| broken(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_back_and_never_panic() {
        let command = GetRequest {
            key: b"k".to_vec(),
            version: 7,
            ..Default::default()
        };
        assert_eq!(&encode(&command)[..], [0x0A, 5, 0x12, 1, b'k', 0x18, 7]);
        let response = [0x0A, 5, 0x1A, 1, b'v', 0x20, 0];
        let decoded = decode::<GetRequest>(Bytes::copy_from_slice(&response)).unwrap();
        assert_eq!((&decoded.value[..], decoded.not_found), (&b"v"[..], false));
        assert!(decode::<ScanRequest>(Bytes::copy_from_slice(&response)).is_err());
        for len in 0..response.len() {
            assert!(decode::<GetRequest>(Bytes::copy_from_slice(&response[..len])).is_err());
        }
        for byte in 0..=u8::MAX {
            for position in 0..response.len() {
                let mut changed = response;
                changed[position] = byte;
                let _ = decode::<GetRequest>(Bytes::copy_from_slice(&changed));
            }
        }
    }
}
