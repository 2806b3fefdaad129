#include "sojourn-queue-disc.h"

#include <ns3/abort.h>
#include <ns3/buffer.h>
#include <ns3/ipv4-queue-disc-item.h>
#include <ns3/ipv6-queue-disc-item.h>
#include <ns3/log.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("SojournQueueDisc");
NS_OBJECT_ENSURE_REGISTERED(HeldPackets);
NS_OBJECT_ENSURE_REGISTERED(SojournQueueDisc);

TypeId
HeldPackets::GetTypeId()
{
    static TypeId tid = TypeId("ns3::HeldPackets")
                            .SetParent<Queue<QueueDiscItem>>()
                            .SetGroupName("TrafficControl")
                            .AddConstructor<HeldPackets>();
    return tid;
}

bool
HeldPackets::Keep(Ptr<QueueDiscItem> item, Place& place)
{
    return DoEnqueue(GetContainer().end(), item, place);
}

Ptr<QueueDiscItem>
HeldPackets::Take(Place place)
{
    return DoDequeue(place);
}

bool
HeldPackets::Enqueue(Ptr<QueueDiscItem> item)
{
    return DoEnqueue(GetContainer().end(), item);
}

Ptr<QueueDiscItem>
HeldPackets::Dequeue()
{
    return DoDequeue(GetContainer().begin());
}

Ptr<QueueDiscItem>
HeldPackets::Remove()
{
    return DoRemove(GetContainer().begin());
}

Ptr<const QueueDiscItem>
HeldPackets::Peek() const
{
    return DoPeek(GetContainer().begin());
}

namespace
{

/** IP's and TCP's headers are no longer than this together; nothing behind them is looked at. */
constexpr uint32_t HEADERS = 40 + 60;

/** The headers of a packet from IP's on; empty if it is no IP packet. */
std::vector<uint8_t>
HeadersOf(Ptr<QueueDiscItem> item)
{
    Buffer ip;
    if (auto four = DynamicCast<Ipv4QueueDiscItem>(item))
    {
        ip.AddAtStart(four->GetHeader().GetSerializedSize());
        four->GetHeader().Serialize(ip.Begin());
    }
    else if (auto six = DynamicCast<Ipv6QueueDiscItem>(item))
    {
        ip.AddAtStart(six->GetHeader().GetSerializedSize());
        six->GetHeader().Serialize(ip.Begin());
    }
    else
    {
        return {};
    }
    std::vector<uint8_t> bytes(ip.GetSize() + std::min(HEADERS, item->GetPacket()->GetSize()));
    ip.CopyData(bytes.data(), ip.GetSize());
    item->GetPacket()->CopyData(bytes.data() + ip.GetSize(), bytes.size() - ip.GetSize());
    return bytes;
}

/** Numbers of the hosts: IPv4 addresses, or the last four bytes of IPv6's; 0 if it is no IP packet. */
std::pair<uint32_t, uint32_t>
HostsOf(Ptr<QueueDiscItem> item)
{
    if (auto four = DynamicCast<Ipv4QueueDiscItem>(item))
    {
        return {four->GetHeader().GetSource().Get(), four->GetHeader().GetDestination().Get()};
    }
    if (auto six = DynamicCast<Ipv6QueueDiscItem>(item))
    {
        auto last = [](Ipv6Address address) {
            uint8_t bytes[16];
            address.GetBytes(bytes);
            return uint32_t(bytes[12]) << 24 | bytes[13] << 16 | bytes[14] << 8 | bytes[15];
        };
        return {last(six->GetHeader().GetSource()), last(six->GetHeader().GetDestination())};
    }
    return {0, 0};
}

int64_t
NowNs()
{
    return Simulator::Now().GetNanoSeconds();
}

} // namespace

/** What the queue has of a packet: it comes back exactly once. */
struct SojournQueueDisc::Held
{
    Ptr<QueueDiscItem> item;
    std::vector<uint8_t> headers;
    HeldPackets::Place place; //!< where it waits, once it does
    bool waits{false};
    bool lost{false}; //!< it was dropped while it was being offered
};

TypeId
SojournQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::SojournQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("TrafficControl")
            .AddConstructor<SojournQueueDisc>()
            .AddAttribute("MaxSize",
                          "The most that may wait",
                          QueueSizeValue(QueueSize("1000p")),
                          MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                          MakeQueueSizeChecker())
            .AddAttribute("Manager",
                          "The queue manager and its parameters, as `sojourn aqm show NAME` has them",
                          StringValue("codel"),
                          MakeStringAccessor(&SojournQueueDisc::m_manager),
                          MakeStringChecker())
            .AddAttribute("Rate",
                          "Nominal rate of the link below",
                          DataRateValue(DataRate("10Mbps")),
                          MakeDataRateAccessor(&SojournQueueDisc::m_rate),
                          MakeDataRateChecker())
            .AddAttribute("Mtu",
                          "Largest IP packet of the link below, in bytes",
                          UintegerValue(1500),
                          MakeUintegerAccessor(&SojournQueueDisc::m_mtu),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("LinkDelay",
                          "Propagation delay of the link below, one way; 0: not known",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&SojournQueueDisc::m_delay),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("Seed",
                          "Seed of the manager's random stream, as a scenario's",
                          UintegerValue(1),
                          MakeUintegerAccessor(&SojournQueueDisc::m_seed),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("Index",
                          "Number of the queue among those with the same seed",
                          UintegerValue(0),
                          MakeUintegerAccessor(&SojournQueueDisc::m_index),
                          MakeUintegerChecker<uint64_t>())
            .AddTraceSource("Offered",
                            "A packet is offered to the manager, which has not yet decided",
                            MakeTraceSourceAccessor(&SojournQueueDisc::m_offered),
                            "ns3::QueueDiscItem::TracedCallback")
            .AddTraceSource("Asked",
                            "The manager was asked for a packet: what it gave, or null",
                            MakeTraceSourceAccessor(&SojournQueueDisc::m_asked),
                            "ns3::QueueDiscItem::TracedCallback");
    return tid;
}

SojournQueueDisc::SojournQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::MULTIPLE_QUEUES)
{
}

