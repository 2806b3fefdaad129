/* A queue disc of ns-3 that is managed by Sojourn: any queue manager of libsojourn_aqm, by its text.
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
 * Holds the packets of a SojournQueueDisc, which leave from any place, and keeps ns-3's counters.
 */
class HeldPackets : public Queue<QueueDiscItem>
{
  public:
    using Place = Iterator;

    static TypeId GetTypeId();

    /** Keeps a packet; it can be taken from `place` later. */
    bool Keep(Ptr<QueueDiscItem> item, Place& place);
    /** Takes the packet at `place` out. */
    Ptr<QueueDiscItem> Take(Place place);

    /* What a queue has to have; the disc itself keeps to the two above. */
    bool Enqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> Dequeue() override;
    Ptr<QueueDiscItem> Remove() override;
    Ptr<const QueueDiscItem> Peek() const override;
};

/**
 * Packets are counted as ns-3 does: IP packets without the frame around them. ECN fields, code points, addresses, flows
 * (the hash of the 5-tuple) and headers go to the queue manager, which may mark (ns-3 writes CE) and drop from any
 * place. MaxSize is its limit, beside those that the text has. A shaper is asked again at the time that it names.
 */
class SojournQueueDisc : public QueueDisc
{
  public:
    static TypeId GetTypeId();

    SojournQueueDisc();
    ~SojournQueueDisc() override;

    /** A variable of the manager's state (`sojourn aqm show NAME`): times in seconds. Aborts if there is none such. */
    double GetState(const std::string& name) const;
    /** A statistic, such as "dropped_late_packets". Aborts if there is none such. */
    uint64_t GetStatistic(const std::string& name) const;

  protected:
    void DoDispose() override;

  private:
    struct Held;

    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    /** A packet is dropped: `sojourn_dropped` with the disc as `user`. */
    static void Dropped(void* user, const sojourn_packet* packet, int reason);

    std::string m_manager; //!< text in tc's spelling
    DataRate m_rate;       //!< nominal rate of the link below
    uint32_t m_mtu;        //!< largest IP packet in bytes
    Time m_delay;          //!< propagation delay of the link
    uint64_t m_seed;       //!< of the manager's random stream
    uint64_t m_index;      //!< number of the queue: each has a stream of its own

    Ptr<HeldPackets> m_held;
    sojourn_queue* m_queue{nullptr};
    EventId m_again; //!< the time that a shaper named
    TracedCallback<Ptr<const QueueDiscItem>> m_offered;
    TracedCallback<Ptr<const QueueDiscItem>> m_asked;
};

} // namespace ns3

#endif
