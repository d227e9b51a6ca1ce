/** What this client and server call themselves: the version of this package, which a test compares. */

export const VERSION = "0.1.0";
