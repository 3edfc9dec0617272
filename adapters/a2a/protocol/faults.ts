// Protocol errors of A2A, with their numbers in every binding (A2A specification section 5.4).

export type FieldViolation = { readonly field: string; readonly description: string }

export type FaultName =
  | 'task_not_found'
  | 'task_not_cancelable'
  | 'push_not_supported'
  | 'unsupported_operation'
  | 'content_type_not_supported'
  | 'invalid_agent_response'
  | 'extended_card_not_configured'
  | 'extension_required'
  | 'version_not_supported'
  | 'parse_error'
  | 'invalid_request'
  | 'method_not_found'
  | 'invalid_params'
  | 'internal_error'
  | 'not_found'
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'body_too_large'
  | 'unauthenticated'
  | 'forbidden'
  | 'unavailable'

/** A refusal as data: the bindings and versions write it down. */
export type Fault = {
  readonly fault: FaultName
  readonly message: string
  readonly violations?: readonly FieldViolation[]
  readonly headers?: Readonly<Record<string, string>>
  readonly metadata?: Readonly<Record<string, string>>
}

export type ErrorTable = '1.0.0' | '1.0.1'

type Numbers = {
  /** JSON-RPC. */
  readonly code: number
  readonly http: number
  /** google.rpc.Code by name. */
  readonly status: string
  /** For ErrorInfo. */
  readonly reason?: string
  /** Where the first release of 1.0 said otherwise. */
  readonly early?: { readonly http?: number; readonly status?: string }
  /** JSON-RPC answers with this HTTP status instead of 200: nothing was read of the request. */
  readonly isHttp?: true
}

const unimplemented = { status: 'UNIMPLEMENTED' } as const
const precondition = { http: 400, status: 'FAILED_PRECONDITION' } as const
const invalid = { http: 400, status: 'INVALID_ARGUMENT' } as const

const numbers: Readonly<Record<FaultName, Numbers>> = {
  task_not_found: { code: -32001, http: 404, status: 'NOT_FOUND', reason: 'TASK_NOT_FOUND' },
  task_not_cancelable: { code: -32002, ...precondition, reason: 'TASK_NOT_CANCELABLE', early: { http: 409 } },
  push_not_supported: {
    code: -32003,
    ...precondition,
    reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
    early: unimplemented,
  },
  unsupported_operation: { code: -32004, ...precondition, reason: 'UNSUPPORTED_OPERATION', early: unimplemented },
  content_type_not_supported: {
    code: -32005,
    ...invalid,
    reason: 'CONTENT_TYPE_NOT_SUPPORTED',
    early: { http: 415 },
  },
  invalid_agent_response: {
    code: -32006,
    http: 500,
    status: 'INTERNAL',
    reason: 'INVALID_AGENT_RESPONSE',
    early: { http: 502 },
  },
  extended_card_not_configured: { code: -32007, ...precondition, reason: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED' },
  extension_required: { code: -32008, ...precondition, reason: 'EXTENSION_SUPPORT_REQUIRED' },
  version_not_supported: { code: -32009, ...precondition, reason: 'VERSION_NOT_SUPPORTED', early: unimplemented },
  parse_error: { code: -32700, ...invalid },
  invalid_request: { code: -32600, ...invalid },
  method_not_found: { code: -32601, http: 404, status: 'NOT_FOUND' },
  invalid_params: { code: -32602, ...invalid },
  internal_error: { code: -32603, http: 500, status: 'INTERNAL' },
  not_found: { code: -32601, http: 404, status: 'NOT_FOUND', isHttp: true },
  method_not_allowed: { code: -32600, http: 405, status: 'UNIMPLEMENTED', isHttp: true },
  // The media type of the request itself: the same words as for a part, and a status of its own.
  unsupported_media_type: {
    code: -32005,
    ...invalid,
    reason: 'CONTENT_TYPE_NOT_SUPPORTED',
    early: { http: 415 },
  },
  body_too_large: { code: -32600, http: 413, status: 'INVALID_ARGUMENT', isHttp: true },
  unauthenticated: { code: -32000, http: 401, status: 'UNAUTHENTICATED', isHttp: true },
  forbidden: { code: -32000, http: 403, status: 'PERMISSION_DENIED', isHttp: true },
  unavailable: { code: -32603, http: 503, status: 'UNAVAILABLE', isHttp: true },
}

/** The first that has this JSON-RPC code or, better, this reason. */
export function findFaultName(reason: unknown, code: unknown): FaultName | undefined {
  const all = Object.entries(numbers) as readonly (readonly [FaultName, Numbers])[]
  const byReason = all.find(([, each]) => reason !== undefined && each.reason === reason)
  return (byReason ?? all.find(([, each]) => String(each.code) === String(code)))?.[0]
}

const detailTypes = {
  info: 'type.googleapis.com/google.rpc.ErrorInfo',
  badRequest: 'type.googleapis.com/google.rpc.BadRequest',
} as const

export function createFault(name: FaultName, message: string, more: Omit<Fault, 'fault' | 'message'> = {}): Fault {
  return { fault: name, message, ...more }
}

export function isA2aFault(value: object): value is Fault {
  return 'fault' in value
}

export type FaultNumbers = { readonly code: number; readonly http: number; readonly status: string }

export function faultStatusCodes(name: FaultName, table: ErrorTable): FaultNumbers & { readonly isHttp: boolean } {
  const { code, http, status, early, isHttp = false } = numbers[name]
  const now = table === '1.0.0' ? early : undefined
  return { code, http: now?.http ?? http, status: now?.status ?? status, isHttp }
}

/** Typed details: why in a word for machines, and which fields. */
export function faultDetails({ fault: name, violations, metadata }: Fault): readonly object[] {
  const { reason } = numbers[name]
  const info = { '@type': detailTypes.info, reason, domain: 'a2a-protocol.org', ...(metadata ? { metadata } : {}) }
  return [
    ...(reason === undefined ? [] : [info]),
    ...(violations === undefined ? [] : [{ '@type': detailTypes.badRequest, fieldViolations: violations }]),
  ]
}
