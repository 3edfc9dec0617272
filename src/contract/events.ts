// What a host application can watch (rulings 3, 40): the channel hooks of the original as events of one subscription.

export type GatewayEvent = {
  readonly type: /** The message was judged and left without an answer: not admitted, withdrawn, from ourselves. */
    | 'channel.skipped'
    | 'channel.processing_started'
    /** Always follows a start, also when the agent failed. */
    | 'channel.processing_ended'
    /** The turn's end is stored; its answer is on the way. */
    | 'channel.completed'
  readonly connection: string
  readonly conversationId: string
  readonly agent: string
  readonly turnId?: string
  readonly messageIds: readonly string[]
  readonly reason?: string
}

/** An observer. What it throws is logged and never matters. */
export type Observer = (event: GatewayEvent) => void
