/** Where the built files of the console lie. */

export {};
