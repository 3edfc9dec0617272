// Inboxes that are gone: their followers are removed, and what was still to go there on its own is not sent.
import type { Records, TtlStore } from '../../../src/contract/index.ts'
import { followerFamily, type InboxCall, type KeptFacts } from '../wire/call.ts'

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
  notes,
  records,
}: {
  readonly notes: TtlStore
  readonly records: Records
}): GoneInboxes {
  return {
    async mark(inbox) {
      await notes.keep({ family: goneInboxFamily, key: inbox, lifeMs: goneInboxLifeMs, atMost: maxGoneInboxes })
      await removeFollowers(records, inbox)
    },
    async holds(call) {
      const keeps = call['keeps'] as KeptFacts | undefined
      const isForSomebody = keeps === undefined || keeps.recipients.some((each) => hasInbox(each, call.inbox))
      return isForSomebody ? false : (await notes.read(goneInboxFamily, call.inbox)) !== undefined
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
