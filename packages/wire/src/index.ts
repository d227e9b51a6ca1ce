/** Pure projections of events into other protocols. */

export {};
