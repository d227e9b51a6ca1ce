/** Long-term memory. */

export {};
