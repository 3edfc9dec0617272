// Erasing a person: what is in flight first, so that nothing comes back; the names last, so that a process that is
// interrupted finds the rest again by doing the same once more.
import { claimAccountDeletion, createAccountDeletionErasure } from '../db/account-deletions.ts'
import type { Database } from '../db/client.ts'
import type { EraseCursor, ErasedCounts, EraseStore, ErasingStore, PartialErasedCounts } from '../db/erase-person.ts'

export type EraseDeps = { readonly store: ErasingStore; readonly monotonicMs: () => number }

/** `budgetMs`: how long one call may take; the caller calls again. `from`: where the call before this one stopped. */
export type EraseRequest = {
  readonly principal: string
  readonly actor: string
  readonly budgetMs: number
  readonly from: EraseCursor | null
}

export type EraseResult = {
  readonly isDone: boolean
  readonly removed: ErasedCounts
  /** Where to go on; null when it is done. */
  readonly next: EraseCursor | null
}

export const noneErased: ErasedCounts = {
  receipts: 0,
  inFlight: 0,
  lines: 0,
  conversations: 0,
  sharedConversations: 0,
  sessions: 0,
  turns: 0,
  calls: 0,
  unsent: 0,
  waits: 0,
  timers: 0,
  grants: 0,
  pairings: 0,
  tokens: 0,
  consents: 0,
  tombstones: 0,
  chains: 0,
  links: 0,
  principals: 0,
  attachments: 0,
  ambientContext: 0,
  records: 0,
}

export function addErasedCounts(sum: ErasedCounts, part: PartialErasedCounts): ErasedCounts {
  const keys = Object.keys(sum) as (keyof ErasedCounts)[]
  return Object.fromEntries(keys.map((key) => [key, sum[key] + (part[key] ?? 0)])) as ErasedCounts
}

export async function erasePerson({ store, monotonicMs }: EraseDeps, wish: EraseRequest): Promise<EraseResult> {
  const { principal, actor, budgetMs, from } = wish
  const names = await store.namesOf(principal)
  const startedAt = monotonicMs()
  let removed = noneErased
  const addToTotal = (part: PartialErasedCounts): void => {
    removed = addErasedCounts(removed, part)
  }
  let place: EraseCursor | null = from ?? { phase: 'conversations', after: null }
  // Before their conversations: an operator who approves them meanwhile would bring what was held back into one that is gone.
  if (from === null) addToTotal(await store.erasePairings(names))
  // The same for a person who asks the agent meanwhile, in a room whose ambient context holds their words.
  if (from === null) addToTotal(await store.eraseAmbientContext(names))
  do {
    place = await eraseNextPart(store, names, place, addToTotal)
  } while (place !== null && monotonicMs() - startedAt < budgetMs)
  addToTotal(await store.close(names, { actor, next: place, removed }))
  return { isDone: place === null, removed, next: place }
}

/** How much there is, without a change. */
export async function countPersonData(
  { store }: { readonly store: EraseStore },
  principal: string,
): Promise<ErasedCounts> {
  const names = await store.namesOf(principal)
  let removed = addErasedCounts(noneErased, await store.count(names))
  for (let after: string | null = null; ; ) {
    const page = await store.countReceipts(names, after)
    removed = addErasedCounts(removed, page.removed)
    if (page.next === null) return removed
    after = page.next
  }
}

type AddErased = (part: PartialErasedCounts) => void

async function eraseNextPart(
  store: ErasingStore,
  names: readonly string[],
  { phase, after }: EraseCursor,
  add: AddErased,
): Promise<EraseCursor | null> {
  if (phase === 'conversations') {
    const conversation = await store.nextConversation(names, after)
    if (conversation !== undefined) {
      await eraseConversation(store, names, conversation, add)
      return { phase, after: conversation }
    }
    add(await store.erasePairings(names))
    return { phase: 'receipts', after: null }
  }
  const isStray = phase === 'strays'
  const page = await ((isStray ? store.eraseStrays : undefined) ?? store.eraseReceipts)(names, after)
  add(page.removed)
  if (page.next !== null) return { phase, after: page.next }
  // For a person without a conversation the step that does this was not reached.
  if (isStray) add(await store.erasePairings(names))
  await eraseUntilEmpty(add, () => store.eraseAttachments(names))
  add(await store.eraseAmbientContext(names))
  add(await store.eraseWritten(names))
  return null
}

/** A person who goes on writing meanwhile is not chased for ever: what they say after this is new. */
const maxRounds = 3

async function eraseConversation(
  store: ErasingStore,
  names: readonly string[],
  conversation: string,
  add: AddErased,
): Promise<void> {
  for (let round = 1; round <= maxRounds; round += 1) {
    add(withoutIsAloneFlag(await store.stop(names, conversation)))
    await eraseUntilEmpty(add, () => store.eraseLines(names, conversation))
    while ((await store.eraseRuns(names, conversation)) > 0);
    await eraseUntilEmpty(add, () => store.eraseTurns(names, conversation))
    // A decision about something of theirs in between has woken a run: it is stopped and erased before the conversation is closed.
    const { isAlone, ...late } = await store.stop(names, conversation)
    add(late)
    if (round < maxRounds && Object.values(late).some((count) => count > 0)) continue
    const { conversations = 0, ...left } = await store.leave(names, conversation)
    add({ ...left, ...(isAlone ? { conversations } : { sharedConversations: conversations }) })
    if (conversations > 0) return
  }
}

function withoutIsAloneFlag({
  isAlone: _,
  ...part
}: PartialErasedCounts & { readonly isAlone: boolean }): PartialErasedCounts {
  return part
}

async function eraseUntilEmpty(add: AddErased, erase: () => Promise<PartialErasedCounts>): Promise<void> {
  for (;;) {
    const part = await erase()
    add(part)
    if (Object.values(part).every((count) => count === 0)) return
  }
}

// A person has deleted their account on a platform: what they said there is erased piece by piece, by whichever process has time
// for it. A process that dies leaves the rest to the next one, which finds it by the same row.

type AccountDeletionDeps = {
  readonly database: Database
  readonly tenant: string
  readonly monotonicMs: () => number
}

/** Longer than a piece takes: a process slower than that does the same work as the next holder, twice. */
const leaseMs = 120_000

/** How many account deletions were worked on before the time was over. */
export async function processAccountDeletions(
  { database, tenant, monotonicMs }: AccountDeletionDeps,
  budgetMs: number,
): Promise<number> {
  const startedAt = monotonicMs()
  for (let count = 0; ; count += 1) {
    const left = budgetMs - (monotonicMs() - startedAt)
    const deletion = left > 0 ? await claimAccountDeletion(database, tenant, leaseMs) : undefined
    if (deletion === undefined) return count
    const wish = { principal: deletion.subject, actor: 'gateway', budgetMs: left, from: deletion.from }
    await erasePerson({ store: createAccountDeletionErasure(database, tenant, deletion), monotonicMs }, wish)
  }
}
