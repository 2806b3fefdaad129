/* Two seconds of 15 Mbit/s into a link of 10 Mbit/s, under the queue manager of the command line:
 *   cc overload.c -lsojourn_aqm && ./a.out "codel target 7.5ms ecn" */
#include <sojourn_aqm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct datagram { int number; char payload[1468]; };

static void lose(void *user, const sojourn_packet *packet, int reason)
{
    ++((int *)user)[reason];
    free(packet->handle);
}

static int send_one(sojourn_queue *queue, sojourn_time now, int number)
{
    struct datagram *datagram = calloc(1, sizeof *datagram);
    sojourn_packet packet = { .size = sizeof packet, .length = 1496, .flow = number % 3, .ecn = SOJOURN_ECT0 };
    datagram->number = number;
    packet.handle = datagram;
    return sojourn_queue_enqueue(queue, now, &packet);
}

int main(int argc, char **argv)
{
    int lost[256] = { 0 }, sent = 0, marked = 0, out;
    sojourn_time now = 0, arrival = 0, free_at = 0, longest = 0;
    sojourn_queue *queue;
    sojourn_host host = { .size = sizeof host, .rate = 10000000, .limit_packets = 500, .dropped = lose, .user = lost };

    host.random = sojourn_random(7, "queue", 0);
    if (sojourn_queue_create(argc > 1 ? argv[1] : "codel", &host, &queue) < 0) {
        fprintf(stderr, "%s\n", sojourn_error());
        return 2;
    }
    for (int number = 0; now < 2000000000; ) {
        sojourn_packet packet = { .size = sizeof packet };
        now = arrival < free_at ? arrival : free_at;
        if (now == arrival) {
            send_one(queue, now, number++);
            arrival += 797867; /* 1496 B at 15 Mbit/s */
        } else if ((out = sojourn_queue_dequeue(queue, now, &packet, &free_at)) == SOJOURN_PACKET) {
            longest = now - packet.enqueued > longest ? now - packet.enqueued : longest;
            marked += packet.ecn == SOJOURN_CE;
            sent++;
            free_at = now + packet.length * 800;
            free(packet.handle);
        } else if (out == SOJOURN_EMPTY) {
            free_at = arrival + 1;
        }
    }
    sojourn_queue_free(queue);
    printf("sent %d, marked %d, longest wait %.3f ms\n", sent, marked, longest / 1e6);
    for (int reason = 0; reason < 256; reason++)
        if (lost[reason])
            printf("dropped (%s) %d\n", sojourn_reason(reason), lost[reason]);
    return 0;
}
