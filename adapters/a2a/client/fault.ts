// Faults of remote agents: why one was not asked or gave no answer. Codes are ours: nothing a peer says about its faults gets
// further.
import { GatewayError } from '../../../src/lib/index.ts'

export type FaultCode =
  | 'remote_unreachable'
  | 'remote_address_refused'
  | 'remote_card_invalid'
  | 'remote_card_unsigned'
  | 'remote_no_interface'
  | 'remote_version_refused'
  | 'remote_unauthorized'
  | 'remote_refused'
  | 'remote_unsupported'
  | 'remote_task_lost'
  | 'remote_malformed'
  | 'remote_too_much'
  | 'remote_timeout'
  | 'remote_failed'

/** `retryAfterSeconds`: when it wants to be asked again, where it said so. */
export class RemoteFault extends Error {
  readonly code: FaultCode
  readonly retryAfterSeconds: number | undefined

  constructor(code: FaultCode, retryAfterSeconds?: number) {
    super(code)
    this.name = 'RemoteFault'
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export function isRemoteFault(error: unknown, ...codes: readonly FaultCode[]): error is RemoteFault {
  return error instanceof RemoteFault && (codes.length === 0 || codes.includes(error.code))
}

/** An outage: nothing happened, and the turn waits for it. */
export function remoteUnavailableError({ retryAfterSeconds }: Pick<RemoteFault, 'retryAfterSeconds'>): GatewayError {
  return new GatewayError(
    'provider_unavailable',
    '[agent] the remote agent could not be reached; the turn waits for it',
    {
      retryable: true,
      ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
    },
  )
}
