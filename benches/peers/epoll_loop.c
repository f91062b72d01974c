/* The least that a generator can spend: one epoll loop that sends MQTT 3.1.1 bytes made beforehand.
 *
 * Each connection sends PUBLISH after PUBLISH and, with QoS 1, waits for the PUBACK of one before it sends the next; with
 * QoS 0 it sends what the socket takes, one write per message. No clock is read per message, nothing is checked but that
 * acknowledgements have their four bytes: what is above this is the price of a generator that measures.
 *
 * epoll_loop ADDRESS PORT QOS CONNECTIONS MESSAGES PAYLOAD_BYTES [RATE | WINDOW]
 * With QoS 0, RATE paces the messages: so many a second over all connections, by a timer of 1 ms. With QoS 1, WINDOW is how
 * many messages of a connection are on their way at once: as many as a read has acknowledged leave in one write.
 * The last line of standard output: messages, seconds, CPU seconds of user and system, as JSON. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TOPIC_BYTES = 4, MOST_PAYLOAD = 1 << 16, EVENTS = 1024 };

struct connection {
    int socket;
    uint16_t packet_id;
    int acknowledged; /* bytes of the PUBACK that have come */
    size_t unsent;    /* bytes of the PUBLISH at hand that the socket has not taken */
    unsigned char *batch; /* with a window: PUBLISH packets that leave together */
    size_t batch_bytes;   /* bytes of them that the socket has not taken */
};

static unsigned char publish[MOST_PAYLOAD + 16];
static size_t publish_bytes, id_at;
static long to_send, answered, sent;
static int qos;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void make_publish(size_t payload)
{
    size_t rest = 2 + TOPIC_BYTES + (qos ? 2 : 0) + payload, at = 0;
    publish[at++] = (unsigned char)(0x30 | qos << 1);
    for (size_t left = rest; ; left >>= 7) {
        publish[at++] = (unsigned char)((left & 127) | (left > 127 ? 128 : 0));
        if (left <= 127)
            break;
    }
    memcpy(publish + at, "\0\4test", 6);
    at += 6;
    id_at = at;
    at += qos ? 2 : 0;
    memset(publish + at, 'x', payload);
    publish_bytes = at + payload;
}

