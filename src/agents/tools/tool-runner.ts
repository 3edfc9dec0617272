// The tool runner of one run: prepare, mediate, correct, ask, run once, shorten. In this order, so that no person is asked to
// approve a call that could not run, and nothing runs that a person should have approved.
import type { Envelope } from '../../contract/gateway-events.ts'
import { isPlainObject, stableStringify, toStorableJson, trimmedText } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import type { ToolCallFacts } from '../context.ts'
import type { LoopObserver } from '../loop/events.ts'
import { redactAndHashParameters } from '../loop/tool-records.ts'
import type { ActionPolicy, ActionRuling } from '../policy/action-policy.ts'
import { type DuplicateCalls, hashCallSignature } from './call-guards.ts'
import { findCapabilityDenial } from './capability.ts'
import type { ToolCatalog } from './catalog.ts'
import { type ExecutionDeps, executeCall } from './execute-call.ts'
import { type ArgumentFault, validateArguments } from './json-schema.ts'
import { type Mediation, mediateToolCall, type PreToolMediator } from './mediate.ts'
import { fillBoundParameters, listHiddenParameters, missingParameters } from './parameters.ts'
import type {
  CallContext,
  CallEnd,
  PreparedCall,
  ReadyCall,
  RequestedCall,
  ToolContext,
  ToolDeclaration,
  ToolResult,
  ToolRunner,
} from './tool.ts'
import { failedResult, redactResultForStorage, type ToolResultTruncator } from './tool-result.ts'

export type Runnable = ReadyCall & { readonly prepared: PreparedCall; readonly declaration: ToolDeclaration }
export type EffectContext = Pick<ToolContext, 'key' | 'fetch' | 'signal' | 'assertHeld' | 'isUnsent'>

/** A person approved: `input` is what they approved, `shown` what the tool may know of it. */
export type Approved = {
  readonly kind: 'approved'
  readonly input: Fields
  readonly shown: Pick<ToolContext, 'approval'>
}

export type AnsweredCall = {
  readonly callId: string
  readonly answer:
    | Approved
    /** It is not run here: refused, expired, or run by a client. */
    | { readonly kind: 'result'; readonly isRejected: boolean; readonly result: (call: ReadyCall) => ToolResult }
}

export type ToolRunnerDeps = ExecutionDeps & {
  readonly catalog: ToolCatalog
  /** Makes the effect once, also when the process dies in the middle: the journal. */
  readonly once: (call: Runnable, effect: (context: EffectContext) => Promise<ToolResult>) => Promise<ToolResult>
  /** The journal holds the result of this call: it is read back, and no policy is asked again. */
  readonly isFinished?: (call: Runnable) => Promise<boolean>
  readonly mediators?: readonly PreToolMediator[]
  readonly mediationTimeoutMs?: number
  readonly duplicates?: DuplicateCalls
  /** `direct` also for a call that has been approved. Absent: every call is direct. */
  readonly actionOf?: (call: Runnable) => ActionPolicy | ActionRuling
  readonly stageApproval?: (call: Runnable, details: Fields) => Promise<{ envelope: Envelope; actionId: string }>
  /** Stores the request with its raw parameters; what it returns is shown and has none. */
  readonly stagePending?: (call: Runnable, request: Fields) => Promise<Fields>
  /** What became of the call a resumed run begins with. */
  readonly answered?: AnsweredCall
  readonly truncate?: ToolResultTruncator
  readonly diagnostics?: (call: ReadyCall, result: ToolResult) => Fields | undefined
  readonly observe?: LoopObserver
  /** What each call came to. Not asked of calls that an earlier try has made. */
  readonly onCall?: (facts: ToolCallFacts) => Promise<void>
  readonly onMediatorException?: (error: unknown) => void
}

const defaultMediationTimeoutMs = 10_000

