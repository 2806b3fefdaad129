// The set-up of peers.rs in htsim: TCP sources through one queue with tail drop, their acknowledgments through another one.
// Arguments: Mbit/s, RTT in ms, flows, limit in packets, seconds. Prints how many packets were delivered in order.
//
// htsim has no SACK, no delayed acknowledgments and keeps no statistics; nothing is logged.
#include <cstdlib>
#include <iostream>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

int main(int argc, char** argv) {
    if (argc != 6) {
        std::cerr << "usage: htsim MBIT_PER_S RTT_MS FLOWS LIMIT SECONDS" << std::endl;
        return 2;
    }
    const uint64_t rate = strtoull(argv[1], nullptr, 10);
    const uint32_t rtt_ms = atoi(argv[2]), flows = atoi(argv[3]), limit = atoi(argv[4]);
    const double seconds = atof(argv[5]);
    const int packet_bytes = 1500;

    srand(1);
    Packet::set_packet_size(packet_bytes);
    EventList events;
    events.setEndtime(timeFromSec(seconds));
    const linkspeed_bps speed = speedFromMbps(rate);
    Queue forward(speed, memFromPkt(limit), events, nullptr), reverse(speed, memFromPkt(1000), events, nullptr);
    Pipe there(timeFromUs(rtt_ms * 500), events), back(timeFromUs(rtt_ms * 500), events);
    TcpRtxTimerScanner scanner(timeFromMs(10), events);

    std::vector<TcpSink*> sinks;
    for (uint32_t i = 0; i < flows; i++) {
        TcpSrc* source = new TcpSrc(nullptr, nullptr, events);
        TcpSink* sink = new TcpSink();
        scanner.registerTcp(*source);
        route_t *out = new route_t(), *in = new route_t();
        out->push_back(&forward);
        out->push_back(&there);
        out->push_back(sink);
        in->push_back(&reverse);
        in->push_back(&back);
        in->push_back(source);
        source->connect(*out, *in, *sink, drand() * timeFromMs(100));
        sinks.push_back(sink);
    }
    while (events.doNextEvent()) {
    }
    uint64_t bytes = 0;
    for (TcpSink* sink : sinks)
        bytes += sink->_cumulative_ack;
    std::cout << std::endl << "delivered " << bytes / Packet::data_packet_size() << std::endl;
    return 0;
}