SojournQueueDisc::~SojournQueueDisc()
{
}

void
SojournQueueDisc::DoDispose()
{
    m_again.Cancel();
    sojourn_queue_free(m_queue); // every packet that waits comes back to Dropped
    m_queue = nullptr;
    m_held = nullptr;
    QueueDisc::DoDispose();
}

bool
SojournQueueDisc::CheckConfig()
{
    if (GetNInternalQueues() > 0 || GetNQueueDiscClasses() > 0)
    {
        NS_LOG_ERROR("SojournQueueDisc holds its packets itself: no queues, no classes");
        return false;
    }
    m_held = CreateObject<HeldPackets>();
    // The manager keeps to the limit; what it takes, this has room for.
    m_held->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, UINT32_MAX));
    AddInternalQueue(m_held);
    return true;
}

void
SojournQueueDisc::InitializeParams()
{
    sojourn_host host = {};
    host.size = sizeof host;
    host.mtu = m_mtu;
    host.rate = m_rate.GetBitRate();
    host.delay = m_delay.GetNanoSeconds();
    host.random = sojourn_random(m_seed, "queue", m_index);
    host.start = NowNs();
    const QueueSize limit = GetMaxSize();
    if (limit.GetUnit() == QueueSizeUnit::PACKETS)
    {
        host.limit_packets = limit.GetValue();
    }
    else
    {
        host.limit_bytes = limit.GetValue();
    }
    host.dropped = &SojournQueueDisc::Dropped;
    host.user = this;
    NS_ABORT_MSG_IF(sojourn_aqm_abi() != SOJOURN_AQM_ABI, "libsojourn_aqm has another interface than its header");
    NS_ABORT_MSG_IF(sojourn_queue_create(m_manager.c_str(), &host, &m_queue) < 0, sojourn_error());
}

bool
SojournQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    m_offered(item);
    auto* held = new Held{item, HeadersOf(item), {}};
    sojourn_packet packet = {};
    packet.size = sizeof packet;
    packet.length = item->GetSize();
    packet.segments = 1;
    packet.flow = item->Hash();
    std::tie(packet.source, packet.destination) = HostsOf(item);
    uint8_t field = 0;
    item->GetUint8Value(QueueItem::IP_DSFIELD, field);
    packet.dscp = field >> 2;
    packet.ecn = field & 3;
    packet.header = held->headers.empty() ? nullptr : held->headers.data();
    packet.header_length = held->headers.size();
    packet.handle = held;
    const int fate = sojourn_queue_enqueue(m_queue, NowNs(), &packet);
    NS_ABORT_MSG_IF(fate < 0, sojourn_error());
    if (held->lost)
    {
        delete held;
        return false;
    }
    if (fate == SOJOURN_MARKED)
    {
        Mark(item, "marked on arrival");
    }
    held->waits = true;
    return m_held->Keep(item, held->place);
}

Ptr<QueueDiscItem>
SojournQueueDisc::DoDequeue()
{
    sojourn_packet packet = {};
    packet.size = sizeof packet;
    sojourn_time notBefore = 0;
    const int found = sojourn_queue_dequeue(m_queue, NowNs(), &packet, &notBefore);
    NS_ABORT_MSG_IF(found < 0, sojourn_error());
    if (found == SOJOURN_NOT_BEFORE && !m_again.IsRunning())
    {
        m_again = Simulator::Schedule(NanoSeconds(notBefore - NowNs()), &QueueDisc::Run, this);
    }
    if (found != SOJOURN_PACKET)
    {
        m_asked(nullptr);
        return nullptr;
    }
    auto* held = static_cast<Held*>(packet.handle);
    Ptr<QueueDiscItem> item = m_held->Take(held->place);
    uint8_t field = 0;
    item->GetUint8Value(QueueItem::IP_DSFIELD, field);
    if (packet.ecn == SOJOURN_CE && (field & 3) != SOJOURN_CE)
    {
        Mark(item, "marked on departure");
    }
    delete held;
    m_asked(item);
    return item;
}

void
SojournQueueDisc::Dropped(void* user, const sojourn_packet* packet, int reason)
{
    auto* disc = static_cast<SojournQueueDisc*>(user);
    auto* held = static_cast<Held*>(packet->handle);
    if (!held->waits)
    {
        held->lost = true; // DoEnqueue deletes it
        disc->DropBeforeEnqueue(held->item, sojourn_reason(reason));
        return;
    }
    disc->m_held->Take(held->place);
    if (reason != SOJOURN_FREED)
    {
        disc->DropAfterDequeue(held->item, sojourn_reason(reason));
    }
    delete held;
}

double
SojournQueueDisc::GetState(const std::string& name) const
{
    double value = 0;
    NS_ABORT_MSG_IF(sojourn_queue_state(m_queue, name.c_str(), &value) < 0, sojourn_error());
    return value;
}

uint64_t
SojournQueueDisc::GetStatistic(const std::string& name) const
{
    uint64_t value = 0;
    NS_ABORT_MSG_IF(sojourn_queue_statistic(m_queue, name.c_str(), &value) < 0, sojourn_error());
    return value;
}

} // namespace ns3
