// Runs an operation and writes its response, the same for both bindings. A failure is logged, and the caller gets only its reference.
import { isGatewayError, type ServeContext } from '../../../src/contract/index.ts'
import { createFault, type Fault, isA2aFault } from '../wire/faults.ts'
import type { Fields } from '../wire/fields.ts'
import type { OperationName } from '../wire/operations.ts'
import { faultResponse, type ResponseFormat, resultResponse, streamResponse } from './binding.ts'
import type { A2aDeps } from './call.ts'
import { runOperation } from './dispatch.ts'
import { admitCall, type CallEntry } from './enter.ts'

export async function answerOperation(
  deps: A2aDeps,
  entering: Omit<CallEntry, 'signal'>,
  tongue: ResponseFormat,
  { name, params }: { readonly name: OperationName; readonly params: Fields },
): Promise<Response> {
  const reader = new AbortController()
  const signal = AbortSignal.any([entering.request.signal, reader.signal])
  const entered = admitCall(deps, { ...entering, signal }, name, params)
  if (isA2aFault(entered)) return faultResponse(tongue, entered)
  const { call, headers } = entered
  const outcome = await runOperation(deps, call, name, params)
  if (isA2aFault(outcome)) return faultResponse(tongue, outcome, headers)
  if (outcome.kind === 'result') return resultResponse(tongue, name, outcome.body, headers)
  const ended = Promise.withResolvers<void>()
  entering.door.keepOpen(ended.promise)
  const { heartbeatMs, streamMs: lifeMs } = deps.settings
  const onEnd = (): void => {
    reader.abort()
    ended.resolve()
  }
  const failStream = (error: unknown): Fault => reportFailure(entering.door, error)
  return streamResponse(tongue, outcome, { heartbeatMs, lifeMs, onEnd, onFailure: failStream }, headers)
}

/** What the caller is told about something that broke. */
export function reportFailure(door: ServeContext, error: unknown): Fault {
  const reference = door.fail(error)
  if (isGatewayError(error) && error.retryable)
    return createFault('unavailable', `the gateway cannot do this right now; try again (reference ${reference})`, {
      headers: { 'retry-after': '2' },
    })
  return createFault('internal_error', `internal error (reference ${reference})`, { metadata: { reference } })
}
