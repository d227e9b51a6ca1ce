/** capstan/models/anthropic: Claude models. */

export { anthropic, type AnthropicOptions, type ApiKey } from "@capstan/models/anthropic";
