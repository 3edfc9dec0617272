// Requests that an adapter answers itself: where they come in, and what it is given with them.
import type * as z from 'zod'
import type { InboundMessage, RawRequest, RequestSource } from './arrival.ts'
import type { ListenResult } from './listen.ts'
import type { AcceptResult, RejectReason } from './outcomes.ts'

/**
 * A path beside `/hooks/{channel}/{connection}`; `watch` keeps the request open until the run has its answer, `serve` leaves the
 * whole exchange to the adapter, whatever the method.
 */
export type Endpoint = {
  readonly path: string
  readonly answer: 'acknowledge' | 'watch' | 'serve'
  /** How the document of the API shows it; without it: as a path that belongs to the channel. */
  readonly describe?: readonly DescribedRequest[]
}

/** One request for the document of the API, with the schema that the adapter reads it with. */
export type DescribedRequest = {
  readonly method: 'get' | 'post' | 'delete'
  /** Its name there, the same for ever. */
  readonly id: string
  readonly summary: string
  readonly about?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: { readonly schema: z.ZodType; readonly example?: unknown }
  readonly answers: Readonly<
    Record<
      number,
      {
        readonly what: string
        readonly schema?: z.ZodType
        readonly example?: unknown
        /** Besides JSON. */
        readonly mediaType?: string
      }
    >
  >
  /** Statuses of its errors. */
  readonly problems?: readonly number[]
}

/** What an adapter is given with a request that it answers itself. */
export interface ServeContext {
  readonly from: RequestSource
  readonly receivedAt: string
  /** Hop 4 for what the adapter has verified and read: stored in one commit when this resolves. */
  take(messages: readonly InboundMessage[]): Promise<readonly AcceptResult[]>
  /** Hops 2-4, as for a hook: for a request whose body is an inbound event. Resolves when what was taken is committed. */
  receive(arrival: RawRequest): Promise<ListenResult>
  /** A rejected caller gets a trace id to ask by; nothing else of theirs is kept. */
  turnAway(reason: RejectReason): string
  /** Something broke: it is written down, and the caller is given a trace id to ask by and nothing else. */
  fail(error: unknown): string
  /** Work that outlives the answer: an open stream. Until it is over the process does not end by itself. */
  keepOpen(work: Promise<void>): void
}

/** A request that was taken in and wants to be shown what comes of it. */
export type FollowRequest = {
  readonly acceptance: AcceptResult
  readonly bytes: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  readonly keepOpen: (until: Promise<void>) => void
}
