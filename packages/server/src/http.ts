/** The HTTP door. */

export {};