export function createToolRunner(deps: ToolRunnerDeps): ToolRunner {
  return {
    declarations: deps.catalog.tools,
    rejected: deps.catalog.rejected,
    async ready(asked, id, context) {
      const made = bindAndValidateCall(deps.catalog, { ...asked, id }, { turn: 0, ordinal: 0, context })
      return {
        id,
        tool_name: made.toolName,
        asked,
        ...(made.declaration === undefined ? {} : { declaration: made.declaration }),
        ...(made.call === undefined ? { refusal: made.refusal } : { prepared: made.call }),
        ...(await redactAndHashParameters(made.parameters, made.declaration)),
      }
    },
    async run(call, context) {
      const startedAt = performance.now()
      const reportCallWithDuration = (end: CallEnd): Promise<CallEnd> =>
        reportCall(deps, call, end, performance.now() - startedAt)
      const answer = deps.answered?.callId === call.id ? deps.answered.answer : undefined
      if (answer?.kind === 'result') {
        const how = answer.isRejected ? { isRejected: true, rule: 'approval' } : {}
        return reportCallWithDuration(finishCallWithResult(deps, call, answer.result(call), how))
      }
      const done = answer === undefined ? call : isCallPrepared(call) ? replaceInput(call, answer.input) : undefined
      if (done !== undefined && isCallPrepared(done) && (await deps.isFinished?.(done)) === true)
        return executePermittedCall(deps, done, context, answer)
      const mediation = await mediateToolCall(deps.mediators ?? [], mediatorContext(call, context), {
        signal: context.signal,
        timeoutMs: deps.mediationTimeoutMs ?? defaultMediationTimeoutMs,
        ...(deps.onMediatorException === undefined ? {} : { onException: deps.onMediatorException }),
      })
      if (mediation.action === 'proceed')
        return reportCallWithDuration(await runPreparedCall(deps, call, context, answer))
      if (mediation.action === 'pending')
        return reportCallWithDuration(await pauseCallForClient(deps, call, mediation.result))
      return reportCallWithDuration(finishCallWithResult(deps, call, mediation.result, mediation))
    },
  }
}

async function runPreparedCall(
  deps: ToolRunnerDeps,
  asked: ReadyCall,
  context: CallContext,
  approved: Approved | undefined,
): Promise<CallEnd> {
  if (!isCallPrepared(asked)) return finishCallWithResult(deps, asked, asked.refusal ?? unavailableToolResult(asked))
  const call = approved === undefined ? asked : toApprovedCall(asked, approved)
  if (call === undefined)
    return finishCallWithResult(deps, asked, changedActionResult(asked.declaration), { isRejected: true })
  const { declaration, prepared } = call
  const denial = await findCapabilityDenial(deps.capabilities, { call: prepared, declaration }, context.context)
  const signature = await hashCallSignature(deps.catalog, call.tool_name, prepared.parameters)
  const correction = denial === undefined ? deps.duplicates?.check(signature, declaration) : undefined
  if (correction !== undefined) {
    deps.observe?.('duplicate_call_corrected', { turn: context.turn, tool_name: call.tool_name, tool_call_id: call.id })
    return finishCallWithResult(deps, call, correction, { isRejected: true })
  }
  // A denied call goes on to where denials are told; no person is bothered with it.
  const { policy: action, rule } = denial === undefined ? resolveCallActionPolicy(deps, call) : direct
  if (action === 'forbidden')
    return finishCallWithResult(deps, call, forbiddenToolResult(declaration), { isRejected: true, rule })
  if (action === 'preview' && approved === undefined) return requestApproval(deps, call, {})
  return executePermittedCall(deps, call, context, approved)
}

async function executePermittedCall(
  deps: ToolRunnerDeps,
  call: Runnable,
  context: CallContext,
  approved: Approved | undefined,
): Promise<CallEnd> {
  const { declaration, prepared } = call
  const place = { context: context.context, turn: context.turn, ...(approved === undefined ? {} : approved.shown) }
  const result = await deps.once(call, (effect) =>
    executeCall(deps, { call: prepared, declaration }, { ...effect, ...place }),
  )
  const isDenied = result.metadata['error_type'] === 'capability_denied'
  const how = isDenied ? { rule: `capability:${declaration.required_capability}` } : {}
  const signature = await hashCallSignature(deps.catalog, call.tool_name, prepared.parameters)
  deps.duplicates?.record(signature, declaration, call.id, result)
  if (result.status === 'approval_required') return requestApproval(deps, call, result)
  return result.status === 'runtime_tool_pending'
    ? pauseCallForClient(deps, call, result)
    : finishCallWithResult(deps, call, result, how)
}

async function requestApproval(deps: ToolRunnerDeps, call: Runnable, details: Fields): Promise<CallEnd> {
  if (deps.stageApproval === undefined)
    return finishCallWithResult(deps, call, unavailableToolResult(call), { isRejected: true })
  return { kind: 'approval', ...(await deps.stageApproval(call, details)) }
}

