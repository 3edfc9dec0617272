// The contract that adapters, agents and hosts program against. One word per thing:
//
//   channel     a kind of transport                       event     bytes that came in, not yet verified
//   connection  one account on one channel                evidence  what was proven about a sender
//   adapter     a channel's four verbs                    principal who policy says the sender is
//   message     what an agent reads                       session   the memory of one conversation
//   reply       what an agent writes (NormalizedResponse) turn      one run of the agent, alone in its conversation
//   call        one vendor request as data                delivery  a call on its way, with its attempts
//   lane        a conversation's place in the turn queue  step      one journaled effect inside a turn

export type { Say, Sentence } from '../locales/say.ts'
export { say } from '../locales/say.ts'
export type { AccessRule } from './access.ts'
export type {
  Adapter,
  Attempt,
  Ingress,
  OptionalVerbs,
  PolledBatch,
  ReceiveResult,
  RenderedCall,
  WatchResult,
} from './adapter.ts'
export { defineAdapter, UnparsableEventError } from './adapter.ts'
export { formatAddress, parseAddress } from './address.ts'
export type {
  Bearer,
  CallerContext,
  CallerResult,
  CallerVerifier,
} from './caller.ts'
export {
  bearerErrorCode,
  bearerMay,
  callerId,
  isPlainId,
  plainIdRemedy,
  runScope,
} from './caller.ts'
export type {
  Capabilities,
  PresenceDetails,
  PresenceUpdate,
  RecipientCapabilities,
  Starter,
} from './capabilities.ts'
export { writeCommand } from './capabilities.ts'
export type {
  AgentProfile,
  AgentSkill,
  ChannelDefinition,
  ChannelDeps,
  ChannelKeys,
  ClosedRooms,
  ConnectionConfig,
  ConnectionOptions,
  EnvironmentReading,
  FileSource,
  Hmac,
  Installation,
  Installations,
  KeyRing,
  Mailer,
  Offload,
  RawBlobs,
  ReplyMode,
  ReplyPolicySettings,
  RunLog,
  SpeakingDeps,
  TtlStore,
} from './channel.ts'
export {
  connectionConfig,
  createChannelSay,
  defineChannel,
  limitsSchema,
  OffloadError,
  parseSettings,
  requirePort,
  secretListSchema,
  secretSchema,
} from './channel.ts'
export type {
  ChannelCommand,
  ChannelCommandGroup,
  ChannelCommands,
  CommandContext,
  CommandFlags,
  CommandResult,
  OperatingCommand,
  OperatingContext,
  OperationResponse,
} from './channel-command.ts'
export { isOrderKey } from './delivery.ts'
export type { IdentityEvidence } from './evidence.ts'
export type {
  Envelope,
  Fields,
  GatewayEvent,
  Observer,
} from './gateway-events.ts'
export type {
  Connection,
  IgnoredEvent,
  InboundEvent,
  InboundMessage,
  OnceClaim,
  RawRequest,
  RequestHead,
  StoredEventFacts,
} from './inbound-event.ts'
export type { ChannelContext, ClientData, HistoricalMessage, NormalizedMessage } from './message.ts'
export {
  channelContextSchema,
  maxClientDataBytes,
} from './message.ts'
export { assuranceClasses, bearerEvidenceFacts, isPlainSubject, mintEvidence } from './mint-evidence.ts'
export type {
  AgentUrls,
  AncestorMessage,
  AncestorsRequest,
  DescribedRequest,
  EmailEventResult,
  Endpoint,
  FollowRequest,
  FrameOutcome,
  IngressContext,
  ListenResult,
  LiveFrame,
  LivePreview,
  LiveVerbs,
  OpenedFile,
  OperationChange,
  OperationResult,
  Operations,
  ReferencedMessage,
  ServeContext,
  WebFinger,
} from './optional-verbs.ts'
export type { KnownPart, Part } from './parts.ts'
export {
  bytesRefSchema,
  isKnownPart,
  maxInlineBytes,
  maxParts,
  maxTextLength,
  textOf,
  textPart,
} from './parts.ts'
export type {
  OwnAddress,
  ProbeFact,
  ProbeProblem,
  ProbeRequest,
  ProbeResult,
} from './probe.ts'
export { probeOwnAddress, probeReport, wrongAnswer } from './probe.ts'
export { createRateLimiter, type RateLimiter } from './rate-limiter.ts'
export type { ChannelRecord, ProtocolReply, Records, RecordWrite } from './records.ts'
export type {
  AgentFiles,
  AgentReply,
  RemoteAccess,
  RemoteAgent,
  RemoteCallContext,
  RemoteMemory,
} from './remote-agent.ts'
export type { ControlFacts, NormalizedResponse } from './response.ts'
export type {
  AcceptResult,
  DeliveryOutcome,
  LookupOutcome,
  RejectReason,
  TransportAnswer,
  VerifyResult,
} from './results.ts'
export type { Sender, SenderProfile, VerifiedSender } from './sender.ts'
export { registrableDomain, unverifiedSender, verifiedSender } from './sender.ts'
export type {
  PushConfig,
  PushConfigService,
  Task,
  TaskCaller,
  TaskClaim,
  TaskEvent,
  TaskMessage,
  TaskOutput,
  TaskQuery,
  TaskService,
  TaskSnapshot,
  TaskState,
  TaskWait,
} from './tasks.ts'
export { isFinalState } from './tasks.ts'
export { validateMessage } from './validate-message.ts'