static int open_connection(const struct sockaddr_in *server, int number)
{
    unsigned char connect_packet[64] = {0x10, 20, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, 8};
    unsigned char answer[4];
    int one = 1, socket_fd = socket(AF_INET, SOCK_STREAM, 0);
    if (socket_fd < 0 || connect(socket_fd, (const struct sockaddr *)server, sizeof *server))
        fail("connect");
    setsockopt(socket_fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    char id[16];
    snprintf(id, sizeof id, "el-%05d", number % 100000);
    memcpy(connect_packet + 14, id, 8);
    if (write(socket_fd, connect_packet, 22) != 22 || recv(socket_fd, answer, 4, MSG_WAITALL) != 4 || answer[3])
        fail("CONNACK");
    fcntl(socket_fd, F_SETFL, O_NONBLOCK);
    return socket_fd;
}

/* Sends the rest of the message at hand, then new ones: one with QoS 1, with QoS 0 up to `most`. */
static long send_on(struct connection *c, long most)
{
    for (long done = 0; ; done++) {
        if (!c->unsent) {
            if (done == most || sent == to_send)
                return done;
            sent++;
            if (qos && !++c->packet_id)
                c->packet_id = 1;
            c->unsent = publish_bytes;
        }
        if (qos) {
            publish[id_at] = (unsigned char)(c->packet_id >> 8);
            publish[id_at + 1] = (unsigned char)c->packet_id;
        }
        ssize_t taken = write(c->socket, publish + publish_bytes - c->unsent, c->unsent);
        if (taken < 0 && errno != EAGAIN)
            fail("write");
        c->unsent -= taken > 0 ? (size_t)taken : 0;
        if (c->unsent)
            return done;
        if (!qos)
            answered++;
    }
}

/* Makes so many PUBLISH packets, as far as there are messages left, and gives the socket what it takes of them in one write. */
static void send_together(struct connection *c, long count)
{
    for (; count > 0 && sent < to_send; count--, sent++) {
        if (!++c->packet_id)
            c->packet_id = 1;
        publish[id_at] = (unsigned char)(c->packet_id >> 8);
        publish[id_at + 1] = (unsigned char)c->packet_id;
        memcpy(c->batch + c->batch_bytes, publish, publish_bytes);
        c->batch_bytes += publish_bytes;
    }
    if (!c->batch_bytes)
        return;
    ssize_t taken = write(c->socket, c->batch, c->batch_bytes);
    if (taken < 0 && errno != EAGAIN)
        fail("write");
    c->batch_bytes -= taken > 0 ? (size_t)taken : 0;
    if (c->batch_bytes && taken > 0)
        memmove(c->batch, c->batch + taken, c->batch_bytes);
}

static void receive(struct connection *c)
{
    unsigned char bytes[4096]; /* more PUBACKs than a window has */
    ssize_t count = read(c->socket, bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EAGAIN))
        fail("read");
    c->acknowledged += count > 0 ? (int)count : 0;
    if (c->batch) {
        long complete = c->acknowledged / 4;
        c->acknowledged %= 4;
        answered += complete;
        send_together(c, complete);
        return;
    }
    for (; qos && c->acknowledged >= 4; c->acknowledged -= 4) {
        answered++;
        send_on(c, 1);
    }
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* QoS 0 at a rate: each millisecond what is due, connection after connection. */
static void send_paced(struct connection *all, int count, double rate)
{
    double start = now();
    for (int next = 0; sent < to_send; usleep(1000)) {
        long due = (long)((now() - start) * rate);
        for (; sent < due && sent < to_send; next = (next + 1) % count)
            send_on(&all[next], 1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: %s ADDRESS PORT QOS CONNECTIONS MESSAGES PAYLOAD_BYTES [RATE | WINDOW]\n", argv[0]);
        return 2;
    }
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    inet_pton(AF_INET, argv[1], &server.sin_addr);
    qos = atoi(argv[3]);
    int count = atoi(argv[4]), poll = epoll_create1(0);
    to_send = atol(argv[5]);
    make_publish((size_t)atol(argv[6]));
    long window = argc > 7 && qos ? atol(argv[7]) : 1;
    struct connection *all = calloc((size_t)count, sizeof *all);
    for (int i = 0; i < count; i++) {
        all[i].socket = open_connection(&server, i);
        all[i].batch = window > 1 ? malloc((size_t)window * publish_bytes) : NULL;
        uint32_t interest = EPOLLIN | (qos ? 0 : EPOLLOUT) | (window > 1 ? EPOLLOUT | EPOLLET : 0);
        struct epoll_event event = {.events = interest, .data.ptr = &all[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, all[i].socket, &event);
    }
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    double start = now();
    if (argc > 7 && !qos)
        send_paced(all, count, atof(argv[7]));
    for (int i = 0; qos && i < count; i++) {
        if (all[i].batch)
            send_together(&all[i], window);
        else
            send_on(&all[i], 1);
    }
    struct epoll_event events[EVENTS];
    while (answered < to_send) {
        int ready = epoll_wait(poll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                receive(events[i].data.ptr);
            struct connection *c = events[i].data.ptr;
            if (events[i].events & EPOLLOUT && c->batch)
                send_together(c, 0);
            else if (events[i].events & EPOLLOUT)
                send_on(c, 64);
        }
    }
    getrusage(RUSAGE_SELF, &after);
    printf("{\"messages\": %ld, \"seconds\": %.6f, \"user\": %.6f, \"system\": %.6f}\n", answered, now() - start,
           seconds(after.ru_utime) - seconds(before.ru_utime), seconds(after.ru_stime) - seconds(before.ru_stime));
    return 0;
}
