/* A QUIC connection of ngtcp2 with GnuTLS at one end of a net. */
#ifndef HOST_H
#define HOST_H

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <sojourn_net.h>

#define BYTES UINT64_C(5000000) /* of the transfer */

struct host {
    sojourn_net *net;
    uint32_t end;
    int is_server;
    uint64_t random;               /* state of its random numbers */
    ngtcp2_conn *conn;             /* null before the first packet */
    ngtcp2_crypto_conn_ref ref;
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
    int64_t stream;                /* -1 without one */
    uint64_t sent, received;       /* bytes of the stream */
    int is_complete;               /* the last byte has arrived */
    uint64_t packets[4], sent_packets[4]; /* received and sent, by ECN field */
};

/* Ends the program with a message if `code` is negative. */
int check(int code, const char *text);

/* Loads the certificate and the key of `folder`. */
void host_init(struct host *host, sojourn_net *net, const char *name, const char *folder, uint64_t seed);

/* Starts a connection to `remote`. */
void host_connect(struct host *host, const struct sockaddr_storage *remote, int64_t now);

/* Takes a datagram; a server accepts its first as a connection. */
void host_read(struct host *host, const sojourn_event *event);

/* Sends what may leave now, and sets the deadline. */
void host_write(struct host *host, int64_t now);

void host_free(struct host *host);

#endif
