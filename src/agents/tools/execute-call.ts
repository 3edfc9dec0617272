// Executes one prepared call. Every failure of the tool is a result; only what ends the turn itself is thrown.

import { type ErrorCode, isGatewayError } from '../../lib/errors.ts'
import { trimmedText } from '../../lib/index.ts'
import { type CapabilityPolicy, findCapabilityDenial } from './capability.ts'
import {
  isToolError,
  type PreparedCall,
  runtimeToolPending,
  type ToolContext,
  type ToolDeclaration,
  type ToolExecutor,
  type ToolResult,
} from './tool.ts'
import { failedResult, listSecretParameterValues, normalizeToolResult } from './tool-result.ts'

export type ExecutionDeps = {
  readonly executors: Executors
  readonly capabilities?: CapabilityPolicy
  /** For tools that do not say how long they may take; those that do are ended by the turn's own end at the latest. */
  readonly defaultTimeoutMs: number
  /** Tools whose work is steps of their own, each with its own time: only the turn's end ends them. */
  readonly untimed?: ReadonlySet<string>
  readonly onDenied?: (event: Readonly<Record<string, unknown>>) => void
  /** The raw exception, for the operator's eyes, and the secrets the tool was given, which are not. */
  readonly onException?: (error: unknown, toolName: string, secrets: readonly string[]) => void
}

type Executable = { readonly call: PreparedCall; readonly declaration: ToolDeclaration }

/** They say that this turn is over, or not possible now; no tool result may hide that. */
const turnEnding: readonly ErrorCode[] = [
  ...(['lease_lost', 'stopping', 'turn_deadline'] as const),
  ...(['storage_unavailable', 'storage_overloaded', 'provider_unavailable'] as const),
]

/** The longest a timer can wait; no turn lives so long. */
const maxTimerMs = 2 ** 31 - 1

export async function executeCall(deps: ExecutionDeps, ready: Executable, context: ToolContext): Promise<ToolResult> {
  const { call, declaration } = ready
  const denial = await findCapabilityDenial(deps.capabilities, ready, context.context)
  if (denial !== undefined) {
    notifyIgnoringErrors(() => deps.onDenied?.(denial.event))
    return denial.result
  }
  const choice = chooseExecutor(deps.executors, declaration)
  if ('refusal' in choice) return choice.refusal
  const isUntimed = deps.untimed?.has(declaration.name) === true
  const timeoutMs = isUntimed ? maxTimerMs : Math.min(declaration.timeout_ms ?? deps.defaultTimeoutMs, maxTimerMs)
  try {
    const runExecutor = (signal: AbortSignal) => choice.executor(call, declaration, { ...context, signal })
    const end = await runWithDeadline(runExecutor, { signal: context.signal, timeoutMs })
    return end.kind === 'done' ? normalizeToolResult(declaration, end.value) : toolTimeoutResult(declaration, timeoutMs)
  } catch (error) {
    if (context.signal.aborted || turnEnding.some((code) => isGatewayError(error, code))) throw error
    return exceptionResult(deps, ready, error, context.isUnsent())
  }
}

/** Whether it happened is told apart: a model that believes in a failure would try again. */
function toolTimeoutResult(declaration: ToolDeclaration, timeoutMs: number): ToolResult {
  const seconds = Math.max(1, Math.round(timeoutMs / 1000))
  if (declaration.idempotent !== true) return unknownToolOutcome(declaration)
  const error = `${declaration.name} did not answer within ${seconds} s. ${repeatAdvice}`
  return failedResult(declaration, 'tool_timeout', error, { outcome: 'unknown' })
}

/** With the same arguments it has the same key, so that the other side can tell. */
const repeatAdvice = 'It may be called again with the same arguments.'
const unknownAdvice = 'it may or may not have happened. Do not call it again; tell the person and ask them to check.'

/** For a call that was started and whose end was not seen; also what a resumed turn says of such a call. */
export function unknownToolOutcome(declaration: Pick<ToolDeclaration, 'name' | 'runtime'>): ToolResult {
  const error = `${declaration.name} was interrupted: ${unknownAdvice}`
  return failedResult(declaration, 'tool_outcome_unknown', error, { outcome: 'unknown' })
}

