// Sojourn's queue managers as a queue of ns-2, over the C API: `load sojourn_ns2.so Sojourn` in a script, then
//
//     set queue [[$ns link $a $b] queue]                     ;# of a link created with the queue `Sojourn`
//     $queue manage {codel target 7ms} 1000 0 0 10000000 1500 20000000 1 0
//
// with tc's arguments, limits in packets, bytes and nanoseconds (0: no limit), link rate in bit/s, MTU, link delay in
// nanoseconds, seed, and queue number. With the same seed and number, random numbers are those of Sojourn's simulator.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "flags.h"
#include "ip.h"
#include "queue.h"
#include "scheduler.h"
#include "timer-handler.h"

#include "sojourn_aqm.h"

namespace {

class SojournQueue;

// Wakes a queue whose packets must not leave before a given time.
class WakeTimer : public TimerHandler {
public:
    explicit WakeTimer(SojournQueue& owner) : queue(owner) {}

protected:
    virtual void expire(Event*);

private:
    SojournQueue& queue;
};

class SojournQueue : public Queue {
public:
    SojournQueue() : managed(0), wake_timer(*this) { pq_ = new PacketQueue; }
    ~SojournQueue() { sojourn_queue_free(managed); }

    int command(int argc, const char* const* argv) {
        if (argc == 11 && !strcmp(argv[1], "manage")) return manage(argv + 2);
        if (argc == 3 && !strcmp(argv[1], "state")) return state(argv[2]);
        return Queue::command(argc, argv);
    }

    void enque(Packet* packet) {
        require_manager();
        sojourn_packet arrival;
        describe(packet, &arrival);
        const int verdict = sojourn_queue_enqueue(managed, now(), &arrival);
        if (verdict < 0) fail();
        if (verdict == SOJOURN_MARKED) hdr_flags::access(packet)->ce() = 1;
    }

    Packet* deque() {
        if (!managed) return 0;  // ns-2 flushes its queues before the run starts
        sojourn_packet departure;
        sojourn_time not_before = 0;
        departure.size = sizeof departure;
        switch (sojourn_queue_dequeue(managed, now(), &departure, &not_before)) {
        case SOJOURN_PACKET: {
            Packet* packet = static_cast<Packet*>(departure.handle);
            if (departure.ecn == SOJOURN_CE) hdr_flags::access(packet)->ce() = 1;
            return packet;
        }
        case SOJOURN_NOT_BEFORE:
            wake_timer.resched(not_before * 1e-9 - Scheduler::instance().clock());
            return 0;
        case SOJOURN_EMPTY:
            return 0;
        default:
            fail();
            return 0;
        }
    }

    void on_wake() {
        if (!blocked()) {
            blocked_ = 1;
            resume();
        }
    }

private:
    int manage(const char* const* words) {
        sojourn_host host;
        memset(&host, 0, sizeof host);
        host.size = sizeof host;
        host.limit_packets = strtoul(words[1], 0, 10);
        host.limit_bytes = strtoull(words[2], 0, 10);
        host.limit_time = strtoll(words[3], 0, 10);
        host.rate = strtoull(words[4], 0, 10);
        host.mtu = strtoul(words[5], 0, 10);
        host.delay = strtoll(words[6], 0, 10);
        host.random = sojourn_random(strtoull(words[7], 0, 10), "queue", strtoull(words[8], 0, 10));
        host.dropped = dropped;
        host.user = this;
        sojourn_queue_free(managed);
        managed = 0;
        if (sojourn_queue_create(words[0], &host, &managed) >= 0) return TCL_OK;
        Tcl::instance().resultf("%s", sojourn_error());
        return TCL_ERROR;
    }

    int state(const char* name) {
        double value = 0;
        require_manager();
        if (sojourn_queue_state(managed, name, &value) < 0) {
            Tcl::instance().resultf("%s", sojourn_error());
            return TCL_ERROR;
        }
        Tcl::instance().resultf("%.17g", value);
        return TCL_OK;
    }

    static void describe(Packet* packet, sojourn_packet* description) {
        memset(description, 0, sizeof *description);
        const hdr_ip* ip = hdr_ip::access(packet);
        hdr_flags* flags = hdr_flags::access(packet);
        description->size = sizeof *description;
        description->length = hdr_cmn::access(packet)->size();
        description->segments = 1;
        description->flow = const_cast<hdr_ip*>(ip)->flowid();
        description->source = const_cast<hdr_ip*>(ip)->saddr();
        description->destination = const_cast<hdr_ip*>(ip)->daddr();
        description->ecn = flags->ce() ? SOJOURN_CE : flags->ect() ? SOJOURN_ECT0 : SOJOURN_NOT_ECT;
        description->handle = packet;
    }

    static void dropped(void* user, const sojourn_packet* packet, int reason) {
        Packet* ns_packet = static_cast<Packet*>(packet->handle);
        if (reason == SOJOURN_FREED) Packet::free(ns_packet);
        else static_cast<SojournQueue*>(user)->drop(ns_packet);
    }

    static sojourn_time now() { return llround(Scheduler::instance().clock() * 1e9); }

    void require_manager() {
        if (managed) return;
        fprintf(stderr, "Queue/Sojourn: no queue manager is chosen; call manage before the run\n");
        exit(1);
    }

    static void fail() {
        fprintf(stderr, "Queue/Sojourn: %s\n", sojourn_error());
        exit(1);
    }

    sojourn_queue* managed;
    WakeTimer wake_timer;
};

void WakeTimer::expire(Event*) { queue.on_wake(); }

class SojournClass : public TclClass {
public:
    SojournClass() : TclClass("Queue/Sojourn") {}
    TclObject* create(int, const char* const*) { return new SojournQueue; }
} sojourn_class;

}  // namespace

extern "C" int Sojourn_Init(Tcl_Interp* interp) {
    if (sojourn_aqm_abi() == SOJOURN_AQM_ABI) return Tcl_PkgProvide(interp, "Sojourn", sojourn_aqm_version());
    Tcl_SetResult(interp, const_cast<char*>("Queue/Sojourn: libsojourn_aqm is of another version; sojourn ns2 build"),
                  TCL_STATIC);
    return TCL_ERROR;
}
