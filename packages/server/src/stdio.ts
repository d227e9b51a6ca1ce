/** The stdio door. */

export {};