async function pauseCallForClient(deps: ToolRunnerDeps, call: ReadyCall, result: ToolResult): Promise<CallEnd> {
  if (!isCallPrepared(call) || deps.stagePending === undefined)
    return finishCallWithResult(deps, call, unavailableToolResult(call), { isRejected: true })
  return { kind: 'pending', request: await deps.stagePending(call, result.runtime_tool_request ?? {}) }
}

/** What is kept and shown: without echoed secrets, cut to size; the full one goes to those who watch. */
function finishCallWithResult(
  deps: ToolRunnerDeps,
  call: ReadyCall,
  result: ToolResult,
  how: Ended | Exclude<Mediation, { action: 'proceed' }> = {},
): CallEnd {
  const clean = redactResultForStorage(result, call.prepared?.parameters ?? call.asked.parameters, call.declaration)
  const cut = deps.truncate?.(clean, call.tool_name)
  const isRejected = 'action' in how ? how.action === 'reject' : how.isRejected === true
  const diagnostics = callDiagnosticsHook(deps, call, clean)
  const rule = 'action' in how ? readMediatorRule(how) : how.rule
  return {
    kind: 'result',
    result: cut?.result ?? clean,
    isRejected,
    isComplete: 'complete' in how && how.complete,
    ...(cut?.truncated === true ? { truncated: cut.metadata, full: clean } : {}),
    ...(diagnostics === undefined ? {} : { diagnostics }),
    ...(rule === undefined ? {} : { denial: { code: readDenialCode(clean), rule } }),
  }
}

/** `rule`: it was denied, and by what. */
type Ended = { readonly isRejected?: boolean; readonly rule?: string | undefined }

const direct: ActionRuling = { policy: 'direct', rule: undefined }

function resolveCallActionPolicy({ actionOf }: ToolRunnerDeps, call: Runnable): ActionRuling {
  const ruling = actionOf?.(call) ?? 'direct'
  return typeof ruling === 'string' ? { policy: ruling, rule: 'policy' } : ruling
}

/** A rule about the order of calls names itself. */
function readMediatorRule({ action, result }: Exclude<Mediation, { action: 'proceed' }>): string | undefined {
  if (action !== 'reject') return undefined
  const gate = result.metadata['error_type'] === 'tool_call_gate_rejected' ? result.metadata['rule_id'] : undefined
  return gate === undefined ? 'mediator' : `gate:${String(gate).slice(0, 80)}`
}

/** A mediator may write a type of its own; only a word is a code. */
function readDenialCode({ metadata }: ToolResult): string {
  const type = String(metadata['error_type'] ?? '')
  return /^[\w.:-]{1,80}$/.test(type) ? type : 'denied'
}

async function reportCall(
  deps: ToolRunnerDeps,
  { tool_name: tool }: ReadyCall,
  end: CallEnd,
  ms: number,
): Promise<CallEnd> {
  await deps.onCall?.({ tool, ms, ...toCallOutcome(end) })
  return end
}

function toCallOutcome(end: CallEnd): Pick<ToolCallFacts, 'outcome' | 'denial'> {
  if (end.kind !== 'result') return { outcome: end.kind === 'approval' ? 'asked' : 'waiting' }
  if (end.denial !== undefined) return { outcome: 'denied', denial: end.denial }
  return { outcome: end.result.success ? 'succeeded' : 'failed' }
}

function callDiagnosticsHook(deps: ToolRunnerDeps, call: ReadyCall, result: ToolResult): Fields | undefined {
  try {
    return deps.diagnostics?.(call, result)
  } catch {
    // Watching must not change what is watched.
    return undefined
  }
}

function mediatorContext(call: ReadyCall, context: CallContext): Parameters<PreToolMediator>[0] {
  return {
    messages: context.messages,
    raw_tool_call: call.asked,
    prepared_tool_call: call.prepared ?? null,
    tool_declaration: call.declaration ?? null,
    tool_name: call.tool_name,
    parameters: call.prepared?.parameters ?? call.asked.parameters,
    tool_call_id: call.id,
    turn_context: context.context,
    turn: context.turn,
    prior_tool_results: context.results,
    prior_mediated_results: context.batchResults,
  }
}

function isCallPrepared(call: ReadyCall): call is Runnable {
  return call.prepared !== undefined && call.declaration !== undefined
}

/** What runs is what was approved, to the letter: undefined when today's binding or schema would make something else of it. */
function toApprovedCall(call: Runnable, { input }: Approved): Runnable | undefined {
  if (stableStringify(toStorableJson(call.prepared.parameters)) !== stableStringify(input)) return undefined
  return replaceInput(call, input)
}

