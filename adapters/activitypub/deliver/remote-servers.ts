// What is known of another server: how it wants requests signed, whether it is down, and which inboxes are gone. A row that
// expires by itself, so that a sender cannot fill the store by having many names.
import type { JsonObject, Records, TtlStore } from '../../../src/contract/index.ts'
import type { SignatureScheme } from '../signatures/sign-request.ts'
import { followerFamily, type InboxCall, type KeptFacts } from '../wire/delivery.ts'

export type RemoteServerState = {
  readonly knock: SignatureScheme
  /** Failures one after the other. */
  readonly failures: number
  /** Nothing is sent before. */
  readonly restsUntil: number
}

export interface RemoteServers {
  read(origin: string): Promise<RemoteServerState>
  /** It answered, whatever it said. */
  answered(origin: string, before: RemoteServerState, knock?: SignatureScheme): Promise<void>
  /** It did not answer, or with a fault of its own. */
  failed(origin: string, before: RemoteServerState): Promise<void>
}

const hostStateFamily = 'activitypub_host'
const hostStateLifeMs = 14 * 24 * 60 * 60_000
const maxHostStates = 20_000
const manyFailures = 5
const firstRestMs = 5 * 60_000
const longestRestMs = 60 * 60_000

/** The draft first: most servers read nothing else, and all read it. */
const unknownServer: RemoteServerState = { knock: 'cavage', failures: 0, restsUntil: 0 }

export function createRemoteServers({
  ttlStore,
  now,
}: {
  readonly ttlStore: TtlStore
  readonly now: () => number
}): RemoteServers {
  const storeHostState = async (origin: string, state: RemoteServerState): Promise<void> => {
    // A failed write is harmless: it is found out again.
    await ttlStore
      .keep({
        family: hostStateFamily,
        key: origin,
        value: { ...state },
        lifeMs: hostStateLifeMs,
        atMost: maxHostStates,
      })
      .catch(() => false)
  }
  return {
    async read(origin) {
      // A store that does not answer about a host must not keep a reply back.
      return parseHostState(await ttlStore.read(hostStateFamily, origin).catch(() => undefined))
    },
    async answered(origin, before, knock = before.knock) {
      if (knock === before.knock && before.failures === 0) return
      await storeHostState(origin, { knock, failures: 0, restsUntil: 0 })
    },
    async failed(origin, before) {
      const failures = before.failures + 1
      const restMs = firstRestMs * 2 ** Math.min(failures - manyFailures, 10)
      const restsUntil = failures < manyFailures ? 0 : now() + Math.min(longestRestMs, restMs)
      await storeHostState(origin, { knock: before.knock, failures, restsUntil })
    },
  }
}

function parseHostState(value: JsonObject | undefined): RemoteServerState {
  if (value === undefined) return unknownServer
  const { knock, failures, restsUntil } = value
  return {
    knock: knock === 'rfc9421' ? 'rfc9421' : 'cavage',
    failures: typeof failures === 'number' ? failures : 0,
    restsUntil: typeof restsUntil === 'number' ? restsUntil : 0,
  }
}

// Where an inbox is gone, its followers are removed, and what was still to go there on its own is not sent.

const goneInboxFamily = 'activitypub_gone'
const goneInboxLifeMs = 30 * 24 * 60 * 60_000
const maxGoneInboxes = 10_000
const pageSize = 500

export interface GoneInboxes {
  mark(inbox: string): Promise<void>
  /** Not asked about people whom a note answers or names: they wrote, so perhaps they are back. */
  holds(call: InboxCall): Promise<boolean>
}

export function createGoneInboxes({
  ttlStore,
  records,
}: {
  readonly ttlStore: TtlStore
  readonly records: Records
}): GoneInboxes {
  return {
    async mark(inbox) {
      await ttlStore.keep({ family: goneInboxFamily, key: inbox, lifeMs: goneInboxLifeMs, atMost: maxGoneInboxes })
      await removeFollowers(records, inbox)
    },
    async holds(call) {
      const keeps = call['keeps'] as KeptFacts | undefined
      const isForSomebody = keeps === undefined || keeps.recipients.some((each) => hasInbox(each, call.inbox))
      return isForSomebody ? false : (await ttlStore.read(goneInboxFamily, call.inbox)) !== undefined
    },
  }
}

async function removeFollowers(records: Records, inbox: string): Promise<void> {
  let after: string | undefined
  for (;;) {
    const page = await records.list(followerFamily, { limit: pageSize, ...(after === undefined ? {} : { after }) })
    // Who has an inbox of their own beside a shared one that is gone is asked there the next time.
    for (const { key, value } of page) if (value['inbox'] === inbox) await records.remove(followerFamily, key)
    after = page.at(-1)?.key
    if (page.length < pageSize) return
  }
}

function hasInbox(
  { inbox, shared_inbox }: { readonly inbox: string; readonly shared_inbox: string | null },
  at: string,
): boolean {
  return inbox === at || shared_inbox === at
}
