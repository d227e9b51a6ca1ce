/** Every limit of what comes in over a wire, with its unit in its name. */

export const WIRE_LIMITS = {
  /** One line of NDJSON: an input with images in it. */
  lineBytes: 33_554_432,
  /** Objects and lists inside each other. */
  jsonDepth: 128,
  /** Ids and keys that a client chooses. */
  idChars: 256,
  /** One event of a server-sent stream, as a client reads it. */
  eventBytes: 67_108_864,
} as const;
