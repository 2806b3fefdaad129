/* ngtcp2 at both ends of a simulated bottleneck: 5 MB over IPv6, with ECN in both directions.
 *
 * transfer FOLDER [SEED]     FOLDER has world.toml, cert.pem and key.pem
 */
#include "host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sentences[] = {
    "max(completion, transfer) <= 6 s and loss(transfer) <= 1 %",
    "p95(delay, transfer) <= 130 ms and marks(transfer) > 0 %",
};

static void print_packets(const char *name, const struct host *host)
{
    printf("%s: sent %" PRIu64 " ECT(0), %" PRIu64 " not ECT; received %" PRIu64 " ECT(0), %" PRIu64 " CE, %" PRIu64
           " not ECT\n", name, host->sent_packets[SOJOURN_NET_ECT0], host->sent_packets[SOJOURN_NET_NOT_ECT],
           host->packets[SOJOURN_NET_ECT0], host->packets[SOJOURN_NET_CE], host->packets[SOJOURN_NET_NOT_ECT]);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".", *out = getenv("SOJOURN_NET_OUT");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, decisions, fingerprint;
    struct host hosts[2], *source = &hosts[0], *sink = &hosts[1];
    struct sockaddr_storage remote;
    sojourn_event event;
    sojourn_net *net;
    char path[4096], world[8192], why[2000];
    int status = 0, code, is_counted = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/world.toml", folder);
    file = fopen(path, "r");
    check(file ? 0 : -1, "FOLDER has no world.toml");
    world[fread(world, 1, sizeof world - 1, file)] = 0;
    fclose(file);
    check(sojourn_net_open(SOJOURN_NET_ABI, world, folder, seed, &net), sojourn_net_error());
    host_init(source, net, "transfer.source", folder, seed);
    host_init(sink, net, "transfer.sink", folder, seed);
    check(sojourn_net_address(net, sink->end, &remote), sojourn_net_error());

    event.size = sizeof event;
    while (check(sojourn_net_next(net, &event), sojourn_net_error()) == 0 && event.kind != SOJOURN_NET_END) {
        struct host *host = event.end == source->end ? source : sink;

        if (event.kind == SOJOURN_NET_BEGIN && host == source)
            host_connect(host, &remote, event.now);
        else if (event.kind == SOJOURN_NET_DATAGRAM)
            host_read(host, &event);
        else if (event.kind == SOJOURN_NET_WAKE && host->conn) {
            code = ngtcp2_conn_handle_expiry(host->conn, (ngtcp2_tstamp)event.now);
            check(code, ngtcp2_strerror(code));
        }
        if (host->conn)
            host_write(host, event.now);
        if (sink->is_complete && !is_counted) {
            is_counted = 1;
            check(sink->received == BYTES ? 0 : -1, "bytes are missing");
            check(sojourn_net_completed(net, source->end, 0, sink->received), sojourn_net_error());
        }
    }
    check(sojourn_net_finish(net, out), sojourn_net_error());
    check(sojourn_net_hashes(net, &decisions, &fingerprint), sojourn_net_error());
    printf("seed %" PRIu64 ": decisions %016" PRIx64 ", run %016" PRIx64 "\n", seed, decisions, fingerprint);
    print_packets("source", source);
    print_packets("sink", sink);
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
        if (check(sojourn_net_expect(net, sentences[i], why, sizeof why), sojourn_net_error())) {
            fprintf(stderr, "%s\n", why);
            status = 1;
        }
    }
    host_free(source);
    host_free(sink);
    sojourn_net_free(net);
    return status;
}
