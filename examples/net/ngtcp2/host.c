#include "host.h"

#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const priority =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:-GROUP-ALL:+GROUP-X25519:%DISABLE_TLS13_COMPAT_MODE";

int check(int code, const char *text)
{
    if (code < 0) {
        fprintf(stderr, "ngtcp2: %s\n", text);
        exit(2);
    }
    return code;
}

/* Numbers of the seed (xorshift64): connection IDs and skipped packet numbers are decisions, or may become some. */
static void fill(uint64_t *state, uint8_t *bytes, size_t length)
{
    while (length--) {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *bytes++ = (uint8_t)(*state >> 56);
    }
}

static void on_rand(uint8_t *bytes, size_t length, const ngtcp2_rand_ctx *context)
{
    fill(context->native_handle, bytes, length);
}

static int on_new_id(ngtcp2_conn *conn, ngtcp2_cid *id, uint8_t *token, size_t length, void *user)
{
    struct host *host = user;

    (void)conn;
    id->datalen = length;
    fill(&host->random, id->data, length);
    fill(&host->random, token, NGTCP2_STATELESS_RESET_TOKENLEN);
    return 0;
}

static int on_stream_data(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t offset, const uint8_t *data,
                          size_t length, void *user, void *stream_user)
{
    struct host *host = user;

    (void)offset, (void)data, (void)stream_user;
    host->received += length;
    ngtcp2_conn_extend_max_stream_offset(conn, stream, length);
    ngtcp2_conn_extend_max_offset(conn, length);
    if (flags & NGTCP2_STREAM_DATA_FLAG_FIN)
        host->is_complete = 1;
    return 0;
}

static ngtcp2_conn *conn_of(ngtcp2_crypto_conn_ref *ref)
{
    return ((struct host *)ref->user_data)->conn;
}

void host_init(struct host *host, sojourn_net *net, const char *name, const char *folder, uint64_t seed)
{
    char cert[4096], key[4096];

    memset(host, 0, sizeof *host);
    host->net = net;
    host->stream = -1;
    host->is_server = strstr(name, ".sink") != NULL;
    host->random = (seed << 1 | host->is_server) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    check(sojourn_net_end(net, name, &host->end), sojourn_net_error());
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    check(gnutls_certificate_allocate_credentials(&host->credentials), "no memory");
    check(gnutls_certificate_set_x509_trust_file(host->credentials, cert, GNUTLS_X509_FMT_PEM), cert);
    check(gnutls_certificate_set_x509_key_file(host->credentials, cert, key, GNUTLS_X509_FMT_PEM), key);
}

