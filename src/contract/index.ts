// The contract that adapters, agents and hosts program against. One word per thing:
//
//   channel     a kind of transport                       event     bytes that came in, not yet verified
//   connection  one account on one channel                evidence  what was proven about a sender
//   adapter     a channel's four verbs                    principal who policy says the sender is
//   message     what an agent reads                       session   the memory of one conversation
//   reply       what an agent writes (NormalizedResponse) turn      one run of the agent, alone in its conversation
//   call        one vendor request as data                delivery  a call on its way, with its attempts
//   lane        a conversation's place in the turn queue  step      one journaled effect inside a turn
//
// These are the names that adapters need. A type that follows from one of them is written by it: `ChannelDeps['runLog']`,
// `NonNullable<Adapter['follow']>`. The core imports the files of this folder themselves; what agents and hosts need besides is
// exported by `src/index.ts`.

export type { Sentence } from '../locales/say.ts'
export { say } from '../locales/say.ts'
export type { AccessRule } from './access.ts'
export type { Adapter, Attempt, Ingress, PolledBatch, RenderedCall, WatchResult } from './adapter.ts'
export { defineAdapter, UnparsableEventError } from './adapter.ts'
export { formatAddress, parseAddress } from './address.ts'
export type { CallerResult, CallerVerifier } from './caller.ts'
export {
  callerChosenIdSchema,
  hasBearerScope,
  isPlainId,
  plainIdRemedy,
  runScope,
} from './caller.ts'
export type { Capabilities, PresenceDetails } from './capabilities.ts'
export type {
  AgentProfile,
  ChannelDefinition,
  ChannelDeps,
  ConnectionConfig,
  ConnectionOptions,
  EnvironmentReading,
  FileSource,
  ReplyMode,
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
} from './channel-command.ts'
export { isOrderKey } from './delivery.ts'
export type {
  Connection,
  IgnoredEvent,
  InboundEvent,
  InboundMessage,
  RawRequest,
  RequestHead,
  StoredEventFacts,
} from './inbound-event.ts'
export type { ChannelContext, NormalizedMessage } from './message.ts'
export { maxClientDataBytes } from './message.ts'
export { bearerEvidenceFacts, mintEvidence } from './mint-evidence.ts'
export type {
  AncestorMessage,
  AncestorsRequest,
  FrameOutcome,
  LiveFrame,
  LiveVerbs,
  OpenedFile,
  OperationResult,
  Operations,
  ServeContext,
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
export type { ProbeProblem, ProbeRequest, ProbeResult } from './probe.ts'
export { probeOwnAddress, probeReport, wrongAnswerProblem } from './probe.ts'
export type { Records, RecordWrite } from './records.ts'
export type { AgentReply, RemoteAgent, RemoteCallContext } from './remote-agent.ts'
export type { NormalizedResponse } from './response.ts'
export type {
  DeliveryResult,
  LookupResult,
  ReceiveResult,
  RejectReason,
  TransportAnswer,
  VerifyResult,
} from './results.ts'
export type { Sender } from './sender.ts'
export { registrableDomain, unverifiedSender, verifiedSender } from './sender.ts'
export type { PushConfig, Task, TaskEvent, TaskService, TaskSnapshot, TaskState, TaskWait } from './tasks.ts'
export { isFinalState } from './tasks.ts'
