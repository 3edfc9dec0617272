// The inbox: messages are deduplicated, stored and queued in one commit.

import type { Task } from '../contract/index.ts'
import { accept, acceptOnce, acceptWithMore } from './accept.ts'
import { type Db, storableJson } from './client.ts'
import { claimColumns, type InboxDraft, moreColumns } from './inbox-row.ts'

/** `again`: another replica claimed the key in the same instant; ask once more to learn its id. */
export type InboxOutcome =
  | {
      readonly kind: 'accepted' | 'duplicate' | 'stale'
      readonly inboxId: string
      readonly flagged: boolean
      /** Of a duplicate: it came under another id, with a proof that was used before. */
      readonly isReplay?: boolean
      readonly taskId?: string
      /** The task that it began. */
      readonly task?: Task
    }
  | { readonly kind: 'busy' }
  /** Of a message about a task: `task_unknown`, `task_over`, or `id_taken` by another message of the same sender. */
  | { readonly kind: 'shut'; readonly reason: string }
  | { readonly kind: 'again' }

type AcceptRow = {
  readonly ord: number
  readonly insertedId: string | null
  readonly knownId: string | null
  readonly flagged: boolean
  readonly isReplay: boolean
  readonly taskId: string | null
  readonly task: Task | null
  readonly state: string | null
  readonly isBusy: boolean
  readonly refusal: string | null
}

const moreNames = Object.keys(moreColumns) as readonly (keyof InboxDraft)[]
const claimNames = Object.keys(claimColumns) as readonly (keyof InboxDraft)[]

/** Stores what came together. One statement, one commit; outcomes in the order of the drafts. */
export type AcceptDrafts = (drafts: readonly InboxDraft[]) => Promise<readonly InboxOutcome[]>

export async function storeInboxDrafts(db: Db, drafts: readonly InboxDraft[]): Promise<readonly InboxOutcome[]> {
  const statement = hasAnyDraftField(drafts, moreNames)
    ? acceptWithMore
    : hasAnyDraftField(drafts, claimNames)
      ? acceptOnce
      : accept
  const rows = await db.accepting.query<AcceptRow>(statement, [
    storableJson(drafts.map((draft, ord) => ({ ...draft, ord }))),
    db.isShared,
  ])
  const byOrdinal = new Map<number, AcceptRow>()
  for (const row of rows) byOrdinal.set(row.ord, row)
  const outcomes: InboxOutcome[] = []
  for (const [ord, { state }] of drafts.entries())
    outcomes.push(toInboxOutcome(byOrdinal.get(ord), state === 'refused'))
  return outcomes
}

/** Whether a draft says anything of these columns. */
function hasAnyDraftField(drafts: readonly InboxDraft[], names: readonly (keyof InboxDraft)[]): boolean {
  for (const draft of drafts) for (const name of names) if (draft[name] !== undefined) return true
  return false
}

/** `isRefused`: it was given as refused; else only what is stale comes out so. */
function toInboxOutcome(row: AcceptRow | undefined, isRefused: boolean): InboxOutcome {
  if (row === undefined) return { kind: 'again' }
  if (row.insertedId !== null) {
    const kind = row.state === 'refused' && !isRefused ? 'stale' : 'accepted'
    const of = row.taskId === null ? {} : { taskId: row.taskId }
    const began = row.task === null ? {} : { task: row.task }
    return { kind, inboxId: row.insertedId, flagged: row.flagged, ...of, ...began }
  }
  if (row.knownId !== null) {
    const again = { kind: 'duplicate', inboxId: row.knownId, flagged: false } as const
    return row.isReplay ? { ...again, isReplay: true } : again
  }
  if (row.refusal !== null) return { kind: 'shut', reason: row.refusal }
  return row.isBusy ? { kind: 'busy' } : { kind: 'again' }
}