function replaceInput(call: Runnable, input: Fields): Runnable {
  return { ...call, prepared: { ...call.prepared, parameters: input } }
}

function changedActionResult(declaration: ToolDeclaration): ToolResult {
  const error = `${declaration.name} was not run: what would happen now is not what was approved. Ask again if it is still wanted.`
  return failedResult(declaration, 'approval_changed', error)
}

function forbiddenToolResult(declaration: ToolDeclaration): ToolResult {
  return failedResult(declaration, 'action_forbidden', `${declaration.name} is not allowed here. Do not call it again.`)
}

/** No person can be asked here: then the call does not happen. */
function unavailableToolResult(call: ReadyCall): ToolResult {
  const error = `${call.tool_name} cannot be run here. Do not call it again.`
  return failedResult(call.declaration ?? { name: call.tool_name }, 'executor_unavailable', error)
}

// A requested call is made ready, or refused in words the model can act on. Nothing is executed here.

/** `toolName` is canonical wherever the tool is known, so that budgets, rules and audits speak of one tool. */
export type Preparation = {
  readonly toolName: string
  readonly id: string
  /** As bound, or as asked when it did not get that far. For executors and mediators only. */
  readonly parameters: Fields
  readonly declaration?: ToolDeclaration
} & (
  | { readonly call: PreparedCall; readonly refusal?: never }
  | { readonly call?: never; readonly refusal: ToolResult }
)

export type CallPlace = {
  readonly turn: number
  /** 1-based place in the batch. */
  readonly ordinal: number
  readonly context: Fields
}

export function bindAndValidateCall(
  catalog: Pick<ToolCatalog, 'find'>,
  requested: RequestedCall,
  place: CallPlace,
): Preparation {
  const id = trimmedText(requested.id) ?? `tool-call-${place.turn}-${place.ordinal}`
  const declaration = catalog.find(requested.name)
  const given = isPlainObject(requested.parameters) ? requested.parameters : {}
  if (declaration === undefined) {
    const toolName = printableName(requested.name)
    const refusal = failedResult({ name: toolName }, 'tool_not_found', `Tool '${toolName}' not found`)
    return { toolName, id, parameters: given, refusal }
  }
  const found = { toolName: declaration.name, id, declaration }
  if (!isPlainObject(requested.parameters) || requested.metadata?.['invalid_arguments'] === true) {
    const error = `The arguments of ${declaration.name} were not a JSON object. Call it again with valid JSON.`
    return { ...found, parameters: given, refusal: failedResult(declaration, 'invalid_parameters', error) }
  }
  const parameters = fillBoundParameters(declaration, given, place.context)
  const refusal = refuseMissingParameters(declaration, parameters) ?? refuseInvalidArguments(declaration, parameters)
  if (refusal !== undefined) return { ...found, parameters, refusal }
  const metadata = { source: declaration.source, provider_tool_name: requested.name, tool_call_id: id }
  return { ...found, parameters, call: { tool_name: declaration.name, parameters, id, metadata } }
}

function refuseMissingParameters(declaration: ToolDeclaration, parameters: Fields): ToolResult | undefined {
  const missing = missingParameters(declaration.parameters, parameters)
  if (missing.length === 0) return undefined
  const error = `Missing required parameters for ${declaration.name}: ${missing.join(', ')}`
  return failedResult(declaration, 'missing_required_parameters', error, { missing_parameters: missing })
}

function refuseInvalidArguments(declaration: ToolDeclaration, parameters: Fields): ToolResult | undefined {
  const faults = validateArguments(declaration.parameters, parameters)
  if (faults.length === 0) return undefined
  const ours = listHiddenParameters(declaration)
  if (faults.some(({ path }) => ours.has(path.split(/[.[]/)[0] ?? ''))) {
    const error = `${declaration.name} cannot be called here: a value the system fills in does not fit. Do not call it again.`
    return failedResult(declaration, 'invalid_bound_parameters', error, { invalid_parameters: faults })
  }
  const error = `Invalid arguments for ${declaration.name}: ${faults.map(formatArgumentFault).join('; ')}. Correct them and call again.`
  return failedResult(declaration, 'invalid_parameters', error, { invalid_parameters: faults })
}

function formatArgumentFault({ path, message }: ArgumentFault): string {
  return `${path === '' ? 'the arguments' : path} ${message}`
}

/** An unknown name is the model's invention: it is shown, but neither long nor with control characters. */
function printableName(name: unknown): string {
  return String(name)
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '')
    .slice(0, 128)
}
