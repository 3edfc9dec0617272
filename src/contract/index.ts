// The vocabulary. One word per thing:
//
//   channel     a kind of transport                       arrival   bytes that came in, not yet judged
//   connection  one account on one channel                evidence  what was proven about a sender
//   adapter     a channel's four verbs                    principal who policy says the sender is
//   message     what an agent reads                       session   the memory of one conversation
//   reply       what an agent writes (NormalizedResponse) turn      one run of the agent, alone in its conversation
//   call        one vendor request as data                delivery  a call on its way, with its attempts
//   lane        a conversation's place in the turn queue  step      one journaled effect inside a turn

export type { AccessEntry, AccessRule } from './access.ts'
export { accessEntriesSchema, accessProblems, accessSchema } from './access.ts'
export type {
  Adapter,
  AdapterDefinition,
  Attempt,
  ReceiveResult,
  RenderedCall,
  SourceBatch,
  WatchResult,
} from './adapter.ts'
export { defineAdapter, UnparsableEventError } from './adapter.ts'
export type { Address } from './address.ts'
export { formatAddress, isCanonicalAddress, isHostedAddress, parseAddress } from './address.ts'
export type { AncestorMessage, AncestorsRequest, ReferencedMessage } from './around.ts'
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
} from './arrival.ts'
export { autonomousSources } from './autonomous-sources.ts'
export type { ChallengeFacts } from './bearer-challenge.ts'
export { bearerChallenge, bearerErrorCode } from './bearer-challenge.ts'
export { bearerEvidenceFacts } from './bearer-facts.ts'
export type {
  Bearer,
  CallerContext,
  CallerResult,
  CallerVerifier,
  ForeignTokenClaims,
  TokenRequirements,
} from './caller.ts'
export { bearerMay, callerContextSchema, maxChainDepth, runScope } from './caller.ts'
export { callerId, isPlainId, plainIdRemedy } from './caller-id.ts'
export type {
  Capabilities,
  CommandForm,
  MentionRelay,
  OptionalVerb,
  RateLimit,
  RecipientCapabilities,
  ReplyLimit,
} from './capabilities.ts'
export { mentionRelaySchema, writeCommand } from './capabilities.ts'
export type { Mailer } from './carrier.ts'
export type {
  AgentProfile,
  AgentSkill,
  AttentionMode,
  AttentionSettings,
  ChannelDefinition,
  ChannelDeps,
  ChannelKeys,
  ClosedRooms,
  ConnectionConfig,
  ConsentGrant,
  EnvironmentReading,
  FileLink,
  FileSource,
  Hmac,
  Installation,
  Installations,
  KeyRing,
  KnownPeople,
  MentionHumans,
  RawBlobs,
  RoomMemory,
  RunLog,
  SourcedFile,
  TtlEntry,
  TtlStore,
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
export type { ChannelContext, ClientContext, ClientData } from './channel-context.ts'
export { channelContextSchema, clientContext, maxClientDataBytes } from './channel-context.ts'
export { parseSettings, requirePort } from './checked-settings.ts'
export { cleanFileName } from './clean-file-name.ts'
export { cleanName } from './clean-name.ts'
export { cleanText } from './clean-text.ts'
export type { ConnectionOptions } from './connection-options.ts'
export { connectionConfig } from './connection-options.ts'
export { cloneForObserver } from './copy-for-watcher.ts'
export type { CallPurpose, CallQuestion, QueuedCall } from './delivery.ts'
export { isOrderKey, recipientLane } from './delivery.ts'
export type { AgentUrls, DiscoveryVerbs } from './discovery.ts'
export { displayAddress } from './display-address.ts'
export type { Envelope, EnvelopeType, Fields } from './envelope.ts'
export { envelopeSchemaId, envelopeTypes, envelopeVersion } from './envelope.ts'
export type { ErrorCode } from './errors.ts'
export { GatewayError, isGatewayError } from './errors.ts'
export type { ChannelEvent, GatewayEvent, LoopEvent, Observer, RuntimeToolEvent } from './events.ts'
export type { IdentityEvidence } from './evidence.ts'
export { identityEvidenceSchema } from './evidence.ts'
export { errorLogFields } from './failure-facts.ts'
export type { FetchRefusal, SafeFetch, SafeFetchOptions, SafeFetchResult } from './guarded-fetch.ts'
export { redactSecrets, secretQuery, secretValue } from './hide-secrets.ts'
export type { IdSource } from './ids.ts'
export { createIdSource } from './ids.ts'
export { importOnNode } from './import-on-node.ts'
export type { Json, JsonObject } from './json.ts'
export type { EmailEvent, EmailEventResult, IngressContext, ListenResult, OpenListener } from './listen.ts'
export type { FrameOutcome, LiveFrame, LivePreview, LiveVerbs } from './live.ts'
export type { Log, LogFields } from './log.ts'
export { sanitizeLogFields } from './log.ts'
export type { HistoricalMessage, NormalizedMessage } from './message.ts'
export { historicalMessageSchema, normalizedMessageSchema } from './message.ts'
export type { InboundOutcome, Meter, SendOutcome, ToolOutcome, TurnOutcome, WorkerLoopName } from './meter.ts'
export { noMeter } from './meter.ts'
export type { AssuranceClass, ProvenFacts } from './mint-evidence.ts'
export { assuranceClasses, isPlainSubject, mintEvidence } from './mint-evidence.ts'
export type { Offload, OffloadCall, OffloadFailure } from './offload.ts'
export { OffloadError } from './offload.ts'
export type { OpenedFile } from './opened-file.ts'
export type { Operation, OperationChange, OperationFacts, OperationResult, Operations } from './operate.ts'
export type {
  AcceptResult,
  DeliveryOutcome,
  LookupOutcome,
  RejectedEventFacts,
  RejectReason,
  TransportAnswer,
  VerifyResult,
} from './outcomes.ts'
export { createRateLimiter, type RateLimiter } from './pace.ts'
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
export type { ChannelRecord, ProtocolReply, RecordFacts, Records, RecordWrite } from './records.ts'
export type { ClientFacts, ControlFacts, NormalizedResponse, StreamChunk } from './response.ts'
export { agentResponseSchema, normalizedResponseSchema } from './response.ts'
export type { Secret } from './secret.ts'
export { secret } from './secret.ts'
export type { PolicySender, Sender, SenderProfile, UnverifiedSender, VerifiedSender } from './sender.ts'
export { senderSchema, unverifiedSender, verifiedSender } from './sender.ts'
export { registrableDomain, senderGroup } from './sender-group.ts'
export type { DescribedRequest, Endpoint, FollowRequest, ServeContext } from './serve.ts'
export { limitsSchema, secretSchema } from './setting-schemas.ts'
export type { PresenceDetails, PresenceUpdate, Starter } from './sign.ts'
export type { StoreWithRetry } from './store-result.ts'
export type { OpenPairing, StoredAccess, StoredGrant } from './stored-access.ts'
export { noStoredAccess } from './stored-access.ts'
export type { DayShare, StrangerLimits, StrangerSettings } from './strangers.ts'
export { strangerLimits, strangerProblems } from './strangers.ts'
export { hasSubjectPrefix } from './subject-prefix.ts'
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
export type { ErrorSource, ThrownError } from './thrown-error.ts'
export { describeError, formatThrownError } from './thrown-error.ts'
export type { MessageCode, MessageValidation, ValidationScope } from './validate-message.ts'
export { validateMessage } from './validate-message.ts'
export { hasOnlyVisibleCharacters } from './visible-text.ts'
export { delimitedPrefixSchema, wordSchema } from './word-schemas.ts'
export type { WorkspaceScope } from './workspace-scope.ts'
export { readWorkspaceScope, workspaceKey } from './workspace-scope.ts'
