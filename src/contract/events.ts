// What a host application can watch: what happens to messages, in runs and to the tools of clients, through
// one subscription (`onEvent` of the configuration).
import type { Fields } from './envelope.ts'

/** Where it happened. */
type Place = {
  readonly connection: string
  readonly conversationId: string
  readonly agent: string
  readonly messageIds: readonly string[]
}

type RunPlace = Place & { readonly turnId: string; readonly runId: string; readonly sessionId: string }

/** The channel hooks of the original. */
export type ChannelEvent = Place & {
  readonly type: /** The message was judged and left without an answer: not admitted, withdrawn, from ourselves. */
    | 'channel.skipped'
    | 'channel.processing_started'
    /** Always follows a start, also when the agent failed. */
    | 'channel.processing_ended'
    /** The turn's end is stored; its answer is on the way. */
    | 'channel.completed'
  readonly turnId?: string
  readonly runId?: string
  readonly sessionId?: string
  readonly reason?: string
}

/** The lifecycle of a run: `loop.` and the name the loop gives it. Parameters of tools are redacted. */
export type LoopEvent = RunPlace & { readonly type: `loop.${string}`; readonly payload: Fields }

/** What becomes of a tool that a client runs: `runtime_tool.pending` and so on. */
export type RuntimeToolEvent = RunPlace & { readonly type: `runtime_tool.${string}`; readonly payload: Fields }

export type GatewayEvent = ChannelEvent | LoopEvent | RuntimeToolEvent

/** An observer. What it throws is logged and never matters. */
export type Observer = (event: GatewayEvent) => void
