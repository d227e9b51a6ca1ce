/** A runtime at the other end of a wire. */

export {};
