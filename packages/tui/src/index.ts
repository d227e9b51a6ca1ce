/** Terminal view. */

export {};
