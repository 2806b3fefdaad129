/* An ns-3 queue disc managed by Sojourn: any queue manager of libsojourn_aqm, given as text.
 *
 *   g++ -std=c++17 -c sojourn-queue-disc.cc    # and link with ns3-internet, ns3-traffic-control, ns3-network,
 *                                             # ns3-core and sojourn_aqm; docs/c_interface.md has a whole command
 *
 *   TrafficControlHelper control;
 *   control.SetRootQueueDisc("ns3::SojournQueueDisc", "Manager", StringValue("codel target 7.5ms ecn"),
 *                            "Rate", DataRateValue(DataRate("10Mbps")));
 */
#ifndef SOJOURN_QUEUE_DISC_H
#define SOJOURN_QUEUE_DISC_H

#include <ns3/data-rate.h>
#include <ns3/event-id.h>
#include <ns3/queue-disc.h>
#include <ns3/queue.h>
#include <ns3/traced-callback.h>

#include <sojourn_aqm.h>

#include <string>

namespace ns3
{

/**
 * Holds the packets of a SojournQueueDisc, which may leave from any position, and updates ns-3's counters.
 */
class HeldPackets : public Queue<QueueDiscItem>
{
  public:
    using Place = Iterator;

    static TypeId GetTypeId();

    /** Stores a packet, to be removed by `place` later. */
    bool Keep(Ptr<QueueDiscItem> item, Place& place);
    /** Removes the packet at `place`. */
    Ptr<QueueDiscItem> Take(Place place);

    /* Required by ns3::Queue; the disc itself uses only the two methods above. */
    bool Enqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> Dequeue() override;
    Ptr<QueueDiscItem> Remove() override;
    Ptr<const QueueDiscItem> Peek() const override;
};

/**
 * Sizes are those of ns-3: IP packets without link-layer framing. The queue manager gets ECN fields, DSCPs, addresses,
 * flows (the hash of the 5-tuple) and headers; it may mark (ns-3 sets CE) and drop from any position. MaxSize is a limit
 * in addition to those of the text. A shaper is dequeued again at the time that it returns.
 */
class SojournQueueDisc : public QueueDisc
{
  public:
    static TypeId GetTypeId();

    SojournQueueDisc();
    ~SojournQueueDisc() override;

    /** A state variable of the manager (`sojourn aqm show NAME`), times in seconds. Aborts for unknown names. */
    double GetState(const std::string& name) const;
    /** A statistic, such as "dropped_late_packets". Aborts for unknown names. */
    uint64_t GetStatistic(const std::string& name) const;

  protected:
    void DoDispose() override;

  private:
    struct Held;

    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    /** Callback for drops: `sojourn_dropped` with the disc as `user`. */
    static void Dropped(void* user, const sojourn_packet* packet, int reason);

    std::string m_manager; //!< text in tc's syntax
    DataRate m_rate;       //!< nominal rate of the link below
    uint32_t m_mtu;        //!< largest IP packet in bytes
    Time m_delay;          //!< propagation delay of the link
    uint64_t m_seed;       //!< seed of the manager's random stream
    uint64_t m_index;      //!< index of the queue: each has its own stream

    Ptr<HeldPackets> m_held;
    sojourn_queue* m_queue{nullptr};
    EventId m_again; //!< next dequeue of a shaper
    TracedCallback<Ptr<const QueueDiscItem>> m_offered;
    TracedCallback<Ptr<const QueueDiscItem>> m_asked;
};

} // namespace ns3

#endif
