//! A session without cryptography: messages are in plain text, and sixteen zeros replace the tag of AES-GCM.
//!
//! The handshake has the order of TLS: the client's hello with its parameters; the server's hello, then its parameters
//! under handshake keys; the client's end.

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::sync::Arc;

/// Keys, configurations and tokens of the session, all without effect.
#[derive(Clone, Copy)]
pub(super) struct NullSession;

/// One end of a handshake.
struct Handshake {
    side: Side,
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    /// Messages received, and messages sent.
    messages_received: u32,
    messages_sent: u32,
}

impl Handshake {
    fn new(side: Side, params: &TransportParameters) -> Box<Self> {
        let mut own = Vec::new();
        params.write(&mut own);
        Box::new(Self { side, own, peer: None, messages_received: 0, messages_sent: 0 })
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
        // The server waits for the client's end; the client for the server's parameters, and until it has sent its own
        // end.
        if self.side.is_client() { self.messages_sent < 3 } else { self.messages_received < 2 }
    }

    fn read_handshake(&mut self, message: &[u8]) -> Result<bool, TransportError> {
        self.messages_received += 1;
        let parameters = if self.side.is_client() { 2 } else { 1 };
        if self.messages_received == parameters {
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
        let reply = match (self.side, self.messages_sent) {
            // Keys follow all messages but the client's hello.
            (Side::Client, 0) => Some((self.own.clone(), false)),
            (Side::Client, 1) if self.messages_received >= 1 => Some((Vec::new(), true)),
            (Side::Client, 2) if self.messages_received >= 2 => Some((b"end".to_vec(), true)),
            (Side::Server, 0) if self.messages_received >= 1 => Some((b"hello".to_vec(), true)),
            (Side::Server, 1) => Some((self.own.clone(), true)),
            _ => None,
        };
        let (text, has_keys) = reply?;
        self.messages_sent += 1;
        message.extend_from_slice(&text);
        has_keys.then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(KeyPair { local: Box::new(NullSession), remote: Box::new(NullSession) })
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        true
    }

    fn export_keying_material(&self, _: &mut [u8], _: &[u8], _: &[u8]) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

impl ClientConfig for NullSession {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Handshake::new(Side::Client, params))
    }
}

impl ServerConfig for NullSession {
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

impl PacketKey for NullSession {
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

impl HeaderKey for NullSession {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

impl HmacKey for NullSession {
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

impl HandshakeTokenKey for NullSession {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(NullSession)
    }
}

impl AeadKey for NullSession {
    fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}

fn keys() -> Keys {
    let pair = || KeyPair {
        local: Box::new(NullSession) as Box<dyn PacketKey>,
        remote: Box::new(NullSession) as Box<dyn PacketKey>,
    };
    Keys { header: KeyPair { local: Box::new(NullSession), remote: Box::new(NullSession) }, packet: pair() }
}

/// Bytes of an AES-GCM tag.
const TAG: usize = 16;
