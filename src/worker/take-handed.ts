// A mail that Cloudflare took in: stored before it is accepted, refused for good, or thrown, which makes its sender try again.
import type { ForwardableEmailMessage } from '@cloudflare/workers-types'
import { GatewayError, type HandedAnswer, type HandedOver, type RawArrival } from '../contract/index.ts'
import type { GatewayConnection } from '../gateway/deps.ts'
import type { AppDeps } from '../http/deps.ts'
import { handIn } from '../http/hand-in.ts'

export type Handed = Pick<ForwardableEmailMessage, 'from' | 'to' | 'raw' | 'rawSize' | 'setReject'>

const nobody = '5.1.1 there is no such address here'

export async function takeHanded(deps: Pick<AppDeps, 'gateway' | 'rejections'>, message: Handed): Promise<void> {
  const { from, to, rawSize: size } = message
  // The same stream: Cloudflare's types and those of the language have their own names for it.
  const body = message.raw as unknown as HandedOver['body']
  const answer = await firstAnswer(deps, { from, to, size, body })
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

async function firstAnswer(deps: Pick<AppDeps, 'gateway' | 'rejections'>, handed: HandedOver): Promise<HandedAnswer> {
  for (const at of deps.gateway.connections) {
    const answer = await at.adapter.takeHanded?.(handed, doorOf(deps, at))
    if (answer !== undefined) return answer
  }
  return { kind: 'refused', text: nobody }
}

function doorOf(deps: Pick<AppDeps, 'gateway' | 'rejections'>, at: GatewayConnection) {
  return { receive: (arrival: RawArrival) => handIn(deps, at, arrival) }
}
