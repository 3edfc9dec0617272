// Parley as a library: what a parley.config.ts imports, and what a host application may replace.

// Every day: agents and configuration.
export {
  type Agent,
  type AgentContext,
  type AgentDefinition,
  type AgentReply,
  defineAgent,
  type ModelAgentDefinition,
  type Signal,
} from './agent/agent.ts'
export { createSlidingWindowPolicy, type HistoryPolicy } from './agent/history/sliding-window.ts'
export { complete, incomplete } from './agent/loop/completion.ts'
export type { McpServerConfig } from './agent/mcp/mcp-server.ts'
export { coalesceSameRole } from './agent/messages/coalesce.ts'
// For tools that read and write transcripts of this kind, and for hosts that hand tools on.
export {
  approvalLine,
  errorLine,
  inputRequiredLine,
  textLine,
  toolCallLine,
  toolResultLine,
} from './agent/messages/create.ts'
export { normalizeMessage, normalizeMessages } from './agent/messages/normalize.ts'
export { fromProviderMessage, toProviderMessage, toProviderMessages } from './agent/messages/project.ts'
export { runtimeToolPolicy } from './agent/policy/runtime-tool-policy.ts'
export { httpAgent } from './agent/providers/http-agent.ts'
export { openAiCompatible } from './agent/providers/openai-compatible.ts'
export type { A2aAgentOptions } from './agent/remote/options.ts'
export { a2aAgent } from './agent/remote/remote-agent.ts'
export { defineTool, type Tool } from './agent/tools/define-tool.ts'
export { approvalRequired, runtimeToolPending } from './agent/tools/pause.ts'
export { ToolError } from './agent/tools/tool-error.ts'
export { gatherTools, type ToolSource } from './agent/tools/tool-sources.ts'
export { tierTools } from './agent/tools/tool-tiers.ts'
export {
  type A2aOptions,
  type ActivityPubOptions,
  a2a,
  activitypub,
  type EmailOptions,
  email,
  type SlackOptions,
  slack,
  type TelegramOptions,
  telegram,
} from './channels.ts'
export { type AttachmentSettings, s3, supabase } from './config/attachments.ts'
export { defineConfig, type ParleyConfig } from './config.ts'
// What an agent reads and writes.
// For adapters: the contract.
export type {
  Adapter,
  AdapterDefinition,
  CallerContext,
  ChannelDefinition,
  ConnectionConfig,
  ConsentGrant,
  GatewayEvent,
  HistoricalMessage,
  IdentityEvidence,
  NormalizedMessage,
  NormalizedResponse,
  Part,
} from './contract/index.ts'
export {
  defineAdapter,
  GatewayError,
  mintEvidence,
  textOf,
  textPart,
  unverifiedSender,
  verifiedSender,
} from './contract/index.ts'
export type { GrantRole } from './db/grants.ts'
export {
  createEvidenceAccess,
  type EvidenceDecision,
  type EvidenceRules,
  readEvidenceRules,
} from './identity/access-rules.ts'
export {
  callerHeaders,
  chainCue,
  isCallerLoop,
  loopFault,
  nextAgentChain,
  nextHop,
  readCallerContext,
  type Visit,
} from './identity/call-chain.ts'
export { type ConsentDecision, type ConsentPolicy, decideConsent } from './identity/consent.ts'
export { atLeast, hasIdentity, type IdentityQuestion } from './identity/evidence.ts'
export { type AccessGrant, accessibleAgents, checkGrants, type Narrowing } from './identity/grants.ts'
export type { TokenIssuerSettings } from './identity/issuers/token-issuers.ts'
export { mayMentionHuman, mentionsIn, type TextMention } from './identity/mentions.ts'
// Who speaks, how we know, and what they may do: for agents that decide by themselves and for hosts that bring their own policy.
export {
  applicationPrincipal,
  audiencePrincipal,
  type CapabilityCeiling,
  can,
  ceilingAllows,
  conversationOwner,
  createPrincipal,
  type ExecutionPrincipal,
  effectiveCeiling,
  narrowCeiling,
  runtimePrincipal,
  safeMetadata,
  systemPrincipal,
  tokenPrincipal,
  type UserHas,
  userPrincipal,
} from './identity/principals.ts'
export { createEvidenceResolver, type PrincipalResolver } from './identity/resolve-principal.ts'
export { type AgentRoute, routeAgent } from './identity/route-agent.ts'
export { type AttestationVerifier, admitForwarded, readTrustedIssuers, type TrustedIssuers } from './identity/trust.ts'
export { agentJrd, type Jrd, readJrd } from './identity/webfinger.ts'
