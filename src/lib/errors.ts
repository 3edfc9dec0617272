// GatewayError, the one exception, for promises that broke, and errors as operators see them. Expected outcomes are values
// (contract/results.ts).
import type { JsonObject } from './json-value.ts'
import { redactSecrets } from './secret.ts'

export type ErrorCode =
  | 'config_invalid'
  | 'data_dir_locked'
  | 'embedded_postgres_failed'
  | 'schema_too_new'
  | 'schema_too_old'
  | 'schema_missing'
  | 'backup_damaged'
  | 'restore_refused'
  | 'storage_unavailable'
  | 'storage_overloaded'
  | 'storage_full'
  | 'storage_refused_row'
  | 'request_postponed'
  | 'lease_lost'
  | 'stopping'
  | 'tool_outcome_unknown'
  | 'run_cancelled'
  | 'step_failed'
  | 'provider_unavailable'
  | 'agent_failed'
  | 'agent_unknown'
  | 'reply_invalid'
  | 'reply_too_long'
  | 'state_invalid'
  | 'state_too_large'
  | 'agent_call_denied'
  | 'turn_deadline'
  | 'fetch_timeout'
  | 'render_failed'
  | 'not_found'
  | 'unauthorized'
  | 'forbidden'
  | 'bad_request'
  | 'unsupported_media_type'
  | 'conflict'
  | 'content_erased'
  | 'consent_missing'
  | 'too_many_watchers'
  | 'replay_stopped'

/** `message` says what failed and what to do, in one line, without bodies, tokens or addresses. */
export class GatewayError extends Error {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly details: JsonObject

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly retryable?: boolean; readonly details?: JsonObject; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GatewayError'
    this.code = code
    this.retryable = options.retryable ?? false
    this.details = options.details ?? {}
  }
}

export function isGatewayError(error: unknown, code?: ErrorCode): error is GatewayError {
  // By shape and not by class: a configuration file may bring a second copy of this module.
  const isOne = error instanceof Error && error.name === 'GatewayError' && 'code' in error
  return isOne && (code === undefined || error.code === code)
}

// An exception as operators are shown it: class, message, stack and causes, without secrets, in 8 KB at most.

export type ThrownError = {
  /** Its class. */
  readonly name: string
  readonly message: string
  readonly code?: string
  /** Where it was thrown: lines of the developer's own files first. */
  readonly stack: readonly string[]
  /** What it was caused by, nearest first. */
  readonly causes?: readonly Omit<ThrownError, 'causes'>[]
}

/** Whose code threw: the agent's own, or something the gateway called for it. */
export type ErrorSource = {
  readonly source:
    | 'agent'
    | 'model'
    | 'remote_agent'
    | 'tool'
    | 'step'
    | 'mediator'
    | 'capability_check'
    | 'completion_policy'
    | 'should_continue'
    | 'summarizer'
    | 'approval_summary'
    | 'watcher'
  /** Which tool or step. */
  readonly name?: string
  /** Which agent, where another one asked it. */
  readonly agent?: string
  /** Values that are not shown, such as secret parameters of a tool. */
  readonly hide?: readonly string[]
}

type Bounds = { readonly message: number; readonly frames: number; readonly causes: number }

/** The first that fits. */
const bounds: readonly Bounds[] = [
  { message: 3_000, frames: 24, causes: 4 },
  { message: 1_500, frames: 10, causes: 3 },
  { message: 500, frames: 4, causes: 1 },
  { message: 300, frames: 0, causes: 0 },
]
const maxBytes = 8 * 1024
/** Read of a text before secrets are looked for: what is cut through here is never shown. */
const maxRead = 8_000
const maxFrame = 240
const className = /^[A-Za-z_$][\w$.]{0,59}$/
const codeForm = /^[\w.:-]{1,80}$/

export function toRedactedErrorRecord(error: unknown, hide: readonly string[] = []): ThrownError {
  const chain = listCauses(error).map((each) => readThrownError(each, hide))
  for (const bound of bounds) {
    const [first, ...causes] = chain.map((each) => truncateError(each, bound))
    if (first === undefined) break
    const told = {
      ...first,
      ...(bound.causes === 0 || causes.length === 0 ? {} : { causes: causes.slice(0, bound.causes) }),
    }
    if (new TextEncoder().encode(JSON.stringify(told)).length <= maxBytes) return told
  }
  return { name: 'Error', message: 'It could not be described.', stack: [] }
}