/* Creates the connection, with a client's random ID or those of the packet that a server accepts. */
static void start(struct host *host, ngtcp2_path *path, const ngtcp2_pkt_hd *first, int64_t now)
{
    static const gnutls_datum_t alpn = {(unsigned char *)"sojourn", 7};
    ngtcp2_callbacks callbacks;
    ngtcp2_settings settings;
    ngtcp2_transport_params params;
    ngtcp2_cid id = {8, {0}}, peer = {18, {0}};

    memset(&callbacks, 0, sizeof callbacks);
    callbacks.client_initial = ngtcp2_crypto_client_initial_cb;
    callbacks.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
    callbacks.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb;
    callbacks.encrypt = ngtcp2_crypto_encrypt_cb;
    callbacks.decrypt = ngtcp2_crypto_decrypt_cb;
    callbacks.hp_mask = ngtcp2_crypto_hp_mask_cb;
    callbacks.recv_stream_data = on_stream_data;
    callbacks.recv_retry = ngtcp2_crypto_recv_retry_cb;
    callbacks.rand = on_rand;
    callbacks.get_new_connection_id = on_new_id;
    callbacks.update_key = ngtcp2_crypto_update_key_cb;
    callbacks.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
    callbacks.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
    callbacks.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb;
    callbacks.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
    ngtcp2_settings_default(&settings);
    settings.initial_ts = (ngtcp2_tstamp)now;
    settings.rand_ctx.native_handle = &host->random;
    ngtcp2_transport_params_default(&params);
    params.initial_max_data = params.initial_max_stream_data_bidi_remote = 1 << 20;
    params.initial_max_streams_bidi = 1;
    fill(&host->random, id.data, id.datalen);
    check(gnutls_init(&host->session, (host->is_server ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_NO_END_OF_EARLY_DATA),
          "gnutls_init");
    check(gnutls_priority_set_direct(host->session, priority, NULL), priority);
    gnutls_credentials_set(host->session, GNUTLS_CRD_CERTIFICATE, host->credentials);
    gnutls_alpn_set_protocols(host->session, &alpn, 1, GNUTLS_ALPN_MANDATORY);
    host->ref.get_conn = conn_of;
    host->ref.user_data = host;
    gnutls_session_set_ptr(host->session, &host->ref);
    if (host->is_server) {
        params.original_dcid = first->dcid;
        check(ngtcp2_crypto_gnutls_configure_server_session(host->session), "server session");
        check(ngtcp2_conn_server_new(&host->conn, &first->scid, &id, path, first->version, &callbacks, &settings,
                                     &params, NULL, host), "server");
    } else {
        fill(&host->random, peer.data, peer.datalen);
        check(ngtcp2_crypto_gnutls_configure_client_session(host->session), "client session");
        gnutls_server_name_set(host->session, GNUTLS_NAME_DNS, "sojourn.test", 12);
        gnutls_session_set_verify_cert(host->session, "sojourn.test", 0);
        check(ngtcp2_conn_client_new(&host->conn, &peer, &id, path, NGTCP2_PROTO_VER_V1, &callbacks, &settings,
                                     &params, NULL, host), "client");
    }
    ngtcp2_conn_set_tls_native_handle(host->conn, host->session);
}

static ngtcp2_path path_of(const struct sockaddr_storage *local, const struct sockaddr_storage *remote)
{
    ngtcp2_path path = {{(ngtcp2_sockaddr *)local, sizeof(struct sockaddr_in6)},
                        {(ngtcp2_sockaddr *)remote, sizeof(struct sockaddr_in6)}, NULL};

    return path;
}

void host_connect(struct host *host, const struct sockaddr_storage *remote, int64_t now)
{
    struct sockaddr_storage local;
    ngtcp2_path path = path_of(&local, remote);

    check(sojourn_net_address(host->net, host->end, &local), sojourn_net_error());
    start(host, &path, NULL, now);
}

void host_read(struct host *host, const sojourn_event *event)
{
    ngtcp2_path path = path_of(&event->local, &event->remote);
    ngtcp2_pkt_info info = {event->ecn};
    ngtcp2_pkt_hd first;
    int code;

    host->packets[event->ecn]++;
    if (!host->conn) {
        check(ngtcp2_accept(&first, event->bytes, event->length), "the first packet is no Initial");
        start(host, &path, &first, event->now);
    }
    code = ngtcp2_conn_read_pkt(host->conn, &path, &info, event->bytes, event->length, (ngtcp2_tstamp)event->now);
    check(code, ngtcp2_strerror(code));
}

void host_write(struct host *host, int64_t now)
{
    static uint8_t content[1 << 16]; /* acknowledged later, so it must stay; each part of the stream is the same */
    uint8_t packet[NGTCP2_MAX_UDP_PAYLOAD_SIZE];
    ngtcp2_path_storage path;
    ngtcp2_pkt_info info;
    ngtcp2_tstamp expiry;
    size_t quantum = ngtcp2_conn_get_send_quantum(host->conn);
    sojourn_datagram datagram;

    if (!host->is_server && host->stream < 0)
        ngtcp2_conn_open_bidi_stream(host->conn, &host->stream, NULL); /* later, if the handshake is not done */
    memset(&datagram, 0, sizeof datagram);
    datagram.size = sizeof datagram;
    datagram.bytes = packet;
    ngtcp2_path_storage_zero(&path);
    for (size_t sent = 0; sent < quantum;) {
        uint64_t left = host->is_server ? 0 : BYTES - host->sent;
        ngtcp2_vec data = {content, left < sizeof content ? left : sizeof content};
        int64_t stream = left ? host->stream : -1;
        uint32_t flags = data.len == left ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0;
        ngtcp2_ssize taken = -1, length;

        length = ngtcp2_conn_writev_stream(host->conn, &path.path, &info, packet, sizeof packet, &taken, flags, stream,
                                           &data, 1, (ngtcp2_tstamp)now);
        if (length == NGTCP2_ERR_STREAM_DATA_BLOCKED)
            length = ngtcp2_conn_writev_stream(host->conn, &path.path, &info, packet, sizeof packet, &taken, 0, -1, NULL,
                                               0, (ngtcp2_tstamp)now);
        check((int)length, ngtcp2_strerror((int)length));
        if (length == 0)
            break;
        host->sent += taken > 0 ? (uint64_t)taken : 0;
        host->sent_packets[info.ecn]++;
        sent += (size_t)length;
        memcpy(&datagram.remote, path.path.remote.addr, path.path.remote.addrlen);
        datagram.length = (size_t)length;
        datagram.ecn = (uint8_t)info.ecn;
        check(sojourn_net_send(host->net, host->end, &datagram), sojourn_net_error());
    }
    ngtcp2_conn_update_pkt_tx_time(host->conn, (ngtcp2_tstamp)now);
    expiry = ngtcp2_conn_get_expiry(host->conn);
    sojourn_net_wake(host->net, host->end, expiry > INT64_MAX ? SOJOURN_NET_NEVER : (int64_t)expiry);
}

void host_free(struct host *host)
{
    ngtcp2_conn_del(host->conn);
    if (host->session)
        gnutls_deinit(host->session);
    gnutls_certificate_free_credentials(host->credentials);
}
