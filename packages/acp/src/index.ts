/** ACP agent and client. */

export {};
