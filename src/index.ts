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
} from './agents/define-agent.ts'
export { createSlidingWindowPolicy, type HistoryPolicy } from './agents/history-window.ts'
export { httpAgent } from './agents/http-agent.ts'
export { complete, incomplete } from './agents/loop/options.ts'
export type { McpServerConfig } from './agents/mcp/mcp-server.ts'
// For tools that read and write transcripts of this kind, and for hosts that hand tools on.
export {
  approvalRequiredEnvelope,
  coalesceSameRole,
  errorEnvelope,
  fromProviderMessage,
  inputRequiredEnvelope,
  normalizeMessage,
  normalizeMessages,
  textEnvelope,
  toolCallEnvelope,
  toolResultEnvelope,
  toProviderMessage,
  toProviderMessages,
} from './agents/messages.ts'
export { openAiCompatible } from './agents/models/openai-compatible.ts'
export { runtimeToolPolicy } from './agents/policy/tool-policy.ts'
export {
  collectToolCatalog,
  splitToolsByTier,
  type ToolSource,
} from './agents/tools/catalog.ts'
export { defineTool, type Tool } from './agents/tools/define-tool.ts'
export { approvalRequired, runtimeToolPending, ToolError } from './agents/tools/tool.ts'
export {
  type A2aAgentOptions,
  type A2aOptions,
  type ActivityPubOptions,
  a2a,
  a2aAgent,
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
// What an agent reads and writes, and the contract of adapters (CONTRIBUTING.md, "Add a channel").
export type { NormalizeResult, OptionalVerbs } from './contract/adapter.ts'
export type { Bearer, CallerContext } from './contract/caller.ts'
export { type PresenceUpdate, type RecipientCapabilities, type Starter, writeCommand } from './contract/capabilities.ts'
export type {
  AgentSkill,
  ChannelKeys,
  ClosedRooms,
  Hmac,
  Installation,
  Installations,
  KeyRing,
  Mailer,
  Offload,
  RawBlobs,
  ReplyPolicySettings,
  RunLog,
} from './contract/channel.ts'
export type { OperationResponse } from './contract/channel-command.ts'
export type { IdentityEvidence } from './contract/evidence.ts'
export type { Envelope, GatewayEvent, Observer } from './contract/gateway-events.ts'
export type { OnceClaim } from './contract/inbound-event.ts'
export type * from './contract/index.ts'
export {
  connectionConfig,
  createChannelSay,
  defineAdapter,
  defineChannel,
  formatAddress,
  limitsSchema,
  mintEvidence,
  parseAddress,
  parseSettings,
  requirePort,
  say,
  secretListSchema,
  secretSchema,
  textOf,
  textPart,
  UnparsableEventError,
  unverifiedSender,
  verifiedSender,
} from './contract/index.ts'
export type { ClientData, HistoricalMessage } from './contract/message.ts'
export type {
  AgentUrls,
  DescribedRequest,
  EmailEventResult,
  Endpoint,
  FollowRequest,
  IngressContext,
  LivePreview,
  OperationChange,
  ReferencedMessage,
  WebFinger,
} from './contract/optional-verbs.ts'
export type { OwnAddress, ProbeFact } from './contract/probe.ts'
export type { ChannelRecord, ProtocolReply } from './contract/records.ts'
export type { AgentFiles, RemoteAccess, RemoteMemory } from './contract/remote-agent.ts'
export type { ControlFacts } from './contract/response.ts'
export type { AcceptResult } from './contract/results.ts'
export type { SenderProfile, VerifiedSender } from './contract/sender.ts'
export type { PushConfigService, TaskCaller, TaskClaim, TaskMessage, TaskOutput, TaskQuery } from './contract/tasks.ts'
export type { GrantRole } from './db/grants.ts'
export {
  createEvidenceAccess,
  type EvidenceDecision,
  type EvidenceRules,
  readEvidenceRules,
} from './identity/access-policy.ts'
export {
  callerHeaders,
  createNextCallChain,
  describeCallChainForAgent,
  findAgentLoopFault,
  isCallerLoop,
  nextAgentChain,
  readCallerContext,
  type Visit,
} from './identity/call-chain.ts'
export { type ConsentDecision, type ConsentPolicy, decideConsent } from './identity/consent.ts'
export {
  findIdentityEvidence,
  type IdentityQuestion,
  isAssuranceAtLeast,
} from './identity/evidence.ts'
export { type AccessGrant, accessibleAgents, checkGrants, type Narrowing } from './identity/grants.ts'
export type { TokenIssuerSettings } from './identity/issuers/token-issuers.ts'
export { mayMentionHuman, mentionsIn, type TextMention } from './identity/mentions.ts'
// Who speaks, how we know, and what they may do: for agents that decide by themselves and for hosts that bring their own policy.
export {
  applicationPrincipal,
  audiencePrincipal,
  type CapabilityCeiling,
  ceilingAllows,
  conversationOwner,
  createEvidenceResolver,
  createPrincipal,
  type ExecutionPrincipal,
  effectiveCeiling,
  isCapabilityGranted,
  loggablePrincipalFields,
  narrowCeiling,
  type PrincipalResolver,
  runtimePrincipal,
  systemPrincipal,
  tokenPrincipal,
  type UserHas,
  userPrincipal,
} from './identity/principals.ts'
export { type AgentRoute, routeAgent } from './identity/route-agent.ts'
export {
  type AttestationVerifier,
  readTrustedIssuers,
  type TrustedIssuers,
  verifyForwardedEvidence,
} from './identity/trust.ts'
export { agentJrd, type Jrd, readJrd } from './identity/webfinger.ts'
// For adapters: errors, secrets, signatures and reading what came in.
export {
  type BoundedJson,
  type ClockSkewResult,
  type ClockTolerance,
  checkClockSkew,
  cleanFileName,
  cleanName,
  cleanText,
  decodeBase64,
  encodeBase64,
  equalInConstantTime,
  type Fields,
  fromHex,
  GatewayError,
  importEd25519Key,
  importPublicKey,
  isGatewayError,
  isPlainObject,
  type Json,
  type JsonObject,
  type Log,
  LruMap,
  type PublicKey,
  parseBoundedJson,
  type RateLimiter,
  type SafeFetch,
  type SafeFetchResult,
  type Secret,
  type SignatureAlgorithm,
  secret,
  sha256Hex,
  toHex,
  verifyHmacSha256,
  verifyWithKey,
} from './lib/index.ts'
export type { Say } from './locales/say.ts'
// For adapters: a reply as one tree of Markdown, and the tree in pieces that a platform takes.
export * from './markdown/index.ts'
