// The stored state of a paused model run: made when its calls come to wait, read back with what was decided.

import type { Envelope } from '../contract/gateway-events.ts'
import type { NormalizedMessage } from '../contract/index.ts'
import { asFields, toJson, toStorableJson, trimmedText } from '../lib/index.ts'
import type { Fields, JsonObject } from '../lib/json-value.ts'
import type { EndedPause, PauseDecision, Pauses } from './approvals/pauses.ts'
import { toApprovalEnvelope } from './approvals/pending-action.ts'
import type { ApprovalTerms } from './approvals/terms.ts'
import type { AgentContext, SignalContext } from './context.ts'
import type { ConversationResult } from './loop/conversation-result.ts'
import type { ResumePoint } from './loop/options.ts'
import { toolCallEnvelope } from './messages.ts'
import type { ModelAgentOptions } from './model-agent-options.ts'
import { type CarriedData, listTranscriptBefore, omitClientState } from './model-view.ts'
import { collectOfferedDeclarations } from './run-tools.ts'
import { createToolCatalog } from './tools/catalog.ts'
import type { Tool } from './tools/define-tool.ts'
import { redactParameters, type Sensitivity } from './tools/redact.ts'
import type { ReadyCall, ToolResult } from './tools/tool.ts'
import { declaredNameField } from './tools/tool-names.ts'
import {
  failedResult,
  listSecretParameterValues,
  normalizeToolResult,
  redactResultForStorage,
} from './tools/tool-result.ts'
import type { AnsweredCall, Runnable, ToolRunnerDeps } from './tools/tool-runner.ts'

export type Sender = NormalizedMessage['sender']

export type Suspended = {
  readonly point: ResumePoint
  /** What its tools were bound to, and whom its policies looked at. */
  readonly facts: Fields
  readonly sender: Pick<Sender, 'address' | 'auth_method' | 'verified'>
  readonly clientTools: readonly unknown[]
  /** What its program sent along; a message that it goes on with brings its own. */
  readonly carried?: CarriedData | undefined
}

export function serializeSuspendedRun(point: ResumePoint, run: Omit<Suspended, 'point'>): JsonObject {
  const { address, auth_method, verified } = run.sender
  const { facts, clientTools, carried } = run
  // Parameters, facts and declarations are JSON by construction.
  return toStorableJson({
    point,
    facts,
    sender: { address, auth_method, verified },
    clientTools,
    carried,
  }) as JsonObject
}

function readSuspendedRun(resume: JsonObject): Suspended {
  // Written by `serializeSuspendedRun` and by nothing else.
  return resume as unknown as Suspended
}

/** What a resumed run begins with. */
export type Resumed = {
  readonly lines: readonly Envelope[]
  /** How many of the lines the transcript holds already. */
  readonly known: number
  readonly facts: Fields
  readonly sender: Suspended['sender']
  readonly clientTools: readonly unknown[]
  readonly carried: CarriedData | undefined
  readonly resumed: { readonly from: ResumePoint; readonly answered: AnsweredCall }
}

/** The call stands before its result, also when the transcript's window or a new session has lost it. */
export function buildResumedRunStart(options: ModelAgentOptions, pause: EndedPause, context: SignalContext): Resumed {
  const from = readSuspendedRun(pause.resume)
  const callId = from.point.waitingCalls[0]?.id ?? ''
  const before = listTranscriptBefore(options, from.sender, context).filter(
    (line) => !isWaitingCall(line, pause, callId, context),
  )
  const catalog = createToolCatalog(collectOfferedDeclarations(options, from.clientTools).accepted)
  const call = waitingCallEnvelope(from, catalog.find)
  const isStored = pause.sessionId === context.sessionId
  const lines = call === undefined ? before : [...before, call]
  return {
    lines,
    known: isStored ? lines.length : before.length,
    facts: from.facts,
    sender: from.sender,
    clientTools: from.clientTools,
    carried: omitClientState(context.client) ?? from.carried,
    resumed: { from: from.point, answered: endedPauseToCallAnswer(pause, callId) },
  }
}

/** Call ids may repeat from run to run: of this session's calls the last one under that id is the one that waits. */
function isWaitingCall(
  line: Envelope,
  pause: EndedPause,
  callId: string,
  { transcript, sessionId }: SignalContext,
): boolean {
  if (pause.sessionId !== sessionId) return false
  return line === transcript.findLast((each) => each.type === 'tool_call' && each.metadata['tool_call_id'] === callId)
}

/** Results in a transcript are clean already; they may stand beside the decision. */
export function settlePauseWithResult(
  answered: AnsweredCall | undefined,
  result: ConversationResult,
  { pause }: Pick<SignalContext, 'pause'>,
): void {
  if (answered === undefined) return
  const done = result.tool_execution_results.find((each) => each.tool_call_id === answered.callId)?.result
  const error = done?.['error']
  pause.settle({ result: toJson(done?.['result']) ?? null, error: typeof error === 'string' ? error : null })
}

/** The line of the call that waits, as the transcript has it: hidden values stay hidden. */
function waitingCallEnvelope({ point }: Suspended, find: (name: string) => Named | undefined): Envelope | undefined {
  const [call] = point.waitingCalls
  if (call === undefined) return undefined
  const declaration = find(call.name)
  const parameters = redactParameters(call.parameters, declaration)
  const facts = { tool: declaration?.name ?? call.name, parameters, turn: point.turn }
  return toolCallEnvelope('', facts, { tool_call_id: call.id, parameters_redacted: true })
}

type Named = Sensitivity & { readonly name: string }

