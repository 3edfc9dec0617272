// Waits for the moment a vendor message names an id, without asking again and again.
import type { VendorMessage } from '../doubles/vendor-stub.ts'
import { keyOf } from './platform.ts'

export type Answers = {
  readonly onMessage: (connection: string, message: VendorMessage) => void
  /** Resolves with the time of the answer, also when it came before the question. */
  readonly answered: (connection: string, id: string) => Promise<number>
}

export function createAnswers(): Answers {
  const seen = new Map<string, PromiseWithResolvers<number>>()
  const entry = (key: string): PromiseWithResolvers<number> => {
    const known = seen.get(key) ?? Promise.withResolvers<number>()
    seen.set(key, known)
    return known
  }
  return {
    onMessage(connection, { text }) {
      const [verb, ...ids] = text.split(' ')
      if (verb === 'saw') for (const id of ids) entry(keyOf({ connection, id })).resolve(performance.now())
    },
    answered: (connection, id) => entry(keyOf({ connection, id })).promise,
  }
}
