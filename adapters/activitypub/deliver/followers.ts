// The followers of an agent that can be sent something.
import type { Records } from '../../../src/contract/index.ts'
import { followerFamily, type Recipient } from '../wire/call.ts'

const pageSize = 1000
/** Followers beyond these are not sent anything; they find it at its address. */
const maxFollowers = 50_000

export async function listFollowerInboxes(records: Records, agent: string): Promise<readonly Recipient[]> {
  const found: Recipient[] = []
  let after: string | undefined
  while (found.length < maxFollowers) {
    const page = await records.list(followerFamily, {
      limit: pageSize,
      agent,
      ...(after === undefined ? {} : { after }),
    })
    for (const { value } of page) {
      const { actor, inbox, shared_inbox: shared } = value
      if (typeof actor !== 'string' || typeof inbox !== 'string') continue
      found.push({ actor, inbox, shared_inbox: typeof shared === 'string' ? shared : null })
    }
    after = page.at(-1)?.key
    if (page.length < pageSize) break
  }
  return found
}
