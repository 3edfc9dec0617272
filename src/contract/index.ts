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
  Reception,
  RenderedCall,
  SourceBatch,
  WatchResult,
} from './adapter.ts'
export { defineAdapter, UnreadableArrival } from './adapter.ts'
export type { Address } from './address.ts'
export { formatAddress, isCanonicalAddress, isHostedAddress, parseAddress } from './address.ts'
export type { AroundRequest, AroundWords, NamedMessage } from './around.ts'
export type {
  ArrivalHead,
  Arrived,
  ArrivedMessage,
  ArrivedNothing,
  Bounce,
  Connection,
  KeptFacts,
  LeftOut,
  OnceClaim,
  PlaceChange,
  RawArrival,
  RequestSource,
  ThreadClaim,
  ToKeep,
} from './arrival.ts'
export { autonomousSources } from './autonomous-sources.ts'
export type { ChallengeFacts } from './bearer-challenge.ts'
export { bearerChallenge, bearerErrorOf } from './bearer-challenge.ts'
export { bearerFacts } from './bearer-facts.ts'
export type { Bearer, CallerContext, CallerDesk, CallerVerdict, CallerWish, TokenVoucher } from './caller.ts'
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
export type { Carrier } from './carrier.ts'
export type {
  AgentProfile,
  AgentSkill,
  AttentionMode,
  AttentionSettings,
  ChannelDefinition,
  ChannelDeps,
  ChannelKeys,
  ConnectionConfig,
  ConsentGrant,
  EnvironmentReading,
  FileLink,
  FileSource,
  Hmac,
  Installation,
  Installations,
  KeyRing,
  MentionHumans,
  Note,
  Notes,
  Originals,
  People,
  Places,
  RoomMemory,
  RunLog,
  SourcedFile,
} from './channel.ts'
export type {
  ChannelCommand,
  ChannelCommandGroup,
  ChannelCommands,
  CommandDesk,
  CommandFlag,
  CommandFlags,
  CommandResult,
  OperatedAnswer,
  OperatingCommand,
  OperatorDesk,
} from './channel-command.ts'
export type { ChannelContext, ClientContext, ClientData } from './channel-context.ts'
export { channelContextSchema, clientContext, maxClientDataBytes } from './channel-context.ts'
export { checkedSettings, neededPort } from './checked-settings.ts'
export { cleanFileName } from './clean-file-name.ts'
export { cleanName } from './clean-name.ts'
export { cleanText } from './clean-text.ts'
export type { ConnectionOptions } from './connection-options.ts'
export { connectionConfig } from './connection-options.ts'
export { copyForWatcher } from './copy-for-watcher.ts'
export type { CallPurpose, CallQuestion, QueuedCall } from './delivery.ts'
export { isOrderKey, recipientLane } from './delivery.ts'
export type { AgentPlaces, DiscoveryVerbs } from './discovery.ts'
export { displayAddress } from './display-address.ts'
export type { Envelope, EnvelopeType, Fields } from './envelope.ts'
export { envelopeSchemaId, envelopeTypes, envelopeVersion } from './envelope.ts'
export type { ErrorCode } from './errors.ts'
export { GatewayError, isGatewayError } from './errors.ts'
export type { ChannelEvent, GatewayEvent, LoopEvent, Observer, RuntimeToolEvent } from './events.ts'
export type { IdentityEvidence } from './evidence.ts'
export { identityEvidenceSchema } from './evidence.ts'
export { failureFacts } from './failure-facts.ts'
export type { FetchRefusal, GuardedFetch, GuardedFetchOptions, GuardedOutcome } from './guarded-fetch.ts'
export { hideSecrets, secretQuery, secretValue } from './hide-secrets.ts'
export type { IdSource } from './ids.ts'
export { createIdSource } from './ids.ts'
export { importOnNode } from './import-on-node.ts'
export type { Json, JsonObject } from './json.ts'
export type { HandedAnswer, HandedOver, ListenAnswer, ListenDoor, Listening } from './listen.ts'
export type { FrameOutcome, LiveFrame, LivePreview, LiveVerbs } from './live.ts'
export type { Log, LogFacts } from './log.ts'
export { safeFacts } from './log.ts'
export type { HistoricalMessage, NormalizedMessage } from './message.ts'
export { historicalMessageSchema, normalizedMessageSchema } from './message.ts'
export type { ArrivalOutcome, Meter, PumpName, SendOutcome, ToolOutcome, TurnOutcome } from './meter.ts'
export { noMeter } from './meter.ts'
export type { AssuranceClass, ProvenFacts } from './mint-evidence.ts'
export { assuranceClasses, isPlainSubject, mintEvidence } from './mint-evidence.ts'
export type { Offload, OffloadCall, OffloadFailure } from './offload.ts'
export { OffloadError } from './offload.ts'
export type { OpenedFile } from './opened-file.ts'
export type { Operated, Operation, OperationChange, OperationFacts, Operations } from './operate.ts'
export type {
  Acceptance,
  DeliveryOutcome,
  LookupOutcome,
  RejectReason,
  TransportAnswer,
  TurnedAwayFacts,
  Verdict,
} from './outcomes.ts'
export { createPace, type Pace } from './pace.ts'
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
export type { ChannelRecord, Effect, ProtocolSend, RecordFacts, Records } from './records.ts'
export type { ClientFacts, ControlFacts, NormalizedResponse, StreamChunk } from './response.ts'
export { agentResponseSchema, normalizedResponseSchema } from './response.ts'
export type { Secret } from './secret.ts'
export { secret } from './secret.ts'
export type { PolicySender, Sender, SenderProfile, UnverifiedSender, VerifiedSender } from './sender.ts'
export { senderSchema, unverifiedSender, verifiedSender } from './sender.ts'
export { registrableDomain, senderGroup } from './sender-group.ts'
export type { DescribedRequest, Endpoint, FollowRequest, ServeDoor } from './serve.ts'
export { limitsSchema, secretSchema } from './setting-schemas.ts'
export type { Sign, SignFacts, Starter } from './sign.ts'
export type { StoreResult } from './store-result.ts'
export type { OpenPairing, StoredAccess, StoredGrant } from './stored-access.ts'
export { nothingStored } from './stored-access.ts'
export type { DayShare, StrangerLimits, StrangerSettings } from './strangers.ts'
export { strangerLimits, strangerProblems } from './strangers.ts'
export { isWithin } from './subject-prefix.ts'
export type {
  PushConfig,
  PushDesk,
  Task,
  TaskCaller,
  TaskClaim,
  TaskDesk,
  TaskEvent,
  TaskMessage,
  TaskOutput,
  TaskPage,
  TaskQuery,
  TaskSnapshot,
  TaskState,
  TaskWait,
} from './tasks.ts'
export { isFinalState } from './tasks.ts'
export type { ErrorSource, ThrownError } from './thrown-error.ts'
export { describeError, thrownLines } from './thrown-error.ts'
export type { MessageCode, MessageValidation, ValidationScope } from './validate-message.ts'
export { validateMessage } from './validate-message.ts'
export { isVisible } from './visible-text.ts'
export { delimitedPrefix, word } from './word-schemas.ts'
export type { WorkspaceScope } from './workspace-scope.ts'
export { readWorkspaceScope, workspaceKey } from './workspace-scope.ts'
