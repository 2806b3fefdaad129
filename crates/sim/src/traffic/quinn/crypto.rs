//! A session without cryptography: messages are as they are, and a tag of sixteen zeros stands for that of AES-GCM.
//!
//! The handshake has TLS's order: the client's hello with its parameters; the server's hello, then its parameters under the
//! handshake's keys; the client's end.

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::sync::Arc;

/// Everything that a session asks for.
#[derive(Clone, Copy)]
pub(super) struct Null;

/// One end of a handshake.
struct Handshake {
    side: Side,
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    /// Messages that it has got, and how often it was asked for one.
    heard: u32,
    said: u32,
}

impl Handshake {
    fn new(side: Side, params: &TransportParameters) -> Box<Self> {
        let mut own = Vec::new();
        params.write(&mut own);
        Box::new(Self { side, own, peer: None, heard: 0, said: 0 })
    }
}

impl Session for Handshake {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        // The server waits for the client's end, the client for the server's parameters and to have said its own end.
        if self.side.is_client() { self.said < 3 } else { self.heard < 2 }
    }

    fn read_handshake(&mut self, message: &[u8]) -> Result<bool, TransportError> {
        self.heard += 1;
        let parameters = if self.side.is_client() { 2 } else { 1 };
        if self.heard == parameters {
            let wrong = |_| TransportError {
                code: TransportErrorCode::TRANSPORT_PARAMETER_ERROR,
                frame: None,
                reason: "parameters".into(),
            };
            self.peer = Some(TransportParameters::read(self.side, &mut &*message).map_err(wrong)?);
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, message: &mut Vec<u8>) -> Option<Keys> {
        let says = match (self.side, self.said) {
            // A hello has the other side's parameters, or an end without any.
            (Side::Client, 0) => Some((self.own.clone(), false)),
            (Side::Client, 1) if self.heard >= 1 => Some((Vec::new(), true)),
            (Side::Client, 2) if self.heard >= 2 => Some((b"end".to_vec(), true)),
            (Side::Server, 0) if self.heard >= 1 => Some((b"hello".to_vec(), true)),
            (Side::Server, 1) => Some((self.own.clone(), true)),
            _ => None,
        };
        let (text, has_keys) = says?;
        self.said += 1;
        message.extend_from_slice(&text);
        has_keys.then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(KeyPair { local: Box::new(Null), remote: Box::new(Null) })
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

impl ClientConfig for Null {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Handshake::new(Side::Client, params))
    }
}

impl ServerConfig for Null {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        Handshake::new(Side::Server, params)
    }
}

impl PacketKey for Null {
    fn encrypt(&self, _: u64, buf: &mut [u8], _: usize) {
        let end = buf.len() - TAG;
        buf[end..].fill(0);
    }

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(end);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Null {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

impl HmacKey for Null {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        signature.iter_mut().zip(data.iter().chain(std::iter::repeat(&0))).for_each(|(to, from)| *to = *from);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl HandshakeTokenKey for Null {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Null)
    }
}

impl AeadKey for Null {
    fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}

fn keys() -> Keys {
    let pair = || KeyPair { local: Box::new(Null) as Box<dyn PacketKey>, remote: Box::new(Null) as Box<dyn PacketKey> };
    Keys { header: KeyPair { local: Box::new(Null), remote: Box::new(Null) }, packet: pair() }
}

/// Bytes of a tag of AES-GCM.
const TAG: usize = 16;
