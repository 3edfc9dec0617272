// A source read as the gateway reads it: each batch is committed, the place moves, and only then is it acknowledged.
import type { OwnMailRegistry } from '../../../adapters/email/ingress/received.ts'
import type { ReceivedMail } from '../../../adapters/email/wire/mail.ts'
import type { Ingress } from '../../../src/contract/index.ts'

export type Reading = {
  readonly mails: readonly ReceivedMail[]
  /** Of each arrival: why it was turned away, if it was. */
  readonly reasons: readonly (string | undefined)[]
  readonly sizes: readonly number[]
  readonly ids: () => readonly string[]
  readonly cursor: () => string | undefined
  /** The first place is kept. */
  readonly ready: () => Promise<void>
  readonly taken: (count: number) => Promise<void>
  /** The commit of this one fails, as where the database is gone. */
  readonly failOn: (id: string) => void
  readonly stop: () => Promise<void>
  /** Resolves with what it ended by. */
  readonly ended: () => Promise<unknown>
}

export function readSource(source: NonNullable<Ingress['poll']>, own: OwnMailRegistry, from?: string): Reading {
  const mails: ReceivedMail[] = []
  const reasons: (string | undefined)[] = []
  const sizes: number[] = []
  const ids: string[] = []
  const stopping = new AbortController()
  let cursor = from
  let failing: string | undefined
  const pull = async (): Promise<unknown> => {
    try {
      for await (const batch of source(from, stopping.signal)) {
        for (const arrival of batch.requests) {
          const known = own.find(arrival)
          const id = /Message-ID: <(.*)@/.exec(Buffer.from(arrival.bytes).toString())?.[1] ?? ''
          ids.push(id)
          if (id === failing) throw new Error('the commit failed')
          reasons.push(known?.kind === 'rejected_event' ? known.reason : undefined)
          sizes.push(arrival.bytes.byteLength)
          if (known?.kind === 'mail') mails.push(known.mail)
        }
        cursor = batch.cursor
        await batch.acknowledge?.([])
      }
      return undefined
    } catch (error) {
      return error
    }
  }
  const over = pull()
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return {
    mails,
    reasons,
    sizes,
    ids: () => ids,
    cursor: () => cursor,
    ready: () => until(() => cursor !== undefined),
    taken: (count) => until(() => reasons.length >= count),
    failOn: (id) => (failing = id),
    async stop() {
      stopping.abort()
      await over
    },
    ended: () => over,
  }
}
