/** capstan/tools/broker: services that programs of a workspace use without holding their secrets. */

export { BROKER_LIMITS, broker } from "@capstan/tools/broker";
export type { Broker, BrokeredRequest, BrokeredService, SecretHeaders } from "@capstan/tools/broker";
