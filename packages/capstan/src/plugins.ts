/** capstan/plugins: behaviour to add to agents. */

export { reasoningDecay, type ReasoningLevel, type ReasoningSteps } from "@capstan/plugins/reasoning-decay";
