// A mail that Cloudflare took in: stored before it is accepted, refused for good, or thrown, which makes its sender try again.
import type { ForwardableEmailMessage } from '@cloudflare/workers-types'
import type { AppDeps } from '../api/deps.ts'
import { deliverInbound } from '../api/webhook.ts'
import { type EmailEvent, type EmailEventResult, GatewayError, type RawRequest } from '../contract/index.ts'
import type { GatewayConnection } from '../turns/deps.ts'

export type WorkerEmail = Pick<ForwardableEmailMessage, 'from' | 'to' | 'raw' | 'rawSize' | 'setReject'>

const unknownAddressText = '5.1.1 there is no such address here'

export async function receiveEmailEvent(
  deps: Pick<AppDeps, 'gateway' | 'rejections'>,
  message: WorkerEmail,
): Promise<void> {
  const { from, to, rawSize: size } = message
  // The same stream: Cloudflare's types and those of the language have their own names for it.
  const body = message.raw as unknown as EmailEvent['body']
  const answer = await offerToConnections(deps, { from, to, size, body })
  switch (answer.kind) {
    case 'taken':
      return
    case 'refused':
      return message.setReject(answer.text)
    case 'later':
      throw new GatewayError('arrival_postponed', `a mail is not stored yet (${answer.reason}); it comes again`, {
        retryable: true,
      })
    default:
      return answer satisfies never
  }
}

async function offerToConnections(
  deps: Pick<AppDeps, 'gateway' | 'rejections'>,
  handed: EmailEvent,
): Promise<EmailEventResult> {
  for (const at of deps.gateway.connections) {
    const answer = await at.adapter.takeHanded?.(handed, createInboundDoor(deps, at))
    if (answer !== undefined) return answer
  }
  return { kind: 'refused', text: unknownAddressText }
}

function createInboundDoor(deps: Pick<AppDeps, 'gateway' | 'rejections'>, at: GatewayConnection) {
  return { receive: (arrival: RawRequest) => deliverInbound(deps, at, arrival) }
}
