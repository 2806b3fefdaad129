/** Display names of packets' fates, indexed by the core's values. */
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
