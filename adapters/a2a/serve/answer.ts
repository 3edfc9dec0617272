// Runs an operation and writes its response, the same for both bindings. A failure is logged, and the caller gets only its reference.
import { isGatewayError, type ServeDoor } from '../../../src/contract/index.ts'
import { type Fault, fault, isFault } from '../wire/faults.ts'
import type { Fields } from '../wire/fields.ts'
import type { OperationName } from '../wire/operations.ts'
import { faultResponse, resultResponse, streamResponse, type Tongue } from './binding.ts'
import type { A2aDeps } from './call.ts'
import { dispatch } from './dispatch.ts'
import { callOf, type Entering } from './enter.ts'

export async function answer(
  deps: A2aDeps,
  entering: Omit<Entering, 'signal'>,
  tongue: Tongue,
  { name, params }: { readonly name: OperationName; readonly params: Fields },
): Promise<Response> {
  const reader = new AbortController()
  const signal = AbortSignal.any([entering.request.signal, reader.signal])
  const entered = callOf(deps, { ...entering, signal }, name, params)
  if (isFault(entered)) return faultResponse(tongue, entered)
  const { call, headers } = entered
  const outcome = await dispatch(deps, call, name, params)
  if (isFault(outcome)) return faultResponse(tongue, outcome, headers)
  if (outcome.kind === 'result') return resultResponse(tongue, name, outcome.body, headers)
  const ended = Promise.withResolvers<void>()
  entering.door.keepOpen(ended.promise)
  const { heartbeatMs, streamMs: lifeMs } = deps.settings
  const onEnd = (): void => {
    reader.abort()
    ended.resolve()
  }
  const onFailure = (error: unknown): Fault => failure(entering.door, error)
  return streamResponse(tongue, outcome, { heartbeatMs, lifeMs, onEnd, onFailure }, headers)
}

/** What the caller is told about something that broke. */
export function failure(door: ServeDoor, error: unknown): Fault {
  const reference = door.fail(error)
  if (isGatewayError(error) && error.retryable)
    return fault('unavailable', `the gateway cannot do this right now; try again (reference ${reference})`, {
      headers: { 'retry-after': '2' },
    })
  return fault('internal_error', `internal error (reference ${reference})`, { metadata: { reference } })
}
