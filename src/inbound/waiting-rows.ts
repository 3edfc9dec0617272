// The rows that wait for the next commit: bounded by count and bytes, copies folded into the first of their kind. What arrived
// together is stored together or not at all, so it waits together too.
import { GatewayError, isGatewayError } from '../contract/index.ts'
import type { InboxDraft, InboxOutcome } from '../db/inbox.ts'

export type WaitingLimits = {
  readonly maxRows: number
  readonly maxBytes: number
  /** Rows of one connection that may wait for a commit; more is answered as overload. */
  readonly maxWaitingPerConnection: number
  readonly maxWaitingBytes: number
  /** A row that is not stored by then is answered as unavailable; the platform will deliver it again. */
  readonly deadlineMs: number
}

/** What arrived together, and every request that brought it: copies in the same window share the outcome, failure included. */
export type WaitingRows = { readonly drafts: readonly InboxDraft[]; readonly askers: Asker[] }
type Outcomes = readonly InboxOutcome[]
type Asker = { readonly resolve: (outcomes: Outcomes) => void; readonly reject: (error: GatewayError) => void }

export type WaitingRoom = {
  readonly add: (drafts: readonly InboxDraft[]) => Promise<Outcomes>
  readonly take: () => readonly WaitingRows[]
  readonly size: () => number
}

export function createWaitingRoom(limits: WaitingLimits): WaitingRoom {
  const waiting = new Map<string, WaitingRows>()
  const perConnection = new Map<string, number>()
  let bytes = 0

  const countWeight = (weight: Weight, by: 1 | -1): void => {
    bytes += by * weight.bytes
    const left = (perConnection.get(weight.place) ?? 0) + by * weight.rows
    if (left > 0) perConnection.set(weight.place, left)
    else perConnection.delete(weight.place)
  }
  const isQueueFull = (weight: Weight): boolean =>
    bytes + weight.bytes > limits.maxWaitingBytes ||
    (perConnection.get(weight.place) ?? 0) + weight.rows > limits.maxWaitingPerConnection

  return {
    size: () => waiting.size,
    add(drafts) {
      const [first] = drafts
      if (first === undefined) return Promise.resolve([])
      const weight = { ...measureDrafts(drafts), place: JSON.stringify([first.tenant, first.connection]) }
      if (isQueueFull(weight)) return Promise.reject(overloaded())
      countWeight(weight, 1)
      return rejectAtDeadline(limits.deadlineMs, (asker) => {
        const key = `${weight.place}${drafts.length === 1 ? draftKey(first) : JSON.stringify(drafts.map(draftKey))}`
        const rows = waiting.get(key) ?? { drafts, askers: [] }
        waiting.set(key, rows)
        rows.askers.push(asker)
        return {
          done: () => countWeight(weight, -1),
          withdraw() {
            rows.askers.splice(rows.askers.indexOf(asker), 1)
            // No request waits for it any more and it will be delivered again: an outage must not fill the memory with it.
            if (rows.askers.length === 0 && waiting.get(key) === rows) waiting.delete(key)
          },
        }
      })
    },
    take() {
      const batch: WaitingRows[] = []
      let size = { rows: 0, bytes: 0 }
      for (const [key, rows] of waiting) {
        const weight = measureDrafts(rows.drafts)
        size = { rows: size.rows + weight.rows, bytes: size.bytes + weight.bytes }
        if (batch.length > 0 && (size.rows > limits.maxRows || size.bytes > limits.maxBytes)) break
        waiting.delete(key)
        batch.push(rows)
      }
      return batch
    },
  }
}

type Weight = { readonly place: string; readonly rows: number; readonly bytes: number }

function measureDrafts(drafts: readonly InboxDraft[]): Pick<Weight, 'rows' | 'bytes'> {
  let bytes = 0
  for (const draft of drafts) bytes += draft.bytes
  return { rows: drafts.length, bytes }
}

/** JSON texts and the rest: where one ends the next begins, so no content can imitate another key. */
function draftKey({ dedupe, content, once }: InboxDraft): string {
  // A copy that is proven otherwise is stored on its own: what it is proven by is used up, too.
  const proofs = once.length === 0 ? '' : JSON.stringify(once.map(({ key }) => key))
  return `${JSON.stringify(dedupe)}${proofs}${content}`
}

/** The first asker learns the outcomes; the others learn that theirs were copies. */
export function resolveRows({ askers }: WaitingRows, outcomes: Outcomes): void {
  const [first, ...others] = askers
  first?.resolve(outcomes)
  if (others.length === 0) return
  const copied = outcomes.map(
    (each): InboxOutcome => (each.kind === 'accepted' ? { ...each, kind: 'duplicate' } : each),
  )
  for (const asker of others) asker.resolve(copied)
}

export function rejectRows({ askers }: WaitingRows, error: unknown): void {
  const reason = isGatewayError(error) ? error : acceptUnavailable('could not be stored', error)
  for (const asker of askers) asker.reject(reason)
}

export function acceptUnavailable(what: string, cause?: unknown): GatewayError {
  const message = `[inbound] the message ${what}; deliver it again`
  return new GatewayError('storage_unavailable', message, { retryable: true, cause })
}

function overloaded(): GatewayError {
  const message = '[inbound] too many messages wait to be stored; deliver again later'
  return new GatewayError('storage_overloaded', message, { retryable: true })
}

type Asked = { readonly done: () => void; readonly withdraw: () => void }

/** `ask` answers how to withdraw what was asked, and what to do when it is over. */
function rejectAtDeadline(ms: number, ask: (asker: Asker) => Asked): Promise<Outcomes> {
  return new Promise((resolve, reject) => {
    const endWait = (): void => {
      clearTimeout(timer)
      asked.done()
    }
    const timer = setTimeout(() => {
      asked.withdraw()
      endWait()
      reject(acceptUnavailable('was not stored in time'))
    }, ms)
    const asked = ask({
      resolve(outcomes) {
        endWait()
        resolve(outcomes)
      },
      reject(error) {
        endWait()
        reject(error)
      },
    })
  })
}
