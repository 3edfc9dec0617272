// What an operator sees: the books, the dead and the deliveries, read through the admin routes.
import { adminToken } from './subject-settings.ts'

export type BooksLine = {
  readonly connection: string
  readonly received: number
  readonly answered: number
  readonly merged: number
  readonly refused: number
  readonly dead: number
  readonly inFlight: number
}

export type DeadLine = { readonly connection: string; readonly reason: string; readonly messageId: string }
export type DeliveryLine = {
  readonly id: string
  readonly connection: string
  readonly state: string
  readonly purpose: string
  readonly settledAt: string | null
}

type RunLine = { readonly connection: string; readonly stopReason: string | null }

/** Why a turn ends dead that was begun too often and never finished. */
export const interrupted = 'interrupted_too_often'

export type Delivery = { readonly call: Readonly<Record<string, unknown>> }

export type Operator = {
  readonly books: () => Promise<readonly BooksLine[]>
  readonly dead: () => Promise<readonly DeadLine[]>
  readonly failedDeliveries: () => Promise<readonly DeliveryLine[]>
  /** One delivery with the call itself. */
  readonly delivery: (id: string) => Promise<Delivery>
  /** Runs that were given up because their process died under them again and again. */
  readonly interruptedRuns: () => Promise<readonly { readonly connection: string }[]>
  /** Whether a run that goes on has shown words already. */
  readonly hasShown: () => Promise<boolean>
  /** Nothing in flight, and no call waiting to be sent, apologies and reminders included. */
  readonly isQuiet: () => Promise<boolean>
}

/** The lists have no pages: this is the most they show. */
export const listLimit = 500
const openStates = 'queued,sending,retry,unknown'

export function createOperator(url: () => string): Operator {
  /** The route's own shape; a wrong one shows in the checks that read it. */
  async function get<T>(path: string): Promise<T> {
    const response = await fetch(`${url()}${path}`, {
      headers: { authorization: `Bearer ${adminToken}` },
      signal: AbortSignal.timeout(10_000),
    })
    if (!response.ok) throw new Error(`GET ${path} answered ${response.status}`)
    return (await response.json()) as T
  }
  async function read<T extends { readonly connection: string }>(path: string, field: string): Promise<readonly T[]> {
    const body = await get<Readonly<Record<string, readonly T[]>>>(path)
    // Rows name a connection `channel/id`; the crash tests name it by its id, which is unique among theirs.
    return (body[field] ?? []).map((line) => ({ ...line, connection: line.connection.split('/').at(-1) ?? '' }))
  }
  const books = () => read<BooksLine>('/admin/stats', 'stats')
  const deliveries = (states: string) =>
    read<DeliveryLine>(`/admin/deliveries?state=${states}&limit=${listLimit}`, 'deliveries')
  return {
    books,
    dead: () => read<DeadLine>(`/admin/dead-letters?limit=${listLimit}`, 'deadLetters'),
    failedDeliveries: async () => (await deliveries('unknown,refused,dead')).filter((line) => line.settledAt !== null),
    delivery: async (id) => (await get<{ readonly delivery: Delivery }>(`/admin/deliveries/${id}`)).delivery,
    async interruptedRuns() {
      const failed = await read<RunLine>(`/admin/runs?status=failed&limit=${listLimit}`, 'runs')
      return failed.filter((run) => run.stopReason === interrupted)
    },
    async hasShown() {
      const { runs } = await get<{ readonly runs: readonly { readonly id: string }[] }>('/admin/runs?status=running')
      const pages = runs.map(({ id }) => get<{ events: readonly { type: string }[] }>(`/admin/runs/${id}/events`))
      return (await Promise.all(pages)).some(({ events }) => events.some(({ type }) => type === 'text_delta'))
    },
    async isQuiet() {
      const lines = await books()
      if (lines.some((line) => line.inFlight > 0)) return false
      return (await deliveries(openStates)).every((line) => line.settledAt !== null)
    },
  }
}