/** What the tools do with the call that waited. */
function endedPauseToCallAnswer(pause: EndedPause, callId: string): AnsweredCall {
  if (pause.kind === 'tool_request')
    return { callId, answer: { kind: 'result', isRejected: false, result: clientToolResultBuilder(pause) } }
  const { decision, id, resolver, applyInput } = pause
  if (decision === 'accepted') {
    const shown = { approval: { action_id: id, resolver: resolver ?? '' } }
    return { callId, answer: { kind: 'approved', input: asFields(applyInput), shown } }
  }
  const refusalResult = (call: ReadyCall): ToolResult =>
    failedResult(callDeclaration(call), errorTypes[decision], refusals[decision](call.tool_name, pause.reason))
  return { callId, answer: { kind: 'result', isRejected: true, result: refusalResult } }
}

type Refused = Exclude<PauseDecision, 'accepted'>

const errorTypes: Readonly<Record<Refused, string>> = {
  rejected: 'approval_rejected',
  expired: 'approval_expired',
  deleted: 'approval_withdrawn',
  tampered: 'approval_tampered',
}

const refusals: Readonly<Record<Refused, (tool: string, reason: string | null) => string>> = {
  rejected: (tool, reason) =>
    `${tool} was not run: the person refused.${reason === null ? '' : ` Their reason: ${reason}`} Do not call it again unless they ask for it.`,
  expired: (tool) => `${tool} was not run: it was not approved in time. Tell the person; they may ask for it again.`,
  deleted: (tool) => `${tool} was not run: the request for approval was withdrawn. Do not call it again.`,
  tampered: (tool) =>
    `${tool} was not run: what was stored is not what was approved. Tell the person that their operator should look at it.`,
}

type EndedRequest = Extract<EndedPause, { kind: 'tool_request' }>

function clientToolResultBuilder({ status, isCancelled, result }: EndedRequest) {
  return (call: ReadyCall): ToolResult => {
    if (status === 'runtime_tool_completed') return normalizeToolResult(callDeclaration(call), result ?? {})
    const error = isCancelled
      ? `${call.tool_name} was cancelled by the client that should have run it. Do not call it again.`
      : `${call.tool_name} was not answered in time. Tell the person; they may ask for it again.`
    return failedResult(callDeclaration(call), isCancelled ? 'runtime_tool_cancelled' : 'runtime_tool_timeout', error)
  }
}

function callDeclaration(call: ReadyCall) {
  return call.declaration ?? { name: call.tool_name }
}

// Calls wait for a person's approval, or for the client that runs the tool.

type Staging = Required<Pick<ToolRunnerDeps, 'stageApproval' | 'stagePending'>>

/** `resume` says, once the run has ended, where it goes on. */
export function createPausedCallStaging(
  tools: readonly Tool[],
  { pause, report }: { readonly pause: Pauses } & Pick<AgentContext, 'report'>,
  resume: (call: Runnable) => () => JsonObject,
): Staging {
  const termsOf = new Map(tools.map((tool) => [tool.declaration.name, tool.approval]))
  return {
    async stageApproval(call, details) {
      const terms = termsOf.get(call.tool_name) ?? {}
      const preview = approvalPreview(call, details)
      const { action, question } = await pause.approval({
        summary: approvalSummary(call, terms, details, report),
        apply_input: toStorableJson(call.prepared.parameters),
        preview,
        ...(terms.expiresInMs === undefined ? {} : { expiresInMs: terms.expiresInMs }),
        ...(terms.by === undefined ? {} : { by: terms.by }),
        tool: { name: call.tool_name, callId: call.id },
        resume: resume(call),
      })
      const envelope = toApprovalEnvelope(action, { instruction: question, shownInput: toStorableJson(call.redacted) })
      return { envelope, actionId: action.action_id }
    },
    async stagePending(call, request) {
      return pause.toolRequest({
        tool: { name: call.tool_name, callId: call.id, ...declaredNameField(call.declaration) },
        // Parameters are JSON: they came from a model or a binding.
        parameters: toStorableJson(call.prepared.parameters) as JsonObject,
        shown: toStorableJson(call.redacted) as JsonObject,
        request: (toJson(request) ?? {}) as JsonObject,
        resume: resume(call),
      })
    },
  }
}

/** The parameters without their secrets, and what a tool that asks by itself has to say about it. */
function approvalPreview(call: Runnable, details: Fields) {
  const asked = asFields(asFields(details['result'])['preview'])
  const told = { success: true, tool_name: call.tool_name, metadata: {}, result: asked }
  const clean = redactResultForStorage(told, call.prepared.parameters, call.declaration).result
  return toStorableJson({ ...call.redacted, ...asFields(clean) })
}

function approvalSummary(
  call: Runnable,
  { summary }: ApprovalTerms,
  details: Fields,
  report: AgentContext['report'],
): string {
  const own = trimmedText(asFields(details['result'])['summary']) ?? writeCustomSummary(call, summary, report)
  if (own === undefined) return `run ${call.tool_name}`
  const told = { success: true, tool_name: call.tool_name, metadata: {}, result: own }
  return String(redactResultForStorage(told, call.prepared.parameters, call.declaration).result)
    .slice(0, 500)
    .toWellFormed()
}

/** Words that fail must not decide whether a person is asked. */
function writeCustomSummary(
  { tool_name: name, prepared, declaration }: Runnable,
  summary: ApprovalTerms['summary'],
  report: AgentContext['report'],
): string | undefined {
  try {
    return trimmedText(summary?.(prepared.parameters))
  } catch (error) {
    report(error, {
      source: 'approval_summary',
      name,
      hide: listSecretParameterValues(prepared.parameters, declaration),
    })
    return undefined
  }
}