function exceptionResult(
  deps: ExecutionDeps,
  { call, declaration }: Executable,
  error: unknown,
  isUnsent: boolean,
): ToolResult {
  if (isGatewayError(error, 'tool_outcome_unknown')) return unknownToolOutcome(declaration)
  if (isToolError(error)) return failedResult(declaration, error.errorType, error.message)
  notifyIgnoringErrors(() =>
    deps.onException?.(error, declaration.name, listSecretParameterValues(call.parameters, declaration)),
  )
  // Exceptions carry addresses, queries and tokens; the model, and with it the chat, learns only that it failed.
  const failure = `${declaration.name} failed because of an internal error`
  if (isUnsent) return failedResult(declaration, 'executor_exception', `${failure}.`)
  if (declaration.idempotent === true)
    return failedResult(declaration, 'executor_exception', `${failure}. ${repeatAdvice}`, { outcome: 'unknown' })
  // It broke off, perhaps after it had acted: a model that believes in a failure would try again.
  return failedResult(declaration, 'executor_exception', `${failure}: ${unknownAdvice}`, { outcome: 'unknown' })
}

/** Those who watch cannot change what they see. */
function notifyIgnoringErrors(notify: () => void): void {
  try {
    notify()
  } catch {
    // Watching must not change what is watched.
  }
}

// The executor that a declaration names runs the call, else the one for everything. A name that leads nowhere is a failure and
// never falls back.

export type Executors = {
  readonly default?: ToolExecutor
  /** By the `runtime.executor_target` of a declaration. */
  readonly targets?: ReadonlyMap<string, ToolExecutor>
}

type ExecutorChoice = { readonly executor: ToolExecutor } | { readonly refusal: ToolResult }

function chooseExecutor(executors: Executors, declaration: ToolDeclaration): ExecutorChoice {
  const target = declaration.runtime?.['executor_target']
  if (target !== undefined) {
    const named = executors.targets?.get(trimmedText(target) ?? '')
    return named === undefined
      ? executorUnavailableRefusal(declaration, 'executor_target_unavailable')
      : { executor: named }
  }
  // Only the other side of the connection can run it; it is told through the pending request.
  if (declaration.executor === 'client') return { executor: requestClientExecution }
  return executors.default === undefined
    ? executorUnavailableRefusal(declaration, 'executor_unavailable')
    : { executor: executors.default }
}

const requestClientExecution: ToolExecutor = (call) =>
  runtimeToolPending({ tool_name: call.tool_name, tool_call_id: call.id, parameters: call.parameters })

function executorUnavailableRefusal(declaration: ToolDeclaration, errorType: string): ExecutorChoice {
  return {
    refusal: failedResult(declaration, errorType, `${declaration.name} cannot be run here. Do not call it again.`),
  }
}

// A deadline for code of a host or tool author: at most so long, and not a moment after the run was stopped.

type Bounded<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'timed_out' }

type Bounds = { readonly signal: AbortSignal; readonly timeoutMs: number }

/** Rejects with the work's own error, or with the signal's reason. The work is told by its own signal in both cases. */
export async function runWithDeadline<T>(
  work: (signal: AbortSignal) => Promise<T> | T,
  { signal, timeoutMs }: Bounds,
): Promise<Bounded<T>> {
  signal.throwIfAborted()
  const stop = new AbortController()
  const ended = Promise.withResolvers<Bounded<T>>()
  const abortWorkAndReject = () => {
    stop.abort(signal.reason)
    ended.reject(signal.reason)
  }
  const timer = setTimeout(() => {
    stop.abort(new DOMException('The tool took too long', 'TimeoutError'))
    ended.resolve({ kind: 'timed_out' })
  }, timeoutMs)
  signal.addEventListener('abort', abortWorkAndReject, { once: true })
  try {
    // What comes after the end is dropped; settling twice is harmless.
    void callAsPromise(work, stop.signal).then((value) => ended.resolve({ kind: 'done', value }), ended.reject)
    return await ended.promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abortWorkAndReject)
  }
}

async function callAsPromise<T>(work: (signal: AbortSignal) => Promise<T> | T, signal: AbortSignal): Promise<T> {
  return await work(signal)
}