/** As it is read in a terminal: the message, then where it was thrown, then the same of each cause. */
export function formatThrownError({ causes = [], ...error }: ThrownError): readonly string[] {
  const errorLines = (each: Omit<ThrownError, 'causes'>, lead: string): readonly string[] => {
    const code = each.code === undefined ? '' : ` (${each.code})`
    const [first = '', ...more] = each.message.split('\n')
    return [
      `${lead}${each.name}: ${first}${code}`,
      ...more.map((row) => `  ${row}`),
      ...each.stack.map((at) => `  ${at}`),
    ]
  }
  return [...errorLines(error, ''), ...causes.flatMap((cause) => errorLines(cause, 'Caused by '))]
}

/** Itself, what it was caused by, and of several at once the first few. */
function listCauses(error: unknown): readonly unknown[] {
  const found: unknown[] = []
  const waiting: unknown[] = [error]
  while (waiting.length > 0 && found.length < 6) {
    const next = waiting.shift()
    if (found.includes(next)) continue
    found.push(next)
    if (!(next instanceof Error)) continue
    const errors: unknown = 'errors' in next ? next.errors : undefined
    if (Array.isArray(errors)) waiting.push(...errors.slice(0, 3))
    if (next.cause !== undefined && next.cause !== null) waiting.push(next.cause)
  }
  return found
}

function readThrownError(error: unknown, hide: readonly string[]): Omit<ThrownError, 'causes'> {
  try {
    if (!(error instanceof Error))
      return { name: typeof error, message: redactText(stringifyThrown(error), hide), stack: [] }
    const { name, message, stack } = error
    const code: unknown = 'code' in error ? error.code : 'statusCode' in error ? error.statusCode : undefined
    return {
      name: className.test(name) ? name : 'Error',
      message: redactText(String(message), hide),
      ...(typeof code === 'number' || (typeof code === 'string' && codeForm.test(code)) ? { code: String(code) } : {}),
      stack: parseStackFrames(typeof stack === 'string' ? stack : '', String(message)).map((frame) =>
        redactText(frame, hide),
      ),
    }
  } catch {
    // Even to read it may throw.
    return { name: 'Error', message: 'It could not be read.', stack: [] }
  }
}

function stringifyThrown(value: unknown): string {
  return typeof value === 'object' && value !== null ? (JSON.stringify(value) ?? '') : String(value)
}

function redactText(text: string, hide: readonly string[]): string {
  return redactSecrets(text.slice(0, maxRead).toWellFormed(), hide).replaceAll('\u0000', '')
}

/** The stack begins after the message: a message may look like a stack itself. */
function parseStackFrames(stack: string, message: string): readonly string[] {
  const at = stack.indexOf(message)
  const from = at === -1 ? 0 : at + message.length
  const frames = stack
    .slice(from, from + 4 * maxRead)
    .split('\n')
    .filter((row) => /^ {4}at /.test(row))
    .map((row) => row.trim().slice(0, maxFrame))
  // Below a line of their own, how the gateway came to call it helps no developer.
  const rest = frames.filter((frame) => !isDeveloperFrame(frame))
  const own = frames.filter(isDeveloperFrame)
  return own.length === 0 ? rest : [...own, ...rest.filter((frame) => !isInternalStackFrame(frame))]
}

/** Where this gateway's own files are; unknown where they were bundled into one. */
const gatewayFolder = /^(?:file:\/\/)?(.*\/(?:src|dist)\/)/.exec(import.meta.url ?? '')?.[1]

function isInternalStackFrame(frame: string): boolean {
  return /(?:^at |\()node:/.test(frame) || frame.includes('processTicksAndRejections') || isGatewayFrame(frame)
}

function isGatewayFrame(frame: string): boolean {
  return gatewayFolder !== undefined && frame.includes(gatewayFolder)
}

function isDeveloperFrame(frame: string): boolean {
  return !frame.includes('node_modules/') && !isInternalStackFrame(frame)
}

function truncateError(error: Omit<ThrownError, 'causes'>, { message, frames }: Bounds): Omit<ThrownError, 'causes'> {
  const isCut = error.message.length > message
  return {
    ...error,
    message: isCut ? `${error.message.slice(0, message).toWellFormed()} …` : error.message,
    stack: error.stack.slice(0, frames),
  }
}

/** The code that a library or the runtime put on what it threw. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}
