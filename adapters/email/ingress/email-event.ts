// Mail from the runtime (a Worker's email event): one recipient, no client address, stored before it is accepted.
import type { ChannelDeps, Ingress } from '../../../src/contract/index.ts'
import { readStream } from '../../../src/lib/index.ts'
import { listenResultToReply, type Reply, recipientReply, replies } from '../smtp/replies.ts'
import type { ClassifyRecipient, OwnMailRegistry } from './received.ts'

export type EmailEventDeps = Pick<ChannelDeps, 'now'> & {
  readonly own: OwnMailRegistry
  readonly recipientOf: ClassifyRecipient
  readonly maxBytes: number
  /** Throws where answers could not be addressed: what cannot be answered is not taken. */
  readonly requireSecret: () => Promise<unknown>
}

export function createEmailEventHandler(deps: EmailEventDeps): NonNullable<Ingress['onEmailEvent']> {
  const { own, recipientOf, maxBytes, now, requireSecret } = deps
  return async ({ from, to, size, body }, context) => {
    const recipient = await recipientOf(to)
    // Another connection may have this domain.
    if (recipient === 'foreign') return undefined
    const refusal = recipientReply(recipient) ?? (size > maxBytes ? replies.tooLarge : undefined)
    if (refusal !== undefined) return refusedEvent(refusal)
    await requireSecret()
    const raw = await readStream(body, maxBytes)
    if (raw === undefined) return refusedEvent(replies.tooLarge)
    const envelope = { mailFrom: from, rcptTo: [to] }
    const receivedAt = new Date(now()).toISOString()
    const answer = await context.receive(own.add({ way: 'cloudflare', raw, envelope, receivedAt }))
    if (answer.kind === 'later' || answer.kind === 'spent') return { kind: 'later', reason: answer.reason }
    const reply = listenResultToReply(answer)
    return reply === undefined ? { kind: 'taken' } : refusedEvent(reply)
  }
}

function refusedEvent({ text }: Reply) {
  return { kind: 'refused', text } as const
}
