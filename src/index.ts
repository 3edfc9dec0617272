// Parley as a library: what a parley.config.ts imports, and what a host application may replace.

// Every day: agents and configuration.
export {
  type Agent,
  type AgentContext,
  type AgentDefinition,
  type AgentReply,
  defineAgent,
  type Signal,
} from './agent/agent.ts'
export { type TelegramOptions, telegram } from './channels.ts'
export { defineConfig, type ParleyConfig } from './config.ts'
// What an agent reads and writes.
// For adapters: the contract.
export type {
  Adapter,
  AdapterDefinition,
  ChannelDefinition,
  ConnectionConfig,
  HistoricalMessage,
  IdentityEvidence,
  NormalizedMessage,
  NormalizedResponse,
  Part,
} from './contract/index.ts'
export { defineAdapter, GatewayError, textOf, textPart } from './contract/index.ts'
