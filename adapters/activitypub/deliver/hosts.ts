// What is known of another server: how it wants requests signed, and whether it is down. A row that expires by itself, so that a sender
// cannot fill the store by having many names.
import type { JsonObject, Notes } from '../../../src/contract/index.ts'
import type { Knock } from './sign.ts'

export type HostState = {
  readonly knock: Knock
  /** Failures one after the other. */
  readonly failures: number
  /** Nothing is sent before. */
  readonly restsUntil: number
}

export interface Hosts {
  read(origin: string): Promise<HostState>
  /** It answered, whatever it said. */
  answered(origin: string, before: HostState, knock?: Knock): Promise<void>
  /** It did not answer, or with a fault of its own. */
  failed(origin: string, before: HostState): Promise<void>
}

const family = 'activitypub_host'
const lifeMs = 14 * 24 * 60 * 60_000
const atMost = 20_000
const manyFailures = 5
const firstRestMs = 5 * 60_000
const longestRestMs = 60 * 60_000

/** The draft first: most servers read nothing else, and all read it. */
const stranger: HostState = { knock: 'cavage', failures: 0, restsUntil: 0 }

export function createHosts({ notes, now }: { readonly notes: Notes; readonly now: () => number }): Hosts {
  const keep = async (origin: string, state: HostState): Promise<void> => {
    // A failed write is harmless: it is found out again.
    await notes.keep({ family, key: origin, value: { ...state }, lifeMs, atMost }).catch(() => false)
  }
  return {
    async read(origin) {
      // A store that does not answer about a host must not keep a reply back.
      return stateIn(await notes.read(family, origin).catch(() => undefined))
    },
    async answered(origin, before, knock = before.knock) {
      if (knock === before.knock && before.failures === 0) return
      await keep(origin, { knock, failures: 0, restsUntil: 0 })
    },
    async failed(origin, before) {
      const failures = before.failures + 1
      const restMs = firstRestMs * 2 ** Math.min(failures - manyFailures, 10)
      const restsUntil = failures < manyFailures ? 0 : now() + Math.min(longestRestMs, restMs)
      await keep(origin, { knock: before.knock, failures, restsUntil })
    },
  }
}

function stateIn(value: JsonObject | undefined): HostState {
  if (value === undefined) return stranger
  const { knock, failures, restsUntil } = value
  return {
    knock: knock === 'rfc9421' ? 'rfc9421' : 'cavage',
    failures: typeof failures === 'number' ? failures : 0,
    restsUntil: typeof restsUntil === 'number' ? restsUntil : 0,
  }
}
