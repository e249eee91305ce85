#ifndef NF_NET_CONGESTION_H
#define NF_NET_CONGESTION_H
/** @file congestion.h  What TCP's congestion control does to slaves that exchange
 *  blocks. */

/** BBR keeps to the rate that it saw last, and takes many round trips to learn that
 *  a link which two blocks shared is free again.  Who exchanges blocks changes
 *  partners all the time: all-to-all of 1 MiB between 8 hosts of 100 Mbit/s took 1.5 x
 *  as long as with CUBIC.  So @p fd gets CUBIC instead, or Reno if its user may have no
 *  other.  Whatever else the system is set to is its administrator's choice and stays.
 *
 *  A socket that is connected should have had none: Linux goes on pacing what BBR was
 *  taken from, and after a pause CUBIC's pace is that of few packets in the time that a
 *  full link took for them: a scatter of 1 MiB to 4 hosts had gaps of 1 to 4 ms, and
 *  took up to 0.8 % longer.  So tell this before connect() and listen(), after which
 *  sockets that are accepted have what the listening one got here; and once more after
 *  that, as a route may have a congestion control of its own, which goes before ours.
 *  @param fd  a socket; nothing happens to one that is not TCP */
void nf_congestion_replace_bbr(int fd);
#endif
