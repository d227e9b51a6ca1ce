/** One order out of several: reciprocal rank fusion, which needs no scores that compare. */

/** What the method was published with (Cormack, Clarke, Büttcher 2009): how little the first places count more. */
const K = 60;

/** The best first; of equals, what the earlier list has. */
export function fused(lists: readonly (readonly number[])[]): readonly number[] {
  const scores = new Map<number, number>();
  for (const list of lists)
    for (const [place, item] of list.entries()) scores.set(item, (scores.get(item) ?? 0) + 1 / (K + place + 1));
  return [...scores].toSorted(([, left], [, right]) => right - left).map(([item]) => item);
}
