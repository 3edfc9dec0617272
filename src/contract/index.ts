// The contract that adapters, agents and hosts program against. One word per thing:
//
//   channel     a kind of transport                       event     bytes that came in, not yet verified
//   connection  one account on one channel                evidence  what was proven about a sender
//   adapter     a channel's four verbs                    principal who policy says the sender is
//   message     what an agent reads                       session   the memory of one conversation
//   reply       what an agent writes (NormalizedResponse) turn      one run of the agent, alone in its conversation
//   call        one vendor request as data                delivery  a call on its way, with its attempts
//   lane        a conversation's place in the turn queue  step      one journaled effect inside a turn

export { cleanFileName, cleanName, cleanText, hasOnlyVisibleCharacters } from '../lib/clean-text.ts'
export type { ErrorCode, ErrorSource, ThrownError } from '../lib/errors.ts'
export { describeError, formatThrownError, GatewayError, isGatewayError } from '../lib/errors.ts'
export type { IdSource } from '../lib/ids.ts'
export { createIdSource } from '../lib/ids.ts'
export { importOnNode } from '../lib/import-on-node.ts'
export type { Json, JsonObject } from '../lib/json-value.ts'
export type { Log, LogFields } from '../lib/log.ts'
export { errorLogFields, sanitizeLogFields } from '../lib/log.ts'
export type { FetchRefusal, SafeFetch, SafeFetchOptions, SafeFetchResult } from '../lib/safe-fetch-port.ts'
export type { Secret } from '../lib/secret.ts'
export { redactSecrets, secret, secretQuery, secretValue } from '../lib/secret.ts'
export type { Say, Sentence, Sentences } from '../locales/say.ts'
export { say } from '../locales/say.ts'
export type {
  AccessEntry,
  AccessRule,
  DayShare,
  OpenPairing,
  StoredAccess,
  StoredGrant,
  StrangerLimits,
  StrangerSettings,
} from './access.ts'
export {
  accessEntriesSchema,
  accessProblems,
  accessSchema,
  delimitedPrefixSchema,
  hasSubjectPrefix,
  noStoredAccess,
  strangerLimits,
  strangerProblems,
  wordSchema,
} from './access.ts'
export type {
  Adapter,
  AdapterDefinition,
  Attempt,
  Ingress,
  OptionalVerbs,
  PolledBatch as SourceBatch,
  Presence,
  ReceiveResult,
  RenderedCall,
  WatchResult,
} from './adapter.ts'
export { defineAdapter, UnparsableEventError } from './adapter.ts'
export type { Address } from './address.ts'
export { displayAddress, formatAddress, isCanonicalAddress, isHostedAddress, parseAddress } from './address.ts'
export type {
  Bearer,
  CallerContext,
  CallerResult,
  CallerVerifier,
  ChallengeFacts,
  ForeignTokenClaims,
  TokenRequirements,
} from './caller.ts'
export {
  autonomousSources,
  bearerChallenge,
  bearerErrorCode,
  bearerMay,
  callerContextSchema,
  callerId,
  isPlainId,
  maxChainDepth,
  plainIdRemedy,
  runScope,
} from './caller.ts'
export type {
  Capabilities,
  CommandForm,
  MentionRelay,
  PresenceDetails,
  PresenceUpdate,
  RateLimit,
  RecipientCapabilities,
  ReplyLimit,
  Starter,
} from './capabilities.ts'
export { mentionRelaySchema, writeCommand } from './capabilities.ts'
export type {
  AgentProfile,
  AgentSkill,
  AmbientLimits,
  ChannelDefinition,
  ChannelDeps,
  ChannelKeys,
  ClosedRooms,
  ConnectionConfig,
  ConnectionOptions,
  ConsentGrant,
  EnvironmentReading,
  FileLink,
  FileSource,
  Hmac,
  Installation,
  Installations,
  KeyRing,
  KnownPeople,
  Mailer,
  MentionHumans,
  Offload,
  OffloadCall,
  OffloadFailure,
  RawBlobs,
  ReplyMode,
  ReplyPolicySettings,
  RunLog,
  SourcedFile,
  SpeakingDeps,
  TtlEntry,
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
  secretSchema,
} from './channel.ts'
export type {
  ChannelCommand,
  ChannelCommandGroup,
  ChannelCommands,
  CommandContext,
  CommandFlag,
  CommandFlags,
  CommandResult,
  OperatingCommand,
  OperatingContext,
  OperationResponse,
} from './channel-command.ts'
export { cloneForObserver } from './copy-for-watcher.ts'
export type { CallPurpose, CallQuestion, QueuedCall } from './delivery.ts'
export { isOrderKey, recipientLane } from './delivery.ts'
export type { IdentityEvidence } from './evidence.ts'
export { identityEvidenceSchema } from './evidence.ts'
export type {
  ChannelEvent,
  Envelope,
  EnvelopeType,
  Fields,
  GatewayEvent,
  LoopEvent,
  Observer,
  RuntimeToolEvent,
} from './gateway-events.ts'
export { envelopeSchemaId, envelopeTypes, envelopeVersion } from './gateway-events.ts'
export type {
  Bounce,
  Connection,
  IgnoredEvent,
  InboundEvent,
  InboundMessage,
  OmittedContent,
  OnceClaim,
  PendingBlob,
  RawRequest,
  RequestHead,
  RequestSource,
  RoomStatusChange,
  StoredEventFacts,
  ThreadClaim,
} from './inbound-event.ts'
export type { ChannelContext, ClientContext, ClientData, HistoricalMessage, NormalizedMessage } from './message.ts'
export {
  channelContextSchema,
  clientContext,
  historicalMessageSchema,
  maxClientDataBytes,
  normalizedMessageSchema,
} from './message.ts'
export type { InboundOutcome, Meter, SendOutcome, ToolOutcome, TurnOutcome, WorkerLoopName } from './metrics.ts'
export { noMeter } from './metrics.ts'
export type { AssuranceClass, ProvenFacts } from './mint-evidence.ts'
export { assuranceClasses, bearerEvidenceFacts, isPlainSubject, mintEvidence } from './mint-evidence.ts'
export type {
  AgentUrls,
  AncestorMessage,
  AncestorsRequest,
  DescribedRequest,
  EmailEvent,
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
  OpenListener,
  Operation,
  OperationChange,
  OperationFacts,
  OperationResult,
  Operations,
  ReferencedMessage,
  ServeContext,
  WebFinger,
} from './optional-verbs.ts'
export type { Page } from './page.ts'
export type { AttachmentRef, BytesRef, KnownPart, Part } from './parts.ts'
export {
  bytesRefSchema,
  isKnownPart,
  maxInlineBytes,
  maxParts,
  maxTextLength,
  partSchema,
  promptParts,
  textOf,
  textPart,
} from './parts.ts'
export type {
  OwnAddress,
  ProbeFact,
  ProbeProblem,
  ProbeRequest,
  ProbeResult,
  ProbeState,
  PublicUrlState,
} from './probe.ts'
export { probeOwnAddress, probeReport, probeState, unreachableAddress, worstProblem, wrongAnswer } from './probe.ts'
export { createRateLimiter, type RateLimiter } from './rate-limiter.ts'
export type { ChannelRecord, ProtocolReply, RecordFacts, Records, RecordWrite } from './records.ts'
export type {
  AgentFiles,
  AgentReply,
  RemoteAccess,
  RemoteAgent,
  RemoteCallContext,
  RemoteHop,
  RemoteMemory,
  RunContext,
  StepContext,
  StepOptions,
} from './remote-agent.ts'
export type { ClientFacts, ControlFacts, NormalizedResponse, StreamChunk } from './response.ts'
export { agentResponseSchema, normalizedResponseSchema } from './response.ts'
export type {
  AcceptResult,
  DeliveryOutcome,
  LookupOutcome,
  RejectedEventFacts,
  RejectReason,
  TransportAnswer,
  VerifyResult,
} from './results.ts'
export type { PolicySender, Sender, SenderProfile, UnverifiedSender, VerifiedSender } from './sender.ts'
export { registrableDomain, senderGroup, senderSchema, unverifiedSender, verifiedSender } from './sender.ts'
export type { StoreWithRetry } from './store-result.ts'
export type {
  PushConfig,
  PushConfigService,
  Task,
  TaskCaller,
  TaskClaim,
  TaskEvent,
  TaskMessage,
  TaskOutput,
  TaskPage,
  TaskQuery,
  TaskService,
  TaskSnapshot,
  TaskState,
  TaskWait,
} from './tasks.ts'
export { isFinalState } from './tasks.ts'
export type { MessageCode, MessageValidation, ValidationScope } from './validate-message.ts'
export { validateMessage } from './validate-message.ts'
export type { WorkspaceScope } from './workspace-scope.ts'
export { readWorkspaceScope, workspaceKey } from './workspace-scope.ts'
