/** capstan/models/anthropic: Claude models. */

export { anthropic, type AnthropicOptions } from "@capstan/models/anthropic";
