/** Words for the fates of packets, by their number in the core's tables. */
export const FATES: readonly string[] = [
  "sent",
  "sent with a mark",
  "dropped, buffer full",
  "dropped on arrival",
  "dropped at the head",
  "dropped, too old",
  "dropped",
  "dropped with a replaced queue manager",
];
